package trace

import (
	"encoding/binary"
	"math/bits"

	"logparser/parser/trace/wire"
)

// Skipping calls of which only the number and the time matter.
//
// If nothing is wanted of the calls within a call, only their number and the end of that call are needed. Records consist of
// 16-bit words. The lowest bit of a record's first word distinguishes an enter, which has three words, from a leave, which has
// one. So a table can process four words at a time: the number of words of an enter that are still to come and the lowest bits
// of the four words determine which words begin records, which contain deltas, and how the depth of the stack changes.

const (
	skimBits  = 0x0001000100010001 // lowest bits of four words
	skimWords = 4
)

// A skimStep describes four words of records.
type skimStep struct {
	// leaves has the bits of deltas in leaves, shifted right by one, and enters those of deltas in enters. second has, in first
	// words of enters, the bit that is set in all short enters.
	leaves, enters, second uint64
	// next is the state after the step: 16 times the number of words of an enter that are still to come.
	next int
	// events is the number of records that begin. depth is the change of the stack's depth, and least the lowest value of that
	// change in between, at most 0.
	events, depth, least int
}

// skimSteps has the steps by state plus the lowest bits of the four words. Only three states exist; the rest of the table is
// there so that masking an index replaces the check of its bounds.
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

// skim skips the short records in b from p on, up to the leave that ends the call entered just before p, at time time. It
// returns the offset after that leave, its time, and the number of records. ok is false if the leave is not among the next most
// records, or if a record comes that is not short; end is then the offset reached. All windows that enters use must be set.
func skim(b []byte, p int, time uint64, most int) (end int, at uint64, events int, ok bool) {
	depth, state := 1, 0
	for events+skimWords <= most && p+8 <= len(b) {
		// The number of steps is bounded so that the sums of deltas do not overflow.
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

// skimEnd is the last step of skim: it processes the words of v one by one. come is the number of words of an earlier enter
// that are still to come.
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

// at converts a time of the stretch to nanoseconds.
func (s *stretch) at(t uint64) int64 {
	hi, _ := bits.Mul64(t<<(s.up&63), s.rate)
	return s.zero + int64(hi)
}

// knownRecords returns a set of the lowest five bits of records. It contains those of all short leaves, and those of short
// enters whose window is set.
func (d *decoder) knownRecords() uint64 {
	const leaves = 0xaaaaaaaa
	known := uint64(leaves)
	for i := range d.windows {
		if d.windows[i].set {
			known |= 4 << (4 * i)
		}
	}
	return known
}
