package web

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestGateIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1, time.Minute)
		greedy, modest := &Key{Name: "greedy", Policy: Policy{MaxRuns: 10}}, &Key{Name: "modest", Policy: Policy{MaxRuns: 10}}
		if err := g.enter(context.Background(), greedy); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []string
		var all sync.WaitGroup
		wait := func(k *Key) {
			all.Go(func() {
				if err := g.enter(context.Background(), k); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, k.Name)
				mu.Unlock()
				time.Sleep(time.Second)
				g.leave(k)
			})
			synctest.Wait()
		}
		for range 5 {
			wait(greedy)
		}
		wait(modest)
		if running, waiting := g.load(); running != 1 || waiting != 6 {
			t.Errorf("%d run, %d wait", running, waiting)
		}
		g.leave(greedy)
		all.Wait()
		if len(order) != 6 || order[1] != "modest" {
			t.Errorf("order %v", order)
		}
		if running, waiting := g.load(); running != 0 || waiting != 0 || len(g.lanes) != 0 {
			t.Errorf("%d run, %d wait, %d lanes", running, waiting, len(g.lanes))
		}
	})
}

func TestGateBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(3, 5*time.Second)
		k, other := &Key{Policy: Policy{MaxRuns: 2}}, &Key{Policy: Policy{MaxRuns: 2}}
		enter := func(k *Key) error { return g.enter(context.Background(), k) }
		if err := errors.Join(enter(k), enter(k), enter(other)); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		err := enter(k)
		if e, ok := errors.AsType[*apiError](err); !ok || e.status != 429 || e.retryAfter == 0 || time.Since(begin) != 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		left := make(chan error)
		go func() { left <- g.enter(ctx, k) }()
		synctest.Wait()
		cancel(errClientLeft)
		if err := <-left; !errors.Is(err, errClientLeft) {
			t.Errorf("who left: %v", err)
		}
		// The cap of a key holds although the server has a place.
		g.leave(other)
		if err := enter(k); err == nil {
			t.Error("a third run of a key that may have two")
		}
		if err := enter(other); err != nil {
			t.Error(err)
		}
		for range maxWaiting {
			go func() { _ = g.enter(context.Background(), k) }()
		}
		synctest.Wait()
		begin = time.Now()
		if err := enter(k); err == nil || time.Since(begin) != 0 {
			t.Errorf("a queue without end: %v after %v", err, time.Since(begin))
		}
		time.Sleep(time.Minute)
		g.leave(k)
		g.leave(k)
		g.leave(other)
		if running, waiting := g.load(); running != 0 || waiting != 0 {
			t.Errorf("%d run, %d wait", running, waiting)
		}
	})
}

// TestGateHammer: whatever enters, leaves and gives up, the counts come out even.
func TestGateHammer(t *testing.T) {
	g := newGate(4, 50*time.Millisecond)
	keys := []*Key{{Policy: Policy{MaxRuns: 1}}, {Policy: Policy{MaxRuns: 3}}, {Policy: Policy{MaxRuns: 9}}}
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for n := range 50 {
				k := keys[(i+n)%len(keys)]
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(n%7)*time.Millisecond)
				if g.enter(ctx, k) == nil {
					if running, _ := g.load(); running > 4 {
						t.Errorf("%d run", running)
					}
					g.leave(k)
				}
				cancel()
			}
		})
	}
	all.Wait()
	if running, waiting := g.load(); running != 0 || waiting != 0 {
		t.Errorf("%d run, %d wait", running, waiting)
	}
}
