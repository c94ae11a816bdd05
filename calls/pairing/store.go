package pairing

// A Store keeps what a [Sequential] finds. A block's rows follow those of the block before,
// and what is told of the last block comes in the order of the methods here, but that
// Summarize may come more than once, each time with all that is known.
type Store interface {
	// BeginBlock begins the next block.
	BeginBlock()
	// Checkpoint notes that a stack is active in the last block: how many events it had before the block, and its top then. A
	// new stack is announced by the first checkpoint of its slot.
	Checkpoint(slot uint32, records int64, top uint32)
	// Summarize adds to the summary of the last block.
	Summarize(s *Summary)
	// EndBlock ends the last block, with its longest calls but those that have nodes, and its
	// exceptions by rising rows. Both are the caller's.
	EndBlock(longest *Longest, exceptions []Exception)

	// AddNode adds a node, which is of the last block, and returns its number: they are
	// counted from 0.
	AddNode(n Node) uint32
	// Nodes returns how many there are.
	Nodes() int
	// Node returns a node, which stays where it is and is changed there.
	Node(i uint32) *Node
	// Ended notes that the call of a node has ended, as it says.
	Ended(i uint32, n *Node)
	// EndedWithout notes that the call of a node has ended without a leave, and that it is
	// known when: with its run or its thread.
	EndedWithout(i uint32)

	// AddSum adds to the totals of an address.
	AddSum(address uint32, s *Sum)
}
