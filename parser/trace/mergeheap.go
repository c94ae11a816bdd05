package trace

// A head is a source of events or annotations in a heap, with the time of its next element.
type head[T any] struct {
	time int64 // units
	s    *stream
	of   T
}

// before reports whether the next element of a comes before that of b.
func (a *head[T]) before(b *head[T]) bool {
	return a.time < b.time || a.time == b.time && a.s.earlier(b.s)
}

// A heads is a heap. The head that comes first is at index 0.
type heads[T any] []head[T]

// down restores the heap's order after head k has changed to come later.
func (h heads[T]) down(k int) {
	if len(h) == 0 {
		return
	}
	moved := h[k]
	for {
		child := 2*k + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].before(&h[child]) {
			child++
		}
		if !h[child].before(&moved) {
			break
		}
		h[k] = h[child]
		k = child
	}
	h[k] = moved
}

// up restores the heap's order after a head was appended.
func (h heads[T]) up() {
	for k := len(h) - 1; k > 0 && h[k].before(&h[(k-1)/2]); k = (k - 1) / 2 {
		h[k], h[(k-1)/2] = h[(k-1)/2], h[k]
	}
}

// pop removes the first head.
func (h heads[T]) pop() heads[T] {
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	h.down(0)
	return h
}
