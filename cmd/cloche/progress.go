package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/cloche-dev/cloche/runtimes"
)

// newProgress shows a setup on w: bars on a terminal, plain lines elsewhere. Nothing is written unless there is
// something to set up.
func newProgress(w io.Writer) runtimes.Progress {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &bars{w: w}
	}
	return &lines{w: w}
}

// pace corrects estimates: they were measured on another machine, and the stages that are over tell how much
// slower or faster this one is.
type pace struct{ estimated, took time.Duration }

func (p *pace) estimate(d time.Duration) time.Duration {
	if p.estimated < 200*time.Millisecond { // too little to judge by
		return d
	}
	return time.Duration(float64(d) * p.took.Seconds() / p.estimated.Seconds())
}

func (p *pace) add(estimate, took time.Duration) {
	if estimate > 0 {
		p.estimated += estimate
		p.took += took
	}
}

// worthTelling is how long a stage takes at least that is spoken of when it is over.
const worthTelling = time.Second

// about prints a duration as a person would say it.
func about(d time.Duration) string {
	if d < 2*time.Second {
		return "a moment"
	}
	if d = d.Round(time.Second); d < time.Minute {
		return fmt.Sprintf("about %d s", d/time.Second)
	}
	d = d.Round(5 * time.Second)
	if s := d % time.Minute / time.Second; s > 0 {
		return fmt.Sprintf("about %d min %d s", d/time.Minute, s)
	}
	return fmt.Sprintf("about %d min", d/time.Minute)
}

// firstWords are said before the first stage unless something else was: the user who only wants to run a
// program should know why it takes so long, and that it will not again.
const firstWords = "cloche: setting up, once; later runs start at once\n"

// lines is a progress of whole lines, for logs. Stages of a moment are passed over.
type lines struct {
	w     io.Writer
	spoke bool
	pace  pace
	stage string
	begun time.Time
	est   time.Duration
}

// Stage implements [runtimes.Progress].
func (l *lines) Stage(name string, estimate time.Duration) {
	l.End()
	l.stage, l.begun, l.est = name, time.Now(), estimate
	if !l.spoke {
		l.spoke = true
		io.WriteString(l.w, firstWords)
	}
	expected := l.pace.estimate(estimate)
	switch {
	case estimate == 0:
		fmt.Fprintf(l.w, "cloche: %s\n", name)
	case expected >= worthTelling:
		fmt.Fprintf(l.w, "cloche: %s: %s\n", name, about(expected))
	}
}

// Update implements [runtimes.Progress].
func (l *lines) Update(int64, int64) {}

// Note implements [runtimes.Progress].
func (l *lines) Note(text string) {
	l.spoke = true
	fmt.Fprintf(l.w, "cloche: %s\n", text)
}

// End implements [runtimes.Progress].
func (l *lines) End() {
	if l.stage == "" {
		return
	}
	took := time.Since(l.begun)
	l.pace.add(l.est, took)
	if took >= worthTelling {
		fmt.Fprintf(l.w, "cloche: %s: done in %.1f s\n", l.stage, took.Seconds())
	}
	l.stage = ""
}

// bars is a progress bar per stage. A stage that tells how far it is shows that; one that has only an estimate
// shows the time that is over, and stops short of its end until it is really done.
type bars struct {
	w    io.Writer
	pace pace

	// mu guards what follows: a goroutine moves the bar of a stage that tells nothing.
	mu    sync.Mutex
	spoke bool
	bar   *progressbar.ProgressBar
	name  string
	begun time.Time
	est   time.Duration
	bytes bool
	stop  chan struct{}
}

const tick = 100 * time.Millisecond

// Stage implements [runtimes.Progress].
func (b *bars) Stage(name string, estimate time.Duration) {
	b.End()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.spoke {
		b.spoke = true
		io.WriteString(b.w, firstWords)
	}
	b.name, b.begun, b.est, b.bytes = name, time.Now(), estimate, false
	b.stop = make(chan struct{})
	expected := b.pace.estimate(estimate)
	most := int64(-1) // a spinner
	if estimate > 0 {
		most = max(int64(expected/tick), int64(2*time.Second/tick))
		name += " (" + about(expected) + ")"
	}
	b.bar = b.newBar(most, name, false)
	go b.run(b.stop, most)
}

func (b *bars) newBar(most int64, name string, bytes bool) *progressbar.ProgressBar {
	return progressbar.NewOptions64(most,
		progressbar.OptionSetWriter(b.w), progressbar.OptionSetDescription(name), progressbar.OptionSetWidth(24),
		progressbar.OptionShowBytes(bytes), progressbar.OptionSetPredictTime(bytes), progressbar.OptionSetElapsedTime(true),
		progressbar.OptionThrottle(tick/2), progressbar.OptionClearOnFinish(), progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionUseANSICodes(true), progressbar.OptionSetSpinnerChangeInterval(0)) // we move it: see run
}

// run moves the bar with time.
func (b *bars) run(stop chan struct{}, most int64) {
	t := time.NewTicker(tick)
	defer t.Stop()
	for n := int64(1); ; n++ {
		select {
		case <-stop:
			return
		case <-t.C:
		}
		b.mu.Lock()
		if b.stop == stop && !b.bytes {
			switch {
			case most < 0:
				b.bar.Add64(1)
			case n < most:
				b.bar.Set64(n)
			case n == most:
				b.bar.Describe(b.name + " (takes longer than expected)")
			}
		}
		b.mu.Unlock()
	}
}

// Update implements [runtimes.Progress].
func (b *bars) Update(done, total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bar == nil || total <= 0 {
		return
	}
	if !b.bytes {
		b.bytes = true
		b.bar.Clear()
		b.bar = b.newBar(total, b.name, true)
	}
	b.bar.Set64(min(done, total-1)) // the end is shown by End
}

// Note implements [runtimes.Progress].
func (b *bars) Note(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spoke = true
	if b.bar != nil {
		b.bar.Clear()
	}
	fmt.Fprintf(b.w, "cloche: %s\n", text)
}

// End implements [runtimes.Progress].
func (b *bars) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bar == nil {
		return
	}
	close(b.stop)
	took := time.Since(b.begun)
	b.pace.add(b.est, took)
	b.bar.Finish()
	if took >= worthTelling {
		fmt.Fprintf(b.w, "cloche: %s: done in %.1f s\n", b.name, took.Seconds())
	}
	b.bar, b.stop = nil, nil
}
