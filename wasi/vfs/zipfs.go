package vfs

import (
	"archive/zip"
	"cmp"
	"container/list"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// ZipFS is a zip archive as a read-only [FS], read where it lies. Its index is built once; after that it is
// immutable (but for a bounded cache), and one ZipFS may be mounted in any number of namespaces and used from
// many goroutines.
//
// Members that are stored are read straight from the archive, at any offset, without their checksum being
// looked at. Compressed ones are inflated as they are read and checked at their end; small ones, and larger
// ones that are read out of order, are kept inflated in the cache.
//
// An archive is refused as a whole if a name in it is not clean: absolute, with "." or "..", a backslash, NUL
// or an empty part, not UTF-8, too long, given twice, or below a name that is a file. Links are refused too.
type ZipFS struct {
	readOnly
	r       io.ReaderAt
	entries []zipEntry // the root first
	index   map[zipKey]uint32
	cache   inflated
}

// ZipOptions are the bounds on an archive. Zero means the default.
type ZipOptions struct {
	MaxEntries    int   // files and folders, those not listed but implied included; 100,000
	MaxIndexBytes int64 // of the central directory; 16 MiB (an index in memory takes up to four times that)
	// MaxRatio is how many times larger than its compressed form a member may claim to be; 1,100. Nothing that
	// deflate makes is over 1,032.
	MaxRatio   int64
	CacheBytes int64 // of inflated members; 16 MiB. Negative means no cache
}

func (o ZipOptions) withDefaults() ZipOptions {
	o.MaxEntries = cmp.Or(o.MaxEntries, 100_000)
	o.MaxIndexBytes = cmp.Or(o.MaxIndexBytes, 16<<20)
	o.MaxRatio = cmp.Or(o.MaxRatio, 1_100)
	o.CacheBytes = cmp.Or(o.CacheBytes, 16<<20)
	return o
}

type zipEntry struct {
	name string
	kind Kind
	file *zip.File // nil for folders
	data int64     // offset of a stored member's bytes
	time int64
	kids []uint32 // of a folder, in order of the names
}

type zipKey struct {
	dir  uint32
	name string
}

// Errors of archives; they are wrapped with the name of the member.
var (
	errZipName  = errors.New("name is not clean")
	errZipTwice = errors.New("name is there twice, or is both a file and a folder")
	errZipKind  = errors.New("neither a file nor a folder")
	errZipSize  = errors.New("size is not believable")
	errZipMany  = errors.New("too many entries")
	errZipIndex = errors.New("central directory too large")
)

// NewZip indexes the archive in the first size bytes of r, which must be safe for concurrent use and stay
// unchanged.
func NewZip(r io.ReaderAt, size int64, o ZipOptions) (*ZipFS, error) {
	o = o.withDefaults()
	// The reader below takes as many entries as it finds: bounding what it may read bounds them.
	lim := &limitedReaderAt{r: r, left: o.MaxIndexBytes}
	zr, err := zip.NewReader(lim, size)
	if err != nil {
		if lim.left < 0 {
			err = errZipIndex
		}
		return nil, fmt.Errorf("zip: %w", err)
	}
	lim.done = true
	if len(zr.File) > o.MaxEntries {
		return nil, fmt.Errorf("zip: %w", errZipMany)
	}
	z := &ZipFS{r: r, entries: []zipEntry{{kind: KindDir}}, index: make(map[zipKey]uint32, len(zr.File))}
	z.cache.max = o.CacheBytes
	for _, f := range zr.File {
		if err := z.add(f, size, o); err != nil {
			return nil, fmt.Errorf("zip: member %q: %w", f.Name, err)
		}
	}
	for i := range z.entries {
		slices.SortFunc(z.entries[i].kids, func(a, b uint32) int {
			return strings.Compare(z.entries[a].name, z.entries[b].name)
		})
	}
	return z, nil
}

// add enters one member, and the folders on the way to it.
func (z *ZipFS) add(f *zip.File, size int64, o ZipOptions) error {
	path, isDir := strings.CutSuffix(f.Name, "/")
	if strings.ContainsAny(path, "\\") || strings.HasPrefix(path, "/") {
		return errZipName
	}
	if _, err := ParsePathString(path); err != nil {
		return errZipName
	}
	kind := kindOf(f.Mode())
	if isDir {
		kind = KindDir
	}
	if kind != KindRegular && kind != KindDir {
		return errZipKind
	}
	if int64(f.UncompressedSize64) < 0 || int64(f.CompressedSize64) < 0 || int64(f.CompressedSize64) > size ||
		int64(f.UncompressedSize64)/o.MaxRatio > int64(f.CompressedSize64) {
		return errZipSize
	}
	dir := uint32(0)
	for {
		name, rest, more := strings.Cut(path, "/")
		if name == "" || name == "." || name == ".." {
			return errZipName
		}
		i, known := z.index[zipKey{dir, name}]
		last := !more
		switch {
		case !known:
			e := zipEntry{name: name, kind: KindDir}
			if last {
				e.kind = kind
			}
			if len(z.entries) > o.MaxEntries {
				return errZipMany
			}
			i = uint32(len(z.entries))
			z.entries = append(z.entries, e)
			z.entries[dir].kids = append(z.entries[dir].kids, i)
			z.index[zipKey{dir, name}] = i
		case z.entries[i].kind != KindDir || last && kind != KindDir:
			return errZipTwice
		case last && z.entries[i].time != 0: // a folder listed twice
			return errZipTwice
		}
		if last {
			return z.fill(&z.entries[i], f)
		}
		dir, path = i, rest
	}
}

// fill sets what a member says of itself.
func (z *ZipFS) fill(e *zipEntry, f *zip.File) error {
	e.time = f.Modified.UnixNano()
	if e.kind == KindDir {
		return nil
	}
	e.file = f
	if f.Method != zip.Store || f.Flags&1 != 0 {
		return nil
	}
	if f.CompressedSize64 != f.UncompressedSize64 {
		return errZipSize
	}
	var err error
	e.data, err = f.DataOffset()
	return err
}

// limitedReaderAt fails once more than a number of bytes was asked for, until it is done.
type limitedReaderAt struct {
	r    io.ReaderAt
	left int64
	done bool
}

func (l *limitedReaderAt) ReadAt(p []byte, off int64) (int, error) {
	if l.done {
		return l.r.ReadAt(p, off)
	}
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, errZipIndex
	}
	return l.r.ReadAt(p, off)
}

