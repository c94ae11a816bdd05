package calls

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
)

func TestElapsed(t *testing.T) {
	for _, c := range []struct{ start, end, want int64 }{
		{5, 3, 0}, {3, 5, 2}, {math.MinInt64, math.MaxInt64, math.MaxInt64}, {math.MaxInt64, math.MinInt64, 0},
	} {
		if got := Elapsed(c.start, c.end); got != c.want {
			t.Errorf("Elapsed(%d, %d) = %d", c.start, c.end, got)
		}
	}
}

// TestAddresses adds addresses of several runs and spaces, and finds them while
// others are added.
func TestAddresses(t *testing.T) {
	const n = 20_000
	r := rand.New(rand.NewPCG(1, 1))
	a := NewAddresses()
	list := make([]Address, n)
	for i := range list {
		list[i] = Address{Value: r.Uint64N(n / 4), Run: int32(r.IntN(3)), Space: uint16(r.IntN(4))}
	}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Add(1)
	go func() {
		defer wg.Done()
		for k := 0; ; k = (k + 1) % n {
			select {
			case <-stop:
				return
			default:
			}
			w := list[k]
			if i, ok := a.Find(int(w.Run), w.Space, w.Value); ok {
				if got := a.At(i); got.Value != w.Value || got.Run != w.Run || got.Space != w.Space {
					t.Errorf("%+v is found for %+v", got, w)
					return
				}
			}
		}
	}()
	numbers := map[Address]int{}
	for _, w := range list {
		_, known := a.Find(int(w.Run), w.Space, w.Value)
		i := a.Add(int(w.Run), w.Space, w.Value)
		old, before := numbers[w]
		if before != known || before && i != old || !before && i != len(numbers) {
			t.Fatalf("%+v has number %d after %d of %d, known %t", w, i, old, len(numbers), known)
		}
		numbers[w] = i
		a.Count(i, 2)
	}
	close(stop)
	wg.Wait()
	counts := map[Address]int64{}
	for _, w := range list {
		counts[w] += 2
	}
	for w, i := range numbers {
		got := a.At(i)
		if got.Records != counts[w] {
			t.Errorf("%+v has %d records, want %d", w, got.Records, counts[w])
		}
	}
	if a.Len() != len(numbers) {
		t.Errorf("%d addresses, want %d", a.Len(), len(numbers))
	}
}
