package js_test

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/runtimes"
)

// TestTest262 runs a sample of ECMAScript's own tests, which are in the folder TEST262 (a checkout of tc39/test262): every
// TEST262_EVERY-th of them by the hash of its name (default 10), below the folders of test/ that TEST262_ONLY names. It
// prints numbers by folder, with -v also each failure, and fails when fewer pass than minimum.
func TestTest262(t *testing.T) {
	root := os.Getenv("TEST262")
	if root == "" {
		t.Skip("TEST262 does not say where a checkout of tc39/test262 is")
	}
	every, err := strconv.Atoi(cmp.Or(os.Getenv("TEST262_EVERY"), "10"))
	if err != nil || every < 1 {
		t.Fatal("TEST262_EVERY must be a number from 1")
	}
	const minimum = 0.97
	sample := sample262(t, root, uint32(every), strings.Fields(cmp.Or(os.Getenv("TEST262_ONLY"), "built-ins language annexB")))
	harness := &harness262{root: root, files: map[string]string{}}

	var mu sync.Mutex
	total := map[string]*count262{}
	work := make(chan string)
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for path := range work {
				verdict, why := harness.run(t, path)
				mu.Lock()
				folder := strings.Join(strings.SplitN(path, "/", 4)[1:min(3, strings.Count(path, "/"))], "/")
				if total[folder] == nil {
					total[folder] = &count262{}
				}
				total[folder].add(verdict)
				mu.Unlock()
				if verdict == failed && testing.Verbose() {
					t.Logf("%s: %.300s", path, why)
				}
			}
		})
	}
	for _, path := range sample {
		work <- path
	}
	close(work)
	workers.Wait()

	var all count262
	for _, folder := range slices.Sorted(maps.Keys(total)) {
		c := total[folder]
		t.Logf("%-32s %5d passed %4d failed %4d skipped", folder, c[passed], c[failed], c[skipped])
		for i, n := range c {
			all[i] += n
		}
	}
	rate := float64(all[passed]) / float64(all[passed]+all[failed])
	t.Logf("%-32s %5d passed %4d failed %4d skipped: %.2f %% of those that were run", "all", all[passed], all[failed], all[skipped], 100*rate)
	if rate < minimum {
		t.Errorf("less than %.0f %% passed", 100*minimum)
	}
}

type verdict262 int

const (
	passed verdict262 = iota
	failed
	skipped
)

type count262 [3]int

func (c *count262) add(v verdict262) { c[v]++ }

