package fetch

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"
)

// FuzzMask: wherever an answer is cut into pieces, nothing of a secret in it is left, and all else is as it was but for an end that
// may be the beginning of one.
func FuzzMask(f *testing.F) {
	f.Add("abcdefgh", "abcdefgh12345678", []byte("x abcdefgh12345678 y"), uint8(10))
	f.Add("abcdefghij", "ghijklmnop", []byte("abcdefghijklmnop"), uint8(3))
	f.Add("aaaaaaaa", "Bearer aaaaaaaa", []byte("aaaaaaaaaaBearer aaaaaaa"), uint8(1))
	f.Add("Basic dXNlcjpwYXNzd29yZA==", "password", []byte("user:password dXNlcjpwYXNzd29yZA== 70617373776f7264"), uint8(7))
	f.Fuzz(func(t *testing.T, one, two string, body []byte, size uint8) {
		m := newMask(&Policy{Secrets: []Secret{{Value: one}, {Value: two}}})
		if len(m.texts) == 0 || m.longest > 1000 || len(body) > 10_000 {
			return
		}
		r := m.reader(iotest.DataErrReader(bytes.NewReader(body))).(*maskReader)
		r.chunk = r.chunk[:1+int(size)]
		got, err := io.ReadAll(r)
		if err != nil || len(got) != len(body) {
			t.Fatalf("%d bytes of %d, %v", len(got), len(body), err)
		}
		hidden := make([]bool, len(body)) // the plain way
		for _, text := range m.texts {
			for at := range body {
				if bytes.HasPrefix(body[at:], text) {
					for i := range text {
						hidden[at+i] = true
					}
				}
			}
		}
		end := len(body) - m.started(body)
		for i, c := range got {
			if hidden[i] && c != '*' || !hidden[i] && c != body[i] && (i < end || c != '*') {
				t.Fatalf("byte %d of %q in %q", i, got, body)
			}
		}
	})
}
