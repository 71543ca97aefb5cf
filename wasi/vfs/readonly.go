package vfs

// readOnly is the part of an FS that changes nothing: embedded, it refuses every change.
type readOnly struct{}

func (readOnly) ReadOnly() bool                               { return true }
func (readOnly) Hold(Node) error                              { return nil }
func (readOnly) Release(Node)                                 {}
func (readOnly) SetTimes(Node, Times) error                   { return ErrReadOnly }
func (readOnly) Create(Node, string, OpenFlags) (File, error) { return nil, ErrReadOnly }
func (readOnly) Mkdir(Node, string) error                     { return ErrReadOnly }
func (readOnly) Symlink(Node, string, string) error           { return ErrReadOnly }
func (readOnly) Link(Node, Node, string) error                { return ErrReadOnly }
func (readOnly) Rename(Node, string, Node, string) error      { return ErrReadOnly }
func (readOnly) Unlink(Node, string) error                    { return ErrReadOnly }
func (readOnly) Rmdir(Node, string) error                     { return ErrReadOnly }

// readOnlyFile is the part of a File that changes nothing.
type readOnlyFile struct{}

func (readOnlyFile) WriteAt([]byte, int64) (int, error)        { return 0, ErrReadOnly }
func (readOnlyFile) Append([]byte) (n int, end int64, e error) { return 0, 0, ErrReadOnly }
func (readOnlyFile) SetTimes(Times) error                      { return ErrReadOnly }
func (readOnlyFile) Truncate(int64) error                      { return ErrReadOnly }
func (readOnlyFile) Allocate(int64, int64) error               { return ErrReadOnly }
func (readOnlyFile) Sync(bool) error                           { return nil }
