package python

import (
	"encoding/binary"

	"github.com/cloche-dev/cloche/engine/vm"
)

// Offsets in numpy's structures (2.5, 32 bits): PyUFuncObject, PyArrayIdentityHash, struct buckets.
//
//	ufunc    +16 number of operands      +124 cache
//	cache    number of operands, buckets
//	buckets  prev, size, used, then size times a loop (0: free) and the types that it was found for, one per operand
const (
	ufuncOperands = 16
	ufuncCache    = 124
	bucketsHead   = 12
	maxOperands   = 4
	maxBuckets    = 1 << 12
)

// redirect has a ufunc take for two types of operands the loop that it has found for two others. words are any number of a
// ufunc's address and the four types', u32, little endian.
//
// numpy remembers which loop it found for which types and never looks for it again, so what is remembered decides. That is how
// truth values and Python's integers make 64 bits: what numpy's C code would find is as wide as a pointer (guest/ints.py).
func redirect(mem vm.Memory, words []byte) bool {
	for ; len(words) >= 20; words = words[20:] {
		u32 := func(i int) uint32 { return binary.LittleEndian.Uint32(words[4*i:]) }
		from, ok := loopOf(mem, u32(0), u32(3), u32(4))
		if !ok {
			return false
		}
		to, ok := loopOf(mem, u32(0), u32(1), u32(2))
		loop, read := mem.ReadUint32(from)
		if !ok || !read || !mem.WriteUint32(to, loop) {
			return false
		}
	}
	return len(words) == 0
}

// loopOf returns where ufunc remembers the loop for two inputs of the given types.
func loopOf(mem vm.Memory, ufunc, left, right uint32) (at uint32, ok bool) {
	var failed bool
	word := func(at uint32) uint32 {
		w, ok := mem.ReadUint32(at)
		failed = failed || !ok
		return w
	}
	operands, cache := word(ufunc+ufuncOperands), word(ufunc+ufuncCache)
	buckets := word(cache + 4)
	size := word(buckets + 4)
	if failed || operands < 2 || operands > maxOperands || word(cache) != operands || size > maxBuckets {
		return 0, false
	}
	for i := range size {
		at := buckets + bucketsHead + i*4*(1+operands)
		found := word(at) != 0 && word(at+4) == left && word(at+8) == right
		for j := uint32(2); j < operands; j++ {
			found = found && word(at+4+4*j) == 0
		}
		if found && !failed {
			return at, true
		}
	}
	return 0, false
}
