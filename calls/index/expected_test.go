package index

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"logparser/calls"
	"logparser/calls/internal/sizes"
	"logparser/calls/pairing"
	"logparser/internal/testlog"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
)

// slotStack returns what tells the stack of a slot from others, as stackOf.
func slotStack(x *Index, slot uint32) uint32 {
	if _, stack := x.Stack(slot); stack != 0 {
		return testlog.CoroutineIDs + stack
	}
	return x.ThreadID(slot)
}

// expected is what an index must say of a log.
type expected struct {
	*oracle.Log
	log parser.Log
}

// expect asks the oracle about runs of a log.
func expect(t testing.TB, log parser.Log, runs []parser.Run, o oracle.Options) *expected {
	t.Helper()
	l, err := oracle.New(log, runs, o)
	if err != nil {
		t.Fatal(err)
	}
	return &expected{l, log}
}

// stacks returns the calls that were open before each block, the outermost
// first, by their stacks.
func (p *expected) stacks() []map[uint32][]*oracle.Call {
	list := make([]map[uint32][]*oracle.Call, sizes.Blocks(p.Len()))
	for k := range list {
		list[k] = map[uint32][]*oracle.Call{}
	}
	for _, c := range p.Calls {
		for k := c.Found/sizes.Block + 1; k <= c.Until/sizes.Block; k++ {
			list[k][c.Stack] = append(list[k][c.Stack], c)
		}
	}
	return list
}

// differs says where an index differs from what it should be.
func (p *expected) differs(x *Index) error {
	n := p.Len()
	if x.Len() != n || x.Total() != n || !x.Done() {
		return fmt.Errorf("%d of %d rows, done %t, want %d", x.Len(), x.Total(), x.Done(), n)
	}
	records := make([]calls.Record, n)
	x.Read(records, 0)
	for i := range records {
		if records[i] != p.Rows[i].Record {
			return fmt.Errorf("row %d: %+v, want %+v", i, records[i], p.Rows[i].Record)
		}
	}
	events := make([]parser.Event, n)
	clear(records)
	if got := x.ReadEvents(events, records, 0); got != len(events) {
		return fmt.Errorf("%d events read", got)
	}
	for i := range records {
		if want := &p.Rows[i]; records[i] != want.Record || events[i] != want.Event {
			return fmt.Errorf("row %d is %+v %+v, want %+v %+v", i, events[i], records[i], want.Event, want.Record)
		}
	}
	inside := make([]int64, n)
	x.ReadInside(inside, 0)
	for i := range inside {
		if inside[i] != p.Rows[i].Inside {
			return fmt.Errorf("row %d has %d events inside, want %d", i, inside[i], p.Rows[i].Inside)
		}
	}
	self := make([]int64, n)
	x.ReadSelf(self, 0)
	for i := range self {
		if want := &p.Rows[i]; want.Duration != calls.NoDuration && self[i] != want.Self {
			return fmt.Errorf("row %d has %d ns of its own, want %d", i, self[i], want.Self)
		}
	}
	if got, want := x.Threads(), p.Threads; !slices.Equal(got, want) {
		return fmt.Errorf("threads %v, want %v", got, want)
	}
	if x.NeedsNames() != p.NeedsNames {
		return fmt.Errorf("NeedsNames is %t", x.NeedsNames())
	}
	var anomalies [calls.NoEnter + 1]int64
	for i := range p.Rows {
		anomalies[p.Rows[i].Anomaly]++
	}
	for m := calls.Open; m <= calls.NoEnter; m++ {
		if got, want := x.Count(m), anomalies[m]; got != want {
			return fmt.Errorf("%d rows are %v, want %d", got, m, want)
		}
	}
	a := x.Addresses()
	if a.Len() != len(p.Addresses) {
		return fmt.Errorf("%d addresses, want %d", a.Len(), len(p.Addresses))
	}
	for i, want := range p.Addresses {
		if got := a.At(i); got != want {
			return fmt.Errorf("address %d is %+v, want %+v", i, got, want)
		}
		if k, ok := a.Find(int(want.Run), want.Space, want.Value); !ok || k != i {
			return fmt.Errorf("address %d is found as %d, %t", i, k, ok)
		}
	}
	if err := differsTotals(x.Totals(), p.Totals()); err != nil {
		return err
	}
	segments := x.Segments()
	for i := 0; i < len(segments); i += 1 + len(segments)/8 {
		if s := segments[i]; s.First < n {
			if err := p.differsSegment(x, s); err != nil {
				return fmt.Errorf("segment of the rows %d to %d: %w", s.First, s.End, err)
			}
		}
	}
	noded := map[int64]bool{}
	for i := range x.Nodes() {
		noded[x.Node(uint32(i)).Enter] = true
	}
	blocks := int((n + sizes.Block - 1) / sizes.Block)
	for k := range blocks {
		if err := p.differsBlock(x, k, noded); err != nil {
			return fmt.Errorf("block %d: %w", k, err)
		}
	}
	return p.differsNodes(x)
}

