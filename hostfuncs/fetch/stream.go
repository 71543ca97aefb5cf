package fetch

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/cloche-dev/cloche/hostfuncs"
)

// stream is the body of an answer, read piece by piece.
type stream struct {
	r       io.Reader
	ctx     context.Context // of the request
	closer  func()
	hop     *hostfuncs.HTTPRequest
	busy    bool // a read goes on
	unsized bool // only the server says where it ends
	once    sync.Once
}

func (s *stream) close() {
	s.once.Do(func() {
		if s.closer != nil {
			s.closer()
		}
	})
}

// read gives at least a byte, but at the end.
func (s *stream) read(ctx context.Context, max int, timeout time.Duration) ([]byte, error) {
	defer context.AfterFunc(ctx, s.close)() // who gives up a read gives up the body
	stop := func() bool { return true }
	if timeout > 0 {
		stop = time.AfterFunc(timeout, s.close).Stop
	}
	b := make([]byte, max)
	n, err := io.ReadAtLeast(s.r, b, 1)
	late := !stop()
	// A server that hears us leave may end the body while we hang up.
	left := err == io.EOF && s.unsized && (late || s.ctx.Err() != nil)
	switch {
	case n > 0 || err == io.EOF && !left:
		err = nil
	case late:
		err = errSlow
	case left:
		err = context.Cause(s.ctx)
	}
	return b[:n], err
}

var errSlow = refused("TimeoutError", "the server took too long")

// handleRead answers [hostfuncs.OpRead]. The reply is the next bytes of the body; none are its end.
func (c *Client) handleRead(ctx context.Context, payload []byte) ([]byte, error) {
	r, err := decodeRead(payload)
	if err != nil {
		return nil, hostfuncs.Refuse("ValueError", "read frame: %v", err)
	}
	s := c.streams[r.id]
	switch {
	case s == nil:
		return nil, hostfuncs.Refuse("ValueError", "there is no body %d to read", r.id)
	case s.busy:
		return nil, hostfuncs.Refuse("ValueError", "the body is being read already")
	}
	s.busy = true
	work := func(ctx context.Context) ([]byte, error) { return s.read(ctx, r.max, r.timeout) }
	return c.calls.Do(ctx, r.max, r.async, work, func(piece []byte, err error) ([]byte, error) {
		s.busy = false
		s.hop.Bytes += uint64(len(piece))
		if err != nil {
			refusal := c.seen(c.failed(s.ctx, err, true))
			c.closeStream(r.id, refusal.Message)
			return nil, refusal
		}
		if len(piece) == 0 {
			c.closeStream(r.id, "")
		}
		return piece, nil
	})
}

// closeStream ends a body; why is added to its record.
func (c *Client) closeStream(id uint32, why string) {
	s := c.streams[id]
	if s == nil {
		return
	}
	delete(c.streams, id)
	s.close()
	if why != "" {
		s.hop.Reason = why
	}
	c.over(s.hop)
}

// Cancel closes the body of that id, if there is one.
func (c *Client) Cancel(id uint32) { c.closeStream(id, "") }
