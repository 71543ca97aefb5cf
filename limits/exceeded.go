package limits

import (
	"fmt"
	"time"
)

// Resource is something that a run uses up.
type Resource int

// The resources, each capped by the field of [Limits] that its comment names.
const (
	Fuel      Resource = iota + 1 // Limits.Fuel
	WallTime                      // Limits.Timeout
	Memory                        // Limits.MemoryBytes
	Output                        // Limits.OutputBytes
	Results                       // Limits.ResultBytes
	Disk                          // Limits.DiskBytes
	Inodes                        // Limits.Inodes
	OpenFiles                     // Limits.OpenFiles
	HostCalls                     // Limits.HostCalls

	// The bounds of paths are the same for all runs; package vfs has them.
	NameLength // of one name in a path
	PathLength // of a whole path, and of a link's text
	PathDepth  // names in a path, and folders one inside the other
)

var resources = map[Resource]struct{ name, unit string }{
	Fuel:      {"fuel", "instructions"},
	WallTime:  {"time", "nanoseconds"},
	Memory:    {"memory", "bytes"},
	Output:    {"output", "bytes"},
	Results:   {"results", "bytes"},
	Disk:      {"disk", "bytes"},
	Inodes:    {"inodes", "files, folders and links"},
	OpenFiles: {"open files", "descriptors"},
	HostCalls: {"host calls", "calls"},

	NameLength: {"name length", "bytes"},
	PathLength: {"path length", "bytes"},
	PathDepth:  {"path depth", "folders"},
}

// String is the resource's name, such as "fuel" or "open files".
func (r Resource) String() string {
	if d, ok := resources[r]; ok {
		return d.name
	}
	return fmt.Sprintf("resource %d", int(r))
}

// Unit is what a quantity of the resource counts, such as "instructions" or "bytes".
func (r Resource) Unit() string {
	if d, ok := resources[r]; ok {
		return d.unit
	}
	return "units"
}

// Format prints a quantity of the resource: "5,000,000 instructions", "512 MiB", "30s".
func (r Resource) Format(n uint64) string {
	switch r.Unit() {
	case "bytes":
		return FormatSize(n)
	case "nanoseconds":
		return FormatDuration(time.Duration(n))
	default:
		return FormatCount(n) + " " + r.Unit()
	}
}

// ExceededError says that a run reached a limit.
type ExceededError struct {
	Resource Resource
	// Limit is the cap and Used what was used or asked for when it was reached, both in Resource.Unit.
	// Used is zero where it is not known.
	Limit, Used uint64
}

// Error is such as "fuel limit reached: 5,000,000 instructions".
func (e *ExceededError) Error() string {
	return fmt.Sprintf("%s limit reached: %s", e.Resource, e.Resource.Format(e.Limit))
}
