package wasmbin

// NameSection is the name of the custom section that holds names for debugging.
const NameSection = "name"

// Name names one function.
type Name struct {
	Index uint32
	Name  string
}

// Subsections of the name section.
const (
	namesFuncs = 1
)

// FuncNames reads the function names out of a name section's payload, in its order. Other subsections
// are skipped.
func FuncNames(payload []byte) ([]Name, error) {
	c := cursor{buf: payload}
	var names []Name
	for !c.done() && c.err == nil {
		id := c.byte()
		sub := c.sub(c.u32())
		if id == namesFuncs && c.err == nil {
			names = vec(&sub, 2, func(c *cursor) Name { return Name{c.u32(), c.name()} })
			c.err = sub.err
		}
	}
	return names, c.err
}

// AppendFuncNames appends the payload of a name section that holds function names only. They must be
// in ascending order of their indices.
func AppendFuncNames(b []byte, names []Name) []byte {
	return appendSized(append(b, namesFuncs), func(b []byte) []byte {
		return appendVec(b, names, func(b []byte, n Name) []byte { return appendBytes(AppendU32(b, n.Index), n.Name) })
	})
}
