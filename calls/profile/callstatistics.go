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
	// of has for each address 1 + the index of its group's sum, byGroup for each group.
	of      []uint32
	byGroup map[uint32]uint32
	list    []callSum
	counts  []uint32
	calls   int64
}

// A callSum is of the calls of a group. It is one cache line.
type callSum struct {
	calls, time, self, recursive int64
	min, max                     int64
	untimed                      int32
	group                        uint32
	// The histogram has so many octaves from counts[at] on.
	at, octaves uint32
}

func newCallSums(addresses int) *callSums {
	return &callSums{of: make([]uint32, addresses), byGroup: make(map[uint32]uint32)}
}

// sum returns the number of an address's sum.
func (s *callSums) sum(groups *groups, address uint32) uint32 {
	group := groups.at(address)
	i, ok := s.byGroup[group]
	if !ok {
		s.list = append(s.list, callSum{min: math.MaxInt64, group: group})
		i = uint32(len(s.list))
		s.byGroup[group] = i
	}
	if int(address) < len(s.of) {
		s.of[address] = i
	}
	return i
}

// octave makes room for an octave of a histogram.
func (s *callSums) octave(c *callSum, octave int) {
	at := uint32(len(s.counts))
	n := min(max(octave+1, 12), calls.HistogramOctaves)
	s.counts = append(s.counts, make([]uint32, n*calls.HistogramSteps)...)
	copy(s.counts[at:], s.counts[c.at:][:c.octaves*calls.HistogramSteps])
	c.at, c.octaves = at, uint32(n)
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
	var chosen [query.CallBatch]uint16
	n := 0
	for i, p := range pass {
		chosen[n%query.CallBatch] = uint16(i)
		n += int(p)
	}
	of, list, counts := s.of, s.list, s.counts
	for _, i := range chosen[:n] {
		c := &batch[i]
		k := uint32(0)
		if int(c.ID) < len(of) {
			k = of[c.ID]
		}
		if k == 0 {
			k = s.sum(&t.groups, c.ID)
			list = s.list
		}
		u := &list[k-1]
		u.calls++
		d := c.Duration
		if d < 0 {
			u.untimed++
			continue
		}
		u.time += d
		u.self += c.Self
		recursive := int64(0)
		if c.Recursive { // a conditional move: it cannot be predicted
			recursive = d
		}
		u.recursive += recursive
		u.min, u.max = min(u.min, d), max(u.max, d)
		o, step := calls.BucketOf(d)
		if o >= int(u.octaves) {
			s.octave(u, o)
			counts = s.counts
		}
		counts[int(u.at)+o*calls.HistogramSteps+step]++
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
	for i := range s.list {
		u := &s.list[i]
		if u.group == NoGroup || u.calls == 0 {
			continue
		}
		total := calls.Total{Calls: u.calls, Timed: u.calls - int64(u.untimed), Sum: u.time, Self: u.self, NonRecursive: u.time - u.recursive, Max: u.max}
		if total.Timed > 0 {
			total.Min = u.min
		}
		for o := range int(u.octaves) {
			counts := s.counts[int(u.at)+o*calls.HistogramSteps:][:calls.HistogramSteps]
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
		sum.at(slot, u.group).Merge(&total)
	}
}

// newStatTable makes a table that is filled by hand.
func newStatTable(src *index.Index, g groups, perThread bool) *statTable {
	t := &statTable{perThread: perThread}
	t.stacks = groupStacks{openStacks: openStacks{src: src}, groups: g}
	return t
}
