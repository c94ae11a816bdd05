package timeline

import (
	"math/bits"
	"slices"
	"sync"
	"time"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/query"
	"logparser/parser"
)

// A drawnBlock is the spans of a block's calls that have no node, at some
// resolution.
type drawnBlock struct {
	rows  int64
	pixel uint64
	// only is the view that Shown is of, nil where that is not known.
	only  *query.View
	used  uint64
	spans []Span
	// weights has of each span those up to its end in ends.
	weights []weight
	ends    []uint32
}

// block draws a block that is read now or has been before. It is not ok if
// enough blocks have been read for this picture.
func (p *picture) block(r *region) (ok bool, err error) {
	t := p.Timeline
	only := p.Only
	if r.to > p.counted {
		only = nil
	}
	t.mu.Lock()
	d := t.drawn[blockPart{r.k, r.from, r.to}]
	if d != nil && d.rows == r.Rows && d.only == only && d.pixel <= p.pixel && (d.pixel == 1 || d.pixel > p.pixel/8) {
		t.tick++
		d.used = t.tick
	} else {
		d = nil
	}
	enough := p.read && t.spent >= p.sampling+fillTime
	t.mu.Unlock()
	if d == nil {
		if enough {
			return false, nil
		}
		p.read = true
		now := time.Now()
		d = &drawnBlock{rows: r.Rows, pixel: 1 << (bits.Len64(p.pixel) - 1), only: only}
		var shown []uint64
		if only != nil {
			if shown, err = only.Bitmap(r.k, p.counted); err != nil {
				return false, err
			}
		}
		if err = readSpans(d, p.src, r, shown); err != nil {
			return false, err
		}
		p.keep(blockPart{r.k, r.from, r.to}, d, time.Since(now))
	}
	from := uint32(0)
	for i := range d.spans {
		p.add(&d.spans[i], d.weights[from:d.ends[i]])
		from = d.ends[i]
	}
	return true, nil
}

// remember forgets which enters are in the view if that is another, or has been
// counted on.
func (t *Timeline) remember(v *query.View, counted int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shown == nil || t.shownOf != v || t.counted != counted || len(t.shown) >= maxShown {
		t.shown, t.shownOf, t.counted = make(map[int64]bool), v, counted
	}
}

// isShown returns 1 if the enter at a row is in the query's view, 0 if it is
// not or is missing from the log, and -1 if that is not known: not counted yet,
// or too much has been read for this picture.
func (p *picture) isShown(row int64) int64 {
	if p.Only == nil || row >= p.counted {
		return -1
	}
	if row < 0 {
		return 0
	}
	t := p.Timeline
	t.mu.Lock()
	defer t.mu.Unlock()
	is, known := t.shown[row]
	if !known {
		if p.read && t.spent >= fillTime/2 {
			p.finer = true
			return -1
		}
		p.read = true
		now := time.Now()
		var err error
		if _, is, err = p.Only.PositionOf(row); err != nil {
			p.err = err
		}
		t.spent += time.Since(now)
		t.shown[row] = is
	}
	if is {
		return 1
	}
	return 0
}

// keep keeps a block's spans, which took some time to read, and forgets half of them when there are too many.
func (p *picture) keep(k blockPart, d *drawnBlock, took time.Duration) {
	t := p.Timeline
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spent += took
	if t.drawnOf != p.src {
		return
	}
	if len(t.drawn) >= drawnBlocks {
		used := make([]uint64, 0, len(t.drawn))
		for _, o := range t.drawn {
			used = append(used, o.used)
		}
		slices.Sort(used)
		for k, o := range t.drawn {
			if o.used <= used[len(used)/2] {
				delete(t.drawn, k)
			}
		}
	}
	t.tick++
	d.used = t.tick
	t.drawn[k] = d
}

// A spanReader is what a block's spans are made with.
type spanReader struct {
	block index.Block
	lanes []blockLane // by slot
	used  []uint32
}

