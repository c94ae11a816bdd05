package export

import "logparser/rows"

// places caches a value for each of the addresses seen last. It is a hash table with linear probing, so that addresses do not
// evict each other as long as there are few.
type places[T any] struct {
	// slots has the indexes of addresses plus 1; 0 is a free slot.
	slots     [1 << placeBits]uint16
	addresses []uint64
	list      []T
}

const (
	placeBits = 12
	// mostPlaces is how many addresses are kept. When there are more, all are forgotten.
	mostPlaces = 1 << (placeBits - 2)
)

// at returns the cached value of an address. If the address is new, the value is the zero value or that of another address, so
// the caller must check it.
func (p *places[T]) at(address uint64) *T {
	s := rows.Slot(address, placeBits)
	for ; ; s++ {
		k := p.slots[s%uint64(len(p.slots))]
		if k == 0 {
			break
		}
		if p.addresses[k-1] == address {
			return &p.list[k-1]
		}
	}
	if len(p.addresses) == mostPlaces {
		clear(p.slots[:])
		p.addresses = p.addresses[:0]
		s = rows.Slot(address, placeBits)
	}
	n := len(p.addresses)
	p.addresses = append(p.addresses, address)
	if n == len(p.list) {
		p.list = append(p.list, *new(T))
	}
	p.slots[s%uint64(len(p.slots))] = uint16(n + 1)
	return &p.list[n]
}
