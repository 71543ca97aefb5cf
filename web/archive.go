package web

import (
	"archive/tar"
	"archive/zip"
	"bytes"
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

// archiveType is the kind of archive that a request speaks of: tar unless it says zip.
func archiveType(c echo.Context, header string) (string, error) {
	switch f := c.QueryParam("format"); f {
	case "tar", "zip":
		return f, nil
	case "":
	default:
		return "", invalidf("format is %s: use tar or zip", quoted(f))
	}
	for one := range strings.SplitSeq(header, ",") {
		if t, _, err := mime.ParseMediaType(one); err == nil && t == "application/zip" {
			return "zip", nil
		}
	}
	return "tar", nil
}

// getArchive answers with the files below a folder, /data if none is named.
func (s *Server) getArchive(x *exchange, c echo.Context) error {
	kind, err := archiveType(c, x.r.Header.Get("Accept"))
	if err != nil {
		return err
	}
	dir, err := checkPath(c.QueryParam("path"))
	if err != nil {
		return err
	}
	return s.withFiles(x, c, func(sn *session, f *engine.Files) error {
		if _, err := f.ReadDir(dir); err != nil {
			return fileError(err)
		}
		h := x.Header()
		h.Set("Content-Type", map[string]string{"tar": "application/x-tar", "zip": "application/zip"}[kind])
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": sn.id + "." + kind}))
		w := slowly{x}
		if kind == "zip" {
			err = f.WriteZip(w, dir)
		} else {
			err = f.WriteTar(w, dir)
		}
		if err != nil {
			if x.status != 0 {
				panic(http.ErrAbortHandler) // the archive must not seem whole
			}
			return fileError(err)
		}
		_ = x.control.SetWriteDeadline(time.Time{})
		return nil
	})
}

// maxArchived is how many files an archive may bring.
const maxArchived = 100_000

// putArchive puts the files of an archive below a folder, /data if none is named. Links and special files are left out.
func (s *Server) putArchive(x *exchange, c echo.Context) error {
	if e := checkEncoding(x.r); e != nil {
		return e
	}
	kind, err := archiveType(c, x.r.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	dir, err := checkPath(c.QueryParam("path"))
	if err != nil {
		return err
	}
	return s.withFiles(x, c, func(sn *session, f *engine.Files) error {
		body, err := x.upload(int64(sn.limits.DiskBytes) + maxArchived*1024) // headers and padding
		if err != nil {
			return err
		}
		defer body.Close()
		var n, total int64
		put := func(name string, r io.Reader) error {
			p, err := memberPath(dir, name)
			if err != nil {
				return err
			}
			if n++; n > maxArchived {
				return fail(http.StatusRequestEntityTooLarge, codeTooLarge, "the archive has more than %d files", maxArchived)
			}
			count := &counter{r: r}
			err = f.CopyIn(p, count)
			total += count.n
			return err
		}
		if kind == "zip" {
			err = unzip(body, x.s.cfg.MaxBodyBytes, put)
		} else {
			err = untar(body, put)
		}
		if err != nil {
			if body.err != nil {
				err = body.err
			}
			return fileError(err)
		}
		return x.reply(http.StatusOK, ArchiveWritten{Path: dir, Files: n, Bytes: total})
	})
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
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
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		switch {
		case err == io.EOF:
			_, err := io.Copy(io.Discard, r) // padding
			return err
		case err != nil:
			return malformed("tar", err)
		case h.Typeflag != tar.TypeReg:
			continue
		}
		if err := put(h.Name, memberReader{t, "tar"}); err != nil {
			return err
		}
	}
}

func unzip(r io.Reader, most int64, put func(string, io.Reader) error) error {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return err
	}
	if int64(len(b)) > most {
		return &http.MaxBytesError{Limit: most}
	}
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return malformed("zip", err)
	}
	for _, member := range z.File {
		if !member.Mode().IsRegular() {
			continue
		}
		f, err := member.Open()
		if err != nil {
			return malformed("zip", err)
		}
		err = errors.Join(put(member.Name, memberReader{f, "zip"}), f.Close())
		if err != nil {
			return err
		}
	}
	return nil
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
	return invalidf("the %s archive is malformed, or of another kind (only plain tar and zip are read): %v", kind, err)
}
