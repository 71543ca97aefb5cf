package mailbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/limits"
)

const (
	sendSchema = `{"type": "object", "additionalProperties": false, "required": ["value"], "properties": {
		"value": {"description": "the message: anything that JSON can hold"},
		"timeout": {"type": "number", "minimum": 0, "description": "how many seconds to wait for room; 0 when left out"}}}`
	receiveSchema = `{"type": "object", "additionalProperties": false, "properties": {
		"timeout": {"type": "number", "minimum": 0, "description": "how many seconds to wait for a message; as long as the program may run when left out"}}}`
	nothing = `{"type": "null"}`
)

// ErrForbidden is wrapped by errors of [Hub.Offer] that say that a mode is more than a channel's own.
var ErrForbidden = errors.New("not offered")

// Offer adds to reg the tools NAME.send and NAME.receive of channels, as far as the modes by name allow. Nil modes: of all channels, by
// their own modes. Errors wrap [ErrUnknown] or [ErrForbidden] if the modes are not ones of the hub's.
func (h *Hub) Offer(reg *hostfuncs.Registry, modes map[string]limits.ChannelMode) error {
	for name := range modes {
		if h.channels[name] == nil {
			return fmt.Errorf("channel %q: %w", name, ErrUnknown)
		}
	}
	for _, name := range h.names {
		ch := h.channels[name]
		mode, asked := modes[name]
		switch {
		case modes == nil:
			mode = ch.Mode
		case !asked:
			continue
		}
		if err := ch.offer(reg, mode); err != nil {
			return err
		}
	}
	return nil
}

func (ch *channel) offer(reg *hostfuncs.Registry, mode limits.ChannelMode) error {
	if err := limits.CheckChannel(ch.Name, mode); err != nil {
		return err
	}
	if !ch.Mode.Allows(mode) {
		return fmt.Errorf("channel %s: to %s is %w: it is there to %s", ch.Name, mode, ErrForbidden, ch.Mode)
	}
	if mode.Allows(limits.ChannelSend) {
		err := reg.Add(hostfuncs.Tool{
			Name: ch.Name + ".send", Input: json.RawMessage(sendSchema), Output: json.RawMessage(nothing), Call: ch.callSend,
			Description: fmt.Sprintf("Send a message to the channel %s.\n\nOne receiver gets it. The channel holds %d messages and %s; TimeoutError if it stays full.",
				ch.Name, ch.Messages, limits.FormatSize(ch.Bytes)),
		})
		if err != nil {
			return fmt.Errorf("channel %s: %w", ch.Name, err)
		}
	}
	if mode.Allows(limits.ChannelReceive) {
		err := reg.Add(hostfuncs.Tool{
			Name: ch.Name + ".receive", Input: json.RawMessage(receiveSchema), Call: ch.callReceive,
			Description: fmt.Sprintf("Take the oldest message out of the channel %s.\n\nIt waits for one; TimeoutError if none comes.", ch.Name),
		})
		if err != nil {
			return fmt.Errorf("channel %s: %w", ch.Name, err)
		}
	}
	return nil
}

// errTime ends a wait whose own time is over.
var errTime = errors.New("its time is over")

// waiting is the context of a wait of that many seconds, a JSON number or nothing: then it has no bound of its own.
func waiting(ctx context.Context, seconds *float64) (context.Context, context.CancelFunc) {
	if seconds == nil {
		return context.WithCancel(ctx)
	}
	const most = 365 * 24 * time.Hour
	return context.WithTimeoutCause(ctx, time.Duration(min(*seconds, most.Seconds())*float64(time.Second)), errTime)
}

func (ch *channel) callSend(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
	var in struct {
		Value   json.RawMessage `json:"value"`
		Timeout float64         `json:"timeout"`
	}
	if err := json.Unmarshal(arguments, &in); err != nil {
		return nil, err
	}
	wait, stop := waiting(ctx, &in.Timeout)
	defer stop()
	switch err := ch.send(wait, in.Value); {
	case errors.Is(err, ErrTooLarge):
		return nil, hostfuncs.Refuse("ValueError", "%s: a message of %d bytes is more than the %d that the channel may hold", ch.Name, len(in.Value), ch.Bytes)
	case errors.Is(err, errTime):
		return nil, hostfuncs.Refuse("TimeoutError", "the channel %s is full: nobody received within %v s", ch.Name, in.Timeout)
	case err != nil:
		return nil, err
	}
	return json.RawMessage("null"), nil
}

func (ch *channel) callReceive(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
	var in struct {
		Timeout *float64 `json:"timeout"`
	}
	if err := json.Unmarshal(arguments, &in); err != nil {
		return nil, err
	}
	wait, stop := waiting(ctx, in.Timeout)
	defer stop()
	message, err := ch.receive(wait)
	if err == nil && ctx.Err() != nil { // nobody will see it
		ch.putBack(message)
		return nil, context.Cause(ctx)
	}
	if errors.Is(err, errTime) {
		return nil, hostfuncs.Refuse("TimeoutError", "no message came to the channel %s within %v s", ch.Name, *in.Timeout)
	}
	return message, err
}
