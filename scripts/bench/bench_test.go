package main

import (
	"slices"
	"testing"
)

func TestPick(t *testing.T) {
	// Two of the functions overlap, and one lies within another.
	spans := func() []span { return []span{{100, 10}, {0, 20}, {15, 10}, {16, 2}} }
	all := pick(spans(), 1000)
	slices.Sort(all)
	var want []uint64
	for a := range uint64(25) {
		want = append(want, a)
	}
	for a := range uint64(10) {
		want = append(want, 100+a)
	}
	if !slices.Equal(all, want) {
		t.Errorf("all bytes: %v", all)
	}
	some := pick(spans(), 10)
	if again := pick(spans(), 10); !slices.Equal(some, again) {
		t.Errorf("not the same twice: %v, %v", some, again)
	}
	slices.Sort(some)
	if len(some) != 10 || len(slices.Compact(some)) != 10 {
		t.Errorf("not distinct: %v", some)
	}
	for _, a := range some {
		if !slices.Contains(want, a) {
			t.Errorf("%d is in no function", a)
		}
	}
}

func TestMedian(t *testing.T) {
	runs := []usage{{Wall: 3}, {Wall: 1}, {Wall: 9}}
	if got := median(runs, func(u usage) float64 { return u.Wall }); got != 3 {
		t.Errorf("median %v, want 3", got)
	}
}

func TestMarginal(t *testing.T) {
	if got := marginal(row{cpu: 3}, row{cpu: 1}, 1001); got != 500 {
		t.Errorf("%v look-ups a second, want 500", got)
	}
}

func TestSame(t *testing.T) {
	for _, c := range []struct {
		ours, theirs string
		want         bool
	}{
		{"app::f", "int app::f(int)", true},
		{"(anonymous namespace)::f", "`anonymous namespace'::f", true},
		{"f<int (__cdecl*)(S * __ptr64)>", "f<int (__cdecl *)(struct S *)>(int (__cdecl *const)(struct S *))", true},
		{"memcpy", "memmove", false},
	} {
		if got := same(c.ours, c.theirs); got != c.want {
			t.Errorf("same(%q, %q) = %v", c.ours, c.theirs, got)
		}
	}
}