var spanReaders = sync.Pool{New: func() any { return new(spanReader) }}

// A blockLane is the spans of a thread in a block by depth, and the calls that
// are left without a leave, as far as they are open.
type blockLane struct {
	used   bool
	depths []depthLine
	open   []Span
}

// readSpans gives a block the calls that are within it, those shorter than a
// pixel merged. shown has the enters that are in a view, nil if that is not
// known.
func readSpans(to *drawnBlock, src *index.Index, r *region, shown []uint64) error {
	sr := spanReaders.Get().(*spanReader)
	defer spanReaders.Put(sr)
	b := &sr.block
	if err := src.Fill(b, r.k, index.Times|index.Threads|index.Addresses|index.Kinds|index.Depths|index.Pairs); err != nil {
		return err
	}
	pixel := to.pixel
	n := int(min(int64(b.N), r.to-b.First))
	last := b.First + int64(n)
	var lane *blockLane
	thread := index.NoThread
	unwinds := r.Anomalies&(1<<calls.NoLeave) != 0
	for i := int(r.from - b.First); i < n; i++ {
		kind := b.Kind[i]
		if kind == parser.Leave && !unwinds {
			continue
		}
		if kind == parser.Damaged || b.Anomaly[i] == calls.Stray {
			continue
		}
		if b.Thread[i] != thread {
			thread = b.Thread[i]
			lane = sr.lane(thread)
		}
		d := b.Depth[i]
		if unwinds {
			lane.unwind(b, d, i, pixel)
		}
		if kind != parser.Enter || d > maxSpanDepth {
			continue
		}
		s := Span{
			Start: b.Time[i], Enter: b.First + int64(i), Address: b.Address[i], Thread: thread, Depth: d, Deepest: d, Count: 1, Shown: -1,
		}
		if shown != nil {
			s.Shown = int64(shown[i/64] >> (i % 64) & 1)
		}
		if leave := b.Partner[i]; leave != calls.NoPartner {
			if leave < last {
				s.End = s.Start + max(b.Duration[i], 0)
				lane.add(&s, pixel)
			}
		} else if unwinds && b.Anomaly[i] == calls.NoLeave {
			lane.open = append(lane.open, s)
		}
	}
	sr.take(to)
	return nil
}

// lane returns the lane of a thread.
func (sr *spanReader) lane(thread uint32) *blockLane {
	for int(thread) >= len(sr.lanes) {
		sr.lanes = append(sr.lanes, blockLane{})
	}
	l := &sr.lanes[thread]
	if !l.used {
		l.used = true
		sr.used = append(sr.used, thread)
	}
	return l
}

// take hands the spans to a block and empties the lanes.
func (sr *spanReader) take(to *drawnBlock) {
	n := 0
	for _, thread := range sr.used {
		for k := range sr.lanes[thread].depths {
			n += len(sr.lanes[thread].depths[k].spans)
		}
	}
	to.spans, to.ends = make([]Span, 0, n), make([]uint32, 0, n)
	for _, thread := range sr.used {
		l := &sr.lanes[thread]
		for d := range l.depths {
			l.depths[d].take(to)
		}
		l.open, l.used = l.open[:0], false
	}
	sr.used = sr.used[:0]
}

func (l *blockLane) add(s *Span, pixel uint64) {
	for int(s.Depth) >= len(l.depths) {
		l.depths = append(l.depths, depthLine{})
	}
	l.depths[s.Depth].keeps = true
	l.depths[s.Depth].add(s, nil, 0, pixel)
}

// unwind ends the calls of depth d and more before element i.
func (l *blockLane) unwind(b *index.Block, d int32, i int, pixel uint64) {
	if b.Kind[i] == parser.Leave {
		d++
	}
	for n := len(l.open); n > 0 && l.open[n-1].Depth >= d; n-- {
		s := &l.open[n-1]
		s.End, s.NoLeave = max(b.Time[i], s.Start), true
		l.add(s, pixel)
		l.open = l.open[:n-1]
	}
}
