package vfs

import (
	"slices"
	"strings"
)

// Namespace is the file tree of one sandbox: a mount table over an in-memory root. It is used by one
// goroutine at a time, its Handles included.
//
// Paths start from a Handle of a folder. A nil Handle means the root and is for the embedding program; from
// any other an absolute path gives ErrNotCapable, and so does a ".." of the path that would arrive above
// that folder. (".." at the root stays at the root. The ".." of a link that is followed, and absolute links,
// may lead anywhere in the namespace: the namespace is the boundary, not the folder.)
//
// Besides the errors that each method names, all that take a path may give ErrNotExist, ErrNotDir, ErrLoop,
// ErrTooDeep, ErrIllegalName, ErrBadHandle and ErrIO; all that change something ErrReadOnly, ErrNoSpace and
// ErrQuotaInodes.
type Namespace struct {
	template *Template
	mem      *memFS
	mounts   []mounted
	check    func() error
	journal  journal
	handles  *Handle // all that are open, newest first
	listed   int     // entries in the listings of all handles
	snapshot uint64  // the number of the last one
	closed   bool

	stack   []pos    // of the walk that is going on
	pending []string // likewise
}

// Open opens a regular file or a folder. A folder can be opened with OpenRead or without any access flag.
//
// Errors: ErrExist (OpenExclusive), ErrIsDir (a folder with OpenWrite, OpenTruncate or OpenCreate), ErrNotDir
// (OpenDirectory), ErrLoop (OpenNoFollow), ErrAccess (neither file nor folder), ErrReadOnly (OpenWrite or
// OpenTruncate, and OpenCreate if it is not there), ErrInvalid (OpenCreate with OpenDirectory).
func (ns *Namespace) Open(at *Handle, p Path, flags OpenFlags) (*Handle, error) {
	const createDir = OpenCreate | OpenDirectory
	if flags&createDir == createDir {
		return nil, ErrInvalid
	}
	for try := 0; ; try++ {
		h, err := ns.open(at, p, flags)
		// Another program may have made the file on the host since it was looked up.
		if err != ErrExist || flags&OpenCreate == 0 || flags&OpenExclusive != 0 || try == 3 {
			return h, err
		}
	}
}

func (ns *Namespace) open(at *Handle, p Path, flags OpenFlags) (*Handle, error) {
	l := follow
	switch {
	case flags&OpenCreate != 0 && flags&(OpenExclusive|OpenNoFollow) != 0:
		l = createNew
	case flags&OpenCreate != 0:
		l = create
	case flags&OpenNoFollow != 0:
		l = keep
	}
	pl, err := ns.walk(at, p, l)
	if err != nil {
		return nil, err
	}
	if !pl.found {
		return ns.create(&pl, flags)
	}
	if flags&OpenCreate != 0 && flags&OpenExclusive != 0 {
		return nil, ErrExist
	}
	switch pl.at.kind {
	case KindDir:
		return ns.openDir(&pl, flags)
	case KindLink:
		return nil, ErrLoop
	case KindRegular:
		return ns.openFile(&pl, flags)
	}
	return nil, ErrAccess
}

func (ns *Namespace) create(pl *place, flags OpenFlags) (*Handle, error) {
	mt := &ns.mounts[pl.dir.mount]
	switch {
	case flags&OpenCreate == 0:
		return nil, ErrNotExist
	case !mt.changes():
		return nil, ErrReadOnly
	}
	f, err := mt.fs.Create(pl.dir.node, pl.name, flags&(OpenRead|OpenWrite))
	if err != nil {
		return nil, err
	}
	h := &Handle{ns: ns, kind: KindRegular, flags: flags, file: f, mount: pl.dir.mount, path: pathOf(ns.stack, pl.name)}
	if mt.journal {
		ns.journal.created(h.path)
	}
	ns.adopt(h)
	return h, nil
}

func (ns *Namespace) openDir(pl *place, flags OpenFlags) (*Handle, error) {
	if flags&(OpenWrite|OpenTruncate|OpenCreate) != 0 {
		return nil, ErrIsDir
	}
	if err := ns.mounts[pl.at.mount].fs.Hold(pl.at.node); err != nil {
		return nil, err
	}
	stack := append(make([]pos, 0, len(ns.stack)+1), ns.stack...)
	if pl.name != "" {
		stack = append(stack, pl.at)
	}
	h := &Handle{ns: ns, kind: KindDir, flags: flags, mount: pl.at.mount, stack: stack, path: pathOf(stack, "")}
	ns.adopt(h)
	return h, nil
}

