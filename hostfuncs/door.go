// Package hostfuncs is what a guest may ask of its host: the door's frames, and who answers them.
//
// A guest has one way to ask: it hands over a request frame and gets a reply frame (for Python by
// _host.call, for JavaScript by env.host_call). Frames are bytes and are copied both ways; no object ever
// crosses.
//
//	request:  op (1 byte)      payload
//	reply:    status (1 byte)  payload       0: answered; 1: refused, the payload says why as JSON
//
// Ops below 0x10 are private to a language's driver and never come here. The guest is hostile: a malformed
// frame is refused, never a fault of the host.
package hostfuncs

import (
	"context"
	"encoding/json"
	"fmt"
)

// Op is the first byte of a request.
type Op byte

// The ops that all languages share.
const (
	OpDisplay Op = 0x10 // show a value; the payload is a display frame
	OpTool    Op = 0x11 // call a tool
	OpFetch   Op = 0x12 // request a URL
	OpLog     Op = 0x13 // a line for the host's log
	OpWait    Op = 0x14 // wait for calls that go on
	OpCancel  Op = 0x15 // give up one of them
	OpRead    Op = 0x16 // more of an answer's body
	OpTools   Op = 0x17 // the declarations of the tools
)

func (o Op) String() string {
	switch o {
	case OpDisplay:
		return "display"
	case OpTool:
		return "tool"
	case OpFetch:
		return "fetch"
	case OpLog:
		return "log"
	case OpWait:
		return "wait"
	case OpCancel:
		return "cancel"
	case OpRead:
		return "read"
	case OpTools:
		return "tools"
	}
	return fmt.Sprintf("op 0x%02x", byte(o))
}

const (
	statusOK      = 0
	statusRefused = 1
)

// MaxFrame bounds a request in bytes. The largest thing that a guest shows is a picture.
const MaxFrame = 64 << 20

// A Handler answers the payload of one op. A [*Refusal] goes to the guest as it is; any other error
// ends the run.
type Handler func(ctx context.Context, payload []byte) ([]byte, error)

// A Refusal is an answer that the guest sees as an exception. Its text names no host path or address.
type Refusal struct {
	Name    string `json:"name"` // of the exception, in the guest's words where it has one
	Message string `json:"message"`
}

func (r *Refusal) Error() string { return r.Name + ": " + r.Message }

// Refuse makes a Refusal.
func Refuse(name, format string, args ...any) error {
	return &Refusal{Name: name, Message: fmt.Sprintf(format, args...)}
}

// A Door answers the requests of one run. It is not safe for concurrent use.
type Door struct {
	// Display answers OpDisplay, which nearly every run asks for.
	Display Handler
	// Handlers answer the other ops that this run may use; the rest are refused.
	Handlers map[Op]Handler
	// More, when not nil, is called before the first op that is not among Handlers is refused, and adds to them what costs
	// too much to make for runs that do not ask for it.
	More func()
	// MaxCalls is the number of requests that are answered; later ones are refused. Waiting, cancelling and reading
	// belong to requests that were counted already.
	MaxCalls uint64
	// Made counts those requests, refused ones included. A run that goes on from another begins with its.
	Made uint64
}

// Serve answers one request. The error is not nil only when the run must end.
func (d *Door) Serve(ctx context.Context, request []byte) ([]byte, error) {
	if len(request) == 0 || Op(request[0]) != OpWait && Op(request[0]) != OpCancel && Op(request[0]) != OpRead {
		d.Made++
	}
	payload, err := d.answer(ctx, request)
	return encodeReply(nil, payload, err)
}

// encodeReply puts an answer into a frame, after what is before it.
func encodeReply(before, payload []byte, err error) ([]byte, error) {
	status := byte(statusOK)
	if r, ok := err.(*Refusal); ok {
		status = statusRefused
		payload, err = json.Marshal(r)
	}
	if err != nil {
		return nil, err
	}
	frame := append(make([]byte, 0, len(before)+1+len(payload)), before...)
	return append(append(frame, status), payload...), nil
}

func (d *Door) answer(ctx context.Context, request []byte) ([]byte, error) {
	switch {
	case d.Made > d.MaxCalls:
		return nil, Refuse("HostCallLimit", "this run may make %d calls to the host", d.MaxCalls)
	case len(request) == 0:
		return nil, Refuse("ValueError", "empty request")
	case len(request) > MaxFrame:
		return nil, Refuse("ValueError", "a request of %d bytes is more than %d", len(request), MaxFrame)
	}
	op := Op(request[0])
	if op == OpDisplay && d.Display != nil {
		return d.Display(ctx, request[1:])
	}
	h := d.Handlers[op]
	if h == nil && d.More != nil {
		d.More()
		d.More, h = nil, d.Handlers[op]
	}
	if h == nil {
		return nil, Refuse("PermissionError", "%s is not offered to this run", op)
	}
	return h(ctx, request[1:])
}
