// Package pairing makes calls of events: it says which enter and leave belong together, by the
// rules of package calls.
//
// Two types pair, and share the rules (rules.go). A [Sequential] begins at the log's first row
// and knows what is open. A [Segment] begins anywhere, knows of no open calls, and so can be
// paired beside others; the Sequential takes it over when it has come there
// ([Sequential.Merge]), or, where the Segment needed to know more, pairs its rows itself. The
// result is the same. Where a block has nothing out of the ordinary, a Segment takes its threads one after the other
// (threads.go), and asks for the few rows that it needs. A [parser.ThreadedLog] gives the calls of each thread by themselves; of
// other logs a splitter makes them of the block's events (split.go).
//
// What is found goes block by block into a [Store], which package index is: a call that is open
// at the end of the block of its enter is a [Node]; an event that does not just enter a call or
// close the innermost is an [Exception]; a block has a [Summary] and its [Longest] calls, a
// stack that is active in it a checkpoint, an address a [Sum]. Calls that begin and end within a
// block are only counted.
//
// None of the types but [Names] is safe for concurrent use, but a Segment may pair while its
// Sequential goes on. Whoever has them reads the log, holds the locks and starts the goroutines.
//
// # What holds
//
//  1. A Segment that is taken over leaves store and Sequential as if the Sequential had paired
//     its rows (TestMerge; TestRandom in calls/index holds both against the oracle).
//  2. A Segment that would have to know what was open says so, and is not taken over
//     (TestMerge: names, coroutines, missing events).
//  3. An address has the number of its first row in the log, however events come (TestMerge).
//  4. What was told of a block that has ended does not change but for nodes that end and sums
//     (TestMerge).
//  5. A Sequential that goes on from a [State] is the one that gave it (TestState).
package pairing
