package app

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"logparser/rows/filter"
)

func TestClassOf(t *testing.T) {
	for name, want := range map[string]string{
		"main":                          "",
		"app::work":                     "app",
		"std::vector<a::b>::push_back":  "std::vector<a::b>",
		"std::map<int, x::y>::at(z::w)": "std::map<int, x::y>",
		"(anonymous namespace)::f":      "(anonymous namespace)",
		"`anonymous namespace'::C::f":   "`anonymous namespace'::C",
		"A::operator()":                 "A",
		"A::operator->":                 "A",
		"A::operator<< <int>":           "A",
		"void B::run<x::y>(int)":        "B",
		"f(a::b)":                       "",
		"main.(*Server).Serve":          "main.(*Server)",
		"net/http.Get":                  "net/http",
		"work.constprop.0":              "",
		"C::work.cold":                  "C",
		"0x1000":                        "",
		"Power<3>::of":                  "Power<3>",
	} {
		if got := ClassOf(name); got != want {
			t.Errorf("%q is of %q, want %q", name, got, want)
		}
	}
}

// nestedCalls are a call from 0 to 40 ms, and in it one from 10 to 20.
const nestedCalls = `enter t1 0x400100
enter t1 0x400200 +10
leave t1 0x400204 +10
leave t1 0x400104 +20
`

func openNestedCalls(t *testing.T) *Session { return openText(t, nestedCalls) }

// TestClip asks for the parts of calls in a range of time, and for whole calls.
func TestClip(t *testing.T) {
	s := openNestedCalls(t)
	all, err := s.Statistics(t.Context(), Selection{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := func(list []FunctionStat) string {
		var parts []string
		for _, f := range list {
			parts = append(parts, fmt.Sprintf("%d calls %d total %d self", f.Calls, f.Total/1e6, f.Self/1e6))
		}
		slices.Sort(parts)
		return strings.Join(parts, "; ")
	}
	if got := text(all); got != "1 calls 10 total 10 self; 1 calls 40 total 30 self" {
		t.Fatal(got)
	}
	for _, c := range []struct{ where, clipped, whole string }{
		// leaf is entered in it, work was running.
		{"time:5ms..14999999ns", "1 calls 10 total 5 self; 1 calls 5 total 5 self", "1 calls 10 total 10 self"},
		{"time:5ms..14999999ns depth:1..", "1 calls 5 total 5 self", "1 calls 10 total 10 self"},
		{"time:2ms.. time:..3999999ns", "1 calls 2 total 2 self", ""},
		{"time:60ms..70ms", "", ""},
		// Rows 1 and 2 are all that leaf has; work was running.
		{"row:1..2", "1 calls 10 total 0 self; 1 calls 10 total 10 self", "1 calls 10 total 10 self"},
		{"row:2", "1 calls 0 total 0 self; 1 calls 0 total 0 self", ""},
		{"row:0..1 time:5ms..", "1 calls 0 total 0 self; 1 calls 5 total 5 self", "1 calls 10 total 10 self"},
		{"row:90..", "", ""},
		// A range that does not limit all is none.
		{"time:5ms..15ms or depth:0", "1 calls 10 total 10 self; 1 calls 40 total 30 self", "1 calls 10 total 10 self; 1 calls 40 total 30 self"},
	} {
		for clip, want := range map[bool]string{true: c.clipped, false: c.whole} {
			list, err := s.Statistics(t.Context(), Selection{Where: c.where, Clip: clip}, nil)
			if err != nil || text(list) != want {
				t.Errorf("%s, parts %t: %q, want %q, %v", c.where, clip, text(list), want, err)
			}
			tree, err := s.CallTree(t.Context(), Selection{Where: c.where, Clip: clip}, TreeOptions{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var self int64
			tree.Walk(func(n *TreeNode, _ []*TreeNode) bool { self += n.Self; return true })
			var sum int64
			for i := range list {
				sum += list[i].Self
			}
			if self != sum {
				t.Errorf("%s, parts %t: the tree has %d of self time, statistics %d", c.where, clip, self, sum)
			}
		}
		if e, _ := filter.Parse(c.where); s.Clips(c.where) != (len(e.Parts()) > 0 && !strings.Contains(c.where, " or ")) {
			t.Errorf("%s: clips is %t", c.where, s.Clips(c.where))
		}
	}
}

// TestBetween asks what happened between two times.
func TestBetween(t *testing.T) {
	s := openNestedCalls(t)
	sum, err := s.Timeline().Between(t.Context(), 5e6, 15e6, nil)
	if err != nil || sum.Calls != 2 || sum.Threads != 1 || len(sum.Most) != 2 || sum.Most[0].Self != 5e6 || sum.Most[1].Self != 5e6 {
		t.Errorf("%+v, %v", sum, err)
	}
	if sum, err = s.Timeline().Between(t.Context(), 22e6, 35e6, nil); err != nil || sum.Calls != 1 || sum.Most[0].Self != 13e6 {
		t.Errorf("%+v, %v", sum, err)
	}
}

// TestClipByTimeOfDay cuts by times of day as by times since the beginning.
func TestClipByTimeOfDay(t *testing.T) {
	s := openText(t, "start 2026-11-21T11:22:33.456\ntick 1000\nmodule 0x400000 0x10000 /lib/a.so\n"+nestedCalls)
	for wall, since := range map[string]string{
		"time:2026-11-21T11:22:33.461..2026-11-21T11:22:33.470999999": "time:5ms..14999999ns",
		"time:2026-11-21T11:22:33.478..":                              "time:22ms..",
		"time:..2026-11-21T11:22:33.460999999":                        "time:..4999999ns",
		"time:2026-11-21T11:23:00..":                                  "time:60ms..",
	} {
		var sums [2][]FunctionStat
		for i, where := range []string{wall, since} {
			var err error
			if sums[i], err = s.Statistics(t.Context(), Selection{Where: where, Clip: true}, nil); err != nil || !s.Clips(where) {
				t.Fatalf("%s: %v", where, err)
			}
		}
		if !reflect.DeepEqual(sums[0], sums[1]) {
			t.Errorf("%s: %+v, want %+v", wall, sums[0], sums[1])
		}
	}
	// Without a time of day nothing is in a range of it.
	none := openNestedCalls(t)
	if list, err := none.Statistics(t.Context(), Selection{Where: "time:2026-11-21T11:22:00..", Clip: true}, nil); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if none.Clips("time:(") {
		t.Error("what is no filter clips")
	}
}
