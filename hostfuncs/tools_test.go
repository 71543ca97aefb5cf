package hostfuncs_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"

	"github.com/cloche-dev/cloche/hostfuncs"
)

// waitAll is a Waiter of a run that has all the time that its context has.
func waitAll(ctx context.Context, done <-chan struct{}, atMost time.Duration) (bool, error) {
	var bound <-chan time.Time
	if atMost >= 0 {
		t := time.NewTimer(atMost)
		defer t.Stop()
		bound = t.C
	}
	select {
	case <-done:
		return true, nil
	case <-bound:
		return false, nil
	case <-ctx.Done():
		return false, errors.New("the run was cancelled")
	}
}

// What was given up counts no longer, and so must not be held: neither the arguments of a call whose turn has not come, nor a reply
// that nobody has collected.
func TestNothingIsHeldOfCancelledCalls(t *testing.T) {
	calls := hostfuncs.NewCalls(t.Context(), waitAll)
	defer calls.Close()
	// start begins a call that holds something, and returns its number and what it holds.
	start := func(work func(ctx context.Context) error) (id uint32, held weak.Pointer[[1 << 10]byte]) {
		t.Helper()
		some := new([1 << 10]byte)
		held = weak.Make(some)
		reply, err := calls.Do(t.Context(), len(some), true, func(ctx context.Context) ([]byte, error) { return some[:], work(ctx) },
			func(reply []byte, err error) ([]byte, error) { return reply, err })
		if err != nil || reply[0] != 0 {
			t.Fatalf("%q, %v", reply, err)
		}
		return binary.LittleEndian.Uint32(reply[1:]), held
	}
	cancel := func(id uint32) {
		t.Helper()
		if _, err := calls.Handlers()[hostfuncs.OpCancel](t.Context(), request(hostfuncs.OpCancel, fmt.Sprintf(`{"id":%d}`, id))[1:]); err != nil {
			t.Fatal(err)
		}
	}
	var given []weak.Pointer[[1 << 10]byte]
	for range 20 {
		goOn, over := make(chan struct{}), make(chan struct{})
		id, held := start(func(context.Context) error { <-goOn; close(over); return nil })
		close(goOn)
		<-over
		time.Sleep(2 * time.Millisecond) // until the reply is noted, in most cases
		cancel(id)
		given = append(given, held)
	}
	for range 16 { // as many as go on at once
		start(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	}
	for range 20 {
		id, held := start(func(context.Context) error { return nil })
		cancel(id)
		given = append(given, held)
	}
	runtime.GC()
	kept := 0
	for _, held := range given {
		if held.Value() != nil {
			kept++
		}
	}
	if kept > 1 { // what a stack still has
		t.Errorf("of %d calls that were given up, %d are still held", len(given), kept)
	}
}

// doorOf is a run's door to the tools of reg.
func doorOf(t testing.TB, reg *hostfuncs.Registry) (*hostfuncs.Door, *[]hostfuncs.ToolCall) {
	calls := hostfuncs.NewCalls(t.Context(), waitAll)
	t.Cleanup(calls.Close)
	record := &[]hostfuncs.ToolCall{}
	tools := &hostfuncs.Tools{Registry: reg, Calls: calls, Record: func(c hostfuncs.ToolCall) { *record = append(*record, c) }}
	d := &hostfuncs.Door{MaxCalls: 1 << 40, Handlers: calls.Handlers()}
	maps.Copy(d.Handlers, tools.Handlers())
	return d, record
}

func request(op hostfuncs.Op, header string) []byte {
	b := binary.LittleEndian.AppendUint32([]byte{byte(op)}, uint32(len(header)))
	return append(b, header...)
}

type query struct {
	Name string `json:"name"`
	Max  int    `json:"max,omitempty"`
}

func BenchmarkTool(b *testing.B) {
	for _, bench := range []struct {
		name    string
		options []hostfuncs.Option
		header  string
	}{
		{"waits", nil, `{"name":"lookup","arguments":{"name":"Ada"}}`},
		{"quick", []hostfuncs.Option{hostfuncs.Quick()}, `{"async":true,"name":"lookup","arguments":{"name":"Ada","max":12}}`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			reg := &hostfuncs.Registry{MaxCalls: 1 << 40}
			if err := hostfuncs.Register(reg, "lookup", func(_ context.Context, q query) (query, error) { return q, nil }, bench.options...); err != nil {
				b.Fatal(err)
			}
			calls := hostfuncs.NewCalls(b.Context(), waitAll)
			defer calls.Close()
			tools := &hostfuncs.Tools{Registry: reg, Calls: calls, Log: slog.New(slog.DiscardHandler)}
			d := &hostfuncs.Door{MaxCalls: 1 << 40, Handlers: tools.Handlers()}
			r := request(hostfuncs.OpTool, bench.header)
			b.ReportAllocs()
			for b.Loop() {
				if reply, err := d.Serve(b.Context(), r); err != nil || reply[0] != 0 {
					b.Fatal(string(reply), err)
				}
			}
		})
	}
}

