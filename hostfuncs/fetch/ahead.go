package fetch

import (
	"io"
	"sync"
	"time"
)

// patience is how long a head waits for its body, so that a short one comes with it. A body that is slower comes after it, or a
// program could not tell a slow body from a server that does not answer.
const patience = 20 * time.Millisecond

// An ahead reads on while nobody asks it to, up to the end of a body that is short. It may be read by one goroutine.
type ahead struct {
	ended chan struct{}

	mu   sync.Mutex
	news *sync.Cond
	buf  []byte
	err  error // when ended
}

func newAhead(r io.Reader) *ahead {
	a := &ahead{ended: make(chan struct{})}
	a.news = sync.NewCond(&a.mu)
	go a.fill(r)
	return a
}

func (a *ahead) fill(r io.Reader) {
	defer close(a.ended)
	chunk := make([]byte, 32<<10)
	for {
		n, err := r.Read(chunk)
		a.mu.Lock()
		a.buf = append(a.buf, chunk[:n]...)
		a.err = err
		a.news.Broadcast()
		a.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// whole is the body, if it is there within that time.
func (a *ahead) whole(within time.Duration) ([]byte, bool) {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-a.ended:
		return a.buf, a.err == io.EOF
	case <-timer.C:
		return nil, false
	}
}

func (a *ahead) Read(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.buf) == 0 && a.err == nil {
		a.news.Wait()
	}
	if len(a.buf) == 0 {
		return 0, a.err
	}
	n := copy(p, a.buf)
	a.buf = a.buf[n:]
	return n, nil
}
