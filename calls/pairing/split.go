package pairing

import (
	"math"
	"slices"

	"logparser/calls/internal/hash"
	"logparser/calls/internal/sizes"
	"logparser/parser"
)

// A splitter is a [parser.ThreadReader] of a log that is no [parser.ThreadedLog]. It reads the events of a block and puts calls
// together that are entered and left in it. Of calls that were entered before the block it knows nothing, so it takes the
// address of their leaves for theirs.
//
// No branch depends on which thread an event is of, or on whether it is an enter or a leave: all do the same, but with other effect.
// Where a processor can predict both that takes longer than to pair the events in order, so that surprising is asked before.
type splitter struct {
	log     parser.Log
	record  int64 // the next
	events  [sizes.MaxBlock]parser.Event
	threads []*splitThread
	// recent has threads by hashes of their ids. active are those with events in the block, in the order of their first ones.
	recent    [recentLen]*splitThread
	active    []*splitThread
	calls     []parser.ThreadCalls
	addresses []splitAddress // by their numbers
	byAddress hash.Table
}

const (
	// maxSplitThreads is how many threads a splitter has memory for.
	maxSplitThreads = 64
	maxSplitNumbers = 1 << 16
	// splitDepth is what calls have as their depth that are entered where no call of the block is open, and none of before has
	// ended in it. So no depth is negative.
	splitDepth = sizes.MaxBlock
)

// A splitAddress is an address in a space.
type splitAddress struct {
	address uint64
	space   uint16
}

// A splitThread is a thread in a block.
type splitThread struct {
	id uint32
	// next is the number of the next event, 0 where there is none in the block, left of calls have ended, top are open, and depth is that
	// of the outermost of these.
	next      uint32
	left, top uint32
	depth     int32
	// counts has for each address how many of its calls are open, unseen for one of which the thread has had none.
	counts []int32
	fresh  []parser.NewAddress
	open   []parser.ThreadCall

	// Of events the first element, of number 0, is none.
	times  [sizes.MaxBlock + 1]int64
	rows   [sizes.MaxBlock + 1]uint32
	ended  [sizes.MaxBlock + 1]parser.ThreadCall
	frames [sizes.MaxBlock + 1]splitFrame
}

const unseen = math.MinInt32

// A splitFrame is an open call.
type splitFrame struct {
	enter     uint32
	address   uint16
	recursive bool
}

// surprising reports whether a processor could hardly predict of which kind and thread the next of some events is: it predicts the
// kind by those of the last events. The first half of the events is to learn by.
func surprising(events []parser.Event) bool {
	const history = 8
	var expected [1 << history]uint8 // 2 and 3 for a leave
	past, wrong := 0, 0
	for i := range events {
		leave, of := int(events[i].Kind&1), &expected[past]
		if 2*i > len(events) {
			if int(*of>>1) != leave {
				wrong++
			}
			if events[i].Thread != events[i-1].Thread {
				wrong++
			}
		}
		if leave != 0 {
			*of = min(*of+1, 3)
		} else {
			*of -= min(*of, 1)
		}
		past = (past<<1 | leave) & (1<<history - 1)
	}
	return wrong*surprises > len(events)/2
}

// surprises is the reciprocal of how many wrong predictions an event has at least where a splitter takes less time.
const surprises = 3

// newSplitter returns a splitter of the events from a record on.
func newSplitter(log parser.Log, record int64) *splitter {
	return &splitter{log: log, record: record, byAddress: hash.New()}
}

// Next implements [parser.ThreadReader].
func (s *splitter) Next(n int) (threads []parser.ThreadCalls, ok bool) {
	events := s.events[:n]
	_, err := parser.ReadFull(s.log.ReadEvents, events, s.record)
	s.record += int64(n)
	for _, t := range s.active {
		t.next = 0
	}
	s.active, s.calls = s.active[:0], s.calls[:0]
	if err != nil || !s.split(events) {
		s.closeAll(events)
		return nil, false
	}
	for _, t := range s.active {
		s.calls = append(s.calls, t.take())
	}
	return s.calls, true
}

// closeAll forgets the calls of events that were not gone over to their end.
func (s *splitter) closeAll(events []parser.Event) {
	for i := range events {
		e := &events[i]
		k := slices.IndexFunc(s.active, func(t *splitThread) bool { return t.id == e.Thread })
		if k < 0 {
			continue
		}
		counts := s.active[k].counts
		if n := int(s.find(splitAddress{e.Address, e.Space})) - 1; n >= 0 && n < len(counts) && counts[n] != unseen {
			counts[n] = 0
		}
	}
}

