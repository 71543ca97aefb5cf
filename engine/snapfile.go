package engine

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/cloche-dev/cloche/engine/memimage"
	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/wasi"
)

// A snapshot file is, numbers little endian:
//
//	magic     8 bytes
//	version   u32
//	length    of the header, u32
//	nonce     16 bytes
//	header    JSON of snapHeader                 } encrypted: AES-256 in counter mode, from the nonce
//	body      zstd of: pages, then files         } but for the lengths of the body's pieces
//	HMAC-SHA256 of all that, 32 bytes
//
// Both keys are derived from the deployment's. The body comes in pieces, each with its length before it, u32: all have snapPiece bytes but the
// last, which has fewer. So it is written as it is made, and not held. Pages are records of u32 page number, u32 count and the pages, in rising order; a count of 0 ends them. Files are a
// vfs export. Lengths are believed as far as bytes come; nothing else is looked at before the HMAC is right.
const (
	snapMagic   = "CLOCHESN"
	snapVersion = 2
	snapFixed   = len(snapMagic) + 4 + 4 + aes.BlockSize
	snapMAC     = sha256.Size
	snapPiece   = 64 << 10
	// maxSnapHeader is room for the descriptors that a program may hold open, with their paths.
	maxSnapHeader = 64 << 20
	// maxSnapBody is above what memory and files can come to.
	maxSnapBody = 16 << 30
)

// snapHeader is what is known of a state besides pages and files.
type snapHeader struct {
	Image       string            `json:"image"` // Baked.ID
	Page        int               `json:"page"`  // bytes of a page
	Made        time.Time         `json:"made"`
	Turns       int               `json:"turns"`
	MemoryBytes uint64            `json:"memory_bytes"`
	PageBytes   uint64            `json:"page_bytes"` // of the pages, uncompressed
	Globals     []uint64          `json:"globals"`
	Descriptors []wasi.Descriptor `json:"descriptors,omitempty"`
	Random      []byte            `json:"random,omitempty"`
	Now         time.Time         `json:"now,omitzero"`
	Options     storedOptions     `json:"options"`
	Session     *storedSession    `json:"session,omitempty"` // in a store
	Suspended   *suspension       `json:"suspended,omitempty"`
}

// storedOptions are the Options that can be written down.
type storedOptions struct {
	Language string            `json:"language"`
	Env      map[string]string `json:"env,omitempty"`
	Mounts   []limits.Mount    `json:"mounts,omitempty"`
	Limits   limits.Limits     `json:"limits"`
	Seed     *uint64           `json:"seed,omitempty"`
	Clock    time.Time         `json:"clock,omitzero"`
	OnError  string            `json:"on_error,omitempty"`
	Packages []string          `json:"packages,omitempty"`
	Review   limits.Review     `json:"review,omitzero"`
	Template string            `json:"template,omitempty"`
	// HistoryBytes and what follows are as in Options, times in nanoseconds.
	HistoryBytes int64         `json:"history_bytes,omitempty"`
	IdleTimeout  time.Duration `json:"idle_timeout,omitempty"`
	MaxLifetime  time.Duration `json:"max_lifetime,omitempty"`
	Repeatable   bool          `json:"repeatable,omitempty"`
	Autopsy      time.Duration `json:"autopsy,omitempty"`
}

func (o Options) stored() storedOptions {
	return storedOptions{o.Language, o.Env, o.Mounts, o.Limits, o.Seed, o.Clock, o.OnError, o.Packages, o.Review, o.Template, o.HistoryBytes, o.IdleTimeout, o.MaxLifetime, o.Repeatable, o.Autopsy}
}

func (o storedOptions) options() Options {
	return Options{Language: o.Language, Env: o.Env, Mounts: o.Mounts, Limits: o.Limits, Seed: o.Seed, Clock: o.Clock, OnError: o.OnError, Packages: o.Packages, Review: o.Review, Template: o.Template,
		HistoryBytes: o.HistoryBytes, IdleTimeout: o.IdleTimeout, MaxLifetime: o.MaxLifetime, Repeatable: o.Repeatable, Autopsy: o.Autopsy}
}

// counter counts what is written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// writeSnapshot writes a state as a file.
func writeSnapshot(w io.Writer, key []byte, image string, o Options, st *state) (int64, error) {
	return headerOf(image, o, st).write(w, key, st, nil)
}

func headerOf(image string, o Options, st *state) snapHeader {
	return snapHeader{
		Image: image, Page: os.Getpagesize(), Made: time.Now().UTC(), Turns: st.turns, MemoryBytes: st.vm.Memory.Size(), PageBytes: st.vm.Memory.Bytes(),
		Globals: st.vm.Globals, Descriptors: st.descriptors, Random: st.random, Now: st.now, Options: o.stored(), Suspended: st.suspended,
	}
}

