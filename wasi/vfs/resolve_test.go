package vfs_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

// model is a file tree written down plainly: what each absolute path is, mounts and all. Regular files hold
// their own path.
type model map[string]string // "dir", "file", or "-> text"

// mountsOfModel lie over a root in memory. The last is below a file.
var mountsOfModel = []string{"/m", "/m/a/n", "/f", "/f/k/g"}

// resolve says what a path means from a folder: the path free of links, or an error. A last name that is
// missing is returned with ErrNotExist. It follows links by recursion, where the product keeps a stack.
func (m model) resolve(base, p string, follow bool) (string, error) {
	if p == "" {
		return "", vfs.ErrNotExist
	}
	links := 0
	at, missing, err := m.walk(base, base, p, follow || strings.HasSuffix(p, "/"), &links)
	if err == nil && missing {
		err = vfs.ErrNotExist
	}
	if err == nil && strings.HasSuffix(p, "/") && m[at] != "dir" {
		err = vfs.ErrNotDir
	}
	return at, err
}

// walk follows p from cur; base is empty inside links.
func (m model) walk(cur, base, p string, follow bool, links *int) (at string, missing bool, err error) {
	var parts []string
	for _, name := range strings.Split(p, "/") {
		if name != "" {
			parts = append(parts, name)
		}
	}
	for i, name := range parts {
		last := i == len(parts)-1
		if missing {
			return "", false, vfs.ErrNotExist
		}
		if name == "." || name == ".." {
			if m[cur] != "dir" {
				return "", false, vfs.ErrNotDir
			}
			if name == ".." {
				cur = path.Dir(cur)
				if base != "" && cur != base && (cur == "/" || strings.HasPrefix(base, cur+"/")) {
					return "", false, vfs.ErrNotCapable
				}
			}
			continue
		}
		next := path.Join(cur, name)
		if m[cur] != "dir" && next != "/f/k" { // a mount lies below the file /f
			return "", false, vfs.ErrNotDir
		}
		what, ok := m[next]
		if !ok {
			cur, missing = next, true
			continue
		}
		text, isLink := strings.CutPrefix(what, "-> ")
		if !isLink || last && !follow {
			cur = next
			continue
		}
		if *links++; *links > vfs.MaxLinks {
			return "", false, vfs.ErrLoop
		}
		start := cur
		if strings.HasPrefix(text, "/") {
			start = "/"
		}
		if cur, missing, err = m.walk(start, "", text, true, links); err != nil {
			return "", false, err
		}
		if !missing && strings.HasSuffix(text, "/") && m[cur] != "dir" {
			return "", false, vfs.ErrNotDir
		}
	}
	return cur, missing, nil
}

// names for generated trees and paths.
var (
	modelNames = []string{"a", "b", "m", "f", "k", "g", "n", "l1", "l2", "l3"}
	modelTexts = []string{"a", "b/l1", "..", "../l2", "/m/l1", "/", "/f/k/g/a", "../../m/a", "l3", ".", "/m/a/n/l2", "a/..", "b/", "/l1/l2", "none", "../f", "/m/a/..", "l1/../b"}
)

