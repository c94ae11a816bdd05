package index

import (
	"cmp"
	"context"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"logparser/calls"
	"logparser/modules"
	"logparser/parser"
	"logparser/timeparse"
)

// A memoryLog is a log of one or more runs that lies in memory.
type memoryLog struct {
	events []parser.Event
	runs   []parser.Run
	exact  bool
	// end is what End says, if it is not 0, and ended the times at which threads did.
	end   int64
	ended map[uint32][]int64
}

func (l *memoryLog) End() (time int64, exact bool) { return l.end, l.end != 0 }

func (l *memoryLog) ThreadEnd(thread uint32, from, to int64) (time int64, ok bool) {
	for _, at := range l.ended[thread] {
		if at >= from && at <= to && (!ok || at > time) {
			time, ok = at, true
		}
	}
	return time, ok
}

func (l *memoryLog) Info() *parser.Info {
	return &parser.Info{Records: int64(len(l.events)), Runs: l.runs}
}

func (l *memoryLog) ReadEvents(dst []parser.Event, from int64) (int, error) {
	n := copy(dst, l.events[min(from, int64(len(l.events))):])
	if n < len(dst) {
		return n, io.EOF
	}
	return n, nil
}

func (l *memoryLog) Modules(int) *modules.Map  { return modules.NewMap(nil) }
func (l *memoryLog) Clock(int) timeparse.Clock { return timeparse.Clock{} }
func (l *memoryLog) Spaces(int) []parser.Space { return make([]parser.Space, 1<<16) }
func (l *memoryLog) ExactLeaves() bool         { return l.exact }
func (l *memoryLog) Truncated() bool           { return false }
func (l *memoryLog) Close() error              { return nil }

// A tableSource is a Source over a calls.Table that keeps everything and
// computes all else from the rows, slowly and simply.
type tableSource struct {
	table *calls.Table
	// addresses is whose numbers are used.
	addresses *calls.Addresses
	rows      []calls.Record
	inside    []int64
	self      []int64
	events    []parser.Event
	address   []uint32
	slot      []uint32
	ids       []uint32
	nodes     []Node
	levels    []int
	// tops has the node on top of each thread's stack before each block.
	tops   []map[uint32]uint32
	caller []int64 // the row of the enter of the caller, or -1
	end    []int64 // of each enter, the row after the call's last
	// inner is the time that each call spent in calls it made that have a leave.
	inner []int64
	// lasts has how long calls last that no leave closes, where that is not up to
	// the last event of their run.
	lasts map[int64]int64
	// logEnd is what the log says of its end.
	logEnd int64
	// totals makes Totals known.
	totals []Total
}

func newTableSource(t testing.TB, log *memoryLog, live bool) *tableSource {
	t.Helper()
	return newNumberedSource(t, log, live, nil)
}

