package fetch

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/limits"
)

func TestParseTarget(t *testing.T) {
	tests := []struct{ url, want, err string }{
		{"http://example.com", "http://example.com/", ""},
		{"HTTP://Example.COM:80/a?b#c", "http://example.com/a?b", ""},
		{"https://example.com:443/", "https://example.com/", ""},
		{"https://example.com:80", "https://example.com:80/", ""},
		{"http://example.com.", "http://example.com/", ""},
		{"http://example.com?", "http://example.com/?", ""},
		{"http://example.com?a=http://other/", "http://example.com/?a=http://other/", ""},
		{"http://a_b.example.com/%2F", "http://a_b.example.com/%2F", ""},
		{"http://h/a/./b/../c/%2e%2E/d/", "http://h/a/d/", ""},
		{"http://h/../../x", "http://h/x", ""},
		{"http://h/a/..", "http://h/", ""},
		{"http://h//a", "http://h//a", ""},
		{`http://h/"<a%2Fb>^|{}[]` + "`?\"", `http://h/%22%3Ca%2Fb%3E%5E%7C%7B%7D%5B%5D%60?"`, ""},
		{"http://127.0.0.1:8000/", "http://127.0.0.1:8000/", ""},
		{"http://[::1]/", "http://[::1]/", ""},
		{"http://[0:0::0001]:8000/", "http://[::1]:8000/", ""},
		{"http://bücher.example/", "http://xn--bcher-kva.example/", ""},

		{"", "", "only http:// and https://"},
		{"example.com", "", "only http:// and https://"},
		{"//example.com/", "", "only http:// and https://"},
		{"http:/example.com", "", "only http:// and https://"},
		{"http:example.com", "", "only http:// and https://"},
		{"file:///etc/passwd", "", "only http:// and https://"},
		{"ftp://h/", "", "only http:// and https://"},
		{"http://", "", "is no host name"},
		{"http:///a", "", "is no host name"},
		{"http://u@h/", "", "user name"},
		{"http://h:80@evil/", "", "user name"},
		{"http://h\\@evil/", "", "backslash"},
		{"http://h /", "", "space"},
		{" http://h/", "", "space"},
		{"http://h/\r\nX: y", "", "control character"},
		{"http://h\t/", "", "control character"},
		{"http://h/\x00", "", "control character"},
		{"http://h/ä", "", "not ASCII"},
		{"http://h/%", "", "hexadecimal"},
		{"http://h/%zz", "", "hexadecimal"},
		{"http://h:", "http://h/", ""},
		{"http://h:0/", "", "is no port"},
		{"http://h:080/", "", "is no port"},
		{"http://h:+80/", "", "is no port"},
		{"http://h:65536/", "", "is no port"},
		{"http://h:8a/", "", "is no port"},
		{"http://h:1:2/", "", "is no host name"},
		{"http://127.1/", "", "four decimal numbers"},
		{"http://2130706433/", "", "four decimal numbers"},
		{"http://0x7f.0.0.1/", "", "four decimal numbers"},
		{"http://0x7f000001/", "", "four decimal numbers"},
		{"http://0177.0.0.1/", "", "four decimal numbers"},
		{"http://127.0.0.01/", "", "four decimal numbers"},
		{"http://127.0.0.1./", "", "four decimal numbers"},
		{"http://1.2.3.4.5/", "", "four decimal numbers"},
		{"http://a.1/", "", "four decimal numbers"},
		{"http://a.0x/", "", "four decimal numbers"},
		{"http://①②⑦.⓪.⓪.①/", "", "is no host name"},
		{"http://127。0。0。1/", "", "is no host name"},
		{"http://lo\u0441alhost\u200d/", "", "is no host name"},
		{"http://ⓛocalhost/", "", "is no host name"},
		{"http://xn--zn7c/", "", "is no host name"},
		{"http://XN--BCHER-KVA.example/", "http://xn--bcher-kva.example/", ""},
		{"http://%31%32%37.0.0.1/", "", "is no host"},
		{"http://[::1/", "", "is no"},
		{"http://[::1%25lo]/", "", "is no IPv6 address"},
		{"http://[127.0.0.1]/", "", "is no IPv6 address"},
		{"http://::1/", "", "is no"},
		{"http://-a.example/", "", "is no host name"},
		{"http://a..b/", "", "is no host name"},
		{"http://" + strings.Repeat("a", 64) + "/", "", "is no host name"},
		{"http://h/" + strings.Repeat("a", maxURL), "", "longer than 8192"},
		{"http://h/" + strings.Repeat("<", maxURL/2), "", "a URL of 12297 bytes is longer than 8192"}, // once it is escaped
	}
	for _, tt := range tests {
		got, err := parseTarget(tt.url)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: %v, error %v; want error %q", tt.url, got, err, tt.err)
			}
		} else if err != nil || got.String() != tt.want {
			t.Errorf("%q: %v, error %v; want %s", tt.url, got, err, tt.want)
		}
	}
}

