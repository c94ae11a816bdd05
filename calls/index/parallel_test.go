package index

import (
	"context"
	"testing"
	"time"

	"logparser/calls/internal/sizes"
	"logparser/internal/testlog"
	"logparser/parser"
)

// TestManyPendingLeaves has each function of a deep stack called again when its call has
// ended, in another segment than that in which the stack grew.
func TestManyPendingLeaves(t *testing.T) {
	n := int(rounds(300_000))
	log := &testlog.Broken{}
	add := func(kind parser.Kind, function, time int) {
		log.Events = append(log.Events, parser.Event{Address: uint64(function), Thread: 7, Time: int64(time), Kind: kind})
	}
	for i := range n {
		add(parser.Enter, i, 0)
	}
	for i := n - 1; i >= 0; i-- {
		at := 10 * (n - i)
		add(parser.Leave, i, at)
		add(parser.Enter, i, at+1)
		add(parser.Leave, i, at+4)
	}
	log.Runs = []parser.Run{{Count: int64(len(log.Events))}}
	var x *Index
	var took [2]time.Duration
	for i, segment := range []int64{4 * int64(n), int64(n)} {
		smallSegments(t, int(segment/sizes.Block))
		begun := time.Now()
		var err error
		if x, err = Build(context.Background(), log, log.Runs, nil, nil); err != nil {
			t.Fatal(err)
		}
		took[i] = time.Since(begun)
	}
	if !testing.Short() && took[1] > 10*took[0] {
		t.Errorf("it took %v, and without segments %v", took[1], took[0])
	}
	for i, total := range x.Totals() {
		first := int64(10 * (n - i))
		if total.Calls != 2 || total.Sum != first+3 || total.NonRecursive != first+3 || total.Min != 3 || total.Max != first {
			t.Fatalf("function %d: %+v", i, total)
		}
	}
}

// TestSegmentRows checks that each worker gets as many segments.
func TestSegmentRows(t *testing.T) {
	shortest := sizes.Block * int64(sizes.SegmentBlocks)
	for _, test := range []struct {
		rows     int64
		workers  int
		segments int64
	}{
		{shortest / 2, 2, 1},
		{2 * shortest, 2, 2},
		{3*shortest + 1, 2, 4},
		{5 * shortest, 8, 5},
		{9 * shortest, 4, 12},
		{44 * shortest, 2, 10},
		{44 * shortest, 16, 48},
		{1000 * shortest, 4, 200},
	} {
		length := segmentRows(test.rows, test.workers)
		segments := (test.rows + length - 1) / length
		if length%sizes.Block != 0 || segments != test.segments {
			t.Errorf("%d rows for %d workers: %d segments of %d rows, want %d", test.rows, test.workers, segments, length, test.segments)
		}
	}
}
