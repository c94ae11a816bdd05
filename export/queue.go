package export

import "sync"

// A queue hands out work in order. A Go channel would give the first element to the worker that waits longest, but this worker
// starts only when it is scheduled. By then, another worker has often taken the next element, so rows were read out of order,
// and the reader of the log had to decode some of them twice.
type queue[T any] struct {
	// tokens has one token for each element of list.
	tokens chan struct{}
	mu     sync.Mutex
	list   []T
}

// newQueue makes a queue with room for n elements.
func newQueue[T any](n int) *queue[T] {
	return &queue[T]{tokens: make(chan struct{}, n), list: make([]T, 0, n)}
}

func (q *queue[T]) put(work T) {
	q.mu.Lock()
	q.list = append(q.list, work)
	q.mu.Unlock()
	q.tokens <- struct{}{}
}

// take waits for the next element and removes it from the queue. ok is false if the queue is closed and empty.
func (q *queue[T]) take() (work T, ok bool) {
	if _, ok = <-q.tokens; !ok {
		return work, false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	work = q.list[0]
	q.list = append(q.list[:0], q.list[1:]...)
	return work, true
}

// close ends the queue. put must not be called after it.
func (q *queue[T]) close() { close(q.tokens) }
