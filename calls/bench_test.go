package calls_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"logparser/calls"
	"logparser/calls/internal/logtest"
	"logparser/calls/profile"
	"logparser/calls/query"
	"logparser/calls/timeline"
	"logparser/parser"
)

func BenchmarkFilter(b *testing.B) {
	x := logtest.OpenBenchmark(b)
	a, t := query.NewSet(0), query.NewSet(0)
	for i := range uint32(x.AddressTable().Len()) {
		if i%3 == 0 {
			a.Add(i)
		}
	}
	few := query.NewSet(0)
	few.Add(uint32(x.AddressTable().Len() / 2))
	t.Add(uint32(min(1, x.Slots()-1)))
	first, err := logtest.TimeOfRow(x, x.Len()/3)
	if err != nil {
		b.Fatal(err)
	}
	for _, test := range []struct {
		name string
		p    query.Predicate
	}{
		{"thread", query.OnThreads(t)},
		{"function", query.InAddresses(few)},
		{"functions", query.InAddresses(a)},
		{"event", query.OfKind(parser.Enter)},
		{"duration", query.WithDuration(1e6, math.MaxInt64)},
		{"depth", query.AtDepth(0, 9)},
		{"time", query.InTime(first, math.MaxInt64)},
		{"mark", query.WithAnomaly(calls.Stray, calls.NoLeave)},
		{"inside", query.Inside(few)},
		{"inside-many", query.Inside(a)},
		{"all-together", query.And(query.InAddresses(a), query.OnThreads(t), query.WithDuration(0, 1e9), query.AtDepth(2, 20), query.Inside(few))},
		{"all-long", query.And(query.InAddresses(a), query.OnThreads(t), query.WithDuration(1, 1e9), query.AtDepth(2, 20), query.Inside(few))},
	} {
		b.Run(test.name, func(b *testing.B) {
			var n int64
			for b.Loop() {
				v := query.NewView(x, test.p)
				if err := v.Run(context.Background(), nil); err != nil {
					b.Fatal(err)
				}
				n = v.Len()
			}
			b.ReportMetric(float64(n), "rows")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(x.Len()), "ns/event")
		})
	}
}

func BenchmarkAnalysis(b *testing.B) {
	x := logtest.OpenBenchmark(b)
	half := query.OfKind(parser.Enter)
	for _, test := range []struct {
		name string
		do   func() error
	}{
		{"statistics-totals", func() error {
			_, err := profile.Statistics(context.Background(), x, profile.StatisticsOptions{})
			return err
		}},
		{"statistics-scan", func() error {
			_, err := profile.Statistics(context.Background(), x, profile.StatisticsOptions{Where: half})
			return err
		}},
		{"tree", func() error {
			_, err := profile.CallTree(context.Background(), x, profile.TreeOptions{})
			return err
		}},
		{"repeats", func() error {
			_, err := query.FindRepeats(context.Background(), x, nil)
			return err
		}},
		{"lanes", func() error {
			_, err := timeline.Lanes(context.Background(), x, nil, nil)
			return err
		}},
	} {
		b.Run(test.name, func(b *testing.B) {
			for b.Loop() {
				if err := test.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTimeline draws all threads at each zoom, in the middle of the log,
// without what was read before.
func BenchmarkTimeline(b *testing.B) {
	x := logtest.OpenBenchmark(b)
	first, err := logtest.TimeOfRow(x, 0)
	if err != nil {
		b.Fatal(err)
	}
	last, err := logtest.TimeOfRow(x, x.Len())
	if err != nil {
		b.Fatal(err)
	}
	for zoom := uint(0); (last-first)>>zoom > 1e6; zoom += 2 {
		b.Run(fmt.Sprint(1<<zoom), func(b *testing.B) {
			width := (last - first) >> zoom
			n := 0
			var spans []timeline.Span
			for b.Loop() {
				spans, _, err = timeline.NewTimeline(x).Spans(spans[:0], timeline.SpanQuery{From: first + (last-first-width)/2, To: first + (last-first+width)/2, Pixels: 1200, MaxDepth: 40})
				if err != nil {
					b.Fatal(err)
				}
				n = len(spans)
			}
			b.ReportMetric(float64(n), "spans")
		})
	}
}
