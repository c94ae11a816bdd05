package trace

import (
	"sync"

	"logparser/filemap"
	"logparser/parser"
)

// A mapped file is not unmapped while somebody reads.
type mapped struct {
	mu   sync.RWMutex
	m    *filemap.Mapping // nil where the file is read
	size int64
}

func (m *mapped) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.m.Close()
	m.m = nil
}

// read reads events from a record on by a cursor.
func (m *mapped) read(c *cursor, dst []parser.Event, from int64) (n int, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.m == nil {
		return c.readAt(dst, from)
	}
	fault := m.m.Use(0, m.size, func(b []byte) {
		c.mapped = b
		n, err = c.readAt(dst, from)
		c.mapped = nil
	})
	if fault != nil {
		// A mapping that fails says nothing of why; reading does. Where the
		// cursor stands is not known.
		*c = cursor{v: c.v, r: c.r, x: c.x, next: -1}
		return c.readAt(dst, from)
	}
	return n, err
}
