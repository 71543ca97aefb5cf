package rewrite

import (
	"fmt"
	"slices"

	"github.com/cloche-dev/cloche/engine/wasmbin"
)

// frame is an open block of the function being lowered.
type frame struct {
	op      wasmbin.Opcode
	results []wasmbin.ValType
	clauses []wasmbin.CatchClause // of a try_table
}

// noHandler is the handler of functions that let no exception out, outside of every try_table.
const noHandler = -1

// funcLowering lowers one function.
type funcLowering struct {
	*lowering
	editor
	wrapped bool // the body is to be wrapped in a handler
	exn     bool // values of type exnref may occur

	frames  []frame
	handler []int // stack of handlers' labels, the nearest last
	locals  []wasmbin.ValType
	top     wasmbin.ValType // type of the topmost operand where the instruction before tells it, else 0
	checks  int
}

func (f *funcLowering) lower(fn *wasmbin.Func) ([]byte, error) {
	groups, expr, err := wasmbin.SplitBody(fn.Body)
	if err != nil {
		return nil, err
	}
	sig := f.types[fn.Type]
	f.declare(sig, groups)
	f.start(expr, groups)
	f.frames = append(f.frames, frame{results: sig.Results})
	f.handler = append(f.handler, noHandler)
	if f.wrapped {
		f.handler[0] = f.open(wasmbin.OpBlock, wasmbin.EmptyBlock)
	}
	r := wasmbin.NewInstrReader(expr)
	for in := (wasmbin.Instr{}); r.Next(&in); {
		if err := f.instr(&in); err != nil {
			return nil, fmt.Errorf("offset %#x: %w", in.Start, err)
		}
	}
	return f.out, r.Err()
}

// declare notes the types of the locals and lowers those of groups in place.
func (f *funcLowering) declare(sig wasmbin.FuncType, groups []wasmbin.LocalGroup) {
	f.locals = slices.Clone(sig.Params)
	for i, g := range groups {
		for range g.Count {
			f.locals = append(f.locals, g.Type)
		}
		groups[i].Type = lowerType(g.Type)
	}
}

// handle emits a branch to the nearest handler. Only a dispatch that no exception can fall through has none.
func (f *funcLowering) handle(op wasmbin.Opcode) {
	label := f.handler[len(f.handler)-1]
	if label == noHandler {
		f.out.op(wasmbin.OpUnreachable)
		return
	}
	f.branch(op, label)
}

func (f *funcLowering) instr(in *wasmbin.Instr) error {
	top := f.top
	f.top = 0
	switch in.Op {
	case wasmbin.OpBlock, wasmbin.OpLoop, wasmbin.OpIf:
		return f.block(in)
	case wasmbin.OpTryTable:
		return f.tryTable(in)
	case wasmbin.OpEnd:
		return f.end(in)
	case wasmbin.OpBr, wasmbin.OpBrIf:
		return f.relabel(in)
	case wasmbin.OpBrTable:
		return f.relabelTable(in)
	case wasmbin.OpThrow:
		return f.throw(in)
	case wasmbin.OpThrowRef:
		f.flush(in)
		f.out.index(wasmbin.OpCall, f.throwRef)
		f.handle(wasmbin.OpBr)
	case wasmbin.OpCall:
		if uint64(in.Index) >= uint64(len(f.throwers.funcs)) {
			return fmt.Errorf("function %d does not exist", in.Index)
		}
		f.call(in, f.funcTypes[in.Index], f.throwers.funcs[in.Index])
	case wasmbin.OpCallIndirect, wasmbin.OpCallRef:
		if uint64(in.Index) >= uint64(len(f.throwers.indirect)) {
			return fmt.Errorf("signature %d does not exist", in.Index)
		}
		f.call(in, in.Index, f.throwers.indirect[in.Index])
	case wasmbin.OpLocalGet, wasmbin.OpLocalTee:
		if uint64(in.Index) >= uint64(len(f.locals)) {
			return fmt.Errorf("local %d does not exist", in.Index)
		}
		f.top = f.locals[in.Index]
	case wasmbin.OpGlobalGet:
		if uint64(in.Index) < uint64(len(f.globalTypes)) {
			f.top = f.globalTypes[in.Index].Type
		}
	case wasmbin.OpTableGet, wasmbin.OpRefFunc:
		f.top = wasmbin.FuncRef // no table holds exnref
	case wasmbin.OpRefNull:
		f.top = in.Types[0]
		if f.top == wasmbin.ExnRef {
			f.flush(in)
			f.out.zero(wasmbin.I64)
		}
	case wasmbin.OpSelectT:
		if len(in.Types) == 1 && in.Types[0] == wasmbin.ExnRef {
			f.top = wasmbin.ExnRef
			f.flush(in)
			f.out.op(wasmbin.OpSelect)
		}
	case wasmbin.OpRefIsNull:
		switch {
		case top == wasmbin.ExnRef:
			f.flush(in)
			f.out.op(wasmbin.OpI64Eqz)
		case top == 0 && f.exn:
			return fmt.Errorf("ref.is_null: the type of its operand is not known")
		}
	case wasmbin.OpRefAsNonNull:
		return f.noExn(in)
	case wasmbin.OpBrOnNull, wasmbin.OpBrOnNonNull:
		if err := f.noExn(in); err != nil {
			return err
		}
		return f.relabel(in)
	}
	return nil
}

// noExn refuses an instruction whose operand might be an exnref.
func (f *funcLowering) noExn(in *wasmbin.Instr) error {
	if f.exn {
		return fmt.Errorf("%v cannot be lowered where there may be values of type exnref", in.Op)
	}
	return nil
}

