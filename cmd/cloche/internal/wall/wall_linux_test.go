//go:build amd64 || arm64

package wall

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A deed is something that a process tries behind the wall. It runs in a process of its own, since a wall stays up.
type deed func(g ground) error

// ground is what a process behind a wall has at hand.
type ground struct {
	Config Config
	Dir    string // a folder with the folders read and write, each with a file f
	Port   int    // somebody listens there
	Other  int    // and there
	Deed   string
	Before string // a deed of before, done first
}

const groundEnv = "CLOCHE_TEST_WALL"

// TestMain is also the process behind the wall. It says what came of the deed on standard output.
func TestMain(m *testing.M) {
	text := os.Getenv(groundEnv)
	if text == "" {
		os.Exit(m.Run())
	}
	var g ground
	if err := json.Unmarshal([]byte(text), &g); err != nil {
		panic(err)
	}
	if g.Before != "" {
		if err := before[g.Before](&g); err != nil {
			fmt.Print("before: ", err)
			os.Exit(0)
		}
	}
	report, err := Raise(g.Config)
	if err != nil {
		fmt.Print("raise: ", err)
		os.Exit(0)
	}
	if g.Deed == "report" {
		fmt.Print(report, " | ", report.Missing())
		os.Exit(0)
	}
	if err := deeds[g.Deed](g); err != nil {
		fmt.Print(err)
	} else {
		fmt.Print("done")
	}
	os.Exit(0)
}

// before are what a process does before its wall.
var before = map[string]func(*ground) error{
	"listen": func(*ground) (err error) {
		listener, err = net.Listen("tcp", "127.0.0.1:0")
		return err
	},
	"map code": func(*ground) (err error) {
		page, err = unix.Mmap(-1, 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		return err
	},
	// A container whose filter does not know Landlock.
	"no landlock": func(*ground) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		f := filter{arch: auditArch, rules: each(answerDeny, []uintptr{
			unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_ADD_RULE, unix.SYS_LANDLOCK_RESTRICT_SELF})}
		p := f.program()
		p[len(p)-1].K = answerAllow
		return errors.Join(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), install(p))
	},
	// Threads that exist before the wall, and wait.
	"threads": func(*ground) error {
		var ready sync.WaitGroup
		for range 4 {
			ready.Add(1)
			go func() {
				runtime.LockOSThread()
				ready.Done()
				for try := range tries {
					try()
				}
			}()
		}
		ready.Wait()
		return nil
	},
}

var (
	listener net.Listener
	page     []byte
	tries    = make(chan func())
)

func openFile(name string, flags int) error {
	f, err := os.OpenFile(name, flags, 0o600)
	if err == nil {
		err = f.Close()
	}
	return err
}

func (g ground) in(parts ...string) string {
	return filepath.Join(append([]string{g.Dir}, parts...)...)
}

func dial(network string, port int) error {
	c, err := net.DialTimeout(network, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), 5*time.Second)
	if err == nil {
		err = c.Close()
	}
	return err
}

func rawSyscall(nr uintptr, a ...uintptr) error {
	var args [6]uintptr
	copy(args[:], a)
	_, _, errno := unix.Syscall6(nr, args[0], args[1], args[2], args[3], args[4], args[5])
	if errno != 0 {
		return errno
	}
	return nil
}

