package engine_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/runtimes"
)

// An image that is made again must be the same bytes: the fuel of a program and snapshots depend on it. Python's takes
// half a minute, so it is made again only where nothing may be skipped.
func TestImagesAreReproducible(t *testing.T) {
	languages := []string{engine.JavaScript}
	if os.Getenv("CLOCHE_FULL") != "" {
		languages = append(languages, engine.Python)
	}
	first, err := runtimes.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, language := range languages {
		t.Run(language, func(t *testing.T) {
			ok(t, engine.Job{Language: language, Code: "x = 1"}) // fills the cache
			second := t.TempDir()
			if err := os.Chmod(second, 0o700); err != nil {
				t.Fatal(err)
			}
			for _, pattern := range []string{"artifact-*", language + "-code-*"} {
				for _, dir := range glob(t, first, pattern) {
					if err := linkTree(dir, filepath.Join(second, filepath.Base(dir))); err != nil {
						t.Fatal(err)
					}
				}
			}
			e, err := engine.New(engine.Config{Cache: second})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			if _, err := e.Run(context.Background(), engine.Job{Language: language, Code: "x = 1"}); err != nil {
				t.Fatal(err)
			}
			made := glob(t, second, language+"-image-*")
			if len(made) != 1 {
				t.Fatalf("%d images were made", len(made))
			}
			name := filepath.Join(filepath.Base(made[0]), "image")
			a, errA := os.ReadFile(filepath.Join(first, name))
			b, errB := os.ReadFile(filepath.Join(second, name))
			if errA != nil || errB != nil || !bytes.Equal(a, b) {
				t.Errorf("two images of %s differ: %v, %v", language, errA, errB)
			}
		})
	}
}

func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// linkTree makes a folder like another, of hard links to its files.
func linkTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if d.IsDir() {
			return os.Mkdir(target, 0o700)
		}
		if err := os.Link(path, target); err == nil {
			return nil
		}
		b, err := os.ReadFile(path) // on another file system
		if err != nil {
			return err
		}
		return os.WriteFile(target, b, 0o600)
	})
}