func (ns *Namespace) openFile(pl *place, flags OpenFlags) (*Handle, error) {
	mt := &ns.mounts[pl.at.mount]
	switch {
	case pl.slash || flags&OpenDirectory != 0:
		return nil, ErrNotDir
	case flags&(OpenWrite|OpenTruncate) != 0 && !mt.changes():
		return nil, ErrReadOnly
	}
	f, err := mt.fs.Open(pl.at.node, flags&(OpenRead|OpenWrite|OpenTruncate))
	if err != nil {
		return nil, err
	}
	h := &Handle{ns: ns, kind: KindRegular, flags: flags, file: f, mount: pl.at.mount, path: pathOf(ns.stack, pl.name)}
	if flags&OpenTruncate != 0 {
		h.touch()
	}
	ns.adopt(h)
	return h, nil
}

// adopt enters a handle in the list of open ones.
func (ns *Namespace) adopt(h *Handle) {
	h.flags &= OpenRead | OpenWrite
	h.step, _ = h.file.(stepper)
	if h.next = ns.handles; h.next != nil {
		h.next.prev = h
	}
	ns.handles = h
}

// Stat describes a file; follow says whether a link as the last name is followed.
func (ns *Namespace) Stat(at *Handle, p Path, followLast bool) (Stat, error) {
	pl, err := ns.find(at, p, followLast)
	if err != nil {
		return Stat{}, err
	}
	return ns.stat(&pl.at)
}

// find is walk for operations on something that must be there.
func (ns *Namespace) find(at *Handle, p Path, followLast bool) (place, error) {
	l := keep
	if followLast {
		l = follow
	}
	pl, err := ns.walk(at, p, l)
	switch {
	case err != nil:
		return pl, err
	case !pl.found:
		return pl, ErrNotExist
	case pl.slash && pl.at.kind != KindDir:
		return pl, ErrNotDir
	}
	return pl, nil
}

func (ns *Namespace) stat(p *pos) (Stat, error) {
	st, err := ns.mounts[p.mount].fs.Stat(p.node)
	st.Dev = devOf(p.mount, st.Dev)
	return st, err
}

// devOf numbers the devices of all mounts; an FS may have several.
func devOf(mount int, dev uint64) uint64 { return uint64(mount) + 1 + dev<<16 }

// SetTimes changes the times of a file. Errors: ErrInvalid (a time set both ways).
func (ns *Namespace) SetTimes(at *Handle, p Path, followLast bool, t Times) error {
	if !t.valid() {
		return ErrInvalid
	}
	pl, err := ns.find(at, p, followLast)
	if err != nil {
		return err
	}
	mt := &ns.mounts[pl.at.mount]
	if !mt.changes() {
		return ErrReadOnly
	}
	return mt.fs.SetTimes(pl.at.node, t)
}

// Mkdir makes a folder. Errors: ErrExist, ErrTooDeep (more than MaxDepth folders in each other).
func (ns *Namespace) Mkdir(at *Handle, p Path) error {
	pl, mt, err := ns.vacant(at, p)
	if err != nil {
		return err
	}
	switch {
	case !mt.changes():
		return ErrReadOnly
	case len(ns.stack) > MaxDepth:
		return ErrTooDeep
	}
	if err = mt.fs.Mkdir(pl.dir.node, pl.name); err == nil && mt.journal {
		ns.journal.created(pathOf(ns.stack, pl.name))
	}
	return err
}

// vacant finds a name that must not be there yet, and its mount.
func (ns *Namespace) vacant(at *Handle, p Path) (place, *mounted, error) {
	pl, err := ns.walk(at, p, keepAll)
	if err != nil {
		return pl, nil, err
	}
	if pl.found {
		return pl, nil, ErrExist
	}
	return pl, &ns.mounts[pl.dir.mount], nil
}

// Rmdir removes an empty folder. Errors: ErrNotEmpty (also for ".."), ErrInvalid ("."), ErrBusy (mount points and above).
func (ns *Namespace) Rmdir(at *Handle, p Path) error {
	pl, err := ns.walk(at, p, keepAll)
	if err != nil {
		return err
	}
	switch {
	case !pl.found:
		return ErrNotExist
	case pl.at.kind != KindDir:
		return ErrNotDir
	case pl.dots == ".":
		return ErrInvalid
	case pl.dots == "..":
		return ErrNotEmpty
	case pl.name == "" || pl.point() != nil:
		return ErrBusy
	}
	mt := &ns.mounts[pl.dir.mount]
	if !mt.changes() {
		return ErrReadOnly
	}
	if err = mt.fs.Rmdir(pl.dir.node, pl.name); err == nil && mt.journal {
		ns.journal.removed(pathOf(ns.stack, pl.name))
	}
	return err
}

