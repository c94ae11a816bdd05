package profile

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/internal/logtest"
	"logparser/internal/testlog"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
)

// A plainPart is the part of a call that lies in a span.
type plainPart struct {
	call     *oracle.Call
	from, to int64
	self     int64
	in       bool
	running  bool
}

// plainParts cuts the calls of a log to a span.
func plainParts(src *oracle.Log, p Span) map[*oracle.Call]*plainPart {
	parts := map[*oracle.Call]*plainPart{}
	open := p.From // what ends at that time, without anything in the span, is not in it
	if p.ToRow > 0 {
		open = math.MinInt64
		p.From, p.To = max(p.From, src.Rows[p.FromRow].Time), min(p.To, src.Rows[p.ToRow-1].Time)
	}
	for _, c := range src.Calls {
		if c.Found < p.FirstRow || c.Found >= p.EndRow {
			continue
		}
		begin := c.Time
		if c.Enter < 0 {
			begin = src.Rows[c.Found].Time
		}
		end, running := begin, false
		switch {
		case c.Leave >= 0:
			end = max(src.Rows[c.Leave].Time, begin)
		case c.Duration != calls.NoDuration:
			// It is open at the end, or its thread ended.
			end, running = begin+c.Duration, c.Anomaly == calls.Open || c.Anomaly == calls.Running
		case c.Until < src.Len() && !c.AtEnd:
			end = src.Rows[c.Until].Time
		default:
			end = p.To
		}
		part := &plainPart{call: c, from: max(begin, p.From), to: min(end, p.To), running: running && end < p.To}
		if part.in = begin < p.To && (end > p.From || begin >= p.From); p.ToRow > 0 {
			first, last := c.Found, src.Len()
			if c.Leave >= 0 {
				last = c.Leave
			} else if c.Until < src.Len() && !c.AtEnd {
				last = c.Until
			}
			part.in = first < p.ToRow && last >= p.FromRow && end >= p.From && !(end == open && begin < end)
			part.running = running && (end < p.To || end == p.To && p.ToRow >= p.EndRow)
		}
		part.to = max(part.to, part.from)
		part.self = part.to - part.from
		parts[c] = part
	}
	for _, part := range parts {
		if caller := parts[part.call.Caller]; caller != nil && part.in {
			caller.self -= part.to - part.from
		}
	}
	return parts
}

// steady reports whether no clock steps back and no record is damaged, so that times tell
// what is in a span.
func steady(src *oracle.Log, first, end int64) bool {
	for row := first; row < end; row++ {
		if src.Rows[row].Kind == parser.Damaged || row > first && src.Rows[row].Time < src.Rows[row-1].Time {
			return false
		}
	}
	return true
}

// randomSpan takes a run of a log and a part of its time.
func randomSpan(r *rand.Rand, src *oracle.Log) Span {
	row := r.Int64N(src.Len())
	run := src.Rows[row].Run
	p := Span{FirstRow: row, EndRow: row + 1}
	for p.FirstRow > 0 && src.Rows[p.FirstRow-1].Run == run {
		p.FirstRow--
	}
	for p.EndRow < src.Len() && src.Rows[p.EndRow].Run == run {
		p.EndRow++
	}
	at := func() int64 { return src.Rows[p.FirstRow+r.Int64N(p.EndRow-p.FirstRow)].Time + r.Int64N(3) - 1 }
	p.From, p.To = at(), at()
	if p.From > p.To {
		p.From, p.To = p.To, p.From
	}
	p.To++
	if r.IntN(2) == 0 {
		p.FromRow, p.ToRow = p.FirstRow+r.Int64N(p.EndRow-p.FirstRow), p.FirstRow+1+r.Int64N(p.EndRow-p.FirstRow)
		if p.FromRow >= p.ToRow {
			p.FromRow, p.ToRow = p.ToRow-1, p.FromRow+1
		}
		p.From, p.To = math.MinInt64, math.MaxInt64
	}
	return p
}

