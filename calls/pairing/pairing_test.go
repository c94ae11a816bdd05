package pairing

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"logparser/calls"
	"logparser/calls/internal/sizes"
	"logparser/internal/testlog"
	"logparser/parser"
)

// A memory is a store as plain as can be.
type memory struct {
	blocks  []block
	nodes   []Node
	without []uint32
	sums    map[uint32]total
}

type block struct {
	Checkpoints []ActiveState
	Summary     Summary
	Longest     Longest
	Exceptions  []Exception
}

// A total is the Sums of an address.
type total struct {
	Records, Calls, Timed, Time, Self, Recursive, Min, Max int64
	Histogram                                              map[uint32][calls.HistogramSteps]uint32
}

func (m *memory) last() *block { return &m.blocks[len(m.blocks)-1] }

func (m *memory) BeginBlock() { m.blocks = append(m.blocks, block{Summary: EmptySummary()}) }

func (m *memory) Checkpoint(slot uint32, records int64, top uint32) {
	m.last().Checkpoints = append(m.last().Checkpoints, ActiveState{slot, top, records})
}

func (m *memory) Summarize(s *Summary) { m.last().Summary.Merge(s) }

func (m *memory) EndBlock(longest *Longest, exceptions []Exception) {
	m.last().Longest, m.last().Exceptions = *longest, append([]Exception{}, exceptions...)
}

func (m *memory) AddNode(n Node) uint32 {
	if n.Enter/sizes.Block != int64(len(m.blocks)-1) {
		panic(fmt.Sprintf("a node of row %d in block %d", n.Enter, len(m.blocks)-1))
	}
	m.nodes = append(m.nodes, n)
	return uint32(len(m.nodes) - 1)
}

func (m *memory) Nodes() int            { return len(m.nodes) }
func (m *memory) Node(i uint32) *Node   { return &m.nodes[i] }
func (m *memory) Ended(uint32, *Node)   {}
func (m *memory) EndedWithout(i uint32) { m.without = append(m.without, i) }

func (m *memory) AddSum(address uint32, s *Sum) {
	t, ok := m.sums[address]
	if !ok {
		t = total{Min: math.MaxInt64, Histogram: make(map[uint32][calls.HistogramSteps]uint32)}
	}
	t.Records, t.Calls, t.Timed = t.Records+s.Records, t.Calls+s.Calls, t.Timed+s.Timed+s.Zeros
	t.Time, t.Self, t.Recursive = t.Time+s.Time, t.Self+s.Self, t.Recursive+s.Recursive
	t.Min, t.Max = min(t.Min, s.Min), max(t.Max, s.Max)
	for octave, counts := range s.Octaves() {
		all := t.Histogram[octave]
		for i, n := range counts {
			all[i] += n
		}
		t.Histogram[octave] = all
	}
	if s.Zeros > 0 {
		t.Min = 0
		shortest := t.Histogram[0]
		shortest[0] += uint32(s.Zeros)
		t.Histogram[0] = shortest
	}
	m.sums[address] = t
}

// A pairing is a Sequential with its store.
type pairing struct {
	*Sequential
	store     *memory
	addresses *calls.Addresses
}

func newPairing(log parser.Log, names *Names) *pairing {
	p := &pairing{store: &memory{sums: make(map[uint32]total)}, addresses: calls.NewAddresses()}
	p.Sequential = NewSequential(log, p.addresses, names, p.store, func(row int64) int64 { return row })
	return p
}

// differs returns how two pairings that have taken in the same rows differ; q may have taken
// over segments.
func (p *pairing) differs(q *pairing) error {
	p.Flush()
	q.Flush()
	p.Publish()
	q.Publish()
	a, b := p.store, q.store
	if len(a.blocks) != len(b.blocks) {
		return fmt.Errorf("%d blocks, and %d", len(a.blocks), len(b.blocks))
	}
	for i := range a.blocks {
		x, y := a.blocks[i], b.blocks[i]
		// A segment that is taken over knows the thread of a damaged record also where its
		// first event comes later.
		x.Summary.Threads |= y.Summary.Threads
		x.Summary.Owners |= y.Summary.Owners
		if !reflect.DeepEqual(x, y) {
			return fmt.Errorf("block %d:\n%+v\n%+v", i, x, y)
		}
	}
	x, nodes := p.settled()
	y, others := q.settled()
	if len(nodes) != len(others) {
		return fmt.Errorf("%d nodes, and %d", len(nodes), len(others))
	}
	for i := range nodes {
		if nodes[i] != others[i] {
			return fmt.Errorf("node %d:\n%+v\n%+v", i, nodes[i], others[i])
		}
	}
	if !reflect.DeepEqual(x, y) {
		return fmt.Errorf("state\n%+v\n%+v", x, y)
	}
	slices.Sort(a.without)
	slices.Sort(b.without)
	if !slices.Equal(a.without, b.without) {
		return fmt.Errorf("ended without a leave: %v, and %v", a.without, b.without)
	}
	for i := range uint32(max(p.addresses.Len(), q.addresses.Len())) {
		if x, y := p.addresses.At(int(i)), q.addresses.At(int(i)); x != y {
			return fmt.Errorf("address %d is %+v, and %+v", i, x, y)
		}
		if x, y := a.sums[i], b.sums[i]; !reflect.DeepEqual(x, y) {
			return fmt.Errorf("address %d:\n%+v\n%+v", i, x, y)
		}
	}
	return nil
}

