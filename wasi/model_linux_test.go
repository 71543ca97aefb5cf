package wasi

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

// The model is Linux: a program of operations on files runs on a plain folder through the kernel, and through this
// host on a folder and in memory. All must give the same answers, as text.

// files is what a program runs on. Descriptors are small numbers that all implementations give out alike. Paths
// never climb above the folder.
type files interface {
	open(path string, follow, create, excl, trunc, dir, read, write, app bool) string
	close(fd int) string
	read(fd, n int, at int64) string  // at < 0: at the descriptor's offset
	write(fd, n int, at int64) string // n bytes of pattern
	seek(fd int, delta int64, whence int) string
	truncate(fd int, size int64) string
	fstat(fd int) string
	list(fd int) string
	stat(path string, follow bool) string
	mkdir(path string) string
	rmdir(path string) string
	unlink(path string) string
	rename(from, to string) string
	link(from, to string) string
	symlink(text, path string) string
	readlink(path string) string
}

const maxModelFds = 12

// kernel runs operations through Linux. fds[0] is the folder.
type kernel struct{ fds []int }

func newKernel(t testing.TB) *kernel {
	base := filepath.Join(t.TempDir(), "base")
	if err := os.Mkdir(base, 0o777); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(base, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	k := &kernel{fds: []int{fd}}
	t.Cleanup(func() {
		for _, fd := range k.fds {
			if fd >= 0 {
				unix.Close(fd)
			}
		}
	})
	return k
}

var errnosOfLinux = map[unix.Errno]Errno{
	unix.ENOENT: ErrnoNoent, unix.EEXIST: ErrnoExist, unix.ENOTDIR: ErrnoNotdir, unix.EISDIR: ErrnoIsdir,
	unix.ELOOP: ErrnoLoop, unix.ENOTEMPTY: ErrnoNotempty, unix.EINVAL: ErrnoInval, unix.EBADF: ErrnoBadf,
	unix.EPERM: ErrnoPerm, unix.EBUSY: ErrnoBusy, unix.EACCES: ErrnoAcces, unix.ENAMETOOLONG: ErrnoNametoolong,
	unix.EFBIG: ErrnoFbig, unix.EXDEV: ErrnoXdev, unix.EMLINK: ErrnoMlink,
}

func linuxAnswer(err error, format string, args ...any) string {
	if err == nil {
		return fmt.Sprintf(format, args...)
	}
	if e, ok := errors.AsType[unix.Errno](err); ok {
		if known, ok := errnosOfLinux[e]; ok {
			return known.String()
		}
	}
	return err.Error()
}

func (k *kernel) fd(n int) int {
	if n < len(k.fds) {
		return k.fds[n]
	}
	return -1
}

func (k *kernel) open(path string, follow, create, excl, trunc, dir, read, write, app bool) string {
	flags := unix.O_RDONLY | unix.O_CLOEXEC
	switch {
	case read && write:
		flags |= unix.O_RDWR
	case write:
		flags |= unix.O_WRONLY
	}
	for flag, on := range map[int]bool{unix.O_NOFOLLOW: !follow, unix.O_CREAT: create, unix.O_EXCL: excl,
		unix.O_TRUNC: trunc, unix.O_DIRECTORY: dir, unix.O_APPEND: app} {
		if on {
			flags |= flag
		}
	}
	fd, err := unix.Openat(k.fds[0], path, flags, 0o777)
	if err != nil {
		return linuxAnswer(err, "")
	}
	n := slices.Index(k.fds, -1)
	if n < 0 {
		n, k.fds = len(k.fds), append(k.fds, -1)
	}
	k.fds[n] = fd
	return fmt.Sprint("fd ", n)
}

func (k *kernel) close(n int) string {
	err := unix.Close(k.fd(n))
	if err == nil {
		k.fds[n] = -1
	}
	return linuxAnswer(err, "closed")
}

func (k *kernel) read(n, size int, at int64) string {
	buf := make([]byte, size)
	var got int
	var err error
	if at < 0 {
		got, err = unix.Read(k.fd(n), buf)
	} else {
		got, err = unix.Pread(k.fd(n), buf, at)
	}
	return linuxAnswer(err, "%q", buf[:max(0, got)])
}

func pattern(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte('a' + i%26)
	}
	return p
}

