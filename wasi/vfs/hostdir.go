package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"unicode/utf8"
)

// HostDir is a folder of the host as an [FS]. It may be mounted in several namespaces and used from many
// goroutines at once.
//
// Every access goes through an os.Root of the folder that the name lies in, with a single name: no path ever
// reaches the host, so neither "..", nor a link, nor a folder swapped for one in the middle of a call can lead
// out. Links are reported as links; resolve.go follows them inside the namespace. Only regular files and
// folders are opened: a FIFO, socket or device is refused by its type before it is opened, and again, should
// it have taken a file's place in between, by the descriptor (which is opened without blocking).
// Permissions are never changed. Names that are not UTF-8 cannot be named by a guest and are not listed.
type HostDir struct {
	write   bool
	noatime bool // reading should not change access times
	top     *hostNode
	grow    *budget // bytes, used up by payments
	names   *budget
	// borrower is the last file for which a loan was made, nil if there was none since it was recalled.
	borrower atomic.Pointer[hostFile]

	mu     sync.Mutex
	paid   map[hostID]*payment  // for files; without a bound on growth none
	open   map[hostID]*hostNode // folders with an open os.Root
	opened int                  // os.Roots besides that of the top (two goroutines may open the same folder)
	oldest *hostNode            // of those, in order of last use
	newest *hostNode
	devs   []uint64 // devices met, that of the folder first
	closed bool
}

// HostDirOptions are the settings of a HostDir.
type HostDirOptions struct {
	// Write allows changes. Without it every change is refused here, whatever the mount says, and reading
	// leaves access times alone where the host permits that.
	Write bool
	// GrowBytes bounds by how much all files together may grow through this HostDir: writing past the end,
	// larger sizes and allocation count, each before it is done. Shrinking a file, and removing its last name once
	// nobody has it open any more, give back what this HostDir had counted for it. Zero means no bound.
	// hostgrowth.go says what holds when others change the files.
	GrowBytes int64
	// GrowNames bounds how many names may be made through this HostDir more than are removed. Zero means no bound.
	GrowNames int64
}

// OpenHostDir opens a folder of the host. Links in path itself are followed.
func OpenHostDir(path string, o HostDirOptions) (*HostDir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	fi, err := root.Lstat(".")
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	h := &HostDir{write: o.Write, noatime: !o.Write && openNoAtime != 0, open: map[hostID]*hostNode{}}
	if o.GrowBytes > 0 {
		h.grow, h.paid = &budget{all: o.GrowBytes, left: o.GrowBytes}, map[hostID]*payment{}
	}
	if o.GrowNames > 0 {
		h.names = &budget{all: o.GrowNames, left: o.GrowNames}
	}
	st, id := hostStat(fi)
	h.devs = []uint64{id.dev}
	h.top = &hostNode{fs: h, id: id, kind: st.Kind, root: root, users: 1}
	return h, nil
}

// Grown is how much of [HostDirOptions].GrowBytes and GrowNames is used up.
func (h *HostDir) Grown() Usage {
	h.recall(nil)
	return Usage{Bytes: h.grow.used(), Inodes: h.names.used()}
}

// MostGrown is the most that Grown ever was.
func (h *HostDir) MostGrown() Usage { return Usage{Bytes: h.grow.peak(), Inodes: h.names.peak()} }

// Close closes all folders of the host that are still open. Files that handles have open stay.
func (h *HostDir) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil
	}
	h.closed = true
	for n := h.oldest; n != nil; n = n.next {
		_ = n.root.Close()
	}
	return h.top.root.Close()
}

func (h *HostDir) node(n Node) *hostNode { return n.Ref.(*hostNode) }

