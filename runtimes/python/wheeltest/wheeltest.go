// Package wheeltest makes Python packages for tests, and forgets what the cache has of them.
package wheeltest

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// Write writes a wheel of version 1.0 into dir. tag is what it can be installed for ("py3-none-any"), requires is lines of its METADATA.
func Write(t *testing.T, dir, name, tag, requires string, files map[string]string) {
	t.Helper()
	WriteVersion(t, dir, name, "1.0", tag, requires, files)
}

// WriteVersion is [Write] for another version.
func WriteVersion(t *testing.T, dir, name, version, tag, requires string, files map[string]string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, name+"-"+version+"-"+tag+".whl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info := name + "-" + version + ".dist-info/"
	all := fstest.MapFS{
		info + "METADATA": {Data: []byte("Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n" + requires)},
		info + "WHEEL":    {Data: []byte("Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: " + tag + "\n")},
		info + "RECORD":   {},
	}
	for path, text := range files {
		all[path] = &fstest.MapFile{Data: []byte(text)}
	}
	z := zip.NewWriter(f)
	if err := errors.Join(z.AddFS(all), z.Close()); err != nil {
		t.Fatal(err)
	}
}

// Sets are the folders of a cache with sets of packages that name a module.
func Sets(t *testing.T, cache, module string) (sets []string) {
	t.Helper()
	lists, err := filepath.Glob(filepath.Join(cache, "packages-*", "packages.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		if b, err := os.ReadFile(list); err == nil && bytes.Contains(b, []byte(module)) {
			sets = append(sets, filepath.Dir(list))
		}
	}
	return sets
}

// Forget removes [Sets], now and after the test: what is in the cache is not installed again.
func Forget(t *testing.T, cache, module string) {
	t.Helper()
	forget := func() {
		for _, set := range Sets(t, cache, module) {
			i := strings.LastIndex(set, "-")
			compiled, err := filepath.Glob(set[:i] + "-compiled-*")
			for _, dir := range append(compiled, set) {
				err = errors.Join(err, os.RemoveAll(dir))
			}
			if err != nil {
				t.Error(err)
			}
		}
	}
	forget()
	t.Cleanup(forget)
}
