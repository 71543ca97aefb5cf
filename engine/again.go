package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/wasi"
)

// A turn that waits in a call that blocks cannot be kept where it is. With Options.Repeatable all that decides its way is
// recorded, and it can be undone and run again with the result, from the state before it.

// turnRecord is what makes a turn take the way again that it took from a state.
type turnRecord struct {
	Args   []string                   `json:"args,omitempty"`
	Inputs map[string]json.RawMessage `json:"inputs,omitempty"`
	Stdin  []byte                     `json:"stdin,omitempty"` // as far as it was read
	Renew  bool                       `json:"renew,omitempty"` // as in runtimes.Turn
	Key    []byte                     `json:"key"`             // of its entropy
	Clock  []int64                    `json:"clock"`           // what it read of its clocks, in nanoseconds
	Calls  []HostCall                 `json:"calls"`
	Asked  HostCall                   `json:"asked"` // what it waits for
}

// Bounds of a record: readings of clocks, and bytes of standard input and of answers.
const (
	maxReadings    = 64 << 10
	maxTurnAnswers = 8 << 20
)

// turnTape is the tape of a session's turn, and its clock: both answer from an earlier record of the turn as far as
// that goes, and write on.
type turnTape struct {
	*turnClock
	resumer
	record turnRecord
	read   int // of the readings, how many have been given
	heard  heard
}

// heard is standard input as far as it was read, by whichever goroutine does so.
type heard struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, p...)
	return len(p), nil
}

func (h *heard) bytes() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.text)
}

// newTurnTape makes the tape of a turn, which begins anew or, with from, again.
func (s *sandbox) newTurnTape(turn *runtimes.Turn, from *resumption) (*turnTape, error) {
	t := &turnTape{record: turnRecord{Args: turn.Args, Inputs: turn.Inputs, Renew: s.copied, Key: make([]byte, 32)}}
	if from == nil {
		_, _ = io.ReadFull(s.random, t.record.Key) // neither source of entropy can fail
		return t, nil
	}
	r, err := newResumer(&SuspendedRun{Calls: from.Calls, Tally: from.Tally, Asked: from.Again.Asked}, from.Again.Calls, from.results)
	if err != nil {
		return nil, err
	}
	t.record, t.resumer, s.copied = *from.Again, *r, from.Again.Renew
	turn.Args, turn.Inputs = t.record.Args, t.record.Inputs
	t.played.tools = true
	return t, nil
}

// attach makes the tape the clock of a turn that is about to run.
func (t *turnTape) attach(r *running) {
	t.turnClock = r.clock
	r.tape, r.guestClock = t, t
}

// entropy is the turn's.
func (t *turnTape) entropy() io.Reader { return rand.NewChaCha8([32]byte(t.record.Key)) }

// input is the turn's standard input: what it has read before, and then more, which is recorded.
func (t *turnTape) input(more io.Reader) io.Reader {
	if more == nil && len(t.record.Stdin) == 0 {
		return nil
	}
	all := []io.Reader{bytes.NewReader(t.record.Stdin)}
	if more != nil {
		all = append(all, more)
	}
	return io.TeeReader(io.MultiReader(all...), &t.heard)
}

// Now implements [wasi.Clock].
func (t *turnTape) Now() time.Time {
	return time.Unix(0, t.reading(func() int64 { return t.turnClock.Now().UnixNano() }))
}

// Monotonic implements [wasi.Clock].
func (t *turnTape) Monotonic() time.Duration {
	return time.Duration(t.reading(func() int64 { return int64(t.turnClock.Monotonic()) }))
}

// Sleep implements [wasi.Clock]: what was slept once is not slept again.
func (t *turnTape) Sleep(ctx context.Context, d time.Duration) error {
	if t.played.next < len(t.played.calls) {
		return t.Check(ctx)
	}
	return t.turnClock.Sleep(ctx, d)
}

func (t *turnTape) reading(live func() int64) int64 {
	if t.read < len(t.record.Clock) {
		t.read++
		return t.record.Clock[t.read-1]
	}
	n := live()
	if t.read <= maxReadings { // one more than there may be says that there were more
		t.read++
		t.record.Clock = append(t.record.Clock, n)
	}
	return n
}

// splice implements tape.
func (t *turnTape) splice(r *running, turn *runtimes.Turn) {
	t.resumer.splice(r, turn)
	connect := r.door.More
	r.door.More = func() {
		connect()
		r.calls.Repeatable = func() bool {
			return t.read <= maxReadings && t.bytes <= maxTurnAnswers && len(t.heard.bytes()) <= maxTurnAnswers && !r.deadline.interrupted
		}
	}
}

// wait is the record of a turn that was stopped where it waits.
func (t *turnTape) wait() *turnRecord {
	t.record.Calls, t.record.Asked, t.record.Stdin = t.calls, t.waits, t.heard.bytes()
	return &t.record
}

var _ wasi.Checker = (*turnTape)(nil)
