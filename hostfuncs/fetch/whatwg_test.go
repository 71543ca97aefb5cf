package fetch

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// modelURL is what a browser reads in a URL: the WHATWG URL standard's parser for http and https, written after its states and
// without regard to parseTarget.
type modelURL struct {
	scheme, host string
	port         uint16
	path         []string
	user         bool // it holds a user name or password
}

// modelParse reads text, relative to base when that is not nil. False is a failure, or a scheme that is neither.
func modelParse(text string, base *modelURL) (modelURL, bool) {
	text = strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
	text = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(text)
	text, _, _ = strings.Cut(text, "#")
	scheme, rest := modelScheme(text)
	switch {
	case scheme == "" && base == nil, scheme != "" && scheme != "http" && scheme != "https":
		return modelURL{}, false
	case scheme == "", base != nil && base.scheme == scheme && !strings.HasPrefix(rest, "//"):
		return modelRelative(rest, *base)
	}
	return modelAuthority(scheme, rest)
}

func modelScheme(text string) (scheme, rest string) {
	for i := range len(text) {
		c := text[i] | 0x20
		switch {
		case c >= 'a' && c <= 'z':
		case i > 0 && text[i] == ':':
			return strings.ToLower(text[:i]), text[i+1:]
		case i > 0 && (text[i] >= '0' && text[i] <= '9' || strings.IndexByte("+-.", text[i]) >= 0):
		default:
			return "", text
		}
	}
	return "", text
}

