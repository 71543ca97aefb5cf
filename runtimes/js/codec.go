package js

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
)

// replaceInvalid appends b with U+FFFD for what is not UTF-8: one for each maximal part of a sequence, as the
// WHATWG decoder does. Of text that QuickJS encoded, wtf8, a lone half of a surrogate pair is one sequence of three bytes.
func replaceInvalid(out, b []byte, wtf8 bool) []byte {
	out = slices.Grow(out, len(b)+16)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r != utf8.RuneError || n != 1 {
			out = append(out, b[:n]...)
			b = b[n:]
			continue
		}
		out = append(out, "\uFFFD"...)
		if wtf8 && isSurrogate(b) {
			b = b[3:]
		} else {
			b = b[brokenLen(b):]
		}
	}
	return out
}

// isSurrogate says whether b begins with half of a surrogate pair in three bytes.
func isSurrogate(b []byte) bool {
	return len(b) >= 3 && b[0] == 0xed && b[1] >= 0xa0 && b[1] <= 0xbf && b[2] >= 0x80 && b[2] <= 0xbf
}

// brokenLen is the length of the broken sequence at the start of b: the longest start of a valid one, or one byte.
func brokenLen(b []byte) int {
	need, low, high := 0, byte(0x80), byte(0xbf)
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		need = 1
	case c == 0xe0:
		need, low = 2, 0xa0
	case c == 0xed:
		need, high = 2, 0x9f
	case c >= 0xe1 && c <= 0xef:
		need = 2
	case c == 0xf0:
		need, low = 3, 0x90
	case c == 0xf4:
		need, high = 3, 0x8f
	case c >= 0xf1 && c <= 0xf3:
		need = 3
	}
	n := 1
	for n <= need && n < len(b) && b[n] >= low && b[n] <= high {
		low, high = 0x80, 0xbf
		n++
	}
	return n
}

// maxCodec bounds in bytes what is converted in the host's memory. UTF-8 is not.
const maxCodec = 32 << 20

// maxLabelled bounds what is decoded by a label, which may become three times as long.
const maxLabelled = maxCodec / 2

// codecPiece is how much is converted between looks at the deadline.
const codecPiece = 1 << 20

// inPieces calls do with one piece of b after the other, and charges for them. cut says where to cut at or after a place, which is in b.
func (in *interp) inPieces(b []byte, cut func(b []byte, at int) int, do func(piece []byte)) {
	in.charge(int64(len(b)))
	for len(b) > codecPiece {
		at := min(len(b), cut(b, codecPiece))
		do(b[:at])
		b = b[at:]
		in.look()
	}
	do(b)
}

// cutRune cuts before a sequence of UTF-8 or WTF-8, a broken one too: no sequence has more than three bytes that do not begin one.
func cutRune(b []byte, at int) int {
	for n := 0; n < 3 && at < len(b) && !utf8.RuneStart(b[at]); n++ {
		at++
	}
	return at
}

// cutUnits cuts before a unit of UTF-16 that is not the second half of a pair.
func cutUnits(b []byte, at int) int {
	at &^= 1
	if at >= 2 && at+2 <= len(b) && utf16.DecodeRune(rune(binary.LittleEndian.Uint16(b[at-2:])), rune(binary.LittleEndian.Uint16(b[at:]))) != utf8.RuneError {
		at += 2
	}
	return at
}

// cutMultiple cuts at a multiple of n.
func cutMultiple(n int) func([]byte, int) int {
	return func(_ []byte, at int) int { return at - at%n }
}

func (in *interp) tooLarge() uint64 {
	return in.throw("RangeError", "more than 32 MiB cannot be converted at once", "ERR_STRING_TOO_LONG")
}

// encode turns text into bytes, as Buffer.from(text, encoding) does.
func (in *interp) encode(a arguments) uint64 {
	encoding, lenAt := a.text(0, maxName), in.b.Cell
	p := uint32(in.call("JS_ToCStringLen2", uint64(in.b.Ctx), uint64(lenAt), uint64(a.value(1)), 0))
	if p == 0 {
		return 0
	}
	result := in.encodeAt(encoding, p, in.u32(lenAt))
	in.call("JS_FreeCString", uint64(in.b.Ctx), uint64(p))
	return result
}

