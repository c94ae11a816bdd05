package query

import (
	"context"
	"sync"

	"logparser/calls/internal/sizes"
)

// Bitmap returns the rows of a block that are in the view, of the first rows
// of the log. It must not be changed.
func (v *View) Bitmap(k int, rows int64) ([]uint64, error) {
	n := int(min(sizes.Block, rows-int64(k)*sizes.Block))
	of := v.of()
	if pass := v.cache.get(of, k, n); pass != nil {
		return pass, nil
	}
	w := workerPool.Get().(*Worker)
	defer workerPool.Put(w)
	w.Scan = &Scan{src: of.src, match: of.match, rows: rows}
	w.ctx = context.Background()
	var pass []uint64
	err := w.Blocks(k, k+1, func(f *Rows) error {
		pass = make([]uint64, (n+63)/64)
		if f.Pass != nil {
			copy(pass, f.Pass)
		} else if f.Count > 0 {
			copy(pass, fullBitmap(&w.pass, n))
		}
		if f.Count == 0 || of.hidden == nil {
			return nil
		}
		return of.hidden.clear(w, k, pass)
	})
	if err != nil {
		return nil, err
	}
	v.cache.put(of, k, n, pass)
	return pass, nil
}

var workerPool = sync.Pool{New: func() any { return new(Worker) }}

// rowsIn returns the bitmap of a block of those counted: nil where all rows
// are in the view, and empty where none is.
func (v *View) rowsIn(k int, rows int64) ([]uint64, error) {
	v.mu.RLock()
	count := int64(v.counts[k])
	v.mu.RUnlock()
	switch count {
	case 0:
		return []uint64{}, nil
	case min(sizes.Block, rows-int64(k)*sizes.Block):
		return nil, nil
	}
	return v.Bitmap(k, rows)
}

// A bitmapCache keeps the bitmaps of a few blocks.
type bitmapCache struct {
	mu   sync.Mutex
	tick uint64
	list map[int]*cachedBitmap
}

type cachedBitmap struct {
	of   *viewed
	n    int
	used uint64
	pass []uint64
}

const cachedBitmaps = 64

func (c *bitmapCache) get(of *viewed, k, n int) []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.list[k]
	if e == nil || e.of != of || e.n != n {
		return nil
	}
	c.tick++
	e.used = c.tick
	return e.pass
}

func (c *bitmapCache) put(of *viewed, k, n int, pass []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.list == nil {
		c.list = make(map[int]*cachedBitmap)
	}
	if len(c.list) >= cachedBitmaps && c.list[k] == nil {
		oldest := -1
		for i, e := range c.list {
			if oldest < 0 || e.used < c.list[oldest].used {
				oldest = i
			}
		}
		delete(c.list, oldest)
	}
	c.tick++
	c.list[k] = &cachedBitmap{of, n, c.tick, pass}
}

func (c *bitmapCache) drop(k int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.list, k)
}
