package calls

import (
	"math"
	"math/bits"
	"slices"
)

const (
	stepBits         = 4
	HistogramSteps   = 1 << stepBits
	HistogramOctaves = 64 - stepBits
)

// A Histogram counts durations in nanoseconds in buckets of which each octave
// has 16, so that a duration is known to within 1/16 of itself; below 16 ns
// exactly. The zero Histogram is empty. A copy must not be added to.
type Histogram struct {
	// has has bit o set for octave o if that has counts; they are in this order.
	has    uint64
	counts [][HistogramSteps]uint64
}

// NewHistogram returns an empty histogram with room for so many octaves.
func NewHistogram(octaves int) Histogram {
	return Histogram{counts: make([][HistogramSteps]uint64, 0, octaves)}
}

// Octave returns the counts of an octave, which it adds if need be.
func (h *Histogram) Octave(o int) *[HistogramSteps]uint64 {
	i := bits.OnesCount64(h.has & (1<<o - 1))
	if h.has>>o&1 == 0 {
		h.has |= 1 << o
		h.counts = slices.Insert(h.counts, i, [HistogramSteps]uint64{})
	}
	return &h.counts[i]
}

// each calls f with the octaves that have counts.
func (h *Histogram) each(f func(o int, counts *[HistogramSteps]uint64)) {
	has := h.has
	for i := range h.counts {
		f(bits.TrailingZeros64(has), &h.counts[i])
		has &= has - 1
	}
}

// BucketOf returns the number of the bucket of a duration, which is not negative: HistogramSteps times its octave plus its step in it.
func BucketOf(d int64) int {
	// Where calls are short a processor could not predict in which of the first octaves a duration lies, so nothing here is a
	// branch. The first two have steps of one nanosecond.
	shift := bits.Len64(uint64(d)|(2*HistogramSteps-1)) - stepBits - 1
	return shift<<stepBits + int(uint64(d)>>(shift&63))
}

// bucketStart returns the least duration of a bucket.
func bucketStart(octave, step int) int64 {
	if octave == 0 {
		return int64(step)
	}
	return int64(HistogramSteps+step) << (octave - 1)
}

// Add counts a duration, which is not negative.
func (h *Histogram) Add(d int64) {
	i := BucketOf(d)
	h.Octave(i / HistogramSteps)[i%HistogramSteps]++
}

// Merge adds the counts of another.
func (h *Histogram) Merge(other *Histogram) {
	other.each(func(o int, from *[HistogramSteps]uint64) {
		to := h.Octave(o)
		for s, n := range from {
			to[s] += n
		}
	})
}

// A Bucket is a part of a histogram: durations of From and more, and less
// than To.
type Bucket struct {
	From, To int64
	Count    uint64
}

// Buckets returns the buckets that have counts, by rising durations.
func (h *Histogram) Buckets() []Bucket {
	var list []Bucket
	h.each(func(o int, c *[HistogramSteps]uint64) {
		for s, n := range c {
			if n == 0 {
				continue
			}
			from := bucketStart(o, s)
			to := from + 1<<max(0, o-1)
			if to < from {
				to = math.MaxInt64 // the last bucket ends where durations do
			}
			list = append(list, Bucket{from, to, n})
		}
	})
	return list
}

// Quantile returns a duration that a part q, 0 to 1, of those counted do not
// exceed by more than a bucket's width: the middle of the bucket, never
// outside least and greatest, which it returns where no less will do. It returns 0 for an empty histogram.
func (h *Histogram) Quantile(q float64, least, greatest int64) int64 {
	list := h.Buckets()
	var total uint64
	for _, b := range list {
		total += b.Count
	}
	if total == 0 {
		return 0
	}
	// The least rank, counted from 0, up to which a part q of them lies.
	rank := uint64(max(0, math.Ceil(q*float64(total))-1))
	if rank+1 >= total {
		return greatest
	}
	for _, b := range list {
		if rank < b.Count {
			return min(max(b.From+(b.To-b.From-1)/2, least), greatest)
		}
		rank -= b.Count
	}
	return greatest
}
