package js

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cloche-dev/cloche/runtimes"
)

// report is what the guest's describe tells of a thrown value.
type report struct {
	Name    string  `json:"name"`
	Message string  `json:"message"`
	Text    string  `json:"text"`   // as the console would show it, the program's own frames only
	Frames  []frame `json:"frames"` // the program's own, innermost first
	Error   bool    `json:"error"`  // it is an Error
	Code    string  `json:"code"`   // of Node's errors
	Memory  bool    `json:"memory"` // the interpreter's own error for having none left
}

type frame struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Col  int    `json:"col"`
}

// maxReport bounds a report in bytes: a message may be as long as the program's memory.
const maxReport = 256 << 10

// uncaught ends a turn by an exception, which it takes, and prints it.
func (in *interp) uncaught(s *turn, e value) (runtimes.Outcome, error) {
	r, ok := in.describe(e)
	in.free(e)
	none := !ok || e.tag() == tagNull // which the interpreter throws if it has no memory for an error
	if s.ended() {                    // describe runs the program's getters
		return in.exit(s)
	}
	if !ok {
		r = report{Name: "Error", Message: "the thrown value cannot be shown", Text: "Error: the thrown value cannot be shown"}
	}
	out := runtimes.Outcome{ExitCode: 1, OutOfMemory: r.Memory, Error: &runtimes.GuestError{Name: r.Name, Value: r.Message}}
	if none {
		r := report{Name: "InternalError", Message: "out of memory", Memory: true}
		out.Unreported = &runtimes.GuestError{Name: r.Name, Value: r.Message, Hint: hint(r)}
	}
	at := s.where(r)
	if at.Line == 0 && r.Name == "SyntaxError" && r.Error {
		if at, out.Error.Value = in.placeOfSyntax(s, r.Message); at.Line != 0 {
			r.Text = fmt.Sprintf("SyntaxError: %s\n    at %s:%d:%d", out.Error.Value, at.File, at.Line, at.Col)
		}
	}
	out.Error.Line = at.Line
	out.Error.Hint = hint(r)
	if s.uncompiled && in.isTypeScript(s) {
		out.Error.Hint = "This is TypeScript, not JavaScript: name the language typescript, or the file .ts."
	}
	out.Error.Traceback = s.excerpt(at) + "Uncaught " + strings.TrimRight(r.Text, "\n")
	s.print(2, out.Error.Traceback+"\n")
	if s.listens { // for "exit", as at any other end; a second exception is not told
		s.listens, s.exitCode = false, out.ExitCode
		if r := in.invoke(in.b.Funcs["exiting"], intValue(int32(out.ExitCode))); r.exception() {
			in.free(in.takeException())
		}
		out.ExitCode, out.Interrupted = s.exitCode, s.interrupted
	}
	in.cleanUp(s)
	return out, nil
}

func (in *interp) describe(e value) (r report, ok bool) {
	v := in.invoke(in.b.Funcs["describe"], e)
	if v.exception() {
		in.free(in.takeException())
		return r, false
	}
	text, ok := in.stringOf(v, maxReport)
	in.free(v)
	return r, ok && json.Unmarshal([]byte(strings.ToValidUTF8(text, "\uFFFD")), &r) == nil
}

// where is the place to show: the innermost frame of the running script, else of any of the program's
// files; of an import that failed, its statement.
func (s *turn) where(r report) frame {
	for _, f := range r.Frames {
		if f.File == s.name() {
			return f
		}
	}
	if len(r.Frames) > 0 {
		return r.Frames[0]
	}
	if i := s.linking - 1; i >= 0 && i < len(s.imports) {
		return frame{File: s.name(), Line: s.imports[i].line}
	}
	return frame{}
}

// excerpt is the source line of a place in the running script, with a mark below its column.
func (s *turn) excerpt(at frame) string {
	line, ok := s.line(at.File, at.Line)
	if !ok {
		return ""
	}
	const width = 160 // a minified line says nothing
	if !utf8.ValidString(line) || utf8.RuneCountInString(line) > width {
		return fmt.Sprintf("%s:%d\n\n", at.File, at.Line)
	}
	mark := ""
	if at.Col > 0 {
		var pad strings.Builder
		for i, c := range []rune(line) {
			if i == at.Col-1 {
				break
			}
			if c != '\t' {
				c = ' '
			}
			pad.WriteRune(c)
		}
		mark = pad.String() + "^\n"
	}
	return fmt.Sprintf("%s:%d\n%s\n%s\n", at.File, at.Line, line, mark)
}

