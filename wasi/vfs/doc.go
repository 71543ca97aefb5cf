// Package vfs is the virtual file system that a sandbox sees: a [Namespace] of mounts over an in-memory
// root. It is the sole boundary between guest paths and files.
//
// A guest path is checked once ([ParsePath]) and turned into a file in one place (resolve.go), name by name,
// through mounts and links. What can be mounted is an [FS]: memory, a folder of the host, an fs.FS, a zip
// archive. Package wasi sits on top and adds descriptors, offsets and rights.
//
// A [Template] and read-only FS values are immutable or locked and may be shared between goroutines. A
// Namespace with its [Handle] values belongs to one goroutine at a time. No lock is held across calls.
package vfs