// build makes a model and a namespace that are alike, from random choices.
func build(t testing.TB, next func(n int) int) (model, *vfs.Namespace) {
	m := model{"/": "dir", "/f": "file", "/f/k": "dir"}
	trees := make([]fstest.MapFS, len(mountsOfModel))
	for i, at := range mountsOfModel {
		trees[i] = fstest.MapFS{}
		if at != "/f" {
			m[at] = "dir"
		}
	}
	m["/m/a"] = "dir"
	owner := func(p string) int { // the mount that a path lies in, -1 for memory
		best := -1
		for i, at := range mountsOfModel {
			if (p == at || strings.HasPrefix(p, at+"/")) && (best < 0 || len(at) > len(mountsOfModel[best])) {
				best = i
			}
		}
		return best
	}
	type made struct{ path, what string }
	var list []made
	for range 3 + next(24) {
		var dirs []string
		for p, what := range m {
			if what == "dir" && p != "/f/k" && strings.Count(p, "/") < 5 {
				dirs = append(dirs, p)
			}
		}
		dir := smallest(dirs, next(len(dirs)))
		p := path.Join(dir, modelNames[next(len(modelNames))])
		if m[p] != "" || owner(p) == 2 {
			continue
		}
		what := "dir"
		switch next(4) {
		case 0:
			what = "file"
		case 1, 2:
			what = "-> " + modelTexts[next(len(modelTexts))]
		}
		m[p] = what
		list = append(list, made{p, what})
	}
	var mounts []vfs.Mount
	for i, at := range mountsOfModel {
		if at == "/f" {
			mounts = append(mounts, vfs.Mount{Path: at, FS: vfs.NewFileFS(strings.NewReader("/f"), 2, time.Unix(0, 0))})
			continue
		}
		mounts = append(mounts, vfs.Mount{Path: at, FS: must(vfs.NewIOFS(trees[i]))})
	}
	for _, e := range list {
		if i := owner(e.path); i >= 0 {
			f := &fstest.MapFile{Data: []byte(e.path)}
			if text, ok := strings.CutPrefix(e.what, "-> "); ok {
				f.Mode, f.Data = fs.ModeSymlink, []byte(text)
			} else if e.what == "dir" {
				f.Mode, f.Data = fs.ModeDir|0o755, nil
			}
			trees[i][strings.TrimPrefix(e.path, mountsOfModel[i]+"/")] = f
		}
	}
	ns := namespace(t, vfs.Config{Mounts: mounts}, vfs.Options{})
	for _, e := range list {
		if owner(e.path) >= 0 {
			continue
		}
		var err error
		p := vfs.MustPath(e.path)
		if text, ok := strings.CutPrefix(e.what, "-> "); ok {
			err = ns.Symlink(must(vfs.ParseTarget([]byte(text))), nil, p)
		} else if e.what == "dir" {
			err = ns.Mkdir(nil, p)
		} else {
			err = ns.WriteFile(e.path, []byte(e.path))
		}
		if err != nil {
			t.Fatalf("making %v: %v", e, err)
		}
	}
	return m, ns
}

// smallest returns the i-th of a list in order.
func smallest(list []string, i int) string {
	for k := range list {
		for j := k + 1; j < len(list); j++ {
			if list[j] < list[k] {
				list[k], list[j] = list[j], list[k]
			}
		}
	}
	return list[i]
}

// compare resolves one path both ways.
func compare(m model, ns *vfs.Namespace, base, p string, follow bool) error {
	want, wantErr := m.resolve(base, p, follow)
	at, err := ns.Open(nil, vfs.MustPath(base), vfs.OpenDirectory)
	if err != nil {
		return err
	}
	defer at.Close()
	parsed, err := vfs.ParsePathString(p)
	if err != nil {
		return nil
	}
	if parsed.Absolute() {
		wantErr = vfs.ErrNotCapable
	}
	st, err := ns.Stat(at, parsed, follow)
	if err != wantErr {
		return fmt.Errorf("error %v, the model %v", err, wantErr)
	}
	if err != nil {
		return nil
	}
	kinds := map[vfs.Kind]string{vfs.KindDir: "dir", vfs.KindRegular: "file", vfs.KindLink: "-> "}
	if !strings.HasPrefix(m[want], kinds[st.Kind]) {
		return fmt.Errorf("kind %d, the model %s %s", st.Kind, want, m[want])
	}
	switch st.Kind {
	case vfs.KindLink:
		text, err := ns.Readlink(at, parsed)
		if err != nil || "-> "+text != m[want] {
			return fmt.Errorf("link %q, %v; the model %s", text, err, m[want])
		}
	default:
		flags := vfs.OpenRead
		if !follow {
			flags |= vfs.OpenNoFollow
		}
		h, err := ns.Open(at, parsed, flags)
		if err != nil {
			return err
		}
		defer h.Close()
		if h.Path() != want {
			return fmt.Errorf("path %s, the model %s", h.Path(), want)
		}
		if st.Kind == vfs.KindRegular {
			b, err := io.ReadAll(io.NewSectionReader(h, 0, 1000))
			if err != nil || string(b) != want {
				return fmt.Errorf("it holds %q, %v; the model %s", b, err, want)
			}
			return nil
		}
		list, err := h.Entries(true)
		if err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, e := range list[2:] {
			if what := m[path.Join(want, e.Name)]; seen[e.Name] || what == "" || !strings.HasPrefix(what, kinds[e.Kind]) {
				return fmt.Errorf("%s lists %+v, the model %q", want, e, what)
			}
			seen[e.Name] = true
		}
		for p := range m {
			if p != "/" && path.Dir(p) == want && !seen[path.Base(p)] {
				return fmt.Errorf("%s does not list %s", want, p)
			}
		}
	}
	return nil
}

