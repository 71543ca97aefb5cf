package webtest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Load sends one program again and again from several clients at once, each over a connection of its own. It does as
// little as a client can, so that what is measured on one machine is mostly the server.
type Load struct {
	Addr, Key string // the server's address, HOST:PORT, and a secret
	Body      string // of POST /v1/execute; the program must end well
	Clients   int
	// Rate is the number of requests a second of all clients together. Zero: as fast as they are answered.
	Rate float64
}

// Run sends that many requests and returns how long the answers took, the quickest first. Where there is a rate, a
// request counts from the moment when it was due, also if its client was still busy with the one before.
func (l Load) Run(tb testing.TB, requests int) []time.Duration {
	tb.Helper()
	var next atomic.Int64
	var mu sync.Mutex
	var all []time.Duration
	var group sync.WaitGroup
	begin := time.Now()
	for range l.Clients {
		group.Go(func() {
			c, err := l.Dial()
			if err != nil {
				tb.Error(err)
				return
			}
			defer c.Close()
			var took []time.Duration
			for n := next.Add(1) - 1; n < int64(requests); n = next.Add(1) - 1 {
				due := time.Now()
				if l.Rate > 0 {
					due = begin.Add(time.Duration(float64(n) / l.Rate * float64(time.Second)))
					time.Sleep(time.Until(due))
				}
				if err := c.Execute(); err != nil {
					tb.Error(err)
					break
				}
				took = append(took, time.Since(due))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
		})
	}
	group.Wait()
	slices.Sort(all)
	return all
}

// Percentile is the p-th part, 0 to 1, of sorted times. Of none it is 0.
func Percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(p*float64(len(sorted))), len(sorted)-1)]
}

// Client is one connection of a Load.
type Client struct {
	net.Conn
	answers *bufio.Reader
	request []byte
	body    []byte // of the last answer
}

// Dial connects to the server.
func (l Load) Dial() (*Client, error) {
	conn, err := net.Dial("tcp", l.Addr)
	if err != nil {
		return nil, err
	}
	request := fmt.Appendf(nil, "POST /v1/execute HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		l.Addr, l.Key, len(l.Body), l.Body)
	return &Client{Conn: conn, answers: bufio.NewReader(conn), request: request}, nil
}

// ErrNoAnswer says that a connection ended before the first byte of an answer.
var ErrNoAnswer = errors.New("the connection ended without an answer")

// Execute sends the request, and reads an answer that must say that the program ended well.
func (c *Client) Execute() error {
	if _, err := c.Write(c.request); err != nil {
		return fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	if _, err := c.answers.Peek(1); err != nil {
		return fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	status, err := c.answers.ReadString('\n')
	if err != nil {
		return err
	}
	length := -1
	for {
		line, err := c.answers.ReadSlice('\n')
		if err != nil {
			return err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			break
		}
		if n, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(n)); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		return fmt.Errorf("%san answer without a length", status)
	}
	c.body = slices.Grow(c.body[:0], length)[:length]
	if _, err := io.ReadFull(c.answers, c.body); err != nil {
		return err
	}
	if status != "HTTP/1.1 200 OK\r\n" || !bytes.Contains(c.body, []byte(`"status":"ok"`)) {
		return fmt.Errorf("%s%s", status, c.body)
	}
	return nil
}
