package js

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// plainBounds are those of what a plainWriter writes. What is larger, the interpreter writes itself, and is interrupted in it.
type plainBounds struct {
	bytes int
	depth int    // of objects in each other
	props uint32 // of one object
	looks int    // at values and at properties that are not written
}

// smallPlain are the bounds of what is sent away, largePlain those of a text that the program keeps.
var (
	smallPlain = plainBounds{64 << 10, 16, 1000, 64 << 10}
	largePlain = plainBounds{16 << 20, 100, 64 << 10, 4 << 20}
)

// A plainWriter writes values as JSON.stringify would, but reads them where they lie in memory, which takes a tenth of the time.
// It does so for plain objects and arrays of plain values, where no code of the program could be run, and gives up on all others.
type plainWriter struct {
	heap
	plainBounds
	gap     string // what each level is indented by; none: all is one line
	out     []byte
	looked  int
	pause   func() // called now and then
	checked object // a prototype of instances that has no toJSON
}

// plainJSON appends v to out; false when v is not plain.
func (in *interp) plainJSON(out []byte, v value) ([]byte, bool) {
	w := plainWriter{heap: heap{in.g.Memory(), in.b}, plainBounds: smallPlain, out: out, pause: in.look}
	ok := w.pristine() && w.value(v, 0)
	return w.out, ok
}

// stringify is opStringify.
func (in *interp) stringify(a arguments) uint64 {
	w := plainWriter{heap: heap{in.g.Memory(), in.b}, plainBounds: largePlain, gap: a.text(1, maxName), pause: in.look}
	const fuelPerLook = 64
	ok := w.pristine() && w.value(a.value(0), 0)
	in.charge(int64(len(w.out)))
	in.g.Charge(fuelPerLook * uint64(w.looked))
	if !ok {
		return in.null()
	}
	return in.box(newText(in, w.out))
}

// pristine says that no prototype of plain objects has a toJSON, which JSON.stringify would call, or a then, which a promise would.
func (h heap) pristine() bool {
	return h.proto(h.b.ArrayProto) == h.b.ObjectProto && !h.overrides(h.b.ObjectProto) && !h.overrides(h.b.ArrayProto)
}

func (h heap) overrides(o object) bool {
	names, ok := h.names(o, smallPlain.props)
	for ; len(names) > 0; names = names[8:] {
		if atom := binary.LittleEndian.Uint32(names[4:]); atom == h.b.ToJSONAtom || atom == h.b.ThenAtom {
			return true
		}
	}
	return !ok || h.count(o) > smallPlain.props
}

// value writes v. It looks at the bounds after each value, empty objects too: one that is in many places can stand for any number.
func (w *plainWriter) value(v value, depth int) bool {
	switch v.tag() {
	case tagInt:
		w.out = strconv.AppendInt(w.out, int64(v.int()), 10)
	case tagFloat:
		w.out = appendJSONNumber(w.out, v.float())
	case tagBool:
		w.out = strconv.AppendBool(w.out, v.int() != 0)
	case tagNull:
		w.out = append(w.out, "null"...)
	case tagString, tagRope:
		w.out = append(w.out, '"')
		if !w.string(v, 0) {
			return false
		}
		w.out = append(w.out, '"')
	case tagObject:
		if depth == w.depth || !w.object(object(uint32(v)), depth+1) {
			return false
		}
	default:
		return false
	}
	return w.look()
}

// look counts and says whether the bounds are kept.
func (w *plainWriter) look() bool {
	const often = 1 << 16
	if w.looked++; w.looked%often == 0 {
		w.pause()
	}
	return w.looked <= w.looks && len(w.out) <= w.bytes
}

// appendJSONNumber writes f as JSON.stringify does.
func appendJSONNumber(out []byte, f float64) []byte {
	if f-f != 0 { // not finite
		return append(out, "null"...)
	}
	return append(out, formatNumber(f)...)
}

func (w *plainWriter) object(o object, depth int) bool {
	switch proto := w.proto(o); w.class(o) {
	case classObject:
		return w.ordinary(proto) && w.count(o) <= w.props && w.members(o, depth)
	case classArray:
		items, n := w.array(o)
		whole := (n == 0 || items != 0) && w.u64(w.u32(uint32(o)+16)) == uint64(intValue(int32(n))) // else it ends with holes
		return proto == w.b.ArrayProto && w.count(o) == 1 && whole && w.items(items, n, depth)
	}
	return false
}

// ordinary says that objects with that prototype have no toJSON from it: it is the usual one, none, or that of a class without.
func (w *plainWriter) ordinary(proto object) bool {
	if proto == 0 || proto == w.b.ObjectProto || proto == w.checked {
		return true
	}
	const maxClasses = 8
	p := proto
	for range maxClasses {
		if p == 0 || p == w.b.ObjectProto {
			w.checked = proto
			return true
		}
		if w.class(p) != classObject || w.overrides(p) {
			return false
		}
		p = w.proto(p)
	}
	return false
}

