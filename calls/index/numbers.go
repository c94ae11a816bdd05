package index

import (
	"logparser/calls"
	"logparser/parser"
)

// A recentAddress is the number of an address.
type recentAddress struct {
	address uint64
	// space is the run, from 1, and the space in the lowest 16 bits.
	space  uint64
	number uint32
}

const recentBits = 12

// read reads the events of rows that are all there, with their times if timed.
func (c *core) read(l *calls.Layout, dst []parser.Event, row int64, timed bool) error {
	readEvents := c.log.ReadEvents
	if c.can.UntimedReader != nil && !timed {
		readEvents = c.can.UntimedReader.ReadUntimed
	}
	for len(dst) > 0 {
		run, record := l.Position(row)
		n := min(int64(len(dst)), l.Starts[run+1]-row)
		if _, err := parser.ReadFull(readEvents, dst[:n], record); err != nil {
			return err
		}
		dst, row = dst[n:], row+n
	}
	return nil
}

// number fills dst with the numbers of the events' addresses.
func (r *replay) number(a *calls.Addresses, l *calls.Layout, row int64, events []parser.Event, dst []uint32) {
	if r.owner != a {
		r.owner, r.recent = a, make([]recentAddress, 1<<recentBits)
	}
	recent := r.recent[:1<<recentBits]
	run, _ := l.Position(row)
	for len(events) > 0 {
		for row >= l.Starts[run+1] {
			run++
		}
		n := int(min(int64(len(events)), l.Starts[run+1]-row))
		spaces := (uint64(run) + 1) << 16
		numbers := dst[:n]
		for i := range events[:len(numbers)] {
			e := &events[i]
			m := &recent[e.Address*0x9e3779b97f4a7c15>>(64-recentBits)]
			if m.address != e.Address || m.space != spaces|uint64(e.Space) {
				n, ok := a.Find(run, e.Space, e.Address)
				if !ok {
					numbers[i] = 0 // of a damaged record
					continue
				}
				*m = recentAddress{e.Address, spaces | uint64(e.Space), uint32(n)}
			}
			numbers[i] = m.number
		}
		events, dst, row = events[n:], dst[n:], row+int64(n)
	}
}

// owners fills the column of the slots of the events' threads.
func (r *replay) owners(c *core, b *Block, events []parser.Event) {
	if !c.pairs.HasStacks() {
		b.Owner = b.Thread
		return
	}
	b.owner = sized(b.owner, len(events))
	b.Owner = b.owner
	owner := NoThread
	for i := range events {
		if e := &events[i]; i == 0 || e.Thread != events[i-1].Thread {
			owner = NoThread
			if _, slot, ok := c.pairs.Strand(e.Thread); ok {
				owner = slot
			}
		}
		if b.Owner[i] = owner; b.Thread[i] == NoThread {
			b.Owner[i] = NoThread
		}
	}
}
