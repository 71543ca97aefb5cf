package wasi

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

// loopModule is the proxy with one more export for each function: "loop_" and its name, with a count as a last
// parameter, calls the function that many times. The loop is wasm, so a benchmark is of what a guest sees.
func loopModule() []byte { return assemble(4, 16, true, true) }

// host is a WASI implementation that benchmarks run against, with files below dir.
type host struct {
	name  string
	start func(b *testing.B, r wazero.Runtime, dir string) (context.Context, wazero.ModuleConfig)
}

func hosts() []host {
	ours := func(b *testing.B, r wazero.Runtime, ns *vfs.Namespace) (context.Context, wazero.ModuleConfig) {
		if err := Instantiate(b.Context(), r); err != nil {
			b.Fatal(err)
		}
		s, err := New(Config{FS: ns})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { s.Close() })
		return WithState(context.Background(), s), hostedConfig()
	}
	return []host{
		{"stock", func(b *testing.B, r wazero.Runtime, dir string) (context.Context, wazero.ModuleConfig) {
			if _, err := wasi_snapshot_preview1.Instantiate(b.Context(), r); err != nil {
				b.Fatal(err)
			}
			return context.Background(), hostedConfig().WithFSConfig(wazero.NewFSConfig().WithDirMount(dir, "/")).WithSysWalltime().WithSysNanotime()
		}},
		{"folder", func(b *testing.B, r wazero.Runtime, dir string) (context.Context, wazero.ModuleConfig) {
			return ours(b, r, hostFolder(b, dir, vfs.HostDirOptions{}))
		}},
		{"bounded", func(b *testing.B, r wazero.Runtime, dir string) (context.Context, wazero.ModuleConfig) {
			return ours(b, r, hostFolder(b, dir, vfs.HostDirOptions{GrowBytes: 1 << 30, GrowNames: 1 << 20})) // as sandboxes have it
		}},
		{"memory", func(b *testing.B, r wazero.Runtime, dir string) (context.Context, wazero.ModuleConfig) {
			ns := newNamespace(b, vfs.Options{Bytes: 1 << 30})
			copyIn(b, ns, dir)
			return ours(b, r, ns)
		}},
	}
}

// benchHosts runs f against each host, on a copy of the same files.
func benchHosts(b *testing.B, prepare func(dir string), f func(b *testing.B, g *guest)) {
	for _, h := range hosts() {
		b.Run(h.name, func(b *testing.B) {
			dir := b.TempDir()
			prepare(dir)
			ctx := context.Background()
			r := wazero.NewRuntime(ctx)
			defer r.Close(ctx)
			callCtx, config := h.start(b, r, dir)
			mod, err := r.InstantiateWithConfig(callCtx, loopModule(), config)
			if err != nil {
				b.Fatal(err)
			}
			g := &guest{t: b, mod: mod, ctx: callCtx, top: 4096}
			f(b, g)
		})
	}
}

// loop calls a function b.N times from within wasm.
func (g *guest) loop(b *testing.B, name string, params ...uint64) {
	b.Helper()
	fn := g.mod.ExportedFunction("loop_" + name)
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := fn.Call(g.ctx, append(params, uint64(b.N))...); err != nil {
		b.Fatal(err)
	}
}

func nothing(string) {}

func withFile(size int) func(dir string) {
	return func(dir string) {
		if err := os.WriteFile(filepath.Join(dir, "file"), make([]byte, size), 0o600); err != nil {
			panic(err)
		}
	}
}

func BenchmarkSmallWrite(b *testing.B) {
	benchHosts(b, nothing, func(b *testing.B, g *guest) {
		fd := g.open("file", oflagCreate, 0)
		g.loop(b, "fd_pwrite", fd, g.iov(65536, 64), 1, 0, resultOff)
	})
}

// BenchmarkGrowingWrite makes the file longer by each write.
func BenchmarkGrowingWrite(b *testing.B) {
	benchHosts(b, nothing, func(b *testing.B, g *guest) {
		fd := g.open("file", oflagCreate, 0)
		g.loop(b, "fd_write", fd, g.iov(65536, 64), 1, resultOff)
	})
}

// BenchmarkOverwrite writes into a file that was there before the mount.
func BenchmarkOverwrite(b *testing.B) {
	benchHosts(b, withFile(4096), func(b *testing.B, g *guest) {
		fd := g.open("file", 0, 0)
		g.loop(b, "fd_pwrite", fd, g.iov(65536, 64), 1, 100, resultOff)
	})
}

func BenchmarkSmallRead(b *testing.B) {
	benchHosts(b, withFile(4096), func(b *testing.B, g *guest) {
		fd, _ := g.openRights(rootFd, "file", 0, 0, rightFdRead|rightFdSeek)
		g.loop(b, "fd_pread", fd, g.iov(65536, 64), 1, 100, resultOff)
	})
}

func BenchmarkBigWrite(b *testing.B) {
	const size = 128 << 10
	benchHosts(b, nothing, func(b *testing.B, g *guest) {
		fd := g.open("file", oflagCreate, 0)
		b.SetBytes(size)
		g.loop(b, "fd_pwrite", fd, g.iov(65536, size), 1, 0, resultOff)
	})
}

