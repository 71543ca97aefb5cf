package vfs

import (
	"hash/fnv"
	"io"
	"io/fs"
	"path"
)

// IOFS is any fs.FS as a read-only [FS]. It may be shared between goroutines if the fs.FS may. For a folder
// of the host use [HostDir]: os.DirFS follows links out of its folder.
//
// Links are shown as such if the fs.FS implements fs.ReadLinkFS. A file that can neither seek nor read at an
// offset is read as a stream, from the start again when the guest goes back.
type IOFS struct {
	readOnly
	fsys fs.FS
}

// NewIOFS returns the FS for fsys, whose root must be a folder.
func NewIOFS(fsys fs.FS) (*IOFS, error) {
	fi, err := fs.Stat(fsys, ".")
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() {
		return nil, ErrNotDir
	}
	return &IOFS{fsys: fsys}, nil
}

// pathOfNode is the fs.FS path that a Node stands for.
func pathOfNode(n Node) string { return n.Ref.(string) }

// inoOf numbers a file by its path.
func inoOf(path string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, path)
	return h.Sum64()
}

// Root implements FS.
func (f *IOFS) Root() (Node, Kind) { return Node{Ref: "."}, KindDir }

// Lookup implements FS.
func (f *IOFS) Lookup(dir Node, name string) (Node, Kind, error) {
	p := path.Join(pathOfNode(dir), name)
	fi, err := fs.Lstat(f.fsys, p)
	if err != nil {
		return Node{}, 0, hostError(err)
	}
	return Node{Ref: p}, kindOf(fi.Mode()), nil
}

// Stat implements FS.
func (f *IOFS) Stat(n Node) (Stat, error) {
	p := pathOfNode(n)
	fi, err := fs.Lstat(f.fsys, p)
	if err != nil {
		return Stat{}, hostError(err)
	}
	return ioStat(p, fi), nil
}

func ioStat(p string, fi fs.FileInfo) Stat {
	t := int64(0)
	if m := fi.ModTime(); !m.IsZero() {
		t = m.UnixNano()
	}
	st := Stat{Ino: inoOf(p), Nlink: 1, Size: fi.Size(), Atime: t, Mtime: t, Ctime: t, Kind: kindOf(fi.Mode())}
	if st.Kind == KindDir {
		st.Nlink = 2
	}
	return st
}

// Readlink implements FS.
func (f *IOFS) Readlink(n Node) (string, error) {
	text, err := fs.ReadLink(f.fsys, pathOfNode(n))
	return text, hostError(err)
}

// ReadDir implements FS.
func (f *IOFS) ReadDir(dir Node, list []DirEntry) ([]DirEntry, error) {
	p := pathOfNode(dir)
	entries, err := fs.ReadDir(f.fsys, p)
	if err != nil {
		return nil, hostError(err)
	}
	if len(entries) > MaxListing {
		return nil, ErrOverflow
	}
	_, links := f.fsys.(fs.ReadLinkFS)
	for _, e := range entries {
		name, kind := e.Name(), kindOf(e.Type())
		if !fs.ValidPath(name) || name == "." || !legalName(name) {
			continue
		}
		if kind == KindLink && !links { // Lookup sees what it leads to
			fi, err := fs.Stat(f.fsys, path.Join(p, name))
			if err != nil {
				continue
			}
			kind = kindOf(fi.Mode())
		}
		list = append(list, DirEntry{name, inoOf(path.Join(p, name)), kind})
	}
	return list, nil
}

// Open implements FS.
func (f *IOFS) Open(n Node, flags OpenFlags) (File, error) {
	if flags&(OpenWrite|OpenTruncate) != 0 {
		return nil, ErrReadOnly
	}
	return f.openPath(pathOfNode(n))
}

func (f *IOFS) openPath(p string) (File, error) {
	file, err := f.fsys.Open(p)
	if err != nil {
		return nil, hostError(err)
	}
	fi, err := file.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = ErrAccess
	}
	if err != nil {
		_ = file.Close()
		return nil, hostError(err)
	}
	st := ioStat(p, fi)
	switch r := file.(type) {
	case io.ReaderAt:
		return &ioFile{section{r: r, stat: st}, file}, nil
	case io.ReadSeeker:
		return &ioFile{section{r: seekReader{r}, stat: st}, file}, nil
	}
	return &stream{stat: st, r: file, open: func() (io.ReadCloser, error) { return f.fsys.Open(p) }}, nil
}

// ioFile is an open file of an fs.FS that can be read at any offset.
type ioFile struct {
	section
	file fs.File
}

func (f *ioFile) Close() error { return hostError(f.file.Close()) }

// seekReader reads at an offset by seeking there. It belongs to one open file.
type seekReader struct{ r io.ReadSeeker }

func (s seekReader) ReadAt(p []byte, off int64) (int, error) {
	if _, err := s.r.Seek(off, io.SeekStart); err != nil {
		return 0, err
	}
	return io.ReadFull(s.r, p)
}