func (k *kernel) write(n, size int, at int64) string {
	var got int
	var err error
	if at < 0 {
		got, err = unix.Write(k.fd(n), pattern(size))
	} else {
		// Linux appends here too when O_APPEND is set, against POSIX and against its own manual's wish.
		flags, _ := unix.FcntlInt(uintptr(k.fd(n)), unix.F_GETFL, 0)
		_, _ = unix.FcntlInt(uintptr(k.fd(n)), unix.F_SETFL, flags&^unix.O_APPEND)
		got, err = unix.Pwrite(k.fd(n), pattern(size), at)
		_, _ = unix.FcntlInt(uintptr(k.fd(n)), unix.F_SETFL, flags)
	}
	return linuxAnswer(err, "%d bytes", got)
}

func (k *kernel) seek(n int, delta int64, whence int) string {
	if k.fstat(n) == "directory" {
		return ErrnoIsdir.String() // WASI has no places in a directory but its cookies
	}
	at, err := unix.Seek(k.fd(n), delta, whence)
	return linuxAnswer(err, "at %d", at)
}

func (k *kernel) truncate(n int, size int64) string {
	return linuxAnswer(unix.Ftruncate(k.fd(n), size), "cut")
}

func linuxStat(st *unix.Stat_t) string {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return "directory"
	case unix.S_IFLNK:
		return fmt.Sprintf("link of %d bytes, %d names", st.Size, st.Nlink)
	default:
		return fmt.Sprintf("file of %d bytes, %d names", st.Size, st.Nlink)
	}
}

func (k *kernel) fstat(n int) string {
	var st unix.Stat_t
	err := unix.Fstat(k.fd(n), &st)
	return linuxAnswer(err, "%s", linuxStat(&st))
}

func (k *kernel) stat(path string, follow bool) string {
	flags := 0
	if !follow {
		flags = unix.AT_SYMLINK_NOFOLLOW
	}
	var st unix.Stat_t
	err := unix.Fstatat(k.fds[0], path, &st, flags)
	return linuxAnswer(err, "%s", linuxStat(&st))
}

func (k *kernel) list(n int) string {
	var st unix.Stat_t
	if err := unix.Fstat(k.fd(n), &st); err != nil {
		return linuxAnswer(err, "")
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return ErrnoNotdir.String()
	}
	fd, err := unix.Openat(k.fd(n), ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err == unix.ENOENT {
		return "[]" // removed: WASI lists it as empty
	}
	if err != nil {
		return linuxAnswer(err, "")
	}
	f := os.NewFile(uintptr(fd), "folder")
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return linuxAnswer(err, "")
	}
	slices.Sort(names)
	return fmt.Sprint(names)
}

func (k *kernel) mkdir(path string) string {
	return linuxAnswer(unix.Mkdirat(k.fds[0], path, 0o777), "made")
}
func (k *kernel) rmdir(path string) string {
	return linuxAnswer(unix.Unlinkat(k.fds[0], path, unix.AT_REMOVEDIR), "removed")
}
func (k *kernel) unlink(path string) string {
	return linuxAnswer(unix.Unlinkat(k.fds[0], path, 0), "removed")
}
func (k *kernel) rename(from, to string) string {
	return linuxAnswer(unix.Renameat(k.fds[0], from, k.fds[0], to), "renamed")
}
func (k *kernel) link(from, to string) string {
	return linuxAnswer(unix.Linkat(k.fds[0], from, k.fds[0], to, 0), "linked")
}
func (k *kernel) symlink(text, path string) string {
	return linuxAnswer(unix.Symlinkat(text, k.fds[0], path), "linked")
}
func (k *kernel) readlink(path string) string {
	buf := make([]byte, 100)
	n, err := unix.Readlinkat(k.fds[0], path, buf)
	return linuxAnswer(err, "%q", buf[:max(0, n)])
}

// ours runs operations through this host, its descriptor 3 being the model's 0.
type ours struct{ *guest }

const modelBuf, modelSize = 131072, 1024

func newOurs(t testing.TB, ns *vfs.Namespace) ours {
	// One folder down, so that a link's ".." is the same for all.
	if err := ns.Mkdir(nil, vfs.MustPath("/base")); err != nil {
		t.Fatal(err)
	}
	return ours{newFiles(t, Config{FS: ns, Preopens: []string{"/base"}})}
}

func (o ours) answer(errno Errno, format string, args ...any) string {
	if errno != ErrnoSuccess {
		return errno.String()
	}
	return fmt.Sprintf(format, args...)
}

