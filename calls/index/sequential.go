package index

import (
	"logparser/calls"
	"logparser/parser"
)

// The core as the storage of its pairer: it knows all stacks, so that what each event
// does is known at once, and goes into its arrays.

func (c *core) activated(th *thread) {
	th.most = 0
	c.visit(th)
}

func (c *core) statsAdded(i uint32) {
	l := &c.stats[i]
	l.number = uint32(c.addresses.Add(c.number, uint16(l.key), l.address))
}

func (c *core) nodeAddress(i uint32) uint32 { return c.stats[i].number }

func (c *core) node(i uint32) *node { return c.nodes.at(int(i)) }

func (c *core) statsOfNode(th *thread, n *node) uint32 {
	a := c.addresses.At(int(n.address))
	return c.statsOf(th, a.Space, a.Value)
}

func (c *core) aboveFar(th *thread, f calls.Function, found bool) int {
	if !found {
		return -1
	}
	if th.functions == nil {
		th.functions = make(map[calls.Function]uint32)
		c.above(th, func(stats uint32) bool {
			th.functions[c.function(stats)]++
			return false
		})
	}
	if th.functions[f] == 0 {
		return -1
	}
	return c.above(th, func(stats uint32) bool { return c.function(stats) == f })
}

// maxOuter bounds the calls of which nothing is known that are put on a stack.
const maxOuter = 1 << 16

func (c *core) resume(th *thread, e *parser.Event, row uint32) {
	if e.Gap == parser.ThreadBegins && int(th.depth)+len(th.frames) > 0 {
		c.makeNodes()
		c.endThread(th, e.Time, th.records-1)
	}
	var open []parser.OpenCall
	outer := 0
	if c.can.Resumer != nil && e.Gap == parser.EventsMissing {
		_, record := c.layout().Position(c.row0(row))
		var err error
		if open, outer, err = c.can.Resumer.OpenCalls(record); err != nil {
			// The leaves of these calls will be strays.
			open, outer = nil, 0
		}
	}
	outer = min(outer, maxOuter)
	x := exception{row: row, kind: resumed}
	for {
		depth := int(th.depth) + len(th.frames)
		i := depth - 1 - outer
		if depth == 0 || i < 0 {
			break
		}
		if i < len(open) {
			if a := &c.stats[c.topStats(th)]; a.address == open[i].Address && (uint16(a.key)^open[i].Space)&1 == 0 {
				break
			}
		}
		c.forget(th, e.Time, row)
		x.n++
	}
	for i := int(th.depth) + len(th.frames) - outer; i < len(open); i++ {
		var o parser.OpenCall
		if i >= 0 {
			o = open[i]
		}
		k := c.statsOf(th, o.Space, o.Address)
		c.touch(k)
		c.stats[k].open++
		if th.functions != nil {
			th.functions[c.function(k)]++
		}
		c.push(th, frame{time: e.Time, ordinal: th.records - 1, row: row | noRow, stats: k})
		th.rowless++
		if n := len(x.pushed) - 1; n >= 0 && x.pushed[n].address == c.stats[k].number {
			x.pushed[n].n++
		} else {
			x.pushed = append(x.pushed, pushed{1, c.stats[k].number})
		}
	}
	if x.n > 0 || x.pushed != nil {
		c.except(x)
	}
}

// maxStats is how many statistics of addresses a core keeps at first that may be of no
// more use.
var maxStats = 1 << 18

// prune forgets the statistics of addresses that are on no stack when there are many; the
// totals have them. No frame may be left.
func (c *core) prune() {
	c.limit = max(c.limit, maxStats)
	if len(c.stats) < c.limit {
		return
	}
	c.addTotals()
	kept := c.stats[:0]
	c.dirty = c.dirty[:0]
	for i := range c.stats {
		if c.stats[i].open > 0 {
			if c.stats[i].touched {
				c.dirty = append(c.dirty, uint32(len(kept)))
			}
			kept = append(kept, c.stats[i])
		}
	}
	c.stats = kept
	c.functions = c.functions[:0]
	c.limit = max(maxStats, 2*len(kept))
	c.rehash()
}
