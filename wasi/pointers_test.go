package wasi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

// Where pointerGuest puts what calls can be pointed at.
const (
	atPath    = 256  // "file"
	atDir     = 264  // "dir"
	atLink    = 272  // "link"
	atOdd     = 280  // "../../dir//"
	atGoodIov = 512  // three buffers
	atBadIov  = 576  // buffers outside memory, and as long as can be
	atSelfIov = 640  // a buffer that is the iovec array
	atSubs    = 1024 // a clock, a descriptor, and rubbish
	atRoom    = 65536
)

// boundaries are the values that every parameter takes: what structures lie at, numbers of descriptors, flags, and
// both sides of each limit there is.
var boundaries = []uint64{
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 15, 16, 24, 32, 48, 255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097,
	atPath, atDir, atLink, atOdd, atGoodIov, atBadIov, atSelfIov, atSubs, atRoom,
	4*65536 - 64, 4*65536 - 48, 4*65536 - 24, 4*65536 - 8, 4*65536 - 4, 4*65536 - 1, 4 * 65536, 4*65536 + 1,
	1<<31 - 1, 1 << 31, 1<<32 - 65536, 1<<32 - 8, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 1,
}

func pointerGuest(t testing.TB) *guest {
	ns := newNamespace(t, vfs.Options{Bytes: 8 << 20, Inodes: 100})
	g := newFiles(t, Config{
		Args: []string{"prog", "argument"}, Env: []string{"NAME=value"}, FS: ns, OpenFiles: 16,
		Stdin: strings.NewReader(strings.Repeat("input ", 100)), Clock: NewFixedClock(time.Unix(1000, 0), 0),
	})
	g.create("file", "some content")
	g.onPath("path_create_directory", "dir")
	g.open("file", 0, 0)
	g.open("dir", oflagDirectory, 0)
	g.open("file", 0, uint64(fdflagAppend))
	g.fill()
	g.layout()
	return g
}

// layout puts the structures into memory.
func (g *guest) layout() {
	mem := g.all()
	copy(mem[atPath:], "file")
	copy(mem[atDir:], "dir")
	copy(mem[atLink:], "link")
	copy(mem[atOdd:], "../../dir//")
	for i, v := range []uint32{atRoom, 10, atRoom + 5, 20, 4*65536 - 1, 1} {
		put32(mem, atGoodIov+i*4, v)
	}
	for i, v := range []uint32{atRoom, 1<<32 - 1, 1<<32 - 1, 1, 4 * 65536, 1 << 31} {
		put32(mem, atBadIov+i*4, v)
	}
	for i, v := range []uint32{atSelfIov, 64, 0, 4 * 65536, 0, 4 * 65536} {
		put32(mem, atSelfIov+i*4, v)
	}
	subs := mem[atSubs:]
	clear(subs[:2*subscriptionBytes])
	put64(subs, 24, 1000)
	subs[subscriptionBytes+8] = eventFdRead
}

// check calls a function and holds it to what all functions promise.
func (g *guest) check(name string, params []uint64) {
	g.t.Helper()
	g.before = append(g.before[:0], g.all()...)
	errno, err := g.try(name, params...)
	if err != nil {
		if _, ok := errors.AsType[*ExitError](err); !ok {
			g.t.Fatalf("%s%v ended the run: %v", name, params, err)
		}
		return
	}
	if _, known := errnoNames[errno]; !known {
		g.t.Fatalf("%s%v: unknown error %d", name, params, errno)
	}
	if errno != ErrnoSuccess && !bytes.Equal(g.before, g.all()) {
		g.t.Fatalf("%s%v: %v, but memory was written", name, params, errno)
	}
}

