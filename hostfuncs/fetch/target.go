package fetch

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// A target is a URL that was taken apart once. What patterns see, what is dialled and what is sent are its parts, so no
// two of them can disagree on what the URL means.
type target struct {
	scheme string // http or https
	// host is a name in lower case, ASCII, without a dot at its end, or an IP address in its one canonical form.
	host string
	addr netip.Addr // when host is one
	port uint16
	path string // begins with a slash, has no dot segments; escaped as it came
	// query begins with a question mark, or is empty.
	query string
}

// maxURL bounds a URL in bytes, as it came and as it is sent.
const maxURL = 8192

// parseTarget reads an absolute URL. It is the sole boundary between a program's text and a target: it refuses whatever
// two parsers could read differently.
func parseTarget(text string) (target, error) {
	var t target
	if len(text) > maxURL {
		return t, tooLong(len(text))
	}
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c == 0x7f || c == '\\' {
			return t, errors.New("the URL holds a space, a control character or a backslash: percent-encode it")
		}
	}
	text, _, _ = strings.Cut(text, "#")
	scheme, rest, ok := strings.Cut(text, "://")
	t.scheme = strings.ToLower(scheme)
	if !ok || t.scheme != "http" && t.scheme != "https" {
		return t, errors.New("only http:// and https:// URLs can be fetched")
	}
	end := len(rest)
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		end = i
	}
	if err := t.authority(rest[:end]); err != nil {
		return t, err
	}
	path, query, asked := strings.Cut(rest[end:], "?")
	if asked {
		t.query = "?" + query
	}
	for i := range len(rest) - end {
		if rest[end+i] >= 0x80 {
			return t, errors.New("the URL's path is not ASCII: percent-encode it")
		}
	}
	if err := checkEscapes(path); err != nil {
		return t, err
	}
	t.path = escapePath(cleanPath(path))
	if n := len(t.String()); n > maxURL {
		return target{}, tooLong(n)
	}
	return t, nil
}

func tooLong(n int) error { return fmt.Errorf("a URL of %d bytes is longer than %d", n, maxURL) }

