// Package limits says what a run may use and what it did use.
//
// Every cap of a run is a field of [Limits]; what is counted against it comes back as [Usage]; passing
// one is an [ExceededError] that names the [Resource]. A [Policy] read from TOML holds limits, named
// presets of them, mounts and environment variables. Sizes and durations are read and printed in human
// form (see human.go). The package knows nothing of WebAssembly.
//
// All its types are values or are not changed after they were made; any of them may be read from several
// goroutines.
package limits

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Limits caps one run (of a session: one turn, but for the parts that say otherwise).
//
// The zero value of a field means its default (see [Default]); [Limits.WithDefaults] fills them in. No
// field can be switched off by zero: a cap that should not bind is set to a large value. The range of
// each field is checked by [Limits.Validate].
type Limits struct {
	// Fuel is the number of wasm instructions that a turn may execute, 1 to 10^18. The same program and
	// input use the same fuel on every machine; the cost of one instruction may change between versions.
	Fuel uint64
	// Timeout is the wall time of a turn, waiting included, 1 ms to 24 h. When it passes, the guest is
	// interrupted (Python: KeyboardInterrupt); after Grace it is stopped.
	Timeout time.Duration
	// Grace is the time between the interrupt and the stop, 1 ms to 10 s.
	Grace time.Duration
	// MemoryBytes caps the guest's linear memory, 1 MiB to 4 GiB, rounded down to whole 64 KiB pages.
	MemoryBytes uint64
	// OutputBytes caps each of standard output and standard error, 1 byte to 1 GiB. More is dropped and
	// counted.
	OutputBytes uint64
	// ResultBytes caps the sum of displayed values (charts, tables, the last expression), 1 byte to 1 GiB.
	ResultBytes uint64
	// DiskBytes caps the bytes that the sandbox's in-memory files hold, and by how much the files of each folder that
	// is mounted for writing may grow, for as long as the sandbox lives, 1 byte to 64 GiB.
	DiskBytes uint64
	// Inodes caps files, folders and links in the sandbox's in-memory files, and how many it may add to each folder that
	// is mounted for writing, 16 to 10 million.
	Inodes uint64
	// OpenFiles caps the guest's descriptors, the preopens and standard streams included, 8 to 65,536. Those that a program
	// in JavaScript sees are no descriptors of the host's, and not counted.
	OpenFiles uint64
	// HostCalls caps calls through the door (tools, fetch, display), 1 to 10^9.
	HostCalls uint64
}

// MaxTimeout is the longest that a Timeout can be.
const MaxTimeout = 24 * time.Hour

// field ties a limit to its key in a policy and on the command line, its kind of value and its range.
type field struct {
	key      string
	kind     kind
	min, max uint64
	get      func(*Limits) uint64
	set      func(*Limits, uint64)
}

// kind is how a value is written: a count, a size in bytes, or a duration in nanoseconds.
type kind int

const (
	kindCount kind = iota
	kindSize
	kindDuration
)

// fields lists every field of Limits once. What reads, prints or checks limits goes through it.
var fields = []field{
	{"fuel", kindCount, 1, 1e18,
		func(l *Limits) uint64 { return l.Fuel }, func(l *Limits, v uint64) { l.Fuel = v }},
	{"timeout", kindDuration, uint64(time.Millisecond), uint64(MaxTimeout),
		func(l *Limits) uint64 { return uint64(l.Timeout) }, func(l *Limits, v uint64) { l.Timeout = time.Duration(v) }},
	{"grace", kindDuration, uint64(time.Millisecond), uint64(10 * time.Second),
		func(l *Limits) uint64 { return uint64(l.Grace) }, func(l *Limits, v uint64) { l.Grace = time.Duration(v) }},
	{"memory", kindSize, 1 << 20, 4 << 30,
		func(l *Limits) uint64 { return l.MemoryBytes }, func(l *Limits, v uint64) { l.MemoryBytes = v }},
	{"output", kindSize, 1, 1 << 30,
		func(l *Limits) uint64 { return l.OutputBytes }, func(l *Limits, v uint64) { l.OutputBytes = v }},
	{"results", kindSize, 1, 1 << 30,
		func(l *Limits) uint64 { return l.ResultBytes }, func(l *Limits, v uint64) { l.ResultBytes = v }},
	{"disk", kindSize, 1, 64 << 30,
		func(l *Limits) uint64 { return l.DiskBytes }, func(l *Limits, v uint64) { l.DiskBytes = v }},
	{"inodes", kindCount, 16, 10_000_000,
		func(l *Limits) uint64 { return l.Inodes }, func(l *Limits, v uint64) { l.Inodes = v }},
	{"open_files", kindCount, 8, 65_536,
		func(l *Limits) uint64 { return l.OpenFiles }, func(l *Limits, v uint64) { l.OpenFiles = v }},
	{"host_calls", kindCount, 1, 1_000_000_000,
		func(l *Limits) uint64 { return l.HostCalls }, func(l *Limits, v uint64) { l.HostCalls = v }},
}

