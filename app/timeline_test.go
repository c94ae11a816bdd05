package app

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"logparser/internal/testlog/classictest"
	"logparser/rows"
	"logparser/rows/filter"
)

// threeRuns are runs of a program on a machine that was started again between:
// their ticks lie over each other. Some calls of the first two are still open at
// the end.
const threeRuns = `tick 900000
enter t1 0x400100
enter t1 0x400200 +10
leave t1 0x400204 +500
enter t2 0x400300 +5
leave t1 0x400104 +85
run 840000
enter t1 0x400100
enter t1 0x400200 +2000
enter t2 0x400300 +30000
leave t2 0x400304 +1000
run 850000
ours
start 2026-11-21T11:22:33.456
module 0x400000 0x10000 C:\a\a.exe
enter t1 0x400100
enter t1 0x400200 +100
leave t1 0x400204 +300
leave t1 0x400104 +50
`

// openText opens all runs of a log that classictest compiles.
func openText(t *testing.T, text string) *Session {
	t.Helper()
	dir := t.TempDir()
	if _, _, err := classictest.Write(dir, text); err != nil {
		t.Fatal(err)
	}
	return open(t, Inputs{Log: dir, Run: "all", NoRecordedPaths: true})
}

// TestTimelineOfRuns has the calls of each run by its own clock.
func TestTimelineOfRuns(t *testing.T) {
	s := openText(t, threeRuns)
	tl := s.Timeline()
	runs, err := tl.Runs()
	if err != nil {
		t.Fatal(err)
	}
	const ms = int64(time.Millisecond)
	var zero []int64
	want := []TimelineRun{
		{Number: 1, From: 0, To: 600 * ms, Zero: 0, Seam: false, FirstRow: 0, EndRow: 5},
		{Number: 2, From: 612 * ms, To: 33612 * ms, Zero: 612 * ms, Seam: true, FirstRow: 5, EndRow: 9},
		{Number: 3, From: 34284240 * ms / 1000, To: 34734240 * ms / 1000, Zero: 34284240 * ms / 1000, Seam: true, FirstRow: 9, EndRow: 13},
	}
	for i, r := range runs {
		if i == len(runs)-1 && (!r.HasWall || r.Begin.Format(time.DateTime) != "2026-11-21 11:22:33") {
			t.Errorf("the last run begins at %v", r.Begin)
		}
		r.HasWall, r.Begin = false, time.Time{}
		if i >= len(want) || r != want[i] {
			t.Errorf("run %+v", r)
		}
		zero = append(zero, r.Zero)
	}
	if len(runs) != len(want) {
		t.Fatalf("%d runs", len(runs))
	}
	runOf := func(row int64) int {
		return slices.IndexFunc(runs, func(r TimelineRun) bool { return row >= r.FirstRow && row < r.EndRow })
	}
	env := newRowEnv(t, s)
	from, to := tl.Range()
	drawn := 0
	for lane, l := range tl.Lanes() {
		for _, part := range [][2]int64{{from, to + 1}, {0, 600 * ms}, {550 * ms, 700 * ms}, {5000 * ms, 5001 * ms}, {33700 * ms, 34500 * ms}} {
			spans, _, err := tl.Spans(nil, lane, part[0], part[1], 100_000)
			if err != nil {
				t.Fatal(err)
			}
			for i := range env.rows {
				r := &env.rows[i]
				if r.Event != rows.Enter || r.Thread != l.Thread {
					continue
				}
				k := runOf(r.Index)
				begin, end := zero[k]+r.Elapsed, zero[k]+r.Elapsed+r.Duration
				if r.Duration == rows.NoDuration {
					end = runs[k].To
				}
				is := slices.ContainsFunc(spans, func(s Span) bool {
					return s.Row == r.Index && s.From == begin && s.To == end && s.Calls == 1 && s.Open == (r.Note == "open")
				})
				if seen := begin < part[1] && end >= part[0]; is != seen {
					t.Errorf("from %d to %d: %+v is drawn: %t; %+v", part[0], part[1], *r, is, spans)
				} else if seen {
					drawn++
				}
			}
		}
	}
	if drawn < 10 {
		t.Errorf("%d calls are drawn", drawn)
	}
	for _, test := range []struct{ from, to, first, last int64 }{
		{0, 600, 0, 4}, {5, 12, 1, 1}, {600, 612, 4, 5}, {520, 3000, 4, 6}, {0, 40000, 0, 12}, {33500, 34390, 8, 10},
	} {
		if first, last, err := tl.Rows(test.from*ms, test.to*ms); first != test.first || last != test.last || err != nil {
			t.Errorf("from %d to %d lie rows %d to %d, want %d to %d: %v", test.from, test.to, first, last, test.first, test.last, err)
		}
	}
	if _, _, err := tl.Rows(601*ms, 611*ms); err == nil {
		t.Error("rows lie in a seam")
	}
	// A run by itself has its own times.
	alone := open(t, Inputs{Log: s.Inputs().Log, Run: "2", NoRecordedPaths: true}).Timeline()
	if from, to := alone.Range(); from != 0 || to != 33000*ms {
		t.Errorf("the second run goes from %d to %d", from, to)
	}
}

