// Package limits says what a run may use and what it did use.
//
// Every cap of a run is a field of [Limits]; what is counted against it comes back as [Usage]; passing
// one is an [ExceededError] that names the [Resource]. Policies in TOML and named presets produce Limits
// (see policy.go). The package knows nothing of WebAssembly. All its types are values; nothing here is
// shared between goroutines.
package limits

import "time"

// Limits caps one run (of a session: one turn, but for the parts that say otherwise).
//
// The zero value of a field means its default (see [Default]); [Limits.WithDefaults] fills them in. No
// field can be switched off by zero: a cap that should not bind is set to a large value.
type Limits struct {
	// Fuel is the number of wasm instructions that a turn may execute. The same program and input use the
	// same fuel on every machine; the cost of one instruction may change between versions.
	Fuel uint64
	// Timeout is the wall time of a turn, waiting included. When it passes, the guest is interrupted
	// (Python: KeyboardInterrupt); after Grace it is stopped by a trap.
	Timeout time.Duration
	// Grace is the time between the interrupt and the trap, 0 to 10 s.
	Grace time.Duration
	// MemoryBytes caps the guest's linear memory, 1 MiB to 4 GiB, rounded down to whole 64 KiB pages.
	MemoryBytes uint64
	// OutputBytes caps each of standard output and standard error. More is dropped and counted.
	OutputBytes uint64
	// ResultBytes caps the sum of displayed values (charts, tables, the last expression).
	ResultBytes uint64
	// DiskBytes caps the bytes that the sandbox's in-memory files hold, for as long as the sandbox lives.
	DiskBytes uint64
	// Inodes caps files, folders and links in the sandbox's in-memory files.
	Inodes uint64
	// OpenFiles caps the guest's descriptors, the preopens and standard streams included.
	OpenFiles uint64
	// HostCalls caps calls through the door (tools, fetch, display).
	HostCalls uint64
}
