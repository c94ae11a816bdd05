package profile

import (
	"context"
	"math"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/query"
	"logparser/parser"
)

// callStatistics is Statistics by a pass over calls. It is not ok where that would not do, or to read so many rows as may pass at most takes less.
func callStatistics(ctx context.Context, src *index.Index, g groups, o *StatisticsOptions, most int64) (list []Stat, ok bool, err error) {
	if o.Correct != nil || o.PerThread && uint64(src.Slots())*uint64(src.AddressTable().Len()) > maxDense {
		return nil, false, nil
	}
	p := newCallPass(src, o.Where, g, o.Progress)
	if p == nil || most*rowCost < p.events() {
		return nil, false, nil
	}
	tables := make([]*callTable, query.Workers())
	for i := range tables {
		tables[i] = newCallTable(src, g, o.PerThread)
		p.workers = append(p.workers, tables[i])
	}
	if ok, err := p.run(ctx); !ok || err != nil {
		return nil, false, err
	}
	sum := newStatTable(src, g, o.PerThread)
	for _, t := range tables {
		t.addTo(sum)
	}
	return sum.list(), true, nil
}

// A callTable counts calls by address, unless all threads are counted together by thread, too.
type callTable struct {
	groups    groups
	addresses int
	perThread bool
	slot      uint32
	sums      *callSums            // of the part's thread
	all       map[uint32]*callSums // by slot, 0 for all
	full      []*statTable         // what had to make room
	src       *index.Index
	// running are calls that no leave has closed.
	running *statTable
}

func newCallTable(src *index.Index, g groups, perThread bool) *callTable {
	return &callTable{groups: g, addresses: src.AddressTable().Len(), perThread: perThread, all: make(map[uint32]*callSums),
		src: src, running: newStatTable(src, g, perThread)}
}

// callSums are the sums of groups.
type callSums struct {
	// of has for each address its group's sum, nil where nobody has asked for it yet, and byGroup for each group.
	of      []*callSum
	byGroup map[uint32]*callSum
	calls   int64
}

// A callSum is of the calls of a group. What all calls change but for their bucket is one cache line.
type callSum struct {
	calls, time, self, recursive int64
	min, max                     int64
	untimed                      int32
	group                        uint32
	// near has the counts of the first buckets of the histogram, far those of the others.
	near [nearOctaves * calls.HistogramSteps]uint32
	far  calls.Histogram
}

const (
	// nearOctaves are those of durations below nearEnd nanoseconds.
	nearOctaves = 12
	nearEnd     = calls.HistogramSteps << (nearOctaves - 1)
)

func newCallSums(addresses int) *callSums {
	return &callSums{of: make([]*callSum, addresses), byGroup: make(map[uint32]*callSum)}
}

// sum returns an address's sum.
func (s *callSums) sum(groups *groups, address uint32) *callSum {
	known := int(address) < len(s.of)
	if known && s.of[address] != nil {
		return s.of[address]
	}
	group := groups.at(address)
	u := s.byGroup[group]
	if u == nil {
		u = &callSum{min: math.MaxInt64, group: group}
		s.byGroup[group] = u
	}
	if known {
		s.of[address] = u
	}
	return u
}

// add adds those of the calls that are chosen, up to one whose sum nobody has asked for yet, or that is not near. It returns how many.
func (s *callSums) add(batch []parser.Call, chosen []uint16) (n int) {
	of := s.of
	for i, k := range chosen {
		c := &batch[k]
		d := c.Duration
		if uint(c.ID) >= uint(len(of)) || uint64(d) >= nearEnd {
			return i
		}
		u := of[c.ID]
		if u == nil {
			return i
		}
		u.add(c)
		u.near[calls.BucketOf(d)]++
	}
	return len(chosen)
}

// add adds a call that has a duration, but for its bucket.
func (u *callSum) add(c *parser.Call) {
	d := c.Duration
	recursive := int64(0)
	if c.Recursive { // a conditional move: it cannot be predicted
		recursive = d
	}
	u.calls++
	u.time += d
	u.self += c.Self
	u.recursive += recursive
	u.min, u.max = min(u.min, d), max(u.max, d)
}

// addOne adds any call.
func (u *callSum) addOne(c *parser.Call) {
	if c.Duration < 0 {
		u.calls++
		u.untimed++
		return
	}
	u.add(c)
	if c.Duration < nearEnd {
		u.near[calls.BucketOf(c.Duration)]++
	} else {
		u.far.Add(c.Duration)
	}
}

func (t *callTable) begin(slot uint32, _ []parser.OpenFrame) {
	if !t.perThread {
		slot = 0
	}
	t.slot = slot
	if t.sums = t.all[slot]; t.sums == nil {
		t.sums = newCallSums(t.addresses)
		t.all[slot] = t.sums
	}
}

func (t *callTable) add(batch []parser.Call, pass []uint8, _ []parser.OpenFrame, _ int) {
	s := t.sums
	if s.calls += int64(len(batch)); s.calls > math.MaxUint32-query.CallBatch {
		table := newStatTable(t.src, t.groups, t.perThread)
		s.addTo(table, t.slot)
		t.full = append(t.full, table)
		*s = *newCallSums(t.addresses)
		s.calls = int64(len(batch))
	}
	// Which calls pass cannot be predicted: they are chosen without a branch.
	var list [query.CallBatch]uint16
	n := uint(0)
	for i, p := range pass {
		list[n%query.CallBatch] = uint16(i)
		n += uint(p)
	}
	for chosen := list[:n]; ; chosen = chosen[1:] {
		chosen = chosen[s.add(batch, chosen):]
		if len(chosen) == 0 {
			return
		}
		c := &batch[chosen[0]]
		s.sum(&t.groups, c.ID).addOne(c)
	}
}

func (t *callTable) ends(int) int64 { return 0 }

func (t *callTable) end(*partResult, []parser.OpenFrame) {}

func (t *callTable) complete(r *partResult, _ bool, c *parser.Call, how *index.OpenCall) {
	s := t.running.at(r.slot, t.groups.at(c.ID))
	if how.Running() {
		s.Calls++
		s.Running.add(c.Duration, c.Self, c.Recursive)
		return
	}
	s.Add(c.Duration, c.Self, c.Recursive)
}

// addTo adds what was counted to a table.
func (t *callTable) addTo(sum *statTable) {
	for slot, s := range t.all {
		s.addTo(sum, slot)
	}
	for _, full := range append(t.full, t.running) {
		sum.merge(full)
	}
}

func (s *callSums) addTo(sum *statTable, slot uint32) {
	for _, u := range s.byGroup {
		if u.group == NoGroup || u.calls == 0 {
			continue
		}
		total := calls.Total{Calls: u.calls, Timed: u.calls - int64(u.untimed), Sum: u.time, Self: u.self, NonRecursive: u.time - u.recursive, Max: u.max}
		if total.Timed > 0 {
			total.Min = u.min
		}
		for o := range nearOctaves {
			counts := u.near[o*calls.HistogramSteps:][:calls.HistogramSteps]
			any := uint32(0)
			for _, n := range counts {
				any |= n
			}
			if any == 0 {
				continue
			}
			to := total.Histogram.Octave(o)
			for k, n := range counts {
				to[k] += uint64(n)
			}
		}
		total.Histogram.Merge(&u.far)
		sum.at(slot, u.group).Merge(&total)
	}
}

// newStatTable makes a table that is filled by hand.
func newStatTable(src *index.Index, g groups, perThread bool) *statTable {
	t := &statTable{perThread: perThread}
	t.stacks = groupStacks{openStacks: openStacks{src: src}, groups: g}
	return t
}
