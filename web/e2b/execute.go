package e2b

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/limits"
)

type executeRequest struct {
	Code      string            `json:"code"`
	ContextID *string           `json:"context_id"`
	Language  *string           `json:"language"`
	EnvVars   map[string]string `json:"env_vars"`
}

// execute runs a program and answers with a line of JSON for each thing that it does, as it does it.
func (h *Handler) execute(w http.ResponseWriter, r *http.Request) error {
	var req executeRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	for k, v := range req.EnvVars {
		if err := limits.CheckEnv(k, v); err != nil {
			return refuse(http.StatusBadRequest, "env_vars: %v", err)
		}
	}
	c, language, err := h.contextOf(req)
	if err != nil {
		return err
	}
	return c.with(r.Context(), func(s *engine.Session) error {
		c.count++
		out := newLines(w)
		defer out.control.SetWriteDeadline(time.Time{})
		out.write(map[string]any{"type": "number_of_executions", "execution_count": c.count})
		t := engine.Turn{Code: req.Code, OnEvent: out.event}
		if language == engine.TypeScript {
			t.Name = fmt.Sprintf("turn%d.ts", c.count)
		}
		res, err := run(r.Context(), s, t, req.EnvVars, engine.RuntimeOf(language))
		if err != nil {
			if !out.begun {
				return err
			}
			h.cfg.Logger.Error("e2b run failed", "class", "error", "error", err.Error())
			out.write(map[string]any{"type": "error", "name": "InternalError", "value": "the service failed", "traceback": ""})
			return nil
		}
		out.end(res)
		return nil
	})
}

func (h *Handler) contextOf(req executeRequest) (*codeContext, string, error) {
	if req.ContextID == nil || *req.ContextID == "" {
		language, err := languageOf(req.Language)
		if err != nil {
			return nil, "", err
		}
		c, err := h.contexts.byLanguage(language)
		return c, language, err
	}
	if req.Language != nil && *req.Language != "" {
		return nil, "", refuse(http.StatusBadRequest, "Only one of context_id or language can be provided")
	}
	c, err := h.contexts.find(*req.ContextID)
	if err != nil && (*req.ContextID == engine.Python || *req.ContextID == engine.JavaScript) {
		c, err = h.contexts.byLanguage(*req.ContextID)
	}
	if err != nil {
		return nil, "", err
	}
	return c, c.language, nil
}

// run runs a turn. A client that leaves has it interrupted; what it did until then stays.
func run(client context.Context, s *engine.Session, t engine.Turn, env map[string]string, runtime string) (*engine.Result, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(client))
	defer cancel()
	stop := context.AfterFunc(client, func() {
		s.Interrupt()
		time.AfterFunc(leaveGrace, cancel)
	})
	defer stop()
	if len(env) == 0 {
		return s.Run(ctx, t)
	}
	if err := setEnv(ctx, s, env, runtime); err != nil {
		return nil, err
	}
	res, err := s.Run(ctx, t)
	if err != nil {
		return nil, err
	}
	return res, quietly(ctx, s, restoreCode[runtime])
}

// Programs that set variables of the environment for one program, and put back what was there.
var (
	setCode = map[string]string{
		engine.Python:     `import os as _e2b_os, json as _e2b_json; _e2b_new = _e2b_json.loads(%s); _e2b_old = {k: _e2b_os.environ.get(k) for k in _e2b_new}; _e2b_os.environ.update(_e2b_new)`,
		engine.JavaScript: `globalThis._e2b_new = JSON.parse(%s); globalThis._e2b_old = Object.fromEntries(Object.keys(_e2b_new).map((k) => [k, process.env[k]])); Object.assign(process.env, _e2b_new); undefined`,
	}
	restoreCode = map[string]string{
		engine.Python:     `[_e2b_os.environ.pop(k, None) if v is None else _e2b_os.environ.__setitem__(k, v) for k, v in _e2b_old.items()]; del _e2b_os, _e2b_json, _e2b_new, _e2b_old`,
		engine.JavaScript: `for (const [k, v] of Object.entries(_e2b_old)) { if (v === undefined) delete process.env[k]; else process.env[k] = v; } delete globalThis._e2b_new; delete globalThis._e2b_old`,
	}
)

func setEnv(ctx context.Context, s *engine.Session, env map[string]string, runtime string) error {
	b, err := json.Marshal(env)
	if err != nil {
		return err
	}
	text, err := json.Marshal(string(b)) // a JSON string is a string of both languages
	if err != nil {
		return err
	}
	return quietly(ctx, s, fmt.Sprintf(setCode[runtime], text))
}

func quietly(ctx context.Context, s *engine.Session, code string) error {
	res, err := s.Run(ctx, engine.Turn{Code: code})
	if err == nil && res.Status != engine.StatusOK && res.Status != engine.StatusCancelled {
		err = fmt.Errorf("environment of a program: %s", reason(res))
	}
	return err
}

