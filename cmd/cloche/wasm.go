package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/wasi"
)

type wasmCmd struct {
	Module string   `arg:"" help:"A wasm32-wasip1 command module."`
	Args   []string `arg:"" optional:"" passthrough:"" help:"Its arguments."`

	Mounts  []mountFlag  `name:"mount" sep:"none" placeholder:"HOST:GUEST[:MODE]" help:"Show a host folder, or the files in HOST.zip. MODE is ro (default), rw or overlay. Repeatable. At / it takes the place of the sandbox's own files."`
	Scratch bool         `help:"Give it files in memory (/data, /tmp) without any mount. With neither it has no file tree at all."`
	Env     []pairFlag   `sep:"none" placeholder:"K=V" help:"An environment variable. Repeatable."`
	Stdin   string       `placeholder:"FILE" help:"Standard input; \"-\" passes on ours. Default: empty."`
	Seed    *uint64      `placeholder:"N" help:"Fix the random numbers."`
	Clock   *clockFlag   `placeholder:"TIME" help:"Start a clock of the program's own at this time (RFC 3339), so that it sees the same times whenever it runs. Sleeping takes no time then."`
	Timeout durationFlag `placeholder:"30s" help:"Wall time."`
	Memory  sizeFlag     `placeholder:"512MiB" help:"Linear memory."`
	Fuel    countFlag    `placeholder:"N" help:"Instructions."`
	Disk    sizeFlag     `placeholder:"64MiB" help:"Bytes in the sandbox's own files."`
	Output  sizeFlag     `placeholder:"1MiB" help:"Bytes of output, and as many of error output; more is dropped."`
	NoWall  bool         `help:"Leave out the second wall (see cloche run --help)."`
}

func (wasmCmd) Help() string {
	return `For tests and tinkering: any command module under the same limits, files and clock as the interpreters. Run only modules that you trust as you trust a program: the compiler is part of what must not fail, and guests that come with Cloche are fixed by their hash.

` + exitHelp
}

// Run runs the module.
func (c *wasmCmd) Run(a *app) (err error) {
	binary, err := readHost(c.Module, maxModule)
	if err != nil {
		return usageError{fmt.Errorf("read the module: %w", err)}
	}
	cmd := engine.Command{
		Binary: binary, Args: append([]string{filepath.Base(c.Module)}, c.Args...), Env: map[string]string{},
		Stdout: a.out, Stderr: a.err, Seed: c.Seed, Scratch: c.Scratch,
		Limits: limits.Limits{
			Timeout: time.Duration(c.Timeout), MemoryBytes: uint64(c.Memory), Fuel: uint64(c.Fuel),
			DiskBytes: uint64(c.Disk), OutputBytes: uint64(c.Output),
		},
	}
	if c.Clock != nil {
		cmd.Clock = wasi.NewFixedClock(time.Time(*c.Clock), 0)
	}
	var errs []error
	for _, kv := range c.Env {
		errs = append(errs, limits.CheckEnv(kv.name, kv.value))
		cmd.Env[kv.name] = kv.value
	}
	for _, f := range c.Mounts {
		m, err := absolute(limits.Mount(f))
		errs = append(errs, err)
		cmd.Mounts = append(cmd.Mounts, m)
	}
	if err := errors.Join(errs...); err != nil {
		return usageError{err}
	}
	stdin, closeStdin, err := openStdin(c.Stdin, a.in)
	if err != nil {
		return err
	}
	defer closeStdin()
	cmd.Stdin = stdin
	if !c.NoWall {
		w := wallFor(cmd.Mounts, nil, "")
		w.Code = true // the module is compiled behind it
		if _, err := raise(w); err != nil {
			return err
		}
	}
	res, err := engine.RunCommand(a.ctx, cmd)
	if errors.Is(err, engine.ErrInvalid) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	if res.Error != nil {
		fmt.Fprintf(a.err, "cloche: %s\n", printable(res.Error.Value))
	}
	if code := exitStatus(res); code != 0 {
		return statusError(code)
	}
	return nil
}
