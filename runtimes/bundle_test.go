package runtimes_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/runtimes/js"
)

// TestBundle builds an entry, carries it in a bundle, and has it unpacked elsewhere instead of built.
func TestBundle(t *testing.T) {
	var built atomic.Int32
	e := counted(&built)
	first := openCache(t)
	dir := ensure(t, first, e, nil)
	bundle, err := runtimes.Bundle(first, e)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := runtimes.Bundle(first, e); err != nil || again != bundle {
		t.Errorf("a second bundle of the same entry differs (%v)", err)
	}
	t.Cleanup(func() { runtimes.SetBundle("") })
	runtimes.SetBundle(bundle)

	second := openCache(t)
	unpacked := ensure(t, second, e, nil)
	if built.Load() != 1 {
		t.Errorf("it was built %d times", built.Load())
	}
	for _, name := range []string{"hot", "sub/cold"} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(unpacked, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	if err := second.Has(e, true); err != nil {
		t.Error(err)
	}

	// What the bundle does not have is built.
	e.Key = runtimes.Key("v2")
	ensure(t, second, e, nil)
	if built.Load() != 2 {
		t.Errorf("it was built %d times, want 2", built.Load())
	}
}

// TestBundleStatus: what the program has inside is neither downloaded nor made.
func TestBundleStatus(t *testing.T) {
	spec, cache := js.Spec(), openCache(t)
	without := spec.Status(cache, false)
	var bundle bytes.Buffer
	z := zip.NewWriter(&bundle)
	for _, folder := range spec.Folders() {
		if _, err := z.Create(folder + "/file"); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { runtimes.SetBundle("") })
	runtimes.SetBundle(bundle.String())
	with := spec.Status(cache, false)
	if without.Download == 0 || with.Download != 0 || with.Work <= 0 || with.Work >= without.Work || with.Baked == nil {
		t.Errorf("without: %+v, with: %+v", without, with)
	}
	for _, a := range append(without.Artifacts, with.Artifacts...) {
		if !errors.Is(a.Err, fs.ErrNotExist) {
			t.Errorf("%s: %v", a.Name, a.Err)
		}
	}
	if without.Artifacts[0].Carried || !with.Artifacts[0].Carried {
		t.Errorf("without: %v, with: %v", without.Artifacts[0], with.Artifacts[0])
	}
}

// TestBundleDamaged has bundles that cannot be right.
func TestBundleDamaged(t *testing.T) {
	t.Cleanup(func() { runtimes.SetBundle("") })
	var built atomic.Int32
	e := counted(&built)
	first := openCache(t)
	ensure(t, first, e, nil)
	bundle, err := runtimes.Bundle(first, e)
	if err != nil {
		t.Fatal(err)
	}
	i := strings.Index(bundle, runtimes.FolderOf(e)+"/hot") + len(runtimes.FolderOf(e)+"/hot")
	var climbs bytes.Buffer
	z := zip.NewWriter(&climbs)
	if w, err := z.Create(runtimes.FolderOf(e) + "/../../out"); err != nil {
		t.Fatal(err)
	} else if _, err := w.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"no archive": "x" + bundle[:20], "flipped": bundle[:i+2] + string([]byte{bundle[i+2] ^ 0x55}) + bundle[i+3:], "climbs": climbs.String(),
	} {
		runtimes.SetBundle(bad)
		c := openCache(t)
		if dir, err := c.Ensure(t.Context(), e, nil); err == nil {
			t.Errorf("%s: it is unpacked to %s", name, dir)
		}
		if err := c.Has(e, true); err == nil {
			t.Errorf("%s: the cache has it", name)
		}
	}
}
