package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

var methodsAllowed = []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"}

// Bounds of a request's headers.
const (
	maxFields     = 100
	maxFieldBytes = 8 << 10
	maxFieldsSize = 64 << 10
	maxFieldsText = 8 * maxFieldsSize // as JSON, in which a character takes six bytes at most, and a field ten more
)

// ours are the headers that say how a request travels. The host writes them; a program's are left out.
var ours = []string{
	"Connection", "Content-Length", "Expect", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Via",
}

// requestHeader makes the headers of a request for t of what a program gave. Each is a name and a value whose characters
// are bytes (Latin-1).
func requestHeader(t target, fields [][2]string) (http.Header, error) {
	h := http.Header{}
	if len(fields) > maxFields {
		return nil, fmt.Errorf("%d headers are more than %d", len(fields), maxFields)
	}
	size := 0
	for _, f := range fields {
		name, value := f[0], f[1]
		if !isToken(name) {
			return nil, fmt.Errorf("%.60q is no header name", name)
		}
		bytes, err := latin1(value)
		if err != nil {
			return nil, fmt.Errorf("header %.60s: %w", name, err)
		}
		if size += len(name) + len(bytes); len(bytes) > maxFieldBytes || size > maxFieldsSize {
			return nil, fmt.Errorf("header %.60s: the headers are longer than %d bytes, or it than %d", name, maxFieldsSize, maxFieldBytes)
		}
		name = http.CanonicalHeaderKey(name)
		switch {
		case name == "Host":
			if !strings.EqualFold(bytes, t.authorityText()) && !strings.EqualFold(bytes, t.hostPort()) {
				return nil, errors.New("the Host header must name the server that is asked")
			}
		case !slices.Contains(ours, name) && !strings.HasPrefix(name, "Proxy-"):
			h.Add(name, bytes)
		}
	}
	return h, nil
}

// isToken says whether s is a token (RFC 9110), as names and methods are.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != "" && len(s) <= 256
}

// latin1 is a header's value as it is sent, which has no line ends and no other control characters but tabs.
func latin1(value string) (string, error) {
	b := make([]byte, 0, min(len(value), maxFieldBytes+1))
	for _, r := range value {
		switch {
		case r > 0xff:
			return "", errors.New("a header holds Latin-1 characters only")
		case r < ' ' && r != '\t' || r == 0x7f:
			return "", errors.New("a header holds no line ends or control characters")
		case len(b) > maxFieldBytes:
			return string(b), nil // too long, as the caller sees
		}
		b = append(b, byte(r))
	}
	return strings.Trim(string(b), " \t"), nil
}

// fromLatin1 is the inverse of latin1.
func fromLatin1(value string) string {
	if isASCII(value) {
		return value
	}
	r := make([]rune, len(value))
	for i := range len(value) {
		r[i] = rune(value[i])
	}
	return string(r)
}

// travelling are an answer's headers that say how it came, which the program does not see.
var travelling = []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// maxAnswerFields bounds the headers of an answer.
const maxAnswerFields = 1000

// answerHeader lists the headers that a program sees, by name.
func answerHeader(h http.Header, decoded bool) [][2]string {
	list := [][2]string{}
	for name, values := range h {
		if slices.Contains(travelling, name) || decoded && (name == "Content-Encoding" || name == "Content-Length") {
			continue
		}
		for _, v := range values {
			list = append(list, [2]string{fromLatin1(name), fromLatin1(v)})
		}
	}
	slices.SortStableFunc(list, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return list
}

// isCredential says whether a header may hold what only the server that it was meant for should see.
func isCredential(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"auth", "cookie", "token", "secret", "key", "session", "csrf", "xsrf", "credential", "passw", "signature"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// redirected changes a request as a redirect from one target to another with that status asks (Fetch, HTTP-redirect fetch).
// It returns the method, and whether the body is sent again.
func redirected(status int, method string, h http.Header, from, to target) (string, bool) {
	keep := true
	if status == http.StatusSeeOther && method != "GET" && method != "HEAD" ||
		(status == http.StatusMovedPermanently || status == http.StatusFound) && method == "POST" {
		method, keep = "GET", false
		for name := range h {
			if strings.HasPrefix(name, "Content-") {
				delete(h, name)
			}
		}
	}
	if !from.sameOrigin(to) {
		for name := range h {
			if isCredential(name) {
				delete(h, name)
			}
		}
	}
	return method, keep
}
