package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloche-dev/cloche/engine"
)

// Bounds of what a client may send.
const (
	maxLine = 32 << 20 // a message: a file of 16 MiB in base64, and room
	maxHeld = 1000     // calls that wait for others of their session
)

// lines is a transport of JSON-RPC messages, one a line. It differs from the SDK's in three ways, for the sake of a
// client that is another program's pipe or is broken:
//
//   - a line that is no message is answered with an error, and the next one is read;
//   - the end of the input is told to the server when all calls that came before it are answered;
//   - tool calls for one session are handed on one at a time, in the order in which they came (the SDK starts
//     them at the same time).
type lines struct {
	in       *bufio.Reader
	incoming chan jsonrpc.Message // what the server may read now

	// writing is held while a line is written.
	writing sync.Mutex
	out     io.Writer

	// mu guards what is below.
	mu    sync.Mutex
	open  map[jsonrpc.ID]string         // calls handed on and not answered, with their queue
	held  map[string][]*jsonrpc.Request // calls that wait, by queue; there while one of the queue is open
	count int                           // of all that wait
	ended bool                          // the input has ended
	all   chan struct{}                 // closed when it has, and nothing is open
	gone  chan struct{}                 // closed by Close
	once  sync.Once
}

func newLines(in io.Reader, out io.Writer) *lines {
	return &lines{
		in: bufio.NewReaderSize(in, 64<<10), out: out, incoming: make(chan jsonrpc.Message),
		open: map[jsonrpc.ID]string{}, held: map[string][]*jsonrpc.Request{}, all: make(chan struct{}), gone: make(chan struct{}),
	}
}

// Connect implements [sdk.Transport].
func (l *lines) Connect(context.Context) (sdk.Connection, error) {
	go l.read()
	return l, nil
}

// SessionID implements [sdk.Connection].
func (l *lines) SessionID() string { return "" }

// Close implements [sdk.Connection]. A read of the input that is under way ends with the process.
func (l *lines) Close() error {
	l.once.Do(func() { close(l.gone) })
	return nil
}

// Read implements [sdk.Connection].
func (l *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-l.incoming:
		return m, nil
	case <-l.all:
		return nil, io.EOF
	case <-l.gone:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// read reads the input to its end.
func (l *lines) read() {
	for {
		line, err := l.line()
		if errors.Is(err, errTooLong) {
			l.refuse(jsonrpc.CodeInvalidRequest, err.Error())
			continue
		}
		if text := bytes.TrimSpace(line); len(text) > 0 && !l.take(text) {
			return
		}
		if err != nil {
			break
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.checkEnd()
}

var errTooLong = fmt.Errorf("a message has more than %d bytes", maxLine)

// line reads a line, with the error that ended it. One that is too long is passed over.
func (l *lines) line() ([]byte, error) {
	var line []byte
	for tooLong := false; ; {
		part, err := l.in.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > maxLine; tooLong {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case tooLong && err == nil:
			return nil, errTooLong
		default:
			return line, err
		}
	}
}

// take hands a message on, or keeps it until its turn. It returns false when the connection was closed.
func (l *lines) take(text []byte) bool {
	if !json.Valid(text) {
		l.refuse(jsonrpc.CodeParseError, "a line is not JSON")
		return true
	}
	if text[0] == '[' {
		l.refuse(jsonrpc.CodeInvalidRequest, "batches are not supported: send one message a line")
		return true
	}
	m, err := jsonrpc.DecodeMessage(text)
	if err != nil {
		l.refuse(jsonrpc.CodeInvalidRequest, err.Error())
		return true
	}
	req, ok := m.(*jsonrpc.Request)
	if !ok {
		return l.hand(m)
	}
	if req.Method == "notifications/cancelled" {
		l.cancel(req)
		return l.hand(m)
	}
	if !req.IsCall() {
		return l.hand(m)
	}
	now, problem := l.admit(req)
	if problem != "" {
		l.refuse(jsonrpc.CodeInvalidRequest, problem)
		return true
	}
	return !now || l.hand(m)
}

// hand gives a message to the server.
func (l *lines) hand(m jsonrpc.Message) bool {
	select {
	case l.incoming <- m:
		return true
	case <-l.gone:
		return false
	}
}

// admit says whether a call may be handed on now. If not, it is kept, or it is refused with a problem.
func (l *lines) admit(req *jsonrpc.Request) (now bool, problem string) {
	if req.Method == "subscriptions/listen" { // is answered when the connection ends
		return true, ""
	}
	queue := queueOf(req)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, twice := l.open[req.ID]; twice {
		return false, "the id of a request is in use"
	}
	waiting, busy := l.held[queue]
	switch {
	case queue == "" || !busy:
		l.open[req.ID] = queue
		if queue != "" {
			l.held[queue] = nil
		}
		return true, ""
	case l.count >= maxHeld:
		return false, fmt.Sprintf("%d calls are waiting: wait for their answers", l.count)
	}
	l.held[queue] = append(waiting, req)
	l.count++
	return false, ""
}

// queueOf names the queue of a tool call; "" is for what need not wait. The implicit sessions have one queue: which
// of them a call means may depend on those before.
func queueOf(req *jsonrpc.Request) string {
	var p struct {
		Arguments struct {
			SessionID string `json:"session_id"`
		} `json:"arguments"`
	}
	if req.Method != "tools/call" {
		return ""
	}
	json.Unmarshal(req.Params, &p) // the server says what is wrong with it
	name := p.Arguments.SessionID
	if name == engine.Python || name == engine.JavaScript {
		name = ""
	}
	return "session " + name
}

// cancel drops a call that waits: it must not run, and is not answered.
func (l *lines) cancel(n *jsonrpc.Request) {
	var p struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(n.Params, &p) != nil {
		return
	}
	id, err := jsonrpc.MakeID(p.RequestID)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for queue, waiting := range l.held {
		for i, req := range waiting {
			if req.ID == id {
				l.held[queue] = append(waiting[:i:i], waiting[i+1:]...)
				l.count--
				return
			}
		}
	}
}

// answered notes that a call is over, and hands the next one of its queue on.
func (l *lines) answered(id jsonrpc.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue, ok := l.open[id]
	if !ok {
		return
	}
	delete(l.open, id)
	if waiting := l.held[queue]; len(waiting) > 0 {
		next := waiting[0]
		l.held[queue] = waiting[1:]
		l.count--
		l.open[next.ID] = queue
		go l.hand(next) // not here: the server may be waiting for this answer to be written
	} else if queue != "" {
		delete(l.held, queue)
	}
	l.checkEnd()
}

// checkEnd tells the server of the input's end once nothing is open. Preconditions: mu is held.
func (l *lines) checkEnd() {
	if l.ended && len(l.open) == 0 {
		close(l.all)
		l.ended = false
	}
}

// Write implements [sdk.Connection].
func (l *lines) Write(_ context.Context, m jsonrpc.Message) error {
	b, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	err = l.write(b)
	if resp, ok := m.(*jsonrpc.Response); ok {
		l.answered(resp.ID)
	}
	return err
}

// write writes one line. Encoded JSON has no line ends in it.
func (l *lines) write(b []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	_, err := l.out.Write(append(b, '\n'))
	return err
}

// refuse answers what is no message: nobody knows its id.
func (l *lines) refuse(code int, why string) {
	b, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": why},
	})
	if err == nil {
		l.write(b)
	}
}
