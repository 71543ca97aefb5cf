package main

import (
	"errors"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/web/mcp"
)

type mcpCmd struct {
	Mounts []mountFlag `name:"mount" sep:"none" placeholder:"HOST:GUEST[:MODE]" help:"Show a host folder, or the files in HOST.zip, in every sandbox. MODE is ro (default), rw or overlay. Repeatable."`
	Env    []pairFlag  `sep:"none" placeholder:"K=V" help:"An environment variable of the programs, which see none of ours. Repeatable."`

	Allow    []string `sep:"none" placeholder:"PATTERN" help:"A URL pattern that programs may fetch from, such as https://api.example.com/*. Repeatable; default: no network."`
	Packages []string `name:"package" sep:"none" placeholder:"NAME" help:"A pure-Python package that programs can import. Repeatable."`

	Policy   string       `type:"existingfile" placeholder:"FILE.toml" help:"Limits, presets, mounts and environment."`
	Preset   string       `placeholder:"NAME" help:"A named set of limits: tiny, script, data, or one of the policy's."`
	Timeout  durationFlag `placeholder:"30s" help:"Wall time of a call, waiting included."`
	Memory   sizeFlag     `placeholder:"512MiB" help:"Linear memory of a sandbox."`
	Disk     sizeFlag     `placeholder:"64MiB" help:"Bytes in a sandbox's own files."`
	Output   sizeFlag     `placeholder:"64KiB" help:"Bytes of a call's output, and as many of error output; more is dropped."`
	NoWall   bool         `help:"Leave out the second wall (see cloche run --help)."`
	Sessions int          `default:"8" placeholder:"N" help:"Sessions that the client can have at once."`
}

func (mcpCmd) Help() string {
	return `Serves the Model Context Protocol on standard input and output, until the input ends: a client, such as an agent, starts it and calls the tools run_code, list_files, read_file, write_file, checkpoint, rollback and describe_environment. Standard output has the protocol's messages and nothing else; what there is to tell a person goes to standard error.

Limits are taken from flags, else from the preset, else from the policy, else from the defaults, but that output is then cut after 64KiB, since it is for a model to read.

` + exitHelpOther
}

// modelOutput is how much output a model is given where nobody said otherwise.
const modelOutput = 64 << 10

// Run serves until standard input ends.
func (c *mcpCmd) Run(a *app) (err error) {
	if c.Sessions < 1 || c.Sessions > 1000 {
		return usagef("--sessions %d: use 1 to 1000", c.Sessions)
	}
	if c.Policy == "" && c.Preset == "" && c.Output == 0 {
		c.Output = modelOutput
	}
	flags := sandboxFlags{
		Mounts: c.Mounts, Env: c.Env, Allow: c.Allow, Packages: c.Packages, Policy: c.Policy, Preset: c.Preset,
		Timeout: c.Timeout, Memory: c.Memory, Disk: c.Disk, Output: c.Output,
	}
	p, err := flags.policy(a)
	if err != nil {
		return err
	}
	eng, err := engine.New(engine.Config{
		Cache: a.getenv("CLOCHE_CACHE"), Limits: p.limits, MaxIdle: 1, MaxSandboxes: c.Sessions + 1, Progress: newProgress(a.err),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	if _, err := eng.PreparePackages(a.ctx, p.packages...); err != nil {
		return err
	}
	tools, stop, err := p.startTools(a)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if !c.NoWall {
		if err := a.raiseIfReady(eng, wallFor(p.mounts, p.network, "")); err != nil {
			return err
		}
	}
	return mcp.Serve(a.ctx, mcp.Config{
		Engine: eng, Options: engine.Options{Env: p.env, Mounts: p.mounts, Shared: p.shared, Packages: p.packages, Review: p.review, Network: p.network, Tools: tools, Autopsy: p.autopsy},
		MaxSessions: c.Sessions, Version: version(),
	}, a.in, a.out)
}
