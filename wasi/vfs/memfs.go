package vfs

import (
	"io"
	"slices"
	"strings"
	"time"
)

// Kinds that only an overlay's memory holds; they are never shown.
const kindWhiteout Kind = 255 // the name below is deleted

const (
	rootIno  = 1
	maxLinks = 65_000 // hard links of one file

	// timeUnset is the time of what a template holds: it shows as the time the sandbox was made.
	timeUnset = -1 << 63
)

// inode is a file, folder or link in memory. It is changed only by a memFS of its generation.
type inode struct {
	gen   uint64
	ino   uint64
	kind  Kind
	nlink uint32 // of a folder: 2 and its subfolders; 0 when it has no name any more
	// Of an overlay's upper layer:
	opaque   bool   // nothing of the lower layer shows through this folder
	pristine bool   // the contents are still those of the file that it was copied from
	origin   uint64 // number of the file that it was copied from
	atime    int64
	mtime    int64
	ctime    int64

	size   int64
	stored int64 // counted against the byte quota
	data   fileData
	target string

	parent uint64 // of a folder; itself at the top
	dir    dirData
}

// memState is all that a snapshot has to remember.
type memState struct {
	table tree[inode]
	used  Usage
	// orphans are files without a name that handles still refer to, and so folders that are held. The slice
	// is replaced, never changed.
	orphans []uint64
	born    int64 // shown for timeUnset
}

// memFS is a file system in memory with a quota, copied on write (see tree.go). It may hold several trees of
// folders; the one that is mounted starts at rootIno, the others are the upper layers of overlays.
//
// Accounting: used.Inodes is the number of inodes and of further hard links; used.Bytes the sum of stored
// over all inodes, which is the length of the chunks a file has, treeNodeBytes for each node above them, and
// the text of a link. Both are exact after each operation; recount (in the tests) proves it.
type memFS struct {
	memState
	peak      Usage // before something was given back; see most
	gen       uint64
	next      uint64           // inode number to give out; never goes back, so that no number comes twice
	opens     map[uint64]int32 // handles by inode number
	maxBytes  int64
	maxInodes int64
	now       func() int64
	check     func() error // see Options; may be nil
}

func hostNow() int64 { return time.Now().UnixNano() }

// newMemFS returns a file system with an empty root folder.
func newMemFS(o Options) *memFS {
	m := &memFS{gen: newGen(), next: rootIno}
	m.configure(o, Usage{})
	m.born = m.now()
	m.newTree(timeUnset)
	return m
}

// configure sets what o says. The quota comes on top of base, what the template holds.
func (m *memFS) configure(o Options, base Usage) {
	m.maxBytes, m.maxInodes, m.now, m.check = o.Bytes, o.Inodes, o.Now, o.Check
	if m.maxBytes <= 0 {
		m.maxBytes = DefaultBytes
	}
	if m.maxInodes <= 0 {
		m.maxInodes = DefaultInodes
	}
	m.maxBytes += base.Bytes
	m.maxInodes += base.Inodes
	if m.now == nil {
		m.now = hostNow
	}
}

// clone returns a file system with the state s, with settings of its own.
func (s *memState) clone(next uint64, o Options, base Usage) *memFS {
	m := &memFS{memState: *s, gen: newGen(), next: next}
	m.configure(o, base)
	return m
}

// freeze gives the file system a new generation, so that the state returned stays as it is.
func (m *memFS) freeze() memState {
	m.gen = newGen()
	return m.memState
}

// newTree makes an empty folder that is in no other one, and returns its number.
func (m *memFS) newTree(t int64) uint64 {
	nd := m.alloc(KindDir, t)
	nd.nlink, nd.parent = 2, nd.ino
	return nd.ino
}

// alloc makes an inode; the caller has made sure that the quota allows it.
func (m *memFS) alloc(k Kind, t int64) *inode {
	nd := &inode{gen: m.gen, ino: m.next, kind: k, nlink: 1, atime: t, mtime: t, ctime: t}
	m.next++
	m.table.set(m.gen, nd.ino, nd)
	m.used.Inodes++
	return nd
}

