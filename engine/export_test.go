package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/cloche-dev/cloche/engine/memimage"
	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/runtimes/js"
)

// CheckIdle compares every idle instance of a language with its image, byte for byte, and with what a fresh instance
// has in its globals, and looks that memory past the image is zero when it is had again. It says how many
// instances it looked at. No run of the language may be under way.
func CheckIdle(e *Engine, language string) (checked int, err error) {
	l, err := e.language(language)
	if err != nil {
		return 0, err
	}
	loaded, err := l.load(context.Background())
	if err != nil {
		return 0, err
	}
	// The worker may just be making or resetting the only one.
	for wait := 0; wait < 1000 && loaded.pool.Stats().Ready == 0; wait++ {
		time.Sleep(5 * time.Millisecond)
	}
	for st := loaded.pool.Stats(); checked < st.Ready+st.Used; checked++ {
		inst, err := loaded.pool.Get(context.Background()) // resets it, if that was not done yet
		if err != nil {
			return checked, err
		}
		defer loaded.pool.Put(inst)
		if err := loaded.same(inst); err != nil {
			return checked, fmt.Errorf("an idle %s instance: %w", language, err)
		}
	}
	return checked, nil
}

func (l *loaded) same(inst *vm.Instance) error {
	image := l.State.Image.Bytes()
	if uint64(len(image)) != inst.Linear().Size() || len(image) != int(inst.Memory().Size()) {
		return fmt.Errorf("%d bytes of memory, the machine sees %d; the image has %d", inst.Linear().Size(), inst.Memory().Size(), len(image))
	}
	memory, _ := inst.Memory().Read(0, uint32(len(image)))
	if !bytes.Equal(memory, image) {
		for i := range memory {
			if memory[i] != image[i] {
				return fmt.Errorf("memory differs from the image first at %#x: %#x, not %#x", i, memory[i], image[i])
			}
		}
	}
	for name, got := range inst.Globals() {
		if want, ok := l.State.Globals[name]; ok && got != want {
			return fmt.Errorf("global %s is %#x, not %#x", name, got, want)
		}
	}
	// Behind the machine's back: the reset at Put or Get takes the growth back.
	inst.Linear().SetLimit(memimage.MaxBytes)
	grown := inst.Linear().Reallocate(min(uint64(len(image))+512<<20, memimage.MaxBytes))
	zero := make([]byte, 1<<20)
	for rest := grown[len(image):]; len(rest) > 0; rest = rest[min(len(zero), len(rest)):] {
		if part := rest[:min(len(zero), len(rest))]; !bytes.Equal(part, zero[:len(part)]) {
			return fmt.Errorf("memory past the image is not zero, between %#x and %#x", len(grown)-len(rest), len(grown)-len(rest)+len(part))
		}
	}
	_, err := inst.Reset()
	return err
}

// MemoryOf is a copy of the linear memory of a session, in which no turn runs. A session that was cut, or not used for
// a while, has none.
func MemoryOf(s *Session) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sb.inst == nil {
		return nil, nil
	}
	memory, ok := s.sb.inst.Memory().Read(0, uint32(s.sb.inst.Memory().Size()))
	if !ok {
		return nil, fmt.Errorf("%d bytes of memory cannot be read", s.sb.inst.Memory().Size())
	}
	return bytes.Clone(memory), nil
}

// Awake is the number of sessions that hold their state in memory.
func Awake(e *Engine) (n int) {
	for _, s := range e.live.all() {
		s.mu.Lock()
		if !s.asleep {
			n++
		}
		s.mu.Unlock()
	}
	return n
}

// Hibernate leaves a session to the store, in which no turn runs, as the engine does after Config.HibernateAfter.
func Hibernate(s *Session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asleep {
		return nil
	}
	s.filesMu.Lock()
	defer s.filesMu.Unlock()
	if err := s.persist(); err != nil {
		return err
	}
	return s.drop()
}

// InstanceOf is the instance that a session has, nil when it has none.
func InstanceOf(s *Session) *vm.Instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sb.inst
}

// FailedBytes is what the engine keeps of turns that were stopped.
func FailedBytes(e *Engine) uint64 {
	e.failures.mu.Lock()
	defer e.failures.mu.Unlock()
	var n uint64
	for _, f := range e.failures.kept {
		if f.memory.Memory != nil {
			n += f.memory.Memory.Bytes()
		}
	}
	return n
}

// AskMeanwhile is somebody who asks a stopped interpreter until release is called.
func AskMeanwhile(e *Engine, id string) (release func()) {
	f := e.failures.find(id)
	f.asking <- struct{}{}
	return func() { <-f.asking }
}

// Told is the report that is made of what a stopped interpreter tells.
func Told(parts ...json.RawMessage) Autopsy {
	f := &failure{lang: &loaded{Baked: &runtimes.Baked{Driver: js.New()}}, name: "main.js", code: "line 1\nline 2"}
	f.tell(parts, nil)
	return f.about
}

// Heard is how much a tape keeps of standard input that comes in parts of the sizes.
func Heard(sizes ...int) int {
	var h heard
	for _, n := range sizes {
		_, _ = h.Write(make([]byte, n))
	}
	return len(h.bytes())
}
