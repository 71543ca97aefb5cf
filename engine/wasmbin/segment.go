package wasmbin

// Bits of an element segment's flags.
const (
	elemNotActive = 1 << iota // passive or declarative
	elemExplicit              // active: has a table index; else: declarative
	elemExprs                 // holds expressions instead of function indices
)

func (c *cursor) element() Element {
	start := c.pos
	flags := c.u32()
	if flags > elemNotActive|elemExplicit|elemExprs {
		c.failAt(start, "unknown kind of element segment %d", flags)
		return Element{}
	}
	e := Element{Type: FuncRef}
	switch {
	case flags&elemNotActive == 0:
		if flags&elemExplicit != 0 {
			e.Table = c.u32()
		}
		e.Offset = c.expr()
	case flags&elemExplicit != 0:
		e.Mode = Declarative
	default:
		e.Mode = Passive
	}
	if flags&(elemNotActive|elemExplicit) != 0 {
		if flags&elemExprs != 0 {
			e.Type = c.refType()
		} else {
			c.flag(0, "kind of element")
		}
	}
	if flags&elemExprs != 0 {
		e.Exprs = vec(c, 1, (*cursor).expr)
	} else {
		e.Funcs = vec(c, 1, (*cursor).u32)
	}
	return e
}

func appendElement(b []byte, e Element) []byte {
	var flags byte
	exprs := len(e.Exprs) > 0 || e.Type != FuncRef
	if exprs {
		flags |= elemExprs
	}
	switch {
	case e.Mode == Passive:
		flags |= elemNotActive
	case e.Mode == Declarative:
		flags |= elemNotActive | elemExplicit
	case e.Table != 0 || e.Type != FuncRef:
		flags |= elemExplicit
	}
	b = append(b, flags)
	if e.Mode == Active {
		if flags&elemExplicit != 0 {
			b = AppendU32(b, e.Table)
		}
		b = append(b, e.Offset...)
	}
	if exprs {
		if flags&(elemNotActive|elemExplicit) != 0 {
			b = append(b, byte(e.Type))
		}
		return appendVec(b, e.Exprs, func(b []byte, expr []byte) []byte { return append(b, expr...) })
	}
	if flags&(elemNotActive|elemExplicit) != 0 {
		b = append(b, 0)
	}
	return appendVec(b, e.Funcs, AppendU32)
}

// Kinds of data segments.
const (
	dataActive   = 0
	dataPassive  = 1
	dataExplicit = 2 // active, with a memory index
)

func (c *cursor) data() Data {
	var d Data
	start := c.pos
	switch kind := c.u32(); kind {
	case dataActive:
		d.Offset = c.expr()
	case dataPassive:
		d.Mode = Passive
	case dataExplicit:
		d.Memory = c.u32()
		d.Offset = c.expr()
	default:
		c.failAt(start, "unknown kind of data segment %d", kind)
	}
	d.Bytes = c.bytes(c.u32())
	return d
}

func appendData(b []byte, d Data) []byte {
	switch {
	case d.Mode == Passive:
		b = append(b, dataPassive)
	case d.Memory == 0:
		b = append(append(b, dataActive), d.Offset...)
	default:
		b = append(AppendU32(append(b, dataExplicit), d.Memory), d.Offset...)
	}
	return appendBytes(b, d.Bytes)
}
