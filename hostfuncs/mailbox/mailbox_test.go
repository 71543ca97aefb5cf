package mailbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/hostfuncs/mailbox"
	"github.com/cloche-dev/cloche/limits"
)

func newHub(t *testing.T, channels ...limits.Channel) *mailbox.Hub {
	t.Helper()
	h, err := mailbox.New(channels...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// over is a context that has ended: nothing waits.
func over() context.Context {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	return ctx
}

func TestBounds(t *testing.T) {
	h := newHub(t, limits.Channel{Name: "a", Mode: limits.ChannelBoth, Messages: 3, Bytes: 10})
	send := func(text string, want error) {
		t.Helper()
		if err := h.Send(over(), "a", json.RawMessage(text)); !errors.Is(err, want) {
			t.Errorf("send %s: %v, want %v", text, err, want)
		}
	}
	receive := func(want string) {
		t.Helper()
		got, err := h.Receive(over(), "a")
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("received %s, %v, want %q", got, err, want)
		}
	}
	receive("")
	send(`12345678901`, mailbox.ErrTooLarge)
	send(`123456`, nil)
	send(`12345`, mailbox.ErrFull) // bytes
	send(`1`, nil)
	send(`2`, nil)
	send(`3`, mailbox.ErrFull) // messages
	receive(`123456`)
	send(`1234567`, nil)
	receive(`1`)
	receive(`2`)
	receive(`1234567`)
	receive("")
	send(`1234567890`, nil)
	if err := h.Send(over(), "b", nil); err != mailbox.ErrUnknown {
		t.Error(err)
	}
}

func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, limits.Channel{Name: "a", Mode: limits.ChannelBoth, Messages: 1})
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := range 3 {
				if err := h.Send(ctx, "a", fmt.Append(nil, i)); err != nil {
					t.Error(err)
				}
			}
		})
		synctest.Wait()
		for i := range 3 {
			if got, err := h.Receive(ctx, "a"); string(got) != fmt.Sprint(i) {
				t.Error(string(got), err)
			}
		}
		wg.Wait()
		begun := time.Now()
		if _, err := h.Receive(ctx, "a"); err != context.DeadlineExceeded || time.Since(begun) != time.Minute {
			t.Error(err, time.Since(begun))
		}
	})
}

// Each message arrives once, whoever sends and receives, and those of one sender in their order.
func TestMany(t *testing.T) {
	const people, each = 8, 500
	h := newHub(t, limits.Channel{Name: "a", Mode: limits.ChannelBoth, Messages: 4})
	seen := make(chan [2]int, people*each)
	var wg sync.WaitGroup
	for p := range people {
		wg.Go(func() {
			for i := range each {
				if err := h.Send(t.Context(), "a", fmt.Appendf(nil, "[%d,%d]", p, i)); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			last := map[int]int{}
			for range each {
				text, err := h.Receive(t.Context(), "a")
				var m [2]int
				if err != nil || json.Unmarshal(text, &m) != nil {
					t.Error(string(text), err)
				}
				if m[1] < last[m[0]] {
					t.Errorf("%v after %d", m, last[m[0]])
				}
				last[m[0]] = m[1]
				seen <- m
			}
		})
	}
	wg.Wait()
	close(seen)
	once := map[[2]int]bool{}
	for m := range seen {
		once[m] = true
	}
	if len(once) != people*each {
		t.Errorf("%d different messages, want %d", len(once), people*each)
	}
}

func toolNames(reg *hostfuncs.Registry) string {
	var names []string
	for _, t := range reg.Tools() {
		names = append(names, t.Name)
	}
	return strings.Join(names, " ")
}

func TestOffer(t *testing.T) {
	h := newHub(t, limits.Channel{Name: "out", Mode: limits.ChannelSend}, limits.Channel{Name: "both", Mode: limits.ChannelBoth}, limits.Channel{Name: "back", Mode: limits.ChannelReceive})
	for _, c := range []struct {
		modes map[string]limits.ChannelMode
		want  string
		err   error
	}{
		{nil, "out.send both.send both.receive back.receive", nil},
		{map[string]limits.ChannelMode{}, "", nil},
		{map[string]limits.ChannelMode{"both": "receive", "out": "send"}, "out.send both.receive", nil},
		{map[string]limits.ChannelMode{"out": "receive"}, "", mailbox.ErrForbidden},
		{map[string]limits.ChannelMode{"back": "both"}, "", mailbox.ErrForbidden},
		{map[string]limits.ChannelMode{"other": "send"}, "", mailbox.ErrUnknown},
	} {
		reg := &hostfuncs.Registry{}
		if err := h.Offer(reg, c.modes); !errors.Is(err, c.err) || toolNames(reg) != c.want {
			t.Errorf("%v: %q, %v; want %q, %v", c.modes, toolNames(reg), err, c.want, c.err)
		}
	}
	if err := h.Offer(&hostfuncs.Registry{}, map[string]limits.ChannelMode{"out": "write"}); err == nil {
		t.Error("an unknown mode is offered")
	}
	if _, err := mailbox.New(limits.Channel{Name: "a", Mode: "send"}, limits.Channel{Name: "a", Mode: "send"}); err == nil {
		t.Error("two channels of one name")
	}
	if _, err := mailbox.New(limits.Channel{Name: "a.b", Mode: "send"}); err == nil {
		t.Error("a name with a dot")
	}
	if _, err := mailbox.New(limits.Channel{Name: "in", Mode: "send"}); err == nil {
		t.Error("a name that is a word of the languages")
	}
}

// What is taken for a call that is over meanwhile is not lost.
func TestCancelledReceive(t *testing.T) {
	h := newHub(t, limits.Channel{Name: "a", Mode: limits.ChannelBoth})
	reg := &hostfuncs.Registry{}
	if err := h.Offer(reg, nil); err != nil {
		t.Fatal(err)
	}
	if err := h.Send(over(), "a", json.RawMessage("1")); err != nil {
		t.Fatal(err)
	}
	if _, err := reg.Tools()[1].Call(over(), json.RawMessage("{}")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got, err := h.Receive(over(), "a"); string(got) != "1" {
		t.Error(string(got), err)
	}
}
