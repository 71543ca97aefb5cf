package wasi

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

func TestArgsAndEnviron(t *testing.T) {
	g := newGuest(t, Config{Args: []string{"prog", "", "héllo"}, Env: []string{"A=b", "C=d e"}})
	for _, tt := range []struct {
		sizes, get string
		want       []string
	}{
		{"args_sizes_get", "args_get", []string{"prog", "", "héllo"}},
		{"environ_sizes_get", "environ_get", []string{"A=b", "C=d e"}},
	} {
		g.fill()
		g.want(ErrnoSuccess, tt.sizes, 16, 24)
		text := ""
		for _, s := range tt.want {
			text += s + "\x00"
		}
		if n, size := g.u32(16), g.u32(24); int(n) != len(tt.want) || int(size) != len(text) {
			t.Fatalf("%s: %d strings of %d bytes", tt.sizes, n, size)
		}
		g.want(ErrnoSuccess, tt.get, 64, 128)
		if got := g.all()[128 : 128+len(text)+1]; string(got) != text+"?" {
			t.Errorf("%s stored %q", tt.get, got)
		}
		at := uint32(128)
		for i, s := range tt.want {
			if got := g.u32(64 + uint32(i)*4); got != at {
				t.Errorf("%s: pointer %d is %d, want %d", tt.get, i, got, at)
			}
			at += uint32(len(s)) + 1
		}
		if got := g.all()[64+len(tt.want)*4]; got != '?' {
			t.Errorf("%s wrote past its pointers", tt.get)
		}
		end := uint64(g.mod.Memory().Size())
		g.want(ErrnoFault, tt.sizes, end-3, 24)
		g.want(ErrnoFault, tt.sizes, 16, end-3)
		g.want(ErrnoFault, tt.get, end-7, 128)
		g.want(ErrnoFault, tt.get, 64, end-uint64(len(text))+1)
		g.want(ErrnoSuccess, tt.get, 64, end-uint64(len(text)))
	}
}

func TestNewRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"NUL in argument", Config{Args: []string{"a", "b\x00c"}}, "wasi state: argument 1 contains a NUL"},
		{"NUL in environment", Config{Env: []string{"\x00"}}, "wasi state: environment variable 0 contains a NUL"},
		{"cap too low", Config{OpenFiles: 2}, "wasi state: cap of 2 open files leaves no room for 0 preopens"},
		{"cap too high", Config{OpenFiles: 1 << 20}, "wasi state: cap of 1048576 open files is not between 1 and 65536"},
		{"preopen without files", Config{Preopens: []string{"/"}}, `wasi state: preopen "/": no file system`},
		{"all at once", Config{OpenFiles: -1, Args: []string{"\x00"}, Env: []string{"\x00"}},
			"wasi state: cap of -1 open files is not between 1 and 65536\nargument 0 contains a NUL\nenvironment variable 0 contains a NUL"},
	} {
		s, err := New(tt.cfg)
		if err == nil || err.Error() != tt.want || s != nil {
			t.Errorf("%s: %v, %v, want error %q", tt.name, s, err, tt.want)
		}
	}
}

func TestRandomGet(t *testing.T) {
	seeded := bytes.NewReader([]byte("0123456789abcdef"))
	g := newGuest(t, Config{Random: seeded})
	g.want(ErrnoSuccess, "random_get", 16, 10)
	if got := string(g.all()[15:27]); got != "?0123456789?" {
		t.Errorf("stored %q", got)
	}
	g.want(ErrnoIo, "random_get", 16, 10) // six are left
	g.want(ErrnoSuccess, "random_get", 16, 0)
	g.want(ErrnoFault, "random_get", 4*65536-1, 2)

	a, b := newGuest(t, Config{}), newGuest(t, Config{})
	a.want(ErrnoSuccess, "random_get", 0, 4*65536)
	b.want(ErrnoSuccess, "random_get", 0, 4*65536)
	if bytes.Equal(a.all(), b.all()) {
		t.Error("two runs got the same random bytes")
	}
}

func TestSockets(t *testing.T) {
	g := newGuest(t, Config{})
	g.want(ErrnoNotsock, "sock_accept", 0, 0, resultOff)
	g.want(ErrnoNotsock, "sock_recv", 0, 0, 0, 0, resultOff, resultOff)
	g.want(ErrnoNotsock, "sock_send", 1, 0, 0, 0, resultOff)
	g.want(ErrnoNotsock, "sock_shutdown", 1, 1)
	g.want(ErrnoInval, "sock_shutdown", 1, 0)
	g.want(ErrnoInval, "sock_shutdown", 1, 4)
	for _, name := range []string{"sock_accept", "sock_shutdown"} {
		params := make([]uint64, len(g.mod.ExportedFunction(name).Definition().ParamTypes()))
		params[0] = 7
		g.want(ErrnoBadf, name, params...)
	}
	if i := bytes.IndexFunc(g.all(), func(r rune) bool { return r != '?' }); i >= 0 {
		t.Errorf("memory written at %d", i)
	}
}

func TestErrnoNames(t *testing.T) {
	for _, tt := range []struct {
		errno Errno
		want  string
	}{{ErrnoSuccess, "SUCCESS"}, {ErrnoNotcapable, "NOTCAPABLE"}, {Errno(200), "errno 200"}} {
		if got := tt.errno.String(); got != tt.want {
			t.Errorf("%d is %q, want %q", tt.errno, got, tt.want)
		}
	}
}

func TestErrnoOf(t *testing.T) {
	seen := map[Errno]bool{}
	for e := vfs.ErrNotExist; e <= vfs.ErrOverflow; e++ {
		errno := ErrnoOf(e)
		if _, known := errnoNames[errno]; !known || errno == ErrnoSuccess {
			t.Errorf("%v becomes %v", e, errno)
		}
		if errno == ErrnoIo && e != vfs.ErrIO {
			t.Errorf("%v has no error number of its own", e)
		}
		seen[errno] = true
	}
	if len(seen) < int(vfs.ErrOverflow)-4 { // two quotas and the host share NOSPC, three bounds NAMETOOLONG
		t.Errorf("only %d different numbers", len(seen))
	}
	if got := ErrnoOf(vfs.Error(200)); got != ErrnoIo {
		t.Errorf("the unknown becomes %v", got)
	}
}

func TestAllFunctionsAreThere(t *testing.T) {
	if n := len(functions) + 1; n != 46 {
		t.Errorf("%d functions, preview1 has 46", n)
	}
}

func put64(b []byte, off int, v uint64) { binary.LittleEndian.PutUint64(b[off:], v) }
func put32(b []byte, off int, v uint32) { binary.LittleEndian.PutUint32(b[off:], v) }
