// Package wasmbin reads and writes the WebAssembly binary format.
//
// [Decode] turns the bytes of a module into a [Module], [Encode] turns one back into bytes, and an
// [InstrReader] steps through the instructions of a function. Function bodies, constant expressions and
// data stay the byte ranges that they were in the input: a pass over a module copies what it does not
// touch, and a body of many megabytes costs nothing to decode.
//
// The package knows the core specification 2.0 (with SIMD, bulk memory, reference types) and the
// proposals for tail calls, threads, extended constants, several memories, 64-bit memories
// and exception handling in its exnref form. What a compiler could read as other instructions than we do is refused: relaxed
// SIMD, and numbers of opcodes with more bytes than they need. It checks form, not validity: every byte is accounted for and every opcode is
// known, but nothing is type-checked and an index may point nowhere. Bad input is a [*FormatError]; no
// input makes the package panic or allocate more than a small multiple of the input's length.
//
// A Module is plain data. Concurrent readers are fine; a writer needs it alone.
package wasmbin

// ValType is the type of a value, by its byte in the binary format.
//
// References to abstract heap types are kept in their nullable short form: (ref exn) reads as exnref.
type ValType byte

// Value types.
const (
	I32       ValType = 0x7F
	I64       ValType = 0x7E
	F32       ValType = 0x7D
	F64       ValType = 0x7C
	V128      ValType = 0x7B
	FuncRef   ValType = 0x70
	ExternRef ValType = 0x6F
	ExnRef    ValType = 0x69
)

// String returns the type's name in the text format.
func (t ValType) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case V128:
		return "v128"
	case FuncRef:
		return "funcref"
	case ExternRef:
		return "externref"
	case ExnRef:
		return "exnref"
	}
	return "invalid"
}

// IsRef reports whether t is a reference type.
func (t ValType) IsRef() bool { return t == FuncRef || t == ExternRef || t == ExnRef }

// FuncType is the signature of a function, a tag or a block.
type FuncType struct {
	Params, Results []ValType
}

// Limits bounds the size of a memory in pages of 64 KiB, or of a table in elements.
type Limits struct {
	Min, Max uint64 // Max is 0 unless HasMax
	HasMax   bool
	Shared   bool
	Is64     bool // addressed by i64
}

// Table is a table's type.
type Table struct {
	Elem   ValType
	Limits Limits
}

// GlobalType is the type of a global variable.
type GlobalType struct {
	Type    ValType
	Mutable bool
}

// Global is a defined global variable. Init is its constant expression, final end included.
type Global struct {
	GlobalType
	Init []byte
}

// Kind says what an import or an export is.
type Kind byte

// Kinds of imports and exports.
const (
	KindFunc Kind = iota
	KindTable
	KindMemory
	KindGlobal
	KindTag
)

// Import is one imported item. Of the fields after Kind only the one that Kind names is used.
type Import struct {
	Module, Name string
	Kind         Kind
	Type         uint32 // index of the signature of a function or a tag
	Table        Table
	Memory       Limits
	Global       GlobalType
}

// Export is one exported item. Index counts imported items first.
type Export struct {
	Name  string
	Kind  Kind
	Index uint32
}

// Func is a defined function. Body is its entry in the code section without the length: the declarations
// of locals and then instructions, see [SplitBody].
type Func struct {
	Type uint32
	Body []byte
}

// SegmentMode says when a data or element segment is copied.
type SegmentMode byte

// Segment modes.
const (
	Active      SegmentMode = iota // at instantiation
	Passive                        // by memory.init or table.init
	Declarative                    // never; an element segment that only declares functions for ref.func
)

// Element is an element segment. It holds function indices, or, for other references and computed
// ones, constant expressions (final end included); never both.
type Element struct {
	Mode   SegmentMode
	Table  uint32 // of an active segment
	Offset []byte // constant expression of an active segment, final end included
	Type   ValType
	Funcs  []uint32
	Exprs  [][]byte
}

// Data is a data segment; its mode is never Declarative.
type Data struct {
	Mode   SegmentMode
	Memory uint32 // of an active segment
	Offset []byte // constant expression of an active segment, final end included
	Bytes  []byte
}

// Custom is a custom section. After is the section that it follows, 0 when it precedes all others.
type Custom struct {
	Name  string
	Bytes []byte
	After Section
}

// Module is a decoded module. Byte slices in it share the memory of the decoded input.
type Module struct {
	Types    []FuncType
	Imports  []Import
	Funcs    []Func
	Tables   []Table
	Memories []Limits
	Tags     []uint32 // indices of signatures
	Globals  []Global
	Exports  []Export
	Start    *uint32
	Elements []Element
	Data     []Data
	Customs  []Custom

	// HasDataCount tells whether there is a data count section, which memory.init and data.drop need.
	HasDataCount bool
}

// Imported counts the imports of one kind. Indices of that kind start there for defined items.
func (m *Module) Imported(k Kind) int {
	n := 0
	for i := range m.Imports {
		if m.Imports[i].Kind == k {
			n++
		}
	}
	return n
}

// FuncTypes returns the signature index of every function, imported ones first.
func (m *Module) FuncTypes() []uint32 {
	types := make([]uint32, 0, len(m.Imports)+len(m.Funcs))
	for i := range m.Imports {
		if m.Imports[i].Kind == KindFunc {
			types = append(types, m.Imports[i].Type)
		}
	}
	for i := range m.Funcs {
		types = append(types, m.Funcs[i].Type)
	}
	return types
}

// GlobalTypes returns the type of every global, imported ones first.
func (m *Module) GlobalTypes() []GlobalType {
	types := make([]GlobalType, 0, len(m.Globals))
	for i := range m.Imports {
		if m.Imports[i].Kind == KindGlobal {
			types = append(types, m.Imports[i].Global)
		}
	}
	for i := range m.Globals {
		types = append(types, m.Globals[i].GlobalType)
	}
	return types
}

// TagTypes returns the signature index of every tag, imported ones first.
func (m *Module) TagTypes() []uint32 {
	var types []uint32
	for i := range m.Imports {
		if m.Imports[i].Kind == KindTag {
			types = append(types, m.Imports[i].Type)
		}
	}
	return append(types, m.Tags...)
}

// TableTypes returns the type of every table, imported ones first.
func (m *Module) TableTypes() []Table {
	var tables []Table
	for i := range m.Imports {
		if m.Imports[i].Kind == KindTable {
			tables = append(tables, m.Imports[i].Table)
		}
	}
	return append(tables, m.Tables...)
}
