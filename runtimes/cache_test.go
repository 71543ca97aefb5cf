package runtimes_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/runtimes"
)

// helperEnv makes the test binary build an entry in the cache that it names, instead of running tests.
const helperEnv = "CLOCHE_TEST_CACHE_HELPER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperEnv); dir != "" {
		os.Exit(cacheHelper(dir))
	}
	os.Exit(m.Run())
}

func cacheHelper(dir string) int {
	c, err := runtimes.OpenCache(dir)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	e := runtimes.Entry{Name: "shared", Key: runtimes.Key("shared"), Hot: []string{"b"},
		Build: func(ctx context.Context, dir string, p runtimes.Progress) error {
			// One line for each build, in a file that all helpers see.
			f, err := os.OpenFile(filepath.Join(c.Dir(), ".builds"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			fmt.Fprintln(f, os.Getpid())
			f.Close()
			if err := write(dir, "a", "one"); err != nil {
				return err
			}
			time.Sleep(300 * time.Millisecond)
			if os.Getenv("CLOCHE_TEST_KILL") != "" {
				return errors.Join(write(filepath.Dir(dir), ".at-work", ""), waitForKill(ctx))
			}
			return write(dir, "b", strings.Repeat("two", 100_000))
		}}
	got, err := c.Ensure(context.Background(), e, nil)
	if err == nil {
		err = c.Has(e, true)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	b, err := os.ReadFile(filepath.Join(got, "b"))
	if err != nil || len(b) != 300_000 {
		fmt.Println("wrong content:", len(b), err)
		return 1
	}
	return 0
}

func waitForKill(ctx context.Context) error {
	select {
	case <-time.After(time.Minute):
		return errors.New("was not killed")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func write(dir, name, text string) error {
	return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)
}

// recorder is a Progress that remembers.
type recorder struct {
	mu    sync.Mutex
	notes []string
	ended int
}

func (*recorder) Stage(string, time.Duration) {}
func (*recorder) Update(int64, int64)         {}
func (r *recorder) Note(s string)             { r.mu.Lock(); defer r.mu.Unlock(); r.notes = append(r.notes, s) }
func (r *recorder) End()                      { r.mu.Lock(); defer r.mu.Unlock(); r.ended++ }
func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.notes, "\n")
}

// leaver is a recorder of somebody who leaves once there is something to note.
type leaver struct {
	recorder
	leave func()
}

func (l *leaver) Note(s string) {
	l.recorder.Note(s)
	l.leave()
}

func openCache(t *testing.T) *runtimes.Cache {
	t.Helper()
	c, err := runtimes.OpenCache(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// counted is an entry with a cold and a hot file that counts how often it is built.
func counted(n *atomic.Int32) runtimes.Entry {
	return runtimes.Entry{Name: "thing", Key: runtimes.Key("v1"), Hot: []string{"hot"},
		Build: func(_ context.Context, dir string, _ runtimes.Progress) error {
			n.Add(1)
			if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
				return err
			}
			return errors.Join(write(dir, "hot", "hot bytes"), write(dir, "sub/cold", "cold bytes"))
		}}
}

func ensure(t *testing.T, c *runtimes.Cache, e runtimes.Entry, p runtimes.Progress) string {
	t.Helper()
	dir, err := c.Ensure(t.Context(), e, p)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestEnsureBuildsOnce(t *testing.T) {
	c := openCache(t)
	var n atomic.Int32
	e := counted(&n)
	if err := c.Has(e, false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before: %v", err)
	}
	dir := ensure(t, c, e, nil)
	if again := ensure(t, c, e, nil); again != dir || n.Load() != 1 {
		t.Errorf("second time gave %s after %d builds, first %s", again, n.Load(), dir)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "sub", "cold")); err != nil || string(b) != "cold bytes" {
		t.Errorf("content %q, %v", b, err)
	}
	e.Key = runtimes.Key("v2")
	if other := ensure(t, c, e, nil); other == dir || n.Load() != 2 {
		t.Errorf("another key gave %s after %d builds", other, n.Load())
	}
	if entries, err := c.Entries(); err != nil || len(entries) != 2 || entries[0].Bytes != 19 || entries[0].Name != "thing" {
		t.Errorf("entries %+v, %v", entries, err)
	}
}

func TestEnsureRebuildsWhatIsDamaged(t *testing.T) {
	keepTime := func(t *testing.T, name string, change func() error) {
		info, err := os.Stat(name)
		if err == nil {
			err = change()
		}
		if err == nil {
			err = os.Chtimes(name, info.ModTime(), info.ModTime())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []struct {
		name   string
		damage func(t *testing.T, dir string) error
		note   string
	}{
		{"flipped byte", func(_ *testing.T, dir string) error { return write(dir, "sub/cold", "cold bytEs") },
			"file sub/cold has sha256 "},
		{"flipped byte, same time, hot", func(t *testing.T, dir string) error {
			keepTime(t, filepath.Join(dir, "hot"), func() error { return write(dir, "hot", "hot bytEs") })
			return nil
		}, "file hot has sha256 "},
		{"cut short", func(_ *testing.T, dir string) error { return os.Truncate(filepath.Join(dir, "sub/cold"), 3) },
			"file sub/cold has 3 bytes, had 10"},
		{"file gone", func(_ *testing.T, dir string) error { return os.Remove(filepath.Join(dir, "hot")) }, "file hot is missing"},
		{"file is a link", func(_ *testing.T, dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "hot")), os.Symlink("sub/cold", filepath.Join(dir, "hot")))
		}, "file hot is not a regular file"},
		{"file others can write", func(_ *testing.T, dir string) error { return os.Chmod(filepath.Join(dir, "hot"), 0o666) },
			"file hot has mode 0666"},
		{"manifest gone", func(_ *testing.T, dir string) error { return os.Remove(filepath.Join(dir, "manifest.json")) },
			"it has no manifest.json"},
		{"manifest cut short", func(_ *testing.T, dir string) error { return os.Truncate(filepath.Join(dir, "manifest.json"), 40) },
			"manifest.json: unexpected end of JSON input"},
		{"manifest leads elsewhere", func(_ *testing.T, dir string) error {
			return write(dir, "manifest.json", `{"format":1,"files":[{"path":"../x"}]}`)
		}, `manifest.json names the path "../x"`},
		{"manifest of another entry", func(_ *testing.T, dir string) error {
			return write(dir, "manifest.json", `{"format":1,"name":"x","key":"y"}`)
		}, "manifest.json speaks of another entry"},
		{"all files gone", func(_ *testing.T, dir string) error {
			return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700))
		}, "it has no manifest.json"},
	} {
		t.Run(d.name, func(t *testing.T) {
			c := openCache(t)
			var n atomic.Int32
			e := counted(&n)
			dir := ensure(t, c, e, nil)
			if err := d.damage(t, dir); err != nil {
				t.Fatal(err)
			}
			var p recorder
			ensure(t, c, e, &p)
			if n.Load() != 2 {
				t.Errorf("built %d times", n.Load())
			}
			if want := "cache entry thing is damaged (" + d.note; !strings.Contains(p.text(), want) {
				t.Errorf("noted %q, want %q", p.text(), want)
			}
			if err := c.Has(e, true); err != nil {
				t.Errorf("after the rebuild: %v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(c.Dir(), ".tmp-*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestTouchedFileIsNotDamaged(t *testing.T) {
	c := openCache(t)
	var n atomic.Int32
	e := counted(&n)
	dir := ensure(t, c, e, nil)
	now := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "sub", "cold"), now, now); err != nil {
		t.Fatal(err)
	}
	ensure(t, c, e, nil)
	if n.Load() != 1 {
		t.Errorf("built %d times", n.Load())
	}
}

func TestVerifyFindsWhatTheCheapCheckDoesNot(t *testing.T) {
	c := openCache(t)
	var n atomic.Int32
	e := counted(&n)
	dir := ensure(t, c, e, nil)
	name := filepath.Join(dir, "sub", "cold")
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(write(dir, "sub/cold", "cold bytEs"), os.Chtimes(name, info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
	if err := c.Has(e, false); err != nil {
		t.Errorf("a file that is not hashed each time was: %v", err)
	}
	if err := c.Has(e, true); err == nil || !strings.Contains(err.Error(), "file sub/cold has sha256") {
		t.Errorf("got %v", err)
	}
}

func TestFailedBuildLeavesNothing(t *testing.T) {
	c := openCache(t)
	failed := errors.New("disk full")
	e := runtimes.Entry{Name: "thing", Key: runtimes.Key("x"), Build: func(_ context.Context, dir string, _ runtimes.Progress) error {
		return errors.Join(write(dir, "part", "half"), failed)
	}}
	var p recorder
	if _, err := c.Ensure(t.Context(), e, &p); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
	if p.ended != 1 {
		t.Errorf("progress ended %d times", p.ended)
	}
	files, err := os.ReadDir(c.Dir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.IsDir() {
			t.Errorf("left behind: %s", f.Name())
		}
	}
}

func TestCancelledBuildIsNotKept(t *testing.T) {
	c := openCache(t)
	stopped := errors.New("user left")
	ctx, cancel := context.WithCancelCause(t.Context())
	e := runtimes.Entry{Name: "thing", Key: runtimes.Key("x"), Build: func(context.Context, string, runtimes.Progress) error {
		cancel(stopped)
		return nil
	}}
	if _, err := c.Ensure(ctx, e, nil); !errors.Is(err, stopped) {
		t.Errorf("got %v", err)
	}
	if err := c.Has(e, false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	c := openCache(t)
	atWork, goOn := make(chan bool), make(chan bool)
	e := runtimes.Entry{Name: "thing", Key: runtimes.Key("x"), Build: func(_ context.Context, dir string, _ runtimes.Progress) error {
		close(atWork)
		<-goOn
		return write(dir, "a", "b")
	}}
	first := make(chan error)
	go func() {
		_, err := c.Ensure(context.Background(), e, nil)
		first <- err
	}()
	<-atWork
	ctx, cancel := context.WithCancel(t.Context())
	p := leaver{leave: func() { time.AfterFunc(50*time.Millisecond, cancel) }}
	if _, err := c.Ensure(ctx, e, &p); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if p.text() != "another process is setting up thing: waiting for it" {
		t.Errorf("noted %q", p.text())
	}
	close(goOn)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

func TestGoroutinesBuildOnce(t *testing.T) {
	c := openCache(t)
	var n atomic.Int32
	e := counted(&n)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if _, err := c.Ensure(t.Context(), e, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n.Load() != 1 {
		t.Errorf("built %d times", n.Load())
	}
}

func helper(dir string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), helperEnv+"="+dir), env...)
	return cmd
}

func TestProcessesBuildOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no file locks on this system; see cache_other.go")
	}
	dir := filepath.Join(t.TempDir(), "cache")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if out, err := helper(dir).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	if b, err := os.ReadFile(filepath.Join(dir, ".builds")); err != nil || strings.Count(string(b), "\n") != 1 {
		t.Errorf("builds: %q, %v", b, err)
	}
}

func TestKilledBuilderIsReplaced(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no file locks on this system; see cache_other.go")
	}
	dir := filepath.Join(t.TempDir(), "cache")
	victim := helper(dir, "CLOCHE_TEST_KILL=1")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, ".at-work")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the helper did not come to its build")
		}
	}
	second := helper(dir)
	out, wait := make(chan []byte), make(chan error)
	go func() {
		b, err := second.CombinedOutput()
		out <- b
		wait <- err
	}()
	time.Sleep(100 * time.Millisecond) // it now waits for the first
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	victim.Wait()
	if b, err := <-out, <-wait; err != nil {
		t.Errorf("%v: %s", err, b)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".tmp-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestCacheFolderMustBePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes and owners mean nothing here")
	}
	t.Run("made private", func(t *testing.T) {
		c := openCache(t)
		if info, err := os.Stat(c.Dir()); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	})
	for _, mode := range []os.FileMode{0o755, 0o770, 0o701, 0o777} {
		t.Run(fmt.Sprintf("mode %#o", mode), func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Chmod(dir, mode); err != nil {
				t.Fatal(err)
			}
			_, err := runtimes.OpenCache(dir)
			want := fmt.Sprintf("cache %s has mode %#o, so that others can get at it: it holds machine code and is not trusted; "+
				"remove it, or if nobody else can have changed it run chmod 700 %s", dir, mode, dir)
			if err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
	t.Run("another owner", func(t *testing.T) {
		c := openCache(t)
		err := c.SetUser(os.Geteuid() + 1)
		want := fmt.Sprintf("cache %s belongs to user %d and not to the user running this program (%d): "+
			"it holds machine code and is not trusted; set CLOCHE_CACHE to name another folder", c.Dir(), os.Geteuid(), os.Geteuid()+1)
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	})
	t.Run("another owner of a file", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root can give files away")
		}
		c := openCache(t)
		var n atomic.Int32
		e := counted(&n)
		dir := ensure(t, c, e, nil)
		if err := os.Chown(filepath.Join(dir, "hot"), 12345, -1); err != nil {
			t.Fatal(err)
		}
		if err := c.Has(e, false); err == nil || err.Error() != "file hot belongs to user 12345" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a file", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "cache")
		if err := os.WriteFile(dir, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := runtimes.OpenCache(dir); err == nil || !strings.Contains(err.Error(), "is not a folder") {
			t.Errorf("got %v", err)
		}
	})
}

