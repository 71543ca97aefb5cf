package vfs

import "math/bits"

const (
	// chunkBytes is the unit in which a file in memory is stored. A chunk that was never written takes no
	// space; the one written last may be shorter.
	chunkBytes = 64 << 10
	// maxMemFile bounds size and offset of a file in memory, so that the tree above its chunks stays low.
	maxMemFile = 1 << 42
)

// chunk holds the bytes of one unit of a file; those past len(b) are zero.
type chunk struct {
	gen uint64
	b   []byte
}

// fileData holds the chunks of a file. Bytes past the file's size are zero in every chunk. The zero value is
// an empty file. Files of one chunk, which are most, need no tree.
type fileData struct {
	first *chunk
	rest  tree[chunk] // from index 1
}

func (d *fileData) chunk(i uint64) *chunk {
	if i == 0 {
		return d.first
	}
	return d.rest.get(i)
}

func (d *fileData) set(gen, i uint64, c *chunk) {
	if i == 0 {
		d.first = c
	} else {
		d.rest.set(gen, i, c)
	}
}

// same reports whether two states of a file hold the very same chunks.
func (d *fileData) same(e *fileData) bool { return d.first == e.first && d.rest.root == e.rest.root }

// each calls f for every chunk in order.
func (d *fileData) each(f func(i uint64, c *chunk) bool) {
	if d.first != nil && !f(0, d.first) {
		return
	}
	d.rest.each(f)
}

// roomFor rounds the length of a chunk up to a size class: eight steps for each doubling, at least 64 bytes.
func roomFor(n int) int {
	if n <= 64 {
		return 64
	}
	step := max(64, 1<<(bits.Len(uint(n-1))-4))
	return min(chunkBytes, (n+step-1)&^(step-1))
}

// room returns chunk i of nd for writing, with at least end bytes, or as many as the quota allows, but never
// fewer than it had. The chunk is nil when there is not one byte to be had. nd is of the current generation.
func (m *memFS) room(nd *inode, i uint64, end int) *chunk {
	c := nd.data.chunk(i)
	have, extra := 0, int64(0)
	if c != nil {
		have = len(c.b)
	} else if i > 0 {
		extra = int64(nd.data.rest.missing(i)) * treeNodeBytes
	}
	want := have
	if end > have {
		want = roomFor(max(end, have+have/2)) // half as much again, so that appending byte by byte is linear
		free := m.maxBytes - m.used.Bytes - extra
		if int64(want-have) > free {
			want = min(end, have+int(max(0, free)))
		}
		if want == 0 {
			return nil
		}
		m.used.Bytes += int64(want-have) + extra
		nd.stored += int64(want-have) + extra
	}
	if c != nil && c.gen == m.gen && want == have {
		return c
	}
	b := make([]byte, want)
	if c != nil {
		copy(b, c.b)
		if c.gen == m.gen {
			c.b = b
			return c
		}
	}
	c = &chunk{m.gen, b}
	nd.data.set(m.gen, i, c)
	return c
}

// write stores p at off and returns how much of it fitted. nd is of the current generation.
func (m *memFS) write(nd *inode, p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, ErrInvalid
	}
	if off > maxMemFile-int64(len(p)) {
		if off >= maxMemFile {
			return 0, ErrFileTooBig
		}
		n, err := m.write(nd, p[:maxMemFile-off], off)
		if err == nil {
			err = ErrFileTooBig
		}
		return n, err
	}
	n := 0
	for n < len(p) {
		at := off + int64(n)
		start := int(at % chunkBytes)
		end := min(chunkBytes, start+len(p)-n)
		c := m.room(nd, uint64(at)/chunkBytes, end)
		if c == nil || len(c.b) <= start {
			break
		}
		n += copy(c.b[start:], p[n:n+min(end, len(c.b))-start])
		if len(c.b) < end {
			break
		}
	}
	if n > 0 {
		nd.size = max(nd.size, off+int64(n))
		nd.pristine = false
	}
	if n < len(p) {
		return n, ErrNoSpace
	}
	return n, nil
}

