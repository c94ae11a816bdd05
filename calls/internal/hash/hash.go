// Package hash has the open-addressing table by which package calls and its rooms find
// addresses and threads.
package hash

import (
	"math/bits"
	"math/rand/v2"
)

// A Table finds the index of a key in a list that the caller has, which also holds the keys.
// Its seed is random, so that no log can be made whose keys collide. It is not safe for
// concurrent use, but a copy of it may be read while the other's slots are written
// atomically.
type Table struct {
	// Slots are 0, or 1 plus an index. Their number is a power of two.
	Slots []uint32
	seed  [2]uint64
}

// New makes an empty table.
func New() Table {
	return Table{Slots: make([]uint32, 256), seed: [2]uint64{rand.Uint64(), rand.Uint64()}}
}

// Start returns where the search for a key begins, for [Table.At]. It goes on with the
// numbers that follow, up to an empty slot.
func (t *Table) Start(a, b uint64) uint32 {
	hi, lo := bits.Mul64(a^t.seed[0], b^t.seed[1])
	return uint32(hi ^ lo)
}

// At returns the slot that s, of any size, stands for.
func (t *Table) At(s uint32) uint32 { return t.Slots[int(s)&(len(t.Slots)-1)] }

// Full reports whether the slots are too few for n keys. A small table is kept sparse: a key
// that is not in its first slot costs a wrong prediction of the processor.
func (t *Table) Full(n int) bool {
	return n*8 > len(t.Slots) && (n*2 > len(t.Slots) || len(t.Slots) < 1<<16)
}

// Grow doubles the slots and empties them: all keys are to be put in again.
func (t *Table) Grow() { t.Slots = make([]uint32, 2*len(t.Slots)) }

// Put notes the index of a key that is not in the table, whose search begins at s.
func (t *Table) Put(s, index uint32) {
	for ; t.At(s) != 0; s++ {
	}
	t.Slots[int(s)&(len(t.Slots)-1)] = index + 1
}

// Reset empties a table of n keys.
func (t *Table) Reset(n int) {
	if len(t.Slots) > 1<<12 && n*32 < len(t.Slots) {
		*t = New()
		return
	}
	clear(t.Slots)
}
