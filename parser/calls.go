package parser

import "math"

// A CalledLog is a log that says of each leave which call it ends, so that it can give the
// calls of each thread by themselves: that takes less than to pair events.
type CalledLog interface {
	// Calls returns what reads the log's calls. It is nil where they are not to be had
	// that way, and where the log has not just so many records.
	Calls(records int64) CallSource
}

// A CallSource reads calls, any number of readers at once. What it says is about the log
// as it was when the source was made.
type CallSource interface {
	// Parts divides the calls for several readers. It is shared: do not change it.
	Parts() []CallPart
	// Reader returns a reader. describe is asked about each distinct address once, or now
	// and then again.
	Reader(describe func(address uint64, space uint16) CallAddress) CallReader
}

// A CallPart is some of the events of a stream; streams have the events of one thread, and
// those of a thread that several have follow each other.
type CallPart struct {
	// Stream is the number of the stream: its parts are neighbours in order of time.
	Stream int
	// Thread is the events' Event.Thread.
	Thread uint32
	// From and To are the numbers of events in the stream, the first included.
	From, To int64
	// First and Last are times in nanoseconds: no event of the part is before First or behind Last.
	First, Last int64
}

// NoCallGroup is the group of addresses that are in none.
const NoCallGroup = ^uint32(0)

// A CallAddress is what calls of an address have.
type CallAddress struct {
	ID uint32
	// Group is for Call.Recursive. Groups are numbered without great gaps.
	Group uint32
	// Marks are bits for Call.Marks.
	Marks uint8
	// Counts says which calls of it a CallFold counts.
	Counts FoldCounts
}

// FoldCounts say whether calls of an address count.
type FoldCounts uint8

const (
	// CountsOutside: those count that have none of the marks of CallFold.Marks, or of CallLimits.Inside.
	CountsOutside FoldCounts = 1 << iota
	// CountsInside: those count that have one of them.
	CountsInside
)

// A Call is one that has ended. Times are in nanoseconds.
type Call struct {
	Enter int64
	// Duration is -1 of a call that was left without a leave, and Self is what was not
	// spent in calls that it made.
	Duration, Self int64
	ID             uint32 // of its address
	Depth          int32  // counted from 0
	// Marks are those of its address and of the calls that it was made in.
	Marks uint8
	// Recursive says that another call of its group was open when it was made. It has no meaning
	// for a call whose group is NoCallGroup.
	Recursive bool
	// OutermostCounts says of a call that stands for several, see Folded, that it counts itself.
	OutermostCounts bool
	// Folded is 0, or it says that this stands for a call and all that were made in it, of which so
	// many count (see CallFold). Self is the sum of these, and Duration that of the outermost of them.
	Folded uint32
}

// An OpenFrame is a call that has not ended.
type OpenFrame struct {
	// Enter and Children are in nanoseconds; Children is the time in calls that it made. Of a
	// call that was entered before the part Enter is not known, and Children is what comes
	// to it in the part.
	Enter, Children int64
	ID, Group       uint32
	// Number and New are for the reader that made it.
	Number    uint32
	Marks     uint8
	Recursive bool
	New       bool
}

// An EndedFrame is a call that was entered before a part of the log and ended in it.
type EndedFrame struct {
	// Children is the time that it spent in calls, as far as these ended in the part.
	Children int64
	Leave    int64
	// Left says that it was left without a leave.
	Left bool
}

// CallLimits say which calls are asked for. A reader may leave out others that have ended with a leave.
type CallLimits struct {
	// First and Last are the times, in nanoseconds, between which calls are entered, both in the range.
	First, Last int64
	// Deepest is their greatest depth.
	Deepest int32
}

// NoCallLimits returns the limits within which all calls are.
func NoCallLimits() CallLimits {
	return CallLimits{First: math.MinInt64, Last: math.MaxInt64, Deepest: math.MaxInt32}
}

// A CallFold has a reader sum up calls that are not asked for one by one. A reader may do that, or return
// them as others.
type CallFold struct {
	// Nodes says which calls these are.
	Nodes CallNodes
	// Calls are summed up that are entered from First to Last, in nanoseconds. Of these those count that have at least the depth
	// Shallowest; all of them, if All says so, or, of those with one of Marks, AllInside, otherwise those of which CallAddress.Counts says
	// so by Marks.
	All         bool
	AllInside   bool
	Marks       uint8
	Shallowest  int32
	First, Last int64
}

// FoldAll returns the CallFold that counts all calls, without nodes.
func FoldAll() CallFold {
	return CallFold{All: true, First: math.MinInt64, Last: math.MaxInt64}
}

// CallNodes are nodes that the open calls of a reader have for its caller.
type CallNodes interface {
	// Node returns the node of a call of an address that a call of a depth makes, 0 for the outermost calls, which have no caller. It is
	// NoCallNode where it is not known. folds says that the call and those that are made in it are to be summed up.
	Node(depth int, caller int32, id uint32) (node int32, folds bool)
}

// NoCallNode is no node.
const NoCallNode = int32(-1)

// A CallReader reads the calls of a part after the other.
type CallReader interface {
	// Limit says which calls are asked for in the parts that are begun from then on. Without it all are.
	Limit(l CallLimits)
	// Fold has the reader sum up calls from then on. Without it, and with nil, it does not.
	Fold(f *CallFold)
	// Begin goes to a part. It is not ok where that cannot be read as calls; then the whole
	// source is of no use.
	Begin(part *CallPart) (ok bool)
	// Next fills calls with the next ones that end, in this order. Folded and OutermostCounts of those
	// that stand for themselves are left as they are. Where a call ends that was
	// entered before the part it comes alone, as ended: it is the innermost of those that
	// are. Neither calls nor one that ended come at the part's end.
	Next(calls []Call) (n int, ended *EndedFrame, ok bool)
	// Open returns the calls that are open behind those that Next returned, outermost first,
	// and how many of them were open all through the last Next. It is good until the next
	// call of a method.
	Open() (open []OpenFrame, kept int)
}
