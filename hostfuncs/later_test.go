package hostfuncs_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/hostfuncs"
)

// lateRun is a run that can be suspended and is offered tools whose results come later.
type lateRun struct {
	t     *testing.T
	door  hostfuncs.Door
	calls *hostfuncs.Calls
	tools *hostfuncs.Tools
	ended []string // outcomes
}

func newLateRun(t *testing.T, suspendable bool) *lateRun {
	t.Helper()
	reg := &hostfuncs.Registry{}
	for _, tool := range []hostfuncs.Tool{{Name: "ask", Call: hostfuncs.Later}, {Name: "quick", Call: hostfuncs.Later, Quick: true}} {
		if err := reg.Add(tool); err != nil {
			t.Fatal(err)
		}
	}
	r := &lateRun{t: t, calls: hostfuncs.NewCalls(t.Context(), waitAll)}
	r.calls.Suspendable = func() bool { return suspendable }
	r.tools = &hostfuncs.Tools{Registry: reg, Calls: r.calls, Record: func(c hostfuncs.ToolCall) { r.ended = append(r.ended, c.Outcome) }}
	r.door = hostfuncs.Door{MaxCalls: 1 << 40, Handlers: r.calls.Handlers()}
	maps.Copy(r.door.Handlers, r.tools.Handlers())
	t.Cleanup(r.calls.Close)
	return r
}

func (r *lateRun) serve(op hostfuncs.Op, header string) string {
	r.t.Helper()
	reply, err := r.door.Serve(r.t.Context(), request(op, header))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(reply)
}

// call makes a call that goes on; its number.
func (r *lateRun) call(tool string) uint32 {
	r.t.Helper()
	reply := r.serve(hostfuncs.OpTool, `{"name":"`+tool+`","arguments":{"a":1},"async":true}`)
	if len(reply) != 6 || reply[:2] != "\x00\x00" {
		r.t.Fatalf("a call whose result comes later is answered by %q", reply)
	}
	return binary.LittleEndian.Uint32([]byte(reply[2:]))
}

// wait waits until the calls are known to be late: tools run on goroutines of their own.
func (r *lateRun) wait(header string) string {
	r.t.Helper()
	for {
		if reply := r.serve(hostfuncs.OpWait, header); reply != "\x00" {
			return reply
		}
	}
}

// The arguments of calls that wait are bounded, since whoever suspends keeps them; those of calls that were answered do not count.
func TestLaterArguments(t *testing.T) {
	for _, tool := range []string{"ask", "quick"} {
		r := newLateRun(t, true)
		long := fmt.Sprintf(`{"name":%q,"arguments":{"a":"%s"},"async":true}`, tool, strings.Repeat("x", 400<<10))
		for range 2 {
			if reply := r.serve(hostfuncs.OpTool, long); !strings.HasPrefix(reply, "\x00\x00") {
				t.Fatalf("%.100q", reply)
			}
		}
		refused := r.serve(hostfuncs.OpTool, long) + r.wait(`{"suspend":true}`)
		if !strings.Contains(refused, "put what is long into a file") {
			t.Errorf("%s: the third is answered %.300q", tool, refused)
		}
		calls := r.suspend()
		if len(calls) != 2 {
			t.Fatalf("%s: %d calls wait", tool, len(calls))
		}
		next := newLateRun(t, true)
		next.tools.Resume(calls, []hostfuncs.ToolResult{{CallID: calls[0].ID, Result: []byte("1")}})
		if reply := next.serve(hostfuncs.OpTool, long); !strings.HasPrefix(reply, "\x00\x00") {
			t.Errorf("%s: after an answer there is no room: %.100q", tool, reply)
		}
	}
}

// suspend waits until the run is suspended; the calls that it waits for.
func (r *lateRun) suspend() []hostfuncs.LateCall {
	for {
		if calls := r.calls.Suspend(); calls != nil {
			return calls
		}
		r.serve(hostfuncs.OpWait, `{"suspend":true}`)
	}
}

