package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloche-dev/cloche/engine/memimage"
	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/wasi"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

// An Autopsy says what a run, or a session's turn, was doing when it was stopped from outside: by a limit that it did not heed,
// or by a trap. The session itself has been rolled back and knows nothing of it. See [Options].Autopsy.
type Autopsy struct {
	AutopsyRef
	Run    string `json:"run"`            // the ID of its Result
	Turn   int    `json:"turn,omitempty"` // its number in the session; 0 outside of one
	Status Status `json:"status"`
	Reason string `json:"reason"`
	// Usage, OpenFiles and the last calls are what the host knows. JavaScript has its files open in its own memory: they are
	// not listed.
	Usage       limits.Usage           `json:"usage"`
	OpenFiles   []OpenFile             `json:"open_files,omitempty"`
	ToolCall    *hostfuncs.ToolCall    `json:"last_tool_call,omitempty"`
	HTTPRequest *hostfuncs.HTTPRequest `json:"last_http_request,omitempty"`
	// Frames and Globals are what the stopped interpreter tells of itself, asked in a copy of its memory: data, not
	// instructions, and as far as the stop has left it in order. Frames begin with the innermost; Traceback is their text.
	Traceback string         `json:"traceback,omitempty"`
	Frames    []AutopsyFrame `json:"frames,omitempty"`
	Globals   []AutopsyName  `json:"globals,omitempty"`
	// Missing is why Frames or Globals are not there. Empty: they are.
	Missing string `json:"missing,omitempty"`
}

// AutopsyRef names an autopsy that can be asked for until it expires.
type AutopsyRef struct {
	ID      string    `json:"id"`
	Expires time.Time `json:"expires"`
}

// OpenFile is a descriptor that the program held open.
type OpenFile struct {
	FD     uint32 `json:"fd"`
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
}

// AutopsyFrame is one call of the program's that had not returned.
type AutopsyFrame struct {
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"` // from 1; 0 when it is not known
	Function string `json:"function,omitempty"`
	Source   string `json:"source,omitempty"` // the line
	// LeftOut is the number of frames that stand here and are not listed; the other fields are empty then.
	LeftOut int `json:"left_out,omitempty"`
}

// AutopsyName is one of the program's names, with about how many bytes its value holds.
type AutopsyName struct {
	StateName
	Bytes uint64 `json:"bytes"`
}

// ErrNoAutopsy is returned when there is none: nothing was stopped, its time is over, or others took its place.
var ErrNoAutopsy = errors.New("there is no autopsy")

// Bounds of autopsies.
const (
	maxFailedBytes = 512 << 20 // that an engine's failures hold together
	minFailedBytes = 8 << 20   // that each counts for, which bounds their number
	autopsyMemory  = 64 << 20  // that asking may take beyond what the turn had
	autopsyFuel    = 500_000_000
	autopsyTime    = 2 * time.Second
	maxFrames      = 64
	maxNames       = 32
)

// failure is a turn that was stopped, with its memory as it was then.
type failure struct {
	id, owner string
	expires   time.Time
	lang      *loaded
	limits    limits.Limits
	name      string // of the turn's source
	code      string

	asking chan struct{} // holds one while the memory is asked, which guards about and known
	about  Autopsy
	known  bool // about is complete

	// failures.mu guards what follows.
	memory vm.Checkpoint // without Memory it was released
	kept   uint64        // what it counts for
	timer  *time.Timer
}

// failures are those that an engine keeps, the oldest first.
type failures struct {
	mu   sync.Mutex
	kept []*failure
}

// take takes f, which will hold about that many bytes, for as long as its time lasts. It says no when there is no room.
func (k *failures) take(f *failure, bytes uint64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	f.kept = max(bytes, minFailedBytes)
	out, ok := k.makeRoom(f)
	if !ok {
		return false
	}
	for _, old := range out {
		k.remove(old)
	}
	k.kept = append(k.kept, f)
	f.timer = time.AfterFunc(time.Until(f.expires), func() { k.drop(f) })
	return true
}

