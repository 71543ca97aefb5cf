// Package wall takes from this process what it no longer needs, so that code which escapes from a guest (by a bug of the
// compiler, say) meets the operating system's refusal too.
//
// [Raise] is called once, after everything was loaded and before the first line of a stranger's program runs. From then
// on, and for good, the process can start no program, trace nobody, make no machine code, open no file and no
// connection but what its [Config] names. On Linux these do it, from the outside in:
//
//	resource limits, no dumps        what a crash would leave, and what others of the user could read
//	no capabilities                  for a process that has them, such as root's in a container
//	Landlock                         files below the folders named; TCP to the ports named
//	seccomp                          the system calls that running guests takes; never execve, ptrace and their like
//
// None of them needs privileges. What the kernel, or the container around it, does not offer is left out and said so in
// the [Report]. Other systems have no wall.
//
// A wall holds for all threads of the process. The package is called by one goroutine.
package wall

import (
	"strings"
)

// Config says what the process still needs. The zero value leaves it its open files and its memory.
type Config struct {
	// Cache is the folder of the interpreters; empty means none. It may be read.
	Cache string
	// Read are further files and folders that may be read; all must exist.
	Read []string
	// Write are folders in which files may be read, made, changed and removed; all must exist.
	Write []string
	// Serve lets connections be accepted on sockets that listen already. No new ones can be made.
	Serve bool
	// Pass lets pairs of sockets be made, that are connected to each other. One of each is passed to another process.
	Pass bool
	// Connect are the TCP ports to which connections may be opened, names being looked up with UDP. Empty:
	// no sockets can be made at all. One that is 0 stands for all ports.
	Connect []uint16
	// Code lets machine code be loaded, for those who compile after the wall is up.
	Code bool
	// Terminal lets the modes of a terminal be set, for those who edit lines.
	Terminal bool
	// Profile lets a timer be set that signals this process as it computes, for those who are asked where its time goes.
	Profile bool
}

// A Layer is one part of the wall.
type Layer struct {
	Name string
	// Is says what it does, when it stands.
	Is string
	// Why says why it is missing or weaker than it could be, and is empty for one that stands.
	Why string
}

// Stands says whether the layer is there in full.
func (l Layer) Stands() bool { return l.Why == "" }

// Report says what stands, from the outside in.
type Report []Layer

// Stands says whether all of the wall is there.
func (r Report) Stands() bool { return r.Missing() == "" }

// Missing says what is not there in full and why, or "".
func (r Report) Missing() string {
	return r.join(func(l Layer) string {
		if l.Stands() {
			return ""
		}
		return l.Name + ": " + l.Why
	}, "; ")
}

// String lists what stands.
func (r Report) String() string { return r.join(func(l Layer) string { return l.Is }, ", ") }

func (r Report) join(text func(Layer) string, sep string) string {
	var parts []string
	for _, l := range r {
		if s := text(l); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, sep)
}

// Raise puts the wall up. An error says that the Config asks for what there is not, or that the kernel refused what it
// offers; the process is then in between and should end.
func Raise(c Config) (Report, error) { return raise(c) }
