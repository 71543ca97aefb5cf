package vfs

import "slices"

// Root implements FS.
func (m *memFS) Root() (Node, Kind) { return Node{ID: rootIno}, KindDir }

// ReadOnly implements FS.
func (m *memFS) ReadOnly() bool { return false }

// Lookup implements FS.
func (m *memFS) Lookup(dir Node, name string) (Node, Kind, error) {
	_, e, err := m.entry(dir, name)
	if err != nil {
		return Node{}, 0, err
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
	d, e, err := m.entry(dir, name)
	if err != nil {
		return err
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
	d, e, err := m.entry(dir, name)
	if err != nil {
		return err
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
	d, e, err := m.entry(dir, name)
	if err != nil {
		return err
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
