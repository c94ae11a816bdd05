package index

import (
	"slices"
	"sync"

	"logparser/calls"
)

// cachedBlocks is how many blocks are kept for Read.
const cachedBlocks = 8

// A cache keeps the pairs of some blocks.
type cache struct {
	mu   sync.Mutex
	list []*cached // the last used last
	free []*cached
}

type cached struct {
	block   Block
	k       int
	core    *core
	version uint64
	users   int // guarded by cache.mu
	dropped bool
}

const cachedColumns = Depths | Pairs | Insides

// get returns a block filled with cachedColumns, or nil where it cannot be
// read. It is to be given back.
func (x *Index) get(k int) *cached {
	c := x.core.Load()
	version := c.version.Load()
	h := &x.cache
	h.mu.Lock()
	i := slices.IndexFunc(h.list, func(b *cached) bool { return b.k == k })
	if i >= 0 {
		b := h.list[i]
		h.list = slices.Delete(h.list, i, i+1)
		if b.core == c && b.version == version {
			h.list = append(h.list, b)
			b.users++
			h.mu.Unlock()
			return b
		}
		h.drop(b)
	}
	var b *cached
	if n := len(h.free); n > 0 {
		b, h.free = h.free[n-1], h.free[:n-1]
	} else {
		b = &cached{}
	}
	h.mu.Unlock()
	b.k, b.core, b.version, b.users, b.dropped = k, c, version, 1, false
	err := x.fill(c, &b.block, k, cachedColumns)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		h.free = append(h.free, b)
		return nil
	}
	if len(h.list) == cachedBlocks {
		h.drop(h.list[0])
		h.list = slices.Delete(h.list, 0, 1)
	}
	h.list = append(h.list, b)
	return b
}

// drop forgets a block that was taken from the list.
func (h *cache) drop(b *cached) {
	b.dropped = true
	if b.users == 0 && len(h.free) < cachedBlocks {
		h.free = append(h.free, b)
	}
}

func (h *cache) put(b *cached) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if b.users--; b.users == 0 && b.dropped && len(h.free) < cachedBlocks {
		h.free = append(h.free, b)
	}
}

// At returns row i. A row that Build has not reached yet has neither partner
// nor duration.
func (x *Index) At(i int64) calls.Record {
	var r [1]calls.Record
	x.Read(r[:], i)
	return r[0]
}

// Read fills dst with the rows from number from on, as At returns them. Rows
// whose block cannot be read have neither partner nor duration.
func (x *Index) Read(dst []calls.Record, from int64) {
	x.each(len(dst), from, func(k int, b *Block, i int) {
		if b == nil {
			dst[k] = calls.Record{Partner: calls.NoPartner, Duration: calls.NoDuration}
			return
		}
		dst[k] = calls.Record{Depth: int(b.Depth[i]), Partner: b.Partner[i], Duration: b.Duration[i], Mark: b.Mark[i]}
	})
}

// ReadInside fills dst, for the rows from number from on, with the number of
// events that the thread of a pair recorded between its two halves, and -1 for
// rows without a partner.
func (x *Index) ReadInside(dst []int64, from int64) {
	x.each(len(dst), from, func(k int, b *Block, i int) {
		dst[k] = -1
		if b != nil {
			dst[k] = b.Inside[i]
		}
	})
}

// each calls row for n rows, with a block and the element in it, nil for a row
// that is not to be had.
func (x *Index) each(n int, from int64, row func(k int, b *Block, i int)) {
	for k := 0; k < n; {
		at := from + int64(k)
		if at < 0 {
			row(k, nil, 0)
			k++
			continue
		}
		block := at / blockLen
		i := int(at - block*blockLen)
		m := min(n-k, int(blockLen)-i)
		b := x.get(int(block))
		for j := range m {
			if b == nil || i+j >= b.block.N {
				row(k+j, nil, 0)
			} else {
				row(k+j, &b.block, i+j)
			}
		}
		if b != nil {
			x.cache.put(b)
		}
		k += m
	}
}

var _ Source = (*Index)(nil)
