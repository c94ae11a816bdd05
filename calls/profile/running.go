package profile

import "logparser/calls/index"

// recursive reports whether another call of the group of a call was open
// when it was made.
func recursive(src *index.Index, call *index.Node, g *groups) bool {
	group := g.at(call.Address)
	for i := call.Parent; i != index.NoNode; {
		n := src.Node(i)
		if g.at(n.Address) == group {
			return true
		}
		i = n.Parent
	}
	return false
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
