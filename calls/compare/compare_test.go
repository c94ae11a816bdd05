package compare_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"logparser/calls/compare"
	"logparser/calls/index"
	"logparser/calls/internal/logtest"
	"logparser/internal/testlog"
	"logparser/parser"
)

// A step is what an event of a thread does: enter a function, counted from 1, or with 0 leave.
type step int

// steps makes about n events of a thread.
func steps(r *rand.Rand, n, functions int) []step {
	var list []step
	depth := 0
	for len(list) < n {
		if depth == 0 || depth < 12 && r.IntN(2) == 0 {
			list = append(list, step(1+r.IntN(functions)))
			depth++
		} else {
			list = append(list, 0)
			depth--
		}
	}
	return list
}

// log makes a log of threads that take turns at random. Functions have addresses of their own in
// each log, some of them two.
func log(t *testing.T, r *rand.Rand, threads [][]step, functions int) *compare.Log {
	t.Helper()
	order := r.Perm(2 * functions)
	address := func(f step) uint64 {
		k := 2 * (int(f) - 1)
		if f%4 == 0 {
			k += r.IntN(2)
		}
		return 0x1000 + 16*uint64(order[k])
	}
	m := &testlog.Memory{Exact: true}
	at, stacks := make([]int, len(threads)), make([][]uint64, len(threads))
	left := 0
	for _, list := range threads {
		left += len(list)
	}
	first := uint32(1 + r.IntN(1000))
	for left > 0 {
		th := r.IntN(len(threads))
		for range min(1+r.IntN(100), len(threads[th])-at[th]) {
			s := threads[th][at[th]]
			at[th]++
			left--
			e := parser.Event{Thread: first + uint32(th), Time: int64(len(m.Events)), Kind: parser.Leave}
			if stack := &stacks[th]; s != 0 {
				e.Address, e.Kind = address(s), parser.Enter
				*stack = append(*stack, e.Address)
			} else if n := len(*stack); n > 0 {
				e.Address = (*stack)[n-1]
				*stack = (*stack)[:n-1]
			} else {
				e.Address = 0x900
			}
			m.Events = append(m.Events, e)
			if r.IntN(1000) == 0 {
				m.Events = append(m.Events, parser.Event{Thread: e.Thread, Time: e.Time, Kind: parser.Damaged})
			}
		}
	}
	m.Runs = []parser.Run{{Count: int64(len(m.Events))}}
	x, err := index.Build(t.Context(), m, m.Runs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := &compare.Log{Index: x}
	if l.Chains, err = compare.Chains(t.Context(), x, nil); err != nil {
		t.Fatal(err)
	}
	table := x.AddressTable()
	for i := range table.Len() {
		f := uint32(0)
		if k := slices.Index(order, int(table.At(i).Value-0x1000)/16); k >= 0 {
			f = 1 + uint32(k/2)
		}
		l.Functions = append(l.Functions, f)
	}
	return l
}

// change changes events at random.
func change(r *rand.Rand, list []step, functions int) []step {
	list = slices.Clone(list)
	if len(list) == 0 {
		return list
	}
	at := r.IntN(len(list))
	switch r.IntN(5) {
	case 0:
		list[at] = step(r.IntN(functions + 1))
	case 1:
		list = slices.Delete(list, at, at+1)
	case 2:
		list = slices.Insert(list, at, step(1+r.IntN(functions)), 0)
	case 3:
		list = list[:at]
	}
	return list
}

// rows returns the rows of a slot's events.
func rows(t *testing.T, l *compare.Log, slot uint32) []int64 {
	t.Helper()
	var list []int64
	var b index.Block
	for k := 0; int64(k)*logtest.BlockLen() < l.Index.Len(); k++ {
		if err := l.Index.Fill(&b, k, index.Threads|index.Kinds); err != nil {
			t.Fatal(err)
		}
		for i := range b.N {
			if b.Thread[i] == slot && b.Kind[i] != parser.Damaged {
				list = append(list, b.First+int64(i))
			}
		}
	}
	return list
}

// slotOf returns the slot of the thread whose place among the threads is given.
func slotOf(l *compare.Log, place int) uint32 {
	least := ^uint32(0)
	for slot := range uint32(l.Index.Slots()) {
		least = min(least, l.Index.ThreadID(slot))
	}
	for slot := range uint32(l.Index.Slots()) {
		if l.Index.ThreadID(slot) == least+uint32(place) {
			return slot
		}
	}
	return ^uint32(0)
}

func TestFirstDivergences(t *testing.T) {
	logtest.SmallBlocks(t, 512)
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 7))
		functions := 1 + r.IntN(30)
		compare.SetMostEvents(t, compare.ChainEvery<<r.IntN(5))
		threads := 1 + r.IntN(3)
		if seed%8 == 0 {
			threads = 20 + r.IntN(20)
		}
		var a, b [][]step
		for range threads {
			list := steps(r, 1+r.IntN(3*compare.ChainEvery), functions)
			if r.IntN(4) == 0 {
				list = list[:len(list)/compare.ChainEvery*compare.ChainEvery]
			}
			if len(list) == 0 {
				list = steps(r, 2, functions)
			}
			a = append(a, list)
			if list = change(r, list, functions); len(list) == 0 {
				list = steps(r, 2, functions)
			}
			b = append(b, list)
		}
		la, lb := log(t, r, a, functions), log(t, r, b, functions)
		var pairs []compare.Slots
		for th := range a {
			pairs = append(pairs, compare.Slots{A: slotOf(la, th), B: slotOf(lb, th)})
		}
		found, err := compare.FirstDivergences(t.Context(), la, lb, pairs)
		if err != nil {
			t.Fatal(err)
		}
		for th := range a {
			sa, sb := pairs[th].A, pairs[th].B
			n := 0
			for n < min(len(a[th]), len(b[th])) && a[th][n] == b[th][n] {
				n++
			}
			want := compare.Divergence{Event: int64(n), A: -1, B: -1, BeforeA: -1, BeforeB: -1}
			ra, rb := rows(t, la, sa), rows(t, lb, sb)
			if len(ra) != len(a[th]) || len(rb) != len(b[th]) {
				t.Fatalf("seed %d: %d and %d rows, want %d and %d", seed, len(ra), len(rb), len(a[th]), len(b[th]))
			}
			if n > 0 {
				want.BeforeA, want.BeforeB = ra[n-1], rb[n-1]
			}
			if n < len(ra) {
				want.A = ra[n]
			}
			if n < len(rb) {
				want.B = rb[n]
			}
			want.Differs = n < len(ra) || n < len(rb)
			if got := found[th]; got != want {
				t.Errorf("seed %d, thread %d: %+v, want %+v", seed, th, got, want)
			}
		}
	}
}

