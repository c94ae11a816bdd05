// Package index says of each record of a log what package calls says (its
// partner, depth, duration and mark), and answers questions about all of them,
// without keeping anything for each record.
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
// stretches over, and an address has totals with a histogram.
//
// # How it is built
//
// Segments of the log are paired in parallel, each without knowing what is
// open before it, and then taken over in order; see speculate.go. What cannot
// be judged that way is paired again in order. The index grows with a live log
// ([Index.Extend]), and can be kept in a file ([Index.Keep]), from which it goes
// on where the log has grown since ([Index.KeepGrown]). Beyond some 64 MB its
// memory is a temporary file.
package index
