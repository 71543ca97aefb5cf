package vfs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"unicode/utf8"
)

// An exported snapshot is
//
//	magic, version
//	born, next inode number
//	the number of trees and the inode of each: the root, then the overlays in order of their mounts
//	the number of inodes and each of them, in rising order of their numbers (see exporter.inode)
//	the CRC-32C of all that, 4 bytes, little endian
//
// Numbers are varints (signed ones zigzag), strings have their length before them. The checksum finds damage, not
// intent: who must trust the stream authenticates it.
const (
	exportMagic   = "cloche-files\n"
	exportVersion = 1
)

// ErrFormat says that a stream is not an exported snapshot of this version, or is damaged, or does not fit
// the template. It is wrapped with the reason.
var ErrFormat = errors.New("not a valid snapshot of files")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Export writes the snapshot to w. Holes in files stay holes.
func (s *Snapshot) Export(w io.Writer) error {
	sum := crc32.New(castagnoli)
	e := exporter{w: bufio.NewWriterSize(io.MultiWriter(w, sum), chunkBytes)}
	e.bytes(exportMagic)
	e.uint(exportVersion)
	e.int(s.state.born)
	e.uint(s.next)
	trees := s.template.trees()
	e.uint(uint64(len(trees)))
	for _, ino := range trees {
		e.uint(ino)
	}
	count := uint64(0)
	s.state.table.each(func(uint64, *inode) bool { count++; return true })
	e.uint(count)
	s.state.table.each(func(_ uint64, nd *inode) bool { e.inode(nd); return e.err == nil })
	if e.err == nil {
		e.err = e.w.Flush()
	}
	if e.err == nil {
		_, e.err = w.Write(binary.LittleEndian.AppendUint32(nil, sum.Sum32()))
	}
	return e.err
}

// trees returns the inodes at the top of the trees in memory.
func (t *Template) trees() []uint64 {
	list := []uint64{rootIno}
	for i := range t.mounts {
		if ino := t.mounts[i].overlay; ino != 0 {
			list = append(list, ino)
		}
	}
	return list
}

type exporter struct {
	w   *bufio.Writer
	buf [binary.MaxVarintLen64]byte
	err error
}

func (e *exporter) raw(b []byte) {
	if e.err == nil {
		_, e.err = e.w.Write(b)
	}
}

func (e *exporter) uint(n uint64) { e.raw(binary.AppendUvarint(e.buf[:0], n)) }
func (e *exporter) int(n int64)   { e.raw(binary.AppendVarint(e.buf[:0], n)) }

func (e *exporter) bool(b bool) {
	n := uint64(0)
	if b {
		n = 1
	}
	e.uint(n)
}

func (e *exporter) bytes(s string) {
	if e.err == nil {
		_, e.err = e.w.WriteString(s)
	}
}

func (e *exporter) string(s string) {
	e.uint(uint64(len(s)))
	e.bytes(s)
}

// inode writes a number, a kind, the times, and then
//
//	folder:   opaque (0 or 1), origin, the number of entries, each a name and an inode
//	file:     pristine (0 or 1), origin, size, the number of chunks, each an index, a room and the bytes
//	link:     origin, text
//	whiteout: nothing
//
// The room of a chunk is the length it has in memory; bytes after the last one that is not zero are left out.
func (e *exporter) inode(nd *inode) {
	e.uint(nd.ino)
	e.uint(uint64(nd.kind))
	e.int(nd.atime)
	e.int(nd.mtime)
	e.int(nd.ctime)
	switch nd.kind {
	case KindDir:
		e.bool(nd.opaque)
		e.uint(nd.origin)
		e.uint(uint64(nd.dir.count))
		nd.dir.each(func(d *dirent) bool {
			e.string(d.name)
			e.uint(d.ino)
			return e.err == nil
		})
	case KindRegular:
		e.bool(nd.pristine)
		e.uint(nd.origin)
		e.uint(uint64(nd.size))
		chunks := uint64(0)
		nd.data.each(func(uint64, *chunk) bool { chunks++; return true })
		e.uint(chunks)
		nd.data.each(func(i uint64, c *chunk) bool {
			b := c.b
			for len(b) > 0 && b[len(b)-1] == 0 {
				b = b[:len(b)-1]
			}
			e.uint(i)
			e.uint(uint64(len(c.b)))
			e.uint(uint64(len(b)))
			e.raw(b)
			return e.err == nil
		})
	case KindLink:
		e.uint(nd.origin)
		e.string(nd.target)
	}
}

