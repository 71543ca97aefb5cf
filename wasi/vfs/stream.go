package vfs

import "io"

// streamStep is the most that one step of a stream reads: a few milliseconds of decompression.
const streamStep = 4 << 20

// stream is an open file whose bytes come one after the other. Reading forward goes on where it was; for an
// earlier offset it is opened again.
type stream struct {
	readOnlyFile
	open func() (io.ReadCloser, error)
	stat Stat
	r    io.ReadCloser // nil before the first read
	pos  int64
}

// step implements stepper.
func (s *stream) step(off int64) (bool, error) {
	if off >= s.stat.Size {
		return true, nil
	}
	if s.r == nil || off < s.pos {
		if s.r != nil {
			_ = s.r.Close()
		}
		r, err := s.open()
		if err != nil {
			s.r = nil
			return false, readError(err)
		}
		s.r, s.pos = r, 0
	}
	n, err := io.CopyN(io.Discard, s.r, min(off-s.pos, streamStep))
	s.pos += n
	if err != nil {
		return false, readError(err)
	}
	return s.pos == off, nil
}

// ReadAt implements File.
func (s *stream) ReadAt(p []byte, off int64) (int, error) {
	for near := false; !near; {
		var err error
		if near, err = s.step(off); err != nil {
			return 0, err
		}
	}
	return readUpTo(s.stat.Size-off, p, func(p []byte) (int, error) {
		n, err := io.ReadFull(s.r, p)
		s.pos += int64(n)
		return n, err
	})
}

// Stat implements File.
func (s *stream) Stat() (Stat, error) { return s.stat, nil }

// Close implements File.
func (s *stream) Close() error {
	if s.r == nil {
		return nil
	}
	return s.r.Close()
}
