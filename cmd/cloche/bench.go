package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/limits"
)

type benchCmd struct {
	JSON bool          `name:"json" help:"Print a list of objects: name, n, median_us, p99_us; or name, per_second; or name, bytes."`
	Only []string      `sep:"none" placeholder:"PATTERN" help:"Benchmarks whose name fits, such as turn.* or *.python. Repeatable."`
	Time time.Duration `default:"2s" help:"About how long each takes."`
}

func (benchCmd) Help() string {
	return `Everything is measured in this process, with limits and fuel on and each interpreter's libraries imported, one after the other; give it a machine that does nothing else.

    acquire        take a warm instance out of the pool
    fresh          run x=1 in a fresh sandbox, all in
    turn           a turn x=2 of a session
    describe       a fresh sandbox describes a CSV file of 1,000 rows that it is given (Python)
    chart          a fresh sandbox draws a chart of it (Python)
    fork_first     fork a session whose 100 MB (JavaScript: 100 MB array) all changed in its last turn, and run a turn in the fork
    fork_next      the same once more
    snapshot       write the state of a small session as a file, into memory
    restore        read it again, make a session of it, and run a turn
    tool           a program calls a function of the host that waits for nothing
    rate           fresh runs of x=1 a second, as many at once as there are processors
    session_bytes  memory of one of 1,000 idle sessions, checkpoint included (Linux: PSS)

` + exitHelpOther
}

// benchResult is one line. Exactly one of its three kinds of value is there.
type benchResult struct {
	Name      string   `json:"name"`
	N         int      `json:"n,omitempty"`
	MedianUS  *float64 `json:"median_us,omitempty"`
	P99US     *float64 `json:"p99_us,omitempty"`
	PerSecond *float64 `json:"per_second,omitempty"`
	Bytes     *int64   `json:"bytes,omitempty"`
}

// benchmark measures one thing in one language.
type benchmark struct {
	name string
	run  func(*bencher) (benchResult, error)
}

var benchmarks = []benchmark{
	{"acquire", (*bencher).acquire}, {"fresh", (*bencher).fresh}, {"turn", (*bencher).turn},
	{"describe", (*bencher).describe}, {"chart", (*bencher).chart},
	{"fork_first", (*bencher).forkFirst}, {"fork_next", (*bencher).forkNext},
	{"snapshot", (*bencher).snapshot}, {"restore", (*bencher).restore}, {"tool", (*bencher).tool},
	{"rate", (*bencher).rate}, {"session_bytes", (*bencher).sessionBytes},
}

// Run measures and prints.
func (c *benchCmd) Run(a *app) (err error) {
	for _, p := range c.Only {
		if _, err := path.Match(p, ""); err != nil {
			return usagef("--only %q: %v", p, err)
		}
	}
	eng, err := engine.New(engine.Config{
		Cache: a.getenv("CLOCHE_CACHE"), MaxSandboxes: 64, MaxIdle: 8, Progress: newProgress(a.err),
		Limits: limits.Limits{MemoryBytes: 2 << 30},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	results := []benchResult{}
	for _, language := range []string{engine.Python, engine.JavaScript} {
		for _, b := range benchmarks {
			name := b.name + "." + language
			if !c.wants(name) {
				continue
			}
			r, err := b.run(&bencher{ctx: a.ctx, eng: eng, language: language, time: c.Time})
			if errors.Is(err, errDoesNotApply) {
				continue
			}
			if err != nil {
				return fmt.Errorf("benchmark %s: %w", name, err)
			}
			r.Name = name
			results = append(results, r)
			if !c.JSON {
				r.progress(a.err)
			}
		}
	}
	if c.JSON {
		return json.NewEncoder(a.out).Encode(results)
	}
	return table(a.out, results)
}

func (c *benchCmd) wants(name string) bool {
	return len(c.Only) == 0 || slices.ContainsFunc(c.Only, func(p string) bool { ok, _ := path.Match(p, name); return ok })
}

func (r benchResult) progress(w io.Writer) { fmt.Fprintf(w, "cloche: measured %s\n", r.Name) }

func table(out io.Writer, results []benchResult) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "name\tmedian\t99 %\tper second\tbytes\t")
	for _, r := range results {
		cells := [4]string{}
		if r.MedianUS != nil {
			cells[0], cells[1] = micros(*r.MedianUS), micros(*r.P99US)
		}
		if r.PerSecond != nil {
			cells[2] = fmt.Sprintf("%.0f", *r.PerSecond)
		}
		if r.Bytes != nil {
			cells[3] = limits.ApproxSize(uint64(max(*r.Bytes, 0)))
		}
		fmt.Fprintf(w, "%s\t%s\t\n", r.Name, strings.Join(cells[:], "\t"))
	}
	return w.Flush()
}

