package engine_test

import (
	"strings"
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
for change in (lambda: os.remove("/dev/null"), lambda: open("/dev/null/x", "w"), lambda: open("/dev/null", "x"), lambda: open("/dev/zero")):
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
		want, more := "True 0\nOSError\nNotADirectoryError\nFileExistsError\nFileNotFoundError\n", "4 b''\n"
		if language == engine.JavaScript {
			want, more = "true 0\n", "4 0\n"
		}
		if res.Stdout != want || len(res.FilesChanged) > 0 || len(res.Needs.Mounts) > 0 || res.Usage.DiskBytes > 0 {
			t.Errorf("%s: %q, %+v, needs %+v, %d bytes on disk; %s", language, res.Stdout, res.FilesChanged, res.Needs, res.Usage.DiskBytes, res.Stderr)
		}
		for name, s := range alike(t, s) {
			if res := turn(t, s, engine.Turn{Code: code[1]}); res.Stdout != more {
				t.Errorf("%s, %s: %q %s", language, name, res.Stdout, res.Stderr)
			}
		}
	}
}

// alike are a session, a fork of it and one that is restored from its snapshot.
func alike(t *testing.T, s *engine.Session) map[string]*engine.Session {
	t.Helper()
	forks, err := s.Fork(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := forks[0].Close(); err != nil {
			t.Error(err)
		}
	})
	return map[string]*engine.Session{"the session": s, "a fork": forks[0], "a restored one": restored(t, testEngine(t), written(t, s))}
}

// TestStreamFiles: the names of the standard streams open those of the turn, also in a fork and a restored session.
func TestStreamFiles(t *testing.T) {
	for language, code := range map[string][2]string{
		"python": {`
import os
out, input_ = open("/dev/stdout", "w"), open("/dev/stdin", buffering=1)
print(input_.read(), file=out, flush=True)
with open("/dev/stderr", "a") as f:
    f.write("an error")
print(os.path.exists("/dev/stdin"), open("/dev/stdin").read() == "", sorted(os.listdir("/dev")))
for name, mode in ("stdin", "w"), ("stdout", "r"), ("stderr", "x"):
    try:
        open("/dev/" + name, mode)
    except OSError as e:
        print(type(e).__name__)
`, "out.write(input_.read()); out.flush()"},
		"javascript": {`
const fs = require("fs");
var out = fs.openSync("/dev/stdout", "w"), input = fs.openSync("/dev/stdin");
const first = Buffer.alloc(2);
fs.writeSync(out, fs.readSync(input, first) + first.toString());
fs.writeFileSync("/dev/stdout", fs.readFileSync("/dev/stdin", "utf8") + "\n");
fs.appendFileSync("/dev/stderr", "an ");
fs.createWriteStream("/dev/stderr").end("error");
let rest = "";
fs.createReadStream("/dev/stdin").on("data", (part) => rest += part).on("end", () => {
    fs.createWriteStream(null, { fd: 1 }).write([fs.existsSync("/dev/stdin"), rest === "", ...fs.readdirSync("/dev").sort()].join() + "\n");
    for (const [name, flags] of [["stdin", "w"], ["stdout", "r"], ["stderr", "wx"]]) {
        try { fs.openSync("/dev/" + name, flags); } catch (e) { console.log(e.code); }
    }
});
`, "fs.writeSync(out, fs.readFileSync(input, 'utf8'))"},
	} {
		s := open(t, engine.Options{Language: language})
		res := turn(t, s, engine.Turn{Code: code[0], Stdin: strings.NewReader("given")})
		want := "given\nTrue True ['null', 'stderr', 'stdin', 'stdout']\nPermissionError\nPermissionError\nFileExistsError\n"
		if language == engine.JavaScript {
			want = "2given\ntrue,true,null,stderr,stdin,stdout\nEACCES\nEACCES\nEEXIST\n"
		}
		if res.Stdout != want || res.Stderr != "an error" || len(res.FilesChanged) > 0 || len(res.Needs.Mounts) > 0 {
			t.Errorf("%s: %q, %q, %+v, needs %+v", language, res.Stdout, res.Stderr, res.FilesChanged, res.Needs)
		}
		for name, s := range alike(t, s) {
			if res := turn(t, s, engine.Turn{Code: code[1], Stdin: strings.NewReader(name)}); res.Stdout != name {
				t.Errorf("%s, %s: %q %s", language, name, res.Stdout, res.Stderr)
			}
		}
	}
}