// differsTotals says where totals of addresses differ.
func differsTotals(got, want []calls.Total) error {
	for i := range want {
		got, want := got[i], want[i]
		if !reflect.DeepEqual(got.Histogram.Buckets(), want.Histogram.Buckets()) {
			return fmt.Errorf("address %d has %v, want %v", i, got.Histogram.Buckets(), want.Histogram.Buckets())
		}
		if got.Histogram, want.Histogram = (calls.Histogram{}), (calls.Histogram{}); !reflect.DeepEqual(got, want) {
			return fmt.Errorf("address %d has %+v, want %+v", i, got, want)
		}
	}
	return nil
}

// differsSegment holds the totals of a segment against the calls that are entered in it.
func (p *expected) differsSegment(x *Index, s Segment) error {
	inside := func(row int64) bool { return row >= s.First && row < s.End }
	totals := make([]calls.Total, len(p.Addresses))
	open, ok := x.SegmentTotals(s, func(address uint32, t *calls.Total) { totals[address] = *t })
	if !ok {
		return errors.New("it has none")
	}
	if err := differsTotals(totals, p.TotalsOf(inside, inside)); err != nil {
		return err
	}
	left := map[int64]bool{}
	for i := range open {
		left[open[i].Enter] = true
	}
	for _, c := range p.Calls {
		// Where a run ends with the segment, its calls are open, and one without a leave may have ended with the last row.
		may := inside(c.Enter) && (c.Until >= s.End || c.Until == s.End-1 && c.Leave < 0)
		switch {
		case left[c.Enter] && !may:
			return fmt.Errorf("the call of row %d is left open", c.Enter)
		case !left[c.Enter] && may && c.Until >= s.End:
			return fmt.Errorf("the call of row %d is not left open", c.Enter)
		}
	}
	return nil
}