// Import reads what Export wrote, for namespaces of this template, which must have the same overlay mounts.
// The stream is not trusted: it is checked for being a tree of files that this package could have made, and
// may hold no more than the quota in o. Files without a name are kept as far as [Template.FromSnapshot]. It may read
// past the snapshot, unless r is a bufio.Reader with a buffer of 64 KiB.
//
// Errors: ErrFormat, ErrNoSpace or ErrQuotaInodes (over the quota), and those of r; all wrapped.
func (t *Template) Import(r io.Reader, o Options) (*Snapshot, error) {
	m := &memFS{gen: newGen()}
	m.configure(o, t.mem.used)
	i := importer{r: bufio.NewReaderSize(r, chunkBytes), m: m}
	if err := i.read(t); err != nil {
		return nil, fmt.Errorf("import files: %w", err)
	}
	return &Snapshot{t, m.freeze(), m.next, snapshots.Add(1)}, nil
}

type importer struct {
	r       *bufio.Reader
	m       *memFS
	entries int64 // in all folders
	sum     uint32
	scratch [1]byte
}

func bad(why string) error { return fmt.Errorf("%w: %s", ErrFormat, why) }

func (i *importer) full(b []byte) error {
	_, err := io.ReadFull(i.r, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return bad("it ends early")
	}
	i.sum = crc32.Update(i.sum, castagnoli, b)
	return err
}

func (i *importer) uint(limit uint64) (uint64, error) {
	n := uint64(0)
	for shift := 0; ; shift += 7 {
		if err := i.full(i.scratch[:]); err != nil {
			return 0, err
		}
		b := uint64(i.scratch[0])
		if shift == 63 && b > 1 || shift > 63 || b == 0 && shift > 0 {
			return 0, bad("a number is malformed")
		}
		if n |= b & 0x7f << shift; b < 0x80 {
			break
		}
	}
	if n > limit {
		return 0, bad("a number is too large")
	}
	return n, nil
}

func (i *importer) int() (int64, error) {
	n, err := i.uint(1<<64 - 1)
	return int64(n>>1) ^ -int64(n&1), err
}

func (i *importer) string(limit uint64) (string, error) {
	n, err := i.uint(limit)
	if err != nil {
		return "", err
	}
	b := make([]byte, n)
	if err := i.full(b); err != nil {
		return "", err
	}
	return string(b), nil
}

func (i *importer) read(t *Template) error {
	head := make([]byte, len(exportMagic))
	if err := i.full(head); err != nil {
		return err
	}
	if string(head) != exportMagic {
		return bad("it does not start like one")
	}
	version, err := i.uint(1 << 32)
	if err != nil {
		return err
	}
	if version != exportVersion {
		return bad(fmt.Sprintf("its version is %d, not %d", version, exportVersion))
	}
	if i.m.born, err = i.int(); err != nil {
		return err
	}
	if i.m.next, err = i.uint(1 << 62); err != nil {
		return err
	}
	trees := t.trees()
	n, err := i.uint(1 << 16)
	if err != nil {
		return err
	}
	if n != uint64(len(trees)) {
		return bad("it has other overlay mounts")
	}
	for _, want := range trees {
		if ino, err := i.uint(1 << 62); err != nil {
			return err
		} else if ino != want {
			return bad("it has other overlay mounts")
		}
	}
	if n, err = i.uint(1 << 62); err != nil {
		return err
	}
	last := uint64(0)
	for range n {
		if i.m.used.Inodes >= i.m.maxInodes {
			return ErrQuotaInodes
		}
		nd, err := i.inode(last)
		if err != nil {
			return err
		}
		last = nd.ino
	}
	if last >= i.m.next {
		return bad("a number is too large")
	}
	want := binary.LittleEndian.AppendUint32(nil, i.sum)
	got := make([]byte, 4)
	if err := i.full(got); err != nil {
		return err
	}
	if string(got) != string(want) {
		return bad("checksum differs")
	}
	return i.connect(trees)
}

// inode reads one inode.
func (i *importer) inode(last uint64) (*inode, error) {
	ino, err := i.uint(1 << 62)
	if err != nil {
		return nil, err
	}
	if ino <= last {
		return nil, bad("inodes are out of order")
	}
	kind, err := i.uint(255)
	if err != nil {
		return nil, err
	}
	nd := &inode{gen: i.m.gen, ino: ino, kind: Kind(kind)}
	for _, t := range []*int64{&nd.atime, &nd.mtime, &nd.ctime} {
		if *t, err = i.int(); err != nil {
			return nil, err
		}
	}
	i.m.table.set(i.m.gen, ino, nd)
	i.m.used.Inodes++
	if int64(i.m.table.nodes) > 4*i.m.used.Inodes+treeFan { // each node takes treeNodeBytes
		return nil, bad("inodes are too far apart")
	}
	switch nd.kind {
	case KindDir:
		err = i.dir(nd)
	case KindRegular:
		err = i.file(nd)
	case KindLink:
		err = i.link(nd)
	case kindWhiteout:
	default:
		err = bad("unknown kind of file")
	}
	return nd, err
}

