package pairing

import (
	"logparser/calls"
	"logparser/calls/internal/hash"
	"logparser/calls/internal/sizes"
	"logparser/parser"
)

// A Sequential pairs a log from its first row on. It knows all stacks, so that what each
// event does is known at once, and goes into its [Store]. It also takes over what a
// [Segment] has found that begins at its next row.
type Sequential struct {
	pairer
	store     Store
	log       parser.Log
	can       parser.Capabilities
	addresses *calls.Addresses
	record    func(row int64) int64
	// live are the threads that may have a stack in this run.
	live []*Thread
}

// NewSequential returns a Sequential for a log, before its first row. What it finds goes into
// the store and, new addresses, into addresses. Names may be nil. Record says which record of
// the log a row is.
func NewSequential(log parser.Log, addresses *calls.Addresses, names *Names, store Store, record func(row int64) int64) *Sequential {
	s := &Sequential{store: store, log: log, can: log.Capabilities(), addresses: addresses, record: record}
	s.pairer = newPairer(s, NoNode, names, log.ExactLeaves(), s.can.Stacker)
	return s
}

// Add pairs the next events, which are of the current run.
func (s *Sequential) Add(events []parser.Event) { s.add(events) }

// Publish tells the store what there is of a block that has not ended, but its nodes.
func (s *Sequential) Publish() {
	if s.begun {
		s.publish()
	}
}

// Flush tells the store all that there is: the nodes of open calls of a block that has not
// ended, and the sums.
func (s *Sequential) Flush() {
	s.makeNodes()
	s.AddSums()
}

// SetNames makes other names be asked from here on.
func (s *Sequential) SetNames(n *Names) {
	s.names = n
	s.functions = s.functions[:0]
	for _, th := range s.live {
		th.functions = nil
	}
}

// Row returns the next row.
func (s *Sequential) Row() int64 { return s.row }

// Run returns the run of the last row, counted from 0.
func (s *Sequential) Run() int { return s.number }

// Count returns how many rows have an anomaly, but for calls that are open now.
func (s *Sequential) Count(m calls.Anomaly) int64 { return s.anomalies[m] }

// ByPosition reports whether some leave closed a call and was not matched by its address.
func (s *Sequential) ByPosition() bool { return s.position }

// Unfinished returns the exceptions and the longest calls of the last block, and whether it
// has not ended: then the store does not have them.
func (s *Sequential) Unfinished() (exceptions []Exception, longest *Longest, ok bool) {
	return s.exceptions, &s.longest, s.begun
}

// Stacks returns the number of stacks: their slots are less.
func (s *Sequential) Stacks() int { return len(s.threads) }

// Stack returns the stack of a slot.
func (s *Sequential) Stack(slot uint32) *Thread { return s.threads[slot] }

// Live returns the stacks that may have open calls. It is the Sequential's.
func (s *Sequential) Live() []*Thread { return s.live }

// HasStacks reports whether there are stacks that are not a thread's own.
func (s *Sequential) HasStacks() bool { return len(s.byStack) > 0 }

// Strand returns the slots of the stack that the events of a thread are on, and of that
// thread's own.
func (s *Sequential) Strand(id uint32) (stack, owner uint32, ok bool) {
	i := s.lookup(id)
	if i < 0 {
		return 0, 0, false
	}
	return s.strands[i].stack, s.strands[i].owner, true
}

// Threads returns the threads, with the events that are counted so far.
func (s *Sequential) Threads() []calls.Thread { return s.threadRecords() }

// ThreadEnd returns when the thread ended that had the calls of a stack, between two times,
// and whether the log knows.
func (s *Sequential) ThreadEnd(th *Thread, from, to int64) (time int64, ok bool) {
	if s.can.Ender != nil && th.number == 0 {
		return s.can.Ender.ThreadEnd(th.id, from, to)
	}
	return 0, false
}

// EndTime returns the time at which the open calls of a stack in the last run ended, as
// far as is known: that of its process's last event, or a later one that the log tells.
func (s *Sequential) EndTime(th *Thread) int64 {
	if s.can.Ender == nil {
		return s.lastTime
	}
	if at, _, ok := s.can.Ender.ProcessEnd(th.id); ok {
		return at
	}
	at, _ := s.can.Ender.End()
	return max(at, s.lastTime)
}

