package vfs

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// FS returns a folder of the namespace as an fs.FS, for the embedding program: to walk it, read it, serve or
// pack it. Links are followed by Open and Stat, inside the namespace, and shown by ReadDir, Lstat and ReadLink.
// Files implement io.ReaderAt and io.Seeker. It belongs to the goroutine of the namespace.
func (ns *Namespace) FS(dir string) (fs.FS, error) {
	p, err := hostPath(dir)
	if err != nil {
		return nil, err
	}
	st, err := ns.Stat(nil, p, true)
	if err != nil {
		return nil, err
	}
	if st.Kind != KindDir {
		return nil, ErrNotDir
	}
	return view{ns, p.s}, nil
}

// hostPath parses a path that the embedding program gives, which must be absolute.
func hostPath(s string) (Path, error) {
	p, err := ParsePathString(s)
	if err == nil && !p.Absolute() {
		err = ErrInvalid
	}
	return p, err
}

// view is a folder of a namespace as an fs.FS.
type view struct {
	ns  *Namespace
	dir string
}

func (v view) path(op, name string) (Path, error) {
	if !fs.ValidPath(name) {
		return Path{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	p, err := ParsePathString(path.Join(v.dir, name))
	if err != nil {
		err = &fs.PathError{Op: op, Path: name, Err: err}
	}
	return p, err
}

func (v view) Open(name string) (fs.File, error) {
	p, err := v.path("open", name)
	if err != nil {
		return nil, err
	}
	h, err := v.ns.Open(nil, p, OpenRead)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &viewFile{v: v, h: h, name: name}, nil
}

func (v view) stat(op, name string, followLast bool) (fs.FileInfo, error) {
	p, err := v.path(op, name)
	if err != nil {
		return nil, err
	}
	st, err := v.ns.Stat(nil, p, followLast)
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return fileInfo{path.Base(name), st}, nil
}

func (v view) Stat(name string) (fs.FileInfo, error)  { return v.stat("stat", name, true) }
func (v view) Lstat(name string) (fs.FileInfo, error) { return v.stat("lstat", name, false) }

func (v view) ReadLink(name string) (string, error) {
	p, err := v.path("readlink", name)
	if err != nil {
		return "", err
	}
	text, err := v.ns.Readlink(nil, p)
	if err != nil {
		err = &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	return text, err
}

func (v view) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := v.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := f.(*viewFile).ReadDir(-1)
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, err
}

// viewFile is an open file or folder of a view.
type viewFile struct {
	v    view
	h    *Handle
	name string
	off  int64
	next int // entry of a folder
}

func (f *viewFile) fail(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &fs.PathError{Op: op, Path: f.name, Err: err}
}

func (f *viewFile) Stat() (fs.FileInfo, error) {
	st, err := f.h.Stat()
	return fileInfo{path.Base(f.name), st}, f.fail("stat", err)
}

func (f *viewFile) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := f.h.ReadAt(p, f.off)
	f.off += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, f.fail("read", err)
}

func (f *viewFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.h.ReadAt(p, off)
	return n, f.fail("read", err)
}

func (f *viewFile) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.off
	case io.SeekEnd:
		st, err := f.h.Stat()
		if err != nil {
			return 0, f.fail("seek", err)
		}
		offset += st.Size
	}
	if offset < 0 || whence < 0 || whence > 2 {
		return 0, f.fail("seek", ErrInvalid)
	}
	f.off = offset
	return offset, nil
}

func (f *viewFile) ReadDir(n int) ([]fs.DirEntry, error) {
	list, err := f.h.Entries(f.next == 0)
	if err != nil {
		return nil, f.fail("readdir", err)
	}
	f.next = max(f.next, 2) // not "." and ".."
	rest := list[min(f.next, len(list)):]
	if n > 0 {
		if len(rest) == 0 {
			return nil, io.EOF
		}
		rest = rest[:min(n, len(rest))]
	}
	f.next += len(rest)
	out := make([]fs.DirEntry, len(rest))
	for i, e := range rest {
		out[i] = viewEntry{f.v, path.Join(f.name, e.Name), e}
	}
	return out, nil
}

func (f *viewFile) Close() error { return f.fail("close", f.h.Close()) }

type viewEntry struct {
	v    view
	path string
	e    DirEntry
}

func (e viewEntry) Name() string               { return e.e.Name }
func (e viewEntry) IsDir() bool                { return e.e.Kind == KindDir }
func (e viewEntry) Type() fs.FileMode          { return e.e.Kind.mode().Type() }
func (e viewEntry) Info() (fs.FileInfo, error) { return e.v.Lstat(e.path) }
func (e viewEntry) String() string             { return fs.FormatDirEntry(e) }

// mode is what io/fs calls a kind, with permissions that say nothing.
func (k Kind) mode() fs.FileMode {
	switch k {
	case KindRegular:
		return 0o644
	case KindDir:
		return fs.ModeDir | 0o755
	case KindLink:
		return fs.ModeSymlink | 0o777
	case KindChar:
		return fs.ModeDevice | fs.ModeCharDevice
	case KindBlock:
		return fs.ModeDevice
	case KindSocket:
		return fs.ModeSocket
	}
	return fs.ModeIrregular
}

type fileInfo struct {
	name string
	st   Stat
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.st.Size }
func (i fileInfo) Mode() fs.FileMode  { return i.st.Kind.mode() }
func (i fileInfo) ModTime() time.Time { return time.Unix(0, i.st.Mtime) }
func (i fileInfo) IsDir() bool        { return i.st.Kind == KindDir }
func (i fileInfo) Sys() any           { return i.st }
