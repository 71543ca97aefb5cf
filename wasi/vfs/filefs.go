package vfs

import (
	"io"
	"time"
)

// oneFile is the part of an FS that is a single regular file, and no folder.
type oneFile struct{ readOnly }

// Root implements FS.
func (oneFile) Root() (Node, Kind) { return Node{}, KindRegular }

// Lookup implements FS.
func (oneFile) Lookup(Node, string) (Node, Kind, error) { return Node{}, 0, ErrNotDir }

// Readlink implements FS.
func (oneFile) Readlink(Node) (string, error) { return "", ErrInvalid }

// ReadDir implements FS.
func (oneFile) ReadDir(Node, []DirEntry) ([]DirEntry, error) { return nil, ErrNotDir }

// FileFS is an [FS] that is one regular file, for mounting a file instead of a folder. It is read-only and may
// be shared; the ReaderAt must then be safe for concurrent use.
type FileFS struct {
	oneFile
	r    io.ReaderAt
	stat Stat
}

// NewFileFS returns the FS for size bytes of r.
func NewFileFS(r io.ReaderAt, size int64, modified time.Time) *FileFS {
	t := modified.UnixNano()
	return &FileFS{r: r, stat: Stat{Ino: 1, Nlink: 1, Size: size, Atime: t, Mtime: t, Ctime: t, Kind: KindRegular}}
}

// Stat implements FS.
func (f *FileFS) Stat(Node) (Stat, error) { return f.stat, nil }

// Open implements FS.
func (f *FileFS) Open(_ Node, flags OpenFlags) (File, error) {
	if flags&(OpenWrite|OpenTruncate) != 0 {
		return nil, ErrReadOnly
	}
	return &section{r: f.r, stat: f.stat}, nil
}

// section is an open file that is a part of a ReaderAt: reading it copies straight from there.
type section struct {
	readOnlyFile
	r    io.ReaderAt
	base int64
	stat Stat
}

func (s *section) ReadAt(p []byte, off int64) (int, error) {
	return readUpTo(s.stat.Size-off, p, func(p []byte) (int, error) { return s.r.ReadAt(p, s.base+off) })
}

// readUpTo fills p with one call of read, which is given no more than the rest of the file; io.EOF where that is less
// than p.
func readUpTo(rest int64, p []byte, read func(p []byte) (int, error)) (int, error) {
	if rest <= 0 {
		return 0, io.EOF
	}
	want := p[:min(int64(len(p)), rest)]
	n, err := read(want)
	switch {
	case n < len(want):
		return n, readError(err)
	case n < len(p):
		return n, io.EOF
	}
	return n, nil
}

func (s *section) Stat() (Stat, error) { return s.stat, nil }

func (s *section) Close() error { return nil }

// readError is what a failed or short read of an FS below means.
func readError(err error) error {
	if e, ok := err.(Error); ok {
		return e
	}
	return ErrIO
}
