// Command cloche runs programs that nobody has read yet, in a WebAssembly sandbox.
//
// Its commands are thin: each turns flags into calls of package engine and its results into text, files and an
// exit status. [doMain] is the whole program but for the process around it, so that tests can call it.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"sync"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/cloche-dev/cloche/cmd/cloche/internal/wall"
	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/runtimes"
)

// Exit statuses of the program. A run that ends by itself gives the guest's own status.
const (
	exitOK          = 0
	exitUsage       = 2
	exitLimit       = 124 // timeout or out of fuel
	exitTrouble     = 125 // Cloche itself failed
	exitInterrupted = 130
	exitTrapped     = 134
	exitMemory      = 137
)

const exitHelp = `Exit status:

    0-255  the program's own (1 after an uncaught exception), but for:
    2      wrong usage
    124    stopped by the time or fuel limit
    125    Cloche itself failed
    130    interrupted
    134    stopped by a trap, such as a stack overflow
    137    stopped by the memory limit
`

const exitHelpOther = `Exit status:

    0      done
    2      wrong usage
    125    it could not be done
    130    interrupted
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second Ctrl-C ends the process at once
	}()
	log.SetOutput(io.Discard) // net/http tells it what servers of programs send unasked; what is worth a line is in ours
	raise = wall.Raise
	code := doMain(ctx, os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr}, os.Getenv)
	stop()
	os.Exit(code)
}

// stdio are the process's standard streams.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// app is what every command has at hand.
type app struct {
	ctx context.Context
	stdio
	getenv func(string) string
}

// cli is the grammar of the command line.
type cli struct {
	Setup    setupCmd    `cmd:"" help:"Fetch and prepare the interpreters, ahead of their first use."`
	Run      runCmd      `cmd:"" help:"Run a program in a fresh sandbox."`
	Replay   replayCmd   `cmd:"" help:"Run what a receipt records again, and say whether it comes out the same."`
	MCP      mcpCmd      `cmd:"" name:"mcp" help:"Serve the Model Context Protocol on standard input and output, for agents."`
	Serve    serveCmd    `cmd:"" help:"Serve programs and sessions over HTTP."`
	Key      keyCmd      `cmd:"" help:"Make a secret for a client of cloche serve."`
	Wasm     wasmCmd     `cmd:"" help:"Run a wasm32-wasip1 command module, for tests and tinkering."`
	Repl     replCmd     `cmd:"" help:"Type programs and see what they do, in a session."`
	Template templateCmd `cmd:"" help:"Build, list and remove templates: interpreters in which a program has run already."`
	Bench    benchCmd    `cmd:"" help:"Measure starts, turns, forks and memory on this machine."`
	Doctor   doctorCmd   `cmd:"" help:"Say what this machine supports, what is set up, and what is slow and why."`
	Bundle   bundleCmd   `cmd:"" hidden:"" help:"Write what is set up as an archive, for builds that carry it."`
	Worker   workerCmd   `cmd:"" hidden:"" help:"Be the worker of a key; cloche serve starts it."`
	Spawner  spawnerCmd  `cmd:"" name:"worker-spawner" hidden:"" help:"Start workers; cloche serve starts it."`
	SBOM     sbomCmd     `cmd:"" name:"sbom" hidden:"" help:"Print a bill of materials."`
	Version  versionCmd  `cmd:"" help:"Print the version."`
}

// usageError is wrong usage that the grammar does not find.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// statusError ends the program with a status, without a message: what there is to say was said.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// helpShown is what the parser is left with after it printed help.
type helpShown struct{}

// doMain runs the program with args (without its name) and returns its exit status.
func doMain(ctx context.Context, args []string, std stdio, getenv func(string) string) (code int) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(helpShown); !ok {
				panic(r)
			}
			code = exitOK
		}
	}()
	parser, err := kong.New(&cli{},
		kong.Name("cloche"),
		kong.Description("Cloche runs code that nobody has read yet: Python and JavaScript, in a WebAssembly sandbox."),
		kong.Writers(std.out, std.err),
		kong.Exit(func(int) { panic(helpShown{}) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.ShortUsageOnError(),
	)
	if err != nil {
		panic(err) // the grammar is part of the program
	}
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "help": // as other programs have it
		args = append(args[1:len(args):len(args)], "--help")
	case args[0] == "--version":
		args = []string{"version"}
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(std.err, "cloche: %s\n", usageText(err))
		fmt.Fprintf(std.err, "Run \"cloche%s --help\" for its usage.\n", commandOf(err))
		return exitUsage
	}
	out := &output{to: std.out}
	std.out = out
	err = parsed.Run(&app{ctx, std, getenv})
	if err == nil {
		err = out.failed()
	}
	return exitCode(err, std.err)
}

// output is our standard output. It remembers that something could not be written, which is lost otherwise: a program in the
// sandbox does not learn of it.
type output struct {
	to io.Writer

	mu  sync.Mutex
	err error // the first
}

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.err = cmp.Or(o.err, err)
	}
	return n, err
}

func (o *output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// fileOf is the file that w writes to, if it is one.
func fileOf(w io.Writer) (*os.File, bool) {
	if o, ok := w.(*output); ok {
		w = o.to
	}
	f, ok := w.(*os.File)
	return f, ok
}

// What the parser says of flags without a value, of lists that an empty word stands in, and of words after a program, in words
// that help.
var (
	noValue    = regexp.MustCompile(`^(\S+): (?:expected \w+ value but got "EOL" \(<EOL>\)|missing value, expecting .*)$`)
	flagInside = regexp.MustCompile(`^(\S+): expected \w+ value but got "(.*)" \((?:long|short) flag\); perhaps try .*$`)
)

// usageText is what the parser has to say.
func usageText(err error) string {
	s := err.Error()
	s = noValue.ReplaceAllString(s, "$1: its value is missing")
	s = flagInside.ReplaceAllString(s, `$1: its value is missing; if "$2" is the value write $1="$2"`)
	s = strings.Replace(s, `must be one of "",`, "must be one of ", 1)
	if strings.HasPrefix(s, "unexpected argument ") && commandOf(err) == " run" {
		s += ": arguments of the program are given with --arg"
	}
	return s
}

// commandOf is the command that a parse error is about, with a space before it, or "".
func commandOf(err error) string {
	pe, ok := errors.AsType[*kong.ParseError](err)
	if !ok || pe.Context == nil || pe.Context.Selected() == nil {
		return ""
	}
	return strings.TrimPrefix(pe.Context.Selected().FullPath(), pe.Context.Model.Name)
}

// exitCode says what err means, on stderr and as an exit status. It is the one place that does.
func exitCode(err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	if status, ok := errors.AsType[statusError](err); ok {
		return int(status)
	}
	fmt.Fprintf(stderr, "cloche: %s\n", printable(err.Error()))
	_, wrong := errors.AsType[usageError](err)
	switch {
	case wrong || errors.Is(err, engine.ErrInvalid):
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	default:
		return exitTrouble
	}
}

// printable makes text that may be the guest's safe for a terminal: control characters but for line ends and
// tabs become visible.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if (r < ' ' && r != '\n' && r != '\t') || (r >= 0x7f && r < 0xa0) {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// openCache opens the cache folder that the environment names.
func (a *app) openCache() (*runtimes.Cache, error) {
	return runtimes.OpenCache(a.getenv(runtimes.CacheEnv))
}

// engine makes one for a command that runs at most one sandbox.
func (a *app) engine(l limits.Limits) (*engine.Engine, error) {
	return engine.New(engine.Config{Cache: a.getenv("CLOCHE_CACHE"), Limits: l, MaxIdle: 1, MaxSandboxes: 1, Progress: newProgress(a.err)})
}
