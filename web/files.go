package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

// guestPath is the path of a sandbox that a request's URL names. It is relative to the working folder, unless it
// begins with a slash of its own (files//tmp/x) or names that folder itself (files/data/x is /data/x).
func guestPath(escaped string) (string, error) {
	p, err := url.PathUnescape(escaped)
	if err != nil {
		return "", invalidf("the path %s is not well escaped", quoted(escaped))
	}
	if p == "data" || strings.HasPrefix(p, "data/") {
		p = "/" + p
	}
	return checkPath(p)
}

func checkPath(p string) (string, error) {
	if !path.IsAbs(p) {
		p = path.Join(runtimes.WorkDir, p)
	}
	parsed, err := vfs.ParsePathString(p)
	if err != nil {
		return "", invalidf("the path %s: %v", quoted(p), err)
	}
	return path.Clean(parsed.String()), nil
}

// filePath is the path that the rest of a request's URL names.
func filePath(x *exchange, c echo.Context) (string, error) {
	prefix := "/v1/sessions/" + c.Param("id") + "/files/"
	rest, ok := strings.CutPrefix(x.r.URL.EscapedPath(), prefix)
	if !ok {
		return "", notFound("file", x.r.URL.Path)
	}
	return guestPath(rest)
}

// withFiles takes a session for a file operation.
func (s *Server) withFiles(x *exchange, c echo.Context, do func(sn *session, f *engine.Files) error) error {
	sn, err := s.sessions.find(c.Param("id"), x.key)
	if err != nil {
		return err
	}
	if err := s.begin(); err != nil {
		return err
	}
	defer s.work.Done()
	if err := sn.acquire(x.r.Context(), nil); err != nil {
		return err
	}
	defer sn.release(nil)
	return do(sn, sn.eng.Files())
}

// fileError says what a file operation failed by.
func fileError(err error) error {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e
	}
	text := strings.TrimSuffix(err.Error(), "\n")
	switch {
	case errors.Is(err, vfs.ErrNotExist):
		return fail(http.StatusNotFound, codeNotFound, "%s", text)
	case errors.Is(err, vfs.ErrNoSpace), errors.Is(err, vfs.ErrQuotaInodes):
		return fail(http.StatusRequestEntityTooLarge, codeTooLarge, "%s: the session's disk is full", text)
	}
	if _, ok := errors.AsType[vfs.Error](err); ok {
		return fail(http.StatusConflict, codeConflict, "%s", text)
	}
	return err
}

func (s *Server) listFiles(x *exchange, c echo.Context) error {
	dir, err := checkPath(c.QueryParam("path"))
	if err != nil {
		return err
	}
	var entries []engine.FileEntry
	err = s.withFiles(x, c, func(_ *session, f *engine.Files) (err error) {
		entries, err = f.ReadDir(dir)
		return err
	})
	if err != nil {
		return fileError(err)
	}
	about, err := json.Marshal(dir)
	if err != nil {
		return err
	}
	return replyList(x, http.StatusOK, `{"path":`+string(about)+`,"files":[`, func(yield func(FileInfo) bool) {
		for _, e := range entries {
			if !yield(FileInfo{Name: e.Name, Path: path.Join(dir, e.Name), Dir: e.Dir, Bytes: e.Bytes}) {
				return
			}
		}
	})
}

// getFile answers with the bytes of a file, or a range of them. What a program wrote is data: a browser saves it.
func (s *Server) getFile(x *exchange, c echo.Context) error {
	p, err := filePath(x, c)
	if err != nil {
		return err
	}
	return s.withFiles(x, c, func(_ *session, f *engine.Files) error {
		r, err := f.Open(p)
		if err != nil {
			return fileError(err)
		}
		defer r.Close()
		seeker, ok := r.(io.ReadSeeker)
		if !ok {
			return errors.New("a file of a sandbox cannot be sought in")
		}
		h := x.Header()
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(p)}))
		h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
		w := &content{slowly: slowly{x}}
		asked := x.r.Header.Get("Range")
		if unit, _, ok := strings.Cut(asked, "="); !ok || !strings.EqualFold(strings.TrimSpace(unit), "bytes") {
			x.r.Header.Del("Range") // what is not understood is passed over (RFC 9110, 14.2)
		} else if ranges := withoutEmpty(asked); ranges != "" {
			x.r.Header.Set("Range", ranges)
		} else {
			size, err := seeker.Seek(0, io.SeekEnd)
			if err != nil {
				return err
			}
			h.Del("Content-Disposition")
			h.Set("Content-Range", fmt.Sprintf("bytes */%d", size))
			return fail(http.StatusRequestedRangeNotSatisfiable, codeRange, "the Range %s asks for no bytes", quoted(asked))
		}
		http.ServeContent(w, x.r, "", time.Time{}, seeker)
		switch w.refused {
		case http.StatusRequestedRangeNotSatisfiable:
			h.Del("Content-Disposition")
			return fail(http.StatusRequestedRangeNotSatisfiable, codeRange, "the Range %s is not within the file", quoted(x.r.Header.Get("Range")))
		case http.StatusPreconditionFailed:
			h.Del("Content-Disposition")
			return errNoTags
		}
		return nil
	})
}

