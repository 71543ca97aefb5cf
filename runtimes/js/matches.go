package js

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cloche-dev/cloche/runtimes/js/libregexp"
)

// Looking for all matches of a pattern in a long text is done here, in place of the interpreter, which takes some ten times as long.
// The guest's language.js asks for it, where no program can tell the difference, and makes the results. A pattern that
// [libregexp] does not know or gives up is left to the interpreter; [interp.probeRegExp] checks that it knows what the interpreter
// compiles.

// Forms of what opMatches tells. Where it is a list, a capture that there is not is undefined in it.
const (
	formSplit    = 0 // a list of what lies between the matches, and the captures of each between two
	formMatched  = 1 // a list of the matches
	formReplaced = 2 // the text with each match replaced
	formCalls    = 3 // a list: the number of captures, of each match what lies before it and its captures, and what lies behind the last one
	formPlaces   = 4 // where the matches begin: an ArrayBuffer of i32
)

// matches is opMatches.
func (in *interp) matches(a arguments) uint64 {
	form, by := a.int(2), ""
	if form == formReplaced {
		by = a.text(3, maxReplacement+1)
	}
	out, steps, ok := in.tellMatches(a.value(0), a.value(1), form, by)
	in.g.Charge(fuelPerStep * uint64(steps))
	if !ok {
		return in.null()
	}
	switch form {
	case formReplaced:
		return in.box(newText(in, out))
	case formPlaces:
		return in.buffer(len(out), func(b []byte) { copy(b, out) })
	}
	return in.box(in.readObject(out))
}

// readObject makes an object of what the interpreter might have written of it.
func (in *interp) readObject(b []byte) value {
	p, ok := in.alloc(len(b))
	if !ok {
		return value(in.call("JS_ThrowOutOfMemory", uint64(in.b.Ctx)))
	}
	in.put(p, b)
	v := value(in.call("JS_ReadObject", uint64(in.b.Ctx), uint64(p), uint64(len(b)), 0))
	in.release(p)
	return v
}

// maxPlaces bounds the matches whose places are told: the program takes one after the other, and may stop after the first ones.
const maxPlaces = 64 << 10

// fuelPerStep is what a step costs the guest: about what it computes in the same time.
const fuelPerStep = 16

// Bounds of what is searched and told, in characters or bytes: the host holds both, and the positions that were found.
const (
	maxSearched    = 4 << 20
	maxTold        = 8 << 20
	maxReplacement = 1 << 10
)

// maxParts bounds the parts that are put in the place of matches, each of which is stepsPerPart of work, also if it is empty.
const (
	maxParts     = 4 << 20
	stepsPerPart = 4
)

// tellMatches looks for a pattern v in a text; false: it is the interpreter's work.
func (in *interp) tellMatches(v, text value, form int32, by string) (out []byte, steps int, ok bool) {
	h := heap{in.g.Memory(), in.b}
	code := h.pattern(v)
	p := libregexp.Decode(code)
	if steps = len(code) / libregexp.WordsPerStep; p == nil || !fits(p, form) || text.tag() != tagString || len(by) > maxReplacement {
		return nil, steps, false
	}
	units, wide, ok := h.chars(uint32(text), maxSearched+1)
	if !ok || len(units) > maxSearched {
		return nil, steps, false
	}
	if !wide {
		out, searched, ok := tell(p, units, form, by, in.look)
		return out, steps + searched, ok
	}
	chars := make([]uint16, len(units)/2)
	for i := range chars {
		chars[i] = binary.LittleEndian.Uint16(units[2*i:])
	}
	out, searched, ok := tell(p, chars, form, by, in.look)
	return out, steps + searched, ok
}

// fits says whether results of a pattern can be told in a form: without names of groups and indices.
func fits(p *libregexp.Pattern, form int32) bool {
	const named = libregexp.NamedGroup | libregexp.Indices
	return form == formSplit || p.Flags&libregexp.Global != 0 && (form == formMatched || form == formPlaces || p.Flags&named == 0)
}

