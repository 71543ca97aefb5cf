package web

import (
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs/fetch"
	"github.com/cloche-dev/cloche/limits"
)

// What a request asks for becomes what the engine is given here, and is held against the policy of its key: it may be
// narrower, and never wider.

// engineLimits are the limits that l asks for. Fields left out are zero.
func (l *Limits) engineLimits() (limits.Limits, error) {
	var out limits.Limits
	if l == nil {
		return out, nil
	}
	for _, f := range []struct {
		name string
		v    *uint64
		set  func(uint64)
	}{
		{"timeout_ms", l.TimeoutMS, func(v uint64) {
			out.Timeout = time.Duration(min(v, math.MaxInt64/uint64(time.Millisecond))) * time.Millisecond
		}},
		{"fuel", l.Fuel, func(v uint64) { out.Fuel = v }},
		{"memory_bytes", l.MemoryBytes, func(v uint64) { out.MemoryBytes = v }},
		{"output_bytes", l.OutputBytes, func(v uint64) { out.OutputBytes = v }},
		{"disk_bytes", l.DiskBytes, func(v uint64) { out.DiskBytes = v }},
	} {
		if f.v == nil {
			continue
		}
		if *f.v == 0 {
			return out, invalidf("limits.%s is 0, must be 1 or more", f.name)
		}
		f.set(*f.v)
	}
	if err := out.Validate(); err != nil {
		return out, invalidf("limits: %v", err)
	}
	return out, nil
}

func limitsOf(l limits.Limits) Limits {
	ms := uint64(l.Timeout / time.Millisecond)
	return Limits{TimeoutMS: &ms, Fuel: &l.Fuel, MemoryBytes: &l.MemoryBytes, OutputBytes: &l.OutputBytes, DiskBytes: &l.DiskBytes}
}

// narrow gives what a request asks for, filled up from base, if the policy allows it.
func (p Policy) narrow(asked, base limits.Limits) (limits.Limits, error) {
	for _, f := range []struct {
		name       string
		asked, max uint64
	}{
		{"timeout_ms", uint64(asked.Timeout / time.Millisecond), uint64(p.Max.Timeout / time.Millisecond)},
		{"fuel", asked.Fuel, p.Max.Fuel},
		{"memory_bytes", asked.MemoryBytes, p.Max.MemoryBytes},
		{"output_bytes", asked.OutputBytes, p.Max.OutputBytes},
		{"disk_bytes", asked.DiskBytes, p.Max.DiskBytes},
	} {
		if f.asked > f.max {
			e := invalidf("limits.%s is %d, and this key may ask for %d at most", f.name, f.asked, f.max)
			e.details = map[string]any{"field": "limits." + f.name, "max": f.max}
			return asked, e
		}
	}
	// Who asks for more time means to compute longer, and does not know what fuel is.
	if asked.Fuel == 0 && asked.Timeout > base.Timeout {
		asked.Fuel = min(uint64(float64(base.Fuel)*(float64(asked.Timeout)/float64(base.Timeout))), p.Max.Fuel)
	}
	return asked.Or(base), nil
}

// narrow is what a program may reach: what the policy allows and the request asks for.
func (n *Network) narrow(p *fetch.Policy) (*fetch.Policy, error) {
	if n == nil {
		return nil, nil
	}
	if len(n.Allow) > maxPatterns {
		return nil, invalidf("network.allow has %d patterns, at most %d are heeded", len(n.Allow), maxPatterns)
	}
	narrowed, err := p.Narrow(n.Allow)
	if err != nil {
		return nil, invalidf("network.allow: %v", err)
	}
	if len(n.Allow) == 0 {
		return nil, nil
	}
	return narrowed, nil
}

// languageOf checks a language.
func languageOf(name string) (string, error) {
	switch name { // the answers are constants, so that nothing kept holds on to a request's text
	case "", engine.Python:
		return engine.Python, nil
	case engine.JavaScript:
		return engine.JavaScript, nil
	case engine.TypeScript:
		return engine.TypeScript, nil
	}
	return "", invalidf("language %s is unknown: use python, javascript or typescript", quoted(name))
}

// options describe the sandbox that a request asks for.
func (f *SandboxFields) options(language string, k *Key) (engine.Options, error) {
	language, err := languageOf(language)
	if err != nil {
		return engine.Options{}, err
	}
	asked, err := f.Limits.engineLimits()
	if err != nil {
		return engine.Options{}, err
	}
	o := engine.Options{Language: language, Seed: f.Seed, Packages: k.Policy.Packages, Review: k.Policy.Review, Template: f.Template, Owner: k.Name}
	switch s := f.AutopsyS; {
	case s == nil:
		o.Autopsy = k.Policy.Autopsy
	case *s != 0: // which turns it off
		if o.Autopsy, err = seconds("autopsy_s", s, time.Second, limits.MaxAutopsy); err != nil {
			return o, err
		}
	}
	if o.Limits, err = k.Policy.narrow(asked, k.Policy.Limits); err != nil {
		return o, err
	}
	if o.Network, err = f.Network.narrow(k.Policy.Network); err != nil {
		return o, err
	}
	if o.Env, err = environment(k.Policy.Env, f.Env); err != nil {
		return o, err
	}
	if o.Shared, err = k.sharedMounts(f.Shared); err != nil {
		return o, err
	}
	o.Files, err = files(f.Files)
	return o, err
}

