package vfs

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
	// Layout adds the standard folders: /data, /tmp and the link /mnt/data to /data. They cannot be removed.
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
	// Check is called now and then by operations that may take long (skipping forward in a compressed file).
	// When it returns an error the operation ends with that error. Nil means never.
	Check func() error
}

// Defaults of Options.
const (
	DefaultBytes  = 64 << 20
	DefaultInodes = 100_000
)

// Template is a checked, immutable mount table from which namespaces are made cheaply. It may be used from
// many goroutines at once.
type Template struct{}

// NewTemplate checks all of c and returns every problem at once (errors.Join).
func NewTemplate(c Config) (*Template, error) { return nil, ErrNotSupported }

// With returns a template with more mounts; t stays as it is.
func (t *Template) With(mounts ...Mount) (*Template, error) { return nil, ErrNotSupported }

// New makes a namespace with fresh memory parts.
func (t *Template) New(o Options) (*Namespace, error) { return nil, ErrNotSupported }
