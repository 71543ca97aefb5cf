package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/runtimes/python/wheeltest"
)

// TestTemplatePackagesBehindWall starts programs from a template that brings a package: the wall, behind which no package can be
// set up, stands around cloche run, with a package more and without, and around cloche serve.
func TestTemplatePackagesBehindWall(t *testing.T) {
	dir, err := runtimes.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if needsSetup(t, dir, engine.Python) || needsSetup(t, dir, engine.JavaScript) {
		return
	}
	wheels := t.TempDir()
	for _, name := range []string{"templatetest_kept", "templatetest_more"} {
		wheeltest.Write(t, wheels, name, "py3-none-any", "", map[string]string{name + ".py": "value = 1\n"})
	}
	wheeltest.Forget(t, dir, "templatetest_")
	env := []string{runtimes.CacheEnv + "=" + dir, "PIP_NO_INDEX=1", "PIP_FIND_LINKS=" + wheels}
	cloche := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("cloche", args...)
		cmd.Env = append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("cloche %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	preload := filepath.Join(t.TempDir(), "setup.py")
	if err := os.WriteFile(preload, []byte("kept = 20\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const name = "test-packages-wall"
	cloche("template", "build", "--name", name, "--preload", preload, "--package", "templatetest-kept")
	t.Cleanup(func() { cloche("template", "rm", name) })

	code := "import templatetest_kept; print(kept + templatetest_kept.value)"
	if out := cloche("run", "--template", name, "-c", code); !strings.HasSuffix(out, "21\n") {
		t.Errorf("run: %q", out)
	}
	if out := cloche("run", "--template", name, "--package", "templatetest-more", "-c", code+"; import templatetest_more"); !strings.HasSuffix(out, "21\n") {
		t.Errorf("run with a package more: %q", out)
	}
	if sets := wheeltest.Sets(t, dir, "templatetest_more"); len(sets) != 1 {
		t.Errorf("a package and those of the template were set up as %q, want one set", sets)
	}
	s := startProcess(t, exec.Command("cloche", "serve", "--listen", "127.0.0.1:0"), env...)
	status, b, err := s.send("POST", "/v1/execute", map[string]any{"template": name, "code": code})
	if err != nil || status != http.StatusOK || decode[result](t, b).Stdout != "21\n" {
		t.Errorf("serve: %d %s %v\n%s", status, b, err, s.log)
	}

	const late = "test-packages-late" // is built while the server runs
	cloche("template", "build", "--name", late, "--preload", preload, "--package", "templatetest-more")
	t.Cleanup(func() { cloche("template", "rm", late) })
	use := map[string]any{"template": late, "code": "import templatetest_more; print(kept)"}
	status, b, err = s.send("POST", "/v1/execute", use)
	if walled := strings.Contains(s.log.String(), `"missing":""`); !walled {
		t.Log("this kernel does not offer all of the wall: the package could be opened")
	} else if err != nil || status != http.StatusServiceUnavailable || !strings.Contains(string(b), "the operator restarts it") {
		t.Errorf("serve, of a template that is built meanwhile: %d %s %v\n%s", status, b, err, s.log)
	}
	s.stop(t)
	s = startProcess(t, exec.Command("cloche", "serve", "--listen", "127.0.0.1:0"), env...)
	status, b, err = s.send("POST", "/v1/execute", use)
	if err != nil || status != http.StatusOK || decode[result](t, b).Stdout != "20\n" {
		t.Errorf("serve, started again: %d %s %v\n%s", status, b, err, s.log)
	}
	s.stop(t)
}
