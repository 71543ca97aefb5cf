package js

import (
	"encoding/json"
	"fmt"
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
	if s.ended() { // describe runs the program's getters
		return in.exit(s)
	}
	if !ok {
		r = report{Name: "Error", Message: "the thrown value cannot be shown", Text: "Error: the thrown value cannot be shown"}
	}
	out := runtimes.Outcome{ExitCode: 1, OutOfMemory: r.Memory, Error: &runtimes.GuestError{Name: r.Name, Value: r.Message}}
	at := s.where(r)
	out.Error.Line = at.Line
	out.Error.Hint = hint(r)
	out.Error.Traceback = s.excerpt(at) + "Uncaught " + strings.TrimRight(r.Text, "\n")
	s.print(2, out.Error.Traceback+"\n")
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
	if at.File != s.name() || at.Line < 1 {
		return ""
	}
	lines := strings.Split(s.Source, "\n")
	if at.Line > len(lines) {
		return ""
	}
	line := strings.TrimRight(lines[at.Line-1], "\r")
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

// hint is one sentence on what to do about an error that has a usual cause in a sandbox.
func hint(r report) string {
	switch {
	case r.Memory:
		return "The program needs more memory than its limit; work on smaller pieces or ask for a larger memory limit."
	case r.Code == "ERR_MODULE_NOT_FOUND" || r.Code == "MODULE_NOT_FOUND":
		return "npm packages are not installed here; node: modules (" + builtinNames + ") and files that you wrote can be imported."
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
	"WebAssembly":    "WebAssembly is not available to programs in this sandbox.",
	"Worker":         "There are no threads here; do the work in line.",
}
