package webtest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// browser is shared by the tests of a binary: starting one takes seconds. Main ends it.
var browser struct {
	once sync.Once
	ctx  context.Context
	err  error
	stop []func()
}

// Browser is a Chromium without a window, as a context for chromedp; use it through Tab. The test is skipped when there
// is none.
func Browser(t testing.TB) context.Context {
	t.Helper()
	path := Program(t, "chromium", "chromium-browser", "google-chrome", "chrome")
	browser.once.Do(func() {
		o := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WindowSize(1360, 860),
			chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("hide-scrollbars", false))
		if os.Geteuid() == 0 {
			o = append(o, chromedp.NoSandbox) // Chromium refuses to be root otherwise
		}
		ctx, cancel := chromedp.NewExecAllocator(context.Background(), o...)
		browser.stop = append(browser.stop, cancel)
		browser.ctx, cancel = chromedp.NewContext(ctx)
		browser.stop = append(browser.stop, cancel)
		browser.err = chromedp.Do(browser.ctx)
	})
	if browser.err != nil {
		t.Fatalf("start %s: %v", path, browser.err)
	}
	return browser.ctx
}

func closeBrowser() {
	for _, stop := range slices.Backward(browser.stop) {
		stop()
	}
}

// Tab opens another tab, with storage of its own and a time limit. When the test ends, errors and warnings on its
// console fail the test, but for those that hold one of the allowed texts.
func Tab(t testing.TB, browser context.Context, limit time.Duration, allowed ...string) context.Context {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	if err := chromedp.Do(ctx); err != nil {
		closeTab()
		t.Fatal(err)
	}
	messages := chromedp.Console(ctx)
	read := make(chan struct{})
	var problems []string
	go func() {
		defer close(read)
		for m, err := range messages {
			if err != nil {
				return
			}
			switch m.Type {
			case chromedp.ConsoleError, chromedp.ConsoleWarning, chromedp.ConsoleException:
				problems = append(problems, fmt.Sprintf("%s: %s (%s:%d)", m.Type, m.Text, m.URL, m.Line))
			}
		}
	}()
	t.Cleanup(func() {
		closeTab()
		<-read
		for _, p := range problems {
			if !containsAny(p, allowed) {
				t.Errorf("the console has %s", p)
			}
		}
	})
	ctx, cancel := context.WithTimeout(ctx, limit)
	t.Cleanup(cancel)
	return ctx
}

func containsAny(s string, texts []string) bool {
	for _, text := range texts {
		if strings.Contains(s, text) {
			return true
		}
	}
	return false
}