// Unlink removes a file or link. Errors: ErrIsDir (a folder), ErrBusy (a mounted file), ErrNotDir (a slash after a file).
func (ns *Namespace) Unlink(at *Handle, p Path) error {
	pl, err := ns.walk(at, p, keepAll)
	if err != nil {
		return err
	}
	switch {
	case !pl.found:
		return ErrNotExist
	case pl.at.kind == KindDir:
		return ErrIsDir
	case pl.slash:
		return ErrNotDir
	case pl.name == "" || pl.point() != nil:
		return ErrBusy
	}
	mt := &ns.mounts[pl.dir.mount]
	if !mt.changes() {
		return ErrReadOnly
	}
	if err = mt.fs.Unlink(pl.dir.node, pl.name); err == nil && mt.journal {
		ns.journal.removed(pathOf(ns.stack, pl.name))
	}
	return err
}

// Rename moves a file, folder or link, over a file or an empty folder if there is one.
//
// Errors: ErrCrossDevice (between mounts), ErrBusy (mount points and above), ErrIsDir, ErrNotDir, ErrNotEmpty (what
// is in the way), ErrInvalid (a folder into itself).
func (ns *Namespace) Rename(at *Handle, p Path, newAt *Handle, newPath Path) error {
	from, err := ns.walk(at, p, keepAll)
	if err != nil {
		return err
	}
	oldName, oldDepth := pathOf(ns.stack, from.name), len(ns.stack)
	to, err := ns.walk(newAt, newPath, keepAll)
	if err != nil {
		return err
	}
	newName := pathOf(ns.stack, to.name)
	switch {
	case from.name == "" || to.name == "":
		return ErrBusy
	case !from.found:
		return ErrNotExist
	case from.at.kind != KindDir && (from.slash || to.slash):
		return ErrNotDir
	case from.point() != nil || to.point() != nil:
		return ErrBusy
	case from.dir.mount != to.dir.mount:
		return ErrCrossDevice
	}
	mt := &ns.mounts[from.dir.mount]
	if !mt.changes() {
		return ErrReadOnly
	}
	if from.at.kind == KindDir && len(ns.stack) > oldDepth {
		room := MaxDepth + 1 - len(ns.stack) // for folders in each other
		if deep, err := ns.levels(mt.fs, from.at.node, room+1); err != nil {
			return err
		} else if deep > room {
			return ErrTooDeep
		}
	}
	same := oldName == newName || to.found && ns.sameFile(&from.at, &to.at)
	if err := mt.fs.Rename(from.dir.node, from.name, to.dir.node, to.name); err != nil {
		return err
	}
	if !same { // else nothing was to be done: both names stay
		ns.renamed(oldName, newName, &from, &to)
		if mt.journal {
			ns.journal.renamed(oldName, newName, to.found)
		}
	}
	return nil
}

// levels is the number of folders that lie in each other in a tree, its top included, counted no further than limit.
func (ns *Namespace) levels(fs FS, dir Node, limit int) (int, error) {
	if limit <= 1 {
		return limit, nil
	}
	if ns.check != nil {
		if err := ns.check(); err != nil {
			return 0, err
		}
	}
	list, err := fs.ReadDir(dir, nil)
	if err != nil {
		return 0, err
	}
	below := 0
	for _, e := range list {
		if e.Kind != KindDir {
			continue
		}
		n, kind, err := fs.Lookup(dir, e.Name)
		if err != nil || kind != KindDir {
			continue // it is no folder any more
		}
		deep, err := ns.levels(fs, n, limit-1)
		if err != nil {
			return 0, err
		}
		if below = max(below, deep); below >= limit-1 {
			break
		}
	}
	return 1 + below, nil
}

// sameFile reports whether two places are names of one file.
func (ns *Namespace) sameFile(a, b *pos) bool {
	if a.kind != b.kind || a.kind == KindDir {
		return false
	}
	sa, erra := ns.stat(a)
	sb, errb := ns.stat(b)
	return erra == nil && errb == nil && sa.Dev == sb.Dev && sa.Ino == sb.Ino
}