// withoutEmpty leaves out of a Range those that ask for the last 0 bytes, which no file has (RFC 9110, 14.1.2) and
// http.ServeContent would serve; "" if that is all of them.
func withoutEmpty(ranges string) string {
	unit, list, _ := strings.Cut(ranges, "=")
	all := strings.Split(list, ",")
	left := slices.DeleteFunc(slices.Clone(all), func(one string) bool {
		last, ok := strings.CutPrefix(strings.TrimSpace(one), "-")
		return ok && last != "" && strings.Trim(last, "0") == ""
	})
	if len(left) == len(all) {
		return ranges
	}
	if len(left) == 0 {
		return ""
	}
	return unit + "=" + strings.Join(left, ",")
}

// slowly gives a client its time for each part of a long answer.
type slowly struct{ *exchange }

func (w slowly) Write(b []byte) (int, error) {
	w.writeWithin(w.s.cfg.WriteTimeout)
	return w.exchange.Write(b)
}

// content is what http.ServeContent writes to. It takes the answers that are not in our form: to a Range that the file does not
// have, and to a condition that it does not meet.
type content struct {
	slowly
	refused int // the status of such an answer
}

func (w *content) WriteHeader(status int) {
	if status == http.StatusRequestedRangeNotSatisfiable || status == http.StatusPreconditionFailed {
		w.refused = status
		return
	}
	w.slowly.WriteHeader(status)
}

func (w *content) Write(b []byte) (int, error) {
	if w.refused != 0 {
		return len(b), nil
	}
	return w.slowly.Write(b)
}

var errNoTags = fail(http.StatusPreconditionFailed, codePrecondition, "files have no ETag that If-Match could name: only * matches")

// checkCondition holds what is to become of a file against If-Match and If-None-Match (RFC 9110, 13.1), so that who means to make
// a new file, or to replace one, does nothing else.
func checkCondition(r *http.Request, f *engine.Files, p string) error {
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	if match == "" && none != "*" {
		return nil
	}
	if match != "" && match != "*" {
		return errNoTags
	}
	there, err := isThere(f, p)
	switch {
	case err != nil:
		return fileError(err)
	case match == "*" && !there:
		return fail(http.StatusPreconditionFailed, codePrecondition, "there is no %s, as If-Match: * demands", quoted(p))
	case none == "*" && there:
		return fail(http.StatusPreconditionFailed, codePrecondition, "there is a %s already, and If-None-Match: * asks for there to be none", quoted(p))
	}
	return nil
}

func isThere(f *engine.Files, p string) (bool, error) {
	r, err := f.Open(p)
	switch {
	case err == nil:
		return true, r.Close()
	case errors.Is(err, vfs.ErrIsDir):
		return true, nil
	case errors.Is(err, vfs.ErrNotExist):
		return false, nil
	}
	return false, err
}

// putFile writes a file from the body, whatever its type.
func (s *Server) putFile(x *exchange, c echo.Context) error {
	p, err := filePath(x, c)
	if err != nil {
		return err
	}
	if e := checkEncoding(x.r); e != nil {
		return e
	}
	if x.r.Header.Get("Content-Range") != "" { // RFC 9110, 14.5: a part must not be taken for the whole
		return invalidf("Content-Range: a file is written as a whole")
	}
	if strings.HasSuffix(x.r.URL.Path, "/") {
		return invalidf("the path %s: it must name a file, such as sales.csv", quoted(p+"/"))
	}
	return s.withFiles(x, c, func(sn *session, f *engine.Files) error {
		if err := checkCondition(x.r, f, p); err != nil {
			return err
		}
		body, err := x.upload(int64(sn.limits.DiskBytes), "the session's disk")
		if err != nil {
			return err
		}
		defer body.Close()
		if _, err := copyIn(f, p, body); err != nil {
			if body.err != nil {
				err = body.err
			}
			return fileError(err)
		}
		return x.reply(http.StatusOK, FileWritten{Path: p, Bytes: uint64(body.n)})
	})
}

func (s *Server) deleteFile(x *exchange, c echo.Context) error {
	p, err := filePath(x, c)
	if err != nil {
		return err
	}
	return s.withFiles(x, c, func(_ *session, f *engine.Files) error {
		if err := checkCondition(x.r, f, p); err != nil {
			return err
		}
		if err := f.Remove(p); err != nil {
			return fileError(err)
		}
		x.WriteHeader(http.StatusNoContent)
		return nil
	})
}

// uploaded is a body that may be long: its client has a time for each part.
type uploaded struct {
	x    *exchange
	body io.ReadCloser
	n    int64
	err  error // what reading failed by
}

// upload is the body, of at most the bytes that holder, which a refusal names, has room for.
func (x *exchange) upload(most int64, holder string) (*uploaded, error) {
	if x.r.ContentLength > most {
		return nil, fail(http.StatusRequestEntityTooLarge, codeTooLarge, "the body has %d bytes, and %s %d", x.r.ContentLength, holder, most)
	}
	return &uploaded{x: x, body: http.MaxBytesReader(x.ResponseWriter, x.r.Body, most)}, nil
}

func (u *uploaded) Read(p []byte) (int, error) {
	_ = u.x.control.SetReadDeadline(time.Now().Add(u.x.s.cfg.BodyTimeout))
	n, err := u.body.Read(p)
	u.n += int64(n)
	switch {
	case err == io.EOF:
		u.x.bodyRead.Store(true)
	case err != nil:
		u.err = readError(err)
	}
	return n, err
}

func (u *uploaded) Close() error {
	if !u.x.bodyRead.Load() {
		return nil // see dropBody
	}
	return u.x.control.SetReadDeadline(time.Time{})
}
