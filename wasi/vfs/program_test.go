//go:build linux

package vfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

// Random programs run on a namespace and on a plain folder through the operating system; every answer and the
// trees at the end must agree. The work is done some folders down, so that links may climb a little.
const workDir = "/p/p/p/p/p/p/p/p/p/p/w"

// fileSystem is what a program runs on.
type fileSystem interface {
	mkdir(p string) error
	rmdir(p string) error
	unlink(p string) error
	rename(p, q string) error
	link(p, q string) error
	symlink(text, p string) error
	readlink(p string) (string, error)
	stat(p string, follow bool) (string, error)
	list(p string) (string, error)
	open(p string, flags vfs.OpenFlags) (file, error)
}

type file interface {
	ReadAt(p []byte, off int64) (int, error)
	WriteAt(p []byte, off int64) (int, error)
	Truncate(size int64) error
	append(p []byte) error
	info() (string, error)
	Close() error
}

// ours is a namespace.
type ours struct{ ns *vfs.Namespace }

func (o ours) path(p string) vfs.Path { return vfs.MustPath(workDir + "/" + p) }

func (o ours) mkdir(p string) error     { return o.ns.Mkdir(nil, o.path(p)) }
func (o ours) rmdir(p string) error     { return o.ns.Rmdir(nil, o.path(p)) }
func (o ours) unlink(p string) error    { return o.ns.Unlink(nil, o.path(p)) }
func (o ours) rename(p, q string) error { return o.ns.Rename(nil, o.path(p), nil, o.path(q)) }
func (o ours) link(p, q string) error   { return o.ns.Link(nil, o.path(p), false, nil, o.path(q)) }
func (o ours) symlink(text, p string) error {
	return o.ns.Symlink(must(vfs.ParseTarget([]byte(text))), nil, o.path(p))
}
func (o ours) readlink(p string) (string, error) { return o.ns.Readlink(nil, o.path(p)) }

func (o ours) stat(p string, follow bool) (string, error) {
	st, err := o.ns.Stat(nil, o.path(p), follow)
	if err != nil {
		return "", err
	}
	if st.Kind == vfs.KindDir {
		return "dir", nil
	}
	return fmt.Sprint(st.Kind == vfs.KindLink, st.Size, st.Nlink), nil
}

func (o ours) list(p string) (string, error) {
	h, err := o.ns.Open(nil, o.path(p), vfs.OpenDirectory)
	if err != nil {
		return "", err
	}
	defer h.Close()
	list, err := h.Entries(true)
	var names []string
	for _, e := range list[min(2, len(list)):] {
		names = append(names, fmt.Sprint(e.Name, e.Kind))
	}
	slices.Sort(names)
	return strings.Join(names, " "), err
}

func (o ours) open(p string, flags vfs.OpenFlags) (file, error) {
	h, err := o.ns.Open(nil, o.path(p), flags)
	if err != nil {
		return nil, err
	}
	return ourFile{h}, nil
}

type ourFile struct{ *vfs.Handle }

func (f ourFile) append(p []byte) error {
	_, _, err := f.Append(p)
	return err
}

func (f ourFile) info() (string, error) {
	st, err := f.Stat()
	if st.Kind == vfs.KindDir {
		return "dir", err
	}
	return fmt.Sprint(st.Size, st.Nlink), err
}

// theirs is a folder of the operating system.
type theirs struct{ dir string }

func (o theirs) path(p string) string { return o.dir + workDir + "/" + p }

func (o theirs) mkdir(p string) error              { return syscall.Mkdir(o.path(p), 0o755) }
func (o theirs) rmdir(p string) error              { return syscall.Rmdir(o.path(p)) }
func (o theirs) unlink(p string) error             { return syscall.Unlink(o.path(p)) }
func (o theirs) rename(p, q string) error          { return syscall.Rename(o.path(p), o.path(q)) }
func (o theirs) link(p, q string) error            { return syscall.Link(o.path(p), o.path(q)) }
func (o theirs) symlink(text, p string) error      { return syscall.Symlink(text, o.path(p)) }
func (o theirs) readlink(p string) (string, error) { return os.Readlink(o.path(p)) }

func (o theirs) stat(p string, follow bool) (string, error) {
	fi, err := os.Lstat(o.path(p))
	if follow {
		fi, err = os.Stat(o.path(p))
	}
	if err != nil {
		return "", err
	}
	if fi.IsDir() {
		return "dir", nil
	}
	return fmt.Sprint(fi.Mode()&fs.ModeSymlink != 0, fi.Size(), fi.Sys().(*syscall.Stat_t).Nlink), nil
}

