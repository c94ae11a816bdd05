package timeline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/internal/logtest"
	"logparser/calls/query"
	"logparser/internal/testlog"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
)

// plainCalls returns the calls of a log as spans.
func plainCalls(src *oracle.Log) []Span {
	var list []Span
	for row := range src.Len() {
		e, r := src.Rows[row].Event, src.Rows[row].Record
		if e.Kind != parser.Enter {
			continue
		}
		s := Span{Start: e.Time, End: e.Time, Enter: row, Address: src.Rows[row].Number, Thread: src.Rows[row].Slot, Depth: int32(r.Depth), Count: 1}
		if r.Duration != calls.NoDuration {
			s.End += r.Duration
		}
		s.Open, s.NoLeave = r.Anomaly == calls.Open || r.Anomaly == calls.Running, r.Anomaly == calls.NoLeave
		list = append(list, s)
	}
	return list
}

// TestTimeline looks at random parts of random logs: each call that is wide
// enough must be there by itself, and each other within some span. Some parts are
// of one run only, and with a view calls are told apart by whether they are in it.
func TestTimeline(t *testing.T) {
	defer func(n, m int) { drawnBlocks, sampledBlocks = n, m }(drawnBlocks, sampledBlocks)
	var seen spansSeen
	logtest.EachLog(t, 40, 10000, func(t *testing.T, r *rand.Rand, src *oracle.Log, tested *index.Index) {
		drawnBlocks = 64 << (6 * r.IntN(2))
		sampledBlocks = 4 << (12 * r.IntN(2))
		every := plainCalls(src)
		wanted := logtest.RandomPredicate(r, src, 1)
		view := query.NewView(tested, query.And(wanted, query.OfKind(parser.Enter)))
		if err := view.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		line := NewTimeline(tested)
		first, last := int64(math.MaxInt64), int64(math.MinInt64)
		steady := true // no clock steps back
		for _, e := range src.Rows {
			if e.Kind != parser.Damaged {
				steady = steady && e.Time >= last
				first, last = min(first, e.Time), max(last, e.Time)
			}
		}
		if first > last {
			return
		}
		for range 10 {
			q := randomQuery(r, src, first, last)
			all := every
			if r.IntN(2) == 0 {
				q.FirstRow, q.EndRow = someRun(r, src)
				all = slices.DeleteFunc(slices.Clone(every), func(s Span) bool { return s.Enter < q.FirstRow || s.Enter >= q.EndRow })
				if len(all) < len(every) {
					seen.ofRun++
				}
			}
			if r.IntN(2) == 0 {
				q.Only = view
			}
			spans, finer, err := line.Spans(nil, q)
			for finer && err == nil {
				spans, finer, err = line.Spans(nil, q)
			}
			if err != nil {
				t.Fatal(err)
			}
			pixel := max((q.To-q.From)/int64(q.Pixels), 1)
			exact := map[int64]Span{}
			for i, s := range spans {
				if q.Threads != nil && !q.Threads.Has(s.Thread) || s.Depth > q.MaxDepth || s.Start >= q.To || s.End < q.From || s.Deepest < s.Depth || s.End < s.Start {
					t.Fatalf("%+v was not asked for: %+v", s, q)
				}
				if i > 0 {
					if b := spans[i-1]; b.Thread > s.Thread || b.Thread == s.Thread && (b.Depth > s.Depth || b.Depth == s.Depth && b.Start > s.Start) {
						t.Fatalf("%+v before %+v", b, s)
					}
				}
				switch {
				case s.About:
					seen.about++
				case s.Count > 1:
					seen.merged++
				default:
					seen.single++
					if _, ok := exact[s.Enter]; ok {
						t.Fatalf("%+v is there twice", s)
					}
					exact[s.Enter] = s
				}
			}
			checkNamed(t, spans, all, exact, pixel, steady, &seen)
			checkCalls(t, spans, all, exact, q, pixel)
			if q.Only != nil {
				seen.told += checkShown(t, spans, all, wanted, pixel)
			}
			for _, s := range exact {
				if !s.NoLeave && !s.Open {
					t.Fatalf("%+v is no call", s)
				}
			}
		}
	})
	t.Logf("%+v", seen)
	if seen.single == 0 || seen.merged == 0 || seen.about == 0 || seen.named == 0 || seen.dominant == 0 || seen.sampled == 0 || seen.ofRun == 0 || seen.told == 0 {
		t.Errorf("not all kinds of spans were there: %+v", seen)
	}
}

