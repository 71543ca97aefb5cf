package vm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/cloche-dev/cloche/engine/layout"
)

// Precompile compiles c.Binary and leaves its machine code in c.CacheDir, a folder without any, under the key of
// shell (see rewrite.Shell). A later [Compile] of the shell with that folder, and Config.Cached set, gives a
// module that runs the code of c.Binary.
//
// wazero finds machine code by a hash of the module's bytes and asks nothing else of the bodies of functions that
// it need not compile. So the code of the one is put where it looks for the code of the other.
//
// laidOut tells whether package layout knew the form of the code and put it in order.
func Precompile(ctx context.Context, c Config, shell []byte) (laidOut bool, err error) {
	full, empty := c, c
	empty.Binary = shell
	if full.CacheDir, err = os.MkdirTemp(filepath.Dir(c.CacheDir), "full-*"); err != nil {
		return false, fmt.Errorf("precompile: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(full.CacheDir)) }()
	from, err := compileAlone(ctx, full)
	if err != nil {
		return false, err
	}
	to, err := compileAlone(ctx, empty)
	if err != nil {
		return false, err
	}
	if laidOut, err = layOut(from); err != nil {
		return false, fmt.Errorf("precompile: %w", err)
	}
	if err := os.Rename(from, to); err != nil {
		return false, fmt.Errorf("precompile: %w", err)
	}
	return laidOut, nil
}

// layOut puts the code in a file of wazero's in order. Code of a form that is not known stays as it is.
func layOut(path string) (bool, error) {
	if runtime.GOARCH != "amd64" {
		return false, nil
	}
	code, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	code, err = layout.Rewrite(code)
	if errors.Is(err, layout.ErrUnknown) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, os.WriteFile(path, code, 0o600)
}

// compileAlone compiles a module into a folder without code and returns the file that wazero made there.
func compileAlone(ctx context.Context, c Config) (string, error) {
	m, err := Compile(ctx, c)
	if err != nil {
		return "", err
	}
	if err := m.Close(ctx); err != nil {
		return "", err
	}
	files, err := codeFiles(c.CacheDir)
	if err != nil {
		return "", err
	}
	if len(files) != 1 {
		return "", fmt.Errorf("precompile: wazero keeps %d files of code for one module, expected 1", len(files))
	}
	return files[0].path, nil
}

// codeFile is a file of machine code, with what would change if it were written again.
type codeFile struct {
	path    string
	size    int64
	modTime int64
}

func codeFiles(dir string) ([]codeFile, error) {
	var files []codeFile
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			files = append(files, codeFile{path, info.Size(), info.ModTime().UnixNano()})
		}
		return err
	})
	return files, err
}

// errNotCached says that wazero compiled what it should have found compiled.
var errNotCached = errors.New("the machine code in the cache is not what this program looks for")

// unchanged makes sure that do leaves the code cache as it is.
func unchanged(dir string, do func() error) error {
	before, err := codeFiles(dir)
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	after, err := codeFiles(dir)
	if err == nil && (len(before) == 0 || !slices.Equal(before, after)) {
		err = errNotCached
	}
	return err
}
