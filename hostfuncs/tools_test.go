package hostfuncs_test

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"testing"
	"time"

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
	reg := &hostfuncs.Registry{}
	if err := hostfuncs.Register(reg, "lookup", func(_ context.Context, q query) (query, error) { return q, nil }); err != nil {
		b.Fatal(err)
	}
	calls := hostfuncs.NewCalls(b.Context(), waitAll)
	defer calls.Close()
	tools := &hostfuncs.Tools{Registry: reg, Calls: calls}
	d := &hostfuncs.Door{MaxCalls: 1 << 40, Handlers: tools.Handlers()}
	r := request(hostfuncs.OpTool, `{"name":"lookup","arguments":{"name":"Ada"}}`)
	for b.Loop() {
		if reply, err := d.Serve(b.Context(), r); err != nil || reply[0] != 0 {
			b.Fatal(string(reply), err)
		}
	}
}
