package engine

import (
	"cmp"
	"context"
	"encoding"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/wasi"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

// state is all that a session's next turn can find of the earlier ones. It is immutable, and shares pages and files
// with the states before and after it.
type state struct {
	vm          vm.Checkpoint
	files       *vfs.Snapshot     // nil: exported instead
	exported    []byte            // the files of a sandbox with mounts, which is another template each time
	descriptors []wasi.Descriptor // what the program holds open
	turns       int
	random      []byte    // where the entropy of a sandbox with a seed has come to
	now         time.Time // on the sandbox's own clock, if it has one
	// copied says that another session may go on from the same state: random generators are renewed before
	// the next turn.
	copied bool
	// suspended is the turn that is not over. Nil: the state is one between turns.
	suspended *suspension
}

// freeze takes the state as it is between two turns. The caller releases it.
func (s *sandbox) freeze() (*state, error) {
	c, err := s.inst.Save()
	if err != nil {
		return nil, err
	}
	return s.describe(c)
}

// describe makes a state of a checkpoint and what is beside the memory. The state owns the checkpoint, which is released
// after an error.
func (s *sandbox) describe(c vm.Checkpoint) (_ *state, err error) {
	defer func() {
		if err != nil {
			c.Release()
		}
	}()
	st := &state{vm: c, turns: s.turns, copied: s.copied}
	if st.descriptors, err = s.state.OpenDescriptors(); err != nil {
		return nil, err
	}
	if m, ok := s.random.(encoding.BinaryMarshaler); ok {
		if st.random, err = m.MarshalBinary(); err != nil {
			return nil, err
		}
	}
	if !s.opts.Clock.IsZero() {
		st.now = s.clock.Now()
	}
	st.files = s.tree.Snapshot()
	return st, nil
}

// copy is the state for another session.
func (st *state) copy() *state {
	c := *st
	c.vm = st.vm.Retain()
	c.copied = true
	return &c
}

func (st *state) release() {
	if st != nil {
		st.vm.Release()
	}
}

// wake gives the sandbox an instance in the state, with a place among the live ones, if it has none.
func (s *sandbox) wake(ctx context.Context, st *state) error {
	if s.inst != nil {
		return nil
	}
	if !s.seated {
		if err := s.eng.enter(ctx); err != nil {
			return err
		}
		s.seated = true
	}
	inst, err := s.lang.pool.Get(ctx)
	if err != nil {
		return err
	}
	inst.Linear().SetLimit(wholePages(s.limits.MemoryBytes))
	if err := inst.Load(st.vm); err != nil {
		return errors.Join(err, inst.Close(context.WithoutCancel(ctx)))
	}
	s.inst, s.turns, s.copied = inst, st.turns, st.copied
	return nil
}

// park gives instance and place back. The state that the caller has is all that is left of the memory.
func (s *sandbox) park() {
	s.vacate()
	if s.seated {
		s.seated = false
		s.eng.leave()
	}
}

// vacate gives back the instance, if there is one.
func (s *sandbox) vacate() {
	if s.inst != nil {
		s.lang.pool.Put(s.inst)
		s.inst = nil
	}
}

// revive makes a sandbox without an instance whose files and descriptors are those of a state.
func (e *Engine) revive(l *loaded, o Options, st *state) (*sandbox, error) {
	s := &sandbox{
		eng: e, lang: l, opts: o, limits: o.Limits.Or(e.cfg.Limits), random: entropy(o.Seed), clock: e.cfg.Clock,
		session: true,
	}
	if !o.Clock.IsZero() {
		s.clock = wasi.NewFixedClock(st.now, 0)
	}
	if err := s.furnish(st); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *sandbox) setRandom(st *state) error {
	if c, ok := s.random.(*rand.ChaCha8); ok && st.random != nil {
		if err := c.UnmarshalBinary(st.random); err != nil {
			return fmt.Errorf("restore the seeded entropy: %w", err)
		}
	}
	return nil
}

// furnish lays out files and descriptors as in a state.
func (s *sandbox) furnish(st *state) error {
	var err error
	if s.tree, err = s.replant(st); err != nil {
		return fmt.Errorf("restore the files: %w", err)
	}
	return s.reopen(st)
}

// reopen makes the descriptors, and what else is beside memory and files, those of a state.
func (s *sandbox) reopen(st *state) (err error) {
	if s.state != nil {
		err = s.state.Close()
		s.state = nil
	}
	s.turns, s.copied = st.turns, st.copied
	if err = errors.Join(err, s.setRandom(st)); err != nil {
		return err
	}
	if s.state, err = wasi.New(wasi.Config{FS: s.tree.Namespace, OpenFiles: int(s.limits.OpenFiles)}); err != nil {
		return err
	}
	if err = s.state.RestoreDescriptors(st.descriptors); err != nil {
		return fmt.Errorf("restore the descriptors: %w", err)
	}
	return nil
}

// replant makes a tree with the files of a state. Folders of the host are opened anew, and so such a sandbox's
// template is not that of the state.
func (s *sandbox) replant(st *state) (*tree, error) {
	packages, err := s.eng.packages.mount(context.Background(), s.opts) // open or in the cache, as a rule
	if err != nil {
		return nil, err
	}
	o := s.opts
	o.Files = nil // they are in the state
	t := &tree{}
	if err := t.fill(s.lang.Template, st.files, st.exported, packages, o, s.limits, s.clock); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// transplant are the files of a state that was taken of a sandbox like this one, for its own tree.
func (s *sandbox) transplant(st *state) (*vfs.Snapshot, error) {
	if s.tree.base == s.lang.Template {
		return st.files, nil
	}
	return adopt(s.tree.base, st.files, vfs.Options{Bytes: int64(s.limits.DiskBytes), Inodes: int64(s.limits.Inodes)})
}

// language is that of the options, as it is told.
func (o Options) language() string { return cmp.Or(o.Language, Python) }

// fits says what is wrong with going on from a state under the options.
func (o Options) fits(l limits.Limits, size uint64) error {
	if l.MemoryBytes < size {
		return invalid("a memory limit of %s is less than the %s that the session has", limits.FormatSize(l.MemoryBytes), limits.FormatSize(size))
	}
	return nil
}
