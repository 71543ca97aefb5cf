package js

import (
	"context"
	"path"
	"time"

	"github.com/cloche-dev/cloche/runtimes"
)

// turn is the state of a running turn, found by host functions through their context.
type turn struct {
	*runtimes.Turn
	boot *boot
	env  *Env

	zones *zones
	here  *time.Location // see location

	observe     func() // while the image is made: the program asks for a time zone
	exited      bool   // by process.exit
	exitCode    int
	codeSet     bool // by process.exitCode or process.exit
	interrupted bool
	dropping    bool // jobs are run only to get rid of them
	listens     bool // for "exit" or "beforeExit"
	detached    bool // the script counts as a module: its jobs run before its ticks

	ticks  bool // process.nextTick's queue holds something
	timers bool // timers or immediates may be pending
	calls  bool // the host is doing something for the program
	// suspendable says that the turn can go on later from where it waits; suspended, that it is to.
	suspendable, suspended bool
	// valueless says that the script has no last value to show: it ran as a function.
	valueless bool
	// uncompiled says that the script is no JavaScript.
	uncompiled bool

	rejections []rejection
	imports    []importDecl // of the main script
	linking    int          // the import that is being loaded, from 1; 0 before and after
	modules    bool         // in the job that runs, ES modules are loaded or evaluated
	until      float64      // when the script of node:vm that runs has had its time, 0 if none has a limit
	late       bool         // it has had it
	probing    bool         // the image is being made, of whose own modules the names are as they are
}

// ended says that the program is to run no further.
func (s *turn) ended() bool { return s.exited || s.interrupted || s.dropping }

type turnKey struct{}

func turnOf(ctx context.Context) *turn {
	s, _ := ctx.Value(turnKey{}).(*turn)
	return s
}

// file is the guest path of the running script.
func (s *turn) file() string { return path.Join(s.env.dir(), s.name()) }

func (s *turn) name() string {
	if s.Name == "" {
		return "main.js"
	}
	return s.Name
}
