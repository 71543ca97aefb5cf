package js_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/runtimes"
)

// TestStripWithinTime: a run does not wait for a parser that takes longer than the run may, nor does a short program after it.
func TestStripWithinTime(t *testing.T) {
	s := newSandbox(t)
	errOver := errors.New("over")
	end := time.Now().Add(100 * time.Millisecond)
	s.env.Clock = &overClock{end: end, err: errOver}
	source := strings.Repeat("let a0,a1,a2,a3,a4,a5,a6,a7;let b,c,d\n", 120<<10/39)
	r := s.turn(source, func(turn *runtimes.Turn) { turn.Name, turn.TypeScript = "main.ts", true })
	if !errors.Is(r.err, errOver) {
		t.Errorf("the run ended with %v, %+v", r.err, r.Error)
	}
	if late := time.Since(end); late > time.Second { // the parser takes six on a processor of its own
		t.Errorf("it ended %v late", late)
	}
	begin := time.Now()
	r = newSandbox(t).turn("let a: number = 42; console.log(a)", func(turn *runtimes.Turn) { turn.Name, turn.TypeScript = "main.ts", true })
	if took := time.Since(begin); r.err != nil || r.stdout != "42\n" || took > 3*time.Second {
		t.Errorf("a short program took %v beside it: %q, %v", took, r.stdout, r.err)
	}
	// A long one has its place in the end; and tests that follow do not compute beside it.
	long := "let a: number = 42; console.log(a)" + strings.Repeat("\n// a line of many", 2000)
	s = newSandbox(t)
	s.timeout = 20 * time.Minute // for a busy machine
	r = s.turn(long, func(turn *runtimes.Turn) { turn.Name, turn.TypeScript = "main.ts", true })
	if r.err != nil || r.stdout != "42\n" {
		t.Errorf("a long program: %q, %v", r.stdout, r.err)
	}
}

// overClock ends the run at a time.
type overClock struct {
	fakeClock
	end time.Time
	err error
}

func (c *overClock) Check(context.Context) error {
	if time.Now().After(c.end) {
		return c.err
	}
	return nil
}

// TestTypeScriptErrors: a report shows the source as it was written, and where.
func TestTypeScriptErrors(t *testing.T) {
	for _, c := range []struct{ source, traceback string }{
		{"interface A {\n  x: number;\n}\nfunction f(a: A): never { throw new Error(`no ${a.x as number}`) }\nf({ x: 1 } as A)\n",
			"main.ts:4\nfunction f(a: A): never { throw new Error(`no ${a.x as number}`) }\n                                                ^\n\nUncaught Error: no 1\n    at f (main.ts:4:49)\n    at main.ts:5:1"},
		{"let a: string = 'x;\n", "main.ts:1\nlet a: string = 'x;\n                   ^\n\nUncaught SyntaxError: Unterminated string literal\n    at main.ts:1:20"},
	} {
		r := newSandbox(t).turn(c.source, func(turn *runtimes.Turn) { turn.Name, turn.TypeScript = "main.ts", true })
		if r.Error == nil || r.Error.Traceback != c.traceback {
			t.Errorf("%s\n%+v", c.source, r.Error)
		}
	}
}