func TestResolve(t *testing.T) {
	base, err := parseTarget("https://example.com/a/b?c")
	if err != nil {
		t.Fatal(err)
	}
	for location, want := range map[string]string{
		"/x": "https://example.com/x", "x": "https://example.com/a/x", "?y": "https://example.com/a/b?y", "//other/": "https://other/",
		"http://h:8080": "http://h:8080/", "../../..": "https://example.com/",
		"a b": "https://example.com/a/a%20b", "ä?ö": "https://example.com/a/%C3%A4?%C3%B6", "http://ä.example/": "", "http://h h/": "", "\x01": "", "a\tb": "",
		"http://u@h/": "", "file:///x": "", "javascript:1": "", "data:,x": "", "http://127.1/": "", "http://h\\@x/": "", "https:h": "", "///b": "", "//": "", "//?x": "",
	} {
		got, err := base.resolve(location)
		if want == "" && err == nil || want != "" && (err != nil || got.String() != want) {
			t.Errorf("%q: %v, error %v; want %q", location, got, err, want)
		}
	}
}

func TestPublic(t *testing.T) {
	for _, a := range []string{"1.1.1.1", "8.8.8.8", "93.184.216.34", "172.15.0.1", "172.32.0.1", "100.63.0.1", "2606:4700::1111", "2001:4860:4860::8888"} {
		if !public(netip.MustParseAddr(a)) {
			t.Errorf("%s is public", a)
		}
	}
	for _, a := range []string{
		"0.0.0.0", "0.1.2.3", "10.1.2.3", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.255", "169.254.169.254", "172.16.0.1",
		"172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.51.100.7", "203.0.113.9", "224.0.0.1",
		"240.0.0.1", "255.255.255.255", "168.63.129.16",
		"::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "::8.8.8.8", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::808:808",
		"64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "2002:808:808::", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254",
		"fe80::1", "fe80::1%lo", "fec0::1", "ff02::1",
	} {
		if public(netip.MustParseAddr(a)) {
			t.Errorf("%s is not public", a)
		}
	}
}

