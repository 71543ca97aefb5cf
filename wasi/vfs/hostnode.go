package vfs

import "os"

// maxHostFolders is the number of folders that a HostDir keeps open to find names faster, besides those that
// handles need. There may be a thousand HostDirs.
const maxHostFolders = 16

// hostID names a file of the host for as long as it is open.
type hostID struct{ dev, ino uint64 }

// hostNode is a file of the host, known by the folder it was found in. For folders there is one hostNode
// while its os.Root is open.
type hostNode struct {
	fs   *HostDir
	kind Kind
	stat Stat // of anything but a folder: as Lookup saw it

	// Guarded by fs.mu.
	id         hostID
	parent     *hostNode // nil for the top
	name       string
	root       *os.Root // of a folder; nil when not open
	users      int      // calls and handles that need root
	prev, next *hostNode
}

// acquire opens the folder if need be and keeps it open until release.
func (n *hostNode) acquire() (*os.Root, error) { return n.acquireAt(0) }

func (n *hostNode) acquireAt(depth int) (*os.Root, error) {
	if n.kind != KindDir {
		return nil, ErrNotDir
	}
	h := n.fs
	h.mu.Lock()
	switch {
	case h.closed:
		h.mu.Unlock()
		return nil, ErrStale
	case n.root != nil:
		root := n.root
		n.users++
		h.use(n)
		h.mu.Unlock()
		return root, nil
	}
	parent, name := n.parent, n.name
	h.mu.Unlock()
	if depth > maxStack { // folders were moved into each other behind our back
		return nil, ErrNotExist
	}
	above, err := parent.acquireAt(depth + 1)
	if err != nil {
		return nil, err
	}
	defer parent.release()
	root, err := above.OpenRoot(name)
	if err != nil {
		return nil, hostError(err)
	}
	fi, err := root.Lstat(".")
	if err != nil {
		_ = root.Close()
		return nil, hostError(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		_ = root.Close()
		return nil, ErrStale
	case n.root != nil: // someone else was faster
		_ = root.Close()
	default:
		// If something else has the name by now, or the file system does not keep its numbers, this is the
		// folder of that name: it lies in the same folder above.
		_, n.id = hostStat(fi)
		n.root = root
		h.open[n.id] = n
		h.opened++
	}
	n.users++
	h.use(n)
	return n.root, nil
}

func (n *hostNode) release() {
	n.fs.mu.Lock()
	n.users--
	n.fs.mu.Unlock()
}

// use makes n the newest of the open folders, and closes the oldest that no one needs if there are too many.
// Preconditions: mu is held, n.root is open.
func (h *HostDir) use(n *hostNode) {
	if n == h.top || n == h.newest {
		return
	}
	h.dequeue(n)
	if n.prev = h.newest; n.prev != nil {
		n.prev.next = n
	} else {
		h.oldest = n
	}
	h.newest = n
	for o := h.oldest; o != nil && h.opened > maxHostFolders; {
		next := o.next
		if o.users == 0 {
			h.dequeue(o)
			_ = o.root.Close()
			o.root = nil
			h.opened--
			if h.open[o.id] == o {
				delete(h.open, o.id)
			}
		}
		o = next
	}
}

// dequeue takes n out of the list of open folders, if it is there. Preconditions: mu is held.
func (h *HostDir) dequeue(n *hostNode) {
	switch {
	case n.prev != nil:
		n.prev.next = n.next
	case h.oldest == n:
		h.oldest = n.next
	default:
		return // not in the list
	}
	if n.next != nil {
		n.next.prev = n.prev
	} else {
		h.newest = n.prev
	}
	n.prev, n.next = nil, nil
}
