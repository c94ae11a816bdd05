package index

import (
	"math/bits"
	"math/rand/v2"
)

// A hash is the slots of an open-addressing table: 0, or 1 plus an index of
// what holds the keys. Its seed is random, so that no log can be made whose
// keys collide.
type hash struct {
	slots []uint32
	mask  uint32
	seed  [2]uint64
}

func newHash() hash {
	return hash{slots: make([]uint32, 256), mask: 255, seed: [2]uint64{rand.Uint64(), rand.Uint64()}}
}

func (h *hash) start(a, b uint64) uint32 {
	hi, lo := bits.Mul64(a^h.seed[0], b^h.seed[1])
	return uint32(hi ^ lo)
}

// full reports whether the slots are too few for n keys. A small table is kept
// sparse: a key that is not in its first slot costs a wrong prediction of the
// processor.
func (h *hash) full(n int) bool {
	return n*8 > len(h.slots) && (n*2 > len(h.slots) || len(h.slots) < 1<<16)
}

func (h *hash) grow() {
	h.slots = make([]uint32, 2*len(h.slots))
	h.mask = uint32(len(h.slots) - 1)
}

func (h *hash) put(s, index uint32) {
	for ; h.slots[s&h.mask] != 0; s++ {
	}
	h.slots[s&h.mask] = index + 1
}

// reset empties the slots; n is how many keys there were.
func (h *hash) reset(n int) {
	if len(h.slots) > 1<<12 && n*32 < len(h.slots) {
		*h = newHash()
		return
	}
	clear(h.slots)
}