// spansSeen counts what the random logs of TestTimeline had.
type spansSeen struct{ single, merged, about, named, dominant, sampled, ofRun, told int }

// randomQuery asks for some of the spans between two times.
func randomQuery(r *rand.Rand, src *oracle.Log, first, last int64) SpanQuery {
	q := SpanQuery{From: first + r.Int64N(last-first+1), Pixels: 1 + r.IntN(200), MaxDepth: int32(r.IntN(15))}
	q.To = q.From + 1 + r.Int64N(max((last-q.From)>>r.IntN(10), 1)+1)
	if r.IntN(4) == 0 {
		q.From, q.To = first, last+1
	}
	switch r.IntN(4) {
	case 0:
		q.Threads = logtest.RandomSet(r, len(src.Threads))
	case 1:
		q.Threads = query.NewSet(0)
		q.Threads.Add(uint32(r.IntN(len(src.Threads) + 1)))
	}
	return q
}

// someRun returns the rows of some run.
func someRun(r *rand.Rand, src *oracle.Log) (first, end int64) {
	row := r.Int64N(src.Len())
	run := src.Rows[row].Run
	for first = row; first > 0; first-- {
		if src.Rows[first-1].Run != run {
			break
		}
	}
	for end = row + 1; end < src.Len(); end++ {
		if src.Rows[end].Run != run {
			break
		}
	}
	return first, end
}

// checkNamed holds that merged spans are named by a call that they have, and by that of the function that took
// most of them where that can be known.
func checkNamed(t *testing.T, spans, all []Span, exact map[int64]Span, pixel int64, steady bool, seen *spansSeen) {
	t.Helper()
	for _, s := range spans {
		if s.Count == 1 && !s.About || s.Time < 0 {
			continue
		}
		seen.named++
		found, broken, inside := false, false, int64(0)
		took := map[uint32]int64{}
		for _, c := range all {
			if c.Thread != s.Thread || c.Depth < s.Depth || c.Depth > s.Deepest {
				continue
			}
			_, alone := exact[c.Enter]
			found = found || c.Address == s.Address && c.Start <= s.End+pixel && c.End >= s.Start-pixel
			if c.Depth == s.Depth && c.Start >= s.Start && c.End <= s.End && !alone {
				inside++
				took[c.Address] += c.End - c.Start
			}
			broken = broken || (c.Open || c.NoLeave) && c.Depth == s.Depth && c.Start <= s.End && c.End >= s.Start
		}
		broken = broken || s.About && (!steady || sampledBlocks == 4)
		if !found {
			t.Fatalf("no call is what %+v is named by", s)
		}
		// Where the clock steps back, spans overlap; and where calls that were left
		// without a leave end is not known here. More functions than are kept of each
		// part may be told apart less well.
		if !broken && inside == s.Count && len(took) <= keptWeights {
			seen.dominant++
			if s.About {
				seen.sampled++
			}
			for address, ns := range took {
				if ns > took[s.Address] || address == s.Address && ns != s.Time {
					t.Fatalf("%+v: function %d took %d of it, %d took %d", s, s.Address, took[s.Address], address, ns)
				}
			}
		}
	}
}

// checkCalls holds that each call that was asked for is a span, which it takes out of exact, or is in one.
func checkCalls(t *testing.T, spans, all []Span, exact map[int64]Span, q SpanQuery, pixel int64) {
	t.Helper()
	for _, c := range all {
		if q.Threads != nil && !q.Threads.Has(c.Thread) || c.Depth > q.MaxDepth || c.Start >= q.To || c.End < q.From {
			continue
		}
		s, ok := exact[c.Enter]
		if ok {
			delete(exact, c.Enter)
			if s.Start != c.Start || !c.Open && !c.NoLeave && s.End != c.End || s.Depth != c.Depth || s.Thread != c.Thread || s.Address != c.Address || s.NoLeave != c.NoLeave || s.Open != c.Open {
				t.Fatalf("%+v, want %+v", s, c)
			}
			continue
		}
		if c.Open || c.NoLeave {
			continue
		}
		if c.End-c.Start > 2*pixel {
			t.Fatalf("%+v is missing: pixel %d", c, pixel)
		}
		for _, s := range spans {
			if s.Thread == c.Thread && s.Depth <= c.Depth && c.Depth <= s.Deepest && s.Start <= c.Start+pixel && s.End >= c.End-pixel {
				ok = true
			}
		}
		if !ok {
			t.Fatalf("%+v is nowhere: pixel %d, %+v", c, pixel, q)
		}
	}
}

