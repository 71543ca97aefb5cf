package fetch

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// A Pattern says which requests are allowed.
//
//   - any public server, http and https, any port but those of other protocols
//     api.example.com                 its default ports (80 for http, 443 for https)
//     api.example.com:8443            that port, http or https; :* is any
//     *.example.org                   names below example.org, not itself
//     https://api.example.com         one scheme; *://, or none, is both
//     https://api.example.com/v1/*    paths that begin with /v1/; without the star just that path
//     GET,HEAD https://example.com    these methods only
//     127.0.0.1:8000, [::1]:8000      an address; it is open although it is not public
//     localhost:8000                  the machine's own addresses
//     10.1.0.0/16, 10.1.0.0/16:8080   a range: its addresses, and names that are allowed may lead into it
//
// A pattern that names no address opens public ones only. Paths without dot segments are compared byte by byte.
type Pattern struct {
	text    string
	methods []string // nil: any
	scheme  string   // "": both
	any     bool     // any host
	suffix  string   // ".example.org"
	host    string   // canonical, as in target
	prefix  netip.Prefix
	port    uint16 // 0: the scheme's own
	anyPort bool
	path    string // "": any
	partial bool   // path is a beginning
}

// String is the text that the pattern was made from.
func (p Pattern) String() string { return p.text }

// MarshalText implements [encoding.TextMarshaler].
func (p Pattern) MarshalText() ([]byte, error) { return []byte(p.text), nil }

// UnmarshalText implements [encoding.TextUnmarshaler], as [ParsePattern] does it.
func (p *Pattern) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePattern(string(text))
	return err
}

// ParsePattern reads a pattern. It refuses whatever does not clearly mean one thing.
func ParsePattern(text string) (Pattern, error) {
	p := Pattern{text: text}
	err := p.parse(text)
	if err != nil {
		err = fmt.Errorf("pattern %.100q: %w", text, err)
	}
	return p, err
}

func (p *Pattern) parse(text string) error {
	if len(text) > maxURL {
		return fmt.Errorf("longer than %d bytes", maxURL)
	}
	if methods, rest, ok := strings.Cut(text, " "); ok {
		for m := range strings.SplitSeq(methods, ",") {
			if !slices.Contains(methodsAllowed, m) {
				return fmt.Errorf("%q is no method: there are %s", m, strings.Join(methodsAllowed, ", "))
			}
			p.methods = append(p.methods, m)
		}
		text = rest
	}
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c == 0x7f || c == '\\' {
			return errors.New("it holds a space, a control character or a backslash")
		}
	}
	scheme, rest, ok := strings.Cut(text, "://")
	switch {
	case !ok:
		rest = text
	case scheme == "http" || scheme == "https":
		p.scheme = scheme
	case scheme != "*":
		return fmt.Errorf("the scheme %.20q is neither http, https nor *", scheme)
	}
	if rest == "*" && !ok {
		p.any, p.anyPort = true, true
		return nil
	}
	if !ok && p.isRange(rest) {
		return p.parseRange(rest)
	}
	authority, path, found := strings.Cut(rest, "/")
	if err := p.parseAuthority(authority); err != nil {
		return err
	}
	if found && path != "" { // a slash alone is how people end the name of a server
		return p.parsePath("/" + path)
	}
	return nil
}

// isRange says whether text looks like 10.0.0.0/8 or 10.0.0.0/8:8080, which no host and path do.
func (p *Pattern) isRange(text string) bool {
	addr, bits, ok := strings.Cut(text, "/")
	if !ok {
		return false
	}
	bits, _, _ = strings.Cut(bits, ":")
	_, err := netip.ParseAddr(strings.Trim(addr, "[]"))
	return err == nil && bits != "" && strings.Trim(bits, "0123456789") == ""
}

func (p *Pattern) parseRange(text string) error {
	addr, bits, _ := strings.Cut(text, "/")
	bits, port, ok := strings.Cut(bits, ":")
	p.anyPort = !ok
	if ok {
		if err := p.parsePort(port); err != nil {
			return err
		}
	}
	prefix, err := netip.ParsePrefix(strings.Trim(addr, "[]") + "/" + bits)
	if err != nil || prefix != prefix.Masked() || prefix.Addr().Is4In6() {
		return errors.New("no range of addresses, such as 10.1.0.0/16 with zeros behind the prefix")
	}
	p.prefix = prefix
	return nil
}

