package app

import (
	"context"
	"math/bits"
	"sync"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/query"
	"logparser/calls/values"
	"logparser/parser"
	"logparser/rows"
	"logparser/rows/filter"
)

// A valueTest tests calls by the bytes that were taken of them by the plan, without making values of
// the others.
type valueTest struct {
	c      *condition
	by     *parser.ValuesTaken
	enter  bool // arguments are tested
	path   string
	test   values.Test
	failed bool // values have to be made of them all the same
	// matchers are those of addresses, nil for those without such a value.
	matchers []*values.Matcher
	memory   sync.Pool
}

// value is a term about values of calls.
func (c *condition) value(t *filter.Term) query.Predicate {
	if !c.s.HasValues() {
		c.withoutValues = true
		return query.Or()
	}
	shown := c.shownTest(rows.Values, t.MatchFilled)
	if c.s.can.TakenReader == nil || len(c.s.runs()) != 1 {
		return query.Func(shown)
	}
	v := &valueTest{c: c, by: c.s.can.ValueTeller.ValuesTaken()}
	if !c.s.taken.decoder(v.by).Whole() {
		return query.Func(shown)
	}
	v.path = t.Column.Path()
	v.enter = values.AtEnter(v.path)
	if path, ok := t.Column.ResultPath(); ok {
		v.path, v.enter = path, false
	}
	v.test.Fits, v.test.Number, v.test.Text = t.ValueTest()
	v.matchers = make([]*values.Matcher, c.addresses)
	set := query.NewSet(c.addresses)
	for i := range v.matchers {
		if v.matchers[i] = v.matcher(uint32(i)); v.matchers[i] != nil {
			set.Add(uint32(i))
		}
	}
	if v.failed {
		return query.Func(shown)
	}
	c.valued = append(c.valued, v)
	if set.Len() == 0 {
		return query.Or()
	}
	return query.OfBlocks(set, v.block)
}

// matcher makes the matcher of an address.
func (v *valueTest) matcher(address uint32) *values.Matcher {
	a := v.c.src.AddressTable().At(int(address))
	of := v.c.s.callee(int(a.Run), &parser.Event{Address: a.Value, Space: a.Space}, v.by)
	m, ok := v.c.s.taken.decoder(v.by).Matcher(&of.Callee, v.enter, v.path, v.test)
	v.failed = v.failed || !ok
	return m
}

// A valueMemory is memory for testing blocks.
type valueMemory struct {
	pairs    parser.CallPairs
	block    index.Block
	matchers [64]cachedMatcher
	open     []index.Node
	jumped   []jumpedRow
}

// A jumpedRow is a row of a block, counted from the first, at which a call ended with a jump. m is the matcher of its function.
type jumpedRow struct {
	i int
	m *values.Matcher
}

// A cachedMatcher is the matcher of an address, nil for none. known is 0 where there is no such address here.
type cachedMatcher struct {
	address uint64
	space   uint16
	known   bool
	m       *values.Matcher
}

// block tests the rows of a block. A call is tested where its values were taken; its other row
// is found by its partner.
func (v *valueTest) block(_ context.Context, src *index.Index, b *index.Block, candidates, pass []uint64) error {
	m, _ := v.memory.Get().(*valueMemory)
	if m == nil {
		m = &valueMemory{}
	}
	defer v.memory.Put(m)
	if ok, err := v.ofOneStack(src, m, b, pass); ok || err != nil {
		return err
	}
	clear(pass)
	if err := src.Fill(&m.block, int(b.First/index.BlockLen), index.Addresses|index.Kinds|index.Pairs); err != nil {
		return err
	}
	m.block.N = min(m.block.N, b.N)
	return v.ofBlock(&m.block, candidates, pass)
}

// mostCrossing is how many calls of a block may go on behind it, or have begun before it, in ofOneStack: each of them is looked up.
const mostCrossing = 64