// What follows is its storage, and what the store is told.

func (s *Sequential) openBlock() { s.store.BeginBlock() }

func (s *Sequential) activated(th *Thread) {
	th.most = 0
	s.checkpoint(th, th.records, th.top)
}

// checkpoint notes the state of a stack that becomes active in the last block.
func (s *Sequential) checkpoint(th *Thread, records int64, top uint32) {
	th.seen = true
	s.store.Checkpoint(th.slot, records, top)
	if !th.live {
		th.live = true
		s.live = append(s.live, th)
	}
}

func (s *Sequential) statsAdded(i uint32) {
	l := &s.stats[i]
	l.number = uint32(s.addresses.Add(s.number, uint16(l.key), l.address))
}

func (s *Sequential) nodeAddress(i uint32) uint32 { return s.stats[i].number }

func (s *Sequential) node(i uint32) *Node { return s.store.Node(i) }

func (s *Sequential) statsOfNode(th *Thread, n *Node) uint32 {
	a := s.addresses.At(int(n.Address))
	return s.statsOf(th, a.Space, a.Value)
}

func (s *Sequential) keepNode(n Node) uint32 { return s.store.AddNode(n) }

func (s *Sequential) ended(i uint32, n *Node) { s.store.Ended(i, n) }

func (s *Sequential) aboveFar(th *Thread, f calls.Function, found bool) int {
	if !found {
		return -1
	}
	if th.functions == nil {
		th.functions = make(map[calls.Function]uint32)
		s.above(th, func(stats uint32) bool {
			th.functions[s.function(stats)]++
			return false
		})
	}
	if th.functions[f] == 0 {
		return -1
	}
	return s.above(th, func(stats uint32) bool { return s.function(stats) == f })
}

// closeBlock tells the store of the block that the pairer has completed.
func (s *Sequential) closeBlock() {
	s.publish()
	s.store.EndBlock(&s.longest, s.exceptions)
	s.prune()
}

// publish tells the store what there is of the block.
func (s *Sequential) publish() {
	sum := s.summary
	for _, i := range s.inBlock {
		n := s.stats[i].number
		sum.Addresses[n/64%4] |= 1 << (n % 64)
	}
	s.settle()
	for k := range s.active {
		sum.MaxDepth = max(sum.MaxDepth, s.active[k].most)
		sum.Threads |= 1 << (s.active[k].th.slot % 64)
	}
	for _, owner := range s.owners {
		sum.Owners |= 1 << (owner % 64)
	}
	for _, d := range s.damaged {
		if d.th != nil {
			sum.MaxDepth = max(sum.MaxDepth, d.depth)
			sum.Threads |= 1 << (d.th.slot % 64)
		}
	}
	sum.Owners |= sum.Threads
	s.store.Summarize(&sum)
}

// AddSums adds to the store's sums what they lack.
func (s *Sequential) AddSums() {
	kept := s.dirty[:0]
	for _, i := range s.dirty {
		l := &s.stats[i]
		sum := l.sum(&s.histograms)
		s.store.AddSum(l.number, &sum)
		l.clear()
		// An address that is on a stack may be added to without being touched.
		// The others are seen anew.
		if l.open > 0 {
			kept = append(kept, i)
		} else {
			l.touched, l.block = false, 0
		}
	}
	s.dirty = kept
	s.histograms.reset()
}

// prune forgets the statistics of addresses that are on no stack when there are many; the
// store has their sums. No frame may be left.
func (s *Sequential) prune() {
	s.limit = max(s.limit, sizes.Statistics)
	if len(s.stats) < s.limit {
		return
	}
	s.AddSums()
	kept := s.stats[:0]
	s.dirty = s.dirty[:0]
	for i := range s.stats {
		if s.stats[i].open > 0 {
			if s.stats[i].touched {
				s.dirty = append(s.dirty, uint32(len(kept)))
			}
			kept = append(kept, s.stats[i])
		}
	}
	s.stats = kept
	s.functions = s.functions[:0]
	s.limit = max(sizes.Statistics, 2*len(kept))
	s.rehash()
}

