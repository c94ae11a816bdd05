package trace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"logparser/internal/testlog/tracetest"
	"logparser/parser"
	"logparser/parser/trace"
)

// reopened opens a log again with the result of the first reading, and checks that the two logs are the same. It returns the first
// log if it has no result to open it with.
func reopened(t testing.TB, m *tracetest.Memory, log *trace.Log) *trace.Log {
	t.Helper()
	found := log.Found()
	if found == nil {
		return log
	}
	again, restored, err := trace.OpenFound(m, int64(len(m.Bytes)), found)
	if err != nil {
		t.Fatal(err)
	}
	if !restored {
		t.Fatal("what was found is not believed")
	}
	if err := same(again, log); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Found(), found) {
		t.Fatal("what was found is another")
	}
	return again
}

// same compares the descriptions of two logs.
func same(a, b *trace.Log) error {
	text := func(log *trace.Log) string {
		info := *log.Info()
		s := fmt.Sprint(info.Records, info.Size, info.DamageBytes, info.Runs)
		for _, d := range info.Damage {
			s += fmt.Sprintln(d.Offset, d.Bytes, d.Reason.String())
		}
		for _, n := range info.Notes {
			s += fmt.Sprintln(n.String())
		}
		texts, counters := log.AnnotationCount(0)
		return s + fmt.Sprint(texts, counters, log.HasStacks(), log.Header())
	}
	if x, y := text(a), text(b); x != y {
		return fmt.Errorf("one log says\n%s\nthe other\n%s", x, y)
	}
	if !reflect.DeepEqual(a.Spaces(0), b.Spaces(0)) {
		return errors.New("their spaces differ")
	}
	return nil
}

// TestFound opens runs of random programs again. Some programs were killed, and some files are damaged.
func TestFound(t *testing.T) {
	kept := 0
	for seed := range uint64(soak(60)) {
		r := rand.New(rand.NewPCG(seed, 11))
		p := tracetest.Random(r)
		m := &tracetest.Memory{}
		w := tracetest.NewWriter(m)
		w.ChunkSize = 4096 << r.IntN(5)
		p.Write(r, w)
		end := w.Close
		if r.IntN(3) == 0 {
			end = w.Sync
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if r.IntN(3) == 0 {
			for range 5 {
				m.Bytes[4096+r.IntN(len(m.Bytes)-4096)] ^= byte(1 << r.IntN(8))
			}
		}
		log, err := trace.New(context.Background(), m, int64(len(m.Bytes)), nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := readAll(log, 3000)
		if err != nil {
			t.Fatal(err)
		}
		again := reopened(t, m, log)
		if again != log {
			kept++
		}
		got, err := readAll(again, 1+r.IntN(3000))
		if err == nil {
			err = differ(got, want)
		}
		if err != nil {
			t.Fatalf("seed %d, %+v: %v", seed, p, err)
		}
		for i := range want {
			if want[i].Gap != parser.EventsMissing {
				continue
			}
			a, x, err := log.OpenCalls(int64(i))
			if err != nil {
				t.Fatal(err)
			}
			if b, y, err := again.OpenCalls(int64(i)); err != nil || x != y || !reflect.DeepEqual(a, b) {
				t.Fatalf("seed %d, event %d: open are %v and %d, %v and %d; %v", seed, i, a, x, b, y, err)
			}
		}
	}
	if kept == 0 {
		t.Error("nothing was found in any log")
	}
}

// TestFoundChanged has logs that have changed since the result was made.
func TestFoundChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lptrace")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := tracetest.NewWriter(f)
	w.ChunkSize = 8192
	th := w.Thread(1, 0, 7)
	for i := range uint64(2000) {
		th.Enter(1000+10*i, 0x1000, 0)
		th.Leave(1005 + 10*i)
	}
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
	open := func(found []byte) *trace.Log {
		t.Helper()
		log, err := trace.Open(context.Background(), path, parser.Options{Found: found}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { log.Close() })
		return log
	}
	found := open(nil).Found()
	if found == nil {
		t.Fatal("nothing is found in a log whose program was killed")
	}
	th.Enter(30000, 0x1000, 0)
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
	if log := open(found); log.Info().Records != 4001 {
		t.Errorf("a log that has one more event has %d", log.Info().Records)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if log := open(found); log.Info().Records != 4001 {
		t.Errorf("a log that has ended has %d events", log.Info().Records)
	}
	if b, ok := open(nil).Beginning(10); b != nil || ok {
		t.Error("a trace can be gone on with")
	}
}

// FuzzFound changes the result of a reading. Opening the log with it must do no harm.
func FuzzFound(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 3))
	m := &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	w.ChunkSize = 4096
	tracetest.Program{Threads: 2, Events: 9000, Functions: 9, Enters: 60, Unwind: 5, Handler: 10, Returns: 50, Epochs: 2, Gaps: 1, Far: 2}.Write(r, w)
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	log, err := trace.New(context.Background(), m, int64(len(m.Bytes)), nil)
	if err != nil {
		f.Fatal(err)
	}
	good := log.Found()
	f.Add(uint32(9), []byte{255, 255, 255, 255})
	f.Add(uint32(len(good)/2), []byte{1})
	f.Add(uint32(len(good)-20), []byte("0000000"))
	f.Fuzz(func(t *testing.T, at uint32, with []byte) {
		b := bytes.Clone(good)
		copy(b[int(at)%len(b):], with)
		log, restored, err := trace.OpenFound(m, int64(len(m.Bytes)), b)
		if err != nil || !restored {
			return
		}
		var dst [1000]parser.Event
		for at := int64(0); at < 40_000; {
			n, err := log.ReadEvents(dst[:], at)
			if at += int64(n); err == io.EOF {
				break
			} else if err != nil {
				return
			}
		}
		log.OpenCalls(5000)
		log.Annotations(context.Background(), 0, 0, func(*parser.Annotation) bool { return true })
	})
}
