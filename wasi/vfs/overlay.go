package vfs

import "io"

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

// SetTimes implements FS.
func (o *overlay) SetTimes(n Node, t Times) error {
	up, err := o.copyUp(o.node(n), true)
	if err != nil {
		return err
	}
	return o.m.SetTimes(Node{ID: up.ino}, t)
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

// upperFile is an open file of the upper layer.
type upperFile struct {
	*memFile
	o *overlay
}

func (f *upperFile) Stat() (Stat, error) {
	nd, err := f.inode()
	if err != nil {
		return Stat{}, err
	}
	return f.o.upperStat(nd), nil
}

func (f *upperFile) Dup(fs FS) (File, error) {
	o, ok := fs.(*overlay)
	if !ok || o.m.table.get(f.ino) == nil {
		return nil, ErrStale
	}
	return o.openUpper(f.ino, OpenRead)
}

// lowerFile is an open file of the lower layer, for reading.
type lowerFile struct {
	File
	o *overlay
}

func (f *lowerFile) Stat() (Stat, error) { return f.o.lowerStat(f.File.Stat()) }

func (f *lowerFile) SetTimes(Times) error { return ErrReadOnly }

func (f *lowerFile) Dup(fs FS) (File, error) {
	o, ok := fs.(*overlay)
	if !ok {
		return nil, ErrStale
	}
	file, err := f.File.Dup(o.lower)
	if err != nil {
		return nil, err
	}
	return &lowerFile{file, o}, nil
}

// step implements stepper.
func (f *lowerFile) step(off int64) (bool, error) {
	if s, ok := f.File.(stepper); ok {
		return s.step(off)
	}
	return true, nil
}
