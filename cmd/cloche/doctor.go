package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/cpu"

	"github.com/cloche-dev/cloche/cmd/cloche/internal/wall"
	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/engine/memimage"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/runtimes"
)

type doctorCmd struct {
	JSON bool `help:"Print one JSON object."`
}

func (doctorCmd) Help() string {
	return `Every file in the cache is hashed, which takes about a second per gigabyte. Nothing is changed, downloaded or repaired: cloche setup does that.

Exit status:

    0      programs can run, or will after a setup
    125    something stands in the way: the report says what
`
}

// report is what doctor found. States are "ok", "missing", "slow", "weak" or "broken"; Why is empty for "ok".
type report struct {
	Version  string         `json:"version"`
	System   string         `json:"system"`
	CPUs     int            `json:"cpus"`
	Checks   []check        `json:"checks"`
	Cache    cacheReport    `json:"cache"`
	Runtimes []runtimeState `json:"runtimes"`
}

type check struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Is    string `json:"is,omitempty"`
	Why   string `json:"why,omitempty"`
}

type cacheReport struct {
	Dir   string `json:"dir"`
	Bytes int64  `json:"bytes"`
	State string `json:"state"`
	Why   string `json:"why,omitempty"`
}

type runtimeState struct {
	Language  string          `json:"language"`
	State     string          `json:"state"`
	Why       string          `json:"why,omitempty"`
	Artifacts []artifactState `json:"artifacts"`
}

type artifactState struct {
	Package string `json:"package"`
	Version string `json:"version"`
	Licence string `json:"licence"`
	State   string `json:"state"`
	Why     string `json:"why,omitempty"`
}

// The states of a report.
const (
	stateOK      = "ok"
	stateMissing = "missing"
	stateSlow    = "slow"
	stateWeak    = "weak"
	stateBroken  = "broken"
)

// Run prints the report.
func (c *doctorCmd) Run(a *app) error {
	r, broken := a.examine()
	r.Checks = append(r.Checks, wallCheck())
	if c.JSON {
		enc := json.NewEncoder(a.out)
		enc.SetIndent("", "  ")
		if err := enc.Encode(r); err != nil {
			return err
		}
	} else {
		r.print(a.out)
	}
	if broken {
		return statusError(exitTrouble)
	}
	return a.ctx.Err()
}

// examine makes the report; broken says that no program can run.
func (a *app) examine() (r report, broken bool) {
	r = report{
		Version: version(), System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(),
		Checks: []check{compilerCheck(), memfdCheck(), resetCheck(), cpuCheck()},
	}
	var statuses []runtimes.Status
	cache, err := a.openCache()
	if err != nil {
		dir, _ := runtimes.DefaultCacheDir()
		if set := a.getenv(runtimes.CacheEnv); set != "" {
			dir = set
		}
		r.Cache = cacheReport{Dir: dir, State: stateBroken, Why: err.Error()}
		broken = true
	} else {
		defer cache.Close()
		r.Cache = cacheState(cache)
		all := engine.Specs()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			statuses = append(statuses, all[name].Status(cache, true))
		}
	}
	clients := map[string]bool{}
	for _, st := range statuses {
		state := runtimeOf(st)
		r.Runtimes = append(r.Runtimes, state)
		for _, art := range st.Artifacts {
			clients[art.Ecosystem] = clients[art.Ecosystem] || art.Err != nil && !art.Carried
		}
	}
	for _, ecosystem := range slices.Sorted(maps.Keys(clients)) {
		r.Checks = append(r.Checks, a.clientCheck(ecosystem, clients[ecosystem]))
	}
	for _, c := range r.Checks {
		broken = broken || c.State == stateBroken
	}
	return r, broken
}

// compilerCheck says whether guests run as machine code: wazero compiles for some systems and interprets on
// the others.
func compilerCheck() check {
	c := check{Name: "compiler", State: stateOK, Is: "machine code for " + runtime.GOARCH}
	if why := whyInterpreted(); why != "" {
		c.State, c.Is = stateSlow, "interpreter"
		c.Why = why + ", so that guests are interpreted, 10 to 100 times slower"
	}
	return c
}

