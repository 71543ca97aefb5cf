package js_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const programs = "../../testdata/programs/js"

// TestPrograms runs the programs of testdata and compares what they print with what Node printed.
func TestPrograms(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(programs, "*.js"))
	if err != nil || len(files) == 0 {
		t.Fatal("no programs:", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".js"), func(t *testing.T) {
			t.Parallel()
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(file, ".js") + ".out")
			if err != nil {
				t.Fatal(err)
			}
			s := newSandbox(t)
			s.env.Clock = &fakeClock{} // so that a busy machine does not change the order of timers
			compare(t, s.ok(string(source)).stdout, string(want))
		})
	}
}

// TestProgramsReference runs the same programs in Node, which must agree with the files kept.
func TestProgramsReference(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: the kept output is not compared with the reference")
	}
	version, err := exec.Command(node, "--version").Output()
	if err != nil || !bytes.HasPrefix(version, []byte("v20.")) {
		t.Skipf("the reference is Node 20, this is %s", bytes.TrimSpace(version))
	}
	files, _ := filepath.Glob(filepath.Join(programs, "*.js"))
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".js"), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(strings.TrimSuffix(file, ".js") + ".out")
			if err != nil {
				t.Fatal(err)
			}
			var got []byte
			for try := range 20 { // on a busy machine Node's timers do not always come in the same order
				time.Sleep(time.Duration(try) * 50 * time.Millisecond)
				cmd := exec.Command(node, file)
				cmd.Env = append(os.Environ(), "TZ=UTC", "LANG=en_US.UTF-8", "NODE_OPTIONS=")
				if got, err = cmd.Output(); err != nil {
					t.Fatal(err)
				}
				if bytes.Equal(got, want) {
					break
				}
			}
			compare(t, string(got), string(want))
		})
	}
}

// compare reports the first lines that differ.
func compare(t *testing.T, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := 0; i < max(len(g), len(w)); i++ {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Fatalf("line %d is\n%s\nwant\n%s\n(%d lines, want %d)", i+1, a, b, len(g), len(w))
		}
	}
}
