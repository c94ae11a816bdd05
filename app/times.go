package app

import "logparser/parser"

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
