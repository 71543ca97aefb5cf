package engine

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/runtimes/js"
	"github.com/cloche-dev/cloche/wasi"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

// guestFiles is a sandbox's file tree as the JavaScript driver asks for it. Python reaches the same tree
// through WASI.
type guestFiles struct {
	ns      *vfs.Namespace
	reached func(limits.Resource) // is told of quotas that refuse something
}

var _ js.Files = guestFiles{}

// codedError gives an error of vfs the name that Node's errors carry.
type codedError vfs.Error

func (e codedError) Error() string { return vfs.Error(e).Error() }
func (e codedError) Code() string  { return "E" + wasi.ErrnoOf(vfs.Error(e)).String() }

// coded is err as the driver needs it. A quota that refused something is told of.
func (f guestFiles) coded(err error) error {
	if e, ok := errors.AsType[vfs.Error](err); ok {
		if r := wasi.ResourceOf(e); r != 0 && f.reached != nil {
			f.reached(r)
		}
		return codedError(e)
	}
	return err
}

// at parses a path and does something with it.
func at[T any](f guestFiles, p string, do func(vfs.Path) (T, error)) (T, error) {
	parsed, err := vfs.ParsePathString(p)
	if err != nil {
		var none T
		return none, f.coded(err)
	}
	v, err := do(parsed)
	return v, f.coded(err)
}

func at0(f guestFiles, p string, do func(vfs.Path) error) error {
	_, err := at(f, p, func(p vfs.Path) (struct{}, error) { return struct{}{}, do(p) })
	return err
}

func (f guestFiles) Open(p string, flag int) (js.File, error) {
	return at(f, p, func(p vfs.Path) (js.File, error) {
		h, err := f.ns.Open(nil, p, openFlags(flag))
		if err != nil {
			return nil, err
		}
		return guestFile{h, f}, nil
	})
}

// openFlags turns os.O_… into vfs's.
func openFlags(flag int) vfs.OpenFlags {
	var o vfs.OpenFlags
	switch flag & (os.O_RDONLY | os.O_WRONLY | os.O_RDWR) {
	case os.O_WRONLY:
		o = vfs.OpenWrite
	case os.O_RDWR:
		o = vfs.OpenRead | vfs.OpenWrite
	default:
		o = vfs.OpenRead
	}
	for _, m := range []struct {
		os  int
		vfs vfs.OpenFlags
	}{{os.O_CREATE, vfs.OpenCreate}, {os.O_EXCL, vfs.OpenExclusive}, {os.O_TRUNC, vfs.OpenTruncate}} {
		if flag&m.os != 0 {
			o |= m.vfs
		}
	}
	return o
}

func (f guestFiles) Stat(p string, follow bool) (js.FileInfo, error) {
	return at(f, p, func(p vfs.Path) (js.FileInfo, error) {
		st, err := f.ns.Stat(nil, p, follow)
		return infoOf("", st), err
	})
}

func (f guestFiles) ReadDir(p string, most int) ([]js.DirEntry, error) {
	return at(f, p, func(p vfs.Path) ([]js.DirEntry, error) {
		h, err := f.ns.Open(nil, p, vfs.OpenDirectory)
		if err != nil {
			return nil, err
		}
		defer h.Close()
		entries, err := h.Entries(true)
		if err != nil {
			return nil, err
		}
		out := make([]js.DirEntry, 0, len(entries))
		for _, e := range entries {
			if e.Name != "." && e.Name != ".." {
				out = append(out, js.DirEntry{Name: e.Name, Mode: modes[e.Kind]})
			}
		}
		slices.SortFunc(out, func(a, b js.DirEntry) int { return strings.Compare(a.Name, b.Name) })
		return out[:min(len(out), most)], nil
	})
}

func (f guestFiles) Mkdir(p string) error {
	return at0(f, p, func(p vfs.Path) error { return f.ns.Mkdir(nil, p) })
}

func (f guestFiles) Remove(p string, dir bool) error {
	return at0(f, p, func(p vfs.Path) error {
		if dir {
			return f.ns.Rmdir(nil, p)
		}
		return f.ns.Unlink(nil, p)
	})
}

func (f guestFiles) Rename(from, to string) error {
	return at0(f, from, func(from vfs.Path) error {
		return at0(f, to, func(to vfs.Path) error { return f.ns.Rename(nil, from, nil, to) })
	})
}

func (f guestFiles) Link(from, to string) error {
	return at0(f, from, func(from vfs.Path) error {
		return at0(f, to, func(to vfs.Path) error { return f.ns.Link(nil, from, false, nil, to) })
	})
}

func (f guestFiles) Symlink(target, p string) error {
	t, err := vfs.ParseTarget([]byte(target))
	if err != nil {
		return f.coded(err)
	}
	return at0(f, p, func(p vfs.Path) error { return f.ns.Symlink(t, nil, p) })
}

func (f guestFiles) Readlink(p string) (string, error) {
	return at(f, p, func(p vfs.Path) (string, error) { return f.ns.Readlink(nil, p) })
}

func (f guestFiles) SetTimes(p string, access, modify time.Time) error {
	return at0(f, p, func(p vfs.Path) error {
		return f.ns.SetTimes(nil, p, true, vfs.Times{
			Atime: access.UnixNano(), Mtime: modify.UnixNano(), Flags: vfs.SetAtime | vfs.SetMtime,
		})
	})
}

// guestFile is an open file.
type guestFile struct {
	h  *vfs.Handle
	in guestFiles
}

func (f guestFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.h.ReadAt(p, off)
	if err == io.EOF {
		return n, err
	}
	return n, f.in.coded(err)
}

func (f guestFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.h.WriteAt(p, off)
	return n, f.in.coded(err)
}

func (f guestFile) Truncate(size int64) error { return f.in.coded(f.h.Truncate(size)) }
func (f guestFile) Close() error              { return f.in.coded(f.h.Close()) }

func (f guestFile) Stat() (js.FileInfo, error) {
	st, err := f.h.Stat()
	return infoOf("", st), f.in.coded(err)
}

var modes = map[vfs.Kind]fs.FileMode{
	vfs.KindDir: fs.ModeDir, vfs.KindLink: fs.ModeSymlink, vfs.KindChar: fs.ModeDevice | fs.ModeCharDevice,
	vfs.KindBlock: fs.ModeDevice, vfs.KindSocket: fs.ModeSocket, vfs.KindUnknown: fs.ModeIrregular,
}

func infoOf(name string, st vfs.Stat) js.FileInfo {
	return js.FileInfo{
		Name: name, Mode: modes[st.Kind], Size: st.Size, Inode: st.Ino, Links: st.Nlink,
		Modified: time.Unix(0, st.Mtime), Accessed: time.Unix(0, st.Atime), Changed: time.Unix(0, st.Ctime),
	}
}
