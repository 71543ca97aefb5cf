package vfs

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

// The functions of this file are for the embedding program, which names files by absolute guest paths. What
// comes out of a namespace is regular files and folders only; links and others are counted as skipped.

// CopyLimits bounds what is copied out of a namespace: a file's size is not what it takes in memory, since it may
// have holes. Zero means the default.
type CopyLimits struct {
	Bytes int64 // 4 GiB
	Files int   // files and folders; 100,000
}

// CopyStats counts what was copied.
type CopyStats struct {
	Files, Folders int
	Bytes          int64
	Skipped        int // neither regular files nor folders, or with names that the host cannot hold
}

// ErrCopyLimit says that a copy was ended by its CopyLimits; what was written by then stays.
var ErrCopyLimit = errors.New("more files than may be copied out")

func (l CopyLimits) withDefaults() CopyLimits {
	if l.Bytes <= 0 {
		l.Bytes = 4 << 30
	}
	if l.Files <= 0 {
		l.Files = 100_000
	}
	return l
}

// ReadFile returns the contents of a file, following links. Errors: ErrIsDir, ErrFileTooBig (over limit bytes).
func (ns *Namespace) ReadFile(name string, limit int64) ([]byte, error) {
	p, err := hostPath(name)
	if err != nil {
		return nil, err
	}
	h, err := ns.Open(nil, p, OpenRead)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	st, err := h.Stat()
	switch {
	case err != nil:
		return nil, err
	case h.Kind() == KindDir:
		return nil, ErrIsDir
	case st.Size > limit:
		return nil, ErrFileTooBig
	}
	b := make([]byte, st.Size)
	n, err := h.ReadAt(b, 0)
	if err == io.EOF {
		err = nil
	}
	return b[:n], err
}

// WriteFile replaces a file or makes it, with the folders above it.
func (ns *Namespace) WriteFile(name string, data []byte) error {
	return ns.CopyIn(name, bytes.NewReader(data))
}

// CopyIn replaces a file, or makes it with the folders above it, with what r gives. Errors: those of Open and
// Mkdir, ErrNoSpace, and those of r. A file that did not get all of it stays as far as it came.
func (ns *Namespace) CopyIn(name string, r io.Reader) error {
	p, err := hostPath(name)
	if err != nil {
		return err
	}
	if err := ns.MkdirAll(path.Dir(p.s)); err != nil {
		return err
	}
	h, err := ns.Open(nil, p, OpenWrite|OpenCreate|OpenTruncate)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.NewOffsetWriter(h, 0), r)
	if cerr := h.Close(); err == nil {
		err = cerr
	}
	return err
}

// MkdirAll makes a folder and those above it, as far as they are missing.
func (ns *Namespace) MkdirAll(name string) error {
	p, err := hostPath(name)
	if err != nil {
		return err
	}
	clean := path.Clean(p.s)
	for i := 1; i < len(clean); i++ {
		if clean[i] == '/' {
			if err := ns.Mkdir(nil, Path{clean[:i]}); err != nil && err != ErrExist {
				return err
			}
		}
	}
	if err := ns.Mkdir(nil, Path{clean}); err != ErrExist {
		return err
	}
	st, err := ns.Stat(nil, Path{clean}, true)
	if err == nil && st.Kind != KindDir {
		err = ErrNotDir
	}
	return err
}

