package pairing

import (
	"iter"
	"math"

	"logparser/calls"
)

// An addressStats is an address on a thread, with the sums of its calls: three cache lines of
// 64 bytes, of which a call needs two.
type addressStats struct {
	address uint64
	// key is the thread and the space.
	key          uint64
	calls, timed uint32
	// open is how often it is on the stack, in a segment of the calls entered in it.
	open       uint32
	block      uint32 // the last in which it was seen
	time, self int64
	max, min   int64

	// pending is how many pending leaves the thread had when time was
	// last added but for recursive.
	pending uint32
	// zeros are further timed calls, which took no time.
	zeros   uint32
	octaves uint32
	// near are the counts of the first octaves, noOctave for none.
	near [nearOctaves]uint32

	recursive int64
	number    uint32
	// other is the number of its records besides calls, timed and zeros.
	other   int32
	touched bool
	// absent says that the address must not be open at the segment's start.
	absent bool
	_      [46]byte
}

// add counts a call that took some time.
func (c *addressStats) add(d, children int64) {
	c.timed++
	c.time += d
	c.self += calls.SelfTime(d, children)
	c.max, c.min = max(c.max, d), min(c.min, d)
}

// close counts a call that was closed by an event of another address, or is a node.
func (c *addressStats) close(octaves *[]octaveCounts, d, children int64) {
	c.other--
	c.add(d, children)
	if c.open > 0 {
		c.recursive += d
	}
	c.count(octaves, d)
}

// clear forgets what was counted.
func (c *addressStats) clear() {
	c.calls, c.timed, c.zeros, c.other, c.octaves = 0, 0, 0, 0, noOctave
	c.near = [nearOctaves]uint32{}
	c.time, c.self, c.recursive, c.max, c.min = 0, 0, 0, 0, math.MaxInt64
}

const noOctave = 0

// An octaveCounts is an octave of the histogram of an address; those of one are linked. The
// first of a list of them stands for none.
type octaveCounts struct {
	next   uint32
	octave uint32
	counts [calls.HistogramSteps]uint32
}

// nearOctaves are those that the statistics of an address find at once: up to 64 us.
const nearOctaves = 13

// count counts a duration in the histogram of an address.
func (c *addressStats) count(list *[]octaveCounts, d int64) {
	o, step := calls.BucketOf(d)
	if o < nearOctaves {
		i := c.near[o]
		if i == noOctave {
			i = c.addOctave(list, uint32(o))
			c.near[o] = i
		}
		(*list)[i].counts[step]++
		return
	}
	i := c.octaves
	for i != noOctave && (*list)[i].octave != uint32(o) {
		i = (*list)[i].next
	}
	if i == noOctave {
		i = c.addOctave(list, uint32(o))
	}
	(*list)[i].counts[step]++
}

func (c *addressStats) addOctave(list *[]octaveCounts, octave uint32) uint32 {
	i := uint32(len(*list))
	*list = append(*list, octaveCounts{next: c.octaves, octave: octave})
	c.octaves = i
	return i
}

// A Sum is what the calls of an address come to that a [Store] has not been told of. Times
// are in nanoseconds.
type Sum struct {
	// Records counts its records, Calls its enters, Timed calls of which both halves are
	// known, and Zeros further such calls, which took no time and are in nothing else here.
	Records, Calls, Timed, Zeros int64
	// Time and Self are of the timed calls. Recursive is the part of Time that was spent
	// in calls made while another of the address was open.
	Time, Self, Recursive int64
	// Min and Max are those of the timed calls: the greatest number and 0 where there is
	// none.
	Min, Max int64

	octaves []octaveCounts
	first   uint32
}

// Octaves returns the histogram of the timed calls: how many fall into the buckets of each of
// its octaves.
func (s *Sum) Octaves() iter.Seq2[uint32, *[calls.HistogramSteps]uint32] {
	return func(yield func(uint32, *[calls.HistogramSteps]uint32) bool) {
		for i := s.first; i != noOctave; i = s.octaves[i].next {
			if o := &s.octaves[i]; !yield(o.octave, &o.counts) {
				return
			}
		}
	}
}

// sum returns the sum of an address.
func (c *addressStats) sum(octaves []octaveCounts) Sum {
	return Sum{
		Records: int64(c.calls) + int64(c.timed) + int64(c.zeros) + int64(c.other), Calls: int64(c.calls), Timed: int64(c.timed), Zeros: int64(c.zeros),
		Time: c.time, Self: c.self, Recursive: c.recursive, Min: c.min, Max: c.max, octaves: octaves, first: c.octaves,
	}
}