// escapePath escapes what may not stand in a path as it is (RFC 3986, pchar), so that nobody on the way has reason to
// escape the path anew.
func escapePath(path string) string {
	var b strings.Builder
	for i := range len(path) {
		if c := path[i]; strings.IndexByte(`"<>^|{}[]`+"`", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func (t *target) authority(text string) error {
	if strings.Contains(text, "@") {
		return errors.New("the URL holds a user name or password: put it into an Authorization header")
	}
	host, port := text, ""
	if i := strings.LastIndexByte(text, ':'); i >= 0 && !strings.HasSuffix(text, "]") {
		host, port = text[:i], text[i+1:]
	}
	t.port = defaultPort(t.scheme)
	if port != "" {
		n, err := parsePort(port)
		if err != nil {
			return err
		}
		t.port = n
	}
	var err error
	t.host, t.addr, err = parseHost(host)
	return err
}

func defaultPort(scheme string) uint16 {
	if scheme == "https" {
		return 443
	}
	return 80
}

// parsePort reads a port in its one decimal form.
func parsePort(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != text {
		return 0, fmt.Errorf("%.20q is no port", text)
	}
	return uint16(n), nil
}

// parseHost reads a host: a name, an IPv4 address with four decimal parts, or an IPv6 address in brackets. An
// international name becomes its ASCII form (UTS 46), which must be a name.
func parseHost(text string) (string, netip.Addr, error) {
	none := netip.Addr{}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		inner, closed := strings.CutSuffix(inner, "]")
		a, err := netip.ParseAddr(inner)
		if !closed || err != nil || !a.Is6() || a.Zone() != "" {
			return "", none, fmt.Errorf("%.60q is no IPv6 address", text)
		}
		return "[" + a.String() + "]", a, nil
	}
	name := strings.ToLower(text)
	if !isASCII(text) {
		ascii, err := idna.Lookup.ToASCII(text)
		if err != nil || lastLabelIsNumber(ascii) || !strings.Contains(ascii, "xn--") {
			return "", none, fmt.Errorf("%.60q is no host name", text)
		}
		name = ascii
	}
	if strings.Contains(name, "xn--") {
		if ascii, err := encodedNames.ToASCII(name); err != nil || ascii != name {
			return "", none, fmt.Errorf("%.60q is no host name", text)
		}
	}
	if lastLabelIsNumber(name) {
		a, err := netip.ParseAddr(name)
		if err != nil || !a.Is4() || a.String() != name {
			return "", none, fmt.Errorf("%.60q is no host: an IPv4 address is written as four decimal numbers", text)
		}
		return name, a, nil
	}
	name = strings.TrimSuffix(name, ".")
	if !isName(name) {
		return "", none, fmt.Errorf("%.60q is no host name", text)
	}
	return name, none, nil
}

// encodedNames are the international names, in ASCII, that a browser takes (WHATWG URL, "domain to ASCII").
var encodedNames = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(), idna.CheckJoiners(true),
	idna.CheckHyphens(false), idna.StrictDomainName(false))

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// lastLabelIsNumber says whether some parser would take the host for an IPv4 address (WHATWG URL, "ends in a number").
func lastLabelIsNumber(host string) bool {
	host = strings.TrimSuffix(host, ".")
	label := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(label, "0x"); ok && strings.Trim(hex, "0123456789abcdefABCDEF") == "" {
		return true
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

// isName says whether s is a DNS name of letters, digits, hyphens and underscores in lower case.
func isName(s string) bool {
	if len(s) == 0 || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if len(label) == 0 || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if c := label[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}

// isLocalName says whether a name is the machine's own (RFC 6761).
func isLocalName(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// checkEscapes refuses a percent sign that escapes nothing: who would read it as what?
func checkEscapes(path string) error {
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && (i+2 >= len(path) || !isHex(path[i+1]) || !isHex(path[i+2])) {
			return errors.New("the URL's path has a % that is not followed by two hexadecimal digits")
		}
	}
	return nil
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

// cleanPath takes the dot segments out of a path, spelt with escapes or without (WHATWG URL, path state).
func cleanPath(path string) string {
	path = strings.TrimPrefix(path, "/")
	var kept []string
	segments := strings.Split(path, "/")
	for i, s := range segments {
		last := i == len(segments)-1
		switch strings.ReplaceAll(strings.ToLower(s), "%2e", ".") {
		case "..":
			kept = kept[:max(0, len(kept)-1)]
			if last {
				kept = append(kept, "")
			}
		case ".":
			if last {
				kept = append(kept, "")
			}
		default:
			kept = append(kept, s)
		}
	}
	return "/" + strings.Join(kept, "/")
}

// isAmbiguous says whether a server might find a parent folder in the path that a URL parser does not: behind an escaped
// slash, a backslash, an escape of an escape, a parameter, a control character, or a character in more bytes than it has.
func isAmbiguous(path string) bool {
	for range 3 {
		for i := range len(path) {
			if c := path[i]; c < ' ' || c == 0x7f || (c == 0xc0 || c == 0xc1) && i+1 < len(path) && path[i+1]&0xc0 == 0x80 {
				return true
			}
		}
		for segment := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' || r == '\\' }) {
			if name, _, _ := strings.Cut(segment, ";"); name == ".." || name == "." && name != segment {
				return true
			}
		}
		decoded, err := url.PathUnescape(path)
		if err != nil {
			return true
		}
		if decoded == path {
			return false
		}
		path = decoded
	}
	return true
}

// String is the URL.
func (t target) String() string { return t.scheme + "://" + t.authorityText() + t.path + t.query }

// authorityText is the host, and the port where it is not the scheme's own.
func (t target) authorityText() string {
	if t.port == defaultPort(t.scheme) {
		return t.host
	}
	return t.host + ":" + strconv.Itoa(int(t.port))
}

// sameOrigin says whether what one may know the other may (scheme, host and port).
func (t target) sameOrigin(o target) bool {
	return t.scheme == o.scheme && t.host == o.host && t.port == o.port
}

// hostPort is what is dialled.
func (t target) hostPort() string { return t.host + ":" + strconv.Itoa(int(t.port)) }

// resolve reads a Location header relative to t.
func (t target) resolve(location string) (target, error) {
	location = strings.Trim(location, " ") // as browsers do
	var escaped strings.Builder
	for i := range len(location) {
		switch c := location[i]; {
		case c < ' ' || c == 0x7f || c == '\\':
			return target{}, errors.New("the redirect's location holds a control character or a backslash")
		case c == ' ' || c > 0x7f: // as browsers do it; where a host should be, it is none then
			fmt.Fprintf(&escaped, "%%%02X", c)
		default:
			escaped.WriteByte(c)
		}
	}
	location = escaped.String()
	if rest, ok := strings.CutPrefix(location, "//"); ok && (rest == "" || strings.IndexByte("/?#", rest[0]) >= 0) {
		// After more than two slashes a browser looks for a server, others for a path.
		return target{}, errors.New("the redirect's location names no server after its slashes")
	}
	ref, err := url.Parse(location)
	if err != nil || ref.Opaque != "" {
		return target{}, errors.New("the redirect's location is no URL")
	}
	if ref.Scheme == "" {
		location = t.base(location) + location
	}
	return parseTarget(location)
}

// base is what of t stands before a relative location; its path is cleaned with the location's, which net/url would do in
// another way than browsers.
func (t target) base(location string) string {
	origin := t.scheme + "://" + t.authorityText()
	switch {
	case strings.HasPrefix(location, "//"):
		return t.scheme + ":"
	case strings.HasPrefix(location, "/"):
		return origin
	case strings.HasPrefix(location, "?"):
		return origin + t.path
	case location == "", strings.HasPrefix(location, "#"):
		return origin + t.path + t.query
	}
	return origin + t.path[:strings.LastIndexByte(t.path, '/')+1]
}
