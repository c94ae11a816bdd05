package index

import (
	"math/rand/v2"
	"testing"

	"logparser/internal/testlog"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
)

// smallBlocks makes blocks short for a test.
func smallBlocks(t testing.TB, n int64) {
	old := blockLen
	blockLen = n
	t.Cleanup(func() { blockLen = old })
}

// indexed builds the index of a log, and asks the oracle about it.
func indexed(t testing.TB, log parser.Log, runs []parser.Run, live bool) (*oracle.Log, *Index) {
	t.Helper()
	x, err := Build(t.Context(), log, runs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	x.SetLive(live)
	return numbered(t, log, runs, live, x), x
}

// numbered asks the oracle about a log that an index has.
func numbered(t testing.TB, log parser.Log, runs []parser.Run, live bool, x *Index) *oracle.Log {
	t.Helper()
	src, err := oracle.New(log, runs, oracle.Options{Live: live})
	if err != nil {
		t.Fatal(err)
	}
	src.NumberAs(x)
	return src
}

// eachLog calls f with random logs: with what the oracle says of them, and with
// their index.
func eachLog(t *testing.T, count, n int, f func(t *testing.T, r *rand.Rand, src *oracle.Log, tested *Index)) {
	smallBlocks(t, 64)
	for seed := range uint64(count) {
		r := rand.New(rand.NewPCG(seed, 1))
		log, live := testlog.Random(r, 1+r.IntN(n)), r.IntN(2) == 0
		src, x := indexed(t, log, log.Runs, live)
		f(t, r, src, x)
		if t.Failed() {
			t.Fatalf("seed %d, %d rows", seed, src.Len())
		}
	}
}
