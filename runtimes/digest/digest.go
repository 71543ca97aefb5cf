// Package digest has hash functions by the names that programs call them, and the two loops that make it slow to derive a key from
// a password: PBKDF2's and scrypt's. An interpreter would take many times as long as was meant. A call does a part of a loop, of bounded
// length, and the guest asks for the next, so that it can be stopped in between.
package digest

import (
	"bytes"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/binary"
	"hash"
	"strings"

	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/blake2s"
	//lint:ignore SA1019 programs compute what others made with it
	"golang.org/x/crypto/ripemd160"
	//lint:ignore SA1019 scrypt is defined over this core (RFC 7914), which nothing else offers
	"golang.org/x/crypto/salsa20/salsa"
)

// functions by the names that Node and Python give them, in small letters and digits.
var functions = map[string]func() hash.Hash{
	"md5": md5.New, "sha1": sha1.New, "sha224": sha256.New224, "sha256": sha256.New, "sha384": sha512.New384,
	"sha512": sha512.New, "sha512224": sha512.New512_224, "sha512256": sha512.New512_256,
	"sha3224": func() hash.Hash { return sha3.New224() }, "sha3256": func() hash.Hash { return sha3.New256() },
	"sha3384": func() hash.Hash { return sha3.New384() }, "sha3512": func() hash.Hash { return sha3.New512() },
	"ripemd160": ripemd160.New, "rmd160": ripemd160.New,
	"blake2b": newBLAKE2b, "blake2b512": newBLAKE2b, "blake2s": newBLAKE2s, "blake2s256": newBLAKE2s,
}

func newBLAKE2b() hash.Hash { return unkeyed(blake2b.New512) }
func newBLAKE2s() hash.Hash { return unkeyed(blake2s.New256) }

// unkeyed is a hash function that can have a key, without one: nothing else about it can be wrong.
func unkeyed(function func(key []byte) (hash.Hash, error)) hash.Hash {
	h, err := function(nil)
	if err != nil {
		panic(err)
	}
	return h
}

// Named returns what makes the hash function called name; nil if there is none.
func Named(name string) func() hash.Hash {
	return functions[strings.NewReplacer("-", "", "_", "", "/", "").Replace(strings.ToLower(name))]
}

const (
	// MaxRounds is the most rounds of one [Stretch]: a few milliseconds.
	MaxRounds = 1 << 13
	// MaxKey is the longest key of Stretch, in bytes. HMAC replaces one that is longer than 144 by its hash.
	MaxKey = 1 << 10
)

// Stretch does some rounds of PBKDF2 (RFC 8018, section 5.2): in each u becomes its HMAC under key, and is added to sum. It
// returns what they become, and how many bytes it worked through; nil if it was asked for what it does not do. The arguments are a
// guest's: they may be as large as its memory, and overlap.
func Stretch(function func() hash.Hash, rounds int64, key, u, sum []byte) (newU, newSum []byte, worked int64) {
	if function == nil || rounds < 0 || rounds > MaxRounds || len(key) > MaxKey {
		return nil, nil, 0
	}
	mac := hmac.New(function, key)
	if len(u) != mac.Size() || len(sum) != mac.Size() {
		return nil, nil, 0
	}
	newU, newSum = bytes.Clone(u), bytes.Clone(sum)
	for range rounds {
		mac.Reset()
		mac.Write(newU)
		newU = mac.Sum(newU[:0])
		subtle.XORBytes(newSum, newSum, newU)
	}
	return newU, newSum, rounds * 2 * int64(mac.BlockSize())
}

const (
	// MaxMix is the most bytes that one [Mix] works through, over all its rounds, unless it is a single one: a few milliseconds.
	MaxMix = 1 << 21
	// blockBytes is the size of scrypt's smallest block; others are multiples of it.
	blockBytes = 128
	// maxBlock is the size of the largest one here.
	maxBlock = 1024 * blockBytes
)

// Mix does the rounds [from, to) of scrypt's ROMix (RFC 7914, section 5) with the block x. There are two for each block that
// table has room for, a power of two: the first half write them, the second half mix them in. It returns what x becomes, and
// how many bytes it worked through; nil if it was asked for what it does not do. The arguments are a guest's: they may be as large as
// its memory, and x may lie in the table.
func Mix(from, to uint64, x, table []byte) (mixed []byte, worked int64) {
	size := uint64(len(x))
	if size == 0 || size%blockBytes != 0 || size > maxBlock {
		return nil, 0
	}
	n := uint64(len(table)) / size
	if n == 0 || n&(n-1) != 0 || from > to || to > 2*n || to-from > max(1, MaxMix/size) {
		return nil, 0
	}
	x = bytes.Clone(x)
	next := make([]byte, size)
	for i := from; i < to; i++ {
		if i < n {
			copy(table[i*size:][:size], x)
		} else {
			j := binary.LittleEndian.Uint64(x[size-64:]) & (n - 1)
			subtle.XORBytes(x, x, table[j*size:][:size])
		}
		mixBlock(x, next)
	}
	return x, int64(2 * (to - from) * size)
}

// mixBlock is scryptBlockMix of x (RFC 7914, section 4); next is as long, and overwritten.
func mixBlock(x, next []byte) {
	const unit = 64
	half := len(x) / unit / 2
	last := [unit]byte(x[len(x)-unit:])
	for i := range 2 * half {
		subtle.XORBytes(last[:], last[:], x[i*unit:][:unit])
		salsa.Core208(&last, &last)
		copy(next[(i/2+i%2*half)*unit:], last[:])
	}
	copy(x, next)
}
