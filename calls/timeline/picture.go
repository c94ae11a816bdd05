package timeline

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/internal/sizes"
)

// A blockPart is the rows of a block that belong to one run.
type blockPart struct {
	k        int
	from, to int64
}

// A picture is the work for one query.
type picture struct {
	*Timeline
	SpanQuery
	src   *index.Index
	rows  int64 // the end of those that are drawn
	pixel uint64
	// counted is how far the view was counted.
	counted int64
	err     error // of testing a row
	groups  int
	read    bool // a block has been read
	finer   bool
	// sampling is how long regions may be sampled.
	sampling time.Duration
	regions  []region
	lanes    map[uint32]*drawnLane
	// byBit has the threads wanted by their bit in a Bloom filter.
	byBit *[64][]uint32
	// end is the row behind the regions that are drawn, or -1.
	end   int64
	nodes []uint32
	longs []index.Long
}

// A region is a group of blocks that is not looked into, or a block.
type region struct {
	level    int
	k        int
	from, to int64 // rows
	read     bool  // the block is wide enough to be read
	// part says that the block has rows of other runs, too, so that its summary
	// tells nothing of these alone.
	part bool
	index.Summary
}

func (p *picture) wants(thread uint32) bool { return p.Threads == nil || p.Threads.Has(thread) }

// descend finds the regions of a group.
func (p *picture) descend(level, k int) {
	n := sizes.Block << (2 * level)
	from := int64(k) * n
	if from >= p.rows || from+n <= p.FirstRow {
		return
	}
	part := from < p.FirstRow || p.EndRow > 0 && from+n > p.EndRow && p.EndRow < p.src.Len()
	s := p.src.Summary(level, k)
	p.groups--
	if s.LastTime < p.From || s.FirstTime >= p.To {
		return
	}
	if p.Threads != nil {
		var bloom uint64
		for _, w := range p.Threads.Bloom() {
			bloom |= w
		}
		if s.Threads&bloom == 0 {
			return
		}
	}
	wide := part || uint64(s.LastTime)-uint64(s.FirstTime) > 2*p.pixel
	if level > 0 && wide && (part || p.groups > 0) {
		for c := range 4 {
			p.descend(level-1, 4*k+c)
		}
		return
	}
	p.regions = append(p.regions, region{level, k, max(from, p.FirstRow), min(from+n, p.rows), wide && level == 0, part, s})
}

// A drawnLane is the spans of a thread by depth.
type drawnLane struct {
	depths []depthLine
	// open has the nodes that are open in the current region, outermost first.
	open []openNode
}

type openNode struct {
	enter, leave int64 // leave is -1 where there is none
	// until is the time at which it ends, or ended at the latest.
	until   int64
	depth   int32
	noLeave bool
}

// ends reports whether a node ends within a region, or has before.
func (o *openNode) ends(r *region) bool {
	switch {
	case o.leave >= 0:
		return o.leave < r.to
	case o.noLeave:
		return o.until <= r.LastTime
	}
	return o.until < r.LastTime
}

func (p *picture) lane(thread uint32) *drawnLane {
	l := p.lanes[thread]
	if l == nil {
		l = &drawnLane{}
		p.lanes[thread] = l
	}
	return l
}

// add adds a span, or merges it with the one before. Of merged calls weights says which
// functions took most time.
func (p *picture) add(s *Span, weights []weight) {
	if s.Depth > p.MaxDepth || s.Start >= p.To || s.End < p.From || !p.wants(s.Thread) {
		return
	}
	l := p.lane(s.Thread)
	for int(s.Depth) >= len(l.depths) {
		l.depths = append(l.depths, depthLine{})
	}
	if p.Only != nil && s.Count == 1 && !s.About && s.Shown < 0 {
		tested := *s // others may read it
		tested.Shown = p.isShown(s.Enter)
		s = &tested
	}
	l.depths[s.Depth].add(s, weights, p.From, p.pixel)
}

// next returns the end of the regions that are drawn together: those of one
// level or, where stacks are so deep that their nodes must not be asked for
// often, at least an eighth of all.
func (p *picture) next(from int) int {
	to := from + 1
	deep := from > 0 && len(p.nodes) > deepNodes
	for to < len(p.regions) && (p.regions[to].level == p.regions[from].level || deep && to-from < len(p.regions)/8) {
		to++
	}
	return to
}

// drawRegions draws regions.
func (p *picture) drawRegions(regions []region) error {
	level, from, to := regions[0].level, regions[0].from, regions[len(regions)-1].to
	for i := range regions {
		level = min(level, regions[i].level)
	}
	p.nodes = p.src.Level(p.nodes[:0], level, from, to)
	for _, l := range p.lanes {
		l.open = l.open[:0]
	}
	next := 0
	for i := range regions {
		r := &regions[i]
		for ; next < len(p.nodes); next++ {
			n := p.src.Node(p.nodes[next])
			if n.Enter >= r.to {
				break
			}
			p.node(&n)
		}
		p.end = r.to
		if r.read {
			ok, err := p.block(r)
			if err != nil {
				return err
			}
			if ok {
				continue
			}
			p.finer = true
			if r.part {
				continue
			}
		}
		p.group(r)
	}
	return nil
}