func socket(family, kind, protocol int) error {
	fd, err := unix.Socket(family, kind, protocol)
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

var deeds = map[string]deed{
	"read a host file":        func(ground) error { return openFile("/etc/passwd", os.O_RDONLY) },
	"read its own memory":     func(ground) error { return openFile("/proc/self/mem", os.O_RDWR) },
	"read its environment":    func(ground) error { return openFile("/proc/self/environ", os.O_RDONLY) },
	"list the root":           func(ground) error { _, err := os.ReadDir("/"); return err },
	"read what may be read":   func(g ground) error { return openFile(g.in("read", "f"), os.O_RDONLY) },
	"list what may be read":   func(g ground) error { _, err := os.ReadDir(g.in("read")); return err },
	"write what may be read":  func(g ground) error { return openFile(g.in("read", "f"), os.O_RDWR) },
	"make where may be read":  func(g ground) error { return openFile(g.in("read", "new"), os.O_WRONLY|os.O_CREATE) },
	"cut what may be read":    func(g ground) error { return openFile(g.in("read", "f"), os.O_RDONLY|os.O_TRUNC) },
	"remove what may be read": func(g ground) error { return os.Remove(g.in("read", "f")) },
	"read beside":             func(g ground) error { return openFile(g.in("f"), os.O_RDONLY) },
	"read beside by a link": func(g ground) error {
		if err := os.Symlink("../f", g.in("write", "link")); err != nil {
			return err
		}
		return openFile(g.in("write", "link"), os.O_RDONLY)
	},
	"link from beside": func(g ground) error { return os.Link(g.in("f"), g.in("write", "stolen")) },
	"change where may be written": func(g ground) error {
		return errors.Join(
			os.WriteFile(g.in("write", "new"), []byte("x"), 0o600),
			os.Mkdir(g.in("write", "dir"), 0o700),
			os.Rename(g.in("write", "new"), g.in("write", "dir", "new")),
			os.Link(g.in("write", "dir", "new"), g.in("write", "again")),
			os.Symlink("again", g.in("write", "soft")),
			openFile(g.in("write", "again"), os.O_RDWR|os.O_TRUNC),
			os.RemoveAll(g.in("write", "dir")),
		)
	},
	"make a pipe where may be written": func(g ground) error { return unix.Mkfifo(g.in("write", "pipe"), 0o600) },
	"execute": func(ground) error {
		_, err := syscall.ForkExec("/bin/true", []string{"true"}, nil)
		return err
	},
	"execute in place": func(ground) error {
		return unix.Exec("/bin/true", []string{"true"}, nil)
	},
	"trace":            func(ground) error { return rawSyscall(unix.SYS_PTRACE, unix.PTRACE_ATTACH, uintptr(os.Getppid())) },
	"read a process":   func(ground) error { return rawSyscall(unix.SYS_PROCESS_VM_READV, uintptr(os.Getppid())) },
	"make a namespace": func(ground) error { return rawSyscall(unix.SYS_UNSHARE, unix.CLONE_NEWUSER) },
	"make a process":   func(ground) error { return rawSyscall(unix.SYS_CLONE, uintptr(unix.SIGCHLD)) },
	"make a thread elsewhere": func(ground) error {
		return rawSyscall(unix.SYS_CLONE, unix.CLONE_THREAD|unix.CLONE_VM|unix.CLONE_SIGHAND|unix.CLONE_NEWNET)
	},
	"take a ring":     func(ground) error { return rawSyscall(unix.SYS_IO_URING_SETUP, 8) },
	"load a program":  func(ground) error { return rawSyscall(unix.SYS_BPF) },
	"signal a parent": func(ground) error { return unix.Kill(os.Getppid(), 0) },
	"signal its thread": func(ground) error {
		return unix.Tgkill(os.Getppid(), os.Getppid(), 0)
	},
	"raise a limit": func(ground) error {
		return rawSyscall(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_CORE)
	},
	"become dumpable":    func(ground) error { return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) },
	"push to a terminal": func(ground) error { return unix.IoctlSetInt(0, unix.TIOCSTI, 0) },
	"map executable": func(ground) error {
		_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
		return err
	},
	"make executable":       func(ground) error { return unix.Mprotect(page, unix.PROT_READ|unix.PROT_EXEC) },
	"make executable again": func(ground) error { return rawSyscall(unix.SYS_PKEY_MPROTECT) },
	"fault handler":         func(ground) error { return rawSyscall(unix.SYS_USERFAULTFD) },
	"socket":                func(ground) error { return socket(unix.AF_INET, unix.SOCK_STREAM, 0) },
	"unix socket":           func(ground) error { return socket(unix.AF_UNIX, unix.SOCK_STREAM, 0) },
	"netlink socket":        func(ground) error { return socket(unix.AF_NETLINK, unix.SOCK_RAW, 0) },
	"multipath socket":      func(ground) error { return socket(unix.AF_INET, unix.SOCK_STREAM, 262) },
	"connect":               func(g ground) error { return dial("tcp", g.Port) },
	"connect elsewhere":     func(g ground) error { return dial("tcp", g.Other) },
	"ask by UDP":            func(g ground) error { return dial("udp", g.Port) },
	"look up a name":        func(ground) error { _, err := net.LookupHost("localhost"); return err },
	"listen": func(ground) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err == nil {
			err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
		}
		return err
	},
	"answer": func(ground) error {
		done := make(chan error)
		go func() {
			c, err := listener.Accept()
			if err == nil {
				_, err = io.WriteString(c, "answer")
				err = errors.Join(err, c.Close())
			}
			done <- err
		}()
		fmt.Println(listener.Addr())
		return <-done
	},
	"read on every thread": func(ground) error {
		errs := make(chan error)
		for range 4 {
			tries <- func() { errs <- openFile("/etc/passwd", os.O_RDONLY) }
		}
		for range 4 {
			go func() { // threads that are made now
				runtime.LockOSThread()
				errs <- openFile("/etc/passwd", os.O_RDONLY)
			}()
		}
		opened := 0
		for range 8 {
			if err := <-errs; !refused(err) {
				opened++
			}
		}
		if opened > 0 {
			return fmt.Errorf("%d of 8 threads got through", opened)
		}
		return nil
	},
	// What a program of Go's does all the time.
	"work": func(g ground) error {
		var wg sync.WaitGroup
		for range 50 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				runtime.LockOSThread()
				_ = make([]byte, 8<<20)
				time.Sleep(time.Millisecond)
			}()
		}
		wg.Wait()
		runtime.GC()
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		_ = w.Close()
		_, err = io.ReadAll(r)
		return err
	},
}