// maxOuter bounds the calls of which nothing is known that are put on a stack.
const maxOuter = 1 << 16

func (s *Sequential) resume(th *Thread, e *parser.Event, row uint32) {
	if e.Gap == parser.ThreadBegins && int(th.depth)+len(th.frames) > 0 {
		s.makeNodes()
		s.endThread(th, e.Time, th.records-1)
	}
	var open []parser.OpenCall
	outer := 0
	if s.can.Resumer != nil && e.Gap == parser.EventsMissing {
		var err error
		if open, outer, err = s.can.Resumer.OpenCalls(s.record(s.row0(row))); err != nil {
			// The leaves of these calls will be strays.
			open, outer = nil, 0
		}
	}
	outer = min(outer, maxOuter)
	x := Exception{Row: row, Kind: Resumed}
	for {
		depth := int(th.depth) + len(th.frames)
		i := depth - 1 - outer
		if depth == 0 || i < 0 {
			break
		}
		if i < len(open) {
			if a := &s.stats[s.topStats(th)]; a.address == open[i].Address && (uint16(a.key)^open[i].Space)&1 == 0 {
				break
			}
		}
		s.forget(th, e.Time, row)
		x.N++
	}
	for i := int(th.depth) + len(th.frames) - outer; i < len(open); i++ {
		var o parser.OpenCall
		if i >= 0 {
			o = open[i]
		}
		k := s.statsOf(th, o.Space, o.Address)
		s.touch(k)
		s.stats[k].open++
		if th.functions != nil {
			th.functions[s.function(k)]++
		}
		s.push(th, frame{time: e.Time, ordinal: th.records - 1, row: row | noRow, stats: k})
		th.rowless++
		if n := len(x.Pushed) - 1; n >= 0 && x.Pushed[n].Address == s.stats[k].number {
			x.Pushed[n].N++
		} else {
			x.Pushed = append(x.Pushed, Pushed{1, s.stats[k].number})
		}
	}
	if x.N > 0 || x.Pushed != nil {
		s.except(x)
	}
}

// endThread notes that a thread has ended before the event that begins another of
// its id, if the log knows when, so that its calls have durations. It had so many
// events.
func (s *Sequential) endThread(th *Thread, before, records int64) {
	if th.top == NoNode {
		return
	}
	at, ok := s.ThreadEnd(th, s.node(th.top).EnterTime, before)
	if !ok {
		return
	}
	for i := th.top; i != NoNode; {
		n := s.node(i)
		n.Ended, n.LeaveTime, n.Inside = true, at, records-n.Ordinal
		s.store.EndedWithout(i)
		i = n.Parent
	}
}

// EndRun empties the stacks: the run has ended. It comes before the first row of the next.
func (s *Sequential) EndRun() {
	if s.begun {
		s.makeNodes()
		s.publish()
	}
	s.inBlock = s.inBlock[:0]
	for _, th := range s.live {
		th.live = false
		th.functions = nil
		s.anomalies[calls.Open] += int64(th.depth) - int64(th.rowless)
		th.rowless = 0
		if th.top != NoNode && th.block != s.block {
			// The stack it had is found by its next visit.
			th.live = true
			s.activate(th)
			th.live = false
		}
		if th.top != NoNode {
			s.node(th.top).Children += th.below
		}
		for i := th.top; i != NoNode; {
			n := s.node(i)
			n.Anomaly, n.Leave, n.LeaveTime = calls.Open, s.row-1, s.lastTime
			n.Inside = th.records - n.Ordinal
			s.ended(i, n)
			s.store.EndedWithout(i)
			i = n.Parent
		}
		th.top, th.depth, th.below = NoNode, 0, 0
	}
	s.live = s.live[:0]
	if s.begun {
		// These will not be activated again in this block.
		for k := range s.active {
			s.active[k].th.live = true
			s.live = append(s.live, s.active[k].th)
		}
	}
	for i := range s.stats {
		s.stats[i].open = 0
	}
	s.AddSums()
	s.stats, s.dirty, s.functions = s.stats[:0], s.dirty[:0], s.functions[:0]
	s.byAddress = hash.New()
	s.number++
}