// block opens a block that stays one. Its type changes when it is exnref; a signature keeps its index.
func (f *funcLowering) block(in *wasmbin.Instr) error {
	sig, err := blockSignature(f.types, in.Block)
	if err != nil {
		return err
	}
	if in.Block == wasmbin.ResultBlock(wasmbin.ExnRef) {
		f.flush(in)
		f.out.block(in.Op, wasmbin.ResultBlock(wasmbin.I64))
	}
	f.frames = append(f.frames, frame{op: in.Op, results: sig.Results})
	f.keep()
	return nil
}

// tryTable opens two blocks: one that the try_table's label stands for, and its handler.
func (f *funcLowering) tryTable(in *wasmbin.Instr) error {
	sig, err := blockSignature(f.types, in.Block)
	if err != nil {
		return err
	}
	f.flush(in)
	outer, handler := in.Block, wasmbin.EmptyBlock
	if outer == wasmbin.ResultBlock(wasmbin.ExnRef) {
		outer = wasmbin.ResultBlock(wasmbin.I64)
	}
	if index, ok := outer.TypeIndex(); ok && len(sig.Params) > 0 {
		handler = wasmbin.BlockType(f.handlers[index])
	}
	f.frames = append(f.frames, frame{op: in.Op, results: sig.Results, clauses: slices.Clone(in.Catches)})
	f.labels = append(f.labels, f.open(wasmbin.OpBlock, outer))
	f.handler = append(f.handler, f.open(wasmbin.OpBlock, handler))
	return nil
}

func (f *funcLowering) end(in *wasmbin.Instr) error {
	last := f.frames[len(f.frames)-1]
	f.frames = f.frames[:len(f.frames)-1]
	label := f.labels[len(f.labels)-1]
	f.labels = f.labels[:len(f.labels)-1]
	if n := len(last.results); n > 0 {
		f.top = last.results[n-1]
	}
	switch {
	case len(f.frames) == 0:
		f.flush(in)
		if f.wrapped {
			if len(last.results) > 0 {
				f.out.op(wasmbin.OpReturn)
			}
			f.close()
			for _, t := range last.results {
				f.out.zero(lowerType(t))
			}
		}
		f.out.op(wasmbin.OpEnd)
	case last.op == wasmbin.OpTryTable:
		f.flush(in)
		f.handler = f.handler[:len(f.handler)-1]
		f.branch(wasmbin.OpBr, label)
		f.close()
		if err := f.dispatch(last.clauses); err != nil {
			return err
		}
		f.close()
	default:
		f.depth--
	}
	return nil
}

// dispatch branches to the clause that fits the pending exception, or to the next handler.
func (f *funcLowering) dispatch(clauses []wasmbin.CatchClause) error {
	for _, c := range clauses {
		label, err := f.target(c.Label)
		if err != nil {
			return err
		}
		switch c.Kind {
		case wasmbin.CatchAll:
			f.clear()
			f.branch(wasmbin.OpBr, label)
			return nil
		case wasmbin.CatchAllRef:
			f.out.index(wasmbin.OpCall, f.takeRef)
			f.branch(wasmbin.OpBr, label)
			return nil
		}
		if uint64(c.Tag) >= uint64(len(f.tagParams)) {
			return fmt.Errorf("tag %d does not exist", c.Tag)
		}
		f.out.index(wasmbin.OpGlobalGet, f.tag)
		f.out.i32(int32(c.Tag) + 1)
		f.out.op(wasmbin.OpI32Eq)
		f.open(wasmbin.OpIf, wasmbin.EmptyBlock)
		f.value(c.Tag)
		if c.Kind == wasmbin.CatchRef {
			f.out.index(wasmbin.OpCall, f.takeRef)
		} else {
			f.clear()
		}
		f.branch(wasmbin.OpBr, label)
		f.close()
	}
	f.handle(wasmbin.OpBr)
	return nil
}

// clear makes no exception pending.
func (f *funcLowering) clear() {
	f.out.i32(0)
	f.out.index(wasmbin.OpGlobalSet, f.tag)
}

// value pushes the pending exception's value, if its tag has one.
func (f *funcLowering) value(tag uint32) {
	switch f.tagParams[tag] {
	case wasmbin.I32:
		f.out.index(wasmbin.OpGlobalGet, f.val)
	case wasmbin.F32:
		f.out.index(wasmbin.OpGlobalGet, f.val)
		f.out.op(wasmbin.OpF32ReinterpretI32)
	}
}

func (f *funcLowering) throw(in *wasmbin.Instr) error {
	if uint64(in.Index) >= uint64(len(f.tagParams)) {
		return fmt.Errorf("tag %d does not exist", in.Index)
	}
	f.flush(in)
	switch f.tagParams[in.Index] {
	case wasmbin.F32:
		f.out.op(wasmbin.OpI32ReinterpretF32)
		fallthrough
	case wasmbin.I32:
		f.out.index(wasmbin.OpGlobalSet, f.val)
	}
	f.out.i32(int32(in.Index) + 1)
	f.out.index(wasmbin.OpGlobalSet, f.tag)
	f.handle(wasmbin.OpBr)
	return nil
}

// call follows a call that may throw by a look at the pending tag. It comes first thing after the call: what follows
// a call that never returns normally is unreachable.
func (f *funcLowering) call(in *wasmbin.Instr, sig uint32, mayThrow bool) {
	if mayThrow {
		f.flushAfter(in)
		f.out.index(wasmbin.OpGlobalGet, f.tag)
		f.handle(wasmbin.OpBrIf)
		f.checks++
	}
	if results := f.types[sig].Results; len(results) > 0 {
		f.top = results[len(results)-1]
	}
}
