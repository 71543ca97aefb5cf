package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

func open(t *testing.T, o engine.Options) *engine.Session {
	t.Helper()
	s, err := testEngine(t).Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func turn(t *testing.T, s *engine.Session, tn engine.Turn) *engine.Result {
	t.Helper()
	res, err := s.Run(context.Background(), tn)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestSessionKeepsVariables(t *testing.T) {
	for _, tt := range []struct {
		language string
		turns    []string
		want     []string // stdout
	}{
		{"python", []string{"x = 1\nimport math", "x += 1\n1/0", "print(x, math.floor(2.5))", "import sys; sys.exit(2)", "print(x)"},
			[]string{"", "", "2 2\n", "", "2\n"}},
		{"javascript", []string{"const x = 1; let y = 2; class A {}", "y = 5; boom()", "const x = 7; console.log(x, y, typeof A)", "process.exit(2)", "console.log(x)"},
			[]string{"", "", "7 5 function\n", "", "7\n"}},
	} {
		s := open(t, engine.Options{Language: tt.language})
		for i, code := range tt.turns {
			if res := turn(t, s, engine.Turn{Code: code}); res.Stdout != tt.want[i] || res.RolledBack {
				t.Errorf("%s %q: stdout %q, want %q; %+v", tt.language, code, res.Stdout, tt.want[i], res.Error)
			}
		}
	}
}

// The start of a turn leaves out the time in which nobody asked for anything.
func TestSessionStart(t *testing.T) {
	const idle = 500 * time.Millisecond
	s := open(t, engine.Options{Language: engine.JavaScript})
	for _, code := range []string{"1", "2"} {
		time.Sleep(idle)
		if start := turn(t, s, engine.Turn{Code: code}).Usage.Start; start <= 0 || start >= idle {
			t.Errorf("%s: it started %v after it was asked for", code, start)
		}
	}
}

// A turn that has to be stopped costs that turn, not the session.
func TestSessionSurvives(t *testing.T) {
	for _, tt := range []struct {
		name, language, before, bad, after, want string
		status                                   engine.Status
		rolledBack                               bool
	}{
		{"fuel", "python", "x = [1]; open('f', 'w').write('a')", "x.append(2); open('f', 'w').write('b')\nwhile True: pass", "print(x, open('f').read())", "[1] a\n", engine.StatusOutOfFuel, true},
		{"ignored interrupt", "python", "x = 1", "x = 2\nwhile True:\n  try:\n    while True: pass\n  except BaseException: pass", "print(x)", "1\n", engine.StatusTimeout, true},
		{"gentle timeout", "python", "x = 1", "x = 2\nwhile True: pass", "print(x)", "2\n", engine.StatusTimeout, false},
		{"js fuel", "javascript", "let x = 1", "x = 2; for (;;);", "console.log(x)", "1\n", engine.StatusOutOfFuel, true},
		{"held file", "python", "f = open('log', 'w+'); f.write('one\\n'); f.flush()", "f.write('two\\n'); f.flush(); f.close()\nwhile True: pass", "f.write('three\\n'); f.seek(0); print(f.read(), end='')", "one\nthree\n", engine.StatusOutOfFuel, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, engine.Options{Language: tt.language})
			if res := turn(t, s, engine.Turn{Code: tt.before}); res.Status != engine.StatusOK {
				t.Fatalf("before: %+v", res)
			}
			lim := limits.Limits{Fuel: 30_000_000}
			if tt.status == engine.StatusTimeout {
				lim = limits.Limits{Timeout: 300 * time.Millisecond, Grace: 5 * time.Second} // the machine may be busy
				if tt.rolledBack {
					lim.Grace = 100 * time.Millisecond
				}
			}
			for range 2 {
				res := turn(t, s, engine.Turn{Code: tt.bad, Limits: lim})
				if res.Status != tt.status || res.RolledBack != tt.rolledBack {
					t.Errorf("bad turn: status %s, rolled back %v, want %s, %v", res.Status, res.RolledBack, tt.status, tt.rolledBack)
				}
			}
			if res := turn(t, s, engine.Turn{Code: tt.after}); res.Stdout != tt.want {
				t.Errorf("after: stdout %q, want %q (%+v)", res.Stdout, tt.want, res.Error)
			}
		})
	}
}

func TestSessionBusyAndClosed(t *testing.T) {
	s := open(t, engine.Options{Language: "javascript"})
	started := make(chan struct{})
	done := make(chan error)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, err := s.Run(ctx, engine.Turn{
			Code:   "console.log('go'); for (;;);",
			Stdout: writerFunc(func(p []byte) (int, error) { close(started); return len(p), nil }),
		})
		done <- err
	}()
	<-started
	if _, err := s.Run(context.Background(), engine.Turn{Code: "1"}); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("a second turn: %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if res := turn(t, s, engine.Turn{Code: "1+1"}); res.Status != engine.StatusOK {
		t.Errorf("after a cancelled turn: %+v", res)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(context.Background(), engine.Turn{Code: "1"}); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("a turn after Close: %v", err)
	}
}

func TestSessionsAreApart(t *testing.T) {
	a, b := open(t, engine.Options{}), open(t, engine.Options{})
	turn(t, a, engine.Turn{Code: "token = 'alpha'; open('f', 'w').write('alpha')"})
	res := turn(t, b, engine.Turn{Code: "import os\nprint('token' in globals(), os.listdir())"})
	if res.Stdout != "False []\n" {
		t.Errorf("the other session sees %q", res.Stdout)
	}
	if res := turn(t, a, engine.Turn{Code: "print(token)"}); !strings.Contains(res.Stdout, "alpha") {
		t.Errorf("its own: %q", res.Stdout)
	}
}

