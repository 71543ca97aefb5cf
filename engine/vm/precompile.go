package vm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Precompile compiles c.Binary and leaves its machine code in c.CacheDir, a folder without any, under the key of
// shell (see rewrite.Shell). A later [Compile] of the shell with that folder, and Config.Cached set, gives a
// module that runs the code of c.Binary.
//
// wazero finds machine code by a hash of the module's bytes and asks nothing else of the bodies of functions that
// it need not compile. So the code of the one is put where it looks for the code of the other.
func Precompile(ctx context.Context, c Config, shell []byte) (_ *Module, err error) {
	full := c
	if full.CacheDir, err = os.MkdirTemp(filepath.Dir(c.CacheDir), "full-*"); err != nil {
		return nil, fmt.Errorf("precompile: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(full.CacheDir)) }()
	m, err := Compile(ctx, full)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Close(ctx))
		}
	}()
	empty := c
	empty.Binary = shell
	s, err := Compile(ctx, empty)
	if err != nil {
		return nil, err
	}
	if err := s.Close(ctx); err != nil {
		return nil, err
	}
	from, err := codeFiles(full.CacheDir)
	if err != nil {
		return nil, err
	}
	to, err := codeFiles(c.CacheDir)
	if err != nil {
		return nil, err
	}
	if len(from) != 1 || len(to) != 1 {
		return nil, fmt.Errorf("precompile: wazero keeps %d and %d files of code for one module, expected 1", len(from), len(to))
	}
	if err := os.Rename(from[0].path, to[0].path); err != nil {
		return nil, fmt.Errorf("precompile: %w", err)
	}
	return m, nil
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
