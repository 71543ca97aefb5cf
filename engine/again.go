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
	Keys   []turnKey                  `json:"keys"`            // of its entropy, one for each time that it ran
	Clock  []int64                    `json:"clock"`           // what it read of its clocks, in nanoseconds
	Calls  []HostCall                 `json:"calls"`
	Asked  HostCall                   `json:"asked"` // what it waits for
}

// turnKey is the key of a turn's entropy from a number of host calls on. What comes after the recorded part has one of its own, so
// that copies which go on from there share no secret.
type turnKey struct {
	From int    `json:"from"`
	Key  []byte `json:"key"`
}

// Bounds of a record: readings of clocks, and bytes of standard input and of what was asked and answered.
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
	key    int           // of the record's, that which is in use
	chance *rand.ChaCha8 // of that key; nil until it is asked for
}

// heard is standard input as far as it was read, by whichever goroutine does so.
type heard struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer. One byte more than there may be says that there was more.
func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, p[:min(len(p), maxTurnAnswers+1-len(h.text))]...)
	return len(p), nil
}

func (h *heard) size() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.text)
}

func (h *heard) bytes() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.text)
}

// newTurnTape makes the tape of a turn, which begins anew or, with from, again.
func (s *sandbox) newTurnTape(turn *runtimes.Turn, from *resumption) (*turnTape, error) {
	key := turnKey{Key: make([]byte, 32)}
	_, _ = io.ReadFull(s.random, key.Key) // neither source of entropy can fail
	t := &turnTape{record: turnRecord{Args: turn.Args, Inputs: turn.Inputs, Renew: s.copied, Keys: []turnKey{key}}}
	if from == nil {
		return t, nil
	}
	r, err := from.resumer()
	if err != nil {
		return nil, err
	}
	t.record, t.resumer, s.copied = *from.Again, *r, from.Again.Renew
	turn.Args, turn.Inputs = t.record.Args, t.record.Inputs
	if key.From = len(t.calls); t.from.blocking() == nil {
		key.From++ // what it waits for is asked again
	}
	t.record.Keys = append(slices.Clip(t.record.Keys), key)
	t.record.Clock = slices.Clip(t.record.Clock) // copies share it
	t.played.tools = true
	return t, nil
}

// attach makes the tape the clock of a turn that is about to run.
func (t *turnTape) attach(r *running) {
	t.turnClock = r.clock
	r.tape, r.guestClock = t, t
}

// entropy is the turn's.
func (t *turnTape) entropy(p []byte) (int, error) {
	made := t.played.next
	if made == len(t.played.calls) {
		made = len(t.calls)
	}
	for t.key+1 < len(t.record.Keys) && t.record.Keys[t.key+1].From <= made {
		t.key, t.chance = t.key+1, nil
	}
	if t.chance == nil {
		t.chance = rand.NewChaCha8([32]byte(t.record.Keys[t.key].Key))
	}
	return t.chance.Read(p)
}

// readerFunc is a function as an io.Reader.
type readerFunc func([]byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

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
			return t.read <= maxReadings && t.bytes <= maxTurnAnswers && t.heard.size() <= maxTurnAnswers && !r.deadline.interrupted
		}
	}
}

// wait is the record of a turn that was stopped where it waits.
func (t *turnTape) wait() *turnRecord {
	t.record.Calls, t.record.Asked, t.record.Stdin = t.calls, t.waits, t.heard.bytes()
	return &t.record
}

var _ wasi.Checker = (*turnTape)(nil)
