package vfs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Mode says what a mount allows.
type Mode uint8

// Modes.
const (
	ModeReadOnly Mode = iota // every change gives ErrReadOnly
	ModeReadWrite
	ModeOverlay // changes are kept in the sandbox's memory, the FS below stays as it is
)

// Mount puts an FS at a guest path.
type Mount struct {
	Path string // absolute; links of the standard layout in it are followed
	FS   FS
	Mode Mode // ModeReadWrite needs an FS that can be written
	// NoSymlinks forbids making links in this mount (ErrPerm), so that programs of the host that follow links
	// cannot be led astray. It is ignored for ModeOverlay.
	NoSymlinks bool
}

// Config describes a [Template].
type Config struct {
	// Layout adds the standard folders: /data, /tmp and the link /mnt/data to /data. The folders cannot be removed.
	Layout bool
	// Mounts in any order. A mount point needs no folder below it; mounts may lie inside each other.
	// A mount at "/" takes the place of the in-memory root (and excludes Layout).
	Mounts []Mount
}

// Options are the settings of one namespace. The zero value is usable.
type Options struct {
	Bytes  int64 // quota of bytes in memory; 0 means DefaultBytes
	Inodes int64 // quota of inodes in memory; 0 means DefaultInodes
	// Now is the clock of file times in nanoseconds since 1970; nil means the host's.
	Now func() int64
	// Check is called now and then by operations that may take long: skipping forward in a compressed file,
	// copying up, waiting for a disk. When it returns an error the operation ends with that error. Nil means never.
	Check func() error
}

// Defaults of Options.
const (
	DefaultBytes  = 64 << 20
	DefaultInodes = 100_000
)

// mountPoint is a folder of the mount table: the root, a mount point, or a folder on the way to one. All
// are fixed when the template is made.
type mountPoint struct {
	name   string
	parent *mountPoint
	kids   map[string]*mountPoint
	mount  int    // index into the mounts, or noMount
	ino    uint64 // of the folder that stands in where the FS below has none
}

const noMount = -1

// The first two mounts of every namespace.
const (
	mountRoot  = 0 // memory, unless something is mounted at "/"
	mountTable = 1 // the folders that exist only because a mount lies below them
)

// mounted is a mount of one namespace.
type mounted struct {
	fs       FS
	path     string
	readOnly bool
	changed  bool // or something was to be
	noLinks  bool
	journal  bool   // changes are written down (read-write mounts outside memory)
	forgets  bool   // nothing is ever changed in it, although all is allowed
	overlay  uint64 // inode of the upper layer in memory, 0 for other mounts
}

// changes says whether something may be changed in the mount, which it is then taken to be.
func (mt *mounted) changes() bool {
	mt.changed = !mt.readOnly && !mt.forgets
	return !mt.readOnly
}

// Template is a checked, immutable mount table from which namespaces are made cheaply. It may be used from
// many goroutines at once.
type Template struct {
	config Config
	root   *mountPoint
	mounts []mounted // memory and overlays are filled in by New
	mem    memState
	next   uint64
	memory bool // the root is in memory
}

