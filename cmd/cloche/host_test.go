package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/web"
)

// TestAgentsMeet: agents that connect by the Model Context Protocol have the channels and shared folders of their key.
func TestAgentsMeet(t *testing.T) {
	dir, err := runtimes.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(readyLanguages(t, dir), engine.Python) {
		t.Skip("Python is not set up: run make setup")
	}
	eng, err := engine.New(engine.Config{Cache: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	const secret = "a secret that is long enough for a key"
	agents := newAgents(eng)
	defer agents.Close()
	s, err := web.New(web.Config{Engine: eng, MCP: agents, Keys: []*web.Key{{Name: "k", Hash: web.HashKey(secret), Policy: web.Policy{
		Mailbox: []limits.Channel{{Name: "notes", Mode: limits.ChannelBoth}},
		Shared:  []limits.Shared{{Name: "board", Path: "/shared/board", Mode: limits.SharedReadWrite}},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h := httptest.NewServer(s)
	defer h.Close()
	post := func(session, body string) (string, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "POST", h.URL+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		res, err := h.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.Header.Get("Mcp-Session-Id"), string(b)
	}
	// agent connects, and gives what runs code on that connection.
	agent := func() func(code string) string {
		id, _ := post("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
		post(id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		return func(code string) string {
			_, answer := post(id, fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run_code","arguments":{"code":%q,"language":"python"}}}`, code))
			return answer
		}
	}
	a, b := agent(), agent()
	if answer := a("tools.notes.send('hello from a')\nopen('/shared/board/f', 'w').write('x')"); strings.Contains(answer, "Error") {
		t.Fatal(answer)
	}
	if answer := b("print(tools.notes.receive(timeout=5), open('/shared/board/f').read())"); !strings.Contains(answer, "hello from a x") {
		t.Error(answer)
	}
}