// CopyFS copies the files and folders of src into a folder, which is made if it is missing. Others (links among
// them) are skipped and counted.
func (ns *Namespace) CopyFS(dir string, src fs.FS) (CopyStats, error) {
	var st CopyStats
	if err := ns.MkdirAll(dir); err != nil {
		return st, err
	}
	err := fs.WalkDir(src, ".", func(name string, e fs.DirEntry, err error) error {
		to := path.Join(dir, name)
		switch {
		case err != nil || name == ".":
			return err
		case e.IsDir():
			st.Folders++
			return ns.MkdirAll(to)
		case !e.Type().IsRegular():
			st.Skipped++
			return nil
		}
		f, err := src.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() { // it may have changed since it was listed
			st.Skipped++
			return err
		}
		count := &countingReader{r: f}
		err = ns.CopyIn(to, count)
		st.Files++
		st.Bytes += count.n
		return err
	})
	return st, err
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// outFile is a file or folder on its way out.
type outFile struct {
	name string // below the folder that is copied, with slashes
	st   Stat
	h    *Handle // of a file
}

// walkOut calls f for every file and folder below dir, folders before what is in them, in order of the names.
// Names that are not legal are skipped (nil: all are).
func (ns *Namespace) walkOut(dir string, l CopyLimits, legal func(name string) bool, f func(o outFile) error) (CopyStats, error) {
	var st CopyStats
	l = l.withDefaults()
	fsys, err := ns.FS(dir)
	if err != nil {
		return st, err
	}
	err = fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if !e.IsDir() && !e.Type().IsRegular() {
			st.Skipped++
			return nil
		}
		if legal != nil && !legal(name) {
			st.Skipped++
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if st.Files+st.Folders >= l.Files {
			return ErrCopyLimit
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		o := outFile{name: name, st: info.Sys().(Stat)}
		if e.IsDir() {
			st.Folders++
			return f(o)
		}
		p, err := ParsePathString(path.Join(dir, name))
		if err != nil {
			return err
		}
		if o.h, err = ns.Open(nil, p, OpenRead|OpenNoFollow); err != nil {
			return err
		}
		defer o.h.Close()
		if o.st, err = o.h.Stat(); err != nil {
			return err
		}
		if st.Bytes += o.st.Size; st.Bytes > l.Bytes {
			st.Bytes -= o.st.Size
			return ErrCopyLimit
		}
		st.Files++
		return f(o)
	})
	return st, err
}

// reader returns the contents of a file, exactly as many bytes as its size says.
func (o *outFile) reader() io.Reader { return io.NewSectionReader(o.h, 0, o.st.Size) }

// WriteTar writes the files and folders below dir as a tar stream.
func (ns *Namespace) WriteTar(w io.Writer, dir string, l CopyLimits) (CopyStats, error) {
	tw := tar.NewWriter(w)
	st, err := ns.walkOut(dir, l, nil, func(o outFile) error {
		h := &tar.Header{Name: o.name, Mode: 0o644, Size: o.st.Size, ModTime: time.Unix(0, o.st.Mtime), Typeflag: tar.TypeReg}
		if o.h == nil {
			h.Name, h.Mode, h.Size, h.Typeflag = o.name+"/", 0o755, 0, tar.TypeDir
		}
		if err := tw.WriteHeader(h); err != nil || o.h == nil {
			return err
		}
		_, err := io.Copy(tw, o.reader())
		return err
	})
	if err != nil {
		return st, fmt.Errorf("write tar of %s: %w", dir, err)
	}
	return st, tw.Close()
}

// WriteZip writes the files and folders below dir as a zip archive.
func (ns *Namespace) WriteZip(w io.Writer, dir string, l CopyLimits) (CopyStats, error) {
	zw := zip.NewWriter(w)
	st, err := ns.walkOut(dir, l, nil, func(o outFile) error {
		h := &zip.FileHeader{Name: o.name, Method: zip.Deflate, Modified: time.Unix(0, o.st.Mtime)}
		if o.h == nil {
			h.Name, h.Method = o.name+"/", zip.Store
		}
		f, err := zw.CreateHeader(h)
		if err != nil || o.h == nil {
			return err
		}
		_, err = io.Copy(f, o.reader())
		return err
	})
	if err != nil {
		return st, fmt.Errorf("write zip of %s: %w", dir, err)
	}
	return st, zw.Close()
}

// CopyOut copies the files and folders below dir into a folder of the host. What has the name of a file there is
// replaced in one step (a link or FIFO too: it is not followed or opened); a folder in its place is an
// error. Names that the host cannot hold are skipped. Holes stay holes.
func (ns *Namespace) CopyOut(to *os.Root, dir string, l CopyLimits) (CopyStats, error) {
	legal := func(name string) bool { return legalName(path.Base(name)) }
	st, err := ns.walkOut(dir, l, legal, func(o outFile) error {
		name := filepath.FromSlash(o.name)
		if o.h == nil {
			return copyFolder(to, name)
		}
		return copyFile(to, name, &o)
	})
	if err != nil {
		return st, fmt.Errorf("copy %s out: %w", dir, err)
	}
	return st, nil
}

// copyFolder makes a folder, in place of anything that is none.
func copyFolder(to *os.Root, name string) error {
	fi, err := to.Lstat(name)
	if err == nil && !fi.IsDir() {
		err = to.Remove(name)
	}
	if err == nil && fi.IsDir() {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return to.Mkdir(name, 0o755)
}

// copyFile writes a file under a name that no one else has and then moves it to its own.
func copyFile(to *os.Root, name string, o *outFile) error {
	temp := filepath.Join(filepath.Dir(name), ".cloche-"+rand.Text())
	f, err := to.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	err = errors.Join(copySparse(f, o), f.Close())
	if err == nil {
		err = to.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, to.Remove(temp))
	}
	t := time.Unix(0, o.st.Mtime)
	return to.Chtimes(name, t, t)
}

// copySparse copies the contents of a file, leaving out blocks of zeros.
func copySparse(f *os.File, o *outFile) error {
	buf := make([]byte, chunkBytes)
	for off := int64(0); off < o.st.Size; {
		n, err := o.h.ReadAt(buf[:min(int64(len(buf)), o.st.Size-off)], off)
		if n == 0 && err != nil {
			if err == io.EOF { // it was cut meanwhile
				break
			}
			return err
		}
		if !zero(buf[:n]) {
			if _, err := f.WriteAt(buf[:n], off); err != nil {
				return err
			}
		}
		off += int64(n)
	}
	return f.Truncate(o.st.Size)
}

func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
