package timeline

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"
	"sync"
	"time"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/internal/sizes"
	"logparser/calls/query"
	"logparser/parser"
)

const (
	// fillTime is how long blocks are read in each pictureTime; at least one is
	// for each query. Enters are looked for in a view in half of it, as far as
	// their blocks are not read anyway.
	fillTime    = 4 * time.Millisecond
	pictureTime = 16 * time.Millisecond
	// sharedLanes is the number of threads up to which all are drawn when one
	// is asked for.
	sharedLanes = 64
	// maxGroups bounds the groups that are looked at for each pixel.
	maxGroups = 16
	// deepNodes is the number of nodes from which on regions of several levels
	// are drawn together.
	deepNodes = 4096
	// maxSpanDepth bounds the depth that is drawn.
	maxSpanDepth = 4095
)

// drawnBlocks is the number of blocks whose spans are kept; a variable for
// tests.
var drawnBlocks = 4096

// A Timeline draws calls over time, with as much detail as there are pixels.
// Its methods are safe for concurrent use.
//
// It goes down the groups of blocks until what a group spans is no wider than
// two pixels. Calls that reach out of such a group have nodes of its level and
// are drawn one by one; those within it are one span. Where a block is wider
// it is read.
type Timeline struct {
	source *index.Index

	frames sync.Mutex // guards frame
	// frame has the last picture of each run, by its first row.
	frame map[int64]*drawnFrame

	mu    sync.Mutex // guards what follows
	tick  uint64
	drawn map[blockPart]*drawnBlock
	// drawnOf is the steady source that drawn and shown are of.
	drawnOf *index.Index
	// began is when the time began in which blocks have been read for spent:
	// the lanes of one picture may be asked for one by one.
	began time.Time
	spent time.Duration
	// shown says of enters whether they are in a view, as far as it was counted.
	shown   map[int64]bool
	shownOf *query.View
	counted int64
}

// A blockPart is the rows of a block that belong to one run.
type blockPart struct {
	k        int
	from, to int64
}

const (
	// maxFrames bounds the runs whose pictures are kept.
	maxFrames = 64
	// maxShown bounds the enters that are remembered.
	maxShown = 1 << 16
)

// A drawnFrame is the spans of all threads, for those that ask for one after
// the other.
type drawnFrame struct {
	src   *index.Index
	query SpanQuery
	rows  int64
	// counted is how far the query's view was counted.
	counted int64
	spans   []Span
	finer   bool
	served  map[uint32]bool
}

// NewTimeline makes a Timeline of a source, which may still grow, and be built
// again.
func NewTimeline(src *index.Index) *Timeline {
	return &Timeline{source: src, drawn: make(map[blockPart]*drawnBlock), frame: make(map[int64]*drawnFrame)}
}

// A SpanQuery says what is to be drawn.
type SpanQuery struct {
	// Threads has the slots of the threads wanted, all if nil.
	Threads *query.Set
	// From (included) and To (not included) are in nanoseconds of the log's
	// clock.
	From, To int64
	// Pixels is the width that From to To has on the screen, of which at most
	// MaxPixels matter.
	Pixels int
	// MaxDepth is the greatest depth that is wanted. Calls deeper than 4,095
	// are not drawn.
	MaxDepth int32
	// FirstRow (included) and EndRow (not included) are the rows of one run, as
	// each has a clock of its own. Where EndRow is 0 the log has one run.
	FirstRow, EndRow int64
	// Only, if not nil, is a view of enters; see [Span]'s Shown. It may still be
	// counted.
	Only *query.View
}

// MaxPixels bounds the detail of a SpanQuery.
const MaxPixels = 1 << 14

// A Span is a call, or several too short to be drawn, on a time line.
type Span struct {
	// Start and End are in nanoseconds of the log's clock. A call may have
	// begun before what was asked for, and end after it.
	Start, End int64
	// Enter is the row of the call's enter, -1 where that is missing. Of
	// merged calls it is the row of one of them, or a row near them.
	Enter int64
	// Address is that of the call, and of merged calls that of the longest of
	// those that are known, unless Longest is negative.
	Address uint32
	// Longest is, of merged calls, the duration in nanoseconds of the one that
	// Address is of.
	Longest int64
	Thread  uint32
	Depth   int32
	// Deepest is the greatest depth of what is merged here, or what cannot be
	// exceeded by it if About is set. It is Depth for a single call.
	Deepest int32
	// Count is 1 for a single call, otherwise the number of calls merged. It
	// is 0 where calls are known to be but not how many.
	Count int64
	// About says that Count and the borders are not exact.
	About bool
	// Shown is how many of the calls have their enters in the query's view, where
	// About is set at most so many. It is -1 where that is not known yet, and
	// means nothing without a view.
	Shown int64
	// Open says that the call had not ended; NoLeave that it was left without
	// a leave, at End or before.
	Open, NoLeave bool
}

