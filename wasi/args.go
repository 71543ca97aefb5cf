package wasi

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

// stringTable is a list of NUL-terminated strings as args_get and environ_get hand them out.
type stringTable struct {
	list      []string
	sizeBytes uint32 // of all strings with their NULs
}

func newStringTable(what string, list []string) (stringTable, error) {
	t := stringTable{list: list}
	var total uint64
	for i, s := range list {
		if strings.IndexByte(s, 0) >= 0 {
			return t, fmt.Errorf("%s %d contains a NUL", what, i)
		}
		total += uint64(len(s)) + 1
	}
	if total > math.MaxInt32 || len(list) > math.MaxInt32/4 {
		return t, errors.New(what + " list exceeds 2 GiB")
	}
	t.sizeBytes = uint32(total)
	return t, nil
}

func (t *stringTable) sizes(m guestMemory, countOff, sizeOff uint32) Errno {
	if _, errno := m.word(sizeOff); errno != ErrnoSuccess {
		return errno
	}
	if errno := m.putUint32(countOff, uint32(len(t.list))); errno != ErrnoSuccess {
		return errno
	}
	return m.putUint32(sizeOff, t.sizeBytes)
}

// get stores the strings one after another from bytesOff on, and the address of each from pointersOff on.
func (t *stringTable) get(m guestMemory, pointersOff, bytesOff uint32) Errno {
	pointers, errno := m.bytes(pointersOff, uint32(len(t.list))*4)
	if errno != ErrnoSuccess {
		return errno
	}
	text, errno := m.bytes(bytesOff, t.sizeBytes)
	if errno != ErrnoSuccess {
		return errno
	}
	at := 0
	for i, s := range t.list {
		binary.LittleEndian.PutUint32(pointers[i*4:], bytesOff+uint32(at))
		at += copy(text[at:], s)
		text[at] = 0
		at++
	}
	return ErrnoSuccess
}

// argsGet implements args_get: argv (offset of the pointers), argv_buf (offset of the strings).
//   - EFAULT: a range lies outside linear memory
func argsGet(_ context.Context, s *State, m guestMemory, p []uint64) Errno {
	return s.args.get(m, uint32(p[0]), uint32(p[1]))
}

// argsSizesGet implements args_sizes_get: result offsets of the count and of the strings' total size.
func argsSizesGet(_ context.Context, s *State, m guestMemory, p []uint64) Errno {
	return s.args.sizes(m, uint32(p[0]), uint32(p[1]))
}

// environGet implements environ_get, like args_get for the environment.
func environGet(_ context.Context, s *State, m guestMemory, p []uint64) Errno {
	return s.env.get(m, uint32(p[0]), uint32(p[1]))
}

// environSizesGet implements environ_sizes_get.
func environSizesGet(_ context.Context, s *State, m guestMemory, p []uint64) Errno {
	return s.env.sizes(m, uint32(p[0]), uint32(p[1]))
}
