package index

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"

	"logparser/calls"
	"logparser/parser"
)

// A gappyLog is a log in memory in which events may be missing.
type gappyLog struct {
	memoryLog
	open map[int64][]parser.OpenCall
	// outer is how many calls around those of open are not known.
	outer map[int64]int
}

// Ids of strands of coroutines: 1,000,000 + 1,000 times the stack + the thread.
const coroutine = 1_000_000

func (l *gappyLog) HasStacks() bool { return true }

func (l *gappyLog) Strand(id uint32) (thread, stack uint32) {
	if id < coroutine {
		return id, 0
	}
	return (id - coroutine) % 1000, (id - coroutine) / 1000
}

// stackOf returns what tells the stack of an event from others.
func stackOf(log parser.Log, e *parser.Event) uint32 {
	if l, ok := log.(parser.Stacker); ok {
		if _, stack := l.Strand(e.Thread); stack != 0 {
			return coroutine + stack
		}
	}
	return e.Thread
}

// threadOf returns the thread of an event.
func threadOf(log parser.Log, e *parser.Event) uint32 {
	if l, ok := log.(parser.Stacker); ok {
		thread, _ := l.Strand(e.Thread)
		return thread
	}
	return e.Thread
}

// slotStack returns what tells the stack of a slot from others, as stackOf.
func slotStack(x *Index, slot uint32) uint32 {
	if _, stack := x.Stack(slot); stack != 0 {
		return coroutine + stack
	}
	return x.ThreadID(slot)
}

func (l *gappyLog) OpenCalls(record int64) ([]parser.OpenCall, int, error) {
	return l.open[record], l.outer[record], nil
}

// A chaos makes event sequences in which whatever can go wrong does, in
// percent.
type chaos struct {
	threads, functions                int
	enters                            int
	foreign                           bool
	tail, unwind, stray, damage, back int
	epoch, begin, gap                 int
	pause                             int
	// coroutines is how many stacks there are besides the threads', left how likely calls
	// are left without a leave, and the log says so.
	coroutines, left int
}

func randomChaos(r *rand.Rand) chaos {
	pick := func(p ...int) int { return p[r.IntN(len(p))] }
	c := chaos{
		threads: pick(1, 2, 3, 40), functions: pick(1, 3, 20, 2000), enters: pick(45, 48, 50, 55, 90), foreign: pick(0, 1) == 1,
		tail: pick(0, 0, 10), unwind: pick(0, 0, 1, 10), stray: pick(0, 0, 1, 20), damage: pick(0, 0, 5), back: pick(0, 5),
		epoch: pick(0, 0, 1), begin: pick(0, 0, 1), gap: pick(0, 0, 0, 1), pause: pick(0, 1),
		coroutines: pick(0, 0, 1, 5, 50), left: pick(0, 0, 1, 20),
	}
	if c.coroutines > 0 {
		c.damage = 0 // no format has both
	}
	return c
}

