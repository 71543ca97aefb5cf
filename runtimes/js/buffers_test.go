package js_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine/vm"
)

// What the host hands over is the program's alone: it is freed when the program drops it.
func TestHostBuffersAreFreed(t *testing.T) {
	s := newSandbox(t)
	s.memory = 32 << 20
	s.files.write("/data/f", string(make([]byte, 1<<20)))
	s.ok(`
const fs = require("fs"), crypto = require("crypto");
for (let i = 0; i < 100; i++) {
  fs.readFileSync("/data/f");
  crypto.getRandomValues(new Uint8Array(65536));
  Buffer.from("x".repeat(1e6), "latin1");
  crypto.createHash("sha256").update(Buffer.alloc(1e5)).digest();
}`)
	if size := s.inst.Linear().Size(); size > 24<<20 {
		t.Errorf("it ends with %d bytes of memory", size)
	}
}

// limitedClock lets a run go on for so many looks.
type limitedClock struct{ looks int }

var errOver = errors.New("over")

func (c *limitedClock) Monotonic() time.Duration                       { return time.Since(testStart) }
func (c *limitedClock) Sleep(_ context.Context, d time.Duration) error { time.Sleep(d); return nil }
func (c *limitedClock) Check(context.Context) error {
	if c.looks--; c.looks < 0 {
		return errOver
	}
	return nil
}

// Long work in a host function ends with the run.
func TestLongHostCallsEnd(t *testing.T) {
	for _, source := range []string{
		`require("crypto").createHash("sha256").update(Buffer.alloc(16 << 20)).digest()`,
		`require("crypto").createHmac("sha256", Buffer.alloc(16 << 20)).update("x").digest()`,
		`require("fs").writeFileSync("/data/f", Buffer.alloc(16 << 20))`,
		`require("fs").readFileSync("/data/big")`,
		`require("zlib").deflateSync(Buffer.alloc(1 << 20), { level: 9 })`,
		// Blocks of nothing, and members that hold nothing.
		`try { require("zlib").inflateRawSync(Buffer.from("0000ffff00".repeat(2e5), "hex")) } catch (e) { if (e.errno !== -5) throw e }`,
		`require("zlib").gunzipSync(Buffer.concat(Array(1e4).fill(require("zlib").gzipSync(""))))`,
		`const fs = require("fs"); fs.mkdirSync("/data/d", { recursive: true }); fs.rmSync("/data/link", { force: true }); fs.symlinkSync("d/../".repeat(15) + "f", "/data/link"); fs.realpathSync("/data/link")`,
	} {
		s := newSandbox(t)
		s.files.write("/data/big", string(make([]byte, 16<<20)))
		s.files.write("/data/f", "")
		s.env.Clock = &limitedClock{looks: 8}
		if r := s.turn(source); !errors.Is(r.err, errOver) {
			t.Errorf("%s: %v, %+v", source, r.err, r.Error)
		}
		fresh := newSandbox(t)
		fresh.files, fresh.env.Clock = s.files, &limitedClock{looks: 100}
		fresh.ok(source)
	}
}

// A guest that has damaged its interpreter traps; that is no error of the host's.
func TestDamagedGuestTraps(t *testing.T) {
	s := newSandbox(t)
	s.ok("1")
	all, _ := s.inst.Memory().Read(1024, s.inst.Memory().Size()-1024)
	for i := range all {
		all[i] = 0xfe
	}
	r := s.turn("require('fs').readFileSync('x'); console.log({ a: 1 })")
	if _, ok := errors.AsType[*vm.Trap](r.err); !ok {
		t.Errorf("error %v, outcome %+v", r.err, r.Outcome)
	}
}
