package index

import (
	"cmp"
	"math"
	"slices"

	"logparser/calls"
	"logparser/parser"
)

// An openCall is a call that no leave has closed, of which is known how long it
// lasted: until the log, its run or its thread ended.
type openCall struct {
	Node
	// duration and self are in nanoseconds. Where durations are corrected, self
	// is 0 and ownTimes finds it.
	duration, self int64
}

// openCalls are those calls.
type openCalls struct {
	byEnter map[int64]*openCall // by the rows of their enters
	list    []*openCall         // by rising rows
}

// at returns the open call that was entered at a row of a block, or nil.
func (o *openCalls) at(b *Block, i int) *openCall {
	if m := b.Mark[i]; m != calls.Open && m != calls.Running && m != calls.NoLeave {
		return nil
	}
	return o.byEnter[b.First+int64(i)]
}

// running is at for calls that had not ended when the log did.
func (o *openCall) running() bool { return o != nil && o.Mark != calls.NoLeave }

// inBlock returns those of the n rows from first on.
func (o *openCalls) inBlock(first, n int64) []*openCall {
	if o == nil {
		return nil
	}
	byRow := func(c *openCall, row int64) int { return cmp.Compare(c.Enter, row) }
	from, _ := slices.BinarySearchFunc(o.list, first, byRow)
	to, _ := slices.BinarySearchFunc(o.list[from:], first+n, byRow)
	return o.list[from : from+to]
}

// rows returns the first rows of the blocks in which they were entered, rising.
func (o *openCalls) rows() []int64 {
	var rows []int64
	for _, c := range o.list {
		if row := c.Enter - c.Enter%blockLen; len(rows) == 0 || rows[len(rows)-1] != row {
			rows = append(rows, row)
		}
	}
	return rows
}

// openNodes returns the nodes among which the open calls are.
func openNodes(src Source) []Node {
	if x, ok := src.(*Index); ok {
		return x.openNodes()
	}
	var list []Node
	for i := range src.Nodes() {
		if n := src.Node(uint32(i)); n.open() {
			list = append(list, n)
		}
	}
	return list
}

// findOpen returns the calls of a source that no leave has closed and of which is
// known how long they lasted.
func findOpen(src Source, correct Correct) *openCalls {
	if x, ok := src.(*Index); ok && correct == nil {
		return x.openCalls(x.core.Load())
	}
	return newOpenCalls(src, openNodes(src), correct)
}

func newOpenCalls(src Source, nodes []Node, correct Correct) *openCalls {
	open := &openCalls{byEnter: make(map[int64]*openCall)}
	for _, n := range nodes {
		if !n.open() {
			continue
		}
		o := &openCall{Node: n, duration: calls.Elapsed(n.EnterTime, n.LeaveTime)}
		if correct != nil {
			durations := []int64{o.duration}
			correct(n.Enter, durations, []int64{n.Inside})
			o.duration = durations[0]
		} else {
			o.self = self(o.duration, n.Children)
		}
		open.byEnter[n.Enter] = o
		open.list = append(open.list, o)
	}
	slices.SortFunc(open.list, func(a, b *openCall) int { return cmp.Compare(a.Enter, b.Enter) })
	for _, o := range open.list {
		// What an open call made has no part in the Children of its caller.
		if o.Parent != NoNode {
			caller := src.Node(o.Parent)
			if c := open.byEnter[caller.Enter]; c != nil && caller.open() {
				c.self = self(c.self, o.duration)
			}
		}
	}
	return open
}

// open reports whether no leave has closed the call but it is known how long it
// lasted, and its enter is known.
func (n *Node) open() bool {
	return n.Enter >= 0 && (n.Mark == calls.Open || n.Mark == calls.Running || n.Ended)
}

// recursive reports whether another call of the group of an open call was open
// when it was made.
func (o *openCall) recursive(src Source, g *groups) bool {
	group := g.at(o.Address)
	for i := o.Parent; i != NoNode; {
		n := src.Node(i)
		if g.at(n.Address) == group {
			return true
		}
		i = n.Parent
	}
	return false
}

// A Running sums up calls that no leave has closed. Its times are in
// nanoseconds, up to where each call's run ended.
type Running struct {
	// Calls counts them. The sums are as those of [Total].
	Calls, Sum, Self, NonRecursive int64
}

func (r *Running) add(duration, self int64, recursive bool) {
	r.Calls++
	r.Sum += duration
	r.Self += self
	if !recursive {
		r.NonRecursive += duration
	}
}

func (r *Running) merge(other *Running) {
	r.Calls += other.Calls
	r.Sum += other.Sum
	r.Self += other.Self
	r.NonRecursive += other.NonRecursive
}

// A knownOpen is what openCalls found last.
type knownOpen struct {
	version uint64
	open    *openCalls
}

// openCalls returns the open calls of a core, none before a Build has ended.
func (x *Index) openCalls(c *core) *openCalls {
	if !x.done.Load() {
		return &openCalls{}
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
	for _, th := range c.live {
		for i := th.top; i != NoNode; i = c.nodes.at(int(i)).parent {
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

// threadEnd returns when the thread ended in whose calls it was at a time, and
// whether the log knows. The caller holds the lock, or is the one that adds.
func (c *core) threadEnd(th *thread, from, to int64) (time int64, ok bool) {
	if log, is := c.log.(parser.Ender); is && th.number == 0 {
		return log.ThreadEnd(th.id, from, to)
	}
	return 0, false
}

// endTime returns the time at which the open calls of the last run ended, as far as
// is known: that of its last event, or a later one that the log tells.
func (c *core) endTime() int64 {
	if log, ok := c.log.(parser.Ender); ok {
		if at, _ := log.End(); at > c.lastTime {
			return at
		}
	}
	return c.lastTime
}

// endThread notes that a thread has ended before the event that begins another of
// its id, if the log knows when, so that its calls have durations. It had so many
// events.
func (c *core) endThread(th *thread, before, records int64) {
	if th.top == NoNode {
		return
	}
	at, ok := c.threadEnd(th, c.nodes.at(int(th.top)).enterTime, before)
	if !ok {
		return
	}
	for i := th.top; i != NoNode; {
		n := c.nodes.at(int(i))
		n.ended, n.leaveTime, n.inside = true, at, records-n.ordinal
		c.leaveless = append(c.leaveless, i)
		i = n.parent
	}
}

// always is later than all times.
const always = math.MaxInt64

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
	for _, th := range c.live {
		if th.top == NoNode {
			continue
		}
		if _, ended := c.threadEnd(th, c.nodes.at(int(th.top)).enterTime, always); ended {
			continue
		}
		var list []Call
		depth := 0
		for i := th.top; i != NoNode; {
			n := c.nodes.at(int(i))
			if i = n.parent; n.rowless {
				continue
			}
			if depth++; len(list) < most {
				list = append(list, Call{Enter: n.enter, End: c.row, Address: n.address, Thread: n.thread, Depth: n.depth, Time: n.enterTime})
			}
		}
		if depth > 0 {
			threads, depths = append(threads, list), append(depths, depth)
		}
	}
	return threads, depths
}
