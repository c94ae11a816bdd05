package query

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/parser"
)

// cheap is embedded by the tests that cost some nanoseconds a row.
type cheap struct{}

func (cheap) cost() int { return 0 }

// fill sets each bit of pass by a function that returns 0 or 1.
func fill(pass []uint64, n int, test func(i int) uint64) {
	for w := range pass {
		var word uint64
		base, count := w*64, min(64, n-w*64)
		for i := range count {
			word = word<<1 + test(base+i)
		}
		pass[w] = turned(word, count)
	}
}

// turned makes a word of a bitmap of n bits that were put into it one after the
// other from below: shifting each to its place instead takes twice as long.
func turned(word uint64, n int) uint64 { return bits.Reverse64(word) >> (64 - n) }

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// undamaged clears the bits of damaged rows.
func undamaged(b *index.Block, s *index.Summary, pass []uint64) {
	if s.Anomalies>>calls.Damaged&1 == 0 {
		return
	}
	for i, k := range b.Kind[:b.N] {
		if k == parser.Damaged {
			pass[i/64] &^= 1 << (i % 64)
		}
	}
}

type addressTest struct{ set *Set }

func (t addressTest) compile(*index.Index) matcher {
	return &compiledAddressTest{set: t.set, table: t.set.table()}
}

type compiledAddressTest struct {
	cheap
	set   *Set
	table []uint8
}

func (t *compiledAddressTest) columns(s *index.Summary) index.Columns {
	if s.Anomalies>>calls.Damaged&1 != 0 {
		return index.Addresses | index.Kinds
	}
	return index.Addresses
}

func (t *compiledAddressTest) decide(s *index.Summary, _ int64) verdict { return t.set.decide(s) }

func (t *compiledAddressTest) test(_ context.Context, _ int, b *index.Block, s *index.Summary, _, pass []uint64) error {
	t.set.test(t.table, b.Address[:b.N], pass)
	undamaged(b, s, pass)
	return nil
}

type threadTest struct{ slots *Set }

func (t threadTest) compile(src *index.Index) matcher {
	c := &compiledThreadTest{set: t.slots, table: t.slots.table(), others: math.MaxUint64, known: src.Len()}
	if slots := src.Slots(); slots <= maxThreadsTold {
		c.others = 0
		for slot := range uint32(slots) {
			if !t.slots.Has(slot) {
				c.others |= 1 << (slot % 64)
			}
		}
	}
	for _, w := range t.slots.bloom {
		c.bloom |= w
	}
	return c
}

type compiledThreadTest struct {
	cheap
	set   *Set
	table []uint8
	bloom uint64
	// others is what summaries of the first known rows have of threads that do not pass.
	others uint64
	known  int64
}

// maxThreadsTold bounds the threads that are gone over for those that do not pass.
const maxThreadsTold = 1 << 16

func (t *compiledThreadTest) columns(s *index.Summary) index.Columns {
	if s.Anomalies>>calls.Damaged&1 != 0 {
		return index.Owners | index.Kinds
	}
	return index.Owners
}

func (t *compiledThreadTest) decide(s *index.Summary, first int64) verdict {
	every := s.Owners&t.others == 0 && s.Anomalies>>calls.Damaged&1 == 0 && first+s.Rows <= t.known
	return verdictOf(s.Owners&t.bloom == 0, every)
}

func (t *compiledThreadTest) test(_ context.Context, _ int, b *index.Block, s *index.Summary, _, pass []uint64) error {
	t.set.test(t.table, b.Owner[:b.N], pass)
	undamaged(b, s, pass)
	return nil
}

type kindTest struct {
	cheap
	kinds uint64
}

func (t kindTest) compile(*index.Index) matcher { return t }

func (t kindTest) columns(*index.Summary) index.Columns { return index.Kinds }

func (t kindTest) decide(s *index.Summary, _ int64) verdict {
	switch {
	case t.kinds == 0:
		return none
	case t.kinds == 1<<parser.Damaged:
		return verdictOf(s.Anomalies>>calls.Damaged&1 == 0, false)
	}
	const good = 1<<parser.Enter | 1<<parser.Leave
	return verdictOf(false, t.kinds&good == good && (t.kinds>>parser.Damaged&1 != 0 || s.Anomalies>>calls.Damaged&1 == 0))
}

