// Package webtest is what the tests of package web and those below it share: one engine for each test binary, and the
// tools of others (a browser, Node, Python packages) that `make tools` installs beside the cache.
package webtest

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/web"
)

var shared = sync.OnceValues(func() (*engine.Engine, error) {
	return engine.New(engine.Config{Limits: limits.Limits{Timeout: time.Minute}})
})

// Main runs a package's tests and closes the shared engine and browser: func TestMain(m *testing.M) { webtest.Main(m) }
func Main(m *testing.M) {
	code := m.Run()
	closeBrowser()
	if e, err := shared(); err == nil {
		if err := e.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "close the engine:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// Engine is the engine of all tests of a binary. It sets up interpreters that are missing.
func Engine(t testing.TB) *engine.Engine {
	t.Helper()
	e, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Serve starts a server on loopback, which ends with the test, and returns its address. The engine is the shared one.
func Serve(t testing.TB, c web.Config) (url string) {
	t.Helper()
	c.Engine = Engine(t)
	srv, err := web.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- web.Serve(ctx, l, srv, web.ServeOptions{}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

// Tool is the path of something that `make tools` installs, by its name in the tools' folder. Without it the test is
// skipped, and under `make full` fails.
func Tool(t testing.TB, name string) string {
	t.Helper()
	cache, err := runtimes.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	tool := filepath.Join(cache, ".tools", name)
	if _, err := os.Stat(tool); err != nil {
		Missing(t, fmt.Sprintf("%s is not installed: run make tools, and read what it says", name))
	}
	return tool
}

// Program is the path of the first of some programs that is installed. Without one the test is skipped, as by Tool.
func Program(t testing.TB, names ...string) string {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		for _, name := range names {
			file := filepath.Join(dir, name)
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return file
			}
		}
	}
	Missing(t, fmt.Sprintf("there is no %s in PATH: run make tools, and read what it says", names[0]))
	return ""
}

// Missing skips a test for want of a tool; under `make full` the test fails.
func Missing(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CLOCHE_FULL") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}
