package classic

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"logparser/internal/testlog/classictest"
	"logparser/parser"
)

// randomLog makes a log of some runs, with wraps and torn records, and the
// modules file of one of the runs or none.
func randomLog(t *testing.T, r *rand.Rand) (log, modulesFile []byte, size int) {
	size = []int{Size32, Size64}[r.IntN(2)]
	runs := 1 + r.IntN(4)
	described := r.IntN(runs + 1)
	for i := range runs {
		spec := classictest.Spec{
			Records: 1 + r.Int64N(3000), RecordSize: size, Threads: 1 + r.IntN(5), Seed: r.Uint64(), PerMillisecond: 1 + r.IntN(30),
			StartTick: []uint32{1, r.Uint32(), 1<<32 - 1 - r.Uint32N(3000), 100_000_000}[r.IntN(4)],
		}
		part, mods := generate(t, spec)
		if i == described {
			modulesFile = mods
		}
		log = append(log, part...)
	}
	for range r.IntN(6) {
		at := r.IntN(len(log))
		switch r.IntN(4) {
		case 0: // bytes are missing
			log = slices.Delete(log, at, min(at+1+r.IntN(2*size), len(log)))
		case 1: // others are there
			log = slices.Insert(log, at, bytes.Repeat([]byte{byte(r.Uint32())}, 1+r.IntN(2*size))...)
		default:
			log[at] = byte(r.Uint32())
		}
	}
	if r.IntN(4) == 0 {
		log = append(log, make([]byte, r.IntN(200))...)
	}
	return log, modulesFile, size
}

