package runtimes

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/cpu"
)

// Key hashes parts into a cache key of 64 hexadecimal digits. Each part counts with its length, so that no
// two lists of parts give the same bytes.
func Key(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		addPart(h, p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func addPart(h hash.Hash, p string) {
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(p)))
	h.Write(n[:])
	h.Write([]byte(p))
}

// MachineKey names everything about this program and machine on which compiled code depends: wazero's
// version, the operating system, the architecture and the processor's features (wazero's compiler uses what
// it finds, and a home folder may be shared by machines that differ).
func MachineKey() string {
	features := ""
	switch runtime.GOARCH {
	case "amd64":
		features = fmt.Sprintf("%+v", cpu.X86)
	case "arm64":
		features = fmt.Sprintf("%+v", cpu.ARM64)
	}
	return Key(WazeroVersion(), runtime.GOOS, runtime.GOARCH, features)
}

// linkedWazeroVersion is set with -ldflags -X where the build information lacks it: Go leaves the
// dependencies out of test binaries. The Makefile sets it, together with wazero's own variable, so that
// tests find what `cloche setup` compiled.
var linkedWazeroVersion string

// WazeroVersion is the version of wazero in this program, "dev" when it is not known. It is found as wazero
// itself finds the version that it writes into compiled code, and so changes whenever that does.
func WazeroVersion() string {
	if linkedWazeroVersion != "" {
		return linkedWazeroVersion
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if strings.Contains(d.Path, "github.com/tetratelabs/wazero") && d.Version != "" && d.Version != "(devel)" {
				return d.Version
			}
		}
	}
	return "dev"
}
