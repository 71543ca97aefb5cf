package wasi

import (
	"errors"
	"fmt"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

// Descriptor is what an image or a snapshot keeps of one number of the table. Only numbers that differ from those
// of a fresh State have one.
type Descriptor struct {
	FD uint32 `json:"fd"`
	// Type is "file", "dir", "stdin", "stdout", "stderr", or "closed" for a standard stream or preopen that the
	// guest closed.
	Type string `json:"type"`
	// Path is the absolute guest path of a file or directory, by which it is opened again.
	Path    string `json:"path,omitempty"`
	Preopen bool   `json:"preopen,omitempty"`
	// Lost says that no name led to the file any more: the restored descriptor answers STALE.
	Lost bool `json:"lost,omitempty"`
	// ReadOnly says that the file lies in a mount that refuses changes: those of an image should.
	ReadOnly   bool   `json:"read_only,omitempty"`
	Offset     int64  `json:"offset,omitempty"`
	Flags      uint16 `json:"flags,omitempty"`
	Access     uint16 `json:"access,omitempty"` // vfs.OpenFlags
	Rights     uint64 `json:"rights"`
	Inheriting uint64 `json:"inheriting,omitempty"`
}

var typeNames = [...]string{
	kindClosed: "closed",
	kindStdin:  "stdin",
	kindStdout: "stdout",
	kindStderr: "stderr",
	kindFile:   "file",
	kindDir:    "dir",
}

// OpenDescriptors describes what differs from a fresh State of the same Config: what the guest has opened, moved
// or closed. It opens and changes nothing.
func (s *State) OpenDescriptors() ([]Descriptor, error) {
	if s.closed {
		return nil, errors.New("wasi: state is closed")
	}
	var list []Descriptor
	for n := range max(len(s.fds), initialCount(s)) {
		var d descriptor
		if n < len(s.fds) {
			d = s.fds[n]
		}
		if s.isInitial(n, &d) {
			continue
		}
		list = append(list, s.describe(uint32(n), &d))
	}
	return list, nil
}

// isInitial reports whether d is what number n is in a fresh State.
func (s *State) isInitial(n int, d *descriptor) bool {
	if n >= initialCount(s) {
		return d.kind == kindClosed
	}
	same := d.offset == 0 && d.flags == 0
	if n >= stdioCount {
		return same && d.preopen && d.path.String() == s.initial[n-stdioCount] &&
			d.rights == rightsDir && d.inheriting == rightsAll
	}
	fresh, _ := s.initialDescriptor(n)
	return same && d.kind == fresh.kind && d.rights == fresh.rights && d.inheriting == fresh.inheriting
}

func (s *State) describe(n uint32, d *descriptor) Descriptor {
	out := Descriptor{
		FD: n, Type: typeNames[d.kind], Preopen: d.preopen, Lost: d.lost, ReadOnly: d.readOnly, Offset: d.offset,
		Flags: uint16(d.flags), Access: uint16(d.access), Rights: uint64(d.rights), Inheriting: uint64(d.inheriting),
	}
	if d.kind != kindFile && d.kind != kindDir {
		return out
	}
	out.Path = d.path.String()
	h := d.handle
	if h == nil {
		return out
	}
	out.ReadOnly = h.ReadOnly()
	if !d.preopen {
		out.Path = h.Path()
		out.Lost = !s.leadsTo(h)
	}
	return out
}

// leadsTo reports whether h's path still names the file that h is.
func (s *State) leadsTo(h *vfs.Handle) bool {
	path, err := vfs.ParsePathString(h.Path())
	if err != nil {
		return false
	}
	named, err := s.fs.Stat(nil, path, false)
	if err != nil {
		return false
	}
	open, err := h.Stat()
	return err == nil && open.Dev == named.Dev && open.Ino == named.Ino
}

// OpenFilesError says that an image holds more descriptors than a State may have.
type OpenFilesError struct{ Open, Cap int }

func (e *OpenFilesError) Error() string {
	return fmt.Sprintf("wasi: %d descriptors to restore, but a cap of %d", e.Open, e.Cap)
}

// RestoreDescriptors makes the table of a State that was just made what [State.OpenDescriptors] described. It opens
// nothing: that is done by a descriptor's first use, which is STALE if its file is not there. On an error, which
// names every problem of the list, the State cannot be used.
func (s *State) RestoreDescriptors(list []Descriptor) error {
	var problems []error
	for i := range list {
		if err := s.restore(&list[i]); err != nil {
			problems = append(problems, fmt.Errorf("wasi: restore descriptor %d: %w", list[i].FD, err))
		}
	}
	if s.open > s.openFiles {
		problems = append(problems, &OpenFilesError{s.open, s.openFiles})
	}
	return errors.Join(problems...)
}

func (s *State) restore(in *Descriptor) error {
	d := descriptor{
		preopen: in.Preopen, lost: in.Lost, readOnly: in.ReadOnly, offset: in.Offset,
		flags: fdflags(in.Flags) & fdflagsAll, access: vfs.OpenFlags(in.Access),
		rights: rights(in.Rights), inheriting: rights(in.Inheriting) & rightsAll,
	}
	switch in.Type {
	case "closed":
		d = descriptor{}
	case "stdin":
		d.kind, d.rights = kindStdin, d.rights&(rightsStdio|rightsNoTerminal|rightFdRead)
	case "stdout":
		d.kind, d.rights = kindStdout, d.rights&(rightsStdio|rightsNoTerminal|rightFdWrite)
	case "stderr":
		d.kind, d.rights = kindStderr, d.rights&(rightsStdio|rightsNoTerminal|rightFdWrite)
	case "file":
		d.kind, d.rights = kindFile, d.rights&rightsFile
		d.access &= vfs.OpenRead | vfs.OpenWrite
	case "dir":
		d.kind, d.rights = kindDir, d.rights&rightsDir
		d.access = vfs.OpenRead | vfs.OpenDirectory
	default:
		return fmt.Errorf("unknown type %q", in.Type)
	}
	if in.FD >= maxOpenFiles {
		return errors.New("number too high")
	}
	if in.Offset < 0 {
		return fmt.Errorf("negative offset %d", in.Offset)
	}
	if d.kind == kindFile || d.kind == kindDir {
		path, err := vfs.ParsePathString(in.Path)
		switch {
		case err != nil:
			return err
		case d.lost:
		case s.fs == nil:
			return errors.New("no file system")
		case !path.Absolute():
			return fmt.Errorf("path %q is not absolute", in.Path)
		}
		d.path = path
	}
	for uint32(len(s.fds)) <= in.FD {
		s.fds = append(s.fds, descriptor{})
	}
	if s.fds[in.FD].kind != kindClosed {
		if err := s.unset(in.FD); err != nil {
			return err
		}
	}
	if d.kind != kindClosed {
		s.set(in.FD, d)
	}
	return nil
}
