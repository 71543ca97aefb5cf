package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/engine/memimage"
)

var (
	kills = flag.Int("kills", 15, "how often TestStoreSurvivesKill kills a process")
	many  = flag.Int("sessions", 200, "how many sessions live at once in TestManySessions")
)

// storeEngine is an engine over a store folder. The caller closes it.
func storeEngine(t *testing.T, cfg engine.Config) *engine.Engine {
	t.Helper()
	testEngine(t) // skips without interpreters
	e, err := engine.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestStore(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "store")
	for _, tt := range copies {
		t.Run(tt.name, func(t *testing.T) {
			e := storeEngine(t, engine.Config{Store: dir})
			if _, err := engine.New(engine.Config{Store: dir}); err == nil || !strings.Contains(err.Error(), "another process uses it") {
				t.Errorf("a second engine on the store: %v", err)
			}
			s, err := e.Open(ctx, engine.Options{Language: tt.language, Labels: map[string]string{"owner": "me"}})
			if err != nil {
				t.Fatal(err)
			}
			turn(t, s, engine.Turn{Code: tt.before})
			gone, err := e.Open(ctx, engine.Options{Language: tt.language})
			if err != nil {
				t.Fatal(err)
			}
			if err := gone.Close(); err != nil {
				t.Fatal(err)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Run(ctx, engine.Turn{Code: "1"}); !errors.Is(err, engine.ErrClosed) {
				t.Errorf("a session of a closed engine: %v", err)
			}

			e = storeEngine(t, engine.Config{Store: dir})
			defer e.Close()
			all := e.Sessions()
			if len(all) != 1 || all[0].ID != s.ID() || all[0].Turns != 1 || all[0].Labels["owner"] != "me" || !all[0].Stored {
				t.Errorf("sessions %+v", all)
			}
			if _, err := e.Session(ctx, gone.ID()); !errors.Is(err, engine.ErrNoSession) {
				t.Errorf("a session that was closed: %v", err)
			}
			back, err := e.Session(ctx, s.ID())
			if err != nil {
				t.Fatal(err)
			}
			if res := turn(t, back, engine.Turn{Code: tt.after}); res.Stdout != tt.want {
				t.Errorf("brought back: stdout %q, want %q (%+v)", res.Stdout, tt.want, res.Error)
			}
			if again, err := e.Session(ctx, s.ID()); err != nil || again != back {
				t.Errorf("found again: %v", err)
			}
			if err := back.Rollback(ctx, 1); err != nil {
				t.Fatal(err)
			}
			if res := turn(t, back, engine.Turn{Code: tt.after}); res.Stdout != tt.want {
				t.Errorf("rolled back: stdout %q, want %q (%+v)", res.Stdout, tt.want, res.Error)
			}
			if err := back.Close(); err != nil {
				t.Fatal(err)
			}
			if left, err := filepath.Glob(filepath.Join(dir, "ses_*")); err != nil || len(left) != 0 {
				t.Errorf("files left: %v", left)
			}
		})
	}
}

// A session that nobody uses gives up its instance, then its memory, and its next turn finds all of it.
func TestHibernate(t *testing.T) {
	ctx := context.Background()
	e := storeEngine(t, engine.Config{Store: filepath.Join(t.TempDir(), "store"), ParkAfter: time.Millisecond, HibernateAfter: 30 * time.Millisecond, MaxSandboxes: 1})
	defer e.Close()
	var all []*engine.Session
	for i := range 4 { // more than there are places
		s, err := e.Open(ctx, engine.Options{Language: "javascript"})
		if err != nil {
			t.Fatal(err)
		}
		turn(t, s, engine.Turn{Code: fmt.Sprintf("let x = %d; const a = new Uint8Array(5_000_000).fill(%d); require('fs').writeFileSync('f', 'file %d')", i, i, i)})
		all = append(all, s)
	}
	for round := range 3 {
		for end := time.Now().Add(60 * time.Second); engine.Awake(e) > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d sessions are not asleep", engine.Awake(e))
			}
		}
		for i, s := range all {
			want := fmt.Sprintf("%d %d file %d\n", i+round, i, i)
			if res := turn(t, s, engine.Turn{Code: "console.log(x++, a[4_999_999], require('fs').readFileSync('f', 'utf8'))"}); res.Stdout != want {
				t.Errorf("round %d: stdout %q, want %q", round, res.Stdout, want)
			}
			if err := s.Files().WriteFile("given", []byte("by the host")); err != nil {
				t.Error(err)
			}
		}
	}
	for engine.Awake(e) > 0 {
		time.Sleep(time.Millisecond)
	}
	if b, err := all[0].Files().ReadFile("given"); err != nil || string(b) != "by the host" {
		t.Errorf("a file from the host: %q, %v", b, err)
	}
}

