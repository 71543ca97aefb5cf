package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/peterh/liner"
	"golang.org/x/term"

	"github.com/cloche-dev/cloche/cmd/cloche/internal/wall"
	"github.com/cloche-dev/cloche/engine"
)

type replCmd struct {
	Lang string `arg:"" optional:"" enum:"python,javascript,typescript" default:"python" help:"python (default), javascript or typescript."`

	sandboxFlags `embed:""`
}

// replHelp is indented, so that the help of the command line leaves its lines alone.
const replHelp = `    :help    this text
    :reset   forget all names, and start with the files that were given
    :load F  run a file of this machine, below the working folder, as one turn
    :quit    leave; Ctrl-D does too
    Ctrl-C   stop the turn that runs (the session stays), or drop the lines typed so far
`

func (replCmd) Help() string {
	return `Each statement is one turn of a session: it is run in the sandbox when it is complete, within the limits, and the value of an expression is printed. A Python block ends with an empty line, or with the next line that is not indented.

` + replHelp + `
A program that reads standard input, as Python's input() does, gets what is typed next; Ctrl-D is its end. Without a terminal the turns are read from standard input, without prompts, and programs have none.

` + exitHelpOther
}

// Run reads turns until the end of input.
func (c *replCmd) Run(a *app) (err error) {
	if err := c.checkPackages(c.Lang); err != nil {
		return err
	}
	p, err := c.policy(a)
	if err != nil {
		return err
	}
	o, err := c.options(p)
	if err != nil {
		return err
	}
	o.Language = c.Lang
	r := &repl{runner: runner{app: a, cmd: &runCmd{sandboxFlags: c.sandboxFlags}}, language: c.Lang}
	if c.Out != "" {
		if r.out, err = openOut(c.Out, p.limits.DiskBytes+p.limits.ResultBytes); err != nil {
			return err
		}
		r.out.leaveMounted(p.mounts)
		defer func() { err = errors.Join(err, r.out.Close()) }()
	}
	eng, err := a.engine(p.limits)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	r.eng = eng
	tools, stop, err := p.startTools(a)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	o.Tools = tools
	if err := c.raiseWall(a, eng, p, c.Lang, replWall(c.Lang)); err != nil {
		return err
	}
	if r.s, err = eng.Open(a.ctx, o); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.s.Close()) }()

	lines, err := r.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lines.Close()) }()
	return r.loop(lines)
}

// lineReader is where lines come from.
type lineReader interface {
	// Prompt reads a line, without its end. Its error is io.EOF at the end of input, and liner.ErrPromptAborted after Ctrl-C.
	Prompt(prompt string) (string, error)
	// Answer is Prompt for a program that reads: its line is nobody's history.
	Answer(prompt string) (string, error)
	Close() error
}

// repl is a session with somebody who types.
type repl struct {
	runner
	language string
	s        *engine.Session
	terminal bool
	keys     *keyboard
	typing   atomic.Pointer[answers] // of the last turn
}

// open finds out whether somebody types.
func (r *repl) open() (lineReader, error) {
	in, isFile := r.in.(*os.File)
	out, isTerminal := fileOf(r.app.out)
	if !isFile || !isTerminal || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) || in != os.Stdin {
		return &plainLines{bufio.NewReader(r.in)}, nil
	}
	r.terminal = true
	fmt.Fprintf(r.app.out, "%s in a sandbox. :help says what else can be typed.\n", titles[r.language])
	return newEditor(historyFile(r.language)), nil
}

var titles = map[string]string{engine.Python: "Python", engine.JavaScript: "JavaScript", engine.TypeScript: "TypeScript"}

// prompts are those for a turn, and for more lines of it.
var prompts = map[string][2]string{
	engine.Python: {">>> ", "... "}, engine.JavaScript: {"> ", "... "}, engine.TypeScript: {"> ", "... "},
}

// loop runs what is typed. Its context is its own: Ctrl-C ends a turn and not the program.
func (r *repl) loop(lines lineReader) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.ctx))
	defer cancel()
	r.app = &app{ctx: ctx, stdio: r.stdio, getenv: r.getenv}

	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	interrupts := make(chan struct{}, 1)
	ended := make(chan struct{})
	go func() {
		for sig := range signals {
			if sig != os.Interrupt {
				cancel()
				close(ended)
				return
			}
			if !r.interrupt() {
				select {
				case interrupts <- struct{}{}:
				default:
				}
			}
		}
	}()

	split := newSplitter(r.language, r.terminal)
	r.keys = newKeyboard(lines)
	for {
		more := 0
		if split.pending() {
			more = 1
		}
		var got typed
		select {
		case <-ended:
			return statusError(exitInterrupted)
		case <-interrupts:
			if !r.terminal {
				return statusError(exitInterrupted)
			}
			// Ctrl-C came before the editor had made a key of it: its prompt stands, and is drawn as what it means now.
			split = newSplitter(r.language, r.terminal)
			fmt.Fprint(r.app.out, "^C\n"+prompts[r.language][0])
			continue
		case got = <-r.keys.ask(prompts[r.language][more], false):
			r.keys.taken()
		}
		switch {
		case errors.Is(got.err, liner.ErrPromptAborted):
			split = newSplitter(r.language, r.terminal)
			continue
		case got.err != nil && got.err != io.EOF:
			return fmt.Errorf("read a line: %w", got.err)
		}
		turns := split.add(got.line)
		if got.err == io.EOF {
			turns = append(turns, split.rest())
		}
		for _, code := range turns {
			if over, err := r.turnOf(code); over || err != nil {
				return err
			}
			if ctx.Err() != nil {
				return statusError(exitInterrupted)
			}
		}
		if got.err == io.EOF {
			if r.terminal {
				fmt.Fprintln(r.app.out)
			}
			return nil
		}
	}
}

