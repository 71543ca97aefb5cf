package wasi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
)

const (
	// inputBytes is how much is read ahead from a standard input that may block.
	inputBytes = 64 << 10
	// maxEmptyReads is how often a reader may return neither bytes nor an error before it counts as broken.
	maxEmptyReads = 100
)

// input is a run's standard input.
//
// A reader that may block is read by a goroutine, one read at a time and only on the guest's demand, so that the
// run's clock can end the wait. A wait that ends early leaves its read pending, and the next one takes up what it
// brings: no byte is lost within a State. A read that is still pending when the State is closed is abandoned: its
// goroutine ends when the reader returns, and holds nothing but the reader and its own buffer until then.
//
//	idle --start--> pending --(reader returns)--> finished --collect--> idle, with ahead or err set
type input struct {
	r      io.Reader
	direct bool // r does not block

	pending *pendingRead
	buf     []byte // the buffer of all reads, one at a time
	ahead   []byte // what was read and not yet given: a part of buf
	err     error  // how the input ended, once ahead is used up
}

// pendingRead is shared with its goroutine: n and err are set before done is closed.
type pendingRead struct {
	done chan struct{}
	n    int
	err  error
}

func newInput(r io.Reader) input {
	switch f := r.(type) {
	case nil:
		return input{err: io.EOF, direct: true}
	case *bytes.Reader, *bytes.Buffer, *strings.Reader:
		return input{r: r, direct: true}
	case *os.File:
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return input{r: r, direct: true}
		}
	}
	return input{r: r}
}

var errReaderPanicked = errors.New("reader panicked")

// start begins a read unless there is something to give already, or one pending.
func (in *input) start() {
	if in.direct || in.pending != nil || len(in.ahead) > 0 || in.err != nil {
		return
	}
	if in.buf == nil {
		in.buf = make([]byte, inputBytes)
	}
	read := &pendingRead{done: make(chan struct{}), err: errReaderPanicked}
	in.pending = read
	go func(r io.Reader, buf []byte) {
		defer close(read.done)
		defer func() { _ = recover() }() // read.err says so
		for range maxEmptyReads {
			if read.n, read.err = r.Read(buf); read.n > 0 || read.err != nil {
				return
			}
		}
		read.err = io.ErrNoProgress
	}(in.r, in.buf)
}

// collect takes up a finished read. It reports whether a read of the guest would return at once.
func (in *input) collect() bool {
	if in.pending != nil {
		select {
		case <-in.pending.done:
			in.ahead, in.err = in.buf[:in.pending.n], in.pending.err
			in.pending = nil
		default:
			return false
		}
	}
	return in.direct || len(in.ahead) > 0 || in.err != nil
}

// more says whether a read would bring further bytes without a wait. It never starts one.
func (in *input) more() bool { return in.direct && in.err == nil || len(in.ahead) > 0 }

// read fills p with at least one byte, waiting through c. nonblock makes it AGAIN instead of a wait.
func (in *input) read(ctx context.Context, c Clock, p []byte, nonblock bool) (int, Errno) {
	if len(p) == 0 {
		return 0, ErrnoSuccess
	}
	for !in.collect() {
		in.start()
		if in.collect() {
			break
		}
		if nonblock {
			return 0, ErrnoAgain
		}
		switch err := waitForInput(ctx, c, in.pending.done); {
		case errors.Is(err, ErrInterrupted):
			return 0, ErrnoIntr
		case err != nil:
			panic(err)
		}
	}
	if len(in.ahead) > 0 {
		n := copy(p, in.ahead)
		in.ahead = in.ahead[n:]
		return n, ErrnoSuccess
	}
	if in.err == nil {
		n, err := in.r.Read(p)
		if err != nil {
			in.err = err
		}
		if n > 0 || err == nil {
			return n, ErrnoSuccess
		}
	}
	if in.err == io.EOF {
		return 0, ErrnoSuccess
	}
	return 0, ErrnoIo
}

// ReadStdin reads the run's standard input for a host function of the embedder, and waits as fd_read does. Like a
// preview1 function it panics with the error of the Clock that ends the run; an interrupt is [ErrInterrupted].
func (s *State) ReadStdin(ctx context.Context, p []byte) (int, error) {
	n, errno := s.stdin.read(ctx, s.clock, p, false)
	switch {
	case errno == ErrnoIntr:
		return 0, ErrInterrupted
	case errno != ErrnoSuccess:
		return 0, errno
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}
