package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/wasi"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

// Files are the files of a sandbox, for the program that embeds it. Paths are the guest's; relative ones are
// below /data. A Files belongs to one goroutine at a time.
type Files struct {
	ns *vfs.Namespace
	of *Session // or nil
}

// hold keeps the session from being left to the store while its files are in use, and brings it back if it was. The
// result ends that.
func (f *Files) hold() func() {
	if f.of == nil {
		return func() {}
	}
	f.ns = f.of.holdFiles()
	return f.of.filesMu.RUnlock
}

func (f *Files) path(p string) (vfs.Path, error) {
	parsed, err := vfs.ParsePathString(GuestPath(p))
	if err != nil {
		return parsed, fmt.Errorf("path %q in the sandbox: %w", p, err)
	}
	return parsed, nil
}

// open opens a file or folder.
func (f *Files) open(p string, flags vfs.OpenFlags) (*vfs.Handle, error) {
	parsed, err := f.path(p)
	if err != nil {
		return nil, err
	}
	h, err := f.ns.Open(nil, parsed, flags)
	if err != nil {
		return nil, fmt.Errorf("open %s in the sandbox: %w", parsed, err)
	}
	return h, nil
}

// Open opens a regular file for reading. Its size is what the program says, up to 4 TiB: bound what you copy.
func (f *Files) Open(p string) (io.ReadCloser, error) {
	defer f.hold()()
	h, err := f.open(p, vfs.OpenRead)
	if err != nil {
		return nil, err
	}
	st, err := h.Stat()
	if err == nil && st.Kind != vfs.KindRegular {
		err = fmt.Errorf("open %s in the sandbox: %w", p, vfs.ErrIsDir)
	}
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return &fileReader{io.NewSectionReader(h, 0, st.Size), h}, nil
}

type fileReader struct {
	*io.SectionReader
	io.Closer
}

// ReadFile reads a whole file of at most 256 MiB. Larger ones are for Open: a program can make a file of any size,
// since holes cost it nothing.
func (f *Files) ReadFile(p string) ([]byte, error) {
	defer f.hold()()
	b, err := f.ns.ReadFile(GuestPath(p), maxReadFile)
	return b, f.about("read", p, err)
}

const maxReadFile = 256 << 20

// WriteFile makes a file, and the folders above it, or replaces its contents. It counts against the
// sandbox's disk limits.
func (f *Files) WriteFile(p string, content []byte) error {
	defer f.hold()()
	return f.about("write", p, f.ns.WriteFile(GuestPath(p), content))
}

// CopyIn is WriteFile from a reader.
func (f *Files) CopyIn(p string, r io.Reader) error {
	defer f.hold()()
	return f.about("write", p, f.ns.CopyIn(GuestPath(p), r))
}

// MkdirAll makes a folder and those above it, as far as they are missing.
func (f *Files) MkdirAll(p string) error {
	defer f.hold()()
	return f.about("make folder", p, f.ns.MkdirAll(GuestPath(p)))
}

// Remove removes a file, a link or an empty folder.
func (f *Files) Remove(p string) error {
	defer f.hold()()
	parsed, err := f.path(p)
	if err != nil {
		return err
	}
	err = f.ns.Unlink(nil, parsed)
	if errors.Is(err, vfs.ErrIsDir) {
		err = f.ns.Rmdir(nil, parsed)
	}
	return f.about("remove", p, err)
}

// FS shows a folder as an fs.FS, which belongs to the same goroutine.
func (f *Files) FS(dir string) (fs.FS, error) {
	defer f.hold()()
	fsys, err := f.ns.FS(GuestPath(dir))
	return fsys, f.about("read", dir, err)
}

// CopyFS copies the files and folders of src into a folder of the sandbox, which is made if it is missing.
func (f *Files) CopyFS(dir string, src fs.FS) error {
	defer f.hold()()
	_, err := f.ns.CopyFS(GuestPath(dir), src)
	return f.about("copy into", dir, err)
}

// CopyOut copies the files and folders below dir into a folder of the host. Links and special files are left out, no
// name leads out of the folder, and sparse files stay sparse.
func (f *Files) CopyOut(to *os.Root, dir string) error {
	defer f.hold()()
	_, err := f.ns.CopyOut(to, GuestPath(dir), vfs.CopyLimits{})
	return f.about("copy", dir, err)
}

// WriteZip writes the files and folders below dir as an archive.
func (f *Files) WriteZip(w io.Writer, dir string) error {
	defer f.hold()()
	_, err := f.ns.WriteZip(w, GuestPath(dir), vfs.CopyLimits{})
	return f.about("archive", dir, err)
}

