package profile

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/query"
	"logparser/parser"
)

// NoGroup stands for no group.
const NoGroup = ^uint32(0)

// AllThreads stands for all threads together.
const AllThreads = ^uint32(0)

// StatisticsOptions say what is counted and how.
type StatisticsOptions struct {
	// Where limits the calls: those count whose enter passes. Nil is all.
	Where query.Predicate
	// Groups has the group of each address by its number, NoGroup for calls
	// that are not counted. Addresses beyond its end are not counted either.
	// Nil makes each address a group of its own. Groups are numbered from 0
	// without great gaps.
	Groups []uint32
	// PerThread asks for a Stat for each thread and group.
	PerThread bool
	// Correct, if not nil, says what durations count for: self times are those of
	// corrected durations, too. It takes a pass over all rows.
	Correct Correct
	// Progress, if not nil, is told the rows done.
	Progress parser.Progress
}

// A Stat sums up the calls of a group. Its times are in nanoseconds and are
// the calls' own: a filter says which calls count, and never cuts a call's
// duration short.
type Stat struct {
	Group uint32
	// Thread is the thread's slot, or AllThreads.
	Thread uint32
	// Total is all that is known of the calls. NonRecursive leaves out those
	// that were made while another call of the group was open on the thread,
	// whether that passes the filter or not.
	calls.Total
	// Running is of the calls that had not ended when the log did, which Total only
	// counts.
	Running Running
}

// Mean returns the mean duration, 0 if there is none.
func (s *Stat) Mean() int64 {
	if s.Timed == 0 {
		return 0
	}
	return s.Sum / s.Timed
}

// Quantile returns the duration that a part q, 0 to 1, of the calls do not
// exceed, as [Histogram.Quantile].
func (s *Stat) Quantile(q float64) int64 { return s.Histogram.Quantile(q, s.Min, s.Max) }

// Statistics sums up the calls of each group that has some, by rising group
// and thread. Not by thread, and with a filter of addresses at most, it asks for the index's
// totals, and reads no rows if they are known and no group has calls of several
// addresses.
func Statistics(ctx context.Context, src *index.Index, o StatisticsOptions) ([]Stat, error) {
	src = src.Steady()
	g := newGroups(src, o.Groups)
	var most int64
	o.Where, most = narrowed(src, o.Where)
	if has, ok := enterAddresses(o.Where); ok && !o.PerThread && o.Correct == nil {
		if totals := src.Totals(); totals != nil {
			if list, ok := sumTotals(totals, g, has); ok {
				addRunning(ctx, list, src, &g, func(int64) bool { return true })
				return list, ctx.Err()
			}
		}
	}
	if list, ok, err := segmentStatistics(ctx, src, g, &o); ok || err != nil {
		return list, err
	}
	if list, ok, err := callStatistics(ctx, src, g, &o, most); ok || err != nil {
		return list, err
	}
	s := query.NewScan(src, o.Where, index.Addresses|index.Kinds|index.Threads|index.Owners|index.Depths|index.Pairs|selvesOf(o.Correct), o.Progress)
	open := src.OpenCalls(o.Correct)
	tables := make([]statTable, query.Workers())
	sparse := o.PerThread && uint64(src.Slots())*uint64(g.n) > maxDense
	err := s.Run(ctx, func(w *query.Worker, first, end int) error {
		t := &tables[w.ID]
		if t.stacks.src == nil {
			t.stacks = groupStacks{openStacks: openStacks{src: src}, groups: g, open: newCounts(src.Slots(), g.n)}
			t.perThread, t.running = o.PerThread, open
			if sparse {
				t.sparse = make(map[uint64]*Stat)
			}
			if o.Correct != nil {
				t.own = newOwnTimes(func(to *int64, self int64) { *to += self })
			}
		}
		if t.own != nil {
			defer t.stacks.end()
			defer t.own.end()
		}
		return callBlocks(w, first, end, o.Correct, t.add)
	})
	if err != nil {
		return nil, err
	}
	if o.Correct != nil {
		var own []*ownTimes[*int64]
		for i := range tables {
			if tables[i].own != nil {
				own = append(own, tables[i].own)
			}
		}
		settle(own)
	}
	sum := &tables[0]
	for i := range tables[1:] {
		sum.merge(&tables[1+i])
	}
	return sum.list(), nil
}

