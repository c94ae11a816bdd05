package index

import (
	"math"

	"logparser/calls"
)

const noSlab = 0

// A slab is an octave of a histogram; those of one histogram are linked. The
// first slab of a list of them stands for none.
type slab struct {
	next   uint32
	octave uint32
	counts [calls.HistogramSteps]uint64
}

// A tally is a slab of a cell. Not so much is counted in it.
type tally struct {
	next   uint32
	octave uint32
	counts [calls.HistogramSteps]uint32
}

// nearOctaves are those whose tallies a cell finds at once: up to 64 us.
const nearOctaves = 13

// count counts a duration in the histogram of a cell.
func (c *cell) count(tallies *[]tally, d int64) {
	o, step := calls.BucketOf(d)
	if o < nearOctaves {
		i := c.near[o]
		if i == noSlab {
			i = c.addTally(tallies, uint32(o))
			c.near[o] = i
		}
		(*tallies)[i].counts[step]++
		return
	}
	i := c.slab
	for i != noSlab && (*tallies)[i].octave != uint32(o) {
		i = (*tallies)[i].next
	}
	if i == noSlab {
		i = c.addTally(tallies, uint32(o))
	}
	(*tallies)[i].counts[step]++
}

func (c *cell) addTally(tallies *[]tally, octave uint32) uint32 {
	i := uint32(len(*tallies))
	*tallies = append(*tallies, tally{next: c.slab, octave: octave})
	c.slab = i
	return i
}

// A sum is what the calls of an address come to.
type sum struct {
	calls, timed int64
	// recursive is the part of time that was spent in calls made while another
	// of the address was open.
	time, self, recursive int64
	min, max              int64
	slab                  uint32
}

// maxTotals is the number of distinct addresses beyond which no totals are
// kept.
const maxTotals = 1 << 21

// totals are the sums of all addresses by number.
type totals struct {
	list  []sum
	slabs []slab
	many  bool
}

func newTotals() totals { return totals{slabs: make([]slab, 1)} }

// at returns the sum of an address, or nil where there are too many.
func (t *totals) at(address uint32) *sum {
	if address >= maxTotals {
		*t = totals{many: true}
	}
	if t.many {
		return nil
	}
	for uint32(len(t.list)) <= address {
		t.list = append(t.list, sum{min: math.MaxInt64})
	}
	return &t.list[address]
}

// slab returns the slab of an octave of a sum, which it adds if need be.
func (t *totals) slab(s *sum, octave uint32) *slab {
	for i := s.slab; i != noSlab; i = t.slabs[i].next {
		if t.slabs[i].octave == octave {
			return &t.slabs[i]
		}
	}
	t.slabs = append(t.slabs, slab{next: s.slab, octave: octave})
	s.slab = uint32(len(t.slabs) - 1)
	return &t.slabs[s.slab]
}

// merge adds the histogram of a cell.
func (t *totals) merge(s *sum, from []tally, head uint32) {
	for i := head; i != noSlab; i = from[i].next {
		to := t.slab(s, from[i].octave)
		for k, n := range &from[i].counts {
			to.counts[k] += uint64(n)
		}
	}
}

// zeros adds calls that took no time to a histogram.
func (t *totals) zeros(s *sum, n uint32) { t.slab(s, 0).counts[0] += uint64(n) }

// total returns a sum for callers.
func (t *totals) total(s *sum) calls.Total {
	r := calls.Total{Calls: s.calls, Timed: s.timed, Sum: s.time, Self: s.self, NonRecursive: s.time - s.recursive, Min: s.min, Max: s.max}
	if s.timed == 0 {
		r.Min = 0
	}
	n := 0
	for i := s.slab; i != noSlab; i = t.slabs[i].next {
		n++
	}
	r.Histogram = calls.NewHistogram(n)
	for i := s.slab; i != noSlab; i = t.slabs[i].next {
		*r.Histogram.Octave(int(t.slabs[i].octave)) = t.slabs[i].counts
	}
	return r
}
