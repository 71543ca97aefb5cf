package fetch

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/cloche-dev/cloche/limits"
)

// errCoding is of a body that is coded in a way that is not undone here.
var errCoding = refused("ConnectionError", "the answer is compressed in a way that cannot be undone here")

// errLayers is of a body that is coded more often than anybody does but for a bomb.
var errLayers = refused("ConnectionError", "the answer is compressed more than %d times", maxCodings)

// maxCodings bounds the codings of a body, as Node does.
const maxCodings = 5

// decode undoes the compression of an answer, each layer of which may have that many bytes, what was sent among them. Of codings that are not all known none
// is undone.
func decode(h http.Header, body io.Reader, limit uint64) (r io.Reader, decoded bool, err error) {
	codings := strings.Split(strings.ToLower(strings.Join(h.Values("Content-Encoding"), ",")), ",")
	layers := 0
	for _, coding := range slices.Backward(codings) {
		var open func(*bufio.Reader) (io.Reader, error)
		switch strings.TrimSpace(coding) {
		case "", "identity":
			continue
		case "gzip", "x-gzip":
			open = gunzip
		case "deflate":
			open = inflate
		default:
			return nil, false, errCoding
		}
		if layers++; layers > maxCodings {
			return nil, false, errLayers
		}
		// What is sent is bounded too: there may be nothing in it, however much it is.
		body = &lazy{body: &bounded{r: body, left: limit, limit: limit}, open: open}
	}
	return body, layers > 0, nil
}

// gunzip reads the members of a gzip file. What follows them is ignored, as browsers do.
func gunzip(b *bufio.Reader) (io.Reader, error) {
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return &members{b, z}, nil
}

type members struct {
	b *bufio.Reader
	z *gzip.Reader
}

func (m *members) Read(p []byte) (int, error) {
	for {
		n, err := m.z.Read(p)
		if n > 0 && err == io.EOF {
			return n, nil // and the end again
		}
		if err != io.EOF {
			return n, err
		}
		magic, err := m.b.Peek(2)
		switch {
		case err != nil && err != io.EOF:
			return 0, err
		case string(magic) != "\x1f\x8b":
			return 0, io.EOF
		}
		if err := m.z.Reset(m.b); err != nil {
			return 0, err
		}
		m.z.Multistream(false)
	}
}

// inflate reads zlib's format, or what some servers send instead of it.
func inflate(b *bufio.Reader) (io.Reader, error) {
	head, err := b.Peek(2)
	if err != nil {
		return nil, err
	}
	if head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil
}

// lazy opens a decompressor at the first read: an answer may have a coding and no body.
type lazy struct {
	body io.Reader
	open func(*bufio.Reader) (io.Reader, error)
	r    io.Reader
}

func (l *lazy) Read(p []byte) (n int, err error) {
	if l.r == nil {
		b := bufio.NewReader(l.body)
		if _, err := b.Peek(1); err != nil {
			return 0, err
		}
		var r io.Reader
		if r, err = l.open(b); err == nil {
			l.r = r
		}
	}
	if err == nil {
		n, err = l.r.Read(p)
	}
	if err != nil && err != io.EOF && !isTransport(err) {
		err = errDamaged
	}
	return n, err
}

var errDamaged = refused("ConnectionError", "the compressed answer is damaged")

// isTransport says whether an error comes from below the decompressor.
func isTransport(err error) bool {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	return !corrupt && !errors.Is(err, gzip.ErrChecksum) && !errors.Is(err, gzip.ErrHeader) && !errors.Is(err, zlib.ErrChecksum) &&
		!errors.Is(err, io.ErrUnexpectedEOF)
}

// tooLarge says that something is larger than may be.
func tooLarge(what string, limit uint64) string {
	return fmt.Sprintf("%s more than the limit of %s", what, limits.FormatSize(limit))
}

// bounded ends with an error where a body passes its limit or, if total is not nil, the run's.
type bounded struct {
	r     io.Reader
	left  uint64
	limit uint64
	total *budget
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p[:min(uint64(len(p)), b.left+1)])
	if uint64(n) > b.left {
		return 0, refused("ConnectionError", "%s", tooLarge("the answer has", b.limit))
	}
	b.left -= uint64(n)
	if b.total != nil {
		if e := b.total.take(uint64(n)); e != nil {
			return 0, e
		}
	}
	return n, err
}
