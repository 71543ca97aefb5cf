package web

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/cloche-dev/cloche/engine"
)

// archiveTypes are the media types of the kinds of archives.
var archiveTypes = map[string]string{"tar": "application/x-tar", "tar.gz": "application/gzip", "zip": "application/zip"}

// archiveFormat is the kind of archive that a request names by its format, or "".
func archiveFormat(c echo.Context) (string, error) {
	switch f := strings.ToLower(c.QueryParam("format")); f {
	case "", "tar", "tar.gz", "zip":
		return f, nil
	case "tgz":
		return "tar.gz", nil
	}
	return "", invalidf("format is %s: use tar, tar.gz or zip", quoted(c.QueryParam("format")))
}

// acceptedArchive is the first kind of archive that an Accept header has, or tar.
func acceptedArchive(accept string) string {
	for one := range strings.SplitSeq(accept, ",") {
		t, _, err := mime.ParseMediaType(one)
		for kind, own := range archiveTypes {
			if err == nil && t == own {
				return kind
			}
		}
	}
	return "tar"
}

// getArchive answers with the files below a folder, /data if none is named.
func (s *Server) getArchive(x *exchange, c echo.Context) error {
	kind, err := archiveFormat(c)
	if err != nil {
		return err
	}
	kind = cmp.Or(kind, acceptedArchive(x.r.Header.Get("Accept")))
	dir, err := checkPath(c.QueryParam("path"))
	if err != nil {
		return err
	}
	return s.withFiles(x, c, func(sn *session, f *engine.Files) error {
		if _, err := f.ReadDir(dir); err != nil {
			return fileError(err)
		}
		h := x.Header()
		h.Set("Content-Type", archiveTypes[kind])
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": sn.id + "." + kind}))
		if err = writeArchive(slowly{x}, kind, f, dir); err != nil {
			if x.status != 0 {
				panic(http.ErrAbortHandler) // the archive must not seem whole
			}
			return fileError(err)
		}
		_ = x.control.SetWriteDeadline(time.Time{})
		return nil
	})
}

func writeArchive(w io.Writer, kind string, f *engine.Files, dir string) error {
	switch kind {
	case "zip":
		return f.WriteZip(w, dir)
	case "tar.gz":
		z := gzip.NewWriter(w)
		if err := f.WriteTar(z, dir); err != nil {
			return err
		}
		return z.Close()
	}
	return f.WriteTar(w, dir)
}

const (
	// maxArchived is how many files and folders an archive may bring.
	maxArchived = 100_000
	// archiveOverhead is what each may take besides its contents: headers and padding.
	archiveOverhead = 1024
)

// putArchive puts the files and folders of an archive below a folder, /data if none is named. What is neither is refused: a link
// could only lead to what the sandbox has. What came before it stays.
func (s *Server) putArchive(x *exchange, c echo.Context) error {
	if e := checkEncoding(x.r); e != nil {
		return e
	}
	kind, err := archiveFormat(c)
	if err != nil {
		return err
	}
	dir, err := checkPath(c.QueryParam("path"))
	if err != nil {
		return err
	}
	return s.withFiles(x, c, func(sn *session, f *engine.Files) error {
		most := int64(sn.limits.DiskBytes) + maxArchived*archiveOverhead
		body, err := x.upload(most, "an archive that the session's disk can take")
		if err != nil {
			return err
		}
		defer body.Close()
		members, left := 0, most
		out := ArchiveWritten{Path: dir}
		put := func(name string, r io.Reader) error {
			p, err := memberPath(dir, name)
			if err != nil {
				return err
			}
			if members++; members > maxArchived {
				return errManyMembers
			}
			if r == nil {
				return f.MkdirAll(p)
			}
			n, err := copyIn(f, p, &unpacked{r, &left, most})
			out.Files, out.Bytes = out.Files+1, out.Bytes+n
			return err
		}
		zipped := func(r io.Reader) error { // which begins at its end, and so is held in memory
			return unzip(x.holding(r), x.s.cfg.MaxBodyBytes, put)
		}
		if err := extract(body, kind, most, zipped, put); err != nil {
			if body.err != nil {
				err = body.err
			}
			return fileError(err)
		}
		return x.reply(http.StatusOK, out)
	})
}

// unpacked is a member of an archive whose members may have most bytes together, left of them still: what the archive itself has says
// nothing of that. A tar can have holes of any size, and the members of a zip can share what they are unpacked from. The sandbox may
// not mind, where they take each other's place or go to /dev/null.
type unpacked struct {
	r    io.Reader
	left *int64
	most int64
}

