package vfs

import "sync/atomic"

// Memory files are kept in structures that are copied on write. Every part carries the generation of the
// memFS that made it; a memFS changes in place only parts of its own generation, and copies others first.
// Taking a snapshot gives the memFS a new generation, which freezes all that it has in one assignment.

var lastGen atomic.Uint64

// newGen returns a generation that no part carries yet.
func newGen() uint64 { return lastGen.Add(1) }

const (
	treeBits = 6
	treeFan  = 1 << treeBits

	// treeNodeBytes is what one node of a tree is counted as: its array and its header, rounded up.
	treeNodeBytes = treeFan*8 + 64
)

// tree is a sparse array of pointers, indexed by uint64, copied on write. The zero tree is empty. Copying
// the struct makes a second tree; from then on the two must be changed under different generations.
type tree[T any] struct {
	root   *treeNode[T]
	height uint8 // levels below the root; a root of height 0 holds values
	nodes  int32 // in the tree, shared ones included
}

type treeNode[T any] struct {
	gen  uint64
	used int            // slots that are not nil
	kids []*treeNode[T] // treeFan of them, nil in the lowest level
	vals []*T           // treeFan of them, nil above the lowest level
}

func newTreeNode[T any](gen uint64, leaf bool) *treeNode[T] {
	n := &treeNode[T]{gen: gen}
	if leaf {
		n.vals = make([]*T, treeFan)
	} else {
		n.kids = make([]*treeNode[T], treeFan)
	}
	return n
}

// covers reports whether a tree of that height has a place for index i.
func covers(height uint8, i uint64) bool {
	shift := treeBits * (uint(height) + 1)
	return shift >= 64 || i>>shift == 0
}

// slot is the place of index i in a node of the given height.
func slot(height uint8, i uint64) int { return int(i>>(treeBits*uint(height))) & (treeFan - 1) }

func (t *tree[T]) get(i uint64) *T {
	n := t.root
	if n == nil || !covers(t.height, i) {
		return nil
	}
	for h := t.height; h > 0; h-- {
		if n = n.kids[slot(h, i)]; n == nil {
			return nil
		}
	}
	return n.vals[slot(0, i)]
}

// missing returns how many nodes setting index i would add.
func (t *tree[T]) missing(i uint64) int {
	if t.root == nil {
		return int(heightFor(i)) + 1
	}
	n, h, add := t.root, t.height, 0
	for !covers(h, i) {
		h++
		add++
	}
	if add > 0 { // new roots above, and a new path below the highest
		return add + int(h)
	}
	for ; h > 0; h-- {
		if n = n.kids[slot(h, i)]; n == nil {
			return int(h)
		}
	}
	return 0
}

func heightFor(i uint64) uint8 {
	h := uint8(0)
	for !covers(h, i) {
		h++
	}
	return h
}

// set stores v, which is not nil, at index i.
func (t *tree[T]) set(gen uint64, i uint64, v *T) {
	if t.root == nil {
		t.height = heightFor(i)
		t.root = newTreeNode[T](gen, t.height == 0)
		t.nodes++
	}
	for !covers(t.height, i) {
		top := newTreeNode[T](gen, false)
		top.kids[0], top.used = t.root, 1
		t.root = top
		t.height++
		t.nodes++
	}
	t.root = own(gen, t.root)
	n := t.root
	for h := t.height; h > 0; h-- {
		s := slot(h, i)
		if n.kids[s] == nil {
			n.kids[s] = newTreeNode[T](gen, h == 1)
			n.used++
			t.nodes++
		} else {
			n.kids[s] = own(gen, n.kids[s])
		}
		n = n.kids[s]
	}
	s := slot(0, i)
	if n.vals[s] == nil {
		n.used++
	}
	n.vals[s] = v
}

// own returns n if it is of this generation, else a copy that is.
func own[T any](gen uint64, n *treeNode[T]) *treeNode[T] {
	if n.gen == gen {
		return n
	}
	c := &treeNode[T]{gen: gen, used: n.used}
	if n.kids != nil {
		c.kids = append([]*treeNode[T](nil), n.kids...)
	} else {
		c.vals = append([]*T(nil), n.vals...)
	}
	return c
}

// remove empties index i and frees nodes that become empty.
func (t *tree[T]) remove(gen uint64, i uint64) {
	if t.get(i) == nil {
		return
	}
	if t.root = t.removeIn(gen, t.root, t.height, i); t.root == nil {
		t.height = 0
	}
}

func (t *tree[T]) removeIn(gen uint64, n *treeNode[T], h uint8, i uint64) *treeNode[T] {
	n = own(gen, n)
	s := slot(h, i)
	if h == 0 {
		n.vals[s] = nil
		n.used--
	} else if n.kids[s] = t.removeIn(gen, n.kids[s], h-1, i); n.kids[s] == nil {
		n.used--
	}
	if n.used == 0 {
		t.nodes--
		return nil
	}
	return n
}

// removeFrom empties every index from first on, calling f for each value.
func (t *tree[T]) removeFrom(gen uint64, first uint64, f func(*T)) {
	if t.root == nil || !covers(t.height, first) {
		return
	}
	if t.root = t.removeFromIn(gen, t.root, t.height, first, f); t.root == nil {
		t.height = 0
	}
}

func (t *tree[T]) removeFromIn(gen uint64, n *treeNode[T], h uint8, first uint64, f func(*T)) *treeNode[T] {
	n = own(gen, n)
	s := slot(h, first)
	for k := s; k < treeFan; k++ {
		if h == 0 {
			if n.vals[k] != nil {
				f(n.vals[k])
				n.vals[k] = nil
				n.used--
			}
			continue
		}
		if n.kids[k] == nil {
			continue
		}
		below := uint64(0) // later subtrees go as a whole
		if k == s {
			below = first & (1<<(treeBits*uint(h)) - 1)
		}
		if n.kids[k] = t.removeFromIn(gen, n.kids[k], h-1, below, f); n.kids[k] == nil {
			n.used--
		}
	}
	if n.used == 0 {
		t.nodes--
		return nil
	}
	return n
}

// each calls f for every value in order of its index until f returns false.
func (t *tree[T]) each(f func(i uint64, v *T) bool) {
	if t.root != nil {
		eachIn(t.root, t.height, 0, f)
	}
}

func eachIn[T any](n *treeNode[T], h uint8, base uint64, f func(i uint64, v *T) bool) bool {
	for s := range treeFan {
		at := base | uint64(s)<<(treeBits*uint(h))
		if h == 0 {
			if n.vals[s] != nil && !f(at, n.vals[s]) {
				return false
			}
		} else if n.kids[s] != nil && !eachIn(n.kids[s], h-1, at, f) {
			return false
		}
	}
	return true
}
