package main

import (
	"io"
	"testing"
	"time"

	"github.com/peterh/liner"
)

// promptedLines is a terminal at which nothing is typed but what the test sends.
type promptedLines struct{ typed chan typed }

func (p promptedLines) Prompt(string) (string, error) {
	t := <-p.typed
	return t.line, t.err
}

func (p promptedLines) Answer(prompt string) (string, error) { return p.Prompt(prompt) }

func (promptedLines) Close() error { return nil }

// TestStoppedTurnTakesNoLine is about what is typed after Ctrl-C, while the turn that was stopped has not ended: the next
// prompt gets it, however the two meet. The pauses only make it likely that they meet in each way.
func TestStoppedTurnTakesNoLine(t *testing.T) {
	const pause = time.Millisecond
	for name, meet := range map[string]func(a *answers, lines promptedLines){
		"the program waits": func(a *answers, lines promptedLines) {
			time.Sleep(pause)
			a.stop()
			lines.typed <- typed{line: "next"}
		},
		"both at once": func(a *answers, lines promptedLines) {
			a.stop()
			lines.typed <- typed{line: "next"}
		},
		"typed before it knows that it is stopped": func(a *answers, lines promptedLines) {
			time.Sleep(pause)
			a.interrupt = func() bool {
				lines.typed <- typed{line: "next"}
				time.Sleep(pause)
				return true
			}
			a.stop()
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				lines := promptedLines{make(chan typed, 1)}
				keys := newKeyboard(lines)
				a := newAnswers(keys, io.Discard, func() bool { return true })
				read := make(chan error)
				go func() {
					n, err := a.Read(make([]byte, 100))
					if n > 0 {
						t.Errorf("the turn got %d bytes", n)
					}
					read <- err
				}()
				meet(a, lines)
				close(a.over)
				if err := <-read; err != io.EOF {
					t.Errorf("the turn's read ended with %v", err)
				}
				if got := <-keys.ask("> ", false); got.line != "next" || got.err != nil {
					t.Fatalf("the prompt got %q, %v", got.line, got.err)
				}
			}
		})
	}
}

// TestInterruptWithoutTurn is about Ctrl-C that comes as a turn ends: it leaves what is typed to the program.
func TestInterruptWithoutTurn(t *testing.T) {
	lines := promptedLines{make(chan typed, 2)}
	a := newAnswers(newKeyboard(lines), io.Discard, func() bool { return false })
	if a.stop() {
		t.Error("there was a turn to stop")
	}
	lines.typed <- typed{line: "Ada"}
	buf := make([]byte, 100)
	if n, err := a.Read(buf); string(buf[:n]) != "Ada\n" || err != nil {
		t.Errorf("the program reads %q, %v", buf[:n], err)
	}
	asked := false
	a.interrupt = func() bool { asked = true; close(a.over); return true }
	lines.typed <- typed{err: liner.ErrPromptAborted}
	if n, err := a.Read(buf); n != 0 || err != io.EOF || !asked {
		t.Errorf("after Ctrl-C the program reads %q, %v; asked: %v", buf[:n], err, asked)
	}
}
