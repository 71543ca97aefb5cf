package runtimes

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// client is an ecosystem's own downloader.
type client struct {
	// find returns the command's first words, or an error that says how to get the client.
	find func(ctx context.Context) ([]string, error)
	// args are the words after them that download the archives of packages, given as name and version, into dir.
	args func(dir string, packages [][2]string) []string
	// registry is what people call the place that it downloads from.
	registry string
}

// clients has one entry per ecosystem. The registries' addresses are the clients' business: a mirror that the
// user has set up is used, and cannot do harm since archives are compared with the lock file.
var clients = map[string]client{
	"pypi": {
		find:     findPip,
		registry: "PyPI",
		args: func(dir string, packages [][2]string) []string {
			args := []string{"download", "--no-deps", "--only-binary", ":all:", "--disable-pip-version-check", "--no-input",
				"--quiet", "--dest", dir}
			for _, p := range packages {
				args = append(args, p[0]+"=="+p[1])
			}
			return args
		},
	},
	"npm": {
		find:     findNpm,
		registry: "npm's registry",
		args: func(dir string, packages [][2]string) []string {
			args := []string{"pack", "--ignore-scripts", "--loglevel=error", "--pack-destination", dir}
			for _, p := range packages {
				args = append(args, p[0]+"@"+p[1])
			}
			return args
		},
	},
}

// ErrNoClient is wrapped by errors about a missing download client.
var ErrNoClient = errors.New("client is missing")