func refused(err error) bool { return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) }

// tried is what came of a deed: what it printed, or "killed".
func tried(t *testing.T, g ground, setUp func(*exec.Cmd)) string {
	t.Helper()
	text, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), groundEnv+"="+string(text), "GORACE=atexit_sleep_ms=0")
	if setUp != nil {
		setUp(cmd)
	}
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if exit.Sys().(syscall.WaitStatus).Signal() == unix.SIGSYS {
			return "killed"
		}
		t.Fatalf("%s: %v\n%s", g.Deed, err, exit.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func newGround(t *testing.T) ground {
	t.Helper()
	dir := t.TempDir()
	// For the processes that run as somebody else.
	for d := dir; d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"read", "write", "."} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, d), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, d, "f"), []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, d, "f"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	g := ground{Dir: dir, Config: Config{Cache: filepath.Join(dir, "read"), Write: []string{filepath.Join(dir, "write")}}}
	for _, port := range []*int{&g.Port, &g.Other} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		*port = l.Addr().(*net.TCPAddr).Port
	}
	return g
}

func requireWall(t *testing.T) {
	t.Helper()
	g := newGround(t)
	g.Deed = "report"
	if got := tried(t, g, nil); !strings.HasSuffix(got, " | ") {
		t.Skip("this kernel does not offer all of the wall: ", got)
	}
}

// TestRaise tries, behind a wall, what must be refused and what must still work.
func TestRaise(t *testing.T) {
	requireWall(t)
	const ok, no, dead = "done", "refused", "killed"
	readOnly := func(g *ground) { g.Config.Write = nil }
	online := func(g *ground) { g.Config.Connect = []uint16{uint16(g.Port)} }
	anywhere := func(g *ground) { g.Config.Connect = []uint16{0} }
	code := func(g *ground) { g.Config.Code = true }
	do := func(name string) func(*ground) { return func(g *ground) { g.Before = name } }
	for _, c := range []struct {
		deed string
		want string
		with []func(*ground)
	}{
		{"work", ok, nil},
		{"read a host file", no, nil},
		{"read a host file", no, []func(*ground){anywhere, code}},
		{"read its own memory", no, nil},
		{"read its environment", no, nil},
		{"list the root", no, nil},
		{"read what may be read", ok, nil},
		{"list what may be read", ok, nil},
		{"write what may be read", no, nil},
		{"make where may be read", no, nil},
		{"cut what may be read", no, nil},
		{"remove what may be read", no, nil},
		{"write what may be read", no, []func(*ground){readOnly}},
		{"make where may be read", no, []func(*ground){readOnly}},
		{"cut what may be read", no, []func(*ground){readOnly}},
		{"remove what may be read", no, []func(*ground){readOnly}},
		{"read beside", no, nil},
		{"read beside by a link", no, nil},
		{"link from beside", no, nil},
		{"change where may be written", ok, nil},
		{"change where may be written", no, []func(*ground){readOnly}},
		{"make a pipe where may be written", no, nil},
		{"read on every thread", ok, []func(*ground){do("threads")}},
		{"execute", dead, nil},
		{"execute in place", dead, nil},
		{"trace", dead, nil},
		{"read a process", dead, nil},
		{"make a namespace", dead, nil},
		{"make a process", dead, nil},
		{"make a thread elsewhere", dead, nil},
		{"take a ring", dead, nil},
		{"load a program", dead, nil},
		{"signal a parent", no, nil},
		{"signal its thread", no, nil},
		{"raise a limit", no, nil},
		{"become dumpable", no, nil},
		{"push to a terminal", no, nil},
		{"map executable", no, nil},
		{"make executable", no, []func(*ground){do("map code")}},
		{"make executable again", no, nil},
		{"make executable", ok, []func(*ground){do("map code"), code}},
		{"fault handler", no, nil},
		{"socket", no, nil},
		{"unix socket", no, nil},
		{"connect", no, nil},
		{"ask by UDP", no, nil},
		{"connect", ok, []func(*ground){online}},
		{"connect", ok, []func(*ground){anywhere}},
		{"connect elsewhere", no, []func(*ground){online}},
		{"connect elsewhere", ok, []func(*ground){anywhere}},
		{"ask by UDP", ok, []func(*ground){online}},
		{"look up a name", ok, []func(*ground){online}},
		{"unix socket", no, []func(*ground){online}},
		{"netlink socket", no, []func(*ground){online}},
		{"multipath socket", no, []func(*ground){online}},
		{"multipath socket", no, []func(*ground){anywhere}},
		{"listen", no, []func(*ground){online}},
		{"listen", no, []func(*ground){anywhere}},
	} {
		g := newGround(t)
		g.Deed = c.deed
		for _, f := range c.with {
			f(&g)
		}
		got := tried(t, g, nil)
		if strings.Contains(got, "permission denied") || strings.Contains(got, "operation not permitted") ||
			strings.Contains(got, "invalid cross-device link") {
			got = no
		}
		if got != c.want {
			t.Errorf("%s (%+v, after %q): %s, want %s", c.deed, g.Config, g.Before, got, c.want)
		}
	}
}

