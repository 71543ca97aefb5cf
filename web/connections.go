package web

import (
	"bytes"
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
}

// maxParted is how many connections are told at once why they are closed; more are closed without a word.
const maxParted = 64

func capConnections(l net.Listener, count *connections, max int, plain bool) net.Listener {
	return &capped{Listener: l, count: count, max: int64(max), plain: plain, parted: make(chan struct{}, maxParted)}
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
	select {
	case l.parted <- struct{}{}:
		go func() {
			defer func() { <-l.parted }()
			defer c.Close()
			if l.plain {
				tellFull(c)
			}
		}()
	default:
		_ = c.Close()
	}
}

// tellFull answers the request that comes by c, whatever it is, and reads what comes of it, or the answer would be lost.
func tellFull(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(dropTimeout))
	if _, err := c.Write(fullAnswer()); err != nil {
		return
	}
	if half, ok := c.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, c, maxDrained)
	}
}

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
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
