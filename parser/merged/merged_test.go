package merged_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"logparser/internal/testlog"
	"logparser/parser"
	"logparser/parser/merged"
)

// merge merges logs.
func merge(t *testing.T, list []*testlog.Process) *merged.Log {
	t.Helper()
	var sources []merged.Source
	for _, p := range list {
		sources = append(sources, merged.Source{Name: fmt.Sprint(p.ID), Log: p})
	}
	log, err := merged.Open(context.Background(), sources, nil)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// An origin is where a record of a merged log comes from.
type origin struct {
	log, record int
	time        int64
}

// order merges logs in the plainest way: the next is always the earliest of those that come
// next in their logs.
func order(list []*testlog.Process, start time.Time) []origin {
	at := make([]int, len(list))
	var all []origin
	for {
		best := origin{log: -1}
		for i, p := range list {
			if at[i] == len(p.Events) {
				continue
			}
			time := p.Events[at[i]].Time + int64(p.Start.Sub(start))
			if best.log < 0 || time < best.time {
				best = origin{i, at[i], time}
			}
		}
		if best.log < 0 {
			return all
		}
		at[best.log]++
		all = append(all, best)
	}
}

// TestMerge reads random merged logs from all places, and looks at what their events mean.
func TestMerge(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		list := testlog.RandomProcesses(r, 1+r.IntN(5), []int{20, 2000, 30000}[seed%3])
		log := merge(t, list)
		want := order(list, list[0].Start)
		info := log.Info()
		if info.Records != int64(len(want)) || len(info.Runs) != 1 || info.Runs[0].Count != info.Records {
			t.Fatalf("seed %d: %+v", seed, info)
		}
		for range 30 {
			from := r.IntN(len(want) + 1)
			n := []int{1, 10, 5000}[r.IntN(3)]
			dst := make([]parser.Event, n)
			got, err := log.ReadEvents(dst, int64(from))
			if got != min(n, len(want)-from) || (got < n) != (err == io.EOF) || err != nil && err != io.EOF {
				t.Fatalf("seed %d: %d events of %d from %d of %d: %v", seed, got, n, from, len(want), err)
			}
			sites := make([]parser.CallSite, n)
			if read, err := log.CallSites(sites, int64(from)); read != got || (read < n) != (err == io.EOF) {
				t.Fatalf("seed %d: %d call sites of %d from %d: %v", seed, read, got, from, err)
			}
			for k, e := range dst[:got] {
				if site := sites[k]; site.Known != (e.Kind == parser.Enter) || site.Known && (site.Address != e.Address+1 || site.Space != e.Space) {
					t.Fatalf("seed %d, record %d: call site %+v of %+v", seed, from+k, site, e)
				}
				if err := same(log, &e, list[want[from+k].log], want[from+k]); err != nil {
					t.Fatalf("seed %d, record %d: %v", seed, from+k, err)
				}
			}
		}
		for range 10 {
			if len(want) == 0 {
				break
			}
			at := r.IntN(len(want))
			o := want[at]
			var one [1]parser.Event
			if _, err := log.ReadEvents(one[:], int64(at)); err != nil {
				t.Fatal(err)
			}
			ended, exact, ok := log.ProcessEnd(one[0].Thread)
			end, known := endOf(list[o.log])
			if end += one[0].Time - list[o.log].Events[o.record].Time; !ok || ended != end || exact != known {
				t.Fatalf("seed %d: process %d ended at %d (%t), want %d (%t)", seed, o.log, ended, exact, end, known)
			}
			got, outer, err := log.OpenCalls(int64(at))
			calls, unknown, _ := list[o.log].OpenCalls(int64(o.record))
			if len(got) != len(calls) || outer != unknown || err != nil {
				t.Fatalf("seed %d, record %d: %d calls, %d, %v; want %d, %d", seed, at, len(got), outer, err, len(calls), unknown)
			}
			for k := range got {
				got[k].Space -= firstSpace(list, o.log)
			}
			if len(got) > 0 && !slices.Equal(got, calls) {
				t.Fatalf("seed %d, record %d: open %v, want %v", seed, at, got, calls)
			}
		}
	}
}

// firstSpace returns where the spaces of a log begin.
func firstSpace(list []*testlog.Process, i int) (first uint16) {
	for _, p := range list[:i] {
		first += uint16(len(p.Spaces(0)))
	}
	return first
}

