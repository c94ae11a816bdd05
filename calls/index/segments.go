package index

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"

	"logparser/calls"
	"logparser/calls/internal/sizes"
	"logparser/calls/pairing"
)

// Statistics of a part of the log need not be made of its rows where segments of it have totals of their own: they are at hand when a
// segment has been paired. A call is of the segment in which it is entered. One that is still open at its end is a node.

// A keptSegment is where the totals of a segment are.
type keptSegment struct {
	first, end int64 // rows, whole blocks; end is not included
	// text and open are where its totals end in core.segmentText and its nodes in core.leftOpen. They begin where those of the segment before end.
	text, open int64
}

// keepSegment keeps the totals of a segment that has just been taken over, unless they are large beside what its events have in a trace, as where
// nearly every call is of another address.
func (c *core) keepSegment(s *segment) {
	most := int((s.to - s.from) * sizes.TotalsBytes / 256)
	c.text = appendTotals(c.text[:0], s.p, most)
	if len(c.text) > most {
		return
	}
	c.segmentText.append(&c.memory, c.text)
	c.leftOpen.append(&c.memory, c.pairs.LeftOpen(s.from))
	*c.segments.add(&c.memory) = keptSegment{s.from, s.to, int64(c.segmentText.len()), int64(c.leftOpen.len())}
}

// appendTotals appends the totals of a segment's calls, by rising numbers of addresses. Of each it has, as numbers of variable length, how much
// more its number is than that of the one before, its calls and, of those that are timed, their number, time, time of their own, time that is
// recursive, the least duration and how much longer the longest is, a bit for each octave of the histogram that has calls, and the counts of
// these. If it is clear that they have more than most bytes, it appends some that have.
func appendTotals(b []byte, p *pairing.Segment, most int) []byte {
	type address struct {
		number uint32
		sum    pairing.Sum
	}
	var list []address
	for number, sum := range p.Sums() {
		if list = append(list, address{number, *sum}); len(list) > most {
			break
		}
	}
	slices.SortFunc(list, func(a, b address) int { return cmp.Compare(a.number, b.number) })
	next, t := uint32(0), newTotals()
	for i := 0; i < len(list) && len(b) <= most; {
		// Several threads may have called it, and what is known of one's calls may be counted with another.
		number := list[i].number
		t.list, t.octaves, t.near = t.list[:0], t.octaves[:1], t.near[:0]
		for ; i < len(list) && list[i].number == number; i++ {
			t.add(0, &list[i].sum)
		}
		if t.list[0].calls == 0 {
			continue
		}
		b = binary.AppendUvarint(b, uint64(number-next))
		next = number + 1
		b = t.append(b)
	}
	return b
}

// append appends the only sum of totals.
func (t *totals) append(b []byte) []byte {
	s := &t.list[0]
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(s.calls)), uint64(s.timed))
	if s.timed == 0 {
		return b
	}
	for _, v := range [...]int64{s.time, s.self, s.recursive, s.min, s.max - s.min} {
		b = binary.AppendUvarint(b, uint64(v))
	}
	var octaves [calls.HistogramOctaves]uint32
	has := uint64(0)
	for i := s.octaves; i != noOctave; i = t.octaves[i].next {
		o := t.octaves[i].octave
		octaves[o], has = i, has|1<<o
	}
	for b = binary.AppendUvarint(b, has); has != 0; has &= has - 1 {
		for _, n := range t.octaves[octaves[bits.TrailingZeros64(has)]].counts {
			b = binary.AppendUvarint(b, n)
		}
	}
	return b
}

// A totalsReader reads what appendTotals has written. It is bad once there is not what should be.
type totalsReader struct {
	b   []byte
	bad bool
}

func (r *totalsReader) number() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// total reads the totals of an address.
func (r *totalsReader) total() (t calls.Total) {
	t.Calls, t.Timed = int64(r.number()), int64(r.number())
	if t.Timed == 0 {
		return t
	}
	t.Sum, t.Self = int64(r.number()), int64(r.number())
	t.NonRecursive = t.Sum - int64(r.number())
	t.Min = int64(r.number())
	t.Max = t.Min + int64(r.number())
	has := r.number()
	if has>>calls.HistogramOctaves != 0 {
		r.bad = true
	}
	t.Histogram = calls.NewHistogram(bits.OnesCount64(has))
	for ; has != 0 && !r.bad; has &= has - 1 {
		counts := t.Histogram.Octave(bits.TrailingZeros64(has))
		for k := range counts {
			counts[k] = r.number()
		}
	}
	return t
}

// A Segment is rows of the log of which the index has totals of their own: First (included) to End (not included), whole blocks.
type Segment struct {
	First, End int64
	number     int
}

// Segments returns the segments that have totals, by rising rows. Other rows may lie between them.
func (x *Index) Segments() []Segment {
	if !x.done.Load() {
		return nil
	}
	c := x.core.Load()
	c.mu.RLock()
	defer c.mu.RUnlock()
	list := make([]Segment, c.segments.len())
	for i := range list {
		s := c.segments.at(i)
		list[i] = Segment{s.first, s.end, i}
	}
	return list
}

// SegmentTotals calls add with the totals of each address of which calls are entered in a segment, by rising numbers. Calls counts all of these, and the
// rest is of those that are left in it, too. The others are in open, the innermost of each thread first, whether they have ended or not. It is
// not ok if that is not known: then what add was told means nothing.
func (x *Index) SegmentTotals(s Segment, add func(address uint32, t *calls.Total)) (open []Node, ok bool) {
	c := x.core.Load()
	c.mu.RLock()
	if s.number >= c.segments.len() {
		c.mu.RUnlock()
		return nil, false
	}
	var before keptSegment
	if s.number > 0 {
		before = *c.segments.at(s.number - 1)
	}
	kept := *c.segments.at(s.number)
	text, numbers := c.segmentText.copy(before.text, kept.text), c.leftOpen.copy(before.open, kept.open)
	c.mu.RUnlock()
	r := totalsReader{b: text}
	for next, n := uint64(0), uint64(x.AddressTable().Len()); len(r.b) > 0; next++ {
		more := r.number()
		t := r.total()
		if next += more; r.bad || more >= n || next >= n {
			return nil, false
		}
		add(uint32(next), &t)
	}
	for _, i := range numbers {
		open = append(open, x.Node(i))
	}
	return open, true
}

// checkSegments checks the segments of a file.
func (c *core) checkSegments(rows int64) error {
	var before keptSegment
	for i := range c.segments.len() {
		s := c.segments.at(i)
		if s.first < before.end || s.end <= s.first || s.end > rows || s.first%sizes.Block != 0 || s.end%sizes.Block != 0 || s.text < before.text ||
			s.text > int64(c.segmentText.len()) || s.open < before.open || s.open > int64(c.leftOpen.len()) {
			return bad("segment", i)
		}
		before = *s
	}
	for i := range c.leftOpen.len() {
		if int64(*c.leftOpen.at(i)) >= int64(c.nodes.len()) {
			return bad("call left open", i)
		}
	}
	return nil
}