// dev returns the index of a device.
func (h *HostDir) dev(dev uint64) uint64 {
	if dev == h.top.id.dev {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, d := range h.devs {
		if d == dev {
			return uint64(i)
		}
	}
	h.devs = append(h.devs, dev)
	return uint64(len(h.devs) - 1)
}

// statOf describes what an os.Root found.
func (h *HostDir) statOf(fi fs.FileInfo) (Stat, hostID) {
	st, id := hostStat(fi)
	st.Dev = h.dev(id.dev)
	return st, id
}

// legalName reports whether the host takes the name as a single one, and a guest can name it.
func legalName(name string) bool {
	return len(name) <= MaxName && utf8.ValidString(name) && filepath.IsLocal(name) && filepath.Base(name) == name
}

// Root implements FS.
func (h *HostDir) Root() (Node, Kind) { return Node{Ref: h.top}, KindDir }

// ReadOnly implements FS.
func (h *HostDir) ReadOnly() bool { return !h.write }

// Lookup implements FS.
func (h *HostDir) Lookup(dir Node, name string) (Node, Kind, error) {
	d := h.node(dir)
	if !legalName(name) {
		return Node{}, 0, ErrNotExist
	}
	root, err := d.acquire()
	if err != nil {
		return Node{}, 0, err
	}
	fi, err := root.Lstat(name)
	d.release()
	if err != nil {
		return Node{}, 0, hostError(err)
	}
	st, id := h.statOf(fi)
	n := &hostNode{fs: h, id: id, kind: st.Kind, stat: st, parent: d, name: name}
	if st.Kind == KindDir {
		h.mu.Lock()
		if known := h.open[id]; known != nil {
			known.parent, known.name = d, name
			n = known
		}
		h.mu.Unlock()
		if id == h.top.id { // a loop of bind mounts
			return Node{}, 0, ErrLoop
		}
	}
	return Node{Ref: n}, st.Kind, nil
}

// Stat implements FS.
func (h *HostDir) Stat(n Node) (Stat, error) {
	nd := h.node(n)
	if nd.kind != KindDir {
		return nd.stat, nil
	}
	root, err := nd.acquire()
	if err != nil {
		return Stat{}, err
	}
	defer nd.release()
	fi, err := root.Lstat(".")
	if err != nil {
		return Stat{}, hostError(err)
	}
	st, _ := h.statOf(fi)
	return st, nil
}

// in runs f on the folder that n lies in.
func (h *HostDir) in(n *hostNode, f func(root *os.Root, name string) error) error {
	h.mu.Lock()
	parent, name := n.parent, n.name
	h.mu.Unlock()
	root, err := parent.acquire()
	if err != nil {
		return err
	}
	defer parent.release()
	return hostError(f(root, name))
}

// SetTimes implements FS.
func (h *HostDir) SetTimes(n Node, t Times) error {
	if !h.write {
		return ErrReadOnly
	}
	if !t.valid() {
		return ErrInvalid
	}
	nd := h.node(n)
	if nd.kind != KindDir {
		return h.in(nd, func(root *os.Root, name string) error { return setTimesAt(root, name, t) })
	}
	root, err := nd.acquire()
	if err != nil {
		return err
	}
	defer nd.release()
	return hostError(setTimesAt(root, ".", t))
}

// Readlink implements FS.
func (h *HostDir) Readlink(n Node) (text string, err error) {
	nd := h.node(n)
	if nd.kind != KindLink {
		return "", ErrInvalid
	}
	err = h.in(nd, func(root *os.Root, name string) error {
		text, err = root.Readlink(name)
		return err
	})
	return filepath.ToSlash(text), err
}

// ReadDir implements FS.
func (h *HostDir) ReadDir(dir Node, list []DirEntry) ([]DirEntry, error) {
	d := h.node(dir)
	root, err := d.acquire()
	if err != nil {
		return nil, err
	}
	defer d.release()
	f, err := h.openIn(root, ".", os.O_RDONLY, 0)
	if err != nil {
		return nil, hostError(err)
	}
	defer f.Close()
	list, err = readHostDir(root, f, list)
	return list, hostError(err)
}

// openIn opens a name without blocking and without a change of its access time, if the latter is allowed.
func (h *HostDir) openIn(root *os.Root, name string, flag int, perm fs.FileMode) (*os.File, error) {
	flag |= syscall.O_NONBLOCK
	if h.noatime {
		f, err := root.OpenFile(name, flag|openNoAtime, perm)
		if !errors.Is(err, fs.ErrPermission) { // else it is not our file
			return f, err
		}
	}
	return root.OpenFile(name, flag, perm)
}

// Open implements FS.
func (h *HostDir) Open(n Node, flags OpenFlags) (f File, err error) {
	nd := h.node(n)
	switch {
	case nd.kind == KindDir:
		return nil, ErrIsDir
	case nd.kind != KindRegular:
		return nil, ErrAccess
	case !h.write && flags&(OpenWrite|OpenTruncate) != 0:
		return nil, ErrReadOnly
	}
	err = h.in(nd, func(root *os.Root, name string) error {
		f, err = h.openRegular(root, name, flags, 0)
		return err
	})
	return f, err
}

// openRegular opens a name, makes sure that it is a regular file, and only then cuts it.
func (h *HostDir) openRegular(root *os.Root, name string, flags OpenFlags, create int) (File, error) {
	mode := os.O_RDONLY
	if flags&(OpenWrite|OpenTruncate) != 0 {
		if mode = os.O_WRONLY; flags&OpenRead != 0 {
			mode = os.O_RDWR
		}
	}
	removals := hostRemovals.Load()
	file, err := h.openIn(root, name, mode|create, 0o644)
	if err != nil {
		return nil, err
	}
	st, id, err := statFile(file)
	if err == nil && st.Kind != KindRegular {
		err = ErrAccess
	}
	f := &hostFile{fs: h, f: file, fd: hostFDOf(file), id: id}
	if err == nil && h.grow != nil {
		err = f.join(st.Size, removals)
	}
	if err == nil && flags&OpenTruncate != 0 && st.Size > 0 {
		err = f.Truncate(0)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// Create implements FS.
func (h *HostDir) Create(dir Node, name string, flags OpenFlags) (f File, err error) {
	err = h.add(dir, name, func(root *os.Root) error {
		f, err = h.openRegular(root, name, flags|OpenWrite, os.O_CREATE|os.O_EXCL)
		return err
	})
	return f, err
}

// add is change for what makes a name.
func (h *HostDir) add(dir Node, name string, f func(root *os.Root) error) error {
	return h.change(dir, name, func(root *os.Root) error {
		if h.names.take(1) < 1 {
			return ErrQuotaInodes
		}
		err := f(root)
		if err != nil {
			h.names.give(1)
		}
		return err
	})
}

// change runs f on a folder that is to be changed.
func (h *HostDir) change(dir Node, name string, f func(root *os.Root) error) error {
	switch {
	case !h.write:
		return ErrReadOnly
	case !legalName(name):
		return ErrIllegalName
	}
	d := h.node(dir)
	root, err := d.acquire()
	if err != nil {
		return err
	}
	defer d.release()
	return hostError(f(root))
}

// Hold implements FS.
func (h *HostDir) Hold(dir Node) error {
	_, err := h.node(dir).acquire()
	return err
}

// Release implements FS.
func (h *HostDir) Release(dir Node) { h.node(dir).release() }

// Mkdir implements FS.
func (h *HostDir) Mkdir(dir Node, name string) error {
	return h.add(dir, name, func(root *os.Root) error { return root.Mkdir(name, 0o755) })
}

// Symlink implements FS.
func (h *HostDir) Symlink(dir Node, name, target string) error {
	return h.add(dir, name, func(root *os.Root) error { return root.Symlink(target, name) })
}

// Link implements FS.
func (h *HostDir) Link(n Node, dir Node, name string) error {
	nd := h.node(n)
	if nd.kind == KindDir {
		return ErrPerm
	}
	return h.add(dir, name, func(root *os.Root) error {
		return h.in(nd, func(oldRoot *os.Root, oldName string) error {
			if oldRoot == root {
				return root.Link(oldName, name)
			}
			return linkAcross(oldRoot, oldName, root, name)
		})
	})
}

// Rename implements FS.
func (h *HostDir) Rename(dir Node, name string, newDir Node, newName string) error {
	if !legalName(newName) {
		return ErrIllegalName
	}
	to := h.node(newDir)
	newRoot, err := to.acquire()
	if err != nil {
		return err
	}
	defer to.release()
	return h.change(dir, name, func(root *os.Root) error {
		moved, _ := root.Lstat(name)
		was := h.leaving(newRoot, newName)
		err := renameAt(root, name, newRoot, newName)
		was.done(err == nil && (moved == nil || !was.same(moved))) // two names of one file both stay
		if err != nil {
			return err
		}
		if moved != nil && moved.IsDir() { // an open folder must be found again by its new name
			_, id := hostStat(moved)
			h.mu.Lock()
			if n := h.open[id]; n != nil {
				n.parent, n.name = to, newName
			}
			h.mu.Unlock()
		}
		return nil
	})
}

// Unlink implements FS.
func (h *HostDir) Unlink(dir Node, name string) error { return h.remove(dir, name) }

// Rmdir implements FS.
func (h *HostDir) Rmdir(dir Node, name string) error { return h.remove(dir, name) }

func (h *HostDir) remove(dir Node, name string) error {
	return h.change(dir, name, func(root *os.Root) error {
		was := h.leaving(root, name)
		err := root.Remove(name)
		was.done(err == nil)
		return err
	})
}
