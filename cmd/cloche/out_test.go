package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/engine"
)

func TestOutName(t *testing.T) {
	for _, c := range []struct{ guest, want string }{
		{"/data/a.csv", "a.csv"},
		{"/data/sub/a.csv", "sub/a.csv"},
		{"/tmp/a.csv", "tmp/a.csv"},
		{"/database/a", "database/a"},
	} {
		if got := outName(c.guest); got != c.want {
			t.Errorf("outName(%q) = %q, want %q", c.guest, got, c.want)
		}
	}
}

func TestOutStaysInItsFolder(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "out")
	o, err := openOut(dir, 1000)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	outside := filepath.Join(base, "outside")
	if err := os.WriteFile(outside, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"file": "../outside", "folder": ".."} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"../outside", "/etc/x", "a/../../outside", "", ".", "folder/outside", "folder/new"} {
		if err := o.write(name, strings.NewReader("guest")); err == nil {
			t.Errorf("%q was written", name)
		}
	}
	if err := o.write("file", strings.NewReader("guest")); err != nil { // takes the place of the link
		t.Error(err)
	}
	if b, err := os.ReadFile(outside); err != nil || string(b) != "mine" {
		t.Errorf("a file outside is now %q, %v", b, err)
	}
	if entries, err := os.ReadDir(base); err != nil || len(entries) != 2 {
		t.Errorf("files were made outside: %v, %v", entries, err)
	}
}

func TestFiguresDoNotTakeTheProgramsNames(t *testing.T) {
	o, err := openOut(t.TempDir(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if err := o.write("figure-2.png", strings.NewReader("the program's")); err != nil {
		t.Fatal(err)
	}
	if got := []string{o.nextFigure(), o.nextFigure()}; strings.Join(got, " ") != "figure-1.png figure-3.png" {
		t.Errorf("figures %v", got)
	}
}

func TestOutIsBounded(t *testing.T) {
	dir := t.TempDir()
	o, err := openOut(dir, 10)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	for _, c := range []struct {
		name, content string
		written       bool
	}{
		{"a", "123456", true}, {"large", "12345", false}, {"b", "1234", true}, {"c", "1", false}, {"empty", "", true},
	} {
		err := o.write(c.name, strings.NewReader(c.content))
		_, missing := os.Stat(filepath.Join(dir, c.name))
		if (err == nil) != c.written || (missing == nil) != c.written {
			t.Errorf("%s: %v; file: %v", c.name, err, missing)
		}
	}
}

func TestExitStatus(t *testing.T) {
	for _, c := range []struct {
		res  engine.Result
		want int
	}{
		{engine.Result{Status: engine.StatusOK}, 0},
		{engine.Result{Status: engine.StatusError, ExitCode: 3}, 3},
		{engine.Result{Status: engine.StatusError, ExitCode: 256}, 1},
		{engine.Result{Status: engine.StatusError, ExitCode: -1}, 255},
		{engine.Result{Status: engine.StatusTimeout, ExitCode: engine.ExitTimeout}, exitLimit},
		{engine.Result{Status: engine.StatusOutOfFuel, ExitCode: engine.ExitTimeout}, exitLimit},
		{engine.Result{Status: engine.StatusOutOfMemory, ExitCode: engine.ExitOutOfMemory}, exitMemory},
		{engine.Result{Status: engine.StatusCancelled, ExitCode: engine.ExitCancelled}, exitInterrupted},
		{engine.Result{Status: engine.StatusTrapped, ExitCode: engine.ExitTrapped}, exitTrapped},
	} {
		if got := exitStatus(&c.res); got != c.want {
			t.Errorf("%s with %d: exit status %d, want %d", c.res.Status, c.res.ExitCode, got, c.want)
		}
	}
}

func TestPrintable(t *testing.T) {
	if got, want := printable("a\x1b[31mb\x00\u009bc\xffd\n\té你"), "a\uFFFD[31mb\uFFFD\uFFFDc\uFFFDd\n\té你"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