func (o ours) at(path string) (off, n uint64) {
	o.top = 4096
	return o.text(path)
}

func (o ours) open(path string, follow, create, excl, trunc, dir, read, write, app bool) string {
	var oflags, flags, dirflags uint64
	for bit, on := range []bool{create, dir, excl, trunc} {
		if on {
			oflags |= 1 << bit
		}
	}
	if follow {
		dirflags = lookupFollow
	}
	if app {
		flags = uint64(fdflagAppend)
	}
	// The rights that a C library asks for.
	r := rightsAll &^ (rightFdDatasync | rightFdRead | rightFdWrite | rightFdAllocate | rightFdReaddir | rightFdFilestatSetSize)
	if read || !write {
		r |= rightFdRead | rightFdReaddir
	}
	if write {
		r |= rightFdDatasync | rightFdWrite | rightFdAllocate | rightFdFilestatSetSize
	}
	off, n := o.at(path)
	errno := o.call("path_open", rootFd, dirflags, off, n, oflags, uint64(r), uint64(rightsAll), flags, resultOff)
	return o.answer(errno, "fd %d", int(o.u32(resultOff))-rootFd)
}

func (o ours) close(fd int) string {
	return o.answer(o.call("fd_close", uint64(fd+rootFd)), "closed")
}

func (o ours) read(fd, n int, at int64) string {
	o.top = 4096
	iov := o.iov(modelBuf, uint64(n))
	var errno Errno
	if at < 0 {
		errno = o.call("fd_read", uint64(fd+rootFd), iov, 1, resultOff)
	} else {
		errno = o.call("fd_pread", uint64(fd+rootFd), iov, 1, uint64(at), resultOff)
	}
	if errno != ErrnoSuccess {
		return errno.String()
	}
	return fmt.Sprintf("%q", o.all()[modelBuf:modelBuf+o.u32(resultOff)])
}

func (o ours) write(fd, n int, at int64) string {
	o.top = 4096
	copy(o.all()[modelBuf:], pattern(n))
	iov := o.iov(modelBuf, uint64(n))
	var errno Errno
	if at < 0 {
		errno = o.call("fd_write", uint64(fd+rootFd), iov, 1, resultOff)
	} else {
		errno = o.call("fd_pwrite", uint64(fd+rootFd), iov, 1, uint64(at), resultOff)
	}
	return o.answer(errno, "%d bytes", o.u32(resultOff))
}

func (o ours) seek(fd int, delta int64, whence int) string {
	errno := o.call("fd_seek", uint64(fd+rootFd), uint64(delta), uint64(whence), resultOff)
	return o.answer(errno, "at %d", o.u64(resultOff))
}

func (o ours) truncate(fd int, size int64) string {
	errno := o.call("fd_filestat_set_size", uint64(fd+rootFd), uint64(size))
	return o.answer(errno, "cut")
}

func (o ours) statText(errno Errno) string {
	if errno != ErrnoSuccess {
		return errno.String()
	}
	switch o.all()[512+16] {
	case filetypeDirectory:
		return "directory"
	case filetypeLink:
		return fmt.Sprintf("link of %d bytes, %d names", o.u64(512+32), o.u64(512+24))
	default:
		return fmt.Sprintf("file of %d bytes, %d names", o.u64(512+32), o.u64(512+24))
	}
}

func (o ours) fstat(fd int) string {
	return o.statText(o.call("fd_filestat_get", uint64(fd+rootFd), 512))
}

func (o ours) stat(path string, follow bool) string {
	var flags uint64
	if follow {
		flags = lookupFollow
	}
	off, n := o.at(path)
	return o.statText(o.call("path_filestat_get", rootFd, flags, off, n, 512))
}

func (o ours) list(fd int) string {
	errno := o.call("fd_readdir", uint64(fd+rootFd), modelBuf, 0, 0, resultOff)
	if errno == ErrnoNoent {
		return "[]" // a folder of the host that was removed
	}
	if errno != ErrnoSuccess {
		return errno.String()
	}
	entries, _ := o.readdir(uint64(fd+rootFd), 65536, 0)
	names := []string{}
	for _, e := range entries {
		if e.name != "." && e.name != ".." {
			names = append(names, e.name)
		}
	}
	slices.Sort(names)
	return fmt.Sprint(names)
}

func (o ours) path(name, path, done string) string {
	off, n := o.at(path)
	return o.answer(o.call(name, rootFd, off, n), "%s", done)
}

