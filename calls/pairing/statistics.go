package pairing

import (
	"iter"
	"math"

	"logparser/calls"
)

// An addressStats is an address on a thread, with the sums of its calls: two cache lines of
// 64 bytes, of which an enter needs the first.
type addressStats struct {
	address uint64
	// key is the thread and the space.
	key          uint64
	calls, timed uint32
	// open is how often it is on the stack, in a segment of the calls entered in it.
	open       uint32
	block      uint32 // the last in which it was seen
	time, self int64
	// pending is how many pending leaves the thread had when time was
	// last added but for recursive.
	pending uint32
	// near is 1 + where its counts of the first octaves are, octaves where those of others are, noOctave for none.
	near, octaves uint32
	// zeros are further timed calls, which took no time.
	zeros uint32

	max, min  int64
	recursive int64
	number    uint32
	// other is the number of its records besides calls, timed and zeros.
	other int32
	// boundary is 1 + the index of its last boundary time, 0 for none.
	boundary uint32
	touched  bool
	// shared says that near belongs to others as well, and is no part of its sum.
	shared bool
	// absent says that the address must not be open at the segment's start.
	absent bool
	_      [25]byte
}

// add counts a call that took some time.
func (c *addressStats) add(d, children int64) {
	c.timed++
	c.time += d
	c.self += calls.SelfTime(d, children)
	c.max, c.min = max(c.max, d), min(c.min, d)
}

// close counts a call that was closed by an event of another address, or is a node.
func (c *addressStats) close(h *histograms, d, children int64) {
	c.other--
	c.add(d, children)
	if c.open > 0 {
		c.recursive += d
	}
	h.count(c, d)
}

// clear forgets what was counted.
func (c *addressStats) clear() {
	c.calls, c.timed, c.zeros, c.other, c.near, c.octaves, c.shared = 0, 0, 0, 0, 0, noOctave, false
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

// histograms are the counts of all addresses.
type histograms struct {
	near    []nearCounts
	octaves []octaveCounts
}

// nearCounts are the counts of the first octaves of an address, each of which is one cache line.
type nearCounts [nearBuckets]uint32

const (
	// nearOctaves are those that the statistics of an address find at once: up to 64 us.
	nearOctaves = 13
	nearBuckets = nearOctaves * calls.HistogramSteps
	// mostNear is how many addresses have such counts, so that those of many rare ones take little memory.
	mostNear = 1 << 12
)

func newHistograms() histograms { return histograms{octaves: make([]octaveCounts, 1)} }

// reset forgets all counts.
func (h *histograms) reset() { h.near, h.octaves = h.near[:0], h.octaves[:1] }

// count counts a duration of an address.
func (h *histograms) count(c *addressStats, d int64) {
	bucket := calls.BucketOf(d)
	if bucket < nearBuckets {
		if c.near == 0 {
			c.near = h.addNear()
		}
		if c.near != 0 {
			h.near[c.near-1][bucket]++
			return
		}
	}
	o, step := bucket/calls.HistogramSteps, bucket%calls.HistogramSteps
	i := c.octaves
	for i != noOctave && h.octaves[i].octave != uint32(o) {
		i = h.octaves[i].next
	}
	if i == noOctave {
		i = uint32(len(h.octaves))
		h.octaves = append(h.octaves, octaveCounts{next: c.octaves, octave: uint32(o)})
		c.octaves = i
	}
	h.octaves[i].counts[step]++
}

// addNear adds counts of the first octaves and returns 1 + where they are, or 0 if there are too many.
func (h *histograms) addNear() uint32 {
	if len(h.near) == mostNear {
		return 0
	}
	h.near = append(h.near, nearCounts{})
	return uint32(len(h.near))
}

// merge adds counts of the first octaves, 1 + where they are or 0, to those of an address, which has some.
func (h *histograms) merge(c *addressStats, near uint32) {
	switch {
	case near == 0:
	case c.near == near:
		c.shared = false
	default:
		from, to := &h.near[near-1], &h.near[c.near-1]
		for i, n := range from {
			to[i] += n
		}
	}
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

	counts        *histograms
	near, octaves uint32
}

// Octaves returns the histogram of the timed calls: how many fall into the buckets of each of
// its octaves.
func (s *Sum) Octaves() iter.Seq2[uint32, *[calls.HistogramSteps]uint32] {
	return func(yield func(uint32, *[calls.HistogramSteps]uint32) bool) {
		if s.near != 0 {
			near := &s.counts.near[s.near-1]
			for o := range nearOctaves {
				counts := (*[calls.HistogramSteps]uint32)(near[o*calls.HistogramSteps:])
				if *counts != ([calls.HistogramSteps]uint32{}) && !yield(uint32(o), counts) {
					return
				}
			}
		}
		for i := s.octaves; i != noOctave; i = s.counts.octaves[i].next {
			if o := &s.counts.octaves[i]; !yield(o.octave, &o.counts) {
				return
			}
		}
	}
}

// sum returns the sum of an address.
func (c *addressStats) sum(h *histograms) Sum {
	near := c.near
	if c.shared {
		near = 0
	}
	return Sum{
		Records: int64(c.calls) + int64(c.timed) + int64(c.zeros) + int64(c.other), Calls: int64(c.calls), Timed: int64(c.timed), Zeros: int64(c.zeros),
		Time: c.time, Self: c.self, Recursive: c.recursive, Min: c.min, Max: c.max, counts: h, near: near, octaves: c.octaves,
	}
}
