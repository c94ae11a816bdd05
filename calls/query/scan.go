package query

import (
	"context"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"logparser/calls/index"
	"logparser/calls/internal/sizes"
	"logparser/parser"
)

// chunkBlocks is the number of blocks that a worker takes at a time.
const (
	chunkLevel  = 3
	ChunkBlocks = 1 << (2 * chunkLevel)
)

// tellEvery is the least time between two calls of a Progress.
const tellEvery = 50 * time.Millisecond

// bitmapWords is the size of a block's bitmap.
const bitmapWords = index.BlockLen / 64

// A Scan goes over the blocks of an index in parallel.
type Scan struct {
	src *index.Index
	// match is nil where all rows pass.
	match matcher
	// want has the columns that visit needs besides those of match.
	want index.Columns
	// rows is the number of rows that are looked at, and from the first block.
	rows int64
	from int

	progress parser.Progress
	mu       sync.Mutex // guards what follows
	done     int64
	told     time.Time
}

// NewScan makes a scan of all the rows that an index has now.
func NewScan(src *index.Index, where Predicate, want index.Columns, progress parser.Progress) *Scan {
	src = src.Steady()
	s := &Scan{src: src, want: want, rows: src.Len(), progress: progress}
	if where != nil {
		s.match = where.compile(src)
	}
	return s
}

// Candidates returns how many rows may pass at most, and how many do at least, by what is known of
// blocks.
func Candidates(src *index.Index, where Predicate) (most, least int64) {
	b := CandidatesIn(src, where, []RowRange{{0, src.Len()}})
	return b[0].Most, b[0].Least
}

// A RowRange is the rows from First (included) to End (not included), whole blocks.
type RowRange struct{ First, End int64 }

// A RowCount bounds how many rows of a range pass.
type RowCount struct{ Most, Least int64 }

// CandidatesIn is [Candidates] of ranges of rows.
func CandidatesIn(src *index.Index, where Predicate, ranges []RowRange) []RowCount {
	s := NewScan(src, where, 0, nil)
	w := &Worker{Scan: s}
	list := make([]RowCount, len(ranges))
	for i, r := range ranges {
		for k, end := int(r.First/sizes.Block), sizes.Blocks(min(r.End, s.rows)); k < end; {
			n, v := w.decide(k, end)
			for ; n > 0; n-- {
				rows := int64(s.RowsOf(k))
				if v != none {
					list[i].Most += rows
				}
				if v == all {
					list[i].Least += rows
				}
				k++
			}
		}
	}
	return list
}

// A Worker is what one goroutine of a scan works with.
type Worker struct {
	*Scan
	ctx context.Context
	// ID counts from 0, below workers().
	ID    int
	Block index.Block
	pass  [bitmapWords]uint64
	full  [bitmapWords]uint64
}

// Workers is the number of goroutines of a scan.
func Workers() int { return runtime.GOMAXPROCS(0) }

// Run calls work for each chunk of blocks first to end (not included), which
// is aligned, once. Chunks are handed out in order; those of one worker are
// worked on after each other.
func (s *Scan) Run(ctx context.Context, work func(w *Worker, first, end int) error) error {
	return s.RunRounds(ctx, func(_, chunks int) int { return chunks }, work, func() {})
}

