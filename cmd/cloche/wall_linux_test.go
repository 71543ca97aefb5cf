package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/runtimes"
)

// seen are the system calls that strace may show once the wall stands: what Go's scheduler and memory take, and what is
// done with open files and with names below open folders.
var seen = strings.Fields(`
	futex nanosleep clock_nanosleep sched_yield sched_getaffinity tgkill getpid gettid rt_sigreturn rt_sigaction rt_sigprocmask
	sigaltstack clone clone3 rseq set_robust_list exit exit_group restart_syscall epoll_pwait epoll_ctl epoll_create1 eventfd2
	mmap munmap mprotect madvise mremap brk prctl memfd_create getrusage
	read write pread64 pwrite64 lseek close fcntl ioctl fstat fstatfs getdents64 pipe2 flock getrandom
	openat newfstatat statx readlinkat mkdirat unlinkat renameat linkat symlinkat ftruncate fallocate utimensat fsync
`)

// TestWallUnderStrace runs hostile programs behind the wall and reads in strace's record which system calls the process
// made from then on: only those it needs, and no file was opened but below a folder that was open already.
func TestWallUnderStrace(t *testing.T) {
	strace := straceFor(t)
	dir, err := runtimes.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	ready := readyLanguages(t, dir)
	for language, programs := range map[string][]string{
		engine.JavaScript: {"paths.js", "floods.js", "memory.js", "recursion.js", "engine_bugs.js", "mounts.js"},
		engine.Python:     {"paths.py", "descriptors.py", "door.py", "mounts.py"},
	} {
		if !slices.Contains(ready, language) {
			t.Logf("%s is not set up: run make setup", language)
			continue
		}
		record := filepath.Join(t.TempDir(), "record")
		args := []string{"-f", "-qq", "-o", record, "cloche", "run", "--session", "--timeout", "5s",
			"--mount", t.TempDir() + ":/rw:rw", "--mount", t.TempDir() + ":/ro", "--out", t.TempDir()}
		for _, p := range programs {
			args = append(args, filepath.Join("../../testdata/hostile", p))
		}
		cmd := exec.Command(strace, args...)
		cmd.Env = append(os.Environ(), runtimes.CacheEnv+"="+dir)
		out, err := cmd.CombinedOutput()
		text, errRead := os.ReadFile(record)
		if errRead != nil {
			t.Skipf("strace cannot be used here: %v, %v\n%s", err, errRead, out)
		}
		if calls := behindWall(t, text); calls["openat"] == 0 || calls["futex"] == 0 {
			t.Errorf("the record lacks what was done: %v", calls)
		}
	}
}

