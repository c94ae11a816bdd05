package trace

import (
	"encoding/binary"
	"math/bits"

	"logparser/parser/trace/wire"
)

// Going over calls of which only the number and the time count.
//
// Where nothing is asked of the calls within a call, it is enough to know how many they are and when that call ends. Records are a
// number of 16-bit words, and the lowest bit of a record's first word tells an enter, which has three, from a leave, which has one. So
// four words at a time can be gone over by a table: from how many words of an enter are still to come and from the lowest bits of the
// four words follows which words begin records, which have deltas, and how deep the stack gets.

const (
	skimBits  = 0x0001000100010001 // the lowest bits of four words
	skimWords = 4
)

// A skimStep says what four words of records are.
type skimStep struct {
	// leaves and enters have, in the words that have them, the bits of deltas, that of a leave shifted down by one.
	// second has the bit in first words of enters that all short enters have set.
	leaves, enters, second uint64
	// next is where in the table the next step is: 16 times the words of an enter that are still to come.
	next int
	// events is how many records begin. depth is how many calls more are open behind them, and least that number when it
	// was least, 0 at most.
	events, depth, least int
}

// skimSteps is by 16 times the words of an enter that come first and the lowest bits of the words. What is behind the third part is there
// so that masking an index replaces the check of its bounds.
var skimSteps = func() (table [64]skimStep) {
	for i := range 48 {
		s, skip := &table[i], i/16
		for word := range skimWords {
			at := 16 * word
			switch {
			case skip > 0:
				if skip--; skip == 0 {
					s.enters |= wire.MaxWordDelta << at
				}
			case i>>word&1 != 0:
				s.leaves |= wire.MaxShortDelta << at
				s.depth--
				s.events++
			default:
				s.second |= 2 << at
				s.depth++
				s.events++
				skip = wire.ShortEnterSize/2 - 1
			}
			s.least = min(s.least, s.depth)
		}
		s.next = 16 * skip
	}
	return table
}()

// skim goes over the short records in b from p on, up to the leave that ends the call which was entered just before, at a time. It
// returns where that leave ends, its time and how many records there were. It is not ok where the leave is not among so many records,
// or where a record comes that is not short; end is how far it came then. All windows that enters need must be set.
func skim(b []byte, p int, time uint64, most int) (end int, at uint64, events int, ok bool) {
	depth, state := 1, 0
	for events+skimWords <= most && p+8 <= len(b) {
		// The sums of deltas must not overflow.
		last := min(len(b)-8, p+8<<14)
		sums := uint64(0)
		for p <= last && events+skimWords <= most {
			v := binary.LittleEndian.Uint64(b[p : p+8 : p+8])
			s := &skimSteps[(state+int(v&skimBits*0x1000200040008>>48&15))&63]
			if depth+s.least <= 0 {
				return skimEnd(v, p, time+sums&0xffffffff+sums>>32, state/16, depth, events)
			}
			if v&s.second != s.second {
				return p, 0, 0, false
			}
			deltas := v>>1&s.leaves | v&s.enters
			sums += deltas&0x0000ffff0000ffff + deltas>>16&0x0000ffff0000ffff
			depth += s.depth
			events += s.events
			state = s.next
			p += 8
		}
		time += sums&0xffffffff + sums>>32
	}
	return p, 0, 0, false
}

// skimEnd goes over the words of v one by one, the last step of skim. Of an enter before them some may still be to come.
func skimEnd(v uint64, p int, time uint64, come, depth, events int) (end int, at uint64, n int, ok bool) {
	for ; ; v, p = v>>16, p+2 {
		switch {
		case come > 0:
			if come--; come == 0 {
				time += v & wire.MaxWordDelta
			}
			continue
		case v&1 != 0:
			depth--
			time += wire.LeaveDelta(v)
		case v&2 != 0:
			depth++
			come = wire.ShortEnterSize/2 - 1
		default:
			return p, 0, 0, false
		}
		if events++; depth == 0 {
			return p + wire.ShortLeaveSize, time, events, true
		}
	}
}

// at converts a time that counts from units.
func (s *stretch) at(t uint64) int64 {
	hi, lo := bits.Mul64(t, s.rate)
	return s.zero + int64(hi<<(s.up&63)|lo>>(s.down&63))
}
