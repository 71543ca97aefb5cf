package engine_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/cloche-dev/cloche/engine"
)

// TestCases runs the small programs of testdata/cases, each with what its user may expect.
//
// An archive holds many: NAME.py or NAME.js is a program, NAME.1.py, NAME.2.py … are the turns of a session, and NAME.check
// (NAME.1.check …) has an expectation a line, of the form "field = text" or "field ~ regular expression" or "field !~ …". The
// fields are status, exit, stdout, stderr, value, error (name and text), line, hint, traceback, charts, files, mimes and hits;
// without a status, ok is expected. NAME.stdout is the whole output. Other files NAME/PATH are put into the sandbox.
func TestCases(t *testing.T) {
	archives, err := filepath.Glob("../testdata/cases/*/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, archive := range archives {
		a, err := txtar.ParseFile(archive)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		var names []string
		for _, f := range a.Files {
			if _, twice := files[f.Name]; twice {
				t.Errorf("%s has %s twice", archive, f.Name)
			}
			files[f.Name] = string(f.Data)
			name, _, _ := strings.Cut(f.Name, ".")
			name, _, _ = strings.Cut(name, "/")
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		group := strings.TrimSuffix(filepath.Base(archive), ".txtar")
		for _, name := range names {
			t.Run(group+"/"+name, func(t *testing.T) { runCase(t, name, files) })
		}
	}
}

func runCase(t *testing.T, name string, files map[string]string) {
	var given []engine.File
	for path, content := range files {
		if rest, ok := strings.CutPrefix(path, name+"/"); ok {
			given = append(given, engine.File{Path: rest, Content: []byte(content)})
		}
	}
	for ext, language := range map[string]string{".py": engine.Python, ".js": engine.JavaScript} {
		if code, ok := files[name+ext]; ok {
			res := run(t, engine.Job{Language: language, Code: code, Files: given})
			checkCase(t, res, name, files)
			return
		}
		if _, ok := files[name+".1"+ext]; !ok {
			continue
		}
		s, err := testEngine(t).Open(t.Context(), engine.Options{Language: language, Files: given})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for n := 1; ; n++ {
			turn := fmt.Sprintf("%s.%d", name, n)
			code, ok := files[turn+ext]
			if !ok {
				return
			}
			res, err := s.Run(t.Context(), engine.Turn{Code: code})
			if err != nil {
				t.Fatal(err)
			}
			checkCase(t, res, turn, files)
		}
	}
	t.Errorf("there is no program %s", name)
}

func checkCase(t *testing.T, res *engine.Result, name string, files map[string]string) {
	t.Helper()
	e := res.Error
	if e == nil {
		e = &engine.Error{}
	}
	value, _ := res.Value()
	got := map[string]string{
		"status": string(res.Status), "exit": fmt.Sprint(res.ExitCode), "stdout": res.Stdout, "stderr": res.Stderr, "value": value,
		"error": e.Name + ": " + e.Value, "line": fmt.Sprint(e.Line), "hint": e.Hint, "traceback": e.Traceback, "charts": fmt.Sprint(len(res.Charts())),
	}
	for _, f := range res.FilesChanged {
		got["files"] += f.Path + " "
	}
	for _, h := range res.LimitsHit {
		got["hits"] += h.Resource + " "
	}
	for _, d := range res.Results {
		for mime, v := range d.Data {
			got["mimes"] += mime + " "
			if raw, ok := v.(json.RawMessage); ok {
				got[mime] += string(raw)
			} else {
				got[mime] += fmt.Sprintf("%s", v)
			}
		}
	}
	failed := false
	fail := func(format string, args ...any) {
		failed = true
		t.Errorf("%s: "+format, append([]any{name}, args...)...)
	}
	checks := files[name+".check"]
	if !strings.Contains("\n"+checks, "\nstatus ") {
		checks = "status = ok\n" + checks
	}
	for line := range strings.Lines(checks) {
		m := checkLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			t.Fatalf("%s: check %q: want field = text, field ~ expression or field !~ expression", name, line)
		}
		field, op, want := m[1], m[2], m[3]
		have := got[field]
		switch op {
		case "=":
			if strings.TrimSpace(have) != want {
				fail("%s is %.500q, want %q", field, have, want)
			}
		default:
			if regexp.MustCompile("(?s)"+want).MatchString(have) != (op == "~") {
				fail("%s is %.500q, want %s %s", field, have, op, want)
			}
		}
	}
	if want, ok := files[name+".stdout"]; ok && res.Stdout != want {
		fail("stdout %q, want %q", res.Stdout, want)
	}
	if failed {
		t.Logf("error %+v\nstderr: %.2000s", res.Error, res.Stderr)
	}
}

var checkLine = regexp.MustCompile(`^(\S+) (=|~|!~) ?(.*)$`)
