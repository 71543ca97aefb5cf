package web

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/cloche-dev/cloche/engine"
)

// eventLog holds what a run did, for its readers: those who follow it, and those who come again and ask for the rest.
//
//	ids    first                                     next
//	       [ event | event | … | event, still growing ]     events before first were dropped
//
// A run whose client follows (follower) waits when the client is behind; other readers get what there is. Text of one kind
// that nobody read yet grows in one event, so that a loop of prints costs little.
type eventLog struct {
	// mu guards all below.
	mu     sync.Mutex
	events []event
	first  uint64 // id of events[0]
	read   uint64 // the largest id that a reader took
	bytes  int    // in events
	closed bool
	news   chan struct{} // closed at the next change; nil while nobody waits for one

	follower bool
	behind   int           // bytes that the follower has not taken
	taken    chan struct{} // closed when the follower takes them; nil while nobody waits for it
}

const (
	// maxBehind is how far a follower may be behind before the program waits for it.
	maxBehind = 256 << 10
	// maxLogged bounds what is kept of one run for later readers. All of it is in the Result too.
	maxLogged = 4 << 20
	// maxGrown bounds one event of text.
	maxGrown = 16 << 10
)

// event is one event, not yet in the form in which it is sent.
type event struct {
	kind string
	text []byte
	data []byte // JSON fields without braces, for all but text
	// result is the whole answer, at the end of a run that has one. It is the execution's, and not counted here.
	result []byte
}

func (e event) size() int { return len(e.text) + len(e.data) + 64 }

func newEventLog() *eventLog { return &eventLog{first: 1} }

// add appends an event, long text as several. While a follower is behind it waits, until the channel gone or until then.
func (l *eventLog) add(e event, gone <-chan struct{}, until time.Time) {
	for len(e.text) > maxGrown {
		n := maxGrown
		for n > maxGrown-utf8.UTFMax && !utf8.RuneStart(e.text[n]) {
			n--
		}
		l.addOne(event{kind: e.kind, text: e.text[:n:n]}, gone, until)
		e.text = e.text[n:]
	}
	l.addOne(e, gone, until)
}

func (l *eventLog) addOne(e event, gone <-chan struct{}, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.follower && l.behind > maxBehind {
		if l.taken == nil {
			l.taken = make(chan struct{})
		}
		taken := l.taken
		l.mu.Unlock()
		ok := wait(taken, gone, until)
		l.mu.Lock()
		if !ok {
			break
		}
	}
	if n := len(l.events); n > 0 && len(e.text) > 0 {
		last := &l.events[n-1]
		if last.kind == e.kind && l.first+uint64(n)-1 > l.read && len(last.text)+len(e.text) <= maxGrown {
			last.text = append(last.text, e.text...)
			l.grew(len(e.text))
			return
		}
	}
	l.events = append(l.events, e)
	l.grew(e.size())
	for l.bytes > maxLogged && len(l.events) > 1 {
		l.bytes -= l.events[0].size()
		l.events[0] = event{}
		l.events = l.events[1:]
		l.first++
	}
}

// grew wakes who waits. Preconditions: mu is held.
func (l *eventLog) grew(n int) {
	l.bytes += n
	if l.follower {
		l.behind += n
	}
	l.wake()
}

func (l *eventLog) wake() {
	if l.news != nil {
		close(l.news)
		l.news = nil
	}
}

func wait(taken, gone <-chan struct{}, until time.Time) bool {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-taken:
		return true
	case <-gone:
	case <-timer.C:
	}
	return false
}

// end says that there will be no more events.
func (l *eventLog) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.wake()
}

// follow makes the caller, who calls take soon and often, the one whom the program waits for. It says whether there is
// no other one.
func (l *eventLog) follow() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.follower {
		return false
	}
	l.follower, l.behind = true, 0
	return true
}

// unfollow lets the program go on alone.
func (l *eventLog) unfollow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.follower = false
	l.caughtUp(0)
}

// caughtUp notes that the follower has taken all but the last so many bytes. Preconditions: mu is held.
func (l *eventLog) caughtUp(behind int) {
	l.behind = behind
	if l.taken != nil && behind <= maxBehind {
		close(l.taken)
		l.taken = nil
	}
}

// maxTaken bounds what a reader takes at once, beyond the first event of it, in bytes: what is written for a reader is held until its
// client takes it.
const maxTaken = 64 << 10

// sent is an event as a reader gets it: JSON in parts. Long ones are the run's own, whoever reads them.
type sent struct {
	id   uint64
	kind string
	json [][]byte
}

// take returns the next events after an id. When there are none it returns a channel that is closed at the next change, or,
// at the end of the log, nil.
func (l *eventLog) take(after uint64, follower bool) ([]sent, <-chan struct{}) {
	l.mu.Lock()
	next := l.first + uint64(len(l.events))
	from := min(max(after+1, l.first), next)
	var events []event
	left, size := l.events[from-l.first:], 0
	for len(left) > 0 && size < maxTaken {
		events, size, left = append(events, left[0]), size+left[0].size(), left[1:]
	}
	l.read = max(l.read, from+uint64(len(events))-1)
	if follower {
		behind := 0
		for _, e := range left {
			behind += e.size()
		}
		l.caughtUp(behind)
	}
	var news chan struct{}
	if len(events) == 0 && !l.closed {
		if l.news == nil {
			l.news = make(chan struct{})
		}
		news = l.news
	}
	l.mu.Unlock()

	out := make([]sent, len(events))
	for i, e := range events {
		id := from + uint64(i)
		out[i] = sent{id, e.kind, e.encode(id)}
	}
	return out, news
}

// encode is the event as a JSON object. The text of an event that was read does not grow any more.
func (e event) encode(id uint64) [][]byte {
	b := append(make([]byte, 0, 64+len(e.text)+len(e.text)/8), `{"id":`...)
	b = strconv.AppendUint(b, id, 10)
	b = append(b, `,"type":"`...)
	b = append(b, e.kind...)
	b = append(b, '"')
	if e.text != nil {
		text, _ := json.Marshal(strings.ToValidUTF8(string(e.text), "\uFFFD")) // a string can always be written
		b = append(append(b, `,"text":`...), text...)
	}
	parts := [][]byte{b}
	if e.result != nil {
		parts = append(parts, []byte(`,"result":`), e.result)
	}
	if len(e.data) > 0 {
		parts = append(parts, []byte(","), e.data)
	}
	return append(parts, []byte("}"))
}

// fields is v as JSON without its braces.
func fields(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil || len(b) < 2 || b[0] != '{' {
		return nil
	}
	return b[1 : len(b)-1]
}

// eventOf is what an event of the engine becomes.
func eventOf(e engine.Event) event {
	switch e.Type {
	case engine.EventStdout, engine.EventStderr:
		return event{kind: string(e.Type), text: []byte(e.Text)}
	case engine.EventResult:
		return event{kind: string(e.Type), data: fields(e.Display)}
	case engine.EventToolCall:
		return event{kind: string(e.Type), data: fields(e.ToolCall)}
	case engine.EventHTTPRequest:
		return event{kind: string(e.Type), data: fields(e.HTTPRequest)}
	}
	return event{kind: string(e.Type)}
}
