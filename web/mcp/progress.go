package mcp

import (
	"context"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloche-dev/cloche/engine"
)

// progressEvery is how long output is collected before it is sent: a program that prints in a loop must not
// become a message for each line.
const progressEvery = 50 * time.Millisecond

// progress sends a turn's output to the client while it runs, as messages of progress notifications; progress counts the
// bytes. A nil progress sends nothing.
type progress struct {
	ctx  context.Context // of the call, whose end ends the sending
	to   *sdk.ServerSession
	what any // the client's token

	// mu guards what is below.
	mu      sync.Mutex
	pending strings.Builder
	sent    int
	timer   *time.Timer // runs while something is pending
	closed  bool
	// sending is held while a notification is written, so that they keep their order.
	sending sync.Mutex
}

// newProgress returns nil for a client that did not ask for progress.
func newProgress(ctx context.Context, req *sdk.CallToolRequest) *progress {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	return &progress{ctx: ctx, to: req.Session, what: token}
}

// event is the receiver of a turn's events.
func (p *progress) event() func(engine.Event) {
	if p == nil {
		return nil
	}
	return func(e engine.Event) {
		if e.Type != engine.EventStdout && e.Type != engine.EventStderr {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.pending.WriteString(e.Text)
		if p.timer == nil && !p.closed {
			p.timer = time.AfterFunc(progressEvery, p.flush)
		}
	}
}

func (p *progress) flush() {
	p.sending.Lock()
	defer p.sending.Unlock()
	p.mu.Lock()
	text := p.pending.String()
	p.pending.Reset()
	p.timer = nil
	p.sent += len(text)
	sent := p.sent
	p.mu.Unlock()
	if text == "" || p.ctx.Err() != nil { // nobody waits for the call any more
		return
	}
	// A client that cannot be reached is noticed when the result is sent.
	p.to.NotifyProgress(p.ctx, &sdk.ProgressNotificationParams{
		ProgressToken: p.what, Message: strings.ToValidUTF8(text, "\uFFFD"), Progress: float64(sent),
	})
}

// close sends what is pending. After it nothing is sent.
func (p *progress) close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	p.flush()
}
