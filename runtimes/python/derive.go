package python

import (
	"encoding/binary"
	"slices"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/runtimes/digest"
)

// words takes n numbers of 32 bits off the front of b, little endian.
func words(b []byte, n int) (numbers []uint32, rest []byte, ok bool) {
	if len(b) < 4*n {
		return nil, nil, false
	}
	for ; n > 0; n-- {
		numbers, b = append(numbers, binary.LittleEndian.Uint32(b)), b[4:]
	}
	return numbers, b, true
}

var refusedDigest = refusal("ValueError", "the host does not do this with digests")

// stretch is opStretch: rounds, lengths of name, key and block; then name, key, block and sum.
func stretch(g vm.Guest, request []byte) []byte {
	n, rest, ok := words(request, 4)
	if !ok || uint64(len(rest)) != uint64(n[1])+uint64(n[2])+2*uint64(n[3]) {
		return refusedDigest
	}
	name, rest := string(rest[:n[1]]), rest[n[1]:]
	key, blocks := rest[:n[2]], rest[n[2]:]
	block, sum, worked := digest.Stretch(digest.Named(name), int64(n[0]), key, blocks[:n[3]], blocks[n[3]:])
	if block == nil {
		return refusedDigest
	}
	g.Charge(runtimes.FuelPerByte * uint64(worked))
	return slices.Concat(granted, block, sum)
}

// mix is opMix: the first round and the one after the last; address and size of the block and of the table.
func mix(g vm.Guest, request []byte) []byte {
	n, _, ok := words(request, 6)
	if !ok {
		return refusedDigest
	}
	block, read := g.Memory().Read(n[2], n[3])
	table, readTable := g.Memory().Read(n[4], n[5])
	if !read || !readTable {
		return refusedDigest
	}
	mixed, worked := digest.Mix(uint64(n[0]), uint64(n[1]), block, table)
	if mixed == nil {
		return refusedDigest
	}
	g.Charge(runtimes.FuelPerByte * uint64(worked))
	g.Memory().Write(n[2], mixed)
	return granted
}
