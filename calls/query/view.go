package query

import (
	"context"
	"math/bits"
	"slices"
	"sort"
	"sync"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/internal/sizes"
	"logparser/message"
	"logparser/parser"
)

// A View is the rows that a predicate passes, less those that folded calls and
// repeats hide, numbered from 0: its positions. It keeps a count for each
// block and finds the rows of a block again when they are asked for. Its
// methods are safe for concurrent use; while [View.Run] works, what it has
// counted can be read.
type View struct {
	index *index.Index
	where Predicate
	// base is the view without what is hidden, nil if nothing is.
	base    *View
	folded  []int64
	repeats *Repeats

	running sync.Mutex // held by Run

	mu sync.RWMutex // guards what follows
	// viewed is immutable but replaced.
	*viewed
	// counts has the number of rows of each block that is counted.
	counts []uint16
	// done says which chunks are counted for the rows that Run goes for.
	done []bool
	// starts has the position of the first row of each chunk up to the one
	// that has row number rows.
	starts []int64
	// rows and length are how many rows of the log are counted, and how many
	// of them are in the view.
	rows, length int64
	// open has the nodes, of the seen first ones, whose calls were open when
	// their blocks were counted.
	open []uint32
	seen int
	// stale are the blocks that are to be counted anew.
	stale []int

	cache bitmapCache
}

// A viewed is what the rows of a view are found with.
type viewed struct {
	src    *index.Index // steady
	match  matcher      // nil for all
	hidden *hidden      // nil for nothing
}

// NewView makes a view, in which there are no rows until Run has counted some.
// A nil predicate passes all.
func NewView(src *index.Index, p Predicate) *View {
	return &View{index: src, where: p, viewed: newViewed(src.Steady(), p), starts: []int64{0}}
}

func newViewed(src *index.Index, p Predicate) *viewed {
	w := &viewed{src: src}
	if p != nil {
		w.match = p.compile(src)
	}
	return w
}

// Hide makes a view of the same rows from which those within the calls that
// are entered at the rows folded, and those that repeats leave out, are
// hidden: of a folded call only the enter is left. Folds and repeats of v are
// not carried over. Rows that enter no call are ignored; repeats may be nil.
// Damaged rows and strays are never hidden. Run has to be called on the new view; it reads
// only the blocks that are touched, and those that v has not counted.
func (v *View) Hide(folded []int64, repeats *Repeats) (*View, error) {
	base := v
	if v.base != nil {
		base = v.base
	}
	of := *base.of()
	var err error
	if of.hidden, err = newHidden(of.src, folded, repeats); err != nil {
		return nil, err
	}
	return &View{
		index: v.index, where: base.where, viewed: &of, starts: []int64{0},
		base: base, folded: slices.Clone(folded), repeats: repeats,
	}, nil
}

func (v *View) of() *viewed {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.viewed
}

// Run counts the rows. After the log has grown it can be called again, and
// then counts the new rows and those whose calls have ended since; after the
// index was built again all that was counted is counted anew. Progress,
// if not nil, is told the rows done. Cancelled, or stopped by an error, it
// leaves what is counted, and can be called again to go on.
func (v *View) Run(ctx context.Context, progress parser.Progress) error {
	v.running.Lock()
	defer v.running.Unlock()

	if err := v.follow(); err != nil {
		return err
	}
	if err := v.moveHidden(); err != nil {
		return err
	}
	of := v.of()
	s := NewScan(of.src, nil, 0, progress)
	s.match = of.match
	v.watch(of.src, s.rows)
	v.mu.Lock()
	known := v.rows
	s.from = int(known / sizes.Block)
	if n := sizes.Blocks(s.rows); len(v.counts) < n {
		v.counts = append(v.counts, make([]uint16, n-len(v.counts))...)
		v.done = append(v.done, make([]bool, (n+ChunkBlocks-1)/ChunkBlocks-len(v.done))...)
	}
	if known < s.rows {
		clear(v.done[s.from/ChunkBlocks:])
	}
	v.mu.Unlock()
	if known < s.rows {
		err := s.Run(ctx, func(w *Worker, first, end int) error {
			var counts [ChunkBlocks]uint16
			if err := v.count(w, first, end, counts[:], false); err != nil {
				return err
			}
			v.mu.Lock()
			copy(v.counts[first:end], counts[:])
			v.done[first/ChunkBlocks] = true
			v.publish(s.rows)
			v.mu.Unlock()
			return nil
		})
		if err != nil {
			return err
		}
	}
	blocks, ended := v.ended(of.src)
	if err := v.recount(ctx, s, blocks); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.open = slices.DeleteFunc(v.open, func(i uint32) bool { return ended[i] })
	return nil
}

