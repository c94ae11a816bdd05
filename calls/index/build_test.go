package index

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"logparser/calls"
	"logparser/calls/internal/sizes"
	"logparser/internal/testlog"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
)

// A shortLog ends before what its runs promise.
type shortLog struct {
	*testlog.Broken
	end int64
}

func (l *shortLog) ReadEvents(dst []parser.Event, from int64) (int, error) {
	n := max(0, min(int64(len(dst)), l.end-from))
	got, err := l.Broken.ReadEvents(dst[:n], from)
	if got < len(dst) && err == nil {
		err = io.EOF
	}
	return got, err
}

func TestShortLog(t *testing.T) {
	smallBlocks(t, 16)
	smallSegments(t, 2)
	log := &shortLog{testlog.Chaos{Threads: 2, Functions: 9, Enters: 50}.Log(rand.New(rand.NewPCG(1, 1)), 1000, 1), 0}
	for _, end := range []int64{0, 1, 100, 500, 999} {
		log.end = end
		x := New(log, log.Runs)
		if err := x.Build(context.Background(), nil, nil); !errors.Is(err, io.ErrUnexpectedEOF) || x.Done() {
			t.Errorf("ends after %d: %v, done %t", end, err, x.Done())
		}
		if x.Len() > end || x.Addresses() != nil {
			t.Errorf("ends after %d: %d rows", end, x.Len())
		}
		// It can be built when the rest is there.
		log.end = 1000
		if err := x.Build(context.Background(), nil, nil); err != nil {
			t.Fatal(err)
		}
		p := expect(t, log, log.Runs, oracle.Options{})
		if err := p.differs(x); err != nil {
			t.Error(err)
		}
	}
}

func TestCancel(t *testing.T) {
	smallBlocks(t, 16)
	smallSegments(t, 2)
	log := testlog.Chaos{Threads: 2, Functions: 9, Enters: 50}.Log(rand.New(rand.NewPCG(1, 1)), 5000, 1)
	ctx, cancel := context.WithCancel(context.Background())
	x := New(log, log.Runs)
	err := x.Build(ctx, nil, func(done, total int64) {
		if total != 5000 || done <= 0 {
			t.Errorf("%d of %d rows", done, total)
		}
		cancel()
	})
	if !errors.Is(err, context.Canceled) || x.Done() || x.Len() == 5000 {
		t.Errorf("%v, done %t, %d rows", err, x.Done(), x.Len())
	}
	if err := x.Build(context.Background(), nil, nil); err != nil || x.Len() != 5000 {
		t.Error(err)
	}
	// What was built is there while it is built anew, and if that fails.
	if err := x.Build(ctx, testlog.Namer, nil); !errors.Is(err, context.Canceled) || x.Len() != 5000 || !x.Done() {
		t.Errorf("%v, %d rows", err, x.Len())
	}
}

// TestUnbuilt reads rows that are not known yet.
func TestUnbuilt(t *testing.T) {
	log := testlog.Chaos{Threads: 1, Functions: 3, Enters: 50}.Log(rand.New(rand.NewPCG(1, 1)), 10, 1)
	x := New(log, log.Runs)
	want := calls.Record{Partner: calls.NoPartner, Duration: calls.NoDuration}
	for _, i := range []int64{-1, 0, 9, 10} {
		if r := x.At(i); r != want {
			t.Errorf("row %d: %+v", i, r)
		}
	}
	var b Block
	if err := x.Fill(&b, 0, Times); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if x.Len() != 0 || x.Total() != 10 || x.Addresses() != nil || x.Totals() != nil || x.Nodes() != 0 {
		t.Error("something is known")
	}
	x.Level(nil, 0, 0, 10)
	x.Summary(0, 0)
	x.Summary(3, 0)
	x.Longest(nil, 0, 0)
	empty := New(&testlog.Broken{}, nil)
	if err := empty.Build(context.Background(), nil, nil); err != nil || !empty.Done() || empty.Len() != 0 {
		t.Error(err)
	}
}

// TestManyThreads has more threads than a segment has room for at first.
func TestManyThreads(t *testing.T) {
	smallSegments(t, 1)
	log := &testlog.Broken{}
	for i := range uint32(40_000) {
		log.Events = append(log.Events, parser.Event{Thread: i * 7, Address: uint64(i%50) + 1, Time: int64(i), Kind: parser.Kind(i / 20_000)})
	}
	for i := range log.Events[20_000:] {
		log.Events[20_000+i].Thread = uint32(i) * 7
	}
	log.Runs = []parser.Run{{Count: 40_000}}
	x, err := Build(context.Background(), log, log.Runs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := expect(t, log, log.Runs, oracle.Options{})
	for i := range int64(40_000) {
		if got, want := x.At(i), want.Rows[i].Record; got != want {
			t.Fatalf("row %d: %+v, want %+v", i, got, want)
		}
	}
}

// TestReadWhileBuilding is for the race detector.
func TestReadWhileBuilding(t *testing.T) {
	smallBlocks(t, 64)
	smallSegments(t, 4)
	log := testlog.Chaos{Threads: 3, Functions: 200, Enters: 50, Foreign: true, Tail: 3}.Log(rand.New(rand.NewPCG(1, 2)), 60_000, 1)
	x := New(log, log.Runs)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var b Block
			rows := make([]calls.Record, 100)
			for {
				select {
				case <-stop:
					return
				default:
				}
				n := x.Len()
				x.Read(rows, n-50)
				if n > 0 {
					if err := x.Fill(&b, int((n-1)/sizes.Block), ^Columns(0)); err != nil {
						t.Error(err)
						return
					}
				}
				x.Level(nil, 1, 0, n)
				x.Count(calls.Tail)
				x.Threads()
			}
		}()
	}
	for _, namer := range []calls.Namer{nil, testlog.Namer} {
		if err := x.Build(context.Background(), namer, nil); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
}

// TestBuildGoesOn stops a build and begins it again: what was there stays, and is
// not read again.
func TestBuildGoesOn(t *testing.T) {
	smallBlocks(t, 16)
	smallSegments(t, 2)
	log := testlog.NamedLog(2, 5000)
	x := New(log, log.Runs)
	for range 3 {
		ctx, cancel := context.WithCancel(context.Background())
		had := x.Len()
		err := x.Build(ctx, nil, func(done, total int64) {
			if done < had {
				t.Errorf("row %d of %d again", done, had)
			}
			cancel()
		})
		if !errors.Is(err, context.Canceled) || x.Len() <= had || x.Done() {
			t.Fatalf("%v, %d rows after %d", err, x.Len(), had)
		}
		// One with names begins anew, but not where it can be seen.
		had = x.Len()
		if err := x.Build(ctx, testlog.Namer, nil); !errors.Is(err, context.Canceled) || x.Len() != had {
			t.Fatalf("%v, %d rows after %d", err, x.Len(), had)
		}
	}
	if err := x.Build(context.Background(), nil, nil); err != nil {
		t.Fatal(err)
	}
	p := expect(t, log, log.Runs, oracle.Options{})
	if err := p.differs(x); err != nil {
		t.Error(err)
	}
}
