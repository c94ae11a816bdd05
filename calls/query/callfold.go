package query

import (
	"math"
	"slices"

	"logparser/calls"
	"logparser/parser"
)

// A foldTest is what a CallTest tells of the calls that are made in a call without looking at each: ranges, and tests that
// depend on addresses and on being inside a call. It is ok if there are no others.
type foldTest struct {
	parser.CallFold
	parts []Predicate
	ok    bool
}

// Fold returns which calls with a leave pass, for readers that sum up calls. It is not ok where that asks for more than
// these tell. CallAddress.Counts has to be [CallTest.Counts].
func (t *CallTest) Fold() (f parser.CallFold, ok bool) { return t.fold.CallFold, t.fold.ok }

// Counts returns the counts of an address for [parser.CallFold].
func (t *CallTest) Counts(address uint32) (counts parser.FoldCounts) {
	for _, inside := range [...]bool{false, true} {
		passes := true
		for _, p := range t.fold.parts {
			p, _ := foldPasses(p, address, inside)
			passes = passes && p
		}
		switch {
		case passes && inside:
			counts |= parser.CountsInside
		case passes:
			counts |= parser.CountsOutside
		}
	}
	return counts
}

// foldable makes the fold test of the predicate.
func (t *CallTest) foldable() (f foldTest) {
	f.CallFold = parser.FoldAll()
	if len(t.sets) > 0 {
		f.Marks = 1 // of the only set
	}
	f.ok = len(t.sets) <= 1 && t.addFold(&f, t.predicate)
	f.All = len(f.parts) == 0
	f.AllInside = !slices.ContainsFunc(f.parts, asksAddress)
	return f
}

// asksAddress reports whether a part of a fold test depends on more than on being inside a call of the set.
func asksAddress(p Predicate) bool {
	_, within := p.(withinTest)
	return !within
}

// addFold adds a predicate that has to pass as well. It is not ok where that asks for more than a fold test tells.
func (t *CallTest) addFold(f *foldTest, p Predicate) (ok bool) {
	switch p := p.(type) {
	case junction:
		if !p.or || len(p.parts) == 1 {
			for _, part := range p.parts {
				if !t.addFold(f, part) {
					return false
				}
			}
			return true
		}
	case depthTest:
		f.Shallowest = max(f.Shallowest, p.least)
		return p.most == math.MaxInt32 // readers leave out what is deeper sooner than they sum it up
	case timeTest:
		f.First, f.Last = max(f.First, p.first), min(f.Last, p.last)
		return true
	case callTest:
		if p, ok := p.rows(t.src); ok {
			return t.addFold(f, p)
		}
		return false
	case rowTest:
		times, ok := t.times[p]
		if !ok {
			return false
		}
		// At the times themselves some threads' events are of the rows and others' are not.
		if times[0] > math.MinInt64 {
			f.First = max(f.First, times[0]+1)
		}
		if times[1] < math.MaxInt64 {
			f.Last = min(f.Last, times[1]-1)
		}
		return true
	}
	if ofThreads(p) {
		return true // calls of threads that do not pass are not read
	}
	passes, ok := foldPasses(p, 0, false)
	switch p.(type) {
	case kindTest, anomalyTest:
		if passes {
			return true // as do calls of all addresses
		}
	}
	if ok {
		f.parts = append(f.parts, p)
	}
	return ok
}

// ofThreads reports whether a predicate depends on the thread alone.
func ofThreads(p Predicate) bool {
	switch p := p.(type) {
	case threadTest:
		return true
	case negation:
		return ofThreads(p.p)
	case junction:
		for _, part := range p.parts {
			if !ofThreads(part) {
				return false
			}
		}
		return len(p.parts) > 0
	}
	return false
}

// foldPasses reports whether calls of an address pass that have a leave, by whether they are inside a call of the only set. It is not
// ok where that depends on more; whether it does not depends on the address.
func foldPasses(p Predicate, address uint32, inside bool) (passes, ok bool) {
	switch p := p.(type) {
	case addressTest:
		return p.set.Has(address), true
	case kindTest:
		return p.kinds>>parser.Enter&1 != 0, true
	case anomalyTest:
		return p.anomalies>>calls.None&1 != 0, true
	case withinTest:
		return inside, true
	case negation:
		passes, ok := foldPasses(p.p, address, inside)
		return !passes, ok
	case junction:
		passes = !p.or
		for _, part := range p.parts {
			got, ok := foldPasses(part, address, inside)
			if !ok {
				return false, false
			}
			if got == p.or {
				passes = p.or
			}
		}
		return passes, true
	}
	return false, false
}