func TestPlaceByWall(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name   string
		begins []time.Duration // of runs of 10 s
		want   []int64         // where they begin, in seconds; nil where that cannot be
	}{
		{"one", []time.Duration{0}, []int64{0}},
		{"hours apart", []time.Duration{0, 2 * time.Hour, 3 * time.Hour}, []int64{0, 7200, 10800}},
		{"one at once after the other", []time.Duration{0, 10 * time.Second}, []int64{0, 10}},
		{"at the same time", []time.Duration{0, 20 * time.Second, 25 * time.Second}, nil},
		{"back", []time.Duration{0, -time.Hour}, nil},
	} {
		var list, without []TimelineRun
		for _, d := range test.begins {
			list = append(list, TimelineRun{From: 0, To: 10e9, Begin: at.Add(d), HasWall: true})
		}
		without = slices.Clone(list)
		without[len(without)-1].HasWall = false
		if placeByWall(without) {
			t.Errorf("%s: placed without a local time", test.name)
		}
		if ok := placeByWall(list); ok != (test.want != nil) {
			t.Errorf("%s: placed %t", test.name, ok)
			continue
		}
		for i, r := range list {
			want := TimelineRun{To: 10e9}
			if test.want != nil {
				want.From = test.want[i] * 1e9
				want.Zero, want.To = want.From, want.From+10e9
			}
			if r.From != want.From || r.To != want.To || r.Zero != want.Zero {
				t.Errorf("%s: run %+v", test.name, r)
			}
		}
	}
}

// TestTimelineLimit holds what spans say of a limit against the rows.
func TestTimelineLimit(t *testing.T) {
	ctx := context.Background()
	merged := 0
	sampleLogs(t, 3000, func(t *testing.T, s *Session) {
		env := newRowEnv(t, s)
		tl := s.Timeline()
		from, to := tl.Range()
		r := rand.New(rand.NewPCG(8, 8))
		expressions := []string{"in:a", "mark:open", "row:10..40", "event:leave", "func:a thread:1 or depth:>2", ""}
		for range rounds(10) {
			expressions = append(expressions, env.expression(r, 1))
		}
		for _, text := range expressions {
			where, err := filter.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if r.IntN(2) == 0 {
				if err := tl.Measure(ctx, nil); err != nil {
					t.Fatal(err)
				}
			}
			if err := tl.Limit(ctx, text, nil); err != nil {
				t.Fatal(err)
			}
			for _, pixels := range []int{20, 5000} {
				for k, lane := range tl.Lanes() {
					spans, finer, err := tl.Spans(nil, k, from, to+1, pixels)
					for finer && err == nil {
						spans, finer, err = tl.Spans(nil, k, from, to+1, pixels)
					}
					if err != nil {
						t.Fatal(err)
					}
					alone, may := map[int64]bool{}, int64(0)
					for _, sp := range spans {
						if !sp.Limited {
							sp.Shown = max(sp.Calls, 1)
						}
						if sp.About && !sp.Limited {
							may = 1 << 40
						}
						if sp.Calls != 1 || sp.About {
							may += sp.Shown
							merged++
							continue
						}
						alone[sp.Row] = true
						if want := sp.Row >= 0 && where.Matches(&env.filled[sp.Row], env); sp.Shown != map[bool]int64{true: 1}[want] {
							t.Errorf("%q: %+v, want %t", text, sp, want)
						}
					}
					for i := range env.rows {
						if row := &env.rows[i]; row.Event == rows.Enter && row.Thread == lane.Thread && !alone[row.Index] && where.Matches(&env.filled[row.Index], env) {
							may--
						}
					}
					if may < 0 {
						t.Errorf("%q: %d calls more are shown than the spans of lane %d say", text, -may, k)
					}
				}
			}
			if t.Failed() {
				return
			}
		}
	})
	if merged == 0 {
		t.Error("no calls are merged")
	}
}

// TestHiddenSpans tells what a limit hides of calls that are drawn as one.
func TestHiddenSpans(t *testing.T) {
	for _, test := range []struct {
		span         Span
		hidden, part bool
	}{
		{Span{Calls: 3}, false, false},
		{Span{Calls: 3, Limited: true, Shown: -1}, true, false}, // not known yet
		{Span{Calls: 3, Limited: true}, true, false},
		{Span{Calls: 3, Limited: true, Shown: 2}, false, true},
		{Span{Calls: 3, Limited: true, Shown: 3}, false, false},
		{Span{Calls: 3, Limited: true, Shown: 3, About: true}, false, true},
	} {
		if s := &test.span; s.Hidden() != test.hidden || s.PartHidden() != test.part {
			t.Errorf("%+v: hidden %t, in part %t", *s, s.Hidden(), s.PartHidden())
		}
	}
}
