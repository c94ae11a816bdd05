package query

import (
	"context"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/parser"
)

// How long calls took: the terms dur: and self: of filters, which app/where.go makes predicates
// of. Whole calls are tested by ofCalls, rows of a block by test; decide answers for a whole
// block where its summary suffices, so that the block is not read. What the terms mean is (*filter.Term).matches of package
// rows/filter.

// WithDuration passes the rows, enters and leaves, that have a duration of
// least to most nanoseconds, both included.
func WithDuration(least, most int64) Predicate { return durationTest{max(least, 0), most} }

type durationTest struct{ least, most int64 }

func (t durationTest) compile(src *index.Index) matcher {
	return &compiledDurationTest{durationTest: t, known: src.Len(), open: src.OpenCalls(nil).Blocks()}
}

// A compiledDurationTest knows the blocks with open calls, whose durations no
// summary has; see compiledAnomalyTest.
type compiledDurationTest struct {
	cheap
	durationTest
	open  []int64
	known int64
}

func (t *compiledDurationTest) columns(*index.Summary) index.Columns { return index.Durations }

// timedAnomalies are those of rows that have a duration.
const timedAnomalies = 1<<calls.None | 1<<calls.Tail

func (t *compiledDurationTest) decide(s *index.Summary, first int64) verdict {
	switch {
	case t.least > t.most:
		return none
	case first+s.Rows > t.known || anyIn(t.open, first, s.Rows):
		return maybe
	}
	short := t.least == 0 && s.MaxDuration <= t.most && s.Anomalies&^timedAnomalies == 0
	return verdictOf(s.MaxDuration < t.least, short && first+s.Rows < t.known)
}

func (t *compiledDurationTest) test(_ context.Context, _ int, b *index.Block, _ *index.Summary, _, pass []uint64) error {
	between(b.Duration[:b.N], pass, t.least, t.most)
	return nil
}

func (t durationTest) ofCalls() callTester {
	return testRange(t.least, t.most, func(c []parser.Call, least int64, width uint64, pass []uint8) {
		for i := range pass {
			pass[i] = inRange(c[i].Duration, least, width)
		}
	})
}

// WithSelf passes the rows of calls of which least to most nanoseconds, both
// included, were not spent in calls that they made. Calls without a duration
// have no such time.
func WithSelf(least, most int64) Predicate { return selfTest{max(least, 0), most} }

type selfTest struct{ least, most int64 }

func (t selfTest) compile(src *index.Index) matcher {
	return &compiledSelfTest{*durationTest(t).compile(src).(*compiledDurationTest)}
}

type compiledSelfTest struct{ compiledDurationTest }

func (t *compiledSelfTest) columns(*index.Summary) index.Columns { return index.Pairs | index.Selves }

// A call's self time is not more than its duration.
func (t *compiledSelfTest) decide(s *index.Summary, first int64) verdict {
	return verdictOf(t.compiledDurationTest.decide(s, first) == none, false)
}

func (t *compiledSelfTest) test(_ context.Context, _ int, b *index.Block, _ *index.Summary, _, pass []uint64) error {
	fill(pass, b.N, func(i int) uint64 {
		return bit(b.Duration[i] != calls.NoDuration && b.Self[i] >= t.least && b.Self[i] <= t.most)
	})
	return nil
}

func (t selfTest) ofCalls() callTester {
	return testRange(t.least, t.most, func(c []parser.Call, least int64, width uint64, pass []uint8) {
		for i := range pass {
			pass[i] = inRange(c[i].Self, least, width)
		}
	})
}
