package pairing

import (
	"logparser/calls"
	"logparser/calls/internal/sizes"
)

// A State is what a [Sequential] knows besides what its [Store] has, after [Sequential.Flush]:
// another one with the same store goes on from it.
type State struct {
	Row       int64
	Run       int
	LastTime  int64 // of the last event that is not damaged
	Anomalies [calls.NoEnter + 1]int64
	Position  bool // a leave was matched by position alone
	Stacks    []StackState
	Strands   []StrandState
	// Block is the last block, nil where there is none. Of one that has ended State leaves it
	// out, and Restore needs only the active stacks.
	Block *BlockState
}

// A StackState is the state of the stack of a slot. Numbers of stacks and nodes are as
// elsewhere; Strand is an index into the strands.
// Seen says that the stack has been active.
type StackState struct {
	ID, Stack, Strand, Home uint32
	Records, Below          int64
	Top                     uint32
	Depth                   int32
	Rowless                 uint32
	Live, Seen              bool
}

// A StrandState is what the events of a thread are on: the slots of a stack and of the
// thread's own.
type StrandState struct {
	ID, Stack, Owner uint32
	Records          int64
}

// A BlockState is the last block.
type BlockState struct {
	Ended      bool
	Summary    Summary
	Longest    Longest
	Exceptions []Exception
	// Active are the slots of the stacks that are active in it, with their states before it.
	Active []ActiveState
}

// An ActiveState is a stack of a slot before a block.
type ActiveState struct {
	Slot, Top uint32
	Records   int64
}

// State returns the state but for the summary and the active stacks of the block, which the
// store has.
func (s *Sequential) State() State {
	st := State{
		Row: s.row, Run: s.number, LastTime: s.lastTime, Anomalies: s.anomalies, Position: s.position,
		Stacks: make([]StackState, len(s.threads)), Strands: make([]StrandState, len(s.strands)),
	}
	if s.begun {
		st.Block = &BlockState{Longest: s.longest, Exceptions: s.exceptions}
	}
	for i := range s.strands {
		x := &s.strands[i]
		st.Strands[i] = StrandState{ID: x.id, Stack: x.stack, Owner: x.owner, Records: x.records}
	}
	for i, th := range s.threads {
		st.Stacks[i] = StackState{
			ID: th.id, Stack: th.number, Strand: th.strand, Home: th.home, Records: th.records,
			Top: th.top, Depth: th.depth, Rowless: th.rowless, Live: th.live, Seen: th.seen,
		}
		if th.top != NoNode {
			st.Stacks[i].Below = th.below // otherwise nobody's
		}
		st.Strands[th.strand].Records += th.records - th.settled
	}
	return st
}

// Restore makes a new Sequential go on from a state, whose numbers are known to be right.
// The store and the addresses are what they were.
func (s *Sequential) Restore(st *State) {
	s.row, s.number, s.lastTime = st.Row, st.Run, st.LastTime
	s.anomalies, s.position = st.Anomalies, st.Position
	for i := range st.Strands {
		x := &st.Strands[i]
		s.strands = append(s.strands, pairedStrand{id: x.ID, stack: x.Stack, owner: x.Owner, records: x.Records})
		s.hashStrand(i)
	}
	for i := range st.Stacks {
		t := &st.Stacks[i]
		th := &Thread{
			id: t.ID, slot: uint32(i), number: t.Stack, strand: t.Strand, home: t.Home, settled: t.Records, seen: t.Seen,
			records: t.Records, below: t.Below, top: t.Top, depth: t.Depth, rowless: t.Rowless, live: t.Live,
		}
		s.threads = append(s.threads, th)
		if th.number != 0 {
			if s.byStack == nil {
				s.byStack = make(map[uint32]*Thread)
			}
			s.byStack[th.number] = th
		}
		if th.live {
			s.live = append(s.live, th)
		}
	}
	for _, th := range s.live {
		for i := th.top; i != NoNode; {
			n := s.node(i)
			s.stats[s.statsOfNode(th, n)].open++
			i = n.Parent
		}
	}
	if st.Row == 0 {
		return
	}
	s.block = 1
	s.first = (st.Row - 1) / sizes.Block * sizes.Block
	if st.Block == nil {
		return
	}
	s.begun = !st.Block.Ended
	for _, a := range st.Block.Active {
		// EndRun asks this of a block that has ended, too.
		th := s.threads[a.Slot]
		th.block = s.block
		s.active = append(s.active, visit{th: th, top: a.Top, records: a.Records})
	}
	s.summary, s.exceptions = st.Block.Summary, st.Block.Exceptions
	s.longest, s.longer = st.Block.Longest, max(1, st.Block.Longest.Least())
}
