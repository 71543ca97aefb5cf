package wat

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cloche-dev/cloche/engine/wasmbin"
)

// Parse reads a module: one (module ...) list. The functions' names become a name section.
func Parse(src string) (m *wasmbin.Module, err error) {
	defer func() {
		if e, ok := recover().(syntaxError); ok {
			m, err = nil, e.error
		}
	}()
	s := scanner{src: src, line: 1}
	nodes := s.nodes(true)
	if len(nodes) != 1 || nodes[0].head() != "module" {
		return nil, fmt.Errorf("want one (module ...)")
	}
	p := parser{m: new(wasmbin.Module), names: make(map[string]map[string]uint32)}
	p.module(nodes[0].list[1:])
	return p.m, nil
}

// MustParse is like [Parse] followed by [wasmbin.Encode]; it panics when src is wrong.
func MustParse(src string) []byte {
	m, err := Parse(src)
	if err != nil {
		panic(err)
	}
	return wasmbin.Encode(m)
}

type parser struct {
	m         *wasmbin.Module
	names     map[string]map[string]uint32 // by index space: "func", "type", ...
	counts    map[string]uint32
	funcNames []wasmbin.Name
}

// fields is a cursor over the rest of a list.
type fields struct {
	nodes []node
	line  int
}

func (f *fields) more() bool { return len(f.nodes) > 0 }

func (f *fields) next() node {
	if !f.more() {
		failf(f.line, "something is missing at the end")
	}
	n := f.nodes[0]
	f.nodes, f.line = f.nodes[1:], n.line
	return n
}

// id reads an optional $name.
func (f *fields) id() string {
	if f.more() && strings.HasPrefix(f.nodes[0].atom, "$") && !f.nodes[0].str {
		return f.next().atom
	}
	return ""
}

// take reads the next list if its head is one of the given words.
func (f *fields) take(heads ...string) (node, bool) {
	if f.more() && slices.Contains(heads, f.nodes[0].head()) {
		return f.next(), true
	}
	return node{}, false
}

func (f *fields) word(w string) bool {
	if f.more() && f.nodes[0].atom == w && !f.nodes[0].str {
		f.next()
		return true
	}
	return false
}

func rest(n node) *fields { return &fields{n.list[1:], n.line} }

// module declares everything first, so that names may be used before they are defined, and then defines it.
func (p *parser) module(items []node) {
	p.counts = make(map[string]uint32)
	for _, n := range items {
		if n.head() == "type" {
			p.declare(rest(n), "type")
		}
	}
	for _, n := range items {
		if n.head() == "type" {
			f := rest(n)
			f.id()
			sig := rest(f.next())
			p.m.Types = append(p.m.Types, p.signature(sig, nil))
		}
	}
	var define []func()
	for _, n := range items {
		f := rest(n)
		switch head := n.head(); head {
		case "type":
		case "import":
			p.importItem(f)
		case "func", "table", "memory", "global", "tag":
			index := p.declare(f, head)
			p.inlineExports(f, head, index)
			if head == "func" {
				p.m.Funcs = append(p.m.Funcs, wasmbin.Func{})
				fn := &fields{f.nodes, f.line}
				at := len(p.m.Funcs) - 1
				define = append(define, func() { p.m.Funcs[at] = p.function(fn) })
				continue
			}
			define = append(define, func() { p.define(f, head) })
		case "elem", "data":
			p.declare(f, head)
			define = append(define, func() { p.define(f, head) })
		case "export":
			define = append(define, func() {
				name, item := f.next().atom, f.next()
				p.export(name, item.head(), p.index(item.head(), item.list[1]))
			})
		case "start":
			define = append(define, func() {
				start := p.index("func", f.next())
				p.m.Start = &start
			})
		default:
			failf(n.line, "unknown field %q", head)
		}
	}
	for _, d := range define {
		d()
	}
	p.m.HasDataCount = len(p.m.Data) > 0
	if len(p.funcNames) > 0 {
		p.m.Customs = append(p.m.Customs, wasmbin.Custom{
			Name: wasmbin.NameSection, Bytes: wasmbin.AppendFuncNames(nil, p.funcNames), After: wasmbin.SectionData,
		})
	}
}

