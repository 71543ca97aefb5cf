package vfs

import (
	"slices"
	"time"
)

// Handle is an open file or folder of a [Namespace], what a descriptor of the guest refers to. It has no
// offset: that is the descriptor's. After Close every method gives ErrBadHandle.
//
// After [Namespace.Restore] a Handle refers to the same file as before, with the contents and size of the
// snapshot; if the snapshot has no such file (it was made later), every method gives ErrStale. Files on
// other mounts are not touched by a restore.
type Handle struct {
	ns         *Namespace // nil when closed
	prev, next *Handle
	kind       Kind
	flags      OpenFlags
	mount      int
	path       string
	touched    int // the epoch of the journal in which it was last noted as written

	file File    // of a regular file
	step stepper // file, if it is one

	stack   []pos // of a folder: the folders from the root down to it
	listing []DirEntry

	before whereabouts // of a file in memory that was moved since the last snapshot
}

// whereabouts are the path and the stack of a handle when a snapshot was taken.
type whereabouts struct {
	snapshot uint64
	path     string
	stack    []pos
}

// stepper is a File in which a place may be far to reach. step moves towards off by a bounded amount of
// work and reports whether ReadAt there is quick now.
type stepper interface {
	step(off int64) (bool, error)
}

// maxListed bounds the entries of all listings that a namespace keeps for its open folders. Each takes 32
// bytes and its name.
const maxListed = 1 << 18

// checkEvery is how often Options.Check is called while a disk of the host is waited for.
const checkEvery = 20 * time.Millisecond

// Kind is KindRegular or KindDir.
func (h *Handle) Kind() Kind { return h.kind }

// Flags returns OpenRead and OpenWrite as they were given to Open.
func (h *Handle) Flags() OpenFlags { return h.flags }

// Path returns the absolute guest path, free of links, by which it was opened, with the renames since then
// that this namespace made. It may name something else by now.
func (h *Handle) Path() string { return h.path }

// ReadOnly reports whether the mount that it lies in refuses changes.
func (h *Handle) ReadOnly() bool { return h.ns == nil || h.ns.mounts[h.mount].readOnly }

// Device says what an open file of a [DeviceFS] stands for; ok is false for others.
func (h *Handle) Device() (d Device, ok bool) {
	f, ok := h.file.(deviceFile)
	return f.device, ok
}

// opened checks that the handle is a file that may be used so.
func (h *Handle) opened(flag OpenFlags) error {
	switch {
	case h.ns == nil:
		return ErrBadHandle
	case h.kind != KindRegular:
		return ErrIsDir
	case h.flags&flag != flag:
		return ErrBadHandle
	}
	return nil
}

// ReadAt is io.ReaderAt: it gives io.EOF with fewer bytes than asked. Errors: ErrIsDir, ErrBadHandle (not
// opened with OpenRead), ErrInvalid (negative offset).
func (h *Handle) ReadAt(p []byte, off int64) (int, error) {
	if err := h.opened(OpenRead); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, ErrInvalid
	}
	if len(p) == 0 {
		return 0, nil
	}
	if h.step != nil {
		for {
			near, err := h.step.step(off)
			if err != nil {
				return 0, err
			}
			if near {
				break
			}
			if h.ns.check != nil {
				if err := h.ns.check(); err != nil {
					return 0, err
				}
			}
		}
	}
	return h.file.ReadAt(p, off)
}

// WriteAt writes at off, making the file longer if need be. Fewer bytes than asked come with an error, and
// those that were written stay. Errors: ErrIsDir, ErrBadHandle (not opened with OpenWrite), ErrNoSpace, ErrFileTooBig.
func (h *Handle) WriteAt(p []byte, off int64) (int, error) {
	if err := h.opened(OpenWrite); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, ErrInvalid
	}
	h.touch()
	return h.file.WriteAt(p, off)
}

// Append writes at the end of the file and returns the offset after the last byte written.
func (h *Handle) Append(p []byte) (n int, end int64, err error) {
	if err := h.opened(OpenWrite); err != nil {
		return 0, 0, err
	}
	h.touch()
	return h.file.Append(p)
}

// touch notes that the contents change.
func (h *Handle) touch() {
	if j := &h.ns.journal; h.ns.mounts[h.mount].journal && h.touched != j.epoch+1 {
		h.touched = j.epoch + 1
		j.modified(h.path)
	}
}

// Stat describes the file as it is now.
func (h *Handle) Stat() (Stat, error) {
	switch {
	case h.ns == nil:
		return Stat{}, ErrBadHandle
	case h.kind == KindDir:
		return h.ns.stat(h.top())
	}
	st, err := h.file.Stat()
	st.Dev = devOf(h.mount, st.Dev)
	return st, err
}

func (h *Handle) top() *pos { return &h.stack[len(h.stack)-1] }

