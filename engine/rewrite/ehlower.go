package rewrite

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/cloche-dev/cloche/engine/wasmbin"
)

// lowerExceptions replaces the instructions of the exception-handling proposal by core ones.
//
// A pending exception is kept in two globals: $tag is the index of its tag + 1, $val its value; $tag is 0 when
// none is pending. To throw is to set both and to branch to the nearest handler. A function that an exception leaves
// returns zeros, and its caller looks at $tag after every call that may throw:
//
//	                                 block                ;; the body's handler
//	block (result i32)                 block (result i32)
//	  try_table (catch 0 0)              block            ;; what the try_table's label stands for
//	                                       block          ;; the try_table's handler
//	    call $f                              call $f
//	                                         global.get $tag
//	                                         br_if 0
//	                                         br 1
//	                                       end
//	                                       global.get $tag  (i32.const 1)  i32.eq
//	                                       if
//	                                         (global.set $tag (i32.const 0))
//	                                         global.get $val
//	                                         br 2         ;; the clause's label
//	                                       end
//	                                       br 2           ;; no clause fits: the next handler
//	  end                                end
//	  i32.const 0                        i32.const 0
//	end                                end
//	                                   return
//	                                 end
//	                                 i32.const 0          ;; nobody looks at it
//
// An exnref becomes an i64: $tag in the high half, $val in the low; null is 0. catch_ref makes one, throw_ref
// takes it apart again. Since there is no heap to keep larger values in, a tag may have one value of 32
// bits at most: LLVM's tags for C++ exceptions and longjmp have an i32. Values below a throw or a call on the operand
// stack need no care, for a branch to a block without results drops them.
//
// Calls of imported functions never throw. An exception that leaves an exported function stays pending.
// Tables of exnref, and ref.is_null where the type of its operand cannot be told from the instruction before
// it, are refused.
func lowerExceptions(m *wasmbin.Module, s *survey, names *funcNames) (PassReport, error) {
	report := PassReport{Pass: "lower exceptions", CodeBefore: codeSize(m)}
	throwers, err := findThrowers(m, s)
	if err != nil {
		return report, err
	}
	l := lowering{m: m, throwers: throwers, funcTypes: m.FuncTypes(), globalTypes: m.GlobalTypes()}
	if err := l.tags(); err != nil {
		return report, err
	}
	if err := l.noExnTables(); err != nil {
		return report, err
	}
	if l.tag, err = addGlobal(m, wasmbin.I32, ExcTag); err != nil {
		return report, err
	}
	if l.val, err = addGlobal(m, wasmbin.I32, ExcVal); err != nil {
		return report, err
	}
	if slices.ContainsFunc(s.funcs, func(f funcSummary) bool { return f.usesEH }) {
		l.handlerTypes(s)
		l.addHelpers(names)
	}
	l.types = slices.Clone(m.Types)
	for i := range m.Types {
		lowerTypes(&m.Types[i])
	}
	for i := range m.Globals {
		lowerGlobal(&m.Globals[i])
	}

	exnAround := slices.ContainsFunc(l.types, mentionsExn) ||
		slices.ContainsFunc(l.globalTypes, func(g wasmbin.GlobalType) bool { return g.Type == wasmbin.ExnRef })
	imported := len(l.funcTypes) - len(s.funcs)
	var touched, checks atomic.Int64
	err = eachFunc(m, func(i int) error {
		if i >= len(s.funcs) || !s.funcs[i].usesEH && !throwers.funcs[imported+i] {
			return nil // a helper, or nothing to do
		}
		f := funcLowering{lowering: &l, wrapped: throwers.funcs[imported+i], exn: exnAround || s.funcs[i].usesEH}
		body, err := f.lower(&m.Funcs[i])
		if err != nil {
			return err
		}
		m.Funcs[i].Body = body
		touched.Add(1)
		checks.Add(int64(f.checks))
		return nil
	})
	l.dropTags()
	mayThrow := 0
	for _, t := range throwers.funcs {
		if t {
			mayThrow++
		}
	}
	report.Funcs, report.CodeAfter = int(touched.Load()), codeSize(m)
	report.Detail = fmt.Sprintf("%d of %d functions may throw, %d checks after calls", mayThrow, len(s.funcs), checks.Load())
	return report, err
}

// lowering is what the lowering of all functions shares; it is read-only while functions are lowered.
type lowering struct {
	m           *wasmbin.Module
	throwers    throwers
	types       []wasmbin.FuncType // before exnref became i64
	funcTypes   []uint32
	globalTypes []wasmbin.GlobalType
	tagParams   []wasmbin.ValType // a tag's value, 0 for none
	handlers    map[uint32]uint32 // signature of a try_table with parameters -> that of its handler block
	tag, val    uint32            // globals
	takeRef     uint32            // helper: [] -> [i64], the pending exception as an exnref, pending no more
	throwRef    uint32            // helper: [i64] -> [], makes it pending again; traps on null
}

// tags notes the value of every tag.
func (l *lowering) tags() error {
	for i, sig := range l.m.TagTypes() {
		if uint64(sig) >= uint64(len(l.m.Types)) {
			return fmt.Errorf("tag %d: signature %d does not exist", i, sig)
		}
		params := l.m.Types[sig].Params
		switch {
		case len(params) == 0:
			l.tagParams = append(l.tagParams, 0)
		case len(params) == 1 && (params[0] == wasmbin.I32 || params[0] == wasmbin.F32):
			l.tagParams = append(l.tagParams, params[0])
		default:
			return fmt.Errorf("tag %d has values %v: at most one i32 or f32 can be lowered", i, params)
		}
	}
	return nil
}

