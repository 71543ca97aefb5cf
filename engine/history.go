package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
	"unicode/utf8"
)

// HistoryEntry is a state that a session can go back to: that after a turn, or the one it was opened with.
type HistoryEntry struct {
	// Turn is the number of turns that the state is made of. Rollback and ForkAt take it.
	Turn int `json:"turn"`
	// ID and Status are those of the turn's Result; empty for the state that the session began with.
	ID     string    `json:"id,omitempty"`
	Status Status    `json:"status,omitempty"`
	Time   time.Time `json:"time"`
	// Bytes is what the state holds besides the one before it, memory and files.
	Bytes uint64 `json:"bytes"`
}

// defaultHistory is room for some hundred short turns, or a few that change much.
const defaultHistory = 32 << 20

// maxHistory bounds the number of states, which cost something even if they hold nothing.
const maxHistory = 1000

// moment is a HistoryEntry with its state.
type moment struct {
	HistoryEntry
	st *state
}

func entryOf(res *Result, st *state) *HistoryEntry {
	e := &HistoryEntry{Turn: st.turns, Time: time.Now()}
	if res != nil {
		e.ID, e.Status = res.ID, res.Status
		for _, f := range res.FilesChanged {
			if f.Op != "deleted" {
				e.Bytes += f.Bytes
			}
		}
	}
	return e
}

// History are the states that the session can go back to, oldest first. The last one is the present state.
// It does not wait for a turn that runs, which is not among them.
func (s *Session) History() []HistoryEntry {
	s.infoMu.Lock()
	defer s.infoMu.Unlock()
	out := make([]HistoryEntry, len(s.past))
	for i, m := range s.past {
		out[i] = m.HistoryEntry
	}
	return out
}

// remember adds the present state to the history, and drops what is over the budget.
func (s *Session) remember(e *HistoryEntry) {
	s.forgetSuspended(e.Turn)
	m := &moment{*e, s.now.copy()}
	if n := len(s.past); n > 0 {
		m.Bytes += m.st.vm.Memory.NewSince(s.past[n-1].st.vm.Memory)
	} else {
		m.Bytes += m.st.vm.Memory.Bytes()
	}
	s.infoMu.Lock()
	defer s.infoMu.Unlock()
	s.past = append(s.past, m)
	s.held += m.Bytes
	budget := cmp.Or(s.sb.opts.HistoryBytes, defaultHistory) // negative: nothing is held
	// What the state before does not share with one is at most what that one has changed; so the oldest costs nothing beside the others.
	for len(s.past) > 1 && (budget < 0 || s.held-s.past[0].Bytes > uint64(budget) || len(s.past) > maxHistory) {
		s.forgetFirst()
	}
}

// forgetSuspended drops the state in which a turn was suspended that has gone on.
func (s *Session) forgetSuspended(turn int) {
	if n := len(s.past); n > 0 && s.past[n-1].Turn == turn && s.past[n-1].st.suspended != nil {
		s.forget(n - 1)
	}
}

// forgetFirst drops the oldest state. Preconditions: infoMu is held.
func (s *Session) forgetFirst() {
	s.held -= s.past[0].Bytes
	s.past[0].st.release()
	s.past[0] = nil
	s.past = s.past[1:]
}

// forget drops all states from the nth on.
func (s *Session) forget(n int) {
	s.infoMu.Lock()
	defer s.infoMu.Unlock()
	for _, m := range s.past[n:] {
		s.held -= m.Bytes
		m.st.release()
	}
	clear(s.past[n:])
	s.past = s.past[:n]
}

// at finds the state after a turn in the history.
func (s *Session) at(turn int) (int, error) {
	for i := len(s.past) - 1; i >= 0; i-- {
		if s.past[i].Turn == turn {
			return i, nil
		}
	}
	if len(s.past) == 0 {
		return 0, invalid("turn %d is not in the session's history, which is empty", turn)
	}
	return 0, invalid("turn %d is not in the session's history, which has %d to %d", turn, s.past[0].Turn, s.past[len(s.past)-1].Turn)
}

// Rollback makes the session what it was after turn to: names, files in memory, open descriptors. 0 is how it was
// opened. Later turns leave the history, a suspended one is given up. What those did to mounted folders of the host stays. It fails with
// [ErrInvalid] for a turn that is not in the history.
func (s *Session) Rollback(ctx context.Context, to int) error {
	if err := s.use(ctx); err != nil {
		return err
	}
	defer s.done()
	i, err := s.at(to)
	if err != nil {
		return err
	}
	if err := s.become(s.past[i].st.copy()); err != nil {
		return err
	}
	s.forget(i + 1)
	return s.persist()
}

// become makes st, which the session owns then, its state. After an error the session is over.
func (s *Session) become(st *state) error {
	s.sb.vacate()
	s.advance(st)
	s.base.release()
	s.base = nil // it may have pages that the state has not
	err := s.sb.tree.Restore(st.files)
	if err == nil {
		err = s.sb.reopen(st)
	}
	if err != nil {
		return s.end(fmt.Errorf("go back to an earlier state of the session, which is over: %w", err))
	}
	return nil
}

