package trace_test

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"logparser/internal/testlog/tracetest"
	"logparser/message"
	"logparser/parser"
	"logparser/parser/trace"
)

// stackRecord returns a STACK of calls of functions with given numbers.
func stackRecord(flags uint16, depth int, calls ...uint64) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(le.AppendUint16(nil, 9<<2), uint32(16+16*len(calls)))
	b = le.AppendUint32(le.AppendUint16(b, flags|1), uint32(depth))
	b = le.AppendUint32(b, uint32(len(calls)))
	for _, c := range calls {
		b = le.AppendUint64(b, (0x400000+c)<<1)
	}
	for i := range calls {
		b = le.AppendUint64(b, uint64(100+i))
	}
	return b
}

// TestInherit has streams that begin with a STACK: the calls of a forked child that
// its parent has entered.
func TestInherit(t *testing.T) {
	for _, test := range []struct {
		name  string
		flags uint16
		depth int
		calls []uint64
		want  string // the functions that are entered (+) and left (-)
		outer int
	}{
		{"a child", 0, 3, []uint64{1, 2, 3}, "+1 +2 +3 +9 -9 -3 -2", 0},
		{"the innermost of its calls", 0, 7, []uint64{2, 3}, "+2 +3 +9 -9 -3 -2", 5},
		{"stated", 2, 3, []uint64{1, 2, 3}, "+9 -9 -3 -2", 0},
		{"not known", 0, 3, []uint64{1, 1<<63 - 0x400000, 3}, "+9 -9 -3 -0", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "child.lptrace")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			w := tracetest.NewWriter(f)
			w.Clock(1000, 1000, 0, 0)
			th := w.Thread(1, 0, 7)
			// Begins the chunk.
			th.Annotation(5000, "")
			th = w.Thread(2, 0, 8)
			th.Raw(stackRecord(test.flags, test.depth, test.calls...))
			th.Annotation(6000, "in the child")
			th.Enter(7000, 0x400009, tracetest.Entry)
			th.Leave(7010)
			th.Raw([]byte{1, 0, 1, 0})
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			log, err := trace.Open(context.Background(), path, parser.Options{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			events, err := readAll(log, 3)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i, e := range events {
				sign := "+"
				if e.Kind == parser.Leave {
					sign = "-"
				}
				got = append(got, sign+string(rune('0'+e.Address&15)))
				if e.Thread != 8 || e.Space != 0 || (e.Gap != parser.NoGap) != (i == 0) {
					t.Errorf("event %d: %+v", i, e)
				}
				var one [1]parser.Event
				if _, err := log.ReadEvents(one[:], int64(i)); err != nil || one[0] != e {
					t.Errorf("event %d read alone: %+v, %v", i, one[0], err)
				}
			}
			if s := strings.Join(got, " "); s != test.want {
				t.Errorf("%s, want %s", s, test.want)
			}
			inherited := slices.ContainsFunc(log.Info().Notes, func(n message.Text) bool { return strings.Contains(n.String(), "when the process was forked") })
			if inherited != (test.want[1] != '9') {
				t.Errorf("notes %q", log.Info().Notes)
			}
			if (events[0].Gap == parser.ThreadBegins) != (inherited && test.outer == 0) {
				t.Errorf("gap %d", events[0].Gap)
			}
			if inherited && test.outer > 0 {
				if calls, outer, err := log.OpenCalls(0); err != nil || len(calls) > 0 || outer != test.outer {
					t.Errorf("open: %v and %d, %v", calls, outer, err)
				}
			}
			if d := log.Info().Damage; len(d) > 0 {
				t.Errorf("damage %v", d)
			}
		})
	}
}

// TestInheritGrow opens a child's file when its first chunk has no record yet, and when it only has the STACK.
func TestInheritGrow(t *testing.T) {
	for _, early := range []bool{false, true} {
		m := &tracetest.Memory{}
		w := tracetest.NewWriter(m)
		w.Clock(1000, 1000, 0, 0)
		th := w.Thread(1, 0, 7)
		var log *trace.Log
		look := func() {
			t.Helper()
			if err := w.Sync(); err != nil {
				t.Fatal(err)
			}
			if log == nil {
				log = open(t, m)
			} else if _, err := log.Grow(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		if early {
			th.Raw(nil)
			look()
		}
		th.Raw(stackRecord(0, 2, 1, 2))
		look()
		th.Enter(5000, 0x400003, tracetest.Entry)
		th.Leave(5001)
		look()
		th.Raw([]byte{1, 0, 1, 0})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		growth, err := log.Grow(context.Background())
		if err != nil || !growth.Ended {
			t.Fatalf("%+v, %v", growth, err)
		}
		events, err := readAll(log, 10)
		if err != nil {
			t.Fatal(err)
		}
		var got []uint64
		for _, e := range events {
			got = append(got, e.Address-0x400000)
		}
		if !slices.Equal(got, []uint64{1, 2, 3, 3, 2, 1}) {
			t.Errorf("early %t: %v", early, got)
		}
	}
}
