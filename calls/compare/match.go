package compare

import (
	"cmp"
	"slices"
)

// A Reason says why two threads are compared with each other.
type Reason int

const (
	// SameName: the two have the same name, which no other thread of either log has.
	SameName Reason = iota
	// SameFirst: both enter the same function first. Of several such threads the first of one log is
	// compared with the first of the other, and so on.
	SameFirst
	// OnlyOnes: each is the only thread of its log that was left.
	OnlyOnes
)

// A Candidate is a thread that is to be compared with one of the other log.
type Candidate struct {
	// Name is "" where the thread has none.
	Name string
	// First is the function that it enters first, 0 for none. Row is the row of its first event, by
	// which threads are ordered.
	First uint32
	Row   int64
}

// A Pair is two threads, by their indexes in the lists given to Match.
type Pair struct {
	A, B   int
	Reason Reason
}

// Match says which threads of two runs belong together, each in one pair at most. First it takes threads
// of the same name, then those that begin with the same function, in the order in which they begin, and
// at last the threads that are left, if it is one of each run. Pairs are in the order of a.
func Match(a, b []Candidate) []Pair {
	var pairs []Pair
	inA, inB := make([]bool, len(a)), make([]bool, len(b))
	add := func(i, k int, r Reason) {
		pairs = append(pairs, Pair{i, k, r})
		inA[i], inB[k] = true, true
	}
	namesA, namesB := onlyNames(a), onlyNames(b)
	for i := range a {
		k, ok := namesB[a[i].Name]
		if _, only := namesA[a[i].Name]; ok && only {
			add(i, k, SameName)
		}
	}
	byFirst := make(map[uint32][]int)
	for _, k := range inOrder(b) {
		if f := b[k].First; !inB[k] && f != 0 {
			byFirst[f] = append(byFirst[f], k)
		}
	}
	for _, i := range inOrder(a) {
		if list := byFirst[a[i].First]; !inA[i] && len(list) > 0 {
			add(i, list[0], SameFirst)
			byFirst[a[i].First] = list[1:]
		}
	}
	restA, restB := slices.Index(inA, false), slices.Index(inB, false)
	if restA >= 0 && restB >= 0 && !slices.Contains(inA[restA+1:], false) && !slices.Contains(inB[restB+1:], false) {
		add(restA, restB, OnlyOnes)
	}
	slices.SortFunc(pairs, func(p, q Pair) int { return cmp.Compare(p.A, q.A) })
	return pairs
}

// onlyNames returns the indexes of the threads whose name no other thread has.
func onlyNames(list []Candidate) map[string]int {
	names, count := make(map[string]int), make(map[string]int)
	for i, c := range list {
		names[c.Name] = i
		count[c.Name]++
	}
	for name, n := range count {
		if n > 1 || name == "" {
			delete(names, name)
		}
	}
	return names
}

// inOrder returns the indexes of threads in the order in which they begin.
func inOrder(list []Candidate) []int {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, k int) int { return cmp.Compare(list[i].Row, list[k].Row) })
	return order
}
