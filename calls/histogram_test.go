package calls

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// anyDurations returns durations of every size, and those at the ends of buckets.
func anyDurations(r *rand.Rand, n int) []int64 {
	list := []int64{0, 1, 15, 16, 17, 31, 32, 33, math.MaxInt64, math.MaxInt64 - 1}
	for range n {
		list = append(list, int64(r.Uint64()>>(1+r.IntN(63))))
	}
	return list
}

// TestHistogramBuckets has each duration in one bucket, which is no wider than a sixteenth of it; two histograms that are merged are
// that of all durations.
func TestHistogramBuckets(t *testing.T) {
	list := anyDurations(rand.New(rand.NewPCG(1, 2)), 5000)
	var whole Histogram
	halves := [2]Histogram{{}, NewHistogram(3)}
	for i, d := range list {
		whole.Add(d)
		halves[i%2].Add(d)
	}
	buckets := whole.Buckets()
	halves[0].Merge(&halves[1])
	if !slices.Equal(halves[0].Buckets(), buckets) {
		t.Error("two halves are not the whole")
	}
	slices.Sort(list)
	before, rest := int64(0), list
	for _, b := range buckets {
		if b.From < before || b.To <= b.From || b.To-b.From > max(1, b.From/HistogramSteps) {
			t.Errorf("bucket %d to %d behind %d", b.From, b.To, before)
		}
		before = b.To
		n := 0
		for n < len(rest) && (rest[n] < b.To || b.To == math.MaxInt64) {
			n++
		}
		if n == 0 || rest[0] < b.From || uint64(n) != b.Count {
			t.Errorf("bucket %d to %d has %d durations, want %d", b.From, b.To, b.Count, n)
		}
		rest = rest[n:]
	}
	if len(rest) > 0 {
		t.Errorf("in no bucket: %d", rest)
	}
}

// TestHistogramQuantile holds quantiles against sorted durations: they are right to a sixteenth, and never outside all of them.
func TestHistogramQuantile(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 2, 3, 10, 1000} {
		list := anyDurations(r, n)[10:]
		var h Histogram
		for _, d := range list {
			h.Add(d)
		}
		slices.Sort(list)
		least, greatest := list[0], list[n-1]
		for _, q := range []float64{0, 0.001, 0.5, 0.9, 0.95, 0.999, 1} {
			want := list[max(0, int(math.Ceil(q*float64(n)))-1)]
			got := h.Quantile(q, least, greatest)
			if off := max(got-want, want-got); off > want/HistogramSteps || got < least || got > greatest {
				t.Errorf("%g of %d durations: %d, want %d", q, n, got, want)
			}
		}
		if got := h.Quantile(1, least, greatest); got != greatest {
			t.Errorf("the greatest of %d is %d, want %d", n, got, greatest)
		}
	}
	if got := new(Histogram).Quantile(0.5, 1, 2); got != 0 {
		t.Errorf("the middle of nothing is %d", got)
	}
}

// TestAnomalyNames: every anomaly has a name of its own, and what is usual none.
func TestAnomalyNames(t *testing.T) {
	seen := make(map[string]bool)
	for a := Anomaly(0); a <= NoEnter; a++ {
		name := a.String()
		if seen[name] || (name == "") != (a == 0) {
			t.Errorf("anomaly %d is called %q", a, name)
		}
		seen[name] = true
	}
}
