package fetch

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A Secret is a header that the host adds to requests, and that programs never see: what comes back has stars in its
// place, in the forms in which servers echo things.
type Secret struct {
	// For says which requests get it. It must name a scheme and a server.
	For Pattern
	// Header is its name, such as Authorization. A program's own header of that name is replaced.
	Header string
	// Value is all of the header, such as "Bearer …", of at least 8 characters.
	Value string
}

// Bounds of a secret's value. What is shorter would be found where it is not.
const (
	minSecret = 8
	maxSecret = 4096
)

func (s *Secret) check() error {
	value, err := latin1(s.Value)
	switch {
	case s.For.scheme == "" || s.For.any:
		return fmt.Errorf("secret %s: its pattern %q must name a scheme and a server, such as https://api.example.com", s.Header, s.For.text)
	case !isToken(s.Header) || slices.Contains(ours, http.CanonicalHeaderKey(s.Header)) || strings.EqualFold(s.Header, "host"):
		return fmt.Errorf("secret %q: that is no name of a header that can be set", s.Header)
	case err != nil || value != s.Value:
		return fmt.Errorf("secret %s: the value has spaces at its ends or characters that a header cannot hold", s.Header)
	case len(s.Value) < minSecret || len(s.Value) > maxSecret:
		return fmt.Errorf("secret %s: the value has %d characters, must have from %d to %d", s.Header, len(s.Value), minSecret, maxSecret)
	}
	return nil
}

// Check says what is wrong with p.
func (p *Policy) Check() error {
	if p == nil {
		return nil
	}
	var errs []error
	if l := p.Limits; l.Requests < 0 || l.Concurrent < 0 || l.PerSecond < 0 || l.Timeout < 0 {
		errs = append(errs, errors.New("network: a limit is negative"))
	}
	for i := range p.Secrets {
		errs = append(errs, p.Secrets[i].check())
	}
	return errors.Join(errs...)
}

// addSecrets adds the secrets to a request.
func (p *Policy) addSecrets(method string, t target, h http.Header) {
	found := false
	for i := range p.Secrets {
		if s := &p.Secrets[i]; s.For.matches(method, t) {
			h.Set(s.Header, s.Value)
			found = true
		}
	}
	if found {
		// With a range of the answer a program could ask for a part of an echo, which would not be known for what it is.
		h.Del("Range")
		h.Del("If-Range")
	}
}

// A mask puts stars over texts.
type mask struct {
	texts   [][]byte
	longest int
}

// newMask covers all secrets of p, in whatever form a server is likely to give them back. Any answer is masked, since one
// server may hand a secret on to another.
func newMask(p *Policy) *mask {
	m := &mask{}
	for i := range p.Secrets {
		value := p.Secrets[i].Value
		m.cover(value)
		scheme, token, ok := strings.Cut(value, " ")
		if !ok {
			continue
		}
		m.cover(token)
		if plain, err := base64.StdEncoding.DecodeString(token); err == nil && strings.EqualFold(scheme, "basic") {
			m.cover(string(plain))
			if _, password, ok := strings.Cut(string(plain), ":"); ok {
				m.cover(password)
			}
		}
	}
	slices.SortFunc(m.texts, func(a, b []byte) int { return len(b) - len(a) })
	for _, t := range m.texts {
		m.longest = max(m.longest, len(t))
	}
	return m
}

// cover adds the forms of one text.
func (m *mask) cover(text string) {
	if len(text) < minSecret {
		return
	}
	quoted, _ := json.Marshal(text) // a string always can be
	inJSON := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text)
	forms := []string{
		text, strings.ToLower(text), strings.ToUpper(text),
		url.QueryEscape(text), url.PathEscape(text), lowerEscapes(url.QueryEscape(text)), lowerEscapes(url.PathEscape(text)),
		string(quoted[1 : len(quoted)-1]), inJSON, strings.ReplaceAll(inJSON, "/", `\/`), dotNet.Replace(text), strings.ReplaceAll(text, "/", `\/`), html.EscapeString(text),
		fmt.Sprintf("%x", text), fmt.Sprintf("%X", text), wide(text, binary.LittleEndian), wide(text, binary.BigEndian),
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		whole := encoding.EncodeToString([]byte(text))
		forms = append(forms, whole, strings.TrimRight(whole, "="))
		for before := range 3 {
			forms = append(forms, within64(encoding, text, before))
		}
	}
	for _, f := range forms {
		if !slices.ContainsFunc(m.texts, func(t []byte) bool { return string(t) == f }) {
			m.texts = append(m.texts, []byte(f))
		}
	}
}