func (p *Pattern) parseAuthority(text string) error {
	if strings.Contains(text, "@") {
		return errors.New("it holds a user name")
	}
	host := text
	if i := strings.LastIndexByte(text, ':'); i >= 0 && !strings.HasSuffix(text, "]") {
		host = text[:i]
		if err := p.parsePort(text[i+1:]); err != nil {
			return err
		}
	}
	if host == "*" {
		p.any = true
		return nil
	}
	if below, ok := strings.CutPrefix(host, "*."); ok {
		name, addr, err := parseHost(below)
		if err == nil && addr.IsValid() {
			err = errors.New("an address has nothing below it")
		}
		p.suffix = "." + name
		return err
	}
	if strings.Contains(host, "*") {
		return errors.New("a star stands for a whole host, or for what is below a name: *.example.org")
	}
	name, _, err := parseHost(host)
	p.host = name
	return err
}

func (p *Pattern) parsePort(text string) error {
	if text == "*" {
		p.anyPort = true
		return nil
	}
	n, err := parsePort(text)
	p.port = n
	return err
}

func (p *Pattern) parsePath(path string) error {
	path, p.partial = strings.CutSuffix(path, "*")
	switch {
	case strings.ContainsAny(path, "*"):
		return errors.New("a path may have one star, at its end")
	case strings.ContainsAny(path, "?#"):
		return errors.New("a pattern has no query: it holds for any")
	case !isASCII(path):
		return errors.New("the path is not ASCII: percent-encode it")
	case checkEscapes(path) != nil || cleanPath(path) != path || isAmbiguous(path):
		return errors.New("the path has dot segments or stray percent signs")
	}
	if p.partial && path == "/" {
		return nil
	}
	p.path = escapePath(path)
	return nil
}

// matches says whether a request for t by that method is allowed by p, as far as can be told before its name is resolved.
func (p *Pattern) matches(method string, t target) bool {
	switch {
	case p.methods != nil && !slices.Contains(p.methods, method), !p.matchesServer(t):
		return false
	case p.path == "":
		return true
	case isAmbiguous(t.path):
		return false
	case p.partial:
		return strings.HasPrefix(t.path, p.path)
	}
	return t.path == p.path
}

// matchesServer says whether p allows some request to the server of t.
func (p *Pattern) matchesServer(t target) bool {
	return (p.scheme == "" || p.scheme == t.scheme) && p.matchesHost(t) && p.matchesPort(t)
}

func (p *Pattern) matchesHost(t target) bool {
	switch {
	case p.any:
		return true
	case p.suffix != "":
		return !t.addr.IsValid() && strings.HasSuffix(t.host, p.suffix)
	case p.prefix.IsValid():
		return t.addr.IsValid() && p.prefix.Contains(t.addr)
	}
	return t.host == p.host
}

func (p *Pattern) matchesPort(t target) bool {
	switch {
	case p.port != 0:
		return t.port == p.port
	case p.anyPort:
		return !p.any || !isOtherProtocol(t.port)
	}
	return t.port == defaultPort(t.scheme)
}

// opens are the addresses that are open to t although they are not public, because p names them. Preconditions: p matches t.
func (p *Pattern) opens(t target) []netip.Prefix {
	switch {
	case p.prefix.IsValid():
		return []netip.Prefix{p.prefix}
	case p.any:
		return nil
	case t.addr.IsValid():
		return []netip.Prefix{netip.PrefixFrom(t.addr, t.addr.BitLen())}
	case isLocalName(t.host):
		return loopback
	}
	return nil
}

// isOtherProtocol says whether a port is that of a protocol which could take a request for something else (WHATWG Fetch,
// port blocking). Such a port must be named.
func isOtherProtocol(port uint16) bool {
	_, found := slices.BinarySearch(otherProtocols, port)
	return found
}

var otherProtocols = []uint16{
	1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111,
	113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548,
	554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6379, 6566,
	6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211,
}
