package vfs

import (
	"io"
	"io/fs"
)

// Kind is the type of a file.
type Kind uint8

// Kinds. Only regular files and folders can be opened; all can be seen and listed.
const (
	KindUnknown Kind = iota // anything not below, such as a FIFO
	KindRegular
	KindDir
	KindLink
	KindChar
	KindBlock
	KindSocket
)

// Stat describes a file. Times are nanoseconds since 1970 (UTC).
type Stat struct {
	Dev   uint64 // of the mount; two mounts never share one
	Ino   uint64 // stable while the file lives, within Dev
	Nlink uint64
	Size  int64 // bytes; of a link the length of its text
	Atime int64
	Mtime int64
	Ctime int64
	Kind  Kind
}

// TimeFlags says which times to set, and how.
type TimeFlags uint8

// Flags of [Times]. A time set both ways is ErrInvalid.
const (
	SetAtime TimeFlags = 1 << iota
	SetAtimeNow
	SetMtime
	SetMtimeNow
)

// Times is a change of times. A time without a flag stays.
type Times struct {
	Atime, Mtime int64 // nanoseconds since 1970
	Flags        TimeFlags
}

func (t Times) valid() bool {
	const a, m = SetAtime | SetAtimeNow, SetMtime | SetMtimeNow
	return t.Flags&a != a && t.Flags&m != m && t.Flags&^(a|m) == 0
}

// OpenFlags says how a file is opened.
type OpenFlags uint16

// Flags of Open.
const (
	OpenRead  OpenFlags = 1 << iota // for ReadAt
	OpenWrite                       // for WriteAt, Append, Truncate, Allocate; folders give ErrIsDir
	OpenCreate
	OpenExclusive // with OpenCreate: the name must be free, a link there is not followed
	OpenTruncate  // needs no OpenWrite, but a mount that allows changes
	OpenDirectory // ErrNotDir unless it is a folder
	OpenNoFollow  // a link as the last name gives ErrLoop
)

// DirEntry is one name in a folder.
type DirEntry struct {
	Name string
	Ino  uint64
	Kind Kind
}

// MaxListing is the number of entries that a listing may have, against folders of the host without end.
const MaxListing = 1 << 20

// Node stands for one file, folder or link inside an [FS]. Only the FS that gave it out can read it; it
// stays meaningful at least until the name it was looked up by is removed (a folder: see FS.Hold).
type Node struct {
	ID  uint64
	Ref any // comparable
}

// FS is what can be mounted: files by Node, never by path. All names given to it are single checked names
// (not empty, not "." or "..", no slash, no NUL, UTF-8, at most MaxName bytes), and no operation follows a
// link: that is resolve.go's part. Errors are of type [Error].
//
// An FS whose ReadOnly is true may serve many namespaces at once, from many goroutines. One that can
// be written belongs to one namespace, except [HostDir] and [SharedDir], which are safe for concurrent use as well.
type FS interface {
	// Root returns the node that appears at the mount point: a folder, or a regular file.
	Root() (Node, Kind)
	// ReadOnly reports that every change is refused with ErrReadOnly. It never changes.
	ReadOnly() bool

	// Lookup finds a name in a folder. Errors: ErrNotExist, ErrNotDir.
	Lookup(dir Node, name string) (Node, Kind, error)
	// Stat describes a node. Dev is an index of devices inside this FS, mostly 0.
	Stat(n Node) (Stat, error)
	// SetTimes changes the times of a node, of a link itself if it is one.
	SetTimes(n Node, t Times) error
	// Readlink returns the text of a link; ErrInvalid if it is none.
	Readlink(n Node) (string, error)
	// ReadDir appends the names in a folder to list, without "." and "..", in an order that is the same as
	// long as nothing changes. ErrOverflow if there are more than MaxListing.
	ReadDir(dir Node, list []DirEntry) ([]DirEntry, error)

	// Open opens a regular file. Of the flags only OpenRead, OpenWrite and OpenTruncate are looked at.
	Open(n Node, flags OpenFlags) (File, error)
	// Create makes a regular file and opens it; ErrExist if the name is taken.
	Create(dir Node, name string, flags OpenFlags) (File, error)
	// Hold keeps a folder's node usable until Release, whatever happens to its name.
	Hold(dir Node) error
	Release(dir Node)

	Mkdir(dir Node, name string) error
	Symlink(dir Node, name, target string) error
	// Link gives a file or link, not a folder, one more name.
	Link(n Node, dir Node, name string) error
	// Rename moves a name over another one (a file over a file or link, a folder over an empty folder).
	Rename(dir Node, name string, newDir Node, newName string) error
	Unlink(dir Node, name string) error
	Rmdir(dir Node, name string) error
}

// File is an open regular file of an [FS]. A File belongs to one goroutine at a time.
type File interface {
	io.ReaderAt // at or past the end: 0, io.EOF
	io.WriterAt // fills a gap with zeros; may write less than asked only with an error
	// Append writes at the end as it is at that moment and returns the offset after the last byte written.
	Append(p []byte) (n int, end int64, err error)
	Stat() (Stat, error)
	SetTimes(t Times) error
	Truncate(size int64) error
	// Allocate makes sure that writing to the range cannot fail for lack of space, growing the file to its end.
	Allocate(off, n int64) error
	// Sync brings data (and unless dataOnly all else) to stable storage, if the FS has any.
	Sync(dataOnly bool) error
	Close() error
}

// kindOf returns the kind of a file by its mode.
func kindOf(m fs.FileMode) Kind {
	switch m.Type() {
	case 0:
		return KindRegular
	case fs.ModeDir:
		return KindDir
	case fs.ModeSymlink:
		return KindLink
	case fs.ModeDevice | fs.ModeCharDevice:
		return KindChar
	case fs.ModeDevice:
		return KindBlock
	case fs.ModeSocket:
		return KindSocket
	}
	return KindUnknown
}