func TestCollect(t *testing.T) {
	c := openCache(t)
	make := func(c *runtimes.Cache, version string) string {
		return filepath.Base(ensure(t, c, runtimes.Entry{Name: "thing", Key: runtimes.Key(version),
			Build: func(_ context.Context, dir string, _ runtimes.Progress) error { return write(dir, "a", version) }}, nil))
	}
	present := func() []string {
		entries, err := c.Entries()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Folder)
		}
		return names
	}
	old := func(folder string) {
		then := time.Now().Add(-time.Hour)
		if err := os.Chtimes(filepath.Join(c.Dir(), ".used-"+folder), then, then); err != nil {
			t.Fatal(err)
		}
	}

	// Four entries; the first was used by a process that is gone, long ago.
	first, err := runtimes.OpenCache(c.Dir())
	if err != nil {
		t.Fatal(err)
	}
	v1 := make(first, "v1")
	old(v1)
	other := filepath.Base(ensure(t, c, runtimes.Entry{Name: "other", Key: runtimes.Key("v1"),
		Build: func(_ context.Context, dir string, _ runtimes.Progress) error { return write(dir, "a", "") }}, nil))
	v2, v3, v4 := make(c, "v2"), make(c, "v3"), make(c, "v4")
	if got := present(); !slices.Contains(got, v1) {
		t.Errorf("an entry in use was removed: %v", got)
	}
	first.Close()
	c.Collect("thing", time.Now())
	got := present()
	if slices.Contains(got, v1) {
		t.Errorf("the oldest entry was kept: %v", got)
	}
	for _, name := range []string{v2, v3, v4, other} {
		if !slices.Contains(got, name) {
			t.Errorf("%s was removed: %v", name, got)
		}
	}
	// A month later nobody uses them, but this process still holds them.
	later := time.Now().Add(31 * 24 * time.Hour)
	c.Collect("thing", later)
	if got := present(); len(got) != 4 {
		t.Errorf("entries in use were removed: %v", got)
	}
	c.Close()
	c.Collect("thing", later)
	if got := present(); !slices.Equal(got, []string{other}) {
		t.Errorf("left are %v", got)
	}
	// And it can be made again.
	if again := make(c, "v2"); again != v2 {
		t.Errorf("made %s", again)
	}
}

