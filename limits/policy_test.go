package limits_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cloche-dev/cloche/limits"
)

func TestParsePolicy(t *testing.T) {
	p, err := limits.ParsePolicy("p.toml", []byte(`
[limits]
timeout = "10s"
memory = "1GiB"
fuel = 5_000_000_000
disk = 1048576

[presets.report]
timeout = "2m"
output = "2MiB"

[presets.tiny]
timeout = "1s"

[mounts]
"/mnt/out" = { host = "/srv/out", mode = "rw" }
"/data/in" = { host = "/srv/in" }

[env]
TZ = "UTC"
EMPTY = ""
`))
	if err != nil {
		t.Fatal(err)
	}
	want := limits.Limits{Timeout: 10 * time.Second, MemoryBytes: 1 << 30, Fuel: 5_000_000_000, DiskBytes: 1 << 20}.WithDefaults()
	if p.Limits != want {
		t.Errorf("limits %v, want %v", p.Limits, want)
	}
	if diff := cmp.Diff([]limits.Mount{
		{Host: "/srv/in", Guest: "/data/in", Mode: limits.ReadOnly},
		{Host: "/srv/out", Guest: "/mnt/out", Mode: limits.ReadWrite},
	}, p.Mounts); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"TZ": "UTC", "EMPTY": ""}, p.Env); diff != "" {
		t.Errorf("env (-want +got):\n%s", diff)
	}

	report, err := p.Preset("report")
	if err != nil {
		t.Fatal(err)
	}
	want.Timeout, want.OutputBytes = 2*time.Minute, 2<<20
	if report != want {
		t.Errorf("preset report is %v, want %v", report, want)
	}
	// A preset of the file replaces a built-in one as a whole.
	tiny, err := p.Preset("tiny")
	if err != nil || tiny.Timeout != time.Second || tiny.MemoryBytes != 1<<30 {
		t.Errorf("preset tiny is %v, %v", tiny, err)
	}
	if _, err := p.Preset("huge"); text(err) != `preset "huge" is unknown: there are data, report, script, tiny` {
		t.Errorf("unknown preset: %v", err)
	}
}

func TestDefaultPolicyIsNotShared(t *testing.T) {
	if _, err := limits.ParsePolicy("p", []byte("[limits]\ntimeout='1s'\n[presets.mine]\n[env]\nA='b'")); err != nil {
		t.Fatal(err)
	}
	p := limits.DefaultPolicy()
	if p.Limits != limits.Default() || slices.Contains(p.Presets(), "mine") || len(p.Env) != 0 {
		t.Errorf("reading a policy changed the default one: %+v", p)
	}
}

func TestBuiltInPresets(t *testing.T) {
	p := limits.DefaultPolicy()
	if got := p.Presets(); !slices.Equal(got, []string{"data", "script", "tiny"}) {
		t.Fatalf("presets are %v", got)
	}
	for _, name := range p.Presets() {
		l, err := p.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Validate(); err != nil {
			t.Errorf("preset %s: %v", name, err)
		}
	}
	data, _ := p.Preset("data")
	if data.MemoryBytes != 2<<30 || data.DiskBytes != 5<<30 || data.Timeout != 300*time.Second {
		t.Errorf("preset data is %v", data)
	}
}

