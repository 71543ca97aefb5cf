package layout

import (
	"bytes"
	"fmt"
	"sort"
)

// A checker compares a function with its new form by walking through both at once, from the start along every way that the flow of
// control can take. It decodes the new one by itself and knows nothing of how it was made, but for the calls that are to be set.
type checker struct {
	old   *function
	base  int     // where it is in its executable
	code  []byte  // of the new form
	calls []fixup // of code, in order
	pair  []int32 // by offset in old: the offset in new, plus 1
	todo  [][2]int
}

func (c *checker) check(old *function, base int, code []byte, calls []fixup) error {
	c.old, c.base, c.code, c.calls = old, base, code, calls
	c.pair = append(c.pair[:0], make([]int32, len(old.code))...)
	c.todo = append(c.todo[:0], [2]int{0, 0})
	for len(c.todo) > 0 {
		at := c.todo[len(c.todo)-1]
		c.todo = c.todo[:len(c.todo)-1]
		if err := c.walk(at[0], at[1]); err != nil {
			return err
		}
	}
	return nil
}

// walk goes on from an offset in each until the ways part, end, or were gone before.
func (c *checker) walk(o, n int) error {
	// The offsets that the last lea took, of what may be a jump table.
	leaOld, leaNew := -1, -1
	for {
		a, atOld, err := follow(c.old.instruction, o)
		if err != nil {
			return err
		}
		b, atNew, err := follow(c.decode, n)
		if err != nil {
			return err
		}
		if leaOld >= 0 && (atOld != o || a.kind != plain && a.kind != stop) {
			return fmt.Errorf("%w: at %#x: the address of a table that no jump follows", ErrUnknown, o)
		}
		o, n = atOld, atNew
		switch was := int(c.pair[o]) - 1; {
		case was >= 0 && was != n:
			return c.differs(o, n, "it has another place, too")
		case was == n && leaOld < 0:
			return nil
		}
		if leaOld < 0 { // else the way from the lea is another one
			c.pair[o] = int32(n + 1)
		}
		endOld, endNew := o+a.size, n+b.size
		if a.kind != b.kind {
			return c.differs(o, n, "another kind of instruction")
		}
		if a.kind == branch {
			takenOld, takenNew := o+a.to, n+b.to
			switch b.cond {
			case a.cond:
			case a.cond ^ 1:
				takenNew, endNew = endNew, takenNew
			default:
				return c.differs(o, n, "another condition")
			}
			c.todo = append(c.todo, [2]int{takenOld, takenNew})
			o, n = endOld, endNew
			continue
		}
		if !equal(c.old.code[o:endOld], c.code[n:endNew], a.relative, b.relative) {
			return c.differs(o, n, "another instruction")
		}
		to, toNew := o+a.to, n+b.to
		switch {
		case a.kind == call:
			if !c.willCall(n+b.relative, c.base+to) {
				return c.differs(o, n, "another function is called")
			}
		case a.kind == stop && leaOld == endOld:
			return c.table(endOld, leaNew)
		case a.kind == stop:
			if leaOld >= 0 || c.old.isIndirect(&c.old.items[c.old.itemAt[o]-1]) {
				return fmt.Errorf("%w: at %#x: a jump without a table, or a table without a jump", ErrUnknown, o)
			}
			return nil
		case a.relative == 0:
		case a.to == 0 || b.to == 0: // its own address
			if a.to != b.to {
				return c.differs(o, n, "another address")
			}
		case to < c.old.pool:
			leaOld, leaNew = to, toNew
		case toNew < 0 || toNew > len(c.code) || !bytes.HasPrefix(c.code[toNew:], c.old.code[to:]):
			return c.differs(o, n, "other constants")
		}
		o, n = endOld, endNew
	}
}

// equal compares instructions but for the address in them.
func equal(a, b []byte, relative, relativeB int) bool {
	if relative == 0 || relative != relativeB || len(a) != len(b) {
		return relative == relativeB && bytes.Equal(a, b)
	}
	return bytes.Equal(a[:relative], b[:relative]) && bytes.Equal(a[relative+4:], b[relative+4:])
}

// table compares jump tables.
func (c *checker) table(o, n int) error {
	size := c.old.items[c.old.itemAt[o]-1].size
	if n < 0 || n+size > len(c.code) {
		return c.differs(o, n, "no jump table")
	}
	for e := 0; e < size; e += 8 {
		c.todo = append(c.todo, [2]int{tableEntry(c.old.code, o, e), tableEntry(c.code, n, e)})
	}
	return nil
}

// willCall tells whether the address at an offset of the new code is to be that of the function which was at the target.
func (c *checker) willCall(at, target int) bool {
	i := sort.Search(len(c.calls), func(i int) bool { return c.calls[i].at >= at })
	return i < len(c.calls) && c.calls[i] == fixup{at, target}
}

func (c *checker) differs(o, n int, what string) error {
	return fmt.Errorf("%w: at %#x, now %#x: %s", ErrDiffers, o, n, what)
}

// decode reads an instruction of the new code.
func (c *checker) decode(at int) (instruction, error) {
	if at < 0 || at >= len(c.code) {
		return instruction{}, fmt.Errorf("%w: the code goes on at %#x, outside of the function", ErrDiffers, at)
	}
	return decode(c.code[at:])
}

// instruction is the one that begins at an offset.
func (f *function) instruction(at int) (instruction, error) {
	if at < 0 || at >= f.pool || f.itemAt[at] <= 0 || f.items[f.itemAt[at]-1].table != nil {
		return instruction{}, fmt.Errorf("%w: the code goes on at %#x, where no instruction begins", ErrUnknown, at)
	}
	return f.items[f.itemAt[at]-1].instruction, nil
}

// follow gives the instruction that is executed at an offset, behind the jumps that lead from there.
func follow(read func(at int) (instruction, error), at int) (instruction, int, error) {
	for range 1000 {
		in, err := read(at)
		if err != nil || in.kind != jump {
			return in, at, err
		}
		at += in.to
	}
	return instruction{}, 0, fmt.Errorf("%w: jumps without end", ErrUnknown)
}
