package app

import (
	"logparser/calls"
	"logparser/calls/query"
	"logparser/parser"
)

// A process that was forked goes on in the calls that were open then, and its log has enters for them. Where the log of the process
// that made these calls is there as well, they are its calls: sums count them there alone.

// An inheritedKey is a thread and a time at which it has enters of inherited calls.
type inheritedKey struct {
	thread uint32
	time   int64
}

// inheritedCalls returns the depth below which the enters of a thread at a time are of inherited calls, nil for none.
func (s *Session) inheritedCalls() map[inheritedKey]int32 {
	if len(s.processes) < 2 || s.can.Forked == nil {
		return nil
	}
	s.inheritedOnce.Do(func() {
		for _, c := range s.can.Forked.Inherited() {
			if s.inherited == nil {
				s.inherited = make(map[inheritedKey]int32)
			}
			s.inherited[inheritedKey{c.Thread, c.Time}] = c.Depth
		}
	})
	return s.inherited
}

// isInherited reports whether an event enters an inherited call.
func isInherited(inherited map[inheritedKey]int32, e *parser.Event, c *calls.Record) bool {
	depth, ok := inherited[inheritedKey{e.Thread, e.Time}]
	return ok && e.Kind == parser.Enter && int32(c.Depth) < depth
}

// ownCalls limits a predicate to rows that enter no inherited calls.
func (s *Session) ownCalls(p query.Predicate) query.Predicate {
	inherited := s.inheritedCalls()
	if len(inherited) == 0 {
		return p
	}
	slots := make(map[uint32]*query.Set)
	for slot := range uint32(s.table.Slots()) {
		id := s.table.ThreadID(slot)
		if slots[id] == nil {
			slots[id] = query.NewSet(s.table.Slots())
		}
		slots[id].Add(slot)
	}
	var list []query.Predicate
	for key, depth := range inherited {
		if on := slots[key.thread]; on != nil {
			list = append(list, query.And(query.InTime(key.time, key.time), query.OfKind(parser.Enter), query.AtDepth(0, depth-1), query.OnThreads(on)))
		}
	}
	own := query.Not(query.Or(list...))
	if p == nil {
		return own
	}
	return query.And(p, own)
}
