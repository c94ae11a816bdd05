package query

import (
	"math/rand/v2"
	"testing"

	"logparser/parser"
)

// TestJunctions holds tests of several parts against each call by itself, of lists of all lengths around
// those that are gone over in pieces.
func TestJunctions(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 70 {
		list := make([]parser.Call, n)
		for i := range list {
			list[i].Duration, list[i].Self, list[i].Depth = r.Int64N(10), r.Int64N(10), r.Int32N(10)
		}
		// Hardly any call passes some of them.
		least := r.Int64N(11)
		parts := []Predicate{durationTest{least, 100}, selfTest{r.Int64N(10), 100}, depthTest{0, int32(r.IntN(10))}}[:r.IntN(4)]
		for _, or := range []bool{false, true} {
			test := (&CallTest{}).of(junction{or, parts})
			got := make([]uint8, n)
			for i := range got {
				got[i] = uint8(r.IntN(2)) // what was there before
			}
			test(&CallsOf{Calls: list}, got)
			for i := range list {
				want := !or
				for _, p := range parts {
					one := make([]uint8, 1)
					(&CallTest{}).of(p)(&CallsOf{Calls: list[i : i+1]}, one)
					if or {
						want = want || one[0] == 1
					} else {
						want = want && one[0] == 1
					}
				}
				if (got[i] == 1) != want {
					t.Fatalf("call %d of %d, or %v, %d parts: %d, want %v", i, n, or, len(parts), got[i], want)
				}
			}
		}
	}
}
