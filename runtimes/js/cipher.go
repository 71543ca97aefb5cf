package js

import (
	"crypto/aes"
	"crypto/cipher"

	"github.com/cloche-dev/cloche/runtimes/digest"
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

// stretch is opStretch. A guest in good order asks for no more than one call does.
func (in *interp) stretch(a arguments) uint64 {
	function, rounds := digest.Named(a.text(0, maxName)), a.int(1)
	key, keySize := a.bytes(2)
	u, uSize := a.bytes(5)
	sum, sumSize := a.bytes(8)
	newU, newSum, worked := digest.Stretch(function, int64(rounds), in.view(key, keySize), in.view(u, uSize), in.view(sum, sumSize))
	if newU == nil {
		fault("wrong use of stretch")
	}
	in.charge(worked)
	in.put(u, newU)
	in.put(sum, newSum)
	return in.null()
}

// mix is opMix. A guest in good order asks for no more than one call does.
func (in *interp) mix(a arguments) uint64 {
	from, to := a.int(0), a.int(1)
	x, size := a.bytes(2)
	table, tableSize := a.bytes(5)
	mixed, worked := digest.Mix(uint64(from), uint64(to), in.view(x, size), in.view(table, tableSize))
	if mixed == nil {
		fault("wrong use of mix")
	}
	in.charge(worked)
	in.put(x, mixed)
	return in.null()
}
