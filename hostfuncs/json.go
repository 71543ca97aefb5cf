package hostfuncs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// A jsonScanner goes through a JSON text (RFC 8259) once, from the left. The text is the guest's and may be
// megabytes, and nothing that the guest does is interrupted meanwhile: package encoding/json would go through each part
// of it six times.
type jsonScanner struct {
	text  []byte
	at    int
	depth int
}

var errNotJSON = errors.New("not JSON")

// newJSON is a scanner at the start of text.
func newJSON(text []byte) (*jsonScanner, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("not UTF-8")
	}
	return &jsonScanner{text: text}, nil
}

// end says whether nothing but space is left.
func (s *jsonScanner) end() error {
	if s.space(); s.at < len(s.text) {
		return errNotJSON
	}
	return nil
}

// jsonString is the text of a valid JSON string, which may be something else.
func jsonString(value json.RawMessage) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	if inner := value[1 : len(value)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), true
	}
	var text string
	err := json.Unmarshal(value, &text)
	return text, err == nil
}

// peek is the next byte, or 0, with which nothing begins.
func (s *jsonScanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

func (s *jsonScanner) space() {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\n' || s.text[s.at] == '\t' || s.text[s.at] == '\r') {
		s.at++
	}
}

// raw passes one value and returns it, a part of the text.
func (s *jsonScanner) raw() (json.RawMessage, error) {
	s.space()
	from := s.at
	err := s.value()
	return s.text[from:s.at], err
}

// value passes one value, at which the scanner stands.
func (s *jsonScanner) value() error {
	switch s.peek() {
	case '"':
		return s.string()
	case '{':
		return s.list('{', '}', func() error {
			if err := s.string(); err != nil {
				return err
			}
			return s.colon(s.value)
		})
	case '[':
		return s.list('[', ']', s.value)
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	return s.number()
}

// object passes an object. At the value of each field, repeated ones too, it calls field, which passes the value.
func (s *jsonScanner) object(field func(key string) error) error {
	s.space()
	return s.list('{', '}', func() error {
		from := s.at
		if err := s.string(); err != nil {
			return err
		}
		key, ok := jsonString(s.text[from:s.at])
		if !ok {
			return errNotJSON
		}
		return s.colon(func() error { return field(key) })
	})
}

// colon passes what stands between a key and its value, and the value.
func (s *jsonScanner) colon(value func() error) error {
	if s.space(); s.peek() != ':' {
		return errNotJSON
	}
	s.at++
	s.space()
	return value()
}

// list passes elements, parted by commas, and the brackets around them. It refuses what nests deeper than
// maxJSONDepth.
func (s *jsonScanner) list(begin, end byte, element func() error) error {
	if s.peek() != begin {
		return errNotJSON
	}
	if s.depth++; s.depth > maxJSONDepth {
		return fmt.Errorf("nested deeper than %d", maxJSONDepth)
	}
	s.at++
	if s.space(); s.peek() == end {
		s.at++
		s.depth--
		return nil
	}
	for {
		s.space()
		if err := element(); err != nil {
			return err
		}
		s.space()
		switch s.peek() {
		case ',':
			s.at++
		case end:
			s.at++
			s.depth--
			return nil
		default:
			return errNotJSON
		}
	}
}

// string passes a string.
func (s *jsonScanner) string() error {
	if s.peek() != '"' {
		return errNotJSON
	}
	for i := s.at + 1; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			s.at = i + 1
			return nil
		case c < ' ':
			return errNotJSON
		case c == '\\':
			if i++; !validEscape(s.text[i:]) {
				return errNotJSON
			}
		}
	}
	return errNotJSON
}

// validEscape says whether b begins with what may follow a backslash. Of \u0041 it looks at all; the caller goes on
// after the u.
func validEscape(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	switch b[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		return len(b) > 4 && isHex(b[1]) && isHex(b[2]) && isHex(b[3]) && isHex(b[4])
	}
	return false
}

func isHex(c byte) bool   { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func (s *jsonScanner) word(w string) error {
	if !bytes.HasPrefix(s.text[s.at:], []byte(w)) {
		return errNotJSON
	}
	s.at += len(w)
	return nil
}

// number passes a number.
func (s *jsonScanner) number() error {
	if s.peek() == '-' {
		s.at++
	}
	if s.peek() == '0' {
		s.at++
	} else if !s.digits() {
		return errNotJSON
	}
	if s.peek() == '.' {
		if s.at++; !s.digits() {
			return errNotJSON
		}
	}
	if s.peek()|0x20 == 'e' {
		if s.at++; s.peek() == '+' || s.peek() == '-' {
			s.at++
		}
		if !s.digits() {
			return errNotJSON
		}
	}
	return nil
}

// digits passes one digit or more.
func (s *jsonScanner) digits() bool {
	from := s.at
	for isDigit(s.peek()) {
		s.at++
	}
	return s.at > from
}