// groups says which group an address belongs to.
type groups struct {
	of  []uint32 // nil for itself
	n   uint32
	all bool // every address has a group
}

func newGroups(src *index.Index, of []uint32) groups {
	n := 0
	if a := src.AddressTable(); a != nil {
		n = a.Len()
	}
	if of == nil {
		return groups{nil, uint32(n), true}
	}
	g := groups{of: of, all: len(of) >= n && !slices.Contains(of, NoGroup)}
	for _, k := range of {
		if k != NoGroup {
			g.n = max(g.n, k+1)
		}
	}
	return g
}

func (g *groups) at(address uint32) uint32 {
	switch {
	case g.of == nil && address < g.n:
		return address
	case int(address) < len(g.of):
		return g.of[address]
	}
	return NoGroup
}

// enterAddresses returns the addresses of the enters that pass, if addresses tell all.
func enterAddresses(where query.Predicate) (has func(address uint32) bool, ok bool) {
	if where == nil {
		return func(uint32) bool { return true }, true
	}
	return query.EnterAddresses(where)
}

// sumTotals joins the totals of the addresses that are wanted to those of groups. It is not ok
// if a group of theirs has calls of several addresses: one may have been made while another
// was open.
func sumTotals(totals []calls.Total, g groups, has func(address uint32) bool) ([]Stat, bool) {
	one := make([]int32, g.n) // 1 + the address of the group
	several := make([]bool, g.n)
	n := 0
	for a := range totals {
		k := g.at(uint32(a))
		if k == NoGroup || totals[a].Calls == 0 {
			continue
		}
		if one[k] == 0 {
			n++
		} else {
			several[k] = true
		}
		if one[k] == 0 || has(uint32(a)) {
			one[k] = int32(a) + 1
		}
	}
	list := make([]Stat, 0, n)
	for k, a := range one {
		if a != 0 && has(uint32(a-1)) {
			if several[k] {
				return nil, false
			}
			list = append(list, Stat{Group: uint32(k), Thread: AllThreads, Total: totals[a-1]})
		}
	}
	return list, true
}

// addRunning adds the calls that no leave has closed, and whose enters pass, to what sumTotals made. It ends early with ctx.
func addRunning(ctx context.Context, list []Stat, src *index.Index, g *groups, pass func(row int64) bool) {
	of := newLineage(src, g)
	for i, o := range src.OpenCalls(nil).List {
		if i%1024 == 0 && ctx.Err() != nil {
			return
		}
		s := statOf(list, g.at(o.Address))
		switch {
		case s == nil || !pass(o.Enter):
		case o.Running():
			s.Running.add(o.Duration, o.Self, of.recursive(&o.Node))
		default:
			s.AddTimed(o.Duration, o.Self, of.recursive(&o.Node))
		}
	}
}

// statOf returns the Stat of a group in what sumTotals made, nil if there is none. Of a group there is no other address.
func statOf(list []Stat, group uint32) *Stat {
	i, ok := findGroup(list, group)
	if !ok {
		return nil
	}
	return &list[i]
}

// findGroup returns where the Stat of a group is among some by rising group, or would be.
func findGroup(list []Stat, group uint32) (i int, ok bool) {
	return slices.BinarySearchFunc(list, group, func(s Stat, group uint32) int { return cmp.Compare(s.Group, group) })
}

// openStacks follows the stacks of threads over blocks. From one block to the
// next it goes on; otherwise the stacks are taken from the index's nodes.
type openStacks struct {
	src   *index.Index
	block int // the last block, +1
	// known says for which thread the stack has been followed since when: it
	// counts the times that the blocks did not go on.
	known []uint32
	since uint32
}

