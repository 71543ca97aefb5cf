package python

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

// PackagesDir is where added packages are importable from.
const PackagesDir = "/usr/local/lib/cloche-packages"

const (
	sitePackages = "site.zip"
	siteList     = "packages.json"
	// maxPackages bounds the requirements of one sandbox, and maxSiteBytes what their wheels unpack to.
	maxPackages  = 100
	maxSiteBytes = 512 << 20
	pipTime      = 10 * time.Minute
)

// Package is one that was added, as pip resolved it.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	File    string `json:"file"` // of the wheel
	SHA256  string `json:"sha256"`
}

// Packages are pure-Python packages that a sandbox has besides those that are linked in. It may be mounted in any number of
// sandboxes. Close it after the last.
type Packages struct {
	FS   vfs.FS // for PackagesDir
	List []Package

	site *site
}

// Close closes the files.
func (p *Packages) Close() error { return p.site.Close() }

// requirement is a name with an optional choice of versions, such as "requests" or "httpx[http2]>=0.27,<1". Addresses, paths
// and options of pip are not.
var requirement = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?(\[[A-Za-z0-9._,-]{1,100}\])?` +
	`( ?(==|>=|<=|!=|~=|<|>) ?[A-Za-z0-9.*+!_-]{1,50}(, ?(==|>=|<=|!=|~=|<|>) ?[A-Za-z0-9.*+!_-]{1,50}){0,5})?$`)

// CheckPackages says whether the requirements are ones that [AddPackages] takes.
func CheckPackages(requirements []string) error {
	if len(requirements) > maxPackages {
		return fmt.Errorf("%d packages are more than %d", len(requirements), maxPackages)
	}
	var errs []error
	for _, r := range requirements {
		if !requirement.MatchString(r) {
			errs = append(errs, fmt.Errorf("package %q: it must be a name, with versions if need be, such as requests or \"httpx>=0.27\"", r))
		}
	}
	return errors.Join(errs...)
}

// AddPackages opens packages by their requirements, with all that they need. What the cache does not have yet is resolved and
// downloaded with pip: only wheels without compiled parts, of which nothing is run. The versions are then fixed, and the hash of
// each wheel recorded, until the cache entry is removed. The interpreter, baked, compiles them.
func AddPackages(ctx context.Context, c *runtimes.Cache, baked *runtimes.Baked, requirements []string, p runtimes.Progress) (*Packages, error) {
	if p == nil {
		p = runtimes.Silent{}
	}
	if err := CheckPackages(requirements); err != nil {
		return nil, err
	}
	sorted := slices.Clone(requirements)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	base, err := c.Artifact(ctx, "python", p)
	if err != nil {
		return nil, err
	}
	key := runtimes.Key(append([]string{"2", filepath.Base(base)}, sorted...)...)
	// A name of its own: of entries with one name the cache keeps a few only.
	name := "packages-" + key[:12]
	resolved, err := c.Ensure(ctx, runtimes.Entry{
		Name: name, Key: key, Hot: []string{siteList, sitePackages},
		Build: func(ctx context.Context, dir string, p runtimes.Progress) error {
			if err := buildPackages(ctx, base, sorted, dir, p); err != nil {
				return fmt.Errorf("add packages %s: %w", strings.Join(sorted, ", "), err)
			}
			return nil
		},
	}, p)
	if err != nil {
		return nil, err
	}
	list, err := os.ReadFile(filepath.Join(resolved, siteList))
	if err != nil {
		return nil, err
	}
	compiled, err := c.Ensure(ctx, runtimes.Entry{
		// Another interpreter compiles them anew, without resolving them anew.
		Name: name + "-compiled", Key: runtimes.Key(key, string(list), baked.ID, precompileSource), Hot: []string{sitePackages},
		Build: func(ctx context.Context, dir string, p runtimes.Progress) error {
			from, to := filepath.Join(resolved, sitePackages), filepath.Join(dir, sitePackages)
			info, err := os.Stat(from)
			if err != nil {
				return err
			}
			p.Stage("compile "+strings.Join(sorted, ", "), time.Duration(info.Size())*time.Second/(2<<20))
			return withBytecode(ctx, baked, from, to)
		},
	}, p)
	if err != nil {
		return nil, err
	}
	var packages Packages
	if err := json.Unmarshal(list, &packages.List); err != nil {
		return nil, fmt.Errorf("%s: %w", siteList, err)
	}
	if packages.site, err = openSite(filepath.Join(compiled, sitePackages)); err != nil {
		return nil, err
	}
	packages.FS = packages.site.fs
	return &packages, nil
}

// site is an archive of what packages install.
type site struct {
	fs      vfs.FS
	archive *os.File
	size    int64
}

func (s *site) Close() error { return s.archive.Close() }

func openSite(name string) (*site, error) {
	f, size, err := open(name)
	if err != nil {
		return nil, err
	}
	z, err := vfs.NewZip(f, size, vfs.ZipOptions{})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", sitePackages, err), f.Close())
	}
	return &site{z, f, size}, nil
}

// buildPackages fills a cache entry.
func buildPackages(ctx context.Context, base string, requirements []string, dir string, p runtimes.Progress) (err error) {
	tmp, err := os.MkdirTemp(dir, "pip-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	pip, err := newPip(ctx, base, tmp)
	if err != nil {
		return err
	}
	p.Stage("resolve packages with pip", 5*time.Second)
	pins, err := pip.resolve(ctx, requirements)
	if err != nil {
		return err
	}
	list := []Package{}
	if len(pins) > 0 {
		p.Stage("download "+strings.Join(pins, ", "), 5*time.Second)
		if list, err = pip.download(ctx, pins); err != nil {
			return err
		}
	}
	if err := merge(pip.wheels, list, filepath.Join(dir, sitePackages)); err != nil {
		return err
	}
	b, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, siteList), append(b, '\n'), 0o600)
}

// pip runs the host's pip so that it takes what is linked into the interpreter for installed, and nothing else of the host's.
type pip struct {
	python string
	dir    string // what is installed, and pip itself
	work   string
	wheels string
}

// start is how it is started: without the host's packages, variables and folders. Requirements that hold for some systems only are
// weighed for the guest's (its Python answers the same to packaging.markers), and wheels may be looked for that another system takes.
const start = `import sys
sys.path.insert(0, sys.argv.pop(1))
from pip._internal.cli import cmdoptions
from pip._internal.cli.main import main
from pip._vendor.packaging import markers
host = markers.default_environment
markers.default_environment = lambda: dict(
    host(),
    implementation_name="cpython",
    implementation_version="3.15.0",
    os_name="posix",
    platform_machine="wasm32",
    platform_python_implementation="CPython",
    platform_release="0.0.0",
    platform_system="wasi",
    platform_version="0.0.0",
    python_full_version="3.15.0",
    python_version="3.15",
    sys_platform="wasi",
)
cmdoptions.check_dist_restriction = lambda *args, **kwargs: None
sys.exit(main())`

// pure are the options by which pip takes wheels without compiled parts only.
var pure = []string{"--platform", "any", "--implementation", "py", "--abi", "none", "--python-version", "3.15"}

func newPip(ctx context.Context, base, tmp string) (*pip, error) {
	command, err := runtimes.FindClient(ctx, "pypi")
	if err != nil {
		return nil, err
	}
	p := &pip{python: command[0], dir: filepath.Join(tmp, "installed"), work: filepath.Join(tmp, "work"), wheels: filepath.Join(tmp, "wheels")}
	for _, d := range []string{p.dir, p.work, p.wheels} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return nil, err
		}
	}
	out, err := exec.CommandContext(ctx, p.python, "-c", "import os, pip; print(os.path.dirname(os.path.abspath(pip.__file__)))").Output()
	if err != nil {
		return nil, fmt.Errorf("find pip: %w", err)
	}
	if err := os.Symlink(strings.TrimSpace(string(out)), filepath.Join(p.dir, "pip")); err != nil {
		return nil, err
	}
	return p, p.describeLinkedIn(filepath.Join(base, stdlibZip))
}

// describeLinkedIn lays out the metadata of what the interpreter has.
func (p *pip) describeLinkedIn(stdlib string) error {
	z, err := zip.OpenReader(stdlib)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		dir, name := path.Split(f.Name)
		dir = strings.TrimSuffix(dir, "/")
		if name != "METADATA" || !strings.HasSuffix(dir, ".dist-info") || strings.ContainsAny(dir, `/\`) {
			continue
		}
		b, err := readMember(f, 1<<20)
		if err != nil {
			return err
		}
		if err := os.Mkdir(filepath.Join(p.dir, dir), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(p.dir, dir, name), b, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (p *pip) run(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, pipTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.python, append([]string{"-I", "-S", "-c", start, p.dir}, args...)...)
	cmd.Dir = p.work // an empty folder: configuration that lies about elsewhere is not read
	cmd.Env = append(os.Environ(), "TMPDIR="+p.work)
	cmd.WaitDelay = 5 * time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.Discard, &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		text := strings.TrimSpace(strings.ToValidUTF8(said.String(), ""))
		return fmt.Errorf("pip %s: %w; it said:\n%s", args[0], err, text[max(0, len(text)-2000):])
	}
	return nil
}

// resolve finds what is to be added for the requirements, as name==version. What is asked for comes in its newest version; what that needs
// comes in an older one if newer ones have compiled parts.
func (p *pip) resolve(ctx context.Context, requirements []string) ([]string, error) {
	found, err := p.report(ctx, requirements)
	if err != nil {
		return nil, err
	}
	if compiled := found.compiled(); len(compiled) > 0 {
		newest := filepath.Join(p.work, "newest.txt")
		if err := os.WriteFile(newest, []byte(strings.Join(found.pins(true), "\n")), 0o600); err != nil {
			return nil, err
		}
		without, err := p.report(ctx, requirements, slices.Concat(pure, []string{"--constraint", newest})...)
		if err != nil {
			return nil, fmt.Errorf("%s has no wheel without compiled parts that would do: %w", strings.Join(compiled, ", "), err)
		}
		found = without
	}
	pins := found.pins(false)
	return pins, CheckPackages(pins)
}

// A report is what pip says that it would install.
type report struct {
	Install []struct {
		Requested bool
		Metadata  struct {
			Name, Version string
			RequiresDist  []string `json:"requires_dist"`
		}
		DownloadInfo struct{ URL string } `json:"download_info"`
	}
}

func (p *pip) report(ctx context.Context, requirements []string, options ...string) (report, error) {
	var r report
	file := filepath.Join(p.work, "report.json")
	args := []string{"install", "--dry-run", "--quiet", "--no-input", "--disable-pip-version-check", "--only-binary", ":all:", "--report", file}
	if err := p.run(ctx, slices.Concat(args, options, []string{"--"}, requirements)...); err != nil {
		return r, err
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("pip's report: %w", err)
	}
	return r, nil
}

// pins are the versions, of all that would be installed or of what was asked for.
func (r report) pins(requested bool) []string {
	var pins []string
	for _, i := range r.Install {
		if i.Requested || !requested {
			pins = append(pins, i.Metadata.Name+"=="+i.Metadata.Version)
		}
	}
	return pins
}

// compiled are the packages whose wheels have compiled parts, each with one that needs it.
func (r report) compiled() []string {
	var compiled []string
	for _, i := range r.Install {
		if strings.HasSuffix(i.DownloadInfo.URL, "-none-any.whl") {
			continue
		}
		name := i.Metadata.Name
		for _, other := range r.Install {
			if slices.ContainsFunc(other.Metadata.RequiresDist, func(d string) bool { return normal(leadingName.FindString(d)) == normal(name) }) {
				name += " (which " + other.Metadata.Name + " needs)"
				break
			}
		}
		compiled = append(compiled, name)
	}
	return compiled
}

// leadingName is the name that a requirement begins with.
var leadingName = regexp.MustCompile(`^[A-Za-z0-9._-]+`)

// download gets the wheels. A package that has none without compiled parts is an error, in which pip names it.
func (p *pip) download(ctx context.Context, pins []string) ([]Package, error) {
	args := []string{"download", "--no-deps", "--quiet", "--no-input", "--disable-pip-version-check", "--only-binary", ":all:", "--dest", p.wheels}
	if err := p.run(ctx, slices.Concat(args, pure, []string{"--"}, pins)...); err != nil {
		return nil, fmt.Errorf("a package has no wheel without compiled parts, or cannot be downloaded: %w", err)
	}
	files, err := os.ReadDir(p.wheels)
	if err != nil {
		return nil, err
	}
	byName := map[string]string{}
	for _, f := range files {
		name, _, _ := strings.Cut(f.Name(), "-")
		byName[normal(name)] = f.Name()
	}
	var list []Package
	for _, pin := range pins {
		name, version, _ := strings.Cut(pin, "==")
		pkg := Package{Name: name, Version: version, File: byName[normal(name)]}
		if pkg.File == "" {
			return nil, fmt.Errorf("%s: pip left no wheel of that name", pin)
		}
		if pkg.SHA256, err = runtimes.HashFile(filepath.Join(p.wheels, pkg.File)); err != nil {
			return nil, err
		}
		list = append(list, pkg)
	}
	return list, nil
}

var separators = regexp.MustCompile(`[-_.]+`)

// normal is a package's name as names are compared.
func normal(name string) string { return strings.ToLower(separators.ReplaceAllString(name, "-")) }

// merge makes one archive of what the wheels would install. Of files with one name the first wheel's is taken.
func merge(dir string, list []Package, to string) error {
	return createZip(to, func(w *zip.Writer) error {
		have, total := map[string]bool{}, uint64(0)
		for _, pkg := range list {
			if err := mergeWheel(w, filepath.Join(dir, pkg.File), have, &total); err != nil {
				return fmt.Errorf("%s: %w", pkg.File, err)
			}
		}
		return nil
	})
}

func mergeWheel(w *zip.Writer, wheel string, have map[string]bool, total *uint64) error {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		name, ok := installed(f.Name)
		if !ok || !f.Mode().IsRegular() || have[name] {
			continue
		}
		have[name] = true
		if *total += f.UncompressedSize64; *total > maxSiteBytes {
			return fmt.Errorf("the packages are larger than %d MiB", maxSiteBytes>>20)
		}
		b, err := readMember(f, maxSiteBytes)
		if err != nil {
			return err
		}
		if err := store(w, name, b); err != nil {
			return err
		}
	}
	return nil
}

// createZip makes an archive.
func createZip(name string, fill func(*zip.Writer) error) (err error) {
	out, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := zip.NewWriter(out)
	return errors.Join(fill(w), w.Close())
}

// store adds a member to an archive, as it is: there sandboxes read it where it lies.
func store(w *zip.Writer, name string, content []byte) error {
	member, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
	if err != nil {
		return err
	}
	_, err = member.Write(content)
	return err
}

// installed is the path below the packages' folder of a wheel's member, if it goes there.
func installed(name string) (string, bool) {
	if !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, `\`) || path.Clean(name) != name {
		return "", false
	}
	top, rest, _ := strings.Cut(name, "/")
	if !strings.HasSuffix(top, ".data") {
		return name, true
	}
	kind, rest, _ := strings.Cut(rest, "/")
	return rest, rest != "" && (kind == "purelib" || kind == "platlib")
}

func readMember(f *zip.File, most int64) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%s is larger than %d bytes", f.Name, most)
	}
	return b, err
}
