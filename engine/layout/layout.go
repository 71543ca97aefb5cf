// Package layout puts the machine code that wazero makes for amd64 into an order that runs faster.
//
// wazero writes what is to be done when a check fails right behind the check: every access to memory is followed by 38 bytes that
// leave the module, and jumps over them. Package layout moves such stretches to the end of their function, keeps equal ones once,
// turns conditions round so that the usual way goes straight on, and uses short jumps. The instructions stay the same, and
// [Rewrite] proves that before it returns: another walk through old and new code compares them along every way that control can go.
//
// It reads the file in which wazero keeps a module's code; the format and the shapes that it looks for are those of wazero 1.12.
// A file that it does not know gives [ErrUnknown], and the code works as it is.
package layout

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sort"

	"github.com/cloche-dev/cloche/engine/parallel"
)

// Version changes whenever the same code may give another order. It goes into cache keys.
const Version = 1

var (
	// ErrUnknown: the file, or code in it, is not of a form that is known.
	ErrUnknown = errors.New("layout: code of an unknown form")
	// ErrDiffers: the new code would not do what the old did. This is a fault of this package.
	ErrDiffers = errors.New("layout: the code differs")
)

// codeFile is what wazero's file holds: magic, length and text of its version, number of functions, their offsets, length of the code, the
// code, its checksum, and a rest that must say that there is no table of sources and none of exceptions.
type codeFile struct {
	head    []byte // up to the number of functions
	offsets []int
	code    []byte
}

var (
	magic      = []byte("WAZEVO")
	rest       = make([]byte, 5)
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

func parse(file []byte) (*codeFile, error) {
	bad := func(what string) (*codeFile, error) { return nil, fmt.Errorf("%w: %s", ErrUnknown, what) }
	if len(file) < 7 || !bytes.HasPrefix(file, magic) || len(file) < 11+int(file[6]) {
		return bad("the file is not one of wazero's")
	}
	version := 7 + int(file[6])
	n := int(binary.LittleEndian.Uint32(file[version:]))
	body := file[version+4:]
	if n > len(body)/8-1 {
		return bad("the file is too short for its functions")
	}
	f := &codeFile{head: file[:version], offsets: make([]int, n)}
	for i := range f.offsets {
		f.offsets[i] = int(binary.LittleEndian.Uint64(body[8*i:]))
	}
	size := binary.LittleEndian.Uint64(body[8*n:])
	body = body[8*n+8:]
	if size > uint64(len(body)) || len(body)-int(size) != 4+len(rest) || !bytes.Equal(body[int(size)+4:], rest) {
		return bad("what follows the code is not known")
	}
	f.code = body[:size]
	if binary.LittleEndian.Uint32(body[size:]) != crc32.Checksum(f.code, castagnoli) {
		return bad("the code is not what its checksum is of")
	}
	if n == 0 && size > 0 {
		return bad("code of no function")
	}
	for i, at := range f.offsets {
		if at < 0 || at > len(f.code) || i > 0 && at < f.offsets[i-1] || i == 0 && at != 0 {
			return bad("the functions are not in order")
		}
	}
	return f, nil
}

func (f *codeFile) bytes() []byte {
	out := make([]byte, 0, len(f.head)+4+8*len(f.offsets)+8+len(f.code)+9)
	out = append(out, f.head...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(f.offsets)))
	for _, at := range f.offsets {
		out = binary.LittleEndian.AppendUint64(out, uint64(at))
	}
	out = binary.LittleEndian.AppendUint64(out, uint64(len(f.code)))
	out = append(out, f.code...)
	out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(f.code, castagnoli))
	return append(out, rest...)
}

// body is the code of function i, up to the next.
func (f *codeFile) body(i int) []byte {
	end := len(f.code)
	if i+1 < len(f.offsets) {
		end = f.offsets[i+1]
	}
	return f.code[f.offsets[i]:end:end]
}

// Rewrite returns a file of code in its better order. Its errors are [ErrUnknown] and [ErrDiffers].
func Rewrite(file []byte) ([]byte, error) {
	from, err := parse(file)
	if err != nil {
		return nil, err
	}
	codes, calls := make([][]byte, len(from.offsets)), make([][]fixup, len(from.offsets))
	unknown := make([]error, len(from.offsets)) // apart, so that none hides that another function differs
	err = parallel.Each(len(from.offsets), func() func(int) error {
		f := function{same: map[int]int{}}
		var c checker
		return func(i int) error {
			f.code = from.body(i)
			err := f.takeApart()
			if err == nil {
				codes[i], calls[i] = f.putTogether(from.offsets[i])
				err = c.check(&f, from.offsets[i], codes[i], calls[i])
			}
			if err != nil {
				err = fmt.Errorf("function %d: %w", i, err)
			}
			if errors.Is(err, ErrUnknown) {
				unknown[i], err = err, nil
			}
			return err
		}
	})
	if err = cmp.Or(err, cmp.Or(unknown...)); err != nil {
		return nil, err
	}
	to, err := from.link(codes, calls)
	if err != nil {
		return nil, err
	}
	return to.bytes(), nil
}

// link lays the functions one after the other, at multiples of 16, and gives calls their addresses.
func (f *codeFile) link(codes [][]byte, calls [][]fixup) (*codeFile, error) {
	to := &codeFile{head: f.head, offsets: make([]int, len(codes))}
	size := 0
	for i, code := range codes {
		to.offsets[i] = size
		size += (len(code) + 15) &^ 15
	}
	to.code = make([]byte, size)
	for i, code := range codes {
		copy(to.code[to.offsets[i]:], code)
		for _, c := range calls[i] {
			callee, ok := f.functionAt(c.target)
			if !ok {
				return nil, fmt.Errorf("%w: function %d calls %#x, where no function begins", ErrUnknown, i, c.target)
			}
			at := to.offsets[i] + c.at
			binary.LittleEndian.PutUint32(to.code[at:], uint32(int32(to.offsets[callee]-at-4)))
		}
	}
	return to, nil
}

// functionAt returns the function that begins at an offset.
func (f *codeFile) functionAt(at int) (int, bool) {
	i := sort.SearchInts(f.offsets, at)
	return i, i < len(f.offsets) && f.offsets[i] == at
}
