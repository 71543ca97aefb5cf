package vfs

import "io"

// copyUp brings a file, link or folder into the upper layer, a file with its contents or empty.
func (o *overlay) copyUp(n *ovNode, contents bool) (*inode, error) {
	up, _, err := o.layers(n)
	if err != nil || up != nil {
		return up, err
	}
	st, err := o.lower.Stat(n.lower)
	if err != nil {
		return nil, err
	}
	if st.Kind != KindRegular && st.Kind != KindLink && st.Kind != KindDir {
		return nil, ErrAccess
	}
	dir, err := o.copyUp(n.parent, true)
	if err != nil {
		return nil, err
	}
	if o.m.used.Inodes >= o.m.maxInodes {
		return nil, ErrQuotaInodes
	}
	up = o.m.alloc(st.Kind, st.Mtime)
	up.atime, up.origin = st.Atime, origin(st)
	switch st.Kind {
	case KindDir:
		up.nlink = 2
	case KindLink:
		err = o.copyLink(n, up)
	default:
		if contents {
			err = o.copyData(n, up)
		}
		up.pristine = contents || st.Size == 0
	}
	if err != nil {
		o.m.free(up)
		return nil, err
	}
	dir = o.m.own(dir)
	mtime, ctime := dir.mtime, dir.ctime
	o.m.put(dir, n.name, up)
	dir.mtime, dir.ctime = mtime, ctime // nothing changed that can be seen
	return up, nil
}

func (o *overlay) copyLink(n *ovNode, up *inode) error {
	text, err := o.lower.Readlink(n.lower)
	if err != nil {
		return err
	}
	if int64(len(text)) > o.m.maxBytes-o.m.used.Bytes {
		return ErrNoSpace
	}
	up.target, up.size = text, int64(len(text))
	o.m.charge(up, up.size)
	return nil
}

func (o *overlay) copyData(n *ovNode, up *inode) error {
	f, err := o.lower.Open(n.lower, OpenRead)
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, chunkBytes)
	for off := int64(0); ; {
		k, err := f.ReadAt(buf, off)
		if _, werr := o.m.write(up, buf[:k], off); werr != nil {
			return werr
		}
		off += int64(k)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if o.m.check != nil && off%(streamStep) == 0 {
			if err := o.m.check(); err != nil {
				return err
			}
		}
	}
}

// add makes a new name with f, which is given the folder in the upper layer.
func (o *overlay) add(dir Node, name string, f func(up Node) error) error {
	d := o.node(dir)
	if _, _, err := o.find(d, name); err != ErrNotExist {
		if err == nil {
			err = ErrExist
		}
		return err
	}
	up, err := o.copyUp(d, true)
	if err == ErrStale { // the folder was removed, but is still open
		err = ErrNotExist
	}
	if err != nil {
		return err
	}
	hidden := o.clear(up.ino, name)
	if err = f(Node{ID: up.ino}); err != nil && hidden {
		o.whiteout(up.ino, name)
	}
	return err
}

// clear takes a name out of a folder of the upper layer; of a folder only whiteouts may be left.
func (o *overlay) clear(dir uint64, name string) bool {
	d := o.m.own(o.m.table.get(dir))
	e, found := d.dir.get(name)
	if !found {
		return false
	}
	nd := o.m.table.get(e.ino)
	if e.kind == KindDir {
		nd.dir.each(func(w *dirent) bool {
			o.m.unname(o.m.table.get(w.ino))
			return true
		})
		nd = o.m.own(nd)
		nd.dir = dirData{}
	}
	o.m.drop(d, name, e.kind)
	o.m.unname(nd)
	return true
}

// whiteout hides a name of the lower layer. The caller has looked after the quota.
func (o *overlay) whiteout(dir uint64, name string) {
	w := o.m.alloc(kindWhiteout, o.m.now())
	o.m.put(o.m.own(o.m.table.get(dir)), name, w)
}

// SetTimes implements FS.
func (o *overlay) SetTimes(n Node, t Times) error {
	up, err := o.copyUp(o.node(n), true)
	if err != nil {
		return err
	}
	return o.m.SetTimes(Node{ID: up.ino}, t)
}

// Create implements FS.
func (o *overlay) Create(dir Node, name string, flags OpenFlags) (f File, err error) {
	err = o.add(dir, name, func(up Node) error {
		file, err := o.m.Create(up, name, flags)
		if err == nil {
			f = &upperFile{file.(*memFile), o}
		}
		return err
	})
	return f, err
}