// newNumberedSource numbers threads and addresses as another source does.
func newNumberedSource(t testing.TB, log *memoryLog, live bool, like Source) *tableSource {
	t.Helper()
	table := calls.NewTable(log, log.runs)
	table.CountInside()
	if err := table.Build(context.Background(), nil, nil); err != nil {
		t.Fatal(err)
	}
	table.SetLive(live)
	n := table.Len()
	s := &tableSource{
		table: table, logEnd: log.end, rows: make([]calls.Record, n), inside: make([]int64, n), self: make([]int64, n),
		address: make([]uint32, n), slot: make([]uint32, n), caller: make([]int64, n), end: make([]int64, n), inner: make([]int64, n),
	}
	table.Read(s.rows, 0)
	table.ReadInside(s.inside, 0)
	slots := map[uint32]uint32{}
	s.addresses = table.Addresses()
	if like != nil {
		s.addresses = like.AddressTable()
		for slot := range like.Slots() {
			s.ids = append(s.ids, like.ThreadID(uint32(slot)))
		}
	} else {
		for _, th := range table.Threads() {
			s.ids = append(s.ids, th.ID)
		}
	}
	for slot, id := range s.ids {
		slots[id] = uint32(slot)
	}
	stacks := make([][]int64, len(s.ids))
	run := 0
	for row := range n {
		at, record := table.Position(row)
		if run < at {
			s.makeNodes(stacks)
		}
		for ; run < at; run++ {
			for t := range stacks {
				s.closeAll(&stacks[t], 0, row)
			}
		}
		if row%blockLen == 0 {
			s.checkpoint(stacks)
		}
		e := log.events[record]
		s.events = append(s.events, e)
		slot, ok := slots[e.Thread]
		if !ok {
			slot = NoThread
		}
		s.slot[row] = slot
		s.caller[row] = -1
		s.self[row] = calls.NoDuration
		if e.Kind == parser.Damaged {
			continue
		}
		i, ok := s.addresses.Find(run, e.Space, e.Address)
		if !ok {
			t.Fatalf("row %d: address not found", row)
		}
		s.address[row] = uint32(i)
		stack := &stacks[slot]
		r := s.rows[row]
		switch {
		case e.Kind == parser.Enter:
			if d := len(*stack); d > 0 {
				s.caller[row] = (*stack)[d-1]
			}
			*stack = append(*stack, row)
		case r.Partner >= 0:
			for (*stack)[len(*stack)-1] != r.Partner {
				s.closeAll(stack, len(*stack)-1, row)
			}
			*stack = (*stack)[:len(*stack)-1]
			s.end[r.Partner] = row + 1
			s.caller[row] = s.caller[r.Partner]
		default:
			if d := len(*stack); d > 0 {
				s.caller[row] = (*stack)[d-1]
			}
		}
	}
	s.checkpoint(stacks)
	for t := range stacks {
		s.closeAll(&stacks[t], 0, n)
	}
	for row, r := range s.rows {
		if r.Partner > int64(row) {
			s.self[row] += 1 + r.Duration
			if c := s.caller[row]; c >= 0 {
				s.self[c] -= r.Duration
				s.inner[c] += r.Duration
			}
		}
	}
	for row, r := range s.rows {
		if s.events[row].Kind != parser.Enter {
			continue
		}
		s.self[row] = max(s.self[row], 0)
		if r.Partner < 0 {
			s.self[row] = calls.NoDuration
			if r.Duration != calls.NoDuration {
				s.self[row] = s.own(int64(row), r.Duration)
			}
			continue
		}
		s.self[r.Partner] = s.self[row]
	}
	for i, node := range s.nodes {
		s.nodes[i].Leave = s.rows[node.Enter].Partner
		s.nodes[i].Mark = s.rows[node.Enter].Mark
		if l := s.nodes[i].Leave; l >= 0 {
			s.nodes[i].LeaveTime = s.events[l].Time
		} else if r := s.rows[node.Enter]; r.Duration != calls.NoDuration {
			s.nodes[i].LeaveTime, s.nodes[i].Ended = node.EnterTime+r.Duration, r.Mark == calls.NoLeave
		} else {
			s.nodes[i].LeaveTime = s.endTime(node.Enter)
		}
		s.nodes[i].Children, s.nodes[i].Inside = s.inner[node.Enter], s.insideOf(node.Enter)
		level := -1
		for k := int64(1); node.Enter/blockLen/k != (s.end[node.Enter]-1)/blockLen/k; k *= 4 {
			level++
		}
		s.levels = append(s.levels, max(level, 0))
	}
	return s
}

// endTime returns the time of the last event that is not damaged before the end
// of a call.
func (s *tableSource) endTime(enter int64) int64 {
	row := s.end[enter] - 1
	for s.events[row].Kind == parser.Damaged {
		row--
	}
	if s.end[enter] == s.Len() {
		return max(s.events[row].Time, s.logEnd)
	}
	return s.events[row].Time
}

// insideOf returns the number of events of a call's thread in it.
func (s *tableSource) insideOf(enter int64) int64 {
	if n := s.inside[enter]; n >= 0 {
		return n
	}
	n := int64(0)
	for row := enter + 1; row < s.end[enter]; row++ {
		if s.slot[row] == s.slot[enter] && s.events[row].Kind != parser.Damaged {
			n++
		}
	}
	return n
}

