package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/web/webtest"
)

var idleStreams = flag.Int("idle-streams", 1000, "number of idle streams that TestIdleStreams opens")

// TestIdleStreams: connections that wait for the events of a run cost little, do not hurt others, and leave nothing behind.
func TestIdleStreams(t *testing.T) {
	n := *idleStreams
	needDescriptors(t, uint64(n)+500) // and the server as many
	s := serveProcess(t)
	others := s.load("javascript", 4)
	others.Run(t, 1000)
	alone := others.Run(t, 1000)

	// A run that nobody reads, and then those who wait for its next event.
	var run struct{ ID string }
	s.answer("POST", "/v1/execute", `{"code":"import time; time.sleep(900)","limits":{"timeout_ms":1000000}}`, &run, "Prefer: respond-async")
	files, goroutines, memory, resident := s.metric("process_open_fds"), s.metric("go_goroutines"), s.inUse(), s.resident()
	request := fmt.Sprintf("GET /v1/executions/%s/events HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", run.ID, s.addr, serveKey)
	streams, bodies := make([]net.Conn, n), make([]*heard, n)
	for i := range streams {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatalf("stream %d: %v", i, err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatalf("stream %d: %v", i, err)
		}
		streams[i] = c
	}
	s.eventually("all streams are open", func() bool { return s.metric("process_open_fds") >= files+float64(n) })
	for i, c := range streams {
		if bodies[i] = hear(c, "\n: ping\n"); bodies[i].err != nil {
			t.Fatalf("stream %d: %v after %.300s", i, bodies[i].err, bodies[i].text)
		}
	}
	t.Logf("%d streams: %.1f KiB each in heap and stacks, %.1f KiB resident", n,
		(s.inUse()-memory)/float64(n)/1024, float64(s.resident()-resident)/float64(n)/1024)
	if each := float64(s.resident()-resident) / float64(n); each > 80<<10 {
		t.Errorf("each stream holds %.0f KiB", each/1024)
	}
	for round := 1; ; round++ { // the machine may do something else in some of them
		beside, waits := others.Run(t, 1000), false
		for p, slack := range map[float64]time.Duration{0.5: 100 * time.Millisecond, 0.99: time.Second} {
			was, is := webtest.Percentile(alone, p), webtest.Percentile(beside, p)
			t.Logf("p%g of another client's runs: %v alone, %v beside them", 100*p, was, is)
			waits = waits || is > 5*was+slack
		}
		if !waits {
			break
		}
		if round == 10 {
			t.Fatalf("other clients wait in each of %d rounds", round)
		}
	}

	s.answer("DELETE", "/v1/executions/"+run.ID, "", nil)
	for i, c := range streams {
		b := bodies[i]
		b.until("\nevent: end\n")
		if b.err != nil || !strings.HasPrefix(string(b.text), "id: 1\nevent: start\n") {
			t.Fatalf("stream %d: %v %.300s", i, b.err, b.text)
		}
		if _, err := io.Copy(io.Discard, b.body); err != nil {
			t.Fatalf("stream %d ends with %v", i, err)
		}
		c.Close()
	}
	const kept = 32 << 20 // what the server keeps of runs meanwhile
	s.eventually("they leave nothing behind", func() bool {
		others.Run(t, 200) // which makes garbage, so that it is collected
		return s.metric("go_goroutines") <= goroutines+16 && s.metric("process_open_fds") <= files+16 && s.inUse() <= memory+float64(n)*4096+kept
	})
	s.stop()
}

// heard is what has come of an answer's body.
type heard struct {
	conn net.Conn
	body io.Reader
	text []byte
	err  error
}

// hear reads an answer from a connection until its body has had what.
func hear(c net.Conn, what string) *heard {
	h := &heard{conn: c}
	if h.err = c.SetReadDeadline(time.Now().Add(time.Minute)); h.err != nil {
		return h
	}
	res, err := http.ReadResponse(bufio.NewReaderSize(c, 1024), nil)
	if h.err = err; err == nil {
		h.body = res.Body
		h.until(what)
	}
	return h
}

// until reads on until the body has had what.
func (h *heard) until(what string) {
	h.err = h.conn.SetReadDeadline(time.Now().Add(time.Minute))
	for b := make([]byte, 1024); !bytes.Contains(h.text, []byte(what)) && h.err == nil; {
		var n int
		n, h.err = h.body.Read(b)
		h.text = append(h.text, b[:n]...)
	}
	if h.err == io.EOF && bytes.Contains(h.text, []byte(what)) {
		h.err = nil
	}
}

// answer sends a request and reads the JSON of its answer into v, unless that is nil.
func (s *served) answer(method, path, body string, v any, headers ...string) {
	s.tb.Helper()
	r, err := http.NewRequest(method, "http://"+s.addr+path, strings.NewReader(body))
	if err != nil {
		s.tb.Fatal(err)
	}
	for _, h := range append(headers, "Authorization: Bearer "+serveKey, "Content-Type: application/json") {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.tb.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode/100 != 2 {
		s.tb.Fatalf("%s %s: %s %v %s", method, path, res.Status, err, b)
	}
	if v != nil {
		if err := json.Unmarshal(b, v); err != nil {
			s.tb.Fatalf("%s %s: %v: %s", method, path, err, b)
		}
	}
}

// metric is the value of a metric that has no labels.
func (s *served) metric(name string) float64 {
	s.tb.Helper()
	r, err := http.NewRequest("GET", "http://"+s.addr+"/metrics", nil)
	if err != nil {
		s.tb.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+serveKey)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.tb.Fatal(err)
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				s.tb.Fatal(err)
			}
			return v
		}
	}
	s.tb.Fatalf("there is no metric %s", name)
	return 0
}

// inUse is the memory of the server's heap and stacks, with what is not collected yet.
func (s *served) inUse() float64 {
	s.tb.Helper()
	return s.metric("go_memstats_heap_inuse_bytes") + s.metric("go_memstats_stack_inuse_bytes")
}

func (s *served) eventually(what string, ok func() bool) {
	s.tb.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			s.tb.Fatalf("it never came to be that %s", what)
		}
	}
}

// needDescriptors raises the number of files that this process and those that it starts may have open, or skips the test.
func needDescriptors(t *testing.T, n uint64) {
	t.Helper()
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
	if l.Max < n {
		t.Skipf("%d open files are needed, and the hard limit (ulimit -Hn) is %d", n, l.Max)
	}
	l.Cur = max(l.Cur, n)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
}
