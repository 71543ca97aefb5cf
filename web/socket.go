package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"
)

// subprotocol is what a WebSocket client asks for. One that cannot set headers, such as a page, also asks for
// bearerProtocol followed by its key in base64url.
const (
	subprotocol    = "cloche"
	bearerProtocol = "cloche.bearer."
)

// SocketMessage is what a client sends over a WebSocket.
type SocketMessage struct {
	// Type is execute (with the fields of a turn), interrupt, stdin, tool_result (with its fields), or resume (with Results or
	// Cancel, as for ResumeRequest).
	Type string `json:"type"`
	TurnRequest
	ToolResult
	Results []ToolResult `json:"results,omitempty"`
	Cancel  bool         `json:"cancel,omitempty"`
	// Text of a stdin message is what the program reads next; EOF says that nothing more will come.
	Text string `json:"text,omitempty"`
	EOF  bool   `json:"eof,omitempty"`
}

// socket is one WebSocket: turns of a session, one after another, with their events as they happen.
type socket struct {
	s    *Server
	x    *exchange
	sn   *session
	conn *websocket.Conn
	ctx  context.Context // ends with the connection
	held int64           // of the message that is read or handled, in memory; the reader's own

	// mu guards all below.
	mu       sync.Mutex
	run      *execution // the turn that runs
	stdin    *pipe      // its standard input
	stopping bool       // no turn begins any more
	turns    sync.WaitGroup
}

// sessionSocket answers GET …/ws.
func (s *Server) sessionSocket(x *exchange, c echo.Context) error {
	sn, err := s.sessions.find(c.Param("id"), x.key)
	if err != nil {
		return err
	}
	if !strings.EqualFold(x.r.Header.Get("Upgrade"), "websocket") {
		x.Header().Set("Upgrade", "websocket")
		return fail(http.StatusUpgradeRequired, codeInvalid, "this route is a WebSocket's: connect to it with a client of that protocol")
	}
	if err := s.begin(); err != nil {
		return err
	}
	defer s.work.Done()
	x.status = 101 // or what Accept answers
	conn, err := websocket.Accept(x.ResponseWriter, x.r, &websocket.AcceptOptions{
		Subprotocols: []string{subprotocol}, CompressionMode: websocket.CompressionDisabled,
		InsecureSkipVerify: true, // the guard has checked the origin
	})
	if err != nil {
		return nil
	}
	conn.SetReadLimit(s.cfg.MaxBodyBytes)
	ctx, cancel := context.WithCancelCause(s.ended)
	k := &socket{s: s, x: x, sn: sn, conn: conn, ctx: ctx}
	var pings sync.WaitGroup
	pings.Go(k.ping)
	err = k.read()
	cancel(errClientLeft)
	k.leave()
	k.turns.Wait()
	pings.Wait()
	if errors.Is(err, errServerStopping) {
		_ = conn.Close(websocket.StatusGoingAway, "the server is stopping")
	}
	_ = conn.CloseNow() // which says of a connection that its client has closed that it is
	return nil
}

// leave stops the turn of a client that is gone, unless it is detached.
func (k *socket) leave() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stdin != nil {
		k.stdin.end()
	}
	if k.run != nil && !k.run.detached {
		k.run.cancel(errClientLeft)
	}
}

// ping finds out that a client is gone, and that the server is stopping.
func (k *socket) ping() {
	tick := time.NewTicker(k.s.cfg.Ping)
	defer tick.Stop()
	quit := k.s.quit
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-quit:
			k.mu.Lock()
			k.stopping = true
			k.mu.Unlock()
			k.turns.Wait() // the read that waits is ended once the turn has been told
			quit = nil
			_ = k.conn.Close(websocket.StatusGoingAway, "the server is stopping")
		case <-tick.C:
			ctx, cancel := context.WithTimeout(k.ctx, k.s.cfg.WriteTimeout)
			err := k.conn.Ping(ctx)
			cancel()
			if err != nil {
				_ = k.conn.CloseNow()
			}
		}
	}
}

// read serves messages until the client leaves.
func (k *socket) read() error {
	for {
		kind, b, err := k.receive()
		if err != nil {
			return err
		}
		if kind != websocket.MessageText {
			err = invalidf("a message must be text that holds a JSON object")
		} else {
			err = k.message(b)
		}
		k.letGo()()
		if err != nil && k.refuse(err) != nil {
			return nil
		}
	}
}

// receive reads a message, which counts as a body does, and has the time of one.
func (k *socket) receive() (websocket.MessageType, []byte, error) {
	kind, r, err := k.conn.Reader(k.ctx)
	if err != nil {
		return 0, nil, context.Cause(k.ctx)
	}
	late := time.AfterFunc(k.s.cfg.BodyTimeout, func() { _ = k.conn.CloseNow() })
	defer late.Stop()
	b, err := io.ReadAll(heldReader{r, k.s.bodies, k.x.key, &k.held})
	if err == nil {
		return kind, b, nil
	}
	defer k.letGo()()
	if _, ok := errors.AsType[*apiError](err); ok && k.refuse(err) == nil {
		_ = k.conn.Close(websocket.StatusTryAgainLater, "messages of this key are too large together")
	}
	return 0, nil, context.Cause(k.ctx)
}