func whyInterpreted() string {
	switch runtime.GOOS + "/" + runtime.GOARCH {
	case "linux/arm64", "darwin/arm64", "freebsd/arm64", "netbsd/arm64", "windows/arm64":
	case "linux/amd64", "darwin/amd64", "freebsd/amd64", "netbsd/amd64", "windows/amd64",
		"dragonfly/amd64", "solaris/amd64", "illumos/amd64":
		if !cpu.X86.HasSSE41 {
			return "the processor lacks SSE 4.1"
		}
	default:
		return "there is no compiler for " + runtime.GOOS + "/" + runtime.GOARCH
	}
	if err := tryExecutableMemory(); err != nil {
		return "the system refuses executable memory (" + err.Error() + ")"
	}
	return ""
}

// memfdCheck makes an image in memory, as snapshots of sessions do.
func memfdCheck() check {
	c := check{Name: "memory images", State: stateOK, Is: "memfd, mapped copy-on-write"}
	im, err := memimage.FromBytes(make([]byte, memimage.PageSize))
	if err != nil {
		c.State, c.Is, c.Why = stateBroken, "", err.Error()
		return c
	}
	defer im.Close()
	if runtime.GOOS != "linux" {
		c.State, c.Is = stateSlow, "in the heap"
		c.Why = "this system has no memfd, so that snapshots taken at run time are copied"
	}
	return c
}

// resetCheck tries how an instance is made clean for the next run.
func resetCheck() check {
	c := check{Name: "reset of instances", State: stateOK}
	im, err := memimage.FromBytes(make([]byte, memimage.PageSize))
	if err != nil {
		c.State, c.Why = stateBroken, err.Error()
		return c
	}
	defer im.Close()
	l, err := memimage.New(memimage.Config{Image: im})
	if err != nil {
		c.State, c.Why = stateBroken, err.Error()
		return c
	}
	defer l.Free()
	if _, err := l.Reset(); err != nil {
		c.State, c.Why = stateBroken, err.Error()
		return c
	}
	c.Is = l.Method().String()
	switch l.Method() {
	case memimage.Scan:
	case memimage.Pagemap:
		c.State, c.Why = stateSlow, "the kernel lacks the PAGEMAP_SCAN ioctl (Linux 6.7), so that each reset reads all of /proc/self/pagemap"
	case memimage.Remap:
		c.State, c.Why = stateSlow, "changed pages cannot be told, so that each reset maps the image anew and the next run takes page faults"
	default:
		c.State, c.Why = stateSlow, "images cannot be mapped, so that each reset copies the whole image (tens of MB for Python)"
	}
	return c
}

// wallCheck puts up the second wall around this process, which has nothing left to do but to say so.
func wallCheck() check {
	c := check{Name: "second wall", State: stateOK}
	report, err := raise(wall.Config{})
	c.Is = report.String()
	switch {
	case err != nil:
		c.State, c.Why = stateBroken, err.Error()+"; cloche run --no-wall goes without"
	case !report.Stands():
		c.State, c.Why = stateWeak, report.Missing()
	}
	return c
}

func cpuCheck() check {
	c := check{Name: "processors", State: stateOK, Is: fmt.Sprint(runtime.GOMAXPROCS(0))}
	if runtime.GOMAXPROCS(0) == 1 {
		c.State, c.Why = stateSlow, "with one processor, the reset of an instance delays the next run"
	}
	return c
}

// clientCheck looks for a download client. Missing is only bad when something must be downloaded.
func (a *app) clientCheck(ecosystem string, needed bool) check {
	c := check{Name: map[string]string{"pypi": "pip", "npm": "npm"}[ecosystem], State: stateOK}
	command, err := runtimes.FindClient(a.ctx, ecosystem)
	if err != nil {
		c.State, c.Why = stateMissing, err.Error()
		if needed {
			c.State = stateBroken
		}
		return c
	}
	c.Is = strings.Join(command, " ")
	return c
}

