package rewrite

import (
	"fmt"
	"slices"

	"github.com/cloche-dev/cloche/engine/wasmbin"
)

// throwers tells which calls may come back with an exception pending.
type throwers struct {
	funcs    []bool // by function index, imported ones first
	indirect []bool // by signature: some function that a table or a reference may hold
}

// findThrowers computes the least fixpoint: a function may throw when an exception may leave it that it throws
// itself, or that comes from a call. A call by signature may reach every function of that signature whose
// reference exists. Imported functions never throw: in Cloche they are the host's.
func findThrowers(m *wasmbin.Module, s *survey) (throwers, error) {
	types := m.FuncTypes()
	imported := len(types) - len(m.Funcs)
	class, err := typeClasses(m)
	if err != nil {
		return throwers{}, err
	}
	refs := make([][]uint32, len(s.funcs))
	for i := range s.funcs {
		refs[i] = s.funcs[i].refs
	}
	taken, err := addressTaken(m, refs, len(types))
	if err != nil {
		return throwers{}, err
	}

	// The call graph from callee to callers, with a node for every class of signatures after the functions.
	callers := make([][]uint32, len(types)+len(m.Types))
	for i := range s.funcs {
		f := uint32(imported + i)
		for _, callee := range s.funcs[i].calls {
			if uint64(callee) >= uint64(len(types)) {
				return throwers{}, fmt.Errorf("function %d calls function %d, which does not exist", f, callee)
			}
			callers[callee] = append(callers[callee], f)
		}
		for _, sig := range s.funcs[i].indirect {
			if uint64(sig) >= uint64(len(class)) {
				return throwers{}, fmt.Errorf("function %d calls by signature %d, which does not exist", f, sig)
			}
			node := len(types) + int(class[sig])
			callers[node] = append(callers[node], f)
		}
	}
	for f := imported; f < len(types); f++ {
		if taken[f] {
			callers[f] = append(callers[f], uint32(len(types))+class[types[f]])
		}
	}

	marked := make([]bool, len(callers))
	var work []uint32
	mark := func(node uint32) {
		if !marked[node] {
			marked[node] = true
			work = append(work, node)
		}
	}
	for i := range s.funcs {
		if s.funcs[i].throws {
			mark(uint32(imported + i))
		}
	}
	for len(work) > 0 {
		node := work[len(work)-1]
		work = work[:len(work)-1]
		for _, c := range callers[node] {
			mark(c)
		}
	}

	t := throwers{funcs: marked[:len(types)], indirect: make([]bool, len(m.Types))}
	for sig := range t.indirect {
		t.indirect[sig] = marked[len(types)+int(class[sig])]
	}
	return t, nil
}

// typeClasses maps every signature to the first one that is equal to it.
func typeClasses(m *wasmbin.Module) ([]uint32, error) {
	for i, sig := range m.FuncTypes() {
		if uint64(sig) >= uint64(len(m.Types)) {
			return nil, fmt.Errorf("function %d: signature %d does not exist", i, sig)
		}
	}
	first := make(map[string]uint32, len(m.Types))
	class := make([]uint32, len(m.Types))
	for i, t := range m.Types {
		key := fmt.Sprint(t.Params, t.Results)
		if _, ok := first[key]; !ok {
			first[key] = uint32(i)
		}
		class[i] = first[key]
	}
	return class, nil
}

func sameType(a, b wasmbin.FuncType) bool {
	return slices.Equal(a.Params, b.Params) && slices.Equal(a.Results, b.Results)
}

// addressTaken marks the functions to which a table or a reference may lead; refs are those that code takes. Where tables are shared with other
// modules, those can put exported functions into them.
func addressTaken(m *wasmbin.Module, refs [][]uint32, funcs int) ([]bool, error) {
	taken := make([]bool, funcs)
	var err error
	take := func(f uint32) {
		if uint64(f) >= uint64(funcs) {
			err = fmt.Errorf("reference to function %d, which does not exist", f)
			return
		}
		taken[f] = true
	}
	takeExpr := func(expr []byte) {
		r := wasmbin.NewInstrReader(expr)
		for in := (wasmbin.Instr{}); r.Next(&in); {
			if in.Op == wasmbin.OpRefFunc {
				take(in.Index)
			}
		}
	}
	for _, e := range m.Elements {
		for _, f := range e.Funcs {
			take(f)
		}
		for _, expr := range e.Exprs {
			takeExpr(expr)
		}
	}
	for _, g := range m.Globals {
		takeExpr(g.Init)
	}
	for _, list := range refs {
		for _, f := range list {
			take(f)
		}
	}
	if tableShared(m) {
		for _, e := range m.Exports {
			if e.Kind == wasmbin.KindFunc {
				take(e.Index)
			}
		}
	}
	return taken, err
}

// tableShared reports whether other modules can reach a table of this one.
func tableShared(m *wasmbin.Module) bool {
	return m.Imported(wasmbin.KindTable) > 0 ||
		slices.ContainsFunc(m.Exports, func(e wasmbin.Export) bool { return e.Kind == wasmbin.KindTable })
}
