package runtimes

import (
	"time"

	"github.com/cloche-dev/cloche/engine/rewrite"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

// Spec is all that is particular to one interpreter: what it is made of, and how it is started.
type Spec struct {
	Driver Driver
	// Artifacts names, in artifacts.lock, what is needed. The first one holds the module.
	Artifacts []string
	// Module is the base name of the member that is the interpreter.
	Module string
	// Rewrite says what the rewriter exports and keeps. Load adds fuel, exception lowering and stripping.
	Rewrite rewrite.Options
	// Start are the exports to call, in order, before Driver.Boot.
	Start []string
	// Args and Env are the interpreter's own while it starts.
	Args, Env []string
	// Mounts are what every sandbox of this interpreter sees read-only. dirs has the folder of each artifact.
	// The file systems are shared by all sandboxes.
	Mounts func(dirs map[string]string) ([]vfs.Mount, error)
	// Open, unless nil, is called before the driver is used, with the folder of each artifact.
	Open func(dirs map[string]string) error
	// Revision changes whenever the guest code or the way it is started does.
	Revision string
	// CompileTime and BootTime are how long these take on the reference machine.
	CompileTime, BootTime time.Duration
}
