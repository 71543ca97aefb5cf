package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/hostfuncs/fetch"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/runtimes/python"
	"github.com/cloche-dev/cloche/wasi"
)

// The languages of jobs. TypeScript is JavaScript whose types are taken off first.
const (
	Python     = "python"
	JavaScript = "javascript"
	TypeScript = "typescript"
)

// RuntimeOf is the language whose interpreter runs programs in language: JavaScript for TypeScript, and else language itself,
// whether there is such a language or not.
func RuntimeOf(language string) string {
	if language == TypeScript {
		return JavaScript
	}
	return language
}

// Options describe a sandbox: what it is given for as long as it lives.
type Options struct {
	// Language is Python, JavaScript or TypeScript. Empty means Python.
	Language string
	// Env is the guest's whole environment, besides what its interpreter needs (LANG, HOME, TZ …).
	Env map[string]string
	// Files are put into the sandbox before it starts. No two may have the same path.
	Files []File
	// Mounts show host folders in the sandbox, or what is in a zip archive (a file called *.zip).
	Mounts []limits.Mount
	// Shared are folders in memory that the sandbox shares with others.
	Shared []SharedMount
	// Limits caps the sandbox and each of its turns; fields that are zero are the engine's.
	Limits limits.Limits
	// Seed fixes the guest's random numbers, those for secrets too. Nil: fresh ones.
	Seed *uint64
	// Clock, when not zero, is the time at which a clock of the sandbox's own starts: it advances by a tick at each
	// reading and by the length of each sleep, which takes no time. With Seed it makes runs repeat bit for bit.
	Clock time.Time
	// OnError says what becomes of a session's turn that does not end with status ok: OnErrorKeep or OnErrorRollback.
	// Empty means OnErrorKeep.
	OnError string
	// Repeatable has each turn of a session recorded, what it reads of its clocks and what its host answers it, so that one
	// that waits for a result that comes later can be suspended in a call that blocks, too: it is undone, and
	// run again with the result when it is resumed. See Session.Resume.
	Repeatable bool
	// HistoryBytes is what the states after a session's earlier turns may hold besides the present one; the oldest are
	// dropped first. Zero means 32 MiB, a negative number none. See Session.Rollback.
	HistoryBytes int64
	// IdleTimeout and MaxLifetime end a session that nobody has used for so long, or that has lived for so long: a turn that
	// runs then is interrupted. Zero means never. A suspended session is not idle.
	IdleTimeout, MaxLifetime time.Duration
	// Autopsy is how long the state of a run or turn that was stopped from outside (by fuel, memory or time after the interrupt
	// was ignored, or by a trap) can be asked what it was doing, up to ten minutes; see Engine.Autopsy. Only the last one of a
	// session is kept. Zero: none is.
	Autopsy time.Duration
	// Owner is whom the sandbox is for, such as the name of a tenant. What an engine keeps of stopped runs is bounded, and is
	// shared out among owners: nobody's is dropped for one who has as much.
	Owner string
	// Labels are for whoever opened the session: they are told with it and stored with it.
	Labels map[string]string
	// Template is the name of one that was built (see Engine.BuildTemplate), from which the sandbox starts. Empty: from the
	// interpreter itself.
	Template string
	// Packages are pure-Python packages that programs can import besides those that are linked in: names, with versions if
	// need be ("requests", "httpx>=0.27"). What the cache folder lacks is downloaded with pip when the sandbox is made; its
	// versions are then fixed. If that goes wrong the error is ErrPackages. JavaScript has no use for them.
	Packages []string
	// Review is what a program may not use, looked for in its source before it runs. A program that does has status
	// refused. It is advice, and no protection: a program can hide what it uses.
	Review limits.Review
	// Network is what may be fetched. Nil: there is no network.
	Network *fetch.Policy
	// Tools are functions of the host's that programs may call. Nil: none.
	Tools *hostfuncs.Registry
}

// What a turn of a session that failed leaves behind. A turn that had to be cut is rolled back in any case.
const (
	OnErrorKeep     = "keep"     // what it did until then, as in a notebook
	OnErrorRollback = "rollback" // nothing: each turn is a transaction
)

// File is a file to be put into a sandbox.
type File struct {
	// Path is in the sandbox; a relative one is below /data, the working folder. Folders are made.
	Path    string
	Content []byte
}

