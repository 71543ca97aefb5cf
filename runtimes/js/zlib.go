package js

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"math"
)

// Compression is done here and not in the guest, where a pure JavaScript codec takes seconds for a megabyte. What comes out
// is written straight to the guest's memory, so a small input that grows to gigabytes meets the guest's own limit.

// slowBytes is how much is compressed or unpacked before the run is looked at: what is chosen for it takes two microseconds a byte
// to compress, in which the same comes again and again but for a character, and 100 nanoseconds to unpack: blocks of nothing.
const slowBytes = 16 << 10

// deflate is opDeflate.
func (in *interp) deflate(a arguments) uint64 {
	p, n := a.bytes(2)
	// Data that cannot be compressed are stored: 5 bytes for each block of at most 64 KiB, and header and trailer.
	most := int64(n) + int64(n)/1024 + 256
	if most > math.MaxInt32 {
		return in.noMemory()
	}
	return in.bufferUpTo(int(most), func(dst []byte) int {
		to := &sliceWriter{dst: dst}
		w := compressor(a.text(0, maxName), int(a.int(1)), to)
		_ = in.piecesOf(slowBytes, n, func(from, to uint32) error { // a full slice cannot be
			_, err := w.Write(in.view(p+from, to-from))
			return err
		})
		if w.Close() != nil {
			return 0
		}
		return to.n
	})
}

func compressor(format string, level int, to io.Writer) io.WriteCloser {
	level = max(flate.DefaultCompression, min(level, flate.BestCompression))
	switch format { // the level is a right one, so there is no error
	case "gzip":
		w, _ := gzip.NewWriterLevel(to, level)
		return w
	case "deflate":
		w, _ := zlib.NewWriterLevel(to, level)
		return w
	}
	w, _ := flate.NewWriter(to, level)
	return w
}

type sliceWriter struct {
	dst []byte
	n   int
}

func (w *sliceWriter) Write(b []byte) (int, error) {
	n := copy(w.dst[w.n:], b)
	w.n += n
	if n < len(b) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

// inflate is opInflate. How long the output is shows only at its end, so it is unpacked twice: counted, then written where
// the guest has made room for it.
func (in *interp) inflate(a arguments) uint64 {
	format := a.text(0, maxName)
	most := int64(min(max(0, a.number(1)), math.MaxInt32))
	p, n := a.bytes(2)
	size, err := in.unpack(format, in.view(p, n), io.Discard, most)
	if err != nil {
		return in.box(in.newString(zlibError(err)))
	}
	return in.buffer(int(size), func(dst []byte) {
		_, err = in.unpack(format, in.view(p, n), &sliceWriter{dst: dst}, most) // memory may have grown, and moved
		if err != nil {
			fault("unpacked %d bytes once, then %v", size, err)
		}
	})
}

var errTooLong = errors.New("output too long")

// unpack writes what src holds to w, at most most bytes, and returns how many. It looks now and then whether the run may go on.
func (in *interp) unpack(format string, src []byte, w io.Writer, most int64) (size int64, err error) {
	// Read byte by byte, so that nothing beyond a member's end is taken. There may be nothing in all of it to be written.
	from := bufio.NewReader(&lookingReader{in: in, b: src})
	for {
		r, err := decompressor(format, from)
		if err != nil {
			return size, err
		}
		for {
			n, err := io.CopyN(w, r, pieceBytes)
			in.charge(n)
			if size += n; size > most {
				return size, errTooLong
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				return size, err
			}
			in.look()
		}
		// A gzip file may have several members; what follows them is padding.
		if magic, _ := from.Peek(2); format != "gzip" && format != "auto" || !bytes.Equal(magic, gzipMagic) {
			return size, nil
		}
	}
}

var gzipMagic = []byte{0x1f, 0x8b}

func decompressor(format string, from *bufio.Reader) (io.Reader, error) {
	magic, _ := from.Peek(2) // of a short input what there is
	if format == "auto" {
		format = "deflate"
		if bytes.Equal(magic, gzipMagic) {
			format = "gzip"
		}
	}
	switch format {
	case "gzip":
		if !bytes.HasPrefix(gzipMagic, magic) {
			return nil, gzip.ErrHeader
		}
		r, err := gzip.NewReader(from)
		if err != nil {
			return nil, err
		}
		r.Multistream(false)
		return r, nil
	case "deflate":
		return zlib.NewReader(from)
	}
	return flate.NewReader(from), nil
}

// zlibError is "CODE number message", as zlib itself has them.
func zlibError(err error) string {
	switch {
	case errors.Is(err, errTooLong):
		return "ERR_BUFFER_TOO_LARGE 0 "
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "Z_BUF_ERROR -5 unexpected end of file"
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, zlib.ErrHeader):
		return "Z_DATA_ERROR -3 incorrect header check"
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, zlib.ErrChecksum):
		return "Z_DATA_ERROR -3 incorrect data check"
	case errors.Is(err, zlib.ErrDictionary):
		return "Z_NEED_DICT 2 Missing dictionary"
	}
	return "Z_DATA_ERROR -3 invalid compressed data"
}