// own returns the inode for changing.
func (m *memFS) own(nd *inode) *inode {
	if nd.gen == m.gen {
		return nd
	}
	c := *nd
	c.gen = m.gen
	c.dir.pages = slices.Clone(nd.dir.pages)
	m.table.set(m.gen, c.ino, &c)
	return &c
}

func (m *memFS) inode(n Node) (*inode, error) {
	nd := m.table.get(n.ID)
	if nd == nil {
		return nil, ErrStale
	}
	return nd, nil
}

// folder returns the inode of a folder.
func (m *memFS) folder(n Node) (*inode, error) {
	nd := m.table.get(n.ID)
	switch {
	case nd == nil:
		return nil, ErrNotExist
	case nd.kind != KindDir:
		return nil, ErrNotDir
	}
	return nd, nil
}

// spot returns the folder n, ready to be changed, for a new name in it.
func (m *memFS) spot(n Node, name string) (*inode, error) {
	d, err := m.folder(n)
	if err != nil {
		return nil, err
	}
	if d.nlink == 0 { // removed, but still open
		return nil, ErrNotExist
	}
	if _, taken := d.dir.get(name); taken {
		return nil, ErrExist
	}
	if m.used.Inodes >= m.maxInodes {
		return nil, ErrQuotaInodes
	}
	return m.own(d), nil
}

// put enters a name in a folder, which is of the current generation.
func (m *memFS) put(d *inode, name string, nd *inode) {
	d.dir.put(m.gen, dirent{strings.Clone(name), nd.ino, nd.kind}) // name is a part of a longer path
	t := m.now()
	d.mtime, d.ctime = t, t
	if nd.kind == KindDir {
		nd.parent = d.ino
		d.nlink++
	}
}

// drop takes a name out of a folder, which is of the current generation.
func (m *memFS) drop(d *inode, name string, k Kind) {
	d.dir.remove(m.gen, name)
	t := m.now()
	d.mtime, d.ctime = t, t
	if k == KindDir {
		d.nlink--
	}
}

// unname takes one name's worth from an inode, freeing it when neither name nor handle is left.
func (m *memFS) unname(nd *inode) {
	nd = m.own(nd)
	nd.ctime = m.now()
	if nd.kind == KindDir {
		nd.nlink = 0
	} else if nd.nlink--; nd.nlink > 0 {
		m.peak = m.most()
		m.used.Inodes-- // that name was an entry of its own
		return
	}
	if m.opens[nd.ino] > 0 {
		m.orphans = append(slices.Clip(m.orphans), nd.ino)
		return
	}
	m.free(nd)
}

// most is the most that was ever used.
func (m *memFS) most() Usage {
	return Usage{max(m.peak.Bytes, m.used.Bytes), max(m.peak.Inodes, m.used.Inodes)}
}

func (m *memFS) free(nd *inode) {
	m.peak = m.most()
	m.used.Bytes -= nd.stored
	m.used.Inodes--
	m.table.remove(m.gen, nd.ino)
}

// hold and release count handles.
func (m *memFS) hold(ino uint64) {
	if m.opens == nil {
		m.opens = make(map[uint64]int32)
	}
	m.opens[ino]++
}

func (m *memFS) release(ino uint64) {
	if m.opens[ino]--; m.opens[ino] > 0 {
		return
	}
	delete(m.opens, ino)
	if slices.Contains(m.orphans, ino) {
		m.sweep()
	}
}

// sweep frees the files that have neither a name nor a handle.
func (m *memFS) sweep() {
	var keep []uint64
	for _, ino := range m.orphans {
		if m.opens[ino] > 0 {
			keep = append(keep, ino)
		} else if nd := m.table.get(ino); nd != nil {
			m.free(nd)
		}
	}
	m.orphans = keep
}

