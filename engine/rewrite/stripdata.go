package rewrite

import (
	"fmt"
	"slices"

	"github.com/cloche-dev/cloche/engine/wasmbin"
)

// stripActiveData takes the active data segments out of m and returns them.
//
// Instantiation copies an active segment to memory and drops it, so it is an empty segment from then on. Where
// an instruction names segments by index, an empty passive one takes its place and no index moves:
//
//	(data (i32.const 1024) "text")  ->  (data "")
func stripActiveData(m *wasmbin.Module, indexed bool) ([]DataSegment, error) {
	var taken []DataSegment
	for i := range m.Data {
		d := &m.Data[i]
		if d.Mode != wasmbin.Active {
			continue
		}
		offset, err := constantOffset(d.Offset)
		if err != nil {
			return nil, fmt.Errorf("segment %d: %w", i, err)
		}
		if d.Memory != 0 {
			return nil, fmt.Errorf("segment %d is for memory %d", i, d.Memory)
		}
		taken = append(taken, DataSegment{offset, d.Bytes})
		*d = wasmbin.Data{Mode: wasmbin.Passive}
	}
	if !indexed {
		m.HasDataCount = false
		m.Data = slices.DeleteFunc(m.Data, func(d wasmbin.Data) bool { return len(d.Bytes) == 0 })
	}
	return taken, nil
}

// constantOffset evaluates an offset that is a single constant.
func constantOffset(expr []byte) (uint32, error) {
	var in wasmbin.Instr
	r := wasmbin.NewInstrReader(expr)
	if !r.Next(&in) || in.Op != wasmbin.OpI32Const {
		return 0, fmt.Errorf("offset is not a constant")
	}
	offset := uint32(in.Value)
	if !r.Next(&in) || in.Op != wasmbin.OpEnd {
		return 0, fmt.Errorf("offset is not a constant")
	}
	return offset, nil
}
