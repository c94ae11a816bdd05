package index

import (
	"logparser/calls"
	"logparser/parser"
)

// Calls returns what reads the calls of the index's rows from the log, thread by thread. It is
// nil where the log cannot do that, and where not every call is as the log alone says.
func (x *Index) Calls() parser.CallSource {
	c := x.core.Load()
	l := c.layout()
	if c.can.CalledLog == nil || !x.log.ExactLeaves() || !x.done.Load() || len(l.Runs) != 1 || l.Runs[0].First != 0 || x.Len() != l.Total() {
		return nil
	}
	for _, m := range []calls.Anomaly{calls.Stray, calls.Tail, calls.Damaged, calls.NoEnter} {
		if x.Count(m) > 0 {
			return nil
		}
	}
	return c.can.CalledLog.Calls(l.Total())
}

// OwnStacks returns the slots of threads' own stacks by their Event.Thread.
func (x *Index) OwnStacks() map[uint32]uint32 {
	c := x.core.Load()
	c.mu.RLock()
	defer c.mu.RUnlock()
	slots := make(map[uint32]uint32, c.pairs.Stacks())
	for slot := range uint32(c.pairs.Stacks()) {
		if th := c.pairs.Stack(slot); th.Number() == 0 {
			slots[th.ID()] = slot
		}
	}
	return slots
}
