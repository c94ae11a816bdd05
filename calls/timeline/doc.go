// Package timeline says what a time line shows of a log: the lanes of the threads
// ([Lanes]), and for a stretch of time and a number of pixels the calls as spans
// ([Timeline.Spans]), those too short to be seen merged.
//
// Its input is an [index.Index]. It looks at the summaries of groups of blocks, the
// nodes that reach out of them, and their longest calls, and reads blocks only where one
// is wider than two pixels.
//
// It holds that
//
//  1. a call of at least two pixels is a span of its own, and any other lies within a
//     span (TestTimeline),
//  2. what a picture takes depends on its pixels and depth, not on the length of the
//     log: blocks are read for a bounded time, and Finer says that more can be had
//     (TestTimeline, BenchmarkTimeline in calls),
//  3. a merged span is named by a call that lies within it (TestTimeline).
package timeline
