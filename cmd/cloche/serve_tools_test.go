package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/web"
)

// TestServeTools: programs of a server's keys call the tools of an MCP server (Cloche's own), each key those that its policy
// leaves it.
func TestServeTools(t *testing.T) {
	dir, err := runtimes.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(readyLanguages(t, dir), "javascript") {
		t.Skip("javascript is not set up")
	}
	self, err := exec.LookPath("cloche")
	if err != nil {
		t.Fatal(err)
	}
	secret := func(name string) string { return name + strings.Repeat("-0123456789", 4) }
	config := fmt.Sprintf(`
[tools]
calls = 3
[tools.mcp.inner]
command = [%q, "mcp"]
env = { CLOCHE_CACHE = %q }
only = ["run_code", "describe_environment"]
[policies.some]
tools = ["inner.run_code"]
[policies.none]
tools = []
`, self, dir)
	for _, name := range []string{"all", "some", "none"} {
		policy := ""
		if name != "all" {
			policy = fmt.Sprintf("policy = %q", name)
		}
		config += fmt.Sprintf("[keys.%s]\nhash = %q\n%s\n", name, web.HashKey(secret(name)), policy)
	}
	file := filepath.Join(t.TempDir(), "server.toml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	url, _, stop := startServe(t, map[string]string{"CLOCHE_KEY": secret("cli")}, "--config", file)
	defer func() {
		if code := stop(); code != 0 {
			t.Errorf("exit status %d", code)
		}
	}()
	post := func(key, path, body string) string {
		t.Helper()
		r, err := http.NewRequest("POST", url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range map[string]string{"Authorization": "Bearer " + secret(key), "Content-Type": "application/json", "Accept": "application/json, text/event-stream"} {
			r.Header.Set(k, v)
		}
		if path == "/v1/execute" {
			r.Header.Set("Accept", "application/json")
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(bytes.TrimSpace(b))
	}
	const call = "console.log(Object.keys(tools.inner).sort().join()); console.log((await tools.inner.run_code({ language: 'javascript', code: '6 * 7' })).status)"
	quoted, err := json.Marshal(call)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"cli": `"stdout":"describe_environment,run_code\nok\n"`, "all": `"stdout":"describe_environment,run_code\nok\n"`,
		"some": `"stdout":"run_code\nok\n"`, "none": `tools is not defined`,
	} {
		if got := post(key, "/v1/execute", fmt.Sprintf(`{"language":"javascript","code":%s}`, quoted)); !strings.Contains(got, want) {
			t.Errorf("key %s: no %s in %s", key, want, got)
		}
	}
	own := `{"language":"javascript","code":"1","tools":[{"name":"inner.run_code"}]}`
	if got := post("all", "/v1/execute", own); !strings.Contains(got, "there is one of that name") {
		t.Errorf("a client took the place of a tool of the server's: %s", got)
	}
	budget := `{"language":"javascript","code":"for (let i = 0; i < 4; i++) await tools.inner.describe_environment()"}`
	if got := post("all", "/v1/execute", budget); !strings.Contains(got, "this run may make 3 calls of tools") {
		t.Errorf("the budget is not kept: %s", got)
	}
}
