package pairing

import (
	"logparser/calls"
	"logparser/parser"
)

// leave closes what a leave closes, which has the statistics i.
func (p *pairer) leave(th *Thread, i uint32, e *parser.Event, row uint32) {
	p.see(i)
	p.touch(i)
	c := &p.stats[i]
	c.other++
	empty := len(th.frames) == 0
	if empty && th.top == NoNode {
		p.stray(row)
		return
	}
	if empty && !p.onNode(th) {
		th.pending = append(th.pending, pendingLeave{row: p.row0(row), time: e.Time, children: th.rest + th.below, ordinal: th.records, stats: i})
		th.rest, th.below = 0, 0
		th.depth--
		th.most = max(th.most, th.depth)
		th.top = outsideBit | uint32(len(th.pending))
		return
	}
	top := p.topStats(th)
	if top == i {
		p.closeTop(th, e.Time, row, calls.None)
		return
	}
	if c.open > 0 {
		p.closeDownTo(th, p.above(th, func(k uint32) bool { return k == i }), e.Time, row)
		return
	}
	c.absent = c.absent || !th.fresh
	if p.exact {
		p.stray(row)
		return
	}
	p.position = true
	if p.names == nil {
		p.closeTop(th, e.Time, row, calls.None)
		return
	}
	f, topf := p.function(i), p.function(top)
	if f == 0 || topf == 0 || f == topf {
		p.closeTop(th, e.Time, row, calls.None)
		return
	}
	above := p.aboveFunction(th, f)
	if p.failed {
		return
	}
	if above > 1 {
		p.closeDownTo(th, above, e.Time, row)
		return
	}
	p.except(Exception{Row: row, Kind: Tailed})
	p.closeTop(th, e.Time, row, calls.Tail)
}

// onNode reports whether the innermost call below the frames is a node that
// the pairer has.
func (p *pairer) onNode(th *Thread) bool {
	return th.top < p.bottom
}

func (p *pairer) stray(row uint32) {
	p.anomaly(calls.Stray)
	p.except(Exception{Row: row, Kind: Stray})
}

// topStats returns the statistics of the top call's address. The pairer knows the call.
func (p *pairer) topStats(th *Thread) uint32 {
	if n := len(th.frames); n > 0 {
		return th.frames[n-1].stats
	}
	return p.storage.statsOfNode(th, p.storage.node(th.top))
}

// nearCalls is how far a stack is searched for a function; beyond it the
// functions of the whole stack are counted first, so that leaves that match
// nothing cannot make the time quadratic. The counts are dropped at dropCalls.
const (
	nearCalls = 64
	dropCalls = nearCalls / 2
)

// above returns how many calls are above the nearest one that fits, or -1
// where there is none among those that the pairer knows.
func (p *pairer) above(th *Thread, fits func(stats uint32) bool) int {
	for k := len(th.frames) - 1; k >= 0; k-- {
		if fits(th.frames[k].stats) {
			return len(th.frames) - 1 - k
		}
	}
	n := len(th.frames)
	for i := th.top; i < p.bottom; n++ {
		nd := p.storage.node(i)
		if fits(p.storage.statsOfNode(th, nd)) {
			return n
		}
		i = nd.Parent
	}
	return -1
}

// aboveFunction returns how many calls are above the nearest one of a
// function, or -1.
func (p *pairer) aboveFunction(th *Thread, f calls.Function) int {
	near := 0
	found := p.above(th, func(stats uint32) bool {
		near++
		return near > nearCalls || p.function(stats) == f
	})
	if found >= 0 && near <= nearCalls {
		return found
	}
	return p.storage.aboveFar(th, f, found >= 0)
}

// gone takes a call from the counts.
func (p *pairer) gone(th *Thread, stats uint32) {
	p.stats[stats].open--
	if th.functions == nil {
		return
	}
	f := p.function(stats)
	if th.functions[f]--; th.functions[f] == 0 {
		delete(th.functions, f)
	}
	if th.depth+int32(len(th.frames)) <= dropCalls {
		th.functions = nil
	}
}

