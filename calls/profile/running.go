package profile

import (
	"slices"

	"logparser/calls/index"
)

// A lineage tells which calls are recursive. It keeps the callers of the call that each stack was last asked about: of calls that are
// asked about in the order of their enters, each caller is looked at once, however deep they lie in one another.
type lineage struct {
	src    *index.Index
	g      *groups
	stacks map[uint32]*callers // by Node.Thread
}

// A callers is the nodes around a call, the outermost first.
type callers struct {
	nodes []caller
	at    map[uint32]int // where a node is in nodes
	count map[uint32]int // how many of nodes are of a group
	more  []caller
}

type caller struct{ node, group uint32 }

func newLineage(src *index.Index, g *groups) *lineage {
	return &lineage{src, g, make(map[uint32]*callers)}
}

// recursive reports whether another call of the group of a call was open when it was made.
func (l *lineage) recursive(call *index.Node) bool {
	s := l.stacks[call.Thread]
	if s == nil {
		s = &callers{at: make(map[uint32]int), count: make(map[uint32]int)}
		l.stacks[call.Thread] = s
	}
	keep := 0
	s.more = s.more[:0]
	for i := call.Parent; i != index.NoNode; {
		if k, ok := s.at[i]; ok {
			keep = k + 1
			break
		}
		n := l.src.Node(i)
		s.more = append(s.more, caller{i, l.g.at(n.Address)})
		i = n.Parent
	}
	for _, c := range s.nodes[keep:] {
		delete(s.at, c.node)
		s.count[c.group]--
	}
	s.nodes = s.nodes[:keep]
	for _, c := range slices.Backward(s.more) {
		s.at[c.node] = len(s.nodes)
		s.count[c.group]++
		s.nodes = append(s.nodes, c)
	}
	return s.count[l.g.at(call.Address)] > 0
}

// A Running sums up calls that no leave has closed. Its times are in
// nanoseconds, up to where each call's run ended.
type Running struct {
	// Calls counts them. The sums are as those of [Total].
	Calls, Sum, Self, NonRecursive int64
}

func (r *Running) add(duration, self int64, recursive bool) {
	r.Calls++
	r.Sum += duration
	r.Self += self
	if !recursive {
		r.NonRecursive += duration
	}
}

func (r *Running) merge(other *Running) {
	r.Calls += other.Calls
	r.Sum += other.Sum
	r.Self += other.Self
	r.NonRecursive += other.NonRecursive
}
