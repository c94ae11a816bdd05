package query

import (
	"encoding/binary"
	"math/bits"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/parser"
)

// EnterAddresses returns the addresses of the enters that a predicate passes. It is not ok
// where that depends on more than addresses.
func EnterAddresses(p Predicate) (has func(address uint32) bool, ok bool) {
	switch p := p.(type) {
	case addressTest:
		return p.set.Has, true
	case kindTest:
		return func(uint32) bool { return p.kinds>>parser.Enter&1 != 0 }, true
	case negation:
		has, ok := EnterAddresses(p.p)
		return func(address uint32) bool { return !has(address) }, ok
	case junction:
		var parts []func(address uint32) bool
		for _, part := range p.parts {
			has, ok := EnterAddresses(part)
			if !ok {
				return nil, false
			}
			parts = append(parts, has)
		}
		return func(address uint32) bool {
			for _, has := range parts {
				if has(address) == p.or {
					return p.or
				}
			}
			return !p.or
		}, true
	}
	return nil, false
}

// SplitAddresses splits a predicate into the addresses that enters have that pass, as far as addresses alone tell that, and what an enter has
// to pass besides, nil for nothing.
func SplitAddresses(p Predicate) (has func(address uint32) bool, rest Predicate) {
	var addresses, others []Predicate
	var split func(p Predicate)
	split = func(p Predicate) {
		if j, ok := p.(junction); ok && !j.or {
			for _, part := range j.parts {
				split(part)
			}
		} else if _, ok := EnterAddresses(p); ok {
			addresses = append(addresses, p)
		} else {
			others = append(others, p)
		}
	}
	split(p)
	has, _ = EnterAddresses(And(addresses...))
	if len(others) > 0 {
		rest = And(others...)
	}
	return has, rest
}

// maxMarks is how many sets of addresses a CallTest can tell by the marks of calls.
const maxMarks = 8

// A CallTest is a predicate over the enters of whole calls. It knows nothing of rows.
type CallTest struct {
	src       *index.Index
	predicate Predicate
	test      callTester
	sets      []*Set // of which bit 1<<i of a call's marks says that it is inside one
	// times are the first and last times of events, of any thread, that may belong to the rows of a range.
	times map[rowTest][2]int64
	fold  foldTest
}

// CallsOf are calls of one thread.
type CallsOf struct {
	Calls []parser.Call
	// Owner is the slot of their thread.
	Owner uint32
	// Open is the anomaly of calls without a duration.
	Open calls.Anomaly
	all  bool // of all calls
}

// A callTester sets pass to 1 for the calls that pass, and to 0 for others.
type callTester func(c *CallsOf, pass []uint8)

// NewCallTest makes a predicate one of calls; it is not ok where that asks for more than calls
// tell.
func NewCallTest(src *index.Index, p Predicate) (t *CallTest, ok bool) {
	t = &CallTest{src: src.Steady(), predicate: p, times: make(map[rowTest][2]int64)}
	if t.test = t.of(p); t.test == nil {
		return t, false
	}
	t.fold = t.foldable()
	return t, true
}

// May reports whether calls of a thread may pass, by its slot.
func (t *CallTest) May(owner uint32) bool { return onThread(t.predicate, owner) != none }

// onThread says what the thread alone tells of calls.
func onThread(p Predicate, owner uint32) verdict {
	switch p := p.(type) {
	case threadTest:
		has := p.slots.Has(owner)
		return verdictOf(!has, has)
	case negation:
		switch onThread(p.p, owner) {
		case none:
			return all
		case all:
			return none
		}
	case junction:
		every := true
		for _, part := range p.parts {
			switch v := onThread(part, owner); {
			case p.or && v == all, !p.or && v == none:
				return v
			case v == maybe:
				every = false
			}
		}
		return verdictOf(every && p.or, every && !p.or)
	}
	return maybe
}

// Marks returns the marks of calls of an address.
func (t *CallTest) Marks(address uint32) uint8 {
	marks := uint8(0)
	for i, set := range t.sets {
		if set.Has(address) {
			marks |= 1 << i
		}
	}
	return marks
}

// Limits returns limits within which all calls with a leave are that pass.
func (t *CallTest) Limits() parser.CallLimits { return t.limits(t.predicate) }

func (t *CallTest) limits(p Predicate) parser.CallLimits {
	l := parser.NoCallLimits()
	switch p := p.(type) {
	case depthTest:
		l.Deepest = max(p.most, -1)
	case timeTest:
		l.First, l.Last = p.first, p.last
	case rowTest:
		if times, ok := t.times[p]; ok {
			l.First, l.Last = times[0], times[1]
		}
	case junction:
		for i, part := range p.parts {
			switch of := t.limits(part); {
			case i == 0:
				l = of
			case p.or:
				l.Deepest = max(l.Deepest, of.Deepest)
				l.First, l.Last = min(l.First, of.First), max(l.Last, of.Last)
			default:
				l.Deepest = min(l.Deepest, of.Deepest)
				l.First, l.Last = max(l.First, of.First), min(l.Last, of.Last)
			}
		}
	}
	return l
}

// Test sets pass to 1 for the calls that pass, and to 0 for others.
func (t *CallTest) Test(c *CallsOf, pass []uint8) { t.test(c, pass[:len(c.Calls)]) }

