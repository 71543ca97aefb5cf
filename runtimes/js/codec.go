package js

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
)

// replaceInvalid copies b with U+FFFD for what is not UTF-8: one for each maximal part of a sequence, as the
// WHATWG decoder does. Of text that QuickJS encoded, wtf8, a lone half of a surrogate pair is one sequence of three bytes.
func replaceInvalid(b []byte, wtf8 bool) []byte {
	out := make([]byte, 0, len(b)+16)
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

// maxCodec bounds in bytes what is converted in the host's memory, and for how long the run cannot be stopped
// meanwhile. UTF-8 is not.
const maxCodec = 32 << 20

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
		out = fromText(b, func(out []byte, r rune) []byte {
			if r > 0xffff {
				high, low := utf16.EncodeRune(r)
				return append(out, byte(high), byte(low))
			}
			return append(out, byte(r))
		})
	case "utf16le":
		out = fromText(b, func(out []byte, r rune) []byte {
			if r > 0xffff {
				high, low := utf16.EncodeRune(r)
				out = binary.LittleEndian.AppendUint16(out, uint16(high))
				r = low
			}
			return binary.LittleEndian.AppendUint16(out, uint16(r))
		})
	case "hex":
		n := 0
		for n+1 < len(b) && isHex(b[n]) && isHex(b[n+1]) {
			n += 2
		}
		out = make([]byte, n/2)
		hex.Decode(out, b[:n])
	case "base64":
		out = decodeBase64(b)
	default:
		out = replaceInvalid(b, true)
	}
	return in.buffer(len(out), func(dst []byte) { copy(dst, out) })
}

// fromText appends each code point of WTF-8 text; a lone surrogate comes as itself.
func fromText(b []byte, add func([]byte, rune) []byte) []byte {
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 && isSurrogate(b) {
			r, n = rune(b[0]&0xf)<<12|rune(b[1]&0x3f)<<6|rune(b[2]&0x3f), 3
		}
		out = add(out, r)
		b = b[n:]
	}
	return out
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// decodeBase64 decodes both alphabets, skips what belongs to neither and stops at padding, as Node does.
func decodeBase64(b []byte) []byte {
	clean := make([]byte, 0, len(b))
	for _, c := range b {
		switch {
		case c == '-':
			c = '+'
		case c == '_':
			c = '/'
		case c == '=':
			goto decode
		case c != '+' && c != '/' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z'):
			continue
		}
		clean = append(clean, c)
	}
decode:
	if len(clean)%4 == 1 {
		clean = clean[:len(clean)-1]
	}
	out := make([]byte, base64.RawStdEncoding.DecodedLen(len(clean)))
	n, _ := base64.RawStdEncoding.Decode(out, clean)
	return out[:n]
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
		return in.textOf(func(out []byte) []byte {
			for _, c := range b {
				out = utf8.AppendRune(out, rune(c))
			}
			return out
		})
	case "utf16le":
		return in.textOf(func(out []byte) []byte { return appendUTF16(out, b) })
	case "hex":
		return in.textOf(func(out []byte) []byte { return hex.AppendEncode(out, b) })
	case "base64":
		return in.textOf(func(out []byte) []byte { return base64.StdEncoding.AppendEncode(out, b) })
	case "base64url":
		return in.textOf(func(out []byte) []byte { return base64.RawURLEncoding.AppendEncode(out, b) })
	}
	if label, ok := strings.CutPrefix(encoding, "label:"); ok {
		return in.decodeLabel(label, b)
	}
	if encoding == "utf8-fatal" {
		return in.null()
	}
	return in.textOf(func(out []byte) []byte { return append(out, replaceInvalid(b, false)...) })
}

// decodeLabel decodes by a label of the Encoding Standard; null when there is none of that name.
func (in *interp) decodeLabel(label string, b []byte) uint64 {
	e, err := htmlindex.Get(label)
	if err != nil {
		return in.null()
	}
	text, err := e.NewDecoder().Bytes(b)
	if err != nil {
		return in.null()
	}
	return in.box(in.newString(string(text)))
}

func (in *interp) textOf(build func([]byte) []byte) uint64 {
	return in.box(in.newString(string(build(nil))))
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