// Mkdir implements FS.
func (o *overlay) Mkdir(dir Node, name string) error {
	return o.add(dir, name, func(up Node) error {
		nd, err := o.m.mkdir(up, name)
		if err == nil {
			nd.opaque = true
		}
		return err
	})
}

// Symlink implements FS.
func (o *overlay) Symlink(dir Node, name, target string) error {
	return o.add(dir, name, func(up Node) error { return o.m.Symlink(up, name, target) })
}

// Link implements FS.
func (o *overlay) Link(n Node, dir Node, name string) error {
	return o.add(dir, name, func(up Node) error {
		nd, err := o.copyUp(o.node(n), true)
		if err != nil {
			return err
		}
		return o.m.Link(Node{ID: nd.ino}, up, name)
	})
}

// Unlink implements FS.
func (o *overlay) Unlink(dir Node, name string) error {
	d := o.node(dir)
	_, kind, err := o.find(d, name)
	if err != nil {
		return err
	}
	if kind == KindDir {
		return ErrIsDir
	}
	return o.remove(d, name)
}

// Rmdir implements FS.
func (o *overlay) Rmdir(dir Node, name string) error {
	d := o.node(dir)
	n, kind, err := o.find(d, name)
	switch {
	case err != nil:
		return err
	case kind != KindDir:
		return ErrNotDir
	}
	if err := o.empty(n); err != nil {
		return err
	}
	return o.remove(d, name)
}

// empty makes sure that a folder has no entry in the merged tree.
func (o *overlay) empty(n *ovNode) error {
	list, err := o.ReadDir(Node{Ref: n}, nil)
	if err == nil && len(list) > 0 {
		err = ErrNotEmpty
	}
	return err
}

// remove takes a name out of the merged tree.
func (o *overlay) remove(d *ovNode, name string) error {
	if !o.shows(d, name) {
		up, _, err := o.folder(d)
		if err == nil {
			o.clear(up.ino, name)
		}
		return err
	}
	up, err := o.copyUp(d, true)
	if err != nil {
		return err
	}
	if _, above := up.dir.get(name); !above && o.m.used.Inodes >= o.m.maxInodes {
		return ErrQuotaInodes
	}
	o.clear(up.ino, name)
	o.whiteout(up.ino, name)
	return nil
}

// Rename implements FS.
func (o *overlay) Rename(dir Node, name string, newDir Node, newName string) error {
	d, to := o.node(dir), o.node(newDir)
	n, kind, err := o.find(d, name)
	if err != nil {
		return err
	}
	if kind == KindDir && n.below {
		return ErrCrossDevice
	}
	for p := to; kind == KindDir && p != nil; p = p.parent {
		if p.ino == n.ino {
			return ErrInvalid
		}
	}
	old, oldKind, err := o.find(to, newName)
	if err != nil && err != ErrNotExist {
		return err
	}
	if taken := err == nil; taken {
		switch {
		case o.same(n, old):
			return nil
		case kind == KindDir && oldKind != KindDir:
			return ErrNotDir
		case kind != KindDir && oldKind == KindDir:
			return ErrIsDir
		case oldKind == KindDir:
			if err := o.empty(old); err != nil {
				return err
			}
		}
	}
	shows := o.shows(d, name)
	up, err := o.copyUp(n, true)
	if err != nil {
		return err
	}
	toUp, err := o.copyUp(to, true)
	if err != nil {
		return err
	}
	if kind == KindDir {
		if err := o.m.mayMove(up, toUp); err != nil {
			return err
		}
	}
	if shows && o.m.used.Inodes >= o.m.maxInodes {
		return ErrQuotaInodes
	}
	dirUp, _, err := o.folder(d)
	if err != nil {
		return err
	}
	o.clear(toUp.ino, newName)
	if err := o.m.Rename(Node{ID: dirUp.ino}, name, Node{ID: toUp.ino}, newName); err != nil {
		return err
	}
	if kind == KindDir {
		o.m.own(o.m.table.get(up.ino)).opaque = true
	}
	if shows {
		o.whiteout(dirUp.ino, name)
	}
	return nil
}

// same reports whether two names that were found are names of one file.
func (o *overlay) same(a, b *ovNode) bool {
	if a.ino != 0 || b.ino != 0 {
		return a.ino == b.ino
	}
	sa, erra := o.lower.Stat(a.lower)
	sb, errb := o.lower.Stat(b.lower)
	return erra == nil && errb == nil && sa.Ino == sb.Ino && sa.Dev == sb.Dev
}
