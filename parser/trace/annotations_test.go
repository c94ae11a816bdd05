package trace_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"logparser/internal/testlog/tracetest"
	"logparser/parser"
	"logparser/parser/trace/tracetext"
	"logparser/parser/trace/wire"
)

// annotationText returns an annotation as a line: time, thread, and content.
func annotationText(m *parser.Annotation) string {
	value := ""
	switch m.Kind {
	case parser.IntCounter:
		value = fmt.Sprintf(" = i%d", int64(m.Bits))
	case parser.UintCounter:
		value = fmt.Sprintf(" = u%d", m.Bits)
	case parser.FloatCounter:
		value = fmt.Sprintf(" = f%g", math.Float64frombits(m.Bits))
	}
	return fmt.Sprintf("%d %d %s%s", m.Time, m.Thread, m.Text, value)
}

// readAnnotations returns the annotations from a time on, each as a line.
func readAnnotations(log parser.Annotator, from int64) ([]string, error) {
	var list []string
	last := int64(math.MinInt64)
	var back error
	err := log.Annotations(context.Background(), 0, from, func(m *parser.Annotation) bool {
		if m.Time < last || m.Time < from {
			back = fmt.Errorf("%s comes after %d", annotationText(m), last)
		}
		last = m.Time
		list = append(list, annotationText(m))
		return true
	})
	return list, cmp.Or(err, back)
}