func TestKeyIsInjective(t *testing.T) {
	if runtimes.Key("ab", "c") == runtimes.Key("a", "bc") || runtimes.Key("a") == runtimes.Key("a", "") {
		t.Error("two lists of parts have one key")
	}
	if k := runtimes.Key("a"); len(k) != 64 {
		t.Errorf("key %q", k)
	}
}

func TestDefaultCacheDir(t *testing.T) {
	t.Setenv("CLOCHE_CACHE", "/somewhere/else")
	if dir, err := runtimes.DefaultCacheDir(); err != nil || dir != "/somewhere/else" {
		t.Errorf("%q, %v", dir, err)
	}
	t.Setenv("CLOCHE_CACHE", "")
	t.Setenv("XDG_CACHE_HOME", "/xdg")
	t.Setenv("HOME", "/home/u")
	if dir, err := runtimes.DefaultCacheDir(); err != nil || !strings.HasSuffix(dir, "/cloche") {
		t.Errorf("%q, %v", dir, err)
	}
}

// BenchmarkVerify is what opening a filled cache costs: a hot file of 100 MB is hashed.
func BenchmarkVerify(b *testing.B) {
	c, err := runtimes.OpenCache(filepath.Join(b.TempDir(), "cache"))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	e := runtimes.Entry{Name: "thing", Key: runtimes.Key("x"), Hot: []string{"image"},
		Build: func(_ context.Context, dir string, _ runtimes.Progress) error {
			return os.WriteFile(filepath.Join(dir, "image"), make([]byte, 100e6), 0o600)
		}}
	if _, err := c.Ensure(b.Context(), e, nil); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := c.Ensure(b.Context(), e, nil); err != nil {
			b.Fatal(err)
		}
	}
}
