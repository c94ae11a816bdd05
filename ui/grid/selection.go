package grid

// A selection is a range of rows between the one where it was begun and the
// current one. The zero value selects nothing.
type selection struct {
	anchor, current int64
	some            bool
}

// set selects one row, or extends the range to it.
func (s *selection) set(row, rows int64, extend bool) {
	if rows <= 0 {
		*s = selection{}
		return
	}
	row = min(max(row, 0), rows-1)
	if !extend || !s.some {
		s.anchor = row
	}
	s.current, s.some = row, true
}

// limit makes the selection fit a source of the given length.
func (s *selection) limit(rows int64) {
	if rows <= 0 {
		*s = selection{}
	}
	s.anchor, s.current = min(s.anchor, rows-1), min(s.current, rows-1)
	if !s.some {
		s.anchor, s.current = 0, 0
	}
}

// bounds returns the first and the last row.
func (s *selection) bounds() (first, last int64, ok bool) {
	return min(s.anchor, s.current), max(s.anchor, s.current), s.some
}

func (s *selection) has(row int64) bool {
	first, last, ok := s.bounds()
	return ok && row >= first && row <= last
}
