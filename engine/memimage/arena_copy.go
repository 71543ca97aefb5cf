//go:build !linux

package memimage

func (a *arena) write(r run, data []byte) error {
	copy(a.page(r.at, r.n), data)
	return nil
}

func (l *Linear) mapFrozen(*arena, uint64, run) error { return errArenaFull }
func (l *Linear) unmapFrozen(uint64, uint64) error    { return nil }

func watcher() int { return -1 }

func (l *Linear) watch(int) error { return nil }
func (l *Linear) unwatch()        {}

func (l *Linear) eachWritten(from, to uint64, do func(offset, length uint64) error) error {
	return l.eachPrivate(from, to, do)
}