// watch notes the calls that are open, as far as their blocks are full:
// when they end, their enters' durations and anomalies change.
func (v *View) watch(src *index.Index, rows int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.base != nil && v.rows == 0 {
		v.base.mu.RLock()
		if v.base.src == src {
			v.open, v.seen = slices.Clone(v.base.open), v.base.seen
		}
		v.base.mu.RUnlock()
	}
	rows -= rows % sizes.Block
	for n := src.Nodes(); v.seen < n; v.seen++ {
		c := src.Node(uint32(v.seen))
		if c.Enter >= rows {
			break
		}
		if c.Enter >= 0 && c.Leave < 0 && c.Anomaly != calls.NoLeave {
			v.open = append(v.open, uint32(v.seen))
		}
	}
}

// ended returns the calls that have ended since they were noted, and their
// blocks. The counts of a base may be from before that too.
func (v *View) ended(src *index.Index) ([]int, map[uint32]bool) {
	v.mu.RLock()
	open := slices.Clone(v.open)
	v.mu.RUnlock()
	if v.base != nil {
		v.base.mu.RLock()
		if v.base.src == src {
			open = append(open, v.base.open...)
		}
		v.base.mu.RUnlock()
	}
	var blocks []int
	ended := map[uint32]bool{}
	for _, i := range open {
		if n := src.Node(i); n.Leave >= 0 || n.Anomaly == calls.NoLeave {
			blocks = append(blocks, int(n.Enter/sizes.Block))
			ended[i] = true
		}
	}
	return blocks, ended
}

