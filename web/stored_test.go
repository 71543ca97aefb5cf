package web_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/web"
)

// otherKey is a second one of life.
const otherKey = "another-key-0123456789-0123456789-0123456789"

// life is that of a server over a store.
func life(t *testing.T, dir string, use func(s *server), change ...func(*web.Config)) {
	t.Helper()
	eng, err := engine.New(engine.Config{Store: dir, MaxIdle: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, func(c *web.Config) {
		c.Engine, c.Stored, c.SnapshotDir = eng, true, dir+"/snapshots"
		c.Keys = append(c.Keys, &web.Key{Name: "other", Hash: web.HashKey(otherKey)})
		for _, do := range change {
			do(c)
		}
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

// TestPolicyOfToday: a session that comes back has what the policy allows now, and not what it did when the session was made.
func TestPolicyOfToday(t *testing.T) {
	dir, folder := t.TempDir()+"/store", t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "file"), []byte("of the host"), 0o600); err != nil {
		t.Fatal(err)
	}
	offered := func(mode limits.MountMode) func(*web.Config) {
		return func(c *web.Config) {
			c.Keys[0].Policy.Mounts = map[string]limits.Mount{"/in": {Host: folder, Guest: "/in", Mode: mode}}
		}
	}
	var mounted, plain string
	life(t, dir, func(s *server) {
		mounted = s.session(object{"language": "python", "mounts": []object{{"path": "/in"}}})
		plain = s.session(object{"language": "python", "limits": object{"disk_bytes": 32 << 20}})
		s.execute(plain+"/execute", object{"code": "import os"}, "ok")
	}, offered(limits.ReadWrite))
	life(t, dir, func(s *server) {
		if res := s.execute(mounted+"/execute", object{"code": "open('/in/new', 'w').close(); print(open('/in/file').read())"}, "ok"); res.Stdout != "of the host\n" {
			t.Errorf("%+v", res)
		}
	}, offered(limits.ReadWrite))
	life(t, dir, func(s *server) {
		res := s.execute(mounted+"/execute", object{"code": "print(open('/in/file').read()); open('/in/newer', 'w')"}, "error")
		if res.Stdout != "of the host\n" || !strings.Contains(res.Error.Value, "Read-only") {
			t.Errorf("%+v", res)
		}
	}, offered(limits.ReadOnly))
	life(t, dir, func(s *server) {
		s.do("GET", mounted, nil).mustFail(404, "not_found", "session")
		s.execute(plain+"/execute", object{"code": "os.system('x')"}, "refused")
		if res := s.execute(plain+"/execute", object{"code": "open('f', 'wb').write(bytes(20 << 20))"}, "error"); !strings.Contains(res.Error.Value, "No space left") {
			t.Errorf("%+v", res.Error)
		}
	}, func(c *web.Config) {
		c.Keys[0].Policy.Max.DiskBytes = 16 << 20
		c.Keys[0].Policy.Review = limits.Review{Deny: []string{"os.system"}}
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
