package main

import (
	"errors"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/web/mcp"
)

type mcpCmd struct {
	Policy   string `type:"existingfile" placeholder:"FILE.toml" help:"Limits, presets, mounts and environment."`
	Preset   string `placeholder:"NAME" help:"A named set of limits: tiny, script, data, or one of the policy's."`
	Sessions int    `default:"8" placeholder:"N" help:"Sessions that the client can have at once."`
}

func (mcpCmd) Help() string {
	return `Serves the Model Context Protocol on standard input and output, until the input ends: a client, such as an agent, starts it and calls the tools run_code, list_files, read_file, write_file and describe_environment. Standard output has the protocol's messages and nothing else; what there is to tell a person goes to standard error.

Limits are those of the preset, else of the policy, else the defaults, but that output is cut after 64KiB, since it is for a model to read.

` + exitHelpOther
}

// modelOutput is how much output a model is given where nobody said otherwise.
const modelOutput = 64 << 10

// Run serves until standard input ends.
func (c *mcpCmd) Run(a *app) (err error) {
	if c.Sessions < 1 || c.Sessions > 1000 {
		return usagef("--sessions %d: use 1 to 1000", c.Sessions)
	}
	run := runCmd{Policy: c.Policy, Preset: c.Preset}
	p, err := run.policy(a)
	if err != nil {
		return err
	}
	if c.Policy == "" && c.Preset == "" {
		p.limits.OutputBytes = min(p.limits.OutputBytes, modelOutput)
	}
	eng, err := engine.New(engine.Config{
		Cache: a.getenv("CLOCHE_CACHE"), Limits: p.limits, MaxIdle: 1, MaxSandboxes: c.Sessions + 1, Progress: newProgress(a.err),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	return mcp.Serve(a.ctx, mcp.Config{
		Engine: eng, Options: engine.Options{Env: p.env, Mounts: p.mounts, Limits: limits.Limits{}},
		MaxSessions: c.Sessions, Version: version(),
	}, a.in, a.out)
}
