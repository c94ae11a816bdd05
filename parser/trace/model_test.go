package trace_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"logparser/internal/testlog/tracetest"
	"logparser/message"
	"logparser/parser"
	"logparser/parser/trace"
	"logparser/parser/trace/wire"
)

// TestRing reads rings. Only the last events of each thread are left. Their leaves
// have the right addresses, and the calls that were open before are known.
func TestRing(t *testing.T) {
	for seed := range uint64(soak(30)) {
		r := rand.New(rand.NewPCG(seed, 3))
		m := &tracetest.Memory{}
		w := tracetest.NewWriter(m)
		w.Header.Flags = wire.FlagRing
		w.Ring = 2 + r.IntN(3)
		p := tracetest.Program{Threads: 1 + r.IntN(3), Events: 20000, Functions: 100, Enters: 50, Far: 1, Returns: 50, Unwind: 1, Epochs: r.IntN(3)}
		want := p.Write(r, w)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		log := open(t, m)
		if d := log.Info().Damage; len(d) > 0 {
			t.Fatalf("seed %d: damage %v", seed, d)
		}
		got, err := readAll(log, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for th := uint32(100); th < 100+uint32(p.Threads); th++ {
			mine := func(list []parser.Event) (out []parser.Event) {
				for _, e := range list {
					if e.Thread == th {
						out = append(out, e)
					}
				}
				return out
			}
			all, left := mine(want), mine(got)
			cut := len(all) - len(left)
			if cut <= 0 {
				t.Fatalf("seed %d: nothing was overwritten", seed)
			}
			var stack []parser.OpenCall
			for _, e := range all[:cut] {
				c := parser.OpenCall{Address: e.Address, Space: e.Space}
				if e.Kind == parser.Enter {
					stack = append(stack, c)
				} else if i := lastIndex(stack, c); i >= 0 {
					stack = stack[:i]
				}
			}
			record := int64(slices.IndexFunc(got, func(e parser.Event) bool { return e.Thread == th }))
			if g := got[record].Gap; g != parser.EventsMissing {
				t.Fatalf("seed %d: the first event has gap %d", seed, g)
			}
			calls, outer, err := log.OpenCalls(record)
			if err != nil {
				t.Fatal(err)
			}
			if outer != max(0, len(stack)-31) {
				t.Fatalf("seed %d: %d outer calls of %d", seed, outer, len(stack))
			}
			for i := range calls {
				// The epochs of their enters are not known.
				if calls[i].Address != stack[outer+i].Address || (calls[i].Space^stack[outer+i].Space)&1 != 0 {
					t.Fatalf("seed %d: open call %d is %+v, want %+v", seed, i, calls[i], stack[outer+i])
				}
			}
			left[0].Gap = parser.NoGap
			for i := range left {
				e, o := left[i], all[cut+i]
				e.Space, o.Space = e.Space&1, o.Space&1
				// If there are unknown outer calls, the addresses of their leaves are not known either.
				if e != o && outer == 0 {
					t.Fatalf("seed %d: event %d is %+v, want %+v", seed, i, e, o)
				}
			}
		}
	}
}

func lastIndex(stack []parser.OpenCall, c parser.OpenCall) int {
	for i := len(stack) - 1; i >= 0; i-- {
		if stack[i].Address == c.Address && (stack[i].Space^c.Space)&1 == 0 {
			return i
		}
	}
	return -1
}

// TestEpochs loads and unloads modules. In each space, an address must mean one module during the time of that space.
func TestEpochs(t *testing.T) {
	tests := []struct {
		name string
		// steps are words: +NAME@BASE:SIZE loads a module, -NAME unloads it, and
		// ?ADDRESS is a call. Numbers are in pages.
		steps string
		// want is the module of each call, and the number of epochs.
		want   string
		epochs int
	}{
		{"one module", "+a@1:2 ?1 ?2 ?3", "a a -", 1},
		{"replaced", "+a@1:2 ?1 -a +b@1:2 ?1 ?2", "a b b", 2},
		{"replaced and back", "+a@1:1 ?1 -a +b@1:1 ?1 -b +a@1:1 ?1", "a b a", 3},
		{"reloaded at its base", "+a@1:1 ?1 -a +a@1:1 ?1", "a a", 1},
		{"called late", "+a@1:1 -a ?1 +b@1:1 ?1", "a b", 2},
		{"loaded elsewhere", "+a@1:1 ?1 -a +a@5:1 ?5 ?1", "a a a", 1},
		{"over two", "+a@1:1 +b@2:1 ?1 ?2 -a -b +c@1:2 ?1 ?2", "a b c c", 2},
		{"over the end of one", "+a@1:3 ?1 ?3 -a +b@3:3 ?1 ?3 ?5", "a a - b b", 2},
		{"the unload is missing", "+a@1:1 ?1 +b@1:1 ?1", "a b", 2},
		{"neighbours", "+a@1:1 +b@2:1 ?1 ?2", "a b", 1},
		{"others live on", "+x@9:1 +a@1:1 ?9 -a +b@1:1 ?9 ?1", "x x b", 2},
		{"reloaded after a change elsewhere", "+a@1:1 +p@5:1 -p +q@5:1 ?1 -a +a@1:1 ?1", "a a", 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := &tracetest.Memory{}
			w := tracetest.NewWriter(m)
			th := w.Thread(1, 0, 7)
			now := uint64(5000)
			numbers := make(map[string]uint32)
			for i, s := range strings.Fields(test.steps) {
				now += 10
				switch s[0] {
				case '+':
					name, rest, _ := strings.Cut(s[1:], "@")
					var base, size uint64
					if _, err := fmt.Sscanf(rest, "%d:%d", &base, &size); err != nil {
						t.Fatal(err)
					}
					numbers[name] = uint32(i)
					w.Load(now, uint32(i), base<<12, size<<12, name, "")
				case '-':
					w.Unload(now, numbers[s[1:]])
				case '?':
					var page uint64
					if _, err := fmt.Sscanf(s, "?%d", &page); err != nil {
						t.Fatal(err)
					}
					th.Enter(now, page<<12, tracetest.Entry)
					th.Leave(now + 1)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			log := open(t, m)
			events, err := readAll(log, 100)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range events {
				if e.Kind != parser.Enter {
					continue
				}
				name := "-"
				if i, owners := log.Modules(0).Find(e.Address, log.Spaces(0)[e.Space].Time); owners > 0 {
					name = log.Modules(0).At(i).Path
				}
				got = append(got, name)
			}
			if s := strings.Join(got, " "); s != test.want {
				t.Errorf("got %s, want %s", s, test.want)
			}
			if n := len(log.Spaces(0)) / 2; n != test.epochs {
				t.Errorf("%d epochs, want %d", n, test.epochs)
			}
		})
	}
}

// TestLoads has the identities of modules.
func TestLoads(t *testing.T) {
	m := &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	w.Clock(1000, 1_000_000, 0, 0)
	w.Clock(2000, 2_000_000, 0, 0)
	w.Load(1100, 1, 0x1000, 0x1000, "a", "build-id:0a0b")
	w.Load(1200, 2, 0x3000, 0x1000, "b", "0c0d")
	w.Load(1300, 3, 0x5000, 0x1000, "c", "01234567-89AB-CDEF-0123-456789ABCDEF:7")
	w.Load(1400, 4, 0x7000, 0x1000, "d", "who knows")
	w.Unload(1500, 2)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	log := open(t, m)
	var got []string
	for i := range log.Modules(0).Len() {
		l := log.Modules(0).At(i)
		got = append(got, fmt.Sprintf("%s %s %d", l.Path, l.Identity, l.PointerSize))
	}
	want := "a build-id:0a0b 8; b build-id:0c0d 8; c pdb:01234567-89AB-CDEF-0123-456789ABCDEF:7 8; d - 8"
	if s := strings.Join(got, "; "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	if notes := strings.Join(message.Strings(log.Info().Notes), "; "); !strings.Contains(notes, `"who knows" is not an identity`) {
		t.Errorf("notes: %s", notes)
	}
}

// TestClock relates units to nanoseconds and to local time.
func TestClock(t *testing.T) {
	const wall = 1_700_000_000_000_000_000 // 2023-11-14T22:13:20Z
	tests := []struct {
		name string
		// points are calibrations, in units and nanoseconds.
		points [][2]uint64
		// at are times of events, in units, and the wanted nanoseconds.
		at [][2]int64
	}{
		{"between two", [][2]uint64{{1000, 5000}, {2001000, 1005000}}, [][2]int64{{1000, 5000}, {1001000, 505000}, {2001000, 1005000}}},
		{"outside of two", [][2]uint64{{2000, 10_000_000}, {1_002_000, 12_000_000}}, [][2]int64{{0, 9_996_000}, {2_002_000, 14_000_000}}},
		{"two that are close say nothing of the rate", [][2]uint64{{1000, 1000}, {1010, 1030}}, [][2]int64{{1010, 1030}, {2010, 2030}}},
		{"one, at the nominal rate", [][2]uint64{{1000, 500}}, [][2]int64{{1000, 500}, {3000, 2500}}},
		{"none: from the beginning", nil, [][2]int64{{1000, 0}, {4000, 3000}}},
		{"a rate that changes", [][2]uint64{{0, 0}, {4_000_000, 4_000_000}, {8_000_000, 6_000_000}}, [][2]int64{{2_000_000, 2_000_000}, {6_000_000, 5_000_000}, {10_000_000, 7_000_000}}},
		{"one that runs backwards", [][2]uint64{{0, 4_000_000}, {4_000_000, 8_000_000}, {8_000_000, 5_000_000}}, [][2]int64{{8_000_000, 12_000_000}}},
		{"no rounding at the points", [][2]uint64{{0, 0}, {3_000_001, 1_000_003}, {6_000_000, 2_000_000}}, [][2]int64{{3_000_000, 1_000_002}, {3_000_001, 1_000_003}, {6_000_000, 2_000_000}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := &tracetest.Memory{}
			w := tracetest.NewWriter(m)
			for _, p := range test.points {
				w.Clock(p[0], p[1], wall, 7200)
			}
			th := w.Thread(1, 0, 7)
			for _, a := range test.at {
				th.Enter(uint64(a[0]), 0x400000, tracetest.Entry)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			log := open(t, m)
			events, err := readAll(log, 100)
			if err != nil || len(events) != len(test.at) {
				t.Fatalf("%d events, %v", len(events), err)
			}
			for i, a := range test.at {
				if events[i].Time != a[1] {
					t.Errorf("%d units are %d ns, want %d", a[0], events[i].Time, a[1])
				}
			}
			c := log.Clock(0)
			if c.HasWall != (len(test.points) > 0) || c.Digits() != 9 {
				t.Errorf("clock %+v", c)
			}
			if c.HasWall {
				got, _ := c.Wall(int64(test.points[0][1]) + 5)
				if s := got.Format(time.RFC3339Nano); s != "2023-11-15T00:13:20.000000005Z" {
					t.Errorf("local time %s", s)
				}
			}
		})
	}
}

// TestUnknown has chunks and records of later versions.
func TestUnknown(t *testing.T) {
	le := binary.LittleEndian
	m := &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	th := w.Thread(1, 0, 7)
	th.Enter(5000, 0x400000, tracetest.Entry)
	th.Raw(append(le.AppendUint16(nil, 40<<2|3<<8), 1, 2, 3, 4))
	th.Raw(append(le.AppendUint32(le.AppendUint16(nil, 41<<2), 4006), make([]byte, 4000)...))
	th.Raw([]byte{0, 0, 0, 0})
	annotation := le.AppendUint16(le.AppendUint16(le.AppendUint16(nil, 10<<2|5<<8), 30), 4)
	th.Raw(append(annotation, "mark"...))
	lost := le.AppendUint32(le.AppendUint16(nil, 14<<2|3<<8), 9)
	th.Raw(lost)
	th.Lost = 0
	th.Enter(5010, 0x400010, tracetest.Entry)
	th.Leave(5020)
	th.Leave(5030)
	w.Record(40, 5000, []byte("later"))
	w.Record(wire.ThreadRecord, 5000, wire.AppendBody(nil, wire.Thread{Stream: 1, ID: 7, Name: "worker"}))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	log := open(t, m)
	events, err := readAll(log, 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		got = append(got, fmt.Sprintf("%d:%x@%d", e.Kind, e.Address, e.Time-events[0].Time))
	}
	// The delta of the annotation counts for the times of later events.
	if s := strings.Join(got, " "); s != "0:400000@0 0:400010@40 1:400010@50 1:400000@60" {
		t.Errorf("events %s", s)
	}
	info := log.Info()
	if len(info.Damage) != 1 || info.Damage[0].Bytes != 0 || !strings.Contains(info.Damage[0].Reason.String(), "lost 9 events") {
		t.Errorf("damage %+v", info.Damage)
	}
	if texts, counters := log.AnnotationCount(0); texts != 1 || counters != 0 {
		t.Errorf("%d annotations and %d values of counters", texts, counters)
	}
	if n := log.Thread(7).Name; n != "worker" {
		t.Errorf("thread 7 is %q", n)
	}
}

// TestDetect tells traces from other files, also by the first chunk alone.
func TestDetect(t *testing.T) {
	m, _ := small(t)
	head := m.Bytes[:64<<10]
	broken := bytes.Clone(head)
	copy(broken, "XXXX")
	other := bytes.Clone(broken)
	other[wire.HeaderSize] = 'X'
	for _, test := range []struct {
		name string
		head []byte
		want bool
	}{{"a trace", head, true}, {"its beginning", head[:8], true}, {"no magic", broken, true}, {"neither magic nor chunk", other, false}, {"nothing", nil, false}} {
		if got := trace.Detect(test.head, int64(len(test.head))) > 60; got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
		log, err := trace.New(context.Background(), bytes.NewReader(test.head), int64(len(test.head)), nil)
		if len(test.head) > 5000 && test.want && (err != nil || log.Info().Records == 0) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// TestSameIDTwice has two threads with the same id, one after the other.
func TestSameIDTwice(t *testing.T) {
	m := &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	for i := range uint64(2) {
		th := w.Thread(uint32(i+1), 0, 7)
		th.Enter(5000+100*i, 0x400000, tracetest.Entry)
		th.Enter(5001+100*i, 0x400010, tracetest.Entry)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	events, err := readAll(open(t, m), 10)
	if err != nil || len(events) != 4 {
		t.Fatal(len(events), err)
	}
	for i, want := range []parser.Gap{parser.ThreadBegins, parser.NoGap, parser.ThreadBegins, parser.NoGap} {
		if events[i].Gap != want {
			t.Errorf("event %d has gap %d, want %d", i, events[i].Gap, want)
		}
	}
}
