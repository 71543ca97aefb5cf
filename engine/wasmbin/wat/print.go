package wat

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/cloche-dev/cloche/engine/wasmbin"
)

// Print writes a module as text. Indices stay numbers. Custom sections are left out.
func Print(w io.Writer, m *wasmbin.Module) error {
	var b strings.Builder
	b.WriteString("(module\n")
	for i, t := range m.Types {
		fmt.Fprintf(&b, "  (type %d (func%s))\n", i, signature(t))
	}
	for _, im := range m.Imports {
		fmt.Fprintf(&b, "  (import %q %q (%s%s))\n", im.Module, im.Name, kinds[im.Kind], importType(im))
	}
	for _, t := range m.Tables {
		fmt.Fprintf(&b, "  (table%s)\n", tableType(t))
	}
	for _, l := range m.Memories {
		fmt.Fprintf(&b, "  (memory%s)\n", limitsText(l))
	}
	for _, t := range m.Tags {
		fmt.Fprintf(&b, "  (tag (type %d))\n", t)
	}
	for i, g := range m.Globals {
		fmt.Fprintf(&b, "  (global (;%d;)%s (%s))\n", m.Imported(wasmbin.KindGlobal)+i, globalText(g.GlobalType), constant(g.Init))
	}
	for _, e := range m.Exports {
		fmt.Fprintf(&b, "  (export %q (%s %d))\n", e.Name, kinds[e.Kind], e.Index)
	}
	if m.Start != nil {
		fmt.Fprintf(&b, "  (start %d)\n", *m.Start)
	}
	for _, e := range m.Elements {
		fmt.Fprintf(&b, "  (elem%s)\n", element(e))
	}
	for i, f := range m.Funcs {
		if err := printFunc(&b, m, m.Imported(wasmbin.KindFunc)+i, f); err != nil {
			return err
		}
	}
	for _, d := range m.Data {
		b.WriteString("  (data")
		if d.Mode == wasmbin.Active {
			fmt.Fprintf(&b, " (%s)", constant(d.Offset))
		}
		fmt.Fprintf(&b, " %q)\n", d.Bytes)
	}
	b.WriteString(")\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func signature(t wasmbin.FuncType) string {
	return typeList("param", t.Params) + typeList("result", t.Results)
}

func typeList(word string, types []wasmbin.ValType) string {
	if len(types) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(" (" + word)
	for _, t := range types {
		b.WriteString(" " + t.String())
	}
	return b.String() + ")"
}

func importType(im wasmbin.Import) string {
	switch im.Kind {
	case wasmbin.KindTable:
		return tableType(im.Table)
	case wasmbin.KindMemory:
		return limitsText(im.Memory)
	case wasmbin.KindGlobal:
		return globalText(im.Global)
	default:
		return fmt.Sprintf(" (type %d)", im.Type)
	}
}

func tableType(t wasmbin.Table) string { return limitsText(t.Limits) + " " + t.Elem.String() }

func limitsText(l wasmbin.Limits) string {
	s := fmt.Sprintf(" %d", l.Min)
	if l.HasMax {
		s += fmt.Sprintf(" %d", l.Max)
	}
	if l.Shared {
		s += " shared"
	}
	return s
}

func globalText(t wasmbin.GlobalType) string {
	if t.Mutable {
		return " (mut " + t.Type.String() + ")"
	}
	return " " + t.Type.String()
}

// constant prints a constant expression on one line, without its end.
func constant(expr []byte) string {
	var parts []string
	r := wasmbin.NewInstrReader(expr)
	for in := (wasmbin.Instr{}); r.Next(&in); {
		if in.Op != wasmbin.OpEnd {
			parts = append(parts, instr(&in, expr))
		}
	}
	return strings.Join(parts, " ")
}

func element(e wasmbin.Element) string {
	var b strings.Builder
	switch e.Mode {
	case wasmbin.Active:
		fmt.Fprintf(&b, " (table %d) (%s)", e.Table, constant(e.Offset))
	case wasmbin.Declarative:
		b.WriteString(" declare")
	}
	if len(e.Exprs) > 0 || e.Type != wasmbin.FuncRef {
		b.WriteString(" " + e.Type.String())
		for _, x := range e.Exprs {
			fmt.Fprintf(&b, " (%s)", constant(x))
		}
		return b.String()
	}
	b.WriteString(" func")
	for _, f := range e.Funcs {
		fmt.Fprintf(&b, " %d", f)
	}
	return b.String()
}

func printFunc(b *strings.Builder, m *wasmbin.Module, index int, f wasmbin.Func) error {
	locals, expr, err := wasmbin.SplitBody(f.Body)
	if err != nil {
		return fmt.Errorf("function %d: %w", index, err)
	}
	fmt.Fprintf(b, "  (func (;%d;) (type %d)", index, f.Type)
	if int(f.Type) < len(m.Types) {
		b.WriteString(signature(m.Types[f.Type]))
	}
	b.WriteByte('\n')
	for _, g := range locals {
		fmt.Fprintf(b, "    (local%s)\n", strings.Repeat(" "+g.Type.String(), int(min(g.Count, 1000))))
	}
	indent := 2
	r := wasmbin.NewInstrReader(expr)
	for in := (wasmbin.Instr{}); r.Next(&in); {
		switch in.Op {
		case wasmbin.OpEnd, wasmbin.OpElse:
			indent--
		}
		if indent < 2 {
			break
		}
		fmt.Fprintf(b, "%s%s\n", strings.Repeat("  ", indent), instr(&in, expr))
		switch in.Op {
		case wasmbin.OpBlock, wasmbin.OpLoop, wasmbin.OpIf, wasmbin.OpElse, wasmbin.OpTryTable:
			indent++
		}
	}
	if err := r.Err(); err != nil {
		return fmt.Errorf("function %d: %w", index, err)
	}
	b.WriteString("  )\n")
	return nil
}

// instr prints one instruction of expr.
func instr(in *wasmbin.Instr, expr []byte) string {
	name := in.Op.String()
	switch in.Op.Immediates() {
	case wasmbin.ImmBlock:
		return name + blockText(in.Block)
	case wasmbin.ImmTryTable:
		name += blockText(in.Block)
		for _, c := range in.Catches {
			if c.Kind == wasmbin.Catch || c.Kind == wasmbin.CatchRef {
				name += fmt.Sprintf(" (%s %d %d)", catchKinds[c.Kind], c.Tag, c.Label)
			} else {
				name += fmt.Sprintf(" (%s %d)", catchKinds[c.Kind], c.Label)
			}
		}
		return name
	case wasmbin.ImmBrTable:
		for _, l := range in.Labels {
			name += fmt.Sprintf(" %d", l)
		}
		return name
	case wasmbin.ImmLabel, wasmbin.ImmFunc, wasmbin.ImmType, wasmbin.ImmTag, wasmbin.ImmLocal, wasmbin.ImmGlobal,
		wasmbin.ImmData, wasmbin.ImmElem, wasmbin.ImmTable:
		return fmt.Sprintf("%s %d", name, in.Index)
	case wasmbin.ImmTable2:
		return fmt.Sprintf("%s %d %d", name, in.Index, in.Index2)
	case wasmbin.ImmCall:
		return fmt.Sprintf("%s %d (type %d)", name, in.Index2, in.Index)
	case wasmbin.ImmInit:
		return fmt.Sprintf("%s %d", name, in.Index2)
	case wasmbin.ImmMemArg, wasmbin.ImmMemLane:
		if in.Value != 0 {
			name += fmt.Sprintf(" offset=%d", in.Value)
		}
		if in.Align != 0 {
			name += fmt.Sprintf(" align=%d", uint64(1)<<(in.Align&63))
		}
		if in.Op.Immediates() == wasmbin.ImmMemLane {
			name += fmt.Sprintf(" %d", in.Lane)
		}
		return name
	case wasmbin.ImmLane:
		return fmt.Sprintf("%s %d", name, in.Lane)
	case wasmbin.ImmI32, wasmbin.ImmI64:
		return fmt.Sprintf("%s %d", name, int64(in.Value))
	case wasmbin.ImmF32:
		return fmt.Sprintf("%s %v", name, math.Float32frombits(uint32(in.Value)))
	case wasmbin.ImmF64:
		return fmt.Sprintf("%s %v", name, math.Float64frombits(in.Value))
	case wasmbin.ImmV128:
		return fmt.Sprintf("%s 0x%x", name, expr[in.End-16:in.End])
	case wasmbin.ImmSelect:
		return name + typeList("result", in.Types)
	case wasmbin.ImmRef:
		return name + " " + strings.TrimSuffix(in.Types[0].String(), "ref")
	}
	return name
}

func blockText(t wasmbin.BlockType) string {
	if i, ok := t.TypeIndex(); ok {
		return fmt.Sprintf(" (type %d)", i)
	}
	if r, ok := t.Result(); ok {
		return " (result " + r.String() + ")"
	}
	return ""
}
