package pairing

import (
	"context"
	"iter"
	"math"

	"logparser/calls"
	"logparser/calls/internal/sizes"
	"logparser/parser"
)

// A Segment pairs a segment that begins in the middle of a log. It knows of no
// open calls, and collects what it finds so that a [Sequential] can take it over when it has
// come there. It does without the calls that are open where the segment begins as long as
// an event depends only on those above them, or closes one after the other of them (see
// pendingLeave); when it cannot it gives up.
type Segment struct {
	pairer
	log      parser.Log
	threaded parser.ThreadedLog // nil if the log is none
	nodes    []Node             // what they have as addresses are indexes of stats
	closed   []uint32
	blocks   []segmentBlock
	// appeared has for each of stats a row by which they are put in the order in which the
	// addresses appear: the first, or that of its block where they were found in this order.
	appeared []int64
	order    []uint32 // see byAppearance
	// sums are by the numbers that a parser.ThreadReader has for addresses. seen is 1 for those that calls of the block have been
	// added to, 0 for the rest. Its length is a multiple of 8.
	sums []numberSum
	seen []byte
	// inner is the time spent in calls by depth, of those whose caller has not ended. Between threads it is 0.
	inner []int64
}

// NewSegment returns a Segment that s can take over. It may be used while s goes on.
func (s *Sequential) NewSegment() *Segment {
	p := &Segment{log: s.log, threaded: s.can.ThreadedLog}
	p.pairer = newPairer(p, outsideBit, s.names, s.exact, s.stacker)
	return p
}

// maxRefused is how many blocks one after the other may not be ordinary before the rest
// of a segment is read in order.
const maxRefused = 8

// Pair pairs the rows from (inclusive) to to (exclusive), whole blocks of a run, of which the
// first is a record of the log. What the Segment had found before is forgotten.
func (p *Segment) Pair(ctx context.Context, run int, from, to, record int64) error {
	p.reset()
	p.row, p.number = from, run
	if p.events == nil {
		p.events = make([]parser.Event, sizes.MaxBlock)
	}
	var threads parser.ThreadReader
	refused := 0
	if p.threaded != nil && p.exact {
		threads = p.threaded.ReadThreads(record)
	}
	for p.row < to && !p.failed {
		if err := ctx.Err(); err != nil {
			return err
		}
		if threads != nil {
			if p.pairThreads(threads) {
				refused = 0
				continue
			}
			if refused++; refused == maxRefused {
				threads = nil
			}
		}
		// The whole block, so that its threads may be paired from the next one on.
		events := p.events[:min(sizes.Block, to-p.row)]
		if _, err := parser.ReadFull(p.log.ReadEvents, events, record+p.row-from); err != nil {
			return err
		}
		if p.row == from && p.threaded == nil && p.stacker == nil && surprising(events) {
			threads = newSplitter(p.log, record+int64(len(events)))
		}
		p.add(events)
	}
	p.addNumbered()
	return nil
}

// Failed reports whether an event depends on calls that were open before: the rows are to be
// paired by a [Sequential].
func (p *Segment) Failed() bool { return p.failed }

// Sums returns what the calls come to that are entered and left in the segment, once for each thread, with the number that the address has in
// the Sequential that has taken the Segment over. They are valid until the next Pair.
func (p *Segment) Sums() iter.Seq2[uint32, *Sum] {
	return func(yield func(uint32, *Sum) bool) {
		for i := range p.stats {
			sum := p.stats[i].sum(&p.histograms)
			if !yield(p.stats[i].number, &sum) {
				return
			}
		}
	}
}

// LeftOpen returns the numbers of the nodes of calls that are entered in a Segment and open at its end, when the Sequential has just taken it
// over. from is the segment's first row.
func (s *Sequential) LeftOpen(from int64) []uint32 {
	var list []uint32
	for _, th := range s.Live() {
		for i := th.top; i != NoNode; {
			n := s.node(i)
			if n.Enter < from {
				break
			}
			if !n.Rowless {
				list = append(list, i)
			}
			i = n.Parent
		}
	}
	return list
}

