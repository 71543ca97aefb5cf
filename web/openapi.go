package web

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

// The description of the API is made from the routes and from the types of their bodies, so that it cannot say anything
// else than what the server does. A test holds real answers against it.

// operation describes a route.
type operation struct {
	summary string
	query   []string // names of parameters
	headers []string
	request any    // a value of the body's type, nil for none
	raw     string // media type of a body that is no JSON
	status  int    // of an answer that is no error; 0 means 200
	reply   any    // a value of its type, nil for no body
	stream  bool   // the answer may be a stream of events
	bytes   string // media type of an answer that is no JSON
}

// Event is the shape of one event of a stream. Which fields it has depends on its type.
type Event struct {
	// ID rises from 1 within a run.
	ID uint64 `json:"id"`
	// Type is start, stdout, stderr, result, tool_call, http_request, error, end or (without an id) ping.
	Type string `json:"type"`
	// Text is what was printed (stdout, stderr).
	Text string `json:"text,omitempty"`
	// ExecutionID, Language and SessionID are those of a start.
	ExecutionID string `json:"execution_id,omitempty"`
	Language    string `json:"language,omitempty"`
	SessionID   string `json:"session_id,omitempty"`
	// Result is that of an end; Error is there instead when the service failed.
	Result *Result    `json:"result,omitempty"`
	Error  *ErrorInfo `json:"error,omitempty"`
}

// Result is engine.Result with the files that a request collected.
type Result struct {
	engine.Result
	Files []FileContent `json:"files,omitempty"`
}

var operations = map[string]operation{
	"GET /healthz": {summary: "Whether the server lives. Needs no key.", reply: statusReply{}},
	"GET /readyz":  {summary: "Whether the server takes work. Needs no key.", reply: statusReply{}},
	"GET /metrics": {summary: "Metrics for Prometheus, for admin keys.", bytes: "text/plain"},

	"POST /v1/execute": {summary: "Run one program in a fresh sandbox.", headers: []string{"Idempotency-Key"}, request: ExecuteRequest{}, reply: Result{}, stream: true},

	"POST /v1/sessions":                    {summary: "Make a session.", headers: []string{"Idempotency-Key"}, request: SessionRequest{}, status: 201, reply: SessionInfo{}},
	"GET /v1/sessions":                     {summary: "List the key's sessions.", reply: SessionList{}},
	"GET /v1/sessions/:id":                 {summary: "Describe a session.", reply: SessionInfo{}},
	"PATCH /v1/sessions/:id":               {summary: "Change a session's timeouts or metadata.", request: SessionFields{}, reply: SessionInfo{}},
	"DELETE /v1/sessions/:id":              {summary: "End a session.", status: 204},
	"POST /v1/sessions/:id/execute":        {summary: "Run one program in a session.", headers: []string{"Idempotency-Key"}, request: TurnRequest{}, reply: Result{}, stream: true},
	"POST /v1/sessions/:id/resume":         {summary: "Go on with a suspended turn.", headers: []string{"Idempotency-Key"}, request: ResumeRequest{}, reply: Result{}, stream: true},
	"POST /v1/sessions/:id/interrupt":      {summary: "Interrupt the turn that runs.", reply: Interrupted{}},
	"POST /v1/sessions/:id/reset":          {summary: "Make a session what it was when it was opened.", reply: SessionInfo{}},
	"POST /v1/sessions/:id/fork":           {summary: "Make sessions that go on from this one's state.", request: ForkRequest{}, status: 201, reply: SessionList{}},
	"POST /v1/sessions/:id/rollback":       {summary: "Go back to an earlier state.", request: RollbackRequest{}, reply: SessionInfo{}},
	"GET /v1/sessions/:id/history":         {summary: "List the states to which a session can go back.", reply: HistoryList{}},
	"GET /v1/sessions/:id/autopsy":         {summary: "Say what the last turn that was stopped was doing.", reply: engine.Autopsy{}},
	"POST /v1/sessions/:id/snapshots":      {summary: "Take a snapshot.", request: SnapshotRequest{}, status: 201, reply: SnapshotInfo{}},
	"GET /v1/sessions/:id/ws":              {summary: "A WebSocket for turns, their events, input and tool results.", status: 101},
	"GET /v1/snapshots":                    {summary: "List the key's snapshots.", reply: SnapshotList{}},
	"POST /v1/snapshots/import":            {summary: "Take back an exported snapshot.", raw: "application/octet-stream", status: 201, reply: SnapshotInfo{}},
	"GET /v1/snapshots/:id":                {summary: "Describe a snapshot.", reply: SnapshotInfo{}},
	"DELETE /v1/snapshots/:id":             {summary: "Drop a snapshot.", status: 204},
	"GET /v1/snapshots/:id/export":         {summary: "A snapshot as a file that this deployment takes back.", bytes: "application/octet-stream"},
	"GET /v1/sessions/:id/files":           {summary: "List a folder of a session.", query: []string{"path"}, reply: FileList{}},
	"GET /v1/sessions/:id/files/*":         {summary: "Download a file, or with Range a part of it.", headers: []string{"Range"}, bytes: "application/octet-stream"},
	"PUT /v1/sessions/:id/files/*":         {summary: "Write a file.", raw: "application/octet-stream", reply: FileWritten{}},
	"DELETE /v1/sessions/:id/files/*":      {summary: "Remove a file or an empty folder.", status: 204},
	"GET /v1/sessions/:id/archive":         {summary: "The files of a session as a tar, tar.gz or zip archive.", query: []string{"path", "format"}, bytes: "application/x-tar"},
	"PUT /v1/sessions/:id/archive":         {summary: "Put the files of a tar, tar.gz or zip archive into a session.", query: []string{"path", "format"}, raw: "application/x-tar", reply: ArchiveWritten{}},
	"GET /v1/executions/:id":               {summary: "The Result of a run, or that it is running.", reply: Result{}},
	"GET /v1/executions/:id/events":        {summary: "The events of a run, from the start or after Last-Event-ID.", query: []string{"after"}, headers: []string{"Last-Event-ID"}, stream: true},
	"GET /v1/executions/:id/autopsy":       {summary: "Say what a run that was stopped was doing.", reply: engine.Autopsy{}},
	"DELETE /v1/executions/:id":            {summary: "Stop a run.", reply: Result{}},
	"POST /v1/executions/:id/tool_results": {summary: "Answer a call of one of the client's tools.", request: ToolResult{}, status: 204},

	"GET /v1/runtimes":     {summary: "The interpreters, and what this key may ask for.", reply: RuntimeList{}},
	"GET /v1/audit":        {summary: "What ran, newest first.", query: []string{"limit", "since", "key", "status", "session_id", "language"}, reply: AuditList{}},
	"GET /v1/openapi.json": {summary: "This description.", bytes: "application/json"},
}