func (i *importer) dir(nd *inode) error {
	opaque, err := i.uint(1)
	if err != nil {
		return err
	}
	nd.opaque = opaque == 1
	if nd.origin, err = i.uint(1<<64 - 1); err != nil {
		return err
	}
	n, err := i.uint(uint64(i.m.maxInodes))
	if err != nil {
		return err
	}
	last := ""
	for range n {
		name, err := i.string(MaxName)
		if err != nil {
			return err
		}
		if name <= last || name == "." || name == ".." || !utf8.ValidString(name) {
			return bad("a name is illegal")
		}
		for k := range len(name) {
			if name[k] == '/' || name[k] == 0 {
				return bad("a name is illegal")
			}
		}
		ino, err := i.uint(1 << 62)
		if err != nil {
			return err
		}
		if i.entries++; i.entries > i.m.maxInodes {
			return ErrQuotaInodes
		}
		nd.dir.put(i.m.gen, dirent{name: name, ino: ino})
		last = name
	}
	return nil
}

func (i *importer) file(nd *inode) error {
	pristine, err := i.uint(1)
	if err != nil {
		return err
	}
	nd.pristine = pristine == 1
	if nd.origin, err = i.uint(1<<64 - 1); err != nil {
		return err
	}
	size, err := i.uint(maxMemFile)
	if err != nil {
		return err
	}
	nd.size = int64(size)
	chunks, err := i.uint(maxMemFile / chunkBytes)
	if err != nil {
		return err
	}
	next := uint64(0)
	for range chunks {
		at, err := i.uint(maxMemFile / chunkBytes)
		if err != nil {
			return err
		}
		if at < next || at*chunkBytes >= size {
			return bad("a piece of a file is out of place")
		}
		next = at + 1
		room, err := i.uint(chunkBytes)
		if err != nil {
			return err
		}
		n, err := i.uint(min(room, size-at*chunkBytes))
		if err != nil {
			return err
		}
		cost := int64(room)
		if at > 0 {
			cost += int64(nd.data.rest.missing(at)) * treeNodeBytes
		}
		switch {
		case room == 0:
			return bad("a piece of a file is empty")
		case cost > i.m.maxBytes-i.m.used.Bytes:
			return ErrNoSpace
		}
		i.m.charge(nd, cost)
		c := &chunk{i.m.gen, make([]byte, room)}
		if err := i.full(c.b[:n]); err != nil {
			return err
		}
		nd.data.set(i.m.gen, at, c)
	}
	return nil
}

func (i *importer) link(nd *inode) error {
	var err error
	if nd.origin, err = i.uint(1<<64 - 1); err != nil {
		return err
	}
	if nd.target, err = i.string(MaxPath); err != nil {
		return err
	}
	if _, err := ParseTarget([]byte(nd.target)); err != nil {
		return bad("the text of a link is illegal")
	}
	if nd.size = int64(len(nd.target)); nd.size > i.m.maxBytes-i.m.used.Bytes {
		return ErrNoSpace
	}
	i.m.charge(nd, nd.size)
	return nil
}

// connect walks the trees, sets what follows from them (kinds of entries, parents, counts of names), and
// finds what cannot be: folders with two parents, in loops or too deep, whiteouts outside overlays.
func (i *importer) connect(trees []uint64) error {
	m := i.m
	for k, top := range trees {
		nd := m.table.get(top)
		if nd == nil || nd.kind != KindDir || nd.nlink != 0 {
			return bad("a tree has no top")
		}
		nd.parent, nd.nlink = top, 2
		if err := i.below(nd, 0, k > 0); err != nil {
			return err
		}
	}
	var orphans []uint64
	ok := true
	m.table.each(func(ino uint64, nd *inode) bool {
		if nd.nlink > 0 {
			return true
		}
		if nd.kind != KindRegular && (nd.kind != KindDir || nd.dir.count > 0) {
			ok = false
		}
		nd.parent = ino
		orphans = append(orphans, ino)
		return ok
	})
	if !ok {
		return bad("files are not in any folder")
	}
	m.orphans = orphans
	return nil
}

func (i *importer) below(dir *inode, depth int, overlay bool) error {
	if depth > MaxDepth {
		return bad("folders are nested too deep")
	}
	for _, p := range dir.dir.pages {
		for k := range p.entries {
			e := &p.entries[k]
			nd := i.m.table.get(e.ino)
			switch {
			case nd == nil:
				return bad("a name stands for nothing")
			case nd.kind == kindWhiteout && (!overlay || nd.nlink > 0):
				return bad("a whiteout is out of place")
			case nd.nlink > 0 && (nd.kind == KindDir || nd.nlink >= maxLinks):
				return bad("a file has too many names")
			}
			e.kind = nd.kind
			if nd.kind == KindDir {
				dir.nlink++
				nd.nlink, nd.parent = 2, dir.ino
				if err := i.below(nd, depth+1, overlay); err != nil {
					return err
				}
				continue
			}
			if nd.nlink++; nd.nlink > 1 {
				if i.m.used.Inodes++; i.m.used.Inodes > i.m.maxInodes {
					return ErrQuotaInodes
				}
			}
		}
	}
	return nil
}
