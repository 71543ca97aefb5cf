//go:build bundle

package runtimes

import _ "embed"

// bundled is made by cloche bundle; see make dist.
//
//go:embed bundle.zip
var bundled string
