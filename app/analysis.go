package app

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"logparser/calls"
	"logparser/calls/profile"
	"logparser/calls/query"
	"logparser/calls/timeline"
	"logparser/message"
	"logparser/parser"
	"logparser/rows"
	"logparser/rows/filter"
)

// A FunctionRef names a function as rows do.
type FunctionRef struct {
	// Function is never empty; see [rows.Row].
	Function, Module string
	// Source and Line are a place in it: the one of the lowest address that was
	// recorded of it. "" and 0 if unknown.
	Source string
	Line   int
	// Key is a number of the function, the same in everything that one session
	// returns until names change; it serves to find the same function elsewhere
	// and to choose a colour.
	Key uint32
}

// groups are the functions of the addresses: addresses of one name, module and
// source file are one function. Functions of one short name have others here,
// see [namesakes].
type groups struct {
	generation uint64
	ofRuns     int
	made       time.Time
	// of has the group of each address, and list the groups.
	of   []uint32
	list []FunctionRef
	// first has the first address of each group.
	first []int32
	// lowest is the address of which the group has its line.
	lowest []uint64
	byName map[functionName]uint32
}

type functionName struct{ function, module, source string }

// regroup is how long groups are kept while names are still coming.
const regroup = 500 * time.Millisecond

// groups returns the functions of all addresses that there are now. What it
// returns is not changed any more.
func (s *Session) groups() *groups {
	src := s.table
	table := src.AddressTable()
	generation, n := s.generation.Load(), table.Len()
	c := &s.views
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.groups
	s.mu.Lock()
	loaded := s.loaded
	s.mu.Unlock()
	// Until all is named, names come one by one.
	if g == nil || g.generation != generation || g.ofRuns != len(s.runs()) || !loaded && time.Since(g.made) > regroup {
		g = &groups{generation: generation, ofRuns: len(s.runs()), made: time.Now(), byName: make(map[functionName]uint32)}
	}
	if len(g.of) < n {
		longer := *g
		longer.list, longer.lowest = slices.Clone(g.list), slices.Clone(g.lowest)
		longer.first = slices.Clone(g.first)
		longer.add(s, table, n)
		g = &longer
	}
	c.groups = g
	return g
}

func (g *groups) add(s *Session, table *calls.Addresses, n int) {
	s.mu.Lock()
	names := s.names
	s.mu.Unlock()
	for i := len(g.of); i < n; i++ {
		a := table.At(i)
		row := s.placeRow(names, &a, i)
		key := functionName{row.Function, row.Module, row.Source}
		group, ok := g.byName[key]
		if !ok {
			group = uint32(len(g.list))
			g.byName[key] = group
			g.list = append(g.list, FunctionRef{row.Function, row.Module, row.Source, row.Line, group})
			g.lowest, g.first = append(g.lowest, row.Address), append(g.first, int32(i))
		} else if row.Address < g.lowest[group] {
			g.list[group].Line, g.lowest[group] = row.Line, row.Address
		}
		g.of = append(g.of, group)
	}
}

// ref returns the function of an address.
func (g *groups) ref(address uint32) FunctionRef {
	if int(address) < len(g.of) {
		return g.list[g.of[address]]
	}
	return FunctionRef{}
}

// same returns the addresses of an address's function.
func (g *groups) same(address uint32) *query.Set {
	set := query.NewSet(len(g.of))
	set.Add(address)
	if int(address) < len(g.of) {
		for i, group := range g.of {
			if group == g.of[address] {
				set.Add(uint32(i))
			}
		}
	}
	return set
}

// A Frame is an open call.
type Frame struct {
	FunctionRef
	// Enter is the row of its enter, -1 where that is missing from the log;
	// Leave that of its leave, -1 where there is none (yet).
	Enter, Leave int64
	Thread       uint32
	Process      *rows.Process // nil where there is only one
	Depth        int
	// Elapsed is the time of its enter since the first row, Duration that of
	// the call or [rows.NoDuration], both in nanoseconds.
	Elapsed, Duration int64
	Bound             rows.Bound // of Duration
	// Note is the anomaly of the pairing: open, no leave.
	Note string
}