// line is a line of the running script, counted from 1.
func (s *turn) line(file string, n int) (line string, ok bool) {
	if file != s.name() || n < 1 {
		return "", false
	}
	rest := s.Source
	for ; n > 1; n-- {
		if _, rest, ok = strings.Cut(rest, "\n"); !ok {
			return "", false
		}
	}
	line, _, _ = strings.Cut(rest, "\n")
	return strings.TrimRight(line, "\r"), true
}

// maxLine bounds in bytes a line that the guest looks at for the name of what could not be called: a minified one has too many.
const maxLine = 2000

// line is opLine.
func (in *interp) line(s *turn, a arguments) uint64 {
	const fuelPerLine = 16
	n := max(0, a.int(1))
	in.g.Charge(fuelPerLine * uint64(n))
	line, ok := s.line(a.text(0, maxPath), int(n))
	if !ok || len(line) > maxLine {
		return in.null()
	}
	return in.box(in.newString(line))
}

// traceReserve is how much deeper the stack may be while an error gets its message: a function of the guest does that, and the
// error may be that there is no stack left.
const traceReserve = 64 << 10

// trace is opTrace, which the interpreter calls for each new error instead of writing its frames down: errors.js does that when
// somebody reads them. It begins no other error meanwhile. Those of the classes that the interpreter throws get their message.
func (in *interp) trace(a arguments) uint64 {
	if o, _ := objectAt(a.value(0)); slices.Contains(in.b.Thrown, heap{in.g.Memory(), in.b}.proto(o)) {
		in.reword(a.value(0), a.value(1))
	}
	return in.box(value(in.call("JS_DupValue", uint64(in.b.Ctx), uint64(a.value(1)))))
}

func (in *interp) reword(e, frames value) {
	sp, _ := in.g.GlobalGet(stackPointer)
	low := uint32(sp) < in.b.StackLimit+traceReserve
	if low {
		in.call("JS_SetMaxStackSize", uint64(in.b.Runtime), stackSize-stackReserve+traceReserve)
	}
	// Not where invoke puts arguments: those of a running call may be there.
	if v := in.invokeWith(in.b.Args+argsSize-16, in.b.Funcs["reword"], e, frames); v.exception() {
		in.free(in.takeException())
	}
	if low {
		in.call("JS_SetMaxStackSize", uint64(in.b.Runtime), stackSize-stackReserve)
	}
}

// hint is one sentence on what to do about an error that has a usual cause in a sandbox.
func hint(r report) string {
	switch {
	case r.Memory:
		return "The program needs more memory than its limit; work on smaller pieces or ask for a larger memory limit."
	case r.Code == "ERR_MODULE_NOT_FOUND" || r.Code == "MODULE_NOT_FOUND":
		return "npm packages are not installed here; what lies in node_modules (the host may mount it), node: modules (" + builtinNames + ") and files that you wrote can be imported."
	case r.Code == "EROFS":
		return "This path is read-only; write under /data or /tmp."
	case r.Code == "ENOSPC" || r.Code == "EDQUOT":
		return "The sandbox's disk limit is reached; delete files or ask for a larger disk limit."
	case r.Name == "RangeError" && strings.HasPrefix(r.Message, "Maximum call stack size exceeded"):
		return "The recursion is too deep; use a loop or an explicit stack."
	case r.Name == "TypeError" && strings.HasPrefix(r.Message, "fetch failed"):
		return "The sandbox has no network except for the addresses that its policy allows."
	case r.Name == "ReferenceError" && strings.HasSuffix(r.Message, " is not defined"):
		return missingGlobals[strings.TrimSuffix(r.Message, " is not defined")]
	}
	return ""
}

// builtinNames is what a hint says can be imported.
const builtinNames = "fs, path, util, events, assert, buffer, url, os, crypto, timers, ..."

// missingGlobals are globals of other hosts that generated code expects.
var missingGlobals = map[string]string{
	"window":         "There is no browser here: no window and no DOM.",
	"document":       "There is no browser here: no window and no DOM.",
	"localStorage":   "There is no browser here; keep values in variables or in files with node:fs.",
	"XMLHttpRequest": "Use fetch instead of XMLHttpRequest.",
	"alert":          "There is no browser here; use console.log.",
	"prompt":         "There is nobody to ask; read standard input with fs.readFileSync(0, \"utf8\").",
	"React":          "JSX becomes calls of React.createElement, and there is no React here; build text, or define React yourself.",
	"Deno":           "This is a Node-like environment, not Deno; use node:fs and process.",
	"Bun":            "This is a Node-like environment, not Bun; use node:fs and process.",
	"Temporal":       "Temporal is not here, nor in Node 20; use Date and Intl.DateTimeFormat.",
	"Atomics":        "There are no threads here, and so nothing to be atomic; read and write the array itself.",
	"WebAssembly":    "WebAssembly is not available to programs in this sandbox.",
	"Worker":         "There are no threads here; do the work in line.",
}