// resolveRandom builds a tree and asks for many paths in it.
func resolveRandom(t testing.TB, next func(n int) int, queries int) {
	m, ns := build(t, next)
	var bases []string
	for p, what := range m {
		if what == "dir" {
			bases = append(bases, p)
		}
	}
	for range queries {
		base := "/"
		if next(2) == 0 {
			base = smallest(bases, next(len(bases)))
		}
		var parts []string
		for range 1 + next(5) {
			switch next(5) {
			case 0:
				parts = append(parts, "..")
			case 1:
				parts = append(parts, [...]string{".", "", "none"}[next(3)])
			default:
				parts = append(parts, modelNames[next(len(modelNames))])
			}
		}
		p := strings.Join(parts, "/")
		follow := next(3) > 0
		if err := compare(m, ns, base, p, follow); err != nil {
			t.Fatalf("%q from %s, follow %v: %v\n%v", p, base, follow, err, m)
		}
	}
}

func TestResolveModel(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		resolveRandom(t, r.IntN, 60)
	}
}

// FuzzResolve takes its choices from the input, and the last path as it is.
func FuzzResolve(f *testing.F) {
	f.Add([]byte("some seed for a tree and more of it"), "a/../b")
	f.Add([]byte{9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 255, 254, 253}, "l1/../../x/")
	f.Add([]byte{}, "/f/k/g/../../../f")
	f.Add([]byte{200, 100}, strings.Repeat("m/../", 200))
	f.Fuzz(func(t *testing.T, choices []byte, p string) {
		next := func(n int) int {
			if len(choices) == 0 {
				return 0
			}
			b := int(choices[0])
			choices = choices[1:]
			return b % n
		}
		m, ns := build(t, next)
		for _, base := range []string{"/", "/m", "/m/a", "/f/k/g"} {
			for _, follow := range []bool{true, false} {
				if err := compare(m, ns, base, p, follow); err != nil {
					t.Fatalf("%q from %s, follow %v: %v\n%v", p, base, follow, err, m)
				}
			}
		}
	})
}

func TestParsePath(t *testing.T) {
	long := strings.Repeat("n", vfs.MaxName)
	for _, c := range []struct {
		name, in string
		want     error
	}{
		{"empty", "", nil},
		{"plain", "a/b/../c/", nil},
		{"name of most bytes", long, nil},
		{"name too long", long + "n", vfs.ErrNameTooLong},
		{"name too long in the middle", "a/" + long + "n/b", vfs.ErrNameTooLong},
		{"path of most bytes", strings.Repeat("/", vfs.MaxPath), nil},
		{"path too long", strings.Repeat("/", vfs.MaxPath+1), vfs.ErrPathTooLong},
		{"deepest", strings.Repeat("d/", vfs.MaxDepth), nil},
		{"too deep", strings.Repeat("d/", vfs.MaxDepth+1), vfs.ErrTooDeep},
		{"too deep by climbing", strings.Repeat("../", vfs.MaxDepth+1), vfs.ErrTooDeep},
		{"dots are not deep", strings.Repeat("./", vfs.MaxDepth+1), nil},
		{"NUL", "a\x00b", vfs.ErrInvalid},
		{"NUL at the end", "a\x00", vfs.ErrInvalid},
		{"not UTF-8", "a/\xff\xfe", vfs.ErrIllegalName},
		{"a surrogate", "\xed\xa0\x80", vfs.ErrIllegalName},
		{"overlong slash", "..\xc0\xaf..", vfs.ErrIllegalName},
		{"control characters", "a\nb\r\x1b[31m", nil},
		{"bidi", "\u202egnp", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := vfs.ParsePath([]byte(c.in))
			if err != c.want || err == nil && p.String() != c.in {
				t.Errorf("got %q, %v; want %v", p, err, c.want)
			}
		})
	}
	for in, want := range map[string]error{"": vfs.ErrNotExist, "a": nil, "/x/../y": nil, "\xff": vfs.ErrIllegalName, "a\x00": vfs.ErrInvalid,
		strings.Repeat("x/../", 800): nil, strings.Repeat("x", vfs.MaxPath+1): vfs.ErrPathTooLong} {
		if _, err := vfs.ParseTarget([]byte(in)); err != want {
			t.Errorf("target %.10q: %v, want %v", in, err, want)
		}
	}
}

func TestErrorsMatchIOFS(t *testing.T) {
	for e, want := range map[vfs.Error]error{vfs.ErrNotExist: fs.ErrNotExist, vfs.ErrExist: fs.ErrExist, vfs.ErrReadOnly: fs.ErrPermission,
		vfs.ErrInvalid: fs.ErrInvalid, vfs.ErrBadHandle: fs.ErrClosed, vfs.ErrNotCapable: fs.ErrPermission} {
		if !errors.Is(e, want) {
			t.Errorf("%v is not %v", e, want)
		}
	}
	if errors.Is(vfs.ErrIO, fs.ErrNotExist) {
		t.Error("any error is not found")
	}
}
