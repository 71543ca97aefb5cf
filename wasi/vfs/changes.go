package vfs

import (
	"maps"
	"slices"
	"strings"
)

// Op says what became of a file.
type Op uint8

// Ops.
const (
	OpCreated Op = iota + 1
	OpModified
	OpDeleted
	OpRenamed // and perhaps modified as well: see Change.Modified
)

var opNames = [...]string{OpCreated: "created", OpModified: "modified", OpDeleted: "deleted", OpRenamed: "renamed"}

func (o Op) String() string {
	if o == 0 || int(o) >= len(opNames) {
		return "unknown"
	}
	return opNames[o]
}

// Change is one difference between two states of the files.
type Change struct {
	Path     string // absolute guest path; of OpDeleted the one that it had
	From     string // of OpRenamed: the former path
	Op       Op
	Kind     Kind  // KindRegular, KindDir or KindLink
	Size     int64 // bytes now; 0 for OpDeleted
	Modified bool  // the contents differ (always so for OpCreated and OpModified)
}

// Mark is a point in time that Changes compares with.
type Mark struct {
	snap *Snapshot
	pos  int
}

// Mark notes the present state. It costs as little as Snapshot.
func (ns *Namespace) Mark() Mark { return Mark{ns.Snapshot(), ns.journal.mark()} }

