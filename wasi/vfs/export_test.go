package vfs

import "fmt"

// Recount compares what the memory of a namespace says it holds with what it does hold.
func (ns *Namespace) Recount() error {
	m := ns.mem
	var got Usage
	names := map[uint64]int{}
	subdirs := map[uint64]int{}
	m.table.each(func(ino uint64, nd *inode) bool {
		got.Inodes++
		if nd.kind == KindDir {
			count := 0
			last := ""
			nd.dir.each(func(e *dirent) bool {
				if e.name <= last {
					last = "out of order: " + e.name
					return false
				}
				last = e.name
				count++
				if names[e.ino]++; e.kind == KindDir {
					subdirs[ino]++
				}
				return true
			})
			if count != nd.dir.count {
				got.Bytes = -1 << 40
			}
		}
		return true
	})
	var err error
	fail := func(format string, args ...any) {
		if err == nil {
			err = fmt.Errorf(format, args...)
		}
	}
	nodes := 0
	countNodes(m.table.root, int(m.table.height), &nodes)
	if nodes != int(m.table.nodes) {
		fail("table has %d nodes, says %d", nodes, m.table.nodes)
	}
	m.table.each(func(ino uint64, nd *inode) bool {
		stored := int64(len(nd.target))
		if nd.kind == KindRegular {
			stored = nd.data.stored()
			nodes := 0
			countNodes(nd.data.rest.root, int(nd.data.rest.height), &nodes)
			if nodes != int(nd.data.rest.nodes) {
				fail("inode %d has %d nodes, says %d", ino, nodes, nd.data.rest.nodes)
			}
			nd.data.each(func(i uint64, c *chunk) bool {
				for k, b := range c.b {
					if at := int64(i)*chunkBytes + int64(k); at >= nd.size && b != 0 {
						fail("inode %d: byte %d past its size is not zero", ino, at)
						break
					}
				}
				return true
			})
		}
		if stored != nd.stored {
			fail("inode %d stores %d, says %d", ino, stored, nd.stored)
		}
		got.Bytes += stored
		switch {
		case nd.kind == KindDir && nd.nlink > 0 && int(nd.nlink) != 2+subdirs[ino]:
			fail("folder %d has %d folders, nlink %d", ino, subdirs[ino], nd.nlink)
		case nd.kind != KindDir && int(nd.nlink) != names[ino]:
			fail("inode %d has %d names, nlink %d", ino, names[ino], nd.nlink)
		case nd.kind != KindDir && nd.nlink > 1:
			got.Inodes += int64(nd.nlink) - 1
		}
		if nd.kind == KindDir && nd.parent != ino {
			if up := m.table.get(nd.parent); nd.nlink > 0 && (up == nil || up.kind != KindDir) {
				fail("folder %d has no parent", ino)
			}
		}
		if nd.nlink == 0 && m.opens[ino] == 0 {
			fail("inode %d has neither name nor handle", ino)
		}
		return true
	})
	if got != m.used {
		fail("holds %+v, says %+v", got, m.used)
	}
	return err
}

func countNodes[T any](n *treeNode[T], h int, count *int) {
	if n == nil {
		return
	}
	*count++
	if h == 0 {
		return
	}
	for _, k := range n.kids {
		countNodes(k, h-1, count)
	}
}

// Template is that of the namespace.
func (ns *Namespace) Template() *Template { return ns.template }

// Listed is the number of entries in kept listings.
func (ns *Namespace) Listed() int {
	n := 0
	for h := ns.handles; h != nil; h = h.next {
		n += len(h.listing)
	}
	if n != ns.listed {
		return -1
	}
	return n
}

// stored counts anew what the chunks and the tree above them take.
func (d *fileData) stored() int64 {
	n := int64(d.rest.nodes) * treeNodeBytes
	d.each(func(_ uint64, c *chunk) bool { n += int64(len(c.b)); return true })
	return n
}