func TestPattern(t *testing.T) {
	tests := []struct {
		pattern  string
		yes, no  []string
		noMethod string
	}{
		{"*", []string{"http://a.example/", "https://a.example:8443/x"}, []string{"http://a.example:22/", "http://a.example:6379/"}, ""},
		{"example.com", []string{"http://example.com/", "https://example.com/x", "http://EXAMPLE.com./"},
			[]string{"http://example.com:8080/", "http://a.example.com/", "http://example.com.evil/", "http://evilexample.com/", "https://example.com:80/"}, ""},
		{"example.com:8080", []string{"http://example.com:8080/", "https://example.com:8080/"}, []string{"http://example.com/"}, ""},
		{"example.com:22", []string{"http://example.com:22/"}, nil, ""},
		{"example.com:*", []string{"http://example.com:1234/", "http://example.com/"}, []string{"http://other.com/"}, ""},
		{"*.example.org", []string{"http://a.example.org/", "http://a.b.example.org/"}, []string{"http://example.org/", "http://aexample.org/", "http://a.example.org.evil/"}, ""},
		{"https://example.com", []string{"https://example.com/", "https://example.com/a?b"}, []string{"http://example.com/", "http://example.com:443/"}, ""},
		{"https://example.com/", []string{"https://example.com/a"}, nil, ""},
		{"https://*", []string{"https://a/"}, []string{"http://a/", "https://a:8443/"}, ""},
		{"*://example.com:8443/x", []string{"http://example.com:8443/x", "https://example.com:8443/x?y"}, []string{"http://example.com:8443/x/", "http://example.com:8443/X"}, ""},
		{"https://example.com/v1/*", []string{"https://example.com/v1/", "https://example.com/v1/a/b", "https://example.com/v1/a?q=../.."},
			[]string{"https://example.com/v1", "https://example.com/v10", "https://example.com/v1/../admin", "https://example.com/v1/%2e%2e/admin",
				"https://example.com/v1/%2e%2e%2fadmin", "https://example.com/v1/..%2fadmin", "https://example.com/v1/..%5cadmin",
				"https://example.com/v1/%252e%252e/x", "https://example.com/v1/..;/admin", "https://example.com//v1/", "https://example.com/%76%31/"}, ""},
		{"GET,HEAD https://example.com", []string{"https://example.com/"}, []string{"https://a.example.com/"}, "POST"},
		{"127.0.0.1:8000", []string{"http://127.0.0.1:8000/", "https://127.0.0.1:8000/"}, []string{"http://127.0.0.1/", "http://127.0.0.2:8000/", "http://localhost:8000/"}, ""},
		{"[::1]:*", []string{"http://[::1]:8000/", "http://[0:0:0:0:0:0:0:1]/"}, []string{"http://[::2]/", "http://[::ffff:0:1]/"}, ""},
		{"localhost:8000", []string{"http://LOCALHOST:8000/", "http://localhost.:8000/"}, []string{"http://127.0.0.1:8000/", "http://a.localhost:8000/"}, ""},
		{"10.1.0.0/16", []string{"http://10.1.2.3/", "http://10.1.2.3:9999/"}, []string{"http://10.2.2.3/", "http://a.example/"}, ""},
		{"10.1.0.0/16:8080", []string{"http://10.1.2.3:8080/"}, []string{"http://10.1.2.3/"}, ""},
		{"fd00::/8", []string{"http://[fd12::1]/"}, []string{"http://[fe80::1]/"}, ""},
	}
	for _, tt := range tests {
		p, err := ParsePattern(tt.pattern)
		if err != nil {
			t.Errorf("%s: %v", tt.pattern, err)
			continue
		}
		for _, u := range append(tt.yes, tt.no...) {
			target, err := parseTarget(u)
			if err != nil {
				t.Errorf("%s: %v", u, err)
				continue
			}
			want := strings.Contains("\n"+strings.Join(tt.yes, "\n")+"\n", "\n"+u+"\n")
			if got := p.matches("GET", target); got != want {
				t.Errorf("%s matches %s: %v, want %v", tt.pattern, u, got, want)
			}
			if tt.noMethod != "" && p.matches(tt.noMethod, target) {
				t.Errorf("%s matches %s %s", tt.pattern, tt.noMethod, u)
			}
		}
	}
	for _, bad := range []string{
		"", "http://", "ftp://h", "http://u@h", "a*.example.com", "*.*.example.com", "http://h/a*b", "http://h/a?b", "http://h/../x", "http://h/%2e%2e/",
		"http://h/..;/x", "h:0", "h:08", "h:99999", "127.1", "0x7f.1", "10.0.0.1/8", "10.0.0.0/33", "*.127.0.0.1", "BREW h", "GET  h", "h h", "h\\x", "h/ä",
		"::ffff:10.0.0.0/104",
	} {
		if p, err := ParsePattern(bad); err == nil {
			t.Errorf("%q is a pattern: %+v", bad, p)
		}
	}
}

