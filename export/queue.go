package export

import "sync"

// A queue hands work out in its order to whoever runs. A channel gives what comes first to a worker that waits, which
// gets to it only when it runs again, and another has taken what comes next by then: rows were read in the wrong order,
// for which a log's reader has to decode some of them twice.
type queue[T any] struct {
	// tokens has one for each element of list.
	tokens chan struct{}
	mu     sync.Mutex
	list   []T
}

// newQueue makes a queue that has room for n.
func newQueue[T any](n int) *queue[T] {
	return &queue[T]{tokens: make(chan struct{}, n), list: make([]T, 0, n)}
}

func (q *queue[T]) put(work T) {
	q.mu.Lock()
	q.list = append(q.list, work)
	q.mu.Unlock()
	q.tokens <- struct{}{}
}

// take returns the next work. It reports false when the queue is closed and nothing is left.
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

// close ends the queue: nothing is put into it any more.
func (q *queue[T]) close() { close(q.tokens) }