// restore brings a state back. Handles stay: see [Handle].
func (m *memFS) restore(s *memState) {
	m.memState = *s
	m.gen = newGen()
	m.sweep()
}

// depth is the number of folders above n.
func (m *memFS) depth(d *inode) int {
	n := 0
	for d.parent != d.ino && n <= MaxDepth {
		if d = m.table.get(d.parent); d == nil {
			break
		}
		n++
	}
	return n
}

// height is the number of levels of folders below d, counted no further than limit.
func (m *memFS) height(d *inode, limit int) int {
	if limit <= 0 {
		return 0
	}
	most := 0
	d.dir.each(func(e *dirent) bool {
		if e.kind == KindDir {
			if sub := m.table.get(e.ino); sub != nil {
				most = max(most, 1+m.height(sub, limit-1))
			}
		}
		return most < limit
	})
	return most
}

// Root implements FS.
func (m *memFS) Root() (Node, Kind) { return Node{ID: rootIno}, KindDir }

// ReadOnly implements FS.
func (m *memFS) ReadOnly() bool { return false }

// Lookup implements FS.
func (m *memFS) Lookup(dir Node, name string) (Node, Kind, error) {
	d, err := m.folder(dir)
	if err != nil {
		return Node{}, 0, err
	}
	e, ok := d.dir.get(name)
	if !ok {
		return Node{}, 0, ErrNotExist
	}
	return Node{ID: e.ino}, e.kind, nil
}

// Stat implements FS.
func (m *memFS) Stat(n Node) (Stat, error) {
	nd, err := m.inode(n)
	if err != nil {
		return Stat{}, err
	}
	return m.stat(nd), nil
}

func (m *memFS) stat(nd *inode) Stat {
	s := Stat{Ino: nd.ino, Nlink: uint64(nd.nlink), Size: nd.size, Atime: nd.atime, Mtime: nd.mtime, Ctime: nd.ctime, Kind: nd.kind}
	if nd.kind == KindDir {
		s.Size = int64(nd.dir.count) * 32
	}
	if s.Atime == timeUnset {
		s.Atime = m.born
	}
	if s.Mtime == timeUnset {
		s.Mtime = m.born
	}
	if s.Ctime == timeUnset {
		s.Ctime = m.born
	}
	return s
}

// SetTimes implements FS.
func (m *memFS) SetTimes(n Node, t Times) error {
	nd, err := m.inode(n)
	if err != nil {
		return err
	}
	if !t.valid() {
		return ErrInvalid
	}
	nd = m.own(nd)
	now := m.now()
	switch {
	case t.Flags&SetAtime != 0:
		nd.atime = t.Atime
	case t.Flags&SetAtimeNow != 0:
		nd.atime = now
	}
	switch {
	case t.Flags&SetMtime != 0:
		nd.mtime = t.Mtime
	case t.Flags&SetMtimeNow != 0:
		nd.mtime = now
	}
	nd.ctime = now
	return nil
}

// Readlink implements FS.
func (m *memFS) Readlink(n Node) (string, error) {
	nd, err := m.inode(n)
	if err != nil {
		return "", err
	}
	if nd.kind != KindLink {
		return "", ErrInvalid
	}
	return nd.target, nil
}

// ReadDir implements FS. The order is that of the names.
func (m *memFS) ReadDir(dir Node, list []DirEntry) ([]DirEntry, error) {
	d, err := m.folder(dir)
	if err != nil {
		return nil, err
	}
	if d.dir.count > MaxListing {
		return nil, ErrOverflow
	}
	list = slices.Grow(list, d.dir.count)
	for _, p := range d.dir.pages {
		for i := range p.entries {
			e := &p.entries[i]
			list = append(list, DirEntry{e.name, e.ino, e.kind})
		}
	}
	return list, nil
}

