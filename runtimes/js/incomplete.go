package js

import (
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// Incomplete says whether source, JavaScript or TypeScript, only lacks its end: more lines may make it right. What a
// parser may not be given (see stripTypes) counts as complete.
func Incomplete(source string) bool {
	if tooDeep(source, maxNesting, true).line > 0 || len(source) > maxTypeScript {
		return false
	}
	parse := func(source string) []api.Message {
		return api.Transform(source, api.TransformOptions{Loader: api.LoaderTS, Target: api.ESNext, LogLevel: api.LogLevelSilent}).Errors
	}
	for _, m := range parse(source) {
		switch {
		case strings.Contains(m.Text, "end of file"), strings.Contains(m.Text, "to terminate multi-line comment"):
			return true
		case strings.Contains(m.Text, unterminated): // a template too is called a string
			again := parse(source + "`")
			return len(again) == 0 || !strings.Contains(again[0].Text, unterminated)
		}
	}
	return false
}

const unterminated = "Unterminated string literal" // in esbuild's words