func TestLater(t *testing.T) {
	r := newLateRun(t, true)
	first, second := r.call("ask"), r.call("quick")
	if reply := r.serve(hostfuncs.OpWait, `{"timeout_ms":1,"suspend":true}`); reply != "\x00" {
		t.Errorf("a wait that ends is answered by %q", reply)
	}
	r.serve(hostfuncs.OpCancel, `{"id":12345}`) // nobody's
	if reply := r.wait(`{"suspend":true}`); !strings.Contains(reply, `"Suspended"`) {
		t.Fatalf("a wait for late calls is answered by %q", reply)
	}
	late := r.calls.Suspend()
	if len(late) != 2 || late[0].Number != first || late[1].Number != second || late[0].Name != "ask" || string(late[0].Arguments) != `{"a":1}` ||
		late[0].ID == late[1].ID || len(late[0].ID) < 26 || len(r.ended) != 0 {
		t.Fatalf("late calls %+v, ended %v", late, r.ended)
	}

	// The next part of the run, from what a state keeps of them.
	b, err := json.Marshal(late)
	if err != nil {
		t.Fatal(err)
	}
	late = nil
	if err := json.Unmarshal(b, &late); err != nil {
		t.Fatal(err)
	}
	next := newLateRun(t, true)
	results := []hostfuncs.ToolResult{{CallID: late[1].ID, Result: json.RawMessage(`"yes"`)}}
	if err := hostfuncs.CheckResults(late, results); err != nil {
		t.Fatal(err)
	}
	next.tools.Resume(late, results)
	want := string(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32([]byte{0}, second), 6)) + "\x00\"yes\""
	if reply := next.serve(hostfuncs.OpWait, `{"suspend":true}`); reply != want {
		t.Errorf("the result comes as %q, want %q", reply, want)
	}
	third := next.call("quick")
	if third == first || third == second {
		t.Error("two calls have one number")
	}
	if reply := next.wait(`{"suspend":true}`); !strings.Contains(reply, `"Suspended"`) {
		t.Errorf("a wait for late calls is answered by %q", reply)
	}
	if late = next.calls.Suspend(); len(late) != 2 || late[0].Number != first || late[1].Number != third || strings.Join(next.ended, " ") != "ok" {
		t.Errorf("late calls %+v, ended %v", late, next.ended)
	}
}

// A run that cannot be suspended, or does not say that it can, gets an error for a result.
func TestNeverLater(t *testing.T) {
	for _, tt := range []struct {
		suspendable bool
		wait        string
	}{{false, `{"suspend":true}`}, {true, `{}`}, {true, `{"suspend":false}`}} {
		r := newLateRun(t, tt.suspendable)
		r.call("ask")
		r.call("quick")
		if reply := r.wait(tt.wait); strings.Count(reply, `"RuntimeError"`) != 2 {
			t.Errorf("%v %s: %q", tt.suspendable, tt.wait, reply)
		}
		if late := r.calls.Suspend(); late != nil || strings.Join(r.ended, " ") != "error error" {
			t.Errorf("%v %s: late calls %v, ended %v", tt.suspendable, tt.wait, late, r.ended)
		}
		for _, tool := range []string{"ask", "quick"} {
			if reply := r.serve(hostfuncs.OpTool, `{"name":"`+tool+`","arguments":{}}`); !strings.Contains(reply, `"RuntimeError"`) {
				t.Errorf("a call of %s that blocks: %q", tool, reply)
			}
		}
	}
	// A call that was given up waits for nothing.
	r := newLateRun(t, true)
	id := r.call("quick")
	r.serve(hostfuncs.OpCancel, fmt.Sprintf(`{"id":%d}`, id))
	if reply := r.serve(hostfuncs.OpWait, `{"suspend":true}`); !strings.Contains(reply, "nothing is going on") {
		t.Errorf("a wait for nothing: %q", reply)
	}
	if late := r.calls.Suspend(); late != nil || strings.Join(r.ended, " ") != "cancelled" {
		t.Errorf("late calls %v, ended %v", late, r.ended)
	}
	// There is a bound on how many wait.
	for i := range 5000 {
		if reply := r.serve(hostfuncs.OpTool, `{"name":"quick","arguments":{},"async":true}`); strings.Contains(reply, "HostCallLimit") {
			if i < 4000 {
				t.Errorf("refused after %d", i)
			}
			return
		}
	}
	t.Error("5,000 calls wait")
}

func TestCheckResults(t *testing.T) {
	calls := []hostfuncs.LateCall{{PendingCall: hostfuncs.PendingCall{ID: "a"}}, {PendingCall: hostfuncs.PendingCall{ID: "b"}}}
	for _, tt := range []struct {
		results []hostfuncs.ToolResult
		noCall  bool
		says    string
	}{
		{results: []hostfuncs.ToolResult{{CallID: "b", Result: json.RawMessage(`{}`)}, {CallID: "a", Error: errors.New("no")}}},
		{results: []hostfuncs.ToolResult{{CallID: "a"}}},
		{[]hostfuncs.ToolResult{{CallID: "c"}}, true, `call "c": no such call waits for a result`},
		{[]hostfuncs.ToolResult{{CallID: "a"}, {CallID: "a"}}, true, `call "a": no such call`},
		{[]hostfuncs.ToolResult{{CallID: "a", Result: json.RawMessage(`{`)}}, false, `call "a": its result is not JSON`},
		{[]hostfuncs.ToolResult{{CallID: "a", Result: json.RawMessage(`"` + strings.Repeat("x", 8<<20) + `"`)}}, false, "more than 8388608"},
		{[]hostfuncs.ToolResult{{CallID: "a", Result: json.RawMessage(`1`), Error: errors.New("no")}}, false, "give one of them"},
	} {
		err := hostfuncs.CheckResults(calls, tt.results)
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) || errors.Is(err, hostfuncs.ErrNoCall) != tt.noCall {
			t.Errorf("%.80v: %v", tt.results, err)
		}
	}
}