// declare gives the item the next index of its space, and its name.
func (p *parser) declare(f *fields, space string) uint32 {
	index := p.counts[space]
	p.counts[space]++
	if name := f.id(); name != "" {
		if p.names[space] == nil {
			p.names[space] = make(map[string]uint32)
		}
		p.names[space][name] = index
		if space == "func" {
			p.funcNames = append(p.funcNames, wasmbin.Name{Index: index, Name: name[1:]})
		}
	}
	return index
}

// index reads an index or a name of a space.
func (p *parser) index(space string, n node) uint32 {
	if i, ok := p.names[space][n.atom]; ok {
		return i
	}
	v, err := strconv.ParseUint(n.atom, 0, 32)
	if err != nil {
		failf(n.line, "unknown %s %q", space, n.atom)
	}
	return uint32(v)
}

var kinds = []string{"func", "table", "memory", "global", "tag"} // by wasmbin.Kind

func (p *parser) inlineExports(f *fields, space string, index uint32) {
	for {
		n, ok := f.take("export")
		if !ok {
			return
		}
		p.export(rest(n).next().atom, space, index)
	}
}

func (p *parser) export(name, space string, index uint32) {
	kind := slices.Index(kinds, space)
	p.m.Exports = append(p.m.Exports, wasmbin.Export{Name: name, Kind: wasmbin.Kind(kind), Index: index})
}

func (p *parser) importItem(f *fields) {
	im := wasmbin.Import{Module: f.next().atom, Name: f.next().atom}
	item := f.next()
	f = rest(item)
	im.Kind = wasmbin.Kind(slices.Index(kinds, item.head()))
	p.declare(f, item.head())
	switch im.Kind {
	case wasmbin.KindFunc, wasmbin.KindTag:
		im.Type = p.typeUse(f, nil)
	case wasmbin.KindTable:
		im.Table.Limits = limits(f)
		im.Table.Elem = valType(f.next())
	case wasmbin.KindMemory:
		im.Memory = limits(f)
	case wasmbin.KindGlobal:
		im.Global = globalType(f)
	}
	p.m.Imports = append(p.m.Imports, im)
}

func (p *parser) define(f *fields, space string) {
	switch space {
	case "table":
		l := limits(f)
		p.m.Tables = append(p.m.Tables, wasmbin.Table{Elem: valType(f.next()), Limits: l})
	case "memory":
		p.m.Memories = append(p.m.Memories, limits(f))
	case "global":
		p.m.Globals = append(p.m.Globals, wasmbin.Global{GlobalType: globalType(f), Init: p.constant(f.next())})
	case "tag":
		p.m.Tags = append(p.m.Tags, p.typeUse(f, nil))
	case "elem":
		p.element(f)
	case "data":
		d := wasmbin.Data{Mode: wasmbin.Passive}
		if f.more() && f.nodes[0].isList {
			d.Mode, d.Offset = wasmbin.Active, p.constant(f.next())
		}
		for f.more() {
			d.Bytes = append(d.Bytes, f.next().atom...)
		}
		p.m.Data = append(p.m.Data, d)
	}
}

func (p *parser) element(f *fields) {
	e := wasmbin.Element{Mode: wasmbin.Passive, Type: wasmbin.FuncRef}
	if n, ok := f.take("table"); ok {
		e.Table = p.index("table", n.list[1])
	}
	switch {
	case f.word("declare"):
		e.Mode = wasmbin.Declarative
	case f.more() && f.nodes[0].isList:
		e.Mode, e.Offset = wasmbin.Active, p.constant(f.next())
	}
	if f.word("func") {
		for f.more() {
			e.Funcs = append(e.Funcs, p.index("func", f.next()))
		}
	} else {
		e.Type = valType(f.next())
		for f.more() {
			e.Exprs = append(e.Exprs, p.constant(f.next()))
		}
	}
	p.m.Elements = append(p.m.Elements, e)
}