func TestLifetimes(t *testing.T) {
	ctx := context.Background()
	e := storeEngine(t, engine.Config{ParkAfter: 2 * time.Millisecond, MaxSessions: 2})
	defer e.Close()
	open := func(o engine.Options) *engine.Session {
		t.Helper()
		o.Language = "javascript"
		s, err := e.Open(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	some := []*engine.Session{open(engine.Options{}), open(engine.Options{})}
	if _, err := e.Open(ctx, engine.Options{Language: "javascript"}); !errors.Is(err, engine.ErrTooMany) {
		t.Errorf("a third session: %v", err)
	}
	for _, s := range some {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	idle := open(engine.Options{IdleTimeout: 20 * time.Millisecond})
	old, res, err := (*engine.Session)(nil), (*engine.Result)(nil), engine.ErrExpired
	for lifetime := 100 * time.Millisecond; errors.Is(err, engine.ErrExpired) && lifetime < time.Minute; lifetime *= 2 { // a busy machine is late
		old = open(engine.Options{MaxLifetime: lifetime})
		res, err = old.Run(ctx, engine.Turn{Code: "for (;;);"})
	}
	if err != nil || res.Status != engine.StatusCancelled {
		t.Errorf("the turn at the end of a lifetime: %v, %+v", err, res)
	}
	for _, s := range []*engine.Session{idle, old} {
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(2 * time.Millisecond) {
			if len(e.Sessions()) == 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("sessions that are not over: %+v", e.Sessions())
			}
		}
		if _, err := s.Run(ctx, engine.Turn{Code: "1"}); !errors.Is(err, engine.ErrExpired) || !errors.Is(err, engine.ErrClosed) {
			t.Errorf("a turn after the end: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// held is what this process has of mappings of memories, descriptors, goroutines, frozen pages, and files of the store.
type held struct {
	maps, fds, goroutines, files int
	frozen                       uint64 // bytes
}

func heldNow(t *testing.T, store string) (h held) {
	t.Helper()
	runtime.GC()
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	// Mappings of memories and of the arena; the runtime's own come and go.
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "cloche-frozen") || strings.Contains(line, "/image") {
			h.maps++
		}
	}
	fds, _ := os.ReadDir("/proc/self/fd")
	files, _ := os.ReadDir(store)
	h.fds, h.files, h.goroutines, h.frozen = len(fds), len(files), runtime.NumGoroutine(), memimage.FrozenBytes()
	return h
}

// within says whether h holds no more than o, but for a few mappings.
func (h held) within(o held) bool {
	return h.maps <= o.maps+8 && h.fds <= o.fds && h.goroutines <= o.goroutines && h.files <= o.files && h.frozen <= o.frozen
}

// soonWithin waits until this process holds no more than it did, which takes a moment after sessions have ended.
func soonWithin(t *testing.T, store string, before held) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		now := heldNow(t, store)
		if now.within(before) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("it holds %+v, and held %+v", now, before)
		}
	}
}

// Sessions that nobody uses cost memory and files, and no mapping, descriptor or goroutine of their own. All of it is free
// when they are gone.
func TestManySessions(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("counts what Linux tells in /proc")
	}
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "store")
	e := storeEngine(t, engine.Config{Store: dir, ParkAfter: 50 * time.Millisecond, HibernateAfter: 100 * time.Millisecond, MaxSessions: *many + 1})
	defer e.Close()
	open := func(i int) *engine.Session {
		s, err := e.Open(ctx, engine.Options{Language: []string{"javascript", "javascript", "javascript", "python"}[i%4]})
		if err != nil {
			t.Fatal(err)
		}
		turn(t, s, engine.Turn{Code: fmt.Sprintf("kept = %d", i)})
		return s
	}
	for i := range 20 {
		if err := open(i).Close(); err != nil {
			t.Fatal(err)
		}
	}
	before := heldNow(t, dir)
	sessions := make([]*engine.Session, *many)
	for i := range sessions {
		sessions[i] = open(i)
	}
	for end := time.Now().Add(time.Minute); engine.Awake(e) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d sessions are not left to the store", engine.Awake(e))
		}
	}
	all := heldNow(t, dir)
	t.Logf("with %d sessions it holds %+v, and held %+v", *many, all, before)
	const few = 50
	if all.maps > before.maps+few || all.fds > before.fds+few || all.goroutines > before.goroutines+few {
		t.Errorf("with %d sessions it holds %+v, and held %+v", *many, all, before)
	}
	for i := 0; i < len(sessions); i += 1 + len(sessions)/100 {
		res := turn(t, sessions[i], engine.Turn{Code: "kept"})
		if kept, _ := res.Value(); kept != fmt.Sprint(i) {
			t.Errorf("session %d has kept %q (%+v)", i, kept, res.Error)
		}
	}
	for _, s := range sessions {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	soonWithin(t, dir, before)
}

