package durable_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/cloche-dev/cloche/engine/durable"
)

func write(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// names are those in a folder.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	for _, text := range []string{"first", "second, and longer", ""} {
		if err := durable.Write(name, write(text)); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(name); err != nil || string(b) != text {
			t.Errorf("%q, %v, want %q", b, err, text)
		}
	}
	if info, err := os.Stat(name); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v: others can read it", info.Mode(), err)
	}

	// What fails leaves the file as it was, and nothing beside it.
	full := errors.New("full")
	err := durable.Write(name, func(w io.Writer) error { return errors.Join(write("half")(w), full) })
	if b, _ := os.ReadFile(name); !errors.Is(err, full) || string(b) != "" {
		t.Errorf("%v, and the file holds %q", err, b)
	}
	if err := durable.Write(filepath.Join(dir, "none", "f"), write("")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without its folder: %v", err)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left over: %v", got)
	}
}

// TestClean: what a process left that was ended while it wrote is removed, and nothing else.
func TestClean(t *testing.T) {
	dir := t.TempDir()
	during := []string{}
	if err := durable.Write(filepath.Join(dir, "whole"), func(io.Writer) error {
		during = names(t, dir)
		return nil
	}); err != nil || len(during) != 1 {
		t.Fatal(during, err)
	}
	if err := os.WriteFile(filepath.Join(dir, during[0]), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := durable.Clean(dir); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); len(got) != 1 || got[0] != "whole" {
		t.Errorf("left: %v", got)
	}
}