// maxFrames bounds the frames of a stack.
const maxFrames = 2000

var (
	errNoIndex = message.New("the log is not indexed yet")
	errNoRow   = message.New("there is no such row")
)

// checkRow says why nothing can be told of a row.
func (s *Session) checkRow(row int64) error {
	switch {
	case row < 0 || row >= s.rows.Len():
		return message.Errorf("row %d: %w", row, errNoRow)
	case row >= s.table.Len():
		return message.Errorf("row %d: %w", row, errNoIndex)
	}
	return nil
}

// Stack returns the calls that are open at a row of the log on the row's
// thread, the outermost first. The call that the row enters or leaves is the
// last. Of very many only the innermost are returned; the first's Depth tells.
func (s *Session) Stack(row int64) ([]Frame, error) {
	src := s.table
	if err := s.checkRow(row); err != nil {
		return nil, err
	}
	stack, err := query.Stack(src, row)
	if err != nil {
		return nil, err
	}
	stack = stack[max(len(stack)-maxFrames, 0):]
	list, g := make([]Frame, len(stack)), s.groups()
	var missing rows.Row
	for k := range stack {
		c := &stack[k]
		t := s.threadAt(c.Thread)
		f := Frame{FunctionRef: g.ref(c.Address), Enter: c.Enter, Leave: -1, Thread: t.ID, Process: t.Process, Depth: int(c.Depth),
			Elapsed: s.elapsed(row, c.Time), Duration: rows.NoDuration}
		r := &missing
		switch {
		case c.Enter >= 0:
			entered := s.rows.Row(c.Enter)
			r = &entered
			if leave, ok := s.Partner(c.Enter); ok {
				f.Leave = leave
			}
			f.Elapsed = r.Elapsed
		case k == len(stack)-1:
			left := s.rows.Row(row)
			r, f.Leave = &left, row
		default:
			r.Duration, r.Note = rows.NoDuration, calls.NoEnter.String()
		}
		f.Duration, f.Bound, f.Note = r.Duration, r.Bound, r.Note
		list[k] = f
	}
	return list, nil
}

// elapsed turns a time of the log's clock into the elapsed time of a row's run.
func (s *Session) elapsed(row, time int64) int64 {
	run, _ := s.table.Position(row)
	return time - s.runs()[run].zero
}

// Caller returns the enter row of the call that made the call of a row. It is
// not ok where there is none, or where its enter is missing from the log.
func (s *Session) Caller(row int64) (enter int64, ok bool, err error) {
	src := s.table
	if err := s.checkRow(row); err != nil {
		return -1, false, err
	}
	c, ok, err := query.Caller(src, row)
	if err != nil || !ok || c.Enter < 0 {
		return -1, false, err
	}
	return c.Enter, true, nil
}

// NextCall returns the enter row of the next call (or the one before, if back)
// of the row's function, on any thread.
func (s *Session) NextCall(ctx context.Context, row int64, back bool) (enter int64, ok bool, err error) {
	src := s.table
	if err := s.checkRow(row); err != nil {
		return -1, false, err
	}
	c, err := query.CallAt(src, row)
	if err != nil || c.Enter < 0 {
		return -1, false, err
	}
	if back {
		row = c.Enter
	}
	return query.NextCall(ctx, src, row, s.groups().same(c.Address), back)
}

// RowAtTime returns the first row of the log whose elapsed time, in
// nanoseconds, is not less, or the last row. Of several runs it is about the
// first. Before the log is paired it takes the times for ascending: where they
// step back it need not be the first such row.
func (s *Session) RowAtTime(elapsed int64) int64 {
	last := s.rows.Len() - 1
	src := s.table
	if last < 0 {
		return max(last, 0)
	}
	first := &s.runs()[0]
	at := saturatedSum(elapsed, first.zero)
	paired := src.Len()
	row, err := timeline.RowAtTime(src, at, 0, paired)
	if err != nil {
		return last
	}
	if row == paired {
		for end := first.Count; row < end; {
			var event [1]parser.Event
			middle := row + (end-row)/2
			if n, _ := s.log.ReadEvents(event[:], first.First+middle); n == 0 || event[0].Time >= at {
				end = middle
			} else {
				row = middle + 1
			}
		}
	}
	return min(row, last)
}

