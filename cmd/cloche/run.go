package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cloche-dev/cloche/cmd/cloche/internal/wall"
	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs/fetch"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/runtimes"
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

// sandboxFlags say what a sandbox is given, and its limits.
type sandboxFlags struct {
	Files    []fileFlag  `name:"file" sep:"none" placeholder:"GUEST=HOST" help:"Copy a host file in; HOST alone keeps its name. A relative guest path is under /data, the working folder. Repeatable."`
	Mounts   []mountFlag `name:"mount" sep:"none" placeholder:"HOST:GUEST[:MODE]" help:"Show a host folder, or the files in HOST.zip. MODE is ro (default), rw or overlay (changes stay in the sandbox). Repeatable."`
	Out      string      `placeholder:"DIR" help:"Write files that the program created or changed, and its charts as figure-1.png and so on, there."`
	Args     []string    `name:"arg" sep:"none" placeholder:"A" help:"An argument of the program. Repeatable."`
	Env      []pairFlag  `sep:"none" placeholder:"K=V" help:"An environment variable of the program, which sees none of ours. Repeatable."`
	Inputs   []jsonFlag  `name:"input" sep:"none" placeholder:"NAME=JSON" help:"A global variable of the program. Repeatable."`
	Packages []string    `name:"package" sep:"none" placeholder:"NAME" help:"A pure-Python package that the program can import, with versions if need be (httpx>=0.27). pip downloads it once. Repeatable."`
	Template string      `placeholder:"NAME" help:"Start from a template: an interpreter in which a program has run already. See cloche template."`
	Allow    []string    `sep:"none" placeholder:"PATTERN" help:"What the program may fetch, besides what the policy allows: a host (api.example.com, *.example.org, 127.0.0.1:8000), a URL (https://api.example.com/v1/*), or * for any public server. Repeatable. Default: no network."`
	Seed     *uint64     `placeholder:"N" help:"Fix the random numbers."`
	Clock    *time.Time  `format:"2006-01-02T15:04:05Z07:00" placeholder:"TIME" help:"Start a clock of the program's own at this time (RFC 3339): it sees the same times whenever it runs, and sleeping takes none."`

	Policy  string       `type:"existingfile" placeholder:"FILE.toml" help:"Limits, presets, mounts, environment, network, packages and what a review denies."`
	Preset  string       `placeholder:"NAME" help:"A named set of limits: tiny, script, data, or one of the policy's."`
	Timeout durationFlag `placeholder:"30s" help:"Wall time, waiting included."`
	Memory  sizeFlag     `placeholder:"512MiB" help:"Linear memory of the sandbox."`
	Fuel    countFlag    `placeholder:"N" help:"Instructions."`
	Disk    sizeFlag     `placeholder:"64MiB" help:"Bytes in the sandbox's own files."`
	Output  sizeFlag     `placeholder:"1MiB" help:"Bytes of output, and as many of error output; more is dropped."`
	NoWall  bool         `help:"Leave out the second wall, which lets the operating system refuse this process what the sandbox does not need (see cloche doctor)."`
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

// program is one text to run.
type program struct {
	name     string // in tracebacks; "" for the engine's choice
	language string
	code     string
	shows    bool // print the value of the last expression
}

// programs reads what is to run, and finds out its language.
func (c *runCmd) programs(stdin io.Reader) ([]program, error) {
	if c.Receipt != "" && c.Session {
		return nil, usagef("--receipt is for a run in a fresh sandbox, not for --session")
	}
	if c.Code != nil {
		if len(c.File) > 0 {
			return nil, usagef("-c and FILE exclude each other")
		}
		return []program{{language: c.languageOf(""), code: *c.Code, shows: true}}, nil
	}
	files := c.File
	if len(files) == 0 {
		files = []string{"-"}
	}
	if len(files) > 1 && !c.Session {
		return nil, usagef("%d files are given: only --session runs more than one; arguments of the program are given with --arg", len(files))
	}
	var programs []program
	stdinUsed := c.Stdin == "-"
	for _, name := range files {
		p := program{language: c.languageOf(name), shows: c.Session}
		if name == "-" {
			if stdinUsed {
				return nil, usagef("standard input is asked for twice")
			}
			stdinUsed = true
			b, err := io.ReadAll(stdin)
			if err != nil {
				return nil, fmt.Errorf("read the program: %w", err)
			}
			p.code = string(b)
		} else {
			b, err := os.ReadFile(name)
			if err != nil {
				return nil, usageError{fmt.Errorf("read the program: %w", err)}
			}
			p.code, p.name = string(b), filepath.Base(name)
		}
		programs = append(programs, p)
	}
	if c.Session {
		for _, p := range programs[1:] {
			if runtimeName(p.language) != runtimeName(programs[0].language) {
				return nil, usagef("a session has one language: %s is not %s", p.language, programs[0].language)
			}
		}
	}
	return programs, nil
}

var languages = map[string]string{
	".py": engine.Python, ".js": engine.JavaScript, ".mjs": engine.JavaScript, ".cjs": engine.JavaScript,
	".ts": engine.TypeScript, ".mts": engine.TypeScript, ".cts": engine.TypeScript, ".tsx": engine.TypeScript, ".jsx": engine.TypeScript,
}

func (c *runCmd) languageOf(file string) string {
	if c.Lang != "" {
		return c.Lang
	}
	if l, ok := languages[strings.ToLower(filepath.Ext(file))]; ok {
		return l
	}
	return engine.Python
}

// runtimeName is the interpreter of a language.
func runtimeName(language string) string {
	if language == engine.TypeScript {
		return engine.JavaScript
	}
	return language
}

// effective is what the policy and the flags give together.
type effective struct {
	limits   limits.Limits
	mounts   []limits.Mount
	env      map[string]string
	packages []string
	review   limits.Review
	network  *fetch.Policy
	secrets  []limits.NetworkSecret // of network, as they are written
	tools    *limits.Tools
	mailbox  []limits.Channel
	shared   []engine.SharedMount
	autopsy  time.Duration
}

func (c *sandboxFlags) policy(a *app) (effective, error) {
	policy := limits.DefaultPolicy()
	if c.Policy != "" {
		var err error
		if policy, err = limits.LoadPolicy(c.Policy); err != nil {
			return effective{}, usageError{err}
		}
	}
	base := policy.Limits
	if c.Preset != "" {
		var err error
		if base, err = policy.Preset(c.Preset); err != nil {
			return effective{}, usageError{err}
		}
	}
	flags := limits.Limits{
		Timeout: time.Duration(c.Timeout), MemoryBytes: uint64(c.Memory), Fuel: uint64(c.Fuel),
		DiskBytes: uint64(c.Disk), OutputBytes: uint64(c.Output),
	}
	e := effective{limits: flags.Or(base), env: map[string]string{}}
	errs := []error{flags.Validate()}

	e.packages, e.review = append(slices.Clone(policy.Packages), c.Packages...), policy.Review
	maps.Copy(e.env, policy.Env)
	for _, kv := range c.Env {
		errs = append(errs, limits.CheckEnv(kv.name, kv.value))
		e.env[kv.name] = kv.value
	}
	e.mounts = append(e.mounts, policy.Mounts...)
	for _, f := range c.Mounts {
		m, err := absolute(limits.Mount(f))
		errs = append(errs, err)
		e.mounts = append(e.mounts, m)
	}
	var err error
	e.network, err = network(a, policy.Network, c.Allow)
	if policy.Network != nil {
		e.secrets = policy.Network.Secrets
	}
	e.tools, e.mailbox, e.autopsy = policy.Tools, policy.Mailbox, policy.Autopsy
	var errShared error
	e.shared, errShared = engine.NewSharedFolders(policy.Shared)
	errs = append(errs, limits.CheckMounts(e.mounts), c.checkSecrets(a, e.mounts), err, errShared)
	if err := errors.Join(errs...); err != nil {
		return effective{}, usageError{err}
	}
	return e, nil
}

// network is what the policy and --allow let the program fetch.
func network(a *app, n *limits.Network, allow []string) (*fetch.Policy, error) {
	if len(allow) > 0 {
		both := limits.Network{}
		if n != nil {
			both = *n
		}
		both.Allow = append(slices.Clone(both.Allow), allow...)
		n = &both
	}
	return fetch.FromPolicy(n, a.getenv)
}

// absolute resolves the host path of a mount against the working folder, links included.
func absolute(m limits.Mount) (limits.Mount, error) {
	host, err := filepath.Abs(m.Host)
	if err != nil {
		return m, err
	}
	m.Host = host
	m = m.Resolve()
	info, err := os.Stat(m.Host)
	if err != nil {
		return m, fmt.Errorf("mount %s: %w", m.Guest, err)
	}
	if !info.IsDir() && !strings.EqualFold(filepath.Ext(m.Host), ".zip") {
		return m, fmt.Errorf("mount %s: %s is neither a folder nor a zip archive: copy a file in with --file", m.Guest, host)
	}
	return m, nil
}

// checkSecrets refuses mounts that show the cache, whose files are trusted, or the policy.
func (c *sandboxFlags) checkSecrets(a *app, mounts []limits.Mount) error {
	cache, err := a.openCache()
	if err != nil {
		return nil // the engine reports it
	}
	defer cache.Close()
	var errs []error
	for _, m := range mounts {
		if m.HostHolds(cache.Dir()) {
			errs = append(errs, fmt.Errorf("mount %s would show the cache folder %s to the guest", m.Guest, cache.Dir()))
		}
		if c.Policy != "" && m.HostHolds(c.Policy) {
			errs = append(errs, fmt.Errorf("mount %s would show the policy file %s to the guest", m.Guest, c.Policy))
		}
	}
	return errors.Join(errs...)
}

// options describe the sandbox. Host files are read now.
func (c *sandboxFlags) options(p effective) (engine.Options, error) {
	o := engine.Options{Env: p.env, Mounts: p.mounts, Shared: p.shared, Seed: c.Seed, Network: p.network, Packages: p.packages, Review: p.review, Template: c.Template, Autopsy: p.autopsy}
	if c.Clock != nil {
		o.Clock = *c.Clock
	}
	errs := []error{checkTwice(c.Files)}
	for _, f := range c.Files {
		info, err := os.Stat(f.value)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("--file %s: %w", f.name, err))
			continue
		case info.IsDir():
			errs = append(errs, fmt.Errorf("--file %s: %s is a folder: show it with --mount", f.name, f.value))
			continue
		case info.Size() > int64(p.limits.DiskBytes):
			errs = append(errs, fmt.Errorf("--file %s: %s has %s, and the sandbox's disk %s: raise --disk or use --mount",
				f.name, f.value, limits.ApproxSize(uint64(info.Size())), limits.FormatSize(p.limits.DiskBytes)))
			continue
		}
		b, err := os.ReadFile(f.value)
		if err != nil {
			errs = append(errs, fmt.Errorf("--file %s: %w", f.name, err))
			continue
		}
		o.Files = append(o.Files, engine.File{Path: f.name, Content: b})
	}
	if err := errors.Join(errs...); err != nil {
		return o, usageError{err}
	}
	return o, nil
}

