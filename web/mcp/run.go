package mcp

import (
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

// resultSchema describes what run_code returns as structured content: engine.Result, whose pictures are in the
// content instead.
//
//go:embed result.schema.json
var resultSchema json.RawMessage

type runInput struct {
	Code      string      `json:"code" jsonschema:"The program. The value of a last expression is returned."`
	Language  string      `json:"language,omitempty" jsonschema:"python (default), javascript or typescript."`
	SessionID string      `json:"session_id,omitempty" jsonschema:"Which session to run in: a name of your choosing; a new name starts a new session. Default: the one session of the language."`
	TimeoutMS int64       `json:"timeout_ms,omitempty" jsonschema:"Stop the program after this many milliseconds of wall time. Default and maximum: the limit that describe_environment names."`
	Files     []fileInput `json:"files,omitempty" jsonschema:"Files to write first."`
}

type fileInput struct {
	Path          string  `json:"path" jsonschema:"Path in the sandbox; a relative one is below /data, the working folder."`
	Content       *string `json:"content,omitempty" jsonschema:"The content as text."`
	ContentBase64 *string `json:"content_base64,omitempty" jsonschema:"The content in base64, for what is not text."`
}

func (f fileInput) bytes() ([]byte, error) {
	switch {
	case f.Path == "":
		return nil, errors.New("path is empty")
	case (f.Content == nil) == (f.ContentBase64 == nil):
		return nil, fmt.Errorf("file %s: give either content or content_base64", f.Path)
	case f.Content != nil:
		return []byte(*f.Content), nil
	}
	b, err := base64.StdEncoding.DecodeString(*f.ContentBase64)
	if err != nil {
		return nil, fmt.Errorf("file %s: content_base64: %w", f.Path, err)
	}
	return b, nil
}

// schemaFor derives the schema of a tool's input, with the values that a field may have.
func schemaFor[In any](enums map[string][]any) *jsonschema.Schema {
	s, err := jsonschema.For[In](nil)
	if err != nil {
		panic(err) // the types are part of the program
	}
	for field, values := range enums {
		s.Properties[field].Enum = values
	}
	return s
}

func (c *connection) addRun(s *sdk.Server) {
	no := false
	sdk.AddTool(s, &sdk.Tool{
		Name:  "run_code",
		Title: "Run code",
		Description: `Run Python, JavaScript or TypeScript in a sandbox. Variables, imports and files are kept for the next call in the same session. ` +
			`Returns what was printed, the value of a last expression, charts as images, an exception with its traceback and a hint, and links to the files that changed. ` +
			`Python has numpy, pandas, matplotlib, scipy, scikit-learn, sympy and more (see describe_environment); a figure is shown at the end of the call. ` +
			`Nothing can be installed, and the network is closed unless describe_environment says otherwise.`,
		InputSchema:  schemaFor[runInput](map[string][]any{"language": {engine.Python, engine.JavaScript, engine.TypeScript}}),
		OutputSchema: resultSchema,
		Annotations:  &sdk.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &no},
	}, c.run)
}

func (c *connection) run(ctx context.Context, req *sdk.CallToolRequest, in runInput) (*sdk.CallToolResult, any, error) {
	timeout, err := c.timeout(in.TimeoutMS)
	if err != nil {
		return nil, nil, err
	}
	var files []engine.File
	for _, f := range in.Files {
		b, err := f.bytes()
		if err != nil {
			return nil, nil, err
		}
		files = append(files, engine.File{Path: f.Path, Content: b})
	}
	ctx, cancel := c.within(ctx)
	defer cancel()
	s, release, err := c.use(ctx, in.SessionID, in.Language)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	for _, f := range files {
		if err := s.run.Files().WriteFile(f.Path, f.Content); err != nil {
			return nil, nil, err
		}
	}

	language := in.Language
	if language == "" {
		language = s.language
	}
	end, err := c.cfg.Begin(ctx, language, in.Code)
	if err != nil {
		return nil, nil, err
	}
	p := newProgress(ctx, req)
	turn := engine.Turn{Code: in.Code, OnEvent: p.event(), Limits: limits.Limits{Timeout: timeout}}
	if in.Language == engine.TypeScript { // in a session of JavaScript
		turn.Name = fmt.Sprintf("turn%d.ts", s.runs+1)
	}
	res, err := s.run.Run(ctx, turn)
	end(res, err)
	p.close()
	if err != nil {
		return nil, nil, c.lost(s, err)
	}
	s.runs++
	out, structured, err := render(s, res)
	if err == nil && res.Autopsy != nil {
		c.addAutopsy(ctx, s, out)
	}
	return out, structured, err
}

// timeout checks what a call asks for; zero means the default.
func (c *connection) timeout(ms int64) (time.Duration, error) {
	most := c.limits().Timeout
	switch {
	case ms < 0:
		return 0, fmt.Errorf("timeout_ms is %d, must be from 1 to %d", ms, most.Milliseconds())
	case ms > most.Milliseconds():
		return 0, fmt.Errorf("timeout_ms is %d, more than the limit of %d", ms, most.Milliseconds())
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// limits are those of every sandbox of the connection.
func (c *connection) limits() limits.Limits { return c.cfg.Options.Limits.Or(c.cfg.Engine.Limits()) }

// lost is err, told to the model; a session that is over is dropped, so that the next call starts it anew.
// Preconditions: the session's turn is held.
func (c *connection) lost(s *session, err error) error {
	if !errors.Is(err, engine.ErrClosed) {
		return err
	}
	s.gone()
	c.forget(s)
	if err := s.dropCheckpoints(); err != nil {
		return err
	}
	return fmt.Errorf("session %s is over, its variables and files are gone; the next call starts it anew: %w", s.name, err)
}