// RunRounds is Run in rounds of chunks: round returns the end of the one that begins with a chunk, of so many
// in all. Between two, while nobody works, between is called.
func (s *Scan) RunRounds(ctx context.Context, round func(begin, chunks int) (end int), work func(w *Worker, first, end int) error, between func()) error {
	blocks := sizes.Blocks(s.rows)
	s.done = min(int64(s.from)*sizes.Block, s.rows)
	chunk := s.from / ChunkBlocks
	chunks := (blocks + ChunkBlocks - 1) / ChunkBlocks
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	workers := make([]*Worker, min(Workers(), chunks-chunk))
	for id := range workers {
		workers[id] = &Worker{Scan: s, ctx: ctx, ID: id}
	}
	for chunk < chunks && ctx.Err() == nil {
		var next atomic.Int64
		next.Store(int64(chunk))
		chunk = round(chunk, chunks)
		var wg sync.WaitGroup
		for _, w := range workers {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for ctx.Err() == nil {
					c := int(next.Add(1) - 1)
					if c >= chunk {
						return
					}
					first := max(c*ChunkBlocks, s.from)
					if err := work(w, first, min((c+1)*ChunkBlocks, blocks)); err != nil {
						cancel(err)
						return
					}
				}
			}()
		}
		wg.Wait()
		if chunk < chunks {
			between()
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if s.progress != nil {
		s.progress(s.rows, s.rows)
	}
	return nil
}

// advance tells the progress.
func (s *Scan) advance(rows int64) {
	if s.progress == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done += rows
	if time.Since(s.told) >= tellEvery {
		s.told = time.Now()
		s.progress(s.done, s.rows)
	}
}

// RowsOf returns the number of rows of a block.
func (s *Scan) RowsOf(k int) int { return int(min(sizes.Block, s.rows-int64(k)*sizes.Block)) }

// A Rows is the rows of a block that pass.
type Rows struct {
	Number, Count int
	// Block has the columns that the scan wants, and pass a bit for each row
	// that passes. Both are nil where the count tells it all: where none
	// passes, and where all do and no columns are wanted.
	Block *index.Block
	Pass  []uint64
}

// Blocks tests the blocks first to end (not included) and calls visit for
// each, in order, even if none passes. What visit gets is valid until it
// returns.
func (w *Worker) Blocks(first, end int, visit func(f *Rows) error) error {
	for k := first; k < end; {
		n, v := 1, all
		if w.match != nil {
			n, v = w.decide(k, end)
		}
		for ; n > 0; n-- {
			if err := w.ctx.Err(); err != nil {
				return err
			}
			f := Rows{Number: k}
			if err := w.test(&f, v); err != nil {
				return err
			}
			if err := visit(&f); err != nil {
				return err
			}
			w.advance(int64(w.RowsOf(k)))
			k++
		}
	}
	return nil
}

// Load reads the block of rows of which none passes.
func (w *Worker) Load(f *Rows) error {
	if err := w.fill(f.Number, w.want); err != nil {
		return err
	}
	f.Block, f.Pass = &w.Block, w.pass[:(w.RowsOf(f.Number)+63)/64]
	clear(f.Pass)
	return nil
}

// decide returns for how many blocks from k on, less than end, the summaries
// tell all, and what; or maybe for one block.
func (w *Worker) decide(k, end int) (int, verdict) {
	level := 0
	for level < chunkLevel && k&(1<<(2*level+2)-1) == 0 {
		level++
	}
	for ; ; level-- {
		s := w.src.Summary(level, k>>(2*level))
		if v := w.match.decide(&s, int64(k)*sizes.Block); v != maybe || level == 0 {
			return min(1<<(2*level), end-k), v
		}
	}
}

// test finds the rows of block f.k, of which v is known.
func (w *Worker) test(f *Rows, v verdict) error {
	n := w.RowsOf(f.Number)
	if v == none {
		return nil
	}
	if v == all {
		f.Count = n
		if w.want == 0 {
			return nil
		}
		if err := w.fill(f.Number, w.want); err != nil {
			return err
		}
		f.Block, f.Pass = &w.Block, fullBitmap(&w.pass, n)
		return nil
	}
	s := w.src.Summary(0, f.Number)
	pass := w.pass[:(n+63)/64]
	if err := w.evaluate(f.Number, &s, fullBitmap(&w.full, n), pass); err != nil {
		return err
	}
	for _, p := range pass {
		f.Count += bits.OnesCount64(p)
	}
	if f.Count > 0 {
		f.Block, f.Pass = &w.Block, pass
	}
	return nil
}

// evaluate sets pass to the candidates of a block that pass. The block is
// filled with what the scan wants besides.
func (w *Worker) evaluate(k int, s *index.Summary, candidates, pass []uint64) error {
	match := narrow(w.match, s, int64(k)*sizes.Block)
	if err := w.fill(k, w.want|match.columns(s)); err != nil {
		return err
	}
	if err := match.test(w.ctx, k, &w.Block, s, candidates, pass); err != nil {
		return err
	}
	for i := range pass {
		pass[i] &= candidates[i]
	}
	return nil
}

// fill reads a block, of which no more rows count than the scan has.
func (w *Worker) fill(k int, columns index.Columns) error {
	n := w.RowsOf(k)
	if columns == 0 {
		w.Block.First, w.Block.N = int64(k)*sizes.Block, n
		return nil
	}
	if err := w.src.Fill(&w.Block, k, columns); err != nil {
		return err
	}
	w.Block.N = min(w.Block.N, n)
	return nil
}

// fullBitmap sets the first n bits.
func fullBitmap(words *[bitmapWords]uint64, n int) []uint64 {
	w := words[:(n+63)/64]
	for i := range w {
		w[i] = ^uint64(0)
	}
	if n%64 != 0 {
		w[len(w)-1] >>= 64 - n%64
	}
	return w
}

// Count counts the rows that a predicate passes, in all and in each of a
// number of equal parts of the log, as for marks on a scroll bar. Progress, if
// not nil, is told the rows done.
func Count(ctx context.Context, src *index.Index, p Predicate, parts int, progress parser.Progress) (count int64, marks []uint32, err error) {
	s := NewScan(src, p, 0, progress)
	m := newMarks(parts, s.rows)
	err = s.Run(ctx, func(w *Worker, first, end int) error {
		own := newMarks(parts, s.rows)
		err := w.Blocks(first, end, func(f *Rows) error {
			own.add(int64(f.Number)*sizes.Block, f.Count, w.RowsOf(f.Number), f.Pass)
			return nil
		})
		m.merge(own)
		return err
	})
	return m.count, m.parts, err
}

// marks counts rows in parts.
type marks struct {
	mu    sync.Mutex
	total int64
	count int64
	parts []uint32
}

func newMarks(parts int, total int64) *marks {
	return &marks{total: total, parts: make([]uint32, max(parts, 0))}
}

// part returns the part that a position is in.
func (m *marks) part(pos int64) int {
	hi, lo := bits.Mul64(uint64(pos), uint64(len(m.parts)))
	q, _ := bits.Div64(hi, lo, uint64(m.total))
	return int(q)
}

// add counts the rows of pass, of which the first stands for the position
// from; n rows all pass if pass is nil and count is not 0.
func (m *marks) add(from int64, count, n int, pass []uint64) {
	m.count += int64(count)
	if count == 0 || len(m.parts) == 0 {
		return
	}
	if first := m.part(from); first == m.part(from+int64(n)-1) {
		m.parts[first] += uint32(count)
		return
	}
	for i := range n {
		if pass == nil || pass[i/64]>>(i%64)&1 != 0 {
			m.parts[m.part(from+int64(i))]++
		}
	}
}

func (m *marks) merge(other *marks) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count += other.count
	for i, n := range other.parts {
		m.parts[i] += n
	}
}
