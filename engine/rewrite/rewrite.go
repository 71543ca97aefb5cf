// Package rewrite changes a WebAssembly module so that Cloche can run it: exceptions become plain control
// flow, executed instructions are counted and bounded, and what a memory image replaces is taken out.
//
// [Rewrite] runs the passes that [Options] asks for, in a fixed order. Each pass is a function over a
// [wasmbin.Module]; the comment above it has the rule and an example, before and after. Passes are
// deterministic: the same bytes and options give the same bytes, whatever the number of processors.
// Rewriting does not validate: a module that was valid stays valid, and one that was not is refused here or
// by the compiler that follows.
//
// # What a rewritten module looks like from outside
//
//   - Its memory is exported as "memory", every mutable global under the names in [Output.Globals].
//   - With Fuel, the i64 global [FuelGlobal] counts down and the function [RefillModule].[RefillName], which
//     the module imports, is called when it has run out.
//   - With LowerExceptions, the i32 global [ExcTag] is not zero after a call that left an exception
//     uncaught: it holds the tag's index + 1, and [ExcVal] the tag's value. Whoever wants to go on calling
//     this instance sets ExcTag back to zero.
//
// All functions of the package may be called concurrently.
package rewrite

import (
	"fmt"

	"github.com/cloche-dev/cloche/engine/wasmbin"
)

// Version changes whenever the same input and options may give another output. It goes into cache keys.
const Version = 2

// Names that a rewritten module exports or imports.
const (
	FuelGlobal   = "cloche.fuel"    // mutable i64: what is left of the slice
	ExcTag       = "cloche.exc_tag" // mutable i32: index of the pending exception's tag + 1, 0 when none is pending
	ExcVal       = "cloche.exc_val" // mutable i32: the pending exception's value
	RefillModule = "cloche"
	RefillName   = "refill" // [] -> []
)

// Options selects the passes. The zero value only brings the exports into the form above.
type Options struct {
	LowerExceptions bool
	Fuel            bool

	// ExportFuncs exports functions by their name in the name section: export name -> function name.
	ExportFuncs map[string]string

	// KeepExports lists the exports of the input to keep; nil keeps all. Exports that the rewriting adds
	// (ExportFuncs, memory, globals) are always kept.
	KeepExports []string

	StripNames      bool // take the name section out
	StripActiveData bool // take the active data segments out, into Output.Data
}

// DataSegment is an active data segment that was taken out.
type DataSegment struct {
	Offset uint32 // in linear memory
	Bytes  []byte // shares memory with the input module
}

// Output is a rewritten module and what is known about it.
type Output struct {
	Module []byte
	Data   []DataSegment // with StripActiveData, in the order in which instantiation would copy them
	Names  []byte        // payload of a name section with the names of Module's functions; nil without names

	// Globals names the export of every mutable global that belongs to the guest's state, in index order.
	// FuelGlobal is not among them: it belongs to the host.
	Globals []string

	MemoryMin, MemoryMax uint32 // of memory 0, in pages of 64 KiB; without a declared maximum MemoryMax is 65536
	TableImmutable       bool   // nothing can change a table after instantiation
	Report               []PassReport
}

// PassReport says what one pass did.
type PassReport struct {
	Pass                  string
	Funcs                 int // functions touched
	CodeBefore, CodeAfter int // bytes in function bodies
	Detail                string
}

// Rewrite rewrites a module. Errors name the pass, and the function or the byte offset where there is one.
func Rewrite(module []byte, o Options) (Output, error) {
	m, err := wasmbin.Decode(module)
	if err != nil {
		return Output{}, fmt.Errorf("rewrite: %w", err)
	}
	out, err := rewrite(m, o)
	if err != nil {
		return Output{}, fmt.Errorf("rewrite: %w", err)
	}
	return out, nil
}

func rewrite(m *wasmbin.Module, o Options) (Output, error) {
	var out Output
	s, err := surveyModule(m)
	if err != nil {
		return out, err
	}
	names, err := takeNames(m)
	if err != nil {
		return out, err
	}
	if err := selectExports(m, names, o); err != nil {
		return out, fmt.Errorf("exports: %w", err)
	}
	if o.LowerExceptions {
		report, err := lowerExceptions(m, s, names)
		if err != nil {
			return out, fmt.Errorf("lower exceptions: %w", err)
		}
		out.Report = append(out.Report, report)
	}
	if o.Fuel {
		report, err := addFuel(m, names)
		if err != nil {
			return out, fmt.Errorf("fuel: %w", err)
		}
		out.Report = append(out.Report, report)
	}
	if o.StripActiveData {
		if out.Data, err = stripActiveData(m, s.usesData); err != nil {
			return out, fmt.Errorf("strip data: %w", err)
		}
	}
	if out.MemoryMin, out.MemoryMax, err = exportMemory(m); err != nil {
		return out, err
	}
	out.TableImmutable = !s.changesTables && !tableShared(m)
	if out.Globals, err = exportGlobals(m); err != nil {
		return out, fmt.Errorf("exports: %w", err)
	}
	out.Names = names.payload()
	if !o.StripNames && out.Names != nil {
		m.Customs = append(m.Customs, wasmbin.Custom{Name: wasmbin.NameSection, Bytes: out.Names, After: wasmbin.SectionData})
	}
	out.Module = wasmbin.Encode(m)
	return out, nil
}

// codeSize is the number of bytes in function bodies.
func codeSize(m *wasmbin.Module) int {
	n := 0
	for i := range m.Funcs {
		n += len(m.Funcs[i].Body)
	}
	return n
}
