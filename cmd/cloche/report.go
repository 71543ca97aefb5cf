package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

// report prints what the guest itself did not, saves files and charts, and returns a statusError for a run
// that did not end with status 0.
func (r *runner) report(p program, res *engine.Result, files *engine.Files) error {
	if r.learned != nil {
		r.learned.learn(res)
	}
	about := r.autopsy(res)
	if r.cmd.JSON {
		b, err := withAutopsy(res, about)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(jsonOnScreen{r.app.out}, "%s\n", b); err != nil {
			return err
		}
	} else {
		r.print(p, res)
		if about != nil {
			fmt.Fprintf(r.err, "cloche: it was stopped here, as it says itself:\n%s\n", printable(about.Text()))
		}
	}
	if r.out != nil {
		if err := r.out.save(res, files); err != nil {
			return err
		}
	} else if n := len(res.Charts()); n > 0 && !r.cmd.JSON {
		fmt.Fprintf(r.err, "cloche: charts shown: %d; --out DIR saves them\n", n)
	}
	if code := exitStatus(res); code != 0 {
		return statusError(code)
	}
	return nil
}

// autopsy says what the program was doing when it was stopped, or nil: it is a help, and a run is reported without it too.
func (r *runner) autopsy(res *engine.Result) *engine.Autopsy {
	if res.Autopsy == nil {
		return nil
	}
	about, err := r.eng.Autopsy(r.ctx, res.Autopsy.ID)
	if err != nil {
		return nil
	}
	return about
}

// withAutopsy is a Result as JSON, with all that an autopsy says in the place of what names it.
func withAutopsy(res *engine.Result, about *engine.Autopsy) ([]byte, error) {
	if about == nil {
		return json.Marshal(res)
	}
	plain := *res
	plain.Autopsy = nil
	return plain.JSONWith("autopsy", about)
}

// exitStatus is the program's exit status for a result.
func exitStatus(res *engine.Result) int {
	code := res.ExitCode & 0xff // what a process can return
	if code == 0 && res.Status != engine.StatusOK {
		return 1
	}
	return code
}

func (r *runner) print(p program, res *engine.Result) {
	if v, ok := res.Value(); ok && p.shows {
		fmt.Fprintln(onScreen(r.app.out), v)
	}
	if t := res.Truncated; t != nil {
		for _, cut := range []struct {
			what string
			cut  *engine.Cut
			flag string
		}{{"output", t.Stdout, "--output"}, {"error output", t.Stderr, "--output"}, {"displayed values", t.Results, "a policy's results"}} {
			if cut.cut != nil {
				fmt.Fprintf(r.err, "cloche: %s: %s of %s kept; %s allows more\n", cut.what,
					limits.FormatSize(cut.cut.KeptBytes), limits.FormatSize(cut.cut.TotalBytes), cut.flag)
			}
		}
	}
	e := res.Error
	if e == nil {
		return
	}
	if t := strings.TrimSpace(e.Traceback); t != "" && !strings.Contains(res.Stderr, t) {
		fmt.Fprintln(r.err, printable(t))
	}
	if res.Status != engine.StatusError && e.Value != "" {
		fmt.Fprintf(r.err, "cloche: %s\n", printable(e.Value))
	}
	if e.Hint != "" {
		fmt.Fprintf(r.err, "cloche: hint: %s\n", printable(e.Hint))
	}
	if res.RolledBack {
		fmt.Fprintln(r.err, "cloche: the session is as it was before this turn")
	}
}
