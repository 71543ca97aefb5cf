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
// complete is false when so much happened in read-write mounts that the oldest changes were forgotten, or when the paths are too
// long together: then only some are listed.
// If nothing changed in memory the cost is constant; else it follows the number of files below dirs.
func (ns *Namespace) Changes(m Mark, dirs ...Path) (list []Change, complete bool) {
	old, cur, room := &m.snap.state, &ns.mem.memState, maxChanged
	if old.table.root != cur.table.root {
		for _, dir := range dirs {
			d := differ{old: old, cur: cur, pairs: pairs{room: &room}}
			names := strings.FieldsFunc(dir.s, func(r rune) bool { return r == '/' })
			d.dir(strings.Join(append([]string{""}, names...), "/"), old.find(names), cur.find(names))
			list = append(list, d.finish()...)
		}
		for path, mt := range ns.overlays() {
			list = append(list, ns.overlayChanges(path, mt.fs.(*overlay), old, &room)...)
		}
	}
	host, complete := ns.journalChanges(m.pos)
	for _, c := range host {
		if takes(&room, c.Path) && takes(&room, c.From) {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(list, func(a, b Change) bool { return a == b }), complete && room >= 0
}

// maxChanged bounds the paths of all changes, in bytes as JSON: each file has its own, and all of them may lie deep in folders of long names. It
// is room for a hundred thousand files of usual names.
const maxChanged = 16 << 20

// takes takes the room for a path. It is false when there is no more.
func takes(room *int, path string) bool {
	const overhead, escaped = 64, 5
	*room -= overhead + len(path)
	for _, c := range []byte(path) {
		if c < ' ' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' || c == 0x7f {
			*room -= escaped
		}
	}
	return *room >= 0
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
	id   uint64 // of the file
	kind Kind
	size int64
	nd   *inode // nil if it is in the lower layer of an overlay
}

// pairs collects what differs between two states, as far as there is room, and finds out what was renamed.
type pairs struct {
	room *int
	list []Change
	gone []entry
	came []entry
}

// differs notes a name that only one of the states has. It is false when there is no room for it, nor for what is below it.
func (p *pairs) differs(e entry, came bool) bool {
	switch {
	case !takes(p.room, e.path):
		return false
	case came:
		p.came = append(p.came, e)
	default:
		p.gone = append(p.gone, e)
	}
	return true
}

// modified notes a name that both have.
func (p *pairs) modified(e entry) {
	if takes(p.room, e.path) {
		p.add(e, OpModified)
	}
}

func (p *pairs) add(e entry, op Op) {
	p.list = append(p.list, Change{Path: e.path, Op: op, Kind: e.kind, Size: e.size, Modified: true})
}

// finish pairs names that went with names that came for the same file: those were renamed.
func (p *pairs) finish() []Change {
	left := make(map[uint64][]entry, len(p.gone))
	for _, e := range p.gone {
		left[e.id] = append(left[e.id], e)
	}
	for _, e := range p.came {
		was := left[e.id]
		if len(was) == 0 {
			p.add(e, OpCreated)
			continue
		}
		left[e.id] = was[1:]
		p.list = append(p.list, Change{Path: e.path, From: was[0].path, Op: OpRenamed, Kind: e.kind, Size: e.size,
			Modified: !sameContents(was[0].nd, e.nd)})
	}
	for _, entries := range left {
		for _, e := range entries {
			p.list = append(p.list, Change{Path: e.path, Op: OpDeleted, Kind: e.kind})
		}
	}
	return p.list
}

// sameContents compares two states of a file; nil is the lower layer of an overlay.
func sameContents(a, b *inode) bool {
	switch {
	case a == nil && b == nil:
		return true
	case a == nil:
		return b.pristine
	case b == nil:
		return a.pristine
	}
	return a.size == b.size && a.data.same(&b.data) && a.target == b.target
}

// differ compares two states of a folder.
type differ struct {
	old, cur *memState
	pairs
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
		if !ok || *d.room < 0 {
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
			d.modified(entryOf(path, b))
		}
	default:
		d.only(path, a, false)
		d.only(path, b, true)
	}
}

func entryOf(path string, nd *inode) entry { return entry{path, nd.ino, nd.kind, nd.size, nd} }