type statusReply struct {
	Status string `json:"status"`
}

func (s *Server) openapi(x *exchange, _ echo.Context) error {
	doc, err := s.description()
	if err != nil {
		return err
	}
	x.writeJSON(http.StatusOK, doc)
	return nil
}

// object is a JSON object that is being made.
type object = map[string]any

// describe makes the description of the routes.
func describe(routes []route) ([]byte, error) {
	g := &schemas{all: object{}}
	paths := object{}
	for _, r := range routes {
		path := strings.NewReplacer(":id", "{id}", "/*", "/{path}").Replace(r.path)
		item, ok := paths[path].(object)
		if !ok {
			item = object{}
			paths[path] = item
		}
		item[strings.ToLower(r.method)] = g.operation(r, operations[r.method+" "+r.path])
	}
	return json.Marshal(object{
		"openapi": "3.0.3",
		"info":    object{"title": "Cloche", "version": "1", "description": "Runs Python, JavaScript and TypeScript in sandboxes."},
		"paths":   paths,
		"components": object{
			"schemas":         g.all,
			"securitySchemes": object{"key": object{"type": "http", "scheme": "bearer"}},
		},
		"security": []any{object{"key": []any{}}},
	})
}

func (g *schemas) operation(r route, o operation) object {
	parameters := []any{}
	parameter := func(name, in string, required bool) {
		parameters = append(parameters, object{"name": name, "in": in, "required": required, "schema": object{"type": "string"}})
	}
	if strings.Contains(r.path, ":id") {
		parameter("id", "path", true)
	}
	if strings.HasSuffix(r.path, "/*") {
		parameter("path", "path", true)
	}
	for _, q := range o.query {
		parameter(q, "query", false)
	}
	for _, h := range o.headers {
		parameter(h, "header", false)
	}
	out := object{"summary": o.summary, "parameters": parameters}
	switch {
	case o.request != nil:
		out["requestBody"] = object{"content": object{"application/json": object{"schema": g.of(o.request)}}}
	case o.raw != "":
		out["requestBody"] = object{"content": object{o.raw: object{"schema": object{"type": "string", "format": "binary"}}}}
	}
	if !strings.HasPrefix(r.path, "/v1") && r.path != "/metrics" {
		out["security"] = []any{}
	}
	content := object{}
	if o.reply != nil {
		content["application/json"] = object{"schema": g.of(o.reply)}
	}
	if o.bytes != "" {
		content[o.bytes] = object{"schema": object{"type": "string", "format": "binary"}}
	}
	if o.stream {
		content["text/event-stream"] = object{"schema": object{"type": "string"}}
		content["application/x-ndjson"] = object{"schema": g.of(Event{})}
	}
	status := o.status
	if status == 0 {
		status = http.StatusOK
	}
	reply := object{"description": http.StatusText(status)}
	if len(content) > 0 {
		reply["content"] = content
	}
	responses := object{
		strconv.Itoa(status): reply,
		"default":            object{"description": "What was wrong.", "content": object{"application/json": object{"schema": g.of(ErrorBody{})}}},
	}
	if o.stream && o.request != nil {
		responses["202"] = object{"description": "With Prefer: respond-async.", "content": object{"application/json": object{"schema": g.of(Execution{})}}}
	}
	if r.path == "/v1/executions/:id" && r.method == http.MethodGet {
		responses["200"] = object{"description": "OK", "content": object{"application/json": object{"schema": object{"anyOf": []any{g.of(Result{}), g.of(Execution{})}}}}}
	}
	if r.path == "/v1/sessions/:id/files/*" && r.method == http.MethodGet {
		responses["206"] = responses["200"]
	}
	out["responses"] = responses
	return out
}

