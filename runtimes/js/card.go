package js

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/cloche-dev/cloche/runtimes"
)

// A session's state card tells what a turn did to the session's names, for whoever cannot see them. Names are those of top-level
// let, const and class, and the global object's enumerable properties but for those that every program finds. What changed
// is found by comparing marks, numbers made of a value's identity, size and first items. The marks of the last card
// lie in the guest's memory, so that they are rolled back, forked and stored with what they are about:
//
//	boot.Known:  address, length, capacity (u32 each)  ->  { mark (u64)  length (u16)  name } …
//
// All of it is read by [heap], not by code of the guest.
type card struct {
	heap
	now []known
}

// known is a name with the mark of its value.
type known struct {
	mark uint64
	name string
}

// told is a name on a card.
type told struct {
	Name    string  `json:"name"`
	Type    string  `json:"type"`
	Length  *uint32 `json:"length,omitempty"`
	Preview string  `json:"preview,omitempty"`
}

const (
	maxNames   = 1 << 14 // of a scope that are looked at
	mostNames  = 100     // in each list of a card, and units of a name
	shortText  = 64      // units of text that are compared, and of a preview
	mostMarked = 16      // items or properties that are compared
)

// card is the card of the turn that has just ended, nil when it changed nothing.
func (in *interp) card() json.RawMessage {
	c := card{heap: heap{in.g.Memory(), in.b}}
	before := c.remembered()
	var diff struct {
		Added   []told   `json:"added"`
		Changed []told   `json:"changed"`
		Removed []string `json:"removed"`
		More    int      `json:"more"`
	}
	find := finder(before)
	found := make([]bool, len(before))
	c.each(func(name string, mark uint64, _ value, tell func() told) {
		c.now = append(c.now, known{mark, name})
		i, ok := find(name)
		if !ok {
			diff.Added = appendSome(diff.Added, &diff.More, tell)
			return
		}
		if before[i].mark != mark {
			diff.Changed = appendSome(diff.Changed, &diff.More, tell)
		}
		found[i] = true
	})
	for i, k := range before {
		if !found[i] {
			diff.Removed = appendSome(diff.Removed, &diff.More, func() string { return k.name })
		}
	}
	if len(diff.Added)+len(diff.Changed)+len(diff.Removed) == 0 {
		return nil
	}
	in.remember(c.now)
	text, err := json.Marshal(diff)
	if err != nil || len(text) > runtimes.MaxState {
		return nil
	}
	return text
}

// finder finds names in a list. They keep their order from turn to turn, so that the next one is nearly always the one that is
// looked for.
func finder(list []known) func(name string) (int, bool) {
	next := 0
	var index map[string]int
	return func(name string) (int, bool) {
		if next < len(list) && list[next].name == name {
			next++
			return next - 1, true
		}
		if index == nil {
			index = make(map[string]int, len(list))
			for i, k := range list {
				index[k.name] = i
			}
		}
		i, ok := index[name]
		if ok {
			next = i + 1
		}
		return i, ok
	}
}

// knownHead is what comes before each name in the guest's memory, in bytes.
const knownHead = 10

// remembered are the marks of the last card.
func (c *card) remembered() (list []known) {
	b, _ := c.mem.Read(c.u32(c.b.Known), c.u32(c.b.Known+4))
	for len(b) > knownHead && len(list) < 2*maxNames {
		n := knownHead + int(binary.LittleEndian.Uint16(b[8:]))
		if n > min(len(b), knownHead+3*mostNames) { // no name that was remembered is longer
			break
		}
		list = append(list, known{binary.LittleEndian.Uint64(b), string(b[knownHead:n])})
		b = b[n:]
	}
	return list
}

// remember keeps the marks of a card. Without room for them nothing is known at the next one.
func (in *interp) remember(list []known) {
	var b []byte
	for _, k := range list {
		b = binary.LittleEndian.AppendUint64(b, k.mark)
		b = binary.LittleEndian.AppendUint16(b, uint16(len(k.name)))
		b = append(b, k.name...)
	}
	at, room := in.u32(in.b.Known), in.u32(in.b.Known+8)
	if int(room) < len(b) {
		in.release(at)
		at, room = 0, 0
		if p, ok := in.alloc(2 * len(b)); ok {
			at, room = p, uint32(2*len(b))
		} else {
			b = nil
		}
	}
	if at != 0 {
		in.put(at, b)
	}
	var head []byte
	for _, n := range []uint32{at, uint32(len(b)), room} {
		head = binary.LittleEndian.AppendUint32(head, n)
	}
	in.put(in.b.Known, head)
}

func appendSome[T any](list []T, more *int, item func() T) []T {
	if len(list) == mostNames {
		*more++
		return list
	}
	return append(list, item())
}

