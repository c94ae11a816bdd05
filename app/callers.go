package app

import (
	"cmp"
	"context"
	"slices"

	"logparser/calls/profile"
	"logparser/rows"
)

// A tree of callers is made of the tree of callees. Where that had no room for all paths, calls are missing in it: which callers
// they came through is not known, but which functions they are of is, from the statistics.

// completeCallers gives the functions of a tree of callers the numbers that statistics have, and those that are missing from it.
// What came through callers that are not known stands below each as (others), and the other callers have "at least".
func (s *Session) completeCallers(ctx context.Context, sel Selection, opt *TreeOptions, tree *Tree, p Progress) error {
	if opt.ByThread && s.hasStacks() {
		// Statistics count a call for the thread that entered it, the tree for the one that was first on its stack.
		for _, n := range tree.Roots {
			for _, c := range n.Children {
				c.markPartial()
			}
		}
		return nil
	}
	g := s.groups()
	stats, _, ok, err := s.clipped(ctx, sel, profile.ClipOptions{Groups: g.of, PerThread: opt.ByThread, Progress: p.of(StageFilter)})
	if err != nil {
		return err
	}
	if !ok {
		where, err := s.whereOf(ctx, sel)
		if err != nil {
			return err
		}
		stats, err = profile.Statistics(ctx, s.table, profile.StatisticsOptions{
			Where: where, Groups: g.of, PerThread: opt.ByThread, Correct: s.correcting(), Progress: p.of(StageFilter)})
		if err != nil {
			return err
		}
	}
	lists := map[uint32]*[]*TreeNode{} // by slots, of all threads 0
	if !opt.ByThread {
		lists[0] = &tree.Roots
	}
	byTrack := make(map[rows.Track]*[]*TreeNode)
	for _, n := range tree.Roots {
		if opt.ByThread {
			byTrack[rows.TrackOf(n.Process, n.Thread, 0)] = &n.Children
		}
	}
	_, late := s.Ways()
	endKnown := s.endKnown()
	known := make(map[*[]*TreeNode]map[uint32]*TreeNode)
	for i := range stats {
		st := &stats[i]
		if st.Calls == 0 {
			continue
		}
		of := TreeNode{FunctionRef: g.list[st.Group], Calls: st.Calls, Timed: st.Timed, Running: st.Running.Calls,
			Total: st.NonRecursive + st.Running.NonRecursive, Self: st.Self + st.Running.Self}
		list := lists[0]
		if opt.ByThread {
			t := s.threadAt(st.Thread)
			of.ByThread, of.Thread, of.Process, of.ThreadName = true, t.ID, t.Process, t.Name
			if list = byTrack[rows.TrackOf(t.Process, t.ID, 0)]; list == nil {
				continue
			}
		}
		of.Bound, of.SelfBound = sumBounds(of.Timed, of.Running, endKnown, late)
		if known[list] == nil {
			known[list] = make(map[uint32]*TreeNode)
			for _, n := range *list {
				if !n.Other {
					known[list][n.Key] = n
				}
			}
			*list = slices.DeleteFunc(*list, func(n *TreeNode) bool { return n.Other })
		}
		n := known[list][of.Key]
		if n == nil {
			n = &TreeNode{FunctionRef: of.FunctionRef, Thread: of.Thread, Process: of.Process, ByThread: of.ByThread, ThreadName: of.ThreadName}
			*list = append(*list, n)
		}
		n.complete(&of)
	}
	for list := range known {
		slices.SortStableFunc(*list, compareNodes)
	}
	tree.Cut = 0
	tree.Walk(func(n *TreeNode, _ []*TreeNode) bool {
		if n.Other {
			tree.Cut += n.Calls
		}
		return !n.Other
	})
	return nil
}

// compareNodes compares nodes as those of one parent are ordered.
func compareNodes(a, b *TreeNode) int {
	return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Key, b.Key))
}

// complete gives the root of a function in a tree of callers all of its calls.
func (n *TreeNode) complete(all *TreeNode) {
	missing := TreeNode{Calls: all.Calls - n.Calls, Timed: all.Timed - n.Timed, Running: all.Running - n.Running, Total: max(0, all.Total-n.Total), Self: max(0, all.Self-n.Self)}
	if missing.Calls <= 0 {
		return
	}
	for _, c := range n.Children {
		c.markPartial()
	}
	at := slices.IndexFunc(n.Children, func(c *TreeNode) bool { return c.Other })
	if at < 0 {
		at = len(n.Children)
		n.Children = append(slices.Clone(n.Children), &TreeNode{Other: true, Thread: n.Thread, Process: n.Process, ByThread: n.ByThread, ThreadName: n.ThreadName})
	}
	addNode(n.Children[at], &missing)
	n.Children[at].Partial = false
	n.Calls, n.Timed, n.Running, n.Total, n.Self, n.Bound, n.SelfBound = all.Calls, all.Timed, all.Running, all.Total, all.Self, all.Bound, all.SelfBound
	n.Children[at].Bound, n.Children[at].SelfBound = rows.AtMost.With(n.Bound), rows.AtMost.With(n.SelfBound)
	slices.SortStableFunc(n.Children, compareNodes)
}

// markPartial says of a node and those below it that they have some of their calls alone.
func (n *TreeNode) markPartial() {
	n.Partial = true
	n.Bound, n.SelfBound = rows.AtLeast.With(n.Bound), rows.AtLeast.With(n.SelfBound)
	for _, c := range n.Children {
		c.markPartial()
	}
}
