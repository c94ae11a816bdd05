package profile

import (
	"context"
	"math"
	"math/bits"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/internal/sizes"
	"logparser/calls/query"
	"logparser/parser"
)

// Where the log can give the calls of each thread by themselves ([parser.CalledLog]) and
// the filter asks for nothing but calls, sums are made in one pass over these: nobody needs rows,
// nor the order in which threads took turns.

// A callPass goes over all calls of a log, several parts of it at a time.
type callPass struct {
	src    *index.Index
	source parser.CallSource
	// test is nil where all calls count.
	test *query.CallTest
	// parts are those of the source that have to be read, see window. All calls that count are within limits.
	parts  []passPart
	limits parser.CallLimits
	groups groups
	// fold: workers get sums of calls that they need not be told of one by one, where the filter allows it.
	fold     bool
	slots    map[uint32]uint32 // by Event.Thread
	workers  []callWorker
	results  []partResult // of the parts
	progress parser.Progress
	// round, if not nil, returns the end of the round of parts that begins with one. Between two rounds between is called.
	round   func(begin, parts int) (end int)
	between func()
	open    map[openKey]*index.OpenCall // what openCalls has found
}

// A passPart is a part that is read. It is first or last if the parts of its stream before or behind it are not.
type passPart struct {
	parser.CallPart
	first, last bool
}

// window returns which parts of a stream have to be read where no calls count but those that are entered from first to last. Parts in which
// none is entered are left out, and of those behind these all but so many that a call which is open at their end was so at that of a
// block, too, and has a node.
func window(parts []parser.CallPart, first, last int64) (list []passPart) {
	from := 0
	for from < len(parts) && parts[from].Last < first {
		from++
	}
	to := from
	for to < len(parts) && parts[to].First <= last {
		to++
	}
	if to > from {
		for end := parts[to-1].To; to < len(parts) && parts[to-1].To < end+sizes.Block; to++ {
		}
	}
	for i := from; i < to; i++ {
		list = append(list, passPart{parts[i], i == from && from > 0, i == to-1 && to < len(parts)})
	}
	return list
}

// A callWorker sums up calls in one goroutine.
type callWorker interface {
	// begin begins a part, in which calls are open, outermost first.
	begin(slot uint32, open []parser.OpenFrame)
	// add adds calls that have ended, of which those count that have a 1 in pass; some that do not may be left out. Of the
	// calls that are open behind them kept were so before.
	add(batch []parser.Call, pass []uint8, open []parser.OpenFrame, kept int)
	// ends notes that the call of a depth ends that was entered before the part.
	ends(depth int) (inner int64)
	// end returns what is left at the part's end.
	end(r *partResult, open []parser.OpenFrame)
	// complete adds a call of which a part had not all: the call of a depth that was open
	// when the part began, or, if atEnd, when it ended. How is of one that no leave has closed.
	complete(r *partResult, atEnd bool, c *parser.Call, how *index.OpenCall)
}

// A partResult is what a part of the log has of calls that others know more of.
type partResult struct {
	worker callWorker
	slot   uint32
	// before are the calls that are open when the part begins, if it is the first of its stream that is read.
	before []parser.OpenFrame
	ended  []endedFrame
	open   []parser.OpenFrame
	// outermost is, by depth, the time in the outermost calls that count and were made by the
	// open call above, the first without one.
	outermost []int64
	// began and nodes are the nodes of a tree for the calls that were open when the part
	// began and when it ended.
	began, nodes []int32
}

// An endedFrame is a call that ended in a part and was entered before; inner is the time in the
// outermost calls that count in it.
type endedFrame struct {
	parser.EndedFrame
	inner int64
}

// newCallPass returns nil where a pass over calls would not do.
func newCallPass(src *index.Index, where query.Predicate, g groups, progress parser.Progress) *callPass {
	p := &callPass{src: src, groups: g, progress: progress}
	if where != nil {
		var ok bool
		if p.test, ok = query.NewCallTest(src, where); !ok {
			return nil
		}
	}
	if p.source = src.Calls(); p.source == nil {
		return nil
	}
	p.slots = src.OwnStacks()
	p.limits = parser.NoCallLimits()
	if p.test != nil {
		p.limits = p.test.Limits()
	}
	for parts := p.source.Parts(); len(parts) > 0; {
		n := 1
		for n < len(parts) && parts[n].Stream == parts[0].Stream {
			n++
		}
		p.parts = append(p.parts, window(parts[:n], p.limits.First, p.limits.Last)...)
		parts = parts[n:]
	}
	return p
}

