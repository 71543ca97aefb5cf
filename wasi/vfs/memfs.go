package vfs

import (
	"slices"
	"strings"
	"time"
)

// kindWhiteout is held by the memory of an overlay only, and never shown: the name in the layer below is deleted.
const kindWhiteout Kind = 255

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

// clone returns a file system with the state s, but for files without a name, and with settings of its own.
func (s *memState) clone(next uint64, o Options, base Usage) *memFS {
	m := &memFS{memState: *s, gen: newGen(), next: next}
	m.configure(o, base)
	m.sweep()
	m.peak = Usage{}
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

// entry returns a folder and its entry of a name.
func (m *memFS) entry(n Node, name string) (*inode, dirent, error) {
	d, err := m.folder(n)
	if err != nil {
		return nil, dirent{}, err
	}
	e, ok := d.dir.get(name)
	if !ok {
		return nil, dirent{}, ErrNotExist
	}
	return d, e, nil
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
