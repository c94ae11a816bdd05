package index

import (
	"logparser/calls"
	"logparser/calls/internal/sizes"
	"logparser/calls/pairing"
	"logparser/parser"
)

// BlockLen is the number of rows of a block, of which the last may have fewer.
const BlockLen = sizes.MaxBlock

// Columns says which columns of a [Block] are wanted.
type Columns uint16

const (
	// Times is the events' times.
	Times Columns = 1 << iota
	// Threads is the slots of the stacks; a thread has one of its own.
	Threads
	// Addresses is the numbers of the addresses.
	Addresses
	// Kinds is enter, leave or damaged.
	Kinds
	// Depths is the depths as [calls.Record] has them.
	Depths
	// Pairs is partners, durations and anomalies.
	Pairs
	// Durations is the durations alone, which are to be had sooner.
	Durations
	// Insides is how many events each call's stack had in it, as [Index.ReadInside]
	// has them.
	Insides
	// Selves is the time of each call that was not spent in calls that it
	// made, on both of its rows.
	Selves
	// Owners is the slots of the events' threads, whatever stack they are on.
	Owners
)

// NoNode stands for no node, NoThread for the thread of a damaged record that
// no thread is known for.
const (
	NoNode   = pairing.NoNode
	NoThread = ^uint32(0)
)

// A Block is the rows of one block in columns, each of N elements. Only the
// columns that were asked for mean something. It may be filled again and
// again, and is not safe for concurrent use.
type Block struct {
	// First is the row of element 0.
	First int64
	N     int

	// Time is in nanoseconds of the log's clock.
	Time []int64
	// Thread is the slot of the stack, which a thread has of its own; see [Index.ThreadID].
	// Owner is that of the thread's own stack, whatever stack the event is on.
	Thread, Owner []uint32
	// Address is the number of the address in [Index.AddressTable]. A damaged
	// record's has no meaning.
	Address []uint32
	Kind    []parser.Kind
	Depth   []int32
	// Partner is the row of the other half, or calls.NoPartner.
	Partner []int64
	// Duration is in nanoseconds, or calls.NoDuration. Of a call that no leave has
	// closed it is, on the enter, the time until its run or thread ended, unless the
	// program may still be writing.
	Duration []int64
	Anomaly  []calls.Anomaly
	Inside   []int64
	Self     []int64
	// OpenRuns is filled with the depths.
	OpenRuns []OpenRun

	owner []uint32 // memory for Owner
}

// An OpenRun is so many calls of one address that turned out to be open at a row, the
// outermost of which has the depth: their enters are missing. What the thread had
// open of that depth and more had ended.
type OpenRun struct {
	Row, Depth, N   int32 // Row is that of the block
	Thread, Address uint32
}

// A Node is a call that was still open at the end of the block in which it was
// entered.
type Node struct {
	// Enter is its row, -1 where its enter is missing from the log; Leave the
	// row of its leave, -1 while it is open and where it was left without one.
	Enter, Leave int64
	// EnterTime and LeaveTime are in nanoseconds of the log's clock. The time
	// of a call left without a leave is that at which this became known, of an
	// open call that at which its run ended, as far as the log tells.
	EnterTime, LeaveTime int64
	// Children is the time in nanoseconds that was spent in calls that it made.
	Children int64
	// Ordinal is the number of its enter among its thread's events, and Inside
	// that of the thread's events after it, but for its leave; without a leave
	// up to where LeaveTime is.
	Ordinal, Inside int64
	Address         uint32
	Thread          uint32
	Parent          uint32 // NoNode for an outermost call
	Depth           int32
	Anomaly         calls.Anomaly
	// Ended says that LeaveTime is when the call ended, though no leave says so: its
	// thread ended then. Its anomaly is NoLeave.
	Ended bool
}

// A Summary describes a block, or a group of blocks.
type Summary = pairing.Summary

// A Long is one of the longest calls that end in a block or a group.
type Long = pairing.Long
