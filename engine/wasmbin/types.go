package wasmbin

// Short and long forms of reference types and of the heap types in them.
const (
	longRefNull = 0x63
	longRef     = 0x64
)

func (c *cursor) valType() ValType {
	switch b := c.byte(); b {
	case byte(I32), byte(I64), byte(F32), byte(F64), byte(V128), byte(FuncRef), byte(ExternRef), byte(ExnRef):
		return ValType(b)
	case longRefNull, longRef:
		return c.heapType()
	default:
		c.failAt(c.pos-1, "unknown value type %#x", b)
		return 0
	}
}

func (c *cursor) refType() ValType {
	t := c.valType()
	if c.err == nil && !t.IsRef() {
		c.failAt(c.pos-1, "%v is not a reference type", t)
	}
	return t
}

// heapType reads an abstract heap type and returns the nullable reference to it.
func (c *cursor) heapType() ValType {
	b := c.byte()
	if t := ValType(b); t.IsRef() {
		return t
	}
	c.failAt(c.pos-1, "unknown heap type %#x", b)
	return 0
}

func (c *cursor) funcType() FuncType {
	if form := c.byte(); c.err == nil && form != 0x60 {
		c.failAt(c.pos-1, "unknown form of type %#x", form)
	}
	return FuncType{
		Params:  vec(c, 1, (*cursor).valType),
		Results: vec(c, 1, (*cursor).valType),
	}
}

func appendFuncType(b []byte, t FuncType) []byte {
	b = append(b, 0x60)
	b = appendVec(b, t.Params, appendValType)
	return appendVec(b, t.Results, appendValType)
}

func appendValType(b []byte, t ValType) []byte { return append(b, byte(t)) }

func (c *cursor) limits() Limits {
	flags := c.flag(7, "limits")
	l := Limits{HasMax: flags&1 != 0, Shared: flags&2 != 0, Is64: flags&4 != 0}
	size := func() uint64 {
		if l.Is64 {
			return c.u64()
		}
		return uint64(c.u32())
	}
	l.Min = size()
	if l.HasMax {
		l.Max = size()
	}
	return l
}

func appendLimits(b []byte, l Limits) []byte {
	var flags byte
	for i, set := range []bool{l.HasMax, l.Shared, l.Is64} {
		if set {
			flags |= 1 << i
		}
	}
	b = AppendU64(append(b, flags), l.Min)
	if l.HasMax {
		b = AppendU64(b, l.Max)
	}
	return b
}

func (c *cursor) table() Table { return Table{c.refType(), c.limits()} }

func appendTable(b []byte, t Table) []byte { return appendLimits(append(b, byte(t.Elem)), t.Limits) }

func (c *cursor) globalType() GlobalType {
	return GlobalType{c.valType(), c.flag(1, "mutability") == 1}
}

func appendGlobalType(b []byte, t GlobalType) []byte {
	b = append(b, byte(t.Type), 0)
	if t.Mutable {
		b[len(b)-1] = 1
	}
	return b
}

func (c *cursor) global() Global { return Global{c.globalType(), c.expr()} }

func appendGlobal(b []byte, g Global) []byte {
	return append(appendGlobalType(b, g.GlobalType), g.Init...)
}

// tag reads a tag's type: an attribute, which is zero for exceptions, and a signature.
func (c *cursor) tag() uint32 {
	c.flag(0, "tag attribute")
	return c.u32()
}

func appendTag(b []byte, sig uint32) []byte { return AppendU32(append(b, 0), sig) }

func (c *cursor) importItem() Import {
	im := Import{Module: c.name(), Name: c.name(), Kind: Kind(c.flag(byte(KindTag), "kind of import"))}
	switch im.Kind {
	case KindFunc:
		im.Type = c.u32()
	case KindTable:
		im.Table = c.table()
	case KindMemory:
		im.Memory = c.limits()
	case KindGlobal:
		im.Global = c.globalType()
	case KindTag:
		im.Type = c.tag()
	}
	return im
}

func appendImport(b []byte, im Import) []byte {
	b = append(appendBytes(appendBytes(b, im.Module), im.Name), byte(im.Kind))
	switch im.Kind {
	case KindFunc:
		return AppendU32(b, im.Type)
	case KindTable:
		return appendTable(b, im.Table)
	case KindMemory:
		return appendLimits(b, im.Memory)
	case KindGlobal:
		return appendGlobalType(b, im.Global)
	default:
		return appendTag(b, im.Type)
	}
}

func (c *cursor) export() Export {
	return Export{c.name(), Kind(c.flag(byte(KindTag), "kind of export")), c.u32()}
}

func appendExport(b []byte, e Export) []byte {
	return AppendU32(append(appendBytes(b, e.Name), byte(e.Kind)), e.Index)
}
