package index

import (
	"logparser/calls"
)

// An openCall is a call that no leave has closed. It lasts until the last event
// of its run.
type openCall struct {
	Node
	// duration and self are in nanoseconds. Where durations are corrected, self
	// is 0 and ownTimes finds it.
	duration, self int64
}

// openCalls has calls by the rows of their enters.
type openCalls map[int64]*openCall

// at returns the open call that was entered at a row of a block, or nil.
func (o openCalls) at(b *Block, i int) *openCall {
	if b.timed(i) {
		return nil
	}
	return o[b.First+int64(i)]
}

// findOpen returns the calls of a source that no leave has closed.
func findOpen(src Source, correct Correct) openCalls {
	var open openCalls
	for i := range src.Nodes() {
		n := src.Node(uint32(i))
		if !n.open() {
			continue
		}
		if open == nil {
			open = make(openCalls)
		}
		o := &openCall{Node: n, duration: calls.Elapsed(n.EnterTime, n.LeaveTime)}
		if correct != nil {
			durations := []int64{o.duration}
			correct(n.Enter, durations, []int64{n.Inside})
			o.duration = durations[0]
		} else {
			o.self = self(o.duration, n.Children)
		}
		open[n.Enter] = o
	}
	for _, o := range open {
		// What an open call made has no part in the Children of its caller.
		if o.Parent != NoNode {
			caller := src.Node(o.Parent)
			if c := open[caller.Enter]; c != nil && caller.open() {
				c.self = self(c.self, o.duration)
			}
		}
	}
	return open
}

// open reports whether the log ends within the call, and its enter is known.
func (n *Node) open() bool {
	return n.Enter >= 0 && (n.Mark == calls.Open || n.Mark == calls.Running)
}

// recursive reports whether another call of the group of an open call was open
// when it was made.
func (o *openCall) recursive(src Source, g *groups) bool {
	group := g.at(o.Address)
	for i := o.Parent; i != NoNode; {
		n := src.Node(i)
		if g.at(n.Address) == group {
			return true
		}
		i = n.Parent
	}
	return false
}

// A Running sums up calls that no leave has closed. Its times are in
// nanoseconds, up to the last event of each call's run.
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