// differsBlock holds a filled block and its summary against the rows.
func (p *expected) differsBlock(x *Index, k int, noded map[int64]bool) error {
	var b Block
	if err := x.Fill(&b, k, Times|Threads|Addresses|Kinds|Depths|Pairs|Insides|Selves); err != nil {
		return err
	}
	// Depths are found in another way where the pairs are not wanted.
	var depths, owners Block
	if err := x.Fill(&owners, k, Owners|Times); err != nil {
		return err
	}
	if err := x.Fill(&depths, k, Threads|Addresses|Kinds|Depths); err != nil {
		return err
	}
	if !slices.Equal(depths.Thread, b.Thread) || !slices.Equal(depths.Address, b.Address) || !slices.Equal(depths.Kind, b.Kind) || !slices.Equal(depths.Depth, b.Depth) {
		return fmt.Errorf("without pairs the block is %+v", depths)
	}
	first := int64(k) * sizes.Block
	if b.First != first || int64(b.N) != min(sizes.Block, p.Len()-first) {
		return fmt.Errorf("rows %d and %d more", b.First, b.N)
	}
	s := Summary{FirstTime: math.MaxInt64, LastTime: math.MinInt64, Rows: int64(b.N)}
	for i := range b.N {
		row := first + int64(i)
		r := &p.Rows[row]
		e := &r.Event
		if b.Time[i] != e.Time || b.Kind[i] != e.Kind || int(b.Depth[i]) != r.Depth || b.Partner[i] != r.Partner || b.Duration[i] != r.Duration ||
			b.Anomaly[i] != r.Anomaly || b.Inside[i] != r.Inside || b.Self[i] != r.Self {
			return fmt.Errorf("row %d is not %+v %+v with %d inside and self %d but %d %v %d %d %d %v %d %d", row, *e, r.Record, r.Inside, r.Self,
				b.Time[i], b.Kind[i], b.Depth[i], b.Partner[i], b.Duration[i], b.Anomaly[i], b.Inside[i], b.Self[i])
		}
		s.MaxDepth = max(s.MaxDepth, b.Depth[i])
		if r.Partner != calls.NoPartner {
			s.MaxDuration = max(s.MaxDuration, r.Duration)
		}
		if r.Anomaly != calls.Open && r.Anomaly != calls.Running && r.Anomaly != calls.None && !(e.Kind == parser.Enter && r.Call.AtEnd) || r.Anomaly == calls.Open && !r.Call.AtEnd {
			s.Anomalies |= 1 << r.Anomaly
		}
		if t := b.Thread[i]; t == NoThread {
			if e.Kind != parser.Damaged {
				return fmt.Errorf("row %d has no thread", row)
			}
		} else if slotStack(x, t) != testlog.StackOf(p.log, e) {
			return fmt.Errorf("row %d is of thread %d, not %d", row, x.ThreadID(t), e.Thread)
		} else {
			s.Threads |= 1 << (t % 64)
			s.Owners |= 1<<(t%64) | 1<<(owners.Owner[i]%64)
			if x.ThreadID(owners.Owner[i]) != testlog.ThreadOf(p.log, e) {
				return fmt.Errorf("row %d is of thread %d", row, x.ThreadID(owners.Owner[i]))
			}
		}
		if e.Kind != parser.Damaged {
			number, _ := x.AddressTable().Find(r.Run, e.Space, e.Address)
			if int(b.Address[i]) != number {
				return fmt.Errorf("row %d has address %d, not %d", row, b.Address[i], number)
			}
			s.Addresses[number/64%4] |= 1 << (number % 64)
			s.FirstTime, s.LastTime = min(s.FirstTime, e.Time), max(s.LastTime, e.Time)
		}
	}
	got := x.Summary(0, k)
	if got.Threads&s.Threads == s.Threads {
		// A run that ends in the block looks at other threads, too.
		s.Threads, s.Owners = got.Threads, got.Owners
	}
	if got != s {
		return fmt.Errorf("summary %+v, want %+v", got, s)
	}
	// Groups hold what their blocks do.
	for level := 1; level < 6; level++ {
		g := x.Summary(level, k>>(2*level))
		whole := g
		whole.Merge(&s)
		if whole != g {
			return fmt.Errorf("the group of level %d has %+v, and the block %+v", level, g, s)
		}
	}
	return p.differsLongest(x, k, &b, noded)
}

// differsLongest holds the longest calls within a block against the rows.
func (p *expected) differsLongest(x *Index, k int, b *Block, noded map[int64]bool) error {
	first := b.First
	longest := x.Longest(nil, 0, k)
	if len(longest) > len(pairing.Longest{}) {
		return fmt.Errorf("%d longest calls", len(longest))
	}
	var most int64
	for i := range b.N {
		row := first + int64(i)
		if r := &p.Rows[row]; b.Kind[i] == parser.Leave && r.Partner >= first && r.Duration > most && !noded[r.Partner] {
			most = r.Duration
		}
	}
	if most > 0 && (len(longest) == 0 || longest[0].Duration() != most) {
		return fmt.Errorf("longest %v, want %d", longest, most)
	}
	for _, l := range longest {
		r := &p.Rows[l.Enter]
		e := &r.Event
		number, _ := x.AddressTable().Find(r.Run, e.Space, e.Address)
		if r.Partner != l.Leave || r.Depth != int(l.Depth) || e.Time != l.EnterTime || l.Duration() != r.Duration ||
			testlog.StackOf(p.log, e) != slotStack(x, l.Thread) || number != int(l.Address) {
			return fmt.Errorf("long call %+v is not %+v, %+v", l, e, r)
		}
	}
	return nil
}

