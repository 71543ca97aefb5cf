//go:build !unix

package engine_test

import "time"

var started = time.Now()

// computed is for how long this process has been there: nothing tells for how long it has had a processor.
func computed() time.Duration { return time.Since(started) }
