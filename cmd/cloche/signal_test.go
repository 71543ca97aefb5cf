//go:build unix

package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/runtimes"
)

// TestInterrupt presses Ctrl-C while a program runs.
func TestInterrupt(t *testing.T) {
	dir, err := runtimes.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if needsSetup(t, dir, engine.Python) {
		return
	}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd := exec.Command("cloche", "run", "-c", "print('at work', flush=True)\nwhile True: pass")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "at work\n" {
			t.Errorf("it printed %q, %v", line, err)
		}
		begun := time.Now()
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		err = cmd.Wait()
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.ExitCode() != exitInterrupted {
			t.Errorf("%v: it ended with %v, want exit status %d", sig, err, exitInterrupted)
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("%v: it took %v to end", sig, took)
		}
	}
}