// A FunctionStat sums up the calls of a function in a selection. Times are in
// nanoseconds, and made of durations as rows have them: where these are
// corrected, Self is what is left of a call without the corrected durations of
// the calls that it made, and never below 0.
type FunctionStat struct {
	FunctionRef
	// Thread is the id of the thread if the statistics are by thread, and ThreadName
	// its name, "" for none.
	Thread     uint32
	Process    *rows.Process // nil where there is only one
	ByThread   bool
	ThreadName string
	// Calls counts the enters; Timed those of them of which is known when they ended,
	// with a leave or their thread, Running those that had not when the log did.
	Calls, Timed, Running int64
	// Total is all the time in the calls, in those that are running up to the end of
	// their run; Self what was not spent in calls that they made;
	// NonRecursive leaves out what was spent while another call of the function was
	// open on the thread.
	Total, Self, NonRecursive int64
	// Mean to Max are of the durations of single calls that have ended. Quantiles
	// are right to within 1/16.
	Mean, Min, P50, P95, P99, Max int64
	// Bound says how far Total and NonRecursive can be relied on, SelfBound how far Self and
	// SingleBound how far Mean to Max.
	Bound, SelfBound, SingleBound rows.Bound
	// Durations is the histogram, by rising durations, without empty bars.
	Durations []Bar
}

// Track returns what tells the thread from all others, in statistics by thread.
func (f *FunctionStat) Track() rows.Track { return rows.TrackOf(f.Process, f.Thread, 0) }

// ThreadText is what the thread is called, in statistics by thread.
func (f *FunctionStat) ThreadText() string { return threadText(f.Thread, f.ThreadName, f.Process) }

// Sum returns Total, Self or NonRecursive, or [rows.NoDuration] where they are not
// known: of no call a duration is.
func (f *FunctionStat) Sum(ns int64) int64 {
	if f.Timed+f.Running == 0 {
		return rows.NoDuration
	}
	return ns
}

// Single returns one of Mean to Max, or [rows.NoDuration] where no call has a leave.
func (f *FunctionStat) Single(ns int64) int64 {
	if f.Timed == 0 {
		return rows.NoDuration
	}
	return ns
}

// MeanDigits returns the digits of a second that Mean is worth, where single times
// are worth so many: a mean of several is worth three more.
func (f *FunctionStat) MeanDigits(digits int) int {
	if f.Timed > 1 {
		return min(digits+3, 9)
	}
	return digits
}

// A Bar counts durations of From and more, and less than To, in nanoseconds.
type Bar struct {
	From, To int64
	Calls    int64
}

// Statistics returns the statistics of the functions of a selection, the
// greatest NonRecursive first. Folded and Repeats do not matter. A call counts if its
// enter is a row of the selection, and counts whole. p is told of StageFilter.
func (s *Session) Statistics(ctx context.Context, sel Selection, p Progress) ([]FunctionStat, error) {
	return s.statistics(ctx, sel, s.functionGroups, false, p)
}

// ThreadStatistics is Statistics for each thread by itself, by rising thread id
// and then as Statistics has it.
func (s *Session) ThreadStatistics(ctx context.Context, sel Selection, p Progress) ([]FunctionStat, error) {
	return s.statistics(ctx, sel, s.functionGroups, true, p)
}

// ModuleStatistics is Statistics of modules: the calls of all functions of a
// module are one's. Function is empty.
func (s *Session) ModuleStatistics(ctx context.Context, sel Selection, p Progress) ([]FunctionStat, error) {
	return s.statistics(ctx, sel, s.moduleGroups, false, p)
}

func (s *Session) functionGroups() (of []uint32, list []FunctionRef) {
	g := s.groups()
	return g.of, g.list
}