// WriteTar is WriteZip for the tar format.
func (f *Files) WriteTar(w io.Writer, dir string) error {
	defer f.hold()()
	_, err := f.ns.WriteTar(w, GuestPath(dir), vfs.CopyLimits{})
	return f.about("archive", dir, err)
}

func (*Files) about(doing, p string, err error) error {
	if err != nil {
		return fmt.Errorf("%s %s in the sandbox: %w", doing, p, err)
	}
	return nil
}

// ReadDir lists a folder by name.
func (f *Files) ReadDir(p string) ([]FileEntry, error) {
	defer f.hold()()
	h, err := f.open(p, vfs.OpenDirectory)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	entries, err := h.Entries(true)
	if err != nil {
		return nil, fmt.Errorf("list %s in the sandbox: %w", p, err)
	}
	var out []FileEntry
	for _, e := range entries {
		if e.Name == "." || e.Name == ".." {
			continue
		}
		entry := FileEntry{Name: e.Name, Dir: e.Kind == vfs.KindDir}
		if parsed, err := f.path(path.Join(GuestPath(p), e.Name)); err == nil {
			if st, err := f.ns.Stat(nil, parsed, false); err == nil {
				entry.Bytes = uint64(st.Size)
			}
		}
		out = append(out, entry)
	}
	slices.SortFunc(out, func(a, b FileEntry) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// FileEntry is a name in a folder.
type FileEntry struct {
	Name  string `json:"name"`
	Dir   bool   `json:"dir,omitempty"`
	Bytes uint64 `json:"bytes"`
}

// tree is a sandbox's file tree with the host folders and archives that are mounted in it.
type tree struct {
	*vfs.Namespace
	base   *vfs.Template // with the mounts
	mounts []io.Closer
}

// newTree makes a tree over a template, with the files of a snapshot of it if there is one, further mounts, and the mounts and
// files that o asks for.
func newTree(t *vfs.Template, files *vfs.Snapshot, further []vfs.Mount, o Options, l limits.Limits, clock wasi.Clock) (*tree, error) {
	tr := &tree{}
	if err := tr.fill(t, files, nil, further, o, l, clock); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrInvalid, err), tr.close())
	}
	return tr, nil
}

// fill opens what is mounted and writes the files, over those of a snapshot or of one's exported form, if one of them is given. What
// it opened is for close, after an error too.
func (t *tree) fill(plain *vfs.Template, files *vfs.Snapshot, exported []byte, further []vfs.Mount, o Options, l limits.Limits, clock wasi.Clock) error {
	base, err := t.mount(plain, further, o, l)
	if err != nil {
		return err
	}
	t.base = base
	vo := vfs.Options{
		Bytes: int64(l.DiskBytes), Inodes: int64(l.Inodes),
		Now: func() int64 { return clock.Now().UnixNano() },
	}
	switch {
	case files != nil && base != plain:
		files, err = adopt(base, files, vo)
	case files == nil && exported != nil:
		files, err = base.Import(bytes.NewReader(exported), vo)
	}
	if err != nil {
		return err
	}
	if files == nil {
		t.Namespace = base.New(vo)
	} else if t.Namespace, err = base.FromSnapshot(files, vo); err != nil {
		return err
	}
	for _, file := range o.Files {
		if err := t.files().WriteFile(file.Path, file.Content); err != nil {
			return err
		}
	}
	return nil
}

// adopt is a snapshot of another template's files as one of base: it goes through the exported form.
func adopt(base *vfs.Template, files *vfs.Snapshot, o vfs.Options) (*vfs.Snapshot, error) {
	var b bytes.Buffer
	if err := files.Export(&b); err != nil {
		return nil, err
	}
	return base.Import(&b, o)
}

// mount adds further mounts, what is shown of the host and shared folders to a template.
func (t *tree) mount(base *vfs.Template, further []vfs.Mount, o Options, l limits.Limits) (*vfs.Template, error) {
	if len(o.Mounts)+len(o.Shared)+len(further) == 0 {
		return base, nil
	}
	mounts, err := t.open(o.Mounts, l)
	if err != nil {
		return nil, err
	}
	for _, m := range o.Shared {
		mounts = append(mounts, m.mount())
	}
	if base, err = base.With(append(mounts, further...)...); err != nil {
		return nil, fmt.Errorf("mounts: %w", err)
	}
	return base, nil
}

var mountModes = map[limits.MountMode]vfs.Mode{
	limits.ReadOnly: vfs.ModeReadOnly, limits.ReadWrite: vfs.ModeReadWrite, limits.Overlay: vfs.ModeOverlay,
}

