// Package clients_test runs the tests of the clients, which are written in their own languages, against the real server.
package clients_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/web"
	"github.com/cloche-dev/cloche/web/webtest"
)

func TestMain(m *testing.M) { webtest.Main(m) }

const secret = "the key of this test"

// serve starts a server and returns its address.
func serve(t *testing.T) string {
	t.Helper()
	return webtest.Serve(t, web.Config{Keys: []*web.Key{{Name: "test", Hash: web.HashKey(secret)}}})
}

// run runs a test program that ends with a line saying that all is well.
func run(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CLOCHE_URL="+serve(t), "CLOCHE_KEY="+secret, "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "all is well\n") {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
}

func TestPython(t *testing.T) { run(t, "python", webtest.Program(t, "python3"), "test_client.py") }

func TestJavaScript(t *testing.T) {
	run(t, "javascript", webtest.Program(t, "node"), "test_client.mjs")
}