// Len returns the number of files and folders.
func (z *ZipFS) Len() int { return len(z.entries) - 1 }

func (z *ZipFS) entry(n Node) *zipEntry { return &z.entries[n.ID] }

// Root implements FS.
func (z *ZipFS) Root() (Node, Kind) { return Node{}, KindDir }

// Lookup implements FS.
func (z *ZipFS) Lookup(dir Node, name string) (Node, Kind, error) {
	i, ok := z.index[zipKey{uint32(dir.ID), name}]
	if !ok {
		if z.entry(dir).kind != KindDir {
			return Node{}, 0, ErrNotDir
		}
		return Node{}, 0, ErrNotExist
	}
	return Node{ID: uint64(i)}, z.entries[i].kind, nil
}

// Stat implements FS.
func (z *ZipFS) Stat(n Node) (Stat, error) {
	e := z.entry(n)
	st := Stat{Ino: n.ID + 1, Nlink: 1, Atime: e.time, Mtime: e.time, Ctime: e.time, Kind: e.kind}
	if e.kind == KindDir {
		st.Nlink = 2
	} else {
		st.Size = int64(e.file.UncompressedSize64)
	}
	return st, nil
}

// Readlink implements FS.
func (z *ZipFS) Readlink(Node) (string, error) { return "", ErrInvalid }

// ReadDir implements FS.
func (z *ZipFS) ReadDir(dir Node, list []DirEntry) ([]DirEntry, error) {
	e := z.entry(dir)
	if e.kind != KindDir {
		return nil, ErrNotDir
	}
	if len(e.kids) > MaxListing {
		return nil, ErrOverflow
	}
	list = slices.Grow(list, len(e.kids))
	for _, i := range e.kids {
		list = append(list, DirEntry{z.entries[i].name, uint64(i) + 1, z.entries[i].kind})
	}
	return list, nil
}