// tell is what was found, and how many steps that took.
func tell[unit uint8 | uint16](p *libregexp.Pattern, text []unit, form int32, by string, pause func()) (out []byte, steps int, ok bool) {
	for _, c := range text {
		if uint32(c)>>11 == 0xd800>>11 { // half of a surrogate pair, which may have to be parted
			return nil, len(text) / libregexp.WordsPerStep, false
		}
	}
	t := teller[unit]{text: text, width: 2 * p.Captures}
	t.bytes, _ = any(text).([]byte)
	most := maxTold / 8
	switch form {
	case formMatched:
		t.width = 2
	case formPlaces:
		t.width, most = 1, maxPlaces
	}
	found, steps, err := libregexp.All(p, text, t.width, most, pause)
	steps += len(text) / libregexp.WordsPerStep // which is looked through first, and copied
	if err != nil {
		return nil, steps, false
	}
	switch form {
	case formReplaced:
		parts := t.parts(by)
		n := len(found) / t.width * len(parts)
		if n > maxParts {
			return nil, steps, false
		}
		steps += stepsPerPart * n
		t.replaced(found, parts)
	case formPlaces:
		for _, at := range found {
			t.out = binary.LittleEndian.AppendUint32(t.out, uint32(at))
		}
	default:
		t.list(found, form)
	}
	return t.out, steps + len(t.out)/libregexp.WordsPerStep, len(t.out) <= maxTold
}

// A teller writes what was found in a text.
type teller[unit uint8 | uint16] struct {
	text  []unit
	bytes []byte // the same, where characters are bytes
	width int    // positions for each match
	out   []byte
	items uint32 // of the list
}

// How the interpreter writes a list (quickjs.c, JS_WriteObject): a version, a checksum or that there is none, the number of names,
// and then the list and its items, each with a tag. Numbers are LEB128.
const (
	writtenHead      = "\x1d\xff\xff\xff\xff\x00"
	writtenUndefined = 2
	writtenInt       = 5
	writtenString    = 7 // number of characters << 1 | whether they have two bytes, characters
	writtenArray     = 9 // number of items, items
)

// item adds one to the list, unless that is too long already: the captures of one match may each have all of the text.
func (t *teller[unit]) item(from, to int32) {
	if len(t.out) > maxTold {
		return
	}
	t.items++
	if from < 0 || to < 0 {
		t.out = append(t.out, writtenUndefined)
		return
	}
	to = max(from, to)
	piece, wide := t.text[from:to], uint64(0)
	if t.bytes == nil && slices.ContainsFunc(piece, func(c unit) bool { return c > 0xff }) {
		wide = 1
	}
	t.out = binary.AppendUvarint(append(t.out, writtenString), uint64(len(piece))<<1|wide)
	if t.bytes != nil {
		t.out = append(t.out, t.bytes[from:to]...)
		return
	}
	for _, c := range piece {
		if t.out = append(t.out, byte(c)); wide != 0 {
			t.out = append(t.out, byte(uint16(c)>>8))
		}
	}
}

func (t *teller[unit]) list(found []int32, form int32) {
	t.out = make([]byte, 0, min(maxTold, len(t.text)+2*len(found))) // about what it takes
	if form == formCalls {
		t.items++
		t.out = binary.AppendVarint(append(t.out, writtenInt), int64(t.width/2))
	}
	end, size := int32(0), int32(len(t.text)) // of the match before
	for match := range slices.Chunk(found, t.width) {
		if len(t.out) > maxTold {
			return
		}
		if form == formSplit && (match[0] == size || match[1] == end) { // it is empty, and parts nothing
			continue
		}
		if form == formSplit || form == formCalls {
			t.item(end, match[0])
		}
		end = match[1]
		switch form {
		case formSplit:
			match = match[2:]
		case formMatched:
			match = match[:2]
		}
		for i := 0; i < len(match); i += 2 {
			t.item(match[i], match[i+1])
		}
	}
	if form == formSplit || form == formCalls {
		t.item(end, size)
	}
	head := binary.AppendUvarint(append([]byte(writtenHead), writtenArray), uint64(t.items))
	t.out = slices.Insert(t.out, 0, head...)
}

func (t *teller[unit]) add(from, to int32) {
	if from < 0 || to < from || len(t.out) > maxTold {
		return
	}
	for _, c := range t.text[from:to] {
		if c < utf8.RuneSelf {
			t.out = append(t.out, byte(c))
		} else {
			t.out = utf8.AppendRune(t.out, rune(c))
		}
	}
}

// part is one of what stands for a match: plain text, or what lies between two positions of the match.
type part struct {
	plain    string
	from, to int
}