// normal are parameters with which a call of each function is ordinary.
func normal(name string) []uint64 {
	switch name {
	case "fd_read", "fd_write":
		return []uint64{4, atGoodIov, 3, resultOff}
	case "fd_pread", "fd_pwrite":
		return []uint64{4, atGoodIov, 3, 2, resultOff}
	case "fd_readdir":
		return []uint64{rootFd, atRoom, 4096, 0, resultOff}
	case "path_open":
		return []uint64{rootFd, 0, atPath, 4, 0, uint64(rightFdRead), 0, 0, resultOff}
	case "path_filestat_get":
		return []uint64{rootFd, 0, atPath, 4, atRoom}
	case "path_filestat_set_times":
		return []uint64{rootFd, 0, atPath, 4, 0, 0, 2}
	case "path_link":
		return []uint64{rootFd, 0, atPath, 4, rootFd, atLink, 4}
	case "path_readlink":
		return []uint64{rootFd, atLink, 4, atRoom, 100, resultOff}
	case "path_rename":
		return []uint64{rootFd, atPath, 4, rootFd, atLink, 4}
	case "path_symlink":
		return []uint64{atPath, 4, rootFd, atLink, 4}
	case "path_create_directory", "path_remove_directory", "path_unlink_file":
		return []uint64{rootFd, atDir, 3}
	case "poll_oneoff":
		return []uint64{atSubs, atRoom, 2, resultOff}
	case "fd_prestat_dir_name":
		return []uint64{rootFd, atRoom, 10}
	case "fd_filestat_get", "fd_fdstat_get", "fd_prestat_get", "fd_tell":
		return []uint64{4, resultOff}
	case "fd_seek":
		return []uint64{4, 0, whenceCurrent, resultOff}
	case "args_get", "environ_get":
		return []uint64{atRoom, atRoom + 100}
	case "args_sizes_get", "environ_sizes_get":
		return []uint64{atRoom, atRoom + 100}
	}
	return nil
}

// TestPointerBoundaries gives each parameter of each function each boundary value, the others being ordinary.
func TestPointerBoundaries(t *testing.T) {
	for _, f := range functions {
		ordinary := normal(f.name)
		if ordinary == nil {
			ordinary = make([]uint64, len(f.params))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range f.params {
			g := pointerGuest(t)
			for _, v := range boundaries {
				params := append([]uint64(nil), ordinary...)
				params[i] = v
				if f.params[i] == api.ValueTypeI32 {
					params[i] &= 1<<32 - 1
				}
				g.check(f.name, params)
				if g.s.open < 5 { // a descriptor was closed
					g = pointerGuest(t)
				}
			}
		}
		runtime.ReadMemStats(&after)
		// Guests take 256 KiB of memory, and copies of it to compare. Nothing may follow a number of the guest.
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20+uint64(len(f.params)*len(boundaries))<<20 {
			t.Errorf("%s: %d bytes allocated", f.name, used)
		}
	}
}

// FuzzPointers makes programs of calls with boundary values and arbitrary ones. A program is a list of calls: a
// byte for the function, and for each parameter a byte that selects a boundary, or 255 and eight bytes of value.
func FuzzPointers(f *testing.F) {
	for i := range functions {
		f.Add([]byte{byte(i), 0, 0, 0, 0, 0, 0, 0, 0, 0})
		f.Add([]byte{byte(i), 4, 29, 30, 16, 3, 255, 1, 2, 3, 4, 5, 6, 7, 8, byte(i), 3, 25, 29, 16, 16})
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		g := pointerGuest(t)
		for calls := 0; len(program) > 0 && calls < 32; calls++ {
			fn := functions[int(program[0])%len(functions)]
			program = program[1:]
			params := make([]uint64, len(fn.params))
			for i := range params {
				if len(program) == 0 {
					break
				}
				selector := program[0]
				program = program[1:]
				if selector == 255 && len(program) >= 8 {
					params[i] = binary.LittleEndian.Uint64(program)
					program = program[8:]
				} else {
					params[i] = boundaries[int(selector)%len(boundaries)]
				}
				if fn.params[i] == api.ValueTypeI32 {
					params[i] &= 1<<32 - 1
				}
			}
			g.check(fn.name, params)
		}
	})
}

// TestNoExportedMemory: an instance whose memory the host cannot see gets FAULT, not a panic.
func TestNoExportedMemory(t *testing.T) {
	g := newGuest(t, Config{Args: []string{"x"}})
	compiled, err := testRuntime().CompileModule(g.ctx, proxyModule(1, 1, false))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := testRuntime().InstantiateModule(g.ctx, compiled, hostedConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer mod.Close(g.ctx)
	g.mod = mod
	for _, f := range functions {
		if strings.HasPrefix(f.name, "sock_") || f.name == "sched_yield" || f.name == "proc_raise" {
			continue
		}
		errno, err := g.try(f.name, make([]uint64, len(f.params))...)
		if err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
		if errno == ErrnoSuccess && f.name != "fd_close" {
			t.Errorf("%s succeeded without memory", f.name)
		}
	}
}
