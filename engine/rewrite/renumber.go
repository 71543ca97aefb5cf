package rewrite

import (
	"slices"

	"github.com/cloche-dev/cloche/engine/wasmbin"
)

// importRefill imports the refill function as function index and moves all functions from there on up by one,
// everywhere but in code, which has been rewritten already.
func importRefill(m *wasmbin.Module, index uint32, names *funcNames) {
	m.Imports = append(m.Imports, wasmbin.Import{Module: RefillModule, Name: RefillName, Type: typeIndex(m, wasmbin.FuncType{})})
	shift := func(i uint32) uint32 {
		if i >= index {
			return i + 1
		}
		return i
	}
	for i := range names.list {
		names.list[i].Index = shift(names.list[i].Index)
	}
	for i := range m.Exports {
		if m.Exports[i].Kind == wasmbin.KindFunc {
			m.Exports[i].Index = shift(m.Exports[i].Index)
		}
	}
	if m.Start != nil {
		start := shift(*m.Start)
		m.Start = &start
	}
	for i := range m.Globals {
		m.Globals[i].Init = shiftRefs(m.Globals[i].Init, shift)
	}
	for i := range m.Elements {
		e := &m.Elements[i]
		e.Funcs, e.Exprs = slices.Clone(e.Funcs), slices.Clone(e.Exprs)
		for j := range e.Funcs {
			e.Funcs[j] = shift(e.Funcs[j])
		}
		for j := range e.Exprs {
			e.Exprs[j] = shiftRefs(e.Exprs[j], shift)
		}
	}
}

// shiftRefs renumbers the functions in a constant expression.
func shiftRefs(expr []byte, shift func(uint32) uint32) []byte {
	e := editor{expr: expr}
	r := wasmbin.NewInstrReader(expr)
	for in := (wasmbin.Instr{}); r.Next(&in); {
		if in.Op == wasmbin.OpRefFunc {
			e.flush(&in)
			e.out.index(in.Op, shift(in.Index))
		}
	}
	e.flushTo(len(expr))
	return e.out
}
