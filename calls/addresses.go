package calls

import (
	"sync"
	"sync/atomic"

	"logparser/calls/internal/hash"
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
	hash hash.Table
	// index is what Find needs, without the lock: the store's chunks and the
	// hash's slots, which are written while it reads them.
	index atomic.Pointer[addressIndex]
}

type addressIndex struct {
	chunks []*[1 << chunkBits]Address
	hash   hash.Table
}

// NewAddresses returns an empty set of addresses.
func NewAddresses() *Addresses {
	a := &Addresses{hash: hash.New()}
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
	for s := h.Start(address, spaceKey(int32(run), space)); ; s++ {
		i := atomic.LoadUint32(&h.Slots[int(s)&(len(h.Slots)-1)])
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
	s := h.Start(address, spaceKey(run, space))
	for ; h.At(s) != 0; s++ {
		i := h.At(s) - 1
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
	atomic.StoreUint32(&h.Slots[int(s)&(len(h.Slots)-1)], i+1)
	if h.Full(int(a.list.n)) {
		h.Grow()
		for k := range a.list.n {
			e := a.list.at(k)
			h.Put(h.Start(e.Value, spaceKey(e.Run, e.Space)), k)
		}
		a.publish()
	}
	return i
}

// spaceKey joins a run and a space for the hash.
func spaceKey(run int32, space uint16) uint64 { return uint64(uint32(run))<<16 | uint64(space) }

// A Thread is a thread id of the log.
type Thread struct {
	ID uint32
	// Records counts its records; damaged ones do not count, because their
	// thread id may be the damage.
	Records int64
}