// Open implements FS.
func (m *memFS) Open(n Node, flags OpenFlags) (File, error) {
	nd, err := m.inode(n)
	if err != nil {
		return nil, err
	}
	if nd.kind != KindRegular {
		return nil, ErrInvalid
	}
	if flags&OpenTruncate != 0 && nd.size > 0 {
		nd = m.own(nd)
		if err := m.resize(nd, 0); err != nil {
			return nil, err
		}
		nd.mtime = m.now()
		nd.ctime = nd.mtime
	}
	m.hold(nd.ino)
	return &memFile{m, nd.ino}, nil
}

// Create implements FS.
func (m *memFS) Create(dir Node, name string, flags OpenFlags) (File, error) {
	d, err := m.spot(dir, name)
	if err != nil {
		return nil, err
	}
	nd := m.alloc(KindRegular, m.now())
	m.put(d, name, nd)
	m.hold(nd.ino)
	return &memFile{m, nd.ino}, nil
}

// Hold implements FS.
func (m *memFS) Hold(dir Node) error {
	if _, err := m.folder(dir); err != nil {
		return err
	}
	m.hold(dir.ID)
	return nil
}

// Release implements FS.
func (m *memFS) Release(dir Node) { m.release(dir.ID) }

// Mkdir implements FS.
func (m *memFS) Mkdir(dir Node, name string) error {
	_, err := m.mkdir(dir, name)
	return err
}

func (m *memFS) mkdir(dir Node, name string) (*inode, error) {
	d, err := m.spot(dir, name)
	if err != nil {
		return nil, err
	}
	if m.depth(d) >= MaxDepth {
		return nil, ErrTooDeep
	}
	nd := m.alloc(KindDir, m.now())
	nd.nlink = 2
	m.put(d, name, nd)
	return nd, nil
}

// Symlink implements FS.
func (m *memFS) Symlink(dir Node, name, target string) error {
	d, err := m.spot(dir, name)
	if err != nil {
		return err
	}
	if int64(len(target)) > m.maxBytes-m.used.Bytes {
		return ErrNoSpace
	}
	nd := m.alloc(KindLink, m.now())
	nd.target, nd.size = target, int64(len(target))
	m.charge(nd, nd.size)
	m.put(d, name, nd)
	return nil
}

// Link implements FS.
func (m *memFS) Link(n Node, dir Node, name string) error {
	nd, err := m.inode(n)
	switch {
	case err != nil || nd.nlink == 0:
		return ErrNotExist
	case nd.kind == KindDir:
		return ErrPerm
	case nd.nlink >= maxLinks:
		return ErrTooManyLinks
	}
	d, err := m.spot(dir, name)
	if err != nil {
		return err
	}
	nd = m.own(nd)
	nd.nlink++
	nd.ctime = m.now()
	m.used.Inodes++
	m.put(d, name, nd)
	return nil
}

// Unlink implements FS.
func (m *memFS) Unlink(dir Node, name string) error {
	d, err := m.folder(dir)
	if err != nil {
		return err
	}
	e, ok := d.dir.get(name)
	if !ok {
		return ErrNotExist
	}
	if e.kind == KindDir {
		return ErrIsDir
	}
	m.drop(m.own(d), name, e.kind)
	m.unname(m.table.get(e.ino))
	return nil
}

// Rmdir implements FS.
func (m *memFS) Rmdir(dir Node, name string) error {
	d, err := m.folder(dir)
	if err != nil {
		return err
	}
	e, ok := d.dir.get(name)
	if !ok {
		return ErrNotExist
	}
	if e.kind != KindDir {
		return ErrNotDir
	}
	nd := m.table.get(e.ino)
	if nd.dir.count > 0 {
		return ErrNotEmpty
	}
	m.drop(m.own(d), name, KindDir)
	m.unname(nd)
	return nil
}

