package profile

import (
	"math/rand/v2"
	"testing"

	"logparser/calls/index"
	"logparser/calls/internal/logtest"
	"logparser/calls/query"
	"logparser/internal/testlog"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
)

// TestSegmentStatistics holds statistics of ranges of rows and times, which segments have totals of, against the oracle.
func TestSegmentStatistics(t *testing.T) {
	defer func(before int64) { rowCost = before }(rowCost)
	rowCost = 1
	asked, used := 0, 0
	check := func(t *testing.T, r *rand.Rand, src *oracle.Log, tested *index.Index) {
		of, group := randomGroups(r, src)
		if r.IntN(3) > 0 { // one address in each, for which alone totals suffice
			of, group = nil, func(address uint32) uint32 { return address }
		}
		n := src.Len()
		first, last := r.Int64N(n/4+1), n-1-r.Int64N(n/4+1)
		p := rangeOf(r, src, first, last)
		if r.IntN(2) == 0 {
			rows, set := p, logtest.RandomSet(r, len(src.Addresses))
			p = logtest.Expected{Predicate: query.And(rows.Predicate, query.InAddresses(set)), Pass: func(row int64) bool {
				return rows.Pass(row) && src.Rows[row].Kind != parser.Damaged && set.Has(src.Rows[row].Number)
			}}
		}
		o := StatisticsOptions{Groups: of, Where: p}
		g := newGroups(tested, of)
		list, ok, err := segmentStatistics(t.Context(), tested, g, &o)
		if err != nil {
			t.Fatal(err)
		}
		if asked++; !ok {
			return
		}
		used++
		checkStatistics(t, list, plainStatistics(src, p, group, false))
	}
	logtest.EachLog(t, 50, 6000, check)
	eachTrace(t, 24, check)
	if used*8 < asked {
		t.Errorf("segments were used for %d of %d", used, asked)
	}
}

// TestStatisticsFromSegments asks for rows that segments have totals of, in a log that cannot be read any more.
func TestStatisticsFromSegments(t *testing.T) {
	logtest.SmallBlocks(t, 64)
	g := &testlog.Program{Rand: rand.New(rand.NewPCG(1, 1)), Threads: 3, Functions: 4, Enters: 50}
	log := &testlog.Failing{Memory: &testlog.Memory{Events: g.Events(64 * 200)}}
	log.Runs = []parser.Run{{Count: int64(len(log.Events))}}
	_, x := logtest.Indexed(t, log, log.Runs, false)
	segments := x.Segments()
	if len(segments) < 3 || segments[0].First != 0 || segments[len(segments)-1].End != x.Len() {
		t.Fatalf("the segments are %v", segments)
	}
	log.Broken = true
	for _, c := range []struct {
		first, last int64
		perThread   bool
		read        bool
	}{
		{segments[1].First, segments[len(segments)-1].End - 1, false, false},
		{segments[1].First - 1, segments[len(segments)-1].End - 1, false, true},
		{segments[1].First, segments[len(segments)-1].End - 1, true, true},
	} {
		_, err := Statistics(t.Context(), x, StatisticsOptions{Where: query.InRows(c.first, c.last), PerThread: c.perThread})
		if read := err != nil; read != c.read {
			t.Errorf("rows %d to %d, by thread %v: the log was read %v, %v", c.first, c.last, c.perThread, read, err)
		}
	}
}
