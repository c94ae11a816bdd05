package index

import (
	"unsafe"

	"logparser/calls"
	"logparser/calls/indexcache"
	"logparser/calls/internal/sizes"
	"logparser/calls/pairing"
	"logparser/message"
)

func bad(what string, i int) error { return message.Errorf("%w: %s %d", indexcache.ErrOther, what, i) }

// check checks the numbers that lead somewhere.
func (c *core) check(rows int64, threads []fileThread, addresses int, text []byte) error {
	blocks := int((rows + sizes.Block - 1) / sizes.Block)
	nodes := c.nodes.len()
	if c.places.len() != blocks {
		return bad("blocks", c.places.len())
	}
	levels := 0
	for ; blocks > 0 && (levels == 0 || (blocks-1)>>(2*(levels-1)) != 0); levels++ {
		n := (blocks + 1<<(2*levels) - 1) >> (2 * levels)
		if levels >= len(c.groups) || c.groups[levels].len() != n || c.longs[levels].len() != n {
			return bad("level", levels)
		}
		for i := range n {
			for _, l := range c.longs[levels].at(i) {
				if l.Duration() > 0 && (l.Enter < 0 || l.Leave <= l.Enter || l.Leave >= rows || int(l.Address) >= addresses || int(l.Thread) >= len(threads)) {
					return bad("long call", i)
				}
			}
		}
	}
	if levels != len(c.groups) {
		return bad("levels", len(c.groups))
	}
	for i := range nodes {
		n := c.nodes.at(i)
		depth := int32(0)
		if n.Parent != NoNode {
			if int64(n.Parent) >= int64(i) || c.nodes.at(int(n.Parent)).Thread != n.Thread {
				return bad("node", i)
			}
			depth = c.nodes.at(int(n.Parent)).Depth + 1
		}
		if n.Enter < 0 || n.Enter >= rows || n.Leave < -1 || n.Leave >= rows || n.Leave >= 0 && n.Leave < n.Enter || int(n.Address) >= addresses ||
			int(n.Thread) >= len(threads) || n.Depth != depth || n.Anomaly > calls.NoEnter || i > 0 && n.Enter < c.nodes.at(i-1).Enter {
			return bad("node", i)
		}
		// A bool of another value than 0 and 1 is none.
		if a, b := *(*byte)(unsafe.Pointer(&n.Rowless)), *(*byte)(unsafe.Pointer(&n.Ended)); a > 1 || b > 1 {
			return bad("node", i)
		}
	}
	var before place
	for k := range blocks {
		p := c.places.at(k)
		if p.text < before.text || p.visit < before.visit || p.node < before.node || p.text > int64(c.texts.len()) || p.visit > int64(c.visits.len()) || int(p.node) > nodes ||
			k == 0 && *p != (place{}) {
			return bad("block", k)
		}
		before = *p
	}
	for k := range blocks {
		from, to := c.nodesOf(k)
		for i := from; i < to; i++ {
			if c.nodes.at(i).Enter/sizes.Block != int64(k) {
				return bad("node", i)
			}
		}
		first := from
		from, to = c.visitsOf(k)
		for i := from; i < to; i++ {
			v := c.visits.at(i)
			if int(v.thread) >= len(threads) || v.top != NoNode && (int(v.top) >= first || c.nodes.at(int(v.top)).Thread != v.thread) {
				return bad("visit", i)
			}
		}
		if !validExceptions(c.exceptionsOf(k), addresses) {
			return bad("exceptions of block", k)
		}
	}
	if !validExceptions(parseExceptions(len(text), func(i int) byte { return text[i] }), addresses) {
		return bad("exceptions of block", blocks)
	}
	for i := range threads {
		th := &threads[i]
		depth := int32(0)
		if th.Top != NoNode {
			if int(th.Top) >= nodes || int(c.nodes.at(int(th.Top)).Thread) != i {
				return bad("thread", i)
			}
			depth = c.nodes.at(int(th.Top)).Depth + 1
		}
		if th.Depth != depth || int64(th.Rowless) > int64(depth) || th.First < 0 {
			return bad("thread", i)
		}
	}
	if len(c.totals.list) > addresses || len(c.totals.octaves) == 0 && !c.totals.many {
		return bad("totals", len(c.totals.list))
	}
	seen := make([]bool, len(c.totals.octaves))
	for i := range c.totals.list {
		for k := c.totals.list[i].octaves; k != noOctave; k = c.totals.octaves[k].next {
			if int(k) >= len(seen) || seen[k] || c.totals.octaves[k].octave >= calls.HistogramOctaves {
				return bad("total", i)
			}
			seen[k] = true
		}
	}
	return nil
}

// checkStrands checks which stacks and threads strands say they are of.
func checkStrands(threads []fileThread, strands []fileStrand) error {
	stacks, ids := make(map[uint32]bool), make(map[uint32]bool)
	for i := range strands {
		s := &strands[i]
		if int(s.Stack) >= len(threads) || int(s.Owner) >= len(threads) || threads[s.Owner].Stack != 0 || threads[s.Stack].Stack == 0 && s.Stack != s.Owner || ids[s.ID] {
			return bad("strand", i)
		}
		ids[s.ID] = true
	}
	for i := range threads {
		th := &threads[i]
		if int(th.Strand) >= len(strands) || strands[th.Strand].Stack != uint32(i) || strands[th.Strand].ID != th.ID ||
			int(th.Home) >= len(threads) || threads[th.Home].Stack != 0 || th.Stack == 0 && int(th.Home) != i || th.Stack != 0 && stacks[th.Stack] {
			return bad("stack", i)
		}
		stacks[th.Stack] = true
	}
	return nil
}

// maxPushed bounds the calls that an exception puts on a stack.
const maxPushed = 1 << 24

func validExceptions(list []pairing.Exception, addresses int) bool {
	for i := range list {
		x := &list[i]
		if int64(x.Row) >= sizes.Block || i > 0 && x.Row < list[i-1].Row {
			return false
		}
		total := uint64(0)
		for _, p := range x.Pushed {
			total += uint64(p.N)
			if total > maxPushed || int(p.Address) >= addresses {
				return false
			}
		}
	}
	return true
}
