package layout

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// A function is machine code of one function, taken apart. What it holds is by the index of an item: the instructions in their
// order, and tables of addresses between them.
type function struct {
	code   []byte
	items  []item
	pool   int         // offset of the constants behind the items
	itemAt []int32     // by offset: index of the item that begins there, plus 1
	aimed  []bool      // by index: something jumps there
	same   map[int]int // by index: the item that stands for this one, if it is another
}

type item struct {
	instruction
	at int
	// target is the index of the item that a jump or branch goes to.
	target int
	// table holds the targets of a jump table, whose address a lea took and which follows an indirect jump. Else it is nil.
	table []int
}

// goesOn tells whether the next item is reached from this one.
func (it *item) goesOn() bool { return it.table == nil && it.kind != stop && it.kind != jump }

func (f *function) bytes(it *item) []byte { return f.code[it.at : it.at+it.size] }

// leaTarget marks in itemAt an offset that a lea takes.
const leaTarget = -1

// takeApart decodes f.code, which begins with instructions and ends with constants that these refer to.
func (f *function) takeApart() error {
	f.items, f.pool = f.items[:0], len(f.code)
	f.itemAt = append(f.itemAt[:0], make([]int32, len(f.code)+1)...)
	for at := 0; at < f.pool; at += f.items[len(f.items)-1].size {
		it := item{at: at}
		last := len(f.items) - 1
		switch ended := last >= 0 && !f.items[last].goesOn(); {
		case f.itemAt[at] == leaTarget && ended && f.isIndirect(&f.items[last]):
			size, err := f.tableAt(at)
			if err != nil {
				return err
			}
			it.size, it.table = size, make([]int, size/8)
		case f.itemAt[at] == leaTarget && ended:
			f.pool = at
			return f.connect()
		case ended && padding(f.code[at:]):
			f.code, f.pool = f.code[:at], at
			return f.connect()
		default:
			var err error
			if it.instruction, err = decode(f.code[at:]); err != nil {
				return fmt.Errorf("at %#x: %w", at, err)
			}
			if err := f.refers(&it); err != nil {
				return err
			}
		}
		f.items = append(f.items, it)
		f.itemAt[at] = int32(len(f.items))
	}
	return f.connect()
}

// isIndirect tells whether an item is a jump through a register.
func (f *function) isIndirect(it *item) bool {
	b := f.bytes(it)
	return it.kind == stop && len(b) >= 2 && b[len(b)-2] == 0xff && b[len(b)-1]>>3 == 0xe0>>3
}

// padding tells whether the function ends before code: functions begin at multiples of 16.
func padding(code []byte) bool { return len(code) < 16 && len(bytes.Trim(code, "\x00")) == 0 }

// refers notes what an instruction takes the address of, or reads: itself, a table or constants behind the code.
func (f *function) refers(it *item) error {
	if !it.hasData() {
		return nil
	}
	to := it.at + it.to
	switch {
	case to <= it.at || to >= len(f.code):
		return fmt.Errorf("%w: at %#x: data that is not behind the code", ErrUnknown, it.at)
	case f.code[it.at+it.relative-2] == 0x8d: // lea
		f.itemAt[to] = leaTarget
	default:
		f.pool = min(f.pool, to)
	}
	return nil
}

// connect finds the items that others go to.
func (f *function) connect() error {
	f.aimed = append(f.aimed[:0], make([]bool, len(f.items)+1)...)
	aim := func(at int) (int, error) {
		if at < 0 || at >= f.pool || f.itemAt[at] <= 0 {
			return 0, fmt.Errorf("%w: a jump to %#x, where no instruction begins", ErrUnknown, at)
		}
		i := int(f.itemAt[at]) - 1
		f.aimed[i] = true
		return i, nil
	}
	for i := range f.items {
		it := &f.items[i]
		var err error
		if it.kind == jump || it.kind == branch {
			if it.target, err = aim(it.at + it.to); err != nil {
				return err
			}
		}
		for e := range it.table {
			if it.table[e], err = aim(tableEntry(f.code, it.at, e*8)); err != nil {
				return err
			}
		}
		if to := it.at + it.to; it.hasData() {
			if to >= len(f.code) {
				return fmt.Errorf("%w: at %#x: the address of what is between functions", ErrUnknown, it.at)
			}
			if k := f.itemAt[to] - 1; to < f.pool && (k < 0 || f.items[k].table == nil) {
				return fmt.Errorf("%w: at %#x: the address of code", ErrUnknown, it.at)
			}
		}
		if it.goesOn() && i+1 == len(f.items) {
			return fmt.Errorf("%w: the code ends at an instruction that goes on", ErrUnknown)
		}
	}
	// A table that is longer than it seems would go on as instructions that nothing jumps to.
	for i := range f.items {
		if f.items[i].table != nil && i+1 < len(f.items) && !f.aimed[i+1] {
			return fmt.Errorf("%w: at %#x: what follows a jump table is not reached", ErrUnknown, f.items[i+1].at)
		}
	}
	return nil
}

// tableAt returns the size of the jump table that begins at the offset. The code before it takes the least of the index and the
// table's last entry: mov reg, last; …; cmovae index, reg; lea; add; jmp.
func (f *function) tableAt(at int) (int, error) {
	reg := -1
	for i := len(f.items) - 1; i >= max(0, len(f.items)-12); i-- {
		b := f.bytes(&f.items[i])
		rex := byte(0)
		if b[0]&0xf0 == 0x40 {
			rex, b = b[0], b[1:]
		}
		register := func(low byte) int { return int(low&7 | rex&1<<3) }
		switch {
		case reg < 0 && len(b) == 3 && b[0] == 0x0f && b[1] == 0x43 && b[2] >= 0xc0:
			reg = register(b[2])
		case reg >= 0 && len(b) == 5 && b[0]&0xf8 == 0xb8 && register(b[0]) == reg:
			if size := 8 * (int(binary.LittleEndian.Uint32(b[1:])) + 1); size > 0 && size <= len(f.code)-at {
				return size, nil
			}
			return 0, fmt.Errorf("%w: the jump table at %#x ends outside of the function", ErrUnknown, at)
		case reg >= 0 && len(b) == 2 && b[0] == 0x31 && b[1] >= 0xc0 && register(b[1]) == reg:
			return 8, nil
		}
	}
	return 0, fmt.Errorf("%w: the jump table at %#x has no size", ErrUnknown, at)
}

// tableEntry is where an entry of the table at an offset leads: it is kept relative to the table's begin.
func tableEntry(code []byte, table, entry int) int {
	return table + int(int64(binary.LittleEndian.Uint64(code[table+entry:])))
}
