package js

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// SyntaxError is a fault in TypeScript source.
type SyntaxError struct {
	File         string
	Line, Column int // from 1
	Text         string
	// Source is the line at fault.
	Source string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
}

// Stripping types is the host's work, which no fuel pays for, and esbuild is made for source that its user trusts: 3 KB of
// nested functions keep it busy for 15 seconds (its time grows with the cube of the nesting), and 300 KB of them overflow
// Go's stack, which ends the process. Within these bounds the worst source found takes 3 s.
const (
	maxTypeScript = 256 << 10 // bytes
	maxNesting    = 48        // as nesting counts it; code that people write stays below 20
)

// StripTypes turns TypeScript into JavaScript in which every statement begins on the line where it was. name is
// the file's, for messages; a name that ends in x (.tsx, .jsx) may hold JSX, which becomes calls of React.createElement. Types are
// not checked. The error is a [*SyntaxError] when the source is at fault.
func StripTypes(source, name string) (string, error) {
	if len(source) > maxTypeScript {
		return "", fmt.Errorf("%s: %d bytes of TypeScript are more than %d", name, len(source), maxTypeScript)
	}
	if line := tooDeep(source, maxNesting); line > 0 {
		return "", &SyntaxError{File: name, Line: line, Column: 1, Text: fmt.Sprintf("TypeScript nested deeper than %d levels", maxNesting)}
	}
	loader := api.LoaderTS
	if ext := path.Ext(name); strings.HasSuffix(ext, "x") {
		loader = api.LoaderTSX
	}
	r := api.Transform(source, api.TransformOptions{
		Loader: loader, Target: api.ESNext, Sourcefile: name, Sourcemap: api.SourceMapExternal,
		SourcesContent: api.SourcesContentExclude, TreeShaking: api.TreeShakingFalse, LegalComments: api.LegalCommentsNone,
		Supported:   map[string]bool{"decorators": false},
		TsconfigRaw: `{"compilerOptions":{"useDefineForClassFields":true}}`, LogLevel: api.LogLevelSilent,
	})
	if len(r.Errors) > 0 {
		m := r.Errors[0]
		e := &SyntaxError{File: name, Line: 1, Column: 1, Text: m.Text}
		if l := m.Location; l != nil {
			e.Line, e.Column, e.Source = l.Line, l.Column+1, l.LineText
		}
		return "", e
	}
	var m struct {
		Mappings string `json:"mappings"`
	}
	if err := json.Unmarshal(r.Map, &m); err != nil {
		return "", fmt.Errorf("%s: source map: %w", name, err)
	}
	lines := strings.Split(strings.TrimSuffix(string(r.Code), "\n"), "\n")
	return relay(lines, lineOrigins(m.Mappings, lines), strings.Count(source, "\n")), nil
}

// relay moves the lines of code to where they came from: it adds line breaks before a line that came from further
// down, and joins a line to the one before it when it did not. origins has the original line, from 0, of
// the first thing on each line of code, -1 where there is none. esbuild ends each statement with a semicolon,
// so that lines may be joined unless a comment ends the first of them or they are lines of one template.
// last is the last line of the source.
func relay(lines []string, origins []int, last int) string {
	inTemplate := templateBreaks(strings.Join(lines, "\n"))
	var b strings.Builder
	at, offset, comment := 0, 0, false // the line being written; where line begins in code
	for i, line := range lines {
		length := len(line)
		origin := -1
		if i < len(origins) {
			origin = min(origins[i], last)
		}
		switch {
		case i > 0 && (inTemplate[offset-1] || comment && origin <= at):
			b.WriteByte('\n')
			at++
		case origin > at:
			b.WriteString(strings.Repeat("\n", origin-at))
			at = origin
		case i > 0:
			if line = strings.TrimLeft(line, " "); line != ");" && line != ")" {
				b.WriteByte(' ')
			}
		}
		b.WriteString(line)
		comment = strings.Contains(line, "//")
		offset += length + 1
	}
	return b.String()
}

// templateBreaks are the offsets of line breaks inside templates.
func templateBreaks(code string) map[int]bool {
	breaks := map[int]bool{}
	s := scanner{src: code, out: []byte(code)}
	for {
		t := s.next()
		switch t.kind {
		case tokEOF:
			return breaks
		case tokValue, tokTemplate:
			for i := t.from; i < t.to; i++ {
				if code[i] == '\n' {
					breaks[i] = true
				}
			}
		}
	}
}

// lineOrigins reads the mappings of a source map: for each line of the output the original line, from 0, of its
// first segment that is not before its text begins, or -1.
func lineOrigins(mappings string, lines []string) []int {
	var origins []int
	origin := 0 // runs on over all segments
	for i, line := range strings.Split(mappings, ";") {
		first, column, indent := -1, 0, 0
		if i < len(lines) {
			indent = len(lines[i]) - len(strings.TrimLeft(lines[i], " "))
		}
		for _, segment := range strings.Split(line, ",") {
			fields := decodeVLQ(segment)
			if len(fields) < 4 { // column, source, line, column
				continue
			}
			column += fields[0]
			origin += fields[2]
			if first < 0 && column >= indent {
				first = origin
			}
		}
		origins = append(origins, first)
	}
	return origins
}

// decodeVLQ reads base64 variable-length numbers: five bits a digit, least first, the sixth says that more
// follow; the lowest bit of a number is its sign.
func decodeVLQ(s string) []int {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	var out []int
	n, shift := 0, 0
	for i := range len(s) {
		d := strings.IndexByte(digits, s[i])
		if d < 0 || shift > 30 {
			return out
		}
		n |= (d & 31) << shift
		shift += 5
		if d&32 != 0 {
			continue
		}
		if n&1 != 0 {
			n = -n
		}
		out = append(out, n/2)
		n, shift = 0, 0
	}
	return out
}
