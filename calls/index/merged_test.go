package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"logparser/calls"
	"logparser/internal/testlog"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
	"logparser/parser/merged"
)

// TestMerged pairs logs of several processes as one: the index says what the oracle does,
// and of each process what is said of its log alone.
func TestMerged(t *testing.T) {
	for seed := range rounds(40) {
		r := rand.New(rand.NewPCG(seed, 9))
		pick := func(p ...int) int { return p[r.IntN(len(p))] }
		smallBlocks(t, int64(pick(1, 3, 16, 64)))
		smallSegments(t, pick(1, 2, 5, 64))
		list := testlog.RandomProcesses(r, 1+r.IntN(4), pick(10, 100, 1000, 4000))
		var sources []merged.Source
		for _, p := range list {
			sources = append(sources, merged.Source{Name: fmt.Sprint(p.ID), Log: p})
		}
		log, err := merged.Open(context.Background(), sources, nil)
		if err != nil {
			t.Fatal(err)
		}
		x := New(log, log.Info().Runs)
		if err := x.Build(context.Background(), nil, nil); err != nil {
			t.Fatal(err)
		}
		whole := expect(t, log, log.Info().Runs, oracle.Options{})
		if err := whole.differs(x); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := apart(log, whole.Log, list); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// apart says where what is known of merged logs differs from what is known of each.
func apart(log *merged.Log, whole *oracle.Log, list []*testlog.Process) error {
	places := make([][]int64, len(list)) // the rows of each log
	for row := range whole.Rows {
		process := log.Thread(whole.Rows[row].Thread).Process
		places[process] = append(places[process], int64(row))
	}
	for i, p := range list {
		alone, err := oracle.New(p, []parser.Run{{Count: int64(len(p.Events))}}, oracle.Options{})
		if err != nil {
			return err
		}
		if len(places[i]) != len(alone.Rows) {
			return fmt.Errorf("%d rows of process %d, want %d", len(places[i]), i, len(alone.Rows))
		}
		for k, row := range places[i] {
			got, want := whole.Rows[row].Record, alone.Rows[k].Record
			if want.Partner != calls.NoPartner {
				want.Partner = places[i][want.Partner]
			}
			if got != want {
				return fmt.Errorf("row %d, which is %d of process %d: %+v, want %+v", row, k, i, got, want)
			}
		}
	}
	return nil
}
