// Package mailbox lets programs in different sandboxes send each other messages, through named channels with bounds.
//
// Programs meet a channel as two tools, NAME.send and NAME.receive, of which each is offered those that its policy gives it. So
// calls are bounded, cancelled and recorded as those of all tools. The host may send and receive as well.
//
// A message is a JSON value. Each goes to one receiver, in the order in which they were sent, and is delivered at most once: one that
// was taken for a program which is cut in that moment can be lost.
//
// A Hub is safe for concurrent use. Who may meet each other shares one: it is the boundary between tenants.
package mailbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/limits"
)

// Errors of a [Hub].
var (
	ErrUnknown  = errors.New("there is no such channel")
	ErrFull     = errors.New("the channel is full")
	ErrTooLarge = errors.New("the message is larger than all that the channel may hold")
)

// Hub holds channels.
type Hub struct {
	channels map[string]*channel
	names    []string // in the order in which they were given
}

// channel is a queue with bounds.
type channel struct {
	limits.Channel

	mu      sync.Mutex
	queue   []json.RawMessage
	held    uint64        // bytes of those
	changed chan struct{} // closed at the next change; nil while nobody waits
}

// New makes a hub with the channels. Their modes are the most that programs may do.
func New(channels ...limits.Channel) (*Hub, error) {
	h := &Hub{channels: map[string]*channel{}}
	for _, c := range channels {
		if err := limits.CheckChannel(c.Name, c.Mode); err != nil {
			return nil, err
		}
		if h.channels[c.Name] != nil {
			return nil, fmt.Errorf("channel %s is there twice", c.Name)
		}
		c.Messages, c.Bytes = cmp.Or(c.Messages, limits.DefaultChannelMessages), cmp.Or(c.Bytes, limits.DefaultChannelBytes)
		h.channels[c.Name] = &channel{Channel: c}
		h.names = append(h.names, c.Name)
	}
	return h, h.Offer(&hostfuncs.Registry{}, nil) // whose names become names in programs
}

// Send puts a message, valid JSON, into a channel. It waits for room until ctx ends; with one that has ended it does not wait. Errors:
// [ErrUnknown], [ErrTooLarge], and [ErrFull] together with the cause of ctx.
func (h *Hub) Send(ctx context.Context, channel string, message json.RawMessage) error {
	ch := h.channels[channel]
	if ch == nil {
		return ErrUnknown
	}
	return ch.send(ctx, message)
}

// Receive takes the oldest message out of a channel. It waits for one until ctx ends, whose cause it returns then; with one that has
// ended it does not wait. Errors: [ErrUnknown] besides.
func (h *Hub) Receive(ctx context.Context, channel string) (json.RawMessage, error) {
	ch := h.channels[channel]
	if ch == nil {
		return nil, ErrUnknown
	}
	return ch.receive(ctx)
}

func (ch *channel) send(ctx context.Context, message json.RawMessage) error {
	if uint64(len(message)) > ch.Bytes {
		return ErrTooLarge
	}
	err := ch.when(ctx, func() bool {
		room := uint64(len(ch.queue)) < ch.Messages && ch.held+uint64(len(message)) <= ch.Bytes
		if room {
			ch.queue = append(ch.queue, message)
			ch.held += uint64(len(message))
		}
		return room
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return nil
}

func (ch *channel) receive(ctx context.Context) (message json.RawMessage, err error) {
	err = ch.when(ctx, func() bool {
		if len(ch.queue) == 0 {
			return false
		}
		message = ch.queue[0]
		ch.queue[0] = nil
		ch.queue = ch.queue[1:]
		ch.held -= uint64(len(message))
		return true
	})
	return message, err
}

// putBack makes a message that was received the oldest again. For that moment the channel may hold more than it may.
func (ch *channel) putBack(message json.RawMessage) {
	_ = ch.when(context.Background(), func() bool {
		ch.queue = slices.Insert(ch.queue, 0, message)
		ch.held += uint64(len(message))
		return true
	})
}

// when does something as soon as that is possible: do is called under the lock, and says whether it was. It is tried once at least.
func (ch *channel) when(ctx context.Context, do func() bool) error {
	for {
		ch.mu.Lock()
		if do() {
			if ch.changed != nil {
				close(ch.changed)
				ch.changed = nil
			}
			ch.mu.Unlock()
			return nil
		}
		if ch.changed == nil {
			ch.changed = make(chan struct{})
		}
		changed := ch.changed
		ch.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
