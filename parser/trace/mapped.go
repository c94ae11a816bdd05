package trace

import (
	"logparser/filemap"
	"logparser/parser"
)

// readMapped reads events with a cursor, from record from on. If the file is mapped, it reads the mapped bytes.
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
		// A fault does not tell its cause, but reading the file does. The cursor may be at any place now, so it starts anew.
		*c = cursor{v: c.v, r: c.r, x: c.x, sites: c.sites, ordinals: c.ordinals, taking: c.taking, next: -1}
		return c.readAt(dst, from, timed)
	}
	return n, err
}
