package engine

import (
	"runtime/debug"
	"sync"
)

const (
	// ballastBytes lets the Go heap grow by as much again before it is collected.
	ballastBytes = 64 << 20
	// ballastShare is what a memory limit of the process must be of that, at least.
	ballastShare = 16
)

// ballast is memory that nobody touches, and so takes none of the machine's. The collector starts when the heap is twice
// what it was, and that of a process with an engine is 3 to 20 MB, which some hundred runs allocate again: with JavaScript on two
// processors a third of the time was the collector's. It holds no pointers, so collections take no longer by it.
var ballast = sync.OnceValue(func() []byte {
	if debug.SetMemoryLimit(-1) < ballastShare*ballastBytes {
		return nil // it would count as memory that is in use, and the collector would never rest
	}
	return make([]byte, ballastBytes)
})
