package app

import (
	"math/rand/v2"
	"testing"

	"logparser/calls/index"
	"logparser/rows"
	"logparser/rows/filter"
)

// TestValueStatistics holds the sums by an argument's value against sums over the rows as they are shown.
func TestValueStatistics(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 9))
	s := open(t, Inputs{Log: traceOf(t, t.TempDir(), valuedTrace(r, 2, index.BlockLen)), NoRecordedPaths: true})
	list := make([]rows.Row, s.Rows().Len())
	if n, err := rows.With(s.Rows(), rows.Values|rows.SelfTimes).Read(list, 0); n != len(list) {
		t.Fatalf("%d rows: %v", n, err)
	}
	for _, word := range []string{"arg.w", "arg.mode", "arg.p.x", "result", "this"} {
		if !IsValueColumn(word) {
			t.Fatalf("%s is no column of values", word)
		}
		stats, err := s.ValueStatistics(t.Context(), Selection{}, word, nil)
		if err != nil {
			t.Fatal(err)
		}
		calls, self, most := int64(0), int64(0), make(map[string]int64)
		for _, f := range stats {
			calls += f.Calls
			self += f.Self
			most[f.Function] = f.Calls
		}
		wantCalls, wantSelf := int64(0), int64(0)
		column := filter.Column(word)
		for i := range list {
			row := &list[i]
			if row.Event != rows.Enter || column.ValueOf(row) == nil {
				continue
			}
			wantCalls++
			if row.Duration != rows.NoDuration && row.Self != rows.NoDuration {
				wantSelf += row.Self
			}
		}
		if calls != wantCalls || self != wantSelf || len(stats) < 2 || len(most) != len(stats) {
			t.Errorf("%s: %d calls of %d, self %d of %d, in %d lines", word, calls, wantCalls, self, wantSelf, len(stats))
		}
	}
	one, err := s.ValueStatistics(t.Context(), Selection{Where: "arg.w:1"}, "arg.w", nil)
	if err != nil || len(one) != 1 || one[0].Function != "app+0x100(w = 1)" {
		t.Errorf("of one value: %+v, %v", one, err)
	}
	plain := open(t, Inputs{Log: traceOf(t, t.TempDir(), "file begin=1000\nchunk process\nclock @1000 ns=1000\nchunk events stream=1 thread=1 base=1000\nwindow w0 entry 0x400000\nenter +1 w0 0x100\nleave +1\n"), NoRecordedPaths: true})
	if _, err := plain.ValueStatistics(t.Context(), Selection{}, "arg.w", nil); err == nil {
		t.Error("a log without values has sums of them")
	}
	if IsValueColumn("func") || IsValueColumn("arg.") {
		t.Error("these are no columns of values")
	}
}
