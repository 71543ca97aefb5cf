package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/cloche-dev/cloche/engine/memimage"
	"github.com/cloche-dev/cloche/engine/pool"
	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

// language is an interpreter that is loaded when first needed.
type language struct {
	spec runtimes.Spec
	cfg  Config

	// mu is held while loading, so that it happens once; loaded is set under it.
	mu     sync.Mutex
	loaded *loaded
}

// loaded is an interpreter with its warm instances.
type loaded struct {
	*runtimes.Baked
	pool *pool.Pool[*vm.Instance]

	// Of a template: the ID of the image that it was made over, the packages that it needs, and the files that it has.
	template bool
	base     string
	packages []string
	files    *vfs.Snapshot
}

func (l *language) load(ctx context.Context) (*loaded, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loaded != nil {
		return l.loaded, nil
	}
	b, err := runtimes.Load(ctx, l.spec, runtimes.Options{Cache: l.cfg.Cache, Progress: l.cfg.Progress})
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", l.spec.Driver.Language(), err)
	}
	l.loaded = newLoaded(b, l.cfg)
	return l.loaded, nil
}

// newLoaded starts the pool of an interpreter.
func newLoaded(b *runtimes.Baked, cfg Config) *loaded {
	memimage.Ready()
	return &loaded{Baked: b, pool: pool.New(pool.Config[*vm.Instance]{
		New: func(ctx context.Context) (*vm.Instance, error) {
			return b.Module.New(ctx, b.State, memimage.MaxBytes)
		},
		Reset: func(i *vm.Instance) error {
			_, err := i.Reset()
			return err
		},
		Free:    func(i *vm.Instance) { _ = i.Close(context.Background()) },
		MaxIdle: cfg.MaxIdle, MinReady: 1,
	})}
}

func (l *language) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loaded == nil {
		return nil
	}
	l.loaded.pool.Close()
	err := l.loaded.Close()
	l.loaded = nil
	return err
}