func micros(us float64) string {
	if us >= 10_000 {
		return fmt.Sprintf("%.1f ms", us/1000)
	}
	return fmt.Sprintf("%.1f us", us)
}

// bencher is what a benchmark has.
type bencher struct {
	ctx      context.Context
	eng      *engine.Engine
	language string
	time     time.Duration
}

var errDoesNotApply = errors.New("it does not apply to this language or system")

// sample measures do until the time is over, between least and most times, after some that do not count.
func (b *bencher) sample(warm, least, most int, do func() (time.Duration, error)) (benchResult, error) {
	for range warm {
		if _, err := do(); err != nil {
			return benchResult{}, err
		}
	}
	runtime.GC()
	var took []time.Duration
	for end := time.Now().Add(b.time); len(took) < least || (len(took) < most && time.Now().Before(end)); {
		if b.ctx.Err() != nil {
			return benchResult{}, context.Cause(b.ctx)
		}
		d, err := do()
		if err != nil {
			return benchResult{}, err
		}
		took = append(took, d)
	}
	slices.Sort(took)
	at := func(p float64) *float64 {
		us := float64(took[min(int(float64(len(took))*p), len(took)-1)].Nanoseconds()) / 1e3
		return &us
	}
	return benchResult{N: len(took), MedianUS: at(0.5), P99US: at(0.99)}, nil
}

// timed measures all of do.
func timed(do func() error) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		begun := time.Now()
		err := do()
		return time.Since(begun), err
	}
}

// well is the error of a run that did not end well.
func well(res *engine.Result, err error) error {
	if err != nil {
		return err
	}
	return res.Err()
}

func (b *bencher) run(s *engine.Session, code string) error {
	return well(s.Run(b.ctx, engine.Turn{Code: code}))
}