func (p *pairer) closeDownTo(th *Thread, above int, at int64, row uint32) {
	p.except(Exception{Row: row, Kind: Unwound, N: uint32(above)})
	for range above {
		p.forget(th, at, row)
	}
	p.closeTop(th, at, row, calls.None)
}

// forget takes the top call, which was left without a leave, from the stack.
func (p *pairer) forget(th *Thread, at int64, row uint32) {
	if n := len(th.frames) - 1; n >= 0 {
		f := th.frames[n]
		th.frames = th.frames[:n]
		if f.rowless() {
			th.rowless--
		} else {
			p.anomaly(calls.NoLeave)
		}
		p.gone(th, f.stats)
		return
	}
	i := th.top
	n := p.pop(th)
	if n.Rowless {
		th.rowless--
	} else {
		p.anomalies[calls.NoLeave]++
	}
	n.Anomaly = calls.NoLeave
	p.end(i, n, th, p.row0(row), at)
}

// pop takes a node from the top of a stack.
func (p *pairer) pop(th *Thread) *Node {
	n := p.storage.node(th.top)
	n.Children += th.below
	th.below = 0
	th.top = n.Parent
	th.depth--
	p.gone(th, p.storage.statsOfNode(th, n))
	return n
}

// end notes the end of a node's call.
func (p *pairer) end(i uint32, n *Node, th *Thread, row, at int64) {
	if n.Leave = row; !n.Ended {
		n.LeaveTime, n.Inside = at, th.records-n.Ordinal-1
	}
	p.storage.ended(i, n)
}

// closeTop pairs the leave at row of the block, of time at, with the top call.
func (p *pairer) closeTop(th *Thread, at int64, row uint32, m calls.Anomaly) {
	var d, children int64
	var i uint32
	rowless := false
	if n := len(th.frames) - 1; n >= 0 {
		f := th.frames[n]
		th.frames = th.frames[:n]
		if rowless = f.rowless(); !rowless {
			if d = calls.Elapsed(f.time, at); d >= p.longer {
				p.long(th, &f, row, at, th.depth+int32(n))
			}
		}
		i, children = f.stats, f.children
		p.gone(th, i)
		if n > 0 {
			th.frames[n-1].children += d
		} else {
			th.below += d
		}
	} else {
		id := th.top
		n := p.pop(th)
		i = p.storage.statsOfNode(th, n)
		if rowless = n.Rowless; !rowless {
			n.Anomaly = m
		}
		p.end(id, n, th, p.row0(row), at)
		if !rowless {
			d = n.Duration()
		}
		th.below = d
		children = n.Children
	}
	th.most = max(th.most, th.depth+int32(len(th.frames)))
	if rowless {
		th.rowless--
		p.anomaly(calls.NoEnter)
		return
	}
	if m != calls.None {
		p.anomaly(m)
	}
	p.summary.MaxDuration = max(p.summary.MaxDuration, d)
	p.touch(i)
	c := &p.stats[i]
	c.close(&p.histograms, d, children)
	if c.open == 0 && c.pending != uint32(len(th.pending)) {
		p.addBoundaryTime(th, i, d)
	}
}

// resume makes a thread's stack what the log says is open before an event.
func (p *pairer) resume(th *Thread, e *parser.Event, row uint32) {
	if e.Gap >= parser.CallsLeft {
		p.leftBefore(th, e, row)
	} else {
		p.storage.resume(th, e, row)
	}
}

// leftBefore takes in that an event says that calls were left before it.
func (p *pairer) leftBefore(th *Thread, e *parser.Event, row uint32) {
	x := Exception{Row: row, Kind: Resumed}
	for n := e.Gap - parser.CallsLeft + 1; n > 0; n-- {
		switch {
		case len(th.frames) > 0 || p.onNode(th):
			p.forget(th, e.Time, row)
		case th.top == NoNode:
			n = 1
			continue
		default:
			th.pending = append(th.pending, pendingLeave{row: p.row0(row), time: e.Time, children: th.rest + th.below, ordinal: th.records, left: true})
			th.rest, th.below = 0, 0
			th.depth--
			th.top = outsideBit | uint32(len(th.pending))
		}
		x.N++
	}
	if x.N > 0 {
		p.except(x)
	}
}