// read fills p from off; past the end of the file it returns what there was.
func (nd *inode) read(p []byte, off int64) int {
	if off >= nd.size {
		return 0
	}
	if rest := nd.size - off; int64(len(p)) > rest {
		p = p[:rest]
	}
	for n := 0; n < len(p); {
		at := off + int64(n)
		start := int(at % chunkBytes)
		part := p[n:min(len(p), n+chunkBytes-start)]
		k := 0
		if c := nd.data.chunk(uint64(at) / chunkBytes); c != nil && start < len(c.b) {
			k = copy(part, c.b[start:])
		}
		clear(part[k:])
		n += len(part)
	}
	return len(p)
}

// resize sets the size of a file, freeing what lies past it. nd is of the current generation.
func (m *memFS) resize(nd *inode, size int64) error {
	switch {
	case size < 0:
		return ErrInvalid
	case size > maxMemFile:
		return ErrFileTooBig
	case size >= nd.size:
		nd.pristine = nd.pristine && size == nd.size
		nd.size = size
		return nil
	}
	nd.size, nd.pristine = size, false
	if size == 0 {
		m.charge(nd, -nd.stored)
		nd.data = fileData{}
		return nil
	}
	keep := (uint64(size) + chunkBytes - 1) / chunkBytes // chunks
	nodes, freed := nd.data.rest.nodes, int64(0)
	nd.data.rest.removeFrom(m.gen, keep, func(c *chunk) { freed += int64(len(c.b)) })
	freed += int64(nodes-nd.data.rest.nodes) * treeNodeBytes
	if tail := int(size % chunkBytes); tail > 0 {
		if c := nd.data.chunk(keep - 1); c != nil && len(c.b) > tail {
			b := make([]byte, roomFor(tail))
			b = b[:min(len(b), len(c.b))]
			copy(b, c.b[:tail])
			freed += int64(len(c.b) - len(b))
			nd.data.set(m.gen, keep-1, &chunk{m.gen, b})
		}
	}
	m.charge(nd, -freed)
	return nil
}

// allocate gives every chunk of a range its storage, or none.
func (m *memFS) allocate(nd *inode, off, n int64) error {
	if off < 0 || n <= 0 {
		return ErrInvalid
	}
	if off > maxMemFile-n {
		return ErrFileTooBig
	}
	if n > m.maxBytes { // bounds the loops below
		return ErrNoSpace
	}
	need := int64(0)
	leaf := ^uint64(0) // the last node of the tree that was counted
	m.chunksOf(off, n, func(i uint64, end int) {
		c := nd.data.chunk(i)
		if c != nil {
			need += int64(max(0, end-len(c.b)))
			return
		}
		need += int64(end)
		if i > 0 && i/treeFan != leaf {
			leaf = i / treeFan
			need += int64(nd.data.rest.missing(i)) * treeNodeBytes // counts shared upper nodes again: never too little
		}
	})
	if need > m.maxBytes-m.used.Bytes {
		return ErrNoSpace
	}
	m.chunksOf(off, n, func(i uint64, end int) {
		if c := nd.data.chunk(i); c == nil || len(c.b) < end {
			m.room(nd, i, end)
		}
	})
	nd.pristine = nd.pristine && off+n <= nd.size
	nd.size = max(nd.size, off+n)
	return nil
}

// chunksOf calls f for every chunk that a range touches, with the end of the range in it.
func (m *memFS) chunksOf(off, n int64, f func(i uint64, end int)) {
	for at := off; at < off+n; {
		i := at / chunkBytes
		end := min((i+1)*chunkBytes, off+n)
		f(uint64(i), int(end-i*chunkBytes))
		at = end
	}
}

// charge adds to what a file takes; negative gives back.
func (m *memFS) charge(nd *inode, n int64) {
	if n < 0 {
		m.peak = m.most()
	}
	nd.stored += n
	m.used.Bytes += n
}
