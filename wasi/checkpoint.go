package wasi

import (
	"errors"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

// checkpoint is the descriptor table at an earlier moment.
//
// Invariant: a descriptor of the table is held exactly if the checkpoint has the same handle, at whatever number
// and offset. A held one that leaves the table puts its handle among the orphans, which are closed by Commit and
// found again by Rollback.
type checkpoint struct {
	active  bool
	fds     []descriptor
	lowest  int
	open    int
	orphans []*vfs.Handle
}

// Checkpoint remembers which descriptors are open, with their offsets, flags and rights, so that [State.Rollback]
// can bring them back. It costs a copy of the table, and takes the place of an earlier checkpoint. A file that the
// guest closes stays open behind the scenes (and, if it has no name any more, in the quota) until then.
//
// The files themselves are the business of vfs: take and restore a vfs.Snapshot beside it.
func (s *State) Checkpoint() error {
	err := s.Commit()
	c := &s.checkpoint
	for i := range s.fds {
		s.fds[i].held = s.fds[i].handle != nil
	}
	c.fds = append(c.fds[:0], s.fds...)
	c.lowest, c.open, c.active = s.lowest, s.open, true
	return err
}

// Commit gives the checkpoint up and closes what the guest closed meanwhile. Without one it does nothing.
func (s *State) Commit() error {
	var problems []error
	for _, h := range s.checkpoint.orphans {
		problems = append(problems, h.Close())
	}
	s.dropCheckpoint()
	return errors.Join(problems...)
}

// Rollback brings the descriptors of the last checkpoint back and gives the checkpoint up. It reports false, and
// does nothing, when there is none.
func (s *State) Rollback() bool {
	c := &s.checkpoint
	if !c.active {
		return false
	}
	for i := range s.fds {
		if d := &s.fds[i]; d.handle != nil && !d.held {
			_ = d.handle.Close() // opened since, and nobody will read it again
		}
	}
	clear(s.fds)
	s.fds = append(s.fds[:0], c.fds...)
	s.lowest, s.open = c.lowest, c.open
	s.exitCode, s.exited = 0, false
	s.dropCheckpoint()
	return true
}

// dropCheckpoint forgets the checkpoint, whose orphans have been dealt with.
func (s *State) dropCheckpoint() {
	c := &s.checkpoint
	if !c.active {
		return
	}
	for i := range s.fds {
		s.fds[i].held = false
	}
	clear(c.fds)
	clear(c.orphans)
	c.fds, c.orphans, c.active = c.fds[:0], c.orphans[:0], false
}
