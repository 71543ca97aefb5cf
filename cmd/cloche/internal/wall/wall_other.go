//go:build !linux

package wall

import "runtime"

func raise(Config) (Report, error) {
	return Report{{Name: "second wall", Why: "there is none for " + runtime.GOOS}}, nil
}
