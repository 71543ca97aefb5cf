package python_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/runtimes/python"
	"github.com/cloche-dev/cloche/wasi"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

// baked is Python as the engine uses it, loaded once for all tests.
var baked = sync.OnceValues(func() (*runtimes.Baked, error) {
	return runtimes.Load(context.Background(), python.Spec(), runtimes.Options{})
})

// loaded says whether a test asked for it.
var loaded bool

func TestMain(m *testing.M) {
	code := m.Run()
	if loaded {
		if b, err := baked(); err == nil {
			if err := b.Close(); err != nil {
				fmt.Fprintln(os.Stderr, "close the interpreter:", err)
				code = 1
			}
		}
	}
	os.Exit(code)
}

// sandbox is one instance with its files, without what package engine adds.
type sandbox struct {
	t     testing.TB
	baked *runtimes.Baked
	inst  *vm.Instance
	files *vfs.Namespace
	turns int

	stdin   string        // of the next turn
	timeout time.Duration // after which the program is interrupted; 0: a minute
	// afterOutput has the timeout begin with the first output: a busy machine needs its time to come to that.
	afterOutput bool
	fetch       hostfuncs.Handler
}

// result is what a turn did.
type result struct {
	runtimes.Outcome
	stdout, stderr string
	both           string // in the order in which it came
	shown          []hostfuncs.Display
	fuel           uint64
}

// open makes a fresh sandbox.
func open(t testing.TB) *sandbox {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: needs the interpreter, which cloche setup makes")
	}
	loaded = true
	b, err := baked()
	if err != nil {
		t.Fatal(err)
	}
	inst, err := b.Module.New(t.Context(), b.State, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := inst.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &sandbox{t: t, baked: b, inst: inst, files: b.Template.New(vfs.Options{Bytes: 256 << 20})}
}

// run runs code as the next turn.
func (s *sandbox) run(code string) result {
	s.t.Helper()
	return s.turn(&runtimes.Turn{Source: code, Session: true})
}

// once runs code as the one turn of a sandbox.
func once(t testing.TB, code string) result {
	t.Helper()
	return open(t).turn(&runtimes.Turn{Source: code})
}

func (s *sandbox) turn(turn *runtimes.Turn) result {
	s.t.Helper()
	r, err := s.try(turn)
	if err != nil {
		s.t.Fatalf("turn %d: %v\nstdout: %s\nstderr: %s", s.turns, err, r.stdout, r.stderr)
	}
	return r
}

func (s *sandbox) try(turn *runtimes.Turn) (result, error) {
	var r result
	var out, errs, both bytes.Buffer
	state, err := wasi.New(wasi.Config{
		Args: []string{"python"}, Env: python.Spec().Env, FS: s.files, AbsoluteLinks: true,
		Stdin:  strings.NewReader(s.stdin),
		Stdout: io.MultiWriter(&out, &both), Stderr: io.MultiWriter(&errs, &both),
	})
	if err != nil {
		return r, err
	}
	defer state.Close()
	if err := state.RestoreDescriptors(s.baked.Descriptors); err != nil {
		return r, err
	}
	s.stdin = ""
	s.turns++
	turn.First = s.turns == 1
	if turn.Name == "" {
		turn.Name = "main.py"
		if turn.Session {
			turn.Name = fmt.Sprintf("turn-%d.py", s.turns)
		}
	}
	turn.Entropy = func(n int) []byte {
		b := make([]byte, n)
		rand.Read(b)
		return b
	}
	door := hostfuncs.Door{MaxCalls: 1000, Display: func(_ context.Context, payload []byte) ([]byte, error) {
		d, err := hostfuncs.DecodeDisplay(payload)
		if err != nil {
			return nil, err
		}
		r.shown = append(r.shown, d)
		return nil, nil
	}}
	if s.fetch != nil {
		door.Handlers = map[hostfuncs.Op]hostfuncs.Handler{hostfuncs.OpFetch: s.fetch}
	}
	turn.Door = door.Serve
	timeout := s.timeout
	if timeout == 0 {
		timeout = time.Minute
	}
	begin, interrupted := time.Now(), false
	meter := vm.Meter{Budget: math.MaxInt64, Check: func(ctx context.Context, g vm.Guest) error {
		if s.afterOutput && out.Len() == 0 {
			begin = time.Now()
		}
		switch late := time.Since(begin) - timeout; {
		case late > 10*time.Second:
			return fmt.Errorf("it does not end after %v", timeout)
		case late > 0 && !interrupted:
			interrupted = true
			return s.baked.Driver.Interrupt(ctx, g, s.baked.Info)
		}
		return nil
	}}
	err = s.inst.Run(wasi.WithState(s.t.Context(), state), &meter, func(ctx context.Context) error {
		var err error
		r.Outcome, err = s.baked.Driver.Turn(ctx, s.inst, s.baked.Info, turn)
		return err
	})
	r.stdout, r.stderr, r.both, r.fuel = out.String(), errs.String(), both.String(), meter.Used()
	return r, err
}

// write puts a file into the sandbox.
func (s *sandbox) write(name, content string) {
	s.t.Helper()
	if r := s.run(fmt.Sprintf("open(%q, 'w').write(%q)\nNone", name, content)); r.Error != nil {
		s.t.Fatal(r.Error)
	}
}

// ok fails the test when a turn did not end well.
func (r result) ok(t testing.TB) result {
	t.Helper()
	if r.Error != nil || r.ExitCode != 0 {
		t.Fatalf("exit code %d, error %+v\nstdout: %s\nstderr: %s", r.ExitCode, r.Error, r.stdout, r.stderr)
	}
	return r
}

// value is the last expression's in one form, or "".
func (r result) value(mime string) string {
	for _, d := range r.shown {
		if d.Main {
			switch v := d.Data[mime].(type) {
			case nil:
				return ""
			case string:
				return v
			default:
				return fmt.Sprintf("%s", v)
			}
		}
	}
	return ""
}
