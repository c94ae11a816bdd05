package profile

import (
	"context"
	"math"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/internal/sizes"
	"logparser/calls/query"
	"logparser/parser"
)

// A Span is a range of time of a run, or of its rows, or both. Calls count with the part of
// them that lies in it.
type Span struct {
	// FirstRow (included) and EndRow (not included) are rows of one run.
	FirstRow, EndRow int64
	// From (included) and To (not included) are in nanoseconds of the log's clock.
	From, To int64
	// FromRow (included) and ToRow (not included) are rows of the run that the span is limited
	// to, too; ToRow is 0 where it is not. The time between the first and the last of them counts.
	FromRow, ToRow int64
}

// ClipOptions say what Clip sums up.
type ClipOptions struct {
	// Spans are the ranges of time, in the order of the log.
	Spans []Span
	// Where, Groups and PerThread are as in [StatisticsOptions]. Calls that were entered
	// before a span count if their enters pass.
	Where     query.Predicate
	Groups    []uint32
	PerThread bool
	// Tree asks for a call tree in place of statistics, of at most MaxNodes nodes, as in
	// [TreeOptions].
	Tree, BottomUp bool
	MaxNodes       int
	// Progress, if not nil, is told the rows done.
	Progress parser.Progress
}

// Clip sums up the parts of calls that lie in spans: a call that was running when a span
// began, or was running still when it ended, counts with what lies between; its duration
// is that part's. A call that was left without a leave lasts until the event that
// shows it. It reads the rows of the spans in one goroutine. Where the clock steps
// back within a span, time counts once.
func Clip(ctx context.Context, src *index.Index, o ClipOptions) ([]Stat, *Tree, error) {
	src = src.Steady()
	g := newGroups(src, o.Groups)
	limit := o.MaxNodes
	if limit <= 0 {
		limit = DefaultTreeNodes
	}
	c := &clipper{src: src, groups: g, stats: newStatTable(src, g, o.PerThread), perThread: o.PerThread, open: newCounts(src.Slots(), g.n),
		outermost: make(map[uint32]int64), unclosed: make(map[int64]*index.OpenCall)}
	if o.Tree {
		t := newTreeBuilder(spareNodes * limit)
		c.tree = &t
	}
	for _, call := range src.OpenCalls(nil).List {
		c.unclosed[call.Enter] = call
	}
	s := query.NewScan(src, o.Where, index.Times|index.Addresses|index.Kinds|index.Threads|index.Owners|index.Depths|index.Pairs, o.Progress)
	for i := range o.Spans {
		if err := c.span(ctx, s, &o.Spans[i], o.Where); err != nil {
			return nil, nil, err
		}
	}
	if o.Tree {
		return nil, finishTree(c.tree, new(pruner), c.outermost, &TreeOptions{PerThread: o.PerThread, BottomUp: o.BottomUp}, limit), nil
	}
	return c.stats.list(), nil, nil
}

// A clipper follows the stacks of all threads through a span.
type clipper struct {
	src       *index.Index
	groups    groups
	perThread bool
	limits    *Span
	from, to  int64
	// started: the rows that the span is limited to have begun. reached is the time of the last
	// row that was followed.
	started   bool
	reached   int64
	threads   []clippedThread // by slot
	open      counts          // of groups
	stats     *statTable
	tree      *treeBuilder // nil where statistics are wanted
	outermost map[uint32]int64
	// unclosed are the calls that no leave has closed, by the rows of their enters.
	unclosed map[int64]*index.OpenCall
}

type clippedThread struct {
	stack []clippedCall
	// last is the time up to which the top call has its self time.
	last int64
}

// A clippedCall is a call that is open.
type clippedCall struct {
	enter        int64 // its row, -1 where it is missing
	start        int64
	self         int64
	group, owner uint32
	node, caller int32
	// counted: it passes. recursive: another of its group is around it, and covered:
	// one that counts.
	counted, recursive, covered bool
}