// TestFound opens logs with what was found in them before: nothing differs, also
// not when they grow, and no more is read than some places.
func TestFound(t *testing.T) {
	found := 0
	for seed := range soak(t, 150) {
		r := rand.New(rand.NewPCG(uint64(seed), 21))
		log, modulesFile, size := randomLog(t, r)
		opt := parser.Options{RecordSize: size}
		path := filepath.Join(t.TempDir(), "LogDetails.dat")
		if err := os.WriteFile(path, log, 0o644); err != nil {
			t.Fatal(err)
		}
		if modulesFile != nil {
			opt.ModulesFile = filepath.Join(filepath.Dir(path), "LogDetails.bin")
			if err := os.WriteFile(opt.ModulesFile, modulesFile, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		open := func(found []byte) *Log {
			opt.Found = found
			l, err := Open(context.Background(), path, opt, nil)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			t.Cleanup(func() { l.Close() })
			return l
		}
		first := open(nil)
		again := open(first.Found())
		if !bytes.Equal(first.Found(), again.Found()) {
			t.Fatalf("seed %d: found\n%s\nand with that\n%s", seed, first.Found(), again.Found())
		}
		s := scan{size: size, limit: first.o.scan.limit, start: first.o.scan.start}
		if !s.restore(first.Found(), int64(len(log))) {
			t.Fatalf("seed %d: %s was not taken", seed, first.Found())
		}
		if len(s.runs) > 1 && len(s.flaws) > 0 && len(s.epochs) > len(s.runs) && len(s.segments) > 1 {
			found++
		}
		more, _ := generate(t, classictest.Spec{Records: 1 + r.Int64N(2000), RecordSize: size, StartTick: r.Uint32(), Seed: r.Uint64()})
		for grown := range 2 {
			if err := sameLog(t, first, again); err != nil {
				t.Fatalf("seed %d, grown %d: %v", seed, grown, err)
			}
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.Write(more)
				err = errors.Join(err, f.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
			a, err1 := first.Grow(context.Background())
			b, err2 := again.Grow(context.Background())
			if a != b || fmt.Sprint(err1) != fmt.Sprint(err2) {
				t.Fatalf("seed %d: grew by %+v, %v; and by %+v, %v", seed, a, err1, b, err2)
			}
		}
	}
	if found == 0 && !testing.Short() {
		t.Error("no log had runs, wraps, damage and records out of step at once")
	}
}

func sameLog(t *testing.T, a, b *Log) error {
	if !reflect.DeepEqual(a.Info(), b.Info()) {
		return fmt.Errorf("%+v\nand %+v", a.Info(), b.Info())
	}
	if !slices.Equal(readAll(t, a), readAll(t, b)) {
		return errors.New("events differ")
	}
	for i := range a.Info().Runs {
		if a.Clock(i) != b.Clock(i) || !reflect.DeepEqual(a.Modules(i), b.Modules(i)) {
			return fmt.Errorf("clocks or modules of run %d differ", i)
		}
	}
	return nil
}

// A countingReader counts the bytes that are read.
type countingReader struct {
	io.ReaderAt
	n atomic.Int64
}

func (r *countingReader) ReadAt(b []byte, at int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(b, at)
	r.n.Add(int64(n))
	return n, err
}

// openCounting opens a log in memory and returns how many bytes were read.
func openCounting(t *testing.T, data []byte, opt parser.Options) (*Log, int64) {
	t.Helper()
	r := &countingReader{ReaderAt: bytes.NewReader(data)}
	o := &opener{r: r, name: "log", size: int64(len(data)), opt: opt}
	if err := o.checkHead(); err != nil {
		t.Fatal(err)
	}
	l, err := o.open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return l, r.n.Load()
}

// TestFoundOfOthers gives what was found elsewhere, or could not have been: all
// of the log is looked at.
func TestFoundOfOthers(t *testing.T) {
	first, _ := generate(t, classictest.Spec{Records: 50_000, RecordSize: 16, StartTick: 1<<32 - 100, PerMillisecond: 1})
	second, _ := generate(t, classictest.Spec{Records: 50_000, RecordSize: 16, StartTick: 1000, Seed: 1})
	log := append(append(first, 1, 2, 3), second...)
	log[16*100+12] = 7
	l, all := openCounting(t, log, parser.Options{})
	good := l.Found()
	if _, n := openCounting(t, log, parser.Options{Found: good}); n > all/10 {
		t.Fatalf("%d bytes were read, %d at first", n, all)
	}
	tick := uint32(7)
	if _, n := openCounting(t, log, parser.Options{Found: good, StartTick: &tick}); n < int64(len(log)) {
		t.Error("taken with another tick at start")
	}
	if l, _ := openCounting(t, log, parser.Options{Found: good, RecordSize: 24}); l.Info().RecordSize != 24 {
		t.Error("taken with another size of records")
	}
	if _, n := openCounting(t, log[:len(log)-160], parser.Options{Found: good}); n < int64(len(log))-160 {
		t.Error("taken with another size of the file")
	}
	for name, change := range map[string]func(f *scanCache){
		"version":              func(f *scanCache) { f.Version++ },
		"records":              func(f *scanCache) { f.Records-- },
		"negative records":     func(f *scanCache) { f.Records = -1 },
		"offset":               func(f *scanCache) { f.Offset -= 16 },
		"limit":                func(f *scanCache) { f.Limit-- },
		"no segment":           func(f *scanCache) { f.Segments = nil },
		"segment out of order": func(f *scanCache) { f.Segments[1][0] = -5 },
		"segment outside":      func(f *scanCache) { f.Segments[1][1] += 16 },
		"segment before":       func(f *scanCache) { f.Segments[0][1] = -16 },
		"no epoch":             func(f *scanCache) { f.Epochs = nil },
		"epochs out of order":  func(f *scanCache) { slices.Reverse(f.Epochs) },
		"wraps":                func(f *scanCache) { f.Epochs[0][1] = 1 << 40 },
		"no run":               func(f *scanCache) { f.Runs = nil },
		"run beyond":           func(f *scanCache) { f.Runs[1].First = f.Records + 1 },
		"run twice":            func(f *scanCache) { f.Runs[1].First = 0 },
		"run without reason":   func(f *scanCache) { f.Runs[1].From = f.Runs[1].To },
		"flaw beyond":          func(f *scanCache) { f.Flaws[0][0] = f.Limit },
		"flaw too long":        func(f *scanCache) { f.Flaws[0][1] = 1 << 62 },
		"kind of flaw":         func(f *scanCache) { f.Flaws[0][2] = 99 },
		"too many runs":        func(f *scanCache) { f.Runs = make([]cachedRun, maxRuns+1) },
	} {
		var f scanCache
		if err := json.Unmarshal(good, &f); err != nil {
			t.Fatal(err)
		}
		change(&f)
		data, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		got, n := openCounting(t, log, parser.Options{Found: data})
		if n < int64(len(log)) {
			t.Errorf("%s: it was taken", name)
		}
		if err := sameLog(t, got, l); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, n := openCounting(t, log, parser.Options{Found: []byte(strings.Repeat("[", 1000))}); n < int64(len(log)) {
		t.Error("what is not understood was taken")
	}
}

// steadyLog makes a log with few oddities: runs, wraps, records of times before, now
// and then damage, and stretches of records of one kind.
func steadyLog(t *testing.T, r *rand.Rand, size int) []byte {
	var log []byte
	for range 1 + r.IntN(3) {
		part, _ := generate(t, classictest.Spec{
			Records: 1 + r.Int64N(9000), RecordSize: size, Threads: 1 + r.IntN(5), Seed: r.Uint64(), PerMillisecond: 1 + r.IntN(30),
			StartTick: []uint32{1, r.Uint32(), 1<<32 - 1 - r.Uint32N(3000), 100_000_000}[r.IntN(4)],
		})
		for range r.IntN(4) {
			k := r.IntN(len(part)/size) * size
			tick := part[k+flagOffset(size)-4:][:4]
			switch r.IntN(4) {
			case 0: // a tick that jumps
				binary.LittleEndian.PutUint32(tick, r.Uint32())
			case 1: // a tick from a little earlier
				binary.LittleEndian.PutUint32(tick, binary.LittleEndian.Uint32(tick)-r.Uint32N(2*backward))
			case 2: // only enters
				for n := 1 + r.IntN(300); n > 0 && k < len(part); n, k = n-1, k+size {
					part[k+flagOffset(size)] = 1
				}
			default: // long after, a program that was started again
				for ; k < len(part); k += size {
					tick := part[k+flagOffset(size)-4:][:4]
					binary.LittleEndian.PutUint32(tick, binary.LittleEndian.Uint32(tick)+50*3600_000)
				}
			}
		}
		log = append(log, part...)
	}
	for range r.IntN(4) * r.IntN(2) {
		at := r.IntN(len(log))
		switch r.IntN(3) {
		case 0:
			log = slices.Delete(log, at, min(at+1+r.IntN(2*size), len(log)))
		case 1:
			clear(log[at:min(at+r.IntN(500*size), len(log))])
		default:
			log[at] = byte(r.Uint32())
		}
	}
	return log
}

// TestFoundGrown opens logs that grow with what was found in them before: all is
// as if they were gone through from the beginning. Where the first records follow
// from the same as before, they are the same.
func TestFoundGrown(t *testing.T) {
	resumed, same, other := 0, 0, 0
	for seed := range soak(t, 150) {
		r := rand.New(rand.NewPCG(uint64(seed), 22))
		size := []int{Size32, Size64}[r.IntN(2)]
		log := steadyLog(t, r, size)
		opt := parser.Options{RecordSize: size}
		if tick := r.Uint32(); r.IntN(3) == 0 {
			opt.StartTick = &tick
		}
		var before *Log
		var old []byte
		for at := size * (1 + r.IntN(len(log)/size)); ; at = min(at+1+r.IntN(1+len(log)/3), len(log)) {
			data := log[:at]
			if r.IntN(4) == 0 {
				data = append(slices.Clip(data), make([]byte, r.IntN(6000))...) // allocated in advance
			}
			fresh, err := openBytes(data, nil, opt)
			if err != nil {
				break
			}
			if before != nil && bytes.HasPrefix(data, old) {
				o := opt
				o.Found = before.Found()
				s := scan{size: size, limit: fresh.o.scan.limit, start: fresh.o.scan.start}
				if s.resume(o.Found, int64(len(data))) {
					resumed++
				}
				grown, err := openBytes(data, nil, o)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if !bytes.Equal(grown.Found(), fresh.Found()) {
					t.Fatalf("seed %d, %d of %d bytes: found\n%s\nand from the beginning\n%s", seed, at, len(log), grown.Found(), fresh.Found())
				}
				if err := sameLog(t, grown, fresh); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				n := before.Info().Records
				a, ok := before.Beginning(n)
				b, ok2 := grown.Beginning(n)
				switch {
				case !ok || !ok2 || !bytes.Equal(a, b):
					other++
				case !slices.Equal(readAll(t, before), readAll(t, grown)[:n]):
					t.Fatalf("seed %d: the beginning differs", seed)
				default:
					same++
				}
			}
			if before, old = fresh, data; at == len(log) {
				break
			}
		}
	}
	if resumed == 0 || same == 0 || other == 0 {
		t.Errorf("%d were gone on with, %d began alike, %d not", resumed, same, other)
	}
	t.Logf("%d were gone on with, %d began alike, %d not", resumed, same, other)
}

// TestFoundGrownReads holds that of a log that has grown only the new part is
// looked at.
func TestFoundGrownReads(t *testing.T) {
	log, _ := generate(t, classictest.Spec{Records: 200_000, RecordSize: 16, StartTick: 1<<32 - 100})
	old := len(log) - 16*5000 - 3
	l, err := openBytes(log[:old], nil, parser.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, n := openCounting(t, log, parser.Options{Found: l.Found()}); n > 16*20_000 {
		t.Errorf("%d bytes were read of %d new ones", n, len(log)-old)
	}
	tick := uint32(7)
	if _, n := openCounting(t, log, parser.Options{Found: l.Found(), StartTick: &tick}); n < int64(len(log)) {
		t.Error("taken with another tick at start")
	}
	if _, n := openCounting(t, log[:old-16], parser.Options{Found: l.Found()}); n < int64(old-16) {
		t.Error("taken for a shorter file")
	}
	var good scanCache
	if err := json.Unmarshal(l.Found(), &good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(f *scanCache){
		"version":           func(f *scanCache) { f.Version++ },
		"limit":             func(f *scanCache) { f.Limit = f.Size + 1 },
		"negative":          func(f *scanCache) { f.Firm.Records = -1024 },
		"beyond":            func(f *scanCache) { f.Firm.Records = f.Records + 1 },
		"no epoch":          func(f *scanCache) { f.Firm.Epochs = 0 },
		"too many epochs":   func(f *scanCache) { f.Firm.Epochs = len(f.Epochs) + 1 },
		"too many runs":     func(f *scanCache) { f.Firm.Runs = len(f.Runs) + 1 },
		"no run":            func(f *scanCache) { f.Firm.Runs = 0 },
		"epoch later":       func(f *scanCache) { f.Epochs[f.Firm.Epochs-1][0] = f.Firm.Records },
		"wraps":             func(f *scanCache) { f.Firm.Wraps = maxEpochs + 1 },
		"wraps of the last": func(f *scanCache) { f.Firm.Last[1] = -2 },
		"sound":             func(f *scanCache) { f.Firm.Sound = -1 },
	} {
		f := good
		f.Epochs = slices.Clone(good.Epochs)
		change(&f)
		data, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		if _, n := openCounting(t, log, parser.Options{Found: data}); n < int64(len(log)) {
			t.Errorf("%s: it was taken", name)
		}
	}
}

// TestLook compares the fast looks with one that takes each record by itself.
func TestLook(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range soak(t, 5000) {
		size := []int{Size32, Size64}[r.IntN(2)]
		n := 1 + r.IntN(400)
		tick := []uint32{r.Uint32(), 1<<31 - r.Uint32N(100), 1<<32 - 1 - r.Uint32N(100), r.Uint32N(100)}[r.IntN(4)]
		step := []uint32{1, 50, backward, forward + 100}[r.IntN(4)]
		strange := r.IntN(3) * r.IntN(2)
		only := r.IntN(4) == 0
		var b []byte
		for range n {
			address, flag := uint64(0x401000), byte(r.IntN(2))
			if only {
				flag &= byte(n)
			}
			if r.IntN(n) < strange {
				switch r.IntN(4) {
				case 0:
					address = 0
				case 1:
					flag = byte(r.Uint32())
				case 2:
					tick -= []uint32{1, backward, backward + 1, 1 << 31}[r.IntN(4)]
				default:
					tick += []uint32{1, forward, forward + 1, 1 << 31}[r.IntN(4)]
				}
			}
			b = classictest.AppendRecord(b, size, address, r.Uint32(), tick, flag, byte(r.Uint32()))
			tick += r.Uint32N(step)
		}
		got, want := look(b, size), plainLook(b, size)
		if got != want {
			t.Fatalf("%+v, want %+v, of %d records\n%s", got, want, n, classictest.Text(b, size))
		}
	}
}

func plainLook(b []byte, size int) stretch {
	s := stretch{first: parseRecord(b[:size]).tick}
	prev := s.first
	enters := 0
	for i := 0; i < len(b)/size; i++ {
		r := parseRecord(b[i*size : (i+1)*size])
		s.irregular = s.irregular || r.damaged() || !ordinary(prev, r.tick)
		enters += int(r.flag)
		prev = r.tick
		if i%lookGroup == lookGroup-1 {
			s.irregular = s.irregular || enters == 0 || enters == lookGroup
			enters = 0
		}
	}
	s.last = prev
	return s
}

// FuzzFound opens a log with anything for what was found in it: whatever is
// taken must do no harm.
func FuzzFound(f *testing.F) {
	log, mods := generate(f, classictest.Spec{Records: 300, RecordSize: 16, StartTick: 1<<32 - 5})
	log = append(append(log, 1, 2, 3), log...)
	log = append(log, make([]byte, 100)...)
	l, err := openBytes(log, mods, parser.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(l.Found())
	f.Add(bytes.Replace(l.Found(), []byte(`"Flaws":[[`), []byte(`"Flaws":[],"X":[[`), 1))
	longer := append(slices.Clip(log), log...)
	var grown scanCache
	if err := json.Unmarshal(l.Found(), &grown); err != nil {
		f.Fatal(err)
	}
	grown.Firm = firm{Records: 290, Prev: 1<<32 - 1, Epochs: 1, Runs: 1}
	firmly, err := json.Marshal(grown)
	if err != nil {
		f.Fatal(err)
	}
	if !(&scan{size: 16, limit: int64(len(longer)), start: l.o.scan.start}).resume(firmly, int64(len(longer))) {
		f.Fatal("it is not gone on with")
	}
	f.Add(firmly)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, log := range [][]byte{log, longer} {
			l, err := openBytes(log, mods, parser.Options{Found: data})
			if err != nil {
				continue
			}
			events := make([]parser.Event, l.Info().Records)
			if n, err := l.ReadEvents(events, 0); err != nil || n != len(events) {
				t.Errorf("read %d of %d events: %v", n, len(events), err)
			}
			for i := range l.Info().Runs {
				l.Clock(i)
				l.Modules(i)
			}
			l.Beginning(l.Info().Records)
		}
	})
}