func findPip(ctx context.Context) ([]string, error) {
	python := ""
	for _, name := range []string{"python3", "python"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if python == "" {
			python = name
		}
		if exec.CommandContext(ctx, path, "-m", "pip", "--version").Run() == nil {
			return []string{path, "-m", "pip"}, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if python == "" {
		return nil, fmt.Errorf("pip %w: there is no python3 in PATH; install Python 3 with pip "+
			"(Debian and Ubuntu: apt install python3-pip; Fedora: dnf install python3-pip; macOS: brew install python)", ErrNoClient)
	}
	return nil, fmt.Errorf("pip %w: %s has no module pip; install it "+
		"(Debian and Ubuntu: apt install python3-pip; Fedora: dnf install python3-pip; elsewhere: %s -m ensurepip --user)",
		ErrNoClient, python, python)
}

func findNpm(context.Context) ([]string, error) {
	path, err := exec.LookPath("npm")
	if err != nil {
		return nil, fmt.Errorf("npm %w: there is no npm in PATH; install Node.js, which brings it "+
			"(Debian and Ubuntu: apt install npm; Fedora: dnf install npm; macOS: brew install node)", ErrNoClient)
	}
	return []string{path}, nil
}

// FindClient says where the client of an ecosystem is, as the words that start it.
func FindClient(ctx context.Context, ecosystem string) ([]string, error) {
	c, ok := clients[ecosystem]
	if !ok {
		return nil, fmt.Errorf("ecosystem %q is unknown", ecosystem)
	}
	return c.find(ctx)
}

// Artifact makes sure that the named artifact is in the cache and returns the folder with its members, each
// under its [Member.Base]. What is there already is not fetched again.
func (c *Cache) Artifact(ctx context.Context, name string, p Progress) (string, error) {
	a, err := LookupArtifact(name)
	if err != nil {
		return "", err
	}
	return c.artifact(ctx, a, p)
}

func (c *Cache) artifact(ctx context.Context, a Artifact, p Progress) (string, error) {
	return c.Ensure(ctx, a.entry(), p)
}

// entry is the artifact as the cache holds it.
func (a Artifact) entry() Entry {
	return Entry{
		Name: "artifact-" + a.Name,
		Key:  a.Key(),
		Build: func(ctx context.Context, dir string, p Progress) error {
			return fetch(ctx, a, dir, p)
		},
	}
}

// fetch downloads the archive, compares it with the lock file, and writes its members into dir.
func fetch(ctx context.Context, a Artifact, dir string, p Progress) (err error) {
	tmp, err := os.MkdirTemp(dir, "download-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	archive, err := download(ctx, a, tmp, p)
	if err != nil {
		return fmt.Errorf("fetch %s %s: %w", a.Package, a.Version, err)
	}
	if err := extract(a, archive, dir, p); err != nil {
		return fmt.Errorf("unpack %s: %w", a.File, err)
	}
	return nil
}

// download runs the client in the empty folder tmp and returns the archive that it left below it, not yet
// compared with anything.
func download(ctx context.Context, a Artifact, tmp string, p Progress) (archive string, err error) {
	p.Stage(fmt.Sprintf("download %s %s from %s", a.Package, a.Version, clients[a.Ecosystem].registry), 0)
	out, err := downloadInto(ctx, tmp, p, a)
	if err != nil {
		return "", err
	}
	files, err := os.ReadDir(out)
	if err != nil {
		return "", err
	}
	return filepath.Join(out, files[0].Name()), nil
}

// downloadInto runs the client of the artifacts' ecosystem, which they share, once for all of them. It returns the
// folder below tmp in which the archives are.
func downloadInto(ctx context.Context, tmp string, p Progress, list ...Artifact) (out string, err error) {
	c := clients[list[0].Ecosystem]
	command, err := c.find(ctx)
	if err != nil {
		return "", err
	}
	out = filepath.Join(tmp, "out")
	work := filepath.Join(tmp, "work")
	for _, d := range []string{out, work} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return "", err
		}
	}
	var packages [][2]string
	var total int64
	for _, a := range list {
		packages = append(packages, [2]string{a.Package, a.Version})
		total += a.Bytes
	}
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], c.args(out, packages)...)...)
	// An empty folder to work in: configuration files that lie about elsewhere are not read. Temporary files
	// go below it, where their growth is seen.
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "TMPDIR="+work)
	cmd.WaitDelay = 5 * time.Second
	var stderr tailBuffer
	cmd.Stderr = &stderr
	if err := runWatched(cmd, tmp, total, p); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", downloadError(c, command, err, stderr.String())
	}
	files, err := os.ReadDir(out)
	if err != nil {
		return "", err
	}
	if len(files) != len(list) || slices.ContainsFunc(files, func(f fs.DirEntry) bool { return !f.Type().IsRegular() }) {
		return "", fmt.Errorf("%s left %d files, expected an archive for each of %d packages", filepath.Base(command[0]), len(files), len(list))
	}
	return out, nil
}

// runWatched runs cmd and tells p how much it has written below dir.
func runWatched(cmd *exec.Cmd, dir string, total int64, p Progress) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if err == nil {
				p.Update(total, total)
			}
			return err
		case <-tick.C:
			if n := sizeBelow(dir); n > 0 { // npm collects elsewhere and writes at the end
				p.Update(min(n, total), total)
			}
		}
	}
}

func sizeBelow(dir string) (sum int64) {
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil // files come and go under us
	})
	return sum
}

func downloadError(c client, command []string, err error, stderr string) error {
	name := strings.Join(append([]string{filepath.Base(command[0])}, command[1:]...), " ")
	hint := fmt.Sprintf("check the network, and that %s (or the mirror that is set up for it) can be reached", c.registry)
	if stderr == "" {
		return fmt.Errorf("%s: %w; %s", name, err, hint)
	}
	return fmt.Errorf("%s: %w; %s; it said:\n%s", name, err, hint, stderr)
}

// tailBuffer keeps the last lines that were written to it.
type tailBuffer struct{ b []byte }

const tailBytes = 2000

func (t *tailBuffer) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if n := len(t.b) - tailBytes; n > 0 {
		t.b = t.b[n:]
	}
	return len(p), nil
}

func (t *tailBuffer) String() string {
	return strings.TrimSpace(string(bytes.ToValidUTF8(t.b, nil)))
}