// same says in what an event of a merged log differs from what it was made of.
func same(log *merged.Log, e *parser.Event, p *testlog.Process, o origin) error {
	was := p.Events[o.record]
	if e.Address != was.Address || e.Kind != was.Kind || e.Gap != was.Gap || e.Time != o.time {
		return fmt.Errorf("%+v of %+v at %d", e, was, o.time)
	}
	of, own := log.Thread(e.Thread), p.Thread(was.Thread)
	if process := log.Processes(0)[of.Process]; process.ID != p.ID || of.ID != own.ID || (of.Stack == 0) != (own.Stack == 0) {
		return fmt.Errorf("the thread %+v of %+v, want %+v of %d", of, process, own, p.ID)
	}
	home, stack := log.Strand(e.Thread)
	ownHome, _ := p.Strand(was.Thread)
	if at := log.Thread(home); at.ID != ownHome || at.Stack != 0 || stack != of.Stack {
		return fmt.Errorf("stack %d of %+v, want %d of %d", stack, at, of.Stack, ownHome)
	}
	space := log.Spaces(0)[e.Space]
	m, owners := log.Modules(0).Find(e.Address, space.Time)
	if path := fmt.Sprintf("/lib/%d/%d", p.ID, was.Space); owners == 0 || log.Modules(0).At(m).Path != path {
		return fmt.Errorf("it lies in %v, want %s", log.Modules(0).At(m), path)
	}
	return nil
}

// endOf returns when a log ended.
func endOf(p *testlog.Process) (end int64, exact bool) {
	for i := range p.Events {
		if p.Events[i].Kind != parser.Damaged {
			end = p.Events[i].Time
		}
	}
	at, exact := p.End()
	return max(end, at), exact
}

// TestOrder has logs of one machine, of several, and of such that do not know the time.
func TestOrder(t *testing.T) {
	noon := time.Date(2024, 1, 2, 12, 0, 0, 0, time.UTC)
	process := func(start time.Time, system string, times ...int64) *testlog.Process {
		p := &testlog.Process{Broken: &testlog.Broken{}, Start: start, System: system}
		for _, at := range times {
			p.Events = append(p.Events, parser.Event{Time: at, Thread: 1})
		}
		return p
	}
	for _, test := range []struct {
		name  string
		logs  []*testlog.Process
		order merged.Order
		times []int64
	}{
		{"one machine", []*testlog.Process{process(noon, "a", 5, 9), process(noon.Add(time.Millisecond), "a", 1, 7)}, merged.ByMachine, []int64{1, 5, 7, 9}},
		{"started anew", []*testlog.Process{process(noon, "a", 5, 9), process(noon.Add(time.Second), "a", 1, 7)}, merged.ByWall, []int64{5, 9, 1e9 + 1, 1e9 + 7}},
		{"other systems", []*testlog.Process{process(noon, "a", 5, 9), process(noon.Add(2), "b", 1, 7)}, merged.ByWall, []int64{3, 5, 9, 9}},
		{"no time of day", []*testlog.Process{process(noon, "a", 5, 9), process(time.Time{}, "a", 1, 7)}, merged.NotKnown, []int64{1, 5, 7, 9}},
		{"none has it", []*testlog.Process{process(time.Time{}, "a", 5, 9), process(time.Time{}, "a", 1, 7)}, merged.NotKnown, []int64{1, 5, 7, 9}},
		{"only the second has it", []*testlog.Process{process(time.Time{}, "a", 5, 9), process(noon, "a", 1, 7), process(noon.Add(time.Second), "a", 3)}, merged.NotKnown, []int64{1, 5, 7, 9, 1e9 + 3}},
		{"nothing in one", []*testlog.Process{process(noon, "a"), process(noon, "a", 2)}, merged.ByMachine, []int64{2}},
	} {
		log := merge(t, test.logs)
		events := make([]parser.Event, len(test.times))
		if n, err := log.ReadEvents(events, 0); n != len(events) || err != nil {
			t.Errorf("%s: %d events, %v", test.name, n, err)
		}
		var times []int64
		for _, e := range events {
			times = append(times, e.Time)
		}
		if log.Order() != test.order || !slices.Equal(times, test.times) {
			t.Errorf("%s: order %d, times %v, want %d, %v", test.name, log.Order(), times, test.order, test.times)
		}
	}
}

// A plain log does not say which process wrote it.
type plain struct{ *testlog.Process }

func (plain) Capabilities() parser.Capabilities { return parser.Capabilities{} }

// failing is a log that cannot be read behind a record.
type failing struct {
	*testlog.Process
	from int64
}

var errFails = errors.New("it fails")

func (f failing) ReadEvents(dst []parser.Event, from int64) (int, error) {
	n, err := f.Process.ReadEvents(dst, from)
	if from+int64(n) > f.from {
		return int(max(0, f.from-from)), errFails
	}
	return n, err
}

// TestRefused merges what cannot be merged.
func TestRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	list := testlog.RandomProcesses(r, 2, 2000)
	open := func(log parser.Log) error {
		_, err := merged.Open(context.Background(), []merged.Source{{Name: "a", Log: list[0]}, {Name: "b", Log: log}}, nil)
		return err
	}
	if err := open(plain{list[1]}); !errors.Is(err, merged.ErrOther) {
		t.Error(err)
	}
	if err := open(failing{list[1], int64(len(list[1].Events)) / 2}); !errors.Is(err, errFails) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := merged.Open(ctx, []merged.Source{{Name: "a", Log: list[0]}}, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := open(list[1]); err != nil {
		t.Error(err)
	}
	if !reflect.DeepEqual(merge(t, list).Processes(0)[1], list[1].Processes(0)[0]) {
		t.Error("the second process is another")
	}
}

