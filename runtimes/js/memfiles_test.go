package js_test

import (
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cloche-dev/cloche/runtimes/js"
)

// memFiles is a file tree in a map, for tests of the driver alone.
type memFiles struct {
	mu    sync.Mutex
	nodes map[string]*memNode
	ino   uint64
}

type memNode struct {
	mode     fs.FileMode
	data     []byte
	target   string
	ino      uint64
	modified time.Time
}

var _ js.Files = (*memFiles)(nil)

func newMemFiles() *memFiles {
	m := &memFiles{nodes: map[string]*memNode{}}
	for _, dir := range []string{"/", "/data", "/tmp"} {
		m.add(dir, &memNode{mode: fs.ModeDir})
	}
	return m
}

func (m *memFiles) add(p string, n *memNode) {
	m.ino++
	n.ino = m.ino
	n.modified = time.Now()
	m.nodes[p] = n
}

// write puts a file there, with its folders.
func (m *memFiles) write(p, text string) {
	for dir := path.Dir(p); m.nodes[dir] == nil; dir = path.Dir(dir) {
		m.add(dir, &memNode{mode: fs.ModeDir})
	}
	m.add(p, &memNode{data: []byte(text)})
}

// find resolves links; the node is nil when only its parent is there.
func (m *memFiles) find(p string, follow bool) (string, *memNode, error) {
	for range 40 {
		p = path.Clean(p)
		parts := strings.Split(strings.Trim(p, "/"), "/")
		at, again := "/", false
		for i, part := range parts {
			if n := m.nodes[at]; n == nil {
				return "", nil, fs.ErrNotExist
			} else if n.mode&fs.ModeDir == 0 {
				return "", nil, syscall.ENOTDIR
			}
			at = path.Join(at, part)
			n := m.nodes[at]
			if n != nil && n.mode&fs.ModeSymlink != 0 && (follow || i < len(parts)-1) {
				target := n.target
				if !path.IsAbs(target) {
					target = path.Join(path.Dir(at), target)
				}
				p, again = path.Join(target, strings.Join(parts[i+1:], "/")), true
				break
			}
		}
		if !again {
			return at, m.nodes[at], nil
		}
	}
	return "", nil, syscall.ELOOP
}

func (m *memFiles) must(p string, follow bool) (string, *memNode, error) {
	at, n, err := m.find(p, follow)
	if err == nil && n == nil {
		err = fs.ErrNotExist
	}
	return at, n, err
}

func (m *memFiles) Open(p string, flag int) (js.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, n, err := m.find(p, true)
	switch {
	case err != nil:
		return nil, err
	case n == nil && flag&os.O_CREATE == 0:
		return nil, fs.ErrNotExist
	case n != nil && flag&os.O_EXCL != 0:
		return nil, fs.ErrExist
	case n != nil && n.mode.IsDir() && flag&(os.O_WRONLY|os.O_RDWR) != 0:
		return nil, syscall.EISDIR
	case n == nil:
		n = &memNode{}
		m.add(at, n)
	case flag&os.O_TRUNC != 0:
		n.data = nil
	}
	return &memFile{m, n}, nil
}

func (m *memFiles) info(name string, n *memNode) js.FileInfo {
	return js.FileInfo{
		Name: name, Mode: n.mode, Size: int64(len(n.data)), Inode: n.ino, Links: 1,
		Modified: n.modified, Accessed: n.modified, Changed: n.modified,
	}
}

func (m *memFiles) Stat(p string, follow bool) (js.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, n, err := m.must(p, follow)
	if err != nil {
		return js.FileInfo{}, err
	}
	return m.info(path.Base(at), n), nil
}

func (m *memFiles) ReadDir(p string, most int) ([]js.DirEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, n, err := m.must(p, true)
	if err != nil {
		return nil, err
	}
	if !n.mode.IsDir() {
		return nil, syscall.ENOTDIR
	}
	var out []js.DirEntry
	for _, n := range m.children(at) {
		out = append(out, js.DirEntry{Name: n.Name, Mode: n.Mode})
	}
	return out[:min(most, len(out))], nil
}

func (m *memFiles) children(dir string) []js.FileInfo {
	var out []js.FileInfo
	for p, n := range m.nodes {
		if p != "/" && path.Dir(p) == dir {
			out = append(out, m.info(path.Base(p), n))
		}
	}
	slices.SortFunc(out, func(a, b js.FileInfo) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (m *memFiles) create(p string, n *memNode) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, old, err := m.find(p, false)
	if err != nil {
		return err
	}
	if old != nil {
		return fs.ErrExist
	}
	m.add(at, n)
	return nil
}

func (m *memFiles) Mkdir(p string) error {
	if strings.HasPrefix(p, "/readonly") {
		return syscall.EROFS
	}
	return m.create(p, &memNode{mode: fs.ModeDir})
}

func (m *memFiles) Symlink(target, p string) error {
	return m.create(p, &memNode{mode: fs.ModeSymlink, target: target})
}

func (m *memFiles) Link(from, to string) error {
	m.mu.Lock()
	_, n, err := m.must(from, false)
	m.mu.Unlock()
	if err != nil {
		return err
	}
	if err := m.create(to, &memNode{}); err != nil {
		return err
	}
	m.nodes[path.Clean(to)] = n
	return nil
}

func (m *memFiles) Remove(p string, dir bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, n, err := m.must(p, false)
	switch {
	case err != nil:
		return err
	case dir && !n.mode.IsDir():
		return syscall.ENOTDIR
	case !dir && n.mode.IsDir():
		return syscall.EISDIR
	case dir && len(m.children(at)) > 0:
		return syscall.ENOTEMPTY
	}
	delete(m.nodes, at)
	return nil
}

func (m *memFiles) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, n, err := m.must(from, false)
	if err != nil {
		return err
	}
	b, _, err := m.find(to, false)
	if err != nil {
		return err
	}
	delete(m.nodes, a)
	m.nodes[b] = n
	for p, child := range m.nodes {
		if rest, ok := strings.CutPrefix(p, a+"/"); ok {
			delete(m.nodes, p)
			m.nodes[b+"/"+rest] = child
		}
	}
	return nil
}

func (m *memFiles) Readlink(p string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, n, err := m.must(p, false)
	if err != nil {
		return "", err
	}
	if n.mode&fs.ModeSymlink == 0 {
		return "", syscall.EINVAL
	}
	return n.target, nil
}

func (m *memFiles) SetTimes(p string, _, modify time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, n, err := m.must(p, true)
	if err == nil {
		n.modified = modify
	}
	return err
}

type memFile struct {
	m *memFiles
	n *memNode
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(f.n.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.n.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	if end := off + int64(len(p)); end > int64(len(f.n.data)) {
		f.n.data = append(f.n.data, make([]byte, end-int64(len(f.n.data)))...)
	}
	f.n.modified = time.Now()
	return copy(f.n.data[off:], p), nil
}

func (f *memFile) Truncate(size int64) error {
	for int64(len(f.n.data)) < size {
		f.n.data = append(f.n.data, 0)
	}
	f.n.data = f.n.data[:size]
	return nil
}

func (f *memFile) Stat() (js.FileInfo, error) { return f.m.info("", f.n), nil }
func (f *memFile) Close() error               { return nil }
