package limits

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// Tools is what [tools] of a policy says.
type Tools struct {
	// Calls is how many calls of tools a run may make; zero means as many as it may make of the host.
	Calls uint64
	// MCP are servers of the Model Context Protocol whose tools programs may call, sorted by name.
	MCP []MCPServer
}

// MCPServer is one such server. It is started when Cloche starts, and speaks on its standard input and output.
type MCPServer struct {
	// Name is the namespace of its tools in programs.
	Name string
	// Command is the program and its arguments.
	Command []string
	// Env is added to the few variables of ours that it gets (PATH, HOME and their like).
	Env map[string]string
	// Only are the names of the tools that are offered. Nil: all.
	Only []string
	// Calls is how often a run may call each of its tools, Timeout how long a call may take; zero means no bound of
	// their own.
	Calls   uint64
	Timeout time.Duration
}

// Has says whether there is a server of that name.
func (t *Tools) Has(name string) bool {
	return t != nil && slices.ContainsFunc(t.MCP, func(m MCPServer) bool { return m.Name == name })
}

// maxToolCalls bounds the budgets of [tools].
const maxToolCalls = 1_000_000_000

// tools reads [tools].
func (d *document) tools(v toml.Primitive) *Tools {
	tools := &Tools{}
	t := d.table("tools", v)
	for _, key := range d.order(t) {
		switch key {
		case "calls":
			tools.Calls = d.number("tools", key, t[key], kindCount, 1, maxToolCalls)
		case "mcp":
			servers := d.table("tools.mcp", t[key])
			for _, name := range d.order(servers) {
				tools.MCP = append(tools.MCP, d.mcpServer(name, servers[name]))
			}
		default:
			d.failf(t[key], "unknown key %q in [tools]: there are calls and mcp", key)
		}
	}
	slices.SortFunc(tools.MCP, func(a, b MCPServer) int { return strings.Compare(a.Name, b.Name) })
	return tools
}

func (d *document) mcpServer(name string, v toml.Primitive) MCPServer {
	s := MCPServer{Name: name}
	where := fmt.Sprintf("tools.mcp.%s", name)
	t := d.table(where, v)
	for _, key := range d.order(t) {
		switch key {
		case "command":
			if program, ok := d.value(t[key]).(string); ok {
				s.Command = []string{program}
			} else {
				s.Command = d.texts(where, key, t[key])
			}
		case "env":
			s.Env = d.env(t[key])
		case "only":
			s.Only = d.texts(where, key, t[key])
		case "calls":
			s.Calls = d.number(where, key, t[key], kindCount, 1, maxToolCalls)
		case "timeout":
			s.Timeout = time.Duration(d.number(where, key, t[key], kindDuration, uint64(time.Millisecond), uint64(24*time.Hour)))
		default:
			d.failf(t[key], "unknown key %q in [%s]: there are command, env, only, calls and timeout", key, where)
		}
	}
	if t != nil && (len(s.Command) == 0 || s.Command[0] == "") {
		d.failf(v, `[%s] has no command: write command = ["program", "argument"]`, where)
	}
	return s
}