// ofOneStack tests the rows of a block by what the log says of its calls, without reading its events. It is not ok
// where that cannot be done, and some rows may have been tested then.
func (v *valueTest) ofOneStack(src *index.Index, m *valueMemory, b *index.Block, pass []uint64) (ok bool, err error) {
	top, first, end, ok := src.OneStack(int(b.First / index.BlockLen))
	if !ok || end-first > mostCrossing || b.N < index.BlockLen {
		return false, nil
	}
	// before returns a call that was entered before the block, the innermost first.
	m.open, m.jumped = m.open[:0], m.jumped[:0]
	before := func(i int) *index.Node {
		for len(m.open) <= i && top != index.NoNode && i < mostCrossing {
			m.open = append(m.open, src.Node(top))
			top = m.open[len(m.open)-1].Parent
		}
		if i >= len(m.open) {
			ok = false
			return nil
		}
		return &m.open[i]
	}
	_, record := v.c.s.table.Position(b.First)
	read := v.c.s.can.TakenReader.TakenCalls(record, b.N, &m.pairs, func(t *parser.TakenAt) {
		i := t.Record
		k := m.pairs.Partner[i]
		if entered := int(k) == i; entered != v.enter || t.Form != parser.ValuesByPlan && t.Form != parser.ValuesOfJump {
			return
		}
		var of *values.Matcher
		if k >= 0 {
			of = v.cachedMatcher(src, m, t)
		} else if n := before(len(m.pairs.Before) - 1); n != nil {
			of = v.matcherOf(n.Address)
		}
		switch {
		case of == nil:
		case t.Form == parser.ValuesOfJump:
			m.jumped = append(m.jumped, jumpedRow{i, of})
		case of.Match(t.Bytes):
			pass[i/64] |= 1 << (i % 64)
		}
	})
	if !read || !ok || len(m.pairs.Before) > mostCrossing {
		return false, nil
	}
	if err := v.setJumped(pass, b.First, b.N, m.jumped); err != nil {
		return false, err
	}
	for w, word := range pass {
		for ; word != 0; word &= word - 1 {
			if k := m.pairs.Partner[w*64+bits.TrailingZeros64(word)]; k >= 0 {
				pass[k/64] |= 1 << (k % 64)
			}
		}
	}
	// The values of some were taken in another block.
	if v.enter {
		for k, i := range m.pairs.Before {
			n := before(k)
			if n == nil {
				return false, nil
			}
			if err := v.setTakenAt(pass, int64(i), n.Enter, n.Address); err != nil {
				return false, err
			}
		}
		return true, nil
	}
	for i := first; i < end; i++ {
		n := src.Node(i)
		if err := v.setTakenAt(pass, n.Enter-b.First, n.Leave, n.Address); err != nil {
			return false, err
		}
	}
	return true, nil
}

// setTakenAt sets the bit of row i if what was taken at the other row of its call fits; that is negative where there is none.
func (v *valueTest) setTakenAt(pass []uint64, i, other int64, address uint32) error {
	if i < 0 || other < 0 {
		return nil
	}
	ok, err := v.takenAt(other, v.matcherOf(address))
	if ok {
		pass[i/64] |= 1 << (i % 64)
	}
	return err
}

// setJumped sets the bits of those of n rows from first on at which calls ended with a jump whose results fit.
func (v *valueTest) setJumped(pass []uint64, first int64, n int, list []jumpedRow) error {
	const few = 4
	r := rowReader{s: v.c.s}
	if len(list) > few {
		b := blocks.Get().(*block)
		defer blocks.Put(b)
		if err := r.readBlock(b, first, n); err != nil {
			return err
		}
	}
	for _, j := range list {
		ok, err := v.jumped(&r, first+int64(j.i), j.m)
		if err != nil {
			return err
		}
		if ok {
			pass[j.i/64] |= 1 << (j.i % 64)
		}
	}
	return nil
}

