package trace

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"logparser/internal/testlog/tracetest"
	"logparser/parser"
)

// enteredCalls are the open calls of a stream whose enters were read by the reader.
type enteredCalls struct {
	// next is the number of the next event. Calls from the number since on are counted by address.
	next, since uint32
	counts      map[uint16]int
	// all is false if the reader may have read the enters of more calls, among events that it refused.
	all bool
}

// begin starts counting before the event with a number.
func (e *enteredCalls) begin(number uint32, all bool) {
	e.since, e.all = number, all
	clear(e.counts)
}

// differsThreads reads n records, from a record on, with a reader of threads and with ReadEvents, and returns the first
// difference as an error.
func differsThreads(l *Log, r parser.ThreadReader, threads []parser.ThreadCalls, from int64, n int) error {
	return make(enteredBySource).differs(l, r, threads, from, n)
}

// enteredBySource has the open calls of each stream after the results so far.
type enteredBySource map[*threadSource]*enteredCalls

// differs compares one result of a reader with the events.
func (entered enteredBySource) differs(l *Log, r parser.ThreadReader, threads []parser.ThreadCalls, from int64, n int) error {
	want, got := make([]parser.Event, n), make([]parser.Event, n)
	if k, err := l.ReadEvents(want, from); k < n {
		return err
	}
	for i := range got {
		got[i].Kind = parser.Damaged
	}
	first := -1
	for k, t := range threads {
		events := make([]parser.Event, t.End-t.First)
		halves := make([]*parser.ThreadCall, len(events))
		put := func(c *parser.ThreadCall, number uint32, kind parser.Kind) {
			address, space := r.Address(c.Address)
			events[number-t.First] = parser.Event{Address: address, Time: t.Times[number-t.First], Thread: t.Thread, Space: space, Kind: kind}
			halves[number-t.First] = c
		}
		for i := range t.Ended {
			c := &t.Ended[i]
			if put(c, c.Leave, parser.Leave); c.Enter >= t.First {
				put(c, c.Enter, parser.Enter)
			}
		}
		for i := range t.Open {
			put(&t.Open[i], t.Open[i].Enter, parser.Enter)
		}
		for i := range events {
			row := r.Row(k, t.First+uint32(i))
			if row < 0 || row >= n || got[row].Kind != parser.Damaged {
				return fmt.Errorf("event %d of thread %d has row %d", i, t.Thread, row)
			}
			if i == 0 {
				if row < first {
					return fmt.Errorf("thread %d begins at %d, after one that begins at %d", t.Thread, row, first)
				}
				first = row
			}
			got[row] = events[i]
		}
		of := r.(*threadReader).columns[k]
		if entered[of] == nil {
			entered[of] = &enteredCalls{counts: make(map[uint16]int)}
		}
		if err := differsCalls(&t, events, halves, entered[of]); err != nil {
			return err
		}
	}
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf("row %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	return nil
}

// differsCalls compares calls with their events, which are in the halves, and returns the first difference as an error.
func differsCalls(t *parser.ThreadCalls, events []parser.Event, halves []*parser.ThreadCall, entered *enteredCalls) error {
	if len(t.Times) != len(events) {
		return fmt.Errorf("thread %d has %d times of %d events", t.Thread, len(t.Times), len(events))
	}
	if t.First != entered.next {
		entered.begin(t.First, t.First == 1)
	}
	entered.next = t.End
	depth, open := t.Depth, 0
	for i, c := range halves {
		if c == nil {
			return fmt.Errorf("thread %d has no event %d", t.Thread, i)
		}
		if depth == 0 {
			entered.begin(t.First+uint32(i), true) // no call is open
		}
		enter := events[i].Kind == parser.Enter
		if !enter {
			depth--
			if c.Enter >= t.First {
				open--
			}
			if c.Enter >= entered.since {
				entered.counts[c.Address]--
			}
		}
		recursive := entered.counts[c.Address] > 0
		if c.Depth != depth || depth < 0 || recursive != c.Recursive && (recursive || entered.all) {
			return fmt.Errorf("event %d of thread %d, of depth %d, is of %+v", i, t.Thread, depth, c)
		}
		if enter {
			depth++
			open++
			entered.counts[c.Address]++
		}
	}
	if open != len(t.Open) {
		return fmt.Errorf("thread %d has %d open calls, want %d", t.Thread, len(t.Open), open)
	}
	for i, n := range t.New {
		if c := halves[n.Enter-t.First]; c.Enter != n.Enter || c.Address != n.Address || i > 0 && n.Enter <= t.New[i-1].Enter {
			return fmt.Errorf("thread %d has the new address %+v of %+v", t.Thread, n, c)
		}
	}
	return nil
}

// TestReadThreads reads random programs thread by thread, from random records on.
func TestReadThreads(t *testing.T) {
	read, refused, rounds := 0, 0, 150
	if testing.Short() {
		rounds = 15
	}
	for seed := range uint64(rounds) {
		restore := SetLoops(seed/2%2 == 0)
		r := rand.New(rand.NewPCG(seed, 17))
		p := tracetest.Random(r)
		if seed%2 == 0 {
			p.Unwind, p.Stray, p.Handler = 0, 0, 0
		}
		var m tracetest.Memory
		w := tracetest.NewWriter(&m)
		p.Write(r, w)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		l, err := New(context.Background(), &m, m.Size(), nil)
		if err != nil {
			t.Fatal(err)
		}
		total := l.Info().Records
		for range 3 {
			from := r.Int64N(total)
			n := 1 + r.IntN(3000)
			reader, entered := l.ReadThreads(from), make(enteredBySource)
			for reader != nil && from+int64(n) <= total {
				threads, ok := reader.Next(n)
				if ok {
					read++
					if err := entered.differs(l, reader, threads, from, n); err != nil {
						t.Fatalf("seed %d, %+v, %d from %d: %v", seed, p, n, from, err)
					}
				} else {
					refused++
				}
				from += int64(n)
			}
		}
		if l.ReadThreads(total) != nil || l.ReadThreads(-1) != nil {
			t.Fatal("there is a reader beyond the log")
		}
		restore()
	}
	if read < 3*rounds || refused < rounds && !testing.Short() {
		t.Errorf("%d were read and %d refused", read, refused)
	}
}

// TestGuesser looks at records whose kinds come again and again in the same order, and at some in no order.
func TestGuesser(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 31))
	for _, regular := range []bool{true, false} {
		var b []byte
		for i := range guessRecords {
			if leave := i%7 > 3; regular && leave || !regular && r.IntN(2) == 0 {
				b = append(b, 1, 0)
			} else {
				b = append(b, 2, 0, 0, 0, 0, 0)
			}
		}
		var g guesser
		for i := range 2 * guessEvery {
			if i == guessEvery {
				b = slices.Repeat([]byte{2, 0, 0, 0, 0, 0}, guessRecords) // looked at only if it is time
			}
			if good := g.look(b, 0, len(b)); good != (regular || i >= guessEvery) {
				t.Errorf("regular %v, stretch %d: the guesses are good: %v", regular, i, good)
			}
		}
		if g.look(nil, 0, 0) {
			t.Error("guesses of nothing are good")
		}
	}
}

