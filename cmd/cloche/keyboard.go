package main

import (
	"errors"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/peterh/liner"
)

// interruptGrace is how long a program has to end, or to give up its read, after Ctrl-C took the place of an answer.
const interruptGrace = time.Second

// typed is what a prompt brought.
type typed struct {
	line string
	err  error
}

// keyboard hands each line that is typed to one reader: the prompt for turns, or the program while a turn runs. There is one
// prompt at a time; one that was given up, since its turn had ended, stands for the next.
type keyboard struct {
	lines lineReader
	came  chan typed

	mu      sync.Mutex
	pending bool
}

func newKeyboard(lines lineReader) *keyboard {
	return &keyboard{lines: lines, came: make(chan typed, 1)}
}

// ask prompts, unless somebody was asked already. Who receives from the channel calls taken. answer: what is typed is for the
// program.
func (k *keyboard) ask(prompt string, answer bool) <-chan typed {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.pending {
		k.pending = true
		go func() {
			read := k.lines.Prompt
			if answer {
				read = k.lines.Answer
			}
			line, err := read(prompt)
			k.came <- typed{line, err}
		}()
	}
	return k.came
}

func (k *keyboard) taken() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pending = false
}

// giveBack is called in the place of taken: what was typed is for whoever asks next.
func (k *keyboard) giveBack(t typed) { k.came <- t }

// answers is the standard input of one turn at a terminal, and watches its output for what the line begins with: the editor
// draws that again.
type answers struct {
	keys      *keyboard
	out       io.Writer
	interrupt func() bool   // asks the turn to end
	stopped   chan struct{} // closed when it was asked: what is typed from then on is not the turn's
	over      chan struct{} // closed when the turn has ended

	rest string // of the last line

	mu    sync.Mutex
	begun string // what stands on the terminal's line
}

func newAnswers(keys *keyboard, out io.Writer, interrupt func() bool) *answers {
	return &answers{keys: keys, out: out, interrupt: interrupt, stopped: make(chan struct{}), over: make(chan struct{})}
}

// stop asks the turn to end, and says whether there was one. A turn may end before stop returns: the lock makes ended wait for
// that.
func (a *answers) stop() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.interrupt() {
		return false
	}
	select {
	case <-a.stopped: // it was asked before
	default:
		close(a.stopped)
	}
	return true
}

// maxBegun is how much of a line is kept as the prompt of an answer: several times the width of a terminal.
const maxBegun = 1 << 10

// Write implements [io.Writer], for what the turn prints.
func (a *answers) Write(p []byte) (int, error) {
	a.mu.Lock()
	line := string(p[max(0, len(p)-maxBegun):])
	if i := strings.LastIndexByte(line, '\n'); i >= 0 {
		a.begun = line[i+1:]
	} else {
		a.begun += line
		a.begun = a.begun[max(0, len(a.begun)-maxBegun):]
	}
	a.mu.Unlock()
	return a.out.Write(p)
}

// inLine says whether the terminal's line has begun.
func (a *answers) inLine() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.begun != ""
}

// Read implements [io.Reader]: a line, with its end.
func (a *answers) Read(p []byte) (int, error) {
	if a.rest == "" {
		if a.ended() { // or the next select might ask for a line that is not the program's
			return a.end()
		}
		a.mu.Lock()
		prompt := strings.ToValidUTF8(a.begun, "")
		a.mu.Unlock()
		var got typed
		select {
		case <-a.over:
			return a.end()
		case <-a.stopped:
			return a.end()
		case got = <-a.keys.ask(plain(prompt), true):
			if a.ended() { // this select takes either when both are there
				a.keys.giveBack(got)
				return a.end()
			}
			a.keys.taken()
		}
		a.mu.Lock()
		a.begun = ""
		a.mu.Unlock()
		if errors.Is(got.err, liner.ErrPromptAborted) { // Ctrl-C, which is no signal while the editor reads
			a.stop()
			return a.end()
		}
		if got.err != nil {
			return 0, got.err
		}
		a.rest = got.line + "\n"
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// ended says whether what is typed is no longer the turn's.
func (a *answers) ended() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-a.over:
		return true
	case <-a.stopped:
		return true
	default:
		return false
	}
}

// end is a Read that brings no line. A program that is asked to end shall see that, and not that its input has ended.
func (a *answers) end() (int, error) {
	select {
	case <-a.over:
	case <-time.After(interruptGrace):
	}
	return 0, io.EOF
}

// plain is text without what moves the cursor or colours it, which the editor takes for no prompt.
func plain(text string) string {
	escape := false
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = !unicode.IsLetter(r)
		case !unicode.Is(unicode.C, r):
			return r
		}
		return -1
	}, text)
}