// log makes a log of n events. Functions are 256 bytes long from 0x1000 on,
// enters at their byte 5, foreign leaves at byte 9.
func (c chaos) log(r *rand.Rand, n, runs int) *gappyLog {
	chance := func(percent int) bool { return r.IntN(100) < percent }
	type open struct {
		function int
		space    uint16
	}
	l := &gappyLog{open: map[int64][]parser.OpenCall{}, outer: map[int64]int{}}
	l.ended = map[uint32][]int64{}
	stacks := make([][]open, c.threads+c.coroutines)
	on := make([]int, c.threads) // the stack of each thread
	for th := range on {
		on[th] = th
	}
	now := r.Int64N(1 << 40)
	space := uint16(0)
	busy := 0
	for len(l.events) < n {
		if chance(20) {
			busy = r.IntN(c.threads)
		}
		if k := c.threads + r.IntN(max(c.coroutines, 1)); c.coroutines > 0 && chance(10) {
			if on[busy] = busy; !slices.Contains(on, k) && chance(70) {
				on[busy] = k
			}
		}
		th := on[busy]
		gap := parser.NoGap
		if th == busy && chance(c.begin) {
			gap, stacks[th] = parser.ThreadBegins, nil
			if chance(50) {
				l.ended[100+uint32(th)] = append(l.ended[100+uint32(th)], now)
				now += r.Int64N(3) * 1000
			}
		}
		if chance(c.gap) {
			gap = parser.EventsMissing
			s := stacks[th][:r.IntN(len(stacks[th])+1)]
			for range r.IntN(3) {
				s = append(s[:len(s):len(s)], open{r.IntN(c.functions), space})
			}
			stacks[th] = s
			known := s[r.IntN(len(s)+1):]
			var list []parser.OpenCall
			for _, o := range known {
				list = append(list, parser.OpenCall{Address: 0x1005 + 256*uint64(o.function), Space: o.space})
			}
			l.open[int64(len(l.events))], l.outer[int64(len(l.events))] = list, len(s)-len(known)
		}
		s := stacks[th]
		if n := len(s); n > 0 && gap == parser.NoGap && chance(c.left) {
			k := 1 + r.IntN(min(n, 5))
			s, gap = s[:n-k], parser.CallsLeft+parser.Gap(k-1)
			stacks[th] = s
		}
		add := func(kind parser.Kind, f open) {
			a := 0x1005 + 256*uint64(f.function)
			if kind == parser.Leave && c.foreign {
				a += 4
			}
			if now += r.Int64N(3) * 1000; chance(c.pause) {
				now += 1 << r.IntN(40)
			}
			if chance(c.back) {
				now -= 5e3
			}
			id := 100 + uint32(busy)
			if th != busy {
				id += coroutine + 1000*uint32(th-c.threads+1)
			} else if kind == parser.Damaged && c.coroutines == 0 {
				id += uint32(r.IntN(2 * c.threads))
			}
			l.events = append(l.events, parser.Event{Address: a, Time: now, Thread: id, Space: f.space, Kind: kind, Gap: gap})
		}
		if chance(c.epoch) {
			space++
		}
		f := open{r.IntN(c.functions), space}
		switch {
		case chance(c.damage) && gap == parser.NoGap:
			add(parser.Damaged, f)
		case chance(c.stray):
			add(parser.Leave, f)
		case len(s) == 0 && chance(3):
			add(parser.Leave, f)
		case len(s) == 0 || chance(c.enters):
			add(parser.Enter, f)
			stacks[th] = append(s, f)
		case chance(c.unwind) && gap == parser.NoGap:
			stacks[th] = s[:r.IntN(len(s))]
		case chance(c.tail) && len(s) > 1:
			add(parser.Leave, s[len(s)-2])
			stacks[th] = s[:len(s)-1]
		default:
			add(parser.Leave, s[len(s)-1])
			stacks[th] = s[:len(s)-1]
		}
	}
	if runs == 1 && chance(50) {
		l.end = now + r.Int64N(1e6)
		for th := range c.threads {
			if chance(30) {
				l.ended[100+uint32(th)] = append(l.ended[100+uint32(th)], now+r.Int64N(1e6))
			}
		}
	}
	first := 0
	for k := range runs {
		count := len(l.events) - first
		if k < runs-1 {
			count = r.IntN(count + 1)
		}
		l.runs = append(l.runs, parser.Run{First: int64(first), Count: int64(count)})
		first += count
	}
	return l
}

// plainNamer knows all functions of a chaos but every fifth.
func plainNamer(run int, space uint16, address uint64) calls.Function {
	f := calls.Function(address-0x1000)>>8 + calls.Function(run) + calls.Function(space)
	if f%5 == 4 || f > math.MaxUint32/2 {
		return 0
	}
	return f + 1
}

// A plain is what is to be known of a log, computed simply from a table.
type plain struct {
	log     parser.Log
	events  []parser.Event // by row
	run     []int
	table   *calls.Table
	records []calls.Record
	inside  []int64
	self    []int64
	// callers has for an enter the stack below it, in plainCalls.
	totals map[int]*Total
	// stacks has the stacks before each block, by thread id, outermost first.
	stacks []map[uint32][]plainCall
	nodes  []plainCall // by the order in which they are found
	// open has the enters of the calls that are open when the last row has come.
	open map[int64]bool
}

