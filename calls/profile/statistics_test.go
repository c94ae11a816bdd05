package profile

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sort"
	"strings"
	"testing"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/internal/logtest"
	"logparser/internal/testlog"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
)

// randomGroups puts addresses into groups, nil for themselves.
func randomGroups(r *rand.Rand, src *oracle.Log) ([]uint32, func(a uint32) uint32) {
	if r.IntN(3) == 0 {
		return nil, func(a uint32) uint32 { return a }
	}
	of := make([]uint32, len(src.Addresses))
	for i := range of {
		if of[i] = uint32(r.IntN(4)); r.IntN(6) == 0 {
			of[i] = NoGroup
		}
	}
	return of, func(a uint32) uint32 { return of[a] }
}

// plainStatistics is what Statistics must return, in text.
func plainStatistics(src *oracle.Log, p logtest.Expected, group func(uint32) uint32, perThread bool) []string {
	type key struct{ group, thread uint32 }
	durations := map[key][]int64{}
	// Calls, sum, self, non-recursive, and the same of those that are running.
	sums := map[key]*[8]int64{}
	var keys []key
	for row := range src.Len() {
		if src.Rows[row].Kind != parser.Enter || !p.Pass(row) || group(src.Rows[row].Number) == NoGroup {
			continue
		}
		k := key{group(src.Rows[row].Number), AllThreads}
		if perThread {
			k.thread = src.Rows[row].Slot
		}
		if sums[k] == nil {
			sums[k] = new([8]int64)
			keys = append(keys, k)
		}
		sums[k][0]++
		call := src.Rows[row].Call
		d, of := call.Duration, sums[k][:4]
		if call.Anomaly == calls.Open || call.Anomaly == calls.Running {
			of = sums[k][4:]
			of[0]++
		} else if d != calls.NoDuration {
			durations[k] = append(durations[k], d)
		} else {
			continue
		}
		of[1] += d
		of[2] += call.Self
		if !call.Recursive(group) {
			of[3] += d
		}
	}
	sort.Slice(keys, func(i, j int) bool {
		a, b := keys[i], keys[j]
		return a.group < b.group || a.group == b.group && a.thread < b.thread
	})
	at := func(d []int64, percent int) int64 { return d[(len(d)*percent+99)/100-1] }
	var list []string
	for _, k := range keys {
		d := durations[k]
		slices.Sort(d)
		var least, most, middle, long int64
		if len(d) > 0 {
			least, most, middle, long = d[0], d[len(d)-1], at(d, 50), at(d, 95)
		}
		list = append(list, fmt.Sprint(k, sums[k], len(d), least, most, " ", middle, " ", long))
	}
	return list
}

func TestStatistics(t *testing.T) {
	defer func(n uint64) { maxDense = n }(maxDense)
	logtest.EachLog(t, 50, 3000, func(t *testing.T, r *rand.Rand, src *oracle.Log, tested *index.Index) {
		maxDense = uint64(r.IntN(2) << 10)
		of, group := randomGroups(r, src)
		o := StatisticsOptions{Groups: of, PerThread: r.IntN(2) == 0}
		p := logtest.Expected{Pass: func(int64) bool { return true }}
		if r.IntN(2) == 0 {
			p = logtest.RandomPredicate(r, src, 2)
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
		// Quantiles are right to 1/16; take those that are wanted if they are.
		var middle, long int64
		words := strings.Fields(want[i])
		fmt.Sscan(strings.Join(words[len(words)-2:], " "), &middle, &long)
		middle, long = near(s.Quantile(0.5), middle), near(s.Quantile(0.95), long)
		got := fmt.Sprint(struct{ group, thread uint32 }{s.Group, s.Thread}, &[8]int64{
			s.Calls, s.Sum, s.Self, s.NonRecursive, s.Running.Calls, s.Running.Sum, s.Running.Self, s.Running.NonRecursive,
		}, s.Timed, s.Min, s.Max, " ", middle, " ", long)
		if got != want[i] {
			t.Fatalf("%s, want %s", got, want[i])
		}
	}
}

// near returns want if got is that to within 1/16, otherwise got.
func near(got, want int64) int64 {
	if got-want > want/16 || want-got > want/16 {
		return got
	}
	return want
}

// TestStatisticsFromTotals has groups for which the totals do and do not suffice:
// where they do, the log is not read.
func TestStatisticsFromTotals(t *testing.T) {
	logtest.SmallBlocks(t, 64)
	log := &testlog.Failing{Memory: testlog.Script("A>z 50( A>f A>g A<g A>f A<f A<f ) A<z")}
	_, x := logtest.Indexed(t, log, log.Runs, false)
	log.Broken = true
	for _, test := range []struct {
		groups []uint32
		used   bool
	}{{nil, true}, {[]uint32{0, 0, 0}, false}, {[]uint32{1, NoGroup, 0}, true}} {
		list, err := Statistics(t.Context(), x, StatisticsOptions{Groups: test.groups})
		if used := err == nil; used != test.used || used && len(list) == 0 {
			t.Errorf("groups %v: totals used %t, %v", test.groups, used, err)
		}
	}
}

// TestManyStats has each of many threads call a function of its own: what that
// takes must not be threads times functions.
func TestManyStats(t *testing.T) {
	const n = 4000
	log := &testlog.Memory{Runs: []parser.Run{{Count: 2 * n}}}
	for i := range 2 * n {
		log.Events = append(log.Events, parser.Event{Address: uint64(i / 2), Thread: uint32(i/2) + 1, Time: int64(i), Kind: parser.Kind(i % 2)})
	}
	x, err := index.Build(t.Context(), log, log.Runs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	stats, err := Statistics(t.Context(), x, StatisticsOptions{PerThread: true})
	runtime.ReadMemStats(&after)
	if err != nil || len(stats) != n {
		t.Fatalf("%d, %v", len(stats), err)
	}
	for i := range stats {
		if s := &stats[i]; s.Group != uint32(i) || s.Thread != uint32(i) || s.Calls != 1 || s.Sum != 1 {
			t.Fatalf("%d: %+v", i, s)
		}
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 4*n*n {
		t.Errorf("%d bytes", took)
	}
}
