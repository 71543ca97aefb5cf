package runtimes

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestTogether checks that several artifacts are fetched by one run of the client, and each compared with its own pin.
func TestTogether(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the fake client is a shell script")
	}
	dir := t.TempDir()
	var list []Artifact
	for _, name := range []string{"one", "two"} {
		archive := tgzOf(t, file{"package/index.js", "export const name = '" + name + "'"})
		a := pin("npm", name+"-1.2.3.tgz", archive, file{"package/index.js", "export const name = '" + name + "'"})
		a.Name, a.Package = name, "the-"+name
		list = append(list, a)
		if err := os.WriteFile(filepath.Join(dir, a.File), archive, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := "#!/bin/sh\necho \"$@\" >> " + dir + "/log\ncp " + dir + "/*.tgz \"$5\"\n"
	if err := os.WriteFile(filepath.Join(dir, "npm"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")

	cache := tempCache(t)
	if err := cache.together(t.Context(), list, Silent{}); err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		folder, err := cache.artifact(t.Context(), a, Silent{}) // fetches nothing: it would find two archives
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(folder, "index.js"))
		if err != nil || !strings.Contains(string(b), a.Name) {
			t.Errorf("%s: %q, %v", a.Name, b, err)
		}
	}
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil || strings.Count(string(log), "\n") != 1 || !strings.HasSuffix(string(log), " the-one@1.2.3 the-two@1.2.3\n") {
		t.Errorf("the client was run with %q, %v", log, err)
	}
	left, err := filepath.Glob(filepath.Join(cache.Dir(), ".tmp-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	list[1].SHA256 = sum([]byte("another"))
	err = tempCache(t).together(t.Context(), list, Silent{})
	if _, ok := errors.AsType[*HashError](err); !ok {
		t.Errorf("another archive than the pinned one: %v", err)
	}
}

// TestArtifactsFromBundle checks that nothing is downloaded of what the program carries.
func TestArtifactsFromBundle(t *testing.T) {
	names := []string{"h11", "idna"}
	var files []file
	for _, name := range names {
		a, err := LookupArtifact(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file{a.entry().folder() + "/" + a.File, name})
	}
	t.Cleanup(func() { SetBundle("") })
	SetBundle(string(zipOf(t, files...)))
	t.Setenv("PATH", t.TempDir()) // no client is there to be run

	dirs, err := tempCache(t).Artifacts(t.Context(), names, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		files, err := filepath.Glob(filepath.Join(dirs[name], name+"-*.whl"))
		if err != nil || len(files) != 1 {
			t.Errorf("%s: %v, %v", name, files, err)
		}
	}
}
