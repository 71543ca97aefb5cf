package web

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// format is how a run is told as it goes.
type format int

const (
	formatNone   format = iota // not at all: one Result at the end
	formatSSE                  // text/event-stream
	formatNDJSON               // application/x-ndjson
)

// streamFormat is what the client accepts.
func streamFormat(r *http.Request) format {
	for _, accept := range r.Header["Accept"] {
		for one := range strings.SplitSeq(accept, ",") {
			t, parameters, err := mime.ParseMediaType(one)
			if err != nil {
				continue
			}
			if q, err := strconv.ParseFloat(parameters["q"], 64); err == nil && q == 0 { // it is not wanted (RFC 9110, 12.4.2)
				continue
			}
			switch t {
			case "application/json":
				return formatNone // what is named first is wanted
			case "text/event-stream":
				return formatSSE
			case "application/x-ndjson", "application/ndjson", "application/jsonl":
				return formatNDJSON
			}
		}
	}
	return formatNone
}

// startWait is how long a stream waits for a run that fails before it starts, so that it can answer with a status.
const startWait = 25 * time.Millisecond

// stream sends the events of a run after an id until its end. The owner is whose request started it: the run waits
// when the owner is behind.
func (s *Server) stream(x *exchange, run *execution, f format, after uint64, owner bool) error {
	follower := owner && run.log.follow()
	if follower {
		defer run.log.unfollow()
	}
	if owner {
		timer := time.NewTimer(startWait)
		select {
		case <-run.done:
		case <-timer.C:
		}
		timer.Stop()
		select {
		case <-run.done:
			if run.err != nil {
				return run.err
			}
		default:
		}
	}
	h := x.Header()
	if f == formatSSE {
		h.Set("Content-Type", "text/event-stream")
	} else {
		h.Set("Content-Type", "application/x-ndjson")
	}
	h.Set("X-Accel-Buffering", "no")
	x.WriteHeader(http.StatusOK)
	defer x.control.SetWriteDeadline(time.Time{})

	ping := time.NewTicker(s.cfg.Ping)
	defer ping.Stop()
	var buf []byte
	for {
		events, news := run.log.take(after, follower)
		if len(events) == 0 && news == nil {
			return nil
		}
		if len(events) > 0 {
			for _, e := range events {
				after = e.id
				for _, part := range f.parts(e) {
					if len(buf)+len(part) <= maxBuffered {
						buf = append(buf, part...)
						continue
					}
					for _, b := range [][]byte{buf, part} { // which is not copied: it may be long, and have many readers
						if err := x.send(b); err != nil {
							return nil
						}
					}
					buf = buf[:0]
				}
			}
			if err := x.send(buf); err != nil {
				return nil
			}
			buf = buf[:0]
			continue
		}
		select {
		case <-news:
		case <-ping.C:
			if err := x.send([]byte(f.ping())); err != nil {
				return nil
			}
		case <-x.r.Context().Done():
			return nil
		}
	}
}

// maxBuffered is how much of a stream is written at once, in bytes.
const maxBuffered = 32 << 10

// send writes a part of a stream and sees that it leaves. A client that does not take it in time has left.
func (x *exchange) send(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	x.writeWithin(x.s.cfg.WriteTimeout)
	if _, err := x.Write(b); err != nil {
		return err
	}
	return x.control.Flush()
}

// parts are those of an event as it is sent.
func (f format) parts(e sent) [][]byte {
	if f == formatNDJSON {
		return append(e.json, newline)
	}
	head := strconv.AppendUint([]byte("id: "), e.id, 10)
	head = append(head, "\nevent: "...)
	head = append(head, e.kind...)
	head = append(head, "\ndata: "...)
	return append(slices.Insert(e.json, 0, head), newline, newline)
}

func (f format) ping() string {
	if f == formatNDJSON {
		return `{"type":"ping"}` + "\n"
	}
	return ": ping\n\n"
}

// executionEvents sends the events of a run from the start, or after the id that the client had last, and follows it
// to its end.
func (s *Server) executionEvents(x *exchange, c echo.Context) error {
	run, err := s.runs.find(c.Param("id"), x.key)
	if err != nil {
		return err
	}
	after := uint64(0)
	last := x.r.Header.Get("Last-Event-ID")
	if last == "" {
		last = c.QueryParam("after")
	}
	if last != "" {
		if after, err = strconv.ParseUint(last, 10, 63); err != nil {
			return invalidf("the last event's id is %s: it must be a whole number", quoted(last))
		}
	}
	f := streamFormat(x.r)
	if f == formatNone {
		f = formatSSE
	}
	return s.stream(x, run, f, after, false)
}
