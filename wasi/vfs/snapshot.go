package vfs

import (
	"errors"
	"sync/atomic"
)

// Snapshot is a frozen state of the memory parts of a namespace. It is immutable and may be used from any
// goroutine. Making one costs the same whatever the files hold; it shares with the namespace all that is not
// changed afterwards, and keeps alive what it shares with no one until it is dropped.
type Snapshot struct {
	template *Template
	state    memState
	next     uint64
	number   uint64
}

// snapshots counts those of all namespaces, so that their numbers differ.
var snapshots atomic.Uint64

// errOtherTemplate is a fault of the embedding program.
var errOtherTemplate = errors.New("vfs: the snapshot was taken of a namespace of another template")

// Snapshot freezes the memory parts.
func (ns *Namespace) Snapshot() *Snapshot {
	ns.snapshot = snapshots.Add(1)
	return &Snapshot{ns.template, ns.mem.freeze(), ns.mem.next, ns.snapshot}
}

// Usage is what the files of the snapshot hold.
func (s *Snapshot) Usage() Usage { return s.state.used.beyond(s.template.mem.used) }

// Restore brings the memory parts back to a snapshot that was taken of any namespace of the same template.
// The cost does not depend on what the files hold. Other mounts stay as they are. For handles see [Handle].
//
// A file that had lost its name when the snapshot was taken, and was open, is there again if some handle of
// ns refers to it now, and is freed if none does.
func (ns *Namespace) Restore(s *Snapshot) error {
	if s.template != ns.template {
		return errOtherTemplate
	}
	for h := ns.handles; h != nil; h = h.next {
		h.drop()
		if h.before.snapshot == s.number {
			h.path, h.stack = h.before.path, h.before.stack
		}
		h.before = whereabouts{}
	}
	ns.snapshot = s.number
	ns.mem.restore(&s.state)
	ns.mem.next = max(ns.mem.next, s.next)
	return nil
}

// FromSnapshot makes an independent namespace with the files of a snapshot, which was taken of a namespace of
// this template or imported by it. Both share what neither changes. Mounted host folders are the same folders.
// Files that had lost their names are not in it: no handle leads to them. It may be called from several goroutines at once.
func (t *Template) FromSnapshot(s *Snapshot, o Options) (*Namespace, error) {
	if s.template != t {
		return nil, errOtherTemplate
	}
	return t.instance(s.state.clone(s.next, o, t.mem.used), o), nil
}

// Same says that two snapshots hold the same files because nothing was changed between them. It may say no when
// changes were undone.
func (s *Snapshot) Same(o *Snapshot) bool {
	return s.template == o.template && s.state.table.root == o.state.table.root
}
