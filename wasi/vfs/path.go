package vfs

import "unicode/utf8"

// Bounds of paths. They hold for what a guest passes and for every link that is followed.
const (
	MaxName  = 255  // bytes of one name
	MaxPath  = 4096 // bytes of a whole path, and of a link's text
	MaxDepth = 256  // names in a path ("." not counted), and folders one inside the other in memory
	MaxLinks = 40   // links followed in one walk
)

// Path is a path that has been checked: UTF-8, no NUL, within the bounds above. It may be absolute or
// relative, have "." and ".." in it and end in a slash; only [Namespace] gives it a meaning. It is the one
// way by which a name from outside reaches a file: no function of this package takes a path as a string,
// except those for the embedding program, which parse it first. The zero Path is the empty path, which
// names nothing.
type Path struct {
	s string
}

// ParsePath checks the bytes of a guest's path. It keeps a copy, so the guest may change them afterwards.
//
// Errors: ErrIllegalName (not UTF-8), ErrInvalid (NUL), ErrNameTooLong, ErrPathTooLong, ErrTooDeep.
func ParsePath(b []byte) (Path, error) {
	if len(b) > MaxPath {
		return Path{}, ErrPathTooLong
	}
	return ParsePathString(string(b))
}

// ParsePathString is ParsePath for a string.
func ParsePathString(s string) (Path, error) {
	if len(s) > MaxPath {
		return Path{}, ErrPathTooLong
	}
	start, names, ascii := 0, 0, true
	for i := 0; i <= len(s); i++ {
		if i < len(s) && s[i] != '/' {
			if s[i] == 0 {
				return Path{}, ErrInvalid
			}
			ascii = ascii && s[i] < utf8.RuneSelf
			continue
		}
		if i-start > MaxName {
			return Path{}, ErrNameTooLong
		}
		if name := s[start:i]; name != "" && name != "." {
			names++
		}
		start = i + 1
	}
	if !ascii && !utf8.ValidString(s) {
		return Path{}, ErrIllegalName
	}
	if names > MaxDepth {
		return Path{}, ErrTooDeep
	}
	return Path{s}, nil
}

// MustPath parses a path that is a constant of the program; it panics when it is not valid.
func MustPath(s string) Path {
	p, err := ParsePathString(s)
	if err != nil {
		panic("vfs: bad constant path: " + err.Error())
	}
	return p
}

// String returns the path as it was given.
func (p Path) String() string { return p.s }

// Absolute reports whether the path starts with a slash.
func (p Path) Absolute() bool { return len(p.s) > 0 && p.s[0] == '/' }

// Target is the checked text of a symbolic link. It is kept as it is; when the link is followed it is parsed
// as a [Path], so a text that is no valid path makes a link that cannot be followed.
type Target struct {
	s string
}

// ParseTarget checks the text of a link that is to be made.
//
// Errors: ErrNotExist (empty), ErrIllegalName (not UTF-8), ErrInvalid (NUL), ErrPathTooLong.
func ParseTarget(b []byte) (Target, error) {
	switch {
	case len(b) == 0:
		return Target{}, ErrNotExist
	case len(b) > MaxPath:
		return Target{}, ErrPathTooLong
	case !utf8.Valid(b):
		return Target{}, ErrIllegalName
	}
	for _, c := range b {
		if c == 0 {
			return Target{}, ErrInvalid
		}
	}
	return Target{string(b)}, nil
}

// String returns the text of the link.
func (t Target) String() string { return t.s }

// Absolute reports whether the link's text starts with a slash. Such a link is followed from the root of the
// namespace, wherever it lies.
func (t Target) Absolute() bool { return len(t.s) > 0 && t.s[0] == '/' }