// events returns how many events a pass reads.
func (p *callPass) events() (n int64) {
	for i := range p.parts {
		n += p.parts[i].To - p.parts[i].From
	}
	return n
}

// rowCost is how many times as long it takes to read a row in its order as in a pass over calls.
// A variable for tests.
var rowCost = int64(5)

// narrowed returns the predicate to sum up by, nil where all enters pass by what is known of addresses and blocks, and how many rows may pass.
func narrowed(src *index.Index, where query.Predicate) (p query.Predicate, most int64) {
	if where == nil {
		return nil, src.Len()
	}
	most, least := query.Candidates(src, where)
	if least == src.Len() || hasAll(src, where) {
		return nil, src.Len()
	}
	return where, most
}

// hasAll reports whether enters of all addresses pass.
func hasAll(src *index.Index, where query.Predicate) bool {
	has, ok := query.EnterAddresses(where)
	for i, n := 0, src.AddressTable().Len(); ok && i < n; i++ {
		ok = has(uint32(i))
	}
	return ok
}

// run goes over the calls. It is not ok, without an error, where there is something among them
// that a pass over calls does not know; then nothing that the workers have means anything.
func (p *callPass) run(ctx context.Context) (ok bool, err error) {
	parts, events := p.parts, max(p.events(), 1)
	p.results = make([]partResult, len(parts))
	order := spread(len(parts))
	if p.round == nil {
		p.round, p.between = func(_, parts int) int { return parts }, func() {}
	}
	var done atomic.Int64
	var refused atomic.Bool
	var mu sync.Mutex
	var told time.Time
	tell := func(more int64) {
		n := done.Add(more)
		if p.progress == nil || !mu.TryLock() {
			return
		}
		defer mu.Unlock()
		if time.Since(told) >= tellEvery {
			told = time.Now()
			p.progress(int64(float64(n)/float64(events)*float64(p.src.Len())), p.src.Len())
		}
	}
	var readers []*partReader
	for _, w := range p.workers {
		r := p.source.Reader(p.describe)
		if p.test != nil {
			r.Limit(p.limits)
		}
		readers = append(readers, &partReader{p: p, w: w, r: r, fold: p.foldOf(w)})
	}
	for end := 0; end < len(parts) && !refused.Load() && ctx.Err() == nil; {
		var next atomic.Int64
		next.Store(int64(end))
		end = p.round(end, len(parts))
		var wg sync.WaitGroup
		for _, t := range readers {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for !refused.Load() && ctx.Err() == nil {
					i := int(next.Add(1)) - 1
					if i >= end {
						return
					}
					k := order[i]
					if !p.leaves(&parts[k]) && !t.read(ctx, &parts[k], &p.results[k]) {
						refused.Store(true)
					}
					tell(parts[k].To - parts[k].From)
				}
			}()
		}
		wg.Wait()
		if end < len(parts) {
			p.between()
		}
	}
	if err := ctx.Err(); err != nil {
		return false, context.Cause(ctx)
	}
	if refused.Load() {
		return false, nil
	}
	for from := 0; from < len(parts); {
		to := from + 1
		for to < len(parts) && parts[to].Stream == parts[from].Stream {
			to++
		}
		if !p.leaves(&parts[from]) && !p.join(p.results[from:to], parts[to-1].last) {
			return false, nil
		}
		from = to
	}
	if p.progress != nil {
		p.progress(p.src.Len(), p.src.Len())
	}
	return true, nil
}

// spread returns the numbers below n in an order in which the first of them are far from each other, however many: that
// of their bits read from the least on.
func spread(n int) []int {
	list := make([]int, 0, n)
	length := bits.Len(uint(max(n-1, 0)))
	for i := range 1 << length {
		if k := int(bits.Reverse32(uint32(i)) >> (32 - length)); k < n {
			list = append(list, k)
		}
	}
	return list
}

// leaves reports whether a part can be left out, because no call of its thread passes.
func (p *callPass) leaves(part *passPart) bool {
	slot, ok := p.slots[part.Thread]
	return ok && p.test != nil && !p.test.May(slot)
}