// keep gives f the memory that it was taken for, unless it had to go meanwhile.
func (k *failures) keep(f *failure, memory vm.Checkpoint) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !slices.Contains(k.kept, f) {
		memory.Release()
		return false
	}
	f.memory, f.kept = memory, max(memory.Memory.Bytes(), minFailedBytes)
	return true
}

// makeRoom says which failures are to go so that f can be kept: the oldest of whoever has most, so that nobody's go for
// somebody who has as much. Preconditions: mu is held.
func (k *failures) makeRoom(f *failure) (out []*failure, ok bool) {
	left := slices.Clone(k.kept)
	has, all := map[string]uint64{f.owner: f.kept}, f.kept
	for _, old := range left {
		has[old.owner] += old.kept
		all += old.kept
	}
	for all > maxFailedBytes {
		most := f.owner
		for owner, n := range has {
			if n > has[most] {
				most = owner
			}
		}
		i := slices.IndexFunc(left, func(old *failure) bool { return old.owner == most })
		if i < 0 {
			return nil, false // it has nothing but f
		}
		old := left[i]
		out, left = append(out, old), slices.Delete(left, i, i+1)
		has[most] -= old.kept
		all -= old.kept
	}
	return out, true
}

// remove forgets f. Preconditions: mu is held, and f is there.
func (k *failures) remove(f *failure) {
	i := slices.Index(k.kept, f)
	k.kept = slices.Delete(k.kept, i, i+1)
	f.free()
	f.timer.Stop()
}

// free releases the memory of f. Preconditions: failures.mu is held.
func (f *failure) free() {
	if f.memory.Memory != nil {
		f.memory.Release()
		f.memory, f.kept = vm.Checkpoint{}, minFailedBytes
	}
}

// drop forgets f, if it is there.
func (k *failures) drop(f *failure) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if slices.Contains(k.kept, f) {
		k.remove(f)
	}
}

// dropAll forgets them all.
func (k *failures) dropAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.kept) > 0 {
		k.remove(k.kept[0])
	}
}

// find is the failure with the ID of an autopsy, or nil.
func (k *failures) find(id string) *failure {
	k.mu.Lock()
	defer k.mu.Unlock()
	if i := slices.IndexFunc(k.kept, func(f *failure) bool { return f.id == id }); i >= 0 {
		return k.kept[i]
	}
	return nil
}

// borrow is the memory of f, for a caller who releases it.
func (k *failures) borrow(f *failure) (vm.Checkpoint, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if f.memory.Memory == nil {
		return vm.Checkpoint{}, false
	}
	return f.memory.Retain(), true
}

// told releases the memory of f, of which all is known.
func (k *failures) told(f *failure) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f.free()
}

// fail keeps what is left of a turn that was cut, if that is wanted. The instance is closed afterwards.
func (s *sandbox) fail(res *Result, r *running, t Turn, name string) *failure {
	switch res.Status {
	case StatusOK, StatusCancelled, StatusSuspended: // the last of these was cut to be run again
		return nil
	}
	if s.opts.Autopsy == 0 {
		return nil
	}
	f := &failure{
		id: newID("aut_"), owner: s.opts.Owner, expires: time.Now().Add(s.opts.Autopsy), lang: s.lang, limits: r.limits, name: name, code: t.Code,
		asking: make(chan struct{}, 1),
	}
	f.about = Autopsy{
		AutopsyRef: AutopsyRef{ID: f.id, Expires: f.expires},
		Run:        res.ID, Status: res.Status, Reason: res.Error.Value, Usage: res.Usage, OpenFiles: s.openFiles(),
	}
	if s.session {
		f.about.Turn = s.turns
	}
	if n := len(res.ToolCalls); n > 0 {
		f.about.ToolCall = &res.ToolCalls[n-1]
	}
	if n := len(res.HTTPRequests); n > 0 {
		f.about.HTTPRequest = &res.HTTPRequests[n-1]
	}
	if !s.eng.failures.take(f, res.Usage.PrivateBytes) {
		return nil
	}
	memory, err := s.inst.Save()
	if err != nil { // the machine is short of memory: the turn's own end matters more
		s.eng.failures.drop(f)
		return nil
	}
	if !s.eng.failures.keep(f, memory) {
		return nil
	}
	ref := f.about.AutopsyRef
	res.Autopsy = &ref
	return f
}