// SetTimes changes the times of the file or folder. It needs no OpenWrite, but a mount that allows changes.
func (h *Handle) SetTimes(t Times) error {
	switch {
	case h.ns == nil:
		return ErrBadHandle
	case !t.valid():
		return ErrInvalid
	case !h.ns.mounts[h.mount].changes():
		return ErrReadOnly
	case h.kind == KindDir:
		return h.ns.mounts[h.mount].fs.SetTimes(h.top().node, t)
	}
	return h.file.SetTimes(t)
}

// Truncate sets the size. A larger one adds a hole, which takes no space. It needs OpenWrite (else ErrBadHandle).
func (h *Handle) Truncate(size int64) error {
	if err := h.opened(OpenWrite); err != nil {
		return err
	}
	if size < 0 {
		return ErrInvalid
	}
	h.touch()
	return h.file.Truncate(size)
}

// Allocate reserves space for a range and makes the file at least off+n bytes long. Errors: ErrInvalid (n
// is not positive), ErrNoSpace, ErrFileTooBig.
func (h *Handle) Allocate(off, n int64) error {
	if err := h.opened(OpenWrite); err != nil {
		return err
	}
	if off < 0 || n <= 0 {
		return ErrInvalid
	}
	h.touch()
	return h.file.Allocate(off, n)
}

// Sync brings the file to stable storage where there is one. When Options.Check ends the wait for a disk of
// the host, the disk goes on in the background.
func (h *Handle) Sync(dataOnly bool) error {
	switch {
	case h.ns == nil:
		return ErrBadHandle
	case h.kind == KindDir:
		return nil
	}
	f, slow := h.file.(*hostFile)
	if !slow || h.ns.check == nil {
		return h.file.Sync(dataOnly)
	}
	done := make(chan error, 1)
	go func() { done <- f.Sync(dataOnly) }()
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			if err := h.ns.check(); err != nil {
				return err
			}
		}
	}
}

// Entries returns the listing of a folder, "." and ".." first. With rewind a new one is taken; without, the
// one taken last is returned (a new one if there is none, or if it was dropped to save memory), so that the
// index of an entry is a stable cookie. The caller must not change the slice.
//
// Errors: ErrNotDir, ErrOverflow (over MaxListing).
func (h *Handle) Entries(rewind bool) ([]DirEntry, error) {
	switch {
	case h.ns == nil:
		return nil, ErrBadHandle
	case h.kind != KindDir:
		return nil, ErrNotDir
	case h.listing != nil && !rewind:
		return h.listing, nil
	}
	h.drop()
	list, err := h.ns.list(h.stack)
	if err != nil {
		return nil, err
	}
	if h.ns.listed+len(list) > maxListed {
		for o := h.ns.handles; o != nil; o = o.next {
			o.drop()
		}
	}
	h.listing = list
	h.ns.listed += len(list)
	return list, nil
}

// drop gives up the listing.
func (h *Handle) drop() {
	h.ns.listed -= len(h.listing)
	h.listing = nil
}

// list makes the listing of the folder on top of the stack: what its FS has, and what is mounted in it.
func (ns *Namespace) list(stack []pos) ([]DirEntry, error) {
	dir := &stack[len(stack)-1]
	up := &stack[max(0, len(stack)-2)]
	self, err := ns.stat(dir)
	if err != nil {
		return nil, err
	}
	above, _ := ns.stat(up) // the folder may be gone, then its number is 0
	list := append(make([]DirEntry, 0, 16), DirEntry{".", self.Ino, KindDir}, DirEntry{"..", above.Ino, KindDir})
	list, err = ns.mounts[dir.mount].fs.ReadDir(dir.node, list)
	if err != nil {
		return nil, err
	}
	if dir.point == nil || dir.point.kids == nil {
		return list, nil
	}
	list = slices.DeleteFunc(list, func(e DirEntry) bool { return dir.point.kids[e.Name] != nil })
	for _, name := range dir.point.sortedKids() {
		p, err := ns.child(dir, name)
		if err != nil {
			return nil, err
		}
		st, err := ns.stat(&p)
		if err != nil {
			return nil, err
		}
		list = append(list, DirEntry{name, st.Ino, p.kind})
	}
	return list, nil
}

// Close gives the handle up. The space of a file without a name is freed with its last handle.
func (h *Handle) Close() error {
	ns := h.ns
	if ns == nil {
		return ErrBadHandle
	}
	h.drop()
	if h.prev != nil {
		h.prev.next = h.next
	} else {
		ns.handles = h.next
	}
	if h.next != nil {
		h.next.prev = h.prev
	}
	h.prev, h.next, h.ns = nil, nil, nil
	if h.kind == KindDir {
		ns.mounts[h.mount].fs.Release(h.top().node)
		h.stack = nil
		return nil
	}
	return h.file.Close()
}
