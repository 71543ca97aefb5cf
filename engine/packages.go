package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/runtimes/python"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

// ErrPackages is wrapped when packages could not be set up: pip does not get them, or it is not to be run or nothing to be
// written any more, as in a server behind its second wall.
var ErrPackages = errors.New("packages cannot be set up")

// packages are the sets of added Python packages that an engine has open.
type packages struct {
	cfg Config
	// python is the interpreter that compiles them.
	python func(context.Context) (*loaded, error)

	// mu is held while a set is opened, so that it happens once.
	mu    sync.Mutex
	cache *runtimes.Cache
	sets  map[string]*python.Packages
}

// PreparePackages sets up Python packages, so that the first job that asks for them does not wait. See [Options].Packages.
func (e *Engine) PreparePackages(ctx context.Context, requirements ...string) ([]python.Package, error) {
	if len(requirements) == 0 {
		return nil, nil
	}
	set, err := e.packages.open(ctx, requirements)
	if err != nil {
		return nil, err
	}
	return set.List, nil
}

// mount is where the sandbox of o finds its packages; nil if it has none.
func (p *packages) mount(ctx context.Context, o Options) ([]vfs.Mount, error) {
	if rt, err := knownRuntime(o.Language); err != nil || rt != Python || len(o.Packages) == 0 {
		return nil, err
	}
	set, err := p.open(ctx, o.Packages)
	if err != nil {
		return nil, err
	}
	return []vfs.Mount{{Path: python.PackagesDir, FS: set.FS}}, nil
}

func (p *packages) open(ctx context.Context, requirements []string) (*python.Packages, error) {
	if err := python.CheckPackages(requirements); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	sorted := slices.Sorted(slices.Values(requirements))
	key := strings.Join(slices.Compact(sorted), "\n")
	p.mu.Lock()
	defer p.mu.Unlock()
	if set := p.sets[key]; set != nil {
		return set, nil
	}
	interpreter, err := p.python(ctx)
	if err != nil {
		return nil, err
	}
	if p.cache == nil {
		cache, err := runtimes.OpenCache(p.cfg.Cache)
		if err != nil {
			return nil, err
		}
		p.cache, p.sets = cache, map[string]*python.Packages{}
	}
	set, err := python.AddPackages(ctx, p.cache, interpreter.Baked, requirements, p.cfg.Progress)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPackages, err)
	}
	p.sets[key] = set
	return set, nil
}

func (p *packages) close() []error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, set := range p.sets {
		errs = append(errs, set.Close())
	}
	if p.cache != nil {
		errs = append(errs, p.cache.Close())
	}
	p.sets, p.cache = nil, nil
	return errs
}