func cacheState(cache *runtimes.Cache) cacheReport {
	r := cacheReport{Dir: cache.Dir(), State: stateOK}
	entries, err := cache.Entries()
	if err != nil {
		r.State, r.Why = stateBroken, err.Error()
		return r
	}
	for _, e := range entries {
		r.Bytes += e.Bytes
	}
	return r
}

// runtimeOf turns the status of an interpreter into a state and a reason.
func runtimeOf(st runtimes.Status) runtimeState {
	r := runtimeState{Language: st.Language, State: stateOK}
	for _, art := range st.Artifacts {
		s := artifactState{Package: art.Package, Version: art.Version, Licence: art.Licence}
		from := "downloaded"
		if art.Carried {
			from = "unpacked from this program"
		}
		s.State, s.Why = stateOf(art.Err, "is "+from+" by cloche setup or the first run")
		r.Artifacts = append(r.Artifacts, s)
	}
	toDo := "the first run (or cloche setup) takes " + about(st.Work)
	if st.Download > 0 {
		toDo += " and downloads " + limits.ApproxSize(uint64(st.Download))
	}
	switch {
	case st.Baked != nil:
		r.State, r.Why = stateOf(st.Baked, toDo)
	case st.Download > 0:
		r.State, r.Why = stateMissing, toDo
	case !st.LaidOut:
		r.State, r.Why = stateSlow, "its machine code is in the order in which wazero wrote it, and takes about 1.4 times as long; a better one is known for amd64"
	}
	return r
}

func stateOf(err error, whenMissing string) (state, why string) {
	switch {
	case err == nil:
		return stateOK, ""
	case errors.Is(err, fs.ErrNotExist):
		return stateMissing, whenMissing
	default:
		return stateBroken, err.Error() + "; it is made again by cloche setup or the next run"
	}
}

func (r report) print(w io.Writer) {
	line := func(name, state, is, why string) {
		text := is
		if why != "" {
			text = strings.TrimPrefix(is+": "+why, ": ")
		}
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%-8s %-20s %s", state, name, printable(text)), " "))
	}
	fmt.Fprintf(w, "cloche %s on %s, %d processors\n\n", r.Version, r.System, r.CPUs)
	for _, c := range r.Checks {
		line(c.Name, c.State, c.Is, c.Why)
	}
	line("cache", r.Cache.State, r.Cache.Dir+", "+limits.ApproxSize(uint64(r.Cache.Bytes)), r.Cache.Why)
	for _, rt := range r.Runtimes {
		line(rt.Language, rt.State, "", rt.Why)
		for _, a := range rt.Artifacts {
			line("  "+a.Package, a.State, a.Version+", "+a.Licence, a.Why)
		}
	}
	fmt.Fprintf(w, "\n%s\n", r.verdict())
}

// verdict sums the report up in a sentence.
func (r report) verdict() string {
	var slow, weak, broken []string
	for _, c := range r.Checks {
		switch c.State {
		case stateWeak:
			weak = append(weak, c.Name)
		case stateSlow:
			slow = append(slow, c.Name)
		case stateBroken:
			broken = append(broken, c.Name)
		}
	}
	if r.Cache.State == stateBroken {
		broken = append(broken, "cache")
	}
	var waiting []string
	for _, rt := range r.Runtimes {
		if rt.State != stateOK {
			waiting = append(waiting, rt.Language)
		}
	}
	switch {
	case len(broken) > 0:
		return "Programs cannot run: see " + strings.Join(broken, ", ") + "."
	case len(waiting) > 0:
		return "Not set up yet: " + strings.Join(waiting, ", ") + ". Run cloche setup."
	case len(weak) > 0:
		return "Ready; the system offers less protection than it could: see " + strings.Join(append(weak, slow...), ", ") + "."
	case len(slow) > 0:
		return "Ready; slower than it could be: see " + strings.Join(slow, ", ") + "."
	default:
		return "Ready, and nothing is slow."
	}
}
