package js

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/cloche-dev/cloche/runtimes/js/libregexp"
)

// memory is linear memory without an interpreter.
type memory []byte

func (m memory) Size() uint32 { return uint32(len(m)) }

func (m memory) Read(offset, n uint32) ([]byte, bool) {
	if uint64(offset)+uint64(n) > uint64(len(m)) {
		return nil, false
	}
	return m[offset : offset+n], true
}

func (m memory) Write(offset uint32, b []byte) bool {
	at, ok := m.Read(offset, uint32(len(b)))
	copy(at, b)
	return ok
}

func (m memory) ReadUint32(offset uint32) (uint32, bool) {
	b, ok := m.Read(offset, 4)
	if !ok {
		return 0, false
	}
	return binary.LittleEndian.Uint32(b), true
}

func (m memory) WriteUint32(offset, v uint32) bool {
	return m.Write(offset, binary.LittleEndian.AppendUint32(nil, v))
}

// FuzzCard reads state cards from memory that the program has damaged: any bytes may lie where objects should be.
func FuzzCard(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, []byte{1, 0, 0, 0, 51, 0, 36, 0, 2, 0})
	}
	f.Fuzz(func(t *testing.T, seed uint64, lay []byte) {
		r := rand.New(rand.NewPCG(seed, 1))
		mem := make(memory, 64<<10)
		for i := 0; i+4 <= len(mem); i += 4 { // small numbers, so that they are addresses, counts and classes
			binary.LittleEndian.PutUint32(mem[i:], r.Uint32N(1<<r.Uint32N(18)))
		}
		for i := 0; i+4 <= len(mem); i += 4 * (1 + r.IntN(8)) {
			if r.IntN(3) == 0 { // the tag of a value
				binary.LittleEndian.PutUint32(mem[i:], uint32(-int32(r.Uint32N(10))))
			}
		}
		copy(mem[r.IntN(len(mem)):], lay)
		at := func() uint32 { return r.Uint32N(uint32(len(mem))) }
		b := &boot{Runtime: at(), AtomsAt: at(), Known: at(), NameAtom: 1, LengthAtom: 2, ConstructorAtom: 3}
		b.Global, b.Lexicals = value(at())|objectBits, value(at())|objectBits
		c := card{heap: heap{mem, b}}
		c.each(func(name string, mark uint64, _ value, tell func() told) {
			told := tell()
			if n := len(told.Name) + len(told.Type) + len(told.Preview); n > 8192 {
				t.Errorf("%d bytes for a name", n)
			}
			c.now = append(c.now, known{mark, name})
		})
		c.remembered()
		for range 64 {
			v := value(at()) | value(r.Uint64()<<32)
			c.tell("v", v)
			c.mark(v)
			c.preview(value(at()) | objectBits)
			c.kind(value(at()) | objectBits)
		}
		b.ObjectProto, b.ArrayProto = object(at()), object(at())
		for range 64 {
			w := plainWriter{heap: c.heap, plainBounds: smallPlain, gap: "  ", pause: func() {}}
			if w.value(value(at())|objectBits, 0); len(w.out) > 2*smallPlain.bytes+len(mem) {
				t.Errorf("%d bytes of JSON", len(w.out))
			}
		}
	})
}

// objectBits make an address an object's value.
const objectBits = value(0xffffffff << 32)

// TestForgedMarks: a program that owns its memory says that a card remembered names, of the greatest length, all over it.
func TestForgedMarks(t *testing.T) {
	mem := make(memory, 1<<20)
	for i := range mem {
		mem[i] = 0xff
	}
	mem.WriteUint32(0, 12)
	mem.WriteUint32(4, uint32(len(mem)-12))
	c := card{heap: heap{mem, &boot{}}}
	held := 0
	for _, k := range c.remembered() {
		held += len(k.name)
	}
	if held > 64<<10 {
		t.Errorf("the host copied %d bytes of names that no card remembers", held)
	}
}

// FuzzPattern searches with code of a pattern that the program has damaged.
func FuzzPattern(f *testing.F) {
	for _, code := range []string{"\x05\x01\x13\x00\x01a\x00\x14\x00\x10", "\x1b\x00\x03\x00\x00\x00\x28\x06\x00\x00\x00\x13\x01\x07\x14\x01\x11\x20\x01\x01\x10",
		"\x24\x01\x00a\x00z\x00\x19\x00\x01\x00\x00\x00\xf0\xff\xff\xff\x10", "\x29\x02\x00\x00\x00\x1c\x12\x0f\xfa\xff\xff\xff\x10"} {
		f.Add([]byte(code), "aab z1\n", byte(formPlaces))
	}
	f.Fuzz(func(t *testing.T, code []byte, text string, form byte) {
		all := append([]byte("\x0e\x06\x00\x00\x00\x06\x0d\xf4\xff\xff\xff"), code...) // what tries each place
		head := binary.LittleEndian.AppendUint32([]byte{1, 0, 2, 2}, uint32(len(all)))
		p := libregexp.Decode(append(head, all...))
		if p == nil || len(text) > 100 {
			return
		}
		tell(p, []byte(text), int32(form%5), "$1$2$&", func() {})
		wide := make([]uint16, len(text))
		for i, c := range []byte(text) {
			wide[i] = uint16(c) << 4
		}
		tell(p, wide, int32(form%5), "", func() {})
	})
}
