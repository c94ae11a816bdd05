package readahead

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"logparser/rows"
	"logparser/ui/grid"
)

// A slow source has rows whose Index is ten times their position and whose
// Function says which version they are; each takes a while.
type slow struct {
	n       int64
	name    string
	version atomic.Int64
	delay   time.Duration
	// gate, if not nil, holds all reading back until it is closed.
	gate chan struct{}

	mu   sync.Mutex
	read map[int64]int
}

func (s *slow) Len() int64      { return s.n }
func (s *slow) TimeDigits() int { return 3 }

func (s *slow) Row(i int64) rows.Row {
	if s.gate != nil {
		<-s.gate
	}
	time.Sleep(s.delay)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.read == nil {
		s.read = make(map[int64]int)
	}
	s.read[i]++
	return rows.Row{Index: 10 * i, Function: fmt.Sprint(s.name, s.version.Load())}
}

func (s *slow) Read(dst []rows.Row, from int64) (int, error) {
	for i := range dst {
		if from+int64(i) >= s.n {
			return i, io.EOF
		}
		dst[i] = s.Row(from + int64(i))
	}
	return len(dst), nil
}

// A screen draws when it is asked to.
type screen struct {
	*Reader
	t     *testing.T
	queue chan func()
	top   int64
	list  [20]rows.Row
}

func newScreen(t *testing.T) *screen {
	s := &screen{t: t, queue: make(chan func(), 1000)}
	s.Reader = New(func(f func()) { s.queue <- f }, func() { s.draw(s.top) })
	return s
}

func (s *screen) draw(top int64) {
	s.top = top
	if n, _ := s.Read(s.list[:], top); n != len(s.list) {
		s.t.Fatalf("%d rows at %d", n, top)
	}
}

// settle draws until nothing more comes, and looks whether all rows are right:
// without a further draw of its own.
func (s *screen) settle(function string) {
	s.t.Helper()
	deadline := time.After(10 * time.Second)
	for !s.right(function) {
		select {
		case f := <-s.queue:
			f()
		case <-deadline:
			s.t.Fatalf("at %d: %+v", s.top, s.list)
		}
	}
}

func (s *screen) right(function string) bool {
	for i, r := range s.list {
		if r.Index == grid.Waiting {
			return false
		}
		if r.Index != 10*(s.top+int64(i)) {
			s.t.Fatalf("row %d is at %d", r.Index, s.top+int64(i))
		}
		if r.Function != function {
			return false
		}
	}
	return true
}

// Drawing never waits for rows, and wherever the table is scrolled to, its rows
// are those of that place in the end.
func TestRowsComeWhileScrolling(t *testing.T) {
	s := newScreen(t)
	src := &slow{n: 1e9, name: "a", delay: 2 * time.Millisecond, gate: make(chan struct{})}
	s.SetSource(src, func(pos int64, r *Row) { r.Decor.Repeat = pos + 1 })
	for _, top := range []int64{7, 3_000_000} {
		s.draw(top) // nothing can be read yet
		for _, r := range s.list {
			if r.Index != grid.Waiting {
				t.Fatalf("at %d: %+v", top, r)
			}
		}
	}
	close(src.gate)
	for _, top := range []int64{0, 3, 6, 9, 500_000_000, 499_999_993, 1e9 - 20, 12} {
		s.draw(top)
		if top%2 == 0 {
			s.settle("a0")
			for i := range int64(20) {
				if d := s.Decor(top + i); d.Repeat != top+i+1 {
					t.Errorf("decor %+v at %d", d, top+i)
				}
			}
		}
	}
}

// What was read before the names changed is read again, and of another source
// nothing is ever shown.
func TestNothingStays(t *testing.T) {
	s := newScreen(t)
	a := &slow{n: 1000, name: "a", delay: time.Millisecond}
	s.SetSource(a, nil)
	s.draw(100)
	s.settle("a0")
	if _, ok := s.At(105); !ok {
		t.Error("a row that is shown is not at hand")
	}
	a.version.Add(1)
	s.Renew()
	if _, ok := s.At(105); ok {
		t.Error("an old row is at hand")
	}
	s.draw(100)
	s.settle("a1")

	gate := make(chan struct{})
	s.SetSource(&slow{n: 1000, name: "b", gate: gate}, nil)
	s.draw(100)
	for _, r := range s.list {
		if r.Index != grid.Waiting {
			t.Fatalf("a row of another source: %+v", r)
		}
	}
	// A source that comes while another is being read.
	s.SetSource(&slow{n: 1000, name: "c"}, nil)
	s.draw(100)
	close(gate)
	s.settle("c0")
}

// A source that goes before anybody has begun to read it is not read.
func TestNothingIsLeftToRead(t *testing.T) {
	r := New(func(f func()) {}, func() {})
	r.SetSource(&slow{n: 1 << 20}, nil)
	// While the lock is held, what begins to read has not come to it.
	r.mu.Lock()
	r.count = 8
	r.work()
	r.src = nil
	r.mu.Unlock()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		r.mu.Lock()
		workers := r.workers
		r.mu.Unlock()
		if workers == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines still read", workers)
		}
	}
}

// Rows are read ahead in the direction of scrolling, and not without bound.
func TestReadsAhead(t *testing.T) {
	s := newScreen(t)
	src := &slow{n: 1e6, name: "a"}
	s.SetSource(src, nil)
	s.draw(5000)
	wait := func(what string, cond func() bool) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); !cond(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal(what)
			}
		}
	}
	at := func(pos int64) func() bool { return func() bool { _, ok := s.At(pos); return ok } }
	wait("nothing ahead", at(5000+20*(ahead+1)-1))
	wait("nothing behind", at(5000-20))
	s.draw(4000)
	wait("nothing ahead upwards", at(4000-20*ahead))
	for top := int64(10_000); top < 60_000; top += 20 {
		s.draw(top)
	}
	s.mu.Lock()
	kept := len(s.kept)
	s.mu.Unlock()
	if kept > 2*maxRows {
		t.Errorf("%d rows are kept", kept)
	}
	s.settle("a0")
	src.mu.Lock()
	defer src.mu.Unlock()
	for pos, n := range src.read {
		// A chunk on both sides of a border may be read twice.
		if n > 3 {
			t.Errorf("row %d was read %d times", pos, n)
		}
	}
}