// tellEvery is the least time between two calls of a Progress.
const tellEvery = 50 * time.Millisecond

// describe says what calls of an address have.
func (p *callPass) describe(address uint64, space uint16) parser.CallAddress {
	a := parser.CallAddress{ID: noAddress, Group: NoGroup}
	if i, ok := p.src.AddressTable().Find(0, space, address); ok {
		a.ID, a.Group = uint32(i), p.groups.at(uint32(i))
		if p.test != nil {
			a.Marks, a.Counts = p.test.Marks(a.ID), p.test.Counts(a.ID)
		} else {
			a.Counts = parser.CountsOutside
		}
		if a.Group == NoGroup {
			a.Counts = 0
		}
	}
	return a
}

const noAddress = ^uint32(0)

// foldCalls is for tests.
var foldCalls = true

// foldOf returns what has a reader sum up the calls that a worker need not be told of one by one, nil where that is not to be.
func (p *callPass) foldOf(w callWorker) *parser.CallFold {
	nodes, ok := w.(parser.CallNodes)
	if !ok || !foldCalls {
		return nil
	}
	f := parser.FoldAll()
	if p.test != nil {
		if f, ok = p.test.Fold(); !ok {
			return nil
		}
	}
	f.Nodes = nodes
	if !p.groups.all {
		f.All, f.AllInside = false, false
	}
	return &f
}

// A partReader has a worker sum up parts.
type partReader struct {
	p     *callPass
	w     callWorker
	r     parser.CallReader
	fold  *parser.CallFold
	batch [query.CallBatch]parser.Call
	pass  [query.CallBatch]uint8
}

// read sums up a part. It is not ok where there is something that it does not know.
func (t *partReader) read(ctx context.Context, part *passPart, result *partResult) (ok bool) {
	slot, ok := t.p.slots[part.Thread]
	folding := t.p.fold && t.fold != nil
	if folding {
		t.r.Fold(t.fold)
	}
	if !ok || !t.r.Begin(&part.CallPart) {
		return false
	}
	for i := range t.pass {
		t.pass[i] = 1
	}
	open, _ := t.r.Open()
	t.w.begin(slot, open)
	*result = partResult{worker: t.w, slot: slot}
	if part.first {
		result.before = slices.Clone(open)
	}
	base, kept := len(open), len(open)
	of := query.CallsOf{Owner: slot, Open: calls.NoLeave}
	for ctx.Err() == nil {
		n, ended, ok := t.r.Next(t.batch[:])
		if !ok {
			return false
		}
		open, k := t.r.Open()
		kept = min(kept, k)
		switch {
		case n > 0:
			of.Calls = t.batch[:n]
			if t.p.test != nil {
				t.p.test.Test(&of, t.pass[:n])
			}
			if folding {
				for i := range of.Calls {
					if of.Calls[i].Folded > 0 {
						t.pass[i] = 1
					}
				}
			}
			t.w.add(of.Calls, t.pass[:n], open, kept)
			if folding {
				clear(of.Calls) // Next leaves Folded of single calls as it is
			}
			kept = len(open)
		case ended != nil:
			base--
			result.ended = append(result.ended, endedFrame{*ended, t.w.ends(base)})
		default:
			t.w.add(nil, nil, open, kept)
			result.open = append(result.open, open...)
			t.w.end(result, open)
			return true
		}
	}
	return true
}

// A joinedFrame is a call that goes on from one part of a stream to the next.
type joinedFrame struct {
	parser.OpenFrame
	inner int64
}

// long is when calls are taken to be entered that were open before the first part that is read: they do not count.
const long = math.MinInt64

