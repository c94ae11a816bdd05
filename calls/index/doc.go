// Package index says of each record of a log what package calls says (its
// partner, depth, duration and anomaly), without keeping anything for each record.
// Packages query, profile and timeline ask it about many records at once.
//
// Its input is ranges of events in file order ([parser.Log]) and a
// [calls.Namer]; its output is an [Index]. The rules are those of package
// calls; the tests hold what an index says against internal/testlog/oracle.
//
// # What is kept
//
// Rows are counted from 0 over the chosen runs, and [BlockLen] of them are a
// block. A call that is still open at the end of the block in which it was
// entered is a node; most calls are none. For each thread that is active in a
// block the index has a checkpoint: the thread's innermost node before the
// block's first row (a node knows its caller), and how many events the thread
// had. And it has the exceptions: the rows that do not just enter a call or
// close the innermost one. With these a block is read again from the log and
// replayed by pushing and popping, without a name or a comparison of
// addresses ([Index.Fill]).
//
// Besides, blocks, and groups of 4, 16, 64... blocks, have a [Summary] and
// their longest calls, a node has a level, which says how many blocks it
// stretches over, and an address has totals with a histogram, in the log and in each
// segment of it (see segments.go).
//
// # How it is built
//
// Segments of the log are paired in parallel, each without knowing what is
// open before it, and then taken over in order; see parallel.go. What cannot
// be decided that way is paired again in order. The index grows with
// a live log ([Index.Extend]), and can be kept in a file ([Index.Keep], package indexcache), from
// which it goes on where the log has grown since ([Index.KeepGrown]). Beyond some 64 MB
// its memory is a temporary file.
//
// # What holds
//
//  1. The index says the same of every row as the oracle, whatever the sizes of blocks
//     and segments, and however it came to be: built at once, extended in steps, built
//     again with names, or taken from a file, and whether events come in order or thread
//     by thread (TestRandom, TestTrace, TestGrowth, TestKept, TestKeptGrown).
//  2. An address has the number of its first appearance, and keeps it (TestRandom,
//     TestKept).
//  3. What belongs to a block other than the last changes only in that open calls end
//     (TestGrowth).
//  4. A call that is open at the end of the block of its enter is a node, and a caller's
//     node has a lower number (TestRandom: differsNodes).
//  5. A group's summary has all that the summaries of its blocks have (TestRandom:
//     differsBlock).
//  6. A reader has one state of the index in a steady one, though it be built again
//     meanwhile (TestBuiltAgainUnderQueries in calls).
//  7. A segment's totals are those of the calls that are entered in it, and those that are left open at its
//     end are all that its totals lack (TestRandom: differsSegment).
//  8. A log or a file that is not what it was gives an error or answers, never a panic
//     or an endless loop (TestChangedLog in calls, FuzzFile, FuzzGrown).
package index
