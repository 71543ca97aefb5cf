// Package mcptools offers the tools of other MCP servers to programs. A server is started by the operator's policy, as
// a process of its own, and asked once what tools it has; after that no program can start anything.
//
// A [Servers] may be used from several goroutines, and so may the tools.
package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/limits"
)

// startTimeout bounds how long a server may take until it has said what its tools are. Some are downloaded first.
const startTimeout = 60 * time.Second

// Inherited are the variables of ours that a server gets.
var Inherited = []string{"PATH", "HOME", "USER", "LANG", "TMPDIR", "SystemRoot", "APPDATA", "LOCALAPPDATA", "TEMP", "PATHEXT"}

// Servers are running MCP servers.
type Servers struct{ sessions []*mcp.ClientSession }

// Start starts the servers that t names and adds their tools to reg, each as SERVER.TOOL. What they print on their standard
// error goes to errs. The servers end by Close.
func Start(ctx context.Context, t *limits.Tools, reg *hostfuncs.Registry, errs io.Writer) (_ *Servers, err error) {
	s := &Servers{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if t == nil {
		return s, nil
	}
	reg.MaxCalls = int(t.Calls)
	for _, m := range t.MCP {
		cmd := exec.Command(m.Command[0], m.Command[1:]...)
		cmd.Stderr = errs
		cmd.Env = environment(m.Env)
		if err := s.add(ctx, m, &mcp.CommandTransport{Command: cmd, TerminateDuration: time.Second}, reg); err != nil {
			return nil, fmt.Errorf("MCP server %s (%s): %w", m.Name, m.Command[0], err)
		}
	}
	return s, nil
}

func environment(given map[string]string) []string {
	env := []string{}
	for _, name := range Inherited {
		if v, ok := os.LookupEnv(name); ok && given[name] == "" {
			env = append(env, name+"="+v)
		}
	}
	for k, v := range given {
		env = append(env, k+"="+v)
	}
	return env
}

// Close ends the servers: their input ends, upon which they do. Behind a second wall that is all that can be done.
func (s *Servers) Close() error {
	var errs []error
	for _, session := range s.sessions {
		err := session.Close()
		if _, exited := errors.AsType[*exec.ExitError](err); exited || errors.Is(err, os.ErrPermission) {
			err = nil // how it takes its end is its own affair, and waiting for it may be forbidden by now
		}
		errs = append(errs, err)
	}
	s.sessions = nil
	return errors.Join(errs...)
}

// add connects to one server and offers its tools.
func (s *Servers) add(ctx context.Context, m limits.MCPServer, transport mcp.Transport, reg *hostfuncs.Registry) error {
	start, stop := context.WithTimeout(ctx, startTimeout)
	defer stop()
	client := mcp.NewClient(&mcp.Implementation{Name: "cloche", Version: "1"}, nil)
	session, err := client.Connect(start, transport, nil)
	if err != nil {
		return err
	}
	s.sessions = append(s.sessions, session)
	left := slices.Clone(m.Only)
	for tool, err := range session.Tools(start, nil) {
		if err != nil {
			return fmt.Errorf("list tools: %w", err)
		}
		if m.Only != nil && !slices.Contains(m.Only, tool.Name) {
			continue
		}
		left = slices.DeleteFunc(left, func(n string) bool { return n == tool.Name })
		if err := offer(reg, m, session, tool); err != nil {
			return err
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("it has no tool %s", strings.Join(left, ", "))
	}
	return nil
}

// offer adds one tool.
func offer(reg *hostfuncs.Registry, m limits.MCPServer, session *mcp.ClientSession, tool *mcp.Tool) error {
	input, err := json.Marshal(tool.InputSchema)
	if err != nil {
		return fmt.Errorf("tool %s: %w", tool.Name, err)
	}
	t := hostfuncs.Tool{
		Name: m.Name + "." + memberName(tool.Name), Description: tool.Description, Input: input,
		MaxCalls: int(m.Calls), Timeout: m.Timeout,
		Call: func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
			result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool.Name, Arguments: arguments})
			if err != nil {
				return nil, err
			}
			return answer(result)
		},
	}
	if tool.OutputSchema != nil {
		if t.Output, err = json.Marshal(tool.OutputSchema); err != nil {
			return fmt.Errorf("tool %s: %w", tool.Name, err)
		}
	}
	return reg.Add(t)
}

// memberName makes an identifier of a tool's name: get-weather becomes get_weather.
func memberName(name string) string {
	fit := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}
	name = strings.Map(fit, name)
	if name == "" || name[0] == '_' || name[0] >= '0' && name[0] <= '9' {
		name = "tool_" + strings.TrimLeft(name, "_")
	}
	return name
}

// answer is a result as programs get it: the structured content if there is some, a text as a text, and else a list of
// contents as the protocol writes them. What a failed tool says is meant for whoever called it.
func answer(r *mcp.CallToolResult) (json.RawMessage, error) {
	var texts []string
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			texts = append(texts, t.Text)
		}
	}
	if r.IsError {
		message := strings.TrimSpace(strings.Join(texts, "\n"))
		if message == "" {
			message = "the tool failed"
		}
		return nil, hostfuncs.Refuse("ToolError", "%.4000s", message)
	}
	switch {
	case r.StructuredContent != nil:
		return json.Marshal(r.StructuredContent)
	case len(texts) == 1 && len(r.Content) == 1:
		return json.Marshal(texts[0])
	}
	return json.Marshal(r.Content)
}
