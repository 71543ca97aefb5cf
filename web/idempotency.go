package web

import (
	"crypto/sha256"
	"net/http"
	"sync"
	"time"
)

// idempotency remembers what came of requests that have a name of their own (Idempotency-Key), so that a client that
// heard no answer can ask again and nothing happens twice. Such a run is not stopped when its client leaves: the next
// request gets its answer.
type idempotency struct {
	mu      sync.Mutex // guards all below
	entries map[requestName]*remembered
	order   keeping[*remembered]
}

// requestName is a name that a key gave a request.
type requestName struct {
	key  *Key
	name string
}

// remembered is a request and what came of it.
type remembered struct {
	of    *idempotency
	name  requestName
	print [sha256.Size]byte
	at    time.Time

	// ready is closed when one of the following is set, or when nothing came of the request.
	ready chan struct{}
	run   string // id of an execution
	made  string // id of a session. Their answers may be long, and names are many: they are kept elsewhere, if at all
}

// maxRemembered bounds the names that are kept.
const maxRemembered = 10_000

func newIdempotency(keep time.Duration) *idempotency {
	i := &idempotency{entries: map[requestName]*remembered{}}
	i.order = newKeeping(keep, maxRemembered, i.forget)
	return i
}

// remember looks for an earlier request of the same name. When there is one, its answer is to be repeated; else this one
// is noted in x, and is to be settled.
func (x *exchange) remember(body []byte) (*remembered, error) {
	name := x.r.Header.Get("Idempotency-Key")
	if name == "" {
		return nil, nil
	}
	if len(name) > 255 {
		return nil, invalidf("the Idempotency-Key is longer than 255 bytes")
	}
	h := sha256.New()
	h.Write([]byte(x.r.Method + " " + x.r.URL.Path + "\n"))
	h.Write(body)
	m := &remembered{of: x.s.named, name: requestName{x.key, name}, at: time.Now(), ready: make(chan struct{})}
	h.Sum(m.print[:0])
	if prior := m.of.add(m); prior != nil {
		if prior.print != m.print {
			return nil, fail(http.StatusUnprocessableEntity, codeConflict, "the Idempotency-Key %s was used for another request", quoted(name))
		}
		return prior, nil
	}
	x.named = m
	return nil, nil
}

// add notes m, unless there is one of its name, which it returns.
func (i *idempotency) add(m *remembered) *remembered {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.order.trim(m.at)
	if prior := i.entries[m.name]; prior != nil {
		return prior
	}
	i.entries[m.name] = m
	i.order.add(m.name.key, m, 1, m.at)
	return nil
}

// forget drops m. Preconditions: mu is held.
func (i *idempotency) forget(m *remembered) {
	if i.entries[m.name] == m {
		delete(i.entries, m.name)
	}
}

// settle says what came of the request.
func (m *remembered) settle(run, session string) {
	if m == nil {
		return
	}
	m.run, m.made = run, session
	close(m.ready)
}

// abandon says that nothing came of the request, if nobody said what did: asked again, it is made anew.
func (m *remembered) abandon() {
	if m == nil {
		return
	}
	select {
	case <-m.ready:
	default:
		m.of.mu.Lock()
		m.of.forget(m)
		m.of.mu.Unlock()
		close(m.ready)
	}
}

// readOnce reads a JSON body as readJSON does, and looks for an earlier request of the same name. When there is one,
// this one is answered as that was.
func (s *Server) readOnce(x *exchange, v any, optional bool) (answered bool, err error) {
	body, err := x.readJSON(v, optional)
	if err != nil {
		return false, err
	}
	prior, err := x.remember(body)
	if err != nil || prior == nil {
		return false, err
	}
	return true, s.repeat(x, prior)
}

// repeat answers as the earlier request was answered.
func (s *Server) repeat(x *exchange, m *remembered) error {
	select {
	case <-m.ready:
	case <-x.r.Context().Done():
		return nil
	}
	x.Header().Set("Idempotency-Replayed", "true")
	switch {
	case m.run != "":
		run, err := s.runs.find(m.run, x.key)
		if err != nil {
			return fail(http.StatusGone, codeExpired, "the request of that Idempotency-Key was carried out as %s, whose result is not kept any longer", m.run)
		}
		if f := streamFormat(x.r); f != formatNone {
			return s.stream(x, run, f, 0, false)
		}
		return s.await(x, run)
	case m.made != "":
		sn, err := s.sessions.find(m.made, x.key)
		if err != nil {
			return fail(http.StatusGone, codeExpired, "the request of that Idempotency-Key made the session %s, which is there no longer", m.made)
		}
		x.Header().Set("Location", sn.path())
		return x.reply(http.StatusCreated, sn.info())
	}
	e := fail(http.StatusConflict, codeConflict, "the request of that Idempotency-Key was not carried out: send it again")
	e.retryAfter = time.Second
	return e
}
