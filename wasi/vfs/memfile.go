package vfs

import "io"

// memFile is an open file of a memFS.
type memFile struct {
	fs  *memFS
	ino uint64
}

func (f *memFile) inode() (*inode, error) { return f.fs.inode(Node{ID: f.ino}) }

// change runs f on the inode, ready to be changed, and sets the times if the contents did change.
func (f *memFile) change(do func(nd *inode) (changed bool, err error)) error {
	nd, err := f.inode()
	if err != nil {
		return err
	}
	nd = f.fs.own(nd)
	changed, err := do(nd)
	if changed {
		nd.mtime = f.fs.now()
		nd.ctime = nd.mtime
	}
	return err
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	nd, err := f.inode()
	if err != nil {
		return 0, err
	}
	n := nd.read(p, off)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.change(func(nd *inode) (bool, error) {
		n, err = f.fs.write(nd, p, off)
		return n > 0, err
	})
	return n, err
}

func (f *memFile) Append(p []byte) (n int, end int64, err error) {
	err = f.change(func(nd *inode) (bool, error) {
		n, err = f.fs.write(nd, p, nd.size)
		end = nd.size
		return n > 0, err
	})
	return n, end, err
}

func (f *memFile) Stat() (Stat, error) {
	nd, err := f.inode()
	if err != nil {
		return Stat{}, err
	}
	return f.fs.stat(nd), nil
}

func (f *memFile) SetTimes(t Times) error { return f.fs.SetTimes(Node{ID: f.ino}, t) }

func (f *memFile) Truncate(size int64) error {
	return f.change(func(nd *inode) (bool, error) {
		err := f.fs.resize(nd, size)
		return err == nil, err
	})
}

func (f *memFile) Allocate(off, n int64) error {
	return f.change(func(nd *inode) (bool, error) {
		err := f.fs.allocate(nd, off, n)
		return err == nil, err
	})
}

func (f *memFile) Sync(bool) error { return nil }

func (f *memFile) Close() error {
	f.fs.release(f.ino)
	return nil
}
