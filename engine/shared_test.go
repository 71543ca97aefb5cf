package engine_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

func sharedFolder(t *testing.T, mode limits.SharedMode) *engine.Shared {
	t.Helper()
	folder, err := engine.NewShared(limits.Shared{Name: "board", Path: "/shared/board", Mode: mode, Bytes: 1 << 20, Inodes: 100})
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// Sessions in both languages append to one file and take turns by a lock file, all at once.
func TestShared(t *testing.T) {
	folder := sharedFolder(t, limits.SharedReadWrite)
	const python = `
import os, time
for i in range(50):
    with open("/shared/board/log", "a") as f:
        f.write("python " + "p" * 200 + "\n")
    while True:
        try:
            lock = open("/shared/board/lock", "x")
            break
        except FileExistsError:
            time.sleep(0.001)
    n = int(open("/shared/board/n").read())
    with open("/shared/board/n", "w") as f:
        f.write(str(n + 1))
    lock.close()
    os.unlink("/shared/board/lock")`
	const javascript = `
const fs = require("fs");
for (let i = 0; i < 50; i++) {
  fs.appendFileSync("/shared/board/log", "javascript " + "j".repeat(200) + "\n");
  for (;;) {
    try { fs.writeFileSync("/shared/board/lock", "", { flag: "wx" }); break; }
    catch (e) { if (e.code !== "EEXIST") throw e; await new Promise((r) => setTimeout(r, 1)); }
  }
  fs.writeFileSync("/shared/board/n", String(Number(fs.readFileSync("/shared/board/n", "utf8")) + 1));
  fs.unlinkSync("/shared/board/lock");
}`
	files, err := folder.Files()
	if err != nil {
		t.Fatal(err)
	}
	if err := files.WriteFile("/shared/board/n", []byte("0")); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, w := range []struct{ language, code string }{{engine.Python, python}, {engine.JavaScript, javascript}, {engine.Python, python}, {engine.JavaScript, javascript}} {
		s := open(t, engine.Options{Language: w.language, Shared: []engine.SharedMount{{Folder: folder}}})
		wg.Go(func() {
			if res, err := s.Run(t.Context(), engine.Turn{Code: w.code}); err != nil || res.Status != engine.StatusOK {
				t.Errorf("%s: %v, %+v", w.language, err, res)
			}
		})
	}
	wg.Wait()
	read := func(name string) string {
		t.Helper()
		b, err := files.ReadFile("/shared/board/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	want := map[string]int{"python " + strings.Repeat("p", 200): 100, "javascript " + strings.Repeat("j", 200): 100}
	for line := range strings.Lines(read("log")) {
		want[strings.TrimSuffix(line, "\n")]--
	}
	for line, left := range want {
		if left != 0 {
			t.Errorf("%d lines are missing: %q", left, line)
		}
	}
	if n := read("n"); n != "200" {
		t.Errorf("counted to %s", n)
	}
}

// What a turn wrote into a shared folder stays there when the turn is undone, and what a session takes back is its own.
func TestSharedIsNotRolledBack(t *testing.T) {
	folder := sharedFolder(t, limits.SharedReadWrite)
	o := engine.Options{Shared: []engine.SharedMount{{Folder: folder}}, OnError: engine.OnErrorRollback}
	s := open(t, o)
	res, err := s.Run(t.Context(), engine.Turn{Code: "open('/shared/board/f', 'w').write('kept')\nopen('own', 'w').write('x')\n1/0"})
	if err != nil || !res.RolledBack {
		t.Fatalf("%+v, %v", res, err)
	}
	const look = "import os\nprint(open('/shared/board/f').read(), os.path.exists('own'))"
	if res, err = s.Run(t.Context(), engine.Turn{Code: look}); err != nil || res.Stdout != "kept False\n" {
		t.Errorf("%+v, %v", res, err)
	}
	forks, err := s.Fork(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer forks[0].Close()
	if res, err = forks[0].Run(t.Context(), engine.Turn{Code: "open('/shared/board/f', 'a').write(' by the fork')\nopen('own', 'w')"}); err != nil || res.Status != engine.StatusOK {
		t.Errorf("%+v, %v", res, err)
	}
	if res, err = s.Run(t.Context(), engine.Turn{Code: look}); err != nil || res.Stdout != "kept by the fork False\n" {
		t.Errorf("%+v, %v", res, err)
	}
	o.Language = engine.JavaScript
	o.Shared[0].Mode = limits.SharedReadOnly
	reader := open(t, o)
	if res, err = reader.Run(t.Context(), engine.Turn{Code: "const fs = require('fs'); console.log(fs.readFileSync('/shared/board/f', 'utf8')); try { fs.writeFileSync('/shared/board/f', ''); } catch (e) { console.log(e.code); }"}); err != nil || res.Stdout != "kept by the fork\nEROFS\n" {
		t.Errorf("%+v, %v", res, err)
	}
}

// A hostile program can fill the folder, within its bounds, and do nothing to its readers but that.
func TestSharedHostile(t *testing.T) {
	var shared []engine.SharedMount
	for name, c := range map[string]struct{ code, want string }{
		"links": {"import os\ntry:\n  os.symlink('/data/secret', '/shared/board/x')\nexcept PermissionError as e:\n  print(type(e).__name__)", "PermissionError\n"},
		"bytes": {"try:\n  with open('/shared/board/big', 'wb', 0) as f:\n    while True:\n      f.write(b'x' * 65536)\nexcept OSError as e:\n  print(e.strerror, f.tell() if not f.closed else '')", "No space left on device \n"},
		"files": {"import os\ntry:\n  for i in range(1000):\n    open(f'/shared/board/{i}', 'w').close()\nexcept OSError as e:\n  print(e.strerror)", "No space left on device\n"},
	} {
		shared = []engine.SharedMount{{Folder: sharedFolder(t, limits.SharedReadWrite)}}
		res := run(t, engine.Job{Code: c.code, Shared: shared})
		if res.Stdout != c.want {
			t.Errorf("%s: %+v", name, res)
		}
		if name != "links" && len(res.LimitsHit) == 0 {
			t.Errorf("%s: no limit is on record", name)
		}
		if res := run(t, engine.Job{Code: "open('/data/own', 'wb').write(b'x' * 100000)\nprint('fine')", Shared: shared}); res.Stdout != "fine\n" {
			t.Errorf("%s: another sandbox's own files: %+v", name, res)
		}
	}
	// One that is cut while it holds a file that has no name any more leaves nothing behind.
	job := engine.Job{Shared: shared, Code: "import os\nfor e in os.listdir('/shared/board'):\n  os.unlink('/shared/board/' + e)\nf = open('/shared/board/held', 'wb', 0)\nf.write(b'x' * 900000)\nos.unlink('/shared/board/held')\nwhile True: pass"}
	job.Limits.Fuel = 200_000_000
	if res := run(t, job); res.Status != engine.StatusOutOfFuel {
		t.Fatalf("%+v", res)
	}
	if res := run(t, engine.Job{Code: "open('/shared/board/mine', 'wb').write(b'x' * 900000)\nprint('fine')", Shared: shared}); res.Stdout != "fine\n" {
		t.Errorf("after one was cut: %+v", res)
	}
}

func TestSharedChecks(t *testing.T) {
	appended := sharedFolder(t, limits.SharedAppend)
	for name, m := range map[string]engine.SharedMount{
		"more than the folder allows": {Folder: appended, Mode: limits.SharedReadWrite}, "an unknown mode": {Folder: appended, Mode: "w"}, "no folder": {},
	} {
		if _, err := testEngine(t).Run(t.Context(), engine.Job{Code: "1", Shared: []engine.SharedMount{m}}); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := testEngine(t).Run(t.Context(), engine.Job{Code: "1", Shared: []engine.SharedMount{{Folder: appended}}, Receipt: true}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("a receipt: %v", err)
	}
	if _, err := testEngine(t).Run(t.Context(), engine.Job{Code: "1", Shared: []engine.SharedMount{{Folder: appended}, {Folder: appended}}}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("one folder twice: %v", err)
	}
	for _, name := range []string{"", "a/b", "..", "-x", "a b", "a\x00", "é"} {
		if _, err := engine.NewShared(limits.Shared{Name: name, Path: "/shared/x", Mode: limits.SharedAppend}); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("name %q: %v", name, err)
		}
	}
	for _, p := range []string{"", "board", "/", "/a/../b", "/a/", "/a\nb"} {
		if _, err := engine.NewShared(limits.Shared{Name: "x", Path: p, Mode: limits.SharedAppend}); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("path %q: %v", p, err)
		}
	}
	res := run(t, engine.Job{Shared: []engine.SharedMount{{Folder: appended}}, Code: `
import os
p = "/shared/board/log"
open(p, "a").write("one\n")
open(p, "a").write("two\n")
for f in (lambda: open(p, "w"), lambda: os.unlink(p), lambda: os.rename(p, p + "2"), lambda: os.truncate(p, 0), lambda: open(p, "r+b", 0).write(b"x")):
    try:
        f()
        print("done")
    except PermissionError:
        print("no")
print(open(p).read().split())`})
	if want := "no\nno\nno\nno\nno\n['one', 'two']\n"; res.Stdout != want {
		t.Errorf("%q, want %q: %s", res.Stdout, want, res.Stderr)
	}
}
