package dwarf

import (
	"sync"
	"sync/atomic"
)

// A loader holds what was decoded of a unit. Both halves are decoded when
// first needed, and again when they were dropped in between.
type loader struct {
	mu       sync.Mutex // held while decoding
	tree     atomic.Pointer[loadedTree]
	lines    atomic.Pointer[loadedLines]
	lastUsed atomic.Int64
	inCache  bool // guarded by cache.mu
	cost     int64
}

type loadedTree struct {
	tree *tree
	err  error
}

type loadedLines struct {
	lines *lineTable
	err   error
}

// A cache bounds the memory of what was decoded of all units.
type cache struct {
	clock atomic.Int64
	mu    sync.Mutex
	limit int64 // in bytes
	used  int64
	units []*unit
}

// add counts what was decoded of a unit, and drops units that were not used
// for the longest time while there is too much.
func (c *cache) add(u *unit, cost int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !u.load.inCache {
		u.load.inCache = true
		c.units = append(c.units, u)
	}
	u.load.cost += cost
	c.used += cost
	for c.used > c.limit && len(c.units) > 1 {
		oldest := -1
		for i, v := range c.units {
			if v != u && (oldest < 0 || v.load.lastUsed.Load() < c.units[oldest].load.lastUsed.Load()) {
				oldest = i
			}
		}
		v := c.units[oldest]
		v.load.tree.Store(nil)
		v.load.lines.Store(nil)
		c.used -= v.load.cost
		v.load.cost, v.load.inCache = 0, false
		c.units[oldest] = c.units[len(c.units)-1]
		c.units = c.units[:len(c.units)-1]
	}
}

func (c *cache) touch(u *unit) {
	u.load.lastUsed.Store(c.clock.Add(1))
}

// tree returns what the walk over a unit's entries finds. With an error there
// may be a tree nonetheless: of the entries before the damage.
func (t *Table) tree(u *unit) (*tree, error) {
	l := t.lookup()
	defer t.done(l)
	return t.treeWith(u, l)
}

// treeWith is tree with the memory of a lookup.
func (t *Table) treeWith(u *unit, w *lookup) (*tree, error) {
	t.cache.touch(u)
	if l := u.load.tree.Load(); l != nil {
		return l.tree, l.err
	}
	u.load.mu.Lock()
	defer u.load.mu.Unlock()
	if l := u.load.tree.Load(); l != nil {
		return l.tree, l.err
	}
	c := newCoder(u, u.skeleton, t.isCode, t.rangeLimit())
	tree, err := walk(u, c, w)
	u.load.tree.Store(&loadedTree{tree: tree, err: err})
	cost := int64(64)
	if tree != nil {
		cost += tree.cost()
	}
	t.cache.add(u, cost)
	return tree, err
}

// lines returns a unit's line table.
func (t *Table) lines(u *unit) (*lineTable, error) { return t.linesWith(u, nil) }

// linesWith is lines with memory to work in, or nil.
func (t *Table) linesWith(u *unit, work *workspace) (*lineTable, error) {
	t.cache.touch(u)
	if l := u.load.lines.Load(); l != nil {
		return l.lines, l.err
	}
	u.load.mu.Lock()
	defer u.load.mu.Unlock()
	if l := u.load.lines.Load(); l != nil {
		return l.lines, l.err
	}
	// A split unit's own table has files and no rows.
	lines, err := readLines(u, t.isCode, !u.src.split, work)
	u.load.lines.Store(&loadedLines{lines: lines, err: err})
	cost := int64(64)
	if lines != nil {
		cost += lines.cost()
	}
	t.cache.add(u, cost)
	return lines, err
}

// A nameCache keeps what linkage names were demangled to: units repeat what
// they inline. It holds two generations; when the young one is full, the old
// one is dropped.
type nameCache struct {
	mu         sync.Mutex
	limit      int64 // of a generation, in bytes
	cost       int64 // of the young one
	young, old nameMaps
}

// nameMaps are names by offset and by text: two maps, because nearly all are found by offset, and a number is found several
// times as fast as a number with a text.
type nameMaps struct {
	byOffset map[uint64]*funcName
	byText   map[string]*funcName
}

func (n *nameMaps) get(key nameKey) *funcName {
	if key.text == "" {
		return n.byOffset[key.offset]
	}
	return n.byText[key.text]
}

// A nameKey is a linkage name: its offset in the image's own .debug_str, where
// linkers keep one of each, or its text.
type nameKey struct {
	offset uint64
	text   string
}

// get returns what a linkage name was demangled to before, or nil.
func (c *nameCache) get(key nameKey) *funcName {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.young.get(key); n != nil {
		return n
	}
	n := c.old.get(key)
	if n != nil {
		c.add(key, n)
	}
	return n
}

// put keeps what a linkage name was demangled to.
func (c *nameCache) put(key nameKey, n *funcName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(key, n)
}

func (c *nameCache) add(key nameKey, n *funcName) {
	if c.young.byOffset == nil || c.cost > c.limit {
		c.old, c.young, c.cost = c.young, nameMaps{map[uint64]*funcName{}, map[string]*funcName{}}, 0
	}
	if key.text == "" {
		c.young.byOffset[key.offset] = n
	} else {
		c.young.byText[key.text] = n
	}
	c.cost += n.size() + int64(len(key.text)) + 48
}

// charge counts a name that a unit keeps, to the first unit that does.
func (t *Table) charge(u *unit, n *funcName) {
	if !n.charged.Swap(true) {
		t.cache.add(u, n.size())
	}
}

// size estimates the memory that a name takes, in bytes.
func (n *funcName) size() int64 {
	// The short form is usually a part of the long one.
	return int64(max(len(n.function), len(n.signature))) + 64
}
