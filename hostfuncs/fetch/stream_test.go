package fetch

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"
)

// endsAfter is a body whose end comes when ctx is over, as that of a server may that hears its client leave.
type endsAfter struct{ ctx context.Context }

func (e endsAfter) Read([]byte) (int, error) {
	<-e.ctx.Done()
	return 0, io.EOF
}

// TestEndAfterTheDeadline: an end that comes with the deadline is none, unless the server had said where it would be.
func TestEndAfterTheDeadline(t *testing.T) {
	for _, unsized := range []bool{true, false} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		s := stream{r: endsAfter{ctx}, ctx: ctx, unsized: unsized}
		if b, err := s.read(t.Context(), 10, 0); len(b) > 0 || errors.Is(err, context.DeadlineExceeded) != unsized {
			t.Errorf("request over, unsized %v: %q, %v", unsized, b, err)
		}
		cancel()
		ctx, cancel = context.WithCancel(t.Context())
		s = stream{r: endsAfter{ctx}, ctx: t.Context(), closer: cancel, unsized: unsized}
		if b, err := s.read(t.Context(), 10, time.Millisecond); len(b) > 0 || errors.Is(err, errSlow) != unsized {
			t.Errorf("read over, unsized %v: %q, %v", unsized, b, err)
		}
	}
}
