package index

import "math/bits"

const (
	stepBits = 4
	steps    = 1 << stepBits
	octaves  = 64 - stepBits
)

// A Histogram counts durations in nanoseconds in buckets of which each octave
// has 16, so that a duration is known to within 1/16 of itself; below 16 ns
// exactly. The zero Histogram is empty.
type Histogram struct {
	counts [octaves]*[steps]uint64
}

// bucketOf returns the bucket of a duration, which is not negative.
func bucketOf(d int64) (octave, step int) {
	n := bits.Len64(uint64(d))
	if n <= stepBits {
		return 0, int(d)
	}
	octave = n - stepBits
	return octave, int(uint64(d)>>(octave-1)) & (steps - 1)
}

// bucketStart returns the least duration of a bucket.
func bucketStart(octave, step int) int64 {
	if octave == 0 {
		return int64(step)
	}
	return int64(steps+step) << (octave - 1)
}

// Add counts a duration, which is not negative.
func (h *Histogram) Add(d int64) {
	o, s := bucketOf(d)
	c := h.counts[o]
	if c == nil {
		c = new([steps]uint64)
		h.counts[o] = c
	}
	c[s]++
}

// Merge adds the counts of another.
func (h *Histogram) Merge(other *Histogram) {
	for o, from := range other.counts {
		if from == nil {
			continue
		}
		if h.counts[o] == nil {
			h.counts[o] = new([steps]uint64)
		}
		for s, n := range from {
			h.counts[o][s] += n
		}
	}
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
	for o, c := range h.counts {
		if c == nil {
			continue
		}
		for s, n := range c {
			if n == 0 {
				continue
			}
			to := bucketStart(o, s) + 1
			if o > 0 {
				to = bucketStart(o, s) + 1<<(o-1)
			}
			list = append(list, Bucket{bucketStart(o, s), to, n})
		}
	}
	return list
}

// Quantile returns a duration that a part q, 0 to 1, of those counted do not
// exceed by more than a bucket's width: the middle of the bucket, never
// outside least and greatest. It returns 0 for an empty histogram.
func (h *Histogram) Quantile(q float64, least, greatest int64) int64 {
	list := h.Buckets()
	var total uint64
	for _, b := range list {
		total += b.Count
	}
	if total == 0 {
		return 0
	}
	rank := uint64(q * float64(total-1))
	for _, b := range list {
		if rank < b.Count {
			return min(max(b.From+(b.To-b.From-1)/2, least), greatest)
		}
		rank -= b.Count
	}
	return greatest
}
