package engine_test

import (
	"archive/zip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

// writeZip makes an archive of members, each "name=content".
func writeZip(t *testing.T, file string, members ...string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for _, m := range members {
		name, content, _ := strings.Cut(m, "=")
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestMountZip(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "in.ZIP")
	writeZip(t, archive, "a.txt=one", "deep/er/b.txt=two")
	before, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		mode limits.MountMode
		want string
	}{
		{limits.ReadOnly, "one two EROFS [ 'a.txt', 'deep' ]\n"},
		{limits.Overlay, "one two written [ 'a.txt', 'deep', 'new' ]\n"},
	} {
		res := ok(t, engine.Job{
			Language: engine.JavaScript,
			Code: `
const fs = require("fs");
let how;
try { fs.writeFileSync("/z/new", "written"); how = fs.readFileSync("/z/new", "utf8"); } catch (e) { how = e.code; }
console.log(fs.readFileSync("/z/a.txt", "utf8"), fs.readFileSync("/z/deep/er/b.txt", "utf8"), how, fs.readdirSync("/z"));`,
			Mounts: []limits.Mount{{Host: archive, Guest: "/z", Mode: tt.mode}},
		})
		if res.Stdout != tt.want {
			t.Errorf("%s: %q, want %q", tt.mode, res.Stdout, tt.want)
		}
	}
	if after, err := os.ReadFile(archive); err != nil || string(after) != string(before) {
		t.Errorf("the archive changed: %v", err)
	}
}

// What cannot be mounted is the caller's mistake, told without the host's paths, and costs nothing: the place it
// took among the sandboxes is free again.
func TestMountRefused(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"file": "x", "not.zip": "no archive"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	writeZip(t, filepath.Join(dir, "evil.zip"), "good=x", "../outside=x")
	writeZip(t, filepath.Join(dir, "good.zip"), "good=x")
	eng, err := engine.New(engine.Config{MaxSandboxes: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, tt := range []struct {
		host string
		mode limits.MountMode
		want string
	}{
		{"missing", limits.ReadOnly, "mount /m: no such file or directory"},
		{"missing.zip", limits.ReadOnly, "mount /m: no such file or directory"},
		{"file", limits.ReadOnly, "mount /m: not a directory"},
		{"not.zip", limits.ReadOnly, "mount /m: zip: zip: not a valid zip file"},
		{"evil.zip", limits.ReadOnly, `mount /m: zip: member "../outside": name is not clean`},
		{"good.zip", limits.ReadWrite, "mount /m: a zip archive cannot be written: use mode ro or overlay"},
	} {
		_, err := eng.Run(context.Background(), engine.Job{
			Language: engine.JavaScript, Code: "1",
			Mounts: []limits.Mount{{Host: filepath.Join(dir, tt.host), Guest: "/m", Mode: tt.mode}},
		})
		if !errors.Is(err, engine.ErrInvalid) || err.Error() != "invalid: "+tt.want {
			t.Errorf("%s: error %v, want %q", tt.host, err, tt.want)
		}
	}
}