// TestReadThreadsUnusual has events that a threadReader leaves to ReadEvents: leaves that are not of the innermost call, and
// gaps.
func TestReadThreadsUnusual(t *testing.T) {
	for _, test := range []struct {
		name    string
		write   func(t *tracetest.Thread)
		records int // number of records that are refused
		more    int // number of ordinary records after them
	}{
		{"a thread that begins", func(t *tracetest.Thread) {}, 0, 0},
		{"a leave of a call that is not the innermost", func(t *tracetest.Thread) {
			t.Enter(3000, 0x400000, tracetest.Entry)
			t.Enter(3010, 0x400040, tracetest.Entry)
			t.LeaveAddress(3020, 0x400000, tracetest.Entry)
			t.Enter(3030, 0x400080, tracetest.Entry)
			t.Leave(3040)
		}, 3, 2},
		{"a call that was left", func(t *tracetest.Thread) {
			t.Enter(3000, 0x400000, tracetest.Entry)
			t.Enter(3010, 0x400040, tracetest.Entry)
			t.Left(1)
			t.Enter(3020, 0x400080, tracetest.Entry)
			t.Leave(3030)
			t.Leave(3040)
		}, 3, 2},
		{"a call that was left at the end of a chunk", func(t *tracetest.Thread) {
			t.Enter(3000, 0x400000, tracetest.Entry)
			t.Enter(3010, 0x400040, tracetest.Entry)
			t.Enter(3020, 0x400080, tracetest.Entry)
			t.Left(1)
			t.Flush()
			t.Leave(3030)
			t.Leave(3040)
		}, 4, 1},
		{"calls that were left at the ends of chunks", func(t *tracetest.Thread) {
			for i := range uint64(4) {
				t.Enter(3000+i, 0x400000+64*i, tracetest.Entry)
			}
			t.Left(1)
			t.Flush()
			t.Left(1)
			t.Flush()
			t.Enter(3010, 0x400040, tracetest.Entry)
			for i := range uint64(3) {
				t.Leave(3020 + i)
			}
		}, 5, 3},
		{"a leave without a call", func(t *tracetest.Thread) { t.LeaveAddress(3000, 0x400000, tracetest.Entry) }, 1, 0},
	} {
		var m tracetest.Memory
		w := tracetest.NewWriter(&m)
		w.Clock(1000, 1000, 0, 0)
		th := w.Thread(1, 0, 7)
		for i := range uint64(10) {
			th.Enter(2000+20*i, 0x400000, tracetest.Entry)
			th.Leave(2010 + 20*i)
		}
		test.write(th)
		// The last bytes of a chunk are read by other code.
		for i := range uint64(5) {
			th.Enter(4000+20*i, 0x400000, tracetest.Entry)
			th.Leave(4010 + 20*i)
		}
		test.more += 10
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		l, err := New(context.Background(), &m, m.Size(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Info().Records; got != int64(20+test.records+test.more) {
			t.Fatalf("%s: %d records", test.name, got)
		}
		r := l.ReadThreads(0)
		if _, ok := r.Next(2); ok {
			t.Errorf("%s: the thread's first event is an ordinary one", test.name)
		}
		threads, ok := r.Next(18)
		if !ok {
			t.Fatalf("%s: ordinary events are refused", test.name)
		}
		if err := differsThreads(l, r, threads, 2, 18); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if test.records > 0 {
			if _, ok := r.Next(test.records); ok {
				t.Errorf("%s: it is not refused", test.name)
			}
		}
		if threads, ok = r.Next(test.more); !ok {
			t.Fatalf("%s: what comes behind it is refused", test.name)
		}
		if err := differsThreads(l, r, threads, int64(20+test.records), test.more); err != nil {
			t.Errorf("%s: behind it: %v", test.name, err)
		}
		if _, ok := r.Next(1); ok {
			t.Errorf("%s: there is more at the end", test.name)
		}
	}
}

// cut is a file whose bytes from an offset on cannot be read any more.
type cut struct {
	*tracetest.Memory
	at int64
}

func (c *cut) ReadAt(b []byte, at int64) (int, error) {
	if c.at > 0 && at+int64(len(b)) > c.at {
		return 0, io.ErrUnexpectedEOF
	}
	return c.Memory.ReadAt(b, at)
}

// TestReadThreadsFails reads a file that fails in the middle.
func TestReadThreadsFails(t *testing.T) {
	c := &cut{Memory: &tracetest.Memory{}}
	w := tracetest.NewWriter(c)
	tracetest.WriteCalls(w, 3, 200_000)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := New(context.Background(), c, c.Size(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := l.ReadThreads(4096)
	if _, ok := r.Next(4096); !ok {
		t.Fatal("nothing was read")
	}
	c.at = c.Size() / 2
	failed := false
	for range 60 {
		if _, ok := r.Next(4096); !ok {
			failed = true
		} else if failed {
			t.Fatal("it goes on after it has failed")
		}
	}
	if !failed {
		t.Error("it did not fail")
	}
}