func (t *tree) open(mounts []limits.Mount, l limits.Limits) ([]vfs.Mount, error) {
	var out []vfs.Mount
	for _, m := range mounts {
		fsys, source, err := openMount(m, l)
		if err != nil {
			return nil, fmt.Errorf("mount %s: %w", m.Guest, withoutPath(err))
		}
		t.mounts = append(t.mounts, source)
		out = append(out, vfs.Mount{Path: m.Guest, FS: fsys, Mode: mountModes[m.Mode]})
	}
	return out, nil
}

// withoutPath is err without the host path that it names: the one who gets it may be whoever sent the code, and
// the one who wrote the mount knows what it shows.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// openMount opens what a mount shows: a folder, or a zip archive. Closing the second result ends it.
func openMount(m limits.Mount, l limits.Limits) (vfs.FS, io.Closer, error) {
	if !strings.EqualFold(filepath.Ext(m.Host), ".zip") {
		return openFolder(m, l)
	}
	info, err := os.Stat(m.Host)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() { // a folder may have such a name; what else it is must not be waited for
		return openFolder(m, l)
	}
	if m.Mode == limits.ReadWrite {
		return nil, nil, errors.New("a zip archive cannot be written: use mode ro or overlay")
	}
	f, err := os.Open(m.Host)
	if err != nil {
		return nil, nil, err
	}
	z, err := vfs.NewZip(f, info.Size(), vfs.ZipOptions{})
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return z, f, nil
}

func openFolder(m limits.Mount, l limits.Limits) (vfs.FS, io.Closer, error) {
	dir, err := vfs.OpenHostDir(m.Host, vfs.HostDirOptions{
		Write: m.Mode == limits.ReadWrite, GrowBytes: int64(l.DiskBytes), GrowNames: int64(l.Inodes),
	})
	return dir, dir, err
}

// close closes what is mounted from the host. What is in memory can still be read.
func (t *tree) close() error {
	var errs []error
	for _, m := range t.mounts {
		errs = append(errs, m.Close())
	}
	t.mounts = nil
	return errors.Join(errs...)
}

func (t *tree) files() *Files { return &Files{ns: t.Namespace} }

var outputDirs = []vfs.Path{vfs.MustPath(runtimes.WorkDir)}

// maxHashed is how many bytes are read for the hashes in a Result: a fifth of a second of work. A size is not a length:
// a file with a hole costs the sandbox nothing, and the time to read it is the host's.
const maxHashed = 256 << 20

// changes describes what a turn did to the files since the mark; more says that it did so to others, too.
func (t *tree) changes(since vfs.Mark) (out []FileChange, more bool) {
	list, complete := t.Changes(since, outputDirs...)
	left := uint64(maxHashed)
	for _, c := range list {
		if c.Kind == vfs.KindDir {
			continue
		}
		fc := FileChange{Path: c.Path, From: c.From, Op: c.Op.String(), Bytes: uint64(c.Size), Link: c.Kind == vfs.KindLink}
		if c.Op != vfs.OpDeleted && c.Kind == vfs.KindRegular {
			t.describe(&fc, &left)
		}
		out = append(out, fc)
	}
	return out, !complete
}

// describe reads the file for its hash and type, as far as there are bytes left to read. What cannot be read has
// neither: in a mounted folder another program may have removed it, and its path may be longer than a path may be, after
// a folder was moved.
func (t *tree) describe(c *FileChange, left *uint64) {
	r, err := t.files().Open(c.Path)
	if err != nil {
		return
	}
	defer r.Close()
	head := make([]byte, min(512, c.Bytes))
	if _, err := io.ReadFull(r, head); err != nil {
		return
	}
	c.MIME = mimeOf(c.Path, head)
	if c.Bytes > *left {
		return
	}
	*left -= c.Bytes
	h := sha256.New()
	h.Write(head)
	if _, err := io.Copy(h, r); err == nil {
		c.SHA256 = hex.EncodeToString(h.Sum(nil))
	}
}

// mimeTypes are those of what programs write most, so that an answer does not depend on the host's own table.
var mimeTypes = map[string]string{
	".csv": "text/csv", ".tsv": "text/tab-separated-values", ".txt": "text/plain", ".log": "text/plain", ".md": "text/markdown",
	".json": "application/json", ".jsonl": "application/jsonl", ".xml": "application/xml", ".html": "text/html", ".css": "text/css",
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".svg": "image/svg+xml", ".webp": "image/webp",
	".pdf": "application/pdf", ".zip": "application/zip", ".gz": "application/gzip", ".tar": "application/x-tar",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".py":   "text/x-python", ".js": "text/javascript", ".ts": "text/x-typescript", ".sqlite": "application/vnd.sqlite3", ".db": "application/vnd.sqlite3",
}

func mimeOf(name string, head []byte) string {
	if t := mimeTypes[strings.ToLower(path.Ext(name))]; t != "" {
		return t
	}
	t, _, _ := strings.Cut(http.DetectContentType(head), ";")
	return t
}