// write writes a file: of the pages, those that the delta since, if there is one, does not have.
func (h snapHeader) write(w io.Writer, key []byte, st *state, since *memimage.Delta) (int64, error) {
	header, err := json.Marshal(h)
	if err != nil {
		return 0, err
	}
	if len(header) > maxSnapHeader {
		return 0, fmt.Errorf("a header of %d bytes is more than %d", len(header), maxSnapHeader)
	}
	fixed := binary.LittleEndian.AppendUint32([]byte(snapMagic), snapVersion)
	fixed = binary.LittleEndian.AppendUint32(fixed, uint32(len(header)))
	nonce := make([]byte, aes.BlockSize)
	_, _ = rand.Read(nonce) // cannot fail
	fixed = append(fixed, nonce...)
	hidden, mac := snapKeys(key, nonce)
	hidden.XORKeyStream(header, header)
	c := &counter{w: w}
	out := io.MultiWriter(c, mac)
	for _, part := range [][]byte{fixed, header} {
		if _, err := out.Write(part); err != nil {
			return c.n, err
		}
	}
	body := &pieceWriter{to: out, hidden: hidden}
	if err := errors.Join(writeBody(body, st, since), body.flush()); err != nil {
		return c.n, err
	}
	_, err = c.Write(mac.Sum(nil))
	return c.n, err
}

// pieceWriter writes a body, whose last piece is written by flush.
type pieceWriter struct {
	to     io.Writer
	hidden cipher.Stream
	piece  []byte
}

func (p *pieceWriter) Write(b []byte) (int, error) {
	for written := 0; ; {
		n := min(len(b)-written, snapPiece-len(p.piece))
		p.piece = append(p.piece, b[written:written+n]...)
		if written += n; written == len(b) && len(p.piece) < snapPiece {
			return written, nil
		}
		if err := p.flush(); err != nil {
			return written, err
		}
	}
}

func (p *pieceWriter) flush() error {
	p.hidden.XORKeyStream(p.piece, p.piece)
	_, err := p.to.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(p.piece))))
	if err == nil {
		_, err = p.to.Write(p.piece)
	}
	p.piece = p.piece[:0]
	return err
}

// snapKeys are the two ciphers of a file.
func snapKeys(key, nonce []byte) (cipher.Stream, hash.Hash) {
	derive := func(use string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte("cloche snapshot " + use))
		return h.Sum(nil)
	}
	block, err := aes.NewCipher(derive("encryption"))
	if err != nil { // the key has 32 bytes
		panic(err)
	}
	return cipher.NewCTR(block, nonce), hmac.New(sha256.New, derive("authentication"))
}

// encoders and decoders have buffers that are dear to make.
var (
	encoders = sync.Pool{New: func() any {
		z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20))
		if err != nil {
			panic(err) // the options are constant
		}
		return z
	}}
	decoders = sync.Pool{New: func() any {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(maxSnapBody), zstd.WithDecoderMaxWindow(maxSnapWindow))
		if err != nil {
			panic(err)
		}
		return z
	}}
)

// writeBody compresses pages and files.
func writeBody(w io.Writer, st *state, since *memimage.Delta) error {
	z := encoders.Get().(*zstd.Encoder)
	defer encoders.Put(z)
	defer z.Reset(nil) // or it holds w
	z.Reset(w)
	page := uint64(os.Getpagesize())
	record := func(offset uint64, n int) []byte {
		return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, uint32(offset/page)), uint32(uint64(n)/page))
	}
	put := func(offset uint64, data []byte) error {
		if _, err := z.Write(record(offset, len(data))); err != nil {
			return err
		}
		_, err := z.Write(data)
		return err
	}
	err := st.vm.Memory.EachSince(since, put)
	if err == nil {
		_, err = z.Write(record(0, 0))
	}
	if err == nil && st.files != nil {
		err = st.files.Export(z)
	} else if err == nil {
		_, err = z.Write(st.exported)
	}
	return errors.Join(err, z.Close())
}

// snapFile is a snapshot file whose HMAC was right.
type snapFile struct {
	snapHeader
	body pieces // until it is opened
}

// pieces are read once: what was read is no longer held.
type pieces [][]byte

func (p *pieces) Read(b []byte) (int, error) {
	for len(*p) > 0 {
		first := &(*p)[0]
		if n := copy(b, *first); n > 0 || len(b) == 0 {
			*first = (*first)[n:]
			return n, nil
		}
		*first = nil
		*p = (*p)[1:]
	}
	return 0, io.EOF
}

