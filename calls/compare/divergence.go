package compare

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"logparser/calls/index"
	"logparser/calls/internal/sizes"
	"logparser/parser"
)

// A Log is one of the two logs that are compared.
type Log struct {
	Index *index.Index
	// Chains are the chains of its stacks, by slot.
	Chains []Chain
	// Functions has the number of the function of each address. The same function has the same number
	// in both logs.
	Functions []uint32
}

// Slots are two stacks that are compared, one of each log.
type Slots struct{ A, B uint32 }

// A Divergence is the first event at which two stacks differ.
type Divergence struct {
	// Differs is false if both have the same events.
	Differs bool
	// Event is the number of that event, from 0, and so the number of events before it that are the same.
	Event int64
	// A and B are its rows in the two logs, -1 where the stack has no more events. BeforeA and BeforeB
	// are the rows of the event before it, -1 where there is none.
	A, B, BeforeA, BeforeB int64
}

// mostEvents is how many events of each log are in memory at a time.
var mostEvents int64 = 1 << 20

// FirstDivergences returns the first event at which the stacks of each pair differ. A stack is in one pair at most.
//
// The events around the places where chains differ are read for many pairs at once, so that a block is read
// once for all stacks that have events in it. Where the same functions have other addresses, chains differ and events do not:
// such pairs are read on, twice as far each time.
func FirstDivergences(ctx context.Context, a, b *Log, pairs []Slots) ([]Divergence, error) {
	found := make([]Divergence, len(pairs))
	open := make([]searched, len(pairs))
	for i, p := range pairs {
		// Reading begins one chunk earlier, so that the event before the divergence is read as well.
		from := int64(max(equalChunks(a, b, p.A, p.B)-1, 0)) * ChainEvery
		open[i] = searched{Slots: p, pair: i, from: from, n: min(2*ChainEvery, mostEvents)}
		found[i] = Divergence{Event: from, BeforeA: -1, BeforeB: -1}
	}
	slices.SortStableFunc(open, func(p, q searched) int {
		return cmp.Compare(a.rowOf(p.A, p.from), a.rowOf(q.A, q.from))
	})
	for len(open) > 0 {
		sum, n := int64(0), 0
		for n < len(open) && (n == 0 || sum+open[n].n <= mostEvents) {
			sum += min(open[n].n, max(a.Chains[open[n].A].Events, b.Chains[open[n].B].Events))
			n++
		}
		batch := open[:n]
		ea, err := a.read(ctx, batch, func(s *searched) uint32 { return s.A })
		if err != nil {
			return nil, err
		}
		eb, err := b.read(ctx, batch, func(s *searched) uint32 { return s.B })
		if err != nil {
			return nil, err
		}
		rest := open[n:]
		for i, s := range batch {
			if !found[s.pair].compare(ea[i], eb[i], s.n) {
				rest = append(rest, searched{s.Slots, s.pair, s.from + s.n, min(2*s.n, mostEvents)})
			}
		}
		open = rest
	}
	return found, nil
}

// A searched is a pair of which events are read: n of each stack, from event from on, which begins a chunk.
type searched struct {
	Slots
	pair    int
	from, n int64
}

// compare goes on with events of the two stacks, and reports whether it is done. Fewer than n are the last ones.
func (d *Divergence) compare(a, b []event, n int64) bool {
	for i := range max(len(a), len(b)) {
		d.A, d.B = rowAt(a, i), rowAt(b, i)
		if d.A < 0 || d.B < 0 || a[i].function != b[i].function || a[i].kind != b[i].kind {
			d.Differs = true
			return true
		}
		d.Event++
		d.BeforeA, d.BeforeB = d.A, d.B
	}
	d.A, d.B = -1, -1
	return int64(len(a)) < n
}

func rowAt(list []event, i int) int64 {
	if i < len(list) {
		return list[i].row
	}
	return -1
}

// equalChunks returns how many chunks of ChainEvery events, counted from the first one, have the same
// hashes and functions.
func equalChunks(a, b *Log, slotA, slotB uint32) int {
	ca, cb := &a.Chains[slotA], &b.Chains[slotB]
	equal := sort.Search(min(len(ca.Hashes), len(cb.Hashes)), func(i int) bool { return ca.Hashes[i] != cb.Hashes[i] })
	for i := range min(len(ca.First), len(cb.First)) {
		fa, fb := ca.First[i], cb.First[i]
		if fa.Event != fb.Event || a.function(fa.Address) != b.function(fb.Address) {
			equal = min(equal, int(min(fa.Event, fb.Event)/ChainEvery))
			break
		}
	}
	return equal
}

