package wasi

import (
	"encoding/binary"
	"math"

	"github.com/tetratelabs/wazero/api"
)

// maxIovecs bounds the buffers of one scattered read or write, as IOV_MAX does on Linux. The scratch that holds
// them stays in the State: 24 KiB at most.
const maxIovecs = 1024

// guestMemory is the linear memory of the instance that called. It is the only place in this package where a
// number from the guest becomes a slice.
type guestMemory struct{ mem api.Memory }

// bytes returns the n bytes at off: a view, which must not outlive the call. FAULT when the range leaves memory
// or the instance exports none.
//
// A range that ends at the last byte of a full 4 GiB memory is refused too: wazero's Read computes its end in 32
// bits. No object of a C program lies there.
func (m guestMemory) bytes(off, n uint32) ([]byte, Errno) {
	if m.mem == nil || uint64(off)+uint64(n) > math.MaxUint32 {
		return nil, ErrnoFault
	}
	b, ok := m.mem.Read(off, n)
	if !ok {
		return nil, ErrnoFault
	}
	return b, ErrnoSuccess
}

// word returns the 4 bytes at off, to be filled in when the call has succeeded.
func (m guestMemory) word(off uint32) ([]byte, Errno) { return m.bytes(off, 4) }

func (m guestMemory) putUint32(off, v uint32) Errno {
	b, errno := m.bytes(off, 4)
	if errno == ErrnoSuccess {
		binary.LittleEndian.PutUint32(b, v)
	}
	return errno
}

func (m guestMemory) putUint64(off uint32, v uint64) Errno {
	b, errno := m.bytes(off, 8)
	if errno == ErrnoSuccess {
		binary.LittleEndian.PutUint64(b, v)
	}
	return errno
}

// iovecs turns the count iovec structures at off into the buffers that they name, in scratch: views, which must not
// outlive the call. All of them are read and checked before any buffer is, so that nothing that the call reads or
// writes can change them. INVAL for more than maxIovecs or a sum over 2^31-1 (which a result could not tell from an
// error in C); FAULT when the array or a buffer leaves memory.
func (m guestMemory) iovecs(scratch [][]byte, off, count uint32) ([][]byte, Errno) {
	scratch = scratch[:0]
	if count > maxIovecs {
		return scratch, ErrnoInval
	}
	raw, errno := m.bytes(off, count*8)
	if errno != ErrnoSuccess {
		return scratch, errno
	}
	var total uint64
	for ; len(raw) >= 8; raw = raw[8:] {
		n := binary.LittleEndian.Uint32(raw[4:])
		buf, errno := m.bytes(binary.LittleEndian.Uint32(raw), n)
		if errno != ErrnoSuccess {
			return scratch, errno
		}
		if total += uint64(n); total > math.MaxInt32 {
			return scratch, ErrnoInval
		}
		scratch = append(scratch, buf)
	}
	return scratch, ErrnoSuccess
}
