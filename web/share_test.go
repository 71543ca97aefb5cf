package web_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/web"
)

const neighbour = "neighbour-key-0123456789-0123456789-0123456789"

// twoKeys changes a server's configuration to have a second key, and as the test says besides.
func twoKeys(change func(*web.Config)) func(*web.Config) {
	return func(c *web.Config) {
		c.Keys = append(c.Keys, &web.Key{Name: "neighbour", Hash: web.HashKey(neighbour)})
		change(c)
	}
}

// TestResultsAreSharedFairly: a key that keeps much does not push out what another keeps, and names of requests do not keep
// the results of their runs beyond the server's bound.
func TestResultsAreSharedFairly(t *testing.T) {
	s := serve(t, twoKeys(func(c *web.Config) { c.KeepBytes = 1 << 20 }))
	greedy := *s
	greedy.key = neighbour
	mine := s.run(object{"language": "javascript", "code": "console.log('mine')"}, "ok").ID
	flood := object{"language": "javascript", "code": "console.log('x'.repeat(400000))"}
	for i := range 6 {
		greedy.do("POST", "/v1/execute", flood, fmt.Sprintf("Idempotency-Key: flood %d", i)).must(200, nil)
	}
	s.do("GET", "/v1/executions/"+mine, nil).must(200, nil)
	greedy.do("POST", "/v1/execute", flood, "Idempotency-Key: flood 5").must(200, nil)
	greedy.do("POST", "/v1/execute", flood, "Idempotency-Key: flood 0").mustFail(410, "expired", "not kept")
}

// TestBodiesOfWaitingRequests: requests that wait hold so much memory and no more, and a key that sends too much is told so,
// while another's requests go on.
func TestBodiesOfWaitingRequests(t *testing.T) {
	s := serve(t, twoKeys(func(c *web.Config) { c.MaxBodyBytes, c.MaxRuns, c.QueueWait = 1<<20, 1, time.Minute }))
	running := s.stream("POST", "/v1/execute", object{"language": "javascript", "code": "await new Promise((r) => setTimeout(r, 60000))", "limits": object{"timeout_ms": 60000}}, "Accept: text/event-stream")
	id := running.until("start").ExecutionID
	large := object{"language": "javascript", "code": "// " + strings.Repeat("x", 1_000_000)}
	const fit = 8 // of the sixteen largest that all keys together may have
	var all sync.WaitGroup
	send := func(key string) {
		from := *s
		from.key = key
		all.Go(func() { from.do("POST", "/v1/execute", large).must(200, nil) })
	}
	for i := range fit {
		send(secret)
		s.waitFor(fmt.Sprintf("cloche_waiting %d", i+1))
	}
	s.do("POST", "/v1/execute", large).mustFail(429, "too_many_requests", "too large together")
	send(neighbour)
	s.waitFor(fmt.Sprintf("cloche_waiting %d", fit+1))
	s.do("DELETE", "/v1/executions/"+id, nil).must(200, nil)
	all.Wait()
	for range fit + 1 { // nothing of them is held any longer
		s.do("POST", "/v1/execute", large).must(200, nil)
	}
}

// waitFor waits for a line of the metrics.
func (s *server) waitFor(line string) {
	s.t.Helper()
	for begin := time.Now(); !strings.Contains(string(s.do("GET", "/metrics", nil).must(200, nil).body), "\n"+line+"\n"); time.Sleep(time.Millisecond) {
		if time.Since(begin) > 20*time.Second {
			s.t.Fatalf("the metrics have no line %q", line)
		}
	}
}
