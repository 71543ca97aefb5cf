package digest_test

import (
	"bytes"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"runtime"
	"testing"

	"golang.org/x/crypto/scrypt"

	"github.com/cloche-dev/cloche/runtimes/digest"
)

func TestNamed(t *testing.T) {
	for name, want := range map[string]int{
		"md5": 16, "SHA256": 32, "sha512_256": 32, "SHA-512/256": 32, "sha3-384": 48, "sha3_384": 48, "blake2b": 64, "blake2s256": 32, "ripemd160": 20,
	} {
		if f := digest.Named(name); f == nil || f().Size() != want {
			t.Errorf("%s: not a function of %d bytes", name, want)
		}
	}
	if digest.Named("") != nil || digest.Named("sha") != nil {
		t.Error("a name that nobody gives is known")
	}
}

// TestStretch derives keys by parts of several lengths, and compares with the library's.
func TestStretch(t *testing.T) {
	for _, name := range []string{"sha1", "sha256", "sha512", "sha3-256", "md5"} {
		function := digest.Named(name)
		for _, iterations := range []int{1, 2, 3, 17} {
			for part := 1; part <= iterations; part += 5 {
				u, err := pbkdf2.Key(function, "password", []byte("salt"), 1, function().Size())
				if err != nil {
					t.Fatal(err)
				}
				sum := bytes.Clone(u)
				for done := 1; done < iterations; done += part {
					rounds := min(part, iterations-done)
					var worked int64
					u, sum, worked = digest.Stretch(function, int64(rounds), []byte("password"), u, sum)
					if want := int64(rounds * 2 * function().BlockSize()); u == nil || worked != want {
						t.Fatalf("%s: worked through %d bytes, want %d", name, worked, want)
					}
				}
				if want, _ := pbkdf2.Key(function, "password", []byte("salt"), iterations, len(sum)); !bytes.Equal(sum, want) {
					t.Errorf("%s, %d iterations in parts of %d: %x, want %x", name, iterations, part, sum, want)
				}
			}
		}
	}
}

// TestMix derives keys by parts of several lengths, and compares with the library's.
func TestMix(t *testing.T) {
	for _, tt := range []struct{ n, r, p int }{{2, 1, 1}, {16, 1, 3}, {64, 3, 2}, {1024, 8, 1}, {2, 1024, 1}} {
		for _, part := range []uint64{1, 7, 1 << 20} {
			size := 128 * tt.r
			blocks, err := pbkdf2.Key(sha256.New, "password", []byte("salt"), 1, tt.p*size)
			if err != nil {
				t.Fatal(err)
			}
			part = min(part, max(1, digest.MaxMix/uint64(size)))
			table := make([]byte, tt.n*size)
			for i := range tt.p {
				for from, end := uint64(0), 2*uint64(tt.n); from < end; from += part {
					mixed, _ := digest.Mix(from, min(end, from+part), blocks[i*size:][:size], table)
					if mixed == nil {
						t.Fatalf("%v: refused", tt)
					}
					copy(blocks[i*size:], mixed)
				}
			}
			got, _ := pbkdf2.Key(sha256.New, "password", blocks, 1, 40)
			if want, err := scrypt.Key([]byte("password"), []byte("salt"), tt.n, tt.r, tt.p, 40); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%v in parts of %d: %x, want %x (%v)", tt, part, got, want, err)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	const large = 256 << 20 // of a guest's memory
	block, sum, memory := make([]byte, 32), make([]byte, 32), make([]byte, large)
	stretch := func(function func() hash.Hash, rounds int64, key, u, sum []byte) []byte {
		u, _, _ = digest.Stretch(function, rounds, key, u, sum)
		return u
	}
	mix := func(from, to uint64, x, table []byte) []byte {
		x, _ = digest.Mix(from, to, x, table)
		return x
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for name, got := range map[string]func() []byte{
		"no function":     func() []byte { return stretch(nil, 1, nil, block, sum) },
		"rounds below 0":  func() []byte { return stretch(sha256.New, -1, nil, block, sum) },
		"too many rounds": func() []byte { return stretch(sha256.New, digest.MaxRounds+1, nil, block, sum) },
		"a long key":      func() []byte { return stretch(sha256.New, 1, make([]byte, digest.MaxKey+1), block, sum) },
		"a short block":   func() []byte { return stretch(sha256.New, 1, nil, block[1:], sum) },
		"a short sum":     func() []byte { return stretch(sha256.New, 1, nil, block, sum[1:]) },
		"no block":        func() []byte { return mix(0, 1, nil, make([]byte, 256)) },
		"an odd block":    func() []byte { return mix(0, 1, make([]byte, 129), make([]byte, 258)) },
		"a large block":   func() []byte { return mix(0, 1, make([]byte, 128<<10+128), make([]byte, 256<<10+256)) },
		"no table":        func() []byte { return mix(0, 1, make([]byte, 128), nil) },
		"a table of 3":    func() []byte { return mix(0, 1, make([]byte, 128), make([]byte, 384)) },
		"backwards":       func() []byte { return mix(1, 0, make([]byte, 128), make([]byte, 256)) },
		"past the end":    func() []byte { return mix(0, 5, make([]byte, 128), make([]byte, 256)) },
		"all of memory":   func() []byte { return mix(0, 1, memory, memory) },
		"all of it":       func() []byte { return stretch(sha256.New, 1, memory, memory, memory) },
		"half of it":      func() []byte { return stretch(sha256.New, 1, nil, memory[large/2:], sum) },
		"the rest":        func() []byte { return stretch(sha256.New, 1, nil, block, memory[large/2:]) },
		"too much": func() []byte {
			return mix(0, digest.MaxMix/128+1, make([]byte, 128), make([]byte, digest.MaxMix))
		},
	} {
		if got() != nil {
			t.Errorf("%s: it was done", name)
		}
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > large/8 {
		t.Errorf("what was refused took %d MiB", got>>20)
	}
	if !bytes.Equal(block, make([]byte, 32)) {
		t.Error("what was refused has changed its block")
	}
}

func BenchmarkStretch(b *testing.B) {
	for _, name := range []string{"sha1", "sha256", "sha512", "sha3-256"} {
		b.Run(name, func(b *testing.B) {
			function := digest.Named(name)
			u, sum := make([]byte, function().Size()), make([]byte, function().Size())
			for b.Loop() {
				digest.Stretch(function, digest.MaxRounds, []byte("password"), u, sum)
			}
		})
	}
}

func BenchmarkMix(b *testing.B) {
	for _, r := range []int{1, 8, 1024} {
		b.Run(fmt.Sprint(r), func(b *testing.B) {
			x, table := make([]byte, 128*r), make([]byte, digest.MaxMix)
			n := uint64(len(table) / len(x))
			binary.LittleEndian.PutUint64(x, 1)
			for b.Loop() {
				digest.Mix(n/2, n/2+n, x, table)
			}
		})
	}
}
