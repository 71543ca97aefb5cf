package main

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// screen passes on what a program prints to a terminal, as far as that only shows it: text, colours, and what moves the cursor or
// erases. Other control characters become visible: with them a terminal would put text into the clipboard, change its title,
// answer as if somebody had typed, or send the mouse's moves.
type screen struct {
	to   io.Writer
	held []byte // the beginning of a character or a sequence
}

// onScreen is w, or a screen before it if w is a terminal. It serves one stream of one turn.
func onScreen(w io.Writer) io.Writer {
	if f, ok := fileOf(w); ok && term.IsTerminal(int(f.Fd())) {
		return &screen{to: w}
	}
	return w
}

// jsonOnScreen passes on text that is JSON, with escapes in the place of the control characters that JSON lets stand as they are
// (DEL and U+0080 to U+009F): terminals obey some of them, and most of such a text is the program's.
type jsonOnScreen struct{ to io.Writer }

// Write implements [io.Writer]. p is whole characters.
func (s jsonOnScreen) Write(p []byte) (int, error) {
	out := make([]byte, 0, len(p)+2)
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == 0x7f:
			out = append(out, `\u007f`...)
		case c == 0xc2 && i+1 < len(p) && p[i+1] < 0xa0: // U+0080 to U+009F in UTF-8
			i++
			out = fmt.Appendf(out, `\u%04x`, p[i])
		default:
			out = append(out, c)
		}
	}
	if _, err := s.to.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// jsonLog is a log in JSON, a record a line.
func jsonLog(w io.Writer) *slog.Logger { return slog.New(slog.NewJSONHandler(jsonOnScreen{w}, nil)) }

const (
	escape = '\x1b'
	// maxSequence is more than any sequence that is passed on has.
	maxSequence = 64
	// showing are the last letters of sequences that colour, move the cursor, erase, scroll, and insert or delete what is there.
	showing = "mABCDEFGHfJKLMPX@STdsu"
)

// cursor hides and shows the cursor, as progress bars do.
var cursor = []string{"?25l", "?25h"}

// Write implements [io.Writer]. What is held at the end of a turn is never written.
func (s *screen) Write(p []byte) (int, error) {
	in := append(s.held, p...)
	out := make([]byte, 0, len(in))
	for len(in) > 0 {
		n, ok := sequence(in)
		if n == 0 { // more is needed
			break
		}
		if ok {
			out = append(out, in[:n]...)
		} else {
			out = append(out, "\uFFFD"...)
		}
		in = in[n:]
	}
	s.held = append([]byte(nil), in...)
	if _, err := s.to.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// sequence is the length of the character or sequence that b begins with, 0 if its end is not there, and whether it is passed on.
func sequence(b []byte) (n int, ok bool) {
	if b[0] != escape {
		if !utf8.FullRune(b) {
			return 0, false
		}
		r, n := utf8.DecodeRune(b)
		return n, r != utf8.RuneError && (r >= ' ' || strings.ContainsRune("\n\r\t\b", r)) && (r < 0x7f || r >= 0xa0) || n == len("\uFFFD")
	}
	if len(b) == 1 {
		return 0, false
	}
	if b[1] != '[' {
		return 1, false
	}
	end := 2
	for end < len(b) && b[end] >= ' ' && b[end] < '@' {
		if end++; end > maxSequence {
			return 1, false
		}
	}
	if end == len(b) {
		return 0, false
	}
	parameters, last := string(b[2:end]), b[end]
	for _, c := range cursor {
		if parameters+string(last) == c {
			return end + 1, true
		}
	}
	if strings.IndexByte(showing, last) < 0 || strings.Trim(parameters, "0123456789;:") != "" {
		return 1, false
	}
	return end + 1, true
}