// BenchmarkBigFile reads a file of 64 MiB from its start to its end, in pieces of 128 KiB.
func BenchmarkBigFile(b *testing.B) {
	const piece, size = 128 << 10, 64 << 20
	benchHosts(b, withFile(size), func(b *testing.B, g *guest) {
		fd, _ := g.openRights(rootFd, "file", 0, 0, rightFdRead|rightFdSeek)
		iov := g.iov(65536, piece)
		b.SetBytes(size)
		read := g.mod.ExportedFunction("loop_fd_read")
		for b.Loop() {
			g.seek(fd, 0, whenceStart)
			if _, err := read.Call(g.ctx, fd, iov, 1, resultOff, size/piece); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkReaddir lists a directory of 10,000 entries, in buffers of 32 KiB.
func BenchmarkReaddir(b *testing.B) {
	const files = 10_000
	prepare := func(dir string) {
		for i := range files {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file-%05d.txt", i)), nil, 0o600); err != nil {
				panic(err)
			}
		}
	}
	benchHosts(b, prepare, func(b *testing.B, g *guest) {
		for b.Loop() {
			fd, errno := g.openRights(rootFd, ".", oflagDirectory, 0, rightFdReaddir)
			if errno != ErrnoSuccess {
				b.Fatal(errno)
			}
			if n := g.count(fd); n != files+2 {
				b.Fatalf("%d entries", n)
			}
			g.want(ErrnoSuccess, "fd_close", fd)
		}
	})
}

// count reads a whole directory.
func (g *guest) count(fd uint64) int {
	const buf, size = 65536, 32 << 10
	n, cookie := 0, uint64(0)
	for {
		g.want(ErrnoSuccess, "fd_readdir", fd, buf, size, cookie, resultOff)
		used := g.u32(resultOff)
		for at := uint32(0); at+direntBytes <= used; {
			name := g.u32(buf + at + 16)
			if at+direntBytes+name > used {
				break
			}
			cookie = g.u64(buf + at)
			at += direntBytes + name
			n++
		}
		if used < size {
			return n
		}
	}
}

func BenchmarkOpenClose(b *testing.B) {
	benchHosts(b, withFile(1), func(b *testing.B, g *guest) {
		off, n := g.text("file")
		open, closeFd := g.mod.ExportedFunction("path_open"), g.mod.ExportedFunction("fd_close")
		stack := make([]uint64, 16)
		b.ReportAllocs()
		for b.Loop() {
			copy(stack, []uint64{rootFd, 0, off, n, 0, uint64(rightFdRead), 0, 0, resultOff})
			if err := open.CallWithStack(g.ctx, stack); err != nil || stack[0] != 0 {
				b.Fatal(err, stack[0])
			}
			stack[0] = uint64(g.u32(resultOff))
			if err := closeFd.CallWithStack(g.ctx, stack); err != nil || stack[0] != 0 {
				b.Fatal(err, stack[0])
			}
		}
	})
}

func BenchmarkStat(b *testing.B) {
	benchHosts(b, withFile(1), func(b *testing.B, g *guest) {
		off, n := g.text("file")
		g.loop(b, "path_filestat_get", rootFd, 0, off, n, 65536)
	})
}

func BenchmarkClock(b *testing.B) {
	benchHosts(b, nothing, func(b *testing.B, g *guest) {
		g.loop(b, "clock_time_get", clockMonotonic, 0, resultOff)
	})
}

// BenchmarkCall is the cheapest call there is: finding the State and a descriptor.
func BenchmarkCall(b *testing.B) {
	benchHosts(b, nothing, func(b *testing.B, g *guest) {
		g.loop(b, "fd_fdstat_get", 1, 65536)
	})
}

func BenchmarkStdout(b *testing.B) {
	benchHosts(b, nothing, func(b *testing.B, g *guest) {
		g.loop(b, "fd_write", 1, g.iov(65536, 64), 1, resultOff)
	})
}

// BenchmarkNew is a fresh State with a first use of its files, as every run has one.
func BenchmarkNew(b *testing.B) {
	template, err := vfs.NewTemplate(vfs.Config{Layout: true})
	if err != nil {
		b.Fatal(err)
	}
	ns := template.New(vfs.Options{})
	defer ns.Close()
	args, env := []string{"prog"}, []string{"A=b", "C=d"}
	var list []Descriptor
	for fd := range uint32(6) {
		list = append(list, Descriptor{FD: 4 + fd, Type: "file", Path: "/usr/share/fonts/x.ttf", Offset: 100, Access: 1, Rights: uint64(rightFdRead)})
	}
	b.Run("fresh", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s, err := New(Config{Args: args, Env: env, FS: ns, Stdin: strings.NewReader("")})
			if err != nil {
				b.Fatal(err)
			}
			s.Close()
		}
	})
	b.Run("image", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s, err := New(Config{Args: args, Env: env, FS: ns})
			if err != nil {
				b.Fatal(err)
			}
			if err := s.RestoreDescriptors(list); err != nil {
				b.Fatal(err)
			}
			s.Close()
		}
	})
}

func BenchmarkCheckpoint(b *testing.B) {
	ns := newNamespace(b, vfs.Options{})
	g := newFiles(b, Config{FS: ns})
	for range 10 {
		g.open("file", oflagCreate, 0)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := g.s.Checkpoint(); err != nil {
			b.Fatal(err)
		}
		if !g.s.Rollback() {
			b.Fatal("no checkpoint")
		}
	}
}
