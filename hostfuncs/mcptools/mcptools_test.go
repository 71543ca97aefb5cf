package mcptools_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/hostfuncs/mcptools"
	"github.com/cloche-dev/cloche/limits"
)

// asServer makes the test's own binary a server.
const asServer = "CLOCHE_TEST_MCP_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		serve()
		return
	}
	os.Exit(m.Run())
}

type pair struct {
	A int `json:"a" jsonschema:"the first number"`
	B int `json:"b,omitempty"`
}

type sum struct {
	Sum int `json:"sum"`
}

func serve() {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "Add two numbers."}, func(_ context.Context, _ *mcp.CallToolRequest, in pair) (*mcp.CallToolResult, sum, error) {
		if in.A < 0 {
			return nil, sum{}, fmt.Errorf("%d is negative", in.A)
		}
		return nil, sum{in.A + in.B}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "get-text"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		text := "hello " + os.Getenv("GREETING") + os.Getenv("SECRET_OF_OURS")
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "1st"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "a"}, &mcp.ImageContent{MIMEType: "image/png", Data: []byte("png")}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "hang"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	fmt.Fprintln(os.Stderr, "serving")
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(3)
	}
}

func start(t *testing.T, change func(*limits.MCPServer)) (*hostfuncs.Registry, error) {
	t.Helper()
	t.Setenv("SECRET_OF_OURS", "must not be told")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := limits.MCPServer{Name: "demo", Command: []string{self, "-test.run=none"}, Env: map[string]string{asServer: "1", "GREETING": "you"}}
	if change != nil {
		change(&m)
	}
	reg := &hostfuncs.Registry{}
	servers, err := mcptools.Start(t.Context(), &limits.Tools{Calls: 50, MCP: []limits.MCPServer{m}}, reg, nil)
	if err == nil {
		t.Cleanup(func() {
			if err := servers.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return reg, err
}

func TestServer(t *testing.T) {
	reg, err := start(t, func(m *limits.MCPServer) { m.Calls, m.Timeout = 7, 300*time.Millisecond })
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		`demo.add {"a":1,"b":2}`: `{"sum":3}`,
		`demo.add {"a":-1}`:      `!ToolError: -1 is negative`,
		`demo.get_text {}`:       `"hello you"`,
		`demo.tool_1st {}`:       `[{"type":"text","text":"a"},{"type":"image","mimeType":"image/png","data":"cG5n"}]`,
		`demo.hang {}`:           `!context deadline exceeded`,
	}
	got := map[string]string{}
	tools := map[string]hostfuncs.Tool{}
	for _, tool := range reg.Tools() {
		tools[tool.Name] = tool
		if tool.MaxCalls != 7 || tool.Timeout != 300*time.Millisecond {
			t.Errorf("%s has budgets %d, %s", tool.Name, tool.MaxCalls, tool.Timeout)
		}
	}
	for call := range want {
		name, arguments, _ := strings.Cut(call, " ")
		ctx, stop := t.Context(), context.CancelFunc(func() {})
		if name == "demo.hang" {
			ctx, stop = context.WithTimeout(t.Context(), 50*time.Millisecond)
		}
		result, err := tools[name].Call(ctx, []byte(arguments))
		stop()
		if got[call] = string(result); err != nil {
			got[call] = "!" + err.Error()
		}
		if name == "demo.hang" && errors.Is(err, context.DeadlineExceeded) {
			got[call] = want[call]
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("results (-want +got):\n%s", d)
	}
	declared := reg.TypeScript()
	for _, line := range []string{"/** Add two numbers. */", "add(args: { a: number; b?: number }): Promise<{ sum: number }>;"} {
		if !strings.Contains(declared, line) {
			t.Errorf("%q is not in\n%s", line, declared)
		}
	}
	if reg.MaxCalls != 50 {
		t.Errorf("a run may make %d calls", reg.MaxCalls)
	}
}

func TestStartFails(t *testing.T) {
	for want, change := range map[string]func(*limits.MCPServer){
		"MCP server demo (/nowhere/server): ": func(m *limits.MCPServer) { m.Command = []string{"/nowhere/server"} },
		"it has no tool subtract":             func(m *limits.MCPServer) { m.Only = []string{"add", "subtract"} },
		"a name is an identifier":             func(m *limits.MCPServer) { m.Name = "not a name" },
		"MCP server demo":                     func(m *limits.MCPServer) { m.Env = nil }, // no server, but a test binary
	} {
		if _, err := start(t, change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	reg, err := start(t, func(m *limits.MCPServer) { m.Only = []string{"add"} })
	if err != nil || len(reg.Tools()) != 1 {
		t.Errorf("%d tools, error %v", len(reg.Tools()), err)
	}
}
