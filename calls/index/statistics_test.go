package index

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"logparser/calls"
	"logparser/parser"
)

// randomGroups puts addresses into groups, nil for themselves.
func randomGroups(r *rand.Rand, src *tableSource) ([]uint32, func(a uint32) uint32) {
	if r.IntN(3) == 0 {
		return nil, func(a uint32) uint32 { return a }
	}
	of := make([]uint32, src.addresses.Len())
	for i := range of {
		if of[i] = uint32(r.IntN(4)); r.IntN(6) == 0 {
			of[i] = NoGroup
		}
	}
	return of, func(a uint32) uint32 { return of[a] }
}

// recursive reports whether another call of a call's group is open.
func (s *tableSource) recursive(enter int64, group func(uint32) uint32) bool {
	for c := s.caller[enter]; c >= 0; c = s.caller[c] {
		if group(s.address[c]) == group(s.address[enter]) {
			return true
		}
	}
	return false
}

// plainStatistics is what Statistics must return, in text.
func plainStatistics(src *tableSource, p plainPredicate, group func(uint32) uint32, perThread bool) []string {
	type key struct{ group, thread uint32 }
	durations := map[key][]int64{}
	sums := map[key]*[4]int64{} // calls, sum, self, non-recursive
	var keys []key
	for row := range src.Len() {
		if src.events[row].Kind != parser.Enter || !p.pass(row) || group(src.address[row]) == NoGroup {
			continue
		}
		k := key{group(src.address[row]), AllThreads}
		if perThread {
			k.thread = src.slot[row]
		}
		if sums[k] == nil {
			sums[k] = new([4]int64)
			keys = append(keys, k)
		}
		sums[k][0]++
		d := src.rows[row].Duration
		if d == calls.NoDuration {
			continue
		}
		durations[k] = append(durations[k], d)
		sums[k][1] += d
		sums[k][2] += src.self[row]
		if !src.recursive(row, group) {
			sums[k][3] += d
		}
	}
	sort.Slice(keys, func(i, j int) bool {
		a, b := keys[i], keys[j]
		return a.group < b.group || a.group == b.group && a.thread < b.thread
	})
	var list []string
	for _, k := range keys {
		d := durations[k]
		slices.Sort(d)
		var least, most, middle int64
		if len(d) > 0 {
			least, most, middle = d[0], d[len(d)-1], d[(len(d)-1)/2]
		}
		list = append(list, fmt.Sprint(k, sums[k], len(d), least, most, middle))
	}
	return list
}

func TestStatistics(t *testing.T) {
	defer func(n uint64) { maxDense = n }(maxDense)
	eachLog(t, 50, 3000, func(t *testing.T, r *rand.Rand, src *tableSource, tested Source) {
		maxDense = uint64(r.IntN(2) << 10)
		of, group := randomGroups(r, src)
		o := StatisticsOptions{Groups: of, PerThread: r.IntN(2) == 0}
		p := plainPredicate{pass: func(int64) bool { return true }}
		if r.IntN(2) == 0 {
			p = randomPredicate(r, src, 2)
			o.Where = p
		}
		list, err := Statistics(t.Context(), tested, o)
		if err != nil {
			t.Fatal(err)
		}
		checkStatistics(t, list, plainStatistics(src, p, group, o.PerThread))
	})
}

// checkStatistics holds statistics against what plainStatistics made.
func checkStatistics(t *testing.T, list []Stat, want []string) {
	t.Helper()
	if len(list) != len(want) {
		t.Fatalf("%d groups, want %d", len(list), len(want))
	}
	for i, s := range list {
		if s.Timed > 0 && s.Mean() != s.Sum/s.Timed {
			t.Fatalf("mean %d of %+v", s.Mean(), s)
		}
		// Quantiles are right to 1/16; take the one that is wanted if it is.
		var middle int64
		fmt.Sscan(want[i][lastSpace(want[i]):], &middle)
		if q := s.Quantile(0.5); q-middle > middle/16 || middle-q > middle/16 {
			middle = q
		}
		got := fmt.Sprint(struct{ group, thread uint32 }{s.Group, s.Thread}, &[4]int64{s.Calls, s.Sum, s.Self, s.NonRecursive}, s.Timed, s.Min, s.Max, middle)
		if got != want[i] {
			t.Fatalf("%s, want %s", got, want[i])
		}
	}
}

func lastSpace(s string) int {
	i := len(s) - 1
	for s[i] != ' ' {
		i--
	}
	return i + 1
}

// TestStatisticsFromTotals has totals known, and groups for which they do and
// do not suffice.
func TestStatisticsFromTotals(t *testing.T) {
	smallBlocks(t, 64)
	src := newTableSource(t, script("A>z 50( A>f A>g A<g A>f A<f A<f ) A<z"), false)
	list, err := Statistics(t.Context(), src, StatisticsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	totals := make([]Total, src.addresses.Len())
	for _, s := range list {
		totals[s.Group] = s.Total
		totals[s.Group].Calls += 1000 // so that it shows whether they are used
	}
	src.totals = totals
	for _, test := range []struct {
		groups []uint32
		used   bool
	}{{nil, true}, {[]uint32{0, 0, 0}, false}, {[]uint32{1, NoGroup, 0}, true}} {
		list, err := Statistics(t.Context(), src, StatisticsOptions{Groups: test.groups})
		if err != nil || len(list) == 0 {
			t.Fatal(list, err)
		}
		if used := list[0].Calls > 1000; used != test.used {
			t.Errorf("groups %v: totals used %t", test.groups, used)
		}
	}
}
