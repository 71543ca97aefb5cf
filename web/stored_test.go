package web_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/web"
)

// otherKey is a second one of life.
const otherKey = "another-key-0123456789-0123456789-0123456789"

// life is that of a server over a store.
func life(t *testing.T, dir string, use func(s *server)) {
	t.Helper()
	eng, err := engine.New(engine.Config{Store: dir, MaxIdle: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, func(c *web.Config) {
		c.Engine, c.Stored, c.SnapshotDir = eng, true, dir+"/snapshots"
		c.Keys = append(c.Keys, &web.Key{Name: "other", Hash: web.HashKey(otherKey)})
	})
	if err := s.web.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	use(s)
	if err := s.web.Close(); err != nil {
		t.Error(err)
	}
	if err := eng.Close(); err != nil {
		t.Error(err)
	}
}

// TestSessionsOutliveTheProcess: with a store, a session goes on in the next process, for the key that had it.
func TestSessionsOutliveTheProcess(t *testing.T) {
	dir := t.TempDir() + "/store"
	var kept, gone string
	var snapshot, dropped web.SnapshotInfo
	life(t, dir, func(s *server) {
		kept = s.session(object{"language": "javascript", "metadata": object{"who": "me"}, "idle_timeout_s": 500})
		gone = s.session(object{"language": "javascript"})
		s.execute(kept+"/execute", object{"code": "let n = 41; require('fs').writeFileSync('f', 'kept')"}, "ok")
		s.do("DELETE", gone, nil)
		s.do("POST", kept+"/snapshots", object{"metadata": object{"step": "1"}}).must(201, &snapshot)
		s.do("POST", kept+"/snapshots", object{}).must(201, &dropped)
		s.do("DELETE", "/v1/snapshots/"+dropped.ID, nil)
	})
	life(t, dir, func(s *server) {
		var info web.SessionInfo
		s.do("GET", kept, nil).must(200, &info)
		if info.Metadata["who"] != "me" || info.IdleTimeoutS != 500 || info.Turns != 1 || info.Language != "javascript" {
			t.Errorf("%+v", info)
		}
		if res := s.execute(kept+"/execute", object{"code": "console.log(n + 1, require('fs').readFileSync('f', 'utf8'))"}, "ok"); res.Stdout != "42 kept\n" {
			t.Errorf("%+v", res)
		}
		var list web.SnapshotList
		s.do("GET", "/v1/snapshots", nil).must(200, &list)
		if len(list.Snapshots) != 1 || list.Snapshots[0].Metadata["step"] != "1" {
			t.Errorf("%+v", list)
		}
		if res := s.run(object{"snapshot": snapshot.ID, "code": "console.log(n)"}, "ok"); res.Stdout != "41\n" {
			t.Errorf("%+v", res)
		}
		s.do("GET", gone, nil).mustFail(404, "not_found", "session")
		s.key = otherKey
		s.do("GET", kept, nil).mustFail(404, "not_found", "session")
	})
}

// TestUnfinishedSnapshots: what a process left half written or half removed when it was killed is gone with the next one.
func TestUnfinishedSnapshots(t *testing.T) {
	dir := t.TempDir() + "/store"
	life(t, dir, func(*server) {})
	half, others := "snap_"+strings.Repeat("a", 26)+".cloche", "notes.txt"
	for _, name := range []string{half, ".writing-123", others} {
		if err := os.WriteFile(filepath.Join(dir, "snapshots", name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var whole web.SnapshotInfo
	life(t, dir, func(s *server) {
		s.do("POST", s.session(object{"language": "javascript"})+"/snapshots", object{}).must(201, &whole)
	})
	var names []string
	entries, err := os.ReadDir(filepath.Join(dir, "snapshots"))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{others, whole.ID + ".cloche", whole.ID + ".json"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%v (%v), want %v", names, err, want)
	}
}
