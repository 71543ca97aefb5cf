package engine

import (
	"sync"
	"time"
	"unicode/utf8"

	"github.com/cloche-dev/cloche/hostfuncs"
)

// EventType is what an [Event] tells.
type EventType string

// The types of events.
const (
	EventStdout EventType = "stdout" // Text was printed
	EventStderr EventType = "stderr" // Text was printed to the error output
	EventResult EventType = "result" // Display was shown

	EventToolCall    EventType = "tool_call"    // a call of a tool is over
	EventHTTPRequest EventType = "http_request" // a request is over, or was refused
)

// Event is one thing that a running turn did, as it did it. Together the events of a turn tell what its Result tells:
// what a limit drops is in neither.
type Event struct {
	Type EventType
	// Text is whole characters: one that the guest prints in parts comes with its last part. Bytes that are
	// not UTF-8 come as they are.
	Text        string
	Display     *hostfuncs.Display
	ToolCall    *hostfuncs.ToolCall
	HTTPRequest *hostfuncs.HTTPRequest
}

// events passes what a turn does to its OnEvent. The guest waits while that is called; the time counts as waiting, and
// no other guest is held up.
type events struct {
	// mu lets one goroutine call at a time.
	mu sync.Mutex
	to func(Event)
	// waiting tells the machine that the guest needs no processor for now. Nil: there is none that asks.
	waiting  func()
	deadline *deadline
}

// emit tells e, if somebody listens.
func (s *events) emit(e Event) {
	if s.to == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting != nil {
		s.waiting()
	}
	begin := time.Now()
	s.to(e)
	s.deadline.waited += time.Since(begin)
}

// text emits output in whole characters, and keeps back the beginning of one that is not complete.
type text struct {
	kind   EventType
	events *events
	rest   []byte
}

func (t *text) write(p []byte) {
	if t.events == nil || t.events.to == nil || len(p) == 0 {
		return
	}
	all := append(t.rest, p...)
	whole := len(all) - incomplete(all)
	if whole > 0 {
		t.events.emit(Event{Type: t.kind, Text: string(all[:whole])})
	}
	t.rest = append(t.rest[:0], all[whole:]...)
}

// flush emits what was kept back: nothing will complete it.
func (t *text) flush() {
	if len(t.rest) > 0 {
		t.events.emit(Event{Type: t.kind, Text: string(t.rest)})
		t.rest = nil
	}
}

// incomplete is how many bytes at the end of p are the beginning of a character.
func incomplete(p []byte) int {
	for n := 1; n <= min(len(p), utf8.UTFMax-1); n++ {
		if b := p[len(p)-n:]; utf8.RuneStart(b[0]) {
			if utf8.FullRune(b) {
				return 0
			}
			return n
		}
	}
	return 0
}
