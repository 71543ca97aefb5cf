package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/cloche-dev/cloche/engine"
)

// program is one text to run.
type program struct {
	name     string // in tracebacks; "" for the engine's choice
	language string
	code     string
	shows    bool // print the value of the last expression
}

// programs reads what is to run, and finds out its language.
func (c *runCmd) programs(stdin io.Reader) ([]program, error) {
	if c.Receipt != "" && c.Session {
		return nil, usagef("--receipt is for a run in a fresh sandbox, not for --session")
	}
	if c.Code != nil {
		if len(c.File) > 0 {
			return nil, usagef("-c and FILE exclude each other")
		}
		p := program{language: c.languageOf(""), code: *c.Code, shows: true}
		return []program{p}, c.checkPackages(p.language)
	}
	files := c.File
	if len(files) == 0 {
		files = []string{"-"}
	}
	if len(files) > 1 && !c.Session {
		return nil, usagef("%d files are given: only --session runs more than one; arguments of the program are given with --arg", len(files))
	}
	var programs []program
	stdinUsed := c.Stdin == "-"
	for _, name := range files {
		p := program{language: c.languageOf(name), shows: c.Session}
		if name == "-" {
			if stdinUsed {
				return nil, usagef("standard input is asked for twice")
			}
			stdinUsed = true
			b, err := readAtMost(stdin, maxProgram)
			if err != nil {
				return nil, fmt.Errorf("read the program: %w", err)
			}
			p.code = string(b)
		} else {
			b, err := readProgram(name)
			if err != nil {
				return nil, usageError{fmt.Errorf("read the program: %w", err)}
			}
			p.code, p.name = string(b), filepath.Base(name)
		}
		if err := engine.CheckCode(p.code); err != nil { // before an earlier turn runs
			return nil, usageError{fmt.Errorf("read the program: %s: %w", name, err)}
		}
		programs = append(programs, p)
	}
	if c.Session {
		for _, p := range programs[1:] {
			if engine.RuntimeOf(p.language) != engine.RuntimeOf(programs[0].language) {
				return nil, usagef("a session has one language: %s is not %s", p.language, programs[0].language)
			}
		}
	}
	return programs, c.checkPackages(programs[0].language)
}

var languages = map[string]string{
	".py": engine.Python, ".js": engine.JavaScript, ".mjs": engine.JavaScript, ".cjs": engine.JavaScript,
	".ts": engine.TypeScript, ".mts": engine.TypeScript, ".cts": engine.TypeScript, ".tsx": engine.TypeScript, ".jsx": engine.TypeScript,
}

func (c *runCmd) languageOf(file string) string { return cmp.Or(c.Lang, languageOf(file)) }

// languageOf is the language of a file by its suffix, Python where that says nothing.
func languageOf(file string) string {
	if l, ok := languages[strings.ToLower(filepath.Ext(file))]; ok {
		return l
	}
	return engine.Python
}