// begin begins a block.
func (s *openStacks) begin(k int) {
	if k != s.block || s.since == 0 {
		s.since++
	}
	s.block = k + 1
}

// end has the stacks taken from the nodes again, whatever block is next.
func (s *openStacks) end() { s.block = 0 }

// stale reports whether the stack of a thread has to be taken from the nodes,
// once.
func (s *openStacks) stale(thread uint32) bool {
	for int(thread) >= len(s.known) {
		s.known = append(s.known, 0)
	}
	if s.known[thread] == s.since {
		return false
	}
	s.known[thread] = s.since
	return true
}

// chain returns the nodes of a thread's stack before a block, innermost first.
func (s *openStacks) chain(dst []index.Node, k int, thread uint32) []index.Node {
	for i := s.src.Top(k, thread); i != index.NoNode; {
		n := s.src.Node(i)
		dst = append(dst, n)
		i = n.Parent
	}
	return dst
}

// groupStacks are the groups of the open calls of each thread.
type groupStacks struct {
	openStacks
	groups groups
	stacks [][]uint32
	open   counts
	nodes  []index.Node
}

// cut takes the calls of depth d and more from a thread's stack.
func (s *groupStacks) cut(thread uint32, d int) {
	stack := s.stacks[thread]
	for i := len(stack) - 1; i >= d; i-- {
		if stack[i] != NoGroup {
			s.open.add(thread, stack[i], -1)
		}
	}
	s.stacks[thread] = stack[:min(d, len(stack))]
}

// push puts a call of depth d on a thread's stack, and reports whether another
// of its group is open.
func (s *groupStacks) push(thread uint32, d int, group uint32) bool {
	s.cut(thread, d)
	stack := s.stacks[thread]
	for len(stack) < d {
		stack = append(stack, NoGroup)
	}
	s.stacks[thread] = append(stack, group)
	return group != NoGroup && s.open.add(thread, group, 1) > 1
}

// load takes a thread's stack from the nodes before a block.
func (s *groupStacks) load(k int, thread uint32) {
	for int(thread) >= len(s.stacks) {
		s.stacks = append(s.stacks, nil)
	}
	s.cut(thread, 0)
	s.nodes = s.chain(s.nodes[:0], k, thread)
	for i := len(s.nodes) - 1; i >= 0; i-- {
		s.push(thread, int(s.nodes[i].Depth), s.groups.at(s.nodes[i].Address))
	}
}

// counts has a number for each thread and group.
type counts struct {
	groups uint32
	dense  []int32
	sparse map[uint64]int32
}

// maxDense bounds the size of a table that has an entry for each thread and
// group; a variable for tests.
var maxDense = uint64(1 << 22)

func newCounts(threads int, groups uint32) counts {
	if uint64(threads)*uint64(groups) <= maxDense {
		return counts{groups: groups, dense: make([]int32, threads*int(groups))}
	}
	return counts{groups: groups, sparse: make(map[uint64]int32)}
}

func (c *counts) add(thread, group uint32, d int32) int32 {
	i := uint64(thread)*uint64(c.groups) + uint64(group)
	if c.sparse == nil && i < uint64(len(c.dense)) {
		c.dense[i] += d
		return c.dense[i]
	}
	if c.sparse == nil {
		c.sparse = make(map[uint64]int32)
	}
	n := c.sparse[i] + d
	if n == 0 {
		delete(c.sparse, i)
	} else {
		c.sparse[i] = n
	}
	return n
}

// A statTable counts calls by thread, unless all are counted together, and
// group.
type statTable struct {
	stacks    groupStacks
	perThread bool
	running   *index.OpenCalls
	stats     [][]*Stat
	// sparse, if not nil, has them by group<<32 | thread instead.
	sparse map[uint64]*Stat
	own    *ownTimes[*int64] // nil where durations are those recorded
}

