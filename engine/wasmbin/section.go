package wasmbin

import (
	"bytes"
	"cmp"
	"fmt"
)

// Section is the number of a section.
type Section byte

// Sections.
const (
	SectionCustom Section = iota
	SectionType
	SectionImport
	SectionFunction
	SectionTable
	SectionMemory
	SectionGlobal
	SectionExport
	SectionStart
	SectionElement
	SectionCode
	SectionData
	SectionDataCount
	SectionTag
)

// sectionOrder lists the sections in the order in which they must appear.
var sectionOrder = []Section{
	SectionType, SectionImport, SectionFunction, SectionTable, SectionMemory, SectionTag, SectionGlobal,
	SectionExport, SectionStart, SectionElement, SectionDataCount, SectionCode, SectionData,
}

var sectionNames = [...]string{
	"custom", "type", "import", "function", "table", "memory", "global",
	"export", "start", "element", "code", "data", "data count", "tag",
}

// String returns the section's name.
func (s Section) String() string {
	if int(s) < len(sectionNames) {
		return sectionNames[s]
	}
	return fmt.Sprintf("%d", byte(s))
}

// rank is a section's place in sectionOrder, from 1; 0 for custom ones, -1 for unknown ones.
func (s Section) rank() int {
	if s == SectionCustom {
		return 0
	}
	for i, o := range sectionOrder {
		if o == s {
			return i + 1
		}
	}
	return -1
}

// preamble is the magic number and version 1.
var preamble = []byte{0, 'a', 's', 'm', 1, 0, 0, 0}

// Decode reads a module. The Module shares memory with b, which must not change while it is in use.
// Errors wrap a [*FormatError] and name the section.
func Decode(b []byte) (*Module, error) {
	if !bytes.HasPrefix(b, preamble) {
		return nil, &FormatError{Offset: 0, Msg: "not a WebAssembly module of version 1"}
	}
	d := decoder{m: new(Module)}
	c := cursor{buf: b, pos: len(preamble)}
	for last := SectionCustom; !c.done(); {
		start := c.pos
		id := Section(c.byte())
		body := c.sub(c.u32())
		switch rank := id.rank(); {
		case c.err != nil:
		case rank < 0:
			c.failAt(start, "unknown section %d", id)
		case rank == 0:
			d.m.Customs = append(d.m.Customs, Custom{Name: body.name(), Bytes: body.buf[min(body.pos, len(body.buf)):], After: last})
		case rank <= last.rank():
			c.failAt(start, "%v section out of order", id)
		default:
			last = id
			d.section(id, &body)
			if !body.done() {
				body.fail("%d bytes after the last item", len(body.buf)-body.pos)
			}
		}
		if err := cmp.Or(c.err, body.err); err != nil {
			return nil, fmt.Errorf("decode %v section: %w", id, err)
		}
	}
	if err := d.finish(); err != nil {
		return nil, err
	}
	return d.m, nil
}

// decoder holds what must agree between sections.
type decoder struct {
	m         *Module
	types     []uint32 // of defined functions
	bodies    [][]byte
	dataCount int
}

func (d *decoder) section(id Section, c *cursor) {
	m := d.m
	switch id {
	case SectionType:
		m.Types = vec(c, 3, (*cursor).funcType)
	case SectionImport:
		m.Imports = vec(c, 4, (*cursor).importItem)
	case SectionFunction:
		d.types = vec(c, 1, (*cursor).u32)
	case SectionTable:
		m.Tables = vec(c, 3, (*cursor).table)
	case SectionMemory:
		m.Memories = vec(c, 2, (*cursor).limits)
	case SectionTag:
		m.Tags = vec(c, 2, (*cursor).tag)
	case SectionGlobal:
		m.Globals = vec(c, 3, (*cursor).global)
	case SectionExport:
		m.Exports = vec(c, 3, (*cursor).export)
	case SectionStart:
		start := c.u32()
		m.Start = &start
	case SectionElement:
		m.Elements = vec(c, 2, (*cursor).element)
	case SectionDataCount:
		m.HasDataCount = true
		d.dataCount = int(c.u32())
	case SectionCode:
		d.bodies = vec(c, 1, func(c *cursor) []byte { return c.bytes(c.u32()) })
	case SectionData:
		m.Data = vec(c, 2, (*cursor).data)
	}
}

