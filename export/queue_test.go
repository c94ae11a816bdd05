package export

import (
	"sync"
	"testing"
)

// TestQueue checks that several workers take each element once, and each worker in order.
func TestQueue(t *testing.T) {
	const workers, n = 4, 1000
	q := newQueue[int](8)
	taken := make([][]int, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for work, ok := q.take(); ok; work, ok = q.take() {
				taken[w] = append(taken[w], work)
			}
		}()
	}
	for i := range n {
		q.put(i)
	}
	q.close()
	wg.Wait()
	seen := make([]bool, n)
	for w, list := range taken {
		for i, work := range list {
			if seen[work] {
				t.Errorf("%d was taken twice", work)
			}
			if i > 0 && work < list[i-1] {
				t.Errorf("worker %d took %d behind %d", w, work, list[i-1])
			}
			seen[work] = true
		}
	}
	for i, ok := range seen {
		if !ok {
			t.Errorf("%d was not taken", i)
		}
	}
}