func (t *statTable) at(thread, group uint32) *Stat {
	if !t.perThread {
		thread = 0
	}
	if t.sparse != nil {
		k := uint64(group)<<32 | uint64(thread)
		s := t.sparse[k]
		if s == nil {
			s = new(Stat)
			t.sparse[k] = s
		}
		return s
	}
	for int(thread) >= len(t.stats) {
		t.stats = append(t.stats, nil)
	}
	row := t.stats[thread]
	if int(group) >= len(row) {
		row = append(row, make([]*Stat, int(t.stacks.groups.n)-len(row))...)
		t.stats[thread] = row
	}
	if row[group] == nil {
		row[group] = new(Stat)
	}
	return row[group]
}

// begin takes a thread's stack from the nodes before a block, once.
func (t *statTable) begin(k int, thread uint32) {
	if s := &t.stacks; s.stale(thread) {
		s.load(k, thread)
		if t.own != nil {
			t.own.load(thread, s.nodes)
		}
	}
}

// add counts the enters of a block that pass.
func (t *statTable) add(f *query.Rows) {
	b, s := f.Block, &t.stacks
	s.begin(f.Number)
	thread, found := index.NoThread, b.OpenRuns
	for i := range b.N {
		for ; len(found) > 0 && int(found[0].Row) == i; found = found[1:] {
			o := &found[0]
			t.begin(f.Number, o.Thread)
			for d := range o.N {
				s.push(o.Thread, int(o.Depth+d), s.groups.at(o.Address))
			}
		}
		kind := b.Kind[i]
		if kind == parser.Damaged || b.Anomaly[i] == calls.Stray {
			continue
		}
		if b.Thread[i] != thread {
			thread = b.Thread[i]
			t.begin(f.Number, thread)
		}
		d := int(b.Depth[i])
		if kind == parser.Leave {
			s.cut(thread, d)
			if t.own != nil {
				t.own.cut(thread, d)
			}
			continue
		}
		group := s.groups.at(b.Address[i])
		recursive := s.push(thread, d, group)
		counted := f.Pass[i/64]>>(i%64)&1 != 0 && group != NoGroup
		running := t.running.At(b, i)
		if t.own == nil {
			if counted {
				s := t.at(b.Owner[i], group)
				if running.Running() {
					s.Calls++
					s.Running.add(running.Duration, running.Self, recursive)
				} else {
					s.Add(b.Duration[i], b.Self[i], recursive)
				}
			}
			continue
		}
		c := ownCall[*int64]{enter: b.First + int64(i), counted: counted, duration: b.Duration[i]}
		if running != nil {
			c.duration = running.Duration
		}
		if counted {
			s := t.at(b.Owner[i], group)
			if c.to = &s.Self; running.Running() {
				s.Calls++
				s.Running.add(running.Duration, 0, recursive)
				c.to = &s.Running.Self
			} else {
				s.Add(c.duration, 0, recursive)
			}
		}
		t.own.push(thread, d, c, running != nil || timed(b, i))
	}
}

func (t *statTable) merge(other *statTable) {
	if t.stacks.src == nil {
		*t = *other
		return
	}
	add := func(thread, group uint32, o *Stat) {
		s := t.at(thread, group)
		s.Merge(&o.Total)
		s.Running.merge(&o.Running)
	}
	for thread, row := range other.stats {
		for group, o := range row {
			if o != nil {
				add(uint32(thread), uint32(group), o)
			}
		}
	}
	for k, o := range other.sparse {
		add(uint32(k), uint32(k>>32), o)
	}
}

func (t *statTable) list() []Stat {
	var list []Stat
	add := func(thread, group uint32, o *Stat) {
		s := *o
		if s.Group, s.Thread = group, thread; !t.perThread {
			s.Thread = AllThreads
		}
		list = append(list, s)
	}
	for _, k := range slices.Sorted(maps.Keys(t.sparse)) {
		add(uint32(k), uint32(k>>32), t.sparse[k])
	}
	if t.stats == nil {
		return list
	}
	for group := range t.stacks.groups.n {
		for thread, row := range t.stats {
			if int(group) < len(row) && row[group] != nil {
				add(uint32(thread), group, row[group])
			}
		}
	}
	return list
}
