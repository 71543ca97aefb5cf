//go:build !unix

package memimage

import "errors"

// reserve takes the memory from Go's heap, which commits it: where address space cannot be had without memory, there
// is room for few checkpoints.
func (s *store) reserve(size uint64) error {
	if size == 0 {
		return errors.New("nothing to reserve")
	}
	s.mem = make([]byte, min(size, 1<<30))
	return nil
}

// forget clears a run: what one guest wrote must not wait there for another.
func (a *arena) forget(r run) { clear(a.page(r.at, r.n)) }
