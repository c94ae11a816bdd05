package trace

import (
	"logparser/filemap"
	"logparser/parser"
)

// readMapped reads events from a record on by a cursor, of a file that is
// mapped as far as it can be.
func readMapped(m *filemap.Mapping, c *cursor, dst []parser.Event, from int64, timed bool) (n int, err error) {
	size := m.Size()
	if size == 0 {
		return c.readAt(dst, from, timed)
	}
	fault := m.Use(0, size, func(b []byte) {
		c.mapped = b
		n, err = c.readAt(dst, from, timed)
		c.mapped = nil
	})
	if fault != nil {
		// A mapping that fails says nothing of why; reading does. Where the
		// cursor stands is not known.
		*c = cursor{v: c.v, r: c.r, x: c.x, sites: c.sites, ordinals: c.ordinals, taking: c.taking, next: -1}
		return c.readAt(dst, from, timed)
	}
	return n, err
}