const modelSlashes = `/\`

func modelRelative(text string, base modelURL) (modelURL, bool) {
	u := base
	u.user = false
	path, _, asked := strings.Cut(text, "?")
	switch {
	case len(path) > 1 && strings.IndexByte(modelSlashes, path[0]) >= 0 && strings.IndexByte(modelSlashes, path[1]) >= 0:
		return modelAuthority(base.scheme, text)
	case path == "" && (asked || text == ""):
		return u, true
	case strings.IndexByte(modelSlashes, path[0]) >= 0:
		u.path = modelPath(nil, path[1:])
	default:
		u.path = modelPath(base.path[:max(0, len(base.path)-1)], path)
	}
	return u, true
}

func modelAuthority(scheme, text string) (modelURL, bool) {
	text = strings.TrimLeft(text, modelSlashes)
	end := len(text)
	if i := strings.IndexAny(text, `/\?`); i >= 0 {
		end = i
	}
	u := modelURL{scheme: scheme, port: defaultPort(scheme)}
	authority := text[:end]
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		u.user, authority = true, authority[i+1:]
	}
	host, port := authority, ""
	if i := strings.IndexByte(authority[strings.LastIndexByte(authority, ']')+1:], ':'); i >= 0 {
		i += strings.LastIndexByte(authority, ']') + 1
		host, port = authority[:i], authority[i+1:]
	}
	if port != "" {
		n := 0
		for _, c := range []byte(port) {
			if c < '0' || c > '9' || n > 65535 {
				return u, false
			}
			n = 10*n + int(c-'0')
		}
		if n > 65535 {
			return u, false
		}
		u.port = uint16(n)
	}
	var ok bool
	if u.host, ok = modelHost(host); !ok {
		return u, false
	}
	path, _, _ := strings.Cut(text[end:], "?")
	if path != "" {
		path = path[1:]
	}
	u.path = modelPath(nil, path)
	return u, true
}

func modelHost(text string) (string, bool) {
	if strings.HasPrefix(text, "[") {
		a, err := netip.ParseAddr(strings.TrimSuffix(text[1:], "]"))
		return "[" + a.String() + "]", err == nil && strings.HasSuffix(text, "]") && a.Is6() && a.Zone() == ""
	}
	decoded := modelDecode(text)
	host, err := encodedNames.ToASCII(decoded)
	if isASCII(decoded) && !strings.Contains(strings.ToLower(decoded), "xn--") {
		host, err = strings.ToLower(decoded), nil
	}
	if err != nil || host == "" || strings.ContainsAny(host, " #/:<>?@[\\]^|%\x7f") || strings.ContainsFunc(host, func(r rune) bool { return r < ' ' }) {
		return "", false
	}
	parts := strings.Split(host, ".")
	if n := len(parts); parts[n-1] == "" && n > 1 {
		parts = parts[:n-1]
	}
	last := parts[len(parts)-1]
	_, isNumber := modelNumber(last)
	if !isNumber && (last == "" || strings.Trim(last, "0123456789") != "") {
		return host, true
	}
	return modelIPv4(parts)
}

func modelDecode(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			n, _ := strconv.ParseUint(s[i+1:i+3], 16, 8) // two digits always are one
			b.WriteByte(byte(n))
			i += 2
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// modelNumber reads a part of an IPv4 address: decimal, octal or hexadecimal.
func modelNumber(s string) (uint64, bool) {
	radix := 10
	switch {
	case s == "":
		return 0, false
	case strings.HasPrefix(s, "0x"), strings.HasPrefix(s, "0X"):
		s, radix = s[2:], 16
	case len(s) > 1 && s[0] == '0':
		s, radix = s[1:], 8
	}
	if s == "" {
		return 0, true
	}
	if strings.ContainsAny(s, "+-_") {
		return 0, false
	}
	n, err := strconv.ParseUint(s, radix, 64)
	return n, err == nil
}

func modelIPv4(parts []string) (string, bool) {
	if len(parts) > 4 {
		return "", false
	}
	ip := uint64(0)
	for i, part := range parts {
		n, ok := modelNumber(part)
		last := i == len(parts)-1
		if !ok || !last && n > 255 || last && n >= 1<<(8*(5-len(parts))) {
			return "", false
		}
		if last {
			ip += n
		} else {
			ip += n << (8 * (3 - i))
		}
	}
	return netip.AddrFrom4([4]byte{byte(ip >> 24), byte(ip >> 16), byte(ip >> 8), byte(ip)}).String(), true
}

func modelPath(path []string, text string) []string {
	path = append([]string(nil), path...)
	segments := strings.FieldsFunc(strings.NewReplacer("/", "/\x00", `\`, "/\x00").Replace("\x00"+text), func(r rune) bool { return r == '/' })
	for i, s := range segments {
		s = strings.TrimPrefix(s, "\x00")
		last := i == len(segments)-1
		switch strings.ReplaceAll(strings.ToLower(s), "%2e", ".") {
		case "..":
			path = path[:max(0, len(path)-1)]
			if last {
				path = append(path, "")
			}
		case ".":
			if last {
				path = append(path, "")
			}
		default:
			path = append(path, s)
		}
	}
	return path
}

// agrees says how a target and what a browser reads differ; "" when they do not.
func (u modelURL) agrees(t target) string {
	host := u.host
	if !t.addr.IsValid() {
		host = strings.TrimSuffix(host, ".")
	}
	switch {
	case u.scheme != t.scheme:
		return "the scheme"
	case host != t.host:
		return "the host"
	case u.port != t.port:
		return "the port"
	case u.user:
		return "the user name"
	case !samePath(u.path, strings.Split(t.path[1:], "/")):
		return "the path"
	}
	return ""
}

// samePath says whether two paths have the same segments, however these are escaped.
func samePath(a, b []string) bool {
	return slices.EqualFunc(a, b, func(x, y string) bool {
		x, errX := url.PathUnescape(x)
		y, errY := url.PathUnescape(y)
		return errX == nil && errY == nil && x == y
	})
}

// odd are spellings that parsers are known to read differently.
var odd = []string{
	"http://example.com/v1/x", "HTTP:\\\\example.com\\a", "http:example.com", "http:///example.com", "https:/\\example.com/", " http://a/\n", "ht\ntp://a",
	"http://a@b/", "http://a\\@b/", "http://a#@b/", "http://a?@b/", "http://a:80#@b", "http://a:80@b:81/", "http://[::1]@b/", "http://a%40b/", "http://a%2fb/",
	"http://0177.1/", "http://0x7f.1/", "http://127.1/", "http://2130706433/", "http://017700000001", "http://127.0.0.1./", "http://127.0.0.0x1/", "http://1.2.3.08/",
	"http://0/", "http://0x/", "http://a.0x/", "http://256.256.256.256/", "http://1.1.1.1.1/", "http://%31%32%37.1/", "http://①②⑦.0.0.1/", "http://127。0。0。1/",
	"http://[::ffff:127.0.0.1]/", "http://[::127.0.0.1]/", "http://[1::]:80/", "http://[::1%25eth0]/", "http://[::1]a/", "http://[::1]:/",
	"http://bücher.example/", "http://xn--bcher-kva.example/", "http://XN--BCHER-KVA.example/", "http://faß.de/", "http://ⓛocalhost/", "http://a\u00adb/", "http://a\u200db/", "http://a..b/",
	"http://a./", "http://a../", "http://-a/", "http://a_b/", "http://a b/", "http://a:0/", "http://a:65536/", "http://a:080/", "http://a: 80/", "http://a:8\t0/",
	"http://h/a/../b/%2e%2E/./c", "http://h/a\\..\\b", "http://h/a//../b", "http://h/..%2fx", "http://h/%", "http://h/a|b^c", "http://h/é",
	"//b/x", "\\\\b/x", "/\\b", "\\/b", "/x/../..", "?q", "../y", ".", "", "http:", "https:", "http:x", "https:x", "http:/x", "///b", "/\t/b", "@b", ":80", "a:b", "file:///x",
}

// FuzzBrowser: whatever parseTarget accepts, a browser takes for the same server and path. So nothing that a pattern allows is another
// server to somebody on the way.
func FuzzBrowser(f *testing.F) {
	for _, s := range odd {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseTarget(text)
		if err != nil {
			return
		}
		for _, text := range []string{text, got.String()} {
			u, ok := modelParse(text, nil)
			if !ok {
				t.Fatalf("%q is %s, and no URL to a browser", text, got)
			}
			if what := u.agrees(got); what != "" {
				t.Fatalf("%q is %s, and to a browser %+v: they differ in %s", text, got, u, what)
			}
		}
	})
}

// FuzzLocation is FuzzBrowser for redirects.
func FuzzLocation(f *testing.F) {
	for _, s := range odd {
		f.Add("http://h:8080/v1/x?y", s)
	}
	f.Add("http://h", "http://hba//..//")
	for _, s := range []string{"", " ", " #a ", "?b", "..//c", "/d//../e", "f/./g", "//h2/i/../j?k"} {
		f.Add("https://h/v1//x/y?z", s)
	}
	f.Fuzz(func(t *testing.T, base, location string) {
		from, err := parseTarget(base)
		if err != nil {
			return
		}
		got, err := from.resolve(location)
		if err != nil {
			return
		}
		b, ok := modelParse(from.String(), nil)
		if !ok {
			t.Fatalf("%s is no URL to a browser", from)
		}
		u, ok := modelParse(location, &b)
		if !ok {
			t.Fatalf("from %s to %q is %s, and no URL to a browser", from, location, got)
		}
		if what := u.agrees(got); what != "" {
			t.Fatalf("from %s to %q is %s, and to a browser %+v: they differ in %s", from, location, got, u, what)
		}
	})
}

// FuzzBrowserPattern: a URL that a pattern allows is one that it allows to a browser, by the parts of the pattern itself.
func FuzzBrowserPattern(f *testing.F) {
	for _, s := range odd {
		for _, p := range []string{"example.com", "*.example.com", "http://b:80/v1/*", "127.0.0.1:80", "10.0.0.0/8", "https://*", "[::1]"} {
			f.Add(p, s)
		}
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		p, err := ParsePattern(pattern)
		if err != nil {
			return
		}
		got, err := parseTarget(text)
		if err != nil || !p.matches("GET", got) {
			return
		}
		u, ok := modelParse(text, nil)
		if !ok {
			t.Fatalf("%q allows %q, which is no URL to a browser", pattern, text)
		}
		host, path := strings.TrimSuffix(u.host, "."), "/"+strings.Join(u.path, "/")
		plain, err := url.PathUnescape(path)
		switch {
		case p.scheme != "" && u.scheme != p.scheme,
			p.host != "" && host != p.host,
			p.suffix != "" && !strings.HasSuffix(host, p.suffix),
			p.port != 0 && u.port != p.port,
			p.path != "" && (err != nil || !strings.HasPrefix(escapePath(path), p.path) || strings.Contains(plain+"/", "/../")):
			t.Fatalf("%q allows %q, which to a browser is %+v", pattern, text, u)
		case p.prefix.IsValid():
			if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err != nil || !p.prefix.Contains(a) {
				t.Fatalf("%q allows %q, which to a browser is at %s", pattern, text, host)
			}
		}
	})
}

// TestModel checks the model itself, by what the standard's own tests say.
func TestModel(t *testing.T) {
	base, _ := modelParse("http://h/a/b", nil)
	for text, want := range map[string]string{
		"HTTP:\\\\EXAMPLE.com\\a": "http://example.com:80/a", "http:c": "http://h:80/a/c", "https:c": "https://c:443/", "http://0177.1/": "http://127.0.0.1:80/", "http://0x7f000001": "http://127.0.0.1:80/",
		"http://2130706433/": "http://127.0.0.1:80/", "http://%31%32%37.1/": "http://127.0.0.1:80/", "http://①②⑦.0.0.1/": "http://127.0.0.1:80/", "http://127.0.0.1./": "http://127.0.0.1:80/",
		"http://a\\@b": "http://a:80/@b", "http://a:1@b:2/": "http://b:2/", "/\\b": "http://b:80/", "\t//b": "http://b:80/", "..": "http://h:80/", "?x": "http://h:80/a/b",
		"http://a.0x1.1": "", "http://1.2.3.08/": "", "http://256.1.1.1/": "", "http://a:70000/": "", "http://a b/": "", "http://": "", "mailto:a": "", "http://a%00b/": "", "http://[::1/": "",
		"http://bücher.example": "http://xn--bcher-kva.example:80/", "http://h/a//../%2E./c": "http://h:80/c", "http://h/a/%2e": "http://h:80/a/",
	} {
		u, ok := modelParse(text, &base)
		got := u.scheme + "://" + u.host + ":" + strconv.Itoa(int(u.port)) + "/" + strings.Join(u.path, "/")
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q: %s, %v; want %q", text, got, ok, want)
		}
	}
}