func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if *u.left -= int64(n); *u.left < 0 {
		return 0, fail(http.StatusRequestEntityTooLarge, codeTooLarge, "what the archive has is larger than %d bytes when it is unpacked", u.most)
	}
	return n, err
}

var errManyMembers = fail(http.StatusRequestEntityTooLarge, codeTooLarge, "the archive has more than %d files and folders", maxArchived)

// copyIn writes a file. One that did not get all that r has is removed: a half of it must not seem the whole.
func copyIn(f *engine.Files, p string, r io.Reader) (int64, error) {
	count := &counter{r: r}
	err := f.CopyIn(p, count)
	if err != nil && count.reads > 0 { // and so the file was there, and is not what it was
		_ = f.Remove(p)
	}
	return count.n, err
}

type counter struct {
	r     io.Reader
	n     int64
	reads int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.reads++
	c.n += int64(n)
	return n, err
}

// extract hands on what an archive has, whose kind its first bytes tell if the request did not (what clients declare is often a
// guess by its name). A tar has no more than most bytes when it is unpacked.
func extract(body io.Reader, kind string, most int64, zipped func(io.Reader) error, put func(name string, r io.Reader) error) error {
	r := bufio.NewReader(body)
	if kind == "" {
		start, err := r.Peek(4)
		switch {
		case err != nil && err != io.EOF:
			return err
		case bytes.HasPrefix(start, []byte("PK")):
			kind = "zip"
		case bytes.HasPrefix(start, []byte{0x1f, 0x8b}):
			kind = "tar.gz"
		}
	}
	switch kind {
	case "zip":
		return zipped(r)
	case "tar.gz":
		z, err := gzip.NewReader(r)
		if err != nil {
			return malformed("gzip", err)
		}
		return untar(http.MaxBytesReader(nil, z, most), put)
	}
	return untar(r, put)
}

// memberPath is where a member of an archive goes: below dir, whatever its name.
func memberPath(dir, name string) (string, error) {
	clean := path.Clean(name)
	if name == "" || path.IsAbs(name) || strings.Contains(name, "\\") || clean == ".." || strings.HasPrefix(clean, "../") {
		return "", invalidf("the archive has a member %s, whose name leads out of it", quoted(name))
	}
	return checkPath(path.Join(dir, clean))
}

func untar(r io.Reader, put func(string, io.Reader) error) error {
	all := &counter{r: r}
	t := tar.NewReader(all)
	for {
		h, err := t.Next()
		switch {
		case err == io.EOF:
			if _, err := io.Copy(io.Discard, all); err != nil { // padding
				return malformed("tar", err)
			}
			if all.n == 0 || all.n%tarBlock != 0 {
				return malformed("tar", io.ErrUnexpectedEOF)
			}
			return nil
		case err != nil:
			return malformed("tar", err)
		}
		switch h.Typeflag {
		case tar.TypeReg:
			err = put(h.Name, memberReader{t, "tar"})
		case tar.TypeDir:
			err = put(h.Name, nil)
		case tar.TypeXGlobalHeader: // says nothing of a file
		default:
			err = neither(h.Name)
		}
		if err != nil {
			return err
		}
	}
}

// tarBlock is what the length of a tar is a multiple of.
const tarBlock = 512

func neither(name string) error {
	return invalidf("the archive has a member %s that is neither a file nor a folder: leave links out, or have tar follow them (-h)", quoted(name))
}

func unzip(r io.Reader, most int64, put func(string, io.Reader) error) error {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return err
	}
	if int64(len(b)) > most {
		return &http.MaxBytesError{Limit: most}
	}
	if bytes.Count(b, []byte("PK\x01\x02")) > maxArchived { // entries of the directory, which takes memory when it is read
		return errManyMembers
	}
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return malformed("zip", err)
	}
	for _, member := range z.File {
		switch mode := member.Mode(); {
		case mode.IsDir():
			err = put(member.Name, nil)
		case !mode.IsRegular():
			err = neither(member.Name)
		default:
			err = unzipFile(member, put)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func unzipFile(member *zip.File, put func(string, io.Reader) error) error {
	f, err := member.Open()
	if err != nil {
		return malformed("zip", err)
	}
	return errors.Join(put(member.Name, memberReader{f, "zip"}), f.Close())
}

// memberReader tells damage of an archive from what the sandbox refuses.
type memberReader struct {
	r    io.Reader
	kind string
}

func (m memberReader) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if err != nil && err != io.EOF {
		err = malformed(m.kind, err)
	}
	return n, err
}

func malformed(kind string, err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return err
	}
	return invalidf("the %s archive is malformed, cut short, or of another kind (tar, tar.gz and zip are read): %v", kind, err)
}