// TestRaiseServing connects to a process that listened before its wall.
func TestRaiseServing(t *testing.T) {
	requireWall(t)
	g := newGround(t)
	g.Config.Serve, g.Before, g.Deed = true, "listen", "answer"
	text, _ := json.Marshal(g)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), groundEnv+"="+string(text), "GORACE=atexit_sleep_ms=0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var addr string
	if _, err := fmt.Fscanln(out, &addr); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got, err := io.ReadAll(c); string(got) != "answer" || err != nil {
		t.Errorf("it answered %q, %v", got, err)
	}
	if got, err := io.ReadAll(out); string(got) != "done" || err != nil {
		t.Errorf("it says %q, %v", got, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestRaiseUnprivileged raises the wall in a process of nobody's.
func TestRaiseUnprivileged(t *testing.T) {
	requireWall(t)
	if os.Geteuid() != 0 {
		t.Skip("all tests here are unprivileged, but for root's")
	}
	nobody := func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	for deed, want := range map[string]string{
		"work": "done", "change where may be written": "done", "execute": "killed",
		"read a host file": "open /etc/passwd: permission denied",
	} {
		g := newGround(t)
		g.Deed = deed
		if got := tried(t, g, nobody); got != want {
			t.Errorf("%s: %q, want %q", deed, got, want)
		}
	}
}

// TestRaiseWithout raises what there is in a container that refuses Landlock.
func TestRaiseWithout(t *testing.T) {
	requireWall(t)
	for deed, want := range map[string]string{
		"work": "done", "execute": "killed", "socket": "operation not permitted",
		// Without folders to write in, seccomp alone lets nothing be written.
		"make where may be read": "operation not permitted", "cut what may be read": "operation not permitted",
		"remove what may be read": "operation not permitted",
		"report":                  "Landlock (operation not permitted)",
	} {
		g := newGround(t)
		g.Config.Write, g.Before, g.Deed = nil, "no landlock", deed
		if got := tried(t, g, nil); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, want %q", deed, got, want)
		}
	}
}

// TestRaiseRefuses asks for what there is not.
func TestRaiseRefuses(t *testing.T) {
	requireWall(t)
	for _, change := range []func(*Config){
		func(c *Config) { c.Cache = "/nowhere" },
		func(c *Config) { c.Read = []string{"/nowhere"} },
		func(c *Config) { c.Write = []string{"/nowhere"} },
		func(c *Config) { c.Write = []string{filepath.Join(c.Cache, "f")} },
	} {
		g := newGround(t)
		change(&g.Config)
		g.Deed = "work"
		if got := tried(t, g, nil); !strings.HasPrefix(got, "raise: second wall: let ") {
			t.Errorf("%+v: %q", g.Config, got)
		}
	}
}
