// Package profile sums up calls: by function and thread ([Statistics]) and by call path
// ([CallTree]), with or without a predicate, and with durations from which the
// recorder's cost was taken ([Correct]).
//
// Its input is an [index.Index], which knows the totals of each address, in the log and in
// segments of it; they are used where they suffice (segments.go). Otherwise, where the log can give them and the predicate asks for no
// more, calls are gone over thread by thread, in parts of their streams, of which those are left out that
// no call is entered in at a time asked for (callpass.go). Else the
// rows are, in parallel ([query.Scan]), in
// stretches of blocks whose stacks are taken from the nodes of the index. What a part or a stretch
// cannot know by itself, because it depends on calls that were open before, is joined
// at the end.
//
// It holds that
//
//  1. the sums are those of the calls whose enters pass, each with its whole duration,
//     whatever the number of goroutines, and whether rows or calls are gone over, all of these or
//     some, or segments are asked (TestStatistics, TestCallTree, TestCallPass, TestRanges, TestSegmentStatistics),
//  2. time in a call made while another of its group is open counts once in
//     NonRecursive, and in the total of the tree's root and threads (TestCallTree),
//  3. corrected self times are those of the corrected durations, for calls that lie in
//     several stretches too (TestCorrected),
//  4. of spans of time calls count with the part that lies in them, also those that were
//     entered before (TestClip, TestClipAddsUp),
//  5. a tree of bounded size keeps the nodes with the greatest share of calls and time, and what it leaves out
//     is in the sums of the node that stands for it (TestCallTreeKeepsTheGreatest); however many
//     paths there are, which nodes it has depends on nothing but the log and the options, and
//     their numbers are those of the whole tree (TestBoundedTreeIsTheSame).
package profile