// writeTimeout is the time that a client has to take each line, for which its program waits.
const writeTimeout = 30 * time.Second

// lines writes an answer line by line.
type lines struct {
	w       http.ResponseWriter
	control *http.ResponseController

	mu    sync.Mutex
	begun bool
	// held is error output that may be the traceback which the error itself tells too.
	held []byte
}

func newLines(w http.ResponseWriter) *lines {
	return &lines{w: w, control: http.NewResponseController(w)}
}

func (l *lines) write(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		return // what it is made of can be written
	}
	if !l.begun {
		l.w.Header().Set("Content-Type", "application/json")
		l.begun = true
	}
	// A client that went away interrupts the program, and so does one that does not take what comes.
	_ = l.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	l.w.Write(append(b, '\n'))
	l.control.Flush()
}

// event tells an event of the engine.
func (l *lines) event(e engine.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Type == engine.EventStderr && (len(l.held) > 0 || strings.Contains(e.Text, "Error")) {
		l.held = append(l.held, e.Text...)
		return
	}
	l.release()
	switch e.Type {
	case engine.EventStdout, engine.EventStderr:
		l.text(string(e.Type), e.Text)
	case engine.EventResult:
		l.write(resultOf(*e.Display))
	}
}

func (l *lines) text(kind, text string) {
	l.write(map[string]any{"type": kind, "text": strings.ToValidUTF8(text, "\uFFFD"), "timestamp": time.Now().UnixNano()})
}

func (l *lines) release() {
	if len(l.held) > 0 {
		l.text("stderr", string(l.held))
		l.held = nil
	}
}

// end tells how a run ended.
func (l *lines) end(res *engine.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if res.Error != nil && res.Error.Traceback != "" { // the dialect tells it once
		l.held = bytes.TrimRight(bytes.Replace(l.held, []byte(strings.TrimSpace(res.Error.Traceback)), nil, 1), "\n")
	}
	l.release()
	switch {
	case res.Error != nil:
		l.write(map[string]any{"type": "error", "name": res.Error.Name, "value": res.Error.Value, "traceback": tracebackOf(res.Error)})
	case res.Status != engine.StatusOK:
		value := fmt.Sprint(res.ExitCode)
		l.write(map[string]any{"type": "error", "name": "SystemExit", "value": value, "traceback": "SystemExit: " + value})
	}
}

func tracebackOf(e *engine.Error) string {
	text := strings.TrimSpace(e.Traceback)
	if text == "" {
		text = e.Name + ": " + e.Value
	}
	if e.Hint != "" {
		text += "\n" + e.Hint
	}
	return text
}

// fields are the names that results have in the dialect, by MIME type.
var fields = map[string]string{
	"text/plain": "text", "text/html": "html", "text/markdown": "markdown", "image/svg+xml": "svg", "image/png": "png",
	"image/jpeg": "jpeg", "application/pdf": "pdf", "text/latex": "latex", "application/json": "json",
	"application/javascript": "javascript",
}

const frameType = "application/vnd.dataframe+json"

// resultOf is a shown value as the dialect has it.
func resultOf(d hostfuncs.Display) map[string]any {
	out := map[string]any{"type": "result", "is_main_result": d.Main}
	extra := map[string]any{}
	for _, kind := range slices.Sorted(maps.Keys(d.Data)) {
		v := d.Data[kind]
		if b, ok := v.([]byte); ok {
			v = base64.StdEncoding.EncodeToString(b)
		}
		raw, isJSON := v.(json.RawMessage)
		switch name := fields[kind]; {
		case kind == frameType && isJSON:
			if data := columns(raw); data != nil {
				out["data"] = data
			}
		case kind == "application/json" && d.Main && !bytes.HasPrefix(raw, []byte("{")):
			// Values have this form beside their text here; there only what was displayed as JSON does.
		case name != "":
			out[name] = v
		default:
			extra[kind] = v
		}
	}
	if len(extra) > 0 {
		out["extra"] = extra
	}
	return out
}

// columns is a DataFrame as lists by column, if all of its rows are known.
func columns(raw json.RawMessage) map[string][]json.RawMessage {
	var f struct {
		Columns  []string            `json:"columns"`
		Head     [][]json.RawMessage `json:"head"`
		RowCount int                 `json:"row_count"`
	}
	if json.Unmarshal(raw, &f) != nil || f.RowCount != len(f.Head) {
		return nil
	}
	out := map[string][]json.RawMessage{}
	for i, name := range f.Columns {
		list := make([]json.RawMessage, 0, len(f.Head))
		for _, row := range f.Head {
			if i < len(row) {
				list = append(list, row[i])
			}
		}
		out[name] = list
	}
	return out
}