// HashError says that a file is not the one that the lock file pins.
type HashError struct {
	File      string
	Want, Got string // SHA-256, hexadecimal
}

// Error names the file and both hashes.
func (e *HashError) Error() string {
	return fmt.Sprintf("%s is not the pinned file: its sha256 is %s, artifacts.lock says %s", e.File, e.Got, e.Want)
}

// openers say how archives are walked, by file name suffix.
var openers = map[string]func(archive string, visit visitor) error{
	".whl": walkZip,
	".tgz": walkTgz,
}

// visitor sees each regular file of an archive; size is what the archive says about it. It returns false
// when it has all it wants.
type visitor func(path string, size int64, open func() (io.ReadCloser, error)) (more bool, err error)

// extract compares the archive with its pinned size and hash, and only then opens it and writes its members
// into dir, each compared in turn.
func extract(a Artifact, archive, dir string, p Progress) error {
	p.Stage("verify "+a.File, time.Duration(a.Bytes)*time.Nanosecond) // about 1 GB a second
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := copyPinned(io.Discard, f, a.File, a.Bytes, a.SHA256); err != nil {
		return err
	}

	wanted := map[string]Member{}
	var total, done int64
	for _, m := range a.Members {
		if m.Path == a.File {
			if err := writeMember(m, filepath.Join(dir, m.Base()), func() (io.ReadCloser, error) { return os.Open(archive) }); err != nil {
				return err
			}
			continue
		}
		wanted[m.Path] = m
		total += m.Bytes
	}
	if len(wanted) == 0 {
		return nil
	}
	p.Stage("unpack "+a.File, 5*time.Duration(total)*time.Nanosecond)
	err = openers[filepath.Ext(a.File)](archive, func(path string, size int64, open func() (io.ReadCloser, error)) (bool, error) {
		m, ok := wanted[path]
		if !ok {
			return true, nil
		}
		delete(wanted, path)
		if size != m.Bytes {
			return false, fmt.Errorf("member %s has %d bytes, artifacts.lock says %d", path, size, m.Bytes)
		}
		if err := writeMember(m, filepath.Join(dir, m.Base()), open); err != nil {
			return false, err
		}
		done += m.Bytes
		p.Update(done, total)
		return len(wanted) > 0, nil
	})
	if err != nil {
		return err
	}
	for path := range wanted {
		return fmt.Errorf("there is no member %s", path)
	}
	return nil
}

func writeMember(m Member, name string, open func() (io.ReadCloser, error)) error {
	r, err := open()
	if err != nil {
		return fmt.Errorf("member %s: %w", m.Path, err)
	}
	defer r.Close()
	w, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := copyPinned(w, r, "member "+m.Path, m.Bytes, m.SHA256); err != nil {
		w.Close()
		return err
	}
	return w.Close()
}

// copyPinned copies r to w and checks that it has the given size and hash. It never reads more than one byte
// past the size.
func copyPinned(w io.Writer, r io.Reader, what string, size int64, sum string) error {
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, h), io.LimitReader(r, size+1))
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if n > size {
		return fmt.Errorf("%s is longer than the %d bytes that artifacts.lock says", what, size)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != sum {
		return &HashError{File: what, Want: sum, Got: got}
	}
	return nil
}

func walkZip(archive string, visit visitor) error {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		if !f.Mode().IsRegular() || f.UncompressedSize64 > maxArtifactBytes {
			continue
		}
		if more, err := visit(f.Name, int64(f.UncompressedSize64), f.Open); err != nil || !more {
			return err
		}
	}
	return nil
}

func walkTgz(archive string, visit visitor) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	// What the archive inflates to is bounded too: members that are skipped are read all the same.
	t := tar.NewReader(io.LimitReader(z, 4*maxArtifactBytes))
	for {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		more, err := visit(h.Name, h.Size, func() (io.ReadCloser, error) { return io.NopCloser(t), nil })
		if err != nil || !more {
			return err
		}
	}
}
