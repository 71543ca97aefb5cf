package js

import (
	"encoding/binary"
	"errors"
	"iter"
	"slices"
	"unicode/utf16"

	"github.com/cloche-dev/cloche/engine/vm"
)

// heap reads the interpreter's objects where they lie in memory. Nothing of the interpreter runs for it, so no getter, trap or
// method of the program can: what is read is what is there. The program may have damaged its memory; every address is
// checked by the memory itself, what is out of bounds reads as zero, and whoever follows links or counts bounds them.
//
// The layout is that of the pinned artifact (quickjs.c), and [interp.probeHeap] checks it when the image is made:
//
//	JSObject    link (8)  flags (2)  class (u16)  JSShape *  JSProperty *  weak references (4)  u (16)
//	JSShape     link (8)  hashed (4)  hash (4)  mask (4)  allocated (4)  count (4)  deleted (4)  next (4)  JSObject *proto
//	            u32 [mask + 1]  { next and flags (u32), atom (u32) } [count]
//	JSProperty  JSValue, or two addresses
//	JSString    length and width (u32)  hash, kind and type (u32)  next (4)  weak references (4)  link (8)  characters
//	slice       a JSString of kind 1: instead of the characters JSString *parent, offset in bytes (u32)
//	rope        length (4)  width, depth (4)  left (8)  right (8)
//	BigInt      count (4)  limbs (u32) of two's complement, the lowest first
type heap struct {
	mem vm.Memory
	b   *boot
}

func (h heap) u32(p uint32) uint32 { v, _ := h.mem.ReadUint32(p); return v }

