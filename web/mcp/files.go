package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloche-dev/cloche/engine"
)

// What a tool returns of a file or folder at most. A model that wants more reads in parts, or lets a program look.
const (
	defaultRead = 64 << 10
	maxText     = 1 << 20
	maxBinary   = 4 << 20
	maxResource = 16 << 20
	maxEntries  = 1000
)

const uriPrefix = "cloche://sessions/"

// uriOf names a file of a session.
func uriOf(session, file string) string {
	u := url.URL{Path: file}
	return uriPrefix + session + u.EscapedPath()
}

// parseURI is the reverse of uriOf.
func parseURI(uri string) (session, file string, err error) {
	rest, ok := strings.CutPrefix(uri, uriPrefix)
	session, file, hasPath := strings.Cut(rest, "/")
	if !ok || !hasPath || !sessionName.MatchString(session) {
		return "", "", fmt.Errorf("%.200q is not of the form %sSESSION/PATH", uri, uriPrefix)
	}
	if file, err = url.PathUnescape("/" + file); err != nil {
		return "", "", fmt.Errorf("resource %.200q: %w", uri, err)
	}
	return session, file, nil
}

type listInput struct {
	Path      string `json:"path,omitempty" jsonschema:"The folder. Default: /data, the working folder."`
	SessionID string `json:"session_id,omitempty" jsonschema:"The session whose files are meant. Default: the one used last."`
}

type listOutput struct {
	SessionID string             `json:"session_id"`
	Path      string             `json:"path"`
	Entries   []engine.FileEntry `json:"entries"`
	Total     int                `json:"total" jsonschema:"how many entries the folder has, those left out included"`
}

type readInput struct {
	Path      string `json:"path" jsonschema:"The file; a relative path is below /data."`
	SessionID string `json:"session_id,omitempty" jsonschema:"The session whose files are meant. Default: the one used last."`
	Offset    int64  `json:"offset,omitempty" jsonschema:"Where to begin, in bytes."`
	MaxBytes  int64  `json:"max_bytes,omitempty" jsonschema:"How much to read of a text, up to 1048576 bytes. Default: 65536."`
}

type readOutput struct {
	SessionID  string `json:"session_id"`
	Path       string `json:"path"`
	MIME       string `json:"mime"`
	TotalBytes int64  `json:"total_bytes"`
	Offset     int64  `json:"offset"`
	Bytes      int    `json:"bytes" jsonschema:"how many were read"`
	NextOffset int64  `json:"next_offset,omitempty" jsonschema:"where the rest begins, if there is more"`
}

type writeInput struct {
	fileInput
	SessionID string `json:"session_id,omitempty" jsonschema:"The session whose files are meant. Default: the one used last."`
}

type writeOutput struct {
	SessionID string `json:"session_id"`
	Path      string `json:"path"`
	Bytes     int    `json:"bytes"`
}

func (c *connection) addFiles(s *sdk.Server) {
	no, yes := false, true
	reads := &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &no}
	sdk.AddTool(s, &sdk.Tool{
		Name: "list_files", Title: "List files", Annotations: reads,
		Description: "List a folder of a session's sandbox.",
	}, c.list)
	sdk.AddTool(s, &sdk.Tool{
		Name: "read_file", Title: "Read a file", Annotations: reads,
		Description: "Read a file of a session's sandbox: text as text, pictures as images, the rest as a resource.",
	}, c.read)
	sdk.AddTool(s, &sdk.Tool{
		Name: "write_file", Title: "Write a file",
		Description: "Make or replace a file in a session's sandbox, and the folders above it.",
		Annotations: &sdk.ToolAnnotations{DestructiveHint: &yes, IdempotentHint: true, OpenWorldHint: &no},
	}, c.write)
	s.AddResourceTemplate(&sdk.ResourceTemplate{
		URITemplate: uriPrefix + "{session}{+path}", Name: "file", Title: "A file of a session",
		Description: "What run_code links to. Resources live as long as their session.",
	}, c.resource)
}

// absolute is the full path of what a tool was given.
func absolute(p string) string {
	if path.IsAbs(p) {
		return path.Clean(p)
	}
	return path.Join("/data", p)
}

func (c *connection) list(ctx context.Context, _ *sdk.CallToolRequest, in listInput) (*sdk.CallToolResult, listOutput, error) {
	s, release, err := c.forFiles(ctx, in.SessionID, false)
	if err != nil {
		return nil, listOutput{}, err
	}
	defer release()
	out := listOutput{SessionID: s.name, Path: absolute(in.Path)}
	entries, err := s.run.Files().ReadDir(out.Path)
	if err != nil {
		return nil, listOutput{}, err
	}
	out.Total = len(entries)
	out.Entries = entries[:min(len(entries), maxEntries)]
	if out.Entries == nil {
		out.Entries = []engine.FileEntry{}
	}
	return nil, out, nil
}