// function returns the function of an address.
func (l *Log) function(address uint32) uint32 {
	if int(address) < len(l.Functions) {
		return l.Functions[address]
	}
	return noFunction
}

// noFunction is the number of addresses without a function.
const noFunction = ^uint32(0)

// An event is an enter or a leave on a stack. The function of a leave is 0.
type event struct {
	row      int64
	function uint32
	kind     parser.Kind
}

// rowOf returns the row of an event that begins a chunk, the number of rows where the stack has no such event.
func (l *Log) rowOf(slot uint32, n int64) int64 {
	if rows := l.Chains[slot].Rows; n/ChainEvery < int64(len(rows)) {
		return rows[n/ChainEvery]
	}
	return l.Index.Len()
}

// A reading is the events that are wanted of a stack, and those that were read.
type reading struct {
	slot   uint32
	first  int64 // row
	n      int64
	events []event
}

// read returns events of the stacks of some pairs, in their order.
func (l *Log) read(ctx context.Context, pairs []searched, slotOf func(*searched) uint32) ([][]event, error) {
	list := make([]reading, len(pairs))
	waiting := make([]*reading, 0, len(pairs)) // by first row
	for i := range pairs {
		slot := slotOf(&pairs[i])
		r := &list[i]
		*r = reading{slot: slot, first: l.rowOf(slot, pairs[i].from), n: max(0, min(pairs[i].n, l.Chains[slot].Events-pairs[i].from))}
		if r.n > 0 {
			r.events = make([]event, 0, r.n)
			waiting = append(waiting, r)
		}
	}
	slices.SortFunc(waiting, func(p, q *reading) int { return cmp.Compare(p.first, q.first) })
	var b index.Block
	var reads []*reading // those that have begun and not ended
	of := make([]*reading, l.Index.Slots())
	for len(waiting)+len(reads) > 0 {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		k := l.nextBlock(&b, reads, waiting)
		if k < 0 {
			break // the index has fewer events than its chains: it is damaged
		}
		if err := l.Index.Fill(&b, k, index.Threads|index.Kinds|index.Addresses); err != nil {
			return nil, err
		}
		for len(waiting) > 0 && waiting[0].first < b.First+int64(b.N) {
			of[waiting[0].slot] = waiting[0]
			reads, waiting = append(reads, waiting[0]), waiting[1:]
		}
		for i := range b.N {
			slot, row := b.Thread[i], b.First+int64(i)
			if int(slot) >= len(of) || of[slot] == nil || b.Kind[i] > parser.Leave || row < of[slot].first {
				continue
			}
			r := of[slot]
			e := event{row: row, kind: b.Kind[i]}
			if e.kind == parser.Enter {
				e.function = l.function(b.Address[i])
			}
			if r.events = append(r.events, e); int64(len(r.events)) == r.n {
				of[slot] = nil
			}
		}
		reads = slices.DeleteFunc(reads, func(r *reading) bool { return int64(len(r.events)) == r.n })
	}
	events := make([][]event, len(list))
	for i := range list {
		events[i] = list[i].events
	}
	return events, nil
}

// nextBlock returns the number of the first block behind b in which something is to be read, -1 for none.
func (l *Log) nextBlock(b *index.Block, reads, waiting []*reading) int {
	const few = 16 // readings that are asked which block they need; of more nearly each has some
	next := -1
	if len(waiting) > 0 {
		next = int(waiting[0].first / sizes.Block)
	}
	if len(reads) == 0 {
		return next
	}
	behind := int((b.First + int64(b.N) + sizes.Block - 1) / sizes.Block)
	if len(reads) > few {
		if int64(behind)*sizes.Block >= l.Index.Len() {
			return -1
		}
		return behind
	}
	for _, r := range reads {
		if k := l.Index.NextActive(behind, r.slot); k >= 0 && (next < 0 || k < next) {
			next = k
		}
	}
	return next
}