func TestJudge(t *testing.T) {
	policy := func(allow ...string) *Policy {
		list, err := ParsePatterns(allow)
		if err != nil {
			t.Fatal(err)
		}
		return &Policy{Allow: list}
	}
	private := policy("*")
	private.Private = prefixes("127.0.0.0/8")
	narrow := func(p *Policy, allow ...string) *Policy {
		n, err := p.Narrow(allow)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	tests := []struct {
		name    string
		policy  *Policy
		url     string
		allowed bool
		dials   string // addresses that may be dialled for it, and
		refuses string // that may not
	}{
		{"nothing", &Policy{}, "http://example.com/", false, "", ""},
		{"a star opens what is public", policy("*"), "http://example.com/", true, "8.8.8.8", "127.0.0.1 10.0.0.1 169.254.169.254 ::1 fd00::1"},
		{"and no address", policy("*"), "http://127.0.0.1/", false, "", ""},
		{"nor any spelling", policy("*"), "http://[::ffff:127.0.0.1]/", false, "", ""},
		{"a name opens nothing", policy("intranet.example"), "http://intranet.example/", true, "8.8.8.8", "10.0.0.1 127.0.0.1"},
		{"an address is named", policy("127.0.0.1:8000"), "http://127.0.0.1:8000/", true, "127.0.0.1", "127.0.0.2 ::1"},
		{"with its port only", policy("127.0.0.1:8000", "*"), "http://127.0.0.1:8001/", false, "", ""},
		{"and path", policy("http://127.0.0.1:8000/api/*", "*"), "http://127.0.0.1:8000/", false, "", ""},
		{"for itself only", policy("127.0.0.1:8000", "example.com:8000"), "http://example.com:8000/", true, "", "127.0.0.1"},
		{"localhost", policy("localhost:8000"), "http://localhost:8000/", true, "127.0.0.1 ::1", "10.0.0.1"},
		{"a range", policy("10.1.0.0/16", "intranet.example"), "http://intranet.example/", true, "10.1.2.3", "10.2.0.1"},
		{"a range with a port", policy("10.1.0.0/16:8080", "intranet.example"), "http://intranet.example/", true, "", "10.1.2.3"},
		{"private", private, "http://example.com/", true, "127.0.0.1", "10.0.0.1"},
		{"narrowed", narrow(policy("*"), "a.example"), "http://b.example/", false, "", ""},
		{"narrowed to it", narrow(policy("*"), "a.example"), "http://a.example/", true, "8.8.8.8", "127.0.0.1"},
		{"narrowed twice", narrow(narrow(policy("*"), "a.example"), "b.example"), "http://a.example/", false, "", ""},
		{"narrowed to nothing", narrow(policy("*")), "http://a.example/", false, "", ""},
		{"a list cannot widen", narrow(policy("a.example"), "*", "b.example"), "http://b.example/", false, "", ""},
		{"a list opens no address", narrow(policy("*"), "127.0.0.1"), "http://127.0.0.1/", false, "", ""},
		{"a list opens no range", narrow(policy("*"), "*", "10.0.0.0/8"), "http://a.example/", true, "", "10.0.0.1"},
		{"a range in a list is no name", narrow(policy("*"), "10.0.0.0/8"), "http://a.example/", false, "", ""},
	}
	for _, tt := range tests {
		target, err := parseTarget(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		v := tt.policy.judge("GET", target)
		if v.allowed != tt.allowed || v.allowed != (v.reason == "") {
			t.Errorf("%s: allowed %v, reason %q", tt.name, v.allowed, v.reason)
		}
		for list, want := range map[string]bool{tt.dials: true, tt.refuses: false} {
			for a := range strings.FieldsSeq(list) {
				if mayDial(netip.MustParseAddr(a), v.open) != want {
					t.Errorf("%s: dials %s is not %v", tt.name, a, want)
				}
			}
		}
	}
	if n, err := (*Policy)(nil).Narrow([]string{"*"}); n != nil || err != nil {
		t.Errorf("nothing was narrowed to %v, %v", n, err)
	}
}

func TestFromPolicy(t *testing.T) {
	env := func(name string) string { return map[string]string{"TOKEN": "12345678"}[name] }
	p, err := FromPolicy(&limits.Network{
		Profile: "data", Allow: []string{"example.com"}, Private: []string{"10.0.0.0/8"}, Requests: 5,
		Secrets: []limits.NetworkSecret{{For: "https://example.com", Header: "X-Key", Env: "TOKEN", Prefix: "k "}},
	}, env)
	if err != nil {
		t.Fatal(err)
	}
	u, err := parseTarget("https://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	if !p.judge("GET", u).allowed || p.judge("POST", u).allowed || p.Limits.Requests != 5 || p.Limits.PerSecond != 10 || p.Secrets[0].Value != "k 12345678" ||
		len(p.Private) != 1 {
		t.Errorf("%+v", p)
	}
	if p, err := FromPolicy(&limits.Network{Profile: "offline", Allow: []string{"*"}}, env); p != nil || err != nil {
		t.Errorf("offline is %v, %v", p, err)
	}
	for want, n := range map[string]*limits.Network{
		"profile \"x\" is unknown":                   {Profile: "x"},
		"pattern \"ftp://h\"":                        {Allow: []string{"ftp://h"}},
		"private range \"10.0.0.1/8\"":               {Private: []string{"10.0.0.1/8"}},
		"the environment variable NONE is empty":     {Secrets: []limits.NetworkSecret{{For: "https://h", Header: "A", Env: "NONE"}}},
		"must name a scheme and a server":            {Secrets: []limits.NetworkSecret{{For: "*", Header: "A", Env: "TOKEN"}}},
		"secret \"Content-Length\": that is no name": {Secrets: []limits.NetworkSecret{{For: "https://h", Header: "Content-Length", Env: "TOKEN"}}},
	} {
		if _, err := FromPolicy(n, env); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestPorts(t *testing.T) {
	for allow, want := range map[string]string{
		"example.com": "[80 443]", "https://example.com 127.0.0.1:8000 http://a:8000": "[443 8000]", "*": "[0]", "a a:* b:1": "[0]", "": "[]", "10.0.0.0/8:81": "[81]",
	} {
		list, err := ParsePatterns(strings.Fields(allow))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint((&Policy{Allow: list}).Ports()); got != want {
			t.Errorf("%s leads to %s, want %s", allow, got, want)
		}
	}
}

// What is accepted means the same to net/url, and to parseTarget when it is read again.
func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"http://example.com/a?b#c", "https://[::1]:8000/%2e%2e/x", "http://h:80//..;/", "http://bücher/", "http://1.2.3.4/?a=%", "http://h?x=\"<>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseTarget(text)
		if err != nil {
			return
		}
		again, err := parseTarget(got.String())
		if err != nil || again != got {
			t.Fatalf("%q gives %q, which gives %q, error %v", text, got, again, err)
		}
		u, err := url.Parse(got.String())
		if err != nil {
			t.Fatalf("%q gives %q: %v", text, got, err)
		}
		host, port := "["+u.Hostname()+"]", u.Port()
		if !got.addr.Is6() {
			host = u.Hostname()
		}
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		if u.Scheme != got.scheme || host+":"+port != got.hostPort() || u.User != nil || u.Fragment != "" || u.Opaque != "" {
			t.Fatalf("%q gives %+v, net/url reads %+v", text, got, u)
		}
		if !got.addr.IsValid() && (lastLabelIsNumber(got.host) || !isName(got.host)) {
			t.Fatalf("%q gives the name %q", text, got.host)
		}
		plain, err := url.PathUnescape(got.path)
		if sent := (&url.URL{Path: plain, RawPath: got.path}).EscapedPath(); err != nil || sent != got.path {
			t.Fatalf("%q is judged by the path %q and sent with %q", text, got.path, sent)
		}
		for segment := range strings.SplitSeq(got.path, "/") {
			if d, err := url.PathUnescape(segment); err != nil || d == ".." || d == "." {
				t.Fatalf("%q gives the path %q", text, got.path)
			}
		}
	})
}

// A pattern never matches more than its parts say, whatever it and the URL look like.
func FuzzPattern(f *testing.F) {
	f.Add("https://example.com/v1/*", "https://example.com/v1/%2e%2e%2fx")
	f.Add("*.example.org", "http://a.example.org/")
	f.Add("10.0.0.0/8:80", "http://10.1.1.1/")
	f.Add("GET *", "http://h/")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		p, err := ParsePattern(pattern)
		if err != nil {
			return
		}
		if again, err := ParsePattern(p.String()); err != nil || again.text != p.text {
			t.Fatalf("%q is read once only: %v", pattern, err)
		}
		u, err := parseTarget(text)
		if err != nil || !p.matches("GET", u) {
			return
		}
		if p.host != "" && u.host != p.host || p.suffix != "" && !strings.HasSuffix(u.host, p.suffix) || p.prefix.IsValid() && !p.prefix.Contains(u.addr) {
			t.Errorf("%q matches %q", pattern, text)
		}
		if plain, _ := url.PathUnescape(u.path); p.path != "" && (!strings.HasPrefix(u.path, p.path) || strings.Contains(plain+"/", "/../")) {
			t.Errorf("%q matches the path of %q", pattern, text)
		}
		for _, open := range p.opens(u) {
			if p.any || open.Bits() == 0 && !p.prefix.IsValid() {
				t.Errorf("%q opens %s", pattern, open)
			}
		}
	})
}