// openFiles are the descriptors that the program has opened.
func (s *sandbox) openFiles() (out []OpenFile) {
	open, err := s.state.OpenDescriptors()
	if err != nil {
		return nil
	}
	for _, d := range open {
		own := slices.ContainsFunc(s.lang.Descriptors, func(i wasi.Descriptor) bool { return i.FD == d.FD && i.Path == d.Path })
		if (d.Type == "file" || d.Type == "dir") && !d.Preopen && !own {
			out = append(out, OpenFile{d.FD, d.Path, d.Offset})
		}
	}
	return out
}

// blame makes f, or nothing, the failure that can be asked for.
func (s *Session) blame(f *failure) {
	s.infoMu.Lock()
	old := s.failed
	s.failed = f
	s.infoMu.Unlock()
	if old != nil {
		s.eng.failures.drop(old)
	}
}

// Autopsy says what the last turn that was stopped was doing; see [Engine.Autopsy]. It does not wait for a turn that runs.
func (s *Session) Autopsy(ctx context.Context) (*Autopsy, error) {
	s.infoMu.Lock()
	f := s.failed
	s.infoMu.Unlock()
	if f == nil {
		return nil, fmt.Errorf("%w: no turn of this session was stopped from outside whose memory was to be kept", ErrNoAutopsy)
	}
	return s.eng.autopsy(ctx, f)
}

// Autopsy says what a run or turn that was stopped was doing, by the ID in its Result, as long as Options.Autopsy says. The
// first call asks the stopped interpreter, in a sandbox of its own without files, network and tools, under fuel, time and
// memory of its own; later calls give the same answer. It fails with [ErrNoAutopsy].
func (e *Engine) Autopsy(ctx context.Context, id string) (*Autopsy, error) {
	f := e.failures.find(id)
	if f == nil {
		return nil, fmt.Errorf("%w %.40q any more: its time is over, or others took its place", ErrNoAutopsy, id)
	}
	return e.autopsy(ctx, f)
}

func (e *Engine) autopsy(ctx context.Context, f *failure) (*Autopsy, error) {
	select {
	case f.asking <- struct{}{}:
		defer func() { <-f.asking }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for another who asks: %w", context.Cause(ctx))
	}
	if !time.Now().Before(f.expires) {
		return nil, fmt.Errorf("%w: its time is over", ErrNoAutopsy)
	}
	if !f.known {
		memory, ok := e.failures.borrow(f)
		if !ok {
			return nil, fmt.Errorf("%w any more: others took its place", ErrNoAutopsy)
		}
		defer memory.Release()
		parts, err := e.dissect(ctx, f, memory)
		if ctx.Err() != nil || errors.Is(err, ErrClosed) {
			return nil, err
		}
		f.tell(parts, err)
		e.failures.told(f)
	}
	about := f.about
	return &about, nil
}

// dissect has an interpreter with the memory of a stopped one tell about itself.
func (e *Engine) dissect(ctx context.Context, f *failure, memory vm.Checkpoint) (parts []json.RawMessage, err error) {
	if err := e.enter(ctx); err != nil {
		return nil, err
	}
	defer e.leave()
	inst, err := f.lang.pool.Get(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = inst.Close(context.WithoutCancel(ctx)) }() // it must not run again
	inst.Linear().SetLimit(min(wholePages(max(memory.Memory.Size(), f.limits.MemoryBytes)+autopsyMemory), memimage.MaxBytes))
	if err := inst.Load(memory); err != nil {
		return nil, err
	}
	state, err := wasi.New(wasi.Config{
		FS: f.lang.Template.New(vfs.Options{Bytes: 1 << 20, Inodes: 64}), OpenFiles: 64, Stdout: io.Discard, Stderr: io.Discard,
		Clock: wasi.NewFixedClock(f.expires, 0), Random: rand.NewChaCha8([32]byte{}),
	})
	if err != nil {
		return nil, err
	}
	defer state.Close()
	late := time.Now().Add(autopsyTime)
	meter := vm.Meter{Budget: autopsyFuel, Check: func(ctx context.Context, _ vm.Guest) error {
		if ctx.Err() != nil {
			return cancelled(ctx)
		}
		if time.Now().After(late) {
			return errors.New("it took too long to answer")
		}
		return nil
	}}
	err = inst.Run(wasi.WithState(ctx, state), &meter, func(ctx context.Context) error {
		parts, err = f.lang.Driver.Autopsy(ctx, inst, f.lang.Info)
		return err
	})
	return parts, err
}

