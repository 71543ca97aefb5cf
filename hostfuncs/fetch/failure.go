package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"syscall"

	"github.com/cloche-dev/cloche/hostfuncs"
)

// refused is an error that the program sees.
func refused(name, format string, args ...any) error { return hostfuncs.Refuse(name, format, args...) }

// failed is what became of a request, or of its answer's body, as the program is to see it; sent says that the request was on its way.
// A refusal stays what it is, and a call that was given up is context.Canceled.
func (c *Client) failed(ctx context.Context, err error, sent bool) error {
	if refusal, ok := errors.AsType[*hostfuncs.Refusal](err); ok {
		return refusal
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, context.Canceled) {
		return context.Canceled
	}
	kind, message := failure(err, sent)
	return refused(kind, "%s", c.mask.text(message))
}

// seen is the refusal that an error is in the end; a fault of our own is for the log.
func (c *Client) seen(err error) *hostfuncs.Refusal {
	if refusal, ok := errors.AsType[*hostfuncs.Refusal](err); ok {
		return refusal
	}
	if errors.Is(err, context.Canceled) {
		return &hostfuncs.Refusal{Name: "CancelledError", Message: "the program gave up"}
	}
	if c.log != nil {
		c.log.Error("http request", slog.String("fault", err.Error()))
	}
	return &hostfuncs.Refusal{Name: "ConnectionError", Message: "the request failed"}
}

// failure is what a program is told of a request that failed: a kind and words without a host's address or file. sent says
// that it was on its way.
func failure(err error, sent bool) (kind, message string) {
	if b, ok := errors.AsType[*blocked](err); ok {
		return "PermissionError", b.Error()
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		name := strings.TrimSuffix(dns.Name, ".")
		if dns.IsNotFound {
			return "ResolveError", fmt.Sprintf("there is no host %.100s", name)
		}
		return "ResolveError", fmt.Sprintf("the name %.100s cannot be looked up", name)
	}
	var timeout net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return "TimeoutError", "the request took too long"
	}
	if reason := mistrust(err); reason != "" {
		return "CertificateError", "the server's certificate cannot be trusted: " + reason
	}
	remote, isOp := errors.AsType[*net.OpError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case noTLS:
		return "TLSError", "the server does not speak TLS"
	case isOp && remote.Op == "remote error": // an alert, as crypto/tls has it
		return "TLSError", "the server refuses the TLS connection"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "ConnectionRefusedError", "the connection was refused"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "ConnectionError", "the network is unreachable"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "ConnectionResetError", "the server closed the connection"
	case errors.Is(err, errHandshake):
		return "TLSError", "the TLS handshake failed"
	case sent:
		return "ProtocolError", "the server's answer is not well-formed HTTP, or its head is too long"
	}
	return "ConnectionError", "the request failed"
}

// mistrust says why a certificate was not accepted, if that is the error.
func mistrust(err error) string {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "it is for another host"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return "it has expired or is not yet valid"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "no known authority has signed it"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "it is not valid"
	}
	return ""
}
