package index

import (
	"slices"
	"sync"

	"logparser/calls"
	"logparser/calls/internal/sizes"
	"logparser/parser"
)

// cachedBlocks is how many blocks are kept for Read.
const cachedBlocks = 8

// A cache keeps the pairs of some blocks.
type cache struct {
	mu   sync.Mutex
	list []*cached // the last used last
	free []*cached
	// want has the columns that anybody asked for: most never ask for insides,
	// and those who do ask again.
	want Columns
}

type cached struct {
	block   Block
	events  []parser.Event
	has     Columns
	k       int
	core    *core
	version uint64
	users   int // guarded by cache.mu
	dropped bool
}

// get returns a block with the columns of records and more, or nil where it
// cannot be read. It is to be given back.
func (x *Index) get(k int, more Columns) *cached {
	c := x.core.Load()
	version := c.version.Load()
	h := &x.cache
	h.mu.Lock()
	h.want |= Depths | Pairs | more
	want := h.want
	i := slices.IndexFunc(h.list, func(b *cached) bool { return b.k == k })
	if i >= 0 {
		b := h.list[i]
		h.list = slices.Delete(h.list, i, i+1)
		if b.core == c && b.version == version && b.has == want {
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
	b.k, b.has, b.core, b.version, b.users, b.dropped = k, want, c, version, 1, false
	r := replays.Get().(*replay)
	err := r.fill(x, c, &b.block, k, want)
	b.events, r.events = r.events, b.events
	replays.Put(r)
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
	x.each(len(dst), from, 0, func(k, n int, b *cached, i int) bool {
		if b == nil {
			missing := dst[k : k+n]
			for i := range missing {
				missing[i] = calls.Record{Partner: calls.NoPartner, Duration: calls.NoDuration}
			}
			return true
		}
		b.block.records(dst[k:k+n], i)
		return true
	})
}

// ReadEvents fills events and dst, which are as long, with the rows from number
// from on, which takes less than reading both by themselves. It returns how many
// rows it has read: less where the log cannot be read, and where Build has not
// come yet.
func (x *Index) ReadEvents(events []parser.Event, dst []calls.Record, from int64) int {
	got := 0
	x.each(len(dst), from, 0, func(k, n int, b *cached, i int) bool {
		if b == nil {
			return false
		}
		copy(events[k:k+n], b.events[i:])
		b.block.records(dst[k:k+n], i)
		got += n
		return true
	})
	return got
}

// Use calls use with rows from number from on, n or as many of them as one block has: they are
// the elements from i on of the events and of the block's columns of depths and pairs, which are only lent. It
// returns how many rows that were, 0 where ReadEvents would read none.
func (x *Index) Use(from int64, n int, use func(b *Block, events []parser.Event, i, n int)) int {
	if from < 0 {
		return 0
	}
	b := x.get(int(from/sizes.Block), 0)
	if b == nil {
		return 0
	}
	defer x.cache.put(b)
	i := int(from % sizes.Block)
	if n = min(n, b.block.N-i); n <= 0 {
		return 0
	}
	use(&b.block, b.events, i, n)
	return n
}

// records fills dst with the rows from element i on.
func (b *Block) records(dst []calls.Record, i int) {
	depths, partners, durations, anomalies := b.Depth[i:][:len(dst)], b.Partner[i:][:len(dst)], b.Duration[i:][:len(dst)], b.Anomaly[i:][:len(dst)]
	for k := range dst {
		dst[k] = calls.Record{Depth: int(depths[k]), Partner: partners[k], Duration: durations[k], Anomaly: anomalies[k]}
	}
}

// ReadInside fills dst, for the rows from number from on, with the number of
// events that the thread of a pair recorded between its two halves, and -1 for
// rows without a partner.
func (x *Index) ReadInside(dst []int64, from int64) {
	x.readNumbers(dst, from, Insides, func(b *Block) []int64 { return b.Inside })
}

// ReadSelf fills dst, for the rows from number from on, with the part of their calls'
// durations that was not spent in the calls that they made. It means nothing for rows
// without a duration.
func (x *Index) ReadSelf(dst []int64, from int64) {
	x.readNumbers(dst, from, Selves, func(b *Block) []int64 { return b.Self })
}

// readNumbers fills dst with a column, and with -1 for rows that cannot be read.
func (x *Index) readNumbers(dst []int64, from int64, want Columns, column func(b *Block) []int64) {
	x.each(len(dst), from, want, func(k, n int, b *cached, i int) bool {
		if b == nil {
			missing := dst[k : k+n]
			for i := range missing {
				missing[i] = -1
			}
			return true
		}
		copy(dst[k:k+n], column(&b.block)[i:])
		return true
	})
}

// each calls rows for n rows, until it returns false: for rows k to k+n-1 of
// them, which are the elements from i on of a block, nil for what is not to be
// had. Blocks have the columns of records and more.
func (x *Index) each(n int, from int64, more Columns, rows func(k, n int, b *cached, i int) bool) {
	for k := 0; k < n; {
		at := from + int64(k)
		if at < 0 {
			if !rows(k, 1, nil, 0) {
				return
			}
			k++
			continue
		}
		block := at / sizes.Block
		i := int(at - block*sizes.Block)
		m := min(n-k, int(sizes.Block)-i)
		b := x.get(int(block), more)
		has := 0
		if b != nil {
			has = min(max(b.block.N-i, 0), m)
		}
		ok := has == 0 || rows(k, has, b, i)
		if b != nil {
			x.cache.put(b)
		}
		if ok && has < m {
			ok = rows(k+has, m-has, nil, 0)
		}
		if !ok {
			return
		}
		k += m
	}
}