// TestClip holds statistics and trees of spans of time against parts of calls that are
// cut one by one.
func TestClip(t *testing.T) {
	tested, reaching, ofRows := 0, 0, 0
	logtest.EachLog(t, 150, 2000, func(t *testing.T, r *rand.Rand, src *oracle.Log, x *index.Index) {
		of, group := randomGroups(r, src)
		p := logtest.Expected{Pass: func(int64) bool { return true }}
		o := ClipOptions{Groups: of, PerThread: r.IntN(2) == 0}
		if r.IntN(2) == 0 {
			p = logtest.RandomPredicate(r, src, 1)
			o.Where = p
		}
		for range 5 {
			span := randomSpan(r, src)
			if !steady(src, span.FirstRow, span.EndRow) {
				continue
			}
			o.Spans, o.Tree = []Span{span}, false
			stats, _, err := Clip(t.Context(), x, o)
			if err != nil {
				t.Fatal(err)
			}
			type key struct{ group, thread uint32 }
			want := map[key]*[8]int64{}
			var all [2]int64 // calls and self time
			for _, part := range plainParts(src, span) {
				c := part.call
				if !part.in || c.Enter < 0 || !p.Pass(c.Enter) || group(c.Number) == NoGroup {
					continue
				}
				tested++
				if c.Time < span.From || span.ToRow > 0 && c.Found < span.FromRow {
					reaching++
				}
				if span.ToRow > 0 {
					ofRows++
				}
				k := key{group(c.Number), AllThreads}
				if o.PerThread {
					k.thread = src.Rows[c.Enter].Slot
				}
				if want[k] == nil {
					want[k] = new([8]int64)
				}
				w, sums := want[k], want[k][1:4]
				if w[0]++; part.running {
					w[4]++
					sums = w[5:8]
				}
				sums[0] += part.to - part.from
				sums[1] += part.self
				if !c.Recursive(group) {
					sums[2] += part.to - part.from
				}
				all[0]++
				all[1] += part.self
			}
			var got, expected []string
			for _, s := range stats {
				u := s.Running
				got = append(got, fmt.Sprint(key{s.Group, s.Thread}, [8]int64{s.Calls, s.Sum, s.Self, s.NonRecursive, u.Calls, u.Sum, u.Self, u.NonRecursive}))
			}
			for k, w := range want {
				expected = append(expected, fmt.Sprint(k, *w))
			}
			sort.Strings(got)
			sort.Strings(expected)
			if !slices.Equal(got, expected) {
				t.Fatalf("%+v: group, thread, calls, sum, self, non-recursive, of those running:\n%v\nwant\n%v", span, got, expected)
			}
			o.Tree = true
			_, tree, err := Clip(t.Context(), x, o)
			if err != nil {
				t.Fatal(err)
			}
			if root := tree.Nodes[0]; root.Calls != all[0] || root.Self != all[1] {
				t.Fatalf("the tree has %d calls and %d ns, want %v", root.Calls, root.Self, all)
			}
		}
	})
	if tested == 0 || reaching == 0 || ofRows == 0 {
		t.Errorf("%d parts, %d of calls that were running before, %d in ranges of rows", tested, reaching, ofRows)
	}
	t.Log(tested, reaching, ofRows)
}

// TestClipAddsUp cuts a log into spans: the parts of all of them are the whole.
func TestClipAddsUp(t *testing.T) {
	logtest.SmallBlocks(t, 16)
	log := &testlog.Memory{}
	program := testlog.Program{Rand: rand.New(rand.NewPCG(5, 6)), Threads: 3, Functions: 6, Enters: 55}
	log.Events = program.Events(3000)
	log.Runs = []parser.Run{{Count: int64(len(log.Events))}}
	_, x := logtest.Indexed(t, log, log.Runs, false)
	first, last := log.Events[0].Time, log.Events[len(log.Events)-1].Time
	sum := func(cuts ...int64) (total, self int64) {
		for i := range len(cuts) - 1 {
			stats, _, err := Clip(t.Context(), x, ClipOptions{Spans: []Span{{EndRow: x.Len(), From: cuts[i], To: cuts[i+1]}}})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range stats {
				total += s.Sum + s.Running.Sum
				self += s.Self + s.Running.Self
			}
		}
		return total, self
	}
	total, self := sum(first, last+1)
	if a, b := sum(first, first+(last-first)/3, first+(last-first)/2, last+1); a != total || b != self || total == 0 {
		t.Errorf("parts come to %d and %d, the whole to %d and %d", a, b, total, self)
	}
}