func TestPolicyErrors(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"syntax", "[limits\n", `p.toml:2: expected '.' or ']' to end table name, but got '\n' instead`},
		{"syntax further down", "[limits]\n\ntimeout = \n", `p.toml:3: expected value but found '\n' instead`},
		{"unknown table", "\n[limit]\ntimeout = '1s'\n", `p.toml:2: unknown key "limit": there are limits, presets, mounts, env, network, tools, mailbox, shared, review, packages, time_zone and autopsy`},
		{"autopsy too long", "autopsy = '11m'\n", `p.toml:1: autopsy: must be from 1s to 10m`},
		{"autopsy of no length", "autopsy = true\n", `p.toml:1: autopsy: must be a string or a whole number, not true or false`},
		{"unknown limit", "[limits]\nfuel = 5\ntimout = '1s'\n",
			`p.toml:3: unknown key "timout" in [limits]: there are fuel, timeout, grace, memory, output, results, disk, inodes, open_files, host_calls`},
		{"letter case counts", "[limits]\nFuel = 5\n",
			`p.toml:2: unknown key "Fuel" in [limits]: there are fuel, timeout, grace, memory, output, results, disk, inodes, open_files, host_calls`},
		{"unknown in a preset", "[presets.a]\nram = 1\n",
			`p.toml:2: unknown key "ram" in [presets.a]: there are fuel, timeout, grace, memory, output, results, disk, inodes, open_files, host_calls`},
		{"twice", "[limits]\nfuel = 5\nfuel = 6\n", `p.toml:3: Key 'limits.fuel' has already been defined.`},
		{"no unit", "[limits]\ntimeout = 30\n", `p.toml:2: timeout: 30 has no unit: write "30s"`},
		{"zero does not mean default here", "[limits]\nfuel = 0\n", `p.toml:2: fuel is 0, must be from 1 to 1,000,000,000,000,000,000`},
		{"negative", "[limits]\nfuel = -1\n", `p.toml:2: fuel: -1 is negative`},
		{"fraction", "[limits]\nmemory = 1.5\n", `p.toml:2: memory: must be a string or a whole number, not a number with a fraction`},
		{"out of range", "[limits]\nmemory = '8GiB'\n", `p.toml:2: memory is 8 GiB, must be from 1 MiB to 4 GiB`},
		{"not a size", "[limits]\nmemory = 'lots'\n",
			`p.toml:2: memory: size "lots" is not understood: write a number with a unit, such as 512MiB, 64MB or 1GiB`},
		{"not a table", "limits = 3\n", `p.toml:1: limits must be a table, not a whole number`},
		{"preset not a table", "[presets]\ntiny = 'small'\n", `p.toml:2: presets.tiny must be a table, not a string`},
		{"relative host", "[mounts]\n'/in' = { host = 'in' }\n", `p.toml:2: mount /in: host path "in" is not absolute`},
		{"relative guest", "[mounts]\nin = { host = '/in' }\n", `p.toml:2: mount of /in: guest path "in" is not absolute: it must begin with /`},
		{"dots", "[mounts]\n'/a/../b' = { host = '/in/' }\n",
			"p.toml:2: mount /a/../b: host path \"/in/\" is written in a roundabout way: use \"/in\"\n" +
				"mount of /in/: guest path \"/a/../b\" is written in a roundabout way: use \"/b\""},
		{"overlap in the guest", "[mounts]\n'/a' = { host = '/x' }\n'/a/b' = { host = '/y' }\n",
			`p.toml:3: mounts /a and /a/b overlap: choose guest paths of which none is in another`},
		{"overlap in the host", "[mounts]\n'/a' = { host = '/x', mode = 'ro' }\n'/b' = { host = '/x/y', mode = 'rw' }\n",
			`p.toml:3: mounts /a and /b show the same host files (/x, /x/y) and one of them can write`},
		{"mount mode", "[mounts]\n'/a' = { host = '/x', mode = 'rwx' }\n", `p.toml:2: mount /a: mode "rwx" is unknown: use ro, rw or overlay`},
		{"mount key", "[mounts]\n'/a' = { host = '/x', readonly = true }\n", `p.toml:2: unknown key "readonly" in mount "/a": there are host and mode`},
		{"mount without host", "[mounts]\n'/a' = { mode = 'ro' }\n", `p.toml:2: mount "/a" has no host folder: write { host = "/folder", mode = "ro" }`},
		{"mount not a table", "[mounts]\n'/a' = '/x'\n", `p.toml:2: mounts."/a" must be a table, not a string`},
		{"env number", "[env]\nA = 1\n", `p.toml:2: environment variable "A" must be a string, not a whole number`},
		{"env name", "[env]\n'A=B' = 'c'\n", `p.toml:2: environment variable "A=B": its name must not contain = or NUL`},
		{"all at once", "[limits]\nfuel = 0\nmemory = true\n[env]\n'' = 'x'\n",
			"p.toml:2: fuel is 0, must be from 1 to 1,000,000,000,000,000,000\n" +
				"p.toml:3: memory: must be a string or a whole number, not true or false\n" +
				"p.toml: environment variable without a name: write NAME=VALUE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := limits.ParsePolicy("p.toml", []byte(c.in))
			if got := text(err); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestMountsThatDoNotOverlap(t *testing.T) {
	for _, in := range []string{
		"'/a' = { host = '/x' }\n'/ab' = { host = '/xy', mode = 'rw' }",
		"'/a' = { host = '/x' }\n'/b' = { host = '/x/y' }",
		"'/a' = { host = '/x', mode = 'overlay' }\n'/b' = { host = '/x' }",
	} {
		if _, err := limits.ParsePolicy("p", []byte("[mounts]\n"+in)); err != nil {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestLoadPolicy(t *testing.T) {
	dir := t.TempDir()
	write := func(t *testing.T, text string, mode os.FileMode) string {
		name := filepath.Join(dir, "policy.toml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	t.Run("read", func(t *testing.T) {
		p, err := limits.LoadPolicy(write(t, "[limits]\ntimeout = '3s'\n", 0o644))
		if err != nil || p.Limits.Timeout != 3*time.Second {
			t.Errorf("got %+v, %v", p, err)
		}
	})
	for _, mode := range []os.FileMode{0o664, 0o646, 0o666} {
		t.Run(fmt.Sprintf("mode %#o", mode), func(t *testing.T) {
			name := write(t, "", mode)
			_, err := limits.LoadPolicy(name)
			want := fmt.Sprintf("policy %s has mode %#o, so that others can change it: run chmod go-w %s", name, mode, name)
			if text(err) != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
	t.Run("shows itself", func(t *testing.T) {
		name := write(t, fmt.Sprintf("[mounts]\n'/p' = { host = %q }\n", dir), 0o600)
		_, err := limits.LoadPolicy(name)
		want := fmt.Sprintf("policy %s: mount /p would show the policy file %s to the guest: move one of them", name, name)
		if text(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
	t.Run("overlap through a link", func(t *testing.T) {
		real, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(real, link); err != nil {
			t.Fatal(err)
		}
		name := write(t, fmt.Sprintf("[mounts]\n'/a' = { host = %q, mode = 'rw' }\n'/b' = { host = %q }\n", real, link), 0o600)
		if _, err := limits.LoadPolicy(name); err == nil || !strings.Contains(err.Error(), "show the same host files") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("folder", func(t *testing.T) {
		if _, err := limits.LoadPolicy(dir); text(err) != "policy "+dir+" is not a regular file" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("missing", func(t *testing.T) {
		if _, err := limits.LoadPolicy(filepath.Join(dir, "none.toml")); !os.IsNotExist(unwrapAll(err)) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("too large", func(t *testing.T) {
		name := write(t, strings.Repeat("# filler\n", 200_000), 0o600)
		if _, err := limits.LoadPolicy(name); text(err) != "policy "+name+" is larger than 1 MiB" {
			t.Errorf("got %v", err)
		}
	})
}

func unwrapAll(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			return err
		}
		err = u.Unwrap()
	}
}

func TestParseMount(t *testing.T) {
	for _, c := range []struct {
		in   string
		want limits.Mount
		err  string
	}{
		{"/srv/in:/data/in", limits.Mount{Host: "/srv/in", Guest: "/data/in", Mode: limits.ReadOnly}, ""},
		{"in:/data/in:rw", limits.Mount{Host: "in", Guest: "/data/in", Mode: limits.ReadWrite}, ""},
		{"/a:b:/in:overlay", limits.Mount{Host: "/a:b", Guest: "/in", Mode: limits.Overlay}, ""},
		{"/srv/in:/in:rx", limits.Mount{}, `mount "/srv/in:/in:rx": mount mode "rx" is unknown: use ro, rw or overlay`},
		{"/srv/in", limits.Mount{}, `mount "/srv/in" is not understood: write HOST:GUEST or HOST:GUEST:ro|rw|overlay`},
		{":/in", limits.Mount{}, `mount ":/in" is not understood: write HOST:GUEST or HOST:GUEST:ro|rw|overlay`},
		{"/in:", limits.Mount{}, `mount "/in:" is not understood: write HOST:GUEST or HOST:GUEST:ro|rw|overlay`},
		{"", limits.Mount{}, `mount "" is not understood: write HOST:GUEST or HOST:GUEST:ro|rw|overlay`},
	} {
		got, err := limits.ParseMount(c.in)
		if got != c.want || text(err) != c.err {
			t.Errorf("ParseMount(%q) = %+v, %v; want %+v, %s", c.in, got, err, c.want, c.err)
		}
	}
}

func FuzzParsePolicy(f *testing.F) {
	f.Add([]byte("[limits]\ntimeout = '3s'\nfuel = 5\n[presets.a]\nmemory = '1GiB'\n"))
	f.Add([]byte("[mounts]\n'/a' = { host = '/b', mode = 'rw' }\n[env]\nA = 'b'\n"))
	f.Add([]byte("limits.fuel = 1\npresets = { x = { fuel = 2 } }\n[[mounts]]\n"))
	f.Add([]byte("'a.b'.\"c\" = 1979-05-27\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		p, err := limits.ParsePolicy("p", in)
		if err != nil {
			return
		}
		if err := p.Limits.Validate(); err != nil {
			t.Errorf("accepted limits are not valid: %v", err)
		}
		for _, name := range p.Presets() {
			if l, err := p.Preset(name); err != nil || l.Validate() != nil {
				t.Errorf("accepted preset %q: %v, %v", name, err, l.Validate())
			}
		}
		if err := limits.CheckMounts(p.Mounts); err != nil {
			t.Errorf("accepted mounts are not valid: %v", err)
		}
		for k, v := range p.Env {
			if err := limits.CheckEnv(k, v); err != nil {
				t.Errorf("accepted environment: %v", err)
			}
		}
	})
}

func TestMailboxPolicy(t *testing.T) {
	p, err := limits.ParsePolicy("p.toml", []byte("[mailbox.b]\nmode = 'send'\nmessages = 5\nbytes = '2KiB'\n[mailbox.a_1]\n"))
	want := []limits.Channel{{Name: "a_1", Mode: limits.ChannelBoth}, {Name: "b", Mode: limits.ChannelSend, Messages: 5, Bytes: 2048}}
	if err != nil || !slices.Equal(p.Mailbox, want) {
		t.Errorf("%v, %v; want %v", p, err, want)
	}
	for in, want := range map[string]string{
		"[mailbox.a]\nmode = 'read'\n":              `p.toml:1: channel a: mode "read" is unknown: use send, receive or both`,
		"[mailbox.a]\nsize = 1\n":                   `p.toml:2: unknown key "size" in [mailbox.a]: there are mode, messages and bytes`,
		"[mailbox.a]\nmessages = 0\n":               `p.toml:2: messages of [mailbox.a] is 0, must be from 1 to 100,000`,
		"[mailbox]\na = 1\n":                        `p.toml:2: mailbox.a must be a table, not a whole number`,
		"[mailbox.'a.b']\n":                         `p.toml:1: channel "a.b": a name is a letter followed by letters, digits and underscores`,
		"[mailbox." + strings.Repeat("a", 49) + "]": `p.toml:1: channel "` + strings.Repeat("a", 49) + `": a name has 1 to 48 characters`,
	} {
		if _, err := limits.ParsePolicy("p.toml", []byte(in)); text(err) != want {
			t.Errorf("%q: %s\nwant %s", in, text(err), want)
		}
	}
}