// letGo is called when the message is handled. What it returns is called when nothing of it is kept any longer.
func (k *socket) letGo() func() {
	held := k.held
	k.held = 0
	return func() { k.s.bodies.give(k.x.key, held) }
}

// refuse tells why a message was not heeded.
func (k *socket) refuse(err error) error {
	e, fault := asAPIError(err)
	if fault != nil {
		k.s.fault(k.x, "message failed")
	}
	return k.write(refusal{"refused", e.info()})
}

// refusal tells that a message was not heeded.
type refusal struct {
	Type  string    `json:"type"`
	Error ErrorInfo `json:"error"`
}

func (k *socket) message(b []byte) error {
	var m SocketMessage
	if err := decodeJSON(b, &m); err != nil {
		return err
	}
	switch m.Type {
	case "execute":
		return k.execute(&m.TurnRequest)
	case "resume":
		p, run := k.s.resumeProgram(k.x, k.sn, &ResumeRequest{Results: m.Results, Cancel: m.Cancel, Collect: m.Collect, Detach: m.Detach})
		return k.perform(p, run, nil)
	case "interrupt":
		k.sn.eng.Interrupt()
		return nil
	case "tool_result":
		run := k.sn.current()
		if run == nil {
			return fail(409, codeConflict, "no program runs that called a tool")
		}
		return run.answerCall(m.ToolResult)
	case "stdin":
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.stdin == nil {
			return fail(409, codeConflict, "no program runs that reads from this connection")
		}
		return k.stdin.write(m.Text, m.EOF)
	}
	return invalidf("type is %s: use execute, resume, interrupt, stdin or tool_result", quoted(m.Type))
}

// execute starts a turn, whose events are written as they come.
func (k *socket) execute(req *TurnRequest) error {
	p, run, err := k.s.turnProgram(k.x, k.sn, req)
	if err != nil {
		return err
	}
	var stdin *pipe
	if req.Stdin == nil {
		stdin = newPipe()
		p.turn.Stdin = stdin
	}
	return k.perform(p, run, stdin)
}

// perform starts p, which reads what comes for stdin, if that is not nil.
func (k *socket) perform(p program, run *execution, stdin *pipe) error {
	if err := k.sn.acquire(k.ctx, run); err != nil {
		run.cancel(nil)
		return err
	}
	release, letGo := p.over, k.letGo() // the turn has the message's code and files
	p.over = func() {
		letGo()
		k.mu.Lock()
		k.run, k.stdin = nil, nil
		k.mu.Unlock()
		if stdin != nil {
			stdin.end()
		}
		release()
	}
	k.mu.Lock()
	if k.stopping { // who waits for the turns may not be joined
		k.mu.Unlock()
		run.cancel(nil)
		p.over()
		return errStopping
	}
	k.run, k.stdin = run, stdin
	k.turns.Add(1)
	k.mu.Unlock()
	go func() {
		defer k.turns.Done()
		if err := k.s.start(k.ctx, run, p); err != nil {
			e, _ := asAPIError(err)
			_ = k.write(refusal{"refused", e.info()})
			return
		}
		go k.s.drive(run, p)
		k.tell(run)
	}()
	return nil
}

// tell writes the events of a run.
func (k *socket) tell(run *execution) {
	if run.log.follow() {
		defer run.log.unfollow()
	}
	for after := uint64(0); ; {
		events, news := run.log.take(after, true)
		if len(events) == 0 && news == nil {
			return
		}
		for _, e := range events {
			if k.send(bytes.Join(e.json, nil)) != nil {
				return
			}
			after = e.id
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-news:
		case <-k.ctx.Done():
			if !run.detached {
				<-run.done
			}
			return
		}
	}
}

func (k *socket) write(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return k.send(b)
}

func (k *socket) send(b []byte) error {
	ctx, cancel := context.WithTimeout(k.ctx, k.s.cfg.WriteTimeout)
	defer cancel()
	if len(b) >= longAnswer {
		defer k.s.bodies.hold(k.x.key, len(b))()
	}
	return k.conn.Write(ctx, websocket.MessageText, b)
}

// pipe is standard input that comes in messages. A reader waits for the next one.
type pipe struct {
	mu    sync.Mutex
	ready sync.Cond
	text  []byte
	ended bool
}

// maxUnread is how much input may wait for a program to read it.
const maxUnread = 1 << 20

func newPipe() *pipe {
	p := &pipe{}
	p.ready.L = &p.mu
	return p
}

func (p *pipe) write(text string, eof bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ended && text != "":
		return fail(409, codeConflict, "standard input has ended")
	case len(p.text)+len(text) > maxUnread:
		return fail(413, codeTooLarge, "the program has not read %d bytes of its standard input yet", len(p.text))
	}
	p.text = append(p.text, text...)
	p.ended = p.ended || eof
	p.ready.Broadcast()
	return nil
}

// end says that nothing more will come.
func (p *pipe) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.ready.Broadcast()
}

// Read implements io.Reader.
func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.text) == 0 && !p.ended {
		p.ready.Wait()
	}
	if len(p.text) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.text)
	p.text = p.text[n:]
	return n, nil
}