// running reports whether no leave closes the call of an enter, and how long it
// lasts then.
func (s *tableSource) running(enter int64) (duration int64, ok bool) {
	if m := s.rows[enter].Mark; m != calls.Open && m != calls.Running {
		return 0, false
	}
	if d, ok := s.lasts[enter]; ok {
		return d, true
	}
	if d := s.rows[enter].Duration; d != calls.NoDuration {
		return d, true
	}
	return calls.Elapsed(s.events[enter].Time, s.endTime(enter)), true
}

// own returns the time of the call of an enter, which lasts so long, that was
// not spent in calls that it made.
func (s *tableSource) own(enter, duration int64) int64 {
	for row := enter + 1; row < s.end[enter]; row++ {
		if s.caller[row] == enter && s.events[row].Kind == parser.Enter {
			if d, ok := s.running(row); ok {
				duration -= d
			} else if r := s.rows[row]; r.Mark == calls.NoLeave {
				duration -= max(r.Duration, 0)
			}
		}
	}
	return max(0, duration-s.inner[enter])
}

// closeAll ends the calls above depth before a row.
func (s *tableSource) closeAll(stack *[]int64, depth int, row int64) {
	for _, enter := range (*stack)[depth:] {
		s.end[enter] = row
	}
	*stack = (*stack)[:depth]
}

// checkpoint notes the open calls before a block.
func (s *tableSource) checkpoint(stacks [][]int64) {
	tops := map[uint32]uint32{}
	known := s.makeNodes(stacks)
	for t, stack := range stacks {
		if len(stack) > 0 {
			tops[uint32(t)] = known[stack[len(stack)-1]]
		}
	}
	s.tops = append(s.tops, tops)
}

// makeNodes makes nodes of the open calls that have none, and returns the nodes
// of all calls that have one, by their enters.
func (s *tableSource) makeNodes(stacks [][]int64) map[int64]uint32 {
	known := map[int64]uint32{}
	for i, n := range s.nodes {
		known[n.Enter] = uint32(i)
	}
	type open struct {
		enter  int64
		thread int
		depth  int
	}
	var fresh []open
	for t, stack := range stacks {
		for d, enter := range stack {
			if _, ok := known[enter]; !ok {
				fresh = append(fresh, open{enter, t, d})
			}
		}
	}
	slices.SortFunc(fresh, func(a, b open) int { return cmp.Compare(a.enter, b.enter) })
	for _, f := range fresh {
		n := Node{Enter: f.enter, EnterTime: s.events[f.enter].Time, Address: s.address[f.enter], Thread: uint32(f.thread), Parent: NoNode, Depth: int32(f.depth)}
		if f.depth > 0 {
			n.Parent = known[stacks[f.thread][f.depth-1]]
		}
		known[f.enter] = uint32(len(s.nodes))
		s.nodes = append(s.nodes, n)
	}
	return known
}

func (s *tableSource) Len() int64 { return int64(len(s.rows)) }

func (s *tableSource) Fill(b *Block, k int, _ Columns) error {
	first := int64(k) * blockLen
	end := min(first+blockLen, s.Len())
	*b = Block{First: first, N: int(end - first)}
	for row := first; row < end; row++ {
		e, r := s.events[row], s.rows[row]
		b.Time = append(b.Time, e.Time)
		b.Thread = append(b.Thread, s.slot[row])
		b.Owner = append(b.Owner, s.slot[row])
		b.Address = append(b.Address, s.address[row])
		b.Kind = append(b.Kind, e.Kind)
		b.Depth = append(b.Depth, int32(r.Depth))
		b.Partner = append(b.Partner, r.Partner)
		b.Duration = append(b.Duration, r.Duration)
		b.Mark = append(b.Mark, r.Mark)
		b.Inside = append(b.Inside, s.inside[row])
		b.Self = append(b.Self, s.self[row])
	}
	return nil
}

// group returns the rows of a group, the last not included.
func (s *tableSource) group(level, k int) (from, to int64) {
	n := blockLen << (2 * level)
	return int64(k) * n, min(int64(k+1)*n, s.Len())
}

