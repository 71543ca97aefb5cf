package web

import (
	"io"
	"sync"
)

// bodies bounds what is held in memory of the bodies of requests, read and not yet answered, and of long answers that are being sent. All
// keys together may have most, one of them a half of it, and each has its equal part whatever the others have.
type bodies struct {
	most, part int64

	mu   sync.Mutex
	all  int64
	held map[*Key]int64
}

// maxBodies is how many of the largest there may be.
const maxBodies = 16

func newBodies(largest int64, keys int) *bodies {
	most := maxBodies * largest
	return &bodies{most: most, part: most / int64(keys), held: map[*Key]int64{}}
}

// take notes n bytes more, unless they are too many.
func (b *bodies) take(k *Key, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := b.held[k] + n
	if held > b.most/2 || b.all+n > b.most && held > b.part {
		return false
	}
	b.all += n
	b.held[k] = held
	return true
}

func (b *bodies) give(k *Key, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all -= n
	if b.held[k] -= n; b.held[k] == 0 {
		delete(b.held, k)
	}
}

var errHeld = tooMany("the bodies of this key's requests that are under way, and the answers that it has not taken, are too large together: take the answers first")

// longAnswer is how long an answer is that counts, in bytes.
const longAnswer = 256 << 10

// hold counts n bytes of an answer while they are sent, until what it returns is called: a client may take as long as it likes, and have many
// connections. Nothing is refused here, where the work is done: while too much is held, no new program runs for the key, and what it asks
// for besides is not made (mayHold).
func (b *bodies) hold(k *Key, n int) (letGo func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all += int64(n)
	b.held[k] += int64(n)
	return func() { b.give(k, int64(n)) }
}

// mayHold says whether the key may have more.
func (b *bodies) mayHold(k *Key) error {
	if !b.take(k, 0) {
		return errHeld
	}
	return nil
}

// heldReader counts in held what a key's request keeps of what is read.
type heldReader struct {
	io.Reader
	bodies *bodies
	key    *Key
	held   *int64
}

func (r heldReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		if !r.bodies.take(r.key, int64(n)) {
			return 0, errHeld
		}
		*r.held += int64(n)
	}
	return n, err
}

// holding is r for a handler that keeps what it reads until the request is answered.
func (x *exchange) holding(r io.Reader) io.Reader {
	return heldReader{r, x.s.bodies, x.key, &x.held}
}

// hold is for handlers that keep what they read of the body.
func (x *exchange) hold() {
	x.r.Body = struct {
		io.Reader
		io.Closer
	}{x.holding(x.r.Body), x.r.Body}
}

// letGo is called when the request is answered.
func (x *exchange) letGo() {
	if x.held > 0 {
		x.s.bodies.give(x.key, x.held)
	}
}