func TestSessionOnErrorRollback(t *testing.T) {
	for _, tt := range []struct{ language, before, bad, after, want string }{
		{"python", "x = 1; open('f', 'w').write('a')", "x = 2; open('f', 'w').write('b'); 1/0", "print(x, open('f').read())", "1 a\n"},
		{"javascript", "let x = 1", "x = 2; null.x", "console.log(x)", "1\n"},
		{"python", "x = 1", "x = 2\nimport sys; sys.exit(3)", "print(x)", "1\n"},
	} {
		s := open(t, engine.Options{Language: tt.language, OnError: engine.OnErrorRollback})
		turn(t, s, engine.Turn{Code: tt.before})
		if res := turn(t, s, engine.Turn{Code: tt.bad}); res.Status != engine.StatusError || !res.RolledBack || res.FilesChanged != nil {
			t.Errorf("%q: %+v, want a turn that failed and was rolled back", tt.bad, res)
		}
		if res := turn(t, s, engine.Turn{Code: tt.after}); res.Stdout != tt.want || res.RolledBack {
			t.Errorf("after %q: stdout %q, want %q", tt.bad, res.Stdout, tt.want)
		}
		if n := s.Info().Turns; n != 2 {
			t.Errorf("after %q: %d turns, want 2", tt.bad, n)
		}
	}
	if _, err := testEngine(t).Open(context.Background(), engine.Options{OnError: "retry"}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("OnError %q: %v", "retry", err)
	}
}

func TestSessionReset(t *testing.T) {
	for language, code := range map[string][2]string{
		"python":     {"x = 1; open('given', 'w').write('changed'); open('more', 'w').close()", "import os\nprint('x' in globals(), os.listdir(), open('given').read())"},
		"javascript": {"let x = 1; const fs = require('fs'); fs.writeFileSync('given', 'changed'); fs.writeFileSync('more', '')", "console.log(typeof x == 'undefined' ? 'False' : 'True', JSON.stringify(require('fs').readdirSync('.')).replaceAll('\"', \"'\"), require('fs').readFileSync('given', 'utf8'))"},
	} {
		s := open(t, engine.Options{Language: language, Files: []engine.File{{Path: "given", Content: []byte("as given")}}})
		for range 2 {
			turn(t, s, engine.Turn{Code: code[0]})
			if err := s.Reset(context.Background()); err != nil {
				t.Fatal(err)
			}
			if res := turn(t, s, engine.Turn{Code: code[1]}); res.Stdout != "False ['given'] as given\n" {
				t.Errorf("%s after a reset: stdout %q, stderr %q", language, res.Stdout, res.Stderr)
			}
			if info := s.Info(); info.Turns != 1 {
				t.Errorf("%s after a reset and a turn: %+v", language, info)
			}
		}
	}
}

func TestSessionInterrupt(t *testing.T) {
	for _, tt := range []struct {
		name, language, code, after, want string
		grace                             time.Duration
		rolledBack                        bool
	}{
		{"computing", "python", "x = 1\nx += 1\nprint('go', flush=True)\nwhile True: pass", "print(x > 1)", "True\n", 10 * time.Second, false},
		{"handled", "python", "try:\n  print('go', flush=True)\n  while True: pass\nexcept KeyboardInterrupt: x = 'tidied'", "print(x)", "tidied\n", 10 * time.Second, false},
		{"sleeping", "python", "import time\nx = 1\nprint('go', flush=True)\ntime.sleep(60)", "print(x)", "1\n", 10 * time.Second, false},
		{"ignored", "python", "x = 1\nwhile True:\n  try:\n    print('go', flush=True)\n    while True: pass\n  except BaseException: pass", "print('x' in globals())", "False\n", 50 * time.Millisecond, true},
		{"js computing", "javascript", "globalThis.x = 2; console.log('go'); for (;;);", "console.log(x > 1)", "true\n", 10 * time.Second, false},
		{"js waiting", "javascript", "globalThis.x = 1; console.log('go'); setTimeout(() => {}, 60000)", "console.log(x)", "1\n", 10 * time.Second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, engine.Options{Language: tt.language})
			if s.Interrupt() {
				t.Error("an idle session was interrupted")
			}
			begun := time.Now()
			res := turn(t, s, engine.Turn{
				Code: tt.code, Limits: limits.Limits{Timeout: 50 * time.Second, Grace: tt.grace},
				Stdout: writerFunc(func(p []byte) (int, error) {
					if !s.Interrupt() || !s.Info().Busy {
						t.Error("the turn that runs cannot be interrupted")
					}
					return len(p), nil
				}),
			})
			if res.Status != engine.StatusCancelled || res.RolledBack != tt.rolledBack || res.ExitCode != engine.ExitCancelled {
				t.Errorf("status %s, exit code %d, rolled back %v: %+v", res.Status, res.ExitCode, res.RolledBack, res.Error)
			}
			if took := time.Since(begun); took > 40*time.Second {
				t.Errorf("took %v", took)
			}
			if !errors.Is(res.Err(), engine.ErrCancelled) {
				t.Errorf("Err: %v", res.Err())
			}
			if res := turn(t, s, engine.Turn{Code: tt.after}); res.Stdout != tt.want || res.Status != engine.StatusOK {
				t.Errorf("after: stdout %q, want %q (%+v)", res.Stdout, tt.want, res.Error)
			}
		})
	}
}
