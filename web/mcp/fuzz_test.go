package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/web/mcp"
)

// FuzzServe sends any bytes to the server: whatever they are, it answers with messages, a line each, and comes to an
// end. The engine has a cache that is no folder, so that no input runs anything.
func FuzzServe(f *testing.F) {
	for _, s := range []string{
		"", "\n\n", "{}", "[]", "null\n", "{\"jsonrpc\":\"2.0\"}\n", hello, hello + runLine(1, "1"), hello + runLine(1, "1") + runLine(1, "2"),
		hello + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"\u0000","session_id":"/"}}}` + "\n",
		hello + `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"cloche://sessions/python/%zz"}}` + "\n",
		hello + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}` + "\n",
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":null,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}` + "\n", `{"jsonrpc":"1.0","id":1,"method":"ping","params":[1]}` + "\n",
	} {
		f.Add([]byte(s))
	}
	eng, err := engine.New(engine.Config{Cache: "fuzz_test.go"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		var out bytes.Buffer
		mcp.Serve(ctx, mcp.Config{Engine: eng}, bytes.NewReader(in), &out) // its error is that of the client
		if ctx.Err() != nil {
			t.Fatal("it did not end")
		}
		lines := bufio.NewScanner(&out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var m map[string]any
			if err := json.Unmarshal(lines.Bytes(), &m); err != nil || m["jsonrpc"] != "2.0" {
				t.Fatalf("not a message: %.200q", lines.Bytes())
			}
		}
		if lines.Err() != nil {
			t.Fatal(lines.Err())
		}
	})
}