func (s *tableSource) Summary(level, k int) Summary {
	from, to := s.group(level, k)
	sum := Summary{Rows: to - from, FirstTime: math.MaxInt64, LastTime: math.MinInt64, MaxDuration: calls.NoDuration}
	for row := from; row < to; row++ {
		e, r := s.events[row], s.rows[row]
		if e.Kind != parser.Damaged {
			sum.FirstTime, sum.LastTime = min(sum.FirstTime, e.Time), max(sum.LastTime, e.Time)
		}
		if r.Partner >= 0 {
			sum.MaxDuration = max(sum.MaxDuration, r.Duration)
		}
		sum.MaxDepth = max(sum.MaxDepth, int32(r.Depth))
		if r.Mark != calls.Open && r.Mark != calls.Running || s.end[row] < s.Len() {
			sum.Marks |= 1 << r.Mark
		}
		if a := s.address[row]; e.Kind != parser.Damaged {
			sum.Addresses[a/64%4] |= 1 << (a % 64)
		}
		if t := s.slot[row]; t != NoThread {
			sum.Threads |= 1 << (t % 64)
			sum.Owners |= 1 << (t % 64)
		}
	}
	return sum
}

func (s *tableSource) Longest(dst []Long, level, k int) []Long {
	from, to := s.group(level, k)
	var list []Long
	for row := from; row < to; row++ {
		r := s.rows[row]
		if r.Partner < 0 || r.Partner > row || r.Partner < from {
			continue
		}
		list = append(list, Long{
			Enter: r.Partner, Leave: row, EnterTime: s.events[r.Partner].Time, LeaveTime: s.events[row].Time,
			Address: s.address[r.Partner], Thread: s.slot[row], Depth: int32(r.Depth),
		})
	}
	slices.SortStableFunc(list, func(a, b Long) int {
		return cmp.Compare(b.LeaveTime-b.EnterTime, a.LeaveTime-a.EnterTime)
	})
	return append(dst, list[:min(len(list), 4)]...)
}

func (s *tableSource) Nodes() int         { return len(s.nodes) }
func (s *tableSource) Node(i uint32) Node { return s.nodes[i] }

func (s *tableSource) Top(k int, thread uint32) uint32 {
	if n, ok := s.tops[k][thread]; ok {
		return n
	}
	return NoNode
}

func (s *tableSource) Level(dst []uint32, level int, from, to int64) []uint32 {
	for i, n := range s.nodes {
		if s.levels[i] >= level && n.Enter < to && s.end[n.Enter] > from {
			dst = append(dst, uint32(i))
		}
	}
	return dst
}

func (s *tableSource) AddressTable() *calls.Addresses { return s.addresses }
func (s *tableSource) Slots() int                     { return len(s.ids) }
func (s *tableSource) Stack(slot uint32) (home, number uint32) {
	return slot, 0
}
func (s *tableSource) ThreadID(slot uint32) uint32 { return s.ids[slot] }
func (s *tableSource) Totals() []Total             { return s.totals }

// smallBlocks makes blocks short for a test.
func smallBlocks(t testing.TB, n int64) {
	old := blockLen
	blockLen = n
	t.Cleanup(func() { blockLen = old })
}

// An eventGenerator makes event sequences: threads that call and return as
// programs do, with whatever goes wrong in percent.
type eventGenerator struct {
	r                                       *rand.Rand
	threads, functions, enters              int
	stray, damage, unwind, backward, repeat int
	foreign                                 bool
}

func (g *eventGenerator) chance(percent int) bool { return g.r.IntN(100) < percent }

