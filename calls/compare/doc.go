// Package compare finds where the threads of two runs of a program part: the first event of a
// thread that is not the same in both.
//
// An event is the enter of a function, or a leave. The input is two indexes ([index.Index]) and, for
// each address, the number of its function, which is the same in both for the same function. Times,
// thread ids and addresses do not count. Each thread is compared with one thread of the other run
// ([Match] says which); in which order threads ran is not compared.
//
// A [Chain] is a short form of what a thread did: after every [ChainEvery] of its own events, a hash
// over all of its events so far. In the hash functions have numbers by their first appearance on the
// thread, so that the chain is the same when the program lies at other addresses or was built again.
// [Chains] makes the chains in one pass over a log, and [Encode] makes bytes of them that can be kept.
// By the chains of two logs a binary search finds where they differ ([FirstDivergences]).
//
// It holds that
//
//  1. the divergence is the first event at which the sequences of events of the two threads, with their
//     functions, differ, or at which one of them ends (TestFirstDivergences, against the plain
//     comparison of events), also where several addresses are of one function,
//  2. a chain depends on nothing but the thread's own events, and not on the numbers of its
//     addresses (TestChains),
//  3. [Decode] returns the chains that were written, or an error (TestEncode, FuzzDecode).
package compare
