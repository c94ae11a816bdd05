package compare

import (
	"encoding/binary"

	"logparser/message"
)

// magic begins what Encode returns. It is another one after each change of the format, which is
//
//	number of chains
//	for each chain:
//	    number of events
//	    the hashes, 8 bytes each, little-endian
//	    the rows, each less the one before
//	    number of elements of First; of each the event, less the one before, and the address
//
// All numbers but the hashes are varints. How many hashes and rows there are follows from the events.
const magic = "LPCHAIN\x01"

var errChains = message.New("what is kept of the sequences of calls is damaged")

// Encode returns the bytes of chains.
func Encode(chains []Chain) []byte {
	b := binary.AppendUvarint([]byte(magic), uint64(len(chains)))
	for i := range chains {
		c := &chains[i]
		b = binary.AppendUvarint(b, uint64(c.Events))
		for _, h := range c.Hashes {
			b = binary.LittleEndian.AppendUint64(b, h)
		}
		before := int64(0)
		for _, row := range c.Rows {
			b = binary.AppendUvarint(b, uint64(row-before))
			before = row
		}
		b = binary.AppendUvarint(b, uint64(len(c.First)))
		before = 0
		for _, f := range c.First {
			b = binary.AppendUvarint(b, uint64(f.Event-before))
			b = binary.AppendUvarint(b, uint64(f.Address))
			before = f.Event
		}
	}
	return b
}

// Decode returns the chains that Encode made bytes of. The index that they belong to has so many slots,
// rows and addresses; chains that contradict it are damaged.
func Decode(b []byte, slots int, rows int64, addresses int) ([]Chain, error) {
	if len(b) < len(magic) || string(b[:len(magic)]) != magic {
		return nil, errChains
	}
	b = b[len(magic):]
	bad := false
	number := func(most int64) int64 {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > uint64(max(most, 0)) {
			b, bad = nil, true
			return 0
		}
		b = b[n:]
		return int64(v)
	}
	if number(int64(slots)) != int64(slots) {
		return nil, errChains
	}
	chains := make([]Chain, slots)
	for i := range chains {
		c := &chains[i]
		c.Events = number(rows)
		hashes, starts := c.Events/ChainEvery, (c.Events+ChainEvery-1)/ChainEvery
		if bad || hashes*8+starts > int64(len(b)) {
			return nil, errChains
		}
		c.Hashes, c.Rows = make([]uint64, hashes), make([]int64, starts)
		for k := range c.Hashes {
			c.Hashes[k] = binary.LittleEndian.Uint64(b[8*k:])
		}
		b = b[8*hashes:]
		row := int64(0)
		for k := range c.Rows {
			row += number(rows - 1 - row)
			c.Rows[k] = row
		}
		n := number(min(int64(addresses), int64(len(b)/2)))
		c.First = make([]Appearance, n)
		event := int64(0)
		for k := range c.First {
			event += number(c.Events - 1 - event)
			c.First[k] = Appearance{event, uint32(number(int64(addresses) - 1))}
		}
		if bad {
			return nil, errChains
		}
	}
	if len(b) > 0 {
		return nil, errChains
	}
	return chains, nil
}
