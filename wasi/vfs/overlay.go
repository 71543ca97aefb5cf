package vfs

// overlay shows a folder of the sandbox's memory (the upper layer) over an FS that is only read (the lower).
// Reading takes a name from the upper layer if it is there, else from the lower. What is to be changed is
// copied up first, with the folders above it. A deleted name of the lower layer is a whiteout in the upper
// one; a folder that is made in the upper layer is opaque, so nothing shows through it.
//
// All state is in the upper layer, so a snapshot of the memory has it. A folder with a part in the lower layer
// cannot be renamed (ErrCrossDevice; programs then copy). A handle that was opened for reading before its
// file was copied up goes on reading the lower file. The handle of a removed folder gives ErrStale.
type overlay struct {
	lower FS
	m     *memFS
	top   uint64 // inode of the upper layer
}

func newOverlay(lower FS, m *memFS, top uint64) *overlay { return &overlay{lower, m, top} }

// ovNode is a name in the merged tree. It is immutable; what is behind it now is found by layers.
type ovNode struct {
	parent *ovNode // nil for the top
	name   string
	ino    uint64 // in the upper layer when it was looked up, or 0
	lower  Node   // valid if below
	below  bool   // the lower layer showed through when it was looked up
}

// upperIno marks numbers of files that are only in the upper layer.
const upperIno = 1 << 63

// origin is the number by which a file of the lower layer is known, here and in its copy; never 0.
func origin(lower Stat) uint64 { return lower.Ino&^upperIno | 1<<62 }

func (o *overlay) node(n Node) *ovNode { return n.Ref.(*ovNode) }

// layers returns what n is now: the inode in the upper layer, or nil, and whether the lower layer shows.
func (o *overlay) layers(n *ovNode) (up *inode, below bool, err error) {
	if n.parent == nil {
		up = o.m.table.get(o.top)
		return up, !up.opaque, nil
	}
	if n.ino != 0 {
		if up = o.m.table.get(n.ino); up != nil {
			return up, n.below && !up.opaque, nil
		}
	}
	if !n.below {
		return nil, false, ErrStale
	}
	above, shows, err := o.layers(n.parent)
	switch {
	case err != nil:
		return nil, false, err
	case !shows:
		return nil, false, ErrStale
	case above == nil:
		return nil, true, nil
	}
	e, found := above.dir.get(n.name)
	if !found {
		return nil, true, nil
	}
	if e.kind == kindWhiteout {
		return nil, false, ErrStale
	}
	up = o.m.table.get(e.ino)
	if up.origin == 0 { // made anew after the one we knew was removed
		return nil, false, ErrStale
	}
	return up, !up.opaque, nil
}

// folder is layers for a folder in which a name is to be found; if it is gone the name does not exist.
func (o *overlay) folder(n *ovNode) (up *inode, below bool, err error) {
	up, below, err = o.layers(n)
	if err == ErrStale {
		err = ErrNotExist
	}
	if up != nil && up.kind != KindDir {
		return nil, false, ErrNotDir
	}
	return up, below, err
}

// Root implements FS.
func (o *overlay) Root() (Node, Kind) {
	n, _ := o.lower.Root()
	return Node{Ref: &ovNode{lower: n, below: true}}, KindDir
}

// ReadOnly implements FS.
func (o *overlay) ReadOnly() bool { return false }

// Lookup implements FS.
func (o *overlay) Lookup(dir Node, name string) (Node, Kind, error) {
	n, kind, err := o.find(o.node(dir), name)
	return Node{Ref: n}, kind, err
}

func (o *overlay) find(d *ovNode, name string) (*ovNode, Kind, error) {
	up, below, err := o.folder(d)
	if err != nil {
		return nil, 0, err
	}
	n := &ovNode{parent: d, name: name}
	if up != nil {
		if e, found := up.dir.get(name); found {
			if e.kind == kindWhiteout {
				return nil, 0, ErrNotExist
			}
			n.ino = e.ino
			if e.kind == KindDir && below && !o.m.table.get(e.ino).opaque {
				low, kind, err := o.lower.Lookup(d.lower, name)
				n.lower, n.below = low, err == nil && kind == KindDir
			}
			return n, e.kind, nil
		}
	}
	if !below {
		return nil, 0, ErrNotExist
	}
	low, kind, err := o.lower.Lookup(d.lower, name)
	if err != nil {
		return nil, 0, err
	}
	n.lower, n.below = low, true
	return n, kind, nil
}