// renamed corrects what open handles know of where they are. Preconditions: ns.stack is that of the new name.
func (ns *Namespace) renamed(oldName, newName string, from, to *place) {
	moved := from.at
	moved.name = to.name
	_, onHost := ns.mounts[from.at.mount].fs.(*HostDir)
	above := strings.Count(oldName, "/") // folders above it, the root included
	for h := ns.handles; h != nil; h = h.next {
		rest, ok := strings.CutPrefix(h.path, oldName)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		if !onHost && h.before.snapshot != ns.snapshot {
			h.before = whereabouts{ns.snapshot, h.path, h.stack}
		}
		h.path = newName + rest
		if len(h.stack) > above {
			moved.node = h.stack[above].node
			h.stack = slices.Concat(ns.stack, []pos{moved}, h.stack[above+1:])
		}
	}
}

// Link gives a file one more name. A link as the last name of p is followed only with followLast.
//
// Errors: ErrPerm (a folder; a link in a mount that forbids them), ErrExist, ErrCrossDevice, ErrTooManyLinks.
func (ns *Namespace) Link(at *Handle, p Path, followLast bool, newAt *Handle, newPath Path) error {
	from, err := ns.find(at, p, followLast)
	if err != nil {
		return err
	}
	to, mt, err := ns.vacant(newAt, newPath)
	switch {
	case err != nil:
		return err
	case to.slash:
		return ErrNotExist
	case from.at.mount != to.dir.mount:
		return ErrCrossDevice
	case !mt.changes():
		return ErrReadOnly
	case from.at.kind != KindRegular && (from.at.kind != KindLink || mt.noLinks):
		return ErrPerm
	}
	if err = mt.fs.Link(from.at.node, to.dir.node, to.name); err == nil && mt.journal {
		ns.journal.created(pathOf(ns.stack, to.name))
	}
	return err
}

// Symlink makes a link at p with the text t. Errors: ErrExist, ErrPerm (the mount forbids links).
func (ns *Namespace) Symlink(t Target, at *Handle, p Path) error {
	pl, mt, err := ns.vacant(at, p)
	switch {
	case err != nil:
		return err
	case pl.slash || t.s == "":
		return ErrNotExist
	case !mt.changes():
		return ErrReadOnly
	case mt.noLinks:
		return ErrPerm
	}
	if err = mt.fs.Symlink(pl.dir.node, pl.name, t.s); err == nil && mt.journal {
		ns.journal.created(pathOf(ns.stack, pl.name))
	}
	return err
}

// Readlink returns the text of a link. Errors: ErrInvalid (it is none).
func (ns *Namespace) Readlink(at *Handle, p Path) (string, error) {
	pl, err := ns.find(at, p, false)
	if err != nil {
		return "", err
	}
	if pl.at.kind != KindLink {
		return "", ErrInvalid
	}
	return ns.mounts[pl.at.mount].fs.Readlink(pl.at.node)
}

// Usage is what the memory parts of the sandbox hold now, without what the template made.
func (ns *Namespace) Usage() Usage { return ns.mem.used.beyond(ns.template.mem.used) }

// Peak is the most that Usage was since the namespace was made, bytes and inodes each for itself.
func (ns *Namespace) Peak() Usage { return ns.mem.most().beyond(ns.template.mem.used) }

// ChangedMounts are the paths of the mounts in which something was to be changed and could be, were it only for a while.
func (ns *Namespace) ChangedMounts() []string {
	var paths []string
	for i := range ns.mounts {
		if mt := &ns.mounts[i]; mt.changed && mt.path != "" {
			paths = append(paths, mt.path)
		}
	}
	return paths
}

// Close closes every handle that is still open; nothing can be opened any more. It is idempotent.
func (ns *Namespace) Close() error {
	var first error
	for ns.handles != nil {
		if err := ns.handles.Close(); err != nil && first == nil {
			first = err
		}
	}
	ns.closed = true
	return first
}

// Usage counts what is held against the quota of Options: what the template made is not counted.
type Usage struct {
	Bytes  int64 // storage of files, and the texts of links
	Inodes int64 // files, folders, links, and each further hard link
}

func (u Usage) beyond(base Usage) Usage {
	return Usage{max(0, u.Bytes-base.Bytes), max(0, u.Inodes-base.Inodes)}
}
