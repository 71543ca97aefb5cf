package limits

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

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
	maxSharedName   = 48
)

// Check says what is wrong with the folder.
func (s Shared) Check() error {
	if !isFolderName(s.Name) {
		return fmt.Errorf("shared folder %.60q: a name has 1 to %d letters, digits, hyphens, underscores and dots, and no hyphen or dot first", s.Name, maxSharedName)
	}
	if !path.IsAbs(s.Path) || path.Clean(s.Path) != s.Path || s.Path == "/" || strings.ContainsFunc(s.Path, unicode.IsControl) {
		return fmt.Errorf("shared folder %s: path %q must be absolute and plain, such as /shared/%s", s.Name, s.Path, s.Name)
	}
	if err := s.Mode.Check(); err != nil {
		return fmt.Errorf("shared folder %s: %w", s.Name, err)
	}
	return nil
}

// isFolderName says whether s can be a shared folder's name, which is one in paths, in URLs and in requests.
func isFolderName(s string) bool {
	for i, c := range []byte(s) {
		if letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_'; !letter && (i == 0 || c != '-' && c != '.') {
			return false
		}
	}
	return s != "" && len(s) <= maxSharedName
}

// CheckBeside says which of other folders and mounts lie in the folder's place, or it in theirs.
func (s Shared) CheckBeside(folders []Shared, mounts []Mount) error {
	var errs []error
	check := func(kind, other string) {
		if within(s.Path, other, "/") || within(other, s.Path, "/") {
			errs = append(errs, fmt.Errorf("shared folder %s and %s %s overlap: choose paths of which none is in another", s.Path, kind, other))
		}
	}
	for _, o := range folders {
		check("shared folder", o.Path)
	}
	for _, m := range mounts {
		check("mount", m.Guest)
	}
	return errors.Join(errs...)
}

// shared reads [shared]. Its folders are beside the mounts.
func (d *document) shared(v toml.Primitive, mounts []Mount) []Shared {
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
		err := s.Check()
		if err == nil {
			err = s.CheckBeside(folders, mounts)
		}
		if err != nil {
			d.failf(t[name], "%w", err)
		}
		folders = append(folders, s)
	}
	slices.SortFunc(folders, func(a, b Shared) int { return strings.Compare(a.Name, b.Name) })
	return folders
}