// follow takes over an index that was built again.
func (v *View) follow() error {
	src := v.index.Steady()
	if src == v.of().src {
		return nil
	}
	of := newViewed(src, v.where)
	if v.base != nil {
		var err error
		if of.hidden, err = newHidden(src, v.folded, v.repeats); err != nil {
			return err
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.viewed, v.open, v.seen = of, nil, 0
	v.outdate(0)
	return nil
}

// moveHidden finds the ends of folded calls that were open.
func (v *View) moveHidden() error {
	of := *v.of()
	if v.base == nil || !of.hidden.open {
		return nil
	}
	h, err := newHidden(of.src, v.folded, v.repeats)
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	from := v.rows
	for i, r := range of.hidden.ranges {
		// Calls that are open now were open then, so no ranges are new.
		if i >= len(h.ranges) || h.ranges[i] != r {
			from = min(from, r.first)
		}
	}
	of.hidden = h
	v.viewed = &of
	v.outdate(from)
	return nil
}

// outdate makes the blocks that are counted stale from a row on. The caller
// holds the lock.
func (v *View) outdate(from int64) {
	for k := int(from / sizes.Block); k < sizes.Blocks(v.rows); k++ {
		v.stale = append(v.stale, k)
	}
}

// recount counts the stale blocks and others again.
func (v *View) recount(ctx context.Context, s *Scan, blocks []int) error {
	v.mu.Lock()
	blocks = append(blocks, v.stale...)
	v.mu.Unlock()
	slices.Sort(blocks)
	blocks = slices.Compact(blocks)
	w := &Worker{Scan: &Scan{src: s.src, match: s.match, rows: s.rows}, ctx: ctx}
	for i, k := range blocks {
		var n [1]uint16
		if err := v.count(w, k, k+1, n[:], true); err != nil {
			return err
		}
		v.mu.Lock()
		d := int64(n[0]) - int64(v.counts[k])
		v.counts[k] = n[0]
		for c := k/ChunkBlocks + 1; c < len(v.starts); c++ {
			v.starts[c] += d
		}
		v.length += d
		v.stale = blocks[i+1:]
		v.mu.Unlock()
		v.cache.drop(k)
	}
	return nil
}

// publish counts the chunks that are done in order.
func (v *View) publish(rows int64) {
	for {
		c := int(v.rows / sizes.Block / ChunkBlocks)
		if v.rows >= rows || !v.done[c] {
			return
		}
		end := min(int64(c+1)*ChunkBlocks*sizes.Block, rows)
		v.length = v.starts[c]
		for _, n := range v.counts[c*ChunkBlocks : sizes.Blocks(end)] {
			v.length += int64(n)
		}
		v.rows = end
		if end == int64(c+1)*ChunkBlocks*sizes.Block {
			v.starts = append(v.starts, v.length)
		}
	}
}

// count counts the blocks first to end (not included), anew if the counts of
// the base are not to be used.
func (v *View) count(w *Worker, first, end int, counts []uint16, anew bool) error {
	h := v.of().hidden
	if v.base == nil {
		return w.Blocks(first, end, func(f *Rows) error {
			counts[f.Number-first] = uint16(f.Count)
			return nil
		})
	}
	for k := first; k < end; {
		if n, ok := v.base.counted(w.src, k, w.RowsOf(k)); ok && !anew && (n == 0 || !h.touches(w.src, k)) {
			counts[k-first] = uint16(n)
			w.advance(int64(w.RowsOf(k)))
			k++
			continue
		}
		err := w.Blocks(k, k+1, func(f *Rows) error {
			if f.Count == 0 {
				return nil
			}
			pass := f.Pass
			if pass == nil {
				pass = fullBitmap(&w.pass, w.RowsOf(k))
			}
			if err := h.clear(w, k, pass); err != nil {
				return err
			}
			for _, p := range pass {
				counts[k-first] += uint16(bits.OnesCount64(p))
			}
			return nil
		})
		if err != nil {
			return err
		}
		k++
	}
	return nil
}

// counted returns the count of a block of an index if it has n rows and is
// counted.
func (v *View) counted(src *index.Index, k, n int) (int, bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.src != src || len(v.stale) > 0 || int64(k)*sizes.Block+int64(n) > v.rows || n < int(sizes.Block) {
		return 0, false
	}
	return int(v.counts[k]), true
}

// CountIn returns how many rows of some blocks that are counted are in the
// view: of those from row from to row to (not included), which is where a block
// begins or where counting has ended.
func (v *View) CountIn(from, to int64) int64 {
	v.mu.RLock()
	defer v.mu.RUnlock()
	before := func(block int) int64 {
		n := v.starts[block/ChunkBlocks]
		for _, c := range v.counts[block/ChunkBlocks*ChunkBlocks : block] {
			n += int64(c)
		}
		return n
	}
	return before(sizes.Blocks(to)) - before(int(from/sizes.Block))
}

// Len returns the number of positions so far.
func (v *View) Len() int64 {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.length
}

// Scanned returns the number of log rows that have been counted: all rows of
// the view below it are known.
func (v *View) Scanned() int64 {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.rows
}

// RowOf returns the log row at a position, 0 <= pos < Len().
func (v *View) RowOf(pos int64) (int64, error) {
	var row [1]int64
	if n, err := v.Read(row[:], pos); err != nil {
		return 0, err
	} else if n == 0 {
		return 0, message.Errorf("no row at position %d", pos)
	}
	return row[0], nil
}

// block returns the block that a position is in, the position of its first
// row and the number of rows that are counted.
func (v *View) block(pos int64) (k int, start, rows int64, ok bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if pos < 0 || pos >= v.length {
		return 0, 0, 0, false
	}
	c := sort.Search(len(v.starts), func(i int) bool { return v.starts[i] > pos }) - 1
	start = v.starts[c]
	for k = c * ChunkBlocks; ; k++ {
		if n := int64(v.counts[k]); start+n > pos {
			return k, start, v.rows, true
		}
		start += int64(v.counts[k])
	}
}

// PositionOf returns the position of a log row, or of the nearest one before
// it that is in the view, and -1 if there is none. Shown says that the row
// itself is in the view.
func (v *View) PositionOf(row int64) (pos int64, shown bool, err error) {
	v.mu.RLock()
	if row < 0 || row >= v.rows {
		pos = v.length - 1
		if row < 0 {
			pos = -1
		}
		v.mu.RUnlock()
		return pos, false, nil
	}
	k := int(row / sizes.Block)
	start := v.starts[k/ChunkBlocks]
	for _, n := range v.counts[k/ChunkBlocks*ChunkBlocks : k] {
		start += int64(n)
	}
	count, rows := int64(v.counts[k]), v.rows
	v.mu.RUnlock()
	if count == 0 {
		return start - 1, false, nil
	}
	pass, err := v.Bitmap(k, rows)
	if err != nil {
		return 0, false, err
	}
	i := int(row % sizes.Block)
	rank := 0
	for _, w := range pass[:i/64] {
		rank += bits.OnesCount64(w)
	}
	word := pass[i/64] << (63 - i%64)
	return start + min(int64(rank+bits.OnesCount64(word)), count) - 1, word>>63 != 0, nil
}

// Read fills dst with the log rows at the positions from pos on and returns
// how many there were.
func (v *View) Read(dst []int64, pos int64) (int, error) {
	n := 0
	for n < len(dst) {
		k, start, rows, ok := v.block(pos + int64(n))
		if !ok {
			break
		}
		pass, err := v.Bitmap(k, rows)
		if err != nil {
			return n, err
		}
		skip := int(pos + int64(n) - start)
		got := n
		for w, word := range pass {
			if c := bits.OnesCount64(word); skip >= c {
				skip -= c
				continue
			}
			for ; skip > 0; skip-- {
				word &= word - 1
			}
			for ; word != 0 && n < len(dst); word &= word - 1 {
				dst[n] = int64(k)*sizes.Block + int64(w*64+bits.TrailingZeros64(word))
				n++
			}
		}
		if n == got {
			// The rows changed since they were counted.
			return n, message.Errorf("block %d has changed", k)
		}
	}
	return n, nil
}

// Next returns the nearest position after pos, or before it, of a row that a
// predicate passes.
func (v *View) Next(ctx context.Context, p Predicate, pos int64, back bool) (next int64, ok bool, err error) {
	length, rows := v.Len(), v.Scanned()
	row := rows
	switch {
	case pos < 0:
		row = -1
	case pos < length:
		if row, err = v.RowOf(pos); err != nil {
			return 0, false, err
		}
	}
	s := NewScan(v.of().src, p, 0, nil)
	s.rows = rows
	row, ok, err = nearest(ctx, s, row, back, func(k int) ([]uint64, error) { return v.rowsIn(k, rows) })
	if err != nil || !ok {
		return 0, false, err
	}
	next, _, err = v.PositionOf(row)
	return next, err == nil, err
}

// Count counts the rows of the view that a predicate passes, in all and in
// each of a number of equal parts of the view. Progress, if not nil, is told
// the log rows done.
func (v *View) Count(ctx context.Context, p Predicate, parts int, progress parser.Progress) (count int64, marked []uint32, err error) {
	both := p
	if v.where != nil {
		both = And(v.where, p)
	}
	v.mu.RLock()
	of, rows, length := v.viewed, v.rows, max(v.length, 1)
	v.mu.RUnlock()
	s := NewScan(of.src, both, 0, progress)
	s.rows = rows
	h := of.hidden
	m := newMarks(parts, length)
	if s.rows == 0 {
		return 0, m.parts, nil
	}
	err = s.Run(ctx, func(w *Worker, first, end int) error {
		own := newMarks(parts, length)
		v.mu.RLock()
		start := v.starts[first/ChunkBlocks]
		counts := slices.Clone(v.counts[first:end])
		v.mu.RUnlock()
		err := w.Blocks(first, end, func(f *Rows) error {
			n := int64(counts[f.Number-first])
			// Calls may have ended since.
			from := min(start, length-1)
			start += n
			if f.Count == 0 || n == 0 {
				return nil
			}
			pass := f.Pass
			if pass == nil {
				pass = fullBitmap(&w.pass, w.RowsOf(f.Number))
			}
			if h != nil {
				if err := h.clear(w, f.Number, pass); err != nil {
					return err
				}
			}
			c := 0
			for _, word := range pass {
				c += bits.OnesCount64(word)
			}
			own.count += int64(c)
			if c == 0 || parts <= 0 {
				return nil
			}
			if first := own.part(from); first == own.part(min(from+n, length)-1) {
				own.parts[first] += uint32(c)
				return nil
			}
			in, err := v.rowsIn(f.Number, s.rows)
			if err != nil {
				return err
			}
			rank := int64(0)
			for i := range w.RowsOf(f.Number) {
				shown := in == nil || i/64 < len(in) && in[i/64]>>(i%64)&1 != 0
				if shown && pass[i/64]>>(i%64)&1 != 0 {
					own.parts[own.part(min(from+rank, length-1))]++
				}
				if shown {
					rank++
				}
			}
			return nil
		})
		m.merge(own)
		return err
	})
	return m.count, m.parts, err
}
