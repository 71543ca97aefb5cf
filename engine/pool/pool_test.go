package pool_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloche-dev/cloche/engine/pool"
)

// slot must be clean whenever it is taken.
type slot struct{ dirty, freed atomic.Bool }

type maker struct {
	t           *testing.T
	made, freed atomic.Int64
	failNew     atomic.Bool
	failReset   atomic.Bool
}

var errMake = errors.New("cannot make")

func (m *maker) config(maxIdle, minReady int) pool.Config[*slot] {
	return pool.Config[*slot]{
		New: func(context.Context) (*slot, error) {
			time.Sleep(time.Millisecond)
			if m.failNew.Load() {
				return nil, errMake
			}
			m.made.Add(1)
			return &slot{}, nil
		},
		Reset: func(s *slot) error {
			if m.failReset.Load() {
				return errors.New("cannot reset")
			}
			s.dirty.Store(false)
			return nil
		},
		Free: func(s *slot) {
			if s.freed.Swap(true) {
				m.t.Error("freed twice")
			}
			m.freed.Add(1)
		},
		MaxIdle: maxIdle, MinReady: minReady,
	}
}

func take(t *testing.T, p *pool.Pool[*slot]) *slot {
	t.Helper()
	s, err := p.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.dirty.Swap(true) || s.freed.Load() {
		t.Error("taken dirty or freed")
	}
	return s
}

func TestFillsAndResetsInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &maker{t: t}
		p := pool.New(m.config(4, 2))
		time.Sleep(time.Second)
		if s := p.Stats(); s.Ready != 2 || s.Made != 2 {
			t.Errorf("after the start: %+v", s)
		}
		a, b, c := take(t, p), take(t, p), take(t, p)
		if s := p.Stats(); s.Hits != 2 {
			t.Errorf("after three takes: %+v", s)
		}
		time.Sleep(time.Second)
		if s := p.Stats(); s.Ready != 2 || s.Made != 5 {
			t.Errorf("while three are out: %+v", s)
		}
		p.Put(a)
		p.Put(b)
		p.Put(c)
		time.Sleep(time.Second)
		if s := p.Stats(); s.Ready != 4 || s.Used != 0 || s.Resets < 2 {
			t.Errorf("after they came back: %+v", s)
		}
		p.Close()
		if m.made.Load() != m.freed.Load() {
			t.Errorf("%d made, %d freed", m.made.Load(), m.freed.Load())
		}
		if _, err := p.Get(t.Context()); !errors.Is(err, pool.ErrClosed) {
			t.Errorf("Get after Close: %v", err)
		}
	})
}

// Whoever comes at once resets the slot that was given back last, and need not wait for the worker.
func TestTakersReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &maker{t: t}
		p := pool.New(m.config(4, 0))
		defer p.Close()
		a, b := take(t, p), take(t, p)
		p.Put(a)
		p.Put(b)
		if take(t, p) != b || take(t, p) != a {
			t.Error("what came back last is not what went first")
		}
		if s := p.Stats(); s.Resets != 2 || s.Made != 2 {
			t.Errorf("two were taken again: %+v", s)
		}
	})
}

func TestFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &maker{t: t}
		m.failNew.Store(true)
		p := pool.New(m.config(2, 1))
		defer p.Close()
		time.Sleep(time.Second)
		if _, err := p.Get(t.Context()); !errors.Is(err, errMake) {
			t.Errorf("Get: %v", err)
		}
		m.failNew.Store(false)
		s := take(t, p)
		m.failReset.Store(true)
		p.Put(s)
		time.Sleep(time.Second)
		if !s.freed.Load() {
			t.Error("a slot that cannot be reset was kept")
		}
	})
}

func TestPutAfterCloseFrees(t *testing.T) {
	m := &maker{t: t}
	p := pool.New(m.config(2, 0))
	s := take(t, p)
	p.Close()
	p.Put(s)
	if !s.freed.Load() {
		t.Error("not freed")
	}
}

func TestHammer(t *testing.T) {
	m := &maker{t: t}
	p := pool.New(m.config(3, 2))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 300 {
				s, err := p.Get(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				if s.dirty.Swap(true) || s.freed.Load() {
					t.Error("taken dirty or freed")
				}
				p.Put(s)
			}
		})
	}
	wg.Wait()
	p.Close()
	if m.made.Load() != m.freed.Load() {
		t.Errorf("%d made, %d freed", m.made.Load(), m.freed.Load())
	}
}
