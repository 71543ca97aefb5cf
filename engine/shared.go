package engine

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

// Shared is a folder in memory that sandboxes share: what one writes the others see at once. It lives as long as it is used, belongs to no
// session's state, and may be used by any number of sandboxes at the same time.
type Shared struct {
	limits.Shared
	dir *vfs.SharedDir
}

// NewShared makes an empty folder. Its mode is the most that a sandbox may do in it.
func NewShared(s limits.Shared) (*Shared, error) {
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	d := limits.Default()
	s.Bytes, s.Inodes = cmp.Or(s.Bytes, d.DiskBytes), cmp.Or(s.Inodes, d.Inodes)
	return &Shared{Shared: s, dir: vfs.NewSharedDir(vfs.Options{Bytes: int64(s.Bytes), Inodes: int64(s.Inodes)})}, nil
}

// SharedMount shows a shared folder in a sandbox.
type SharedMount struct {
	Folder *Shared
	// Mode is what the sandbox may do in it. Empty: what the folder allows.
	Mode limits.SharedMode
}

func (m SharedMount) mode() limits.SharedMode { return cmp.Or(m.Mode, m.Folder.Mode) }

func (m SharedMount) check() error {
	if m.Folder == nil {
		return errors.New("a shared folder is nil: make it with NewShared")
	}
	if err := m.mode().Check(); err != nil {
		return fmt.Errorf("shared folder %s: %w", m.Folder.Name, err)
	}
	if !m.Folder.Mode.Allows(m.mode()) {
		return fmt.Errorf("shared folder %s: it is there as %s, and not as %s", m.Folder.Name, m.Folder.Mode, m.mode())
	}
	return nil
}

// mount is the folder as a part of a file tree. A link is followed by whoever meets it, in a tree of its own, so there are none.
func (m SharedMount) mount() vfs.Mount {
	v := vfs.Mount{Path: m.Folder.Path, FS: m.Folder.dir, Mode: vfs.ModeReadWrite, NoSymlinks: true}
	switch m.mode() {
	case limits.SharedReadOnly:
		v.Mode = vfs.ModeReadOnly
	case limits.SharedAppend:
		v.FS = m.Folder.dir.AppendOnly()
	}
	return v
}

// NewSharedFolders makes the folders of a policy, each to be mounted as its mode allows.
func NewSharedFolders(list []limits.Shared) ([]SharedMount, error) {
	var mounts []SharedMount
	for _, s := range list {
		folder, err := NewShared(s)
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, SharedMount{Folder: folder, Mode: folder.Mode})
	}
	return mounts, nil
}

// Files are the files in the folder, by their paths in sandboxes, for the host, which may do everything.
func (s *Shared) Files() (*Files, error) {
	all := *s
	all.Mode = limits.SharedReadWrite
	t, err := vfs.NewTemplate(vfs.Config{Mounts: []vfs.Mount{SharedMount{Folder: &all}.mount()}})
	if err != nil {
		return nil, err
	}
	return &Files{ns: t.New(vfs.Options{})}, nil
}