// Changes lists what differs from the mark, in order of the paths: in memory below each of the folders dirs,
// in overlay mounts, and in read-write mounts what was changed through this namespace. A file that was
// removed and made again, or replaced by renaming another over it, is modified. A folder is listed when it is
// created, deleted or renamed, and so is then all that it holds. Times alone are no change.
//
// complete is false when so much happened in read-write mounts that the oldest changes were forgotten.
// If nothing changed in memory the cost is constant; else it follows the number of files below dirs.
func (ns *Namespace) Changes(m Mark, dirs ...Path) (list []Change, complete bool) {
	old, cur := &m.snap.state, &ns.mem.memState
	if old.table.root != cur.table.root {
		for _, dir := range dirs {
			d := differ{old: old, cur: cur}
			names := strings.FieldsFunc(dir.s, func(r rune) bool { return r == '/' })
			d.dir(strings.Join(append([]string{""}, names...), "/"), old.find(names), cur.find(names))
			list = append(list, d.finish()...)
		}
		for path, mt := range ns.overlays() {
			d := differ{old: old, cur: cur, overlay: true}
			d.dir(path, old.table.get(mt.overlay), cur.table.get(mt.overlay))
			list = append(list, d.finish()...)
		}
	}
	host, complete := ns.journalChanges(m.pos)
	list = append(list, host...)
	slices.SortFunc(list, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(list, func(a, b Change) bool { return a == b }), complete
}

// overlays returns the overlay mounts by their paths.
func (ns *Namespace) overlays() map[string]*mounted {
	found := map[string]*mounted{}
	var visit func(mp *mountPoint, path string)
	visit = func(mp *mountPoint, path string) {
		if mp.mount != noMount && ns.mounts[mp.mount].overlay != 0 {
			found[path] = &ns.mounts[mp.mount]
		}
		for name, kid := range mp.kids {
			visit(kid, path+"/"+name)
		}
	}
	visit(ns.template.root, "")
	return found
}

// find returns the folder of a path, walking names only; nil if there is none.
func (s *memState) find(names []string) *inode {
	nd := s.table.get(rootIno)
	for _, name := range names {
		if nd == nil || nd.kind != KindDir {
			return nil
		}
		e, ok := nd.dir.get(name)
		if !ok {
			return nil
		}
		nd = s.table.get(e.ino)
	}
	if nd == nil || nd.kind != KindDir {
		return nil
	}
	return nd
}

// entry is a name that only one of two states has.
type entry struct {
	path string
	nd   *inode
}

// differ compares two states of a folder.
type differ struct {
	old, cur *memState
	overlay  bool // the folders are the upper layer of an overlay
	list     []Change
	gone     []entry
	came     []entry
}

// dir compares a folder of the old state with one of the new; either may be nil.
func (d *differ) dir(path string, a, b *inode) {
	if a == nil {
		a = &inode{}
	}
	if b == nil {
		b = &inode{}
	}
	next := merged(&a.dir, &b.dir)
	for {
		ea, eb, ok := next()
		if !ok {
			return
		}
		switch {
		case eb == nil:
			d.only(path+"/"+ea.name, d.old.table.get(ea.ino), false)
		case ea == nil:
			d.only(path+"/"+eb.name, d.cur.table.get(eb.ino), true)
		default:
			d.both(path+"/"+ea.name, d.old.table.get(ea.ino), d.cur.table.get(eb.ino))
		}
	}
}

// merged returns an iterator over the entries of two folders side by side.
func merged(a, b *dirData) func() (ea, eb *dirent, ok bool) {
	ia, ib := dirIter{d: a}, dirIter{d: b}
	return func() (*dirent, *dirent, bool) {
		ea, eb := ia.peek(), ib.peek()
		switch {
		case ea == nil && eb == nil:
			return nil, nil, false
		case eb == nil || ea != nil && ea.name < eb.name:
			ia.pos++
			return ea, nil, true
		case ea == nil || eb.name < ea.name:
			ib.pos++
			return nil, eb, true
		}
		ia.pos++
		ib.pos++
		return ea, eb, true
	}
}

type dirIter struct {
	d         *dirData
	page, pos int
}

func (i *dirIter) peek() *dirent {
	for i.page < len(i.d.pages) {
		if i.pos < len(i.d.pages[i.page].entries) {
			return &i.d.pages[i.page].entries[i.pos]
		}
		i.page, i.pos = i.page+1, 0
	}
	return nil
}

// both handles a name that is in both states.
func (d *differ) both(path string, a, b *inode) {
	switch {
	case a == b && b.kind != KindDir:
	case a.kind == KindDir && b.kind == KindDir && a.ino == b.ino:
		d.dir(path, a, b)
	case a.kind == b.kind && b.kind != KindDir:
		if a.ino != b.ino || !sameContents(a, b) {
			d.add(path, OpModified, b)
		}
	case a.kind == kindWhiteout && b.kind != KindDir: // there at first below, deleted, made again since
		d.add(path, OpCreated, b)
	default:
		d.only(path, a, false)
		d.only(path, b, true)
	}
}

func sameContents(a, b *inode) bool {
	return a.size == b.size && a.data.same(&b.data) && a.target == b.target
}

// only handles a name that one state lacks, with all below it.
func (d *differ) only(path string, nd *inode, came bool) {
	if d.overlay && nd.kind == kindWhiteout {
		if came {
			d.list = append(d.list, Change{Path: path, Op: OpDeleted, Kind: KindRegular})
		}
		return
	}
	copied := d.overlay && nd.origin != 0 // a copy of what the FS below has
	switch {
	case copied && nd.kind != KindDir && came:
		d.add(path, OpModified, nd)
	case copied:
	case came:
		d.came = append(d.came, entry{path, nd})
	default:
		d.gone = append(d.gone, entry{path, nd})
	}
	if nd.kind == KindDir {
		if came {
			d.dir(path, nil, nd)
		} else {
			d.dir(path, nd, nil)
		}
	}
}

func (d *differ) add(path string, op Op, nd *inode) {
	if nd.kind != kindWhiteout {
		d.list = append(d.list, Change{Path: path, Op: op, Kind: nd.kind, Size: nd.size, Modified: true})
	}
}

// finish pairs names that went with names that came for the same inode: those were renamed.
func (d *differ) finish() []Change {
	left := make(map[uint64][]entry, len(d.gone))
	for _, e := range d.gone {
		left[e.nd.ino] = append(left[e.nd.ino], e)
	}
	for _, e := range d.came {
		was := left[e.nd.ino]
		if len(was) == 0 {
			d.add(e.path, OpCreated, e.nd)
			continue
		}
		left[e.nd.ino] = was[1:]
		d.list = append(d.list, Change{Path: e.path, From: was[0].path, Op: OpRenamed, Kind: e.nd.kind, Size: e.nd.size,
			Modified: !sameContents(was[0].nd, e.nd)})
	}
	for _, entries := range left {
		for _, e := range entries {
			d.list = append(d.list, Change{Path: e.path, Op: OpDeleted, Kind: e.nd.kind})
		}
	}
	return d.list
}

// journalChanges turns the journal into changes.
func (ns *Namespace) journalChanges(mark int) (list []Change, complete bool) {
	if len(ns.journal.events) == 0 {
		return nil, true
	}
	paths, complete := ns.journal.since(mark)
	renamed := map[string]bool{} // former paths of what was renamed
	for _, n := range paths {
		if n.now && n.from != "" && !n.before {
			renamed[n.from] = true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		n := paths[path]
		c := Change{Path: path, Modified: true}
		switch {
		case !n.before && !n.now: // came and went
			continue
		case n.before && !n.now:
			if renamed[path] {
				continue
			}
			c.Op, c.Modified, c.Kind = OpDeleted, false, KindRegular
		case n.before && (n.modified || n.from != ""):
			c.Op = OpModified
		case n.before:
			continue
		case n.from != "":
			c.Op, c.From, c.Modified = OpRenamed, n.from, n.modified
		default:
			c.Op = OpCreated
		}
		if c.Op != OpDeleted {
			p, err := ParsePathString(path)
			if err != nil {
				continue
			}
			st, err := ns.Stat(nil, p, false)
			if err != nil { // another program removed it
				continue
			}
			c.Kind = st.Kind
			if st.Kind != KindDir {
				c.Size = st.Size
			}
		}
		list = append(list, c)
	}
	return list, complete
}
