package index

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"
	"sync"
	"time"

	"logparser/calls"
	"logparser/parser"
)

const (
	// fillTime is how long blocks are read in each pictureTime; at least one is
	// for each query.
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
	src Source

	frames sync.Mutex // guards frame
	frame  *drawnFrame

	mu    sync.Mutex // guards what follows
	tick  uint64
	drawn map[int]*drawnBlock
	// began is when the time began in which blocks have been read for spent:
	// the lanes of one picture may be asked for one by one.
	began time.Time
	spent time.Duration
}

// A drawnFrame is the spans of all threads, for those that ask for one after
// the other.
type drawnFrame struct {
	query  SpanQuery
	rows   int64
	spans  []Span
	finer  bool
	served map[uint32]bool
}

// NewTimeline makes a Timeline of a source, which may still grow. If pairs of a
// source change, as when it is built again with names, a new one is needed.
func NewTimeline(src Source) *Timeline {
	return &Timeline{src: src, drawn: make(map[int]*drawnBlock)}
}

// A SpanQuery says what is to be drawn.
type SpanQuery struct {
	// Threads has the slots of the threads wanted, all if nil.
	Threads *Set
	// From (included) and To (not included) are in nanoseconds of the log's
	// clock.
	From, To int64
	// Pixels is the width that From to To has on the screen, of which at most
	// MaxPixels matter.
	Pixels int
	// MaxDepth is the greatest depth that is wanted. Calls deeper than 4,095
	// are not drawn.
	MaxDepth int32
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
	if q.From >= q.To || q.Pixels <= 0 || t.src.Len() == 0 {
		return dst, false, nil
	}
	if q.Threads == nil || q.Threads.Len() != 1 || t.src.Slots() > sharedLanes {
		return t.draw(dst, q)
	}
	var thread uint32
	for !q.Threads.Has(thread) {
		thread++
	}
	q.Threads = nil
	t.frames.Lock()
	defer t.frames.Unlock()
	f := t.frame
	if f == nil || f.query != q || f.rows != t.src.Len() || f.finer && f.served[thread] {
		f = &drawnFrame{query: q, rows: t.src.Len(), served: make(map[uint32]bool)}
		if f.spans, f.finer, err = t.draw(nil, q); err != nil {
			return dst, false, err
		}
		t.frame = f
	}
	f.served[thread] = true
	byThread := func(s Span, thread uint32) int { return cmp.Compare(s.Thread, thread) }
	from, _ := slices.BinarySearchFunc(f.spans, thread, byThread)
	to, _ := slices.BinarySearchFunc(f.spans, thread+1, byThread)
	return append(dst, f.spans[from:to]...), f.finer, nil
}

// draw appends the spans of a query to dst.
func (t *Timeline) draw(dst []Span, q SpanQuery) (spans []Span, finer bool, err error) {
	p := &picture{Timeline: t, SpanQuery: q, lanes: map[uint32]*drawnLane{}, end: -1}
	p.rows = t.src.Len()
	p.MaxDepth = min(p.MaxDepth, maxSpanDepth)
	pixels := min(q.Pixels, MaxPixels)
	p.pixel = max((uint64(q.To)-uint64(q.From))/uint64(pixels), 1)
	p.groups = maxGroups * (pixels + 64)
	level := 0
	for 1<<(2*level) < blocksOf(p.rows) {
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
	return p.collect(dst), p.finer, nil
}

// A picture is the work for one query.
type picture struct {
	*Timeline
	SpanQuery
	rows    int64
	pixel   uint64
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
	longs []Long
}

// A region is a group of blocks that is not looked into, or a block.
type region struct {
	level    int
	k        int
	from, to int64 // rows
	read     bool  // the block is wide enough to be read
	Summary
}

func (p *picture) wants(thread uint32) bool { return p.Threads == nil || p.Threads.Has(thread) }

// descend finds the regions of a group.
func (p *picture) descend(level, k int) {
	n := blockLen << (2 * level)
	from := int64(k) * n
	if from >= p.rows {
		return
	}
	s := p.src.Summary(level, k)
	p.groups--
	if s.LastTime < p.From || s.FirstTime >= p.To {
		return
	}
	if p.Threads != nil {
		var bloom uint64
		for _, w := range p.Threads.bloom {
			bloom |= w
		}
		if s.Threads&bloom == 0 {
			return
		}
	}
	wide := uint64(s.LastTime)-uint64(s.FirstTime) > 2*p.pixel
	if level > 0 && wide && p.groups > 0 {
		for c := range 4 {
			p.descend(level-1, 4*k+c)
		}
		return
	}
	p.regions = append(p.regions, region{level, k, from, min(from+n, p.rows), wide && level == 0, s})
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
		}
		p.group(r)
	}
	return nil
}