func (t kindTest) test(_ context.Context, _ int, b *index.Block, _ *index.Summary, _, pass []uint64) error {
	kinds := b.Kind[:b.N]
	for w := range pass {
		var word uint64
		part := kinds[w*64 : min(w*64+64, len(kinds))]
		for _, k := range part {
			word = word<<1 + t.kinds>>(k&63)&1
		}
		pass[w] = turned(word, len(part))
	}
	return nil
}

// between sets the bits of the values from least to most.
func between(values []int64, pass []uint64, least, most int64) {
	if least > most {
		clear(pass)
		return
	}
	width := uint64(most) - uint64(least)
	for w := range pass {
		var word uint64
		part := values[w*64 : min(w*64+64, len(values))]
		for _, v := range part {
			_, outside := bits.Sub64(width, uint64(v)-uint64(least), 0)
			word = word<<1 + outside
		}
		pass[w] = turned(^word, len(part))
	}
}

type depthTest struct{ least, most int32 }

func (t depthTest) compile(*index.Index) matcher { return t }

func (t depthTest) cost() int { return 0 }

func (t depthTest) columns(*index.Summary) index.Columns { return index.Depths }

func (t depthTest) decide(s *index.Summary, _ int64) verdict {
	return verdictOf(t.least > t.most || s.MaxDepth < t.least || t.most < 0, t.least <= 0 && s.MaxDepth <= t.most)
}

func (t depthTest) test(_ context.Context, _ int, b *index.Block, _ *index.Summary, _, pass []uint64) error {
	if t.least > t.most {
		clear(pass)
		return nil
	}
	least, width := t.least, uint64(uint32(t.most)-uint32(t.least))
	depths := b.Depth[:b.N]
	for w := range pass {
		var word uint64
		part := depths[w*64 : min(w*64+64, len(depths))]
		for _, v := range part {
			word = word<<1 + ^(width-uint64(uint32(v)-uint32(least)))>>63
		}
		pass[w] = turned(word, len(part))
	}
	return nil
}

type timeTest struct{ first, last int64 }

func (t timeTest) compile(*index.Index) matcher { return t }

func (t timeTest) cost() int { return 0 }

func (t timeTest) columns(*index.Summary) index.Columns { return index.Times }

// The times of damaged rows are not among those of a summary.
func (t timeTest) decide(s *index.Summary, _ int64) verdict {
	if s.Anomalies>>calls.Damaged&1 != 0 {
		return verdictOf(t.first > t.last, false)
	}
	return verdictOf(t.first > t.last || s.LastTime < t.first || s.FirstTime > t.last, s.FirstTime >= t.first && s.LastTime <= t.last)
}

func (t timeTest) test(_ context.Context, _ int, b *index.Block, _ *index.Summary, _, pass []uint64) error {
	between(b.Time[:b.N], pass, t.first, t.last)
	return nil
}

type rowTest struct{ first, last int64 }

func (t rowTest) compile(*index.Index) matcher { return t }

func (t rowTest) cost() int { return 0 }

func (t rowTest) columns(*index.Summary) index.Columns { return 0 }

func (t rowTest) decide(s *index.Summary, first int64) verdict {
	end := first + s.Rows - 1
	return verdictOf(t.first > t.last || first > t.last || end < t.first, first >= t.first && end <= t.last)
}

func (t rowTest) test(_ context.Context, _ int, b *index.Block, _ *index.Summary, _, pass []uint64) error {
	clear(pass)
	first := max(t.first, b.First)
	last := min(t.last, b.First+int64(b.N)-1)
	setRange(pass, int(first-b.First), int(last+1-b.First))
	return nil
}

// setRange sets the bits from (included) to (not included).
func setRange(words []uint64, from, to int) {
	for from < to {
		n := min(64-from%64, to-from)
		words[from/64] |= ^uint64(0) >> (64 - n) << (from % 64)
		from += n
	}
}