// A valued process has values at some records: those of its id and their number.
type valued struct {
	*testlog.Process
	by *parser.ValuesTaken
}

func (v valued) Capabilities() parser.Capabilities {
	can := v.Process.Capabilities()
	can.ValueTeller, can.TakenReader = v, v
	return can
}

func (v valued) at(record int64) []byte {
	if record%3 != 0 || v.by == nil {
		return nil
	}
	return fmt.Appendf(nil, "%d.%d", v.ID, record)
}

// next returns the record of the call whose result is that of the one that ended at a record, 0 for none.
func (v valued) next(record int64) int64 {
	if next := record + 1 + record%5; record%3 == 1 && v.by != nil && next < v.Info().Records {
		return next
	}
	return 0
}

func (v valued) ValuesTaken() *parser.ValuesTaken { return v.by }

func (v valued) TakenCalls(int64, int, *parser.CallPairs, func(*parser.TakenAt)) bool { return true }

func (v valued) Values(dst []parser.CallValues, from int64) (int, error) {
	for i := range dst {
		dst[i] = parser.CallValues{}
		if b := v.at(from + int64(i)); b != nil {
			dst[i] = parser.CallValues{By: v.by, Form: parser.ValuesByPlan, Taken: b}
		}
		if next := v.next(from + int64(i)); next > 0 {
			dst[i] = parser.CallValues{By: v.by, Form: parser.ValuesOfJump, Next: next}
		}
	}
	return len(dst), nil
}

func (v valued) EachTaken(from int64, n int, f func(i int, form parser.ValueForm, taken []byte)) error {
	for i := range n {
		if b := v.at(from + int64(i)); b != nil {
			f(i, parser.ValuesByPlan, b)
		}
	}
	return nil
}

// TestValues reads values of merged logs: by one plan, by several, and of some logs only.
func TestValues(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 5))
		list := testlog.RandomProcesses(r, 2+r.IntN(3), 300)
		var logs []valued
		var sources []merged.Source
		for i, p := range list {
			v := valued{p, &parser.ValuesTaken{Plan: []byte("plan"), PlanHash: 1}}
			if seed%3 == 1 && i > 0 {
				v.by = &parser.ValuesTaken{Plan: []byte("other"), PlanHash: 2}
			}
			if seed%3 == 2 && i == 0 {
				v.by = nil
			}
			logs = append(logs, v)
			sources = append(sources, merged.Source{Name: fmt.Sprint(p.ID), Log: v})
		}
		log, err := merged.Open(context.Background(), sources, nil)
		if err != nil {
			t.Fatal(err)
		}
		can := log.Capabilities()
		if by := can.ValueTeller.ValuesTaken(); by == nil || (by.Plan != nil) != (seed%3 != 1) || can.TakenReader == nil {
			t.Fatalf("seed %d: %+v", seed, by)
		}
		want := order(list, list[0].Start)
		for range 20 {
			from := r.IntN(len(want))
			n := min(1+r.IntN(200), len(want)-from)
			dst, taken := make([]parser.CallValues, n), make([]string, n)
			if got, err := can.ValueTeller.Values(dst, int64(from)); got != n || err != nil {
				t.Fatalf("seed %d: %d of %d: %v", seed, got, n, err)
			}
			if err := can.TakenReader.EachTaken(int64(from), n, func(i int, _ parser.ValueForm, b []byte) { taken[i] += string(b) }); err != nil {
				t.Fatal(err)
			}
			for i := range dst {
				o := want[from+i]
				says := string(logs[o.log].at(int64(o.record)))
				if next := logs[o.log].next(int64(o.record)); next > 0 {
					if to := want[dst[i].Next]; dst[i].Form != parser.ValuesOfJump || to.log != o.log || int64(to.record) != next {
						t.Fatalf("seed %d, record %d: %+v leads to %+v, not to record %d of log %d", seed, from+i, dst[i], to, next, o.log)
					}
					continue
				}
				if string(dst[i].Taken) != says || taken[i] != says || (dst[i].By == nil) != (says == "") || says != "" && string(dst[i].By.Plan) != string(logs[o.log].by.Plan) {
					t.Fatalf("seed %d, record %d: %+v, %q, want %q", seed, from+i, dst[i], taken[i], says)
				}
			}
		}
		if can.TakenReader.TakenCalls(0, 1, &parser.CallPairs{}, nil) {
			t.Error("calls of several logs are of one stack")
		}
		if can.TakenReader.EachTaken(int64(len(want)), 1, nil) == nil {
			t.Error("behind the end")
		}
	}
}