// span sums up a span.
func (c *clipper) span(ctx context.Context, s *query.Scan, p *Span, where query.Predicate) error {
	end, begin := min(p.EndRow, c.src.Len()), p.FirstRow
	if p.ToRow > 0 {
		end, begin = min(end, p.ToRow), max(begin, p.FromRow)
	}
	if p.From >= p.To || begin >= end {
		return nil
	}
	c.limits, c.from, c.to, c.started, c.reached = p, p.From, p.To, p.ToRow == 0, p.From
	first := p.FirstRow
	k := firstReaching(c.src, c.from, int(begin/sizes.Block), sizes.Blocks(end))
	c.threads = make([]clippedThread, c.src.Slots())
	for i := range c.threads {
		c.threads[i].last = c.from
	}
	if begin := int64(k) * sizes.Block; begin > first {
		first = begin
		if err := c.load(ctx, k, where); err != nil {
			return err
		}
	}
	err := s.Sequential(ctx, k, sizes.Blocks(end), func(f *query.Rows) error {
		if c.block(f, first, end) {
			return nil
		}
		return errStop
	})
	if err != nil && err != errStop {
		return err
	}
	if p.ToRow > 0 {
		c.to = min(c.to, c.reached)
	}
	for slot := range c.threads {
		c.finish(uint32(slot))
	}
	return nil
}

// start lets what follows count, as the first row is come to that the span is limited to.
func (c *clipper) start(at int64) {
	c.started, c.from = true, max(c.from, at)
	for i := range c.threads {
		c.threads[i].last = c.from
	}
}

// firstReaching returns the first of some blocks that has a time from at on, and the last
// of them if none has.
func firstReaching(src *index.Index, at int64, first, end int) int {
	for k := first; k < end; {
		level := 0
		for n := 4; k%n == 0 && k+n <= end; n *= 4 {
			level++
		}
		for level >= 0 && src.Summary(level, k>>(2*level)).LastTime >= at {
			level--
		}
		if level < 0 {
			return k
		}
		k += 1 << (2 * level)
	}
	return end - 1
}

// errStop ends a scan.
var errStop error = stopped{}

// stopped is no error that anybody reads.
type stopped struct{}

func (stopped) Error() string { return "" }

// load takes the stacks before a block from the index.
func (c *clipper) load(ctx context.Context, k int, where query.Predicate) error {
	var chains [][]index.Node
	var enters []int64
	stacks := openStacks{src: c.src}
	for slot := range c.threads {
		chain := stacks.chain(nil, k, uint32(slot))
		chains = append(chains, chain)
		for i := range chain {
			if chain[i].Enter >= 0 {
				enters = append(enters, chain[i].Enter)
			}
		}
	}
	var pass map[int64]bool
	if where != nil {
		var err error
		if pass, err = query.Passing(ctx, c.src, where, enters); err != nil {
			return err
		}
	}
	for slot, chain := range chains {
		home, _ := c.src.Stack(uint32(slot))
		for i := len(chain) - 1; i >= 0; i-- {
			n := &chain[i]
			c.push(uint32(slot), int(n.Depth), clippedCall{enter: n.Enter, start: n.EnterTime, group: c.groups.at(n.Address), owner: home,
				counted: n.Enter >= 0 && (where == nil || pass[n.Enter])})
		}
	}
	return nil
}

// block follows the rows of a block from first on and below end. It returns false where the
// span has ended.
func (c *clipper) block(f *query.Rows, first, end int64) bool {
	b := f.Block
	n := int(min(int64(b.N), end-b.First))
	found := b.OpenRuns
	for i := max(int(first-b.First), 0); i < n; i++ {
		kind, at := b.Kind[i], b.Time[i]
		if kind != parser.Damaged && at >= c.to {
			return false
		}
		for ; len(found) > 0 && int(found[0].Row) <= i; found = found[1:] {
			o := &found[0]
			for d := range o.N {
				c.push(o.Thread, int(o.Depth+d), clippedCall{enter: -1, start: at, group: c.groups.at(o.Address), owner: o.Thread})
			}
		}
		if kind == parser.Damaged || b.Anomaly[i] == calls.Stray {
			continue
		}
		if !c.started && b.First+int64(i) >= c.limits.FromRow {
			c.start(at)
		}
		c.reached = max(c.reached, at)
		thread, d := b.Thread[i], int(b.Depth[i])
		c.cut(thread, d, at)
		if kind == parser.Enter {
			c.push(thread, d, clippedCall{enter: b.First + int64(i), start: at, group: c.groups.at(b.Address[i]), owner: b.Owner[i],
				counted: f.Pass[i/64]>>(i%64)&1 != 0})
		}
	}
	return true
}

