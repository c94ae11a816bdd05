package profile

import (
	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/query"
)

// A Correct changes durations: those of the calls of consecutive rows of a
// block, of which the first is first, given the events inside each call.
// Durations that are [calls.NoDuration] stay. It is called by several
// goroutines at once.
type Correct func(first int64, durations, inside []int64)

// ownTimes finds the part of each call that was not spent in the calls that it
// made, where durations are corrected: the index has sums of recorded ones
// only. It is told all calls of stretches of the log. What is learnt of a call
// in several stretches is joined at the end by settle. T says where the time
// of a call is counted.
type ownTimes[T any] struct {
	add    func(to T, self int64)
	stacks [][]ownCall[T] // by thread and depth
	// parts has the calls that reach out of a stretch, by the rows of their
	// enters.
	parts map[int64]ownCall[T]
}

// An ownCall is what is known of a call.
type ownCall[T any] struct {
	enter int64 // -1 where no row is known
	// counted says that it was entered in the stretch, lasted duration and is to be counted.
	counted         bool
	to              T
	duration, inner int64
}

func newOwnTimes[T any](add func(to T, self int64)) *ownTimes[T] {
	return &ownTimes[T]{add: add, parts: make(map[int64]ownCall[T])}
}

// push tells of an enter of depth d.
func (o *ownTimes[T]) push(thread uint32, d int, c ownCall[T], timed bool) {
	o.cut(thread, d)
	stack := o.stacks[thread]
	for len(stack) < d {
		stack = append(stack, ownCall[T]{enter: -1})
	}
	if d > 0 && timed {
		stack[d-1].inner += c.duration
	}
	c.counted = c.counted && timed
	o.stacks[thread] = append(stack, c)
}

// cut ends the calls of depth d and more of a thread.
func (o *ownTimes[T]) cut(thread uint32, d int) {
	for int(thread) >= len(o.stacks) {
		o.stacks = append(o.stacks, nil)
	}
	stack := o.stacks[thread]
	for i := len(stack) - 1; i >= d; i-- {
		if c := &stack[i]; c.counted {
			o.add(c.to, calls.SelfTime(c.duration, c.inner))
		} else {
			o.part(c)
		}
	}
	o.stacks[thread] = stack[:min(d, len(stack))]
}

// part keeps what is known of a call that may have more.
func (o *ownTimes[T]) part(c *ownCall[T]) {
	if c.enter < 0 || !c.counted && c.inner == 0 {
		return
	}
	p, ok := o.parts[c.enter]
	if !ok || c.counted {
		inner := p.inner
		p = *c
		p.inner += inner
	} else {
		p.inner += c.inner
	}
	o.parts[c.enter] = p
}

// load begins the stack of a thread with the calls that are open, innermost
// first.
func (o *ownTimes[T]) load(thread uint32, open []index.Node) {
	o.cut(thread, 0)
	for i := len(open) - 1; i >= 0; i-- {
		o.push(thread, int(open[i].Depth), ownCall[T]{enter: open[i].Enter}, false)
	}
}

// end ends a stretch.
func (o *ownTimes[T]) end() {
	for thread, stack := range o.stacks {
		for i := range stack {
			o.part(&stack[i])
		}
		o.stacks[thread] = stack[:0]
	}
}

// settle counts the calls that reach out of the stretches that they began in.
func settle[T any](list []*ownTimes[T]) {
	inner := make(map[int64]int64)
	for _, o := range list {
		for enter, c := range o.parts {
			inner[enter] += c.inner
		}
	}
	for _, o := range list {
		for enter, c := range o.parts {
			if c.counted {
				o.add(c.to, calls.SelfTime(c.duration, inner[enter]))
			}
		}
	}
}

// selvesOf returns the column that self times are made of.
func selvesOf(correct Correct) index.Columns {
	if correct != nil {
		return index.Insides
	}
	return index.Selves
}

// callBlocks calls add with the blocks whose calls are wanted, and with all of them
// if correct is not nil, which has then corrected their durations.
func callBlocks(w *query.Worker, first, end int, correct Correct, add func(f *query.Rows)) error {
	return w.Blocks(first, end, func(f *query.Rows) error {
		if correct != nil {
			if err := correctRows(w, f, correct); err != nil {
				return err
			}
		} else if f.Count == 0 {
			return nil
		}
		add(f)
		return nil
	})
}

// correctRows corrects the durations of a block, which is read even if no row of it
// passes: its calls may lie in one that does.
func correctRows(w *query.Worker, f *query.Rows, correct Correct) error {
	if f.Count == 0 {
		if err := w.Load(f); err != nil {
			return err
		}
	}
	correct(f.Block.First, f.Block.Duration[:f.Block.N], f.Block.Inside[:f.Block.N])
	return nil
}

// timed reports whether a row of a block has a duration.
func timed(b *index.Block, i int) bool { return b.Duration[i] != calls.NoDuration }
