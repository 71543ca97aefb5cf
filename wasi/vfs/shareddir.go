package vfs

import "sync"

// SharedDir is a file tree in memory that may be mounted in several namespaces and used from many goroutines at once. Each
// call is atomic: what one namespace does is seen by the others in full or not at all. It belongs to no state of a namespace: a snapshot
// does not hold it, and Restore does not change it. Mount it with NoSymlinks where namespaces do not trust each other: a link is followed
// in the namespace of whoever meets it.
type SharedDir struct {
	tree       *sharedTree
	appendOnly bool
}

// sharedTree is what the mounts of a SharedDir have in common.
type sharedTree struct {
	mu  sync.Mutex // held while mem is used
	mem *memFS
}

// NewSharedDir makes an empty one with the quota and the clock of o.
func NewSharedDir(o Options) *SharedDir {
	o.Check = nil
	return &SharedDir{tree: &sharedTree{mem: newMemFS(o)}}
}

// AppendOnly is the same tree for who may make files and folders and write at the end of files, and change nothing else: what is
// there stays there (ErrPerm).
func (d *SharedDir) AppendOnly() *SharedDir { return &SharedDir{tree: d.tree, appendOnly: true} }

// Used counts what is in the tree.
func (d *SharedDir) Used() Usage {
	d.tree.mu.Lock()
	defer d.tree.mu.Unlock()
	return d.tree.mem.used.beyond(Usage{Inodes: 1}) // its root
}

// shared runs f under the lock.
func shared[T any](d *SharedDir, f func(*memFS) (T, error)) (T, error) {
	d.tree.mu.Lock()
	defer d.tree.mu.Unlock()
	return f(d.tree.mem)
}

// removed is the error of a call about a node that another namespace has removed since it was looked up.
func removed(err error) error {
	if err == ErrStale {
		return ErrNotExist
	}
	return err
}

// do is shared for what has no result.
func (d *SharedDir) do(f func(*memFS) error) error {
	_, err := shared(d, func(m *memFS) (struct{}, error) { return struct{}{}, f(m) })
	return err
}

// change is do for what changes more than can be added.
func (d *SharedDir) change(f func(*memFS) error) error {
	if d.appendOnly {
		return ErrPerm
	}
	return d.do(f)
}

// open is shared for what opens a file.
func (d *SharedDir) open(f func(*memFS) (File, error)) (File, error) {
	file, err := shared(d, f)
	if err != nil {
		return nil, err
	}
	return &sharedDirFile{dir: d, file: file}, nil
}

// Root implements FS.
func (d *SharedDir) Root() (Node, Kind) { return Node{ID: rootIno}, KindDir }

// ReadOnly implements FS.
func (d *SharedDir) ReadOnly() bool { return false }

// Lookup implements FS.
func (d *SharedDir) Lookup(dir Node, name string) (n Node, k Kind, err error) {
	err = d.do(func(m *memFS) error {
		n, k, err = m.Lookup(dir, name)
		return err
	})
	return n, k, err
}

// Stat implements FS.
func (d *SharedDir) Stat(n Node) (Stat, error) {
	st, err := shared(d, func(m *memFS) (Stat, error) { return m.Stat(n) })
	return st, removed(err)
}

// SetTimes implements FS.
func (d *SharedDir) SetTimes(n Node, t Times) error {
	return removed(d.change(func(m *memFS) error { return m.SetTimes(n, t) }))
}

// Readlink implements FS.
func (d *SharedDir) Readlink(n Node) (string, error) {
	text, err := shared(d, func(m *memFS) (string, error) { return m.Readlink(n) })
	return text, removed(err)
}

// ReadDir implements FS.
func (d *SharedDir) ReadDir(dir Node, list []DirEntry) ([]DirEntry, error) {
	return shared(d, func(m *memFS) ([]DirEntry, error) { return m.ReadDir(dir, list) })
}

// Open implements FS.
func (d *SharedDir) Open(n Node, flags OpenFlags) (File, error) {
	f, err := d.open(func(m *memFS) (File, error) {
		if d.appendOnly && flags&OpenTruncate != 0 {
			if st, err := m.Stat(n); err != nil || st.Size > 0 {
				return nil, ErrPerm
			}
		}
		return m.Open(n, flags)
	})
	return f, removed(err)
}

// Create implements FS.
func (d *SharedDir) Create(dir Node, name string, flags OpenFlags) (File, error) {
	return d.open(func(m *memFS) (File, error) { return m.Create(dir, name, flags) })
}

// Hold implements FS.
func (d *SharedDir) Hold(dir Node) error { return d.do(func(m *memFS) error { return m.Hold(dir) }) }

// Release implements FS.
func (d *SharedDir) Release(dir Node) {
	d.tree.mu.Lock()
	defer d.tree.mu.Unlock()
	d.tree.mem.Release(dir)
}

// Mkdir implements FS.
func (d *SharedDir) Mkdir(dir Node, name string) error {
	return d.do(func(m *memFS) error { return m.Mkdir(dir, name) })
}

// Symlink implements FS.
func (d *SharedDir) Symlink(dir Node, name, target string) error {
	return d.do(func(m *memFS) error { return m.Symlink(dir, name, target) })
}

// Link implements FS.
func (d *SharedDir) Link(n Node, dir Node, name string) error {
	return d.change(func(m *memFS) error { return m.Link(n, dir, name) })
}

// Rename implements FS.
func (d *SharedDir) Rename(dir Node, name string, newDir Node, newName string) error {
	return d.change(func(m *memFS) error { return m.Rename(dir, name, newDir, newName) })
}

// Unlink implements FS.
func (d *SharedDir) Unlink(dir Node, name string) error {
	return d.change(func(m *memFS) error { return m.Unlink(dir, name) })
}

// Rmdir implements FS.
func (d *SharedDir) Rmdir(dir Node, name string) error {
	return d.change(func(m *memFS) error { return m.Rmdir(dir, name) })
}

// sharedDirFile is an open file of a SharedDir: that of its memFS under the lock.
type sharedDirFile struct {
	dir  *SharedDir
	file File
}

func (f *sharedDirFile) ReadAt(p []byte, off int64) (int, error) {
	return shared(f.dir, func(*memFS) (int, error) { return f.file.ReadAt(p, off) })
}

func (f *sharedDirFile) WriteAt(p []byte, off int64) (int, error) {
	return shared(f.dir, func(*memFS) (int, error) {
		if f.dir.appendOnly {
			if st, err := f.file.Stat(); err != nil || off != st.Size {
				return 0, ErrPerm
			}
		}
		return f.file.WriteAt(p, off)
	})
}

func (f *sharedDirFile) Append(p []byte) (n int, end int64, err error) {
	err = f.dir.do(func(*memFS) error {
		n, end, err = f.file.Append(p)
		return err
	})
	return n, end, err
}

func (f *sharedDirFile) Stat() (Stat, error) {
	return shared(f.dir, func(*memFS) (Stat, error) { return f.file.Stat() })
}

func (f *sharedDirFile) SetTimes(t Times) error {
	return f.dir.change(func(*memFS) error { return f.file.SetTimes(t) })
}

func (f *sharedDirFile) Truncate(size int64) error {
	return f.dir.change(func(*memFS) error { return f.file.Truncate(size) })
}

func (f *sharedDirFile) Allocate(off, n int64) error {
	return f.dir.change(func(*memFS) error { return f.file.Allocate(off, n) })
}

func (f *sharedDirFile) Sync(bool) error { return nil }

func (f *sharedDirFile) Close() error { return f.dir.do(func(*memFS) error { return f.file.Close() }) }
