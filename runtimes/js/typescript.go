package js

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"runtime"
	"strings"
	"time"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/cloche-dev/cloche/engine/vm"
)

// syntaxError is a fault in TypeScript source.
type syntaxError struct {
	File         string
	Line, Column int // from 1
	Text         string
	// Source is the line at fault.
	Source string
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
}

// Stripping types is the host's work, which no fuel pays for, and esbuild is made for source that its user trusts: 3 KB of
// nested functions keep it busy for 15 seconds (its time grows with the cube of the nesting), 300 KB of them overflow Go's
// stack, which ends the process, a chain of 60,000 links takes half a gigabyte of stack, and for each name that is declared
// twice it goes through the source again. Within these bounds the worst source found (names declared twice) takes 6 s on one
// processor; see strip for who waits for it.
const (
	maxTypeScript = 128 << 10 // bytes
	maxNesting    = 32        // as tooDeep counts it; code that people write stays below 20
	// maxJSX is smaller, since tooDeep does not know what is text in JSX: brackets can hide in what it takes for strings.
	maxJSX = 2 << 10
)

// stripTypes turns TypeScript into JavaScript in which statements begin on the line where they were, and what is on that
// line in the column where it was, as far as there is room. name is the file's, for messages; a name that ends in x
// (.tsx, .jsx) may hold JSX, which becomes calls of React.createElement. Types are not checked. The error is a
// [*syntaxError] when the source is at fault.
func stripTypes(source, name string) (string, error) {
	if len(source) > maxTypeScript {
		return "", &syntaxError{File: name, Line: 1, Column: 1, Text: fmt.Sprintf("%d bytes of TypeScript are more than %d", len(source), maxTypeScript)}
	}
	loader := api.LoaderTS
	jsx := strings.HasSuffix(path.Ext(name), "x")
	if jsx && len(source) <= maxJSX {
		loader = api.LoaderTSX
	}
	if e := tooDeep(source, maxNesting, loader == api.LoaderTS); e.line > 0 {
		return "", &syntaxError{File: name, Line: e.line, Column: 1, Text: e.why}
	}
	if enumsTooLarge(source) {
		return "", &syntaxError{File: name, Line: 1, Column: 1, Text: fmt.Sprintf("the values of the enums are more than %d MiB together", maxInlined>>20)}
	}
	r := api.Transform(source, api.TransformOptions{
		Loader: loader, Target: api.ESNext, Sourcefile: name, Sourcemap: api.SourceMapExternal, Charset: api.CharsetUTF8,
		SourcesContent: api.SourcesContentExclude, TreeShaking: api.TreeShakingFalse, LegalComments: api.LegalCommentsNone,
		Supported:   map[string]bool{"decorators": false},
		TsconfigRaw: `{"compilerOptions":{"useDefineForClassFields":true}}`, LogLevel: api.LogLevelSilent,
	})
	if len(r.Errors) > 0 {
		m := r.Errors[0]
		e := &syntaxError{File: name, Line: 1, Column: 1, Text: m.Text}
		if jsx && loader == api.LoaderTS {
			e.Text += fmt.Sprintf(" (JSX is read in files of up to %d bytes)", maxJSX)
		}
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
	return relay(strings.TrimSuffix(string(r.Code), "\n"), decodeMappings(m.Mappings), strings.Count(source, "\n")), nil
}

// stripping are the sources that are being stripped at the same time, abandoned ones included: no others are begun
// meanwhile, whatever comes of those who wait for them. Short ones, for which the worst takes an eighth of a second, have
// places of their own, so that most programs do not wait for anybody's long one.
var stripping = struct{ short, long chan struct{} }{newStrippers(), newStrippers()}

// shortTypeScript is the most bytes of a short source.
const shortTypeScript = 16 << 10

func newStrippers() chan struct{} { return make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)) }

// strip is stripTypes within the time of the run: when that is over nobody waits for it any more.
func (in *interp) strip(source, name string) (string, error) {
	type stripped struct {
		code string
		err  error
	}
	done := make(chan stripped, 1)
	places := stripping.short
	if len(source) > shortTypeScript {
		places = stripping.long
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for began := false; ; {
		admitted := places
		if began {
			admitted = nil
		}
		select {
		case admitted <- struct{}{}:
			began = true
			go func() {
				defer func() { <-places }()
				defer func() {
					if r := recover(); r != nil { // a fault of the parser's, which must not end the process
						done <- stripped{err: &syntaxError{File: name, Line: 1, Column: 1, Text: "this TypeScript cannot be parsed"}}
					}
				}()
				code, err := stripTypes(source, name)
				done <- stripped{code, err}
			}()
		case r := <-done:
			return r.code, r.err
		case <-tick.C:
			if err := in.ctx.Err(); err != nil {
				panic(vm.Stop{Err: context.Cause(in.ctx)})
			}
			in.look()
		}
	}
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
