package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/runtimes"
)

// TestReplTerminal types at a terminal: prompts, lines that wait for more, Ctrl-C while a turn runs and while none
// does, and the history.
func TestReplTerminal(t *testing.T) {
	dir, err := runtimes.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if needsSetup(t, dir, engine.JavaScript) {
		return
	}
	home := t.TempDir()
	start := func() (*terminal, *exec.Cmd) { return startRepl(t, dir, home, engine.JavaScript) }
	term, cmd := start()
	term.expect("> ")
	term.send("const f = (x) => {\r")
	term.expect("... ")
	term.send("return x * 2 }\r")
	term.send("f(21)\r")
	term.expect("42")
	term.send("console.log('at' + ' work'); while (true) {}\r")
	term.expect("at work")
	term.send("\x03") // Ctrl-C
	term.expect("interrupted")
	term.expect("> ")
	term.send("dropped((\r")
	term.expect("... ")
	term.send("\x03")
	term.send("also((\r")
	term.expect("... ")
	if err := cmd.Process.Signal(os.Interrupt); err != nil { // what Ctrl-C is until the editor has made a key of it
		t.Fatal(err)
	}
	term.expect("> ")
	term.send("f(4)\r")
	term.expect("8")
	term.send("\x04") // Ctrl-D
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	kept, err := os.ReadFile(filepath.Join(home, "cloche", "history-javascript"))
	if err != nil || !strings.Contains(string(kept), "f(21)\n") {
		t.Errorf("the history is %q, %v", kept, err)
	}

	term, cmd = start() // a second one goes back in the history
	term.expect("> ")
	term.send("\x1b[A")
	term.expect("f(4)")
	term.send("\x03:quit\r")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestReplAnswers types what programs ask for.
func TestReplAnswers(t *testing.T) {
	dir, err := runtimes.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		language string
		steps    []string // what is typed, and what is shown then
	}{
		{engine.Python, []string{
			"name = input('who' + '? ')\r", "who? ", "Ada\r", ">>> ", "print('hi', name.upper())\r", "hi ADA",
			"[input() for _ in range(2)]\r", "2)]", "one\rtwo\r", "['one', 'two']",
			"import sys; sys.stdin.readline()\r", "()", "last\r", `'last\n'`,
			"print('\\x1b[1mbold', end='? '); len(input())\r", "bold? ", "four\r", "4",
			"input('stop' + '! ')\r", "stop! ", "\x03", "KeyboardInterrupt", "name\r", "'Ada'", // Ctrl-C
			"input('end' + '! ')\r", "end! ", "\x04", "EOFError", "name + '!'\r", "'Ada!'", // Ctrl-D
			"import time; time.sleep(0); name * 2\r", "'AdaAda'",
		}},
		{engine.JavaScript, []string{"require('fs').readFileSync(0, 'utf8').length\r", "length", "abc\r\x04", "4", "6 * 7\r", "42"}},
	} {
		if needsSetup(t, dir, tt.language) {
			continue
		}
		home := t.TempDir()
		term, cmd := startRepl(t, dir, home, tt.language)
		term.expect("> ")
		for i, step := range tt.steps {
			if i%2 == 0 {
				term.send(step)
			} else {
				term.expect(step)
			}
		}
		term.send(":quit\r")
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		kept, err := os.ReadFile(filepath.Join(home, "cloche", "history-"+tt.language))
		if err != nil || strings.Contains(string(kept), "Ada\n") || strings.Contains(string(kept), "abc") {
			t.Errorf("the history is %q, %v", kept, err)
		}
	}
}

func startRepl(t *testing.T, dir, home, language string) (*terminal, *exec.Cmd) {
	t.Helper()
	term, child := openTerminal(t)
	cmd := exec.Command("cloche", "repl", language)
	cmd.Env = append(os.Environ(), "TERM=xterm", "HOME="+home, "XDG_CONFIG_HOME="+home, runtimes.CacheEnv+"="+dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = child, child, child
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child.Close()
	return term, cmd
}

// terminal is the far side of a pseudo-terminal.
type terminal struct {
	t    *testing.T
	file *os.File
	mu   sync.Mutex // over seen
	seen bytes.Buffer
	at   int           // what expect has read
	over chan struct{} // closed when nothing more will be seen
}

// all is what was seen when nobody writes any more.
func (p *terminal) all() string {
	<-p.over
	return p.seen.String()
}

func openTerminal(t *testing.T) (term *terminal, child *os.File) {
	t.Helper()
	far, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no pseudo-terminals:", err)
	}
	t.Cleanup(func() { far.Close() })
	if err := unix.IoctlSetPointerInt(int(far.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(far.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(far.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	if child, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	term = &terminal{t: t, file: far, over: make(chan struct{})}
	go func() {
		defer close(term.over)
		b := make([]byte, 4096)
		for {
			n, err := far.Read(b)
			term.mu.Lock()
			term.seen.Write(b[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return term, child
}

func (p *terminal) send(text string) {
	if _, err := p.file.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
}

// expect waits until text has been shown, after what was expected before.
func (p *terminal) expect(text string) {
	p.t.Helper()
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		p.mu.Lock()
		shown := p.seen.String()[p.at:]
		i := strings.Index(shown, text)
		if i >= 0 {
			p.at += i + len(text)
		}
		p.mu.Unlock()
		if i >= 0 {
			return
		}
		if time.Since(begun) > 30*time.Second {
			p.t.Fatalf("the terminal shows %q, and not %q", shown, text)
		}
	}
}
