package engine_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

// TestFilePrograms runs the programs of testdata/programs/files in a sandbox's own files, in a folder of the host's, and by
// the host's own Python: all answer the same.
func TestFilePrograms(t *testing.T) {
	dir, err := filepath.Abs("../testdata/programs/files")
	if err != nil {
		t.Fatal(err)
	}
	answers, err := os.ReadFile(filepath.Join(dir, "answers.py"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.py"))
	if err != nil || len(files) < 2 {
		t.Fatalf("no programs: %v", err)
	}
	python, _ := exec.LookPath("python3")
	for _, file := range files {
		name := filepath.Base(file)
		if name == "answers.py" {
			continue
		}
		t.Run(strings.TrimSuffix(name, ".py"), func(t *testing.T) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			inside := func(folder string) string {
				res := ok(t, engine.Job{
					Code:   "import sys, os; sys.path.insert(0, '/tmp/lib'); os.chdir('" + folder + "')\n" + string(source),
					Files:  []engine.File{{Path: "/tmp/lib/answers.py", Content: answers}},
					Mounts: []limits.Mount{{Host: t.TempDir(), Guest: "/host", Mode: limits.ReadWrite}},
				})
				if res.Stderr != "" {
					t.Errorf("in %s: stderr %s", folder, res.Stderr)
				}
				return res.Stdout
			}
			memory := inside("/data")
			if n := strings.Count(memory, "\n"); n < 10 {
				t.Fatalf("only %d lines:\n%s", n, memory)
			}
			if diff := cmp.Diff(strings.Split(memory, "\n"), strings.Split(inside("/host"), "\n")); diff != "" {
				t.Errorf("in a folder of the host's (-memory +host):\n%s", diff)
			}
			if python == "" {
				t.Skip("the answers of CPython on this machine need python3")
			}
			cmd := exec.Command(python, "-B", file)
			cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "PYTHONPATH="+dir, "PYTHONWARNINGS=ignore", "LC_ALL=C.UTF-8")
			want, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, want)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(memory, "\n")); diff != "" {
				t.Errorf("%s (-CPython here +sandbox):\n%s", name, diff)
			}
		})
	}
}

// TestListingsAreBounded: a folder of many long names is listed without the host holding them again and again.
func TestListingsAreBounded(t *testing.T) {
	const names, length = 10_000, 240
	s := open(t, engine.Options{Language: engine.JavaScript, Limits: limits.Limits{Inodes: 2 * names}})
	turn(t, s, engine.Turn{Code: fmt.Sprintf(`const fs = require("fs"); for (let i = 0; i < %d; i++) fs.writeFileSync("/tmp/" + "n".repeat(%d) + i, "")`, names, length)})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res := turn(t, s, engine.Turn{Code: `for (let i = 0; i < 4; i++) console.log(fs.readdirSync("/tmp").length)`})
	runtime.ReadMemStats(&after)
	if want := strings.Repeat(fmt.Sprintln(names), 4); res.Stdout != want {
		t.Fatalf("%s %s", res.Stdout, res.Stderr)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 4*names*length {
		t.Errorf("the host took %s to list %s of names four times", limits.FormatSize(got), limits.FormatSize(names*length))
	}
}
