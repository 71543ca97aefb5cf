package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/runtimes"
)

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestOutputLost: a command whose output could not be written says so and has failed, whether it, a program or the parser wrote.
func TestOutputLost(t *testing.T) {
	dir, err := runtimes.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		guests bool
		want   int
	}{
		{"version", false, exitTrouble},
		{"--help", false, exitUsage},
		{"run --lang javascript -c console.log(1)", true, exitTrouble},
		{"run --lang javascript -c 1", true, exitTrouble},
		{"run --lang javascript --json -c 1", true, exitTrouble},
		{"run --lang javascript -c console.log(1);process.exit(3)", true, 3}, // it has failed already
	} {
		if c.guests && needsSetup(t, dir, engine.JavaScript) {
			return
		}
		var stderr strings.Builder
		code := doMain(context.Background(), strings.Fields(c.args), stdio{strings.NewReader(""), fullDisk{}, &stderr}, os.Getenv)
		if code != c.want || code != 3 && !strings.Contains(stderr.String(), "cloche: no space left on device") {
			t.Errorf("cloche %s: status %d, %q", c.args, code, stderr.String())
		}
	}
}