// each calls do for each name of the session; the value of an accessor is undefined.
func (c *card) each(do func(name string, mark uint64, v value, tell func() told)) {
	given := 0 // how many of the given names have passed: they keep their order
	for _, lexical := range []bool{true, false} {
		o, _ := objectAt(c.b.Lexicals)
		if !lexical {
			o, _ = objectAt(c.b.Global)
		}
		for p := range c.properties(o, maxNames) {
			if !lexical && p.flags&propEnumerable == 0 || p.value.tag() == tagUninitialized && lexical {
				continue
			}
			if !lexical && given < len(c.b.Given) && c.named(p.atom, c.b.Given[given]) {
				given++
				continue
			}
			name, ok := c.name(p.atom, mostNames)
			if !ok || !lexical && slices.Contains(c.b.Given, name) {
				continue
			}
			if p.flags&propKind != propNormal {
				do(name, uint64(p.value), undefined, func() told { return told{Name: name, Type: "accessor"} })
				continue
			}
			do(name, c.mark(p.value), p.value, func() told { return c.tell(name, p.value) })
		}
	}
}

// given are the names of the global object that every program finds.
func (h heap) given() (names []string) {
	o, _ := objectAt(h.b.Global)
	for p := range h.properties(o, maxNames) {
		if name, ok := h.name(p.atom, mostNames); ok && p.flags&propEnumerable != 0 {
			names = append(names, name)
		}
	}
	return names
}

// seed makes marks the same in every process: they are stored with sessions.
const seed = 0x9e3779b97f4a7c15

// mix adds x to a mark.
func mix(mark, x uint64) uint64 { return splitMix(mark ^ x) }

func mixBytes(mark uint64, b []byte) uint64 {
	for ; len(b) >= 8; b = b[8:] {
		mark = mix(mark, binary.LittleEndian.Uint64(b))
	}
	for _, c := range b {
		mark = mix(mark, uint64(c))
	}
	return mark
}

// mark tells a value from others, and from what it was before it was changed in place, as far as that is found at once.
func (h heap) mark(v value) uint64 {
	switch v.tag() {
	case tagString, tagRope:
		text, n := h.text(v, shortText)
		return mixBytes(mix(seed, uint64(n)), []byte(text))
	case tagBigInt:
		n := min(h.u32(uint32(v)), shortText)
		b, _ := h.mem.Read(uint32(v)+4, 4*n)
		return mixBytes(mix(seed, 1), b)
	case tagObject:
		return h.markObject(v)
	}
	return mix(seed, uint64(v))
}

func (h heap) markObject(v value) uint64 {
	o, _ := objectAt(v)
	class := h.class(o)
	mark := mix(seed, uint64(v))
	switch {
	case isFunction(class) || class == classProxy:
		return mark
	case class == classArray:
		items, n := h.array(o)
		b, _ := h.mem.Read(items, 8*min(n, mostMarked))
		return mixBytes(mix(mark, uint64(n)), b)
	case isTyped(class):
		n := h.u32(uint32(o) + 32)
		b, _ := h.mem.Read(h.u32(uint32(o)+28), min(n<<widthOf[class-classUint8Clamped], 8*mostMarked))
		return mixBytes(mix(mark, uint64(n)), b)
	case class == classMap || class == classSet:
		mark = mix(mark, uint64(h.records(o)))
	case class >= classNumber && class <= classDate:
		mark = mix(mark, h.u64(uint32(o)+24))
	}
	mark = mix(mark, uint64(h.count(o)))
	for p := range h.properties(o, mostMarked) {
		if p.flags&propKind == propNormal {
			mark = mix(mark, uint64(p.value))
		}
	}
	return mark
}

// records is how many items a Map or Set has.
func (h heap) records(o object) uint32 { return h.u32(h.u32(uint32(o)+24) + 12) }

func (h heap) tell(name string, v value) told {
	t := told{Name: name, Type: h.kind(v), Preview: h.preview(v)}
	n := uint32(0)
	switch v.tag() {
	case tagString, tagRope:
		_, n = h.text(v, 0)
	case tagObject:
		o, _ := objectAt(v)
		switch class := h.class(o); {
		case class == classArray:
			_, n = h.array(o)
		case isTyped(class):
			n = h.u32(uint32(o) + 32)
		case class == classMap || class == classSet:
			n = h.records(o)
		default:
			return t
		}
	default:
		return t
	}
	t.Length = &n
	return t
}

// kind is the type of a value: what typeof gives, or the name of the class that made an object.
func (h heap) kind(v value) string {
	switch v.tag() {
	case tagString, tagRope:
		return "string"
	case tagBigInt, tagShortBigInt:
		return "bigint"
	case tagSymbol:
		return "symbol"
	case tagBool:
		return "boolean"
	case tagNull:
		return "null"
	case tagUndefined:
		return "undefined"
	case tagObject:
		return h.kindOf(object(uint32(v)))
	}
	return "number"
}

func (h heap) kindOf(o object) string {
	switch class := h.class(o); {
	case isFunction(class):
		return "function"
	case class == classArray:
		return "Array"
	case class == classProxy: // of what, only its traps could tell
		return "Proxy"
	}
	maker, _ := h.own(h.proto(o), h.b.ConstructorAtom)
	if f, ok := objectAt(maker); ok {
		if name := h.ownText(f, h.b.NameAtom); name != "" {
			return name
		}
	}
	return "Object"
}

