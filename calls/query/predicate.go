package query

import (
	"context"
	"slices"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/parser"
)

// A Predicate says which rows pass. It is made by the functions below, of any
// number of parts, and may be used again and by several goroutines at once.
type Predicate interface {
	compile(src *index.Index) matcher
}

// A matcher is a Predicate for one index.
type matcher interface {
	// columns returns what test needs of a block.
	columns(s *index.Summary) index.Columns
	// decide says what a summary of the rows from first on tells.
	decide(s *index.Summary, first int64) verdict
	// test sets the bits of the rows of a block that pass and clears the
	// others. Rows outside candidates may be set or not.
	test(ctx context.Context, k int, b *index.Block, s *index.Summary, candidates, pass []uint64) error
	// cost is 0 for tests of some nanoseconds a row; parts of greater cost
	// are tested after, on fewer rows.
	cost() int
}

// A verdict is what is known about all rows of a block or a group.
type verdict uint8

const (
	maybe verdict = iota
	none
	all
)

func verdictOf(noneOf, allOf bool) verdict {
	switch {
	case noneOf:
		return none
	case allOf:
		return all
	}
	return maybe
}

// And passes the rows that all parts pass, all rows if there are none.
func And(parts ...Predicate) Predicate { return junction{parts: parts} }

// Or passes the rows that at least one part passes.
func Or(parts ...Predicate) Predicate { return junction{or: true, parts: parts} }

// Not passes the rows that p does not pass.
func Not(p Predicate) Predicate { return negation{p} }

// InAddresses passes the rows whose address is in a set; damaged rows have no
// address.
func InAddresses(set *Set) Predicate { return addressTest{set} }

// OnThreads passes the rows of the threads whose slots are in a set, but
// damaged ones, whose thread is not to be believed.
func OnThreads(slots *Set) Predicate { return threadTest{slots} }

// OfKind passes the rows of some kinds.
func OfKind(kinds ...parser.Kind) Predicate {
	var t kindTest
	for _, k := range kinds {
		if k <= parser.Damaged {
			t.kinds |= 1 << k
		}
	}
	return t
}

// AtDepth passes the rows of depth least to most, both included.
func AtDepth(least, most int32) Predicate { return depthTest{least, most} }

// InTime passes the rows with a time of first to last, both included, in
// nanoseconds of the log's clock.
func InTime(first, last int64) Predicate { return timeTest{first, last} }

// InRows passes the rows first to last, both included.
func InRows(first, last int64) Predicate { return rowTest{first, last} }

// WithAnomaly passes the rows that have one of some anomalies, which may be
// [calls.None].
func WithAnomaly(anomalies ...calls.Anomaly) Predicate {
	var t anomalyTest
	for _, m := range anomalies {
		t.anomalies |= 1 << m
	}
	return t
}

// Inside passes the rows that are in a call of one of a set of addresses: its
// enter, its leave and all rows of its thread between, but damaged ones and
// strays, which are in no call. A
// call that was left without a leave ends before the next row of its thread
// that lies no deeper. In the block in which events of the thread are missing,
// calls whose enter is missing do not count.
func Inside(set *Set) Predicate { return withinTest{set: set} }

// InsideCall passes the rows that are in the call that is entered at a row: its
// enter, its leave and all rows of its thread between, but damaged ones and
// strays. It passes nothing if the row is not an enter. A call that is open when the
// predicate is used is taken to go on.
func InsideCall(enter int64) Predicate { return callTest{enter} }

// Func passes the rows for which test says so. It is meant for what is slow
// and cannot be said otherwise: test is called with rows of one block that
// have passed everything else, in rising order, and sets pass, which has the
// same length and is all false. Several goroutines may call it at once. An
// error ends the query.
func Func(test func(ctx context.Context, rows []int64, pass []bool) error) Predicate {
	return slowTest{test}
}

// OfBlocks is Func for tests that look at whole blocks, and at rows of some addresses only. What test reads of them it
// takes from src: of b only First and N mean something. It sets the bits of the rows that pass, candidates or not, in pass,
// which is all 0.
func OfBlocks(addresses *Set, test func(ctx context.Context, src *index.Index, b *index.Block, candidates, pass []uint64) error) Predicate {
	return blockTest{addresses, test}
}

// A junction is And or Or.
type junction struct {
	or    bool
	parts []Predicate
}

func (j junction) compile(src *index.Index) matcher {
	c := &compiledJunction{or: j.or}
	for _, p := range j.parts {
		c.parts = append(c.parts, p.compile(src))
	}
	slices.SortStableFunc(c.parts, func(a, b matcher) int { return a.cost() - b.cost() })
	return c
}

type compiledJunction struct {
	or    bool
	parts []matcher
}

func (j *compiledJunction) cost() int {
	n := 0
	for _, p := range j.parts {
		n = max(n, p.cost())
	}
	return n
}

func (j *compiledJunction) columns(s *index.Summary) index.Columns {
	var c index.Columns
	for _, p := range j.parts {
		c |= p.columns(s)
	}
	return c
}

func (j *compiledJunction) decide(s *index.Summary, first int64) verdict {
	// The verdict that decides, and that of parts which are all the other way.
	decisive, neutral := none, all
	if j.or {
		decisive, neutral = all, none
	}
	v := neutral
	for _, p := range j.parts {
		switch p.decide(s, first) {
		case decisive:
			return decisive
		case maybe:
			v = maybe
		}
	}
	return v
}

func (j *compiledJunction) test(ctx context.Context, k int, b *index.Block, s *index.Summary, candidates, pass []uint64) error {
	if len(j.parts) == 1 {
		return j.parts[0].test(ctx, k, b, s, candidates, pass)
	}
	var buf, left [index.BlockLen / 64]uint64
	rest := left[:len(pass)]
	copy(rest, candidates)
	for i := range pass {
		pass[i] = 0
	}
	got := buf[:len(pass)]
	for _, p := range j.parts {
		if err := p.test(ctx, k, b, s, rest, got); err != nil {
			return err
		}
		var any uint64
		for i, g := range got {
			if j.or {
				pass[i] |= g & rest[i]
				rest[i] &^= g
			} else {
				rest[i] &= g
			}
			any |= rest[i]
		}
		if any == 0 {
			break
		}
	}
	if !j.or {
		copy(pass, rest)
	}
	return nil
}

// narrow returns a matcher that is the same for the rows from first on, which
// have the summary, without the parts of which that tells that they change
// nothing: their columns are not read.
func narrow(m matcher, s *index.Summary, first int64) matcher {
	switch m := m.(type) {
	case *compiledJunction:
		neutral := all
		if m.or {
			neutral = none
		}
		n := &compiledJunction{or: m.or}
		for _, p := range m.parts {
			if p.decide(s, first) != neutral {
				n.parts = append(n.parts, narrow(p, s, first))
			}
		}
		return n
	case *compiledNegation:
		return &compiledNegation{narrow(m.matcher, s, first)}
	}
	return m
}

type negation struct{ p Predicate }

func (n negation) compile(src *index.Index) matcher { return &compiledNegation{n.p.compile(src)} }

type compiledNegation struct{ matcher }

func (n *compiledNegation) decide(s *index.Summary, first int64) verdict {
	switch n.matcher.decide(s, first) {
	case none:
		return all
	case all:
		return none
	}
	return maybe
}

func (n *compiledNegation) test(ctx context.Context, k int, b *index.Block, s *index.Summary, candidates, pass []uint64) error {
	err := n.matcher.test(ctx, k, b, s, candidates, pass)
	for i := range pass {
		pass[i] = ^pass[i]
	}
	return err
}
