package memimage

import (
	"fmt"
)

// Method is how a Linear is mapped and reset.
type Method int

const (
	// Auto is the best that the system has: Scan, then Pagemap, then Remap, then Copy.
	Auto Method = iota
	// Scan maps the image copy-on-write and finds private pages with the PAGEMAP_SCAN ioctl (Linux 6.7).
	Scan
	// Pagemap does the same by reading /proc/self/pagemap (Linux).
	Pagemap
	// Remap maps the image anew at every reset (Unix).
	Remap
	// Copy copies the whole image, at the start and at every reset (any system).
	Copy
)

// auto is what Auto means.
var auto = func() Method { return bestMethod() }

// SetAuto has Auto mean m from now on, so that whole engines are tested with what other systems have. It is called before
// the first Linear is made, by tests.
func SetAuto(m Method) { auto = func() Method { return m } }

func (m Method) String() string {
	return [...]string{"auto", "PAGEMAP_SCAN", "pagemap", "remap", "copy"}[m]
}

// Config says how to make a [Linear].
type Config struct {
	// Image is what the memory holds at first. Nil is an empty memory.
	Image *Image
	// Capacity is the number of bytes of address space to reserve, at least the image's size; it is
	// rounded up to whole pages. Nothing is committed. At most MaxBytes.
	Capacity uint64
	// Method is Auto but in tests.
	Method Method
	// KeepPages is the number of changed host pages that a reset writes back in place, where they stay resident for the next
	// run; it gives the rest back to the system, and most private pages that the run left alone. Zero means 4096 (16 MiB).
	KeepPages int
}

// defaultKeepPages holds what a pandas run dirties (about 1,500 pages) with room to spare.
const defaultKeepPages = 4096

// A Linear is one instance's linear memory. It has the methods that wazero asks of one.
type Linear struct {
	image    *Image
	method   Method
	keep     int
	base     []byte // the whole reservation; for Copy, the memory itself
	reserved uint64 // the capacity in bytes
	size     uint64 // bytes that the guest can reach
	limit    uint64 // bytes that it may grow to
	denied   bool
	pin      []byte // what Reallocate answers next instead of growing; see Rewind

	// What Save and Load keep; see delta.go.
	frozen     *Delta   // what the memory was at the last of them, or nil
	kept       []extent // the memory of Save's list of them
	saves      int      // since it is the same memory: since the last Load or Reset
	mapped     []extent // the stretches of it that are mapped from the arena
	registered bool     // some of it is with the system's watcher
	watched    bool     // all of it is, and so the system notes which pages are written
	written    pageList // then: private pages that are not protected

	private  pageList // private pages
	cleaning cleaning // of them
	bound    bool     // the goroutine is kept on its thread; see While
}

// New reserves a Linear and maps its image.
func New(c Config) (*Linear, error) {
	l := &Linear{image: c.Image, method: c.Method, keep: c.KeepPages}
	if l.keep == 0 {
		l.keep = defaultKeepPages
	}
	if l.method == Auto {
		l.method = auto()
	}
	if c.Image != nil {
		l.size = uint64(c.Image.Size())
	}
	capacity := (max(c.Capacity, l.size, PageSize) + PageSize - 1) / PageSize * PageSize
	if capacity > MaxBytes {
		return nil, fmt.Errorf("reserve linear memory: %d bytes is more than %d", c.Capacity, uint64(MaxBytes))
	}
	l.limit, l.reserved = capacity, capacity
	if err := l.reserve(capacity); err != nil {
		return nil, fmt.Errorf("reserve %d bytes of linear memory: %w", capacity, err)
	}
	return l, nil
}

// SetLimit lets the guest grow its memory to at most n bytes from now on, and forgets refusals. More
// than the capacity means the capacity. It does not shrink what is there.
func (l *Linear) SetLimit(n uint64) {
	l.limit = min(n, l.reserved)
	l.denied = false
}

// Denied says whether the guest has been refused memory since SetLimit.
func (l *Linear) Denied() bool { return l.denied }

// Size is the number of bytes that the guest can reach.
func (l *Linear) Size() uint64 { return l.size }

// Method is how this memory is reset.
func (l *Linear) Method() Method { return l.method }

// Reallocate grows the memory to size bytes and returns it, or nil when that is more than the limit.
// A size below the present one returns the memory as it is: a module that declares less than the
// image holds begins with the image.
//
// It implements wazero's experimental.LinearMemory.
func (l *Linear) Reallocate(size uint64) []byte {
	if p := l.pin; p != nil {
		l.pin = nil
		return p
	}
	if size <= l.size {
		return l.bytes()
	}
	if size > l.limit {
		l.denied = true
		return nil
	}
	l.grow(size)
	return l.bytes()
}

// Rewind makes the next Reallocate return the memory at its present size, whatever size it asks for. After
// a Reset that shrank the memory, it lets the machine, which can only grow, learn the new length.
func (l *Linear) Rewind() { l.pin = l.bytes() }

// Free gives the memory back. It may be called more than once, and implements wazero's LinearMemory.
func (l *Linear) Free() {
	if l.base != nil {
		l.release()
		mappedTotal.Add(-int64(len(l.mapped)))
		l.mapped = nil
		l.setFrozen(nil)
		l.base, l.size, l.limit, l.reserved = nil, 0, 0, 0
	}
}

// bytes has no spare capacity, so that nothing can be appended past the limit.
func (l *Linear) bytes() []byte { return l.base[:l.size:l.size] }

// Stats says what a reset found.
type Stats struct {
	// PrivateBytes is what the guest had written of the image, and of memory past it, in whole host
	// pages. With Remap and Copy it is not known and 0.
	PrivateBytes uint64
	// Shrunk says that the guest had grown its memory and that its size is the image's again.
	Shrunk bool
}

// Reset makes the memory equal to the image: private pages get the image's bytes, all past the image is
// gone. After an error the Linear must be freed. It panics when there is no image.
func (l *Linear) Reset() (Stats, error) {
	imageSize := uint64(l.image.Size())
	st := Stats{Shrunk: l.size > imageSize}
	err := l.thaw()
	var private uint64
	if err == nil {
		private, err = l.PrivateBytes()
	}
	if err == nil && st.Shrunk {
		err = l.dropTail(imageSize)
	}
	if err == nil {
		err = l.restore()
	}
	if err != nil {
		l.private.known = false
		return st, fmt.Errorf("reset linear memory: %w", err)
	}
	st.PrivateBytes, l.size = private, imageSize
	return st, nil
}