// TestTemplateUnderStrace: a program of which a template is made runs behind the wall like any other, and what it leaves can be written.
func TestTemplateUnderStrace(t *testing.T) {
	strace := straceFor(t)
	dir, err := runtimes.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if needsSetup(t, dir, engine.JavaScript) {
		return
	}
	const name = "test-strace"
	record, preload := filepath.Join(t.TempDir(), "record"), filepath.Join(t.TempDir(), "preload.js")
	if err := os.WriteFile(preload, []byte("const kept = 'kept'; require('fs').writeFileSync('file', kept)"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(strace, "-f", "-qq", "-o", record, "cloche", "template", "build", "--name", name, "--preload", preload)
	cmd.Env = append(os.Environ(), runtimes.CacheEnv+"="+dir)
	out, err := cmd.CombinedOutput()
	text, errRead := os.ReadFile(record)
	if errRead != nil {
		t.Skipf("strace cannot be used here: %v, %v\n%s", err, errRead, out)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	defer os.Remove(filepath.Join(dir, "templates", name+".snapshot"))
	_, after, found := bytes.Cut(text, []byte(putUp))
	if !found {
		t.Fatal("no wall was put up")
	}
	if made := bytes.Index(after, []byte("templates/.writing-")); made < 0 {
		t.Error("the template was not made behind it")
	}
	cmd = exec.Command("cloche", "run", "--template", name, "--lang", "javascript", "-c", "console.log(kept + require('fs').readFileSync('file', 'utf8'))")
	cmd.Env = append(os.Environ(), runtimes.CacheEnv+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "keptkept\n" {
		t.Errorf("%s (%v)", out, err)
	}
}

// straceFor is the path of strace.
func straceFor(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("there is no strace")
	}
	return path
}

// TestServeUnderStrace reads in strace's record of a server that it accepts nobody before its wall stands, and which
// system calls it makes then, while a hostile program runs.
func TestServeUnderStrace(t *testing.T) {
	strace := straceFor(t)
	dir, err := runtimes.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if needsSetup(t, dir, engine.Python) || needsSetup(t, dir, engine.JavaScript) {
		return
	}
	record := filepath.Join(t.TempDir(), "record")
	cmd := exec.Command(strace, "-D", "-f", "-qq", "-o", record, "cloche", "serve", "--listen", "127.0.0.1:0")
	s := startProcess(t, cmd, runtimes.CacheEnv+"="+dir)
	for language, name := range map[string]string{engine.Python: "paths.py", engine.JavaScript: "paths.js"} {
		code, err := os.ReadFile(filepath.Join("../../testdata/hostile", name))
		if err != nil {
			t.Fatal(err)
		}
		s.execute(t, language, string(code))
	}
	_, metrics, err := s.send("GET", "/metrics", nil)
	for _, name := range []string{"cpu_seconds_total", "start_time_seconds", "virtual_memory_bytes", "resident_memory_bytes", "open_fds", "max_fds"} {
		if metric(metrics, "process_"+name) < 0 {
			t.Errorf("the metrics have no process_%s: %v", name, err)
		}
	}
	s.stop(t)
	text, err := os.ReadFile(record)
	if err != nil {
		t.Skip("strace cannot be used here: ", err)
	}
	behindWall(t, text, talking...)
	before, _, _ := bytes.Cut(text, []byte(putUp))
	if m := accepted.Find(before); m != nil {
		t.Errorf("it accepted a connection before its wall stood: %s", m)
	}
	if !accepted.Match(text) {
		t.Error("the record lacks the connections")
	}
	allowedByUnit(t, text)
}

// talking are the calls of a server beside those of seen.
var talking = strings.Fields(`accept4 getsockname getpeername getsockopt setsockopt shutdown`)

// accepted is a connection in strace's record.
var accepted = regexp.MustCompile(`accept4\(.*= \d+|<\.\.\. accept4 resumed>.*= \d+`)

// started is the start of a call in strace's record, and anywhere its arguments when it opens an absolute path.
var (
	started  = regexp.MustCompile(`^\d+ +([a-z0-9_]+)\((.*)$`)
	anywhere = regexp.MustCompile(`^AT_FDCWD, "/`)
)

// putUp is in strace's record where the wall is put up.
const putUp = "seccomp(SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC"

// behindWall does as callsIn for what a record shows behind the wall.
func behindWall(t *testing.T, record []byte, also ...string) map[string]int {
	t.Helper()
	_, after, found := bytes.Cut(record, []byte(putUp))
	if !found {
		t.Fatal("no wall was put up")
	}
	return callsIn(t, after, also...)
}

// callsIn checks that a record has no calls but those seen, and these. It returns how often each was made.
func callsIn(t *testing.T, record []byte, also ...string) map[string]int {
	t.Helper()
	calls := map[string]int{}
	for line := range bytes.Lines(record) {
		line = bytes.TrimRight(line, "\n")
		m := started.FindSubmatch(line)
		if m == nil {
			continue
		}
		name := string(m[1])
		calls[name]++
		if !slices.Contains(seen, name) && !slices.Contains(also, name) {
			t.Errorf("it made a call that it has no need of: %s", line)
		}
		if name == "openat" && anywhere.Match(m[2]) && !bytes.Contains(line, []byte("= -1 E")) && !bytes.Contains(line, []byte("unfinished")) {
			if !bytes.Contains(line, []byte(os.TempDir())) { // the mounts
				t.Errorf("it opened a file: %s", line)
			}
		}
	}
	t.Logf("behind the wall: %v", calls)
	return calls
}
