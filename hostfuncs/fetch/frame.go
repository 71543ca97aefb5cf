package fetch

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cloche-dev/cloche/hostfuncs"
)

// request is what a program asks for.
type request struct {
	method   string
	url      string
	fields   [][2]string
	redirect string // follow, manual or error
	timeout  time.Duration
	reach    time.Duration // how long an async request may hold the program until its server is reached
	async    bool
	coded    bool   // the body may come as the server has coded it
	body     []byte // nil: none
}

// decodeRequest reads a frame of [hostfuncs.OpFetch]:
//
//	{"method": "GET", "url": "…", "headers": [[name, value], …], "redirect": "follow" | "manual" | "error",
//	 "timeout_ms": n, "reach_ms": n, "async": bool, "coded": bool, "body": {"$bytes": n}}   and the n bytes of the body
//
// The timeout is for the answer's head to come. The body of the result is a part of payload.
func decodeRequest(payload []byte) (request, error) {
	r := request{method: "GET", redirect: "follow"}
	var body *struct {
		Bytes uint64 `json:"$bytes"`
	}
	attached, err := hostfuncs.DecodeFrame(payload, func(name string, value json.RawMessage) (bool, error) {
		switch name {
		case "method":
			return true, json.Unmarshal(value, &r.method)
		case "url":
			return true, json.Unmarshal(value, &r.url)
		case "headers":
			if len(value) > maxFieldsText { // to read them takes ten times their memory
				return true, fmt.Errorf("longer than %d bytes", maxFieldsText)
			}
			var fields [][]string
			if err := json.Unmarshal(value, &fields); err != nil {
				return true, err
			}
			for _, f := range fields {
				if len(f) != 2 {
					return true, errors.New("a header is a name and a value")
				}
				r.fields = append(r.fields, [2]string(f))
			}
			return true, nil
		case "redirect":
			return true, json.Unmarshal(value, &r.redirect)
		case "timeout_ms":
			return true, milliseconds(value, &r.timeout)
		case "reach_ms":
			return true, milliseconds(value, &r.reach)
		case "async":
			return true, json.Unmarshal(value, &r.async)
		case "coded":
			return true, json.Unmarshal(value, &r.coded)
		case "body":
			return true, json.Unmarshal(value, &body)
		}
		return false, nil
	})
	switch {
	case err != nil:
		return r, fmt.Errorf("fetch frame: %w", err)
	case body == nil && len(attached) > 0, body != nil && body.Bytes != uint64(len(attached)):
		return r, errors.New("fetch frame: the body has another length than was said")
	case !slices.Contains([]string{"follow", "manual", "error"}, r.redirect):
		return r, fmt.Errorf("fetch frame: redirect is %.20q", r.redirect)
	}
	if body != nil {
		r.body = attached
	}
	r.method, err = checkMethod(r.method)
	return r, err
}

func checkMethod(m string) (string, error) {
	upper := strings.ToUpper(m)
	if m == methodConnect {
		return m, nil
	}
	if !slices.Contains(methodsAllowed, upper) {
		return "", fmt.Errorf("the method %.20q cannot be used: there are %s", m, strings.Join(methodsAllowed, ", "))
	}
	return upper, nil
}

// answerHead is the header of the reply. Stream is set when more of the body is to be read by OpRead.
type answerHead struct {
	Status     int         `json:"status"`
	StatusText string      `json:"statusText"`
	Headers    [][2]string `json:"headers"`
	URL        string      `json:"url"`
	Redirected bool        `json:"redirected"`
	Stream     uint32      `json:"stream,omitempty"`
}

func milliseconds(value json.RawMessage, d *time.Duration) error {
	var n uint32
	err := json.Unmarshal(value, &n)
	*d = time.Duration(n) * time.Millisecond
	return err
}

// readRequest asks for more of a body.
type readRequest struct {
	id      uint32
	max     int
	timeout time.Duration
	async   bool
}

// decodeRead reads a frame of [hostfuncs.OpRead]: {"id": stream, "max": bytes, "timeout_ms": n, "async": bool}.
func decodeRead(payload []byte) (readRequest, error) {
	r := readRequest{max: pieceBytes}
	attached, err := hostfuncs.DecodeFrame(payload, func(name string, value json.RawMessage) (bool, error) {
		switch name {
		case "id":
			return true, json.Unmarshal(value, &r.id)
		case "max":
			var n uint32
			err := json.Unmarshal(value, &n)
			r.max = int(min(n, maxPiece))
			return true, err
		case "timeout_ms":
			return true, milliseconds(value, &r.timeout)
		case "async":
			return true, json.Unmarshal(value, &r.async)
		}
		return false, nil
	})
	if err == nil && (r.max == 0 || len(attached) > 0) {
		err = errors.New("nothing is asked for, or something is attached")
	}
	return r, err
}