type plainCall struct {
	enter   int64 // -1 where it is missing
	at      int64 // the row at which it was found to be open
	address int
	depth   int
}

// newPlain builds a table and computes the rest of it.
func newPlain(log parser.Log, table *calls.Table, runs []parser.Run, namer calls.Namer, live bool) (*plain, error) {
	p := &plain{log: log, table: table, totals: map[int]*Total{}}
	p.table.CountInside()
	if err := p.table.Build(context.Background(), namer, nil); err != nil {
		return nil, err
	}
	p.table.SetLive(live)
	for k, run := range runs {
		list := make([]parser.Event, run.Count)
		if _, err := log.ReadEvents(list, run.First); err != nil {
			return nil, err
		}
		p.events = append(p.events, list...)
		for range list {
			p.run = append(p.run, k)
		}
	}
	n := len(p.events)
	p.records, p.inside, p.self = make([]calls.Record, n), make([]int64, n), make([]int64, n)
	p.table.Read(p.records, 0)
	p.table.ReadInside(p.inside, 0)
	children := make([]int64, n)
	recursive := make([]bool, n)
	parent := make([]int64, n)
	stacks := map[uint32][]plainCall{}
	number := func(row int, space uint16, address uint64) int {
		i, ok := p.table.Addresses().Find(p.run[row], space, address)
		if !ok {
			panic("an address is not there")
		}
		return i
	}
	for row := range p.events {
		if int64(row)%blockLen == 0 {
			m := map[uint32][]plainCall{}
			for id, s := range stacks {
				if len(s) > 0 {
					m[id] = slices.Clone(s)
				}
				for _, c := range s {
					if c.at >= int64(row)-blockLen {
						p.nodes = append(p.nodes, c)
					}
				}
			}
			if row > 0 && p.run[row] != p.run[row-1] {
				m = map[uint32][]plainCall{}
			}
			p.stacks = append(p.stacks, m)
		}
		if row > 0 && p.run[row] != p.run[row-1] {
			stacks = map[uint32][]plainCall{}
		}
		e, r := &p.events[row], &p.records[row]
		if e.Kind == parser.Damaged {
			continue
		}
		s := stacks[stackOf(log, e)]
		if e.Gap >= parser.CallsLeft {
			s = s[:max(len(s)-int(e.Gap-parser.CallsLeft)-1, 0)]
		} else if e.Gap != parser.NoGap {
			var open []parser.OpenCall
			outer := 0
			if l, ok := log.(parser.Resumer); ok && e.Gap == parser.EventsMissing {
				_, record := p.table.Position(int64(row))
				open, outer, _ = l.OpenCalls(record)
			}
			for len(s) > outer {
				if i := len(s) - 1 - outer; i < len(open) {
					a := p.table.Addresses().At(s[len(s)-1].address)
					if a.Value == open[i].Address && (a.Space^open[i].Space)&1 == 0 {
						break
					}
				}
				s = s[:len(s)-1]
			}
			for i := len(s) - outer; i < len(open); i++ {
				var c parser.OpenCall
				if i >= 0 {
					c = open[i]
				}
				s = append(s, plainCall{-1, int64(row), number(row, c.Space, c.Address), len(s)})
			}
		}
		switch {
		case e.Kind == parser.Enter:
			if r.Depth != len(s) {
				return nil, fmt.Errorf("plain: row %d has depth %d, not %d", row, len(s), r.Depth)
			}
			i := number(row, e.Space, e.Address)
			if p.totals[i] == nil {
				p.totals[i] = &Total{}
			}
			p.totals[i].Calls++
			parent[row] = -1
			if len(s) > 0 {
				parent[row] = s[len(s)-1].enter
			}
			recursive[row] = slices.ContainsFunc(s, func(c plainCall) bool { return c.address == i })
			s = append(s, plainCall{int64(row), int64(row), i, len(s)})
		case r.Mark != calls.Stray:
			s = s[:r.Depth]
			if r.Partner != calls.NoPartner && parent[r.Partner] >= 0 {
				children[parent[r.Partner]] += r.Duration
			}
		}
		stacks[stackOf(log, e)] = s
	}
	p.open = map[int64]bool{}
	for _, s := range stacks {
		for _, c := range s {
			p.open[c.enter] = true
		}
	}
	// An open call has at most one that is open, too.
	callees := map[int64]int64{}
	for row, r := range p.records {
		if r.Partner == calls.NoPartner && r.Duration != calls.NoDuration && parent[row] >= 0 {
			callees[parent[row]] = r.Duration
		}
	}
	for row := range p.events {
		r := &p.records[row]
		p.self[row] = calls.NoDuration
		if r.Partner == calls.NoPartner {
			if r.Duration != calls.NoDuration {
				p.self[row] = max(0, max(0, r.Duration-children[row])-callees[int64(row)])
			}
			continue
		}
		enter := min(int64(row), r.Partner)
		p.self[row] = max(0, r.Duration-children[enter])
		if enter != int64(row) {
			continue
		}
		t := p.totals[number(row, p.events[row].Space, p.events[row].Address)]
		if t.Timed == 0 {
			t.Min = math.MaxInt64
		}
		t.Timed++
		t.Sum += r.Duration
		t.Self += p.self[row]
		if !recursive[row] {
			t.NonRecursive += r.Duration
		}
		t.Min, t.Max = min(t.Min, r.Duration), max(t.Max, r.Duration)
		t.Histogram.Add(r.Duration)
	}
	slices.SortFunc(p.nodes, func(a, b plainCall) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.depth, b.depth))
	})
	return p, nil
}

