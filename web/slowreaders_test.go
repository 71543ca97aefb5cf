package web_test

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/web"
)

// neverTaken asks for something, and does not read the answer.
func (s *server) neverTaken(method, path, body string) net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
	_, err = fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		method, path, strings.TrimPrefix(s.url, "http://"), s.key, len(body), body)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// answered waits for the beginning of an answer.
func answered(c net.Conn) error {
	status := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(c, status); err != nil {
		return err
	}
	if string(status) != "HTTP/1.1 200" {
		return fmt.Errorf("the answer is %s", status)
	}
	return nil
}

// TestReadersThatDoNotRead: however many connections a client has, and however long it takes to read from them, what many of them ask
// for is held once.
func TestReadersThatDoNotRead(t *testing.T) {
	s := serve(t, func(c *web.Config) { c.WriteTimeout, c.KeepBytes = time.Minute, 64<<20 })
	// Each of these characters takes six in JSON.
	code := `process.stdout.write("\u0001".repeat(4e6)); process.stdout.write("\u0001".repeat(1e5))`
	run := s.run(object{"language": "javascript", "code": code, "detach": true, "limits": object{"output_bytes": 5e6}}, "ok")
	session := s.session(object{"language": "javascript", "metadata": object{"a": strings.Repeat("\u0001", 1000)}})
	s.execute(session+"/execute", object{"code": `const fs = require("fs"), dir = ("/" + "\u0001".repeat(250)).repeat(10);
		fs.mkdirSync("/data" + dir, { recursive: true });
		for (let i = 0; i < 500; i++) fs.writeFileSync("/data" + dir + "/" + i, "")`}, "ok")
	for name, path := range map[string]string{
		"events": "/v1/executions/" + run.ID + "/events",
		"files":  session + "/files?path=/data" + strings.Repeat("/"+strings.Repeat("%01", 250), 10),
	} {
		if r := s.do("GET", path, nil); r.status != 200 {
			t.Fatalf("%s: %d %.1000s", name, r.status, r.body)
		}
		before := heapInUse()
		begun := make(chan error)
		const readers = 30
		for range readers {
			c := s.neverTaken("GET", path, "")
			go func() {
				begun <- answered(c)
			}()
		}
		for range readers {
			if err := <-begun; err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(200 * time.Millisecond) // until the connections are full
		if grown := heapInUse() - before; grown > 100<<20 {
			t.Errorf("%s: %d readers hold %d MiB", name, readers, grown>>20)
		} else {
			t.Logf("%s: %d readers hold %d KiB", name, readers, grown>>10)
		}
	}
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestAnswersThatNobodyTakes: results that a key's clients do not take are held, and so no more programs run for it until they do; those
// of other keys run.
func TestAnswersThatNobodyTakes(t *testing.T) {
	s := serve(t, twoKeys(func(c *web.Config) { c.MaxBodyBytes, c.WriteTimeout = 4<<20, time.Minute }))
	const fit = 32 << 20 // half of the sixteen largest bodies
	const size = 15 << 20
	body := fmt.Sprintf(`{"language": "javascript", "code": "process.stdout.write('x'.repeat(%d))", "limits": {"output_bytes": %d}}`, size, size)
	var held []net.Conn
	for range fit/size + 1 {
		c := s.neverTaken("POST", "/v1/execute", body)
		if err := answered(c); err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	small := object{"language": "javascript", "code": "1"}
	eventually(t, "programs are refused", func() bool { return s.do("POST", "/v1/execute", small).status == 429 })
	s.do("POST", "/v1/execute", small).mustFail(429, "too_many_requests", "take the answers first")
	other := *s
	other.key = neighbour
	other.run(small, "ok")
	for _, c := range held {
		c.Close()
	}
	eventually(t, "programs run again", func() bool { return s.do("POST", "/v1/execute", small).status == 200 })
}