// open makes a session in which code has run.
func (b *bencher) open(code string) (*engine.Session, error) {
	s, err := b.eng.Open(b.ctx, engine.Options{Language: b.language})
	if err != nil {
		return nil, err
	}
	if err := b.run(s, code); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (b *bencher) acquire() (benchResult, error) {
	return b.sample(20, 100, 20_000, func() (time.Duration, error) { return b.eng.Acquire(b.ctx, b.language) })
}

func (b *bencher) job(j engine.Job) (benchResult, error) {
	j.Language = b.language
	return b.sample(30, 20, 20_000, timed(func() error { return well(b.eng.Run(b.ctx, j)) }))
}

func (b *bencher) fresh() (benchResult, error) { return b.job(engine.Job{Code: "x=1"}) }

// salesCSV is a table of 1,000 rows.
func salesCSV() []byte {
	var s bytes.Buffer
	s.WriteString("day,region,units,price\n")
	for i := range 1000 {
		fmt.Fprintf(&s, "2026-%02d-%02d,%s,%d,%.2f\n", i%12+1, i%28+1, []string{"North", "South", "East", "West"}[i%4], i*7%50, float64(i%97)/3)
	}
	return s.Bytes()
}

func (b *bencher) sales(code, want string) (benchResult, error) {
	if b.language != engine.Python {
		return benchResult{}, errDoesNotApply
	}
	j := engine.Job{Code: code, Files: []engine.File{{Path: "sales.csv", Content: salesCSV()}}}
	res, err := b.eng.Run(b.ctx, j)
	if err := well(res, err); err != nil {
		return benchResult{}, err
	}
	if !strings.Contains(res.Stdout, want) || (want == "" && len(res.Charts()) != 1) {
		return benchResult{}, fmt.Errorf("the program did not do its work: %q", res.Stdout)
	}
	return b.job(j)
}

func (b *bencher) describe() (benchResult, error) {
	return b.sales("import pandas as pd\nprint(pd.read_csv('sales.csv').describe())", "count")
}

func (b *bencher) chart() (benchResult, error) {
	return b.sales("import pandas as pd\nimport matplotlib.pyplot as plt\n"+
		"d = pd.read_csv('sales.csv').groupby('region')['units'].sum()\nplt.bar(d.index, d.values)\nplt.title('Units')\nplt.show()", "")
}

func (b *bencher) turn() (benchResult, error) {
	s, err := b.open("x=1")
	if err != nil {
		return benchResult{}, err
	}
	defer s.Close()
	return b.sample(100, 100, 50_000, timed(func() error { return b.run(s, "x=2") }))
}

// large are programs that make 100 MB, change all of them, and look at them.
var large = map[string][3]string{
	engine.Python: {
		"import numpy as np, pandas as pd\ndf = pd.DataFrame(np.random.rand(1_250_000, 10))", "df += 1", "df.shape",
	},
	engine.JavaScript: {"let a = new Float64Array(12_500_000)", "a.fill(a[0] + 1)", "a.length"},
}

// forked measures a fork and its first turn. before is done each time and does not count.
func (b *bencher) forked(most int, before string) (benchResult, error) {
	code := large[b.language]
	s, err := b.open(code[0])
	if err != nil {
		return benchResult{}, err
	}
	defer s.Close()
	if err := b.run(s, code[1]); err != nil {
		return benchResult{}, err
	}
	return b.sample(1, 5, most, func() (time.Duration, error) {
		if before != "" {
			if err := b.run(s, before); err != nil {
				return 0, err
			}
		}
		begun := time.Now()
		forks, err := s.Fork(b.ctx, 1)
		if err != nil {
			return 0, err
		}
		err = b.run(forks[0], code[2])
		took := time.Since(begun)
		return took, errors.Join(err, forks[0].Close())
	})
}

func (b *bencher) forkFirst() (benchResult, error) { return b.forked(20, large[b.language][1]) }
func (b *bencher) forkNext() (benchResult, error)  { return b.forked(500, "") }

func (b *bencher) snapshot() (benchResult, error) {
	s, err := b.open("x = 1")
	if err != nil {
		return benchResult{}, err
	}
	defer s.Close()
	return b.sample(10, 20, 2000, timed(func() error {
		_, err := b.file(s)
		return err
	}))
}

// file is a session as a snapshot file.
func (b *bencher) file(s *engine.Session) ([]byte, error) {
	sn, err := s.Snapshot(b.ctx)
	if err != nil {
		return nil, err
	}
	defer sn.Close()
	var file bytes.Buffer
	_, err = sn.WriteTo(&file)
	return file.Bytes(), err
}

func (b *bencher) restore() (benchResult, error) {
	s, err := b.open("x = 1")
	if err != nil {
		return benchResult{}, err
	}
	defer s.Close()
	file, err := b.file(s)
	if err != nil {
		return benchResult{}, err
	}
	return b.sample(10, 20, 2000, func() (time.Duration, error) {
		begun := time.Now()
		sn, err := b.eng.ReadSnapshot(bytes.NewReader(file))
		if err != nil {
			return 0, err
		}
		defer sn.Close()
		r, err := b.eng.Restore(b.ctx, sn)
		if err != nil {
			return 0, err
		}
		err = b.run(r, "x")
		took := time.Since(begun)
		return took, errors.Join(err, r.Close())
	})
}

// tool measures one call of a function of the host, in a turn of many.
func (b *bencher) tool() (benchResult, error) {
	const calls = 200
	reg := &hostfuncs.Registry{MaxCalls: calls}
	type echo struct {
		Value int `json:"value"`
	}
	err := hostfuncs.Register(reg, "echo", func(_ context.Context, in echo) (echo, error) { return in, nil },
		hostfuncs.Description("Gives its value back."), hostfuncs.Quick())
	if err != nil {
		return benchResult{}, err
	}
	s, err := b.eng.Open(b.ctx, engine.Options{Language: b.language, Tools: reg})
	if err != nil {
		return benchResult{}, err
	}
	defer s.Close()
	code := map[string]string{
		engine.Python:     fmt.Sprintf("import tools\nfor i in range(%d): tools.echo(value=i)", calls),
		engine.JavaScript: fmt.Sprintf("for (let i = 0; i < %d; i++) await tools.echo({value: i})", calls),
	}[b.language]
	return b.sample(3, 20, 2000, func() (time.Duration, error) {
		begun := time.Now()
		res, err := s.Run(b.ctx, engine.Turn{Code: code})
		if err = well(res, err); err == nil && len(res.ToolCalls) != calls {
			err = fmt.Errorf("%d calls, want %d", len(res.ToolCalls), calls)
		}
		return time.Since(begun) / calls, err
	})
}

func (b *bencher) rate() (benchResult, error) {
	j := engine.Job{Language: b.language, Code: "x=1"}
	run := func(length time.Duration) (float64, error) {
		var n atomic.Int64
		var failed atomic.Pointer[error]
		var wg sync.WaitGroup
		begun := time.Now()
		for range runtime.GOMAXPROCS(0) {
			wg.Go(func() {
				for time.Since(begun) < length && failed.Load() == nil {
					if err := well(b.eng.Run(b.ctx, j)); err != nil {
						failed.Store(&err)
					}
					n.Add(1)
				}
			})
		}
		wg.Wait()
		if err := failed.Load(); err != nil {
			return 0, *err
		}
		return float64(n.Load()) / time.Since(begun).Seconds(), nil
	}
	if _, err := run(b.time / 4); err != nil {
		return benchResult{}, err
	}
	perSecond, err := run(b.time)
	return benchResult{PerSecond: &perSecond}, err
}

func (b *bencher) sessionBytes() (_ benchResult, err error) {
	const n = 1000
	if _, err := pss(); err != nil {
		return benchResult{}, errDoesNotApply
	}
	var sessions []*engine.Session
	defer func() {
		for _, s := range sessions {
			err = errors.Join(err, s.Close())
		}
	}()
	open := func() error {
		s, err := b.open("x = 1")
		if err == nil {
			sessions = append(sessions, s)
		}
		return err
	}
	var before, after int64
	for i := range n + 8 { // the first ones make what all of them share
		if i == 8 {
			if before, err = b.settled(); err != nil {
				return benchResult{}, err
			}
		}
		if err := open(); err != nil {
			return benchResult{}, err
		}
		if i%8 == 7 {
			b.eng.Rest()
		}
	}
	if after, err = b.settled(); err != nil {
		return benchResult{}, err
	}
	each := (after - before) / n
	return benchResult{Bytes: &each}, nil
}

// settled is the memory of this process when nothing is left to be given back.
func (b *bencher) settled() (int64, error) {
	b.eng.Rest()
	debug.FreeOSMemory()
	time.Sleep(50 * time.Millisecond) // resets in the background
	return pss()
}

// pss is the memory of this process, with its share of what it has in common with others.
func pss() (int64, error) {
	text, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "Pss: %d kB", &kib); n == 1 {
			return kib << 10, nil
		}
	}
	return 0, errors.New("the system does not tell")
}
