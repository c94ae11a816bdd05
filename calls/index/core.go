package index

import (
	"math"
	"sort"
	"sync"
	"sync/atomic"

	"logparser/calls"
	"logparser/calls/internal/sizes"
	"logparser/calls/pairing"
	"logparser/parser"
)

// A core is what one Build makes, and Extend goes on with. Its lock is held by
// whoever adds to it, and shared by readers.
type core struct {
	mu   sync.RWMutex
	log  parser.Log
	can  parser.Capabilities
	rows atomic.Pointer[calls.Layout]
	// steady is an index of this core.
	steady *Index
	memory
	addresses *calls.Addresses
	// counted is how many rows an earlier build has already counted in the addresses.
	counted int64
	// version changes with anything that a reader may see.
	version atomic.Uint64

	// pairs makes the calls of the events; the core is its store.
	pairs *pairing.Sequential
	named bool // it has names

	nodes  array[pairing.Node]
	levels levels
	// groups has the summaries of the blocks, then those of groups of 4
	// blocks, of 16 and so on; longs the longest calls of each.
	groups []array[Summary]
	longs  []array[pairing.Longest]
	places array[place]
	visits array[checkpoint]
	// texts has the encoded exceptions of all complete blocks; see exceptionsOf.
	texts  array[byte]
	text   []byte
	events []parser.Event // for pairAgain
	totals totals
	// segments are those that have totals of their own: segmentText has these, and leftOpen the numbers of the nodes of calls that are open at
	// their ends.
	segments    array[keptSegment]
	segmentText array[byte]
	leftOpen    array[uint32]
	// stacks are by slot; there may be fewer than the pairer has.
	stacks []stack
	// leaveless are the nodes of calls that have ended without a leave at a known time: with their run or
	// their thread.
	leaveless []uint32
	knownOpen atomic.Pointer[knownOpen]
}

// A place says where what belongs to a block begins: in core.nodes the calls
// that were entered in it, in core.visits and in core.texts.
type place struct {
	text, visit int64
	node        uint32
	_           uint32
}

// A checkpoint is the state of a thread that is active in a block before the
// block's first row.
type checkpoint struct {
	records int64
	thread  uint32
	top     uint32
}

// A stack says in which blocks a stack of calls is active. first is the first row of the first such block, always
// if there is none. visits has the indexes of its checkpoints in core.visits.
type stack struct {
	first  int64
	visits []uint32
}

// always is later than all times, and behind all rows.
const always = math.MaxInt64

func newCore(log parser.Log, l *calls.Layout, addresses *calls.Addresses, counted int64, names *pairing.Names) *core {
	c := &core{log: log, can: log.Capabilities(), addresses: addresses, counted: counted, totals: newTotals(), named: names != nil}
	c.rows.Store(l)
	c.pairs = pairing.NewSequential(log, addresses, names, c, func(row int64) int64 {
		_, record := c.layout().Position(row)
		return record
	})
	c.giveBack()
	return c
}

func (c *core) layout() *calls.Layout { return c.rows.Load() }

func (c *core) blockCount() int { return c.places.len() }

// BeginBlock adds a block, and the groups that begin with it.
func (c *core) BeginBlock() {
	k := c.blockCount()
	*c.places.add(&c.memory) = place{text: int64(c.texts.len()), visit: int64(c.visits.len()), node: uint32(c.nodes.len())}
	for level := 0; ; level++ {
		if level == len(c.groups) {
			// One more level, whose first group begins with what there is.
			c.groups, c.longs = append(c.groups, array[Summary]{}), append(c.longs, array[pairing.Longest]{})
			c.addGroup(level)
			if level > 0 {
				c.join(level)
			}
		} else if k&(1<<(2*level)-1) == 0 {
			c.addGroup(level)
		}
		if k>>(2*level) == 0 {
			return
		}
	}
}

func (c *core) addGroup(level int) {
	*c.groups[level].add(&c.memory) = pairing.EmptySummary()
	c.longs[level].add(&c.memory)
}

// join makes the first group of a new level out of the first group of the level below, which is complete: its
// second group has just begun.
func (c *core) join(level int) {
	c.groups[level].at(0).Merge(c.groups[level-1].at(0))
	*c.longs[level].at(0) = *c.longs[level-1].at(0)
}

// Checkpoint notes the state of a stack that becomes active in the last block.
func (c *core) Checkpoint(slot uint32, records int64, top uint32) {
	for int(slot) >= len(c.stacks) {
		c.stacks = append(c.stacks, stack{first: always})
	}
	s := &c.stacks[slot]
	s.first = min(s.first, int64(c.blockCount()-1)*sizes.Block)
	s.visits = append(s.visits, uint32(c.visits.len()))
	*c.visits.add(&c.memory) = checkpoint{records, slot, top}
}