// TestChains counts chains anew, thread by thread, and at other addresses.
func TestChains(t *testing.T) {
	logtest.SmallBlocks(t, 256)
	r := rand.New(rand.NewPCG(3, 4))
	const functions = 3 // of which none has two addresses
	list := [][]step{steps(r, 2*compare.ChainEvery+100, functions), steps(r, compare.ChainEvery, functions), steps(r, 50, functions)}
	both := log(t, r, list, functions)
	for th := range list {
		alone := log(t, r, list[th:th+1], functions)
		slot := slotOf(both, th)
		got, want := both.Chains[slot], alone.Chains[0]
		if got.Events != int64(len(list[th])) || !slices.Equal(got.Hashes, want.Hashes) || len(got.Hashes) != len(list[th])/compare.ChainEvery {
			t.Errorf("thread %d: %d events, hashes %x, want %x", th, got.Events, got.Hashes, want.Hashes)
		}
		events := rows(t, both, slot)
		for i, row := range got.Rows {
			if row != events[i*compare.ChainEvery] {
				t.Errorf("thread %d: row %d, want %d", th, row, events[i*compare.ChainEvery])
			}
		}
		if len(got.Rows) != (len(events)+compare.ChainEvery-1)/compare.ChainEvery {
			t.Errorf("thread %d: %d rows", th, len(got.Rows))
		}
		seen := map[step]bool{}
		for i, s := range list[th] {
			if s == 0 || seen[s] {
				continue
			}
			f := got.First[len(seen)]
			if f.Event != int64(i) || both.Functions[f.Address] != uint32(s) {
				t.Errorf("thread %d: function %d appears at %d, want %d at %d", th, both.Functions[f.Address], f.Event, s, i)
			}
			seen[s] = true
		}
		if len(got.First) != len(seen) {
			t.Errorf("thread %d: %d functions appear, want %d", th, len(got.First), len(seen))
		}
	}
}

