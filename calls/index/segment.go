package index

import (
	"math"

	"logparser/calls"
	"logparser/parser"
)

// A segmentPairer pairs a segment that begins in the middle of a log. It knows of no
// open calls, and collects what it finds so that the core can take it over when it has
// come there. It does without the calls that are open where the segment begins as long as
// an event depends only on those above them, or closes one after the other of them (see
// pendingLeave); when it cannot it gives up.
type segmentPairer struct {
	pairer
	nodes  []node // what they have as addresses are indexes of stats
	closed []uint32
	blocks []segmentBlock
	// appeared has for each of stats a row by which they are put in the order in which the
	// addresses appear: the first, or that of its block where they were found in this order.
	appeared []int64
	order    []uint32 // see byAppearance
	// seen has bits for the statistics that events of the block have entered, and words says
	// where there are any.
	seen  []uint64
	words []uint32
}

func newSegmentPairer(names *names, exact bool, stacker parser.Stacker) *segmentPairer {
	p := &segmentPairer{}
	p.pairer = newPairer(p, outsideBit, names, exact, stacker)
	return p
}

func (p *segmentPairer) openBlock() {
	p.blocks = append(p.blocks, segmentBlock{firstNode: uint32(len(p.nodes))})
}

func (p *segmentPairer) closeBlock() {
	b := &p.blocks[len(p.blocks)-1]
	b.active, b.exceptions = append([]visit(nil), p.active...), append([]exception(nil), p.exceptions...)
	b.stats, b.damaged = append([]uint32(nil), p.inBlock...), append([]damagedRow(nil), p.damaged...)
	b.summary, b.longest, b.owners = p.summary, p.longest, append([]uint32(nil), p.owners...)
}

func (p *segmentPairer) activated(th *thread) {
	if th.most = 0; !th.fresh {
		th.most = math.MinInt32
	}
}

// The core gives the number when it takes the segment over.
func (p *segmentPairer) statsAdded(uint32) { p.appeared = append(p.appeared, p.appears) }

func (p *segmentPairer) nodeAddress(i uint32) uint32 { return i }

func (p *segmentPairer) node(i uint32) *node { return &p.nodes[i] }

func (p *segmentPairer) statsOfNode(_ *thread, n *node) uint32 { return n.address }

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
	// Calls that were open at the segment's start end with the thread that had the id
	// before.
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
	p.pairer = pairer{storage: p, bottom: outsideBit, names: old.names, stacker: old.stacker, strands: old.strands[:0], owners: old.owners[:0], exact: old.exact, events: old.events, byID: old.byID, byAddress: old.byAddress,
		stats: old.stats[:0], functions: old.functions[:0], octaves: old.octaves[:1], boundaryTimes: old.boundaryTimes[:0],
		active: old.active[:0], inBlock: old.inBlock[:0], left: old.left[:0], stacks: old.stacks}
	p.nodes, p.closed, p.blocks, p.appeared = p.nodes[:0], p.closed[:0], p.blocks[:0], p.appeared[:0]
	p.byID.reset(len(old.strands))
	p.byAddress.reset(len(old.stats))
}

// A segmentBlock is a block of a segment. Its exceptions lack those that depend on the
// calls that were open at the segment's start.
type segmentBlock struct {
	firstNode  uint32
	owners     []uint32
	active     []visit
	exceptions []exception
	stats      []uint32
	damaged    []damagedRow
	summary    Summary
	longest    longs
	unsorted   bool
}

// A pendingLeave is a leave that closes the innermost of the calls that were open at the
// segment's start and still are.
type pendingLeave struct {
	row, time int64
	// children is the time in calls made by that call in the segment.
	children int64
	ordinal  int64
	stats    uint32
	// left says that it is no leave, but that the call was left without one.
	left bool
	// What the core finds when the segment is merged.
	anomaly    calls.Anomaly
	byPosition bool
}

// A boundaryTime is inclusive time of an address, without recursion, that a segment
// cannot attribute yet, because another call of the address may have been open at the
// segment's start: the time of its calls until more than pending calls of those had
// been closed.
type boundaryTime struct {
	stats, pending uint32
	time           int64
}

// addBoundaryTime notes what the time of an address without recursion was before d was
// added, when calls that were open at the segment's start have been closed since it last
// grew.
func (p *pairer) addBoundaryTime(th *thread, i uint32, d int64) {
	c := &p.stats[i]
	p.boundaryTimes = append(p.boundaryTimes, boundaryTime{i, c.pending, c.time - d - c.recursive})
	c.pending = uint32(len(th.pending))
}