func (w *plainWriter) members(o object, depth int) bool {
	w.out = append(w.out, '{')
	empty := true
	for p := range w.properties(o, 2*w.props) {
		s, isText := w.atomText(p.atom)
		if !isText || p.flags&propKind != propNormal || p.atom == w.b.ToJSONAtom { // numbers come first, in their order
			return false
		}
		if p.flags&propEnumerable == 0 || p.value == undefined {
			if !w.look() {
				return false
			}
			continue
		}
		if !empty {
			w.out = append(w.out, ',')
		}
		empty = false
		w.line(depth)
		w.out = append(w.out, '"')
		from := len(w.out)
		if !w.flatString(s) || isIndex(w.out[from:]) {
			return false
		}
		w.out = append(w.out, '"', ':')
		if w.gap != "" {
			w.out = append(w.out, ' ')
		}
		if !w.value(p.value, depth) {
			return false
		}
	}
	if !empty {
		w.line(depth - 1)
	}
	w.out = append(w.out, '}')
	return true
}

// isIndex says whether a name may be the index of an item; such a name does not stay where it was made.
func isIndex(name []byte) bool {
	for _, c := range name {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(name) > 0
}

func (w *plainWriter) items(at, n uint32, depth int) bool {
	w.out = append(w.out, '[')
	for i := range n {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.line(depth)
		v := value(w.u64(at + 8*i))
		if v == undefined {
			v = tagNull << 32
		}
		if !w.value(v, depth) {
			return false
		}
	}
	if n > 0 {
		w.line(depth - 1)
	}
	w.out = append(w.out, ']')
	return true
}

// line begins a line at that depth, if there are lines.
func (w *plainWriter) line(depth int) {
	if w.gap == "" {
		return
	}
	w.out = append(w.out, '\n')
	for range depth {
		w.out = append(w.out, w.gap...)
	}
}

// string writes the text of v, a string or a rope of them.
func (w *plainWriter) string(v value, depth int) bool {
	const maxDepth = 100 // the interpreter keeps ropes flatter
	switch v.tag() {
	case tagString:
		return w.flatString(uint32(v))
	case tagRope:
		left, right := value(w.u64(uint32(v)+8)), value(w.u64(uint32(v)+16))
		return depth < maxDepth && w.look() && w.string(left, depth+1) && w.string(right, depth+1)
	}
	return false
}

// flatString writes the JSString at s. One with half of a surrogate pair it leaves alone.
func (w *plainWriter) flatString(s uint32) bool {
	text, wide, ok := w.chars(s, uint32(w.bytes)+1)
	if !ok {
		return false
	}
	if !wide {
		from := 0
		for i, c := range text {
			if c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
				w.out = append(w.out, text[from:i]...)
				w.char(rune(c))
				from = i + 1
			}
		}
		w.out = append(w.out, text[from:]...)
	}
	for wide && len(text) > 0 {
		r := rune(binary.LittleEndian.Uint16(text))
		text = text[2:]
		if utf16.IsSurrogate(r) {
			if len(text) == 0 {
				return false
			}
			if r = utf16.DecodeRune(r, rune(binary.LittleEndian.Uint16(text))); r == utf8.RuneError {
				return false
			}
			text = text[2:]
		}
		w.char(r)
	}
	return len(w.out) <= w.bytes
}

func (w *plainWriter) char(r rune) {
	const escaped, letters = "\"\\\b\t\n\f\r", `"\btnfr`
	switch i := strings.IndexRune(escaped, r); {
	case r >= ' ' && i < 0:
		w.out = utf8.AppendRune(w.out, r)
	case i >= 0:
		w.out = append(w.out, '\\', letters[i])
	default:
		w.out = hex.AppendEncode(append(w.out, `\u00`...), []byte{byte(r)})
	}
}

// probePlain finds and checks what a plainWriter needs.
func (in *interp) probePlain() error {
	b := in.b
	b.ToJSONAtom, b.ThenAtom = in.atom("toJSON"), in.atom("then") // of the interpreter's own
	for source, to := range map[string]*object{"Object.prototype": &b.ObjectProto, "Array.prototype": &b.ArrayProto} {
		v, err := in.evalTrusted(source, "cloche:probe")
		if err != nil {
			return err
		}
		*to = object(uint32(v))
		in.free(v) // the global object keeps it
	}
	v, err := in.evalTrusted(`({a: 1, "b\n": "\"x\u00e9", c: [true, null, -2.5, {d: "\u1234\ud83d\ude00"}], e: -0, f: undefined, g: 1e300})`, "cloche:probe")
	if err != nil {
		return err
	}
	text, ok := in.plainJSON(nil, v)
	in.free(v)
	if !ok || string(text) != `{"a":1,"b\n":"\"xé","c":[true,null,-2.5,{"d":"ሴ😀"}],"e":0,"g":1e+300}` {
		return errors.New("plain objects are not laid out as they should be: " + string(text))
	}
	return nil
}
