package modules

import (
	"container/heap"
	"math"
	"slices"
)

// ranges answers which of many ranges of addresses, each of which has a life,
// hold an address at a time: how many, and the greatest of their numbers. What a
// question costs grows with the logarithm of their number, however they overlap,
// and what they take in memory with their number times that.
//
// It is a segment tree over the addresses at which a range begins or ends. Every
// range is in the few nodes that together are its addresses, and each node's
// ranges become a list of steps in time, between which nothing changes.
type ranges struct {
	// bounds are where slots begin, rising; each reaches to the next, the last
	// one to the end.
	bounds []uint64
	// steps[first[n]:first[n+1]] are those of node n. Node 1 is the root, and
	// node len(bounds)+i is slot i.
	first []int32
	steps []step
}

// A step says what holds from a time on up to the next one's.
type step struct {
	from int64
	// number is the greatest of the ranges there, -1 for none.
	number int32
	// count is how many there are, 2 for more than one.
	count uint8
}

// A span is a range as it is given to newRanges: the addresses from first to last,
// and the times from from up to to.
type span struct {
	first, last uint64
	from, to    int64
	number      int32
}

// newRanges makes ranges of spans; it changes their order.
func newRanges(list []span) *ranges {
	list = slices.DeleteFunc(list, func(s span) bool { return s.last < s.first || s.to <= s.from })
	r := &ranges{}
	for i := range list {
		r.bounds = append(r.bounds, list[i].first)
		if list[i].last < math.MaxUint64 {
			r.bounds = append(r.bounds, list[i].last+1)
		}
	}
	slices.Sort(r.bounds)
	r.bounds = slices.Clip(slices.Compact(r.bounds))
	slots := len(r.bounds)
	// First how many spans each node has, then where they lie, then which.
	count := make([]int32, 2*slots+1)
	for i := range list {
		r.nodes(&list[i], func(node int) { count[node]++ })
	}
	place := make([]int32, len(count))
	total := int32(0)
	for n := range count {
		place[n] = total
		total += count[n]
	}
	of := make([]int32, total)
	end := slices.Clone(place)
	for i := range list {
		r.nodes(&list[i], func(node int) {
			of[end[node]] = int32(i)
			end[node]++
		})
	}
	r.first = make([]int32, 2*slots+1)
	var alive numbers
	for n := range 2 * slots {
		r.first[n] = int32(len(r.steps))
		r.addSteps(list, of[place[n]:end[n]], &alive)
	}
	r.first[2*slots] = int32(len(r.steps))
	r.steps = slices.Clip(r.steps)
	return r
}

// slot returns the slot of an address, -1 before the first.
func (r *ranges) slot(address uint64) int {
	i, found := slices.BinarySearch(r.bounds, address)
	if !found {
		i--
	}
	return i
}

// nodes calls visit for each node of a span.
func (r *ranges) nodes(s *span, visit func(node int)) {
	slots := len(r.bounds)
	from, to := slots+r.slot(s.first), slots+r.slot(s.last)+1
	for ; from < to; from, to = from>>1, to>>1 {
		if from&1 == 1 {
			visit(from)
			from++
		}
		if to&1 == 1 {
			to--
			visit(to)
		}
	}
}

// addSteps appends the steps of some spans of a node.
func (r *ranges) addSteps(list []span, of []int32, alive *numbers) {
	switch len(of) {
	case 0:
		return
	case 1: // as of almost all where ranges do not overlap
		s := &list[of[0]]
		r.steps = append(r.steps, step{s.from, s.number, 1}, step{s.to, -1, 0})
		return
	}
	type change struct {
		at   int64
		span int32
	}
	changes := make([]change, 0, 2*len(of))
	for _, i := range of {
		changes = append(changes, change{list[i].from, i}, change{list[i].to, i})
	}
	slices.SortFunc(changes, func(a, b change) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	*alive = (*alive)[:0]
	living, begin := 0, len(r.steps)
	for k := 0; k < len(changes); {
		at := changes[k].at
		for ; k < len(changes) && changes[k].at == at; k++ {
			if s := &list[changes[k].span]; s.from == at {
				heap.Push(alive, number{s.number, s.to})
				living++
			} else {
				living--
			}
		}
		// Of those that have ended only the greatest is in the way.
		for len(*alive) > 0 && (*alive)[0].to <= at {
			heap.Pop(alive)
		}
		now := step{from: at, number: -1, count: uint8(min(living, 2))}
		if len(*alive) > 0 {
			now.number = (*alive)[0].number
		}
		if n := len(r.steps); n == begin || r.steps[n-1].number != now.number || r.steps[n-1].count != now.count {
			r.steps = append(r.steps, now)
		}
	}
}

// find returns the greatest number of the ranges that hold an address at a time, -1
// for none, and how many there are, 2 for more than one.
func (r *ranges) find(address uint64, at int64) (best int32, count int) {
	best = -1
	i := r.slot(address)
	if i < 0 {
		return best, 0
	}
	for node := len(r.bounds) + i; node > 0; node >>= 1 {
		steps := r.steps[r.first[node]:r.first[node+1]]
		low, high := 0, len(steps)
		for low < high {
			if middle := (low + high) / 2; steps[middle].from <= at {
				low = middle + 1
			} else {
				high = middle
			}
		}
		if low > 0 {
			s := &steps[low-1]
			best = max(best, s.number)
			count += int(s.count)
		}
	}
	return best, min(count, 2)
}

// numbers is a heap of numbers, the greatest first, with the times at which they end.
type numbers []number

type number struct {
	number int32
	to     int64
}

func (n numbers) Len() int           { return len(n) }
func (n numbers) Less(i, j int) bool { return n[i].number > n[j].number }
func (n numbers) Swap(i, j int)      { n[i], n[j] = n[j], n[i] }
func (n *numbers) Push(x any)        { *n = append(*n, x.(number)) }
func (n *numbers) Pop() any {
	last := len(*n) - 1
	x := (*n)[last]
	*n = (*n)[:last]
	return x
}