// schemas makes JSON schemas of Go types, as encoding/json writes them.
type schemas struct{ all object }

func (g *schemas) of(v any) object { return g.typ(reflect.TypeOf(v)) }

func (g *schemas) typ(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return object{"nullable": true} // any JSON
	case reflect.TypeFor[limits.Usage]():
		return g.usage()
	case reflect.TypeFor[engine.Receipt]():
		return object{"type": "object", "description": "A receipt, as cloche replay takes it; see docs/receipts.md."}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.typ(t.Elem())
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64, reflect.Int32:
		return object{"type": "integer"}
	case reflect.Uint, reflect.Uint64, reflect.Uint32:
		return object{"type": "integer", "minimum": 0}
	case reflect.Float64, reflect.Float32:
		return object{"type": "number"}
	case reflect.Slice, reflect.Array:
		return object{"type": "array", "items": g.typ(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": g.typ(t.Elem())}
	case reflect.Struct:
		return g.structure(t)
	}
	return object{"nullable": true} // any JSON
}

// usage has the form of limits.Usage, which writes itself.
func (g *schemas) usage() object {
	var names map[string]float64
	b, err := json.Marshal(limits.Usage{})
	if err == nil {
		err = json.Unmarshal(b, &names)
	}
	if err != nil {
		return object{"type": "object"}
	}
	properties := object{}
	for name := range names {
		properties[name] = object{"type": "number", "minimum": 0}
	}
	return object{"type": "object", "properties": properties, "required": slices.Sorted(maps.Keys(names))}
}

// structure refers to the schema of a type, which is made once.
func (g *schemas) structure(t reflect.Type) object {
	ref := object{"$ref": "#/components/schemas/" + t.Name()}
	if _, ok := g.all[t.Name()]; ok {
		return ref
	}
	s := object{"type": "object"}
	g.all[t.Name()] = s // before its fields, which may refer to it
	properties, required := object{}, []string{}
	g.fields(t, properties, &required)
	s["properties"] = properties
	if len(required) > 0 {
		slices.Sort(required)
		s["required"] = required
	}
	if strings.HasSuffix(t.Name(), "Request") || t == reflect.TypeFor[SessionFields]() || t == reflect.TypeFor[ToolResult]() {
		s["additionalProperties"] = false
	}
	return ref
}

func (g *schemas) fields(t reflect.Type, properties object, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			g.fields(f.Type, properties, required)
			continue
		case !f.IsExported() || name == "-":
			continue
		case name == "":
			name = f.Name
		}
		properties[name] = g.typ(f.Type)
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			*required = append(*required, name)
		}
	}
}
