package app

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"logparser/modules"
	"logparser/rows"
	"logparser/symbols"
)

// A patientContext is cancelled when somebody has asked so many times whether it is.
type patientContext struct {
	context.Context
	left   atomic.Int64
	cancel context.CancelFunc
}

func newPatientContext(asked int64) *patientContext {
	ctx, cancel := context.WithCancel(context.Background())
	p := &patientContext{Context: ctx, cancel: cancel}
	p.left.Store(asked)
	return p
}

func (p *patientContext) Err() error {
	if p.left.Add(-1) < 0 {
		p.cancel()
	}
	return p.Context.Err()
}

// nestedLog writes a log of so many modules below one huge one, in which most of
// the addresses lie.
func nestedLog(t *testing.T, inner, addresses int) (log string) {
	t.Helper()
	dir := t.TempDir()
	var b []byte
	for i := range addresses {
		for _, enter := range []byte{1, 0} {
			b = binary.LittleEndian.AppendUint64(b, 0x10000000000+0x10000+uint64(inner+i)*0x2000+8)
			b = binary.LittleEndian.AppendUint32(b, 1)
			b = binary.LittleEndian.AppendUint32(b, 1000)
			b = append(b, enter, 0, 0, 0, 0, 0, 0, 0)
		}
	}
	var text strings.Builder
	text.WriteString("2013 5 1 6 14 3 5 123 1000\n10000000000 8000000000 /lib/huge.so\n")
	for i := range inner {
		fmt.Fprintf(&text, "%x 1000 /lib/m%d.so\n", 0x10000000000+0x10000+uint64(i)*0x2000, i)
	}
	log = filepath.Join(dir, "LogDetails.dat")
	for path, data := range map[string][]byte{log: b, filepath.Join(dir, "LogDetails.bin"): []byte(text.String())} {
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return log
}

// TestCancelAnywhere cancels opening and naming of such a log at every place that
// asks, and goes on: between two of them little is done, and what there is in the
// end is the same.
func TestCancelAnywhere(t *testing.T) {
	const addresses = 60_000
	in := Inputs{Log: nestedLog(t, 3, addresses), NoIndexCache: true}
	whole := newPatientContext(1 << 40)
	s, err := Open(whole, in, nil)
	if err == nil {
		err = s.Load(whole, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	want := make([]rows.Row, s.Rows().Len())
	if _, err := s.Rows().Read(want, 0); err != nil {
		t.Fatal(err)
	}
	asked := 1<<40 - whole.left.Load()
	// Naming alone goes over all addresses three times.
	if least := int64(3 * addresses / cancelEvery); asked < least {
		t.Errorf("a cancel is looked for %d times, at least %d are expected", asked, least)
	}
	times := int64(15)
	if testing.Short() {
		times = 5
	}
	for n := int64(0); n < asked; n += 1 + asked/times {
		ctx := newPatientContext(n)
		s, err := Open(ctx, in, nil)
		if err == nil {
			err = s.Load(ctx, nil)
		}
		if !errors.Is(err, context.Canceled) && n < asked*9/10 {
			t.Fatalf("cancelled at %d of %d: %v", n, asked, err)
		}
		if s == nil {
			continue
		}
		if err := s.Load(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		got := make([]rows.Row, s.Rows().Len())
		if _, err := s.Rows().Read(got, 0); err != nil || !sameRows(got, want) {
			t.Fatalf("cancelled at %d of %d: rows differ, %v", n, asked, err)
		}
		s.Close()
	}
}

// A slowTable takes until somebody lets it go on, for whatever says its place.
type slowTable struct {
	symbols.Table
	at      string
	begun   chan struct{}
	release chan struct{}
	once    sync.Once
	closed  atomic.Bool
	looking atomic.Int64
}

func (s *slowTable) wait(at string) {
	if s.at == at {
		s.once.Do(func() { close(s.begun) })
		<-s.release
	}
}

func (s *slowTable) Lookup(rva uint64) (symbols.Symbol, error) {
	s.looking.Add(1)
	defer s.looking.Add(-1)
	s.wait("look-up")
	if s.closed.Load() {
		panic("the table is closed while it is asked")
	}
	return symbols.Symbol{Frames: []symbols.Frame{{Function: "slow"}}, Start: rva, Size: 1}, nil
}

func (s *slowTable) Close() error {
	s.closed.Store(true)
	return nil
}

func (s *slowTable) Describe() string { return "slow symbols" }

func (s *slowTable) Identity() modules.Identity { return modules.Identity{} }

// TestCancelSlowSymbols cancels where a symbol file takes its time to open, or to
// look something up: what was begun is left to end, and the file is closed then.
func TestCancelSlowSymbols(t *testing.T) {
	old := symbolFormats
	defer func() { symbolFormats = old }()
	in := Inputs{Log: nestedLog(t, 3, 100), NoIndexCache: true}
	file := filepath.Join(t.TempDir(), "huge.so.debug")
	if err := os.WriteFile(file, []byte("SLOW"+strings.Repeat(" ", 100)), 0o666); err != nil {
		t.Fatal(err)
	}
	in.Symbols = []string{filepath.Dir(file)}
	for _, at := range []string{"opening", "look-up"} {
		table := &slowTable{at: at, begun: make(chan struct{}), release: make(chan struct{})}
		symbolFormats = append(slices.Clone(old), symbols.Format{Name: "slow",
			Detect: func(head []byte) bool { return strings.HasPrefix(string(head), "SLOW") },
			Open: func(f *symbols.File) (symbols.Table, error) {
				f.Close()
				table.wait("opening")
				return table, nil
			}})
		ctx, cancel := context.WithCancel(context.Background())
		s, err := Open(ctx, in, nil)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() { ended <- s.Load(ctx, nil) }()
		select {
		case <-table.begun:
		case err := <-ended:
			t.Fatalf("%s: the file was not used: %v", at, err)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", at, err)
		}
		if table.closed.Load() {
			t.Errorf("%s: the table is closed while it is in use", at)
		}
		if at == "look-up" {
			// Naming anew waits for what was left.
			again, cancel := context.WithCancel(context.Background())
			cancel()
			if err := s.Load(again, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", at, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		close(table.release)
		for !table.closed.Load() || table.looking.Load() > 0 { // the test's own time limit ends it
		}
	}
}

// TestLeftBehind has work that takes longer than anybody waits.
func TestLeftBehind(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	release, late := make(chan struct{}), make(chan int)
	cancel()
	v, err := beside(ctx, func() int { <-release; return 5 }, func(v int) { late <- v })
	if v != 0 || !errors.Is(err, context.Canceled) {
		t.Error(v, err)
	}
	close(release)
	if v := <-late; v != 5 {
		t.Error(v)
	}
	if v, err := beside(context.Background(), func() int { return 7 }, func(int) { t.Error("late") }); v != 7 || err != nil {
		t.Error(v, err)
	}
}