type anomalyTest struct{ anomalies uint16 }

// endAnomalies are those that calls have that are open at the log's end, which no
// summary knows.
const endAnomalies = 1<<calls.Open | 1<<calls.Running | 1<<calls.NoLeave

func (t anomalyTest) compile(src *index.Index) matcher {
	c := &compiledAnomalyTest{anomalies: t.anomalies, known: math.MaxInt64}
	if t.anomalies&(endAnomalies|1<<calls.None) != 0 {
		c.known = src.Len()
		c.open = src.OpenCalls(nil).Blocks()
	}
	return c
}

type compiledAnomalyTest struct {
	cheap
	anomalies uint16
	// open has the first rows of the blocks in which calls were entered that
	// are open, sorted, as far as the index had rows when it was asked:
	// known.
	open  []int64
	known int64
}

// anyIn reports whether one of the sorted rows is among n from first on.
func anyIn(rows []int64, first, n int64) bool {
	i, _ := slices.BinarySearch(rows, first)
	return i < len(rows) && rows[i] < first+n
}

func (t *compiledAnomalyTest) columns(*index.Summary) index.Columns { return index.Pairs }

func (t *compiledAnomalyTest) decide(s *index.Summary, first int64) verdict {
	marked := t.anomalies&(1<<calls.None) == 0
	others := t.anomalies
	if !marked {
		others = ^t.anomalies
	}
	// Enters of calls that are open at the end are None until then.
	if s.Anomalies&others != 0 || first+s.Rows > t.known || anyIn(t.open, first, s.Rows) {
		return maybe
	}
	return verdictOf(marked, !marked)
}

func (t *compiledAnomalyTest) test(_ context.Context, _ int, b *index.Block, _ *index.Summary, _, pass []uint64) error {
	anomalies := b.Anomaly[:b.N]
	for w := range pass {
		var word uint64
		part := anomalies[w*64 : min(w*64+64, len(anomalies))]
		for _, m := range part {
			word = word<<1 + uint64(t.anomalies)>>(m&63)&1
		}
		pass[w] = turned(word, len(part))
	}
	return nil
}

type blockTest struct {
	addresses *Set
	f         func(ctx context.Context, src *index.Index, b *index.Block, candidates, pass []uint64) error
}

func (t blockTest) compile(src *index.Index) matcher { return &compiledBlockTest{t, src} }

type compiledBlockTest struct {
	blockTest
	src *index.Index
}

func (t *compiledBlockTest) cost() int { return 1 }

func (t *compiledBlockTest) columns(*index.Summary) index.Columns { return 0 }

func (t *compiledBlockTest) decide(s *index.Summary, _ int64) verdict {
	return t.addresses.decide(s)
}

func (t *compiledBlockTest) test(ctx context.Context, _ int, b *index.Block, _ *index.Summary, candidates, pass []uint64) error {
	clear(pass)
	for _, word := range candidates {
		if word != 0 {
			return t.f(ctx, t.src, b, candidates, pass)
		}
	}
	return nil
}

type slowTest struct {
	f func(ctx context.Context, rows []int64, pass []bool) error
}

func (t slowTest) compile(*index.Index) matcher { return t }

func (t slowTest) cost() int { return 1 }

func (t slowTest) columns(*index.Summary) index.Columns { return 0 }

func (t slowTest) decide(*index.Summary, int64) verdict { return maybe }

func (t slowTest) test(ctx context.Context, _ int, b *index.Block, _ *index.Summary, candidates, pass []uint64) error {
	clear(pass)
	rows := make([]int64, 0, index.BlockLen)
	for w, word := range candidates {
		for ; word != 0; word &= word - 1 {
			rows = append(rows, b.First+int64(w*64+bits.TrailingZeros64(word)))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	ok := make([]bool, len(rows))
	if err := t.f(ctx, rows, ok); err != nil {
		return err
	}
	for i, row := range rows {
		if at := row - b.First; ok[i] {
			pass[at/64] |= 1 << (at % 64)
		}
	}
	return nil
}