// encodeAt encodes n bytes of WTF-8 at address p.
func (in *interp) encodeAt(encoding string, p, n uint32) uint64 {
	b := in.view(p, n)
	if encoding == "utf8" && utf8.Valid(b) { // from one place of the guest to another
		return in.buffer(int(n), func(dst []byte) { copy(dst, in.view(p, n)) })
	}
	if n > maxCodec {
		return in.tooLarge()
	}
	var out []byte
	switch encoding {
	case "latin1":
		out = in.fromText(b, func(out []byte, r rune) []byte {
			if r > 0xffff {
				high, low := utf16.EncodeRune(r)
				return append(out, byte(high), byte(low))
			}
			return append(out, byte(r))
		})
	case "utf16le":
		out = in.fromText(b, func(out []byte, r rune) []byte {
			if r > 0xffff {
				high, low := utf16.EncodeRune(r)
				out = binary.LittleEndian.AppendUint16(out, uint16(high))
				r = low
			}
			return binary.LittleEndian.AppendUint16(out, uint16(r))
		})
	case "hex":
		ended := false
		in.inPieces(b, cutMultiple(2), func(piece []byte) {
			n := 0
			for !ended && n+1 < len(piece) && isHex(piece[n]) && isHex(piece[n+1]) {
				n += 2
			}
			ended = ended || n < len(piece)
			out, _ = hex.AppendDecode(out, piece[:n]) // it has only such digits
		})
	case "base64":
		var d base64Decoder
		in.inPieces(b, cutMultiple(1), d.write)
		out = d.close()
	default:
		in.inPieces(b, cutRune, func(piece []byte) { out = replaceInvalid(out, piece, true) })
	}
	return in.buffer(len(out), func(dst []byte) { copy(dst, out) })
}

