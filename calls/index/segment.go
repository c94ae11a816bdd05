package index

import (
	"math"

	"logparser/calls"
	"logparser/parser"
)

// A segmentPairer pairs a segment that begins in the middle of a log. It knows of no
// open calls, and collects what it finds so that the core can take it over when it has
// come there. The calls that are open where the segment begins are its floor. It does
// without them as long as an event can be judged by those above, or takes from the floor
// one call at a time (see op); when it cannot it gives up.
type segmentPairer struct {
	pairer
	nodes  []node // their addresses are cells
	closed []uint32
	blocks []guess
}

func newSegmentPairer(names *names, exact bool, stacker parser.Stacker) *segmentPairer {
	p := &segmentPairer{}
	p.pairer = newPairer(p, floorBit, names, exact, stacker)
	return p
}

func (p *segmentPairer) openBlock() {
	p.blocks = append(p.blocks, guess{firstNode: uint32(len(p.nodes))})
}

func (p *segmentPairer) closeBlock() {
	b := &p.blocks[len(p.blocks)-1]
	b.active, b.exceptions = append([]visit(nil), p.active...), append([]exception(nil), p.exceptions...)
	b.cells, b.damaged = append([]uint32(nil), p.inBlock...), append([]damagedRow(nil), p.damaged...)
	b.summary, b.longest, b.owners = p.summary, p.longest, append([]uint32(nil), p.owners...)
}

func (p *segmentPairer) activated(th *thread) {
	if th.most = 0; !th.fresh {
		th.most = math.MinInt32
	}
}

// cellAdded has nothing to note: the core gives the number when it takes the segment over.
func (p *segmentPairer) cellAdded(uint32) {}

func (p *segmentPairer) nodeAddress(i uint32) uint32 { return i }

func (p *segmentPairer) node(i uint32) *node { return &p.nodes[i] }

func (p *segmentPairer) cellOf(_ *thread, n *node) uint32 { return n.address }

func (p *segmentPairer) keepNode(n node) uint32 {
	p.nodes = append(p.nodes, n)
	return uint32(len(p.nodes) - 1)
}

func (p *segmentPairer) ended(i uint32, _ *node) { p.closed = append(p.closed, i) }

func (p *segmentPairer) aboveFar(th *thread, f calls.Function, found bool) int {
	if found {
		p.failed = true
	} else if !th.fresh {
		th.absent = append(th.absent, f)
	}
	return -1
}

func (p *segmentPairer) resume(th *thread, e *parser.Event, row uint32) {
	// The floor ends with the thread that had the id before.
	if e.Gap == parser.ThreadBegins && th.records == 1 && !th.fresh {
		th.fresh, th.began, th.beganAt = true, p.row0(row), e.Time
		th.top = NoNode
		return
	}
	p.failed = true
}

// reset makes the pairer ready for another segment.
func (p *segmentPairer) reset() {
	old := p.pairer
	p.pairer = pairer{storage: p, bottom: floorBit, names: old.names, stacker: old.stacker, strands: old.strands[:0], owners: old.owners[:0], exact: old.exact, events: old.events, byID: old.byID, byCell: old.byCell,
		cells: old.cells[:0], functions: old.functions[:0], slabs: old.slabs[:1], floors: old.floors[:0],
		active: old.active[:0], inBlock: old.inBlock[:0], left: old.left[:0], stacks: old.stacks}
	p.nodes, p.closed, p.blocks = p.nodes[:0], p.closed[:0], p.blocks[:0]
	p.byID.reset(len(old.strands))
	p.byCell.reset(len(old.cells))
}