func (p *Segment) openBlock() {
	p.blocks = append(p.blocks, segmentBlock{firstNode: uint32(len(p.nodes))})
}

func (p *Segment) closeBlock() {
	b := &p.blocks[len(p.blocks)-1]
	b.active, b.exceptions = append([]visit(nil), p.active...), append([]Exception(nil), p.exceptions...)
	b.stats, b.damaged = append([]uint32(nil), p.inBlock...), append([]damagedRow(nil), p.damaged...)
	b.summary, b.longest, b.owners = p.summary, p.longest, append([]uint32(nil), p.owners...)
}

func (p *Segment) activated(th *Thread) {
	if th.most = 0; !th.fresh {
		th.most = math.MinInt32
	}
}

// The Sequential gives the number when it takes the segment over.
func (p *Segment) statsAdded(uint32) { p.appeared = append(p.appeared, p.appears) }

func (p *Segment) nodeAddress(i uint32) uint32 { return i }

func (p *Segment) node(i uint32) *Node { return &p.nodes[i] }

func (p *Segment) statsOfNode(_ *Thread, n *Node) uint32 { return n.Address }

func (p *Segment) keepNode(n Node) uint32 {
	p.nodes = append(p.nodes, n)
	return uint32(len(p.nodes) - 1)
}

func (p *Segment) ended(i uint32, _ *Node) { p.closed = append(p.closed, i) }

func (p *Segment) aboveFar(th *Thread, f calls.Function, found bool) int {
	if found {
		p.failed = true
	} else if !th.fresh {
		th.absent = append(th.absent, f)
	}
	return -1
}

func (p *Segment) resume(th *Thread, e *parser.Event, row uint32) {
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
func (p *Segment) reset() {
	old := p.pairer
	p.pairer = pairer{storage: p, bottom: outsideBit, names: old.names, stacker: old.stacker, strands: old.strands[:0], owners: old.owners[:0], exact: old.exact, events: old.events, byID: old.byID, byAddress: old.byAddress,
		stats: old.stats[:0], functions: old.functions[:0], histograms: old.histograms, boundaryTimes: old.boundaryTimes[:0],
		active: old.active[:0], inBlock: old.inBlock[:0], left: old.left[:0], stacks: old.stacks}
	p.nodes, p.closed, p.blocks, p.appeared = p.nodes[:0], p.closed[:0], p.blocks[:0], p.appeared[:0]
	p.byID.Reset(len(old.strands))
	p.byAddress.Reset(len(old.stats))
	p.histograms.reset()
	p.sums = p.sums[:0]
	clear(p.inner)
}

// A segmentBlock is a block of a segment. Its exceptions lack those that depend on the
// calls that were open at the segment's start.
type segmentBlock struct {
	firstNode  uint32
	owners     []uint32
	active     []visit
	exceptions []Exception
	stats      []uint32
	damaged    []damagedRow
	summary    Summary
	longest    Longest
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
	// What the Sequential finds when the segment is merged.
	anomaly    calls.Anomaly
	byPosition bool
}

// A boundaryTime is inclusive time of an address, without recursion, that a segment
// cannot attribute yet, because another call of the address may have been open at the
// segment's start: the time of its calls until more than pending calls of those had
// been closed.
type boundaryTime struct {
	// before is 1 + the index of the one before of the address, which has fewer pending calls, 0 for none.
	before, pending uint32
	time            int64
}

// addBoundaryTime notes what the time of an address without recursion was before d was
// added, when calls that were open at the segment's start have been closed since it last
// grew.
func (p *pairer) addBoundaryTime(th *Thread, i uint32, d int64) {
	c := &p.stats[i]
	p.boundaryTimes = append(p.boundaryTimes, boundaryTime{c.boundary, c.pending, c.time - d - c.recursive})
	c.boundary, c.pending = uint32(len(p.boundaryTimes)), uint32(len(th.pending))
}
