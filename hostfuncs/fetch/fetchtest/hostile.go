// Package fetchtest has servers for tests of programs that fetch: what they answer no HTTP library would write.
package fetchtest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// An Answer is one way to answer, at the path /Name.
type Answer struct {
	Name string
	// Want is what a client is to make of it that asks once, reads all that comes and has little patience and a limit of 1 MiB: the
	// body, or the beginning of an error.
	Want  string
	write func(w io.Writer)
}

// Serve starts a server of the answers on the loopback address.
func Serve(t testing.TB) (url string) {
	return Raw(t, func(c net.Conn, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		for _, a := range Answers {
			if a.Name == name {
				a.write(c)
			}
		}
	})
}

// Listen serves each connection to a loopback address, which ends with the test at the latest.
func Listen(t testing.TB, serve func(net.Conn)) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { close(done); l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				<-done
				c.Close()
			}()
			go serve(c)
		}
	}()
	return l.Addr().String()
}

// Raw starts a server on the loopback address that answers by writing bytes. Its connections end with an answer, unless the path ends
// with -again, and with the test.
func Raw(t testing.TB, answer func(net.Conn, *http.Request)) (url string) {
	return "http://" + Listen(t, func(c net.Conn) { serve(c, answer) })
}

// serve answers the requests of a connection. What the client still sends is read, so that the end of the connection is one and no
// reset.
func serve(c net.Conn, answer func(net.Conn, *http.Request)) {
	defer c.Close()
	b := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(b)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		answer(c, r)
		if !strings.HasSuffix(r.URL.Path, "-again") {
			break
		}
	}
	_ = c.(*net.TCPConn).CloseWrite()
	_, _ = io.Copy(io.Discard, b)
}

// text writes what is given.
func text(parts ...string) func(io.Writer) {
	return func(w io.Writer) { _, _ = io.WriteString(w, strings.Join(parts, "")) }
}

// endless writes head, and then more for ever, with a pause between.
func endless(head, more string, pause time.Duration) func(io.Writer) {
	return func(w io.Writer) {
		for _, err := io.WriteString(w, head); err == nil; _, err = io.WriteString(w, more) {
			time.Sleep(pause)
		}
	}
}

// hangs writes what is given, and keeps the connection.
func hangs(parts ...string) func(io.Writer) {
	return func(w io.Writer) {
		text(parts...)(w)
		_, _ = io.Copy(io.Discard, w.(io.Reader))
	}
}

const (
	ok      = "HTTP/1.1 200 OK\r\n"
	chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
	tick    = 10 * time.Millisecond
)

var (
	kilo = strings.Repeat("k", 1<<10)
	bomb = squeezed(bytes.Repeat([]byte{0}, 64<<20))
)

func squeezed(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b)
	_ = z.Close()
	return out.Bytes()
}

func deflated(b []byte) []byte {
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	_, _ = z.Write(b)
	_ = z.Close()
	return out.Bytes()
}