// Open implements FS.
func (z *ZipFS) Open(n Node, flags OpenFlags) (File, error) {
	e := z.entry(n)
	st, _ := z.Stat(n)
	switch {
	case e.kind == KindDir:
		return nil, ErrIsDir
	case flags&(OpenWrite|OpenTruncate) != 0:
		return nil, ErrReadOnly
	case e.file.Flags&1 != 0 || e.file.Method != zip.Store && e.file.Method != zip.Deflate:
		return nil, ErrNotSupported // encrypted, or compressed in another way
	case e.file.Method == zip.Store:
		return &section{r: z.r, base: e.data, stat: st}, nil
	}
	s := stream{stat: st, open: func() (io.ReadCloser, error) { return openMember(e.file) }}
	if z.cache.max <= 0 {
		return &s, nil
	}
	return &zipFile{stream: s, z: z, id: uint32(n.ID), whole: st.Size <= z.cache.max/cacheAlways}, nil
}

// openMember inflates a member and makes sure that its last bytes are handed out only if all are right.
func openMember(f *zip.File) (io.ReadCloser, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	return &checkedMember{r, f.UncompressedSize64}, nil
}

type checkedMember struct {
	io.ReadCloser
	left uint64
}

func (c *checkedMember) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.left -= min(c.left, uint64(n))
	if c.left == 0 && err == nil { // the checksum is compared when the end is seen
		var one [1]byte
		if _, err = io.ReadFull(c.ReadCloser, one[:]); err == nil {
			err = zip.ErrFormat
		}
	}
	if err != nil && err != io.EOF {
		return 0, err
	}
	return n, err
}

// zipFile is an open compressed member: it is read as a stream, or inflated whole into the cache.
type zipFile struct {
	stream
	z     *ZipFS
	id    uint32
	whole bool
}

// Members up to 1/16 of the cache are always inflated whole; those up to 1/2 once they are read backwards.
const (
	cacheAlways = 16
	cacheSeeks  = 2
)

func (f *zipFile) step(off int64) (bool, error) {
	if !f.whole && off < f.pos && f.stat.Size <= f.z.cache.max/cacheSeeks {
		f.whole = true
	}
	if f.whole {
		return true, nil
	}
	return f.stream.step(off)
}

func (f *zipFile) ReadAt(p []byte, off int64) (int, error) {
	if !f.whole {
		return f.stream.ReadAt(p, off)
	}
	if off >= f.stat.Size {
		return 0, io.EOF
	}
	b, err := f.z.inflate(f.id)
	if err != nil {
		return 0, err
	}
	n := copy(p, b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// inflate returns the bytes of a member, which the caller must not keep or change.
func (z *ZipFS) inflate(id uint32) ([]byte, error) {
	if b := z.cache.get(id); b != nil {
		return b, nil
	}
	f := z.entries[id].file
	r, err := openMember(f)
	if err != nil {
		return nil, readError(err)
	}
	defer r.Close()
	b := make([]byte, f.UncompressedSize64)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, readError(err)
	}
	z.cache.put(id, b)
	return b, nil
}

// inflated is a cache of members, at most max bytes, that forgets the one not used for longest.
type inflated struct {
	max int64

	mu    sync.Mutex
	size  int64
	items map[uint32]*list.Element
	order list.List // newest first
}

type inflatedItem struct {
	id uint32
	b  []byte
}

func (c *inflated) get(id uint32) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.items[id]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*inflatedItem).b
}

func (c *inflated) put(id uint32, b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.items[id] != nil || int64(len(b)) > c.max {
		return
	}
	if c.items == nil {
		c.items = map[uint32]*list.Element{}
	}
	c.items[id] = c.order.PushFront(&inflatedItem{id, b})
	for c.size += int64(len(b)); c.size > c.max; {
		old := c.order.Remove(c.order.Back()).(*inflatedItem)
		delete(c.items, old.id)
		c.size -= int64(len(old.b))
	}
}
