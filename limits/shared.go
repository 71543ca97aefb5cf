package limits

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// SharedMode says what a sandbox may do in a shared folder.
type SharedMode string

// The modes of shared folders, each with all that the one before it has.
const (
	SharedReadOnly  SharedMode = "ro"
	SharedAppend    SharedMode = "append" // make files and folders, and write at the end of files
	SharedReadWrite SharedMode = "rw"
)

var sharedModes = []SharedMode{SharedReadOnly, SharedAppend, SharedReadWrite}

// Allows says whether a sandbox with the mode may do all that one with the other may.
func (m SharedMode) Allows(other SharedMode) bool {
	return slices.Index(sharedModes, m) >= slices.Index(sharedModes, other)
}

// Check says whether there is such a mode.
func (m SharedMode) Check() error {
	if !slices.Contains(sharedModes, m) {
		return fmt.Errorf("mode %q is unknown: use ro, append or rw", m)
	}
	return nil
}

// Shared is a folder in memory that sandboxes share.
type Shared struct {
	Name string
	// Path is where it is in each of them.
	Path string
	// Mode is the most that a sandbox may do in it.
	Mode SharedMode
	// Bytes and Inodes are how much there may be in it; zero means those of [Default].
	Bytes, Inodes uint64
}

// Bounds of shared folders.
const (
	maxSharedBytes  = 1 << 40
	maxSharedInodes = 10_000_000
)

// Check says what is wrong with the folder.
func (s Shared) Check() error {
	if s.Name == "" {
		return fmt.Errorf("the shared folder at %s has no name", s.Path)
	}
	if !path.IsAbs(s.Path) || path.Clean(s.Path) != s.Path || s.Path == "/" || strings.ContainsRune(s.Path, 0) {
		return fmt.Errorf("shared folder %s: path %q must be absolute and plain, such as /shared/%s", s.Name, s.Path, s.Name)
	}
	if err := s.Mode.Check(); err != nil {
		return fmt.Errorf("shared folder %s: %w", s.Name, err)
	}
	return nil
}

// shared reads [shared].
func (d *document) shared(v toml.Primitive) []Shared {
	var folders []Shared
	t := d.table("shared", v)
	for _, name := range d.order(t) {
		s := Shared{Name: name, Path: "/shared/" + name, Mode: SharedReadWrite}
		where := "shared." + name
		keys := d.table(where, t[name])
		for _, key := range d.order(keys) {
			switch key {
			case "path":
				s.Path, _ = d.text(where, key, keys[key])
			case "mode":
				mode, _ := d.text(where, key, keys[key])
				s.Mode = SharedMode(mode)
			case "bytes":
				s.Bytes = d.number(where, key, keys[key], kindSize, 1, maxSharedBytes)
			case "inodes":
				s.Inodes = d.number(where, key, keys[key], kindCount, 1, maxSharedInodes)
			default:
				d.failf(keys[key], "unknown key %q in [%s]: there are path, mode, bytes and inodes", key, where)
			}
		}
		if err := s.Check(); err != nil {
			d.failf(t[name], "%w", err)
		}
		for _, o := range folders {
			if within(s.Path, o.Path, "/") || within(o.Path, s.Path, "/") {
				d.failf(t[name], "shared folders %s and %s overlap: choose paths of which none is in another", o.Path, s.Path)
			}
		}
		folders = append(folders, s)
	}
	slices.SortFunc(folders, func(a, b Shared) int { return strings.Compare(a.Name, b.Name) })
	return folders
}