func (g *eventGenerator) events(n int) []parser.Event {
	stacks := make([][]int, g.threads)
	var list []parser.Event
	now := g.r.Int64N(1 << 40)
	th := 0
	add := func(thread int, kind parser.Kind, f int) {
		a := 0x1005 + 256*uint64(f)
		if kind == parser.Leave && g.foreign {
			a += 4
		}
		if now += g.r.Int64N(3) * 1e6; g.chance(g.backward) {
			now -= 5e6
		}
		list = append(list, parser.Event{Address: a, Time: now, Thread: 100 + uint32(thread), Kind: kind})
	}
	for len(list) < n {
		if g.chance(30) {
			th = g.r.IntN(g.threads)
		}
		s := stacks[th]
		switch f := g.r.IntN(g.functions); {
		case g.chance(g.damage):
			add(g.r.IntN(2*g.threads), parser.Damaged, f)
			if g.chance(30) {
				list[len(list)-1].Time = g.r.Int64N(1 << 50)
			}
		case g.chance(g.stray):
			add(th, parser.Leave, g.functions+f)
		case g.chance(g.repeat):
			shape := g.shape(3)
			for range 1 + g.r.IntN(6) {
				for _, e := range shape {
					add(th, e.Kind, int(e.Address))
				}
			}
		case len(s) == 0 || len(s) < 12 && g.chance(g.enters):
			add(th, parser.Enter, f)
			stacks[th] = append(s, f)
		case g.chance(g.unwind):
			stacks[th] = s[:g.r.IntN(len(s))]
		default:
			add(th, parser.Leave, s[len(s)-1])
			stacks[th] = s[:len(s)-1]
		}
	}
	return list
}

// shape makes a few sibling calls with their calls; addresses are functions.
func (g *eventGenerator) shape(depth int) []parser.Event {
	var list []parser.Event
	for range 1 + g.r.IntN(3) {
		f := uint64(g.r.IntN(g.functions))
		list = append(list, parser.Event{Address: f, Kind: parser.Enter})
		if depth > 0 && g.chance(50) {
			body := g.shape(depth - 1)
			for range 1 + g.r.IntN(3) {
				list = append(list, body...)
			}
		}
		list = append(list, parser.Event{Address: f, Kind: parser.Leave})
	}
	return list
}

// randomLog makes a log of about n events, well-formed or broken in all ways,
// in one or several runs.
func randomLog(r *rand.Rand, n int) *memoryLog {
	g := &eventGenerator{r: r, threads: 1 + r.IntN(4), functions: 2 + r.IntN(8), enters: 40 + r.IntN(20), repeat: r.IntN(6)}
	log := &memoryLog{exact: r.IntN(2) == 0}
	if r.IntN(2) == 0 {
		g.stray, g.damage, g.unwind, g.backward = r.IntN(4), r.IntN(4), r.IntN(4), r.IntN(10)
		g.foreign = !log.exact && r.IntN(3) == 0
	}
	log.events = g.events(n)
	first := 0
	for first < len(log.events) {
		count := len(log.events) - first
		if r.IntN(3) == 0 {
			count = 1 + r.IntN(count)
		}
		log.runs = append(log.runs, parser.Run{First: int64(first), Count: int64(count)})
		first += count
	}
	if len(log.runs) == 1 && r.IntN(2) == 0 {
		last := log.events[len(log.events)-1].Time
		log.end = last + r.Int64N(1e9)
		log.ended = map[uint32][]int64{100: {last + r.Int64N(1e9)}}
	}
	return log
}

// eachLog calls f with random logs: with the double, which says what is right,
// and with the source to be tested, which is the double or an Index.
func eachLog(t *testing.T, count, n int, f func(t *testing.T, r *rand.Rand, src *tableSource, tested Source)) {
	smallBlocks(t, 64)
	for seed := range uint64(count) {
		r := rand.New(rand.NewPCG(seed, 1))
		log, live := randomLog(r, 1+r.IntN(n)), r.IntN(2) == 0
		var src *tableSource
		var tested Source
		if seed%3 == 0 {
			src = newTableSource(t, log, live)
			tested = src
		} else {
			x, err := Build(t.Context(), log, log.runs, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			x.SetLive(live)
			src, tested = newNumberedSource(t, log, live, x), x
		}
		f(t, r, src, tested)
		if t.Failed() {
			t.Fatalf("seed %d, %d rows, %T", seed, src.Len(), tested)
		}
	}
}
