package python_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/runtimes"
)

// TestLaidOut: package layout knows the form of the interpreter's machine code. If it fails with a new wazero, see there.
func TestLaidOut(t *testing.T) {
	if got, want := open(t).baked.LaidOut, runtime.GOARCH == "amd64"; got != want {
		t.Errorf("laid out: %v, want %v", got, want)
	}
}

// Each program asserts what it is about and prints nothing, or what its "# stdout:" lines say.
func TestPrograms(t *testing.T) {
	files, err := filepath.Glob("../../testdata/programs/python/*.py")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".py")
		t.Run(name, func(t *testing.T) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := open(t)
			s.timeout = 20 * time.Minute // how long a program takes on a busy machine is not the matter
			s.stdin = comments(source, "stdin")
			r := s.turn(&runtimes.Turn{Source: string(source), Name: name + ".py"}).ok(t)
			if want := comments(source, "stdout"); r.stdout != want {
				t.Errorf("stdout %q, want %q", r.stdout, want)
			}
			if want := comments(source, "stderr"); r.stderr != want {
				t.Errorf("stderr %q, want %q", r.stderr, want)
			}
		})
	}
}

// comments are the lines of source that start with "# key: ", without that.
func comments(source []byte, key string) string {
	var b strings.Builder
	for line := range strings.Lines(string(source)) {
		if text, ok := strings.CutPrefix(line, "# "+key+": "); ok {
			b.WriteString(text)
		}
	}
	return b.String()
}
