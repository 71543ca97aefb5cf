package python

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/cloche-dev/cloche/engine/vm"
)

// twister is a Mersenne twister: 624 words of state and the number of those that are used up.
type twister struct {
	Words []uint32 `json:"words,omitempty"` // as they are when the image is complete
	Near  uint32   `json:"near,omitempty"`  // the object that holds them
	// After says that the number follows the words; otherwise it precedes them.
	After bool   `json:"after,omitempty"`
	Used  uint32 `json:"used"`
	At    uint32 `json:"at"` // address of the words, found by locate
}

const (
	twisterWords = 624
	twisterBytes = 4 * twisterWords
	twisterReach = 64 << 10 // how far behind its object a state is looked for
)

// locate finds the words of t in memory behind its object, and checks the counter beside them.
func (t *twister) locate(mem vm.Memory) error {
	if len(t.Words) != twisterWords {
		return fmt.Errorf("%d words of state, want %d", len(t.Words), twisterWords)
	}
	var want [twisterBytes]byte
	for i, w := range t.Words {
		binary.LittleEndian.PutUint32(want[4*i:], w)
	}
	view, ok := mem.Read(t.Near, min(twisterReach, mem.Size()-min(t.Near, mem.Size())))
	if !ok {
		return errors.New("its object is outside of memory")
	}
	i := bytes.Index(view, want[:])
	if i < 0 || bytes.Contains(view[i+4:], want[:]) {
		return errors.New("its state is not where it was expected")
	}
	t.At = t.Near + uint32(i)
	if used, ok := mem.ReadUint32(t.counter()); !ok || used != t.Used {
		return errors.New("its counter is not beside its state")
	}
	t.Words, t.Near = nil, 0
	return nil
}

func (t *twister) counter() uint32 {
	if t.After {
		return t.At + twisterBytes
	}
	return t.At - 4
}

// renew gives t a state of its own: fresh words, all used up, so that the next number makes new ones. They are stretched from
// a key of 256 bits, since to ask the system for all of them takes a twentieth of a short run.
func (t *twister) renew(mem vm.Memory, entropy func(int) []byte) bool {
	words, ok := mem.Read(t.At, twisterBytes)
	key := entropy(32)
	if !ok || len(key) != 32 {
		return false
	}
	_, _ = rand.NewChaCha8([32]byte(key)).Read(words) // cannot fail
	words[3] |= 0x80                                  // the one bit of the first word that counts; with it the state is never all zero
	return mem.WriteUint32(t.counter(), twisterWords)
}