// settled returns the state and the nodes, where the top ones know of all calls they made.
func (p *pairing) settled() (State, []Node) {
	s, nodes := p.State(), slices.Clone(p.store.nodes)
	for i := range s.Stacks {
		if t := &s.Stacks[i]; t.Top != NoNode {
			nodes[t.Top].Children += t.Below
			t.Below = 0
		}
	}
	return s, nodes
}

// small makes blocks small.
func small(t *testing.T) {
	old := sizes.Block
	sizes.Block = 8
	t.Cleanup(func() { sizes.Block = old })
}

// TestMerge pairs random logs in order, and segments of them that are taken over where they can
// be.
func TestMerge(t *testing.T) {
	small(t)
	merged, failed, refused := 0, 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		log := testlog.RandomChaos(r).Log(r, 400, 1)
		var names *Names
		if seed%2 == 1 {
			names = NewNames(testlog.Namer)
		}
		want, got := newPairing(log, names), newPairing(log, names)
		segment := got.NewSegment()
		for row := int64(0); row < 400; {
			n := min(int64(1+r.IntN(8))*sizes.Block, 400-row)
			events := log.Events[row : row+n]
			if err := segment.Pair(context.Background(), 0, row, row+n, row); err != nil {
				t.Fatal(err)
			}
			switch {
			case segment.Failed():
				failed++
				got.Add(events)
			case !got.CanMerge(segment):
				refused++
				got.Add(events)
			default:
				merged++
				got.Merge(segment, row)
			}
			want.Add(events)
			before := slices.Clone(want.store.blocks)
			if row += n; row%64 == 0 || row == 400 {
				if err := want.differs(got); err != nil {
					t.Fatalf("seed %d, rows %d to %d: %v", seed, row-n, row, err)
				}
			}
			if !reflect.DeepEqual(before, want.store.blocks[:len(before)]) {
				t.Fatalf("seed %d: blocks before row %d have changed", seed, row)
			}
		}
	}
	if merged < 1000 || failed == 0 || refused == 0 {
		t.Errorf("%d segments taken over, %d failed, %d refused", merged, failed, refused)
	}
}

// TestState goes on from a state, within blocks and between them.
func TestState(t *testing.T) {
	small(t)
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		log := testlog.RandomChaos(r).Log(r, 200, 1)
		want, got := newPairing(log, nil), newPairing(log, nil)
		stop := r.IntN(200)
		want.Add(log.Events[:stop])
		got.Add(log.Events[:stop])
		want.Flush()
		got.Flush()
		got.Publish()
		state := got.State()
		if state.Block != nil {
			last := got.store.last()
			state.Block.Summary, state.Block.Active = last.Summary, last.Checkpoints
		}
		again := &pairing{store: got.store, addresses: got.addresses}
		again.Sequential = NewSequential(log, again.addresses, nil, again.store, func(row int64) int64 { return row })
		again.Restore(&state)
		want.Add(log.Events[stop:])
		again.Add(log.Events[stop:])
		if err := want.differs(again); err != nil {
			t.Fatalf("seed %d, after %d rows: %v", seed, stop, err)
		}
	}
}

// TestSegmentAlone pairs what a segment can and cannot know by itself.
func TestSegmentAlone(t *testing.T) {
	small(t)
	for _, test := range []struct {
		name   string
		before string // what the Sequential has, and the segment not
		rows   string
		merges bool
	}{
		{"whole calls", "f", "A>g A<g A>h A>i A<i A<h A>g A<g", true},
		{"leaves of what was open", "f", "A<f A>g A<g A>g A<g A>g A<g A>g", true},
		{"a leave of nothing", "", "A<f A>g A<g A>g A<g A>g A<g A>g", false},
		{"a leave below the top", "f g", "A<f A>g A<g A>g A<g A>g A<g A>g", false},
		{"a leave below a call of its own", "f", "A>g A<f A>g A<g A>g A<g A>g A<g", false},
	} {
		text := ""
		for _, f := range test.before {
			if f != ' ' {
				text += "A>" + string(f) + " "
			}
		}
		for range 8 - len(test.before)/2 - len(test.before)%2 {
			text += "B>x "
		}
		log := testlog.Script(text + test.rows)
		p := newPairing(log, nil)
		p.Add(log.Events[:8])
		s := p.NewSegment()
		if err := s.Pair(context.Background(), 0, 8, 16, 8); err != nil {
			t.Fatal(err)
		}
		if got := !s.Failed() && p.CanMerge(s); got != test.merges {
			t.Errorf("%s: taken over %t", test.name, got)
		}
	}
}
