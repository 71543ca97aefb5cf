package wasi

// rights say which functions a descriptor may be used with. They are preview1's, and they are enforced: a guest
// can drop them (fd_fdstat_set_rights, path_open) and never get them back. They are the guest's own discipline,
// though, and no boundary: what a mount forbids, vfs forbids whatever rights a descriptor has.
type rights uint64

const (
	rightFdDatasync rights = 1 << iota
	rightFdRead
	rightFdSeek
	rightFdFdstatSetFlags
	rightFdSync
	rightFdTell
	rightFdWrite
	rightFdAdvise
	rightFdAllocate
	rightPathCreateDirectory
	rightPathCreateFile
	rightPathLinkSource
	rightPathLinkTarget
	rightPathOpen
	rightFdReaddir
	rightPathReadlink
	rightPathRenameSource
	rightPathRenameTarget
	rightPathFilestatGet
	rightPathFilestatSetSize
	rightPathFilestatSetTimes
	rightFdFilestatGet
	rightFdFilestatSetSize
	rightFdFilestatSetTimes
	rightPathSymlink
	rightPathRemoveDirectory
	rightPathUnlinkFile
	rightPollFdReadwrite
)

const (
	rightsAll = rightPollFdReadwrite<<1 - 1

	// rightsFile are those that make sense for a regular file. The path rights stay when a guest asks for
	// them, since C libraries ask for all that they can get and compare later; they open nothing.
	rightsFile = rightsAll &^ rightFdReaddir

	// rightsDir are those of a directory: it has no bytes to read, write, seek in or cut.
	rightsDir = rightsAll &^ (rightFdDatasync | rightFdRead | rightFdSeek | rightFdTell | rightFdWrite |
		rightFdAdvise | rightFdAllocate | rightFdFilestatSetSize | rightPollFdReadwrite)

	rightsStdio = rightFdFdstatSetFlags | rightFdFilestatGet | rightPollFdReadwrite
	// rightsNoTerminal on a character device tell C libraries that it is no terminal: those cannot seek. The
	// calls answer SPIPE with and without them.
	rightsNoTerminal = rightFdSeek | rightFdTell
)

// lacking is the error for using a descriptor without the rights in missing. For reading and writing it is the
// one that POSIX has, which programs know.
func lacking(missing rights) Errno {
	if missing&(rightFdRead|rightFdWrite) != 0 {
		return ErrnoBadf
	}
	return ErrnoNotcapable
}
