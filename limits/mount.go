package limits

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// MountMode says what a guest may do with a mounted host folder.
type MountMode string

// The mount modes.
const (
	ReadOnly  MountMode = "ro"      // nothing in the folder changes
	ReadWrite MountMode = "rw"      // the guest's changes are made in the folder
	Overlay   MountMode = "overlay" // changes stay in the sandbox's own files, above the folder
)

var mountModes = []MountMode{ReadOnly, ReadWrite, Overlay}

func parseMountMode(s string) (MountMode, error) {
	if m := MountMode(s); slices.Contains(mountModes, m) {
		return m, nil
	}
	return "", fmt.Errorf("mount mode %q is unknown: use ro, rw or overlay", s)
}

// Mount makes a host folder visible to the guest, or the contents of a zip archive.
type Mount struct {
	Host  string // an absolute path of the host: a folder, or a file called *.zip, which cannot be mounted ReadWrite
	Guest string // an absolute path in the sandbox, such as "/data/in"
	Mode  MountMode
}

// ParseMount reads HOST:GUEST[:ro|rw|overlay]; without a mode the mount is read-only. The paths are not
// checked here (a command line may name HOST relative to its working folder): see [CheckMounts].
func ParseMount(s string) (Mount, error) {
	m := Mount{Mode: ReadOnly}
	rest := s
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasPrefix(s[i+1:], "/") && strings.Contains(s[:i], ":") {
		mode, err := parseMountMode(s[i+1:])
		if err != nil {
			return Mount{}, fmt.Errorf("mount %q: %w", s, err)
		}
		m.Mode, rest = mode, s[:i]
	}
	// A host path may hold colons, a guest path may not.
	i := strings.LastIndexByte(rest, ':')
	if i <= 0 || i == len(rest)-1 {
		return Mount{}, fmt.Errorf("mount %q is not understood: write HOST:GUEST or HOST:GUEST:ro|rw|overlay", s)
	}
	m.Host, m.Guest = rest[:i], rest[i+1:]
	return m, nil
}

// CheckMounts reports every mount with a relative or unclean path or an unknown mode, guest paths that are
// equal or below one another, and host folders of which one is in the other while one of them can be
// written (what is read-only in one place would change through the other).
//
// Host paths are compared as they are written. [LoadPolicy] and the command line resolve links first.
func CheckMounts(mounts []Mount) error {
	var errs []error
	for i, m := range mounts {
		errs = append(errs, m.check())
		for _, o := range mounts[:i] {
			errs = append(errs, overlap(o, m))
		}
	}
	return errors.Join(errs...)
}

func (m Mount) check() error {
	var errs []error
	if !filepath.IsAbs(m.Host) {
		errs = append(errs, fmt.Errorf("mount %s: host path %q is not absolute", m.Guest, m.Host))
	} else if c := filepath.Clean(m.Host); c != m.Host {
		errs = append(errs, fmt.Errorf("mount %s: host path %q is written in a roundabout way: use %q", m.Guest, m.Host, c))
	}
	if !path.IsAbs(m.Guest) {
		errs = append(errs, fmt.Errorf("mount of %s: guest path %q is not absolute: it must begin with /", m.Host, m.Guest))
	} else if c := path.Clean(m.Guest); c != m.Guest {
		errs = append(errs, fmt.Errorf("mount of %s: guest path %q is written in a roundabout way: use %q", m.Host, m.Guest, c))
	}
	if strings.ContainsRune(m.Host+m.Guest, 0) {
		errs = append(errs, fmt.Errorf("mount %q: a path holds a NUL character", m.Guest))
	}
	if !slices.Contains(mountModes, m.Mode) {
		errs = append(errs, fmt.Errorf("mount %s: mode %q is unknown: use ro, rw or overlay", m.Guest, m.Mode))
	}
	return errors.Join(errs...)
}

func overlap(a, b Mount) error {
	if b.GuestHolds(a.Guest) || a.GuestHolds(b.Guest) {
		return fmt.Errorf("mounts %s and %s overlap: choose guest paths of which none is in another", a.Guest, b.Guest)
	}
	sep := string(filepath.Separator)
	if (a.Mode == ReadWrite || b.Mode == ReadWrite) && (within(a.Host, b.Host, sep) || within(b.Host, a.Host, sep)) {
		return fmt.Errorf("mounts %s and %s show the same host files (%s, %s) and one of them can write",
			a.Guest, b.Guest, a.Host, b.Host)
	}
	return nil
}

// within says whether p is dir or lies below it. Both are clean.
func within(p, dir, sep string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, sep)+sep)
}

// HostHolds says whether the mount shows the host file or folder p: whether p lies in its host folder.
// Both are compared with links resolved, as far as they exist.
func (m Mount) HostHolds(p string) bool {
	return within(resolved(p), resolved(m.Host), string(filepath.Separator))
}

// GuestHolds says whether the guest finds p, a clean path, in the mount.
func (m Mount) GuestHolds(p string) bool { return within(p, m.Guest, "/") }

// Resolve returns the mount with the links in its host path resolved, if that exists.
func (m Mount) Resolve() Mount {
	m.Host = resolved(m.Host)
	return m
}

func resolved(p string) string {
	if r, err := filepath.EvalSymlinks(p); err == nil {
		return r
	}
	return filepath.Clean(p)
}