// Turn is one program to run in a sandbox.
type Turn struct {
	// ID names the run in its Result and in the log. Empty: one that nobody can guess.
	ID string
	// Code is the source text, UTF-8. A byte order mark and any line ends are accepted.
	Code string
	// Name is the file name in tracebacks. Empty: main.py, main.js or main.ts, in a session with a number.
	Name string
	// Args are the program's arguments, without its name.
	Args []string
	// Stdin is the guest's standard input. Nil: at its end.
	Stdin io.Reader
	// Inputs are globals to set first. Names are of letters, digits, "_" and "$". Each value must be one that encoding/json can write.
	Inputs map[string]any
	// Stdout and Stderr get the guest's output as it is printed, up to the limit. They may be the same
	// writer. Nil: it is only in the Result.
	Stdout, Stderr io.Writer
	// OnEvent is told what the turn does, in order and as it happens; the guest waits meanwhile, and so a slow receiver
	// slows it down. It must return soon after the turn's time is over, which cannot end before. Nil: nobody is told.
	OnEvent func(Event)
	// Limits may lower or raise, for this turn, Fuel, Timeout, Grace, OutputBytes, ResultBytes and HostCalls; the
	// other fields must be zero.
	Limits limits.Limits
}

// Job is one program for a fresh sandbox: [Options] and [Turn] in one.
type Job struct {
	Template string
	ID       string
	Language string
	Code     string
	Name     string
	Args     []string
	Env      map[string]string
	Stdin    io.Reader
	Inputs   map[string]any
	Files    []File
	Mounts   []limits.Mount
	Shared   []SharedMount
	Limits   limits.Limits
	Seed     *uint64
	Clock    time.Time
	Stdout   io.Writer
	Stderr   io.Writer
	OnEvent  func(Event)
	Network  *fetch.Policy
	Tools    *hostfuncs.Registry
	Packages []string
	Review   limits.Review
	Autopsy  time.Duration
	Owner    string
	// Receipt asks for a record of the run by which it can be repeated; see [Receipt]. Seed and Clock are then chosen if they
	// are not given, standard input is read to its end before the program starts, and there can be no Mounts or Shared.
	Receipt bool
}

func (j Job) options() Options {
	return Options{
		Template: j.Template,
		Language: j.Language, Env: j.Env, Files: j.Files, Mounts: j.Mounts, Shared: j.Shared, Limits: j.Limits, Seed: j.Seed, Clock: j.Clock,
		Network: j.Network, Tools: j.Tools, Packages: j.Packages, Review: j.Review, Autopsy: j.Autopsy, Owner: j.Owner,
	}
}

func (j Job) turn() Turn {
	return Turn{
		ID: j.ID, Code: j.Code, Name: j.Name, Args: j.Args, Stdin: j.Stdin, Inputs: j.Inputs, Stdout: j.Stdout, Stderr: j.Stderr,
		OnEvent: j.OnEvent,
	}
}

// ErrInvalid is wrapped by errors that say what is wrong with a job, session or turn.
var ErrInvalid = errors.New("invalid")

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalid, fmt.Errorf(format, args...))
}

// knownRuntime is RuntimeOf what a job names: empty means Python, and a language that there is not is an error.
func knownRuntime(language string) (string, error) {
	switch rt := RuntimeOf(cmp.Or(language, Python)); rt {
	case Python, JavaScript:
		return rt, nil
	}
	return "", invalid("language %q is unknown: use python, javascript or typescript", language)
}