func (c *connection) read(ctx context.Context, _ *sdk.CallToolRequest, in readInput) (*sdk.CallToolResult, readOutput, error) {
	switch {
	case in.MaxBytes == 0:
		in.MaxBytes = defaultRead
	case in.MaxBytes < 0 || in.MaxBytes > maxText:
		return nil, readOutput{}, fmt.Errorf("max_bytes is %d, must be from 1 to %d", in.MaxBytes, maxText)
	}
	if in.Offset < 0 {
		return nil, readOutput{}, fmt.Errorf("offset is %d, must not be negative", in.Offset)
	}
	s, release, err := c.forFiles(ctx, in.SessionID, false)
	if err != nil {
		return nil, readOutput{}, err
	}
	defer release()
	out := readOutput{SessionID: s.name, Path: absolute(in.Path), Offset: in.Offset}
	f, err := openFile(s, out.Path)
	if err != nil {
		return nil, readOutput{}, err
	}
	defer f.Close()
	out.TotalBytes, out.MIME = f.size, f.mime

	if whole := in.Offset == 0; whole && !f.text {
		b, err := f.all(maxBinary)
		if err != nil {
			return nil, readOutput{}, err
		}
		out.Bytes = len(b)
		return &sdk.CallToolResult{Content: []sdk.Content{binary(s, out.Path, f.mime, b)}}, out, nil
	}
	b, err := f.part(in.Offset, in.MaxBytes)
	if err != nil {
		return nil, readOutput{}, err
	}
	out.Bytes = len(b)
	if next := in.Offset + int64(len(b)); next < f.size {
		out.NextOffset = next
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.ToValidUTF8(string(b), "\uFFFD")}}}, out, nil
}

func binary(s *session, file, mime string, b []byte) sdk.Content {
	for _, kind := range pictures {
		if mime == kind {
			return &sdk.ImageContent{MIMEType: mime, Data: b}
		}
	}
	return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: uriOf(s.name, file), MIMEType: mime, Blob: b}}
}

func (c *connection) write(ctx context.Context, _ *sdk.CallToolRequest, in writeInput) (*sdk.CallToolResult, writeOutput, error) {
	b, err := in.bytes()
	if err != nil {
		return nil, writeOutput{}, err
	}
	s, release, err := c.forFiles(ctx, in.SessionID, true)
	if err != nil {
		return nil, writeOutput{}, err
	}
	defer release()
	out := writeOutput{SessionID: s.name, Path: absolute(in.Path), Bytes: len(b)}
	return nil, out, s.run.Files().WriteFile(out.Path, b)
}

// resource reads what a link names. It opens no session: links are of those that are there.
func (c *connection) resource(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := req.Params.URI
	name, file, err := parseURI(uri)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	_, ok := c.sessions[name]
	c.mu.Unlock()
	if !ok {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	s, release, err := c.use(ctx, name, "")
	if err != nil {
		return nil, err
	}
	defer release()
	f, err := openFile(s, file)
	if err != nil {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	defer f.Close()
	b, err := f.all(maxResource)
	if err != nil {
		return nil, err
	}
	contents := &sdk.ResourceContents{URI: uri, MIMEType: f.mime}
	if f.text && utf8.Valid(b) {
		contents.Text = string(b)
	} else {
		contents.Blob = b
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{contents}}, nil
}

// file is an open file of a session, with what is known of it.
type file struct {
	io.ReadSeekCloser
	path string
	size int64
	mime string
	text bool // by its beginning
}

func openFile(s *session, p string) (*file, error) {
	r, err := s.run.Files().Open(p)
	if err != nil {
		return nil, err
	}
	rs, ok := r.(io.ReadSeekCloser)
	if !ok {
		return nil, errors.Join(fmt.Errorf("read %s: it cannot be read in parts", p), r.Close())
	}
	f := &file{ReadSeekCloser: rs, path: p}
	if err := f.look(); err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", p, err), r.Close())
	}
	return f, nil
}

// look finds out size and type.
func (f *file) look() (err error) {
	if f.size, err = f.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	head, err := f.part(0, 512)
	if err != nil {
		return err
	}
	f.mime = http.DetectContentType(head)
	f.text = strings.HasPrefix(f.mime, "text/")
	f.mime, _, _ = strings.Cut(f.mime, ";")
	return nil
}

// part reads up to most bytes from offset on; a character that does not fit is left for the next part.
func (f *file) part(offset, most int64) ([]byte, error) {
	if _, err := f.Seek(min(offset, f.size), io.SeekStart); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil, err
	}
	for n := 1; n < utf8.UTFMax && n < len(b) && offset+int64(len(b)) < f.size; n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				b = b[:len(b)-n]
			}
			break
		}
	}
	return b, nil
}

func (f *file) all(most int64) ([]byte, error) {
	if f.size > most {
		return nil, fmt.Errorf("%s has %d bytes, more than the %d that can be returned: read parts of it in a program", f.path, f.size, most)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(f)
}