// mounts are the folders that a request asks for, as far as the policy offers them.
func (p Policy) mounts(asked []MountRequest) ([]limits.Mount, error) {
	var out []limits.Mount
	for _, a := range asked {
		m, ok := p.Mounts[a.Path]
		if !ok {
			return nil, fail(http.StatusForbidden, codeForbidden, "mounts: this key is offered no folder at %s", quoted(a.Path))
		}
		switch mode := limits.MountMode(a.Mode); {
		case a.Mode == "" || mode == m.Mode:
		case mode == limits.ReadOnly, mode == limits.Overlay: // neither writes to the host
			m.Mode = mode
		default:
			return nil, fail(http.StatusForbidden, codeForbidden, "mounts: the folder at %s is offered as %s, not as %s", quoted(a.Path), m.Mode, quoted(a.Mode))
		}
		out = append(out, m)
	}
	return out, nil
}

// sharedMounts are the shared folders that a request asks for, as far as the policy offers them.
func (k *Key) sharedMounts(asked map[string]limits.SharedMode) ([]engine.SharedMount, error) {
	var out []engine.SharedMount
	for _, m := range k.shared {
		mode, ok := asked[m.Folder.Name]
		if !ok {
			continue
		}
		if err := mode.Check(); err != nil {
			return nil, invalidf("shared: %s: %v", quoted(m.Folder.Name), err)
		}
		if !m.Folder.Mode.Allows(mode) {
			return nil, fail(http.StatusForbidden, codeForbidden, "shared: the folder %s is offered as %s, not as %s", quoted(m.Folder.Name), m.Folder.Mode, mode)
		}
		m.Mode = mode
		out = append(out, m)
	}
	for name := range asked {
		if !slices.ContainsFunc(k.shared, func(m engine.SharedMount) bool { return m.Folder.Name == name }) {
			return nil, fail(http.StatusForbidden, codeForbidden, "shared: this key is offered no folder called %s", quoted(name))
		}
	}
	return out, nil
}

func environment(base, own map[string]string) (map[string]string, error) {
	if len(own) == 0 {
		return base, nil
	}
	env := maps.Clone(base)
	if env == nil {
		env = map[string]string{}
	}
	for k, v := range own {
		if err := limits.CheckEnv(k, v); err != nil {
			return nil, invalidf("env: %v", err)
		}
		env[k] = v
	}
	return env, nil
}

func files(list []FileContent) ([]engine.File, error) {
	out := make([]engine.File, len(list))
	paths := make([]string, len(list))
	for i, f := range list {
		b, err := f.bytes()
		if err != nil {
			return nil, err
		}
		if f.Path == "" || strings.HasSuffix(f.Path, "/") || strings.Contains(f.Path, "\x00") {
			return nil, invalidf("files[%d].path is %s: it must name a file, such as sales.csv", i, quoted(f.Path))
		}
		if paths[i], err = checkPath(f.Path); err != nil {
			return nil, err
		}
		out[i] = engine.File{Path: f.Path, Content: b}
	}
	if same := engine.SamePath(paths); len(same) > 0 {
		return nil, invalidf("files[%d] and files[%d]: %s is given twice", same[0].First, same[0].Second, quoted(paths[same[0].Second]))
	}
	return out, nil
}

// turn describes the program that a request brings.
func (f *TurnFields) turn() (engine.Turn, error) {
	t := engine.Turn{Name: f.Name, Args: f.Args}
	if f.Code == nil {
		return t, invalidf("code is missing: the program's source text")
	}
	t.Code = *f.Code
	if strings.ContainsAny(f.Name, "/\x00\n\r") || len(f.Name) > 128 {
		return t, invalidf("name is %s: it must be a plain file name, such as report.py", quoted(f.Name))
	}
	for _, a := range f.Args {
		if strings.Contains(a, "\x00") {
			return t, invalidf("an argument may not hold NUL")
		}
	}
	if f.Stdin != nil {
		t.Stdin = strings.NewReader(*f.Stdin)
	}
	if len(f.Inputs) > 0 {
		t.Inputs = make(map[string]any, len(f.Inputs))
		for k, v := range f.Inputs {
			if err := engine.CheckInput(k); err != nil {
				return t, invalidf("inputs: %s %v", quoted(k), err)
			}
			t.Inputs[k] = v
		}
	}
	return t, checkPatterns(f.Collect)
}

// seconds is a duration that a request gives in seconds.
func seconds(name string, v *float64, low, high time.Duration) (time.Duration, error) {
	if v == nil {
		return 0, nil
	}
	d := *v * float64(time.Second)
	if math.IsNaN(d) || d < float64(low) || d > float64(high) {
		return 0, invalidf("%s is %.10g, must be from %.0f to %.0f", name, *v, low.Seconds(), high.Seconds())
	}
	return time.Duration(d), nil
}

// checkMetadata bounds what a client may leave with us.
func checkMetadata(m map[string]string) error {
	const most, longest = 64, 1024
	if len(m) > most {
		return invalidf("metadata has %d names, at most %d are kept", len(m), most)
	}
	for k, v := range m {
		if k == "" || len(k) > longest || len(v) > longest {
			return invalidf("metadata %s: a name is 1 to %d bytes long, a text up to %d", quoted(k), longest, longest)
		}
	}
	return nil
}
