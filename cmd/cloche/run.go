package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/cloche-dev/cloche/cmd/cloche/internal/wall"
	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs/fetch"
)

type runCmd struct {
	File    []string `arg:"" optional:"" help:"The program; \"-\" or none reads it from standard input. The language follows the suffix: .py, .js, .mjs, .ts."`
	Code    *string  `short:"c" placeholder:"CODE" help:"Run this text; the value of a last expression is printed."`
	Lang    string   `enum:",python,javascript,typescript" default:"" placeholder:"LANGUAGE" help:"python, javascript or typescript. Default: by suffix, else python."`
	Learn   string   `placeholder:"FILE.toml" help:"Write the smallest policy that the run needs to this new file: limits with head-room, servers that it asked for (allowed or not), mounts, tools."`
	Receipt string   `placeholder:"FILE.json" help:"Write to this new file all that decides what the run does, and what it did: cloche replay proves it. The program's seed and clock are its own then."`
	Session bool     `help:"Run each FILE as one turn of a session that keeps its variables and files. A turn that fails is reported, and the next one runs."`
	Autopsy bool     `help:"Say of a program that a limit or a trap stops what it was doing: where it was, its largest names, open files, last calls."`
	JSON    bool     `name:"json" help:"Print one Result as JSON (with --session one per line) instead of the program's output."`
	Stdin   string   `placeholder:"FILE" help:"Standard input of the program; \"-\" passes on ours. Default: empty."`

	sandboxFlags `embed:""`
}

func (runCmd) Help() string {
	return `The program sees no file, variable or network of this machine but what the flags and the policy give it. Its output is passed on as it comes.

Limits are taken from flags, else from the preset, else from the policy, else from the defaults (timeout 30s, memory 512MiB, output 1MiB, disk 64MiB).

With --session, the exit status is that of the first turn that did not end well.

` + exitHelp
}

// Run runs the program or the turns of the session.
func (c *runCmd) Run(a *app) (err error) {
	programs, err := c.programs(a.in)
	if err != nil {
		return err
	}
	p, err := c.policy(a)
	if err != nil {
		return err
	}
	o, err := c.options(p)
	if err != nil {
		return err
	}
	if c.Autopsy && o.Autopsy == 0 {
		o.Autopsy = time.Minute // it is asked at once
	}
	if c.Receipt != "" && len(o.Mounts)+len(o.Shared) > 0 {
		return usagef("--receipt cannot vouch for what is mounted or shared, since others may change it: give the program copies of the files with --file")
	}
	var out *outFolder
	if c.Out != "" {
		if out, err = openOut(c.Out, p.limits.DiskBytes+p.limits.ResultBytes); err != nil {
			return err
		}
		out.leaveMounted(p.mounts)
		defer func() { err = errors.Join(err, out.Close()) }()
	}
	stdin, closeStdin, err := openStdin(c.Stdin, a.in)
	if err != nil {
		return err
	}
	defer closeStdin()

	eng, err := a.engine(p.limits)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	tools, stop, err := p.startTools(a)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	o.Tools = tools
	if c.Learn != "" || c.Receipt != "" {
		if err := try(a, eng, o, programs[0].language); err != nil {
			return err
		}
	}
	var learned *lesson
	if c.Learn != "" {
		learned = &lesson{given: p}
		if o.Network == nil {
			o.Network = &fetch.Policy{} // nothing is allowed, but what is asked for is on record
		}
		f, err := newFile("--learn", c.Learn)
		if err != nil {
			return err
		}
		defer func() {
			text, failed := learned.policy()
			_, wrote := f.Write(text)
			err = errors.Join(err, failed, wrote, f.Close())
		}()
	}
	var receipt *os.File
	if c.Receipt != "" {
		if receipt, err = newFile("--receipt", c.Receipt); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, closeReceipt(receipt)) }()
	}
	if err := c.raiseWall(a, eng, p, programs[0].language, wall.Config{}); err != nil {
		return err
	}
	r := &runner{app: a, cmd: c, eng: eng, out: out, stdin: stdin, learned: learned, receipt: receipt}
	if c.Session {
		return r.session(o, programs)
	}
	return r.once(o, programs[0])
}

// try makes a sandbox and drops it, so that a run that would be refused is refused before files are made for what it writes: once
// the second wall stands they could not be taken away.
func try(a *app, eng *engine.Engine, o engine.Options, language string) error {
	o.Language = language
	s, err := eng.Open(a.ctx, o)
	if err != nil {
		return err
	}
	return s.Close()
}

func openStdin(name string, ours io.Reader) (io.Reader, func() error, error) {
	switch name {
	case "":
		return nil, func() error { return nil }, nil
	case "-":
		return ours, func() error { return nil }, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, usageError{fmt.Errorf("--stdin: %w", err)}
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, nil, errors.Join(usagef("--stdin: %s is a folder", name), f.Close())
	}
	return f, f.Close, nil
}

// runner runs programs and says how they went.
type runner struct {
	*app
	cmd   *runCmd
	eng   *engine.Engine
	out   *outFolder
	stdin io.Reader

	learned *lesson  // nil: nothing is to be learned
	receipt *os.File // nil: none is to be written
}

func (r *runner) turn(p program) engine.Turn {
	t := engine.Turn{Code: p.code, Name: p.name, Args: r.cmd.Args, Stdin: r.stdin}
	if len(r.cmd.Inputs) > 0 {
		t.Inputs = map[string]any{}
		for _, in := range r.cmd.Inputs {
			t.Inputs[in.name] = in.value
		}
	}
	if !r.cmd.JSON {
		t.Stdout, t.Stderr = onScreen(r.app.out), onScreen(r.err)
	}
	return t
}

func (r *runner) once(o engine.Options, p program) error {
	t := r.turn(p)
	res, err := r.eng.Run(r.ctx, engine.Job{
		Language: p.language, Code: t.Code, Name: t.Name, Args: t.Args, Env: o.Env, Stdin: t.Stdin, Inputs: t.Inputs,
		Files: o.Files, Mounts: o.Mounts, Shared: o.Shared, Seed: o.Seed, Clock: o.Clock, Network: o.Network, Tools: o.Tools, Stdout: t.Stdout, Stderr: t.Stderr,
		Packages: o.Packages, Review: o.Review, Template: o.Template, Receipt: r.receipt != nil, Autopsy: o.Autopsy,
	})
	if err != nil {
		return err
	}
	if r.receipt != nil {
		if err := writeReceipt(r.receipt, res); err != nil {
			return err
		}
	}
	return r.report(p, res, res.Files())
}

func (r *runner) session(o engine.Options, programs []program) (err error) {
	o.Language = programs[0].language
	s, err := r.eng.Open(r.ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	first := error(nil)
	for _, p := range programs {
		res, err := s.Run(r.ctx, r.turn(p))
		if err != nil {
			return err
		}
		err = r.report(p, res, s.Files())
		if _, bad := errors.AsType[statusError](err); err != nil && !bad {
			return err
		}
		if first == nil {
			first = err
		}
		if res.Status == engine.StatusCancelled {
			break
		}
	}
	return first
}