// ownText is the object's own property of that atom, if it is a string.
func (h heap) ownText(o object, atom uint32) string {
	v, ok := h.own(o, atom)
	if !ok || v.tag() != tagString && v.tag() != tagRope {
		return ""
	}
	text, _ := h.text(v, shortText)
	return text
}

// preview shows some of a value; "" when there is nothing that is easily shown.
func (h heap) preview(v value) string {
	o, ok := objectAt(v)
	if !ok {
		word, _ := h.word(v)
		return word
	}
	class := h.class(o)
	switch {
	case isFunction(class):
		n, _ := h.own(o, h.b.LengthAtom)
		return h.ownText(o, h.b.NameAtom) + "(" + formatNumber(n.number()) + ")"
	case class == classArray:
		items, n := h.array(o)
		return h.items(n, func(i uint32) (string, bool) { return h.word(value(h.u64(items + 8*i))) })
	case isTyped(class):
		data, kind := h.u32(uint32(o)+28), class-classUint8Clamped
		return h.items(h.u32(uint32(o)+32), func(i uint32) (string, bool) {
			width := uint32(1) << widthOf[kind]
			b, ok := h.mem.Read(data+i*width, width)
			if !ok {
				return "", false
			}
			return typedText[kind](b), true
		})
	case class == classProxy:
		return ""
	}
	return h.keys(o)
}

const shownItems = 4

func (h heap) items(n uint32, item func(uint32) (string, bool)) string {
	var words []string
	for i := range min(n, shownItems) {
		w, ok := item(i)
		if !ok {
			return ""
		}
		words = append(words, w)
	}
	if n > shownItems {
		words = append(words, "…")
	}
	return "[" + strings.Join(words, ", ") + "]"
}

func (h heap) keys(o object) string {
	const shownKeys = 8
	var names []string
	for p := range h.properties(o, mostNames) {
		name, ok := h.name(p.atom, shortText)
		if !ok || p.flags&propEnumerable == 0 {
			continue
		}
		if len(names) == shownKeys {
			names = append(names, "…")
			break
		}
		names = append(names, name)
	}
	if names == nil {
		return ""
	}
	return "{" + strings.Join(names, ", ") + "}"
}

// word shows a value that is no object; false for one, and for a symbol.
func (h heap) word(v value) (string, bool) {
	switch v.tag() {
	case tagString, tagRope:
		text, n := h.text(v, shortText)
		if n > shortText {
			text += "…"
		}
		quoted, _ := json.Marshal(text)
		return string(quoted), true
	case tagBigInt:
		return h.bigInt(uint32(v)), true
	case tagShortBigInt:
		return strconv.Itoa(int(v.int())) + "n", true
	case tagUndefined:
		return "undefined", true
	case tagObject, tagSymbol:
		return "", false
	}
	return plain(v)
}

func (h heap) bigInt(p uint32) string {
	n := h.u32(p)
	if n > 8 {
		return "…n"
	}
	b, ok := h.mem.Read(p+4, 4*n)
	if !ok || n == 0 {
		return "…n"
	}
	be := slices.Clone(b)
	slices.Reverse(be)
	x := new(big.Int).SetBytes(be)
	if be[0]&0x80 != 0 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(be))))
	}
	return x.String() + "n"
}

// By kind of a typed array, in the order of their classes: the logarithm of an item's size in bytes, and the text of one.
var (
	widthOf   = [...]uint32{0, 0, 0, 1, 1, 2, 2, 3, 3, 1, 2, 3}
	typedText = [...]func([]byte) string{
		asUnsigned, asSigned, asUnsigned, asSigned, asUnsigned, asSigned, asUnsigned,
		func(b []byte) string { return asSigned(b) + "n" }, func(b []byte) string { return asUnsigned(b) + "n" },
		func(b []byte) string { return formatNumber(halfFloat(binary.LittleEndian.Uint16(b))) },
		func(b []byte) string {
			return formatNumber(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
		},
		func(b []byte) string { return formatNumber(math.Float64frombits(binary.LittleEndian.Uint64(b))) },
	}
)

func asUnsigned(b []byte) string {
	var wide [8]byte
	copy(wide[:], b)
	return strconv.FormatUint(binary.LittleEndian.Uint64(wide[:]), 10)
}

func asSigned(b []byte) string {
	var wide [8]byte
	unused := 64 - 8*len(b)
	copy(wide[8-len(b):], b)
	return strconv.FormatInt(int64(binary.LittleEndian.Uint64(wide[:]))>>unused, 10)
}

// halfFloat is a number of 16 bits (IEEE 754, binary16).
func halfFloat(h uint16) float64 {
	sign, exp, frac := float64(1), int(h>>10&31), float64(h&1023)
	if h>>15 == 1 {
		sign = -1
	}
	switch exp {
	case 0:
		return sign * math.Ldexp(frac, -24)
	case 31:
		if frac != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+frac, exp-25)
}