func (o theirs) list(p string) (string, error) {
	f, err := os.OpenFile(o.path(p), os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	list, err := f.ReadDir(-1)
	var names []string
	for _, e := range list {
		kind := vfs.KindRegular
		switch e.Type() {
		case fs.ModeDir:
			kind = vfs.KindDir
		case fs.ModeSymlink:
			kind = vfs.KindLink
		}
		names = append(names, fmt.Sprint(e.Name(), kind))
	}
	slices.Sort(names)
	return strings.Join(names, " "), err
}

func (o theirs) open(p string, flags vfs.OpenFlags) (file, error) {
	mode := os.O_RDONLY
	if flags&vfs.OpenWrite != 0 {
		mode = os.O_RDWR
	}
	for f, m := range map[vfs.OpenFlags]int{vfs.OpenCreate: os.O_CREATE, vfs.OpenExclusive: os.O_EXCL, vfs.OpenTruncate: os.O_TRUNC,
		vfs.OpenDirectory: syscall.O_DIRECTORY, vfs.OpenNoFollow: syscall.O_NOFOLLOW} {
		if flags&f != 0 {
			mode |= m
		}
	}
	fd, err := syscall.Open(o.path(p), mode|syscall.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, err
	}
	return theirFile{os.NewFile(uintptr(fd), p)}, nil
}

type theirFile struct{ *os.File }

func (f theirFile) append(p []byte) error {
	fi, err := f.Stat()
	if err == nil {
		_, err = f.WriteAt(p, fi.Size())
	}
	return err
}

func (f theirFile) info() (string, error) {
	fi, err := f.Stat()
	if fi.IsDir() {
		return "dir", err
	}
	return fmt.Sprint(fi.Size(), fi.Sys().(*syscall.Stat_t).Nlink), err
}

var errnos = map[syscall.Errno]vfs.Error{
	syscall.ENOENT: vfs.ErrNotExist, syscall.EEXIST: vfs.ErrExist, syscall.ENOTDIR: vfs.ErrNotDir, syscall.EISDIR: vfs.ErrIsDir,
	syscall.ELOOP: vfs.ErrLoop, syscall.ENOTEMPTY: vfs.ErrNotEmpty, syscall.EINVAL: vfs.ErrInvalid, syscall.EPERM: vfs.ErrPerm,
	syscall.EBUSY: vfs.ErrBusy, syscall.ENAMETOOLONG: vfs.ErrNameTooLong, syscall.EBADF: vfs.ErrBadHandle, syscall.EXDEV: vfs.ErrCrossDevice,
}

// asOurs turns the system's error into ours.
func asOurs(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		if e, ok := errnos[errno]; ok {
			return e
		}
	}
	return err
}

// program is a source of random choices.
type program struct {
	data []byte
	log  []string
}

func (p *program) next(n int) int {
	if len(p.data) == 0 {
		return 0
	}
	b := int(p.data[0])
	p.data = p.data[1:]
	return b % n
}

func (p *program) name() string {
	return [...]string{"a", "b", "c", "d", "a/b", "b/a", "a/b/c", "c/d", "a/../b", "b/..", "d/.", "c/", "a/b/", "b/a/../../c", ".", "d/a/b/c"}[p.next(16)]
}

func (p *program) text() string {
	return [...]string{"a", "b", "c", "../a", "../../b", "a/b", "b/a/c", ".", "..", "d/", "none", "./c/../d", "a/.."}[p.next(13)]
}

// step runs one operation and returns what it answered.
func (p *program) step(f fileSystem, files *[4]file, op int, args [6]int, name, name2, text string) string {
	result := func(s string, err error) string {
		if err != nil {
			return asOurs(err).Error()
		}
		return "ok " + s
	}
	slot := &files[args[0]%4]
	size := int64(args[1])<<10 | int64(args[2])
	switch op {
	case 0, 1:
		return result("", f.mkdir(name))
	case 2:
		return result("", f.rmdir(name))
	case 3:
		return result("", f.unlink(name))
	case 4, 5:
		return result("", f.rename(name, name2))
	case 6:
		return result("", f.link(name, name2))
	case 7:
		return result("", f.symlink(text, name))
	case 8:
		return result(f.readlink(name))
	case 9:
		return result(f.stat(name, args[0]%2 == 0))
	case 10:
		return result(f.list(name))
	case 11, 12, 13:
		if *slot != nil {
			(*slot).Close()
			*slot = nil
		}
		flags := vfs.OpenRead
		for i, fl := range []vfs.OpenFlags{vfs.OpenWrite, vfs.OpenCreate, vfs.OpenExclusive, vfs.OpenTruncate, vfs.OpenNoFollow} {
			if args[3]>>i&1 != 0 {
				flags |= fl
			}
		}
		if flags&vfs.OpenCreate == 0 {
			flags &^= vfs.OpenExclusive // without the other it means nothing
		}
		h, err := f.open(name, flags)
		if err == nil {
			*slot = h
		}
		return result("", err)
	}
	if *slot == nil {
		return "none"
	}
	switch op {
	case 14:
		b := make([]byte, 100+size/100)
		n, err := (*slot).ReadAt(b, size)
		if err == io.EOF {
			err = nil
		}
		return result(fmt.Sprintf("%d %x", n, sum(b[:n])), err)
	case 15, 16:
		n, err := (*slot).WriteAt(bytes.Repeat([]byte{byte(args[4])}, 1+args[3]*args[3]), size)
		return result(fmt.Sprint(n), err)
	case 17:
		return result("", (*slot).append([]byte(text)))
	case 18:
		return result("", (*slot).Truncate(size))
	}
	return result((*slot).info())
}