// NewTemplate checks all of c and returns every problem at once (errors.Join).
func NewTemplate(c Config) (*Template, error) {
	c.Mounts = slices.Clone(c.Mounts)
	b := builder{
		mem:   newMemFS(Options{Now: func() int64 { return timeUnset }}),
		root:  &mountPoint{mount: mountRoot, ino: 1},
		paths: map[string]bool{},
		inos:  1,
	}
	t := &Template{config: c, root: b.root, memory: true, mounts: make([]mounted, 2, 2+len(c.Mounts))}
	t.mounts[mountTable] = mounted{fs: tableFS{root: b.root}, readOnly: true}
	for _, m := range c.Mounts {
		if m.Path == "/" {
			t.memory = false
		}
	}
	var errs []error
	if c.Layout {
		if !t.memory {
			errs = append(errs, errors.New("mount /: the standard folders need the root to be in memory"))
		}
		b.folders("/data")
		b.folders("/tmp")
		b.folders("/mnt")
		if n, _, err := b.mem.Lookup(Node{ID: rootIno}, "mnt"); err == nil {
			_ = b.mem.Symlink(n, "data", "/data") // cannot fail: the folder is new and empty
		}
		b.point("/data")
		b.point("/tmp")
	}
	for _, m := range c.Mounts {
		if err := b.add(t, m); err != nil {
			errs = append(errs, fmt.Errorf("mount %s: %w", m.Path, err))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	t.next = b.mem.next
	t.mem = b.mem.freeze()
	return t, nil
}

// With returns a template with more mounts; t stays as it is.
func (t *Template) With(mounts ...Mount) (*Template, error) {
	c := t.config
	c.Mounts = append(slices.Clip(c.Mounts), mounts...)
	return NewTemplate(c)
}

type builder struct {
	mem   *memFS
	root  *mountPoint
	paths map[string]bool
	inos  uint64
}

func (b *builder) add(t *Template, m Mount) error {
	if m.FS == nil {
		return errors.New("no file system given")
	}
	path, err := b.clean(m.Path)
	if err != nil {
		return err
	}
	_, kind := m.FS.Root()
	_, forgets := m.FS.(DeviceFS)
	switch {
	case b.paths[path]:
		return errors.New("mounted twice")
	case m.Mode == ModeReadWrite && m.FS.ReadOnly():
		return errors.New("this file system can only be read")
	case m.Mode > ModeOverlay:
		return errors.New("unknown mode")
	case kind != KindDir && m.Mode != ModeReadOnly && (m.Mode != ModeReadWrite || !forgets):
		return errors.New("a single file can only be mounted read-only")
	case kind != KindDir && kind != KindRegular:
		return errors.New("neither a folder nor a file")
	case path == "/" && m.Mode == ModeOverlay && kind != KindDir:
		return errors.New("the root must be a folder")
	}
	b.paths[path] = true
	mt := mounted{
		fs: m.FS, path: path, readOnly: m.Mode == ModeReadOnly, noLinks: m.NoSymlinks, journal: m.Mode == ModeReadWrite && !forgets, forgets: forgets,
	}
	if m.Mode == ModeOverlay {
		mt.overlay, mt.noLinks = b.mem.newTree(timeUnset), false
	}
	if path == "/" {
		t.mounts[mountRoot] = mt
		return nil
	}
	if i := strings.LastIndexByte(path, '/'); i > 0 && t.memory && !forgets { // what is beside a device is no ordinary file
		b.folders(path[:i]) // so that the guest can make files beside the mount point
	}
	b.point(path).mount = len(t.mounts)
	t.mounts = append(t.mounts, mt)
	return nil
}

// clean returns the path of a mount point with the links of the layout followed.
func (b *builder) clean(path string) (string, error) {
	p, err := ParsePathString(path)
	if err != nil {
		return "", err
	}
	if !p.Absolute() {
		return "", errors.New("the path must be absolute")
	}
	clean, dir := "", Node{ID: rootIno}
	for name := range strings.SplitSeq(path, "/") {
		switch name {
		case "", ".":
			continue
		case "..":
			return "", errors.New("the path must not have .. in it")
		}
		clean += "/" + name
		n, kind, err := b.mem.Lookup(dir, name)
		if err == nil && kind == KindLink {
			if clean, err = b.mem.Readlink(n); err != nil { // the layout's links are absolute, and lead to folders
				return "", err
			}
			n, _, err = b.mem.Lookup(Node{ID: rootIno}, clean[1:])
		}
		dir = n
		if err != nil {
			dir = Node{}
		}
	}
	if clean == "" {
		clean = "/"
	}
	return clean, nil
}

// folders makes the folders of a path in memory as far as nothing else is in the way.
func (b *builder) folders(path string) {
	dir, mp := Node{ID: rootIno}, b.root
	for name := range strings.SplitSeq(path[1:], "/") {
		if mp != nil {
			if mp = mp.kids[name]; mp != nil && mp.mount != noMount {
				return // below another mount
			}
		}
		n, kind, err := b.mem.Lookup(dir, name)
		if err != nil {
			if b.mem.Mkdir(dir, name) != nil {
				return
			}
			n, kind, _ = b.mem.Lookup(dir, name)
		}
		if kind != KindDir {
			return
		}
		dir = n
	}
}

// point makes the folders of the mount table for a path.
func (b *builder) point(path string) *mountPoint {
	mp := b.root
	for name := range strings.SplitSeq(path[1:], "/") {
		kid := mp.kids[name]
		if kid == nil {
			b.inos++
			kid = &mountPoint{name: name, parent: mp, mount: noMount, ino: b.inos}
			if mp.kids == nil {
				mp.kids = map[string]*mountPoint{}
			}
			mp.kids[name] = kid
		}
		mp = kid
	}
	return mp
}

// New makes a namespace with fresh memory parts.
func (t *Template) New(o Options) *Namespace {
	m := t.mem.clone(t.next, o, t.mem.used)
	m.born = m.now()
	return t.instance(m, o)
}

// instance makes the namespace for the memory m.
func (t *Template) instance(m *memFS, o Options) *Namespace {
	ns := &Namespace{template: t, mem: m, check: o.Check, mounts: slices.Clone(t.mounts)}
	if t.memory {
		ns.mounts[mountRoot].fs = m
	}
	for i := range ns.mounts {
		if mt := &ns.mounts[i]; mt.overlay != 0 {
			mt.fs = newOverlay(mt.fs, m, mt.overlay)
		}
	}
	return ns
}

// tableFS holds the folders that exist only in the mount table. What lies in them are mount points and more
// such folders, which resolve.go finds before it asks an FS; so they are empty here.
type tableFS struct {
	readOnly
	root *mountPoint
}

func (t tableFS) Root() (Node, Kind)                                  { return Node{Ref: t.root}, KindDir }
func (t tableFS) Lookup(Node, string) (Node, Kind, error)             { return Node{}, 0, ErrNotExist }
func (t tableFS) Readlink(Node) (string, error)                       { return "", ErrInvalid }
func (t tableFS) Open(Node, OpenFlags) (File, error)                  { return nil, ErrIsDir }
func (t tableFS) ReadDir(_ Node, list []DirEntry) ([]DirEntry, error) { return list, nil }

func (t tableFS) Stat(n Node) (Stat, error) {
	mp := n.Ref.(*mountPoint)
	return Stat{Ino: mp.ino, Nlink: 2 + uint64(len(mp.kids)), Kind: KindDir}, nil
}

// sortedKids returns the names in a folder of the mount table.
func (mp *mountPoint) sortedKids() []string { return slices.Sorted(maps.Keys(mp.kids)) }