// readSnapshot reads a file and checks that it is whole and was made with the key.
func readSnapshot(r io.Reader, key []byte) (*snapFile, error) {
	fixed := make([]byte, snapFixed)
	if _, err := io.ReadFull(r, fixed); err != nil {
		return nil, cutShortFile(err)
	}
	if string(fixed[:len(snapMagic)]) != snapMagic {
		return nil, badSnapshot("it is not a snapshot file")
	}
	if v := binary.LittleEndian.Uint32(fixed[len(snapMagic):]); v != snapVersion {
		return nil, badSnapshot("it has version %d, this program reads version %d", v, snapVersion)
	}
	hidden, mac := snapKeys(key, fixed[snapFixed-aes.BlockSize:])
	mac.Write(fixed)
	in := io.TeeReader(r, mac)
	header, err := readPart(in, uint64(binary.LittleEndian.Uint32(fixed[len(snapMagic)+4:])), maxSnapHeader)
	if err != nil {
		return nil, err
	}
	body, err := readPieces(in)
	if err != nil {
		return nil, err
	}
	want := mac.Sum(nil)
	got := make([]byte, snapMAC)
	if _, err := io.ReadFull(r, got); err != nil {
		return nil, cutShortFile(err)
	}
	if !hmac.Equal(got, want) {
		return nil, badSnapshot("it was changed, or made with the key of another deployment")
	}
	if n, _ := io.ReadFull(r, got[:1]); n != 0 {
		return nil, badSnapshot("there are bytes after its end")
	}
	hidden.XORKeyStream(header, header)
	for _, p := range body {
		hidden.XORKeyStream(p, p)
	}
	f := &snapFile{body: body}
	if err := json.Unmarshal(header, &f.snapHeader); err != nil {
		return nil, badSnapshot("header: %w", err)
	}
	return f, nil
}

// readPieces reads a body. What it takes of memory is what comes.
func readPieces(r io.Reader) (body pieces, err error) {
	for size := 0; ; {
		var length [4]byte
		if _, err := io.ReadFull(r, length[:]); err != nil {
			return nil, cutShortFile(err)
		}
		n := binary.LittleEndian.Uint32(length[:])
		if size += int(n); n > snapPiece || size > maxSnapBody {
			return nil, badSnapshot("a piece of %d bytes is too much", n)
		}
		p := make([]byte, n)
		if _, err := io.ReadFull(r, p); err != nil {
			return nil, cutShortFile(err)
		}
		if body = append(body, p); n < snapPiece {
			return body, nil
		}
	}
}

// readPart reads n bytes. It takes memory as they come.
func readPart(r io.Reader, n, most uint64) ([]byte, error) {
	if n > most {
		return nil, badSnapshot("a part of %d bytes is more than %d", n, most)
	}
	var b bytes.Buffer
	if got, err := io.CopyN(&b, r, int64(n)); err != nil {
		return nil, cutShortFile(fmt.Errorf("%d of %d bytes: %w", got, n, err))
	}
	return b.Bytes(), nil
}

func cutShortFile(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return badSnapshot("it is cut short")
	}
	return fmt.Errorf("read a snapshot: %w", err)
}

// open makes the state that the file holds, over an interpreter's image. The caller owns it. It counts as a copy: random numbers
// that were drawn after it was written must not be drawn again.
func (f *snapFile) open(l *loaded) (*state, error) {
	if f.Image != l.ID {
		return nil, badSnapshot("it was made with another build of %s than is set up here", l.Driver.Language())
	}
	if f.Page != os.Getpagesize() {
		return nil, badSnapshot("its pages have %d bytes, this machine's %d", f.Page, os.Getpagesize())
	}
	st := &state{
		vm:          vm.Checkpoint{Globals: f.Globals},
		descriptors: f.Descriptors, turns: f.Turns, random: f.Random, now: f.Now, copied: true, suspended: f.Suspended,
	}
	if err := f.openBody(l.State.Image, st); err != nil {
		return nil, badSnapshot("%w", err)
	}
	return st, nil
}

// openBody fills in memory and files.
func (f *snapFile) openBody(image *memimage.Image, st *state) error {
	z := decoders.Get().(*zstd.Decoder)
	defer decoders.Put(z)
	defer func() { _ = z.Reset(nil) }() // or it holds what it has read
	if err := z.Reset(&f.body); err != nil {
		return err
	}
	b, err := memimage.NewBuilder(image, f.MemoryBytes)
	if err != nil {
		return err
	}
	defer b.Drop()
	if err := readPages(z, b, uint64(f.Page)); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	var files bytes.Buffer
	if _, err := io.Copy(&files, io.LimitReader(z, maxSnapBody)); err != nil {
		return fmt.Errorf("files: %w", err)
	}
	st.exported, st.vm.Memory = files.Bytes(), b.Delta()
	return nil
}

// maxSnapWindow is what a decoder must hold; the encoder uses 1 MiB.
const maxSnapWindow = 8 << 20

// readPages reads the records of pages.
func readPages(r io.Reader, b *memimage.Builder, page uint64) error {
	buf := make([]byte, 1<<20)
	for {
		var record [8]byte
		if _, err := io.ReadFull(r, record[:]); err != nil {
			return err
		}
		at, n := uint64(binary.LittleEndian.Uint32(record[:])), uint64(binary.LittleEndian.Uint32(record[4:]))
		if n == 0 {
			return nil
		}
		for n > 0 {
			part := min(n, uint64(len(buf))/page)
			if _, err := io.ReadFull(r, buf[:part*page]); err != nil {
				return err
			}
			if err := b.Add(at*page, buf[:part*page]); err != nil {
				return err
			}
			at, n = at+part, n-part
		}
	}
}
