package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

// TestLimitsHit reaches each quota of files in both languages, once caught by the program and once not.
func TestLimitsHit(t *testing.T) {
	eng := testEngine(t)
	small := limits.Limits{DiskBytes: 256 << 10, Inodes: 40, OpenFiles: 20, Timeout: 20 * time.Second}
	for _, tt := range []struct {
		name, resource string
		limit          uint64
		python, js     string
	}{
		{"bytes", "disk", 256 << 10,
			"open('a', 'wb').write(bytes(100_000))\nopen('b', 'wb').write(bytes(300_000))",
			"fs.writeFileSync('a', Buffer.alloc(100_000)); fs.writeFileSync('b', Buffer.alloc(300_000))"},
		{"inodes", "inodes", 40,
			"for i in range(50): open(f'f{i}', 'w').close()",
			"for (let i = 0; i < 50; i++) fs.writeFileSync('f' + i, '')"},
		{"folders", "inodes", 40,
			"import os\nfor i in range(50): os.mkdir(f'd{i}')",
			"for (let i = 0; i < 50; i++) fs.mkdirSync('d' + i)"},
		{"name", "name_length", 255, "open('n' * 300, 'w')", "fs.writeFileSync('n'.repeat(300), '')"},
		{"path", "path_length", 4096, "import os\nos.stat('a/' + './' * 3000)", "fs.statSync('/data/' + 'nn/'.repeat(1365))"},
		{"depth", "path_depth", 256,
			"import os\nos.makedirs('d/' * 200)\nos.chdir('d/' * 200)\nos.makedirs('d/' * 100)",
			"fs.statSync('/data/' + 'd/'.repeat(300))"},
		{"open files", "open_files", 20, "held = [open('f', 'a') for _ in range(30)]", ""},
		{"sqlite", "disk", 256 << 10,
			"import sqlite3\nc = sqlite3.connect('x.db')\nc.execute('create table t(b)')\nfor _ in range(100): c.execute('insert into t values (?)', (bytes(10_000),))\nc.commit()", ""},
	} {
		for language, code := range map[string]string{engine.Python: tt.python, engine.JavaScript: tt.js} {
			if code == "" {
				continue
			}
			caught := "try:\n" + indent(code) + "\nexcept Exception as e: print('caught')"
			if language == engine.JavaScript {
				code = "const fs = require('fs'); " + code
				caught = "try { " + code + " } catch (e) { console.log('caught') }"
			}
			lim := small
			if tt.name == "depth" {
				lim.Inodes = 1000
			}
			for _, code := range []string{code, caught} {
				res, err := eng.Run(context.Background(), engine.Job{Language: language, Code: code, Limits: lim})
				if err != nil {
					t.Fatal(err)
				}
				i := slices.IndexFunc(res.LimitsHit, func(h engine.LimitHit) bool { return h.Resource == tt.resource })
				if len(res.LimitsHit) != 1 || i < 0 || res.LimitsHit[i].Limit != tt.limit {
					t.Errorf("%s %s: limits hit %+v, want %s of %d\nstderr: %s", language, tt.name, res.LimitsHit, tt.resource, tt.limit, res.Stderr)
					continue
				}
				if strings.Contains(code, "caught") {
					if res.Status != engine.StatusOK || res.Stdout != "caught\n" {
						t.Errorf("%s %s, caught: status %s, stdout %q, stderr %s", language, tt.name, res.Status, res.Stdout, res.Stderr)
					}
					continue
				}
				want := strings.ReplaceAll(tt.resource, "_", " ") + " limit reached: "
				if res.Status != engine.StatusError || !strings.HasPrefix(res.Error.Hint, want) {
					t.Errorf("%s %s: status %s, error %+v, want a hint that starts with %q", language, tt.name, res.Status, res.Error, want)
				}
			}
		}
	}
}

func indent(code string) string { return "    " + strings.ReplaceAll(code, "\n", "\n    ") }

// TestLimitsHitOfMount is told too, and not what ended long before.
func TestLimitsHitOfMount(t *testing.T) {
	eng := testEngine(t)
	o := engine.Options{
		Mounts: []limits.Mount{{Host: t.TempDir(), Guest: "/mnt/out", Mode: limits.ReadWrite}},
		Limits: limits.Limits{DiskBytes: 1 << 20, Inodes: 50},
	}
	s, err := eng.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, tt := range []struct{ code, want string }{
		{"open('/mnt/out/a', 'wb').write(bytes(900_000))\nopen('/mnt/out/b', 'wb').write(bytes(900_000))", "disk"},
		{"x = 1", ""},
		{"for i in range(60): open(f'/mnt/out/f{i}', 'w').close()", "inodes"},
		{"print('x' * 3_000_000)", "output"},
		{"try: bytearray(900_000_000)\nexcept MemoryError: pass", "memory"},
	} {
		res, err := s.Run(context.Background(), engine.Turn{Code: tt.code})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range res.LimitsHit {
			got = append(got, h.Resource)
			if h.Limit == 0 || h.Used == 0 {
				t.Errorf("%s: %+v", tt.code, h)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: limits hit %v, want %s; stderr %s", tt.code, got, tt.want, res.Stderr)
		}
	}
}