func (s *Session) moduleGroups() (of []uint32, list []FunctionRef) {
	g := s.groups()
	byName := make(map[string]uint32)
	of = make([]uint32, len(g.of))
	for i, function := range g.of {
		name := g.list[function].Module
		group, ok := byName[name]
		if !ok {
			group = uint32(len(list))
			byName[name] = group
			list = append(list, FunctionRef{Module: name, Key: group})
		}
		of[i] = group
	}
	return of, list
}

func (s *Session) statistics(ctx context.Context, sel Selection, groups func() ([]uint32, []FunctionRef), perThread bool, p Progress) ([]FunctionStat, error) {
	of, refs := groups()
	stats, _, ok, err := s.clipped(ctx, sel, profile.ClipOptions{Groups: of, PerThread: perThread, Progress: p.of(StageFilter)})
	if err != nil {
		return nil, err
	}
	if !ok {
		where, err := s.whereOf(ctx, sel)
		if err != nil {
			return nil, err
		}
		stats, err = profile.Statistics(ctx, s.table, profile.StatisticsOptions{
			Where: where, Groups: of, PerThread: perThread, Correct: s.correcting(), Progress: p.of(StageFilter),
		})
		if err != nil {
			return nil, err
		}
	}
	list, endKnown := make([]FunctionStat, len(stats)), s.endKnown()
	_, late := s.Ways()
	for i := range stats {
		st := &stats[i]
		f := FunctionStat{
			FunctionRef: refs[st.Group], Calls: st.Calls, Timed: st.Timed, Running: st.Running.Calls,
			Total: st.Sum + st.Running.Sum, Self: st.Self + st.Running.Self, NonRecursive: st.NonRecursive + st.Running.NonRecursive,
		}
		f.Bound, f.SelfBound = sumBounds(f.Timed, f.Running, endKnown, late)
		if late {
			f.SingleBound = rows.AtMost
		}
		if perThread {
			t := s.threadAt(st.Thread)
			f.ByThread, f.Thread, f.Process, f.ThreadName = true, t.ID, t.Process, t.Name
		}
		if st.Timed > 0 {
			f.Mean, f.Min, f.Max = st.Mean(), st.Min, st.Max
			f.P50, f.P95, f.P99 = st.Quantile(0.50), st.Quantile(0.95), st.Quantile(0.99)
		}
		for _, b := range st.Histogram.Buckets() {
			f.Durations = append(f.Durations, Bar{b.From, b.To, int64(b.Count)})
		}
		list[i] = f
	}
	slices.SortStableFunc(list, func(a, b FunctionStat) int {
		return cmp.Or(cmp.Compare(a.Track(), b.Track()), cmp.Compare(b.NonRecursive, a.NonRecursive), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Function, b.Function))
	})
	return list, nil
}

// An Unfinished is a thread that was in calls when the log ended.
type Unfinished struct {
	Thread Thread
	// Stack is the number of the stack, 0 for the thread's own; else the thread is the
	// one that was on it first.
	Stack uint32
	// Functions are those of the calls, the innermost first, and More how many there
	// are around them.
	Functions []FunctionRef
	More      int
	// Lasted is how long the innermost call had lasted, in nanoseconds.
	Lasted int64
	Bound  rows.Bound
}

// Unfinished returns the threads that were in calls when the log ended, by rising id,
// and of each at most so many calls. While a log is followed there are none.
func (s *Session) Unfinished(most int) []Unfinished {
	if s.live.Load() {
		return nil
	}
	threads, depths := s.table.OpenAtEnd(most)
	if len(threads) == 0 {
		return nil
	}
	g, endKnown := s.groups(), s.endKnown()
	end := s.endTime(&s.runs()[len(s.runs())-1])
	list := make([]Unfinished, len(threads))
	for i, calls := range threads {
		u := Unfinished{Thread: s.threadAt(calls[0].Thread), More: depths[i] - len(calls), Lasted: max(0, end-calls[0].Time)}
		u.Bound, _ = sumBounds(0, 1, endKnown, false)
		if s.can.Ender != nil {
			if end, exact, ok := s.can.Ender.ProcessEnd(s.table.ThreadID(calls[0].Thread)); ok {
				u.Lasted = max(0, end-calls[0].Time)
				u.Bound, _ = sumBounds(0, 1, exact, false)
			}
		}
		_, u.Stack = s.table.Stack(calls[0].Thread)
		for k := range calls {
			u.Functions = append(u.Functions, g.ref(calls[k].Address))
		}
		list[i] = u
	}
	slices.SortStableFunc(list, func(a, b Unfinished) int { return compareThreads(&a.Thread, &b.Thread) })
	return list
}