// differs says where an index differs from what it should be.
func (p *plain) differs(x *Index) error {
	n := int64(len(p.events))
	if x.Len() != n || x.Total() != n || !x.Done() {
		return fmt.Errorf("%d of %d rows, done %t, want %d", x.Len(), x.Total(), x.Done(), n)
	}
	records := make([]calls.Record, n)
	x.Read(records, 0)
	for i := range records {
		if records[i] != p.records[i] {
			return fmt.Errorf("row %d: %+v, want %+v", i, records[i], p.records[i])
		}
	}
	events := make([]parser.Event, n)
	clear(records)
	if got := x.ReadEvents(events, records, 0); got != len(events) {
		return fmt.Errorf("%d events read", got)
	}
	for i := range records {
		if records[i] != p.records[i] || events[i] != p.events[i] {
			return fmt.Errorf("row %d is %+v %+v, want %+v %+v", i, events[i], records[i], p.events[i], p.records[i])
		}
	}
	inside := make([]int64, n)
	x.ReadInside(inside, 0)
	for i := range inside {
		if inside[i] != p.inside[i] {
			return fmt.Errorf("row %d has %d events inside, want %d", i, inside[i], p.inside[i])
		}
	}
	if got, want := x.Threads(), p.table.Threads(); !slices.Equal(got, want) {
		return fmt.Errorf("threads %v, want %v", got, want)
	}
	if x.NeedsNames() != p.table.NeedsNames() {
		return fmt.Errorf("NeedsNames is %t", x.NeedsNames())
	}
	for m := calls.None; m <= calls.NoEnter; m++ {
		if got, want := x.Count(m), p.table.Count(m); got != want {
			return fmt.Errorf("%d rows are %v, want %d", got, m, want)
		}
	}
	a, b := x.Addresses(), p.table.Addresses()
	if a.Len() != b.Len() {
		return fmt.Errorf("%d addresses, want %d", a.Len(), b.Len())
	}
	totals := x.Totals()
	for i := range a.Len() {
		if got, want := a.At(i), b.At(i); got.Value != want.Value || got.Records != want.Records || got.Run != want.Run || got.Space != want.Space {
			return fmt.Errorf("address %d is %+v, want %+v", i, got, want)
		}
		want := p.totals[i]
		if want == nil {
			want = &Total{}
		}
		got, plain := totals[i], *want
		h, w := got.Histogram.Buckets(), plain.Histogram.Buckets()
		got.Histogram, plain.Histogram = Histogram{}, Histogram{}
		if !reflect.DeepEqual(got, plain) || !slices.Equal(h, w) {
			return fmt.Errorf("address %d has %+v with %v, want %+v with %v", i, got, h, plain, w)
		}
	}
	noded := map[int64]bool{}
	for i := range x.Nodes() {
		noded[x.Node(uint32(i)).Enter] = true
	}
	blocks := int((n + blockLen - 1) / blockLen)
	for k := range blocks {
		if err := p.differsBlock(x, k, noded); err != nil {
			return fmt.Errorf("block %d: %w", k, err)
		}
	}
	return p.differsNodes(x)
}