// split puts calls together. It returns false if events are not ordinary.
func (s *splitter) split(events []parser.Event) bool {
	clear(s.recent[:])
	wrong, last := uint32(0), int64(math.MinInt64)
	for i := range events {
		e := &events[i]
		leave := uint32(e.Kind)
		if e.Time < last || leave > 1 || e.Gap != parser.NoGap {
			return false
		}
		last = e.Time
		t := s.recent[recentOf(e.Thread)]
		if t == nil || t.id != e.Thread {
			if t = s.thread(e.Thread); t == nil {
				return false
			}
		}
		a := splitAddress{e.Address, e.Space}
		k := s.byAddress.At(s.byAddress.Start(a.address, uint64(a.space))) - 1
		if uint(k) >= uint(len(s.addresses)) || s.addresses[k] != a {
			if k = s.number(a); k == maxSplitNumbers {
				return false
			}
		}
		number, next := uint16(k), t.next
		if int(number) >= len(t.counts) || t.counts[number] == unseen {
			t.add(number, leave, next)
		}
		t.next = next + 1
		t.times[next], t.rows[next] = last, uint32(i)
		top, left := t.top, t.left
		if leave > top {
			t.depth--
			t.ended[left] = parser.ThreadCall{Leave: next, Depth: t.depth, Address: number}
			t.left = left + 1
			continue
		}
		// What an enter writes as an ended call, and a leave as an open one, is overwritten by the next.
		top -= leave
		t.top, t.left = top+1-leave, left+leave
		f, c, count := &t.frames[top], &t.ended[left], &t.counts[number]
		wrong |= uint32(f.address^number) * leave
		c.Enter, c.Leave, c.Depth, c.Address, c.Recursive = f.enter, next, t.depth+int32(top), number, f.recursive
		f.enter, f.address, f.recursive = next, number, *count > 0
		*count += 1 - 2*int32(leave)
	}
	return wrong == 0
}

// thread returns a thread, which has events in the block now. It returns nil if there are too many threads.
func (s *splitter) thread(id uint32) *splitThread {
	i := slices.IndexFunc(s.threads, func(t *splitThread) bool { return t.id == id })
	if i < 0 {
		if len(s.threads) == maxSplitThreads {
			return nil
		}
		i = len(s.threads)
		s.threads = append(s.threads, &splitThread{id: id})
	}
	t := s.threads[i]
	s.recent[recentOf(id)] = t
	if t.next == 0 {
		t.next, t.left, t.top, t.depth = 1, 0, 0, splitDepth
		t.fresh, t.open = t.fresh[:0], t.open[:0]
		s.active = append(s.active, t)
	}
	return t
}

// number returns the number of an address, which it may add. It returns maxSplitNumbers if there are too many.
func (s *splitter) number(a splitAddress) uint32 {
	if k := s.find(a); k > 0 {
		return k - 1
	}
	n := len(s.addresses)
	if n == maxSplitNumbers {
		return maxSplitNumbers
	}
	s.addresses = append(s.addresses, a)
	first := n
	if h := &s.byAddress; h.Full(n + 1) {
		h.Grow()
		first = 0
	}
	for k, a := range s.addresses[first:] {
		s.byAddress.Put(s.byAddress.Start(a.address, uint64(a.space)), uint32(first+k))
	}
	return uint32(n)
}

// find returns 1 plus the number of an address, or 0 if it has none.
func (s *splitter) find(a splitAddress) uint32 {
	h := &s.byAddress
	for i := h.Start(a.address, uint64(a.space)); ; i++ {
		if k := h.At(i); k == 0 || s.addresses[k-1] == a {
			return k
		}
	}
}

// add notes an address of which the thread has had no call, if its event next enters one.
func (t *splitThread) add(number uint16, leave, next uint32) {
	for int(number) >= len(t.counts) {
		t.counts = append(t.counts, unseen)
	}
	if leave == 0 {
		t.counts[number] = 0
		t.fresh = append(t.fresh, parser.NewAddress{Address: number, Enter: next})
	}
}

// take returns what a thread has in the block. It knows of no open calls any more.
func (t *splitThread) take() parser.ThreadCalls {
	for i, f := range t.frames[:t.top] {
		t.counts[f.address]--
		t.open = append(t.open, parser.ThreadCall{Enter: f.enter, Depth: t.depth + int32(i), Address: f.address, Recursive: f.recursive})
	}
	return parser.ThreadCalls{Thread: t.id, First: 1, End: t.next, Times: t.times[1:t.next], Depth: splitDepth,
		Ended: t.ended[:t.left], Open: t.open, New: t.fresh}
}

// Row implements [parser.ThreadReader].
func (s *splitter) Row(thread int, number uint32) int { return int(s.active[thread].rows[number]) }

// Address implements [parser.ThreadReader].
func (s *splitter) Address(number uint16) (address uint64, space uint16) {
	a := &s.addresses[number]
	return a.address, a.space
}
