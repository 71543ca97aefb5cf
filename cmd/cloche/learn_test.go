package main

import (
	"testing"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

// A mount stays writable in what is learned if a file in it was changed, wherever it lies.
func TestLearnMounts(t *testing.T) {
	for _, c := range []struct {
		guest, written string
		want           limits.MountMode
	}{
		{"/", "/x", limits.ReadWrite},
		{"/in", "/in/x", limits.ReadWrite},
		{"/in", "/in", limits.ReadWrite}, // an archive's or folder's own name
		{"/in", "/input", limits.ReadOnly},
	} {
		l := &lesson{given: effective{mounts: []limits.Mount{{Host: "/srv", Guest: c.guest, Mode: limits.ReadWrite}}}}
		l.learn(&engine.Result{FilesChanged: []engine.FileChange{{Path: c.written, Op: "created"}}})
		text, err := l.policy()
		if err != nil {
			t.Fatal(err)
		}
		p, err := limits.ParsePolicy("learned", text)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Mounts) != 1 || p.Mounts[0].Mode != c.want {
			t.Errorf("%s with %s changed: %v, want %s", c.guest, c.written, p.Mounts, c.want)
		}
	}
}