// fromText appends each code point of WTF-8 text; a lone surrogate comes as itself.
func (in *interp) fromText(b []byte, add func([]byte, rune) []byte) []byte {
	out := make([]byte, 0, len(b))
	in.inPieces(b, cutRune, func(b []byte) {
		for len(b) > 0 {
			r, n := utf8.DecodeRune(b)
			if r == utf8.RuneError && n == 1 && isSurrogate(b) {
				r, n = rune(b[0]&0xf)<<12|rune(b[1]&0x3f)<<6|rune(b[2]&0x3f), 3
			}
			out = add(out, r)
			b = b[n:]
		}
	})
	return out
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// base64Decoder decodes both alphabets, skips what belongs to neither and stops at padding, as Node does.
type base64Decoder struct {
	out   []byte
	digit [4]byte // those of the group that is not complete
	have  int
	ended bool
}

func (d *base64Decoder) write(b []byte) {
	for _, c := range b {
		switch {
		case d.ended:
			return
		case c == '-':
			c = '+'
		case c == '_':
			c = '/'
		case c == '=':
			d.ended = true
			return
		case c != '+' && c != '/' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z'):
			continue
		}
		d.digit[d.have] = c
		if d.have++; d.have == len(d.digit) {
			d.out, _ = base64.RawStdEncoding.AppendDecode(d.out, d.digit[:])
			d.have = 0
		}
	}
}

func (d *base64Decoder) close() []byte {
	if d.have > 1 {
		d.out, _ = base64.RawStdEncoding.AppendDecode(d.out, d.digit[:d.have])
	}
	return d.out
}

// decode turns bytes into text, as Buffer.toString(encoding) and TextDecoder do.
func (in *interp) decode(a arguments) uint64 {
	encoding := a.text(0, maxName)
	p, n := a.bytes(1)
	b := in.view(p, n)
	if (encoding == "utf8" || encoding == "utf8-fatal") && utf8.Valid(b) {
		return in.box(value(in.call("JS_NewStringLen", uint64(in.b.Ctx), uint64(p), uint64(n))))
	}
	if n > maxCodec {
		return in.tooLarge()
	}
	switch encoding {
	case "latin1":
		return in.textOf(b, cutMultiple(1), func(out, piece []byte) []byte {
			for _, c := range piece {
				out = utf8.AppendRune(out, rune(c))
			}
			return out
		})
	case "utf16le":
		return in.textOf(b, cutUnits, appendUTF16)
	case "hex":
		return in.textOf(b, cutMultiple(1), hex.AppendEncode)
	case "base64":
		return in.textOf(b, cutMultiple(3), base64.StdEncoding.AppendEncode)
	case "base64url":
		return in.textOf(b, cutMultiple(3), base64.RawURLEncoding.AppendEncode)
	}
	if label, ok := strings.CutPrefix(encoding, "label:"); ok {
		return in.decodeLabel(label, b)
	}
	if encoding == "utf8-fatal" {
		return in.null()
	}
	return in.textOf(b, cutRune, func(out, piece []byte) []byte { return replaceInvalid(out, piece, false) })
}

// decodeLabel decodes by a label of the Encoding Standard; null when there is none of that name.
func (in *interp) decodeLabel(label string, b []byte) uint64 {
	e, err := htmlindex.Get(label)
	if err != nil {
		return in.null()
	}
	if len(b) > maxLabelled {
		return in.throw("RangeError", "more than 16 MiB cannot be decoded at once, but for UTF-8 and UTF-16", "ERR_STRING_TOO_LONG")
	}
	room := roomFor(b)
	text := bytes.NewBuffer((*room)[:0])
	_, err = text.ReadFrom(e.NewDecoder().Reader(&lookingReader{in: in, b: b}))
	*room = text.Bytes()
	defer rooms.Put(room)
	if err != nil {
		return in.null()
	}
	return in.box(newText(in, *room))
}

// lookingReader reads bytes, charges for them and looks at the deadline meanwhile.
type lookingReader struct {
	in    *interp
	b     []byte
	since int
}

func (r *lookingReader) Read(p []byte) (int, error) {
	if len(r.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.b)
	r.b = r.b[n:]
	r.in.charge(int64(n))
	if r.since += n; r.since >= slowBytes {
		r.since = 0
		r.in.look()
	}
	return n, nil
}

// rooms are for texts on their way to the guest. With one of its own for each, a program that converts again and again would have
// several, until the collector comes.
var rooms sync.Pool // of *[]byte

// roomFor is an empty one in which there is room for what becomes of b: a byte becomes three at most. Who has it puts it back.
func roomFor(b []byte) *[]byte {
	room, ok := rooms.Get().(*[]byte)
	if !ok {
		room = new([]byte)
	}
	*room = slices.Grow((*room)[:0], 3*len(b)+bytes.MinRead)
	return room
}

// textOf is the text that the pieces of b become.
func (in *interp) textOf(b []byte, cut func([]byte, int) int, add func(out, piece []byte) []byte) uint64 {
	room := roomFor(b)
	in.inPieces(b, cut, func(piece []byte) { *room = add(*room, piece) })
	defer rooms.Put(room)
	return in.box(newText(in, *room))
}

// appendUTF16 appends little-endian UTF-16 as WTF-8, in which a lone surrogate stays itself.
func appendUTF16(out, b []byte) []byte {
	for len(b) >= 2 {
		r := rune(binary.LittleEndian.Uint16(b))
		b = b[2:]
		if len(b) >= 2 {
			if pair := utf16.DecodeRune(r, rune(binary.LittleEndian.Uint16(b))); pair != utf8.RuneError {
				r, b = pair, b[2:]
			}
		}
		if utf16.IsSurrogate(r) {
			out = append(out, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0xbf, 0x80|byte(r)&0xbf)
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// cString is the NUL-terminated text at an address of the guest, cut at max bytes.
func (in *interp) cString(p uint32, max uint32) string {
	size := in.g.Memory().Size()
	if p >= size {
		fault("address %#x is out of bounds", p)
	}
	b := in.view(p, min(max, size-p))
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
