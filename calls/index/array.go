package index

// arrayBits is the size of an array's chunks: 4,096 elements.
const (
	arrayBits = 12
	arrayLen  = 1 << arrayBits
)

// An array grows without moving its elements, which hold no pointers, so that
// an index of millions grows without a copy beside it.
type array[T any] struct {
	chunks [][]T // of arrayLen, but the last of an array that was read
	n      int
}

func (a *array[T]) len() int { return a.n }

func (a *array[T]) at(i int) *T { return &a.chunks[i>>arrayBits][i&(arrayLen-1)] }

// add appends a zero element and returns it.
func (a *array[T]) add(m *memory) *T {
	i := a.n
	if i>>arrayBits == len(a.chunks) {
		a.chunks = append(a.chunks, alloc[T](m, arrayLen))
	} else if last := &a.chunks[i>>arrayBits]; len(*last) < arrayLen && i&(arrayLen-1) == len(*last) {
		longer := alloc[T](m, arrayLen)
		copy(longer, *last)
		*last = longer
	}
	a.n++
	return a.at(i)
}

// append appends elements.
func (a *array[T]) append(m *memory, list []T) {
	for _, v := range list {
		*a.add(m) = v
	}
}

// copy returns a copy of the elements from (inclusive) to to (exclusive).
func (a *array[T]) copy(from, to int64) []T {
	list := make([]T, 0, to-from)
	for i := from; i < to; i++ {
		list = append(list, *a.at(int(i)))
	}
	return list
}