func (l *lowering) noExnTables() error {
	for i, t := range l.m.TableTypes() {
		if t.Elem == wasmbin.ExnRef {
			return fmt.Errorf("table %d holds exnref", i)
		}
	}
	for i, e := range l.m.Elements {
		if e.Type == wasmbin.ExnRef {
			return fmt.Errorf("element segment %d holds exnref", i)
		}
	}
	return nil
}

// handlerTypes makes the signatures of the handler blocks of try_tables with parameters: the same parameters, no
// results. They must exist before functions are lowered in parallel.
func (l *lowering) handlerTypes(s *survey) {
	l.handlers = make(map[uint32]uint32)
	var in wasmbin.Instr
	for i := range s.funcs {
		if !s.funcs[i].usesEH {
			continue
		}
		_, expr, err := wasmbin.SplitBody(l.m.Funcs[i].Body)
		if err != nil {
			continue // reported when the function is lowered
		}
		for r := wasmbin.NewInstrReader(expr); r.Next(&in); {
			if in.Op != wasmbin.OpTryTable {
				continue
			}
			if sig, ok := in.Block.TypeIndex(); ok && uint64(sig) < uint64(len(l.m.Types)) && len(l.m.Types[sig].Params) > 0 {
				l.handlers[sig] = typeIndex(l.m, wasmbin.FuncType{Params: l.m.Types[sig].Params})
			}
		}
	}
}

// addHelpers appends the functions that pack a pending exception into an exnref and unpack it. They keep the many
// places that do so small; these places run only while an exception travels.
func (l *lowering) addHelpers(names *funcNames) {
	m := l.m
	next := m.Imported(wasmbin.KindFunc) + len(m.Funcs)
	l.takeRef, l.throwRef = uint32(next), uint32(next+1)
	names.add(next, "cloche.take_exnref")
	names.add(next+1, "cloche.throw_ref")

	take := code{0} // no locals
	take.index(wasmbin.OpGlobalGet, l.tag)
	take.op(wasmbin.OpI64ExtendI32U)
	take.i64(32)
	take.op(wasmbin.OpI64Shl)
	take.index(wasmbin.OpGlobalGet, l.val)
	take.op(wasmbin.OpI64ExtendI32U)
	take.op(wasmbin.OpI64Or)
	take.i32(0)
	take.index(wasmbin.OpGlobalSet, l.tag)
	take.op(wasmbin.OpEnd)

	throw := code{0}
	throw.index(wasmbin.OpLocalGet, 0)
	throw.op(wasmbin.OpI64Eqz)
	throw.block(wasmbin.OpIf, wasmbin.EmptyBlock)
	throw.op(wasmbin.OpUnreachable)
	throw.op(wasmbin.OpEnd)
	throw.index(wasmbin.OpLocalGet, 0)
	throw.op(wasmbin.OpI32WrapI64)
	throw.index(wasmbin.OpGlobalSet, l.val)
	throw.index(wasmbin.OpLocalGet, 0)
	throw.i64(32)
	throw.op(wasmbin.OpI64ShrU)
	throw.op(wasmbin.OpI32WrapI64)
	throw.index(wasmbin.OpGlobalSet, l.tag)
	throw.op(wasmbin.OpEnd)

	i64 := []wasmbin.ValType{wasmbin.I64}
	m.Funcs = append(m.Funcs,
		wasmbin.Func{Type: typeIndex(m, wasmbin.FuncType{Results: i64}), Body: take},
		wasmbin.Func{Type: typeIndex(m, wasmbin.FuncType{Params: i64}), Body: throw})
}

// dropTags removes what only the proposal knows from the module's sections.
func (l *lowering) dropTags() {
	m := l.m
	m.Tags = nil
	m.Imports = slices.DeleteFunc(m.Imports, func(im wasmbin.Import) bool { return im.Kind == wasmbin.KindTag })
	m.Exports = slices.DeleteFunc(m.Exports, func(e wasmbin.Export) bool { return e.Kind == wasmbin.KindTag })
	for i := range m.Imports {
		m.Imports[i].Global.Type = lowerType(m.Imports[i].Global.Type)
	}
}

func lowerType(t wasmbin.ValType) wasmbin.ValType {
	if t == wasmbin.ExnRef {
		return wasmbin.I64
	}
	return t
}

func lowerTypes(t *wasmbin.FuncType) {
	for _, types := range []*[]wasmbin.ValType{&t.Params, &t.Results} {
		if slices.Contains(*types, wasmbin.ExnRef) {
			*types = slices.Clone(*types)
			for i := range *types {
				(*types)[i] = lowerType((*types)[i])
			}
		}
	}
}

// lowerGlobal lowers a global of type exnref; its value can only be null or that of another global.
func lowerGlobal(g *wasmbin.Global) {
	if g.Type != wasmbin.ExnRef {
		return
	}
	g.Type = wasmbin.I64
	if len(g.Init) > 0 && wasmbin.Opcode(g.Init[0]) == wasmbin.OpRefNull {
		g.Init = append(appendZero(nil, wasmbin.I64), byte(wasmbin.OpEnd))
	}
}
