package js

import (
	"context"
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/runtimes"
)

// hostile is a guest whose memory and whose answers are an attacker's.
type hostile struct {
	memory []byte
	data   []byte // what its exports return, eight bytes each
	calls  int
}

func (h *hostile) next() uint64 {
	var b [8]byte
	h.data = h.data[copy(b[:], h.data):]
	return binary.LittleEndian.Uint64(b[:])
}

func (h *hostile) Call(context.Context, string, ...uint64) (uint64, error) {
	if h.calls++; h.calls > 1000 {
		return 0, errCode("enough")
	}
	return h.next(), nil
}

func (h *hostile) Memory() vm.Memory               { return h }
func (h *hostile) GlobalGet(string) (uint64, bool) { return 0, false }
func (h *hostile) GlobalSet(string, uint64) bool   { return false }
func (h *hostile) Charge(uint64)                   {}
func (h *hostile) Size() uint32                    { return uint32(len(h.memory)) }
func (h *hostile) in(offset, n uint32) bool        { return uint64(offset)+uint64(n) <= uint64(len(h.memory)) }
func (h *hostile) ReadUint32(o uint32) (uint32, bool) {
	if !h.in(o, 4) {
		return 0, false
	}
	return binary.LittleEndian.Uint32(h.memory[o:]), true
}

func (h *hostile) WriteUint32(o, v uint32) bool {
	if !h.in(o, 4) {
		return false
	}
	binary.LittleEndian.PutUint32(h.memory[o:], v)
	return true
}

func (h *hostile) Read(o, n uint32) ([]byte, bool) {
	if !h.in(o, n) {
		return nil, false
	}
	return h.memory[o : o+n : o+n], true
}

func (h *hostile) Write(o uint32, b []byte) bool {
	if !h.in(o, uint32(len(b))) {
		return false
	}
	copy(h.memory[o:], b)
	return true
}

// FuzzHostFuncs: whatever a guest passes and answers, a host function returns or ends the run; it never faults.
func FuzzHostFuncs(f *testing.F) {
	for op := range hostOps {
		f.Add(byte(0), byte(op), uint64(3), uint64(64), []byte("\x40\x00\x00\x00\x48\x00\x00\x00"), []byte{1, 2, 3, 4, 5, 6, 7, 8})
	}
	for fn := byte(1); fn < 6; fn++ {
		f.Add(fn, byte(0), uint64(10), uint64(200), []byte("/data/x\x00./y\x00"), []byte{0, 0, 0, 0, 0, 0, 0, 0})
	}
	funcs := New().HostFuncs()
	f.Fuzz(func(t *testing.T, which, op byte, a, b uint64, memory, answers []byte) {
		g := &hostile{memory: make([]byte, 40<<10), data: answers}
		copy(g.memory[64:], memory)
		g.memory[1] = op
		layout := &boot{Scratch: 4096, Cell: 32, Args: 3000, Name: 3200, Random: 100, Countdown: 200, Funcs: map[string]value{}}
		s := &turn{boot: layout, env: emptyEnv, Turn: &runtimes.Turn{
			Entropy: func(n int) []byte { return make([]byte, n) },
			Door:    func(_ context.Context, frame []byte) ([]byte, error) { return frame[:min(len(frame), 40)], nil },
		}}
		fn := funcs[int(which)%len(funcs)]
		stack := []uint64{1, 1, a, a & 0xff, b}
		if fn.Name != "host_call" {
			stack = []uint64{a, b, a >> 32, 0, 0}
		}
		defer func() {
			switch r := recover().(type) {
			case nil, vm.Stop:
			default:
				t.Errorf("%s, op %d: %v", fn.Name, op, r)
			}
		}()
		fn.Fn(context.WithValue(t.Context(), turnKey{}, s), g, stack)
	})
}

// TestHostCallSizes: how many arguments there are, and how long a name is, a guest may say as it likes.
func TestHostCallSizes(t *testing.T) {
	g := &hostile{memory: make([]byte, 40<<10)}
	g.memory[1] = opBind
	s := &turn{boot: &boot{Scratch: 4096, Cell: 32, Args: 3000, Name: 3200, Funcs: map[string]value{}}, env: emptyEnv, Turn: &runtimes.Turn{
		Door: func(_ context.Context, frame []byte) ([]byte, error) {
			if len(frame) > 2*maxName {
				t.Errorf("%d bytes went through the door", len(frame))
			}
			return []byte{0, 1, 0, '1'}, nil
		},
	}}
	call := func(stack ...uint64) {
		defer func() {
			switch r := recover().(type) {
			case nil, vm.Stop:
			default:
				t.Error(r)
			}
		}()
		hostCall(context.WithValue(t.Context(), turnKey{}, s), g, stack)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call(1, 2, 0, 4<<20, 64)  // arguments
	call(1, 30<<10, 0, 0, 64) // a name
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
		t.Errorf("the host took %d bytes", got)
	}
}
