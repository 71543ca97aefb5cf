package wasmbin

import (
	"fmt"
	"unicode/utf8"
)

// FormatError reports input that is not in the binary format.
type FormatError struct {
	Offset int // in bytes from the start of what was decoded: a module, or a function's instructions
	Msg    string
}

// Error returns the message with the offset in hexadecimal, as disassemblers print it.
func (e *FormatError) Error() string { return fmt.Sprintf("offset %#x: %s", e.Offset, e.Msg) }

// cursor reads from buf. The first error sticks; whatever is read after it is zero, so that callers may
// check err once at the end.
type cursor struct {
	buf  []byte
	pos  int
	base int // offset of buf[0] in the whole input, for messages
	err  error
}

func (c *cursor) fail(format string, args ...any) { c.failAt(c.pos, format, args...) }

func (c *cursor) failAt(pos int, format string, args ...any) {
	if c.err == nil {
		c.err = &FormatError{Offset: c.base + pos, Msg: fmt.Sprintf(format, args...)}
	}
	c.pos = len(c.buf)
}

func (c *cursor) done() bool { return c.pos >= len(c.buf) }

func (c *cursor) byte() byte {
	if c.pos >= len(c.buf) {
		c.fail("unexpected end")
		return 0
	}
	c.pos++
	return c.buf[c.pos-1]
}

// bytes reads n bytes without copying them.
func (c *cursor) bytes(n uint32) []byte {
	if uint64(n) > uint64(len(c.buf)-c.pos) {
		c.fail("length %d is past the end", n)
		return nil
	}
	start := c.pos
	c.pos += int(n)
	return c.buf[start:c.pos:c.pos]
}

// sub reads n bytes as a cursor of their own.
func (c *cursor) sub(n uint32) cursor {
	base := c.base + c.pos
	return cursor{buf: c.bytes(n), base: base}
}

// count reads the length of a vector whose items take at least itemSize bytes each, which bounds what
// may be allocated for them.
func (c *cursor) count(itemSize int) int {
	start := c.pos
	n := c.u32()
	if uint64(n)*uint64(itemSize) > uint64(len(c.buf)-c.pos) {
		c.failAt(start, "count %d is past the end", n)
		return 0
	}
	return int(n)
}

func (c *cursor) name() string {
	b := c.bytes(c.u32())
	if !utf8.Valid(b) {
		c.failAt(c.pos-len(b), "name is not UTF-8")
		return ""
	}
	return string(b)
}

// flag reads a byte that is at most max.
func (c *cursor) flag(max byte, what string) byte {
	b := c.byte()
	if b > max {
		c.failAt(c.pos-1, "unknown %s %#x", what, b)
		return 0
	}
	return b
}

// expr reads a constant expression up to and including its end.
func (c *cursor) expr() []byte {
	r := InstrReader{c: cursor{buf: c.buf, pos: c.pos, base: c.base}}
	start := c.pos
	for in := (Instr{}); r.next(&in); {
	}
	if r.c.err != nil {
		c.err, c.pos = r.c.err, len(c.buf)
		return nil
	}
	c.pos = r.c.pos
	return c.buf[start:c.pos:c.pos]
}

// vec reads a vector of items of at least itemSize bytes.
func vec[T any](c *cursor, itemSize int, item func(*cursor) T) []T {
	n := c.count(itemSize)
	if n == 0 {
		return nil
	}
	items := make([]T, 0, min(n, preallocated))
	for range n {
		items = append(items, item(c))
		if c.err != nil {
			return nil
		}
	}
	return items
}

// preallocated caps the items made room for before they are read: they can be larger in memory than in the input.
const preallocated = 1 << 17

func appendVec[T any](b []byte, items []T, item func([]byte, T) []byte) []byte {
	b = AppendU32(b, uint32(len(items)))
	for _, it := range items {
		b = item(b, it)
	}
	return b
}

func appendBytes[T ~[]byte | ~string](b []byte, s T) []byte {
	return append(AppendU32(b, uint32(len(s))), s...)
}
