package export

import "logparser/rows"

// places keeps what belongs to the addresses that were seen last. One finds it by probing, so
// that addresses do not drive each other out as long as they are few.
type places[T any] struct {
	// slots has 1 + the index of an address.
	slots     [1 << placeBits]uint16
	addresses []uint64
	list      []T
}

const (
	placeBits = 12
	// mostPlaces is how many addresses are kept before all are forgotten.
	mostPlaces = 1 << (placeBits - 2)
)

// at returns what belongs to an address. Where that was not seen it is what another one had,
// or nothing.
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
