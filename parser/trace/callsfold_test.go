package trace_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"logparser/internal/testlog/tracetest"
	"logparser/parser"
	"logparser/parser/trace"
)

// A foldNodes has a node for each way of calls, by a hash, and folds some.
type foldNodes struct {
	salt, every uint32
	shallowest  int
}

// Node implements [parser.CallNodes].
func (f foldNodes) Node(depth int, caller int32, id uint32) (node int32, folds bool) {
	if depth == 0 {
		caller = 0
	}
	h := (uint32(caller)*31 + id + f.salt) * 0x9e3779b1
	return int32(h >> 1), depth >= f.shallowest && h>>8%f.every == 0
}

// foldedTest holds calls of which some are summed up against all calls of the same part.
type foldedTest struct {
	*testing.T
	parser.CallFold
	nodes foldNodes
	// open are the ids of the calls that were open when the part began.
	open []uint32
	// folded counts the calls that were summed up, and places those that are known to be the right ones.
	folded, places int
}

// readPart reads the calls of a part, the ids of those that are open at the beginning, and those that are open at the end.
func (f *foldedTest) readPart(r *rand.Rand, reader parser.CallReader, part *parser.CallPart) (list []parser.Call, ended []parser.EndedFrame, open []parser.OpenFrame) {
	f.Helper()
	if !reader.Begin(part) {
		f.Fatal("a part cannot be read")
	}
	frames, _ := reader.Open()
	f.open = f.open[:0]
	for i := range frames {
		f.open = append(f.open, frames[i].ID)
	}
	for {
		calls := make([]parser.Call, 1+r.IntN(600))
		n, end, ok := reader.Next(calls)
		switch {
		case !ok:
			f.Fatal("a part cannot be read to its end")
		case n > 0:
			for _, c := range calls[:n] {
				c.Recursive = c.Recursive && grouped(c.ID)
				list = append(list, c)
			}
		case end != nil:
			ended = append(ended, *end)
		default:
			frames, _ := reader.Open()
			for _, o := range frames {
				o.Number, o.Recursive = 0, o.Recursive && grouped(o.ID) // the number is the reader's own
				open = append(open, o)
			}
			return list, ended, open
		}
	}
}

// counts reports whether a call counts.
func (f *foldedTest) counts(c *parser.Call) bool {
	return c.Depth >= f.Shallowest && (f.All || f.AllInside && c.Marks&f.Marks != 0 || counts(c, f.Marks))
}

// counts reports whether a call counts by its address.
func counts(c *parser.Call, inside uint8) bool {
	counts := describeCall(uint64(c.ID>>1), uint16(c.ID&1)).Counts
	if c.Marks&inside != 0 {
		return counts&parser.CountsInside != 0
	}
	return counts&parser.CountsOutside != 0
}

// sum sums up the last of some calls with those before it that were made in it, and returns how many these are.
func (f *foldedTest) sum(calls []parser.Call) (sum parser.Call, n int) {
	last := len(calls) - 1
	c := &calls[last]
	sum = parser.Call{Enter: c.Enter, ID: c.ID, Depth: c.Depth}
	covered := int32(math.MaxInt32) // of those deeper than this a caller counts
	for i := last; i >= 0 && (i == last || calls[i].Depth > c.Depth && calls[i].Enter >= c.Enter); i-- {
		n++
		if at := calls[i].Enter; at < f.First || at > f.Last {
			f.Fatalf("call %+v is not to be summed up", calls[i])
		}
		if calls[i].Depth <= covered {
			covered = math.MaxInt32
		}
		if !f.counts(&calls[i]) {
			continue
		}
		sum.Folded++
		sum.Self += calls[i].Self
		if covered == math.MaxInt32 {
			sum.Duration += calls[i].Duration
			covered = calls[i].Depth
		}
	}
	sum.OutermostCounts = f.counts(c)
	return sum, n
}

// hold compares calls of which some are summed up with all calls of the part.
func (f *foldedTest) hold(got, want []parser.Call, open []parser.OpenFrame) {
	f.Helper()
	// From the last call on a call comes before those that it made.
	k := len(want)
	for i := len(got) - 1; i >= 0; i-- {
		c := &got[i]
		if c.Folded == 0 {
			for k > 0 && want[k-1] != *c {
				_, n := f.mustFold(want[:k])
				k -= n
			}
			if k == 0 {
				f.Fatalf("call %+v is not among all", *c)
			}
			k--
			continue
		}
		for k > 0 && (want[k-1].Enter != c.Enter || want[k-1].Depth != c.Depth) {
			_, n := f.mustFold(want[:k])
			k -= n
		}
		if k == 0 {
			f.Fatalf("call %+v is not among all", *c)
		}
		sum, n := f.sum(want[:k])
		if sum != *c {
			f.Fatalf("%+v, want %+v, of %d calls", *c, sum, n)
		}
		f.holdPlace(want[k-1:], open)
		f.folded += n
		k -= n
	}
	for k > 0 {
		_, n := f.mustFold(want[:k])
		k -= n
	}
}

