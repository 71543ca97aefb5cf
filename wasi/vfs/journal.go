package vfs

import "strings"

// maxJournal is the number of changes that are remembered; of more, the oldest are forgotten.
const maxJournal = 1 << 14

// journal writes down what is changed through a namespace in mounts whose former state cannot be asked for
// later: folders of the host. Memory needs none, it compares two states.
type journal struct {
	events []event
	lost   int // events forgotten before events[0]
	epoch  int // counts marks, so that each handle notes its writes once for each
}

type event struct {
	op   Op
	path string
	to   string // of OpRenamed
	over bool   // of OpRenamed: something was there
}

func (j *journal) add(e event) {
	if len(j.events) >= maxJournal {
		j.lost += maxJournal / 2
		j.events = append(j.events[:0:0], j.events[maxJournal/2:]...)
	}
	j.events = append(j.events, e)
}

func (j *journal) created(path string)  { j.add(event{op: OpCreated, path: path}) }
func (j *journal) modified(path string) { j.add(event{op: OpModified, path: path}) }
func (j *journal) removed(path string)  { j.add(event{op: OpDeleted, path: path}) }
func (j *journal) renamed(from, to string, over bool) {
	j.add(event{op: OpRenamed, path: from, to: to, over: over})
}

// mark returns a position for since.
func (j *journal) mark() int {
	j.epoch++
	return j.lost + len(j.events)
}

// net is what became of one path since a mark.
type net struct {
	before   bool   // something had this name at the mark
	now      bool   // something has it now
	modified bool   // its contents were changed since
	from     string // the name that it had at the mark, if that is another one
}

// since returns what became of every path named by an event since the mark, and whether that is all.
func (j *journal) since(mark int) (map[string]*net, bool) {
	first := mark - j.lost
	complete := first >= 0
	paths := map[string]*net{}
	get := func(path string) *net {
		n := paths[path]
		if n == nil {
			n = &net{before: true, now: true}
			paths[path] = n
		}
		return n
	}
	for _, e := range j.events[max(0, first):] {
		switch e.op {
		case OpCreated:
			if n := paths[e.path]; n != nil {
				n.now, n.modified, n.from = true, true, ""
			} else {
				paths[e.path] = &net{now: true, modified: true}
			}
		case OpModified:
			get(e.path).modified = true
		case OpDeleted:
			n := get(e.path)
			n.now, n.from = false, ""
		case OpRenamed:
			move(paths, get, e)
		}
	}
	return paths, complete
}

// move applies a rename to the path itself and to what is known below it.
func move(paths map[string]*net, get func(string) *net, e event) {
	var below []string
	for path, n := range paths {
		if n.now && strings.HasPrefix(path, e.path+"/") {
			below = append(below, path)
		}
	}
	for _, path := range append(below, e.path) {
		src := get(path)
		to := e.to + path[len(e.path):]
		dst := paths[to]
		if dst == nil {
			dst = &net{before: e.over && path == e.path}
			paths[to] = dst
		}
		dst.now, dst.modified = true, src.modified
		dst.from = src.from
		if src.before && src.from == "" {
			dst.from = path
		}
		if dst.from == to { // it is back where it was
			dst.from = ""
		}
		src.now, src.from = false, ""
	}
}