// Rename implements FS.
func (m *memFS) Rename(dir Node, name string, newDir Node, newName string) error {
	d, err := m.folder(dir)
	if err != nil {
		return err
	}
	e, ok := d.dir.get(name)
	if !ok {
		return ErrNotExist
	}
	nd := m.table.get(e.ino)
	to, err := m.folder(newDir)
	if err != nil {
		return err
	}
	if to.nlink == 0 {
		return ErrNotExist
	}
	if e.kind == KindDir {
		if err := m.mayMove(nd, to); err != nil {
			return err
		}
	}
	old, taken := to.dir.get(newName)
	if taken {
		switch {
		case old.ino == e.ino: // the same file: POSIX asks for nothing to be done
			return nil
		case e.kind == KindDir && old.kind != KindDir:
			return ErrNotDir
		case e.kind != KindDir && old.kind == KindDir:
			return ErrIsDir
		case old.kind == KindDir && m.table.get(old.ino).dir.count > 0:
			return ErrNotEmpty
		}
	}
	to = m.own(to)
	if taken {
		m.drop(to, newName, old.kind)
		m.unname(m.table.get(old.ino))
	}
	m.drop(m.own(m.table.get(d.ino)), name, e.kind)
	nd = m.own(nd)
	nd.ctime = m.now()
	m.put(m.own(m.table.get(to.ino)), newName, nd)
	return nil
}

// mayMove checks that folder nd does not come below itself, nor the tree below it too deep.
func (m *memFS) mayMove(nd, to *inode) error {
	depth := 0
	for d := to; ; depth++ {
		if d == nd || d.ino == nd.ino {
			return ErrInvalid
		}
		if d.parent == d.ino {
			break
		}
		if d = m.table.get(d.parent); d == nil {
			break
		}
	}
	if room := MaxDepth - depth; m.height(nd, room) >= room {
		return ErrTooDeep
	}
	return nil
}

// memFile is an open file of a memFS.
type memFile struct {
	fs  *memFS
	ino uint64
}

func (f *memFile) inode() (*inode, error) { return f.fs.inode(Node{ID: f.ino}) }

// change runs f on the inode, ready to be changed, and sets the times if the contents did change.
func (f *memFile) change(do func(nd *inode) (changed bool, err error)) error {
	nd, err := f.inode()
	if err != nil {
		return err
	}
	nd = f.fs.own(nd)
	changed, err := do(nd)
	if changed {
		nd.mtime = f.fs.now()
		nd.ctime = nd.mtime
	}
	return err
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	nd, err := f.inode()
	if err != nil {
		return 0, err
	}
	n := nd.read(p, off)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.change(func(nd *inode) (bool, error) {
		n, err = f.fs.write(nd, p, off)
		return n > 0, err
	})
	return n, err
}

func (f *memFile) Append(p []byte) (n int, end int64, err error) {
	err = f.change(func(nd *inode) (bool, error) {
		n, err = f.fs.write(nd, p, nd.size)
		end = nd.size
		return n > 0, err
	})
	return n, end, err
}

func (f *memFile) Stat() (Stat, error) {
	nd, err := f.inode()
	if err != nil {
		return Stat{}, err
	}
	return f.fs.stat(nd), nil
}

func (f *memFile) SetTimes(t Times) error { return f.fs.SetTimes(Node{ID: f.ino}, t) }

func (f *memFile) Truncate(size int64) error {
	return f.change(func(nd *inode) (bool, error) {
		err := f.fs.resize(nd, size)
		return err == nil, err
	})
}

func (f *memFile) Allocate(off, n int64) error {
	return f.change(func(nd *inode) (bool, error) {
		err := f.fs.allocate(nd, off, n)
		return err == nil, err
	})
}

func (f *memFile) Sync(bool) error { return nil }

func (f *memFile) Dup(fs FS) (File, error) {
	m, ok := fs.(*memFS)
	if !ok || m.table.get(f.ino) == nil {
		return nil, ErrStale
	}
	m.hold(f.ino)
	return &memFile{m, f.ino}, nil
}

func (f *memFile) Close() error {
	f.fs.release(f.ino)
	return nil
}
