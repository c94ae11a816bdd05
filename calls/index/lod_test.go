package index

import (
	"math"
	"math/rand/v2"
	"testing"

	"logparser/calls"
	"logparser/parser"
)

// plainCalls returns the calls of a log as spans.
func plainCalls(src *tableSource) []Span {
	var list []Span
	for row := range src.Len() {
		e, r := src.events[row], src.rows[row]
		if e.Kind != parser.Enter {
			continue
		}
		s := Span{Start: e.Time, End: e.Time, Enter: row, Address: src.address[row], Thread: src.slot[row], Depth: int32(r.Depth), Count: 1}
		if r.Duration != calls.NoDuration {
			s.End += r.Duration
		}
		s.Open, s.NoLeave = r.Mark == calls.Open || r.Mark == calls.Running, r.Mark == calls.NoLeave
		list = append(list, s)
	}
	return list
}

// TestTimeline looks at random parts of random logs: each call that is wide
// enough must be there by itself, and each other within some span.
func TestTimeline(t *testing.T) {
	defer func(n int) { drawnBlocks = n }(drawnBlocks)
	single, merged, about, named := 0, 0, 0, 0
	eachLog(t, 40, 10000, func(t *testing.T, r *rand.Rand, src *tableSource, tested Source) {
		drawnBlocks = 64 << (6 * r.IntN(2))
		all := plainCalls(src)
		line := NewTimeline(tested)
		first, last := int64(math.MaxInt64), int64(math.MinInt64)
		for _, e := range src.events {
			if e.Kind != parser.Damaged {
				first, last = min(first, e.Time), max(last, e.Time)
			}
		}
		if first > last {
			return
		}
		for range 10 {
			q := SpanQuery{From: first + r.Int64N(last-first+1), Pixels: 1 + r.IntN(200), MaxDepth: int32(r.IntN(15))}
			q.To = q.From + 1 + r.Int64N(max((last-q.From)>>r.IntN(10), 1)+1)
			if r.IntN(4) == 0 {
				q.From, q.To = first, last+1
			}
			switch r.IntN(4) {
			case 0:
				q.Threads = randomSet(r, src.Slots())
			case 1:
				q.Threads = NewSet(0)
				q.Threads.Add(uint32(r.IntN(src.Slots() + 1)))
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
					about++
				case s.Count > 1:
					merged++
				default:
					single++
					if _, ok := exact[s.Enter]; ok {
						t.Fatalf("%+v is there twice", s)
					}
					exact[s.Enter] = s
				}
			}
			for _, s := range spans {
				if (s.About || s.Count > 1) && s.Longest >= 0 {
					named++
					found, broken, inside, longest := false, false, int64(0), int64(0)
					for _, c := range all {
						if c.Thread != s.Thread || c.Depth < s.Depth || c.Depth > s.Deepest {
							continue
						}
						took := c.End - c.Start
						_, alone := exact[c.Enter]
						found = found || c.Address == s.Address && (took == s.Longest || c.Open || c.NoLeave) && c.Start <= s.End+pixel && c.End >= s.Start-pixel
						if c.Depth == s.Depth && c.Start >= s.Start && c.End <= s.End && !alone {
							inside++
							longest = max(longest, took)
							broken = broken || c.Open || c.NoLeave
						}
					}
					// Where the clock steps back, spans overlap; and where calls that
					// were left without a leave end is not known here.
					if !s.About && !broken && inside == s.Count && longest != s.Longest {
						t.Fatalf("%+v is named by a call that is shorter than %d", s, longest)
					}
					if !found {
						t.Fatalf("no call is what %+v is named by", s)
					}
				}
			}
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
			for _, s := range exact {
				if !s.NoLeave && !s.Open {
					t.Fatalf("%+v is no call", s)
				}
			}
		}
	})
	if single == 0 || merged == 0 || about == 0 || named == 0 {
		t.Errorf("%d, %d, %d spans, %d named", single, merged, about, named)
	}
}

func TestRowAtTime(t *testing.T) {
	eachLog(t, 20, 5000, func(t *testing.T, r *rand.Rand, src *tableSource, tested Source) {
		for range 30 {
			at := src.events[r.IntN(len(src.events))].Time + r.Int64N(3) - 1
			got, err := RowAtTime(tested, at)
			if err != nil {
				t.Fatal(err)
			}
			want := int64(0)
			for want < src.Len() && (src.events[want].Time < at || src.events[want].Kind == parser.Damaged) {
				want++
			}
			if got != want {
				t.Fatalf("%d, want %d", got, want)
			}
			row := r.Int64N(src.Len())
			if at, err := TimeOfRow(tested, row); err != nil || at != src.events[row].Time {
				t.Fatalf("time of row %d: %d, %v", row, at, err)
			}
		}
	})
}

func TestLanes(t *testing.T) {
	eachLog(t, 20, 3000, func(t *testing.T, r *rand.Rand, src *tableSource, tested Source) {
		p := randomPredicate(r, src, 1)
		lanes, err := Lanes(t.Context(), tested, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := map[uint32]Lane{}
		for row := range src.Len() {
			e := src.events[row]
			if e.Kind == parser.Damaged || !p.pass(row) {
				continue
			}
			l, ok := want[src.slot[row]]
			if !ok {
				l = Lane{src.slot[row], 0, e.Time, e.Time, 0}
			}
			l.Events++
			l.First, l.Last, l.MaxDepth = min(l.First, e.Time), max(l.Last, e.Time), max(l.MaxDepth, int32(src.rows[row].Depth))
			want[src.slot[row]] = l
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
