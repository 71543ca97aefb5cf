package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// defaultConnections is how many connections are open at once where the caller does not say. One that waits takes 26 KiB.
const defaultConnections = 16_384

// connections counts those that are open, and those that were turned away.
type connections struct {
	open, refused atomic.Int64
}

// capped is a listener whose connections are bounded in number. One too many is told so and closed; it takes no place, and
// nobody who is connected waits for it.
type capped struct {
	net.Listener
	count  *connections
	max    int64
	plain  bool          // clients speak HTTP as they come, without TLS
	parted chan struct{} // a place for each of those that are being told

	ctx  context.Context // done when it is closed
	end  context.CancelFunc
	once sync.Once // for Close
}

// maxParted is how many connections are told at once why they are closed; more are closed without a word.
const maxParted = 64

func capConnections(l net.Listener, count *connections, max int, plain bool) net.Listener {
	c := &capped{Listener: l, count: count, max: int64(max), plain: plain, parted: make(chan struct{}, maxParted)}
	c.ctx, c.end = context.WithCancel(context.Background())
	return c
}

// Accept implements net.Listener.
func (l *capped) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.count.open.Add(1) <= l.max {
			return &counted{Conn: c, count: l.count}, nil
		}
		l.count.open.Add(-1)
		l.count.refused.Add(1)
		l.turnAway(c)
	}
}

// turnAway closes a connection that is one too many.
func (l *capped) turnAway(c net.Conn) {
	if !l.plain {
		_ = c.Close()
		return
	}
	select {
	case l.parted <- struct{}{}:
		go func() {
			defer func() { <-l.parted }()
			stop := context.AfterFunc(l.ctx, func() { _ = c.Close() })
			defer c.Close()
			defer stop()
			_ = c.SetWriteDeadline(time.Now().Add(partTimeout))
			if _, err := c.Write(fullAnswer()); err == nil {
				part(c, c, maxPartedUnknown)
			}
		}()
	default:
		_ = c.Close()
	}
}

// Close implements net.Listener. Who is being told is cut off, and nobody is told any more.
func (l *capped) Close() (err error) {
	l.once.Do(func() {
		l.end()
		err = l.Listener.Close()
		for range maxParted {
			l.parted <- struct{}{} // for good
		}
	})
	return err
}

const (
	// partTimeout is how long one waits for more from a client that was answered, partingTime how long one reads at most.
	partTimeout, partingTime = time.Second, 5 * time.Second
	// maxPartedUnknown is how many bytes are read of a client that has shown no key, maxPartedKnown of one that has.
	maxPartedUnknown, maxPartedKnown = 1 << 20, 1 << 30
)

// part comes between an answer and the end of its connection, and reads what the client still sends, which comes by r. A
// connection that is closed while its client sends is reset, and a client that sends all before it reads, as most do,
// would see that instead of the answer. One that reads to the end sees it at once.
func part(c net.Conn, r io.Reader, most int64) {
	half, ok := c.(closeWriter)
	if !ok || half.CloseWrite() != nil {
		return
	}
	end := time.Now().Add(partingTime)
	buf := make([]byte, 32<<10)
	for read := int64(0); read < most; {
		next := time.Now().Add(partTimeout)
		if next.After(end) {
			next = end
		}
		_ = c.SetReadDeadline(next)
		n, err := r.Read(buf)
		if err != nil {
			return
		}
		read += int64(n)
	}
}

type closeWriter interface{ CloseWrite() error }

// fullAnswer is the answer to whoever finds no place.
var fullAnswer = sync.OnceValue(func() []byte {
	const body = `{"error":{"code":"unavailable","message":"the server has as many connections as it may: try again later"}}`
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 503 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nRetry-After: 1\r\nConnection: close\r\n\r\n%s",
		http.StatusText(http.StatusServiceUnavailable), len(body), body)
	return b.Bytes()
})

// counted is a connection that has a place, which it gives back once.
type counted struct {
	net.Conn
	count *connections
	once  sync.Once
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.once.Do(func() { c.count.open.Add(-1) })
	return c.Conn.Close()
}

// CloseWrite is what net/http ends a connection with whose request was not read to its end.
func (c *counted) CloseWrite() error {
	if half, ok := c.Conn.(closeWriter); ok {
		return half.CloseWrite()
	}
	return nil
}