// check reports all that is wrong with o at once.
func (o Options) check() error {
	_, errLanguage := knownRuntime(o.Language)
	errs := []error{errLanguage, o.Limits.Validate(), limits.CheckMounts(o.Mounts), o.Network.Check(), o.Review.Check(), python.CheckPackages(o.Packages)}
	if o.OnError != "" && o.OnError != OnErrorKeep && o.OnError != OnErrorRollback {
		errs = append(errs, fmt.Errorf("on error %q: use %s or %s", o.OnError, OnErrorKeep, OnErrorRollback))
	}
	var folders []limits.Shared
	for _, m := range o.Shared {
		errs = append(errs, m.check())
		if m.Folder != nil {
			errs = append(errs, m.Folder.CheckBeside(folders, o.Mounts))
			folders = append(folders, m.Folder.Shared)
		}
	}
	if o.Autopsy < 0 || o.Autopsy > limits.MaxAutopsy {
		errs = append(errs, fmt.Errorf("autopsy is %s, must be from 0s to %s", o.Autopsy, limits.MaxAutopsy))
	}
	if !o.Clock.IsZero() {
		errs = append(errs, wasi.CheckStart(o.Clock))
	}
	for k, v := range o.Env {
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.Contains(v, "\x00") {
			errs = append(errs, fmt.Errorf("environment variable %q: a name may not be empty or hold '=', and neither part a NUL", k))
		}
	}
	for _, f := range o.Files {
		if f.Path == "" || strings.HasSuffix(f.Path, "/") || strings.Contains(f.Path, "\x00") {
			errs = append(errs, fmt.Errorf("file path %q: it must name a file, such as sales.csv", f.Path))
		}
	}
	paths := make([]string, len(o.Files))
	for i, f := range o.Files {
		paths[i] = f.Path
	}
	for _, p := range SamePath(paths) {
		errs = append(errs, fmt.Errorf("file path %q: it is given twice (as %q, too), and a program would see one of the two", paths[p.Second], paths[p.First]))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}

// PathPair are two paths of one file, by their index.
type PathPair struct{ First, Second int }

// SamePath finds the paths of a sandbox that name the same file as one before them.
func SamePath(paths []string) (pairs []PathPair) {
	if len(paths) < 2 {
		return nil
	}
	first := make(map[string]int, len(paths))
	for i, p := range paths {
		p = GuestPath(p)
		if j, twice := first[p]; twice {
			pairs = append(pairs, PathPair{j, i})
			continue
		}
		first[p] = i
	}
	return pairs
}

// GuestPath is where a file of that path is put: a relative one is below the working folder.
func GuestPath(p string) string {
	if path.IsAbs(p) {
		return path.Clean(p)
	}
	return path.Join(runtimes.WorkDir, p)
}

// prepare turns t into what a driver takes.
func (t Turn) prepare(language string, number int) (*runtimes.Turn, error) {
	name := t.Name
	if name == "" {
		name = defaultName(language, number)
	}
	if err := CheckCode(t.Code); err != nil {
		return nil, invalid("%s: %w", name, err)
	}
	rt := &runtimes.Turn{
		Source: t.Code, Name: name, Args: t.Args, Module: strings.HasSuffix(name, ".mjs"),
		TypeScript: language == TypeScript || language == JavaScript && strings.HasSuffix(name, ".ts"),
	}
	if len(t.Inputs) > 0 {
		rt.Inputs = make(map[string]json.RawMessage, len(t.Inputs))
		for k, v := range t.Inputs {
			if err := CheckInput(k); err != nil {
				return nil, invalid("input %q: %w", k, err)
			}
			b, err := json.Marshal(v)
			if err != nil {
				return nil, invalid("input %q: %w", k, err)
			}
			if language == Python && hasLongWhole(b) {
				return nil, invalid("input %q: a whole number has more than %d digits, the most that Python reads", k, maxDigits)
			}
			rt.Inputs[k] = b
		}
	}
	return rt, nil
}

// CheckCode reports a program that is no UTF-8, which a turn does not take, since an interpreter would say less of it.
func CheckCode(code string) error {
	if utf8.ValidString(code) {
		return nil
	}
	if strings.HasPrefix(code, "\xff\xfe") || strings.HasPrefix(code, "\xfe\xff") {
		return errors.New("the program is UTF-16, must be UTF-8")
	}
	for at := range code {
		if r, n := utf8.DecodeRuneInString(code[at:]); r == utf8.RuneError && n == 1 {
			return fmt.Errorf("line %d: the byte 0x%02x is not UTF-8, which a program must be", 1+strings.Count(code[:at], "\n"), code[at])
		}
	}
	return nil
}

// CheckInput reports a name of an input that a variable cannot have.
func CheckInput(name string) error {
	if isName(name) {
		return nil
	}
	return errors.New(`no program can have such a name; it is to be of letters, digits and "_" (in JavaScript "$", too), and not to begin with a digit`)
}

// isName says whether s can be the name of a variable in either language.
func isName(s string) bool {
	for i, c := range s {
		if c != '_' && c != '$' && !unicode.IsLetter(c) && (i == 0 || !unicode.IsDigit(c) && !unicode.IsMark(c)) {
			return false
		}
	}
	return s != ""
}

// maxDigits is how long a whole number may be that Python's json reads (sys.int_info.default_max_str_digits).
const maxDigits = 4300

// hasLongWhole says whether JSON has a whole number of more digits than Python reads.
func hasLongWhole(text []byte) bool {
	if len(text) <= maxDigits {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return false // the end: it is valid
		}
		if n, ok := token.(json.Number); ok && len(n) > maxDigits && !strings.ContainsAny(n.String(), ".eE") {
			return true
		}
	}
}

func defaultName(language string, number int) string {
	ext := ".py"
	switch language {
	case JavaScript:
		ext = ".js"
	case TypeScript:
		ext = ".ts"
	}
	if number == 0 {
		return "main" + ext
	}
	return "turn" + strconv.Itoa(number) + ext
}