// holdPlace says whether the first of some calls is one that is to be folded, by the calls that it was made in. These come after it, are
// open at the end of the part, or were so at its beginning.
func (f *foldedTest) holdPlace(calls []parser.Call, open []parser.OpenFrame) {
	f.Helper()
	ids := make([]uint32, calls[0].Depth+1)
	ids[calls[0].Depth] = calls[0].ID
	next := 1
	for d := calls[0].Depth - 1; d >= 0; d-- {
		for next < len(calls) && calls[next].Depth > d {
			next++
		}
		switch {
		case next < len(calls) && calls[next].Depth == d && calls[next].Enter == calls[0].Enter:
			return // it may have been made before or after
		case next < len(calls) && calls[next].Depth == d && calls[next].Enter < calls[0].Enter:
			ids[d] = calls[next].ID
		case int(d) < len(f.open) && int(d) < len(open) && open[d].ID != f.open[d]:
			return // it may have been made in either
		case int(d) < len(f.open):
			ids[d] = f.open[d]
		default:
			ids[d] = open[d].ID
		}
	}
	node, folds := int32(0), false
	for d, id := range ids {
		node, folds = f.nodes.Node(d, node, id)
	}
	if f.places++; !folds {
		f.Fatalf("call %+v of %v is not one to be folded", calls[0], ids)
	}
}

// mustFold returns the sum of the last of some calls, which was not returned: none of them counts.
func (f *foldedTest) mustFold(calls []parser.Call) (sum parser.Call, n int) {
	f.Helper()
	if sum, n = f.sum(calls); sum.Folded > 0 {
		f.Fatalf("call %+v is missing", calls[len(calls)-1])
	}
	f.folded += n
	return sum, n
}

// TestFold reads the calls of random programs with and without having some of them summed up.
func TestFold(t *testing.T) {
	folded, places, read := 0, 0, 0
	defer trace.SetFoldSample(math.MaxInt)()
	for seed := range uint64(soak(60)) {
		r := rand.New(rand.NewPCG(seed, 17))
		m := &tracetest.Memory{}
		w := tracetest.NewWriter(m)
		p := tracetest.Random(r)
		p.Threads, p.Handler, p.Stray = min(p.Threads, 3), 0, 0
		if seed%3 > 0 {
			// Nearly all records are short ones.
			p.Enters, p.Unwind, p.Pause, p.Full, p.Far = 45+r.IntN(6), 0, r.IntN(2), false, 1+r.IntN(5)
		}
		p.Write(r, w)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		log := open(t, m)
		events, err := readAll(log, 1000)
		if err != nil || len(events) == 0 {
			t.Fatal(err)
		}
		source := log.Calls(int64(len(events)))
		f := &foldedTest{T: t, CallFold: parser.FoldAll(), nodes: foldNodes{salt: r.Uint32(), every: 1 + r.Uint32N(3), shallowest: r.IntN(4)}}
		f.All, f.Marks, f.Nodes = r.IntN(3) == 0, uint8(r.Uint32()&r.Uint32()), f.nodes
		f.AllInside = r.IntN(3) == 0
		if r.IntN(3) == 0 {
			f.Shallowest = r.Int32N(5)
		}
		if r.IntN(3) == 0 {
			f.First = events[r.IntN(len(events))].Time
		}
		if r.IntN(3) == 0 {
			f.Last = events[r.IntN(len(events))].Time
		}
		whole, some := source.Reader(describeCall), source.Reader(describeCall)
		some.Fold(&f.CallFold)
		for i := range source.Parts() {
			part := &source.Parts()[i]
			want, wantEnded, wantOpen := f.readPart(r, whole, part)
			got, ended, open := f.readPart(r, some, part)
			if len(open) != len(wantOpen) || len(ended) != len(wantEnded) {
				t.Fatalf("seed %d: %d calls have ended and %d are open, want %d and %d", seed, len(ended), len(open), len(wantEnded), len(wantOpen))
			}
			for k := range ended {
				if ended[k] != wantEnded[k] {
					t.Fatalf("seed %d: %+v ended, want %+v", seed, ended[k], wantEnded[k])
				}
			}
			for k := range open {
				if open[k] != wantOpen[k] {
					t.Fatalf("seed %d: %+v is open, want %+v", seed, open[k], wantOpen[k])
				}
			}
			f.hold(got, want, open)
			read += len(want)
		}
		folded, places = folded+f.folded, places+f.places
		if t.Failed() {
			t.Fatalf("seed %d, %+v, %+v", seed, f.CallFold, p)
		}
	}
	t.Logf("%d of %d calls were summed up, in %d known places", folded, read, places)
	if folded < read/5 || places < read/100 {
		t.Errorf("%d of %d calls were summed up, in %d known places", folded, read, places)
	}
}
