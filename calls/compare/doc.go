// Package compare finds where the threads of two runs of a program part: the first event of a
// thread that is not the same in both.
//
// An event is the enter of a function, or a leave. Its input are two indexes ([index.Index]) and a
// number for the function of each address, alike in both; what time it was, on which thread id and
// at which address does not count. Threads are compared with threads ([Match] says which), never the
// order in which they took turns.
//
// A [Chain] says in a few bytes what a thread did: for each [ChainEvery] of its own events a hash
// over all of its events so far, with functions numbered by their first appearance on the thread. It is
// made in one pass over a log ([Chains]), can be kept ([Encode]), and is the same where the program
// lay at other addresses or was built again, so that a log that has its chains is compared
// with any other by a binary search ([FirstDivergence]).
//
// It holds that
//
//  1. the divergence is the first event at which the sequences of events of the two threads, with their
//     functions, differ, or at which one of them ends (TestFirstDivergence, against the plain
//     comparison of events), also where several addresses are of one function,
//  2. a chain depends on nothing but the thread's own events, and not on the numbers of its
//     addresses (TestChains),
//  3. chains that are read are those that were written, or none (TestEncode, FuzzDecode).
package compare