func quiet(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil }

func TestRegistry(t *testing.T) {
	tests := []struct {
		tool hostfuncs.Tool
		err  string
	}{
		{hostfuncs.Tool{Name: "lookup", Call: quiet}, ""},
		{hostfuncs.Tool{Name: "crm.lookup_2", Call: quiet, Input: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`)}, ""},
		{hostfuncs.Tool{Name: "lookup", Call: quiet}, "there is one of that name"},
		{hostfuncs.Tool{Name: "lookup.x", Call: quiet}, "lookup is a tool itself"},
		{hostfuncs.Tool{Name: "crm", Call: quiet}, "it is a namespace"},
		{hostfuncs.Tool{Name: "x"}, "it has no Call"},
		{hostfuncs.Tool{Name: "", Call: quiet}, "a name is an identifier"},
		{hostfuncs.Tool{Name: "a.b.c", Call: quiet}, "a name is an identifier"},
		{hostfuncs.Tool{Name: "a.", Call: quiet}, "a name is an identifier"},
		{hostfuncs.Tool{Name: "_a", Call: quiet}, "a name is an identifier"},
		{hostfuncs.Tool{Name: "a-b", Call: quiet}, "a name is an identifier"},
		{hostfuncs.Tool{Name: "é", Call: quiet}, "a name is an identifier"},
		{hostfuncs.Tool{Name: strings.Repeat("a", 65), Call: quiet}, "a name is an identifier"},
		{hostfuncs.Tool{Name: "import", Call: quiet}, "import is a reserved word"},
		{hostfuncs.Tool{Name: "a.then", Call: quiet}, "then is a reserved word"},
		{hostfuncs.Tool{Name: "x", Call: quiet, Input: json.RawMessage(`{"type":"string"}`)}, `the type must be "object"`},
		{hostfuncs.Tool{Name: "x", Call: quiet, Input: json.RawMessage(`{`)}, "input schema"},
		{hostfuncs.Tool{Name: "x", Call: quiet, Input: json.RawMessage(`{"$ref":"http://example.com/schema"}`)}, "input schema"},
		{hostfuncs.Tool{Name: "x", Call: quiet, Input: json.RawMessage(`{"properties":{"a":{"pattern":"("}}}`)}, "input schema"},
		{hostfuncs.Tool{Name: "x", Call: quiet, Output: json.RawMessage(`[`)}, "output schema"},
		{hostfuncs.Tool{Name: "x", Call: quiet, MaxCalls: -1}, "a budget is negative"},
		{hostfuncs.Tool{Name: "x", Call: quiet, Description: strings.Repeat("x", 1<<15)}, "its description"},
	}
	reg := &hostfuncs.Registry{}
	for _, tt := range tests {
		err := reg.Add(tt.tool)
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%+v: error %v, want %q", tt.tool, err, tt.err)
		}
	}
	if len(reg.Tools()) != 2 || reg.Empty() || !(*hostfuncs.Registry)(nil).Empty() {
		t.Errorf("tools %v", reg.Tools())
	}
	if err := hostfuncs.Register(reg, "text", func(context.Context, string) (string, error) { return "", nil }); err == nil {
		t.Error("arguments that are no struct are accepted")
	}
	if err := hostfuncs.Register(reg, "channel", func(context.Context, query) (chan int, error) { return nil, nil }); err == nil {
		t.Error("a result that has no JSON is accepted")
	}
}

type inner struct {
	N int `json:"n"`
}

type deep struct {
	List []inner           `json:"list"`
	More map[string]string `json:"more,omitempty"`
	One  *inner            `json:"one,omitempty"`
}

func TestToolCalls(t *testing.T) {
	reg := &hostfuncs.Registry{MaxCalls: 32, Gate: func(_ context.Context, tool string, arguments json.RawMessage) error {
		if tool == "gated" && strings.Contains(string(arguments), "no") {
			return hostfuncs.Refuse("PermissionError", "ask first")
		}
		if tool == "gated" {
			return errors.New("the gate is at 10.0.0.1")
		}
		return nil
	}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(hostfuncs.Register(reg, "flat", func(_ context.Context, q query) (query, error) { return q, nil }))
	must(hostfuncs.Register(reg, "deep", func(_ context.Context, d deep) (int, error) { return len(d.List), nil }))
	must(hostfuncs.Register(reg, "gated", func(_ context.Context, q query) (query, error) { return q, nil }))
	must(hostfuncs.Register(reg, "twice", func(context.Context, struct{}) (int, error) { return 1, nil }, hostfuncs.MaxCalls(2)))
	must(hostfuncs.Register(reg, "late", func(ctx context.Context, _ struct{}) (int, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	}, hostfuncs.Timeout(10*time.Millisecond)))
	must(hostfuncs.Register(reg, "deaf", func(context.Context, struct{}) (int, error) {
		<-t.Context().Done() // which is not the call's
		return 1, nil
	}, hostfuncs.Timeout(10*time.Millisecond)))
	must(hostfuncs.Register(reg, "fault", func(context.Context, struct{}) (int, error) { panic("at tools.go:42") }))
	must(hostfuncs.Register(reg, "safe", func(context.Context, struct{}) (int, error) {
		return 0, fmt.Errorf("ask the database: %w", hostfuncs.Refuse("KeyError", "no such row"))
	}))
	must(reg.Add(hostfuncs.Tool{Name: "raw", Input: json.RawMessage(`{"properties":{"n":{"type":"integer","minimum":1}},"required":["n"]}`),
		Call: func(_ context.Context, a json.RawMessage) (json.RawMessage, error) { return a, nil }}))
	must(reg.Add(hostfuncs.Tool{Name: "odd", Call: func(context.Context, json.RawMessage) (json.RawMessage, error) { return json.RawMessage(`{`), nil }}))
	must(reg.Add(hostfuncs.Tool{Name: "silent", Call: quiet}))
	must(hostfuncs.Register(reg, "quick", func(_ context.Context, q query) (int, error) {
		if q.Max < 0 {
			panic("tools.go:42")
		}
		return q.Max, nil
	}, hostfuncs.Quick()))
	d, record := doorOf(t, reg)
	tests := []struct{ header, want, outcome string }{
		{`{"name":"flat","arguments":{"name":"Ada","max":2}}`, `{"name":"Ada","max":2}`, "ok"},
		{`{"name":"flat","arguments":{"name":"\ud800"}}`, "{\"name\":\"\ufffd\"}", "ok"},
		{`{"name":"flat"}`, `!TypeError: flat: missing argument "name"`, "refused"},
		{`{"name":"flat","arguments":{"name":1}}`, `!TypeError: name cannot be a number`, "error"},
		{`{"name":"flat","arguments":{"name":[]}}`, `!TypeError: name cannot be an array`, "error"},
		{`{"name":"flat","arguments":{"name":"a","max":1e99}}`, `!TypeError: max cannot be a number 1e99`, "error"},
		{`{"name":"flat","arguments":{"name":"a","NAME":"b"}}`, `!TypeError: flat: unexpected argument "NAME"`, "refused"},
		{`{"name":"flat","arguments":{"name":"a","name":"b"}}`, `!TypeError: flat: "name" is there twice`, "refused"},
		{`{"name":"flat","arguments":[]}`, `!TypeError: flat: the arguments are not a JSON object`, "refused"},
		{`{"name":"flat","arguments":null}`, `!TypeError: flat: the arguments are not a JSON object`, "refused"},
		{`{"name":"deep","arguments":{"list":[{"n":1},{"n":2}]}}`, `2`, "ok"},
		{`{"name":"deep","arguments":{"list":[{"n":1,"x":2}]}}`, `!TypeError: deep: list[0].x: unexpected`, "refused"},
		{`{"name":"deep","arguments":{"list":[{"n":1,"n":2}]}}`, `!TypeError: deep: list[0].n: is there twice`, "refused"},
		{`{"name":"raw","arguments":{"n":1,"m":2}}`, `{"n":1,"m":2}`, "ok"},
		{`{"name":"raw","arguments":{"n":0}}`, `!TypeError: raw: `, "refused"},
		{`{"name":"gated","arguments":{"name":"no"}}`, `!PermissionError: ask first`, "refused"},
		{`{"name":"gated","arguments":{"name":"yes"}}`, `!PermissionError: gated may not be called so`, "refused"},
		{`{"name":"twice"}`, `1`, "ok"},
		{`{"name":"twice"}`, `1`, "ok"},
		{`{"name":"twice"}`, `!ToolLimit: this run may call twice 2 times`, "refused"},
		{`{"name":"late"}`, `!TimeoutError: late took longer than it may`, "timeout"},
		{`{"name":"deaf"}`, `!TimeoutError: deaf took longer than it may`, "timeout"},
		{`{"name":"fault"}`, `!ToolError: the tool fault failed`, "error"},
		{`{"name":"safe"}`, `!KeyError: no such row`, "error"},
		{`{"name":"odd"}`, `!ToolError: the tool odd failed`, "error"},
		{`{"name":"silent"}`, `null`, "ok"},
		{`{"name":"quick","arguments":{"name":"a","max":3}}`, `3`, "ok"},
		{`{"name":"quick","async":true,"arguments":{"name":"a","max":3}}`, "\x01\x003", "ok"},
		{`{"name":"quick","arguments":{"name":"a","max":-1}}`, `!ToolError: the tool quick failed`, "error"},
		{`{"name":"quick","arguments":{}}`, `!TypeError: quick: missing argument "name"`, "refused"},
		{`{"name":"../flat"}`, `!AttributeError: there is no tool "../flat"`, "refused"},
		{`{"name":"__class__"}`, `!AttributeError: there is no tool`, "refused"},
		{`{"name":""}`, `!AttributeError: there is no tool`, "refused"},
		{`{}`, `!AttributeError: there is no tool`, "refused"},
		{`{"name":7}`, `!ValueError: tool frame: "name": not a string`, ""},
		{`{"name":"flat","name":"raw"}`, `!ValueError: tool frame: "name" is there twice`, ""},
		{`{"name":"flat","x":1}`, `!ValueError: tool frame: unknown field "x"`, ""},
		{`{"name":"flat","arguments":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, `!ValueError: tool frame: nested deeper`, ""},
		{`[]`, `!ValueError: tool frame`, ""},
		{`{"name":"flat"} x`, `!ValueError: tool frame`, ""},
	}
	for _, tt := range tests {
		before := len(*record)
		reply, err := d.Serve(t.Context(), request(hostfuncs.OpTool, tt.header))
		if err != nil {
			t.Fatalf("%s ends the run: %v", tt.header, err)
		}
		got := string(reply[1:])
		if reply[0] == 1 {
			var r hostfuncs.Refusal
			if err := json.Unmarshal(reply[1:], &r); err != nil {
				t.Fatal(err)
			}
			got = "!" + r.Error()
		}
		if got != tt.want && !(tt.want[0] == '!' && strings.HasPrefix(got, tt.want)) {
			t.Errorf("%s: %s, want %s", tt.header, got, tt.want)
		}
		outcome := ""
		if len(*record) > before {
			outcome = (*record)[before].Outcome
		}
		if outcome != tt.outcome {
			t.Errorf("%s: outcome %q, want %q", tt.header, outcome, tt.outcome)
		}
	}
	for { // calls that were made, of 32
		reply, err := d.Serve(t.Context(), request(hostfuncs.OpTool, `{"name":"silent"}`))
		if err != nil {
			t.Fatal(err)
		}
		if reply[0] == 1 {
			if !strings.Contains(string(reply), "this run may make 32 calls of tools") {
				t.Errorf("%s", reply)
			}
			break
		}
		if len(*record) > 100 {
			t.Fatal("the budget of the run has no end")
		}
	}
}

// TestCallsOverlap: many calls go on at once, no more than may, and come back as they are done.
func TestCallsOverlap(t *testing.T) {
	reg := &hostfuncs.Registry{}
	const places = 16
	var inside, most atomic.Int64
	goOn := make(chan struct{})
	err := hostfuncs.Register(reg, "nap", func(ctx context.Context, in struct {
		N int `json:"n"`
	}) (int, error) {
		n := inside.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		defer inside.Add(-1)
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return in.N, ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	d, record := doorOf(t, reg)
	const n = 100
	waiting := map[uint32]string{}
	for i := range n {
		reply, err := d.Serve(t.Context(), request(hostfuncs.OpTool, fmt.Sprintf(`{"name":"nap","async":true,"arguments":{"n":%d}}`, i)))
		if err != nil || reply[0] != 0 || reply[1] != 0 {
			t.Fatalf("%q, %v", reply, err)
		}
		waiting[binary.LittleEndian.Uint32(reply[2:])] = fmt.Sprint(i)
	}
	for end := time.Now().Add(20 * time.Second); inside.Load() < places; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d calls have begun", inside.Load())
		}
	}
	given := 0
	for id := range waiting { // some are given up, whether they have begun or not
		if given++; given > 10 {
			break
		}
		if _, err := d.Serve(t.Context(), request(hostfuncs.OpCancel, fmt.Sprintf(`{"id":%d}`, id))); err != nil {
			t.Fatal(err)
		}
		delete(waiting, id)
	}
	close(goOn)
	for len(waiting) > 0 {
		reply, err := d.Serve(t.Context(), request(hostfuncs.OpWait, `{"timeout_ms":5000}`))
		if err != nil || len(reply) < 2 {
			t.Fatalf("%q, %v", reply, err)
		}
		for got := reply[1:]; len(got) > 0; {
			id, size := binary.LittleEndian.Uint32(got), binary.LittleEndian.Uint32(got[4:])
			if frame := string(got[8 : 8+size]); frame != "\x00"+waiting[id] {
				t.Errorf("call %d: %q, want %s", id, frame, waiting[id])
			}
			delete(waiting, id)
			got = got[8+size:]
		}
	}
	if most.Load() != places {
		t.Errorf("%d calls went on at once", most.Load())
	}
	tally := map[string]int{}
	for _, c := range *record {
		tally[c.Outcome]++
	}
	if tally["ok"] != n-10 || tally["cancelled"] != 10 {
		t.Errorf("outcomes %v", tally)
	}
	for header, want := range map[string]string{`{}`: "nothing is going on", `{"id":1}`: "unknown field", `{"timeout_ms":-1}`: "timeout_ms", `x`: "not JSON"} {
		if reply, err := d.Serve(t.Context(), request(hostfuncs.OpWait, header)); err != nil || !strings.Contains(string(reply), want) {
			t.Errorf("%s: %q, %v", header, reply, err)
		}
	}
}

func TestTooManyCalls(t *testing.T) {
	reg := &hostfuncs.Registry{}
	err := reg.Add(hostfuncs.Tool{Name: "hang", Call: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	if err != nil {
		t.Fatal(err)
	}
	d, _ := doorOf(t, reg)
	big := fmt.Sprintf(`{"name":"hang","async":true,"arguments":{"x":%q}}`, strings.Repeat("x", 3<<20))
	for i := range 4 {
		reply, err := d.Serve(t.Context(), request(hostfuncs.OpTool, big))
		if err != nil || (reply[0] == 1) != (i >= 2) { // 64 MiB hold two, eight times their size
			t.Fatalf("call %d: %.100q, %v", i, reply, err)
		}
	}
	if reply, err := d.Serve(t.Context(), request(hostfuncs.OpTool, fmt.Sprintf(`{"name":"hang","arguments":{"x":%q}}`, strings.Repeat("x", 5<<20)))); err != nil ||
		!strings.Contains(string(reply), "more than 4194304") {
		t.Errorf("%.200q, %v", reply, err)
	}
	d, _ = doorOf(t, reg)
	for i := range 4097 {
		reply, err := d.Serve(t.Context(), request(hostfuncs.OpTool, `{"name":"hang","async":true}`))
		if err != nil || (reply[0] == 1) != (i >= 4096) {
			t.Fatalf("call %d: %.100q, %v", i, reply, err)
		}
	}
}

func TestDeclarations(t *testing.T) {
	reg := &hostfuncs.Registry{}
	add := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	type found struct {
		ID   int               `json:"id"`
		Tags []string          `json:"tags,omitempty"`
		Meta map[string]int    `json:"meta"`
		At   time.Time         `json:"at"`
		Sub  []map[string]bool `json:"sub"`
	}
	add(hostfuncs.Register(reg, "lookup", func(context.Context, struct {
		Max  int      `json:"max,omitempty"`
		Name string   `json:"name" jsonschema:"the full \"name\" of it"`
		Like *float64 `json:"like,omitempty"`
	}) ([]found, error) {
		return nil, nil
	}, hostfuncs.Description("Find things.\nUse it */ well.")))
	add(reg.Add(hostfuncs.Tool{Name: "crm.pick", Description: "Pick one.", Call: quiet, Input: json.RawMessage(`{
		"$defs": {"color": {"enum": ["red", "blue"]}, "tree": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}},
		"properties": {"z": {"$ref": "#/$defs/color"}, "class": {"type": "string"}, "a-b": {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "t": {"$ref": "#/$defs/tree"}},
		"required": ["z"], "additionalProperties": false}`)}))
	add(reg.Add(hostfuncs.Tool{Name: "ping", Call: quiet}))
	python := `from typing import Any, Literal

def lookup(name: str, max: int = ..., like: float | None = ...) -> list[dict[str, Any]] | None:
    """Find things.
    Use it */ well.
    name: the full "name" of it"""

def ping() -> Any:
    ""

class crm:

    @staticmethod
    def pick(z: Literal["red", "blue"], t: dict[str, Any] = ...) -> Any:
        "Pick one."
`
	if d := cmp.Diff(python, reg.PythonStub()); d != "" {
		t.Errorf("Python (-want +got):\n%s", d)
	}
	typeScript := `declare const tools: {
  /** Find things.
   * Use it *\/ well. */
  lookup(args: { max?: number; name: string; like?: number | null }): Promise<Array<{ id: number; tags?: string[] | null; meta: Record<string, number> | null; at: string; sub: Array<Record<string, boolean> | null> | null }> | null>;
  ping(args?: Record<string, unknown>): Promise<unknown>;
  crm: {
    /** Pick one. */
    pick(args: { z: "red" | "blue"; class?: string; "a-b"?: number | null; t?: KIDS }): Promise<unknown>;
  };
};
`
	kids := "unknown"
	for range 3 {
		kids = "{ kids?: Array<" + kids + "> }"
	}
	got := reg.TypeScript()
	if i, j := strings.Index(got, "t?: {"), strings.Index(got, " }): Promise<unknown>;\n  };"); i > 0 && j > i {
		got = got[:i] + "t?: KIDS" + got[j:] // how deep it goes is not the point
	}
	if d := cmp.Diff(typeScript, got); d != "" {
		t.Errorf("TypeScript (-want +got):\n%s", d)
	}
}

// The declarations are those of the registry, in a selection too, and are made once.
func TestDeclarationsAreMadeOnce(t *testing.T) {
	reg := &hostfuncs.Registry{}
	for i := range 100 {
		schema := json.RawMessage(`{"properties": {"a": {"type": "string", "description": "<&>"}, "b": {"enum": [1, 2]}}, "required": ["b"]}`)
		if err := reg.Add(hostfuncs.Tool{Name: fmt.Sprintf("space%d.tool", i%9) + fmt.Sprint(i), Description: "Do it.", Input: schema, Call: quiet}); err != nil {
			t.Fatal(err)
		}
	}
	some, err := reg.Select([]string{"space3", "space5"})
	if err != nil {
		t.Fatal(err)
	}
	for _, reg := range []*hostfuncs.Registry{reg, some} {
		d, _ := doorOf(t, reg)
		want, err := json.Marshal(reg.Declarations())
		if err != nil {
			t.Fatal(err)
		}
		ask := func() {
			if reply, err := d.Serve(t.Context(), request(hostfuncs.OpTools, "{}")); err != nil || string(reply) != "\x00"+string(want) {
				t.Fatalf("the declarations are %s, %v; want %s", reply, err, want)
			}
		}
		ask()
		if n := testing.AllocsPerRun(10, ask); n > 100 {
			t.Errorf("asking once more takes %v allocations", n)
		}
	}
}

func FuzzTool(f *testing.F) {
	f.Add([]byte(`{"name":"flat","arguments":{"name":"Ada"}}`))
	f.Add([]byte(`{"name":"raw","async":true,"arguments":{"n":[{}]}}`))
	f.Fuzz(func(t *testing.T, header []byte) {
		reg := &hostfuncs.Registry{}
		if err := hostfuncs.Register(reg, "flat", func(_ context.Context, q query) (query, error) { return q, nil }); err != nil {
			t.Fatal(err)
		}
		input := json.RawMessage(`{"properties":{"n":{"type":"array","maxItems":3}},"required":["n"]}`)
		if err := reg.Add(hostfuncs.Tool{Name: "raw", Input: input, Call: func(_ context.Context, a json.RawMessage) (json.RawMessage, error) {
			var v struct{ N []any }
			if err := json.Unmarshal(a, &v); err != nil || len(v.N) > 3 {
				t.Errorf("arguments %q that do not fit came through", a)
			}
			return a, nil
		}}); err != nil {
			t.Fatal(err)
		}
		d, _ := doorOf(t, reg)
		for _, op := range []hostfuncs.Op{hostfuncs.OpTool, hostfuncs.OpWait, hostfuncs.OpCancel} {
			if op == hostfuncs.OpWait && !strings.Contains(string(header), "timeout_ms") {
				continue // it might wait for what never comes
			}
			if _, err := d.Serve(t.Context(), request(op, string(header))); err != nil && !strings.Contains(err.Error(), "cancelled") {
				t.Errorf("%s %q: %v", op, header, err)
			}
		}
	})
}

// TestHeldReplies: what is not collected keeps further calls from beginning, so that replies cannot pile up.
func TestHeldReplies(t *testing.T) {
	reg := &hostfuncs.Registry{}
	var made atomic.Int64
	err := reg.Add(hostfuncs.Tool{Name: "large", Call: func(context.Context, json.RawMessage) (json.RawMessage, error) {
		made.Add(1)
		return json.RawMessage(`"` + strings.Repeat("x", 7<<20) + `"`), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	d, _ := doorOf(t, reg)
	const n = 24
	collected, started := 0, 0
	for range n {
		reply, err := d.Serve(t.Context(), request(hostfuncs.OpTool, `{"name":"large","async":true}`))
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case reply[0] == 1: // it holds too much already
		case reply[1] == 1:
			collected++
			started++
		default:
			started++
		}
	}
	time.Sleep(50 * time.Millisecond)
	if m := made.Load(); m-int64(collected) > 64/7+17 {
		t.Errorf("%d large replies are held", m-int64(collected))
	}
	for collected < started {
		reply, err := d.Serve(t.Context(), request(hostfuncs.OpWait, `{"timeout_ms":60000}`))
		if err != nil || len(reply) < 9 {
			t.Fatalf("%.100q, %v, after %d of %d", reply, err, collected, started)
		}
		for got := reply[1:]; len(got) > 0; got = got[8+binary.LittleEndian.Uint32(got[4:]):] {
			collected++
		}
	}
}
