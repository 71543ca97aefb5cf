package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

func TestEventsTellWhatTheResultTells(t *testing.T) {
	for _, j := range []engine.Job{
		{Language: engine.Python, Code: `
import sys, os
print("one"); print("two", file=sys.stderr)
display("shown")
sys.stdout.flush()
os.write(1, "é".encode()[:1]); os.write(1, "é".encode()[1:])
os.write(1, b"\xff")
"last"`},
		{Language: engine.JavaScript, Code: `console.log("one"); console.error("two"); console.log("é"); "last"`},
	} {
		var stdout, stderr strings.Builder
		var shown []bool
		j.ID = "run_mine"
		j.OnEvent = func(e engine.Event) {
			switch e.Type {
			case engine.EventStdout:
				stdout.WriteString(e.Text)
				if strings.Contains(e.Text, "\xc3") && !strings.Contains(e.Text, "é") {
					t.Errorf("%s: half of a character: %q", j.Language, e.Text)
				}
			case engine.EventStderr:
				stderr.WriteString(e.Text)
			case engine.EventResult:
				shown = append(shown, e.Display.Main)
			}
		}
		res := ok(t, j)
		if res.ID != "run_mine" || stdout.String() != res.Stdout || stderr.String() != res.Stderr || res.Stdout == "" || res.Stderr == "" {
			t.Errorf("%s: id %s, events say %q and %q, the result %q and %q", j.Language, res.ID, stdout.String(), stderr.String(), res.Stdout, res.Stderr)
		}
		if len(shown) == 0 || len(shown) != len(res.Results) || !shown[len(shown)-1] {
			t.Errorf("%s: shown %v, results %v", j.Language, shown, res.Results)
		}
	}
}

func TestEventsWaitForTheReceiver(t *testing.T) {
	n := 0
	res := run(t, engine.Job{
		Code:   "while True: print('x')",
		Limits: limits.Limits{Timeout: 300 * time.Millisecond},
		OnEvent: func(e engine.Event) {
			n++
			time.Sleep(20 * time.Millisecond)
		},
	})
	if res.Status != engine.StatusTimeout || n > 40 {
		t.Errorf("status %s after %d events", res.Status, n)
	}
	if res.Usage.Compute > res.Usage.Wall/2 {
		t.Errorf("waiting for the receiver counts as computing: %v of %v", res.Usage.Compute, res.Usage.Wall)
	}
}
