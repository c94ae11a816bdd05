// Package query asks an index which rows there are: by predicates ([Predicate]) and
// sets, as views that can be paged through ([View]), as the next row or the stack of one
// ([Next], [Stack]), and which calls repeat what the ones before them did
// ([FindRepeats]).
//
// Its input is an [index.Index]. A predicate is compiled once for an index; then it
// decides groups of blocks by their summaries, and reads only the blocks of which these
// do not tell all ([Scan]). What it tests are columns of a block, 64 rows a word.
//
// It holds that
//
//  1. a predicate passes a row by what the oracle says of that row alone, whatever the
//     summaries allow to skip (TestPredicates),
//  2. a view has the rows that pass, but for those inside folded calls and repeats, by
//     rising row, and a row that was shown keeps its position while the log grows
//     (TestView, TestViewGrows),
//  3. what a query reads is one state of the index, though it be built again meanwhile
//     (TestBuiltAgainUnderQueries in calls),
//  4. what is left out as a repeat is what is left in, as often as is said
//     (TestRepeatsOfRandomLogs).
package query
