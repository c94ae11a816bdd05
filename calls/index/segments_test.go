package index

import (
	"math/rand/v2"
	"testing"

	"logparser/calls"
	"logparser/calls/internal/sizes"
	"logparser/internal/testlog"
	"logparser/parser"
)

// segmentedIndex makes an index of a log whose segments have totals of at most so many bytes for 256 rows.
func segmentedIndex(t *testing.T, bytes int64) *Index {
	t.Helper()
	smallBlocks(t, 64)
	smallSegments(t, 2)
	sizes.TotalsBytes = bytes
	g := &testlog.Program{Rand: rand.New(rand.NewPCG(1, 1)), Threads: 3, Functions: 4, Enters: 50}
	log := &testlog.Memory{Events: g.Events(64*100 + 10)}
	log.Runs = []parser.Run{{Count: int64(len(log.Events))}}
	x, err := Build(t.Context(), log, log.Runs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestSegments says of which rows segments have totals: of all whole blocks, unless the totals are too large.
func TestSegments(t *testing.T) {
	end := int64(0)
	for _, s := range segmentedIndex(t, 1<<30).Segments() {
		if s.First != end {
			t.Errorf("a segment begins with row %d, want %d", s.First, end)
		}
		end = s.End
	}
	if end != 64*100 {
		t.Errorf("the segments end with row %d, want %d", end, 64*100)
	}
	if list := segmentedIndex(t, 1).Segments(); len(list) > 0 {
		t.Errorf("%d segments have totals that are too large", len(list))
	}
}

// TestBrokenTotals has totals that are no longer what they were.
func TestBrokenTotals(t *testing.T) {
	x := segmentedIndex(t, 1<<30)
	c := x.core.Load()
	s := x.Segments()[1]
	from := int(c.segments.at(0).text)
	ask := func() bool {
		_, ok := x.SegmentTotals(s, func(uint32, *calls.Total) {})
		return ok
	}
	if !ask() {
		t.Fatal("there are no totals")
	}
	for _, v := range []byte{0x7f, 0xff} { // an address that there is not, a number without an end
		before := *c.segmentText.at(from)
		*c.segmentText.at(from) = v
		if ask() {
			t.Errorf("totals that begin with %#x are taken", v)
		}
		*c.segmentText.at(from) = before
	}
	c.segments.at(1).text--
	if ask() {
		t.Error("totals that have lost a byte are taken")
	}
}