func (o ours) mkdir(path string) string  { return o.path("path_create_directory", path, "made") }
func (o ours) rmdir(path string) string  { return o.path("path_remove_directory", path, "removed") }
func (o ours) unlink(path string) string { return o.path("path_unlink_file", path, "removed") }

func (o ours) rename(from, to string) string {
	a, an := o.at(from)
	b, bn := o.text(to)
	return o.answer(o.call("path_rename", rootFd, a, an, rootFd, b, bn), "renamed")
}

func (o ours) link(from, to string) string {
	a, an := o.at(from)
	b, bn := o.text(to)
	return o.answer(o.call("path_link", rootFd, 0, a, an, rootFd, b, bn), "linked")
}

func (o ours) symlink(text, path string) string {
	a, an := o.at(text)
	b, bn := o.text(path)
	return o.answer(o.call("path_symlink", a, an, rootFd, b, bn), "linked")
}

func (o ours) readlink(path string) string {
	off, n := o.at(path)
	errno := o.call("path_readlink", rootFd, off, n, modelBuf, 100, resultOff)
	if errno != ErrnoSuccess {
		return errno.String()
	}
	return fmt.Sprintf("%q", o.all()[modelBuf:modelBuf+o.u32(resultOff)])
}

// A few names, so that operations meet.
var (
	modelPaths = []string{"a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "l", "l/a", "m", "d/../a", "d/e/../../b", "a/", "d/", "l/",
		"d/.", "./a", "d//a", "a/b", "d/e/", "", ".", "a/.", "d/..", "m/e/a"}
	modelTexts   = []string{"a", "d", "d/e", "none", "l", "m", "../a", "e", "./d/", "../b"}
	modelOffsets = []int64{0, 1, 5, 17, 4095, 4096, 5000, 100000}
)

// modelOp is one operation: what it is, and how to run it.
type modelOp struct {
	text string
	run  func(f files) string
	odd  bool // see sameAnswer
}

// decodeOp makes an operation of six bytes.
func decodeOp(b []byte) modelOp {
	op := decode(b)
	path, other := modelPaths[int(b[1])%len(modelPaths)], modelPaths[int(b[2])%len(modelPaths)]
	switch kind, _, _ := strings.Cut(op.text, " "); kind {
	case "link":
		op.odd = true
	case "rename":
		op.odd = oddPath(path) || oddPath(other)
	default:
		op.odd = oddPath(path)
	}
	return op
}

func decode(b []byte) modelOp {
	path, other := modelPaths[int(b[1])%len(modelPaths)], modelPaths[int(b[2])%len(modelPaths)]
	fd := 1 + int(b[1])%4
	size := int(b[2]) % modelSize
	at := modelOffsets[int(b[3])%len(modelOffsets)]
	op := func(format string, args ...any) string { return fmt.Sprintf(format, args...) }
	switch b[0] % 20 {
	case 0, 1, 2:
		bits := int(b[2]) | int(b[3])<<8
		bit := func(i int) bool { return bits>>i&1 != 0 }
		create, dir := bit(0) || bit(1), bit(7) && bit(8)
		if dir {
			create = false // Linux has no meaning for both
		}
		excl := create && bit(2) && bit(3)
		read, write := bit(4), bit(5)
		trunc := write && bit(6) && !dir
		follow, app := bit(9) || bit(10), write && bit(11)
		return modelOp{
			text: op("open %q follow %v create %v excl %v trunc %v dir %v read %v write %v append %v", path, follow, create, excl, trunc, dir, read, write, app),
			run:  func(f files) string { return f.open(path, follow, create, excl, trunc, dir, read, write, app) },
		}
	case 3:
		return modelOp{text: op("close %d", fd), run: func(f files) string { return f.close(fd) }}
	case 4:
		return modelOp{text: op("read %d, %d bytes", fd, size), run: func(f files) string { return f.read(fd, size, -1) }}
	case 5:
		return modelOp{text: op("pread %d, %d bytes at %d", fd, size, at), run: func(f files) string { return f.read(fd, size, at) }}
	case 6, 7:
		return modelOp{text: op("write %d, %d bytes", fd, size), run: func(f files) string { return f.write(fd, size, -1) }}
	case 8:
		return modelOp{text: op("pwrite %d, %d bytes at %d", fd, size, at), run: func(f files) string { return f.write(fd, size, at) }}
	case 9:
		whence := int(b[4]) % 3
		if whence > 0 && b[5]&1 != 0 {
			at = -at
		}
		return modelOp{text: op("seek %d, %d from %d", fd, at, whence), run: func(f files) string { return f.seek(fd, at, whence) }}
	case 10:
		return modelOp{text: op("truncate %d to %d", fd, at), run: func(f files) string { return f.truncate(fd, at) }}
	case 11:
		return modelOp{text: op("fstat %d", fd), run: func(f files) string { return f.fstat(fd) }}
	case 12:
		return modelOp{text: op("list %d", fd), run: func(f files) string { return f.list(fd) }}
	case 13:
		follow := b[2]&1 != 0
		return modelOp{text: op("stat %q follow %v", path, follow), run: func(f files) string { return f.stat(path, follow) }}
	case 14:
		return modelOp{text: op("mkdir %q", path), run: func(f files) string { return f.mkdir(path) }}
	case 15:
		return modelOp{text: op("rmdir %q", path), run: func(f files) string { return f.rmdir(path) }}
	case 16:
		return modelOp{text: op("unlink %q", path), run: func(f files) string { return f.unlink(path) }}
	case 17:
		return modelOp{text: op("rename %q to %q", path, other), run: func(f files) string { return f.rename(path, other) }}
	case 18:
		return modelOp{text: op("link %q to %q", path, other), run: func(f files) string { return f.link(path, other) }}
	default:
		text := modelTexts[int(b[3])%len(modelTexts)]
		if b[4]&3 == 0 {
			return modelOp{text: op("readlink %q", path), run: func(f files) string { return f.readlink(path) }}
		}
		return modelOp{text: op("symlink %q at %q", text, path), run: func(f files) string { return f.symlink(text, path) }}
	}
}