func (d *decoder) finish() error {
	if len(d.types) != len(d.bodies) {
		return fmt.Errorf("decode module: %d functions but %d bodies", len(d.types), len(d.bodies))
	}
	if d.m.HasDataCount && d.dataCount != len(d.m.Data) {
		return fmt.Errorf("decode module: data count %d but %d segments", d.dataCount, len(d.m.Data))
	}
	if len(d.types) > 0 {
		d.m.Funcs = make([]Func, len(d.types))
		for i := range d.m.Funcs {
			d.m.Funcs[i] = Func{d.types[i], d.bodies[i]}
		}
	}
	return nil
}

// Encode writes a module. Lengths and counts take as few bytes as possible; sections without items are left out.
func Encode(m *Module) []byte {
	b := make([]byte, 0, m.sizeHint())
	b = append(b, preamble...)
	b = appendCustoms(b, m, SectionCustom)
	for _, id := range sectionOrder {
		b = appendSection(b, m, id)
		b = appendCustoms(b, m, id)
	}
	return b
}

// sizeHint is a guess at the encoded size that is a little too large for modules of mostly code and data.
func (m *Module) sizeHint() int {
	n := 1 << 16
	for i := range m.Funcs {
		n += len(m.Funcs[i].Body) + 8
	}
	for i := range m.Data {
		n += len(m.Data[i].Bytes) + 16
	}
	for i := range m.Customs {
		n += len(m.Customs[i].Bytes) + 64
	}
	for i := range m.Elements {
		n += 4 * len(m.Elements[i].Funcs)
	}
	return n
}

func appendCustoms(b []byte, m *Module, after Section) []byte {
	for _, c := range m.Customs {
		if c.After == after {
			name := appendBytes(nil, c.Name)
			b = AppendU32(append(b, byte(SectionCustom)), uint32(len(name)+len(c.Bytes)))
			b = append(append(b, name...), c.Bytes...)
		}
	}
	return b
}

func appendSection(b []byte, m *Module, id Section) []byte {
	switch id {
	case SectionType:
		return appendItems(b, id, m.Types, appendFuncType)
	case SectionImport:
		return appendItems(b, id, m.Imports, appendImport)
	case SectionFunction:
		return appendItems(b, id, m.Funcs, func(b []byte, f Func) []byte { return AppendU32(b, f.Type) })
	case SectionTable:
		return appendItems(b, id, m.Tables, appendTable)
	case SectionMemory:
		return appendItems(b, id, m.Memories, appendLimits)
	case SectionTag:
		return appendItems(b, id, m.Tags, appendTag)
	case SectionGlobal:
		return appendItems(b, id, m.Globals, appendGlobal)
	case SectionExport:
		return appendItems(b, id, m.Exports, appendExport)
	case SectionStart:
		if m.Start != nil {
			return appendSized(append(b, byte(id)), func(b []byte) []byte { return AppendU32(b, *m.Start) })
		}
	case SectionElement:
		return appendItems(b, id, m.Elements, appendElement)
	case SectionDataCount:
		if m.HasDataCount {
			return appendSized(append(b, byte(id)), func(b []byte) []byte { return AppendU32(b, uint32(len(m.Data))) })
		}
	case SectionCode:
		return appendItems(b, id, m.Funcs, func(b []byte, f Func) []byte { return appendBytes(b, f.Body) })
	case SectionData:
		return appendItems(b, id, m.Data, appendData)
	}
	return b
}

func appendItems[T any](b []byte, id Section, items []T, item func([]byte, T) []byte) []byte {
	if len(items) == 0 {
		return b
	}
	return appendSized(append(b, byte(id)), func(b []byte) []byte { return appendVec(b, items, item) })
}

// appendSized appends what body appends, preceded by its length. It makes room for the longest length and
// moves the bytes back once the length is known, so that nothing is built twice.
func appendSized(b []byte, body func([]byte) []byte) []byte {
	const maxLen = 5
	start := len(b)
	b = body(append(b, make([]byte, maxLen)...))
	size := AppendU32(nil, uint32(len(b)-start-maxLen))
	copy(b[start:], size)
	n := copy(b[start+len(size):], b[start+maxLen:])
	return b[:start+len(size)+n]
}
