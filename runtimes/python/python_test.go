package python

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/runtimes"
)

// Addresses in the fake guest's memory.
const (
	fakeSize  = 1 << 20
	fakeTurn  = 0x100
	fakeNone  = 0x200
	fakeHeap  = 0x10000 // what host_alloc hands out
	fakeFrame = 0x8000  // where requests are put
	fakeOut   = 0x7000  // where the answer's address and length are put
	fakeTop   = 0x1000000
)

// fakeGuest is an interpreter of a few lines: its exports are Go functions.
type fakeGuest struct {
	t       *testing.T
	mem     []byte
	exports map[string]func(ctx context.Context, args []uint64) (uint64, error)
	calls   []string
	heap    uint32
	top     uint64
}

func newFake(t *testing.T) *fakeGuest {
	g := &fakeGuest{t: t, mem: make([]byte, fakeSize), heap: fakeHeap, top: fakeTop}
	constant := func(v uint64) func(context.Context, []uint64) (uint64, error) {
		return func(context.Context, []uint64) (uint64, error) { return v, nil }
	}
	g.exports = map[string]func(context.Context, []uint64) (uint64, error){
		expAlloc: func(_ context.Context, args []uint64) (uint64, error) {
			at := g.heap
			g.heap += uint32(args[0]) + 8
			return uint64(at), nil
		},
		expErrClear:     constant(0),
		expSetInterrupt: constant(0),
		expThreadState:  constant(0x300),
		expProtectStack: constant(0),
	}
	return g
}

func (g *fakeGuest) Call(ctx context.Context, export string, args ...uint64) (uint64, error) {
	g.calls = append(g.calls, export)
	f := g.exports[export]
	if f == nil {
		return 0, fmt.Errorf("no export %s", export)
	}
	return f(ctx, args)
}

func (g *fakeGuest) Memory() vm.Memory                    { return (*fakeMemory)(g) }
func (g *fakeGuest) Charge(uint64)                        {}
func (g *fakeGuest) GlobalSet(string, uint64) bool        { return false }
func (g *fakeGuest) GlobalGet(name string) (uint64, bool) { return g.top, name == stackPointer }

type fakeMemory fakeGuest

func (m *fakeMemory) Size() uint32 { return uint32(len(m.mem)) }

func (m *fakeMemory) Read(off, n uint32) ([]byte, bool) {
	if uint64(off)+uint64(n) > uint64(len(m.mem)) {
		return nil, false
	}
	return m.mem[off : off+n], true
}

func (m *fakeMemory) Write(off uint32, b []byte) bool {
	at, ok := m.Read(off, uint32(len(b)))
	return ok && copy(at, b) == len(b)
}

func (m *fakeMemory) ReadUint32(off uint32) (uint32, bool) {
	b, ok := m.Read(off, 4)
	if !ok {
		return 0, false
	}
	return binary.LittleEndian.Uint32(b), true
}

func (m *fakeMemory) WriteUint32(off, v uint32) bool {
	return m.Write(off, binary.LittleEndian.AppendUint32(nil, v))
}

// ask calls the host as the interpreter does, and returns the function's result and its answer.
func (g *fakeGuest) ask(ctx context.Context, op byte, payload string) (int32, []byte) {
	g.t.Helper()
	request := append([]byte{op}, payload...)
	g.Memory().Write(fakeFrame, request)
	stack := []uint64{fakeFrame, uint64(len(request)), fakeOut, fakeOut + 4}
	hostCall(ctx, g, stack)
	if int32(stack[0]) != 0 {
		return int32(stack[0]), nil
	}
	at, _ := g.Memory().ReadUint32(fakeOut)
	n, _ := g.Memory().ReadUint32(fakeOut + 4)
	b, ok := g.Memory().Read(at, n)
	if !ok {
		g.t.Fatalf("an answer of %d bytes at %#x", n, at)
	}
	return 0, bytes.Clone(b)
}