// Summarize adds a summary to the last block and its groups.
func (c *core) Summarize(s *Summary) {
	block := c.blockCount() - 1
	for level := range c.groups {
		c.groups[level].at(block >> (2 * level)).Merge(s)
	}
}

// EndBlock adds the longest calls that end in the last block to it and its groups, and keeps its
// exceptions.
func (c *core) EndBlock(longest *pairing.Longest, exceptions []pairing.Exception) {
	block := c.blockCount() - 1
	for level := range c.groups {
		c.longs[level].at(block >> (2 * level)).Merge(longest)
	}
	c.text = appendExceptions(c.text[:0], exceptions)
	c.texts.append(&c.memory, c.text)
}

// Nodes returns the number of nodes.
func (c *core) Nodes() int { return c.nodes.len() }

// Node returns a node by its number.
func (c *core) Node(i uint32) *pairing.Node { return c.nodes.at(int(i)) }

// AddNode adds a node.
func (c *core) AddNode(n pairing.Node) uint32 {
	i := uint32(c.nodes.len())
	*c.nodes.add(&c.memory) = n
	c.levels.add(&c.memory, levelOfNode(&n))
	return i
}

// Ended takes in the end of a node's call.
func (c *core) Ended(i uint32, n *pairing.Node) {
	c.levels.set(int(i), levelOfNode(n))
	c.note(n)
}

// EndedWithout notes that a node has ended without a leave, and it is known when.
func (c *core) EndedWithout(i uint32) { c.leaveless = append(c.leaveless, i) }

// AddSum adds to the totals and counts of an address.
func (c *core) AddSum(address uint32, sum *pairing.Sum) {
	if sum.Records != 0 && c.pairs.Row() > c.counted {
		c.addresses.Count(int(address), sum.Records)
	}
	c.totals.add(address, sum)
}

// note enters the longest duration, or the anomaly, of an ended call into the groups that it lies in.
func (c *core) note(n *pairing.Node) {
	enter, leave, level := int(n.Enter/sizes.Block), int(n.Leave/sizes.Block), levelOfNode(n)
	switch {
	case n.Rowless:
	case n.Timed():
		d := n.Duration()
		for l := range c.groups {
			g := c.groups[l].at(enter >> (2 * l))
			if g.MaxDuration >= d {
				break
			}
			g.MaxDuration = d
		}
		if d == 0 {
			return
		}
		for l := int(level) + 1; l < len(c.longs); l++ {
			if to := c.longs[l].at(leave >> (2 * l)); d >= to.Least() {
				to.Add(Long{
					Enter: n.Enter, Leave: n.Leave, EnterTime: n.EnterTime, LeaveTime: n.LeaveTime,
					Address: n.Address, Thread: n.Thread, Depth: n.Depth,
				})
			}
		}
	default:
		for l := range c.groups {
			g := c.groups[l].at(enter >> (2 * l))
			if g.Anomalies>>n.Anomaly&1 != 0 {
				break
			}
			g.Anomalies |= 1 << n.Anomaly
		}
	}
}

// exceptionsOf returns the exceptions of a block by rising rows.
func (c *core) exceptionsOf(k int) []pairing.Exception {
	if k == c.blockCount()-1 {
		if list, _, ok := c.pairs.Unfinished(); ok {
			return list
		}
	}
	from, to := c.places.at(k).text, int64(c.texts.len())
	if k+1 < c.blockCount() {
		to = c.places.at(k + 1).text
	}
	return parseExceptions(int(to-from), func(i int) byte { return *c.texts.at(int(from) + i) })
}

// visitsOf returns where the checkpoints of a block lie in c.visits.
func (c *core) visitsOf(k int) (from, to int) {
	to = c.visits.len()
	if k+1 < c.blockCount() {
		to = int(c.places.at(k + 1).visit)
	}
	return int(c.places.at(k).visit), to
}

// nodesOf returns the numbers of the nodes that were entered in a block.
func (c *core) nodesOf(k int) (from, to int) {
	to = c.nodes.len()
	if k+1 < c.blockCount() {
		to = int(c.places.at(k + 1).node)
	}
	return int(c.places.at(k).node), to
}

// topOf returns the top of the stack of a slot before the first row of a block.
func (c *core) topOf(k int, slot uint32) uint32 {
	if k >= c.blockCount() || int(slot) >= len(c.stacks) {
		return c.pairs.Stack(slot).Top()
	}
	from, _ := c.visitsOf(k)
	visits := c.stacks[slot].visits
	i := sort.Search(len(visits), func(i int) bool { return int(visits[i]) >= from })
	if i == len(visits) {
		return c.pairs.Stack(slot).Top()
	}
	return c.visits.at(int(visits[i])).top
}