// What sessions held is free when they are gone: mappings, descriptors, goroutines, frozen pages, files.
func TestSessionsLeaveNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("counts what Linux tells in /proc")
	}
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "store")
	e := storeEngine(t, engine.Config{Store: dir, ParkAfter: 5 * time.Millisecond, MaxIdle: 2})
	defer e.Close()
	some := func(n int) {
		for i := range n {
			language, code := "javascript", "var a = new Uint8Array(1 << 20).fill(3); require('fs').writeFileSync('f', 'x')"
			if i%10 == 0 {
				language, code = "python", "a = bytearray(1 << 20); f = open('f', 'w')"
			}
			s, err := e.Open(ctx, engine.Options{Language: language})
			if err != nil {
				t.Fatal(err)
			}
			turn(t, s, engine.Turn{Code: code})
			forks, err := s.Fork(ctx, 2)
			if err != nil {
				t.Fatal(err)
			}
			turn(t, forks[0], engine.Turn{Code: code})
			sn, err := s.Snapshot(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range append(forks, s) {
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if err := sn.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	some(20)
	before := heldNow(t, dir)
	some(60)
	soonWithin(t, dir, before)
}

// storeChild makes this test binary a process with a session that counts, until it is killed.
const storeChild = "CLOCHE_TEST_STORE_CHILD"

// countInStore goes on with the store's session, or begins one, and prints what each turn counted to.
func countInStore(dir string) error {
	ctx := context.Background()
	e, err := engine.New(engine.Config{Store: dir, HibernateAfter: 3 * time.Millisecond, ParkAfter: time.Millisecond})
	if err != nil {
		return err
	}
	var s *engine.Session
	if all := e.Sessions(); len(all) > 0 {
		s, err = e.Session(ctx, all[0].ID)
	} else if s, err = e.Open(ctx, engine.Options{Language: "javascript"}); err == nil {
		_, err = s.Run(ctx, engine.Turn{Code: "let n = 0; const a = new Uint32Array(500_000); const fs = require('fs')"})
		fmt.Println(0)
	}
	for err == nil {
		var res *engine.Result
		// Memory, a file and a longer stretch now and then must be of the same turn.
		res, err = s.Run(ctx, engine.Turn{Code: "n++; a.fill(n, 0, n % 7 == 0 ? a.length : 100); fs.writeFileSync('n', `${n}`); console.log(n)"})
		if err == nil {
			fmt.Print(res.Stdout)
			time.Sleep(time.Duration(rand.IntN(4)) * time.Millisecond)
		}
	}
	return err
}

// A process that is killed at any moment leaves the state of the last turn that it told of, or of the one after it.
func TestStoreSurvivesKill(t *testing.T) {
	testEngine(t)
	dir := filepath.Join(t.TempDir(), "store")
	last := -1
	for range *kills {
		told := last
		for _, line := range untilKilled(t, storeChild, dir, 12) {
			if _, err := fmt.Sscan(line, &told); err != nil {
				t.Fatal(err)
			}
		}
		last = checkStore(t, dir, told)
	}
}

// untilKilled runs this test binary with the environment variable as what it does to a store, and kills it at some moment
// after it has printed up to so many lines; all that it printed.
func untilKilled(t *testing.T, variable, dir string, lines int) (told []string) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), variable+"="+dir)
	var stderr bytes.Buffer
	child.Stderr = &stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(out)
	for range 1 + rand.IntN(lines) {
		if !in.Scan() {
			t.Fatalf("the child ended by itself: %s", stderr.String())
		}
		told = append(told, in.Text())
	}
	time.Sleep(time.Duration(rand.IntN(4000)) * time.Microsecond)
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for in.Scan() {
		told = append(told, in.Text())
	}
	_ = child.Wait()
	return told
}

func checkStore(t *testing.T, dir string, told int) int {
	t.Helper()
	e := storeEngine(t, engine.Config{Store: dir})
	defer e.Close()
	all := e.Sessions()
	if len(all) != 1 {
		t.Fatalf("after %d: sessions %+v", told, all)
	}
	s, err := e.Session(context.Background(), all[0].ID)
	if err != nil {
		t.Fatalf("after %d: %v", told, err)
	}
	res := turn(t, s, engine.Turn{Code: "console.log(n, a[0], a[99], fs.existsSync('n') ? fs.readFileSync('n', 'utf8') : 0, a[499_999])"})
	var n, first, hundredth, file, end int
	if _, err := fmt.Sscan(res.Stdout, &n, &first, &hundredth, &file, &end); err != nil {
		t.Fatalf("after %d: %q (%+v)", told, res.Stdout, res.Error)
	}
	if n < told || n > told+1 || first != n || hundredth != n || file != n || end != n-n%7 {
		t.Fatalf("after %d was told, the state is %s", told, res.Stdout)
	}
	return n
}