// mayDiffer says which answers may differ.
func mayDiffer(op int, ours, theirs string) bool {
	is := func(s string, list ...vfs.Error) bool {
		return slices.ContainsFunc(list, func(e vfs.Error) bool { return e.Error() == s })
	}
	switch op {
	case 4, 5: // a file over a folder that it lies in
		return is(ours, vfs.ErrIsDir) && is(theirs, vfs.ErrNotEmpty)
	case 15, 16, 17, 18: // a folder, or a file that is not open for writing
		return is(ours, vfs.ErrIsDir, vfs.ErrBadHandle) && is(theirs, vfs.ErrBadHandle, vfs.ErrInvalid)
	}
	return false
}

// run runs a program on both and returns the first difference.
func (p *program) run(a, b fileSystem, merged bool, after func() error) error {
	var fa, fb [4]file
	defer func() {
		for _, f := range slices.Concat(fa[:], fb[:]) {
			if f != nil {
				f.Close()
			}
		}
	}()
	for i := 0; len(p.data) > 0; i++ {
		op := p.next(20)
		name, name2, text := p.name(), p.name(), p.text()
		var args [6]int
		for k := range args {
			args[k] = p.next(256)
		}
		if merged && op >= 11 && op <= 13 {
			args[3] |= 1 // an overlay's handle for reading does not see a copy that is made later
		}
		ra := p.step(a, &fa, op, args, name, name2, text)
		if merged && ra == vfs.ErrCrossDevice.Error() {
			continue // stated: a folder of the lower layer is not renamed
		}
		rb := p.step(b, &fb, op, args, name, name2, text)
		line := fmt.Sprintf("%3d: op %d %q %q %q %v: %s", i, op, name, name2, text, args, ra)
		p.log = append(p.log, line)
		if ra != rb && !mayDiffer(op, ra, rb) {
			return fmt.Errorf("%s\nbut the system: %s\n%s", line, rb, strings.Join(p.log[max(0, len(p.log)-60):], "\n"))
		}
		if after != nil {
			if err := after(); err != nil {
				return fmt.Errorf("%s: %w", line, err)
			}
		}
	}
	return nil
}

// pair makes the two file systems of a kind.
func pair(t testing.TB, kind string) (ours, theirs) {
	t.Helper()
	ref := t.TempDir()
	if err := os.MkdirAll(ref+workDir, 0o755); err != nil {
		t.Fatal(err)
	}
	var ns *vfs.Namespace
	o := vfs.Options{}
	switch kind {
	case "memory":
		ns = namespace(t, vfs.Config{}, o)
	case "host":
		ns = namespace(t, vfs.Config{Mounts: []vfs.Mount{{Path: "/", FS: hostDir(t, t.TempDir(), true), Mode: vfs.ModeReadWrite}}}, o)
	case "overlay":
		lower := t.TempDir()
		for _, dir := range []string{lower, ref} {
			w := dir + workDir
			if err := os.MkdirAll(w+"/a/b", 0o755); err != nil {
				t.Fatal(err)
			}
			for _, err := range []error{os.WriteFile(w+"/b", []byte("lower b"), 0o644), os.WriteFile(w+"/a/b/c", []byte("lower c"), 0o644),
				os.Mkdir(w+"/c", 0o755), os.Symlink("a/b/c", w+"/d"), os.WriteFile(w+"/c/d", nil, 0o644)} {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		before := tree(t, os.DirFS(lower))
		t.Cleanup(func() {
			if d := diff(before, tree(t, os.DirFS(lower))); d != "" {
				t.Errorf("the lower layer changed: %s", d)
			}
		})
		ns = namespace(t, vfs.Config{Mounts: []vfs.Mount{{Path: "/", FS: hostDir(t, lower, false), Mode: vfs.ModeOverlay}}}, o)
	}
	if err := ns.MkdirAll(workDir); err != nil {
		t.Fatal(err)
	}
	return ours{ns}, theirs{ref}
}

func runProgram(t testing.TB, kind string, data []byte) {
	a, b := pair(t, kind)
	p := &program{data: data}
	if err := p.run(a, b, kind == "overlay", a.ns.Recount); err != nil {
		t.Fatal(err)
	}
	if d := diff(tree(t, must(a.ns.FS("/"))), tree(t, os.DirFS(b.dir))); d != "" {
		t.Fatalf("trees differ:\n%s\n%s", d, strings.Join(p.log, "\n"))
	}
}

func randomProgram(seed uint64, steps int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, steps*10)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// TestPrograms compares with the operating system.
func TestPrograms(t *testing.T) {
	for _, kind := range []string{"memory", "host", "overlay"} {
		t.Run(kind, func(t *testing.T) {
			for seed := range uint64(10) {
				t.Run(fmt.Sprint(seed), func(t *testing.T) { runProgram(t, kind, randomProgram(seed, 300)) })
			}
		})
	}
}

func FuzzProgram(f *testing.F) {
	for seed := range uint64(3) {
		f.Add(uint8(seed), randomProgram(seed+100, 40))
	}
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		if len(data) > 4000 {
			return
		}
		runProgram(t, []string{"memory", "host", "overlay"}[kind%3], data)
	})
}
