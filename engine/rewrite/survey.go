package rewrite

import (
	"fmt"

	"github.com/cloche-dev/cloche/engine/wasmbin"
)

// funcSummary is what the passes need to know about a function before any of them changes it. Calls that
// cannot let an exception out, because a catch_all stands around them, are not in calls and indirect.
type funcSummary struct {
	calls    []uint32 // functions called
	indirect []uint32 // signatures called through a table or a reference
	refs     []uint32 // functions of which a reference is taken
	throws   bool     // a throw or throw_ref may leave the function
	usesEH   bool     // has an instruction of the exception-handling proposal, or a value of type exnref
	tables   bool     // changes a table
	data     bool     // names a data segment
}

// survey is a reading of all code.
type survey struct {
	funcs         []funcSummary // of defined functions
	changesTables bool
	usesData      bool
}

func surveyModule(m *wasmbin.Module) (*survey, error) {
	s := &survey{funcs: make([]funcSummary, len(m.Funcs))}
	err := eachFunc(m, func(i int) (err error) {
		s.funcs[i], err = surveyFunc(m, &m.Funcs[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range s.funcs {
		s.changesTables = s.changesTables || s.funcs[i].tables
		s.usesData = s.usesData || s.funcs[i].data
	}
	return s, nil
}

func surveyFunc(m *wasmbin.Module, f *wasmbin.Func) (funcSummary, error) {
	var s funcSummary
	locals, expr, err := wasmbin.SplitBody(f.Body)
	if err != nil {
		return s, err
	}
	for _, g := range locals {
		s.usesEH = s.usesEH || g.Type == wasmbin.ExnRef
	}
	if uint64(f.Type) >= uint64(len(m.Types)) {
		return s, fmt.Errorf("signature %d does not exist", f.Type)
	}
	s.usesEH = s.usesEH || mentionsExn(m.Types[f.Type])

	// guards holds, for every open block, how many catch_all clauses are around its content.
	guards := make([]int, 1, 32)
	r := wasmbin.NewInstrReader(expr)
	for in := (wasmbin.Instr{}); r.Next(&in); {
		guard := guards[len(guards)-1]
		switch in.Op {
		case wasmbin.OpBlock, wasmbin.OpLoop, wasmbin.OpIf:
			guards = append(guards, guard)
			s.usesEH = s.usesEH || blockMentionsExn(m, in.Block)
		case wasmbin.OpTryTable:
			s.usesEH = true
			if catchesAll(in.Catches) {
				guard++
			}
			guards = append(guards, guard)
		case wasmbin.OpEnd:
			guards = guards[:len(guards)-1]
		case wasmbin.OpThrow, wasmbin.OpThrowRef:
			s.usesEH = true
			s.throws = s.throws || guard == 0
		case wasmbin.OpCall:
			if guard == 0 {
				s.calls = append(s.calls, in.Index)
			}
		case wasmbin.OpReturnCall: // leaves every try_table before it calls
			s.calls = append(s.calls, in.Index)
		case wasmbin.OpCallIndirect, wasmbin.OpCallRef:
			if guard == 0 {
				s.indirect = append(s.indirect, in.Index)
			}
		case wasmbin.OpReturnCallIndirect, wasmbin.OpReturnCallRef:
			s.indirect = append(s.indirect, in.Index)
		case wasmbin.OpRefFunc:
			s.refs = append(s.refs, in.Index)
		case wasmbin.OpRefNull, wasmbin.OpSelectT:
			s.usesEH = s.usesEH || len(in.Types) > 0 && in.Types[0] == wasmbin.ExnRef
		case wasmbin.OpTableSet, wasmbin.OpTableInit, wasmbin.OpTableCopy, wasmbin.OpTableGrow, wasmbin.OpTableFill:
			s.tables = true
		case wasmbin.OpMemoryInit, wasmbin.OpDataDrop:
			s.data = true
		}
	}
	return s, r.Err()
}

func catchesAll(clauses []wasmbin.CatchClause) bool {
	for _, c := range clauses {
		if c.Kind == wasmbin.CatchAll || c.Kind == wasmbin.CatchAllRef {
			return true
		}
	}
	return false
}

func mentionsExn(t wasmbin.FuncType) bool {
	for _, types := range [][]wasmbin.ValType{t.Params, t.Results} {
		for _, v := range types {
			if v == wasmbin.ExnRef {
				return true
			}
		}
	}
	return false
}

func blockMentionsExn(m *wasmbin.Module, t wasmbin.BlockType) bool {
	if i, ok := t.TypeIndex(); ok {
		return int(i) < len(m.Types) && mentionsExn(m.Types[i])
	}
	return t == wasmbin.ResultBlock(wasmbin.ExnRef)
}

// blockSignature spells out a block's type.
func blockSignature(types []wasmbin.FuncType, t wasmbin.BlockType) (wasmbin.FuncType, error) {
	if i, ok := t.TypeIndex(); ok {
		if uint64(i) >= uint64(len(types)) {
			return wasmbin.FuncType{}, fmt.Errorf("signature %d does not exist", i)
		}
		return types[i], nil
	}
	if r, ok := t.Result(); ok {
		return wasmbin.FuncType{Results: []wasmbin.ValType{r}}, nil
	}
	return wasmbin.FuncType{}, nil
}

// typeIndex returns the index of a signature, which it adds if the module does not have it.
func typeIndex(m *wasmbin.Module, t wasmbin.FuncType) uint32 {
	for i := range m.Types {
		if sameType(m.Types[i], t) {
			return uint32(i)
		}
	}
	m.Types = append(m.Types, t)
	return uint32(len(m.Types) - 1)
}
