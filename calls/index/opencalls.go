package index

import (
	"cmp"
	"slices"

	"logparser/calls"
	"logparser/calls/internal/sizes"
)

// An OpenCall is a call that no leave has closed, of which is known how long it
// lasted: until the log, its run or its thread ended.
type OpenCall struct {
	Node
	// Duration and Self are in nanoseconds. Self is 0 where durations were
	// corrected.
	Duration, Self int64
}

// OpenCalls are the calls that no leave has closed.
type OpenCalls struct {
	byEnter map[int64]*OpenCall // by the rows of their enters
	List    []*OpenCall         // by rising rows
}

// At returns the open call that was entered at a row of a block, or nil.
func (o *OpenCalls) At(b *Block, i int) *OpenCall {
	if m := b.Anomaly[i]; m != calls.Open && m != calls.Running && m != calls.NoLeave {
		return nil
	}
	return o.byEnter[b.First+int64(i)]
}

// Running reports whether there is a call, and it had not ended when the log did.
func (o *OpenCall) Running() bool { return o != nil && o.Anomaly != calls.NoLeave }

// inBlock returns the calls that were entered in the n rows from first on.
func (o *OpenCalls) inBlock(first, n int64) []*OpenCall {
	byRow := func(c *OpenCall, row int64) int { return cmp.Compare(c.Enter, row) }
	from, _ := slices.BinarySearchFunc(o.List, first, byRow)
	to, _ := slices.BinarySearchFunc(o.List[from:], first+n, byRow)
	return o.List[from : from+to]
}

// Blocks returns the first rows of the blocks in which they were entered, rising.
func (o *OpenCalls) Blocks() []int64 {
	var rows []int64
	for _, c := range o.List {
		if row := c.Enter - c.Enter%sizes.Block; len(rows) == 0 || rows[len(rows)-1] != row {
			rows = append(rows, row)
		}
	}
	return rows
}

// OpenCalls returns the calls that no leave has closed and of which is known how long
// they lasted. Correct, if not nil, changes durations, given the rows of the enters and
// the events inside each call; then the calls have no Self.
func (x *Index) OpenCalls(correct func(first int64, durations, inside []int64)) *OpenCalls {
	if correct == nil {
		return x.openCallsOf(x.core.Load())
	}
	return newOpenCalls(x, x.openNodes(), correct)
}

func newOpenCalls(src *Index, nodes []Node, correct func(first int64, durations, inside []int64)) *OpenCalls {
	open := &OpenCalls{byEnter: make(map[int64]*OpenCall)}
	for _, n := range nodes {
		if !n.open() {
			continue
		}
		o := &OpenCall{Node: n, Duration: calls.Elapsed(n.EnterTime, n.LeaveTime)}
		if correct != nil {
			durations := []int64{o.Duration}
			correct(n.Enter, durations, []int64{n.Inside})
			o.Duration = durations[0]
		} else {
			o.Self = calls.SelfTime(o.Duration, n.Children)
		}
		open.byEnter[n.Enter] = o
		open.List = append(open.List, o)
	}
	slices.SortFunc(open.List, func(a, b *OpenCall) int { return cmp.Compare(a.Enter, b.Enter) })
	for _, o := range open.List {
		// What an open call made has no part in the Children of its caller.
		if o.Parent != NoNode {
			caller := src.Node(o.Parent)
			if c := open.byEnter[caller.Enter]; c != nil && caller.open() {
				c.Self = calls.SelfTime(c.Self, o.Duration)
			}
		}
	}
	return open
}

// open reports whether no leave has closed the call but it is known how long it
// lasted, and its enter is known.
func (n *Node) open() bool {
	return n.Enter >= 0 && (n.Anomaly == calls.Open || n.Anomaly == calls.Running || n.Ended)
}

// A knownOpen is what openCalls found last.
type knownOpen struct {
	version uint64
	open    *OpenCalls
}

// openCallsOf returns the open calls of a core, none before a Build has ended.
func (x *Index) openCallsOf(c *core) *OpenCalls {
	if !x.done.Load() {
		return &OpenCalls{}
	}
	version := c.version.Load()
	if k := c.knownOpen.Load(); k != nil && k.version == version {
		return k.open
	}
	of := &Index{shared: x.shared}
	of.core.Store(c)
	open := newOpenCalls(of, of.openNodes(), nil)
	c.knownOpen.Store(&knownOpen{version, open})
	return open
}

// openNodes returns the nodes of which Node may say that they are open.
func (x *Index) openNodes() []Node {
	c := x.core.Load()
	c.mu.RLock()
	numbers := slices.Clone(c.leaveless)
	for _, th := range c.pairs.Live() {
		for i := th.Top(); i != NoNode; i = c.nodes.at(int(i)).Parent {
			numbers = append(numbers, i)
		}
	}
	c.mu.RUnlock()
	list := make([]Node, len(numbers))
	for k, i := range numbers {
		list[k] = x.Node(i)
	}
	return list
}

// OpenAtEnd returns the calls that are open at the end of the last run, but those
// whose enters are missing: of each thread the innermost first, at most so many, and
// how many there are. Calls that ended with their thread are not among them.
func (x *Index) OpenAtEnd(most int) (threads [][]Call, depths []int) {
	c := x.core.Load()
	if !x.done.Load() {
		return nil, nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, th := range c.pairs.Live() {
		if th.Top() == NoNode {
			continue
		}
		if _, ended := c.pairs.ThreadEnd(th, c.Node(th.Top()).EnterTime, always); ended {
			continue
		}
		var list []Call
		depth := 0
		for i := th.Top(); i != NoNode; {
			n := c.nodes.at(int(i))
			if i = n.Parent; n.Rowless {
				continue
			}
			if depth++; len(list) < most {
				list = append(list, Call{Enter: n.Enter, End: c.pairs.Row(), Address: n.Address, Thread: n.Thread, Depth: n.Depth, Time: n.EnterTime})
			}
		}
		if depth > 0 {
			threads, depths = append(threads, list), append(depths, depth)
		}
	}
	return threads, depths
}

// A Call is a call of the log.
type Call struct {
	// Enter is the row of its enter, -1 where that is missing from the log.
	Enter int64
	// End is the row after its last: after its leave; where it was left
	// without one, at most the next row of its thread that lies no deeper;
	// Len where it is open.
	End     int64
	Address uint32
	Thread  uint32
	Depth   int32
	// Time is that of its enter in nanoseconds of the log's clock.
	Time int64
}
