package app

import (
	"logparser/message"
	"logparser/parser"
)

// firstTime returns the time of the first record of a run that is not damaged. It
// looks at a block of them: where that holds nothing else, it is what zero is so
// far.
func (s *Session) firstTime(r *sessionRun) int64 {
	b := blocks.Get().(*block)
	defer blocks.Put(b)
	n, _ := s.log.ReadEvents(b.events[:min(r.Count, blockRows)], r.First)
	for _, e := range b.events[:n] {
		if e.Kind != parser.Damaged {
			return e.Time
		}
	}
	return r.zero
}

// endKnown reports whether the log tells when its recording ended.
func (s *Session) endKnown() bool {
	if s.can.Ender == nil {
		return false
	}
	_, exact := s.can.Ender.End()
	return exact
}

// endKnownOf is endKnown for the process of an event's thread.
func (s *Session) endKnownOf(key uint32) bool {
	if s.can.Ender != nil {
		if _, exact, ok := s.can.Ender.ProcessEnd(key); ok {
			return exact
		}
	}
	return s.endKnown()
}

// endTime returns the time at which a run ended, as far as the log tells.
func (s *Session) endTime(r *sessionRun) int64 {
	end := s.lastTime(r)
	if s.can.Ender != nil {
		at, _ := s.can.Ender.End()
		end = max(end, at)
	}
	return end
}

// lastTime returns the time of the last record of a run that is not damaged,
// that from which elapsed time counts if there is none.
func (s *Session) lastTime(r *sessionRun) int64 {
	b := blocks.Get().(*block)
	defer blocks.Put(b)
	for end := r.First + r.Count; end > r.First; {
		from := max(end-blockRows, r.First)
		// What cannot be read is said where rows are.
		n, _ := s.log.ReadEvents(b.events[:end-from], from)
		for k := n - 1; k >= 0; k-- {
			if b.events[k].Kind != parser.Damaged {
				return b.events[k].Time
			}
		}
		end = from
	}
	return r.zero
}

// LateLeaves is what is said where leaves are late.
func LateLeaves() message.Text {
	return message.Textf("leaves are late: the end of a call was noticed at the next enter that could not be in it, so durations are at most what is shown, and self times about that")
}

// Ways returns by which ways in the program called its recorder, if the log says that, and
// whether leaves are late; see [LateLeaves].
func (s *Session) Ways() (ways []string, late bool) {
	if s.can.WayTeller != nil {
		return s.can.WayTeller.Ways()
	}
	return nil, false
}
