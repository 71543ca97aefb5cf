package js

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
)

// absolute makes a guest path absolute. It does not clean it: "a/.." through a link is the tree's to resolve.
func (s *turn) absolute(p string) string {
	if strings.HasPrefix(p, "/") {
		return p
	}
	return s.env.dir() + "/" + p
}

// maxDirEntries bounds a listing.
const maxDirEntries = 1 << 20

// fileOp answers opFile(verb, path, ...). What went well is a number, an ArrayBuffer, null, or text after
// "="; what did not is the errno's name after "!". A path over maxPath is cut one byte after it, for the tree to refuse.
func (in *interp) fileOp(s *turn, a arguments) uint64 {
	verb, name := a.text(0, maxName), a.text(1, maxPath+1)
	if strings.IndexByte(name, 0) >= 0 {
		return in.fileError("EINVAL")
	}
	if name == "" {
		return in.fileError("ENOENT")
	}
	name = s.absolute(name)
	files := s.env.files()
	switch verb {
	case "read": // (offset, length or -1)
		return in.readFile(files, name, int64(a.number(2)), int64(a.number(3)))
	case "write": // (flags, offset or -1 for the end, buffer, offset, length) -> bytes written
		return in.writeFile(files, name, a)
	case "stat", "lstat":
		return in.described(files.Stat(name, verb == "stat"))
	case "readdir":
		return in.list(files.ReadDir(name, maxDirEntries))
	case "mkdir":
		return in.done(files.Mkdir(name))
	case "unlink", "rmdir":
		return in.done(files.Remove(name, verb == "rmdir"))
	case "rename":
		return in.done(files.Rename(name, s.absolute(a.text(2, maxPath+1))))
	case "link":
		return in.done(files.Link(name, s.absolute(a.text(2, maxPath+1))))
	case "symlink": // (path of the link, target)
		return in.done(files.Symlink(a.text(2, maxPath+1), name))
	case "readlink":
		target, err := files.Readlink(name)
		return in.textOrError(target, err)
	case "realpath":
		p, err := in.realPath(files, name)
		return in.textOrError(p, err)
	case "truncate": // (length)
		return in.done(withFile(files, name, os.O_WRONLY, func(f File) error { return f.Truncate(int64(a.number(2))) }))
	case "utimes": // (access ms, modify ms)
		return in.done(files.SetTimes(name, fromMillis(a.number(2)), fromMillis(a.number(3))))
	}
	return in.fileError("ENOSYS")
}

func fromMillis(ms float64) time.Time {
	return time.UnixMicro(int64(ms * 1000))
}

func (in *interp) fileError(code string) uint64 { return in.box(in.newString("!" + code)) }

func (in *interp) done(err error) uint64 {
	if err != nil {
		return in.fileError(errorCode(err))
	}
	return in.null()
}

func (in *interp) textOrError(text string, err error) uint64 {
	if err != nil {
		return in.fileError(errorCode(err))
	}
	return in.box(in.newString("=" + text))
}

// withFile opens a file for the length of do.
func withFile(files Files, name string, flag int, do func(File) error) (err error) {
	f, err := files.Open(name, flag)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }() // when do ends the run, too
	return do(f)
}

// readFile reads into the guest's own memory: a file of any size costs the host nothing.
func (in *interp) readFile(files Files, name string, offset, length int64) uint64 {
	var result uint64
	err := withFile(files, name, os.O_RDONLY, func(f File) error {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if info.Mode.IsDir() {
			return errCode("EISDIR")
		}
		if rest := max(0, info.Size-offset); length < 0 || length > rest {
			length = rest
		}
		if length > 1<<31-1 {
			return errCode("EFBIG")
		}
		p, ok := in.alloc(int(max(length, 1)))
		if !ok {
			result = in.noMemory()
			return nil
		}
		n := 0
		err = in.pieces(uint32(length), func(from, to uint32) error {
			got, err := f.ReadAt(in.view(p+from, to-from), offset+int64(from))
			n += got
			return err
		})
		if err == nil || err == io.EOF {
			err = nil
			result = in.call("qjs_new_array_buffer", uint64(p), uint64(n)) // a copy
		}
		in.release(p)
		return err
	})
	if err != nil {
		return in.fileError(errorCode(err))
	}
	return result
}