// differsBlock holds a filled block and its summary against the rows.
func (p *plain) differsBlock(x *Index, k int, noded map[int64]bool) error {
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
	first := int64(k) * blockLen
	if b.First != first || int64(b.N) != min(blockLen, int64(len(p.events))-first) {
		return fmt.Errorf("rows %d and %d more", b.First, b.N)
	}
	s := Summary{FirstTime: math.MaxInt64, LastTime: math.MinInt64, Rows: int64(b.N)}
	for i := range b.N {
		row := first + int64(i)
		e, r := &p.events[row], &p.records[row]
		if b.Time[i] != e.Time || b.Kind[i] != e.Kind || int(b.Depth[i]) != r.Depth || b.Partner[i] != r.Partner || b.Duration[i] != r.Duration ||
			b.Mark[i] != r.Mark || b.Inside[i] != p.inside[row] || b.Self[i] != p.self[row] {
			return fmt.Errorf("row %d is not %+v %+v with %d inside and self %d but %d %v %d %d %d %v %d %d", row, *e, *r, p.inside[row], p.self[row],
				b.Time[i], b.Kind[i], b.Depth[i], b.Partner[i], b.Duration[i], b.Mark[i], b.Inside[i], b.Self[i])
		}
		s.MaxDepth = max(s.MaxDepth, b.Depth[i])
		if r.Partner != calls.NoPartner {
			s.MaxDuration = max(s.MaxDuration, r.Duration)
		}
		if r.Mark != calls.Open && r.Mark != calls.Running && r.Mark != calls.None && !p.open[row] || r.Mark == calls.Open && p.run[row] < p.run[len(p.run)-1] {
			s.Marks |= 1 << r.Mark
		}
		if t := b.Thread[i]; t == NoThread {
			if e.Kind != parser.Damaged {
				return fmt.Errorf("row %d has no thread", row)
			}
		} else if slotStack(x, t) != stackOf(p.log, e) {
			return fmt.Errorf("row %d is of thread %d, not %d", row, x.ThreadID(t), e.Thread)
		} else {
			s.Threads |= 1 << (t % 64)
			s.Owners |= 1<<(t%64) | 1<<(owners.Owner[i]%64)
			if x.ThreadID(owners.Owner[i]) != threadOf(p.log, e) {
				return fmt.Errorf("row %d is of thread %d", row, x.ThreadID(owners.Owner[i]))
			}
		}
		if e.Kind != parser.Damaged {
			number, _ := x.AddressTable().Find(p.run[row], e.Space, e.Address)
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
		merge(&whole, &s)
		if whole != g {
			return fmt.Errorf("the group of level %d has %+v, and the block %+v", level, g, s)
		}
	}
	// The longest call within the block is known.
	longest := x.Longest(nil, 0, k)
	if len(longest) > longCount {
		return fmt.Errorf("%d longest calls", len(longest))
	}
	var most int64
	for i := range b.N {
		row := first + int64(i)
		if r := &p.records[row]; b.Kind[i] == parser.Leave && r.Partner >= first && r.Duration > most && !noded[r.Partner] {
			most = r.Duration
		}
	}
	if most > 0 && (len(longest) == 0 || longest[0].duration() != most) {
		return fmt.Errorf("longest %v, want %d", longest, most)
	}
	for _, l := range longest {
		e := &p.events[l.Enter]
		number, _ := x.AddressTable().Find(p.run[l.Enter], e.Space, e.Address)
		if r := p.records[l.Enter]; r.Partner != l.Leave || r.Depth != int(l.Depth) || e.Time != l.EnterTime || l.duration() != r.Duration ||
			stackOf(p.log, e) != slotStack(x, l.Thread) || number != int(l.Address) {
			return fmt.Errorf("long call %+v is not %+v, %+v", l, e, r)
		}
	}
	return nil
}

// differsNodes holds nodes, stacks and levels against the rows.
func (p *plain) differsNodes(x *Index) error {
	want := p.nodes
	level := make([]int, x.Nodes())
	at := make([]int64, x.Nodes())
	for i := range x.Nodes() {
		n := x.Node(uint32(i))
		if n.Parent != NoNode && (n.Parent >= uint32(i) || x.Node(n.Parent).Depth != n.Depth-1) || n.Parent == NoNode && n.Depth != 0 {
			return fmt.Errorf("node %d has parent %d", i, n.Parent)
		}
		level[i] = math.MaxInt
		if n.Enter >= 0 {
			r, e := p.records[n.Enter], p.events[n.Enter]
			leave := n.Leave
			if leave < 0 {
				leave = calls.NoPartner
			}
			mark := n.Mark
			if mark == calls.Tail {
				mark = calls.None
			}
			if r.Partner != leave || r.Mark != mark || r.Depth != int(n.Depth) || n.EnterTime != e.Time || stackOf(p.log, &e) != slotStack(x, n.Thread) {
				return fmt.Errorf("node %d is %+v, its row %+v, %+v", i, n, r, e)
			}
			if n.Ended != (r.Mark == calls.NoLeave && r.Duration != calls.NoDuration) {
				return fmt.Errorf("node %d is %+v, its row %+v", i, n, r)
			}
			if r.Partner != calls.NoPartner {
				if s := max(0, r.Duration-n.Children); s != p.self[n.Enter] || n.LeaveTime != p.events[r.Partner].Time {
					return fmt.Errorf("node %d is %+v, but its self time %d", i, n, p.self[n.Enter])
				}
			}
		}
		in := x.core.Load().nodes.at(i)
		at[i] = in.enter
		if in.leave >= 0 {
			level[i] = int(levelOf(in.enter/blockLen, in.leave/blockLen))
		}
		if len(want) > 0 {
			w := want[0]
			if w.at < in.enter {
				return fmt.Errorf("node %d is %+v, want %+v", i, n, w)
			}
			if w.enter == n.Enter && w.at == in.enter && w.address == int(n.Address) && w.depth == int(n.Depth) {
				want = want[1:]
			}
		}
	}
	if len(want) > 0 {
		return fmt.Errorf("%+v is no node", want[0])
	}
	for k := range p.stacks {
		for slot := range x.Slots() {
			stack := p.stacks[k][slotStack(x, uint32(slot))]
			i := x.Top(k, uint32(slot))
			for d := len(stack) - 1; d >= 0; d-- {
				if i == NoNode {
					return fmt.Errorf("before block %d the stack of slot %d ends at depth %d of %d", k, slot, d, len(stack))
				}
				if n := x.Node(i); n.Enter != stack[d].enter || int(n.Address) != stack[d].address {
					return fmt.Errorf("before block %d slot %d has %+v, want %+v", k, slot, n, stack[d])
				}
				i = x.Node(i).Parent
			}
			if i != NoNode {
				return fmt.Errorf("before block %d the stack of slot %d goes on below %d", k, slot, len(stack))
			}
		}
	}
	n := int64(len(p.events))
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
				if level[i] >= l && at[i] < to && (in.leave < 0 || in.leave >= from) {
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
