package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs/fetch"
	"github.com/cloche-dev/cloche/limits"
)

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
	Clock    *clockFlag  `placeholder:"TIME" help:"Start a clock of the program's own at this time (RFC 3339): it sees the same times whenever it runs, and sleeping takes none."`

	Policy  string       `type:"existingfile" placeholder:"FILE.toml" help:"Limits, presets, mounts, environment, network, packages and what a review denies."`
	Preset  string       `placeholder:"NAME" help:"A named set of limits: tiny, script, data, or one of the policy's."`
	Timeout durationFlag `placeholder:"30s" help:"Wall time, waiting included."`
	Memory  sizeFlag     `placeholder:"512MiB" help:"Linear memory of the sandbox."`
	Fuel    countFlag    `placeholder:"N" help:"Instructions."`
	Disk    sizeFlag     `placeholder:"64MiB" help:"Bytes in the sandbox's own files."`
	Output  sizeFlag     `placeholder:"1MiB" help:"Bytes of output, and as many of error output; more is dropped."`
	NoWall  bool         `help:"Leave out the second wall, which lets the operating system refuse this process what the sandbox does not need (see cloche doctor)."`
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
	for _, m := range policy.Mounts {
		if _, err := absolute(m); err != nil {
			errs = append(errs, fmt.Errorf("policy %s: %w", c.Policy, err))
		}
		e.mounts = append(e.mounts, m)
	}
	for _, f := range c.Mounts {
		m, err := absolute(limits.Mount(f))
		errs = append(errs, err)
		e.mounts = append(e.mounts, m)
	}
	_, err := fetch.FromPolicy(policy.Network, a.getenv)
	if err != nil {
		err = fmt.Errorf("policy %s: %w", c.Policy, err)
	} else {
		e.network, err = network(a, policy.Network, c.Allow)
	}
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
		o.Clock = time.Time(*c.Clock)
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
		}
		b, err := readHost(f.value, p.limits.DiskBytes)
		if _, large := errors.AsType[tooLargeError](err); large {
			errs = append(errs, fmt.Errorf("--file %s: %s has more than the sandbox's disk, %s: raise --disk or use --mount",
				f.name, f.value, limits.FormatSize(p.limits.DiskBytes)))
			continue
		}
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

// checkPackages refuses packages for a language that has none. Those of a policy are for the programs that can have them.
func (c *sandboxFlags) checkPackages(language string) error {
	if len(c.Packages) == 0 || engine.RuntimeOf(language) == engine.Python {
		return nil
	}
	return usagef("--package %s: only Python has packages; show those of npm with --mount DIR/node_modules:/data/node_modules", c.Packages[0])
}

// checkTwice refuses two files of one guest path, of which the program would see one.
func checkTwice(files []fileFlag) error {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.name
	}
	var errs []error
	for _, p := range engine.SamePath(names) {
		errs = append(errs, fmt.Errorf("--file %s: %s and %s would have the same path: give one of them another with GUEST=HOST",
			engine.GuestPath(names[p.Second]), files[p.First].value, files[p.Second].value))
	}
	return errors.Join(errs...)
}
