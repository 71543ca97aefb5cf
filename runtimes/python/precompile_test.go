package python_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cloche-dev/cloche/runtimes/python"
)

// TestBytecodeIsReproducible: what an import costs in fuel depends on the bytecode, and a receipt of it is replayed elsewhere.
func TestBytecodeIsReproducible(t *testing.T) {
	baked := open(t).baked
	dir := t.TempDir()
	site := fstest.MapFS{"data.txt": {Data: []byte("no module")}, "broken.py": {Data: []byte("def")}, "m/__init__.py": {},
		"odd/__init__.py": {}, "odd/__pycache__": {Data: []byte("a file in the place of the folder")}}
	var want []string
	for i := range 9 {
		text := fmt.Sprintf("import os\nnames = {'a', 'b', 'c', %d} & frozenset(('x', 'y'))\ndef f(x=%d): return x in {'p', 'q', 'r', 's'}\nclass C: y: int = f()\n", i, i)
		site[fmt.Sprintf("m%d.py", i)] = &fstest.MapFile{Data: []byte(text)}
		want = append(want, fmt.Sprintf("__pycache__/m%d.cpython-315.pyc", i))
	}
	want = append(want, "m/__pycache__/__init__.cpython-315.pyc")
	from := filepath.Join(dir, "site.zip")
	f, err := os.Create(from)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	if err := errors.Join(z.AddFS(site), z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	var made [][]byte
	for i := range 2 {
		to := filepath.Join(dir, fmt.Sprint(i))
		if err := python.WithBytecode(t.Context(), baked, from, to); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, b)
	}
	if !bytes.Equal(made[0], made[1]) {
		t.Error("bytecode differs from one time to the next")
	}
	r, err := zip.NewReader(bytes.NewReader(made[0]), int64(len(made[0])))
	if err != nil {
		t.Fatal(err)
	}
	compiled := []string{}
	for _, f := range r.File {
		if strings.HasSuffix(f.Name, ".pyc") {
			compiled = append(compiled, f.Name)
		}
	}
	if !slices.Equal(compiled, want) {
		t.Errorf("compiled %q, want %q", compiled, want)
	}
}
