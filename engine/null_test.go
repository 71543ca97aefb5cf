package engine_test

import (
	"testing"

	"github.com/cloche-dev/cloche/engine"
)

// TestNullFile: what is written to /dev/null is gone and counts nowhere; an open one stays open in a fork and a restored session.
func TestNullFile(t *testing.T) {
	for language, code := range map[string][2]string{
		"python": {`
import os, contextlib
with open(os.devnull, "w") as f, contextlib.redirect_stdout(f):
    print("hidden" * 100_000)
kept = open("/dev/null", "r+b", buffering=0)
kept.write(b"x" * 100)
print(open(os.devnull).read() == "", os.path.getsize("/dev/null"))
for change in (lambda: os.remove("/dev/null"), lambda: open("/dev/null/x", "w"), lambda: open("/dev/null", "x"), lambda: open("/dev/stdout", "w")):
    try:
        change()
    except OSError as e:
        print(type(e).__name__)
`, "print(kept.write(b'more'), kept.read())"},
		"javascript": {`
const fs = require("fs");
fs.writeFileSync("/dev/null", "x".repeat(600_000));
var kept = fs.openSync("/dev/null", "r+");
console.log(fs.readFileSync("/dev/null", "utf8") === "", fs.statSync("/dev/null").size);
`, "console.log(fs.writeSync(kept, 'more'), fs.readSync(kept, Buffer.alloc(9)))"},
	} {
		s := open(t, engine.Options{Language: language})
		res := turn(t, s, engine.Turn{Code: code[0]})
		want, more := "True 0\nOSError\nNotADirectoryError\nFileExistsError\nOSError\n", "4 b''\n"
		if language == engine.JavaScript {
			want, more = "true 0\n", "4 0\n"
		}
		if res.Stdout != want || len(res.FilesChanged) > 0 || len(res.Needs.Mounts) > 0 || res.Usage.DiskBytes > 0 {
			t.Errorf("%s: %q, %+v, needs %+v, %d bytes on disk; %s", language, res.Stdout, res.FilesChanged, res.Needs, res.Usage.DiskBytes, res.Stderr)
		}
		sn, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer sn.Close()
		restored, err := testEngine(t).Restore(t.Context(), sn)
		if err != nil {
			t.Fatal(err)
		}
		defer restored.Close()
		forks, err := s.Fork(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		defer forks[0].Close()
		for name, s := range map[string]*engine.Session{"the session": s, "a fork": forks[0], "a restored one": restored} {
			if res := turn(t, s, engine.Turn{Code: code[1]}); res.Stdout != more {
				t.Errorf("%s, %s: %q %s", language, name, res.Stdout, res.Stderr)
			}
		}
	}
}