// Spans appends the spans of a query to dst, by thread, depth and start. Its
// work depends on the pixels and the visible depth, never on the length of
// the log. Finer says that asking again will give more detail, because not
// all that was wanted could be read in the time that one picture has. Threads
// may be asked for together or one after the other.
func (t *Timeline) Spans(dst []Span, q SpanQuery) (spans []Span, finer bool, err error) {
	src := t.steady()
	if q.From >= q.To || q.Pixels <= 0 || src.Len() == 0 {
		return dst, false, nil
	}
	if q.Threads == nil || q.Threads.Len() != 1 || src.Slots() > sharedLanes {
		return t.draw(dst, src, q)
	}
	var thread uint32
	for !q.Threads.Has(thread) {
		thread++
	}
	q.Threads = nil
	t.frames.Lock()
	defer t.frames.Unlock()
	f := t.frame[q.FirstRow]
	counted := int64(0)
	if q.Only != nil {
		counted = q.Only.Scanned()
	}
	if f == nil || f.src != src || f.query != q || f.rows != src.Len() || f.counted != counted || f.finer && f.served[thread] {
		if f != nil && f.src != src || len(t.frame) >= maxFrames {
			clear(t.frame)
		}
		f = &drawnFrame{src: src, query: q, rows: src.Len(), counted: counted, served: make(map[uint32]bool)}
		if f.spans, f.finer, err = t.draw(nil, src, q); err != nil {
			return dst, false, err
		}
		t.frame[q.FirstRow] = f
	}
	f.served[thread] = true
	byThread := func(s Span, thread uint32) int { return cmp.Compare(s.Thread, thread) }
	from, _ := slices.BinarySearchFunc(f.spans, thread, byThread)
	to, _ := slices.BinarySearchFunc(f.spans, thread+1, byThread)
	return append(dst, f.spans[from:to]...), f.finer, nil
}

// steady returns the source to be drawn, and forgets what was drawn of another.
func (t *Timeline) steady() *index.Index {
	src := t.source.Steady()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.drawnOf != src {
		t.drawnOf = src
		clear(t.drawn)
		clear(t.shown)
	}
	return src
}