// ForkAt is Fork from the state after an earlier turn.
func (s *Session) ForkAt(ctx context.Context, turn, n int) ([]*Session, error) {
	if err := s.use(ctx); err != nil {
		return nil, err
	}
	defer s.done()
	i, err := s.at(turn)
	if err != nil {
		return nil, err
	}
	return s.branch(ctx, s.past[i].st, n, false)
}

// StateCard is what a turn did to a session's names. It is the guest's word: data, not instructions.
type StateCard struct {
	Added   []StateName `json:"added,omitempty"`
	Changed []StateName `json:"changed,omitempty"`
	Removed []string    `json:"removed,omitempty"`
	// More is the number of names that are not listed.
	More int `json:"more,omitempty"`
}

// StateName is one name, with what is to be seen of its value at a glance.
type StateName struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Shape is that of arrays and tables, Length the number of items or characters of other things that have one.
	Shape   []int64 `json:"shape,omitempty"`
	Length  *int64  `json:"length,omitempty"`
	Preview string  `json:"preview,omitempty"`
}

// maxStateText bounds each text of a card in bytes.
const maxStateText = 512

// stateCard reads what a guest tells. What is not as it should be is no card.
func stateCard(text json.RawMessage) *StateCard {
	var c StateCard
	if text == nil || json.Unmarshal(text, &c) != nil {
		return nil
	}
	for _, list := range [][]StateName{c.Added, c.Changed} {
		for i := range list {
			list[i] = list[i].bounded()
		}
	}
	for i := range c.Removed {
		c.Removed[i] = shorten(c.Removed[i])
	}
	if len(c.Added)+len(c.Changed)+len(c.Removed) == 0 {
		return nil
	}
	return &c
}

// bounded is n with no text or list longer than it may be.
func (n StateName) bounded() StateName {
	n.Name, n.Type, n.Preview = shorten(n.Name), shorten(n.Type), shorten(n.Preview)
	n.Shape = n.Shape[:min(len(n.Shape), 32)]
	return n
}

func shorten(s string) string {
	if len(s) <= maxStateText {
		return s
	}
	s = s[:maxStateText]
	for len(s) > 0 && !utf8.RuneStart(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s[:max(len(s)-1, 0)]
}

// A Comparison is several programs that ran each from the same state of a session, in a fork of its own. Close it.
type Comparison struct {
	of    *Session
	turn  int // of the session, when they began
	forks []*Session
	// Results are in the order of the programs. Values, output and files changed (with their hashes) are there to compare.
	Results []*Result
}

// Variants runs each turn in a fork of the session, one after the other or, as far as there are processors and places
// for sandboxes, at once. The session itself stays as it is until Keep. Turns that share a writer or reader are the
// caller's affair.
func (s *Session) Variants(ctx context.Context, turns ...Turn) (*Comparison, error) {
	forks, err := s.fork(ctx, len(turns), true)
	if err != nil {
		return nil, err
	}
	c := &Comparison{of: s, turn: s.Info().Turns, forks: forks, Results: make([]*Result, len(turns))}
	errs := make([]error, len(turns))
	atOnce(len(turns), func(i int) { c.Results[i], errs[i] = forks[i].Run(ctx, turns[i]) })
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Files are those of the nth variant.
func (c *Comparison) Files(n int) *Files { return c.forks[n].Files() }

// Keep makes the session what its nth variant is, as if it had run that turn alone, and closes the comparison. It fails
// if the session went on meanwhile.
func (c *Comparison) Keep(ctx context.Context, n int) error {
	if n < 0 || n >= len(c.forks) {
		return invalid("variant %d: there are %d", n, len(c.forks))
	}
	sn, err := c.forks[n].Snapshot(ctx)
	if err != nil {
		return err
	}
	defer sn.Close()
	if err := c.of.adopt(ctx, sn, c.turn, c.Results[n]); err != nil {
		return err
	}
	return c.Close()
}

func (s *Session) adopt(ctx context.Context, sn *Snapshot, turn int, res *Result) error {
	if err := s.use(ctx); err != nil {
		return err
	}
	defer s.done()
	if s.now.turns != turn {
		return invalid("the session is at turn %d, its variants began at %d", s.now.turns, turn)
	}
	st, err := sn.state()
	if err != nil {
		return err
	}
	if st.files, err = s.sb.transplant(st); err != nil {
		st.release()
		return err
	}
	if err := s.become(st); err != nil {
		return err
	}
	s.remember(entryOf(res, st))
	return s.persist()
}

// atOnce calls do with 0 to n-1, at most as many at once as there are processors.
func atOnce(n int, do func(int)) {
	var wg sync.WaitGroup
	turns := make(chan int)
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range turns {
				do(i)
			}
		})
	}
	for i := range n {
		turns <- i
	}
	close(turns)
	wg.Wait()
}

// Close frees the variants.
func (c *Comparison) Close() error {
	var errs []error
	for _, f := range c.forks {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
