package vfs

// This file is the sole place where a guest's path becomes a file. Every operation of a Namespace goes
// through walk; nothing else looks a name up. The rules:
//
//   - A path is walked name by name from the folder it starts in. At each step the mount table is asked
//     first, then the FS of the folder.
//   - The folders passed are kept on a stack, and ".." goes back on it: never by text, never by asking the
//     host. At the root it stays there.
//   - A link is replaced by its text: an absolute one starts again at the root of the namespace, a relative one
//     goes on from the folder of the link. Links of the host are treated alike, so they can lead to nothing
//     that is not mounted. At most MaxLinks are followed in one walk.
//   - A ".." of the path itself (not of a link) must not arrive above the folder that the walk started from.
//   - An FS gets single names only, and never follows a link.

// maxStack bounds the folders above each other in one walk, against trees of the host without end.
const maxStack = 4 * MaxDepth

// pos is a place in the tree: a node, with the part of the mount table it belongs to.
type pos struct {
	name  string      // by which it was reached; empty for the root
	point *mountPoint // nil when neither it nor anything below it is in the mount table
	node  Node
	mount int
	kind  Kind
}

// place is what a path means.
type place struct {
	at    pos
	found bool
	slash bool // the path says that it must be a folder

	// The last name, and the folder that it is or would be in. The name is empty when the path ends in ".",
	// ".." or is the root; dots then holds which.
	name string
	dots string
	dir  pos
}

// point returns the part of the mount table that the last name is, nil if it is none.
func (pl *place) point() *mountPoint {
	if pl.dir.point == nil || pl.name == "" {
		return nil
	}
	return pl.dir.point.kids[pl.name]
}

// last says what the walk does with a link as the last name.
type last uint8

const (
	follow    last = iota // go on
	keep                  // stop there, unless a slash follows
	keepAll               // stop there
	create                // go on; a last name with a slash after it is ErrIsDir, since a file is to be made
	createNew             // stop there; likewise
)

// walk finds out what p means from the folder at (nil: the root). A last name that is not there is no
// error: found tells. After a walk ns.stack holds the folders from the root down to place.dir, or down to
// place.at when the name is empty; it is valid until the next walk.
//
// Errors: ErrBadHandle, ErrNotDir, ErrNotExist (a name before the last, or an empty path), ErrNotCapable,
// ErrLoop, ErrPathTooLong, ErrTooDeep, ErrIllegalName (the text of a link), ErrIsDir (see create), and what the FS says.
func (ns *Namespace) walk(at *Handle, p Path, l last) (place, error) {
	if err := ns.start(at, p); err != nil {
		return place{}, err
	}
	w := walker{ns: ns, at: at, base: len(ns.stack), last: l, rest: p.s}
	w.dots, w.slash = "/", p.s[len(p.s)-1] == '/'
	for {
		if done, err := w.step(); err != nil {
			return place{}, err
		} else if done {
			return w.place, nil
		}
	}
}

// start puts the folder that a path starts from, and those above it, on the stack.
func (ns *Namespace) start(at *Handle, p Path) error {
	if ns.closed {
		return ErrBadHandle
	}
	switch {
	case at == nil:
		ns.stack = append(ns.stack[:0], ns.rootPos())
	case at.ns != ns:
		return ErrBadHandle
	case at.kind != KindDir:
		return ErrNotDir
	case p.Absolute():
		return ErrNotCapable
	default:
		ns.stack = append(ns.stack[:0], at.stack...)
	}
	if p.s == "" {
		return ErrNotExist
	}
	ns.pending = ns.pending[:0]
	return nil
}

// walker is a walk that is going on. The folders passed are on ns.stack.
type walker struct {
	ns   *Namespace
	at   *Handle
	base int // folders on the stack when it started
	last last
	place

	rest  string // what is to be walked of the path, or of the link that is being followed
	more  int    // texts in ns.pending that are not empty: what is left of those around rest
	links int    // followed so far
}

// step walks one name and reports whether it was the last.
func (w *walker) step() (done bool, err error) {
	name, rest := nextName(w.rest)
	if name == "" {
		return w.leave(), nil
	}
	w.rest = rest
	dir := &w.ns.stack[len(w.ns.stack)-1]
	if name == "." || name == ".." {
		return false, w.dot(dir, name)
	}
	final := rest == "" && w.more == 0
	if final && w.slash && w.last >= create {
		return false, ErrIsDir
	}
	next, err := w.ns.child(dir, name)
	if err == ErrNotExist && final {
		w.name, w.dots, w.dir = name, "", *dir
		return true, nil
	}
	if err != nil {
		return false, err
	}
	switch {
	case next.kind == KindLink && (!final || w.last == follow || w.last == create || w.last == keep && w.slash):
		return false, w.follow(&next, final)
	case final:
		w.place = place{at: next, found: true, slash: w.slash, name: name, dir: *dir}
		return true, nil
	case next.kind != KindDir && (next.point == nil || next.point.kids == nil):
		return false, ErrNotDir
	case len(w.ns.stack) >= maxStack:
		return false, ErrTooDeep
	}
	w.ns.stack = append(w.ns.stack, next)
	return false, nil
}

