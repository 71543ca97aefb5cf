package workers

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cloche-dev/cloche/web"
)

// Post is the worker's side of its control socket: a [net.Listener] whose connections come from the front.
type Post struct {
	control *net.UnixConn
	over    context.CancelFunc
	closed  chan struct{}
	close   sync.Once
	mu      sync.Mutex // held while news are written
}

// Inherit takes the socket that this process was started with, and reads its job. The context is done when the front
// wants the worker to end, or has ended itself.
func Inherit(ctx context.Context) (context.Context, *Post, Job, error) {
	var job Job
	control, err := connOf(inherited)
	if err != nil {
		return ctx, nil, job, fmt.Errorf("%w: cloche serve starts this command", err)
	}
	if err := readJob(control, &job); err != nil {
		return ctx, nil, job, errors.Join(fmt.Errorf("read the worker's job: %w", err), control.Close())
	}
	ctx, over := context.WithCancel(ctx)
	// If memory gets short the system shall end a worker and not the front.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("900"), 0)
	return ctx, &Post{control: control, over: over, closed: make(chan struct{})}, job, nil
}

// A job is written as its length and JSON.
func writeJob(w io.Writer, j Job) error {
	b, err := json.Marshal(j)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

func readJob(r io.Reader, j *Job) error {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return err
	}
	b := make([]byte, binary.BigEndian.Uint32(length[:]))
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	return json.Unmarshal(b, j)
}

// Accept implements [net.Listener].
func (p *Post) Accept() (net.Conn, error) {
	for {
		_, fd, err := receive(p.control, make([]byte, 1))
		if err != nil {
			p.over()
			<-p.closed
			return nil, net.ErrClosed
		}
		if fd < 0 {
			continue
		}
		if conn, err := connOf(fd); err == nil {
			_, _ = conn.Write([]byte{0}) // it is taken; a front that is gone shows when the connection is read
			return conn, nil
		}
	}
}

// Close implements [net.Listener]. News can still be told.
func (p *Post) Close() error {
	p.close.Do(func() { close(p.closed) })
	return p.control.SetReadDeadline(time.Unix(1, 0))
}

// Addr implements [net.Listener].
func (p *Post) Addr() net.Addr { return p.control.LocalAddr() }

// Ready says that requests are taken from now on, and behind which wall. From then on the front hears of the server's load
// whenever that changes.
func (p *Post) Ready(wall string, s *web.Server) error {
	if err := p.tell(news{Ready: &wall}); err != nil {
		return err
	}
	go p.tellLoad(s)
	return nil
}

const loadEvery = 200 * time.Millisecond

func (p *Post) tellLoad(s *web.Server) {
	tick := time.NewTicker(loadEvery)
	defer tick.Stop()
	var told web.Load
	for {
		if l := s.Load(); l != told {
			if p.tell(news{Load: &l}) != nil {
				return
			}
			told = l
		}
		select {
		case <-tick.C:
		case <-p.closed:
			return
		}
	}
}

// Ran tells of a run.
func (p *Post) Ran(r web.Ran) {
	if b, err := lines(r); err == nil {
		_ = p.write(b) // a front that is gone has no audit
	}
}

func (p *Post) tell(n news) error {
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return p.write(append(b, '\n'))
}

// write writes whole lines.
func (p *Post) write(b []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.control.Write(b)
	return err
}

// HangUp tells the front that the worker has ended.
func (p *Post) HangUp() error {
	p.over()
	return p.control.Close()
}

var _ net.Listener = (*Post)(nil)

// shut says the other side that nothing more will come.
func shut(c *net.UnixConn) {
	if err := c.CloseWrite(); err != nil && !errors.Is(err, unix.ENOTCONN) {
		_ = c.Close()
	}
}