func TestEncode(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	l := log(t, r, [][]step{steps(r, 2*compare.ChainEvery+1, 30), steps(r, 7, 3)}, 30)
	b := compare.Encode(l.Chains)
	slots, rows, addresses := len(l.Chains), l.Index.Len(), l.Index.AddressTable().Len()
	got, err := compare.Decode(b, slots, rows, addresses)
	if err != nil || !bytes.Equal(compare.Encode(got), b) || !reflect.DeepEqual(got[0], l.Chains[0]) {
		t.Errorf("%v, want %v (%v)", got, l.Chains, err)
	}
	if l.Chains[0].Events != 2*compare.ChainEvery+1 || len(l.Chains[0].First) < 30 {
		t.Errorf("the chain has %d events and %d functions", l.Chains[0].Events, len(l.Chains[0].First))
	}
	for _, bad := range [][]byte{nil, b[:len(b)-1], append(slices.Clone(b), 0), append([]byte("x"), b[1:]...)} {
		if _, err := compare.Decode(bad, slots, rows, addresses); err == nil {
			t.Errorf("%d bytes of %d are read", len(bad), len(b))
		}
	}
	if _, err := compare.Decode(b, slots+1, rows, addresses); err == nil {
		t.Error("it is read of an index with more stacks")
	}
	if _, err := compare.Decode(b, slots, rows/2, addresses); err == nil {
		t.Error("it is read of an index with fewer rows")
	}
}

func TestMatch(t *testing.T) {
	c := func(name string, first uint32, row int64) compare.Candidate {
		return compare.Candidate{name, first, row}
	}
	for name, test := range map[string]struct {
		a, b []compare.Candidate
		want []compare.Pair
	}{
		"names": {
			[]compare.Candidate{c("main", 1, 0), c("io", 2, 5)}, []compare.Candidate{c("io", 3, 0), c("main", 1, 5)},
			[]compare.Pair{{0, 1, compare.SameName}, {1, 0, compare.SameName}},
		},
		"a name of two": {
			[]compare.Candidate{c("w", 1, 0), c("w", 2, 5)}, []compare.Candidate{c("w", 2, 1), c("x", 1, 2)},
			[]compare.Pair{{0, 1, compare.SameFirst}, {1, 0, compare.SameFirst}},
		},
		"workers": {
			[]compare.Candidate{c("", 1, 0), c("", 9, 30), c("", 9, 10)}, []compare.Candidate{c("", 9, 40), c("", 9, 50), c("", 1, 0), c("", 9, 60)},
			[]compare.Pair{{0, 2, compare.SameFirst}, {1, 1, compare.SameFirst}, {2, 0, compare.SameFirst}},
		},
		"one left": {[]compare.Candidate{c("a", 1, 0)}, []compare.Candidate{c("b", 2, 0)}, []compare.Pair{{0, 0, compare.OnlyOnes}}},
		"two left": {[]compare.Candidate{c("a", 1, 0)}, []compare.Candidate{c("b", 2, 0), c("c", 3, 0)}, nil},
		"none":     {nil, []compare.Candidate{c("b", 2, 0)}, nil},
	} {
		if got := compare.Match(test.a, test.b); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(compare.Encode([]compare.Chain{{Events: 3, Rows: []int64{1}, First: []compare.Appearance{{0, 1}, {2, 0}}}, {}}), 2, int64(10), 5)
	f.Fuzz(func(t *testing.T, b []byte, slots int, rows int64, addresses int) {
		slots, addresses = min(max(slots, 0), 1000), max(addresses, 0)
		chains, err := compare.Decode(b, slots, rows, addresses)
		if err != nil {
			return
		}
		for i := range chains {
			for _, row := range chains[i].Rows {
				if row < 0 || row >= rows {
					t.Errorf("row %d of %d", row, rows)
				}
			}
			for _, a := range chains[i].First {
				if int64(a.Address) >= int64(addresses) || a.Event < 0 || a.Event >= chains[i].Events {
					t.Errorf("%+v of %d events and %d addresses", a, chains[i].Events, addresses)
				}
			}
		}
	})
}
