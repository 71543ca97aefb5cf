package web

import (
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const text = "77 (a) b (c) S 1 77 77 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 9 0 12345 4096000 33 18446744073709551615 1 1 0\n"
	s, ok := parseStat([]byte(text))
	if !ok || s.cpu != 3*time.Second || s.virtual != 4096000 || s.resident == 0 || s.resident%33 != 0 {
		t.Errorf("%+v, %t", s, ok)
	}
	for _, bad := range []string{"", "77 (a) S 1", "77 (a) S 1 77 77 0 -1 4194560 100 0 0 0 x 50 0 0 20 0 9 0 12345 4096000 33 1"} {
		if s, ok := parseStat([]byte(bad)); ok {
			t.Errorf("%q: %+v", bad, s)
		}
	}
}
