package index

import (
	"slices"
	"sync"
	"sync/atomic"

	"logparser/calls"
	"logparser/calls/indexcache"
	"logparser/calls/internal/sizes"
	"logparser/calls/pairing"
	"logparser/parser"
)

// An Index knows the pairs, depths and totals of the records of the chosen
// runs of a log. Rows are counted from 0 over the runs in the order given. All
// its methods are safe for concurrent use: rows can be read while
// [Index.Build] still works on them.
type Index struct {
	// core is what is read. Build replaces it, but not that of a steady index.
	core atomic.Pointer[core]
	*shared
}

// shared is what an index has in common with its steady ones.
type shared struct {
	log    parser.Log
	layout atomic.Pointer[calls.Layout]
	live   atomic.Bool
	// done is set when the first Build has ended.
	done atomic.Bool

	building sync.Mutex // held by Build and Extend
	// store is nil where the index is not kept.
	store *indexcache.Store
	key   indexcache.Key
	// shorter is the kept index of an earlier state of the log, nil for none.
	shorter *shorter
	// extended says that the log has grown since, so that key is not that of its state.
	extended   bool
	storeError atomic.Pointer[error]
	cache      cache
}

// New makes an empty index for runs of a log. Each run has stacks of its own;
// the runs need not be neighbours. The index keeps the log, which must stay
// open.
func New(log parser.Log, runs []parser.Run) *Index {
	x := &Index{shared: &shared{log: log}}
	l := calls.NewLayout(runs)
	x.layout.Store(l)
	x.core.Store(x.newCore(l, calls.NewAddresses(), 0, nil))
	return x
}

// newCore makes an empty core for the index.
func (x *Index) newCore(l *calls.Layout, addresses *calls.Addresses, counted int64, n *pairing.Names) *core {
	c := newCore(x.log, l, addresses, counted, n)
	c.steady = &Index{shared: x.shared}
	c.steady.core.Store(c)
	return c
}

// Steady returns an index with what this one has now. It may grow, but it is never built again, so
// that answers of it fit together: a caller that asks more than one question asks the steady index.
// Steady returns the same one until this index is built again.
func (x *Index) Steady() *Index { return x.core.Load().steady }

// Total returns the number of rows that the index will have when it is built.
func (x *Index) Total() int64 { return x.layout.Load().Total() }

// Len returns the number of rows whose pairs are known: it rises to Total
// while Build works. The calls of these rows that are still open then have no
// partner yet.
func (x *Index) Len() int64 {
	c := x.core.Load()
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.pairs.Row()
}

// Done reports whether a Build has run to its end.
func (x *Index) Done() bool { return x.done.Load() }

// Position returns the run (an index into the runs given) and the record
// number in the whole log of a row, 0 <= row < Total().
func (x *Index) Position(row int64) (run int, record int64) {
	return x.layout.Load().Position(row)
}

// Row returns the row of a record of a run; it may not be there yet.
func (x *Index) Row(run int, record int64) int64 { return x.layout.Load().Row(run, record) }

// SetLive says whether the program may still be writing. While it may, the
// anomaly of the last run's open calls is [calls.Running] instead of
// [calls.Open].
func (x *Index) SetLive(live bool) {
	x.live.Store(live)
	x.core.Load().version.Add(1)
}

// Addresses returns the distinct addresses of the rows, or nil before Build
// has run to its end for the first time. Later builds do not change them;
// Extend adds to them.
func (x *Index) Addresses() *calls.Addresses {
	if !x.done.Load() {
		return nil
	}
	return x.core.Load().addresses
}

