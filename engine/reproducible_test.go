package engine_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/cpu"

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
			second := cacheWith(t, first, "artifact-*", language+"-code-*")
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

// cacheWith is a cache folder with some of another one's entries.
func cacheWith(t *testing.T, from string, patterns ...string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.Chmod(to, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range patterns {
		for _, dir := range glob(t, from, pattern) {
			if err := linkTree(dir, filepath.Join(to, filepath.Base(dir))); err != nil {
				t.Fatal(err)
			}
		}
	}
	return to
}

// A snapshot and a store go on where another processor has other machine code and has made its own image.
func TestSnapshotMoves(t *testing.T) {
	ctx := t.Context()
	first, err := runtimes.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	store, key := filepath.Join(t.TempDir(), "store"), []byte("0123456789abcdef0123456789abcdef")
	turn := engine.Turn{Code: "globalThis.n = (globalThis.n ?? 0) + 1"}
	one, err := engine.New(engine.Config{Store: store, SnapshotKey: key})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	s, err := one.Open(ctx, engine.Options{Language: engine.JavaScript})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(ctx, turn); err != nil {
		t.Fatal(err)
	}
	sn, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := sn.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sn.Close(), one.Close()); err != nil {
		t.Fatal(err)
	}

	otherProcessor(t)
	two, err := engine.New(engine.Config{Cache: cacheWith(t, first, "artifact-*"), Store: store, SnapshotKey: key})
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	read, err := two.ReadSnapshot(&file)
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	restored, err := two.Restore(ctx, read)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := two.Session(ctx, s.ID())
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*engine.Session{"restored": restored, "stored": stored} {
		res, err := s.Run(ctx, turn)
		if err != nil {
			t.Fatal(name, err)
		}
		if v, _ := res.Value(); v != "2" {
			t.Errorf("%s: %q, status %s, %+v", name, v, res.Status, res.Error)
		}
	}
}

// otherProcessor has this process take itself for one on another kind of processor, as far as the keys of machine code go.
func otherProcessor(t *testing.T) {
	before := runtimes.MachineKey()
	flip := func() { cpu.X86.HasERMS, cpu.ARM64.HasSHA512 = !cpu.X86.HasERMS, !cpu.ARM64.HasSHA512 }
	flip()
	t.Cleanup(flip)
	if runtimes.MachineKey() == before {
		t.Skip("machine code is not made for kinds of processors here")
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