func (h heap) u64(p uint32) uint64 {
	b, ok := h.mem.Read(p, 8)
	if !ok {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

// Classes of objects (quickjs.c, JS_CLASS_*) that the driver knows.
const (
	classObject                 = 1
	classArray                  = 2
	classNumber                 = 4 // and on to classDate: objects that hold one value
	classDate                   = 10
	classCFunction              = 12 // and on to classGeneratorFunction: functions
	classGeneratorFunction      = 17
	classRegExp                 = 19
	classUint8Clamped           = 22 // and on to classFloat64: typed arrays
	classFloat64                = 33
	classMap                    = 36
	classSet                    = 37
	classMapIterator            = 44
	classSetIterator            = 45
	classProxy                  = 51
	classResolve                = 53 // and on to classAsyncReject: functions of promises
	classAsyncReject            = 57
	classAsyncGeneratorFunction = 59
)

// object is the address of a JSObject.
type object uint32

// objectAt is the object of v; false when v is none.
func objectAt(v value) (object, bool) { return object(uint32(v)), v.tag() == tagObject }

func (h heap) class(o object) uint16 { return uint16(h.u32(uint32(o)+8) >> 16) }

// isFunction says whether typeof gives "function", as far as a class tells.
func isFunction(class uint16) bool {
	return class >= classCFunction && class <= classGeneratorFunction || class >= classResolve && class <= classAsyncReject ||
		class == classAsyncGeneratorFunction
}

func isTyped(class uint16) bool { return class >= classUint8Clamped && class <= classFloat64 }

// proto is the object's prototype, 0 when it has none.
func (h heap) proto(o object) object { return object(h.u32(h.u32(uint32(o)+12) + 36)) }

// Flags of properties (quickjs.h, JS_PROP_*).
const (
	propEnumerable = 1 << 2
	propKind       = 3 << 4
	propNormal     = 0 << 4
	propAccessor   = 1 << 4
)

// property is one of an object's own. Its value is there when its kind is propNormal.
type property struct {
	atom  uint32
	flags byte
	value value
}

// count is how many properties of its own the object has, but for items of arrays.
func (h heap) count(o object) uint32 {
	shape := h.u32(uint32(o) + 12)
	return h.u32(shape+24) - h.u32(shape+28)
}

// names are the flags and atoms of the first most of the object's own properties, deleted ones among them, eight bytes each.
func (h heap) names(o object, most uint32) ([]byte, bool) {
	shape := h.u32(uint32(o) + 12)
	return h.mem.Read(shape+40+4*(h.u32(shape+16)+1), 8*min(h.u32(shape+24), most))
}

// properties are the object's own in the order of their making, as far as they are among the first most. They are read from
// memory that must not change meanwhile.
func (h heap) properties(o object, most uint32) iter.Seq[property] {
	return func(yield func(property) bool) {
		a, ok := h.names(o, most)
		v, ok2 := h.mem.Read(h.u32(uint32(o)+16), uint32(len(a)))
		if !ok || !ok2 {
			return
		}
		for i := 0; i+8 <= len(a); i += 8 {
			p := property{
				flags: byte(binary.LittleEndian.Uint32(a[i:]) >> 26), atom: binary.LittleEndian.Uint32(a[i+4:]),
				value: value(binary.LittleEndian.Uint64(v[i:])),
			}
			if p.atom != 0 && !yield(p) { // else it was deleted
				return
			}
		}
	}
}

// own is the value of the object's own property of that atom, which is no accessor; false when there is none.
func (h heap) own(o object, atom uint32) (value, bool) {
	for p := range h.properties(o, 256) {
		if p.atom == atom {
			return p.value, p.flags&propKind == propNormal
		}
	}
	return 0, false
}

// name is what an atom stands for, at most most units of it; false when that is a symbol, or no name at all.
func (h heap) name(atom, most uint32) (string, bool) {
	if atom&atomNumber != 0 {
		return formatNumber(float64(atom &^ atomNumber)), true
	}
	s, ok := h.atomText(atom)
	if !ok {
		return "", false
	}
	return h.flat(s, most), true
}

// named says whether an atom stands for a name of ASCII characters.
func (h heap) named(atom uint32, name string) bool {
	s, ok := h.atomText(atom)
	if !ok {
		return false
	}
	b, wide, ok := h.chars(s, uint32(len(name))+1)
	return ok && !wide && string(b) == name
}

const atomNumber = 1 << 31 // the atom is that number itself

// atomText is the JSString of an atom; false when it is a number or a symbol.
func (h heap) atomText(atom uint32) (s uint32, ok bool) {
	if atom&atomNumber != 0 {
		return 0, false
	}
	const isString = 1
	s = h.u32(h.u32(h.b.Runtime+h.b.AtomsAt) + 4*atom)
	return s, h.u32(s+4)>>30 == isString
}

// charsAt is where the characters of a JSString begin.
const charsAt = 24

// chars are the first most characters of the JSString at s, one byte each or, when it is wide, two. A slice of another one has
// none of its own. False when they are not there.
func (h heap) chars(s, most uint32) (b []byte, wide, ok bool) {
	head := h.u32(s)
	wide = head>>31 != 0
	n := min(head&^(1<<31), most)
	if wide {
		n *= 2
	}
	at := s + charsAt
	const kindSlice = 1
	if h.u32(s+4)>>28&3 == kindSlice {
		at = h.u32(at) + charsAt + h.u32(at+4)
	}
	b, ok = h.mem.Read(at, n)
	return b, wide, ok
}

// flat is the text of the JSString at s, at most most units of it.
func (h heap) flat(s, most uint32) string {
	b, wide, ok := h.chars(s, most)
	if !ok {
		return ""
	}
	if !wide {
		for _, c := range b {
			if c >= 0x80 {
				return string(latin1(b))
			}
		}
		return string(b)
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}

func latin1(b []byte) []rune {
	r := make([]rune, len(b))
	for i, c := range b {
		r[i] = rune(c)
	}
	return r
}

// text is what v, a string, begins with, at most most units, and its length in units.
func (h heap) text(v value, most uint32) (text string, length uint32) {
	p := uint32(v)
	length = h.u32(p) &^ (1 << 31)
	const maxDepth = 100 // the interpreter keeps ropes flatter
	for range maxDepth {
		if v.tag() == tagString {
			return h.flat(uint32(v), most), length
		}
		v = value(h.u64(uint32(v) + 8)) // the left part is enough of a long text
	}
	return "", length
}

// array are the items of an array that keeps them side by side, as all do that have no holes, and its length.
func (h heap) array(o object) (items, length uint32) {
	const lengthAt = 0 // its first property
	length = uint32(value(h.u64(h.u32(uint32(o)+16) + lengthAt)).number())
	const fast = 1 << 4
	if h.u32(uint32(o)+8)&fast == 0 {
		return 0, length
	}
	return h.u32(uint32(o) + 28), min(length, h.u32(uint32(o)+32))
}

// iterator is what an iterator of a Map or Set keeps of itself.
type iterator struct {
	of   value // the Map or Set; undefined at the end
	kind uint32
	past uint32 // items that it has given and that are still there
}

// iterator reads v, an iterator of a Map or Set:
//
//	JSMapIteratorData  JSValue of  kind (4)  JSMapRecord *current
//	JSMapRecord        references (4)  deleted (1)  JSMapState *  links (16)  key, value (16)
func (h heap) iterator(v value) iterator {
	o, ok := objectAt(v)
	if class := h.class(o); !ok || class != classMapIterator && class != classSetIterator {
		return iterator{of: undefined}
	}
	data := h.u32(uint32(o) + 24)
	it := iterator{of: value(h.u64(data)), kind: h.u32(data + 8)}
	of, ok := objectAt(it.of)
	if class := h.class(of); !ok || class != classMap && class != classSet {
		return iterator{of: undefined, kind: it.kind}
	}
	current := h.u32(data + 12)
	if current == 0 {
		return it
	}
	const linkAt, maxItems = 12, 1 << 20
	head := h.u32(uint32(of)+24) + 4
	for link, n := h.u32(head+4), 0; link != head && n < maxItems; link, n = h.u32(link+4), n+1 {
		record := link - linkAt
		if h.u32(record+4)&0xff == 0 {
			it.past++
		}
		if record == current {
			return it
		}
	}
	return it
}

// probeHeap checks that objects lie in memory as heap reads them, and finds where the atoms are.
func (in *interp) probeHeap() error {
	v, err := in.evalTrusted(`({
		text: "text", wide: "数", rope: "r".repeat(9000) + Math.random(), int: 7, float: 2.5, get: [1, 2, "three"], typed: new Uint16Array([8, 9]),
		map: new Map([[1, 2]]), big: -(2n ** 40n), date: new Date(5), f() {}, proxy: new Proxy({}, {}), set: new Set([1, 2, 3]), get accessor() { return 1 },
		iterator: (() => { const it = new Map([[1, 2], [3, 4], [5, 6]]).entries(); it.next(); it.next(); return it })(), setIterator: new Set([1]).values(),
		slice: "-slice".repeat(900).slice(1, 4000), wideSlice: "片段".repeat(900).slice(1, 1500),
	})`, "cloche:probe")
	if err != nil {
		return err
	}
	defer in.free(v)
	b, h := in.b, heap{in.g.Memory(), in.b}
	b.NameAtom, b.LengthAtom, b.ConstructorAtom = in.atom("name"), in.atom("length"), in.atom("constructor") // of the interpreter's own
	o, _ := objectAt(v)
	list := slices.Collect(h.properties(o, mostNames))
	if len(list) != 18 {
		return errors.New("the properties of an object are not where they should be")
	}
	for b.AtomsAt = 4; b.AtomsAt < 4096; b.AtomsAt += 4 {
		if name, ok := h.name(list[0].atom, 10); ok && name == "text" {
			break
		}
	}
	for i, want := range []string{"text", "wide", "rope"} {
		if name, ok := h.name(list[i].atom, 10); !ok || name != want {
			return errors.New("the names of properties are not where they should be")
		}
	}
	text, n := h.text(list[0].value, 3)
	wide, one := h.text(list[1].value, 5)
	rope, long := h.text(list[2].value, 2)
	if text != "tex" || n != 4 || wide != "数" || one != 1 || list[2].value.tag() != tagRope || rope != "rr" || long < 9000 {
		return errors.New("the text of strings is not where it should be")
	}
	slice, _ := h.text(list[16].value, 5)
	wideSlice, _ := h.text(list[17].value, 2)
	if slice != "slice" || wideSlice != "段片" {
		return errors.New("the text of slices is not where it should be")
	}
	items, length := h.array(object(uint32(list[5].value)))
	if length != 3 || value(h.u64(items)) != intValue(1) || list[3].value != intValue(7) || list[4].value.float() != 2.5 {
		return errors.New("the items of an array are not where they should be")
	}
	classes := map[int]uint16{5: classArray, 6: classUint8Clamped + 4, 7: classMap, 9: classDate, 10: classCFunction + 1, 11: classProxy, 12: classSet}
	for i, want := range classes {
		o, ok := objectAt(list[i].value)
		if got := h.class(o); !ok || got != want {
			return errors.New("the classes of objects have other numbers")
		}
	}
	c := card{heap: h}
	for i, want := range map[int]string{5: `[1, 2, "three"]`, 6: "[8, 9]", 8: "-1099511627776n", 10: "f(0)"} {
		if got := c.preview(list[i].value); got != want {
			return errors.New("values are not where they should be: " + got + " is not " + want)
		}
	}
	if it, set := h.iterator(list[14].value), h.iterator(list[15].value); it.past != 2 || it.kind != 2 || set.past != 0 || set.kind != 0 ||
		h.class(object(uint32(it.of))) != classMap {
		return errors.New("iterators are not as they should be")
	}
	if c.tell("", list[7].value).Length == nil || *c.tell("", list[12].value).Length != 3 || list[13].flags&propKind != propAccessor ||
		c.kind(list[9].value) != "Date" {
		return errors.New("objects are not as they should be")
	}
	return nil
}