// tell puts what the guest told into the report, where it is as it should be.
func (f *failure) tell(parts []json.RawMessage, err error) {
	var told struct {
		Frames  []AutopsyFrame `json:"frames"`
		Globals []AutopsyName  `json:"globals"`
	}
	for _, part := range parts {
		if json.Unmarshal(part, &told) != nil {
			err = errors.Join(err, errors.New("a part of what it told is not as it should be"))
		}
	}
	a := &f.about
	a.Frames, a.Globals = told.Frames[:min(len(told.Frames), maxFrames)], told.Globals[:min(len(told.Globals), maxNames)]
	lines := strings.Split(f.code, "\n")
	for i := range a.Frames {
		fr := &a.Frames[i]
		fr.File, fr.Function, fr.Source = shorten(fr.File), shorten(fr.Function), shorten(fr.Source)
		fr.Line, fr.LeftOut = max(fr.Line, 0), max(fr.LeftOut, 0)
		if fr.Source == "" && fr.File == f.name && 0 < fr.Line && fr.Line <= len(lines) {
			fr.Source = shorten(strings.TrimSpace(lines[fr.Line-1]))
		}
	}
	for i := range a.Globals {
		a.Globals[i].StateName = a.Globals[i].bounded()
	}
	a.Traceback = traceback(f.lang.Driver.Language(), a.Frames)
	if err == nil && (a.Frames == nil || a.Globals == nil) {
		err = errors.New("it did not answer")
	}
	if err != nil {
		a.Missing = "the stopped interpreter could not be asked for all: " + shorten(err.Error())
	}
	f.known = true
}

// Text is what the autopsy says, for people and models to read. It has the guest's words.
func (a *Autopsy) Text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if a.Traceback != "" {
		line("%s", a.Traceback)
	}
	for i, n := range a.Globals {
		if i == 8 {
			line("and %d more names", len(a.Globals)-i)
			break
		}
		line("name %s: %s, about %s", n.Name, n.Type, limits.ApproxSize(n.Bytes))
	}
	for _, f := range a.OpenFiles {
		line("open file %s, at byte %d", f.Path, f.Offset)
	}
	if c := a.ToolCall; c != nil {
		line("last tool call: %s (%s)", c.Name, c.Outcome)
	}
	if h := a.HTTPRequest; h != nil {
		line("last request: %s %s", h.Method, h.URL)
	}
	if a.Missing != "" {
		line("%s", a.Missing)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// traceback writes frames as the language does.
func traceback(language string, frames []AutopsyFrame) string {
	var lines []string
	for _, f := range frames {
		switch {
		case f.LeftOut > 0:
			lines = append(lines, fmt.Sprintf("  [... %d more frames ...]", f.LeftOut))
		case language == JavaScript:
			line := "    at " + f.Function
			if f.File != "" {
				line += fmt.Sprintf(" (%s:%d)", f.File, f.Line)
			}
			lines = append(lines, line)
		default:
			line := fmt.Sprintf("  File %q, line %d, in %s", f.File, f.Line, f.Function)
			if f.Source != "" {
				line += "\n    " + f.Source
			}
			lines = append(lines, line)
		}
	}
	if language == Python {
		slices.Reverse(lines) // the newest last
	}
	return strings.Join(lines, "\n")
}
