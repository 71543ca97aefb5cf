package web

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ServeOptions say how [Serve] listens.
type ServeOptions struct {
	// TLS is used when it is not nil.
	TLS *tls.Config
	// Grace is how long running programs may go on once the server is to stop. Zero means 20 s.
	Grace time.Duration
	// MaxConnections is how many connections are open at once, 1 to 1,000,000. More get 503, or under TLS are closed. Zero means
	// 16,384.
	MaxConnections int
}

const (
	// headerTimeout is the time in which a client has to send its request's head; who holds a connection for longer
	// without asking for anything loses it.
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	// maxHeaderBytes is above what any client of ours sends.
	maxHeaderBytes = 32 << 10
	// lastRequests is the time for requests that are on their way when the server is told to stop: they are refused, instead
	// of being left without an answer, which says nothing of whether a program ran.
	lastRequests = 100 * time.Millisecond
	// lastAnswers is the time for answers that are on their way when the grace is over.
	lastAnswers = 5 * time.Second
)

// Serve serves s on a listener, until ctx is done. Then nothing new is taken, running programs get their grace, and every
// answer that is finished is delivered. It closes s and the listener.
func Serve(ctx context.Context, l net.Listener, s *Server, o ServeOptions) error {
	setDefault(&o.Grace, 20*time.Second)
	setDefault(&o.MaxConnections, defaultConnections)
	l = capConnections(l, &s.connections, o.MaxConnections, o.TLS == nil)
	hs := &http.Server{
		Handler: s, TLSConfig: o.TLS, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: log.New(connectionLog{s}, "", 0),
	}
	fresh := unused{}
	hs.ConnState = fresh.note
	failed := make(chan error, 1)
	go func() {
		if o.TLS != nil {
			failed <- hs.ServeTLS(l, "", "")
		} else {
			failed <- hs.Serve(l)
		}
	}()
	select {
	case err := <-failed:
		return errors.Join(err, s.Close())
	case <-ctx.Done():
	}
	s.log(slog.LevelInfo, "operation", "stopping", slog.Duration("grace", o.Grace))
	grace, cancel := context.WithTimeout(context.Background(), o.Grace)
	defer cancel()
	last, cancelLast := context.WithTimeout(context.Background(), o.Grace+lastAnswers)
	defer cancelLast()
	// First, since the http.Server closes connections that are idle to it, on which a request may just be coming in: what is not
	// refused by then has been noticed there, too.
	s.refuse()
	time.Sleep(lastRequests)
	fresh.close()
	delivered := make(chan error, 1)
	go func() { delivered <- hs.Shutdown(last) }()
	err := s.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		s.log(slog.LevelWarn, "operation", "programs were stopped")
		err = nil
	}
	if e := <-delivered; e != nil {
		s.log(slog.LevelWarn, "operation", "connections were cut")
		_ = hs.Close()
	}
	if e := <-failed; e != nil && !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

// unused are connections on which nothing was asked yet. The http.Server waits some seconds for them when it is to stop.
type unused struct {
	conns  sync.Map
	closed atomic.Bool
}

func (u *unused) note(c net.Conn, state http.ConnState) {
	if state != http.StateNew {
		u.conns.Delete(c)
		return
	}
	u.conns.Store(c, nil)
	if u.closed.Load() {
		_ = c.Close()
	}
}

// close closes them, and those that are still to come.
func (u *unused) close() {
	u.closed.Store(true)
	u.conns.Range(func(c, _ any) bool {
		_ = c.(net.Conn).Close()
		return true
	})
}

// connectionLog gets what net/http has to say of connections, which is mostly of what clients did wrong.
type connectionLog struct{ s *Server }

func (c connectionLog) Write(p []byte) (int, error) {
	c.s.log(slog.LevelDebug, "operation", "connection", slog.String("what", strings.TrimSpace(string(p))))
	return len(p), nil
}
