package layout

import "encoding/binary"

// cold finds the stretches of items that are to lie behind the rest: what a failed check of bounds does, growing the stack, and
// refilling the fuel. Whether they are right decides nothing but speed. It gives by index of an item the index behind the stretch that
// begins there, or 0.
func (f *function) cold() []int {
	ends := make([]int, len(f.items))
	for i := 0; i+2 < len(f.items); i++ {
		it, next := &f.items[i], &f.items[i+1]
		if it.kind != branch {
			continue
		}
		switch {
		case it.target > i+1 && it.target-i < 24 && f.isExit(i+1, it.target):
			ends[i+1] = it.target
		// The jump over the stretch is written out: cmp reg, 0; jl stretch; jmp behind it.
		case it.target == i+2 && next.kind == jump && it.cond == 0xc && next.target > i+2 && next.target-i < 48 &&
			i > 0 && f.isCompareZero(&f.items[i-1]) && f.callsOut(i+2, next.target):
			ends[i+2] = next.target
		}
	}
	return ends
}

// isExit tells whether the items leave the module, or call what grows the stack, and do not go on.
func (f *function) isExit(from, to int) bool {
	if f.items[to-1].goesOn() {
		return false
	}
	for i := from; i < to; i++ {
		it := &f.items[i]
		takesOwnAddress := it.kind == plain && it.relative != 0 && it.to == 0
		if b := f.bytes(it); takesOwnAddress || len(b) == 3 && b[0] == 0xff && b[1] == 0x50 { // call [rax+disp]
			return true
		}
	}
	return false
}

// isCompareZero tells whether the item is cmp r64, 0.
func (f *function) isCompareZero(it *item) bool {
	b := f.bytes(it)
	return len(b) == 4 && b[0]&0xf8 == 0x48 && b[1] == 0x83 && b[2]&0xf8 == 0xf8 && b[3] == 0
}

// callsOut tells whether one of the items is a call through memory.
func (f *function) callsOut(from, to int) bool {
	for i := from; i < to; i++ {
		b := f.bytes(&f.items[i])
		if b[0]&0xf0 == 0x40 {
			b = b[1:]
		}
		if len(b) >= 2 && b[0] == 0xff && b[1]>>3&7 == 2 && b[1] < 0xc0 {
			return true
		}
	}
	return false
}

// An op is an item in its new place. Jumps are made anew: one may be needed where items were neighbours, and not be needed
// where they have become it.
type op struct {
	item   int // -1: a jump that is new
	kind   kind
	cond   byte
	target int // of jumps and branches
	long   bool
	at     int
}

// arrange says in which order the items lie: the usual ways first, what is rare behind. Stretches of the same bytes are kept once.
func (f *function) arrange() (order []int) {
	ends := f.cold()
	clear(f.same)
	first := map[string]int{}
	var rare []int
	for i := 0; i < len(f.items); {
		end := ends[i]
		if end == 0 {
			order = append(order, i)
			i++
			continue
		}
		bytes := string(f.code[f.items[i].at : f.items[end-1].at+f.items[end-1].size])
		if known, ok := first[bytes]; ok && f.movable(i, end) {
			f.same[i] = known
		} else {
			first[bytes] = i
			for k := i; k < end; k++ {
				rare = append(rare, k)
			}
		}
		i = end
	}
	return append(order, rare...)
}

// place is the item that stands for an item.
func (f *function) place(i int) int {
	if known, ok := f.same[i]; ok {
		return known
	}
	return i
}

// movable tells whether the items mean the same wherever they lie, and are entered at the first alone.
func (f *function) movable(from, to int) bool {
	for i := from; i < to; i++ {
		it := &f.items[i]
		if i > from && f.aimed[i] || it.kind != plain && it.kind != stop || it.hasData() {
			return false
		}
	}
	return f.items[to-1].kind == stop
}

// plan turns the order into ops.
func (f *function) plan() []op {
	order := f.arrange()
	ops := make([]op, 0, len(order)+len(order)/8)
	for k := 0; k < len(order); k++ {
		i := order[k]
		it := &f.items[i]
		following := func() int {
			if k+1 < len(order) {
				return order[k+1]
			}
			return -1
		}
		o := op{item: i, kind: it.kind, cond: it.cond}
		on := f.place(i + 1) // where it goes on
		switch it.kind {
		case jump:
			if o.target = f.place(it.target); o.target == following() {
				o.kind = dropped
			}
		case branch:
			o.target = f.place(it.target)
			if following() == i+1 && f.items[i+1].kind == jump && !f.aimed[i+1] {
				on = f.place(f.items[i+1].target)
				k++
			}
			if o.target == following() {
				o.cond ^= 1
				o.target, on = on, o.target
			}
		}
		ops = append(ops, o)
		if it.goesOn() && on != following() {
			ops = append(ops, op{item: -1, kind: jump, target: on})
		}
	}
	return ops
}

// dropped is an op of no bytes.
const dropped kind = 0xff

// A fixup is a call to a function whose place is not known yet.
type fixup struct {
	at     int // of the address, in the code
	target int // offset in the old executable
}

// putTogether writes the function anew. base is where it was in the executable.
func (f *function) putTogether(base int) (code []byte, calls []fixup) {
	ops := f.plan()
	where := make([]int, len(f.items))
	assign := func(size func(*op) int) (end int) {
		for k := range ops {
			o := &ops[k]
			if o.at = end; o.item >= 0 {
				where[o.item] = end
			}
			end += size(o)
		}
		return end
	}
	// What is near enough while every jump is long is so, too, when some are short.
	assign(func(o *op) int { o.long = true; return f.size(o) })
	for k := range ops {
		o := &ops[k]
		distance := where[o.target] - o.at
		o.long = distance < -100 || distance > 100
	}
	pool := assign(f.size)
	code = make([]byte, 0, pool+len(f.code)-f.pool)
	for k := range ops {
		o := &ops[k]
		if o.kind == jump || o.kind == branch {
			code = o.appendJump(code, where[o.target]-o.at-f.size(o))
			continue
		}
		if o.kind == dropped {
			continue
		}
		it := &f.items[o.item]
		code = append(code, f.bytes(it)...)
		switch {
		case it.table != nil:
			for e, target := range it.table {
				binary.LittleEndian.PutUint64(code[o.at+e*8:], uint64(where[f.place(target)]-o.at))
			}
		case it.kind == call:
			calls = append(calls, fixup{at: o.at + it.relative, target: base + it.at + it.to})
		case it.hasData():
			to := pool + it.at + it.to - f.pool
			if it.at+it.to < f.pool {
				to = where[f.itemAt[it.at+it.to]-1]
			}
			binary.LittleEndian.PutUint32(code[o.at+it.relative:], uint32(int32(to-o.at-it.size)))
		}
	}
	return append(code, f.code[f.pool:]...), calls
}

// size is how many bytes an op takes.
func (f *function) size(o *op) int {
	switch {
	case o.kind == dropped:
		return 0
	case o.kind == jump && o.long:
		return 5
	case o.kind == branch && o.long:
		return 6
	case o.kind == jump || o.kind == branch:
		return 2
	}
	return f.items[o.item].size
}

func (o *op) appendJump(code []byte, distance int) []byte {
	switch {
	case o.kind == jump && o.long:
		code = append(code, 0xe9)
	case o.kind == jump:
		return append(code, 0xeb, byte(distance))
	case o.long:
		code = append(code, 0x0f, 0x80|o.cond)
	default:
		return append(code, 0x70|o.cond, byte(distance))
	}
	return binary.LittleEndian.AppendUint32(code, uint32(int32(distance)))
}