// differsNodes holds nodes, stacks and levels against the rows.
func (p *expected) differsNodes(x *Index) error {
	var want []*oracle.Call // those that are open at the end of the block of their enter
	for _, c := range p.Calls {
		if c.Found/sizes.Block < c.Until/sizes.Block {
			want = append(want, c)
		}
	}
	level := make([]int, x.Nodes())
	at := make([]int64, x.Nodes())
	for i := range x.Nodes() {
		n := x.Node(uint32(i))
		if n.Parent != NoNode && (n.Parent >= uint32(i) || x.Node(n.Parent).Depth != n.Depth-1) || n.Parent == NoNode && n.Depth != 0 {
			return fmt.Errorf("node %d has parent %d", i, n.Parent)
		}
		level[i] = math.MaxInt
		if n.Enter >= 0 {
			row := &p.Rows[n.Enter]
			r, e := row.Record, row.Event
			leave := n.Leave
			if leave < 0 {
				leave = calls.NoPartner
			}
			anomaly := n.Anomaly
			if anomaly == calls.Tail {
				anomaly = calls.None
			}
			if r.Partner != leave || r.Anomaly != anomaly || r.Depth != int(n.Depth) || n.EnterTime != e.Time || testlog.StackOf(p.log, &e) != slotStack(x, n.Thread) {
				return fmt.Errorf("node %d is %+v, its row %+v, %+v", i, n, r, e)
			}
			if n.Ended != (r.Anomaly == calls.NoLeave && r.Duration != calls.NoDuration) {
				return fmt.Errorf("node %d is %+v, its row %+v", i, n, r)
			}
			if r.Partner != calls.NoPartner {
				if s := max(0, r.Duration-n.Children); s != row.Self || n.LeaveTime != p.Rows[r.Partner].Time {
					return fmt.Errorf("node %d is %+v, but its self time %d", i, n, row.Self)
				}
			}
		}
		in := x.core.Load().nodes.at(i)
		at[i] = in.Enter
		if in.Leave >= 0 {
			level[i] = int(levelOf(in.Enter/sizes.Block, in.Leave/sizes.Block))
		}
		if len(want) > 0 {
			w := want[0]
			if w.Found < in.Enter {
				return fmt.Errorf("node %d is %+v, want %+v", i, n, w)
			}
			if w.Enter == n.Enter && w.Found == in.Enter && w.Number == n.Address && w.Depth == int(n.Depth) {
				want = want[1:]
			}
		}
	}
	if len(want) > 0 {
		return fmt.Errorf("%+v is no node", want[0])
	}
	for k, stacks := range p.stacks() {
		for slot := range x.Slots() {
			stack := stacks[slotStack(x, uint32(slot))]
			i := x.Top(k, uint32(slot))
			for d := len(stack) - 1; d >= 0; d-- {
				if i == NoNode {
					return fmt.Errorf("before block %d the stack of slot %d ends at depth %d of %d", k, slot, d, len(stack))
				}
				if n := x.Node(i); n.Enter != stack[d].Enter || n.Address != stack[d].Number {
					return fmt.Errorf("before block %d slot %d has %+v, want %+v", k, slot, n, stack[d])
				}
				i = x.Node(i).Parent
			}
			if i != NoNode {
				return fmt.Errorf("before block %d the stack of slot %d goes on below %d", k, slot, len(stack))
			}
		}
	}
	n := p.Len()
	r := rand.New(rand.NewPCG(uint64(n), 1))
	for range 10 {
		from := r.Int64N(n + 1)
		to := from + r.Int64N(n+1-from)
		l := r.IntN(4)
		got := x.Level(nil, l, from, to)
		var list []uint32
		if from < to {
			for i := range x.Nodes() {
				in := x.core.Load().nodes.at(i)
				if level[i] >= l && at[i] < to && (in.Leave < 0 || in.Leave >= from) {
					list = append(list, uint32(i))
				}
			}
		}
		if !slices.Equal(got, list) {
			return fmt.Errorf("level %d of rows %d to %d: %v, want %v", l, from, to, got, list)
		}
	}
	return nil
}

// smallBlocks makes blocks short for a test.
func smallBlocks(t testing.TB, n int64) {
	old := sizes.Block
	sizes.Block = n
	t.Cleanup(func() { sizes.Block = old })
}
