package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cloche-dev/cloche/limits"
)

// Bounds on what is read at once, so that a device or a pipe without an end does not fill this machine's memory. Both are far
// more than an interpreter and a compiler take.
const (
	maxProgram = 64 << 20
	maxModule  = 1 << 30
)

// tooLargeError is a file that has more than that many bytes.
type tooLargeError uint64

func (e tooLargeError) Error() string {
	return fmt.Sprintf("it has more than %s", limits.FormatSize(uint64(e)))
}

func readProgram(name string) ([]byte, error) { return readHost(name, maxProgram) }

// readHost reads a file of the host that has at most that many bytes.
func readHost(name string, most uint64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := readAtMost(f, most)
	if _, large := errors.AsType[tooLargeError](err); large {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return b, err
}

func readAtMost(r io.Reader, most uint64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err == nil && uint64(len(b)) > most {
		return nil, tooLargeError(most)
	}
	return b, err
}