// sumBounds says how far sums of durations can be relied on, and of self times, of which
// so many are of calls that have ended and that were running when the log did.
func sumBounds(timed, running int64, endKnown, late bool) (sum, self rows.Bound) {
	atLeast, atMost := running > 0 && !endKnown, timed > 0 && late
	switch {
	case atLeast && atMost:
		sum = rows.About
	case atLeast:
		sum = rows.AtLeast
	case atMost:
		sum = rows.AtMost
	}
	if self = sum; late {
		self = rows.About
	}
	return sum, self
}

// whereOf makes the predicate of a selection, nil for all rows.
func (s *Session) whereOf(ctx context.Context, sel Selection) (query.Predicate, error) {
	e, err := filter.Parse(sel.Where)
	if err != nil {
		return nil, err
	}
	c, err := s.compile(ctx, e)
	if err != nil {
		return nil, err
	}
	return s.ownCalls(c.pass), nil
}

// TreeOptions say what a call tree is to be of.
type TreeOptions struct {
	// BottomUp makes each function a root, with its callers below it.
	BottomUp bool
	// ByThread makes a tree for each thread; the roots are threads then.
	ByThread bool
	// MaxNodes bounds the tree; 0 is a default of some 100,000. What does not fit is left
	// out, what has the smallest share of calls and time first; [Tree].Cut says how much.
	MaxNodes int
}

// A Tree is who calls what, with equal callers merged.
type Tree struct {
	// Roots are by falling Total, as Children are everywhere.
	Roots []*TreeNode
	// Calls and Total are of all calls of the selection: Total the time in
	// outermost calls, in nanoseconds, of which nodes show their part.
	Calls, Total int64
	// Cut counts the calls that are in no node of their own because there were
	// too many nodes.
	Cut int64
}

// A TreeNode is a function in the place that its callers (bottom-up: the
// functions that it called) give it. Times are in nanoseconds.
type TreeNode struct {
	FunctionRef
	// Thread is the thread's id in trees by thread. A root of such a tree has an
	// empty Function and stands for the thread, whose name is ThreadName, "" for none.
	Thread     uint32
	Process    *rows.Process // nil where there is only one
	ByThread   bool
	ThreadName string
	// Other says that the node stands for functions that had no room in the
	// tree; its Function is empty.
	Other bool
	// Partial says that there are more calls of it perhaps: Calls and times are at least.
	Partial bool
	// Calls counts the calls, Timed those that have a leave, Running those that have
	// none because the log ends before it. Total is the time in both, in those that
	// are running up to the last record of their run, Self what was not spent in calls that they made. In a bottom-up tree
	// they are the part of the root's calls, total and self that came through this
	// caller; Total then leaves out calls made while another of the function was
	// open.
	Calls, Timed, Running, Total, Self int64
	// Bound says how far Total can be relied on, SelfBound how far Self.
	Bound, SelfBound rows.Bound
	Children         []*TreeNode
}

// Label is the function's name, or what the node stands for instead.
func (n *TreeNode) Label() string {
	switch {
	case n.Function != "":
		return n.Function
	case n.Other:
		return "(others)"
	case n.ByThread:
		return "thread " + threadText(n.Thread, n.ThreadName, n.Process)
	}
	return ""
}

// Walk calls f for the nodes, each before its children, with the nodes above it,
// which f must not keep. Where f returns false the children are left out.
func (t *Tree) Walk(f func(n *TreeNode, path []*TreeNode) bool) {
	var path []*TreeNode
	var walk func(list []*TreeNode)
	walk = func(list []*TreeNode) {
		for _, n := range list {
			if f(n, path) {
				path = append(path, n)
				walk(n.Children)
				path = path[:len(path)-1]
			}
		}
	}
	walk(t.Roots)
}

