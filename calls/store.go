package calls

// chunkBits is the size of a store's chunks: 512 elements.
const chunkBits = 9

// A store is a growing array that never moves its elements, so that a table
// of millions grows without a copy beside it. Indexes are 32 bits wide.
type store[T any] struct {
	chunks []*[1 << chunkBits]T
	n      uint32
}

func (s *store[T]) at(i uint32) *T { return &s.chunks[i>>chunkBits][i&(1<<chunkBits-1)] }

// add appends a zero element and returns its index.
func (s *store[T]) add() uint32 {
	i := s.n
	if int(i>>chunkBits) == len(s.chunks) {
		s.chunks = append(s.chunks, new([1 << chunkBits]T))
	}
	s.n++
	return i
}