// TestAnnotations reads annotations that were written by hand: of two threads and of a
// signal handler, before, between and behind calls, in several chunks.
func TestAnnotations(t *testing.T) {
	file, err := tracetext.Load(strings.NewReader(`
file
chunk process
clock @1000 ns=1000
chunk events stream=1 thread=7 base=1000
mark +0 "begin"
window w0 entry 0x400000
window w1 return 0x500000
enter +100 w0 0x10
counter +5 i64 -5 "queue"
site w1 0x20
enter @2000 w0 0x20
time 2
counter +4 u64 18446744073709551615 "bytes"
leave +6
leave @70000 entry 0x400010
mark +0 "" # at the same time as another thread's
chunk events stream=2 thread=5 base=1000
padding 3
enter +500 entry 0x400030
arguments 1 0102
counter @70000 f64 0.25 "load"
leave +8
result 1 ff
lost 3
mark +2 "the last"
chunk events stream=1 level=1 thread=7 base=1200
enter +0 entry 0x400040
mark +1 "handler"
chunk events stream=1 thread=7 base=80000
stack depth=0
leave +0 return 0x600000
mark +9 "second chunk"
`))
	if err != nil {
		t.Fatal(err)
	}
	log := open(t, &tracetest.Memory{Bytes: file})
	want := []string{
		"1000 7 begin", "1105 7 queue = i-5", "1201 7 handler", "67540 7 bytes = u18446744073709551615",
		"70000 5 load = f0.25", "70000 7 ", "70010 5 the last", "80009 7 second chunk",
	}
	if texts, counters := log.AnnotationCount(0); texts != 5 || counters != 3 {
		t.Errorf("%d texts and %d values", texts, counters)
	}
	for _, from := range []int64{math.MinInt64, 1000, 1001, 1201, 1202, 70000, 70001, 80009, 80010, math.MaxInt64} {
		rest := want[slices.IndexFunc(append(slices.Clone(want), "9223372036854775807"), func(s string) bool {
			var at int64
			fmt.Sscan(s, &at)
			return at >= from
		}):]
		if got, err := readAnnotations(log, from); err != nil || !slices.Equal(got, rest) {
			t.Errorf("from %d: %v\n%s\nwant\n%s", from, err, strings.Join(got, "\n"), strings.Join(rest, "\n"))
		}
	}
	n := 0
	if err := log.Annotations(context.Background(), 0, 0, func(*parser.Annotation) bool { n++; return n < 2 }); err != nil || n != 2 {
		t.Errorf("stopped at the second: %d, %v", n, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := log.Annotations(ctx, 0, 0, func(*parser.Annotation) bool { return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A scribe writes random calls and annotations of some threads.
type scribe struct {
	r    *rand.Rand
	list []*tracetest.Thread
	open []int
	now  uint64
	want []scribbled
	// far is the longest pause, in units.
	far uint64
}

type scribbled struct {
	time   uint64
	thread uint32
	text   string
}

func newScribe(r *rand.Rand, w *tracetest.Writer, threads int) *scribe {
	s := &scribe{r: r, now: 1000, open: make([]int, threads), far: 1 << r.IntN(30)}
	for i := range threads {
		s.list = append(s.list, w.Thread(uint32(i+1), 0, uint64(100+i)))
	}
	return s
}

// write writes n records. Of every ones, annotations are annotations.
func (s *scribe) write(n, annotations, every int) {
	for range n {
		s.now += s.r.Uint64N(s.far + 1)
		i := s.r.IntN(len(s.list))
		t := s.list[i]
		annotation := parser.Annotation{Time: int64(s.now), Thread: uint32(100 + i)}
		switch k := s.r.IntN(every); {
		case k < annotations:
			annotation.Text = []byte(strings.Repeat("text ", s.r.IntN(4)*s.r.IntN(400)*s.r.IntN(2)))
			t.Annotation(s.now, string(annotation.Text))
		case k < 2*annotations:
			annotation.Kind, annotation.Bits, annotation.Text = parser.IntCounter+parser.AnnotationKind(s.r.IntN(3)), s.r.Uint64(), []byte("counter")[:s.r.IntN(8)]
			t.Counter(s.now, uint8(annotation.Kind-parser.IntCounter), annotation.Bits, string(annotation.Text))
		case s.open[i] > 0 && s.r.IntN(2) == 0:
			s.open[i]--
			t.Leave(s.now)
			continue
		default:
			s.open[i]++
			t.Enter(s.now, 0x400000+uint64(s.r.IntN(99)), tracetest.Entry)
			continue
		}
		s.want = append(s.want, scribbled{s.now, annotation.Thread, annotationText(&annotation)})
	}
}

// annotations returns the annotations from a time on that a reader should find.
func (s *scribe) annotations(from uint64) []string {
	slices.SortStableFunc(s.want, func(a, b scribbled) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.thread, b.thread)) })
	var list []string
	for _, m := range s.want {
		if m.time >= from {
			list = append(list, m.text)
		}
	}
	return list
}

// TestAnnotationsRandom reads the annotations of random programs from random times on.
func TestAnnotationsRandom(t *testing.T) {
	for seed := range uint64(soak(60)) {
		r := rand.New(rand.NewPCG(seed, 11))
		m := &tracetest.Memory{}
		w := tracetest.NewWriter(m)
		w.Clock(1000, 1000, 0, 0)
		w.ChunkSize = 4096 << r.IntN(5)
		s := newScribe(r, w, 1+r.IntN(4))
		// Some programs have almost only annotations or almost only calls.
		s.write(r.IntN(30_000), 1, 2+r.IntN(1<<r.IntN(12)))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		log := open(t, m)
		if d := log.Info().Damage; len(d) > 0 {
			t.Fatalf("seed %d: damage %v", seed, d)
		}
		for _, from := range []uint64{0, 1000 + r.Uint64N(s.now-999), s.now} {
			want := s.annotations(from)
			got, err := readAnnotations(log, int64(from))
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("seed %d, from %d: %d annotations, want %d, %v", seed, from, len(got), len(want), err)
			}
		}
	}
}

// TestAnnotationsGrow follows a program. An annotation is shown soon, even if no call
// follows it. None is lost or shown twice.
func TestAnnotationsGrow(t *testing.T) {
	for seed := range uint64(soak(20)) {
		r := rand.New(rand.NewPCG(seed, 12))
		m := &tracetest.Memory{}
		w := tracetest.NewWriter(m)
		w.Clock(1000, 1000, 0, 0)
		s := newScribe(r, w, 1+r.IntN(3))
		s.far = 1e6
		s.write(1, 0, 1)
		if err := w.Sync(); err != nil {
			t.Fatal(err)
		}
		log := open(t, m)
		before := 0
		for look := range 12 {
			if look%4 == 3 {
				s.write(r.IntN(600), 1, 2) // no calls
			} else {
				s.write(r.IntN(3000), 1, 2+r.IntN(50))
			}
			if err := w.Sync(); err != nil {
				t.Fatal(err)
			}
			growth, err := log.Grow(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			got, err := readAnnotations(log, 0)
			if err != nil {
				t.Fatal(err)
			}
			if growth.Annotations != (len(got) != before) {
				t.Fatalf("seed %d, look %d: %+v with %d annotations after %d", seed, look, growth, len(got), before)
			}
			// Everything that is older than 50 ms is shown.
			all := s.annotations(0)
			waiting := len(all) - len(got)
			if late := s.annotations(s.now - min(s.now, 60e6)); waiting > len(late) || !slices.Equal(got[:len(all)-len(late)], all[:len(all)-len(late)]) {
				t.Fatalf("seed %d, look %d: %d of %d annotations are there, %d are of the last 60 ms", seed, look, len(got), len(all), len(late))
			}
			before = len(got)
		}
		if seed < 3 {
			s.write(5, 1, 2)
			if err := w.Sync(); err != nil {
				t.Fatal(err)
			}
			if _, err := log.Grow(context.Background()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(60 * time.Millisecond)
			if _, err := log.Grow(context.Background()); err != nil {
				t.Fatal(err)
			}
			if got, err := readAnnotations(log, 0); err != nil || !slices.Equal(got, s.annotations(0)) {
				t.Fatalf("seed %d: %d annotations of a program that pauses, want %d, %v", seed, len(got), len(s.want), err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		growth, err := log.Grow(context.Background())
		if err != nil || !growth.Ended {
			t.Fatalf("%+v, %v", growth, err)
		}
		if got, err := readAnnotations(log, 0); err != nil || !slices.Equal(got, s.annotations(0)) {
			t.Fatalf("seed %d: %d annotations at the end, want %d, %v", seed, len(got), len(s.want), err)
		}
		if d := log.Info().Damage; len(d) > 0 {
			t.Fatalf("seed %d: damage %v", seed, d)
		}
		events, err := readAll(log, 1000)
		if err != nil || len(events) != int(log.Info().Records) {
			t.Fatalf("seed %d: %d events, %v", seed, len(events), err)
		}
	}
}

// marked returns a trace of two threads with many annotations.
func marked(t testing.TB) []byte {
	m := &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	s := newScribe(rand.New(rand.NewPCG(1, 13)), w, 2)
	s.far = 1000
	s.write(3000, 1, 6)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return m.Bytes
}

// TestAnnotationsDamaged cuts a file and changes bytes of it. All annotations that were
// counted can be read.
func TestAnnotationsDamaged(t *testing.T) {
	file := marked(t)
	for n := wire.HeaderSize; n <= len(file); n += 1 + len(file)/soak(1000) {
		if _, err := check(file[:n]); err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
	for seed := range uint64(soak(300)) {
		r := rand.New(rand.NewPCG(seed, 14))
		b := bytes.Clone(file)
		for range 16 {
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
		if _, err := check(b); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestAnnotationsChanged reads a file whose records have changed since it was opened.
// Reading ends, with or without an error, and does no other harm.
func TestAnnotationsChanged(t *testing.T) {
	file := marked(t)
	failed := 0
	for seed := range uint64(soak(200)) {
		r := rand.New(rand.NewPCG(seed, 15))
		m := &tracetest.Memory{Bytes: bytes.Clone(file)}
		log := open(t, m)
		for range 64 {
			m.Bytes[r.IntN(len(m.Bytes))] = byte(r.Uint32())
		}
		if seed%4 == 0 {
			m.Bytes = m.Bytes[:r.IntN(len(m.Bytes))]
		}
		if err := log.Annotations(context.Background(), 0, 0, func(*parser.Annotation) bool { return true }); err != nil {
			failed++
		}
	}
	if failed == 0 {
		t.Error("nothing was noticed")
	}
}

// BenchmarkAnnotations reads a million values of counters among as many calls.
func BenchmarkAnnotations(b *testing.B) {
	m := &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	w.ChunkSize = 1 << 20
	list := []*tracetest.Thread{w.Thread(1, 0, 7), w.Thread(2, 0, 8)}
	const n = 1_000_000
	for i := range uint64(n) {
		t := list[i/50%2]
		t.Enter(1000+10*i, 0x400000, tracetest.Entry)
		t.Counter(1003+10*i, 1, i, "bytes")
		t.Leave(1005 + 10*i)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	log := open(b, m)
	b.ResetTimer()
	for range b.N {
		count := 0
		if err := log.Annotations(context.Background(), 0, 0, func(*parser.Annotation) bool { count++; return true }); err != nil || count != n {
			b.Fatal(count, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/mark")
}
