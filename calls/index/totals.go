package index

import "math"

const noSlab = 0

// A slab is an octave of a histogram; those of one histogram are linked. The
// first slab of a list of them stands for none.
type slab struct {
	next   uint32
	octave uint32
	counts [steps]uint64
}

// A tally is a slab of a cell. Not so much is counted in it.
type tally struct {
	next   uint32
	octave uint32
	counts [steps]uint32
}

func (s *slab) links() (*uint32, *uint32)  { return &s.next, &s.octave }
func (s *tally) links() (*uint32, *uint32) { return &s.next, &s.octave }

// count counts a duration in the histogram that begins at *head.
func count(slabs *[]tally, head *uint32, d int64) {
	o, step := bucketOf(d)
	if *head == noSlab || (*slabs)[*head].octave != uint32(o) {
		find(slabs, head, uint32(o))
	}
	(*slabs)[*head].counts[step]++
}

// find makes the slab of an octave the first.
func find[T any, P interface {
	*T
	links() (next, octave *uint32)
}](slabs *[]T, head *uint32, octave uint32) {
	list := *slabs
	before := uint32(noSlab)
	for i := *head; i != noSlab; {
		next, o := P(&list[i]).links()
		if *o == octave {
			if before != noSlab {
				link, _ := P(&list[before]).links()
				*link, *next, *head = *next, *head, i
			}
			return
		}
		before, i = i, *next
	}
	*slabs = append(list, *new(T))
	next, o := P(&(*slabs)[len(list)]).links()
	*next, *o = *head, octave
	*head = uint32(len(list))
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

// merge adds a histogram that lies in other slabs.
func (t *totals) merge(s *sum, from []tally, head uint32) {
	for i := head; i != noSlab; i = from[i].next {
		if s.slab == noSlab || t.slabs[s.slab].octave != from[i].octave {
			find(&t.slabs, &s.slab, from[i].octave)
		}
		to := &t.slabs[s.slab]
		for k, n := range from[i].counts {
			to.counts[k] += uint64(n)
		}
	}
}

// zeros adds calls that took no time to a histogram.
func (t *totals) zeros(s *sum, n uint32) {
	if s.slab == noSlab || t.slabs[s.slab].octave != 0 {
		find(&t.slabs, &s.slab, 0)
	}
	t.slabs[s.slab].counts[0] += uint64(n)
}

// total returns a sum for callers.
func (t *totals) total(s *sum) Total {
	r := Total{Calls: s.calls, Timed: s.timed, Sum: s.time, Self: s.self, NonRecursive: s.time - s.recursive, Min: s.min, Max: s.max}
	if s.timed == 0 {
		r.Min = 0
	}
	for i := s.slab; i != noSlab; i = t.slabs[i].next {
		counts := t.slabs[i].counts
		r.Histogram.counts[t.slabs[i].octave] = &counts
	}
	return r
}
