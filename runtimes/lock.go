package runtimes

import (
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
)

//go:embed artifacts.lock
var lockTOML string

// lockFormat is the version of the lock file's form that this program reads.
const lockFormat = 1

// maxArtifactBytes bounds an archive and each member of it, so that a wrong lock file cannot fill the disk.
const maxArtifactBytes = 1 << 30

// Artifact is a pinned archive of a package registry and the members of it that are used.
type Artifact struct {
	Name      string   `toml:"name"`  // what this program calls it, such as "python"
	About     string   `toml:"about"` // one line for people
	Ecosystem string   `toml:"ecosystem"`
	Package   string   `toml:"package"`
	Version   string   `toml:"version"`
	File      string   `toml:"file"` // the archive's file name: a wheel (zip) or a tgz
	Bytes     int64    `toml:"bytes"`
	SHA256    string   `toml:"sha256"` // hexadecimal, lower case
	Licence   string   `toml:"licence"`
	Note      string   `toml:"note"` // about the licence; may be empty
	Members   []Member `toml:"member"`
}

// Member is a file in an archive.
type Member struct {
	Path   string `toml:"path"`
	Bytes  int64  `toml:"bytes"`
	SHA256 string `toml:"sha256"`
}

// Base is the member's name without folders. It is unique in its artifact, and is what the extracted file
// is called.
func (m Member) Base() string { return path.Base(m.Path) }

// Key identifies the artifact's content: it changes when anything that is pinned changes.
func (a Artifact) Key() string {
	parts := []string{a.Ecosystem, a.Package, a.Version, a.File, strconv.FormatInt(a.Bytes, 10), a.SHA256}
	for _, m := range a.Members {
		parts = append(parts, m.Path, strconv.FormatInt(m.Bytes, 10), m.SHA256)
	}
	return Key(parts...)
}

var lock = sync.OnceValue(func() []Artifact {
	artifacts, err := parseLock(lockTOML)
	if err != nil {
		panic(err) // artifacts.lock is part of the program
	}
	return artifacts
})

// Artifacts returns what the lock file pins.
func Artifacts() []Artifact { return slices.Clone(lock()) }

// LookupArtifact returns the artifact with the given name.
func LookupArtifact(name string) (Artifact, error) {
	for _, a := range lock() {
		if a.Name == name {
			return a, nil
		}
	}
	return Artifact{}, fmt.Errorf("artifact %q is not in artifacts.lock", name)
}

// parseLock reads a lock file and reports everything in it that cannot be relied on.
func parseLock(text string) ([]Artifact, error) {
	var f struct {
		Format    int        `toml:"format"`
		Artifacts []Artifact `toml:"artifact"`
	}
	meta, err := toml.Decode(text, &f)
	if err != nil {
		return nil, fmt.Errorf("artifacts.lock: %w", err)
	}
	if f.Format != lockFormat {
		return nil, fmt.Errorf("artifacts.lock: has format %d, this program reads format %d", f.Format, lockFormat)
	}
	var errs []error
	for _, k := range meta.Undecoded() {
		errs = append(errs, fmt.Errorf("artifacts.lock: unknown key %s", k))
	}
	seen := map[string]bool{}
	for _, a := range f.Artifacts {
		for _, problem := range a.problems() {
			errs = append(errs, fmt.Errorf("artifacts.lock: artifact %q: %s", a.Name, problem))
		}
		if seen[a.Name] {
			errs = append(errs, fmt.Errorf("artifacts.lock: artifact %q is there twice", a.Name))
		}
		seen[a.Name] = true
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return f.Artifacts, nil
}

func (a Artifact) problems() []string {
	var p []string
	for _, v := range []struct{ name, value string }{
		{"name", a.Name}, {"package", a.Package}, {"version", a.Version}, {"file", a.File}, {"licence", a.Licence},
	} {
		if v.value == "" {
			p = append(p, v.name+" is missing")
		}
		// A value reaches a client's command line or a path: it must not be read as an option or leave a folder.
		if strings.HasPrefix(v.value, "-") || strings.Contains(v.value, "..") || strings.ContainsAny(v.value, "\\\x00\n") {
			p = append(p, fmt.Sprintf("%s %q is not allowed", v.name, v.value))
		}
	}
	if strings.Contains(a.Name+a.File, "/") {
		p = append(p, "name and file must not contain /")
	}
	if _, ok := clients[a.Ecosystem]; !ok {
		p = append(p, fmt.Sprintf("ecosystem %q is unknown: there are pypi and npm", a.Ecosystem))
	}
	if openers[path.Ext(a.File)] == nil {
		p = append(p, fmt.Sprintf("file %q is neither a wheel (.whl) nor a .tgz", a.File))
	}
	p = append(p, problemsOf("archive", a.Bytes, a.SHA256)...)
	if len(a.Members) == 0 {
		p = append(p, "no member is named")
	}
	seen := map[string]bool{}
	for _, m := range a.Members {
		p = append(p, problemsOf("member "+m.Path, m.Bytes, m.SHA256)...)
		if m.Path == "" || path.IsAbs(m.Path) || path.Clean(m.Path) != m.Path || strings.HasPrefix(m.Path, "..") {
			p = append(p, fmt.Sprintf("member path %q is not a clean relative path", m.Path))
		}
		if seen[m.Base()] {
			p = append(p, fmt.Sprintf("two members are called %s", m.Base()))
		}
		seen[m.Base()] = true
	}
	return p
}

func problemsOf(what string, bytes int64, sum string) []string {
	var p []string
	if bytes <= 0 || bytes > maxArtifactBytes {
		p = append(p, fmt.Sprintf("%s has %d bytes, must be 1 to %d", what, bytes, maxArtifactBytes))
	}
	if b, err := hex.DecodeString(sum); err != nil || len(b) != 32 || strings.ToLower(sum) != sum {
		p = append(p, fmt.Sprintf("%s has sha256 %q, must be 64 hexadecimal digits in lower case", what, sum))
	}
	return p
}
