package calls

import (
	"math/bits"
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// An Address is one distinct address of a run in a space.
type Address struct {
	// Value is the address (a VA) as recorded.
	Value uint64
	// Records counts the records that have it; damaged ones do not count.
	Records int64
	// Run is an index into the runs that the index was made for.
	Run int32
	// Space is the records' Event.Space.
	Space uint16
}

// Addresses are the distinct addresses of a log, numbered from 0 in the order
// in which they first appear. The numbers are for tables of what belongs to
// an address: each is resolved once, and a row finds it by [Addresses.Find].
// More are added when the log grows; the number of an address never changes.
// All methods are safe for concurrent use.
type Addresses struct {
	mu   sync.RWMutex // guards what follows
	list store[Address]
	hash hash
	// index is what Find needs, without the lock: the store's chunks and the
	// hash's slots, which are written while it reads them.
	index atomic.Pointer[addressIndex]
}

type addressIndex struct {
	chunks []*[1 << chunkBits]Address
	hash   hash
}

// NewAddresses returns an empty set of addresses.
func NewAddresses() *Addresses {
	a := &Addresses{hash: newHash()}
	a.publish()
	return a
}

// Add returns the number of an address (a VA) of a run in a space, which it
// adds if it is new.
func (a *Addresses) Add(run int, space uint16, address uint64) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return int(a.add(int32(run), space, address))
}

// Count adds n to the records of address i.
func (a *Addresses) Count(i int, n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list.at(uint32(i)).Records += n
}

// publish makes a new index, when the store has another chunk or the hash
// other slots.
func (a *Addresses) publish() { a.index.Store(&addressIndex{a.list.chunks, a.hash}) }

// Len returns the number of distinct addresses.
func (a *Addresses) Len() int {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return int(a.list.n)
}

// At returns address i, 0 <= i < Len().
func (a *Addresses) At(i int) Address {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return *a.list.at(uint32(i))
}

// Find returns the number of an address (a VA) of a run in a space.
func (a *Addresses) Find(run int, space uint16, address uint64) (int, bool) {
	x := a.index.Load()
	h := &x.hash
	for s := h.start(address, spaceKey(int32(run), space)); ; s++ {
		i := atomic.LoadUint32(&h.slots[s&h.mask])
		if i == 0 {
			return 0, false
		}
		i--
		if int(i>>chunkBits) >= len(x.chunks) {
			// Added since; its chunk was published before its slot was set.
			return a.Find(run, space, address)
		}
		if e := &x.chunks[i>>chunkBits][i&(1<<chunkBits-1)]; e.Value == address && e.Space == space && e.Run == int32(run) {
			return int(i), true
		}
	}
}

// add returns the number of an address, which it adds if it is new.
func (a *Addresses) add(run int32, space uint16, address uint64) uint32 {
	h := &a.hash
	s := h.start(address, spaceKey(run, space))
	for ; h.slots[s&h.mask] != 0; s++ {
		i := h.slots[s&h.mask] - 1
		if e := a.list.at(i); e.Value == address && e.Space == space && e.Run == run {
			return i
		}
	}
	chunks := len(a.list.chunks)
	i := a.list.add()
	*a.list.at(i) = Address{Value: address, Run: run, Space: space}
	if len(a.list.chunks) > chunks {
		a.publish()
	}
	atomic.StoreUint32(&h.slots[s&h.mask], i+1)
	if h.full(a.list.n) {
		h.grow()
		for k := range a.list.n {
			e := a.list.at(k)
			h.put(h.start(e.Value, spaceKey(e.Run, e.Space)), k)
		}
		a.publish()
	}
	return i
}

// spaceKey joins a run and a space for the hash.
func spaceKey(run int32, space uint16) uint64 { return uint64(uint32(run))<<16 | uint64(space) }

// A hash is the slots of an open-addressing table: 0, or 1 plus an index into
// the store that holds the keys. Its seed is random, so that no log can be
// made whose addresses collide.
type hash struct {
	slots []uint32
	mask  uint32
	seed  [2]uint64
}

func newHash() hash {
	return hash{slots: make([]uint32, 1024), mask: 1023, seed: [2]uint64{rand.Uint64(), rand.Uint64()}}
}

// start returns the slot where the search for a key begins, not yet reduced
// to the table's size.
func (h *hash) start(key, space uint64) uint32 {
	hi, lo := bits.Mul64(key^h.seed[0], space^h.seed[1])
	return uint32(hi ^ lo)
}

func (h *hash) full(n uint32) bool { return uint64(n)*8 > uint64(len(h.slots))*5 }

func (h *hash) grow() {
	h.slots = make([]uint32, 2*len(h.slots))
	h.mask = uint32(len(h.slots) - 1)
}

func (h *hash) put(s, index uint32) {
	for ; h.slots[s&h.mask] != 0; s++ {
	}
	h.slots[s&h.mask] = index + 1
}

// A Thread is a thread id of the log.
type Thread struct {
	ID uint32
	// Records counts its records; damaged ones do not count, because their
	// thread id may be the damage.
	Records int64
}