func sample262(t *testing.T, root string, every uint32, folders []string) (sample []string) {
	for _, folder := range folders {
		err := fs.WalkDir(os.DirFS(root), "test/"+folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".js") || strings.Contains(path, "_FIXTURE") {
				return err
			}
			h := fnv.New32a()
			h.Write([]byte(path))
			if h.Sum32()%every == 0 {
				sample = append(sample, path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(sample) == 0 {
		t.Fatal("there are no tests in", root)
	}
	return sample
}

// missing262 are features that the interpreter does not have, and things that only a host of several realms has.
var missing262 = regexp.MustCompile(`\b(Atomics|SharedArrayBuffer|Temporal|ShadowRealm|decorators|import-defer|source-phase-imports\S*|` +
	`IsHTMLDDA|createRealm|\$262\.agent|evalScript|AbstractModuleSource|tail-call-optimization|explicit-resource-management|import-bytes|import-text|` +
	`joint-iteration|iterator-sequencing|await-dictionary|immutable-arraybuffer|nonextensible-applies-to-private|cross-realm|CanBlockIs\S+)`)

type harness262 struct {
	root  string
	mu    sync.Mutex
	files map[string]string
}

func (h *harness262) file(name string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.files[name]; !ok {
		b, err := os.ReadFile(filepath.Join(h.root, "harness", name))
		if err != nil {
			b = []byte("throw new Error('there is no " + name + "')")
		}
		h.files[name] = string(b)
	}
	return h.files[name]
}

var front262 = regexp.MustCompile(`(?s)/\*---(.*?)---\*/`)

func list262(front, key string) []string {
	if m := regexp.MustCompile(`(?m)^\s*` + key + `:\s*\[([^\]]*)\]`).FindStringSubmatch(front); m != nil {
		return strings.FieldsFunc(m[1], func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
	}
	m := regexp.MustCompile(`(?m)^\s*` + key + `:\s*\n((?:\s+-.*\n)+)`).FindStringSubmatch(front + "\n")
	if m == nil {
		return nil
	}
	return strings.Fields(m[1])
}

// run runs one test in a sandbox of its own.
func (h *harness262) run(t *testing.T, path string) (verdict262, string) {
	b, err := os.ReadFile(filepath.Join(h.root, path))
	if err != nil {
		return failed, err.Error()
	}
	source := string(b)
	m := front262.FindStringSubmatch(source)
	if m == nil || missing262.MatchString(source) {
		return skipped, ""
	}
	front := m[1]
	flags := list262(front, "flags")
	is := func(flag string) bool { return slices.Contains(flags, flag) }
	prelude := ""
	if !is("raw") {
		prelude = "var print = console.log; var $262 = { global: globalThis, gc() {}, detachArrayBuffer(b) { structuredClone(b, { transfer: [b] }) } };\n" +
			h.file("assert.js") + h.file("sta.js")
		if is("async") {
			prelude += h.file("doneprintHandle.js")
		}
		for _, name := range list262(front, "includes") {
			if name != "-" {
				prelude += h.file(name)
			}
		}
	}
	s, err := newQuietSandbox(t)
	if err != nil {
		return failed, err.Error()
	}
	defer s.close()
	s.timeout = 20 * time.Second
	s.session = true
	name := "main.js"
	if is("module") {
		name = filepath.Base(path) // some import themselves
	}
	if is("module") || strings.Contains(source, "_FIXTURE") {
		dir := filepath.Join(h.root, filepath.Dir(path))
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if strings.Contains(e.Name(), "_FIXTURE") || e.Name() == filepath.Base(path) {
				if text, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil {
					s.files.write("/data/"+e.Name(), string(text))
				}
			}
		}
	}
	if prelude != "" { // as a script of its own, so that the test is read as it is
		if r := s.turn(prelude); r.Error != nil || r.err != nil {
			return failed, fmt.Sprint("harness: ", r.Error, r.err)
		}
	}
	if is("onlyStrict") {
		source = "'use strict';\n" + source
	}
	r := s.turn(source, func(turn *runtimes.Turn) { turn.Name, turn.Module = name, is("module") })
	if n := regexp.MustCompile(`(?s)negative:.*?type:\s*(\w+)`).FindStringSubmatch(front); n != nil {
		if r.Error != nil && r.Error.Name == n[1] {
			return passed, ""
		}
		return failed, fmt.Sprintf("want a %s, got %+v", n[1], r.Error)
	}
	switch {
	case r.err != nil:
		return failed, r.err.Error()
	case r.Error != nil:
		return failed, r.Error.Name + ": " + r.Error.Value
	case is("async") && !strings.Contains(r.stdout, "Test262:AsyncTestComplete"):
		return failed, "not complete: " + r.stdout
	}
	return passed, ""
}

// newQuietSandbox is newSandbox for many: it is closed by its user.
func newQuietSandbox(t *testing.T) (*quietSandbox, error) {
	b, err := baked()
	if err != nil {
		return nil, err
	}
	inst, err := b.Module.New(context.Background(), b.State, 1<<30)
	if err != nil {
		return nil, err
	}
	return &quietSandbox{sandbox{t: t, baked: b, inst: inst, files: newMemFiles()}}, nil
}

type quietSandbox struct{ sandbox }

func (s *quietSandbox) close() {
	if err := s.inst.Close(context.Background()); err != nil {
		s.t.Error(err)
	}
}
