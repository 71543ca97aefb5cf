package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
)

func TestScreen(t *testing.T) {
	for in, want := range map[string]string{
		"plain é 你 😀\n\ttab\rback\b":                                                "plain é 你 😀\n\ttab\rback\b",
		"\x1b[31;1mred\x1b[0m \x1b[38:2:1:2:3mx\x1b[2K\x1b[1A\x1b[?25lbar\x1b[?25h": "\x1b[31;1mred\x1b[0m \x1b[38:2:1:2:3mx\x1b[2K\x1b[1A\x1b[?25lbar\x1b[?25h",
		"\x1b]52;c;aGk=\x07":               "\uFFFD]52;c;aGk=\uFFFD",
		"\x1b]0;title\x1b\\":               "\uFFFD]0;title\uFFFD\\",
		"\x1b[6n\x1b[c\x1b[21t":            "\uFFFD[6n\uFFFD[c\uFFFD[21t",
		"\x1b[?1000h\x1b[?1049h\x1b[>1u":   "\uFFFD[?1000h\uFFFD[?1049h\uFFFD[>1u",
		"\x1bP1$r\x1bc\x1b(0":              "\uFFFDP1$r\uFFFDc\uFFFD(0",
		"\x1b\x1b[31m":                     "\uFFFD\x1b[31m",
		"\u009b31m \x9b31m \x00 \x7f \xff": "\uFFFD31m \uFFFD31m \uFFFD \uFFFD \uFFFD",
		"\uFFFD stays":                     "\uFFFD stays",
		"cut \x1b[3":                       "cut ",
		"cut \xe4\xbd":                     "cut ",
		"\x1b[" + string(bytes.Repeat([]byte("1"), 100)) + "m": "\uFFFD[" + string(bytes.Repeat([]byte("1"), 100)) + "m",
	} {
		for cut := range len(in) + 1 {
			var got bytes.Buffer
			s := &screen{to: &got}
			for _, part := range []string{in[:cut], in[cut:]} {
				if n, err := s.Write([]byte(part)); n != len(part) || err != nil {
					t.Fatalf("%q: %d, %v", part, n, err)
				}
			}
			if got.String() != want {
				t.Errorf("%q, cut at %d: %q, want %q", in, cut, got.String(), want)
			}
		}
	}
}

// FuzzScreen: what comes out is text, or sequences that pass a second time as they are.
func FuzzScreen(f *testing.F) {
	f.Add([]byte("\x1b[31mred\x1b[0m"), []byte("\x1b]0;t\x07"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var once, whole, twice bytes.Buffer
		s := &screen{to: &once}
		_, _ = s.Write(a)
		_, _ = s.Write(b)
		_, _ = (&screen{to: &whole}).Write(append(bytes.Clone(a), b...))
		_, _ = (&screen{to: &twice}).Write(once.Bytes())
		if !bytes.Equal(once.Bytes(), whole.Bytes()) || !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Errorf("%q and %q: %q in two, %q as one, %q again", a, b, once.Bytes(), whole.Bytes(), twice.Bytes())
		}
	})
}

// TestJSONOnScreen: what a program says stays what it is in JSON, and no terminal obeys it.
func TestJSONOnScreen(t *testing.T) {
	said := "\x1b]0;a\x07\x7f\u0080\u009d0;b\u009c\u009f\u00a0é数\\"
	var out bytes.Buffer
	if err := json.NewEncoder(jsonOnScreen{&out}).Encode(said); err != nil {
		t.Fatal(err)
	}
	jsonLog(&out).Info(said)
	for _, c := range strings.ReplaceAll(out.String(), "\n", "") {
		if unicode.IsControl(c) {
			t.Fatalf("there is %U in %q", c, &out)
		}
	}
	d := json.NewDecoder(&out)
	var told string
	var logged struct{ Msg string }
	if err := errors.Join(d.Decode(&told), d.Decode(&logged)); err != nil || told != said || logged.Msg != said {
		t.Errorf("%q became %q and %q (%v)", said, told, logged.Msg, err)
	}
}