// node draws a node, unless a region before has drawn it: its call reaches
// out of each region that it begins in, and so has that region's level.
func (p *picture) node(n *Node) {
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

func spanOf(n *Node) Span {
	return Span{
		Start: n.EnterTime, End: max(n.LeaveTime, n.EnterTime), Enter: n.Enter, Address: n.Address, Thread: n.Thread,
		Depth: n.Depth, Deepest: n.Depth, Count: 1,
		Open: n.Leave < 0 && n.Mark != calls.NoLeave, NoLeave: n.Mark == calls.NoLeave,
	}
}

// idle draws the calls that are open where no event is.
func (p *picture) idle() error {
	row, err := RowAtTime(p.src, p.From)
	if err != nil || row >= p.rows {
		return err
	}
	for thread := range uint32(p.src.Slots()) {
		if !p.wants(thread) {
			continue
		}
		for i := p.src.Top(int(row/blockLen), thread); i != NoNode; {
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
		slices.SortFunc(longs, func(a, b Long) int { return cmp.Compare(a.EnterTime, b.EnterTime) })
	}
	alone := bits.OnesCount64(r.Threads) == 1 && p.src.Slots() <= 64
	p.threads(r, func(thread uint32) {
		l := p.lane(thread)
		for len(l.open) > 0 && l.open[len(l.open)-1].ends(r) {
			l.open = l.open[:len(l.open)-1]
		}
		rest := Span{
			Start: r.FirstTime, End: r.LastTime, Enter: r.from, Thread: thread,
			Deepest: r.MaxDepth, About: true, Longest: -1,
		}
		if !r.read {
			for i := range longs {
				if took := longs[i].duration(); longs[i].Thread == thread && took > rest.Longest {
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
				Depth: c.Depth, Deepest: c.Depth, Count: 1,
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
	used  uint64
	spans []Span
}

// block draws a block that is read now or has been before. It is not ok if
// enough blocks have been read for this picture.
func (p *picture) block(r *region) (ok bool, err error) {
	t := p.Timeline
	t.mu.Lock()
	d := t.drawn[r.k]
	if d != nil && d.rows == r.Rows && d.pixel <= p.pixel && (d.pixel == 1 || d.pixel > p.pixel/8) {
		t.tick++
		d.used = t.tick
	} else {
		d = nil
	}
	now := time.Now()
	if now.Sub(t.began) > pictureTime {
		t.began, t.spent = now, 0
	}
	enough := p.read && t.spent >= fillTime
	t.mu.Unlock()
	if d == nil {
		if enough {
			return false, nil
		}
		p.read = true
		d = &drawnBlock{rows: r.Rows, pixel: 1 << (bits.Len64(p.pixel) - 1)}
		if d.spans, err = readSpans(p.src, r, d.pixel); err != nil {
			return false, err
		}
		t.keep(r.k, d, time.Since(now))
	}
	for i := range d.spans {
		p.add(&d.spans[i])
	}
	return true, nil
}

// keep keeps a block's spans, which took some time to read, and forgets half of them when there are too many.
func (t *Timeline) keep(k int, d *drawnBlock, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spent += took
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
	block Block
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
// pixel merged.
func readSpans(src Source, r *region, pixel uint64) ([]Span, error) {
	sr := spanReaders.Get().(*spanReader)
	defer spanReaders.Put(sr)
	b := &sr.block
	if err := src.Fill(b, r.k, Times|Threads|Addresses|Kinds|Depths|Pairs); err != nil {
		return nil, err
	}
	n := int(min(int64(b.N), r.Rows))
	last := b.First + int64(n)
	var lane *blockLane
	thread := NoThread
	unwinds := r.Marks&(1<<calls.NoLeave) != 0
	for i := range n {
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
			Start: b.Time[i], Enter: b.First + int64(i), Address: b.Address[i], Thread: thread, Depth: d, Deepest: d, Count: 1,
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
func (l *blockLane) unwind(b *Block, d int32, i int, pixel uint64) {
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
func RowAtTime(src Source, t int64) (int64, error) {
	rows := src.Len()
	blocks := blocksOf(rows)
	level, k := 0, 0
	for 1<<(2*level) < blocks {
		level++
	}
	for {
		// The first group at this level that is late enough.
		for k<<(2*level) < blocks && src.Summary(level, k).LastTime < t {
			k++
		}
		if k<<(2*level) >= blocks {
			return rows, nil
		}
		if level == 0 {
			break
		}
		level--
		k *= 4
	}
	var b Block
	if err := src.Fill(&b, k, Times|Kinds); err != nil {
		return 0, err
	}
	for i, at := range b.Time[:b.N] {
		if at >= t && b.Kind[i] != parser.Damaged {
			return min(b.First+int64(i), rows), nil
		}
	}
	return min(b.First+int64(b.N), rows), nil
}

// TimeOfRow returns the time of a row in nanoseconds of the log's clock, of
// the last row if the row is behind it and of the first if it is before.
func TimeOfRow(src Source, row int64) (int64, error) {
	var b Block
	i, err := fillAt(src, &b, min(max(row, 0), src.Len()-1), Times)
	if err != nil || i < 0 {
		return 0, err
	}
	return b.Time[i], nil
}

// A Lane is what a timeline needs to know of a thread.
type Lane struct {
	Thread uint32
	// Events counts its events, without damaged records.
	Events int64
	// First and Last are the least and the greatest time of its events in
	// nanoseconds of the log's clock.
	First, Last int64
	// MaxDepth is the greatest depth of its events.
	MaxDepth int32
}

// Lanes returns the threads that have events which pass a predicate, nil
// being all, by slot. It reads all rows.
func Lanes(ctx context.Context, src Source, where Predicate, progress parser.Progress) ([]Lane, error) {
	s := newScan(src, where, Threads|Times|Depths|Kinds, progress)
	found := make([][]Lane, workers())
	err := s.run(ctx, func(w *worker, first, end int) error {
		return w.blocks(first, end, func(f *foundRows) error {
			if f.count > 0 {
				found[w.id] = addLanes(found[w.id], f)
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
			l.First, l.Last, l.MaxDepth = min(l.First, o.First), max(l.Last, o.Last), max(l.MaxDepth, o.MaxDepth)
		}
	}
	return slices.DeleteFunc(list, func(l Lane) bool { return l.Events == 0 }), nil
}

// addLanes adds the rows of a block that pass.
func addLanes(lanes []Lane, f *foundRows) []Lane {
	b := f.block
	for w, word := range f.pass {
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
			l.First, l.Last, l.MaxDepth = min(l.First, b.Time[i]), max(l.Last, b.Time[i]), max(l.MaxDepth, b.Depth[i])
		}
	}
	return lanes
}