// What a part may have instead of positions of the match.
const (
	atPlain = -1 // as from: it is plain text
	atStart = -2 // of the text
	atEnd   = -3
)

// parts are those of a replacement, in which $ may stand for some (ECMA-262, GetSubstitution).
func (t *teller[unit]) parts(by string) (list []part) {
	for {
		plain, after, found := strings.Cut(by, "$")
		p, taken := part{"$", atPlain, 0}, 0
		switch group, digits := t.groupNumber(after); {
		case after == "":
		case after[0] == '$':
			taken = 1
		case after[0] == '&':
			p, taken = part{"", 0, 1}, 1
		case after[0] == '`':
			p, taken = part{"", atStart, 0}, 1
		case after[0] == '\'':
			p, taken = part{"", 1, atEnd}, 1
		case digits > 0:
			p, taken = part{"", 2 * group, 2*group + 1}, digits
		}
		if plain != "" {
			list = append(list, part{plain, atPlain, 0})
		}
		if !found {
			return list
		}
		list, by = append(list, p), after[taken:]
	}
}

// replaced writes the text with the parts for each match.
func (t *teller[unit]) replaced(found []int32, parts []part) {
	end, size := int32(0), int32(len(t.text))
	for match := range slices.Chunk(found, t.width) {
		t.add(end, match[0])
		end = match[1]
		for _, p := range parts {
			switch {
			case len(t.out) > maxTold:
				return
			case p.from == atPlain:
				t.out = append(t.out, p.plain...)
			case p.from == atStart:
				t.add(0, match[p.to])
			case p.to == atEnd:
				t.add(match[p.from], size)
			default:
				t.add(match[p.from], match[p.to])
			}
		}
	}
	t.add(end, size)
}

// groupNumber is the group that a text begins with the number of, and how many digits say so: two, if there is such a group.
func (t *teller[unit]) groupNumber(s string) (group, digits int) {
	for _, n := range []int{2, 1} {
		if len(s) < n {
			continue
		}
		if g, err := strconv.ParseUint(s[:n], 10, 8); err == nil && g > 0 && int(g) < t.width/2 {
			return int(g), n
		}
	}
	return 0, 0
}

// pattern is the code of v, a RegExp; nil when it is none.
//
//	JSRegExp  JSString *source  JSString *code, whose characters are elsewhere: at the address in their place
func (h heap) pattern(v value) []byte {
	o, ok := objectAt(v)
	if !ok || h.class(o) != classRegExp {
		return nil
	}
	const codeAt, maxCode = 28, 64 << 10
	code := h.u32(uint32(o) + codeAt)
	b, _ := h.mem.Read(h.u32(code+charsAt), min(h.u32(code)&^(1<<31), maxCode))
	return b
}

// probeRegExp checks that patterns are compiled to what is known here: all instructions, on texts of each kind, find what they should.
func (in *interp) probeRegExp() error {
	for _, probe := range []struct{ source, want string }{
		{`[/(a)|b(?=c)|(?!b)[c-e\u0100-\u0200]+?\1$|\w{2}/g, "xabcde"]`, `[2,"","xa",null,"","b",null,"","cde",null,""]`},
		{`[/(?<=(\d))(?:\s|[^\S])+(x*)*\b|^.\B/gm, "1  x\n2xx é\u0100"]`, `[3,"1","  x","1","x","\n","2",null,null,"xx éĀ"]`},
		{`[/[\u{10000}-\u{10ffff}]|(?:ab?){2,3}?|\D\W$/gu, "aab\u0101!"]`, `[1,"","aab","","ā!",""]`},
	} {
		v, err := in.evalTrusted(probe.source, "cloche:probe")
		if err != nil {
			return err
		}
		list, _ := objectAt(v)
		h := heap{in.g.Memory(), in.b}
		items, _ := h.array(list)
		told, _, ok := in.tellMatches(value(h.u64(items)), value(h.u64(items+8)), formCalls, "")
		in.free(v)
		if !ok {
			return fmt.Errorf("patterns are not compiled as they should be: %s", probe.source)
		}
		v = in.readObject(told)
		got, _ := in.plainJSON(nil, v)
		in.free(v)
		if string(got) != probe.want {
			return fmt.Errorf("patterns are not compiled as they should be, or lists are not written so: %s gives %s, not %s", probe.source, got, probe.want)
		}
	}
	return nil
}
