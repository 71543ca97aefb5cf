package vfs

// Namespace is the file tree of one sandbox: a mount table over an in-memory root. It is used by one
// goroutine at a time, its Handles included.
//
// Paths start from a Handle of a folder. A nil Handle means the root and is for the embedding program; from
// any other an absolute path gives ErrNotCapable, and so does a ".." of the path that would arrive above
// that folder. (".." at the root stays at the root. The ".." of a link that is followed, and absolute links,
// may lead anywhere in the namespace: the namespace is the boundary, not the folder.)
type Namespace struct{}

// Open opens a regular file or a folder. A folder can be opened with OpenRead or without any access flag.
func (ns *Namespace) Open(at *Handle, p Path, flags OpenFlags) (*Handle, error) { return nil, ErrNotSupported }

// Stat describes a file; follow says whether a link as the last name is followed.
func (ns *Namespace) Stat(at *Handle, p Path, follow bool) (Stat, error) { return Stat{}, ErrNotSupported }

// SetTimes changes the times of a file.
func (ns *Namespace) SetTimes(at *Handle, p Path, follow bool, t Times) error { return ErrNotSupported }

// Mkdir makes a folder.
func (ns *Namespace) Mkdir(at *Handle, p Path) error { return ErrNotSupported }

// Rmdir removes an empty folder.
func (ns *Namespace) Rmdir(at *Handle, p Path) error { return ErrNotSupported }

// Unlink removes a file or link; ErrIsDir for a folder.
func (ns *Namespace) Unlink(at *Handle, p Path) error { return ErrNotSupported }

// Rename moves a file, folder or link. ErrCrossDevice between mounts, ErrBusy for a mount point or a folder above one.
func (ns *Namespace) Rename(at *Handle, p Path, newAt *Handle, newPath Path) error { return ErrNotSupported }

// Link gives a file one more name. A link as the last name of p is followed only with follow. ErrPerm for a folder.
func (ns *Namespace) Link(at *Handle, p Path, follow bool, newAt *Handle, newPath Path) error {
	return ErrNotSupported
}

// Symlink makes a link at p with the text t.
func (ns *Namespace) Symlink(t Target, at *Handle, p Path) error { return ErrNotSupported }

// Readlink returns the text of a link; ErrInvalid if it is none.
func (ns *Namespace) Readlink(at *Handle, p Path) (string, error) { return "", ErrNotSupported }

// Rebind returns a new handle in ns for the file that h refers to, with the same flags and path. h belongs to
// ns or to the namespace that ns was cloned from. A checkpoint that is to bring back descriptors which the
// guest may close meanwhile keeps handles of its own that it made this way.
func (ns *Namespace) Rebind(h *Handle) (*Handle, error) { return nil, ErrNotSupported }

// Usage is what the memory parts of the sandbox hold now.
func (ns *Namespace) Usage() Usage { return Usage{} }

// Snapshot freezes the memory parts (see [Snapshot]); its cost does not depend on what they hold.
func (ns *Namespace) Snapshot() *Snapshot { return nil }

// Restore brings the memory parts back to a snapshot that was taken of this namespace or one of its ancestors.
func (ns *Namespace) Restore(s *Snapshot) error { return ErrNotSupported }

// Clone returns an independent namespace with the same files and mounts; both share what neither changes.
// Mounted host folders are the same folders. Handles are not copied: see Rebind.
func (ns *Namespace) Clone() (*Namespace, error) { return nil, ErrNotSupported }

// Close closes every handle that is still open and frees the memory parts. It is idempotent.
func (ns *Namespace) Close() error { return nil }

// Usage counts what is held against a Quota.
type Usage struct {
	Bytes  int64 // storage of files, and the texts of links
	Inodes int64 // files, folders, links, and each further hard link
}

// Snapshot is a frozen state of the memory parts of a namespace. It is immutable and may be used from any
// goroutine; it keeps what it shares with no one alive until it is dropped.
type Snapshot struct{}
