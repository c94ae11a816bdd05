package index

import (
	"math/rand/v2"
	"slices"
	"testing"

	"logparser/calls"
	"logparser/calls/internal/sizes"
	"logparser/internal/testlog"
	"logparser/internal/testlog/oracle"
)

// TestOpenCalls holds the calls that no leave has closed against the oracle.
func TestOpenCalls(t *testing.T) {
	open := 0
	for seed := range rounds(60) {
		r := rand.New(rand.NewPCG(seed, 4713))
		smallBlocks(t, []int64{1, 3, 16, 64}[r.IntN(4)])
		smallSegments(t, 1+r.IntN(5))
		log := testlog.RandomChaos(r).Log(r, 600, 1+r.IntN(3))
		x, err := Build(t.Context(), log, log.Runs, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		src, err := oracle.New(log, log.Runs, oracle.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var want []*oracle.Call
		var blocks []int64
		for row := range src.Rows {
			c := src.Rows[row].Call
			if c == nil || c.Enter != int64(row) || c.Leave >= 0 || c.Duration == calls.NoDuration {
				continue
			}
			want = append(want, c)
			if first := c.Enter - c.Enter%sizes.Block; !slices.Contains(blocks, first) {
				blocks = append(blocks, first)
			}
		}
		got := x.OpenCalls(nil)
		if len(got.List) != len(want) || !slices.Equal(got.Blocks(), blocks) {
			t.Fatalf("seed %d: %d open calls in blocks %v, want %d in %v", seed, len(got.List), got.Blocks(), len(want), blocks)
		}
		for i, c := range want {
			o := got.List[i]
			at := got.At(&Block{First: c.Enter, Anomaly: []calls.Anomaly{c.Anomaly}}, 0)
			if o.Enter != c.Enter || o.Duration != c.Duration || o.Self != c.Self || o.Anomaly != c.Anomaly || o.Running() != (c.Anomaly != calls.NoLeave) || at != o {
				t.Fatalf("seed %d: open call %+v, at its row %+v, want %+v", seed, o, at, c)
			}
		}
		open += len(want)
	}
	if open == 0 {
		t.Error("no log has an open call")
	}
}