// checkTwice refuses two files of one guest path, of which the program would see one.
func checkTwice(files []fileFlag) error {
	var errs []error
	first := map[string]fileFlag{}
	for _, f := range files {
		guest := path.Clean(f.name)
		if !path.IsAbs(guest) {
			guest = path.Join(runtimes.WorkDir, guest)
		}
		if g, twice := first[guest]; twice {
			errs = append(errs, fmt.Errorf("--file %s: %s and %s would have the same path: give one of them another with GUEST=HOST", guest, g.value, f.value))
			continue
		}
		first[guest] = f
	}
	return errors.Join(errs...)
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

// report prints what the guest itself did not, saves files and charts, and returns a statusError for a run
// that did not end with status 0.
func (r *runner) report(p program, res *engine.Result, files *engine.Files) error {
	if r.learned != nil {
		r.learned.learn(res)
	}
	about := r.autopsy(res)
	if r.cmd.JSON {
		b, err := withAutopsy(res, about)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(r.app.out, "%s\n", b); err != nil {
			return err
		}
	} else {
		r.print(p, res)
		if about != nil {
			fmt.Fprintf(r.err, "cloche: it was stopped here, as it says itself:\n%s\n", printable(about.Text()))
		}
	}
	if r.out != nil {
		if err := r.out.save(res, files); err != nil {
			return err
		}
	} else if n := len(res.Charts()); n > 0 && !r.cmd.JSON {
		fmt.Fprintf(r.err, "cloche: charts shown: %d; --out DIR saves them\n", n)
	}
	if code := exitStatus(res); code != 0 {
		return statusError(code)
	}
	return nil
}

// autopsy says what the program was doing when it was stopped, or nil: it is a help, and a run is reported without it too.
func (r *runner) autopsy(res *engine.Result) *engine.Autopsy {
	if res.Autopsy == nil {
		return nil
	}
	about, err := r.eng.Autopsy(r.ctx, res.Autopsy.ID)
	if err != nil {
		return nil
	}
	return about
}

// withAutopsy is a Result as JSON, with all that an autopsy says in the place of what names it.
func withAutopsy(res *engine.Result, about *engine.Autopsy) ([]byte, error) {
	if about == nil {
		return json.Marshal(res)
	}
	plain := *res
	plain.Autopsy = nil
	return plain.JSONWith("autopsy", about)
}

// exitStatus is the program's exit status for a result.
func exitStatus(res *engine.Result) int {
	code := res.ExitCode & 0xff // what a process can return
	if code == 0 && res.Status != engine.StatusOK {
		return 1
	}
	return code
}

func (r *runner) print(p program, res *engine.Result) {
	if v, ok := res.Value(); ok && p.shows {
		fmt.Fprintln(onScreen(r.app.out), v)
	}
	if t := res.Truncated; t != nil {
		for _, cut := range []struct {
			what string
			cut  *engine.Cut
			flag string
		}{{"output", t.Stdout, "--output"}, {"error output", t.Stderr, "--output"}, {"displayed values", t.Results, "a policy's results"}} {
			if cut.cut != nil {
				fmt.Fprintf(r.err, "cloche: %s: %s of %s kept; %s allows more\n", cut.what,
					limits.FormatSize(cut.cut.KeptBytes), limits.FormatSize(cut.cut.TotalBytes), cut.flag)
			}
		}
	}
	e := res.Error
	if e == nil {
		return
	}
	if t := strings.TrimSpace(e.Traceback); t != "" && !strings.Contains(res.Stderr, t) {
		fmt.Fprintln(r.err, printable(t))
	}
	if res.Status != engine.StatusError && e.Value != "" {
		fmt.Fprintf(r.err, "cloche: %s\n", printable(e.Value))
	}
	if e.Hint != "" {
		fmt.Fprintf(r.err, "cloche: hint: %s\n", printable(e.Hint))
	}
	if res.RolledBack {
		fmt.Fprintln(r.err, "cloche: the session is as it was before this turn")
	}
}