// jumped tests the result of a call that ended at a row with a jump.
func (v *valueTest) jumped(r *rowReader, row int64, m *values.Matcher) (ok bool, err error) {
	s := v.c.s
	taken, err := r.taken(row)
	if err != nil {
		return false, err
	}
	e, err := r.event(row)
	if err != nil {
		return false, err
	}
	run, _ := s.table.Position(row)
	result, err := s.followJumps(r, run, s.callee(run, &e, v.by), &taken)
	return result.Form == parser.ValuesOfJump && result.Taken != nil && m.Match(result.Taken), err
}

// cachedMatcher returns the matcher of what was taken.
func (v *valueTest) cachedMatcher(src *index.Index, m *valueMemory, t *parser.TakenAt) *values.Matcher {
	f := &m.matchers[(t.Address^t.Address>>6)%uint64(len(m.matchers))]
	if !f.known || f.address != t.Address || f.space != t.Space {
		*f = cachedMatcher{address: t.Address, space: t.Space}
		number, ok := src.AddressTable().Find(0, t.Space, t.Address)
		if f.known = ok; ok {
			f.m = v.matcherOf(uint32(number))
		}
	}
	return f.m
}

// matcherOf returns the matcher of an address, nil for none.
func (v *valueTest) matcherOf(address uint32) *values.Matcher {
	if int64(address) >= int64(len(v.matchers)) {
		return nil
	}
	return v.matchers[address]
}

// ofBlock tests the rows of a block by its columns.
func (v *valueTest) ofBlock(b *index.Block, candidates, pass []uint64) error {
	_, record := v.c.s.table.Position(b.First)
	taken := make([]uint64, len(pass)) // calls that fit, where values were taken
	var jumped []jumpedRow
	kind := parser.Enter
	if !v.enter {
		kind = parser.Leave
	}
	err := v.c.s.can.TakenReader.EachTaken(record, b.N, func(i int, form parser.ValueForm, bytes []byte) {
		if b.Kind[i] != kind || form != parser.ValuesByPlan && form != parser.ValuesOfJump {
			return
		}
		m := v.matcherOf(b.Address[i])
		switch {
		case m == nil:
		case form == parser.ValuesOfJump:
			jumped = append(jumped, jumpedRow{i, m})
		case m.Match(bytes):
			taken[i/64] |= 1 << (i % 64)
		}
	})
	if err == nil {
		err = v.setJumped(taken, b.First, b.N, jumped)
	}
	if err != nil {
		return err
	}
	var elsewhere []int64 // rows
	for w, word := range candidates {
		for ; word != 0; word &= word - 1 {
			i := w*64 + bits.TrailingZeros64(word)
			if b.Kind[i] == parser.Damaged || v.matcherOf(b.Address[i]) == nil {
				continue
			}
			at := int64(i)
			if b.Kind[i] != kind {
				if b.Partner[i] == calls.NoPartner {
					continue
				}
				if at = b.Partner[i] - b.First; at < 0 || at >= int64(b.N) {
					elsewhere = append(elsewhere, int64(i))
					continue
				}
			}
			pass[w] |= taken[at/64] >> (at % 64) & 1 << (i % 64)
		}
	}
	// The values of some were taken in another block.
	for _, i := range elsewhere {
		if err := v.setTakenAt(pass, i, b.Partner[i], b.Address[i]); err != nil {
			return err
		}
	}
	return nil
}

// takenAt tests what was taken at a row.
func (v *valueTest) takenAt(row int64, m *values.Matcher) (ok bool, err error) {
	if m == nil {
		return false, nil
	}
	jumped := false
	err = v.c.s.can.TakenReader.EachTaken(v.c.s.recordOf(row), 1, func(_ int, form parser.ValueForm, bytes []byte) {
		ok, jumped = form == parser.ValuesByPlan && m.Match(bytes), form == parser.ValuesOfJump
	})
	if err == nil && jumped {
		return v.jumped(&rowReader{s: v.c.s}, row, m)
	}
	return ok, err
}