func fakeInfo(t *testing.T, twisters ...twister) runtimes.BootInfo {
	t.Helper()
	b, err := json.Marshal(booted{Turn: fakeTurn, None: fakeNone, Twisters: twisters})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTurnFrame(t *testing.T) {
	seed := uint64(7)
	for _, tt := range []struct {
		name string
		turn runtimes.Turn
		want string
	}{
		{"plain", runtimes.Turn{Name: "a.py", Source: "x=1"},
			"\x00" + "\x00" + "\x04\x00" + "\x03\x00\x00\x00" + "a.py" + "x=1"},
		{"first of a session", runtimes.Turn{Name: "é", Source: "", First: true, Session: true},
			"\x00" + "\x03" + "\x02\x00" + "\x00\x00\x00\x00" + "é"},
		{"everything", runtimes.Turn{
			Name: "a", Source: "é", First: true, Seed: &seed, Args: []string{"-v"}, Env: map[string]string{"A": "b"},
			Inputs: map[string]json.RawMessage{"n": json.RawMessage("[1]")},
		},
			"\x00" + "\x05" + "\x01\x00" + "\x02\x00\x00\x00" + "a" + "é" +
				`{"args":["-v"],"env":{"A":"b"},"inputs":{"n":[1]},"seed":7}`},
		{"a seed is for the first turn", runtimes.Turn{Name: "a", Seed: &seed},
			"\x00" + "\x00" + "\x01\x00" + "\x00\x00\x00\x00" + "a"},
	} {
		got, err := turnFrame(&tt.turn)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%s: frame (-want +got):\n%s", tt.name, diff)
		}
	}
	for _, tt := range []struct {
		turn runtimes.Turn
		want string
	}{
		{runtimes.Turn{}, "python: turn name of 0 bytes, want 1 to 4096"},
		{runtimes.Turn{Name: strings.Repeat("a", 4097)}, "python: turn name of 4097 bytes, want 1 to 4096"},
		{runtimes.Turn{Name: "a", Inputs: map[string]json.RawMessage{"n": json.RawMessage("{")}}, "python: inputs: "},
	} {
		if _, err := turnFrame(&tt.turn); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
}

func TestTurn(t *testing.T) {
	trapped := errors.New("trapped")
	for _, tt := range []struct {
		name    string
		guest   func(g *fakeGuest, ctx context.Context) (uint64, error)
		want    runtimes.Outcome
		wantErr error
	}{
		{"silence is success", func(g *fakeGuest, ctx context.Context) (uint64, error) {
			_, frame := g.ask(ctx, opTurn, "")
			if want := "\x00\x00\x07\x00\x03\x00\x00\x00main.pyx=1"; string(frame) != want {
				g.t.Errorf("frame %q, want %q", frame, want)
			}
			return fakeNone, nil
		}, runtimes.Outcome{}, nil},
		{"exit", func(g *fakeGuest, ctx context.Context) (uint64, error) {
			g.ask(ctx, opOutcome, `{"exit_code": 3}`)
			return fakeNone, nil
		}, runtimes.Outcome{ExitCode: 3}, nil},
		{"exception", func(g *fakeGuest, ctx context.Context) (uint64, error) {
			g.ask(ctx, opOutcome, `{"exit_code": 1, "error": {"name": "E", "value": "v", "traceback": "t", "line": 2, "hint": "h"}, "memory": true}`)
			return fakeNone, nil
		}, runtimes.Outcome{ExitCode: 1, OutOfMemory: true, Error: &runtimes.GuestError{Name: "E", Value: "v", Traceback: "t", Line: 2, Hint: "h"}}, nil},
		{"a KeyboardInterrupt of its own", func(g *fakeGuest, ctx context.Context) (uint64, error) {
			g.ask(ctx, opOutcome, `{"exit_code": 130, "interrupt": true}`)
			return fakeNone, nil
		}, runtimes.Outcome{ExitCode: 130}, nil},
		{"interrupted", func(g *fakeGuest, ctx context.Context) (uint64, error) {
			if err := New().Interrupt(ctx, g, nil); err != nil {
				return 0, err
			}
			g.ask(ctx, opOutcome, `{"exit_code": 130, "interrupt": true}`)
			return fakeNone, nil
		}, runtimes.Outcome{ExitCode: 130, Interrupted: true}, nil},
		{"interrupted in the runner", func(g *fakeGuest, ctx context.Context) (uint64, error) {
			return 0, New().Interrupt(ctx, g, nil)
		}, runtimes.Outcome{ExitCode: 130, Interrupted: true, Error: &runtimes.GuestError{Name: "KeyboardInterrupt"}}, nil},
		{"no memory to report", func(g *fakeGuest, ctx context.Context) (uint64, error) {
			return 0, nil
		}, runtimes.Outcome{
			ExitCode: 1, Error: &runtimes.GuestError{Name: "SystemError", Value: "the program broke what its interpreter needs to report how it ended"},
			Unreported: &runtimes.GuestError{Name: "MemoryError", Value: "no memory was left to report how the program ended"},
		}, nil},
		{"trap", func(g *fakeGuest, ctx context.Context) (uint64, error) {
			return 0, trapped
		}, runtimes.Outcome{}, trapped},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newFake(t)
			g.exports[expCallNoArgs] = func(ctx context.Context, args []uint64) (uint64, error) {
				if args[0] != fakeTurn {
					t.Errorf("called %#x, want %#x", args[0], fakeTurn)
				}
				return tt.guest(g, ctx)
			}
			got, err := New().Turn(context.Background(), g, fakeInfo(t), &runtimes.Turn{Name: "main.py", Source: "x=1"})
			if !errors.Is(err, tt.wantErr) {
				t.Errorf("error %v, want %v", err, tt.wantErr)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTurnRenewsGenerators(t *testing.T) {
	const before, after = 0x20000, 0x24000 // with the counter before the words, and after them
	info := fakeInfo(t, twister{At: before + 4, Used: 5}, twister{At: after, Used: 5, After: true})
	seed := uint64(1)
	for _, tt := range []struct {
		name string
		turn runtimes.Turn
		want bool
	}{
		{"first turn", runtimes.Turn{First: true}, true},
		{"later turn", runtimes.Turn{}, false},
		{"seeded", runtimes.Turn{First: true, Seed: &seed}, false},
	} {
		g := newFake(t)
		g.exports[expCallNoArgs] = func(context.Context, []uint64) (uint64, error) { return fakeNone, nil }
		turn := tt.turn
		turn.Name = "a.py"
		turn.Entropy = func(n int) []byte { return bytes.Repeat([]byte{0x11}, n) }
		if _, err := New().Turn(context.Background(), g, info, &turn); err != nil {
			t.Fatal(err)
		}
		want := make([]byte, fakeSize)
		if tt.want {
			for _, words := range []int{before + 4, after} {
				_, _ = rand.NewChaCha8([32]byte(bytes.Repeat([]byte{0x11}, 32))).Read(want[words : words+twisterBytes])
				want[words+3] |= 0x80
			}
			binary.LittleEndian.PutUint32(want[before:], twisterWords)
			binary.LittleEndian.PutUint32(want[after+twisterBytes:], twisterWords)
		}
		if !bytes.Equal(g.mem, want) {
			t.Errorf("%s: the states are not as expected", tt.name)
		}
	}
}

func TestHostCall(t *testing.T) {
	request := func(ctx context.Context, g *fakeGuest, stack ...uint64) int32 {
		hostCall(ctx, g, stack)
		return int32(stack[0])
	}
	running := func(door runtimes.Door) context.Context {
		return context.WithValue(context.Background(), runKey{}, &run{turn: &runtimes.Turn{Door: door}})
	}
	echo := func(_ context.Context, b []byte) ([]byte, error) { return append([]byte{0}, b...), nil }

	t.Run("nobody runs", func(t *testing.T) {
		if got := request(context.Background(), newFake(t), fakeFrame, 1, fakeOut, fakeOut+4); got != -1 {
			t.Errorf("result %d, want -1", got)
		}
	})
	for _, tt := range []struct {
		name                  string
		ptr, n, outPtr, outLn uint64
	}{
		{"empty", fakeFrame, 0, fakeOut, fakeOut + 4},
		{"out of memory", fakeSize - 1, 2, fakeOut, fakeOut + 4},
		{"too large", 0, maxRequest + 1, fakeOut, fakeOut + 4},
		{"answer's address out of memory", fakeFrame, 1, fakeSize, fakeOut + 4},
		{"answer's length out of memory", fakeFrame, 1, fakeOut, fakeSize - 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := request(running(echo), newFake(t), tt.ptr, tt.n, tt.outPtr, tt.outLn); got != -2 {
				t.Errorf("result %d, want -2", got)
			}
		})
	}
	t.Run("no memory for the answer", func(t *testing.T) {
		g := newFake(t)
		g.exports[expAlloc] = func(context.Context, []uint64) (uint64, error) { return 0, nil }
		if got := request(running(echo), g, fakeFrame, 1, fakeOut, fakeOut+4); got != -2 {
			t.Errorf("result %d, want -2", got)
		}
	})
	t.Run("door", func(t *testing.T) {
		if _, got := newFake(t).ask(running(echo), 0x12, "url"); string(got) != "\x00\x12url" {
			t.Errorf("answer %q", got)
		}
	})
	t.Run("the door ends the run", func(t *testing.T) {
		over := errors.New("over")
		defer func() {
			if stop, ok := recover().(vm.Stop); !ok || stop.Err != over {
				t.Errorf("stopped with %v, want %v", stop.Err, over)
			}
		}()
		newFake(t).ask(running(func(context.Context, []byte) ([]byte, error) { return nil, over }), 0x10, "")
		t.Error("the run went on")
	})
	for _, tt := range []struct {
		name    string
		op      byte
		payload string
		want    string
	}{
		{"unknown", 0x0f, "", `{"name":"Unsupported","message":"the host does not answer op 0x0f"}`},
		{"no door", 0x10, "", `{"name":"Unsupported","message":"the host does not answer op 0x10"}`},
		{"baking is over", opImmortal, "", `{"name":"Unsupported","message":"the host does not answer op 0x06"}`},
		{"bad outcome", opOutcome, "{", `{"name":"ValueError","message":"the outcome is not JSON as expected"}`},
		{"large outcome", opOutcome, strings.Repeat(" ", maxOutcome+1), `{"name":"TooLarge","message":"the outcome is too large"}`},
		{"no such generator", opRenew, "\x01", `{"name":"ValueError","message":"there is no such generator"}`},
		{"a digest without numbers", opStretch, "\x01\x00\x00", `{"name":"ValueError","message":"the host does not do this with digests"}`},
		{"a digest that is not there", opStretch, strings.Repeat("\x00", 16), `{"name":"ValueError","message":"the host does not do this with digests"}`},
		{"a block outside of memory", opMix, string(frame(opMix, 0, 1, 0xffffff00, 128, 0, 256)[1:]), `{"name":"ValueError","message":"the host does not do this with digests"}`},
		{"a block without a table", opMix, strings.Repeat("\x00", 24), `{"name":"ValueError","message":"the host does not do this with digests"}`},
		{"a generator again and again", opRenew, "\x00\x00", `{"name":"ValueError","message":"there is no such generator"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &run{turn: &runtimes.Turn{Entropy: func(n int) []byte { return make([]byte, n) }}, twisters: []twister{{At: 8}}}
			got := r.reply(context.Background(), newFake(t), append([]byte{tt.op}, tt.payload...))
			if string(got) != "\x01"+tt.want {
				t.Errorf("answer %q, want %q", got, "\x01"+tt.want)
			}
		})
	}
}

// bootFake makes g an interpreter whose bootstrap goes as script says.
func bootFake(g *fakeGuest, script func(ctx context.Context)) {
	g.exports[expExecute] = func(ctx context.Context, args []uint64) (uint64, error) {
		source, _ := g.Memory().Read(uint32(args[0]), uint32(args[1]))
		if !bytes.Contains(source, []byte("import _cloche")) {
			g.t.Errorf("the bootstrap starts with %.50q", source)
		}
		script(ctx)
		return 0, nil
	}
}

// fakeTwister writes a state behind near and describes it as the guest does.
func (g *fakeGuest) fakeTwister(near, used uint32, after bool) map[string]any {
	const behind = 0x40
	words := make([]uint32, twisterWords)
	at := near + behind
	for i := range words {
		words[i] = near + uint32(i)*2654435761
		g.Memory().WriteUint32(at+4*uint32(i), words[i])
	}
	if after {
		g.Memory().WriteUint32(at+twisterBytes, used)
	} else {
		g.Memory().WriteUint32(at-4, used)
	}
	return map[string]any{"near": near, "used": used, "after": after, "words": words}
}

func TestBoot(t *testing.T) {
	g := newFake(t)
	bootFake(g, func(ctx context.Context) {
		if _, got := g.ask(ctx, opModule, "_cloche.nothing"); string(got) != "\x00\x00" {
			t.Errorf("a module that is not there: %q", got)
		}
		for module, start := range map[string]string{"_cloche": `"""Cloche's half`, "_cloche.turns": `"""The turn runner`} {
			if _, got := g.ask(ctx, opModule, module); !strings.HasPrefix(string(got), "\x00\x01"+start) {
				t.Errorf("%s: %.40q", module, got)
			}
		}
		g.ask(ctx, opRehearse, "frame")
		if _, got := g.ask(ctx, opTurn, ""); string(got) != "\x00frame" {
			t.Errorf("rehearsed frame %q", got)
		}
		if _, got := g.ask(ctx, 0x10, "shown"); string(got) != "\x00" {
			t.Errorf("a display at the rehearsal: %q", got)
		}
		g.Memory().WriteUint32(0x500, 7)
		g.Memory().WriteUint32(0x504, 0x70000000)
		g.ask(ctx, opImmortal, "\x00\x05\x00\x00\x04\x05\x00\x00")
		told, err := json.Marshal(map[string]any{
			"turn": fakeTurn, "none": fakeNone, "version": "3.15.0", "ready": []int{5, 6}, "autopsy": 7,
			"twisters": []any{g.fakeTwister(0x20000, 624, false), g.fakeTwister(0x24000, 3, true)},
		})
		if err != nil {
			t.Error(err)
		}
		g.heap = 0x40000
		g.Memory().Write(0x30000, append([]byte{opBooted}, told...))
		stack := []uint64{0x30000, uint64(len(told) + 1), fakeOut, fakeOut + 4}
		hostCall(ctx, g, stack)
	})
	info, err := New().Boot(context.Background(), g)
	if err != nil {
		t.Fatal(err)
	}
	var got booted
	if err := json.Unmarshal(info, &got); err != nil {
		t.Fatal(err)
	}
	want := booted{Turn: fakeTurn, None: fakeNone, Version: "3.15.0", Ready: []uint32{5, 6}, Autopsy: 7, Stack: 16 << 20, Thread: 0x300, Twisters: []twister{
		{Used: 624, At: 0x20040}, {Used: 3, After: true, At: 0x24040},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("boot info (-want +got):\n%s", diff)
	}
	for at, want := range map[uint32]uint32{0x500: immortalRefs, 0x504: 0x70000000} {
		if got, _ := g.Memory().ReadUint32(at); got != want {
			t.Errorf("count of references at %#x is %#x, want %#x", at, got, want)
		}
	}
	if last := g.calls[len(g.calls)-1]; last != expProtectStack {
		t.Errorf("the last call was %s, want %s", last, expProtectStack)
	}
}

func TestBootFails(t *testing.T) {
	for _, tt := range []struct {
		name string
		boot func(g *fakeGuest, ctx context.Context)
		want string
	}{
		{"silent", func(*fakeGuest, context.Context) {}, "boot python: the bootstrap ended with status 0; its standard error says why"},
		{"no stack", func(g *fakeGuest, ctx context.Context) {
			g.top = stackBytes - 1
			g.ask(ctx, opBooted, "{}")
		}, "boot python: the stack is not where it was expected"},
		{"too few words", func(g *fakeGuest, ctx context.Context) {
			g.ask(ctx, opBooted, `{"twisters": [{"words": [1, 2]}]}`)
		}, "boot python: random generator 0: 2 words of state, want 624"},
		{"not JSON", func(g *fakeGuest, ctx context.Context) { g.ask(ctx, opBooted, "{") }, "boot python: unexpected end of JSON input"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newFake(t)
			bootFake(g, func(ctx context.Context) { tt.boot(g, ctx) })
			if _, err := New().Boot(context.Background(), g); err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestLocate(t *testing.T) {
	fresh := func(t *testing.T, used uint32) (*fakeGuest, *twister) {
		g := newFake(t)
		b, err := json.Marshal(g.fakeTwister(0x20000, used, false))
		if err != nil {
			t.Fatal(err)
		}
		tw := new(twister)
		if err := json.Unmarshal(b, tw); err != nil {
			t.Fatal(err)
		}
		return g, tw
	}
	for _, tt := range []struct {
		name   string
		change func(g *fakeGuest, tw *twister)
		want   string
	}{
		{"another word", func(g *fakeGuest, tw *twister) { tw.Words[623]++ }, "its state is not where it was expected"},
		{"too far behind", func(g *fakeGuest, tw *twister) { tw.Near -= twisterReach }, "its state is not where it was expected"},
		{"another counter", func(g *fakeGuest, tw *twister) { tw.Used++ }, "its counter is not beside its state"},
		{"out of memory", func(g *fakeGuest, tw *twister) { tw.Near = fakeSize + 1 }, "its object is outside of memory"},
		{"twice", func(g *fakeGuest, tw *twister) {
			copy(g.mem[0x22000:], g.mem[0x20040:0x20040+twisterBytes])
		}, "its state is not where it was expected"},
	} {
		g, tw := fresh(t, 9)
		tt.change(g, tw)
		if err := tw.locate(g.Memory()); err == nil || err.Error() != tt.want {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestImmortalizeRefuses(t *testing.T) {
	mem := newFake(t).Memory()
	mem.WriteUint32(0x500, 1)
	for name, addresses := range map[string][]byte{
		"no count":      {0, 6, 0, 0},
		"not aligned":   {2, 5, 0, 0},
		"out of memory": {0, 0, 0, 0xff},
		"half":          {0, 5, 0, 0, 0, 5},
	} {
		if immortalize(mem, addresses) {
			t.Errorf("%s: accepted", name)
		}
	}
}

// frame is a request whose payload is numbers.
func frame(op byte, numbers ...uint32) []byte {
	request := []byte{op}
	for _, n := range numbers {
		request = binary.LittleEndian.AppendUint32(request, n)
	}
	return request
}

// Whatever a program asks of its host, the answer is an answer.
func FuzzReply(f *testing.F) {
	f.Add([]byte{opTurn})
	f.Add([]byte(`{"exit_code": 3, "error": {"name": "E"}}`))
	f.Add(append([]byte{opOutcome}, `{"exit_code": 3, "error": {"name": "E"}}`...))
	f.Add([]byte{opImmortal, 1, 2, 3, 4})
	f.Add(append(frame(opStretch, 2, 3, 0, 16), strings.Repeat("md5", 12)[:3+32]...))
	f.Add(frame(opMix, 0, 2, 512, 128, 1024, 256))
	f.Fuzz(func(t *testing.T, request []byte) {
		if len(request) == 0 {
			return
		}
		g := newFake(t)
		for _, r := range []*run{{turn: &runtimes.Turn{}}, {}} {
			r.frame = []byte{0}
			got := r.reply(context.Background(), g, request)
			if len(got) == 0 || got[0] > 1 {
				t.Errorf("answer %q", got)
			}
			if code := r.result().ExitCode; code < 0 || code > 255 {
				t.Errorf("exit code %d", code)
			}
		}
	})
}