// push puts a call of depth d on a thread's stack, which has none so deep.
func (c *clipper) push(slot uint32, d int, call clippedCall) {
	for int(slot) >= len(c.threads) {
		c.threads = append(c.threads, clippedThread{last: c.from})
	}
	t := &c.threads[slot]
	c.cut(slot, d, max(call.start, t.last))
	for len(t.stack) < d {
		missing := clippedCall{enter: -1, start: call.start, group: NoGroup}
		c.place(t, slot, &missing)
		t.stack = append(t.stack, missing)
	}
	if call.group == NoGroup {
		call.counted = false
	} else {
		call.recursive = c.open.add(slot, call.group, 1) > 1
	}
	if d > 0 {
		call.covered = t.stack[d-1].covered || t.stack[d-1].counted
	}
	c.place(t, slot, &call)
	t.stack = append(t.stack, call)
}

// place finds a call's node in the tree.
func (c *clipper) place(t *clippedThread, slot uint32, call *clippedCall) {
	if c.tree == nil {
		return
	}
	id := AllThreads
	if c.perThread {
		id, _ = c.src.Stack(slot)
	}
	if n := len(t.stack); n > 0 {
		call.caller = t.stack[n-1].node
	} else if c.perThread {
		call.caller = c.tree.child(0, NoGroup, id)
	}
	call.node = call.caller
	if call.group != NoGroup {
		if len(t.stack) < MaxTreeDepth {
			call.node = c.tree.child(call.caller, call.group, id)
		} else {
			call.node = c.tree.other(call.caller, id)
		}
	}
}

// cut ends the calls of depth d and more of a thread at a time, and gives the top call its self
// time until then.
func (c *clipper) cut(slot uint32, d int, at int64) {
	for int(slot) >= len(c.threads) {
		c.threads = append(c.threads, clippedThread{last: c.from})
	}
	t := &c.threads[slot]
	c.advance(t, at)
	for len(t.stack) > d {
		c.pop(t, slot, at, false)
	}
}

func (c *clipper) advance(t *clippedThread, at int64) {
	if !c.started {
		return
	}
	at = min(max(at, c.from), c.to)
	if at <= t.last {
		return
	}
	if n := len(t.stack); n > 0 {
		t.stack[n-1].self += at - t.last
	}
	t.last = at
}

// pop ends the top call of a thread at a time.
func (c *clipper) pop(t *clippedThread, slot uint32, at int64, running bool) {
	call := t.stack[len(t.stack)-1]
	t.stack = t.stack[:len(t.stack)-1]
	if call.group != NoGroup {
		c.open.add(slot, call.group, -1)
	}
	if !call.counted || !c.started || at < c.from || at == c.limits.From && call.start < at {
		return
	}
	part := max(min(at, c.to)-max(call.start, c.from), 0)
	if !call.covered {
		home, _ := c.src.Stack(slot)
		c.outermost[home] += part
		c.outermost[AllThreads] += part
	}
	if c.tree != nil {
		n := &c.tree.nodes[call.node]
		n.Calls++
		if running {
			n.Running++
		} else {
			n.Timed++
		}
		n.Self += call.self
		if call.node != call.caller {
			n.Total += part
		}
		return
	}
	s := c.stats.at(call.owner, call.group)
	if running {
		s.Calls++
		s.Running.add(part, call.self, call.recursive)
	} else {
		s.Add(part, call.self, call.recursive)
	}
}

// finish ends the calls that are open at the end of the span.
func (c *clipper) finish(slot uint32) {
	t := &c.threads[slot]
	for len(t.stack) > 0 {
		at, running := int64(math.MaxInt64), false
		o := c.unclosed[t.stack[len(t.stack)-1].enter]
		if o != nil && (o.LeaveTime < c.to || o.LeaveTime == c.to && c.limits.ToRow >= c.limits.EndRow) {
			at, running = o.LeaveTime, o.Running()
		}
		c.advance(t, at)
		c.pop(t, slot, at, running)
	}
}
