package python

import (
	"bytes"
	"encoding/binary"
	"testing"
)

func TestRedirect(t *testing.T) {
	const (
		ufunc, cache, buckets       = 0x100, 0x400, 0x500
		truth, integer, long        = 0x1000, 0x1010, 0x1020
		narrow, wide                = 0x2000, 0x2010
		slots, operands             = 4, 3
		firstValue, secondValue int = buckets + bucketsHead + 16, buckets + bucketsHead + 48
	)
	mem := func(change map[uint32]uint32) *fakeMemory {
		m := (*fakeMemory)(newFake(t))
		for at, v := range map[uint32]uint32{
			ufunc + ufuncOperands: operands, ufunc + ufuncCache: cache,
			cache: operands, cache + 4: buckets, buckets + 4: slots,
			uint32(firstValue): narrow, uint32(firstValue) + 4: truth, uint32(firstValue) + 8: integer,
			uint32(secondValue): wide, uint32(secondValue) + 4: long, uint32(secondValue) + 8: long,
		} {
			m.WriteUint32(at, v)
		}
		for at, v := range change {
			m.WriteUint32(at, v)
		}
		return m
	}
	words := func(values ...uint32) (b []byte) {
		for _, v := range values {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		return b
	}
	order := words(ufunc, truth, integer, long, long)

	m := mem(nil)
	if !redirect(m, order) {
		t.Fatal("refused")
	}
	if got, _ := m.ReadUint32(uint32(firstValue)); got != wide {
		t.Errorf("the loop for truth and integer is %#x, want %#x", got, wide)
	}

	for _, tt := range []struct {
		name   string
		change map[uint32]uint32
		order  []byte
	}{
		{"half an order", nil, order[:12]},
		{"a ufunc outside of memory", nil, words(fakeSize, truth, integer, long, long)},
		{"types that were never met", nil, words(ufunc, truth, truth, long, long)},
		{"a loop that was never taken", nil, words(ufunc, truth, integer, truth, truth)},
		{"another number of operands", map[uint32]uint32{cache: 2}, order},
		{"too many operands", map[uint32]uint32{cache: 1 << 20, ufunc + ufuncOperands: 1 << 20}, order},
		{"a table that goes on for ever", map[uint32]uint32{buckets + 4: 1 << 30}, order},
		{"a table outside of memory", map[uint32]uint32{cache + 4: fakeSize - 8}, order},
		{"a loop for a result of some type", map[uint32]uint32{uint32(firstValue) + 12: long}, order},
		{"a free slot", map[uint32]uint32{uint32(firstValue): 0}, order},
	} {
		m := mem(tt.change)
		before := bytes.Clone(m.mem)
		if redirect(m, tt.order) {
			t.Errorf("%s: done", tt.name)
		}
		if !bytes.Equal(before, m.mem) {
			t.Errorf("%s: memory was changed", tt.name)
		}
	}
}
