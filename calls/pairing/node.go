package pairing

import "logparser/calls"

// NoNode stands for no node.
const NoNode = ^uint32(0)

// A Node is a call that was still open at the end of the block in which it was entered.
type Node struct {
	// Enter is the row of the enter, or, where that is missing, the row at
	// which the call was found to be open.
	Enter int64
	// Leave is the row at which the call ended, in whatever way; -1 before.
	Leave int64
	// EnterTime and LeaveTime are in nanoseconds of the log's clock, Children is the time
	// in nanoseconds that was spent in calls that it made.
	EnterTime, LeaveTime int64
	Children             int64
	// Ordinal is the number of the enter among the events of its stack, and
	// Inside that of the events between it and the leave.
	Ordinal, Inside int64
	// Address is its number in the [calls.Addresses], Thread the slot of its stack and
	// Parent the number of its caller's node, NoNode for an outermost call.
	Address uint32
	Thread  uint32
	Parent  uint32
	Depth   int32
	// Anomaly is None for a call that has not ended or has its leave, Tail where
	// that is one, NoLeave or Open.
	Anomaly calls.Anomaly
	// Rowless says that the enter is missing.
	Rowless bool
	// Ended says that LeaveTime is when the call's thread ended.
	Ended bool
}

// Timed reports whether both halves of the call are known.
func (n *Node) Timed() bool {
	return n.Leave >= 0 && !n.Rowless && (n.Anomaly == calls.None || n.Anomaly == calls.Tail)
}

// Duration returns the nanoseconds from the enter to the leave.
func (n *Node) Duration() int64 { return calls.Elapsed(n.EnterTime, n.LeaveTime) }