var defaults = sync.OnceValue(func() Limits { return DefaultPolicy().Limits })

// Default returns the limits that hold where nothing else was said. They are those of default.toml, with
// no field zero.
func Default() Limits { return defaults() }

// WithDefaults returns l with each zero field replaced by its default.
func (l Limits) WithDefaults() Limits { return l.Or(Default()) }

// Or returns l with each zero field taken from base.
func (l Limits) Or(base Limits) Limits {
	return Limits{
		Fuel:        cmp.Or(l.Fuel, base.Fuel),
		Timeout:     cmp.Or(l.Timeout, base.Timeout),
		Grace:       cmp.Or(l.Grace, base.Grace),
		MemoryBytes: cmp.Or(l.MemoryBytes, base.MemoryBytes),
		OutputBytes: cmp.Or(l.OutputBytes, base.OutputBytes),
		ResultBytes: cmp.Or(l.ResultBytes, base.ResultBytes),
		DiskBytes:   cmp.Or(l.DiskBytes, base.DiskBytes),
		Inodes:      cmp.Or(l.Inodes, base.Inodes),
		OpenFiles:   cmp.Or(l.OpenFiles, base.OpenFiles),
		HostCalls:   cmp.Or(l.HostCalls, base.HostCalls),
	}
}

// AtMost returns l with each field that is above that of max lowered to it.
func (l Limits) AtMost(max Limits) Limits {
	for _, f := range fields {
		f.set(&l, min(f.get(&l), f.get(&max)))
	}
	return l
}

// Validate checks that every field which is not zero lies in its range. It reports all problems at once,
// joined, one a line.
func (l Limits) Validate() error {
	var errs []error
	for _, f := range fields {
		if v := f.get(&l); v != 0 {
			if err := f.check(v); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// check says whether v is allowed for f. Zero is not: callers for which zero means "default" skip it.
func (f field) check(v uint64) error {
	tooLow := v < f.min || (f.kind == kindDuration && int64(v) < 0)
	if !tooLow && v <= f.max {
		return nil
	}
	return fmt.Errorf("%s is %s, must be from %s to %s",
		f.key, f.kind.format(v), f.kind.format(f.min), f.kind.format(f.max))
}

// parse reads v as a human would write it.
func (k kind) parse(v string) (uint64, error) {
	switch k {
	case kindSize:
		return ParseSize(v)
	case kindDuration:
		d, err := ParseDuration(v)
		return uint64(d), err
	default:
		return ParseCount(v)
	}
}

func (k kind) format(v uint64) string {
	switch k {
	case kindSize:
		return FormatSize(v)
	case kindDuration:
		return FormatDuration(time.Duration(v))
	default:
		return FormatCount(v)
	}
}

// String prints the limits as "fuel 5,000,000, timeout 30s, …", leaving out fields that are zero.
func (l Limits) String() string {
	var parts []string
	for _, f := range fields {
		if v := f.get(&l); v != 0 {
			parts = append(parts, strings.ReplaceAll(f.key, "_", " ")+" "+f.kind.format(v))
		}
	}
	return strings.Join(parts, ", ")
}
