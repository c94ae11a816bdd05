package pdb

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// How much memory the decoded modules may take together, in bytes, before
// those unused for longest are dropped: an eighth of the file, within bounds.
// What is kept on disk: symbols/store/server.go and symbols/image/cache.go.
const (
	minCacheLimit = 32 << 20
	maxCacheLimit = 512 << 20
)

// moduleCache holds the modules that are decoded.
type moduleCache struct {
	limit int64
	slots []atomic.Pointer[moduleIndex]
	// clock ticks whenever a module is read; a module's time of use is its
	// reading.
	clock atomic.Uint64
	bytes atomic.Int64

	mu sync.Mutex // held while modules are dropped
	// reading has a lock a module, so that it is read once where many ask.
	reading [64]sync.Mutex
}

func (c *moduleCache) init(modules int, fileSize int64) {
	c.limit = min(max(fileSize/8, minCacheLimit), maxCacheLimit)
	c.slots = make([]atomic.Pointer[moduleIndex], modules)
}

// module returns the index of a module.
func (t *Table) module(number int) (*moduleIndex, error) {
	c := &t.cache
	if x := c.slots[number].Load(); x != nil {
		if now := c.clock.Load(); x.used.Load() != now {
			x.used.Store(now)
		}
		return x, nil
	}
	lock := &c.reading[number%len(c.reading)]
	lock.Lock()
	defer lock.Unlock()
	if x := c.slots[number].Load(); x != nil {
		return x, nil
	}
	x, err := t.readModule(number)
	if err != nil {
		return nil, err
	}
	x.used.Store(c.clock.Add(1))
	c.slots[number].Store(x)
	if c.bytes.Add(x.bytes.Load()) > c.limit {
		c.trim(x)
	}
	return x, nil
}

// grow counts memory that a module has come to need.
func (t *Table) grow(x *moduleIndex, bytes int64) {
	x.bytes.Add(bytes)
	c := &t.cache
	if c.slots[x.number].Load() != x {
		return // dropped meanwhile; its memory goes with it
	}
	if c.bytes.Add(bytes) > c.limit {
		c.trim(x)
	}
}

// trim drops modules until a quarter of the limit is free. The one in use
// stays, unless it is alone too large: then it goes when its users let go of
// it.
func (c *moduleCache) trim(inUse *moduleIndex) {
	if !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	var live []*moduleIndex
	total := int64(0)
	for i := range c.slots {
		if x := c.slots[i].Load(); x != nil {
			live = append(live, x)
			total += x.bytes.Load()
		}
	}
	slices.SortFunc(live, func(a, b *moduleIndex) int { return cmp.Compare(a.used.Load(), b.used.Load()) })
	target := c.limit / 4 * 3
	for _, x := range live {
		if total <= target {
			break
		}
		if x == inUse && total-x.bytes.Load() > 0 {
			continue
		}
		c.slots[x.number].Store(nil)
		total -= x.bytes.Load()
	}
	if inUse.bytes.Load() > target {
		c.slots[inUse.number].Store(nil)
		total -= inUse.bytes.Load()
	}
	c.bytes.Store(max(total, 0))
}