// interrupt asks the turn that runs to end, and says whether there was one.
func (r *repl) interrupt() bool {
	typing := r.typing.Load()
	return typing != nil && typing.stop()
}

// turnOf runs one turn or command. over: the user wants to leave.
func (r *repl) turnOf(code string) (over bool, err error) {
	p := program{language: r.language, code: code, shows: true}
	word, rest, _ := strings.Cut(strings.TrimSpace(code), " ")
	switch word {
	case "":
		return false, nil
	case ":quit", ":q", ":exit", "exit", "quit", "exit()", "quit()", ".exit":
		return true, nil
	case ":help", ":h", ":?", ".help":
		fmt.Fprint(r.app.out, replHelp)
		return false, nil
	case ":reset":
		return false, r.s.Reset(r.ctx)
	case ":load":
		b, err := readProgram(strings.TrimSpace(rest))
		if err != nil {
			fmt.Fprintf(r.err, "cloche: %v\n", err)
			return false, nil
		}
		p.code, p.name = string(b), filepath.Base(strings.TrimSpace(rest))
	default:
		if strings.HasPrefix(word, ":") {
			fmt.Fprintf(r.err, "cloche: there is no command %s; :help lists them\n", printable(word))
			return false, nil
		}
	}
	t := r.turn(p)
	typing := newAnswers(r.keys, onScreen(r.app.out), r.s.Interrupt)
	r.typing.Store(typing)
	if r.terminal {
		t.Stdin, t.Stdout = typing, typing
	}
	res, err := r.s.Run(r.ctx, t)
	close(typing.over)
	if errors.Is(err, engine.ErrInvalid) { // nothing ran
		fmt.Fprintf(r.err, "cloche: %s\n", printable(err.Error()))
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if typing.inLine() {
		fmt.Fprintln(r.app.out) // so that the prompt begins a line
	}
	err = r.report(p, res, r.s.Files())
	if _, bad := errors.AsType[statusError](err); bad {
		err = nil // it was said
	}
	return false, err
}

// plainLines reads lines from what is no terminal.
type plainLines struct{ r *bufio.Reader }

func (p *plainLines) Prompt(string) (string, error) {
	line, err := p.r.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}

// Answer implements lineReader.
func (p *plainLines) Answer(prompt string) (string, error) { return p.Prompt(prompt) }

func (*plainLines) Close() error { return nil }

// editor reads lines from a terminal, with a history that is kept in a file.
type editor struct {
	*liner.State
	history string // "": none is kept
}

func newEditor(history string) *editor {
	e := &editor{liner.NewLiner(), history}
	e.SetCtrlCAborts(true)
	if f, err := os.Open(history); err == nil {
		_, _ = e.ReadHistory(f) // what cannot be read is no history
		f.Close()
	}
	return e
}

// Prompt implements lineReader.
func (e *editor) Prompt(prompt string) (string, error) {
	line, err := e.State.Prompt(prompt)
	if err == nil && strings.TrimSpace(line) != "" {
		e.AppendHistory(line)
	}
	return line, err
}

// Answer implements lineReader.
func (e *editor) Answer(prompt string) (string, error) { return e.State.Prompt(prompt) }

// Close gives the terminal back and writes the history, which may hold secrets: it is the user's alone.
func (e *editor) Close() error {
	err := e.State.Close()
	if e.history == "" {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(e.history), 0o700); err != nil {
		return fmt.Errorf("keep the history: %w", err)
	}
	f, errOpen := os.OpenFile(e.history, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if errOpen != nil {
		return errors.Join(err, fmt.Errorf("keep the history: %w", errOpen))
	}
	_, errWrite := e.WriteHistory(f)
	return errors.Join(err, errWrite, f.Close())
}

// historyFile is where the lines typed in a language are kept, or "" when the user has no place for it.
func historyFile(language string) string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "cloche", "history-"+language)
}

// replWall is what somebody who types needs of the wall: the terminal, :load of files below the working folder, and the
// history.
func replWall(language string) wall.Config {
	c := wall.Config{Terminal: true}
	if dir, err := os.Getwd(); err == nil {
		c.Read = append(c.Read, dir)
	}
	if file := historyFile(language); file != "" {
		if dir := filepath.Dir(file); os.MkdirAll(dir, 0o700) == nil {
			c.Write = append(c.Write, dir)
		}
	}
	return c
}