// TestOpen is Test of calls that no leave has closed, whose anomaly is c.Open whether they have
// a duration or not.
func (t *CallTest) TestOpen(c *CallsOf, pass []uint8) {
	of := *c
	of.all = true
	t.Test(&of, pass)
}

// of returns nil where a predicate asks for more than calls tell.
func (t *CallTest) of(p Predicate) callTester {
	switch p := p.(type) {
	case junction:
		return t.junction(p)
	case negation:
		test := t.of(p.p)
		if test == nil {
			return nil
		}
		return func(c *CallsOf, pass []uint8) {
			test(c, pass)
			for i := range pass {
				pass[i] ^= 1
			}
		}
	case addressTest:
		set, table := p.set, p.set.table()
		return func(c *CallsOf, pass []uint8) {
			for i := range pass {
				if id := c.Calls[i].ID; int(id) < len(table) {
					pass[i] = table[id]
				} else {
					pass[i] = set.in(table, id)
				}
			}
		}
	case threadTest:
		return func(c *CallsOf, pass []uint8) { setAll(pass, p.slots.Has(c.Owner)) }
	case kindTest:
		return func(_ *CallsOf, pass []uint8) { setAll(pass, p.kinds>>parser.Enter&1 != 0) }
	case durationTest:
		return p.ofCalls()
	case selfTest:
		return p.ofCalls()
	case depthTest:
		return testRange(int64(p.least), int64(p.most), func(c []parser.Call, least int64, width uint64, pass []uint8) {
			for i := range pass {
				pass[i] = inRange(int64(c[i].Depth), least, width)
			}
		})
	case timeTest:
		return testRange(p.first, p.last, func(c []parser.Call, least int64, width uint64, pass []uint8) {
			for i := range pass {
				pass[i] = inRange(c[i].Enter, least, width)
			}
		})
	case anomalyTest:
		return func(c *CallsOf, pass []uint8) {
			none, open := uint8(p.anomalies>>calls.None&1), uint8(p.anomalies>>c.Open&1)
			for i := range pass {
				if pass[i] = none; c.all || c.Calls[i].Duration == calls.NoDuration {
					pass[i] = open
				}
			}
		}
	case rowTest:
		return t.rows(p)
	case callTest:
		if p, ok := p.rows(t.src); ok {
			return t.of(p)
		}
	case withinTest:
		if len(t.sets) == maxMarks {
			return nil
		}
		bit := len(t.sets)
		t.sets = append(t.sets, p.set)
		return func(c *CallsOf, pass []uint8) {
			for i := range pass {
				pass[i] = c.Calls[i].Marks >> bit & 1
			}
		}
	}
	return nil
}

func (t *CallTest) junction(j junction) callTester {
	switch len(j.parts) {
	case 0:
		return func(_ *CallsOf, pass []uint8) { setAll(pass, !j.or) }
	case 1:
		return t.of(j.parts[0])
	}
	var parts []callTester
	for _, p := range j.parts {
		test := t.of(p)
		if test == nil {
			return nil
		}
		parts = append(parts, test)
	}
	return func(c *CallsOf, pass []uint8) {
		var memory [CallBatch]uint8
		got := memory[:]
		if len(pass) > len(got) {
			got = make([]uint8, len(pass))
		}
		got = got[:len(pass)]
		parts[0](c, pass)
		for _, test := range parts[1:] {
			test(c, got)
			if j.or {
				unite(pass, got)
			} else if !intersect(pass, got) {
				return // what is asked for is in hardly any batch
			}
		}
	}
}

// intersect leaves 1 where both have it, and reports whether there is one.
func intersect(pass, with []uint8) bool {
	left := uint64(0)
	for len(pass) >= 8 && len(with) >= 8 {
		b := binary.LittleEndian.Uint64(pass) & binary.LittleEndian.Uint64(with)
		binary.LittleEndian.PutUint64(pass, b)
		left |= b
		pass, with = pass[8:], with[8:]
	}
	for i := range pass {
		pass[i] &= with[i]
		left |= uint64(pass[i])
	}
	return left != 0
}

// unite makes 1 of what either has as such.
func unite(pass, with []uint8) {
	for len(pass) >= 8 && len(with) >= 8 {
		binary.LittleEndian.PutUint64(pass, binary.LittleEndian.Uint64(pass)|binary.LittleEndian.Uint64(with))
		pass, with = pass[8:], with[8:]
	}
	for i := range pass {
		pass[i] |= with[i]
	}
}

// testRange makes a test of a range of values of one that is told the least and how many more
// there are.
func testRange(least, most int64, test func(c []parser.Call, least int64, width uint64, pass []uint8)) callTester {
	if least > most {
		return func(_ *CallsOf, pass []uint8) { clear(pass) }
	}
	width := uint64(most) - uint64(least)
	return func(c *CallsOf, pass []uint8) { test(c.Calls[:len(pass)], least, width, pass) }
}

// inRange returns 1 for values from least on, width more at most, and 0 for others.
func inRange(v, least int64, width uint64) uint8 {
	_, outside := bits.Sub64(width, uint64(v)-uint64(least), 0)
	return uint8(1 - outside)
}

// CallBatch is how many calls are tested at a time, most often.
const CallBatch = 512

func setAll(pass []uint8, to bool) {
	b := uint8(0)
	if to {
		b = 1
	}
	for i := range pass {
		pass[i] = b
	}
}
