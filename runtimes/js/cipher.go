package js

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
	"encoding/binary"

	//lint:ignore SA1019 scrypt is defined over this core (RFC 7914), which nothing else offers
	"golang.org/x/crypto/salsa20/salsa"
)

// cipher is opCipher: AES over whole blocks, or a key stream. The guest keeps what is left of a block, and pads (cipher.js).
func (in *interp) cipher(a arguments) uint64 {
	block, err := aes.NewCipher(in.view(a.bytes(1)))
	if err != nil {
		return in.null()
	}
	iv := make([]byte, aes.BlockSize)
	copy(iv, in.view(a.bytes(4)))
	crypt := crypter(a.text(0, maxName), block, iv)
	p, n := a.bytes(7)
	if crypt == nil {
		return in.null()
	}
	return in.buffer(int(n), func(dst []byte) {
		_ = in.pieces(n, func(from, to uint32) error { // pieces are whole blocks, but for the last one
			crypt(dst[from:to], in.view(p+from, to-from))
			return nil
		})
	})
}

// crypter is what turns source into destination, piece by piece; nil for a mode that is not known.
func crypter(mode string, block cipher.Block, iv []byte) func(dst, src []byte) {
	switch mode {
	case "cbc-encrypt":
		return wholeBlocks(cipher.NewCBCEncrypter(block, iv).CryptBlocks)
	case "cbc-decrypt":
		return wholeBlocks(cipher.NewCBCDecrypter(block, iv).CryptBlocks)
	case "ecb-encrypt":
		return wholeBlocks(eachBlock(block.Encrypt))
	case "ecb-decrypt":
		return wholeBlocks(eachBlock(block.Decrypt))
	case "ctr":
		return cipher.NewCTR(block, iv).XORKeyStream
	}
	return nil
}

// wholeBlocks leaves out what does not fill a block, which only a guest that is out of order asks for.
func wholeBlocks(crypt func(dst, src []byte)) func(dst, src []byte) {
	return func(dst, src []byte) {
		n := len(src) / aes.BlockSize * aes.BlockSize
		crypt(dst[:n], src[:n])
	}
}

func eachBlock(crypt func(dst, src []byte)) func(dst, src []byte) {
	return func(dst, src []byte) {
		for i := 0; i < len(src); i += aes.BlockSize {
			crypt(dst[i:], src[i:])
		}
	}
}

// gcmTag is opGCMTag. The whole is worked on in the host's memory, so it is bounded.
func (in *interp) gcmTag(a arguments) uint64 {
	block, err := aes.NewCipher(in.view(a.bytes(0)))
	nonce := in.view(a.bytes(3))
	_, more := a.bytes(6)
	p, n := a.bytes(9)
	if err != nil || len(nonce) == 0 {
		return in.null()
	}
	if n > maxCodec || more > maxCodec || len(nonce) > maxCodec {
		return in.tooLarge()
	}
	in.charge(int64(n) + int64(more) + int64(len(nonce)))
	gcm, err := cipher.NewGCMWithNonceSize(block, len(nonce))
	if err != nil {
		return in.null()
	}
	sealed := gcm.Seal(nil, nonce, in.view(p, n), in.view(a.bytes(6)))
	tag := sealed[n:]
	return in.buffer(len(tag), func(dst []byte) { copy(dst, tag) })
}

// maxScryptBlock bounds r of scrypt: the function works on blocks of 128 r bytes in the host's memory.
const maxScryptBlock = 1024

// scryptMix is opScryptMix: ROMix of scrypt (RFC 7914) over a block of 128 r bytes, N times there and back. The table of N blocks is
// the guest's memory.
func (in *interp) scryptMix(a arguments) uint64 {
	times, r := uint32(max(0, a.int(0))), uint32(max(0, a.int(1)))
	size := 128 * r
	if r == 0 || r > maxScryptBlock || times < 2 || times&(times-1) != 0 {
		return in.null()
	}
	table, ok := in.alloc(int(min(uint64(times)*uint64(size), 1<<31)))
	if !ok {
		return in.noMemory()
	}
	in.charge(2 * int64(times) * int64(size))
	x, y := make([]byte, size), make([]byte, size)
	copy(x, in.view(a.bytes(2)))
	row := func(i uint32) []byte { return in.view(table+i*size, size) }
	rest := max(1, pieceBytes/size) // rounds until the deadline is looked at
	for i := range times {
		copy(row(i), x)
		blockMix(x, y)
		if i%rest == 0 {
			in.look()
		}
	}
	for i := range times {
		j := binary.LittleEndian.Uint32(x[size-64:]) & (times - 1)
		subtle.XORBytes(x, x, row(j))
		blockMix(x, y)
		if i%rest == 0 {
			in.look()
		}
	}
	in.release(table)
	return in.buffer(len(x), func(dst []byte) { copy(dst, x) })
}

// blockMix is scryptBlockMix of b; y is as long, and overwritten.
func blockMix(b, y []byte) {
	const unit = 64
	n := len(b) / unit
	x := [unit]byte(b[len(b)-unit:])
	for i := range n {
		subtle.XORBytes(x[:], x[:], b[i*unit:(i+1)*unit])
		salsa.Core208(&x, &x)
		at := i / 2
		if i%2 == 1 {
			at += n / 2
		}
		copy(y[at*unit:], x[:])
	}
	copy(b, y)
}