// Threads returns the threads by rising id, with the records counted so far.
func (x *Index) Threads() []calls.Thread {
	c := x.core.Load()
	c.mu.RLock()
	list := c.pairs.Threads()
	c.mu.RUnlock()
	slices.SortFunc(list, func(a, b calls.Thread) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return list
}

// Count returns how many rows have an anomaly. Those of [calls.Open] and
// [calls.Running] are known when Build has ended.
func (x *Index) Count(m calls.Anomaly) int64 {
	c := x.core.Load()
	live, done := x.live.Load(), x.done.Load()
	c.mu.RLock()
	defer c.mu.RUnlock()
	n := c.pairs.Count(m)
	if end := m == calls.Open && !live || m == calls.Running && live; done && (end || m == calls.NoLeave) {
		for _, th := range c.pairs.Live() {
			if th.Top() == NoNode {
				continue
			}
			if _, ended := c.pairs.ThreadEnd(th, c.Node(th.Top()).EnterTime, always); ended != end {
				n += th.Open()
			}
		}
	}
	return n
}

// NeedsNames reports whether some leave closed a call and was not matched by
// its address, so that building again with a Namer can give better anomalies and
// depths. The order of rows, threads and addresses never depends on names.
func (x *Index) NeedsNames() bool {
	c := x.core.Load()
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.pairs.ByPosition()
}

// Summary describes the group of 4^level blocks that has number k.
func (x *Index) Summary(level, k int) Summary {
	c := x.core.Load()
	c.mu.RLock()
	defer c.mu.RUnlock()
	level, k = c.group(level, k)
	if k < 0 {
		return pairing.EmptySummary()
	}
	s := *c.groups[level].at(k)
	first := int64(k) << (2 * level) * sizes.Block
	s.Rows = max(0, min(c.pairs.Row()-first, sizes.Block<<(2*level)))
	return s
}

// group returns the level and number of an existing group. Of a level above the
// highest it is the only group of the highest. The number is negative if there is no such group.
func (c *core) group(level, k int) (int, int) {
	if len(c.groups) == 0 || level < 0 || k < 0 {
		return 0, -1
	}
	if top := len(c.groups) - 1; level > top {
		if k > 0 {
			return 0, -1
		}
		level = top
	}
	if k >= c.groups[level].len() {
		return 0, -1
	}
	return level, k
}

// Longest appends the longest calls that end in group k of 4^level blocks. It leaves out
// calls that have a node of that level or above, which [Index.Level] finds; there are few.
func (x *Index) Longest(dst []Long, level, k int) []Long {
	c := x.core.Load()
	c.mu.RLock()
	defer c.mu.RUnlock()
	_, unfinished, last := c.pairs.Unfinished()
	last = last && (k+1)<<(2*level) >= c.blockCount()
	if level, k = c.group(level, k); k < 0 {
		return dst
	}
	l := *c.longs[level].at(k)
	if last {
		// The longest calls of an unfinished block are not in its group yet.
		l.Merge(unfinished)
	}
	for _, call := range l {
		if call.Duration() > 0 {
			dst = append(dst, call)
		}
	}
	return dst
}

// Nodes returns the number of nodes; a parent's number is less than its child's, and
// nodes of a thread are in the order of their enters.
func (x *Index) Nodes() int {
	c := x.core.Load()
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.nodes.len()
}

// Node returns a node by its number.
func (x *Index) Node(i uint32) Node {
	c := x.core.Load()
	e := x.ends(c)
	c.mu.RLock()
	defer c.mu.RUnlock()
	n := c.nodes.at(int(i))
	r := Node{
		Enter: n.Enter, Leave: n.Leave, EnterTime: n.EnterTime, LeaveTime: n.LeaveTime, Children: n.Children,
		Ordinal: n.Ordinal, Inside: n.Inside, Address: n.Address, Thread: n.Thread, Parent: n.Parent, Depth: n.Depth, Anomaly: n.Anomaly,
	}
	if n.Rowless {
		r.Enter = -1
	}
	switch {
	case n.Leave < 0:
		th := c.pairs.Stack(n.Thread)
		r.LeaveTime = c.pairs.EndTime(th)
		r.Inside = th.Records() - n.Ordinal
		if r.Anomaly = e.anomaly(n.Enter); r.Anomaly != calls.None && th.Top() != NoNode {
			if at, ok := c.pairs.ThreadEnd(th, c.Node(th.Top()).EnterTime, always); ok {
				r.Anomaly, r.LeaveTime, r.Ended = calls.NoLeave, at, true
			}
		}
	case n.Ended:
		r.Leave, r.Ended = -1, true
	case n.Anomaly == calls.NoLeave || n.Anomaly == calls.Open:
		r.Leave = -1
	case n.Rowless:
		r.Anomaly = calls.NoEnter
	}
	if th := c.pairs.Stack(n.Thread); th.Top() == i {
		r.Children += th.Below()
	}
	return r
}

// ends says which anomaly a call has that no leave has closed: Open for enters before row open, Running for
// those before row running.
type ends struct {
	open, running int64
	calls         *OpenCalls // for filling blocks
}

func (x *Index) ends(c *core) ends {
	if !x.done.Load() {
		return ends{}
	}
	l := c.layout()
	e := ends{open: l.Total(), running: l.Total()}
	if x.live.Load() && len(l.Runs) > 0 {
		e.open = l.Starts[len(l.Runs)-1]
	}
	return e
}

// anomaly returns the anomaly of an enter that no leave has closed.
func (e ends) anomaly(row int64) calls.Anomaly {
	switch {
	case row < e.open:
		return calls.Open
	case row < e.running:
		return calls.Running
	}
	return calls.None
}

// Top returns the top call of a stack before the first row of block k, or NoNode.
func (x *Index) Top(k int, slot uint32) uint32 {
	c := x.core.Load()
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.topOf(k, slot)
}

// OneStack reports whether each row of block k, which is not the last one, enters a call of the same stack or leaves the
// innermost one, so that who has the events need not fill the block to know its pairs. Then top is the innermost call before
// its first row, NoNode for none, and its calls that go on behind it are the nodes from first to end (not included).
func (x *Index) OneStack(k int) (top, first, end uint32, ok bool) {
	c := x.core.Load()
	c.mu.RLock()
	defer c.mu.RUnlock()
	if k < 0 || k+1 >= c.blockCount() || c.places.at(k).text != c.places.at(k+1).text || c.groups[0].at(k).Anomalies>>calls.Damaged&1 != 0 {
		return NoNode, 0, 0, false
	}
	row := int64(k) * sizes.Block
	l := c.layout()
	run, _ := l.Position(row)
	visit, visits := c.visitsOf(k)
	if visits-visit != 1 || l.Starts[run+1] < row+sizes.Block {
		return NoNode, 0, 0, false
	}
	from, to := c.nodesOf(k)
	return c.visits.at(visit).top, uint32(from), uint32(to), true
}

// Level appends the nodes of at least the level whose calls overlap the rows from
// (inclusive) to to (exclusive), by enter row.
func (x *Index) Level(dst []uint32, level int, from, to int64) []uint32 {
	c := x.core.Load()
	c.mu.RLock()
	defer c.mu.RUnlock()
	from, to = max(from, 0), min(to, c.pairs.Row())
	if from >= to {
		return dst
	}
	block := int(from / sizes.Block)
	first, _ := c.nodesOf(block)
	begin := len(dst)
	for slot := range c.pairs.Stacks() {
		for i := c.topOf(block, uint32(slot)); i != NoNode; {
			n := c.nodes.at(int(i))
			if int(*c.levels.rows[0].at(int(i))) >= level && (n.Leave < 0 || n.Leave >= from) {
				dst = append(dst, i)
			}
			i = n.Parent
		}
	}
	slices.Sort(dst[begin:])
	for i := c.levels.next(first, uint8(level)); i < c.nodes.len(); i = c.levels.next(i+1, uint8(level)) {
		n := c.nodes.at(i)
		if n.Enter >= to {
			break
		}
		if n.Leave < 0 || n.Leave >= from {
			dst = append(dst, uint32(i))
		}
	}
	return dst
}

// AddressTable returns the distinct addresses by number, as far as they are known;
// more may be added.
func (x *Index) AddressTable() *calls.Addresses { return x.core.Load().addresses }

// Slots returns the number of stacks.
func (x *Index) Slots() int {
	c := x.core.Load()
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.pairs.Stacks()
}

// ThreadID returns the thread that was the first on the stack of a slot.
func (x *Index) ThreadID(slot uint32) uint32 {
	c := x.core.Load()
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.pairs.Stack(c.pairs.Stack(slot).Home()).ID()
}

// Stack returns the number of the stack of a slot, 0 for a thread's own, and the slot
// of the own stack of the thread that was the first on it.
func (x *Index) Stack(slot uint32) (home, number uint32) {
	c := x.core.Load()
	c.mu.RLock()
	defer c.mu.RUnlock()
	th := c.pairs.Stack(slot)
	return th.Home(), th.Number()
}

// Totals returns the totals of the whole log for each address, or nil while they are
// not known and where there are too many.
func (x *Index) Totals() []calls.Total {
	c := x.core.Load()
	if !x.done.Load() {
		return nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.totals.many {
		return nil
	}
	list := make([]calls.Total, c.addresses.Len())
	for i := range list {
		if i < len(c.totals.list) {
			list[i] = c.totals.total(&c.totals.list[i])
		}
	}
	return list
}