// checkShown holds what spans say of the calls in a view against the calls, and
// returns how many merged spans it knew all calls of.
func checkShown(t *testing.T, spans, all []Span, wanted logtest.Expected, pixel int64) (told int) {
	t.Helper()
	alone := map[int64]bool{}
	for _, s := range spans {
		if s.Count != 1 || s.About {
			continue
		}
		alone[s.Enter] = true
		if want := s.Enter >= 0 && wanted.Pass(s.Enter); (s.Shown == 1) != want || s.Shown < 0 {
			t.Fatalf("%+v: shown is %t", s, want)
		}
	}
	for _, s := range spans {
		if s.Count == 1 || s.About {
			continue
		}
		var count, shown int64
		for _, c := range all {
			if c.Thread == s.Thread && c.Depth == s.Depth && c.Start >= s.Start && c.End <= s.End && !alone[c.Enter] {
				count++
				if wanted.Pass(c.Enter) {
					shown++
				}
			}
		}
		// Where the clock steps back others lie there, too.
		if count == s.Count {
			told++
			if s.Shown != shown {
				t.Fatalf("%+v: %d are shown", s, shown)
			}
		}
	}
	for _, c := range all {
		if c.Open || c.NoLeave || alone[c.Enter] || !wanted.Pass(c.Enter) {
			continue
		}
		drawn, said := false, false
		for _, s := range spans {
			if s.Count == 1 && !s.About || s.Thread != c.Thread || c.Depth < s.Depth || c.Depth > s.Deepest || c.Start < s.Start || c.End > s.End {
				continue
			}
			drawn, said = true, said || s.Shown > 0
		}
		if drawn && !said {
			t.Fatalf("%+v is in the view, and nothing there says so: pixel %d", c, pixel)
		}
	}
	return told
}

// TestTimeSpan holds the times of parts of logs, and the first rows from a time
// on in them, against the rows.
func TestTimeSpan(t *testing.T) {
	logtest.EachLog(t, 20, 5000, func(t *testing.T, r *rand.Rand, src *oracle.Log, tested *index.Index) {
		for range 20 {
			first := r.Int64N(src.Len())
			end := first + 1 + r.Int64N(src.Len()-first)
			least, greatest := int64(math.MaxInt64), int64(math.MinInt64)
			at := src.Rows[first+r.Int64N(end-first)].Time
			row := end
			for i := first; i < end; i++ {
				if e := src.Rows[i].Event; e.Kind != parser.Damaged {
					least, greatest = min(least, e.Time), max(greatest, e.Time)
					if e.Time >= at {
						row = min(row, i)
					}
				}
			}
			if a, b, err := TimeSpan(tested, first, end); err != nil || a != least || b != greatest {
				t.Fatalf("rows %d to %d take %d to %d, want %d to %d: %v", first, end, a, b, least, greatest, err)
			}
			if got, err := RowAtTime(tested, at, first, end); err != nil || got != row {
				t.Fatalf("row %d is at %d, want %d: %v", got, at, row, err)
			}
		}
	})
}

func TestRowAtTime(t *testing.T) {
	logtest.EachLog(t, 20, 5000, func(t *testing.T, r *rand.Rand, src *oracle.Log, tested *index.Index) {
		for range 30 {
			at := src.Rows[r.IntN(len(src.Rows))].Time + r.Int64N(3) - 1
			got, err := RowAtTime(tested, at, 0, tested.Len())
			if err != nil {
				t.Fatal(err)
			}
			want := int64(0)
			for want < src.Len() && (src.Rows[want].Time < at || src.Rows[want].Kind == parser.Damaged) {
				want++
			}
			if got != want {
				t.Fatalf("%d, want %d", got, want)
			}
		}
	})
}

