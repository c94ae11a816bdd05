package compare

import (
	"context"
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

// A Divergence is the first event at which two stacks differ.
type Divergence struct {
	// Event is the number of that event, from 0, and so the number of events before it that are the same.
	Event int64
	// A and B are its rows in the two logs, -1 where the stack has no more events. BeforeA and BeforeB
	// are the rows of the event before it, -1 where there is none.
	A, B, BeforeA, BeforeB int64
}

// FirstDivergence returns the first event at which the stack of slotA in a and the stack of slotB in b
// differ. differs is false if both have the same events.
func FirstDivergence(ctx context.Context, a, b *Log, slotA, slotB uint32) (d Divergence, differs bool, err error) {
	at := equalChunks(a, b, slotA, slotB)
	// Reading begins one chunk earlier, so that the event before the divergence is read as well.
	at = max(at-1, 0)
	ra, rb := a.reader(slotA, at), b.reader(slotB, at)
	d = Divergence{Event: int64(at) * ChainEvery, BeforeA: -1, BeforeB: -1}
	for n := 0; ; n++ {
		if n%ChainEvery == 0 && ctx.Err() != nil {
			return d, false, context.Cause(ctx)
		}
		ea, err := ra.next()
		if err != nil {
			return d, false, err
		}
		eb, err := rb.next()
		if err != nil {
			return d, false, err
		}
		if d.A, d.B = ea.row, eb.row; ea.row < 0 && eb.row < 0 {
			return d, false, nil
		}
		if ea.row < 0 || eb.row < 0 || ea.function != eb.function || ea.kind != eb.kind {
			return d, true, nil
		}
		d.Event++
		d.BeforeA, d.BeforeB = ea.row, eb.row
	}
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

// An eventReader reads the events of a stack, one after the other.
type eventReader struct {
	l     *Log
	slot  uint32
	b     index.Block
	block int // the next one to read, -1 for none
	i     int // the next row in b
}

// An event is an enter or a leave on a stack. Behind the last event the row is -1. The function of a leave
// is 0.
type event struct {
	row      int64
	function uint32
	kind     parser.Kind
}

// reader returns a reader of the events of a stack that begins with event chunk * ChainEvery.
func (l *Log) reader(slot uint32, chunk int) *eventReader {
	r := &eventReader{l: l, slot: slot, block: -1}
	if rows := l.Chains[slot].Rows; chunk < len(rows) {
		r.block, r.i = int(rows[chunk]/sizes.Block), int(rows[chunk]%sizes.Block)
	}
	return r
}

func (r *eventReader) next() (event, error) {
	for {
		for ; r.i < r.b.N; r.i++ {
			if r.b.Thread[r.i] != r.slot || r.b.Kind[r.i] > parser.Leave {
				continue
			}
			e := event{row: r.b.First + int64(r.i), kind: r.b.Kind[r.i]}
			if e.kind == parser.Enter {
				e.function = r.l.function(r.b.Address[r.i])
			}
			r.i++
			return e, nil
		}
		if r.block < 0 {
			return event{row: -1}, nil
		}
		begin := r.i
		if r.b.N > 0 {
			begin = 0
		}
		if err := r.l.Index.Fill(&r.b, r.block, index.Threads|index.Kinds|index.Addresses); err != nil {
			return event{row: -1}, err
		}
		r.i = begin
		r.block = r.l.Index.NextActive(r.block+1, r.slot)
	}
}
