package index

import (
	"math"

	"logparser/calls"
	"logparser/calls/pairing"
)

const noOctave = 0

// nearOctaves are those that the totals of an address find at once: up to 64 us.
const nearOctaves = 13

// An octaveCounts is an octave of a histogram; those of one histogram are linked. The
// first of a list of them stands for none.
type octaveCounts struct {
	next   uint32
	octave uint32
	counts [calls.HistogramSteps]uint64
}

// A sum is what the calls of an address come to.
type sum struct {
	calls, timed int64
	// recursive is the part of time that was spent in calls made while another
	// of the address was open.
	time, self, recursive int64
	min, max              int64
	octaves               uint32
}

// maxTotals is the number of distinct addresses beyond which no totals are
// kept.
const maxTotals = 1 << 21

// totals are the sums of all addresses by number.
type totals struct {
	list    []sum
	octaves []octaveCounts
	many    bool
	// near are the counts of the first octaves of each, noOctave where they were not asked for.
	near [][nearOctaves]uint32
}

func newTotals() totals { return totals{octaves: make([]octaveCounts, 1)} }

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

// octave returns the counts of an octave of an address, which it adds if need be.
func (t *totals) octave(address, octave uint32) *octaveCounts {
	if octave >= nearOctaves {
		return &t.octaves[t.findOctave(address, octave)]
	}
	for len(t.near) <= int(address) {
		t.near = append(t.near, [nearOctaves]uint32{})
	}
	i := &t.near[address][octave]
	if *i == noOctave {
		*i = t.findOctave(address, octave)
	}
	return &t.octaves[*i]
}

func (t *totals) findOctave(address, octave uint32) uint32 {
	s := &t.list[address]
	for i := s.octaves; i != noOctave; i = t.octaves[i].next {
		if t.octaves[i].octave == octave {
			return i
		}
	}
	t.octaves = append(t.octaves, octaveCounts{next: s.octaves, octave: octave})
	s.octaves = uint32(len(t.octaves) - 1)
	return s.octaves
}

// add adds to the totals of an address.
func (t *totals) add(address uint32, a *pairing.Sum) {
	s := t.at(address)
	if s == nil {
		return
	}
	s.calls += a.Calls
	s.timed += a.Timed + a.Zeros
	s.time += a.Time
	s.self += a.Self
	s.recursive += a.Recursive
	s.min, s.max = min(s.min, a.Min), max(s.max, a.Max)
	for octave, counts := range a.Octaves() {
		to := t.octave(address, octave)
		for k, n := range counts {
			to.counts[k] += uint64(n)
		}
	}
	if a.Zeros > 0 {
		s.min = 0
		t.octave(address, 0).counts[0] += uint64(a.Zeros)
	}
}

// total returns a sum for callers.
func (t *totals) total(s *sum) calls.Total {
	r := calls.Total{Calls: s.calls, Timed: s.timed, Sum: s.time, Self: s.self, NonRecursive: s.time - s.recursive, Min: s.min, Max: s.max}
	if s.timed == 0 {
		r.Min = 0
	}
	n := 0
	for i := s.octaves; i != noOctave; i = t.octaves[i].next {
		n++
	}
	r.Histogram = calls.NewHistogram(n)
	for i := s.octaves; i != noOctave; i = t.octaves[i].next {
		*r.Histogram.Octave(int(t.octaves[i].octave)) = t.octaves[i].counts
	}
	return r
}
