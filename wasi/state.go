package wasi

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

// DefaultOpenFiles is the cap on descriptors when Config.OpenFiles is zero.
const DefaultOpenFiles = 256

// stdioCount is the number of standard streams, which come first in a fresh table.
const stdioCount = 3

// maxOpenFiles is the largest cap that a Config may set.
const maxOpenFiles = 1 << 16

// Config is what one run is given. The zero value is a run without arguments, environment, input, output or files.
type Config struct {
	// Args are the program's arguments, its name first. Env is its environment, each "NAME=value". No string may
	// hold a NUL.
	Args []string
	Env  []string

	// Stdin is read on the guest's demand; nil is at its end. A read that may block is made by a goroutine of
	// its own and waited for through Clock; a run that ends meanwhile leaves it behind (it ends when the reader
	// returns), so the reader should be one that somebody closes.
	Stdin io.Reader
	// Stdout and Stderr get each write of the guest at once; nil discards. They are called by the run's
	// goroutine and must not keep the bytes. An error becomes EIO.
	Stdout, Stderr io.Writer
	// Terminal makes the standard streams look like a terminal: C libraries flush each line, and programs may
	// use colours.
	Terminal bool

	// FS holds the files. It is not closed with the State. Nil: no files.
	FS *vfs.Namespace
	// Preopens are the folders that the guest starts with, absolute guest paths. Nil with FS means "/".
	Preopens []string
	// AbsoluteLinks lets the guest make links whose text starts with a slash. They are followed from the root
	// of FS. WASI forbids making them; programs of a POSIX world, whose only folder is "/", expect to.
	AbsoluteLinks bool
	// OpenFiles caps descriptors, the standard streams and preopens included, 1 to 65,536. Zero means
	// DefaultOpenFiles.
	OpenFiles int

	// Reached is told when a limit refuses something to the guest: [limits.OpenFiles], or a quota of FS (see
	// [ResourceOf]). Nil: nobody is.
	Reached func(limits.Resource)

	Clock  Clock     // nil: HostClock
	Random io.Reader // of random_get; nil: crypto/rand
}

// State is everything that one run's WASI calls act on. It is not safe for concurrent use.
type State struct {
	args, env      stringTable
	stdin          input
	stdout, stderr io.Writer
	clock          Clock
	random         io.Reader
	started        time.Duration // monotonic
	terminal       bool
	absoluteLinks  bool
	reached        func(limits.Resource)

	fs        *vfs.Namespace
	fds       []descriptor // see table.go
	lowest    int          // no number below it is free
	open      int          // how many are open
	openFiles int
	initial   []string // the preopens of a fresh State

	checkpoint checkpoint

	exitCode uint32
	exited   bool
	closed   bool

	// The instance that called last, and its memory.
	module api.Module
	memory guestMemory

	calls uint32 // since the start, modulo 2^32

	// Scratch of single calls, kept to save allocations.
	buffers       [][]byte
	subscriptions []subscription
	events        []event
	gathered      []byte

	inlineFds     [12]descriptor
	inlineBuffers [4][]byte
}

var rootPreopen = []string{"/"}

// New returns the State of one run. It costs a few allocations: nothing is opened but preopens other than "/".
func New(cfg Config) (*State, error) {
	s := &State{fs: cfg.FS, openFiles: cfg.OpenFiles, initial: cfg.Preopens}
	s.fds, s.buffers = s.inlineFds[:0], s.inlineBuffers[:0]
	if s.initial == nil && cfg.FS != nil {
		s.initial = rootPreopen
	}
	if s.openFiles == 0 {
		s.openFiles = DefaultOpenFiles
	}
	var problems []error
	if s.openFiles < 0 || s.openFiles > maxOpenFiles {
		problems = append(problems, fmt.Errorf("cap of %d open files is not between 1 and %d", s.openFiles, maxOpenFiles))
	} else if s.openFiles < stdioCount+len(s.initial) {
		problems = append(problems, fmt.Errorf("cap of %d open files leaves no room for %d preopens", s.openFiles, len(s.initial)))
	}
	if err := s.Renew(cfg); err != nil {
		problems = append(problems, err)
	}
	if err := s.addInitial(); err != nil {
		problems = append(problems, err)
	}
	if len(problems) > 0 {
		s.Close()
		return nil, fmt.Errorf("wasi state: %w", errors.Join(problems...))
	}
	return s, nil
}