// shows reports whether the lower layer has a name in folder d, whatever the upper layer says.
func (o *overlay) shows(d *ovNode, name string) bool {
	_, below, err := o.folder(d)
	if err != nil || !below {
		return false
	}
	_, _, err = o.lower.Lookup(d.lower, name)
	return err == nil
}

// Stat implements FS.
func (o *overlay) Stat(n Node) (Stat, error) {
	nd := o.node(n)
	up, _, err := o.layers(nd)
	if err != nil {
		return Stat{}, err
	}
	if up != nil {
		return o.upperStat(up), nil
	}
	return o.lowerStat(o.lower.Stat(nd.lower))
}

func (o *overlay) upperStat(up *inode) Stat {
	st := o.m.stat(up)
	if st.Ino |= upperIno; up.origin != 0 {
		st.Ino = up.origin
	}
	return st
}

func (o *overlay) lowerStat(st Stat, err error) (Stat, error) {
	st.Ino, st.Dev = origin(st), 0
	return st, err
}

// Readlink implements FS.
func (o *overlay) Readlink(n Node) (string, error) {
	nd := o.node(n)
	up, _, err := o.layers(nd)
	switch {
	case err != nil:
		return "", err
	case up != nil:
		return o.m.Readlink(Node{ID: up.ino})
	}
	return o.lower.Readlink(nd.lower)
}

// ReadDir implements FS: first what the upper layer has, then what shows of the lower.
func (o *overlay) ReadDir(dir Node, list []DirEntry) ([]DirEntry, error) {
	d := o.node(dir)
	up, below, err := o.folder(d)
	if err != nil {
		return nil, err
	}
	if up != nil {
		up.dir.each(func(e *dirent) bool {
			if e.kind != kindWhiteout {
				list = append(list, DirEntry{e.name, o.upperStat(o.m.table.get(e.ino)).Ino, e.kind})
			}
			return true
		})
	}
	if !below {
		return list, nil
	}
	first := len(list)
	if list, err = o.lower.ReadDir(d.lower, list); err != nil {
		return nil, err
	}
	shown := list[:first]
	for _, e := range list[first:] {
		if up != nil {
			if _, hidden := up.dir.get(e.Name); hidden {
				continue
			}
		}
		e.Ino = origin(Stat{Ino: e.Ino})
		shown = append(shown, e)
	}
	if len(shown) > MaxListing {
		return nil, ErrOverflow
	}
	return shown, nil
}

// Open implements FS.
func (o *overlay) Open(n Node, flags OpenFlags) (File, error) {
	nd := o.node(n)
	up, _, err := o.layers(nd)
	if err != nil {
		return nil, err
	}
	if up == nil {
		if flags&(OpenWrite|OpenTruncate) == 0 {
			f, err := o.lower.Open(nd.lower, flags)
			if err != nil {
				return nil, err
			}
			return &lowerFile{f, o}, nil
		}
		if up, err = o.copyUp(nd, flags&OpenTruncate == 0); err != nil {
			return nil, err
		}
	}
	return o.openUpper(up.ino, flags)
}

func (o *overlay) openUpper(ino uint64, flags OpenFlags) (File, error) {
	f, err := o.m.Open(Node{ID: ino}, flags)
	if err != nil {
		return nil, err
	}
	return &upperFile{f.(*memFile), o}, nil
}

// Hold implements FS.
func (o *overlay) Hold(dir Node) error {
	n := o.node(dir)
	if _, _, err := o.folder(n); err != nil {
		return err
	}
	if n.below {
		return o.lower.Hold(n.lower)
	}
	return nil
}

// Release implements FS.
func (o *overlay) Release(dir Node) {
	if n := o.node(dir); n.below {
		o.lower.Release(n.lower)
	}
}