// leave goes on with the text around one that is used up. If there is none, the walk ends in the folder on
// top of the stack.
func (w *walker) leave() (done bool) {
	n := len(w.ns.pending)
	if n == 0 {
		w.place.at, w.found = w.ns.stack[len(w.ns.stack)-1], true
		return true
	}
	if w.rest = w.ns.pending[n-1]; w.rest != "" {
		w.more--
	}
	w.ns.pending = w.ns.pending[:n-1]
	return false
}

// dot walks "." or "..".
func (w *walker) dot(dir *pos, name string) error {
	if dir.kind != KindDir {
		return ErrNotDir
	}
	w.name, w.dots = "", name
	if name == "." {
		return nil
	}
	w.ns.stack = w.ns.stack[:max(1, len(w.ns.stack)-1)]
	if len(w.ns.pending) == 0 && w.above() {
		return ErrNotCapable
	}
	return nil
}

// follow goes on with the text of a link.
func (w *walker) follow(link *pos, final bool) error {
	if w.links++; w.links > MaxLinks {
		return ErrLoop
	}
	text, err := w.ns.mounts[link.mount].fs.Readlink(link.node)
	if err != nil {
		return err
	}
	target, err := ParsePathString(text)
	switch {
	case err != nil:
		return err
	case text == "":
		return ErrNotExist
	case target.Absolute():
		w.ns.stack = append(w.ns.stack[:0], w.ns.rootPos())
		w.name, w.dots = "", "/"
	}
	if final && text[len(text)-1] == '/' {
		w.slash = true
	}
	if w.ns.pending = append(w.ns.pending, w.rest); w.rest != "" {
		w.more++
	}
	w.rest = text
	return nil
}

// above reports whether the top of the stack is a folder above the one that the walk started from. The names
// on a stack are free of links, so equal names are the same place.
func (w *walker) above() bool {
	stack := w.ns.stack
	if w.at == nil || len(stack) >= w.base {
		return false
	}
	for i := range stack {
		if stack[i].name != w.at.stack[i].name {
			return false
		}
	}
	return true
}

func (ns *Namespace) rootPos() pos {
	n, kind := ns.mounts[mountRoot].fs.Root()
	return pos{point: ns.template.root, node: n, mount: mountRoot, kind: kind}
}

// child finds a single name, neither "." nor "..", in a folder.
func (ns *Namespace) child(dir *pos, name string) (pos, error) {
	var mp *mountPoint
	if dir.point != nil {
		mp = dir.point.kids[name]
	}
	if mp != nil && mp.mount != noMount {
		n, kind := ns.mounts[mp.mount].fs.Root()
		return pos{name, mp, n, mp.mount, kind}, nil
	}
	if dir.kind == KindDir {
		n, kind, err := ns.mounts[dir.mount].fs.Lookup(dir.node, name)
		if mp == nil {
			return pos{name, nil, n, dir.mount, kind}, err
		}
		if err == nil && kind == KindDir {
			return pos{name, mp, n, dir.mount, kind}, nil
		}
	}
	if mp == nil {
		return pos{}, ErrNotDir
	}
	// On the way to a mount point, where the FS below has no folder.
	return pos{name, mp, Node{Ref: mp}, mountTable, KindDir}, nil
}

// nextName cuts the first name off a path, with the slashes around it.
func nextName(s string) (name, rest string) {
	i := 0
	for i < len(s) && s[i] == '/' {
		i++
	}
	j := i
	for j < len(s) && s[j] != '/' {
		j++
	}
	name = s[i:j]
	for j < len(s) && s[j] == '/' {
		j++
	}
	return name, s[j:]
}

// pathOf returns the guest path of the folders on a stack.
func pathOf(stack []pos, name string) string {
	n := 1 + len(name)
	for i := range stack {
		n += len(stack[i].name) + 1
	}
	b := make([]byte, 0, n)
	for i := range stack {
		if stack[i].name != "" {
			b = append(append(b, '/'), stack[i].name...)
		}
	}
	if name != "" || len(b) == 0 {
		b = append(append(b, '/'), name...)
	}
	return string(b)
}