// coded is an answer in a coding.
func coded(coding string, body []byte) func(io.Writer) {
	return text(ok, "Content-Encoding: ", coding, fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n", len(body)), string(body))
}

// What answers end in, by the kinds of errors that the door has.
const (
	Slow      = "TimeoutError"
	Malformed = "ProtocolError"
	Cut       = "ConnectionResetError"
	Refused   = "ConnectionError"
	tooLarge  = "ConnectionError: the answer has more than the limit"
	Denied    = "PermissionError"
)

// Answers are all of them.
var Answers = []Answer{
	// Heads.
	{"head-never", Slow, hangs()},
	{"head-by-bytes", Slow, endless(ok+"X: ", "a", tick)},
	{"head-half", Cut, text("HTTP/1.1 200 OK\r\nX: y\r\n")},
	{"head-none", Cut, text()},
	{"status-endless", Malformed, endless("HTTP/1.1 200 ", kilo, 0)},
	{"header-endless", Malformed, endless(ok+"X: ", kilo, 0)},
	{"headers-endless", Malformed, endless(ok, "X: y\r\n", 0)},
	{"headers-many", Refused + ": the answer has more than 1000 headers", text(ok, strings.Repeat("X: y\r\n", 1100), "\r\n")},
	{"folds-endless", Malformed, endless(ok+"X: y\r\n", " "+kilo+"\r\n", 0)},
	{"lines-empty-endless", Malformed, endless("", "\r\n", 0)},
	{"header-no-colon", Malformed, text(ok, "no colon here\r\n\r\n")},
	{"header-no-name", Malformed, text(ok, ": x\r\n\r\n")},
	{"header-zero", Malformed, text(ok, "X: a\x00b\r\nContent-Length: 0\r\n\r\n")},
	{"header-space", Malformed, text(ok, "X : a\r\nContent-Length: 0\r\n\r\n")},
	{"continue-endless", Malformed, endless("", "HTTP/1.1 100 Continue\r\n\r\n", 0)},
	{"hints-endless", Malformed, endless("", "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n", 0)},
	{"continue-slow", Slow, endless("", "HTTP/1.1 100 Continue\r\n\r\n", 300*time.Millisecond)},
	{"continue-few", "fine", text("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n", ok, "Content-Length: 4\r\n\r\nfine")},
	{"switching", Malformed, hangs("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n\x81\x02hi")},
	{"switching-h2c", Malformed, hangs("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")},
	{"http2-settings", Malformed, endless("\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x04\xff\xff\xff\xff", "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x04\xff\xff\xff\xff", 0)},
	{"http2-continuation", Malformed, endless("\x00\x00\x04\x01\x00\x00\x00\x00\x01abcd", "\x00\x00\x04\x09\x00\x00\x00\x00\x01abcd", 0)},
	{"http2-reset", Malformed, endless("", "\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x08", 0)},
	{"http2-version", Malformed, text("HTTP/2.0 200 OK\r\nContent-Length: 1\r\n\r\nx")},
	{"http09", Malformed, text("<html>")},
	{"other-protocol", Malformed, hangs("SSH-2.0-OpenSSH_9.9\r\n")},
	{"mail", Malformed, hangs("220 mail.example ESMTP\r\n")},
	{"status-short", Malformed, text("HTTP/1.1 20 OK\r\n\r\n")},
	{"status-long", Malformed, text("HTTP/1.1 2000 OK\r\n\r\n")},
	{"status-negative", Malformed, text("HTTP/1.1 -20 OK\r\n\r\n")},
	{"status-zero", Malformed, text("HTTP/1.1 000 OK\r\nContent-Length: 0\r\n\r\n")},
	{"status-999", "odd", text("HTTP/1.1 999 Odd\r\nContent-Length: 3\r\n\r\nodd")},
	{"status-600", "odd", text("HTTP/1.1 600 Odd\r\nContent-Length: 3\r\n\r\nodd")},
	{"status-text-odd", "fine", text("HTTP/1.1 200 \x01\x7f\xe9\x1b[31m\r\nContent-Length: 4\r\n\r\nfine")},
	// Lengths.
	{"lengths-two", Malformed, text(ok, "Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc")},
	{"lengths-list", Malformed, text(ok, "Content-Length: 3, 3\r\n\r\nabc")},
	{"lengths-same", "abc", text(ok, "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc")},
	{"length-negative", Malformed, text(ok, "Content-Length: -1\r\n\r\nabc")},
	{"length-plus", Malformed, text(ok, "Content-Length: +3\r\n\r\nabc")},
	{"length-hex", Malformed, text(ok, "Content-Length: 0x3\r\n\r\nabc")},
	{"length-empty", Malformed, text(ok, "Content-Length:\r\n\r\nabc")},
	{"length-huge", Malformed, text(ok, "Content-Length: 99999999999999999999\r\n\r\nabc")},
	{"length-large", Slow, hangs(ok, "Content-Length: 9223372036854775807\r\n\r\nabc")},
	{"length-and-chunks", "abc", text(ok, "Content-Length: 30\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")},
	{"length-short-again", "abc", text(ok, "Content-Length: 3\r\n\r\nabcHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")},
	{"length-cut", Cut, text(ok, "Content-Length: 30\r\n\r\nabc")},
	{"coding-twice", Malformed, text(ok, "Transfer-Encoding: chunked, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")},
	{"coding-unknown", Malformed, text(ok, "Transfer-Encoding: gzip\r\n\r\nabc")},
	{"coding-identity", Malformed, text(ok, "Transfer-Encoding: identity\r\n\r\nabc")},
	{"coding-lines", Malformed, text(ok, "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n3\r\nabc\r\n0\r\n\r\n")},
	{"coding-odd", Malformed, text(ok, "Transfer-Encoding: \x0bchunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")},
	// Chunks.
	{"chunks", "abcdef", text(chunked, "3\r\nabc\r\n003;x=y\r\ndef\r\n0\r\n\r\n")},
	{"chunk-extension-endless", Malformed, endless(chunked+"3;x=", kilo, 0)},
	{"chunk-extensions-long", Malformed, endless(chunked, "1;"+strings.Repeat("x", 3000)+"\r\na\r\n", 0)},
	{"chunk-size-endless", Malformed, endless(chunked, strings.Repeat("0", 1024), 0)},
	{"chunk-size-negative", Malformed, text(chunked, "-3\r\nabc\r\n0\r\n\r\n")},
	{"chunk-size-huge", Malformed, text(chunked, "fffffffffffffffff\r\nabc\r\n0\r\n\r\n")},
	{"chunk-size-large", Slow, hangs(chunked, "7fffffffffffffff\r\nabc")},
	{"chunk-size-none", Malformed, text(chunked, "\r\nabc\r\n0\r\n\r\n")},
	{"chunk-size-text", Malformed, text(chunked, "three\r\nabc\r\n0\r\n\r\n")},
	{"chunk-end-none", Malformed, text(chunked, "3\r\nabcdef\r\n0\r\n\r\n")},
	{"chunks-cut", Cut, text(chunked, "3\r\nabc\r\n")},
	{"chunks-cut-within", Cut, text(chunked, "30\r\nabc")},
	{"chunks-small", tooLarge, endless(chunked, strings.Repeat("40\r\n"+kilo[:64]+"\r\n", 512), 0)},
	{"chunks-by-bytes", Slow, endless(chunked, "1\r\na\r\n", tick)},
	{"trailers", "abc", text(ok, "Transfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n3\r\nabc\r\n0\r\nX-End: y\r\nContent-Length: 900\r\n\r\n")},
	{"trailers-endless", Malformed, endless(chunked+"3\r\nabc\r\n0\r\n", "X: y\r\n", 0)},
	{"trailer-endless", Malformed, endless(chunked+"3\r\nabc\r\n0\r\nX: ", kilo, 0)},
	{"trailers-slow", Slow, endless(chunked+"3\r\nabc\r\n0\r\n", "X: y\r\n", tick)},
	{"trailers-bad", Malformed, text(chunked, "3\r\nabc\r\n0\r\nno colon\r\n\r\n")},
	// Bodies.
	{"body-endless", tooLarge, endless(ok+"\r\n", strings.Repeat("b", 1<<16), 0)},
	{"body-by-bytes", Slow, endless(ok+"\r\n", "b", tick)},
	{"body-by-bytes-of-length", Slow, endless(ok+"Content-Length: 100000\r\n\r\n", "b", tick)},
	{"body-to-the-end", "until closed", text("HTTP/1.0 200 OK\r\n\r\nuntil closed")},
	{"body-of-204-again", "", text("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello")},
	{"body-of-304-again", "", text("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello")},
	{"body-of-205", "hello", text("HTTP/1.1 205 Reset Content\r\nContent-Length: 5\r\n\r\nhello")},
	// Compressed bodies.
	{"gzip-bomb", tooLarge, coded("gzip", bomb)},
	{"deflate-bomb", tooLarge, coded("deflate", deflated(make([]byte, 64<<20)))},
	{"gzip-in-gzip", "hello", coded("gzip, gzip", squeezed(squeezed([]byte("hello"))))},
	{"gzip-in-deflate", "hello", coded("gzip, , Deflate", deflated(squeezed([]byte("hello"))))},
	{"gzip-in-brotli", "no brotli", coded("gzip, br", []byte("no brotli"))},
	{"gzip-bomb-in-gzip", tooLarge, coded("gzip, gzip", squeezed(bomb))},
	{"gzip-members-in-gzip", tooLarge, coded("gzip, gzip", squeezed(bytes.Repeat(squeezed(nil), 1<<16)))},
	{"gzip-six-times", Refused + ": the answer is compressed more than 5 times", coded("gzip"+strings.Repeat(", gzip", 5), squeezed(nil))},
	{"gzip-members", "hello, you", coded("gzip", append(squeezed([]byte("hello")), squeezed([]byte(", you"))...))},
	{"gzip-members-cut", Refused + ": the compressed answer is damaged", coded("gzip", append(squeezed([]byte("hello")), squeezed([]byte(", you"))[:15]...))},
	{"brotli", "no brotli", coded("br", []byte("no brotli"))},
	{"zstd", "no zstd", coded("zstd", []byte("no zstd"))},
	{"codings-odd", "plain", coded("gzip;q=1, identity", []byte("plain"))},
	{"gzip-members-endless", Slow, endless(ok+"Content-Encoding: gzip\r\n\r\n", string(squeezed(nil)), tick)},
	{"gzip-tail", "hello", coded("gzip", append(squeezed([]byte("hello")), "tail"...))},
	{"gzip-cut", Refused + ": the compressed answer is damaged", coded("gzip", squeezed([]byte("hello"))[:15])},
	{"gzip-none", Refused + ": the compressed answer is damaged", coded("gzip", []byte("plain"))},
	{"gzip-header-endless", Slow, endless(ok+"Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\x03", "n", tick)},
	// Redirects.
	{"redirect-loop-again", Refused + ": more than 20 redirects", text("HTTP/1.1 302 Found\r\nLocation: /redirect-loop-again\r\nContent-Length: 0\r\n\r\n")},
	{"redirect-endless", Malformed, endless("HTTP/1.1 302 Found\r\nLocation: /", kilo, 0)},
	{"redirect-long", Denied, text("HTTP/1.1 302 Found\r\nLocation: /", strings.Repeat("l", 9000), "\r\nContent-Length: 0\r\n\r\n")},
	{"redirect-body-endless", "abcdef", endless("HTTP/1.1 302 Found\r\nLocation: /chunks\r\n\r\n", kilo, 0)},
	{"redirect-body-slow", Slow, endless("HTTP/1.1 302 Found\r\nLocation: /head-never\r\n\r\n", "b", tick)},
	{"redirect-two-places", Denied, text("HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nLocation: /chunks\r\nContent-Length: 0\r\n\r\n")},
	{"redirect-nowhere", "here", text("HTTP/1.1 302 Found\r\nContent-Length: 4\r\n\r\nhere")},
	{"redirect-empty", "here", text("HTTP/1.1 302 Found\r\nLocation:\r\nContent-Length: 4\r\n\r\nhere")},
	{"redirect-of-300", "here", text("HTTP/1.1 300 Choices\r\nLocation: /chunks\r\nContent-Length: 4\r\n\r\nhere")},
}
