package app

import (
	"context"
	"math/bits"

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
}

// value is a term about values of calls.
func (c *condition) value(t *filter.Term) query.Predicate {
	shown := c.shownTest(rows.Values, t.MatchFilled)
	if !c.s.HasValues() || c.s.can.TakenReader == nil || len(c.s.runs()) != 1 {
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
	test := query.OfBlocks(index.Addresses|index.Kinds|index.Pairs, v.block)
	return query.And(query.InAddresses(set), test)
}

// matcher makes the matcher of an address.
func (v *valueTest) matcher(address uint32) *values.Matcher {
	a := v.c.src.AddressTable().At(int(address))
	of := v.c.s.callee(int(a.Run), &parser.Event{Address: a.Value, Space: a.Space}, v.by)
	m, ok := v.c.s.taken.decoder(v.by).Matcher(&of.Callee, v.enter, v.path, v.test)
	v.failed = v.failed || !ok
	return m
}

// block tests the rows of a block. A call is tested where its values were taken; its other row
// is found by its partner.
func (v *valueTest) block(_ context.Context, b *index.Block, candidates, pass []uint64) error {
	_, record := v.c.s.table.Position(b.First)
	taken := make([]uint64, len(pass)) // calls that fit, where values were taken
	kind := parser.Enter
	if !v.enter {
		kind = parser.Leave
	}
	err := v.c.s.can.TakenReader.EachTaken(record, b.N, func(i int, form parser.ValueForm, bytes []byte) {
		if b.Kind[i] != kind || form != parser.ValuesByPlan || int(b.Address[i]) >= len(v.matchers) {
			return
		}
		if m := v.matchers[b.Address[i]]; m != nil && m.Match(bytes) {
			taken[i/64] |= 1 << (i % 64)
		}
	})
	if err != nil {
		return err
	}
	var elsewhere []int64 // rows
	for w, word := range candidates {
		for ; word != 0; word &= word - 1 {
			i := w*64 + bits.TrailingZeros64(word)
			at := int64(i)
			if b.Kind[i] != kind {
				if b.Partner[i] == calls.NoPartner {
					continue
				}
				if at = b.Partner[i] - b.First; at < 0 || at >= int64(b.N) {
					elsewhere = append(elsewhere, b.First+int64(i))
					continue
				}
			}
			pass[w] |= taken[at/64] >> (at % 64) & 1 << (i % 64)
		}
	}
	// The values of some were taken in another block.
	for _, row := range elsewhere {
		i := row - b.First
		ok, err := v.takenAt(b.Partner[i], v.matchers[b.Address[i]])
		if err != nil {
			return err
		}
		if ok {
			pass[i/64] |= 1 << (i % 64)
		}
	}
	return nil
}

// takenAt tests what was taken at a row.
func (v *valueTest) takenAt(row int64, m *values.Matcher) (ok bool, err error) {
	_, record := v.c.s.table.Position(row)
	err = v.c.s.can.TakenReader.EachTaken(record, 1, func(_ int, form parser.ValueForm, bytes []byte) {
		ok = form == parser.ValuesByPlan && m != nil && m.Match(bytes)
	})
	return ok, err
}
