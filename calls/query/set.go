package query

import (
	"math/bits"

	"logparser/calls/index"
)

// A Set is a set of small numbers: of addresses (their numbers in
// [Index.AddressTable]) or of threads (their slots). A Set that is used by a
// Predicate must not be changed any more.
type Set struct {
	words []uint64
	bloom [4]uint64
}

// NewSet makes an empty set with room for the numbers below n.
func NewSet(n int) *Set { return &Set{words: make([]uint64, (n+63)/64)} }

// Add puts a number into the set.
func (s *Set) Add(i uint32) {
	for int(i/64) >= len(s.words) {
		s.words = append(s.words, 0)
	}
	s.words[i/64] |= 1 << (i % 64)
	s.bloom[i/64%4] |= 1 << (i % 64)
}

// Has reports whether a number is in the set.
func (s *Set) Has(i uint32) bool {
	return int(i/64) < len(s.words) && s.words[i/64]>>(i%64)&1 != 0
}

// Bloom returns the Bloom filter of the set's numbers, as [index.Summary] has them.
func (s *Set) Bloom() [4]uint64 { return s.bloom }

// decide says what a summary tells of rows whose addresses are in the set.
func (s *Set) decide(of *index.Summary) verdict {
	for i, w := range of.Addresses {
		if w&s.bloom[i] != 0 {
			return maybe
		}
	}
	return none
}

// Len returns how many numbers are in the set.
func (s *Set) Len() int {
	n := 0
	for _, w := range s.words {
		n += bits.OnesCount64(w)
	}
	return n
}

// maxSetTable bounds the numbers that a set's table has; a variable for tests.
var maxSetTable = 1 << 20

// table returns a 1 or 0 for each number, up to the greatest in the set or the
// greatest that tables have: a look-up in it is cheaper than one in the set.
func (s *Set) table() []uint8 {
	t := make([]uint8, min(64*len(s.words), maxSetTable))
	for i := range t {
		t[i] = uint8(s.words[i/64] >> (i % 64) & 1)
	}
	return t
}

// in returns 1 if the set, which has the table, has a number.
func (s *Set) in(table []uint8, i uint32) uint8 {
	switch {
	case int(i) < len(table):
		return table[i]
	case len(table) < maxSetTable || !s.Has(i):
		return 0
	}
	return 1
}

// test sets the bits of the numbers that are in the set, which has the table.
func (s *Set) test(table []uint8, numbers []uint32, pass []uint64) {
	for w := range pass {
		var word uint64
		part := numbers[w*64 : min(w*64+64, len(numbers))]
		for _, n := range part {
			if int(n) < len(table) {
				word = word<<1 + uint64(table[n])
			} else {
				word = word<<1 + uint64(s.in(table, n))
			}
		}
		pass[w] = turned(word, len(part))
	}
}