// Renew gives the State to the next turn of a session: arguments, environment, standard streams, clock,
// randomness and Reached are those of cfg from now on. Descriptors stay open, and a standard stream that the guest has
// closed is open again where nothing took its number; FS, Preopens and OpenFiles of cfg are not looked at. On an error the
// State is as it was.
func (s *State) Renew(cfg Config) error {
	args, err := newStringTable("argument", cfg.Args)
	env, envErr := newStringTable("environment variable", cfg.Env)
	if err = errors.Join(err, envErr); err != nil {
		return err
	}
	s.args, s.env = args, env
	s.stdin = newInput(cfg.Stdin)
	s.stdout, s.stderr = cfg.Stdout, cfg.Stderr
	if s.stdout == nil {
		s.stdout = io.Discard
	}
	if s.stderr == nil {
		s.stderr = io.Discard
	}
	s.clock, s.random = cfg.Clock, cfg.Random
	if s.clock == nil {
		s.clock = hostClock{}
	}
	if s.random == nil {
		s.random = rand.Reader
	}
	s.started = s.clock.Monotonic()
	s.reached = cfg.Reached
	s.terminal, s.absoluteLinks = cfg.Terminal, cfg.AbsoluteLinks
	s.exitCode, s.exited = 0, false
	return s.reopenStreams()
}

// reopenStreams gives a turn the standard streams that an earlier one has closed.
func (s *State) reopenStreams() error {
	for n := range min(stdioCount, len(s.fds)) {
		if s.fds[n].kind != kindClosed {
			continue
		}
		d, err := s.initialDescriptor(n)
		if err != nil {
			return err
		}
		s.set(uint32(n), d)
	}
	return nil
}

// addInitial opens the standard streams and preopens in an empty table.
func (s *State) addInitial() error {
	var problems []error
	for n := range initialCount(s) {
		d, err := s.initialDescriptor(n)
		if err != nil {
			problems = append(problems, err)
		}
		s.fds = append(s.fds, d)
		s.open++
	}
	s.lowest = len(s.fds)
	return errors.Join(problems...)
}

// initialCount is the number of descriptors of a fresh State.
func initialCount(s *State) int { return stdioCount + len(s.initial) }

// stream is an open descriptor of a standard stream.
func (s *State) stream(k kind) descriptor {
	d := descriptor{kind: k, rights: rightsStdio | rightFdWrite}
	if k == kindStdin {
		d.rights = rightsStdio | rightFdRead
	}
	if !s.terminal {
		d.rights |= rightsNoTerminal
	}
	return d
}

// initialDescriptor is descriptor n of a fresh State.
func (s *State) initialDescriptor(n int) (descriptor, error) {
	switch n {
	case 0:
		return s.stream(kindStdin), nil
	case 1:
		return s.stream(kindStdout), nil
	case 2:
		return s.stream(kindStderr), nil
	}
	name := s.initial[n-stdioCount]
	if s.fs == nil {
		return descriptor{}, fmt.Errorf("preopen %q: no file system", name)
	}
	if !strings.HasPrefix(name, "/") {
		return descriptor{}, fmt.Errorf("preopen %q is not an absolute path", name)
	}
	path, err := vfs.ParsePathString(name)
	if err != nil {
		return descriptor{}, fmt.Errorf("preopen %q: %w", name, err)
	}
	d := descriptor{
		kind: kindDir, preopen: true, path: path,
		rights: rightsDir, inheriting: rightsAll, access: vfs.OpenRead | vfs.OpenDirectory,
	}
	if name != "/" { // that one exists
		if d.handle, err = s.fs.Open(nil, path, d.access); err != nil {
			return descriptor{}, fmt.Errorf("preopen %q: %w", name, err)
		}
	}
	return d, nil
}

// ExitCode returns what the guest gave proc_exit, if it did.
func (s *State) ExitCode() (code uint32, exited bool) { return s.exitCode, s.exited }

// Close closes all descriptors. It is idempotent. FS stays open, and so do the standard streams.
func (s *State) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	s.module, s.memory, s.buffers = nil, guestMemory{}, nil
	problems := []error{s.Commit()}
	for n := range s.fds {
		if s.fds[n].kind != kindClosed {
			problems = append(problems, s.unset(uint32(n)))
		}
	}
	return errors.Join(problems...)
}