func TestLanes(t *testing.T) {
	logtest.EachLog(t, 20, 3000, func(t *testing.T, r *rand.Rand, src *oracle.Log, tested *index.Index) {
		p := logtest.RandomPredicate(r, src, 1)
		lanes, err := Lanes(t.Context(), tested, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := map[uint32]Lane{}
		for row := range src.Len() {
			e := src.Rows[row].Event
			if e.Kind == parser.Damaged || !p.Pass(row) {
				continue
			}
			l, ok := want[src.Rows[row].Slot]
			if !ok {
				l = Lane{src.Rows[row].Slot, 0, 0, e.Time, e.Time, 0}
			}
			l.Events++
			if e.Kind == parser.Enter {
				l.Enters++
			}
			l.First, l.Last, l.MaxDepth = min(l.First, e.Time), max(l.Last, e.Time), max(l.MaxDepth, int32(src.Rows[row].Depth))
			want[src.Rows[row].Slot] = l
		}
		if len(lanes) != len(want) {
			t.Fatalf("%d lanes, want %d", len(lanes), len(want))
		}
		for _, l := range lanes {
			if want[l.Thread] != l {
				t.Fatalf("%+v, want %+v", l, want[l.Thread])
			}
		}
	})
}

// BenchmarkTimelineOnly draws as BenchmarkTimeline does, with a view of which the
// calls have to be told apart. It also says how often must be asked until all is
// known.
func BenchmarkTimelineOnly(b *testing.B) {
	x := logtest.OpenBenchmark(b)
	few := query.NewSet(0)
	few.Add(uint32(x.AddressTable().Len() / 2))
	v := query.NewView(x, query.And(query.Inside(few), query.OfKind(parser.Enter)))
	if err := v.Run(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	first, last, err := TimeSpan(x, 0, x.Len())
	if err != nil {
		b.Fatal(err)
	}
	for zoom := uint(0); (last-first)>>zoom > 1e6; zoom += 2 {
		b.Run(fmt.Sprint(1<<zoom), func(b *testing.B) {
			width := (last - first) >> zoom
			q := SpanQuery{From: first + (last-first-width)/2, To: first + (last-first+width)/2, Pixels: 1200, MaxDepth: 40, Only: v}
			var spans []Span
			rounds := 0
			line := NewTimeline(x)
			for finer := true; finer && rounds < 500; rounds++ {
				line.began = time.Time{}
				if spans, finer, err = line.Spans(spans[:0], q); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if spans, _, err = NewTimeline(x).Spans(spans[:0], q); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(spans)), "spans")
			b.ReportMetric(float64(rounds), "rounds")
		})
	}
}

// TestTimelineOfAGrowingRun asks for a run with an older end first.
func TestTimelineOfAGrowingRun(t *testing.T) {
	logtest.SmallBlocks(t, 64)
	log := &testlog.Memory{}
	for i := range int64(20) {
		log.Events = append(log.Events, parser.Event{Address: 0x1000, Time: i * 100, Thread: 1, Kind: parser.Enter},
			parser.Event{Address: 0x1000, Time: i*100 + 50, Thread: 1, Kind: parser.Leave})
	}
	log.Runs = []parser.Run{{Count: 10}, {First: 10, Count: 30}}
	x, err := index.Build(t.Context(), log, log.Runs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	line := NewTimeline(x)
	for _, end := range []int64{20, 40} {
		spans, _, err := line.Spans(nil, SpanQuery{From: 0, To: 4000, Pixels: 4000, MaxDepth: 10, FirstRow: 10, EndRow: end})
		if err != nil || len(spans) != int(end-10)/2 {
			t.Errorf("rows 10 to %d: %d calls, want %d, %v", end, len(spans), (end-10)/2, err)
		}
	}
}

// TestLevelOfManyThreads asks for the nodes of a log in which each event has a
// thread of its own: that must take far less than to build the index.
func TestLevelOfManyThreads(t *testing.T) {
	const n = 200_000
	log := &testlog.Memory{Runs: []parser.Run{{Count: n}}}
	for i := range n {
		log.Events = append(log.Events, parser.Event{Address: 1, Thread: uint32(i), Time: int64(i), Kind: parser.Enter})
	}
	begun := time.Now()
	x, err := index.Build(t.Context(), log, log.Runs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	built := time.Since(begun)
	begun = time.Now()
	for range 4 {
		if list := x.Level(nil, 0, 0, 10); len(list) != 10 {
			t.Fatalf("%d nodes", len(list))
		}
	}
	if took := time.Since(begun); took > built {
		t.Errorf("it took %v, and building %v", took, built)
	}
}