// dotNet escapes as JSON is written there.
var dotNet = strings.NewReplacer(`\`, `\\`, `"`, `\u0022`, "+", `\u002B`, "<", `\u003C`, ">", `\u003E`, "&", `\u0026`, "'", `\u0027`, "`", `\u0060`)

// lowerEscapes has the escapes of a URL's part in small letters, as some write them.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}

// wide is text in UTF-16.
func wide(text string, order binary.AppendByteOrder) string {
	var b []byte
	for _, r := range text { // ASCII, as headers are
		b = order.AppendUint16(b, uint16(r))
	}
	return string(b)
}

// within64 is what base64 has of text in whatever surrounds it, with so many bytes before it, modulo 3: the characters at its
// ends, which depend on what is beside it, are left out.
func within64(encoding *base64.Encoding, text string, before int) string {
	coded := encoding.EncodeToString(append(make([]byte, before), text...))
	bits := 8 * (before + len(text))
	return coded[(8*before+5)/6 : bits/6]
}

// hide puts stars over what is in b: all of it, where texts overlap.
func (m *mask) hide(b []byte) { m.copyStars(b, bytes.Clone(b)) }

// copyStars puts stars in to where texts are in from, which is as long.
func (m *mask) copyStars(to, from []byte) {
	for _, t := range m.texts {
		for at := 0; ; at++ {
			i := bytes.Index(from[at:], t)
			if i < 0 {
				break
			}
			at += i
			stars(to[at:][:len(t)])
		}
	}
}

func stars(b []byte) {
	for i := range b {
		b[i] = '*'
	}
}

// name is the name of a header with stars. Its letters may have come in another case.
func (m *mask) name(s string) string {
	if lower := strings.ToLower(s); m.covers(lower) {
		return m.text(lower)
	}
	return m.text(s)
}

// covers says whether there is anything to hide in s.
func (m *mask) covers(s string) bool { return m.text(s) != s }

// text is s with stars.
func (m *mask) text(s string) string {
	if len(m.texts) == 0 {
		return s
	}
	b := []byte(s)
	m.hide(b)
	return string(b)
}

// reader masks what r gives.
func (m *mask) reader(r io.Reader) io.Reader {
	if len(m.texts) == 0 {
		return r
	}
	return &maskReader{mask: m, from: r, chunk: make([]byte, 32<<10)}
}

// maskReader holds back the end of what it has read as long as that may be the beginning of a text, for good if the rest does not come: a
// program may choose where an answer is too long.
type maskReader struct {
	*mask
	from  io.Reader
	chunk []byte
	buf   []byte // as it was read, and not handed on
	shown []byte // the same with stars
	clear int    // bytes of it that may be handed on
	err   error
}

func (r *maskReader) Read(p []byte) (int, error) {
	for r.clear == 0 {
		if r.err != nil {
			return 0, r.err
		}
		n, err := r.from.Read(r.chunk)
		r.buf, r.shown = append(r.buf, r.chunk[:n]...), append(r.shown, r.chunk[:n]...)
		r.err = err
		r.copyStars(r.shown, r.buf)
		r.clear = len(r.buf)
		end := r.shown[len(r.buf)-r.started(r.buf):]
		switch {
		case err != io.EOF: // more comes, or what is missing was cut off
			r.clear -= len(end)
		case len(end) >= minSecret/2:
			stars(end)
		}
	}
	n := copy(p, r.shown[:r.clear])
	r.buf, r.shown, r.clear = r.buf[:copy(r.buf, r.buf[n:])], r.shown[:copy(r.shown, r.shown[n:])], r.clear-n
	return n, nil
}

// started is the length of the longest end of b that is the beginning of a text.
func (m *mask) started(b []byte) int {
	for n := min(len(b), m.longest-1); n > 0; n-- {
		end := b[len(b)-n:]
		for _, t := range m.texts {
			if len(t) > n && bytes.HasPrefix(t, end) {
				return n
			}
		}
	}
	return 0
}
