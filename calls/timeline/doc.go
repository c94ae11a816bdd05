// Package timeline says what a time line shows of a log: the lanes of the threads
// ([Lanes]), and for a stretch of time and a number of pixels the calls as spans
// ([Timeline.Spans]), those too short to be seen merged.
//
// Its input is an [index.Index]. It looks at the summaries of groups of blocks, the
// nodes that reach out of them, and their longest calls, and reads blocks where one
// is wider than two pixels, and of groups that are narrower a few.
//
// It holds that
//
//  1. a call of at least two pixels is a span of its own, and any other lies within a
//     span (TestTimeline),
//  2. what a picture takes depends on its pixels and depth, not on the length of the
//     log: blocks are read for a bounded time, and Finer says that more can be had
//     (TestTimeline, BenchmarkTimeline in calls),
//  3. a merged span begins within one pixel, unless its neighbours are of the same function,
//     and is named by the function that took most time of it, of those four that did in each block
//     or group that was read (TestTimeline).
package timeline
