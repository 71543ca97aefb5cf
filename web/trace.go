package web

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// traceparent is the trace context of a request (W3C Trace Context, version 00), with a new span of ours. Empty when the
// request has none, or none that is well formed.
func traceparent(header []string) (parent, traceID string) {
	if len(header) != 1 {
		return "", ""
	}
	parts := strings.Split(header[0], "-")
	if len(parts) < 4 || len(parts[0]) != 2 || parts[0] == "ff" || (parts[0] == "00" && len(parts) != 4) {
		return "", ""
	}
	trace, span, flags := parts[1], parts[2], parts[3]
	if !lowerHex(parts[0], 2) || !lowerHex(trace, 32) || !lowerHex(span, 16) || !lowerHex(flags, 2) ||
		strings.Trim(trace, "0") == "" || strings.Trim(span, "0") == "" {
		return "", ""
	}
	var own [8]byte
	_, _ = rand.Read(own[:]) // it never fails
	return "00-" + trace + "-" + hex.EncodeToString(own[:]) + "-" + flags, trace
}

func lowerHex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}