// runModel runs a program on all three and compares each answer.
func runModel(t *testing.T, program []byte) {
	k := newKernel(t)
	folder := newOurs(t, hostFolder(t, t.TempDir(), vfs.HostDirOptions{}))
	memory := newOurs(t, newNamespace(t, vfs.Options{}))
	var log []string
	for _, f := range []files{k, folder, memory} {
		f.mkdir("d")
		f.mkdir("d/e")
		f.open("a", false, true, false, false, false, true, true, false)
	}
	for ; len(program) >= 6; program = program[6:] {
		op := decodeOp(program)
		// With a link in place of a folder such a path can lead above the one that it is relative to: Linux goes there.
		if strings.Contains(op.text, "../..") && (!isErrno(k.readlink("d")) || !isErrno(k.readlink("d/e"))) {
			continue
		}
		want := op.run(k)
		log = append(log, fmt.Sprintf("%s -> %s", op.text, want))
		for name, f := range map[string]files{"folder": folder, "memory": memory} {
			if got := op.run(f); !sameAnswer(op, got, want) {
				for _, line := range log {
					t.Log(line)
				}
				t.Fatalf("%s: %s gives %s, Linux gives %s", name, op.text, got, want)
			}
		}
		if len(k.fds) > maxModelFds {
			return
		}
	}
}

// sameAnswer lets two failures be the same where several things are wrong at once, and Linux and this host need
// not look at them in the same order: a path that ends in a slash or dots, or is empty; the two paths of a link; a link
// that was to be opened as a directory without following it; a file that was to be renamed to a folder above it.
func sameAnswer(op modelOp, got, want string) bool {
	if got == want {
		return true
	}
	return isErrno(got) && isErrno(want) && (op.odd ||
		got == ErrnoLoop.String() && want == ErrnoNotdir.String() ||
		got == ErrnoIsdir.String() && want == ErrnoNotempty.String())
}

func isErrno(s string) bool {
	for e := range errnoNames {
		if e != ErrnoSuccess && e.String() == s {
			return true
		}
	}
	return false
}

func oddPath(p string) bool { return p == "" || strings.HasSuffix(p, "/") || strings.HasSuffix(p, ".") }

func TestModel(t *testing.T) {
	programs := 60
	if testing.Short() {
		programs = 10
	}
	for seed := range programs {
		r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
		program := make([]byte, 6*80)
		r.Read(program)
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { runModel(t, program) }) {
			return
		}
	}
}

func FuzzModel(f *testing.F) {
	r := rand.NewChaCha8([32]byte{99})
	for range 20 {
		program := make([]byte, 6*40)
		r.Read(program)
		f.Add(program)
	}
	f.Fuzz(runModel)
}
