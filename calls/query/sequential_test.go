package query_test

import (
	"context"
	"math/bits"
	"math/rand/v2"
	"testing"

	"logparser/calls/index"
	"logparser/calls/internal/logtest"
	"logparser/calls/internal/sizes"
	"logparser/calls/query"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
)

// TestPassing asks about single rows, by predicates of the package and by one that looks at blocks
// itself, and how many rows may pass by what is known of blocks.
func TestPassing(t *testing.T) {
	logtest.EachLog(t, 20, 700, func(t *testing.T, r *rand.Rand, src *oracle.Log, tested *index.Index) {
		numbers := query.NewSet(0)
		for i := 1; i < tested.AddressTable().Len(); i += 2 {
			numbers.Add(uint32(i))
		}
		odd := query.OfBlocks(numbers, func(_ context.Context, src *index.Index, of *index.Block, candidates, pass []uint64) error {
			var b index.Block
			if err := src.Fill(&b, int(of.First/sizes.Block), index.Addresses|index.Kinds); err != nil {
				return err
			}
			for w, word := range candidates {
				for ; word != 0; word &= word - 1 {
					i := w*64 + bits.TrailingZeros64(word)
					if b.Kind[i] == parser.Damaged {
						continue // it has no address
					}
					pass[w] |= uint64(b.Address[i]&1) << (i % 64)
				}
			}
			return nil
		})
		for range 6 {
			p := logtest.RandomPredicate(r, src, 2)
			where, wants := p.Predicate, p.Pass
			if r.IntN(2) == 0 {
				where = query.And(where, odd)
				wants = func(row int64) bool {
					return p.Pass(row) && src.Rows[row].Kind != parser.Damaged && src.Rows[row].Number&1 != 0
				}
			}
			passing := int64(0)
			for row := range src.Len() {
				if wants(row) {
					passing++
				}
			}
			if most, least := query.Candidates(tested, where); most < passing || least > passing || most > src.Len() || least < 0 {
				t.Fatalf("%d to %d candidates, %d rows pass", least, most, passing)
			}
			var rows []int64
			for range r.IntN(60) {
				rows = append(rows, r.Int64N(src.Len()))
			}
			asked := append([]int64(nil), rows...)
			got, err := query.Passing(t.Context(), tested, where, rows)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range asked {
				if pass, ok := got[row]; !ok || pass != wants(row) {
					t.Fatalf("row %d passes %t, asked %t, the oracle says %t", row, pass, ok, wants(row))
				}
			}
		}
	})
}