// only handles a name that one state lacks, with all below it.
func (d *differ) only(path string, nd *inode, came bool) {
	if d.differs(entryOf(path, nd), came) && nd.kind == KindDir {
		if came {
			d.dir(path, nil, nd)
		} else {
			d.dir(path, nd, nil)
		}
	}
}

// overlayDiffer compares two states of an overlay as they are seen: the lower layer is taken not to change.
type overlayDiffer struct {
	old, cur *overlay
	pairs
}

func (ns *Namespace) overlayChanges(path string, cur *overlay, old *memState, room *int) []Change {
	was := &memFS{memState: *old}
	d := overlayDiffer{old: newOverlay(cur.lower, was, cur.top), cur: cur, pairs: pairs{room: room}}
	a, _ := d.old.Root()
	b, _ := d.cur.Root()
	d.dir(path, d.old.node(a), d.cur.node(b))
	return d.finish()
}

// dir compares a folder that is in both states. Only names in an upper layer can differ, unless the lower
// one shows through in one state and not in the other.
func (d *overlayDiffer) dir(path string, a, b *ovNode) {
	upA, belowA, errA := d.old.folder(a)
	upB, belowB, errB := d.cur.folder(b)
	if errA != nil || errB != nil {
		return
	}
	names := map[string]bool{}
	for _, up := range []*inode{upA, upB} {
		if up != nil {
			up.dir.each(func(e *dirent) bool { names[e.name] = true; return true })
		}
	}
	if low := a; belowA != belowB {
		if belowB {
			low = b
		}
		list, err := d.cur.lower.ReadDir(low.lower, nil)
		if err != nil {
			return
		}
		for _, e := range list {
			names[e.Name] = true
		}
	}
	for name := range names {
		if *d.room < 0 {
			return
		}
		d.name(path+"/"+name, a, b, name)
	}
}

func (d *overlayDiffer) name(path string, a, b *ovNode, name string) {
	na, kindA, errA := d.old.find(a, name)
	nb, kindB, errB := d.cur.find(b, name)
	switch {
	case errA != nil && errB != nil:
	case errB != nil:
		d.only(path, d.old, na, kindA, false)
	case errA != nil:
		d.only(path, d.cur, nb, kindB, true)
	case kindA == KindDir && kindB == KindDir:
		d.dir(path, na, nb)
	case kindA == kindB:
		if ea, eb := d.entry(path, d.old, na, kindA), d.entry(path, d.cur, nb, kindB); ea.id != eb.id || !sameContents(ea.nd, eb.nd) {
			d.modified(eb)
		}
	default:
		d.only(path, d.old, na, kindA, false)
		d.only(path, d.cur, nb, kindB, true)
	}
}

// entry describes a file of one state; a copy has the number of what it was copied from.
func (d *overlayDiffer) entry(path string, o *overlay, n *ovNode, kind Kind) entry {
	e := entry{path: path, kind: kind}
	st, err := o.Stat(Node{Ref: n})
	if err != nil {
		return e
	}
	e.id = st.Ino
	if kind != KindDir {
		e.size = st.Size
	}
	if n.ino != 0 {
		e.nd = o.m.table.get(n.ino)
	}
	return e
}

// only handles a name that one state lacks, with all below it.
func (d *overlayDiffer) only(path string, o *overlay, n *ovNode, kind Kind, came bool) {
	if !d.differs(d.entry(path, o, n, kind), came) || kind != KindDir {
		return
	}
	list, err := o.ReadDir(Node{Ref: n}, nil)
	if err != nil {
		return
	}
	for _, e := range list {
		if *d.room < 0 {
			return
		}
		if sub, kind, err := o.find(n, e.Name); err == nil {
			d.only(path+"/"+e.Name, o, sub, kind, came)
		}
	}
}

// journalChanges turns the journal into changes.
func (ns *Namespace) journalChanges(mark int) (list []Change, complete bool) {
	if len(ns.journal.events) == 0 {
		return nil, true
	}
	paths, complete := ns.journal.since(mark)
	renamed := map[string]bool{} // former paths of what was renamed
	for _, n := range paths {
		if n.now && n.from != "" && !n.before { // (if something has that name again, it counts as made)
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
		case n.from != "" && !(paths[n.from] != nil && paths[n.from].now):
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
