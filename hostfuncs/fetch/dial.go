package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// Bounds of connecting.
const (
	maxAddresses = 32 // that a name may have
	maxDials     = 4  // of those are tried
	dialTimeout  = 10 * time.Second
	maxHeaders   = 256 << 10 // bytes of an answer's head
)

// A dialer connects to what a verdict opens. It is the sole way out: it looks the name up, dials an address that it has
// checked, and what is dialled is checked once more when the system is about to connect.
type dialer struct {
	policy      *Policy
	open        []netip.Prefix
	connections *connections // that may be used instead
}

// blocked is a refusal to dial.
type blocked struct{ host string }

func (e *blocked) Error() string { return fmt.Sprintf("%s is not at a public address", e.host) }

// mayDial says whether an address may be dialled: it is public, or in a range that is open.
func mayDial(a netip.Addr, open []netip.Prefix) bool { return public(a) || within(a, open) }

// dial connects to a host and port of a target.
func (d *dialer) dial(ctx context.Context, _, hostPort string) (net.Conn, error) {
	if conn := d.connections.take(server("http", hostPort), d); conn != nil {
		return conn, nil
	}
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	addrs, err := d.lookUp(ctx, host)
	if err != nil {
		return nil, err
	}
	tried := 0
	var last error = &blocked{host}
	for _, a := range addrs {
		if !mayDial(a, d.open) || tried == maxDials {
			continue
		}
		tried++
		one := net.Dialer{Timeout: dialTimeout, ControlContext: d.control}
		conn, err := one.DialContext(ctx, "tcp", net.JoinHostPort(a.String(), port))
		if err == nil {
			return conn, nil
		}
		last = err
		if ctx.Err() != nil {
			break
		}
	}
	return nil, last
}

var errHandshake = errors.New("TLS handshake")

// dialTLS connects to a host and port, and makes the connection safe.
func (d *dialer) dialTLS(ctx context.Context, network, hostPort string) (net.Conn, error) {
	if conn := d.connections.take(server("https", hostPort), d); conn != nil {
		return conn, nil
	}
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	conn, err := d.dial(ctx, network, hostPort)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, dialTimeout)
	defer stop()
	safe := tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: d.policy.Roots, ServerName: host})
	if err := safe.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%w: %w", errHandshake, err)
	}
	return safe, nil
}

// control looks at the address that the system is about to connect to.
func (d *dialer) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil || !mayDial(a.Addr(), d.open) {
		return &blocked{"the server"}
	}
	return nil
}

// lookUp gives the addresses of a host. A name that a translator could read as another address family's comes as it is: an
// IPv4 address mapped into IPv6 is taken for the IPv4 address, and other such forms are not public.
func (d *dialer) lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	if isLocalName(host) {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	resolver := d.policy.Resolver
	if resolver == nil {
		resolver = &net.Resolver{PreferGo: true}
	}
	// With a dot at its end the name is whole: nothing is appended to it.
	addrs, err := resolver.LookupNetIP(ctx, "ip", host+".")
	if err != nil {
		return nil, err
	}
	addrs = addrs[:min(len(addrs), maxAddresses)]
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs, nil
}

// newTransport makes the connections of one run to what is open. HTTP/1.1 only: one request, one answer, and no proxy of the
// environment's.
func newTransport(d *dialer) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext:            d.dial,
		DialTLSContext:         d.dialTLS,
		Protocols:              protocols,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    4,
		MaxIdleConns:           16,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: maxHeaders,
	}
}