func (in *interp) writeFile(files Files, name string, a arguments) uint64 {
	flag := os.O_WRONLY
	for _, c := range a.text(2, maxName) {
		switch c {
		case 'c':
			flag |= os.O_CREATE
		case 't':
			flag |= os.O_TRUNC
		case 'x':
			flag |= os.O_EXCL
		}
	}
	p, n := a.bytes(4)
	err := withFile(files, name, flag, func(f File) error {
		offset := int64(a.number(3))
		if offset < 0 {
			info, err := f.Stat()
			if err != nil {
				return err
			}
			offset = info.Size
		}
		return in.pieces(n, func(from, to uint32) error {
			_, err := f.WriteAt(in.view(p+from, to-from), offset+int64(from))
			return err
		})
	})
	if err != nil {
		return in.fileError(errorCode(err))
	}
	return in.number(float64(n))
}

// errCode is an error with a code of its own.
type errCode string

func (e errCode) Error() string { return string(e) }
func (e errCode) Code() string  { return string(e) }

// statJSON is a FileInfo as the guest's fs.Stats wants it.
type statJSON struct {
	Mode    uint32  `json:"mode"`
	Size    int64   `json:"size"`
	Ino     uint64  `json:"ino"`
	Nlink   uint64  `json:"nlink"`
	AtimeMs float64 `json:"atimeMs"`
	MtimeMs float64 `json:"mtimeMs"`
	CtimeMs float64 `json:"ctimeMs"`
}

func (in *interp) described(info FileInfo, err error) uint64 {
	if err != nil {
		return in.fileError(errorCode(err))
	}
	b, _ := json.Marshal(statJSON{
		Mode: unixMode(info.Mode), Size: info.Size, Ino: info.Inode & (1<<53 - 1), Nlink: max(info.Links, 1),
		AtimeMs: millis(info.Accessed), MtimeMs: millis(info.Modified), CtimeMs: millis(info.Changed),
	})
	return in.textOrError(string(b), nil)
}

func millis(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMicro()) / 1000
}

// unixMode is st_mode. A tree without permissions gives the usual ones.
func unixMode(m fs.FileMode) uint32 {
	perm, kind := uint32(m.Perm()), uint32(0o100000)
	switch {
	case m.IsDir():
		kind = 0o040000
	case m&fs.ModeSymlink != 0:
		kind = 0o120000
	case m&fs.ModeCharDevice != 0:
		kind = 0o020000
	}
	if perm == 0 {
		perm = 0o644
		if m.IsDir() {
			perm = 0o755
		}
	}
	return kind | perm
}

// list answers "readdir". A hundred thousand names may be as long as names can be: their JSON is written once, where the guest has
// made room for it.
func (in *interp) list(entries []DirEntry, err error) uint64 {
	if err != nil {
		return in.fileError(errorCode(err))
	}
	const around = len("=[]")
	size, piece := around, []byte(nil)
	for _, e := range entries {
		piece = appendEntry(piece[:0], e)
		size += len(piece) + len(",")
	}
	in.charge(int64(size))
	p, ok := in.alloc(size)
	if !ok {
		return in.noMemory()
	}
	text := append(in.view(p, uint32(size))[:0], "=["...)
	for i, e := range entries {
		if i > 0 {
			text = append(text, ',')
		}
		text = appendEntry(text, e)
	}
	text = append(text, ']')
	v := value(in.call("JS_NewStringLen", uint64(in.b.Ctx), uint64(p), uint64(len(text))))
	in.release(p)
	return in.box(v)
}

// appendEntry writes [name, mode].
func appendEntry(out []byte, e DirEntry) []byte {
	out = append(out, '[')
	if strings.IndexFunc(e.Name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) < 0 {
		out = append(append(append(out, '"'), e.Name...), '"')
	} else {
		name, _ := json.Marshal(e.Name) // text always encodes
		out = append(out, name...)
	}
	return append(strconv.AppendUint(append(out, ','), uint64(unixMode(e.Mode)), 10), ']')
}

// realPath resolves every link of p, which must exist. A link can lead through thousands of folders, each of which the tree walks to.
func (in *interp) realPath(files Files, p string) (string, error) {
	const maxLinks = 40
	done, rest := "/", strings.Split(strings.Trim(p, "/"), "/")
	for links := 0; len(rest) > 0; {
		in.look()
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, name)
		info, err := files.Stat(next, false)
		if err != nil {
			return "", err
		}
		if info.Mode&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", errCode("ELOOP")
		}
		target, err := files.Readlink(next)
		if err != nil {
			return "", err
		}
		if strings.HasPrefix(target, "/") {
			done = "/"
		}
		rest = append(strings.Split(strings.Trim(target, "/"), "/"), rest...)
	}
	return done, nil
}
