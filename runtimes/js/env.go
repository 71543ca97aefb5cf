package js

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"syscall"
	"time"

	"github.com/cloche-dev/cloche/runtimes"
)

// Env is what a program reaches of its sandbox besides the door. It belongs to one sandbox and travels in
// the context of [Driver.Turn] (see [WithEnv]), because a Driver holds nothing of a run. Every field may be
// nil.
type Env struct {
	// Files is the file tree. Without it every path is missing.
	Files Files
	// Stdin is at its end when nil. A read may block; it must end with the run.
	Stdin io.Reader
	// Stdout and Stderr receive what is printed, as it is printed. Their errors are not shown to the program.
	Stdout, Stderr io.Writer
	// Clock is the host's own when nil.
	Clock Clock
	// Location is the time zone of Date. When nil it is the one that the turn's environment names in TZ, or UTC.
	Location *time.Location
	// Dir is the working directory, [runtimes.WorkDir] when empty.
	Dir string
}

// Clock is how a program waits. (Date asks WASI for the time.)
type Clock interface {
	// Monotonic is the time since an arbitrary start.
	Monotonic() time.Duration
	// Sleep waits for d, or until the run is to end, or until it was interrupted: then
	// [Driver.Interrupt] has been called before Sleep is back. Its error, unless the turn was interrupted,
	// ends the run.
	Sleep(ctx context.Context, d time.Duration) error
}

// Checker is what a Clock may be besides. Check is called between the pieces of long work; its error ends the run.
type Checker interface {
	Check(ctx context.Context) error
}

// Files is a file tree. Paths are absolute guest paths ("/data/a.txt") without NUL, at most 4096 bytes and the
// working directory (the tree refuses longer ones); "." and ".." and links in them are the tree's to resolve. Errors are those of package
// io/fs or [syscall.Errno], wrapped or not, or have a method Code() string that names the errno ("ENOENT").
type Files interface {
	// Open opens a file. flag is made of os.O_RDONLY, O_WRONLY, O_RDWR, O_CREATE, O_EXCL, O_TRUNC.
	Open(path string, flag int) (File, error)
	// Stat describes a file; follow says whether a link at the end of path is followed.
	Stat(path string, follow bool) (FileInfo, error)
	// ReadDir lists a folder, at most max entries, sorted by name.
	ReadDir(path string, max int) ([]DirEntry, error)
	Mkdir(path string) error
	// Remove removes a file or link, or with dir an empty folder.
	Remove(path string, dir bool) error
	Rename(from, to string) error
	Link(from, to string) error
	Symlink(target, path string) error
	Readlink(path string) (string, error)
	// SetTimes sets the times of last access and change.
	SetTimes(path string, access, modify time.Time) error
}

// File is an open file. The driver opens one for the length of one call, so that nothing stays open.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Stat() (FileInfo, error)
}

// DirEntry is a name in a folder, and what it stands for.
type DirEntry struct {
	Name string
	Mode fs.FileMode // as in FileInfo
}

// FileInfo describes a file.
type FileInfo struct {
	Name     string
	Mode     fs.FileMode // its type bits; permissions where the tree has them
	Size     int64
	Inode    uint64
	Links    uint64
	Modified time.Time
	Accessed time.Time
	Changed  time.Time
}

type envKey struct{}

// WithEnv gives the turns under ctx their surroundings.
func WithEnv(ctx context.Context, e *Env) context.Context { return context.WithValue(ctx, envKey{}, e) }

var emptyEnv = &Env{}

func envOf(ctx context.Context) *Env {
	if e, ok := ctx.Value(envKey{}).(*Env); ok && e != nil {
		return e
	}
	return emptyEnv
}

func (e *Env) dir() string {
	if e.Dir == "" {
		return runtimes.WorkDir
	}
	return e.Dir
}

func (e *Env) clock() Clock {
	if e.Clock == nil {
		return hostClock{}
	}
	return e.Clock
}

func (e *Env) files() Files {
	if e.Files == nil {
		return noFiles{}
	}
	return e.Files
}

func (e *Env) writer(fd int32) io.Writer {
	w := e.Stdout
	if fd == 2 {
		w = e.Stderr
	}
	if w == nil {
		return io.Discard
	}
	return w
}

// hostClock is the host's clock.
type hostClock struct{}

var processStart = time.Now()

func (hostClock) Monotonic() time.Duration { return time.Since(processStart) }
func (hostClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// noFiles is an empty tree that cannot be written.
type noFiles struct{}

func (noFiles) Open(string, int) (File, error)              { return nil, fs.ErrNotExist }
func (noFiles) Stat(string, bool) (FileInfo, error)         { return FileInfo{}, fs.ErrNotExist }
func (noFiles) ReadDir(string, int) ([]DirEntry, error)     { return nil, fs.ErrNotExist }
func (noFiles) Mkdir(string) error                          { return syscall.EROFS }
func (noFiles) Remove(string, bool) error                   { return fs.ErrNotExist }
func (noFiles) Rename(string, string) error                 { return fs.ErrNotExist }
func (noFiles) Link(string, string) error                   { return fs.ErrNotExist }
func (noFiles) Symlink(string, string) error                { return syscall.EROFS }
func (noFiles) Readlink(string) (string, error)             { return "", fs.ErrNotExist }
func (noFiles) SetTimes(string, time.Time, time.Time) error { return fs.ErrNotExist }

// errnoNames are the codes that Node's errors carry, for what package syscall knows.
var errnoNames = map[syscall.Errno]string{
	syscall.EACCES: "EACCES", syscall.EBADF: "EBADF", syscall.EBUSY: "EBUSY", syscall.EDQUOT: "EDQUOT",
	syscall.EEXIST: "EEXIST", syscall.EFBIG: "EFBIG", syscall.EINVAL: "EINVAL", syscall.EISDIR: "EISDIR",
	syscall.ELOOP: "ELOOP", syscall.EMFILE: "EMFILE", syscall.EMLINK: "EMLINK", syscall.ENAMETOOLONG: "ENAMETOOLONG",
	syscall.ENOENT: "ENOENT", syscall.ENOSPC: "ENOSPC", syscall.ENOTDIR: "ENOTDIR", syscall.ENOTEMPTY: "ENOTEMPTY",
	syscall.EPERM: "EPERM", syscall.EROFS: "EROFS", syscall.EXDEV: "EXDEV", syscall.ENOTSUP: "ENOTSUP",
	syscall.EILSEQ: "EILSEQ", syscall.ENFILE: "ENFILE",
}

// errorCode names the errno of an error of Files. What it does not know is EIO; no host text goes further.
func errorCode(err error) string {
	var coded interface{ Code() string }
	var errno syscall.Errno
	switch {
	case errors.As(err, &coded):
		return coded.Code()
	case errors.As(err, &errno) && errnoNames[errno] != "":
		return errnoNames[errno]
	case errors.Is(err, fs.ErrNotExist):
		return "ENOENT"
	case errors.Is(err, fs.ErrExist):
		return "EEXIST"
	case errors.Is(err, fs.ErrPermission):
		return "EACCES"
	case errors.Is(err, fs.ErrInvalid):
		return "EINVAL"
	case errors.Is(err, fs.ErrClosed):
		return "EBADF"
	}
	return "EIO"
}