// constant reads a folded constant expression.
func (p *parser) constant(n node) []byte {
	fn := function{p: p}
	fn.instrs(&fields{[]node{n}, n.line})
	return append(fn.code, byte(wasmbin.OpEnd))
}

func limits(f *fields) wasmbin.Limits {
	l := wasmbin.Limits{Min: number(f.next(), 64)}
	if f.more() && f.nodes[0].atom != "" && f.nodes[0].atom[0] >= '0' && f.nodes[0].atom[0] <= '9' {
		l.HasMax, l.Max = true, number(f.next(), 64)
	}
	l.Shared = f.word("shared")
	return l
}

func globalType(f *fields) wasmbin.GlobalType {
	if n, ok := f.take("mut"); ok {
		return wasmbin.GlobalType{Type: valType(n.list[1]), Mutable: true}
	}
	return wasmbin.GlobalType{Type: valType(f.next())}
}

var valTypes = map[string]wasmbin.ValType{
	"i32": wasmbin.I32, "i64": wasmbin.I64, "f32": wasmbin.F32, "f64": wasmbin.F64, "v128": wasmbin.V128,
	"funcref": wasmbin.FuncRef, "externref": wasmbin.ExternRef, "exnref": wasmbin.ExnRef,
	"func": wasmbin.FuncRef, "extern": wasmbin.ExternRef, "exn": wasmbin.ExnRef,
}

func valType(n node) wasmbin.ValType {
	t, ok := valTypes[n.atom]
	if !ok {
		failf(n.line, "unknown type %q", n.atom)
	}
	return t
}

// signature reads (param ...) and (result ...); named parameters go to locals.
func (p *parser) signature(f *fields, locals map[string]uint32) wasmbin.FuncType {
	var t wasmbin.FuncType
	for {
		n, ok := f.take("param", "result")
		if !ok {
			return t
		}
		types := &t.Params
		if n.head() == "result" {
			types = &t.Results
		}
		items := rest(n)
		if name := items.id(); name != "" && locals != nil {
			locals[name] = uint32(len(t.Params))
		}
		for items.more() {
			*types = append(*types, valType(items.next()))
		}
	}
}

// typeUse reads (type $t), or a signature for which it finds or makes a type.
func (p *parser) typeUse(f *fields, locals map[string]uint32) uint32 {
	if n, ok := f.take("type"); ok {
		p.signature(f, locals)
		return p.index("type", n.list[1])
	}
	return p.typeOf(p.signature(f, locals))
}

func (p *parser) typeOf(t wasmbin.FuncType) uint32 {
	for i, have := range p.m.Types {
		if slices.Equal(have.Params, t.Params) && slices.Equal(have.Results, t.Results) {
			return uint32(i)
		}
	}
	p.m.Types = append(p.m.Types, t)
	return uint32(len(p.m.Types) - 1)
}

// number reads an integer, signed or not, of at most the given number of bits.
func number(n node, bits int) uint64 {
	text := strings.ReplaceAll(n.atom, "_", "")
	if v, err := strconv.ParseInt(text, 0, bits); err == nil {
		return uint64(v)
	}
	v, err := strconv.ParseUint(text, 0, bits)
	if err != nil {
		failf(n.line, "bad number %q", n.atom)
	}
	if bits == 32 {
		return uint64(int64(int32(v)))
	}
	return v
}

func float(n node, bits int) uint64 {
	v, err := strconv.ParseFloat(n.atom, bits)
	if err != nil {
		failf(n.line, "bad number %q", n.atom)
	}
	if bits == 32 {
		return uint64(math.Float32bits(float32(v)))
	}
	return math.Float64bits(v)
}
