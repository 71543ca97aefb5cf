package js_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine/memimage"
	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/runtimes/js"
	"github.com/cloche-dev/cloche/wasi"
)

// baked is QuickJS as the engine uses it, loaded once for all tests.
var baked = sync.OnceValues(func() (*runtimes.Baked, error) {
	return runtimes.Load(context.Background(), js.Spec(), runtimes.Options{})
})

func TestMain(m *testing.M) {
	code := m.Run()
	if b, err := baked(); err == nil {
		if err := b.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "close the interpreter:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// sandbox is one instance with its files, without what package engine adds.
type sandbox struct {
	t       testing.TB
	baked   *runtimes.Baked
	inst    *vm.Instance
	files   *memFiles
	turns   int
	session bool
	torn    bool // the program's frames may be anything

	env     js.Env
	door    runtimes.Door
	timeout time.Duration // the program is interrupted then; 0: a minute
	memory  uint64
	soft    time.Time // when the running turn is interrupted
	// afterOutput has the timeout begin with the first output: a busy machine needs its time to come to that.
	afterOutput bool
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// result is what a turn did.
type result struct {
	runtimes.Outcome
	stdout, stderr string
	shown          []hostfuncs.Display
	fuel           uint64
	err            error
}

// main is the text of the last expression's value.
func (r *result) main() string {
	for _, d := range r.shown {
		if d.Main {
			return d.Data["text/plain"].(string)
		}
	}
	return ""
}

func (r *result) json() string {
	for _, d := range r.shown {
		if j, ok := d.Data["application/json"].(json.RawMessage); ok && d.Main {
			return string(j)
		}
	}
	return ""
}

func newSandbox(t testing.TB) *sandbox {
	t.Helper()
	b, err := baked()
	if err != nil {
		t.Fatal(err)
	}
	inst, err := b.Module.New(context.Background(), b.State, memimage.MaxBytes)
	if err != nil {
		t.Fatal(err)
	}
	s := &sandbox{t: t, baked: b, inst: inst, files: newMemFiles()}
	t.Cleanup(func() {
		if err := s.inst.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// turn runs source; change may alter the turn before.
func (s *sandbox) turn(source string, change ...func(*runtimes.Turn)) *result {
	s.t.Helper()
	r := &result{}
	var stdout, stderr bytes.Buffer
	env := s.env
	env.Files, env.Stdout, env.Stderr = s.files, &stdout, &stderr
	t := &runtimes.Turn{
		Source: source, Name: "main.js", Session: s.session, First: s.turns == 0,
		Entropy: func(n int) []byte {
			b := make([]byte, n)
			rand.Read(b)
			return b
		},
	}
	if s.session {
		t.Name = fmt.Sprintf("turn-%d.js", s.turns+1)
	}
	t.Door = func(ctx context.Context, request []byte) ([]byte, error) {
		if hostfuncs.Op(request[0]) == hostfuncs.OpDisplay {
			d, err := hostfuncs.DecodeDisplay(request[1:])
			if err != nil && !s.torn {
				s.t.Errorf("display frame: %v", err)
			}
			r.shown = append(r.shown, d)
			return []byte{0}, nil
		}
		if s.door != nil {
			return s.door(ctx, request)
		}
		return append([]byte{1}, `{"name":"PermissionError","message":"the sandbox has no network"}`...), nil
	}
	for _, f := range change {
		f(t)
	}
	s.turns++
	if s.memory > 0 {
		s.inst.Linear().SetLimit(s.memory)
	}
	state, err := wasi.New(wasi.Config{})
	if err != nil {
		s.t.Fatal(err)
	}
	defer state.Close()
	timeout := s.timeout
	if timeout == 0 {
		timeout = time.Minute
	}
	ctx, stop := context.WithTimeout(wasi.WithState(context.Background(), state), timeout+5*time.Second)
	defer stop()
	s.soft = time.Now().Add(timeout)
	if s.afterOutput {
		s.soft = time.Now().Add(time.Hour)
		env.Stdout = writerFunc(func(p []byte) (int, error) {
			if stdout.Len() == 0 {
				s.soft = time.Now().Add(timeout)
			}
			return stdout.Write(p)
		})
	}
	interrupted := false
	meter := vm.Meter{Budget: math.MaxInt64, Check: func(ctx context.Context, g vm.Guest) error {
		if ctx.Err() == nil && !interrupted && time.Now().After(s.soft) {
			interrupted = true
			return s.baked.Driver.Interrupt(ctx, g, s.baked.Info)
		}
		return ctx.Err()
	}}
	r.err = s.inst.Run(js.WithEnv(ctx, &env), &meter, func(ctx context.Context) error {
		r.Outcome, err = s.baked.Driver.Turn(ctx, s.inst, s.baked.Info, t)
		return err
	})
	r.stdout, r.stderr, r.fuel = stdout.String(), stderr.String(), meter.Used()
	return r
}

// run runs source in a fresh sandbox; it must end well.
func run(t testing.TB, source string, change ...func(*runtimes.Turn)) *result {
	t.Helper()
	return newSandbox(t).ok(source, change...)
}

func (s *sandbox) ok(source string, change ...func(*runtimes.Turn)) *result {
	s.t.Helper()
	r := s.turn(source, change...)
	if r.err != nil || r.ExitCode != 0 || r.Error != nil || r.Interrupted {
		s.t.Fatalf("%.200s\nerror %v, outcome %+v, exception %+v\nstdout: %.2000s\nstderr: %.2000s", source, r.err, r.Outcome, r.Error, r.stdout, r.stderr)
	}
	return r
}

// sleeper is a clock whose sleep ends when the sandbox is to be interrupted, as the engine's does.
type sleeper struct{ s *sandbox }

func (c *sleeper) Monotonic() time.Duration { return time.Since(testStart) }
func (c *sleeper) Sleep(ctx context.Context, d time.Duration) error {
	if rest := time.Until(c.s.soft); rest < d {
		time.Sleep(max(rest, 0))
		return c.s.baked.Driver.Interrupt(ctx, c.s.inst, c.s.baked.Info)
	}
	time.Sleep(d)
	return ctx.Err()
}

var testStart = time.Now()

// fakeClock moves only when the program sleeps.
type fakeClock struct{ at time.Duration }

func (c *fakeClock) Monotonic() time.Duration { return c.at }
func (c *fakeClock) Sleep(_ context.Context, d time.Duration) error {
	c.at += d
	return nil
}