// node draws a node, unless a region before has drawn it: its call reaches
// out of each region that it begins in, and so has that region's level.
func (p *picture) node(n *index.Node) {
	if !p.wants(n.Thread) {
		return
	}
	o := openNode{n.Enter, n.Leave, n.LeaveTime, n.Depth, n.Anomaly == calls.NoLeave}
	l := p.lane(n.Thread)
	for len(l.open) > 0 && l.open[len(l.open)-1].depth >= n.Depth {
		l.open = l.open[:len(l.open)-1]
	}
	l.open = append(l.open, o)
	if n.Enter >= p.end {
		s := spanOf(n)
		p.add(&s, nil)
	}
}

func spanOf(n *index.Node) Span {
	return Span{
		Start: n.EnterTime, End: max(n.LeaveTime, n.EnterTime), Enter: n.Enter, Address: n.Address, Thread: n.Thread,
		Depth: n.Depth, Deepest: n.Depth, Count: 1, Shown: -1,
		Open: n.Leave < 0 && n.Anomaly != calls.NoLeave, NoLeave: n.Anomaly == calls.NoLeave,
	}
}

// idle draws the calls that are open where no event is.
func (p *picture) idle() error {
	row, err := rowAtTime(p.src, p.From, p.FirstRow, p.rows)
	if err != nil || row == p.FirstRow {
		return err
	}
	block := int(row / sizes.Block)
	if row < 0 {
		if p.rows < p.src.Len() {
			return nil // behind a run
		}
		block = sizes.Blocks(p.rows)
	}
	for thread := range uint32(p.src.Slots()) {
		if !p.wants(thread) {
			continue
		}
		for i := p.src.Top(block, thread); i != index.NoNode; {
			n := p.src.Node(i)
			s := spanOf(&n)
			p.add(&s, nil)
			i = n.Parent
		}
	}
	return nil
}

// threads returns the threads wanted that may be in a region.
func (p *picture) threads(r *region, visit func(thread uint32)) {
	if p.byBit == nil {
		p.byBit = new([64][]uint32)
		for thread := range uint32(p.src.Slots()) {
			if p.wants(thread) {
				p.byBit[thread%64] = append(p.byBit[thread%64], thread)
			}
		}
	}
	for w := r.Threads; w != 0; w &= w - 1 {
		for _, thread := range p.byBit[bits.TrailingZeros64(w)] {
			visit(thread)
		}
	}
}

// group draws the calls within a region, which is not looked into: by depth where
// it was sampled, otherwise as one span, but for the longest if they are wide enough.
func (p *picture) group(r *region) {
	var longs []index.Long
	if r.read {
		p.longs = p.src.Longest(p.longs[:0], r.level, r.k)
		longs = p.longs
		slices.SortFunc(longs, func(a, b index.Long) int { return cmp.Compare(a.EnterTime, b.EnterTime) })
	}
	alone := bits.OnesCount64(r.Threads) == 1 && p.src.Slots() <= 64
	shown := int64(-1)
	if p.Only != nil && r.to <= p.counted {
		shown = p.Only.CountIn(r.from, r.to)
	}
	p.threads(r, func(thread uint32) {
		l := p.lane(thread)
		for len(l.open) > 0 && l.open[len(l.open)-1].ends(r) {
			l.open = l.open[:len(l.open)-1]
		}
		rest := Span{
			Start: r.FirstTime, End: r.LastTime, Enter: r.from, Thread: thread,
			Deepest: r.MaxDepth, About: true, Time: -1, Shown: shown,
		}
		if alone {
			rest.Count = max(r.Rows/2, 1)
		}
		for n := len(l.open) - 1; n >= 0; n-- {
			if l.open[n].enter < r.from {
				rest.Depth = l.open[n].depth + 1
				break
			}
		}
		if !r.read {
			p.sampled(r, &rest)
			return
		}
		for _, c := range longs {
			if c.Thread != thread {
				continue
			}
			if c.Depth == rest.Depth {
				if rest.Start < c.EnterTime {
					part := rest
					part.End = c.EnterTime
					p.add(&part, nil)
				}
				rest.Start = max(rest.Start, c.LeaveTime)
			}
			p.add(&Span{
				Start: c.EnterTime, End: max(c.LeaveTime, c.EnterTime), Enter: c.Enter, Address: c.Address, Thread: c.Thread,
				Depth: c.Depth, Deepest: c.Depth, Count: 1, Shown: -1,
			}, nil)
		}
		if rest.Depth <= r.MaxDepth && rest.Start <= rest.End {
			p.add(&rest, nil)
		}
	})
}

// collect appends the spans in order.
func (p *picture) collect(dst []Span) []Span {
	threads := make([]uint32, 0, len(p.lanes))
	for thread := range p.lanes {
		threads = append(threads, thread)
	}
	slices.Sort(threads)
	byStart := func(a, b Span) int { return cmp.Compare(a.Start, b.Start) }
	for _, thread := range threads {
		for _, line := range p.lanes[thread].depths {
			spans := line.spans
			if !slices.IsSortedFunc(spans, byStart) {
				slices.SortStableFunc(spans, byStart)
			}
			dst = append(dst, join(spans, p.pixel)...)
		}
	}
	return dst
}
