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
// ErrLoop, ErrNameTooLong, ErrIllegalName (the text of a link), and what the FS says.
func (ns *Namespace) walk(at *Handle, p Path, l last) (place, error) {
	if err := ns.start(at, p); err != nil {
		return place{}, err
	}
	base := len(ns.stack)
	pl := place{slash: p.s[len(p.s)-1] == '/', dots: "/"}
	rest, links := p.s, 0
	ns.pending = ns.pending[:0] // what is left of the texts around the one that rest belongs to
	more := 0                   // how many of them are not empty
	for {
		name, tail := nextName(rest)
		if name == "" {
			n := len(ns.pending)
			if n == 0 {
				break
			}
			if rest = ns.pending[n-1]; rest != "" {
				more--
			}
			ns.pending = ns.pending[:n-1]
			continue
		}
		rest = tail
		cur := &ns.stack[len(ns.stack)-1]
		if name == "." || name == ".." {
			if cur.kind != KindDir {
				return place{}, ErrNotDir
			}
			if name == ".." {
				ns.stack = ns.stack[:max(1, len(ns.stack)-1)]
				if len(ns.pending) == 0 && ns.above(at, base) {
					return place{}, ErrNotCapable
				}
			}
			pl.name, pl.dots = "", name
			continue
		}
		final := tail == "" && more == 0
		if final && pl.slash && l >= create {
			return place{}, ErrIsDir
		}
		next, err := ns.child(cur, name)
		if err != nil {
			if err == ErrNotExist && final {
				pl.name, pl.dots, pl.dir = name, "", *cur
				return pl, nil
			}
			return place{}, err
		}
		if next.kind == KindLink && (!final || l == follow || l == create || l == keep && pl.slash) {
			if links++; links > MaxLinks {
				return place{}, ErrLoop
			}
			text, err := ns.mounts[next.mount].fs.Readlink(next.node)
			if err != nil {
				return place{}, err
			}
			target, err := ParsePathString(text)
			if err != nil {
				return place{}, err
			}
			if text == "" {
				return place{}, ErrNotExist
			}
			if final {
				pl.slash = pl.slash || text[len(text)-1] == '/'
			}
			if target.Absolute() {
				ns.stack = append(ns.stack[:0], ns.rootPos())
				pl.name, pl.dots = "", "/"
			}
			if ns.pending = append(ns.pending, rest); rest != "" {
				more++
			}
			rest = text
			continue
		}
		if final {
			pl.at, pl.found = next, true
			pl.name, pl.dots, pl.dir = name, "", *cur
			return pl, nil
		}
		if next.kind != KindDir && (next.point == nil || next.point.kids == nil) {
			return place{}, ErrNotDir
		}
		if len(ns.stack) >= maxStack {
			return place{}, ErrNameTooLong
		}
		ns.stack = append(ns.stack, next)
	}
	pl.at, pl.found = ns.stack[len(ns.stack)-1], true
	return pl, nil
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
	return nil
}

// above reports whether the top of the stack is a folder above the one that the walk started from. The names
// on a stack are free of links, so equal names are the same place.
func (ns *Namespace) above(at *Handle, base int) bool {
	if at == nil || len(ns.stack) >= base {
		return false
	}
	for i := range ns.stack {
		if ns.stack[i].name != at.stack[i].name {
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
