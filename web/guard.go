package web

import (
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// guard says why a request may not pass, before any of its body is read. It is the sole border between a client and the
// handlers: whoever passes has a key, or asks for what is open to everyone.
func (s *Server) guard(x *exchange) *apiError {
	r := x.r
	if !s.ours(r) {
		return fail(http.StatusMisdirectedRequest, codeMisdirected, "the name in Host is not this server's: the operator lists its names under hosts")
	}
	if e := s.checkOrigin(x); e != nil {
		return e
	}
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		return nil // a preflight has no key and starts nothing
	}
	if open(r) {
		return nil
	}
	if x.key = s.keys.find(bearer(r)); x.key == nil {
		return errUnauthorized
	}
	return nil
}

// open says whether a request needs no key: it is for the page, or asks whether the server lives. The path is taken
// decoded, and what is below /v1 is never open, whatever else it may be called.
func open(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	first, _, _ := strings.Cut(strings.TrimLeft(r.URL.Path, "/"), "/")
	switch first {
	case "v1", "metrics", "mcp", "debug":
		return false
	}
	return true
}

// ours says whether the request's Host names this server.
func (s *Server) ours(r *http.Request) bool {
	host := strings.ToLower(r.Host)
	if len(s.cfg.Hosts) > 0 {
		return slices.ContainsFunc(s.cfg.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	tcp, ok := local.(*net.TCPAddr)
	if !ok {
		return local.Network() == "unix" && host == "localhost"
	}
	own := tcp.AddrPort()
	addr := own.Addr().Unmap().WithZone("")
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.Trim(host, "[]"), defaultPort(r)
	}
	if port != strconv.Itoa(int(own.Port())) {
		return false
	}
	if name == "localhost" {
		return addr.IsLoopback()
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap() == addr
}

func defaultPort(r *http.Request) string {
	if r.TLS != nil {
		return "443"
	}
	return "80"
}

// checkOrigin refuses what a page of another origin sends, but for those that the operator named. There is nothing
// ambient for such a page to use (no cookie, no client certificate), and still it is kept out.
func (s *Server) checkOrigin(x *exchange) *apiError {
	r := x.r
	origins, sent := r.Header["Origin"]
	if !sent {
		// A browser that leaves Origin out says by this header where the request comes from. Following a link to the
		// page is fine.
		site := r.Header.Get("Sec-Fetch-Site")
		if (site == "cross-site" || site == "same-site") && !(open(r) && r.Header.Get("Sec-Fetch-Mode") == "navigate") {
			return errForeign
		}
		return nil
	}
	if len(origins) != 1 {
		return errForeign
	}
	origin := strings.ToLower(origins[0])
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	switch host := strings.ToLower(r.Host); {
	case origin == scheme+host:
		return nil
	case len(s.cfg.Hosts) > 0 && origin == "https://"+host: // TLS ends before us
		return nil
	case slices.Contains(s.cfg.Origins, origin):
		h := x.Header()
		h.Set("Access-Control-Allow-Origin", origin)
		h.Add("Vary", "Origin")
		h.Set("Access-Control-Expose-Headers", "X-Request-Id, Retry-After, Location, Traceparent, Idempotency-Replayed, Content-Range, Content-Disposition, Mcp-Session-Id")
		return nil
	}
	return errForeign
}

// checkQuery refuses parameters in a query that the route does not have: a misspelt one would be taken for one left out.
func checkQuery(raw string, known []string) error {
	if raw == "" {
		return nil
	}
	given, err := url.ParseQuery(raw)
	if err != nil {
		return invalidf("the query %s is not well escaped", quoted(raw))
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		switch {
		case !slices.Contains(known, name) && len(known) == 0:
			return invalidf("unknown query parameter %s: there are none here", quoted(name))
		case !slices.Contains(known, name):
			return invalidf("unknown query parameter %s: there are %s", quoted(name), strings.Join(known, ", "))
		case len(given[name]) > 1:
			return invalidf("the query parameter %s is there twice", quoted(name))
		}
	}
	return nil
}

var errForeign = fail(http.StatusForbidden, codeForbidden, "a page of another origin sent this request: the operator lists such origins under origins")

// preflight answers a browser's question before a request of another origin. Without an allowed origin it allows
// nothing.
func (s *Server) preflight(x *exchange) {
	h := x.Header()
	if h.Get("Access-Control-Allow-Origin") != "" {
		h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, Range, If-Match, If-None-Match, Last-Event-ID, Idempotency-Key, Prefer, Traceparent, X-Request-Id, Mcp-Session-Id, Mcp-Protocol-Version")
		h.Set("Access-Control-Max-Age", "600")
	}
	x.WriteHeader(http.StatusNoContent)
}

// validOrigin says whether o is an origin as a browser sends it.
func validOrigin(o string) bool {
	u, err := url.Parse(o)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && o == strings.ToLower(u.Scheme+"://"+u.Host)
}