// join completes the calls that parts of a stream share. With cut the stream has more parts that are not read. It is not ok if a call
// that is open then has no node.
func (p *callPass) join(parts []partResult, cut bool) (ok bool) {
	var stack []joinedFrame
	for _, f := range parts[0].before {
		f.Enter = long
		stack = append(stack, joinedFrame{OpenFrame: f})
	}
	outermost := int64(0)
	slot := parts[0].slot
	// complete completes the top call.
	complete := func(r *partResult, atEnd bool, duration int64, how *index.OpenCall) {
		top := len(stack) - 1
		f := stack[top]
		stack = stack[:top]
		c := parser.Call{Enter: f.Enter, Duration: duration, Self: -1, ID: f.ID, Depth: int32(top), Marks: f.Marks, Recursive: f.Recursive}
		timed := duration != calls.NoDuration
		if timed {
			c.Self = calls.SelfTime(duration, f.Children)
		}
		of := query.CallsOf{Calls: []parser.Call{c}, Owner: slot, Open: calls.NoLeave}
		if how != nil {
			c.Duration, c.Self, timed = how.Duration, how.Self, true
			of.Calls[0] = c
			if of.Open = how.Anomaly; how.Anomaly == calls.Running {
				of.Calls[0].Duration, of.Calls[0].Self = calls.NoDuration, calls.NoDuration
			}
		}
		passes := f.Group != NoGroup
		if p.test != nil && passes {
			var pass [1]uint8
			if how != nil {
				p.test.TestOpen(&of, pass[:])
			} else {
				p.test.Test(&of, pass[:])
			}
			passes = pass[0] != 0
		}
		inner := f.inner
		if passes {
			r.worker.complete(r, atEnd, &c, how)
			if timed {
				inner = c.Duration
			}
		}
		if top == 0 {
			outermost += inner
			return
		}
		stack[top-1].inner += inner
		if how == nil && timed {
			stack[top-1].Children += c.Duration
		}
	}
	for k := range parts {
		r := &parts[k]
		for _, e := range r.ended {
			f := &stack[len(stack)-1]
			f.Children += e.Children
			f.inner += e.inner
			if e.Left {
				complete(r, false, calls.NoDuration, nil)
			} else {
				complete(r, false, calls.Elapsed(f.Enter, e.Leave), nil)
			}
		}
		for i := range r.open {
			if i < len(stack) {
				stack[i].Children += r.open[i].Children
			} else {
				stack = append(stack, joinedFrame{OpenFrame: r.open[i]})
			}
			if i+1 < len(r.outermost) {
				stack[i].inner += r.outermost[i+1]
			}
		}
		if len(r.outermost) > 0 {
			outermost += r.outermost[0]
		}
	}
	last := &parts[len(parts)-1]
	if len(stack) > 0 {
		open := p.openCalls()
		for len(stack) > 0 {
			top := len(stack) - 1
			duration, how, ok := p.ending(openKey{slot, int32(top), stack[top].Enter}, &stack[top], open, cut)
			if !ok {
				return false
			}
			complete(last, true, duration, how)
		}
	}
	if t, ok := last.worker.(*treeCalls); ok {
		t.outermost[slot] += outermost
	}
	return true
}

// ending says how a call ended that was open when the last part did that is read. It is not ok if that is not known.
func (p *callPass) ending(key openKey, f *joinedFrame, open map[openKey]*index.OpenCall, cut bool) (duration int64, how *index.OpenCall, ok bool) {
	how = open[key]
	if !cut || how != nil || f.Enter == long || f.Enter > p.limits.Last {
		return calls.NoDuration, how, true
	}
	n, ok := p.node(key.slot, key.depth, f)
	if !ok || n.Leave < 0 {
		return calls.NoDuration, nil, ok
	}
	f.Children = n.Children
	return calls.Elapsed(n.EnterTime, n.LeaveTime), nil, true
}

// node returns the node of an open call. It is not ok if there is none.
func (p *callPass) node(slot uint32, depth int32, f *joinedFrame) (n index.Node, ok bool) {
	// Nodes are in the order of their enters, and so are times in a log whose calls can be read from it.
	nodes := p.src.Nodes()
	for i := sort.Search(nodes, func(i int) bool { return p.src.Node(uint32(i)).EnterTime >= f.Enter }); i < nodes; i++ {
		if n = p.src.Node(uint32(i)); n.EnterTime != f.Enter {
			break
		}
		if n.Thread == slot && n.Depth == depth && n.Address == f.ID {
			return n, true
		}
	}
	return n, false
}

// An openKey tells the calls that no leave has closed from each other.
type openKey struct {
	slot  uint32
	depth int32
	enter int64
}

// openCalls returns the calls that no leave has closed.
func (p *callPass) openCalls() map[openKey]*index.OpenCall {
	if p.open == nil {
		p.open = make(map[openKey]*index.OpenCall)
		for _, o := range p.src.OpenCalls(nil).List {
			p.open[openKey{o.Thread, o.Depth, o.EnterTime}] = o
		}
	}
	return p.open
}