// draw appends the spans of a query to dst.
func (t *Timeline) draw(dst []Span, src *index.Index, q SpanQuery) (spans []Span, finer bool, err error) {
	p := &picture{Timeline: t, SpanQuery: q, src: src, lanes: map[uint32]*drawnLane{}, end: -1}
	p.rows = src.Len()
	if q.EndRow > 0 {
		p.rows = min(p.rows, q.EndRow)
	}
	t.mu.Lock()
	if now := time.Now(); now.Sub(t.began) > pictureTime {
		t.began, t.spent = now, 0
	}
	t.mu.Unlock()
	if q.Only != nil {
		p.counted = q.Only.Scanned()
		t.remember(q.Only, p.counted)
	}
	p.MaxDepth = min(p.MaxDepth, maxSpanDepth)
	pixels := min(q.Pixels, MaxPixels)
	p.pixel = max((uint64(q.To)-uint64(q.From))/uint64(pixels), 1)
	p.groups = maxGroups * (pixels + 64)
	level := 0
	for 1<<(2*level) < sizes.Blocks(p.rows) {
		level++
	}
	p.descend(level, 0)
	if len(p.regions) == 0 {
		if err := p.idle(); err != nil {
			return dst, false, err
		}
	}
	for from := 0; from < len(p.regions); {
		to := p.next(from)
		if err := p.drawRegions(p.regions[from:to]); err != nil {
			return dst, false, err
		}
		from = to
	}
	if p.err != nil {
		return dst, false, p.err
	}
	return p.collect(dst), p.finer, nil
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
	regions []region
	lanes   map[uint32]*drawnLane
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
	depths [][]Span
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

// add adds a span, or merges it with the one before.
func (p *picture) add(s *Span) {
	if s.Depth > p.MaxDepth || s.Start >= p.To || s.End < p.From || !p.wants(s.Thread) {
		return
	}
	l := p.lane(s.Thread)
	for int(s.Depth) >= len(l.depths) {
		l.depths = append(l.depths, nil)
	}
	if p.Only != nil && s.Count == 1 && !s.About && s.Shown < 0 {
		tested := *s // others may read it
		tested.Shown = p.isShown(s.Enter)
		s = &tested
	}
	l.depths[s.Depth] = appendSpan(l.depths[s.Depth], s, p.pixel)
}

// appendSpan appends a span, or merges it with the last if both are, or are
// made of, calls shorter than a pixel that are less than a pixel apart.
func appendSpan(list []Span, s *Span, pixel uint64) []Span {
	if n := len(list); n > 0 {
		last := &list[n-1]
		near := s.Start <= last.End || uint64(s.Start)-uint64(last.End) < pixel
		if near && s.Start >= last.Start && s.small(pixel) && last.small(pixel) {
			last.Longest = last.longest()
			if took := s.longest(); took > last.Longest {
				last.Address, last.Longest = s.Address, took
			}
			if last.Count == 0 || s.Count == 0 {
				last.Count = 0
			} else {
				last.Count += s.Count
			}
			if last.Shown < 0 || s.Shown < 0 {
				last.Shown = -1
			} else {
				last.Shown += s.Shown
			}
			last.End = max(last.End, s.End)
			last.Deepest = max(last.Deepest, s.Deepest)
			last.About = last.About || s.About
			last.Open = last.Open && s.Open
			last.NoLeave = last.NoLeave && s.NoLeave
			return list
		}
	}
	return append(list, *s)
}

// longest returns the duration of the call that the address is of, negative
// where no call is known.
func (s *Span) longest() int64 {
	if s.Count == 1 && !s.About {
		return s.End - s.Start
	}
	return s.Longest
}

// small reports whether a span is a call shorter than a pixel, or made of such.
func (s *Span) small(pixel uint64) bool {
	return s.Count != 1 || s.About || uint64(s.End)-uint64(s.Start) < pixel
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
	o := openNode{n.Enter, n.Leave, n.LeaveTime, n.Depth, n.Mark == calls.NoLeave}
	l := p.lane(n.Thread)
	for len(l.open) > 0 && l.open[len(l.open)-1].depth >= n.Depth {
		l.open = l.open[:len(l.open)-1]
	}
	l.open = append(l.open, o)
	if n.Enter >= p.end {
		s := spanOf(n)
		p.add(&s)
	}
}

func spanOf(n *index.Node) Span {
	return Span{
		Start: n.EnterTime, End: max(n.LeaveTime, n.EnterTime), Enter: n.Enter, Address: n.Address, Thread: n.Thread,
		Depth: n.Depth, Deepest: n.Depth, Count: 1, Shown: -1,
		Open: n.Leave < 0 && n.Mark != calls.NoLeave, NoLeave: n.Mark == calls.NoLeave,
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
			p.add(&s)
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

// group draws the calls within a region, which is not looked into, as one
// span, but for the longest if they are wide enough.
func (p *picture) group(r *region) {
	p.longs = p.src.Longest(p.longs[:0], r.level, r.k)
	longs := p.longs
	if r.read {
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
			Deepest: r.MaxDepth, About: true, Longest: -1, Shown: shown,
		}
		if !r.read {
			for i := range longs {
				if took := longs[i].Duration(); longs[i].Thread == thread && took > rest.Longest {
					rest.Address, rest.Longest = longs[i].Address, took
				}
			}
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
		for _, c := range longs {
			if !r.read {
				break // it is too short to be drawn
			}
			if c.Thread != thread {
				continue
			}
			if c.Depth == rest.Depth {
				if rest.Start < c.EnterTime {
					part := rest
					part.End = c.EnterTime
					p.add(&part)
				}
				rest.Start = max(rest.Start, c.LeaveTime)
			}
			p.add(&Span{
				Start: c.EnterTime, End: max(c.LeaveTime, c.EnterTime), Enter: c.Enter, Address: c.Address, Thread: c.Thread,
				Depth: c.Depth, Deepest: c.Depth, Count: 1, Shown: -1,
			})
		}
		if rest.Depth <= r.MaxDepth && rest.Start <= rest.End {
			p.add(&rest)
		}
	})
}

// A drawnBlock is the spans of a block's calls that have no node, at some
// resolution.
type drawnBlock struct {
	rows  int64
	pixel uint64
	// only is the view that Shown is of, nil where that is not known.
	only  *query.View
	used  uint64
	spans []Span
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
	enough := p.read && t.spent >= fillTime
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
		if d.spans, err = readSpans(p.src, r, d.pixel, shown); err != nil {
			return false, err
		}
		p.keep(blockPart{r.k, r.from, r.to}, d, time.Since(now))
	}
	for i := range d.spans {
		p.add(&d.spans[i])
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
	depths [][]Span
	open   []Span
}

// readSpans returns the calls that are within a block, those shorter than a
// pixel merged. shown has the enters that are in a view, nil if that is not
// known.
func readSpans(src *index.Index, r *region, pixel uint64, shown []uint64) ([]Span, error) {
	sr := spanReaders.Get().(*spanReader)
	defer spanReaders.Put(sr)
	b := &sr.block
	if err := src.Fill(b, r.k, index.Times|index.Threads|index.Addresses|index.Kinds|index.Depths|index.Pairs); err != nil {
		return nil, err
	}
	n := int(min(int64(b.N), r.to-b.First))
	last := b.First + int64(n)
	var lane *blockLane
	thread := index.NoThread
	unwinds := r.Marks&(1<<calls.NoLeave) != 0
	for i := int(r.from - b.First); i < n; i++ {
		kind := b.Kind[i]
		if kind == parser.Leave && !unwinds {
			continue
		}
		if kind == parser.Damaged || b.Mark[i] == calls.Stray {
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
		} else if unwinds && b.Mark[i] == calls.NoLeave {
			lane.open = append(lane.open, s)
		}
	}
	return sr.take(), nil
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

// take returns the spans and empties the lanes.
func (sr *spanReader) take() []Span {
	n := 0
	for _, thread := range sr.used {
		for _, spans := range sr.lanes[thread].depths {
			n += len(spans)
		}
	}
	list := make([]Span, 0, n)
	for _, thread := range sr.used {
		l := &sr.lanes[thread]
		for d, spans := range l.depths {
			list = append(list, spans...)
			l.depths[d] = spans[:0]
		}
		l.open, l.used = l.open[:0], false
	}
	sr.used = sr.used[:0]
	return list
}

func (l *blockLane) add(s *Span, pixel uint64) {
	for int(s.Depth) >= len(l.depths) {
		l.depths = append(l.depths, nil)
	}
	l.depths[s.Depth] = appendSpan(l.depths[s.Depth], s, pixel)
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

// collect appends the spans in order.
func (p *picture) collect(dst []Span) []Span {
	threads := make([]uint32, 0, len(p.lanes))
	for thread := range p.lanes {
		threads = append(threads, thread)
	}
	slices.Sort(threads)
	byStart := func(a, b Span) int { return cmp.Compare(a.Start, b.Start) }
	for _, thread := range threads {
		for _, spans := range p.lanes[thread].depths {
			if !slices.IsSortedFunc(spans, byStart) {
				slices.SortStableFunc(spans, byStart)
			}
			dst = append(dst, spans...)
		}
	}
	return dst
}

// RowAtTime returns the first row whose time is at least t, and Len if there
// is none; damaged rows do not count. Where times step back, that is the first
// row ever that late.
func RowAtTime(src *index.Index, t int64) (int64, error) { return RowAtTimeIn(src, t, 0, src.Len()) }

// RowAtTimeIn is RowAtTime for the rows from first (included) to end (not
// included), and returns end if there is none.
func RowAtTimeIn(src *index.Index, t, first, end int64) (int64, error) {
	row, err := rowAtTime(src.Steady(), t, first, end)
	if row < 0 {
		row = end
	}
	return row, err
}

// rowAtTime returns -1 if there is no such row.
func rowAtTime(src *index.Index, t, first, end int64) (int64, error) {
	found := int64(-1)
	late := func(s *index.Summary, _ bool) bool { return s.LastTime >= t }
	err := walkGroups(src, first, end, late, func(b *index.Block, from, to int) bool {
		for i := from; i < to; i++ {
			if b.Time[i] >= t && b.Kind[i] != parser.Damaged {
				found = b.First + int64(i)
				return false
			}
		}
		return true
	})
	return found, err
}

// TimeSpan returns the least and the greatest time of the rows from first
// (included) to end (not included), without damaged ones. If there are none the
// least is greater.
func TimeSpan(src *index.Index, first, end int64) (least, greatest int64, err error) {
	least, greatest = math.MaxInt64, math.MinInt64
	sum := func(s *index.Summary, whole bool) bool {
		if whole {
			least, greatest = min(least, s.FirstTime), max(greatest, s.LastTime)
		}
		return !whole
	}
	err = walkGroups(src.Steady(), first, end, sum, func(b *index.Block, from, to int) bool {
		for i := from; i < to; i++ {
			if b.Kind[i] != parser.Damaged {
				least, greatest = min(least, b.Time[i]), max(greatest, b.Time[i])
			}
		}
		return true
	})
	return least, greatest, err
}

// walkGroups goes down the groups of the rows from first (included) to end (not
// included), in order, as far as group says so, which is told whether all rows
// of a group are among them. Of blocks rows is told the times and kinds, until it
// returns false.
func walkGroups(src *index.Index, first, end int64, group func(s *index.Summary, whole bool) bool, rows func(b *index.Block, from, to int) bool) error {
	length := src.Len()
	end = min(end, length)
	top := 0
	for 1<<(2*top) < sizes.Blocks(end) {
		top++
	}
	var b index.Block
	var walk func(level, k int) (on bool, err error)
	walk = func(level, k int) (bool, error) {
		n := sizes.Block << (2 * level)
		from := int64(k) * n
		if from >= end || from+n <= first {
			return true, nil
		}
		s := src.Summary(level, k)
		if !group(&s, from >= first && min(from+n, length) <= end) {
			return true, nil
		}
		if level == 0 {
			if err := src.Fill(&b, k, index.Times|index.Kinds); err != nil {
				return false, err
			}
			return rows(&b, int(max(first-b.First, 0)), int(min(end-b.First, int64(b.N)))), nil
		}
		for c := range 4 {
			if on, err := walk(level-1, 4*k+c); !on {
				return false, err
			}
		}
		return true, nil
	}
	_, err := walk(top, 0)
	return err
}

// A Lane is what a timeline needs to know of a thread.
type Lane struct {
	Thread uint32
	// Events counts its events, without damaged records.
	Events int64
	// Enters counts the enters among them.
	Enters int64
	// First and Last are the least and the greatest time of its events in
	// nanoseconds of the log's clock.
	First, Last int64
	// MaxDepth is the greatest depth of its events.
	MaxDepth int32
}

// Lanes returns the threads that have events which pass a predicate, nil
// being all, by slot. It reads all rows.
func Lanes(ctx context.Context, src *index.Index, where query.Predicate, progress parser.Progress) ([]Lane, error) {
	s := query.NewScan(src, where, index.Threads|index.Times|index.Depths|index.Kinds, progress)
	found := make([][]Lane, query.Workers())
	err := s.Run(ctx, func(w *query.Worker, first, end int) error {
		return w.Blocks(first, end, func(f *query.Rows) error {
			if f.Count > 0 {
				found[w.ID] = addLanes(found[w.ID], f)
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	var list []Lane
	for _, lanes := range found {
		for i := range lanes {
			o := &lanes[i]
			if o.Events == 0 {
				continue
			}
			for int(o.Thread) >= len(list) {
				list = append(list, Lane{Thread: uint32(len(list)), First: math.MaxInt64, Last: math.MinInt64})
			}
			l := &list[o.Thread]
			l.Events += o.Events
			l.Enters += o.Enters
			l.First, l.Last, l.MaxDepth = min(l.First, o.First), max(l.Last, o.Last), max(l.MaxDepth, o.MaxDepth)
		}
	}
	return slices.DeleteFunc(list, func(l Lane) bool { return l.Events == 0 }), nil
}

// addLanes adds the rows of a block that pass.
func addLanes(lanes []Lane, f *query.Rows) []Lane {
	b := f.Block
	for w, word := range f.Pass {
		for ; word != 0; word &= word - 1 {
			i := w*64 + bits.TrailingZeros64(word)
			if b.Kind[i] == parser.Damaged {
				continue
			}
			thread := b.Thread[i]
			for int(thread) >= len(lanes) {
				lanes = append(lanes, Lane{Thread: uint32(len(lanes)), First: math.MaxInt64, Last: math.MinInt64})
			}
			l := &lanes[thread]
			l.Events++
			if b.Kind[i] == parser.Enter {
				l.Enters++
			}
			l.First, l.Last, l.MaxDepth = min(l.First, b.Time[i]), max(l.Last, b.Time[i]), max(l.MaxDepth, b.Depth[i])
		}
	}
	return lanes
}
