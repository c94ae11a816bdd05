package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// shortRuns is a log of runs shorter than a minute, each with calls that are
// still running when it ends. The last record of one is damaged.
func shortRuns() string {
	var b strings.Builder
	run := func(ms int) {
		b.WriteString("enter t1 0x400100\nenter t2 0x400200\n")
		for range 20 {
			fmt.Fprintf(&b, "enter t1 0x400200 +%d\nleave t1 0x400200 +%d\n", ms/40, ms/40)
		}
		b.WriteString("enter t1 0x400300\nenter t3 0x400300 +7\n")
	}
	b.WriteString("tick 2000000000\n")
	run(8000)
	b.WriteString("run 1000000000\n")
	run(5000)
	b.WriteString("flag 9 1 0x400200 +900\nrun 500000000\nours\nstart 2026-11-21T11:22:33.456\nmodule 0x400000 0x1000 8 - - /nowhere/app\n")
	run(6000)
	return b.String()
}

// timesOf returns the time in each function's calls, and in all of them that no
// other call made, of a chrome trace.
func timesOf(t *testing.T, text []byte) (times map[string]int64, outer int64) {
	t.Helper()
	var file struct {
		TraceEvents []struct {
			Ph, Name string
			Tid      uint32
			Ts       float64
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	type call struct {
		name  string
		begin float64
	}
	stacks := map[uint32][]call{}
	times = map[string]int64{}
	for _, e := range file.TraceEvents {
		stack := stacks[e.Tid]
		switch e.Ph {
		case "B":
			stacks[e.Tid] = append(stack, call{e.Name, e.Ts})
		case "E":
			c := stack[len(stack)-1]
			stacks[e.Tid] = stack[:len(stack)-1]
			took := int64((e.Ts - c.begin) * 1000)
			times[c.name] += took
			if len(stack) == 1 {
				outer += took
			}
		}
	}
	return times, outer
}

// TestSaveRuns holds the time of calls in formats of calls against the
// statistics, whole and filtered.
func TestSaveRuns(t *testing.T) {
	ctx := context.Background()
	s := openText(t, shortRuns())
	if n := len(s.runs()); n != 3 {
		t.Fatalf("%d runs", n)
	}
	for _, where := range []string{"", "event:enter", "thread:1", "thread:2", "time:<7", "mark:open", "row:>60", "row:>60 event:enter", "func:300"} {
		sel := Selection{Where: where}
		list, err := s.Statistics(ctx, sel, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int64{}
		var all int64
		for i := range list {
			want[list[i].Function] = list[i].Total
			all += list[i].Calls
		}
		if all == 0 {
			t.Fatalf("%s: no calls", where)
		}
		view, err := s.View(ctx, sel, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := view.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		saved := func(format string) []byte {
			var b bytes.Buffer
			if err := s.WriteRows(ctx, &b, format, view, SaveOptions{}, nil); err != nil {
				t.Fatal(err)
			}
			return b.Bytes()
		}
		got, outer := timesOf(t, saved("chrome"))
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: chrome has %v, want %v", where, got, want)
		}
		var folded int64
		for line := range strings.Lines(string(saved("folded"))) {
			var n int64
			fmt.Sscan(line[strings.LastIndexByte(line, ' '):], &n)
			folded += n
		}
		if folded != outer {
			t.Errorf("%q: folded has %d ns, want %d", where, folded, outer)
		}
		if text := fmt.Sprintf("\ntotals: %d %d\n", outer, all); !strings.Contains(string(saved("callgrind")), text) {
			t.Errorf("%q: callgrind has no line %q", where, text)
		}
	}
}
