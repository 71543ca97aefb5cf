package mcp

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

// Programs that say what they find in a sandbox.
var (
	//go:embed describe.py
	describePython string
	//go:embed describe.js
	describeJavaScript string
)

// environment is what the interpreters said of themselves. They are asked once.
type environment struct {
	mu        sync.Mutex
	languages map[string]*languageInfo
}

type languageInfo struct {
	Language string   `json:"language"`
	Version  string   `json:"version"`
	Packages []string `json:"packages,omitempty" jsonschema:"name and version of what can be imported beside the standard library"`
	Modules  []string `json:"modules,omitempty" jsonschema:"built-in modules that are there"`
	Notes    []string `json:"notes"`
}

type describeOutput struct {
	Languages     []*languageInfo `json:"languages"`
	WorkingFolder string          `json:"working_folder"`
	Mounts        []mountInfo     `json:"mounts,omitempty" jsonschema:"folders that every sandbox sees"`
	Limits        limitInfo       `json:"limits" jsonschema:"limits of a call, and of a session's memory and disk"`
	Network       string          `json:"network"`
	Sessions      []string        `json:"sessions" jsonschema:"the sessions that are open now"`
	MaxSessions   int             `json:"max_sessions"`
}

type mountInfo struct {
	Path string `json:"path"`
	Mode string `json:"mode"`
}

type limitInfo struct {
	TimeoutMS   int64  `json:"timeout_ms"`
	Fuel        uint64 `json:"fuel" jsonschema:"instructions"`
	MemoryBytes uint64 `json:"memory_bytes"`
	DiskBytes   uint64 `json:"disk_bytes"`
	Files       uint64 `json:"files"`
	OutputBytes uint64 `json:"output_bytes" jsonschema:"of stdout, and as many of stderr; more is dropped"`
}

func (c *connection) addEnvironment(s *sdk.Server) {
	no := false
	sdk.AddTool(s, &sdk.Tool{
		Name: "describe_environment", Title: "Describe the environment",
		Description: "Say which languages, packages and limits the sandbox has, and whether it has a network.",
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &no},
	}, c.describe)
}

func (c *connection) describe(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, describeOutput, error) {
	ctx, cancel := c.within(ctx)
	defer cancel()
	l := c.limits()
	out := describeOutput{
		WorkingFolder: "/data", Sessions: c.names(), MaxSessions: c.cfg.MaxSessions, Network: c.network(),
		Limits: limitInfo{
			TimeoutMS: l.Timeout.Milliseconds(), Fuel: l.Fuel, MemoryBytes: l.MemoryBytes, DiskBytes: l.DiskBytes,
			Files: l.Inodes, OutputBytes: l.OutputBytes,
		},
	}
	if out.Sessions == nil {
		out.Sessions = []string{}
	}
	for _, m := range c.cfg.Options.Mounts {
		out.Mounts = append(out.Mounts, mountInfo{m.Guest, string(m.Mode)})
	}
	for _, m := range c.cfg.Options.Shared {
		out.Mounts = append(out.Mounts, mountInfo{m.Folder.Path, string(m.Mode)})
	}
	for _, language := range []string{engine.Python, engine.JavaScript} {
		info, err := c.environment.of(ctx, c.cfg, language)
		if err != nil {
			return nil, describeOutput{}, err
		}
		out.Languages = append(out.Languages, info)
	}
	return nil, out, nil
}

// network says what leaves the sandbox.
func (c *connection) network() string {
	n := c.cfg.Options.Network
	if n == nil || len(n.Allow) == 0 {
		return "closed: no address can be reached"
	}
	var allowed []string
	for _, p := range n.Allow {
		allowed = append(allowed, p.String())
	}
	return "open for HTTP requests to: " + strings.Join(allowed, ", ")
}

// of asks the interpreter of a language, unless that was done before.
func (e *environment) of(ctx context.Context, cfg Config, language string) (*languageInfo, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if info := e.languages[language]; info != nil {
		return info, nil
	}
	code := map[string]string{engine.Python: describePython, engine.JavaScript: describeJavaScript}[language]
	end, err := cfg.Begin(ctx, language, code)
	if err != nil {
		return nil, err
	}
	res, err := cfg.Engine.Run(ctx, engine.Job{Language: language, Code: code, Limits: limits.Limits{OutputBytes: 256 << 10}})
	end(res, err)
	if err != nil {
		return nil, err
	}
	info := &languageInfo{Language: language}
	if err := json.Unmarshal([]byte(strings.TrimSpace(res.Stdout)), info); err != nil {
		return nil, fmt.Errorf("describe %s: the interpreter did not answer: %s", language, res.Status)
	}
	if e.languages == nil {
		e.languages = map[string]*languageInfo{}
	}
	e.languages[language] = info
	return info, nil
}
