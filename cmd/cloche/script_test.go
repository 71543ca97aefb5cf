package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/runtimes"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"cloche": main})
}

// TestScript runs each file of testdata/script: a story of commands and of what they print. Beyond what testscript
// has, a script can say
//
//	[!python] skip        # or [!javascript]: go on only when the interpreter is set up
//	status 124 cloche …    # run a command whose exit status must be 124
//	expand FILE            # put the value of $WORK in its place in a file
//	server                 # start a web server on the loopback address, $SERVER, which answers with the method and the path
//
// $CLOCHE is the program's path, for scripts that change PATH.
func TestScript(t *testing.T) {
	dir, err := runtimes.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	ready := readyLanguages(t, dir)
	testscript.Run(t, testscript.Params{
		Dir:                 "../../testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			// The sandbox of a script has no home folder; the interpreters are those of the machine.
			e.Setenv(runtimes.CacheEnv, dir)
			e.Setenv("SECRET_OF_HOST", "canary")
			self, err := exec.LookPath("cloche")
			e.Setenv("CLOCHE", self)
			return err
		},
		Condition: func(cond string) (bool, error) {
			if cond != engine.Python && cond != engine.JavaScript {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			if slices.Contains(ready, cond) {
				return true, nil
			}
			if os.Getenv("CLOCHE_FULL") != "" {
				return false, fmt.Errorf("%s is not set up: run make setup", cond)
			}
			return false, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status, "expand": expand, "server": webServer},
	})
}

// status runs a command and checks its exit status: status N cloche ARGS…
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command args...")
	}
	got := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("exit status %s, want %s", got, args[0])
	}
}

// expand replaces $WORK in files: expand FILE…
func expand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: expand file...")
	}
	for _, name := range args {
		text := strings.ReplaceAll(ts.ReadFile(name), "$WORK", ts.Getenv("WORK"))
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}

// webServer starts a web server that ends with the script: server
func webServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: server")
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Method, " ", r.URL.Path) }))
	ts.Defer(s.Close)
	ts.Setenv("SERVER", strings.TrimPrefix(s.URL, "http://"))
}

// needsSetup skips the test when an interpreter is not set up.
func needsSetup(t testing.TB, dir, language string) bool {
	t.Helper()
	if slices.Contains(readyLanguages(t, dir), language) {
		return false
	}
	if os.Getenv("CLOCHE_FULL") != "" {
		t.Errorf("%s is not set up: run make setup", language)
		return true
	}
	t.Skipf("%s is not set up: run make setup", language)
	return true
}

func readyLanguages(t testing.TB, dir string) []string {
	t.Helper()
	cache, err := runtimes.OpenCache(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	var ready []string
	for name, spec := range engine.Specs() {
		if spec.Status(cache, false).Ready() {
			ready = append(ready, name)
		} else {
			t.Logf("%s is not set up: run make setup (and see the Makefile for how make test runs the tests)", name)
		}
	}
	return ready
}