// CallTree returns the call tree of a selection. Calls that are not of the
// selection count in no node, but are nodes where they lead to such that are.
// p is told of StageFilter.
func (s *Session) CallTree(ctx context.Context, sel Selection, opt TreeOptions, p Progress) (*Tree, error) {
	g := s.groups()
	if opt.MaxNodes <= 0 {
		opt.MaxNodes = defaultNodes
	}
	_, tree, ok, err := s.clipped(ctx, sel, profile.ClipOptions{
		Groups: g.of, PerThread: opt.ByThread, Tree: true, BottomUp: opt.BottomUp, MaxNodes: opt.MaxNodes, Progress: p.of(StageFilter)})
	if err != nil {
		return nil, err
	}
	if !ok {
		where, err := s.whereOf(ctx, sel)
		if err != nil {
			return nil, err
		}
		tree, err = profile.CallTree(ctx, s.table, profile.TreeOptions{
			Where: where, Groups: g.of, PerThread: opt.ByThread, BottomUp: opt.BottomUp, MaxNodes: opt.MaxNodes,
			Correct: s.correcting(), Progress: p.of(StageFilter),
		})
		if err != nil {
			return nil, err
		}
	}
	if len(tree.Nodes) == 0 {
		return &Tree{}, nil
	}
	root := s.treeNodes(tree, g)
	made := &Tree{Roots: root.Children, Calls: root.Calls, Total: root.Total, Cut: tree.Folded}
	if opt.BottomUp && made.Cut > 0 {
		if err := s.completeCallers(ctx, sel, &opt, made, p); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// nodesPiece is how many nodes of a tree are made at a time.
const nodesPiece = 4096

// treeNodes makes the nodes of a tree, which may be many: all processors make some. It returns the root.
func (s *Session) treeNodes(tree *profile.Tree, g *groups) *TreeNode {
	endKnown := s.endKnown()
	_, late := s.Ways()
	pieces := make([][]TreeNode, (len(tree.Nodes)+nodesPiece-1)/nodesPiece)
	// Memory is written to as soon as it is there. The garbage collector would read it otherwise, and to write to a page of memory that
	// was only read costs the system some twenty times as much as to write to one that was not touched yet.
	eachPiece(len(pieces), func(k int) {
		first := k * nodesPiece
		piece := make([]TreeNode, min(nodesPiece, len(tree.Nodes)-first))
		for i := range piece {
			node, n := &tree.Nodes[first+i], &piece[i]
			if node.Group != profile.NoGroup {
				n.FunctionRef = g.list[node.Group]
			}
			if node.Thread != profile.AllThreads {
				t := s.threadAt(node.Thread)
				n.ByThread, n.Thread, n.Process, n.ThreadName = true, t.ID, t.Process, t.Name
			}
			n.Other, n.Calls, n.Timed, n.Running, n.Total, n.Self = node.Other, node.Calls, node.Timed, node.Running, node.Total, node.Self
			n.Bound, n.SelfBound = sumBounds(n.Timed, n.Running, endKnown, late)
		}
		pieces[k] = piece
	})
	eachPiece(len(pieces), func(k int) {
		first, children := int32(k*nodesPiece), 0
		for i := range pieces[k] {
			children += len(tree.Children(first + int32(i)))
		}
		room := make([]*TreeNode, 0, children)
		for i := range pieces[k] {
			from := len(room)
			for _, c := range tree.Children(first + int32(i)) {
				room = append(room, &pieces[c/nodesPiece][c%nodesPiece])
			}
			if to := len(room); to > from {
				pieces[k][i].Children = room[from:to:to]
			}
		}
	})
	return &pieces[0][0]
}

// eachPiece calls f with the numbers below n, on all processors.
func eachPiece(n int, f func(piece int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for k := int(next.Add(1)) - 1; k < n; k = int(next.Add(1)) - 1 {
				f(k)
			}
		}()
	}
	wg.Wait()
}

// defaultNodes is how many nodes a tree has at most if nothing else is asked
// for.
const defaultNodes = 100_000
