package classic

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"logparser/internal/testlog/classictest"
	"logparser/modules"
	"logparser/parser"
)

// openBytes opens a log that lies in memory, with its modules file if that is
// not nil.
func openBytes(data, modulesFile []byte, opt parser.Options) (*Log, error) {
	o := &opener{r: bytes.NewReader(data), name: "log", size: int64(len(data)), opt: opt}
	if err := o.checkHead(); err != nil {
		return nil, err
	}
	if modulesFile != nil {
		var err error
		if o.modules, err = modules.Parse(modulesFile, modules.Options{Encoding: opt.Encoding}); err != nil {
			return nil, err
		}
	}
	return o.open(context.Background())
}

func generate(t testing.TB, s classictest.Spec) (log, modulesFile []byte) {
	t.Helper()
	var a, b bytes.Buffer
	if err := classictest.Generate(&a, s); err != nil {
		t.Fatal(err)
	}
	if err := classictest.WriteModules(&b, s); err != nil {
		t.Fatal(err)
	}
	return a.Bytes(), b.Bytes()
}

func readAll(t testing.TB, l *Log) []parser.Event {
	t.Helper()
	events := make([]parser.Event, l.Info().Records)
	if n, err := l.ReadEvents(events, 0); err != nil || n != len(events) {
		t.Fatalf("read %d of %d events: %v", n, len(events), err)
	}
	return events
}

// check verifies what must hold of any log that opens.
func check(t testing.TB, l *Log) {
	t.Helper()
	info := l.Info()
	next := int64(0)
	for i, r := range info.Runs {
		if r.First != next || r.Count <= 0 || (i == 0) != r.Reason.IsZero() {
			t.Fatalf("runs %+v", info.Runs)
		}
		next += r.Count
		if l.Modules(i) == nil || l.Clock(i).Resolution == 0 {
			t.Fatal("run without modules or clock")
		}
	}
	if next != info.Records {
		t.Fatalf("runs hold %d of %d records", next, info.Records)
	}
	damaged := int64(0)
	for _, e := range readAll(t, l) {
		if e.Kind > parser.Damaged {
			t.Fatalf("kind %d", e.Kind)
		}
		if e.Kind == parser.Damaged {
			damaged++
		}
	}
	// Every byte is either in a record or named as damage.
	records, skipped, end := int64(0), int64(0), int64(0)
	missing := false
	for _, d := range info.Damage {
		if d.Offset < end || d.Bytes < 0 || d.Reason.IsZero() {
			t.Fatalf("damage %+v", info.Damage)
		}
		end = d.Offset + d.Bytes
		if d.Bytes == 0 {
			missing = true
		}
		if strings.Contains(d.Reason.String(), "cannot be right") {
			records += d.Bytes
		} else {
			skipped += d.Bytes
		}
	}
	if end > info.Size {
		t.Fatalf("damage beyond the end: %+v", info.Damage)
	}
	if len(info.Damage) < parser.MaxDamage {
		if records != damaged*int64(info.RecordSize) {
			t.Fatalf("%d damaged records, %d bytes of them named", damaged, records)
		}
		if sum := skipped + info.Records*int64(info.RecordSize); sum != info.Size && !(missing && sum > info.Size) || info.DamageBytes != records+skipped {
			t.Fatalf("%d records of %d bytes and %d skipped are not %d bytes; damage %d", info.Records, info.RecordSize, skipped, info.Size, info.DamageBytes)
		}
	}
}

func TestWidth(t *testing.T) {
	// What the records say must be found from a handful of them on, also
	// without a modules file.
	for _, spec := range []classictest.Spec{
		{RecordSize: 16}, {RecordSize: 24}, {RecordSize: 16, Truncated: true},
		{RecordSize: 16, StartTick: 1}, {RecordSize: 24, StartTick: 1},
		{RecordSize: 16, Padding: 0xcc}, {RecordSize: 24, Padding: 0xcc}, {RecordSize: 24, Padding: 1},
		{RecordSize: 16, Padding: 1, StartTick: 1, FirstThread: 1}, {RecordSize: 24, Padding: 1, StartTick: 1, FirstThread: 1},
		{RecordSize: 16, Threads: 50, MaxDepth: 2}, {RecordSize: 24, Threads: 50, MaxDepth: 2},
		{RecordSize: 16, PerMillisecond: 1}, {RecordSize: 24, PerMillisecond: 1},
		{RecordSize: 16, StartTick: 1<<32 - 3, PerMillisecond: 1}, {RecordSize: 24, StartTick: 1<<32 - 3, PerMillisecond: 1},
		{RecordSize: 24, StartTick: 0x01000000, FirstThread: 0x10000},
	} {
		for _, n := range []int64{1, 2, 3, 4, 5, 8, 9, 50, 5000} {
			spec.Records, spec.Seed = n, uint64(n)
			log, mods := generate(t, spec)
			for _, file := range [][]byte{nil, mods, withoutColumns(mods)} {
				if n < 3 && (file == nil || spec.Truncated) {
					continue // too little to go by
				}
				name := fmt.Sprintf("%+v, modules file %q", spec, file)
				l, err := openBytes(log, file, parser.Options{})
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if l.Info().RecordSize != spec.RecordSize || l.Info().Records != n {
					t.Errorf("%s: %s", name, l.Info().Why)
				}
				if l.Truncated() != (spec.Truncated && file != nil) {
					t.Errorf("%s: truncated %v", name, l.Truncated())
				}
				if len(l.Info().Damage) > 0 || len(l.Info().Runs) != 1 {
					t.Errorf("%s: damage %v, runs %v", name, l.Info().Damage, l.Info().Runs)
				}
				check(t, l)
			}
		}
	}
}

// withoutColumns makes a modules file as other recorders write it.
func withoutColumns(file []byte) []byte {
	var out []string
	for _, line := range strings.Split(string(file), "\n")[1:] {
		if f := strings.Fields(line); len(f) > 3 {
			line = f[0] + " " + f[1] + " " + f[5]
		}
		out = append(out, line)
	}
	return []byte(strings.Join(out, "\n"))
}

// TestModulesFileOfAnotherProgram: a log whose records plainly have the other
// size is believed more than the modules file.
func TestModulesFileOfAnotherProgram(t *testing.T) {
	log, _ := generate(t, classictest.Spec{Records: 1000, RecordSize: 24})
	_, mods := generate(t, classictest.Spec{Records: 1000, RecordSize: 16})
	l, err := openBytes(log, mods, parser.Options{})
	if err != nil || l.Info().RecordSize != 24 || !strings.Contains(l.Info().Why.String(), "although the modules file says 4-byte pointers") {
		t.Errorf("%v, %+v", err, l.Info())
	}
}

// TestOutOfStep takes bytes away or puts bytes in and expects every record
// that was not touched. Once in a thousand times the bytes at the seam look so
// much like a record that the one beside it is given up; never more.
func TestOutOfStep(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	rounds, atSeam := soak(t, 300), 0
	for round := range rounds {
		spec := classictest.Spec{
			Records: 200 + r.Int64N(6000), RecordSize: 16 + 8*(round&1), Seed: uint64(round), Threads: 1 + r.IntN(5),
			Padding: [...]byte{0, 0xcc, 1}[r.IntN(3)], PerMillisecond: 1 + r.IntN(50), StartTick: 20_000 + r.Uint32N(1<<31),
		}
		size := spec.RecordSize
		log, mods := generate(t, spec)
		if r.IntN(2) == 0 {
			mods = nil
		}
		at := 50*size + r.IntN(len(log)-100*size)
		// What stands before and after is whole up to these records.
		head, tail := at/size, (at+size-1)/size
		change := 1 + r.IntN(3*size)
		var name string
		var damaged []byte
		if r.IntN(2) == 0 {
			name = fmt.Sprintf("%d bytes lost at %d", change, at)
			damaged = append(append(damaged, log[:at]...), log[at+change:]...)
			tail = (at + change + size - 1) / size
		} else {
			name = fmt.Sprintf("%d bytes put in at %d", change, at)
			junk := make([]byte, change)
			for i := range junk {
				junk[i] = byte(r.Uint32())
			}
			damaged = append(append(append(damaged, log[:at]...), junk...), log[at:]...)
		}
		name = fmt.Sprintf("%s, %+v", name, spec)
		l, err := openBytes(damaged, mods, parser.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		check(t, l)
		whole, err := openBytes(log, mods, parser.Options{RecordSize: size})
		if err != nil {
			t.Fatal(err)
		}
		want, got := readAll(t, whole), readAll(t, l)
		if len(l.Info().Runs) != 1 {
			t.Errorf("%s: runs %+v", name, l.Info().Runs)
		}
		before := func(n int) bool { return len(got) >= n && equal(got[:n], want[:n]) }
		after := func(n int) bool { return len(got) >= n && equal(got[len(got)-n:], want[len(want)-n:]) }
		if n := len(want) - tail; !before(head) || !after(n) {
			if atSeam++; !before(head-1) || !after(n-1) {
				t.Errorf("%s: records outside the damage differ: %d records, damage %+v", name, len(got), l.Info().Damage)
			}
		}
		if change%size != 0 && len(l.Info().Damage) == 0 {
			t.Errorf("%s: no damage is named", name)
		}
		for _, d := range l.Info().Damage {
			if d.Offset < int64(at-2*size) || d.Offset+d.Bytes > int64(at+change+2*size) {
				t.Errorf("%s: damage %+v", name, d)
			}
		}
	}
	if atSeam*1000 > rounds {
		t.Errorf("in %d of %d rounds a record at the seam was lost", atSeam, rounds)
	}
}

func equal(a, b []parser.Event) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

// TestAppendedAfterTornRecord is what "ab" makes of a killed program's log.
func TestAppendedAfterTornRecord(t *testing.T) {
	for _, size := range []int{16, 24} {
		for cut := 1; cut < size; cut++ {
			for _, second := range []uint32{50_000, 100_500_000} {
				first, _ := generate(t, classictest.Spec{Records: 3000, RecordSize: size})
				spec := classictest.Spec{Records: 2000, RecordSize: size, StartTick: second, FirstThread: 5000, Seed: 9}
				log, mods := generate(t, spec)
				log = append(first[:len(first)-cut:len(first)-cut], log...)
				l, err := openBytes(log, mods, parser.Options{})
				if err != nil {
					t.Fatal(err)
				}
				check(t, l)
				info := l.Info()
				name := fmt.Sprintf("%d bytes, %d cut, second run at %d", size, cut, second)
				// A record that lacks only padding is whole.
				lost := int64(1)
				if cut < size-flagOffset(size) {
					lost = 0
				}
				if n := len(info.Runs); n != 2 || info.Runs[1].First != 3000-lost || info.Runs[1].Count != 2000 || !info.Runs[1].HasModules || info.Runs[0].HasModules {
					t.Errorf("%s: runs %+v, damage %+v", name, info.Runs, info.Damage)
				}
				if len(info.Damage) != 1 || info.Damage[0].Offset+info.Damage[0].Bytes != int64(3000*size-cut) {
					t.Errorf("%s: damage %+v", name, info.Damage)
				}
			}
		}
	}
}

// TestHeadLost cuts bytes off the front.
func TestHeadLost(t *testing.T) {
	for _, size := range []int{16, 24} {
		log, _ := generate(t, classictest.Spec{Records: 3000, RecordSize: size})
		whole, err := openBytes(log, nil, parser.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := readAll(t, whole)
		for cut := 1; cut < size; cut++ {
			l, err := openBytes(log[cut:], nil, parser.Options{})
			if err != nil {
				t.Errorf("%d bytes, %d cut: %v", size, cut, err)
				continue
			}
			check(t, l)
			got := readAll(t, l)
			if n := len(want) - 1; len(got) < n || !equal(got[len(got)-n:], want[1:]) || len(got) > n+1 {
				t.Errorf("%d bytes, %d cut: %d records, damage %+v", size, cut, len(got), l.Info().Damage)
			}
		}
	}
}

// TestGarbageStretch overwrites a stretch and expects the records on both
// sides.
func TestGarbageStretch(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for round := range soak(t, 60) {
		size := 16 + 8*(round&1)
		log, _ := generate(t, classictest.Spec{Records: 8000, RecordSize: size, Seed: uint64(round)})
		whole, err := openBytes(log, nil, parser.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := readAll(t, whole)
		from := 1000*size + r.IntN(2000*size)
		n := 1 + r.IntN(3000*size)
		// The stretch is zero, noise, or noise that moves what follows.
		kind := round % 3
		damaged := append([]byte(nil), log[:from]...)
		for range n {
			b := byte(0)
			if kind > 0 {
				b = byte(r.Uint32())
			}
			damaged = append(damaged, b)
		}
		after := from + n
		if kind < 2 {
			damaged = append(damaged, log[from+n:]...)
		} else {
			after = from
			damaged = append(damaged, log[from:]...)
		}
		l, err := openBytes(damaged, nil, parser.Options{})
		if err != nil {
			t.Fatal(err)
		}
		check(t, l)
		got := readAll(t, l)
		head := from / size
		tail := len(want) - (after+size-1)/size
		if !equal(got[:head], want[:head]) {
			t.Errorf("round %d: records before the damage differ", round)
		}
		// Noise may hold a record or two that look right, and a new run.
		last := got[max(0, len(got)-tail):]
		for i := range last {
			if w := want[len(want)-tail+i]; last[i].Address != w.Address || last[i].Thread != w.Thread || last[i].Kind != w.Kind {
				t.Errorf("round %d, kind %d, %d bytes at %d: record %d of %d after the damage differs; damage %+v", round, kind, n, from, i, tail, l.Info().Damage)
				break
			}
		}
		if len(l.Info().Runs) != 1 {
			t.Errorf("round %d: runs %+v", round, l.Info().Runs)
		}
	}
}

// TestCut opens a log cut at each of its first 4,096 bytes.
func TestCut(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 41 // meets all parts of records
	}
	for _, size := range []int{16, 24} {
		log, mods := generate(t, classictest.Spec{Records: 300, RecordSize: size})
		whole, err := openBytes(log, mods, parser.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := readAll(t, whole)
		for n := 0; n < 4097; n += step {
			l, err := openBytes(log[:n], mods, parser.Options{})
			if err != nil {
				if n >= size {
					t.Errorf("%d bytes: %v", n, err)
				}
				continue
			}
			check(t, l)
			// 16 to 23 bytes of 24-byte records are not taken for one of 16.
			if got := readAll(t, l); len(got) != n/size || !equal(got, want[:n/size]) {
				t.Errorf("%d of %d-byte records: got %d records", n, size, len(got))
			}
			if (n%size != 0) != (len(l.Info().Damage) == 1) {
				t.Errorf("%d bytes: damage %+v", n, l.Info().Damage)
			}
			// Without the modules file the size may be anybody's guess at
			// first, but nothing worse.
			if l, err := openBytes(log[:n], nil, parser.Options{}); err == nil {
				check(t, l)
				if n > 4*size && l.Info().RecordSize != size {
					t.Errorf("%d bytes without a modules file: %s", n, l.Info().Why)
				}
			}
		}
	}
}

// soak is how often a random test runs: a few times in an ordinary test, a sixth of
// that in a short one, as often as LOGPARSER_SOAK says in a long one.
func soak(t *testing.T, usual int) int {
	if n, err := strconv.Atoi(os.Getenv("LOGPARSER_SOAK")); err == nil && n > 0 {
		return n
	}
	if testing.Short() {
		return max(usual/6, 1)
	}
	return usual
}

// TestRandomBytes changes 16 random bytes of the log, or of the modules file.
func TestRandomBytes(t *testing.T) {
	var kinds []struct{ log, mods []byte }
	for _, spec := range []classictest.Spec{
		{Records: 400, RecordSize: 16}, {Records: 400, RecordSize: 24, Padding: 0xcc}, {Records: 3000, RecordSize: 24, StartTick: 1<<32 - 50},
	} {
		log, mods := generate(t, spec)
		kinds = append(kinds, struct{ log, mods []byte }{log, mods})
	}
	first, _ := generate(t, classictest.Spec{Records: 500, Seed: 1})
	log, mods := generate(t, classictest.Spec{Records: 500, StartTick: 70_000, Seed: 2})
	kinds = append(kinds, struct{ log, mods []byte }{append(first, log...), mods})

	r := rand.New(rand.NewPCG(7, 8))
	for i := range soak(t, 500) {
		k := kinds[i%len(kinds)]
		log, mods := append([]byte(nil), k.log...), append([]byte(nil), k.mods...)
		target := log
		if i/len(kinds)%2 == 1 {
			target = mods
		}
		for range 16 {
			target[r.IntN(len(target))] = byte(r.Uint32())
		}
		bounded(t, func() {
			l, err := openBytes(log, mods, parser.Options{})
			if err != nil {
				if &target[0] == &log[0] {
					t.Errorf("round %d: %v", i, err)
				}
				return
			}
			check(t, l)
			if got := l.Info().Records * int64(l.Info().RecordSize); &target[0] == &log[0] && got < int64(len(log)*9/10) {
				t.Errorf("round %d: only %d of %d bytes are in records: %+v", i, got, len(log), l.Info().Damage)
			}
		})
	}
}

// bounded fails the test if f allocates more than 256 MB altogether.
func bounded(t testing.TB, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 256<<20 {
		t.Errorf("%d MB were allocated", n>>20)
	}
}

// TestHostile opens files made to make the scan keep or do too much.
func TestHostile(t *testing.T) {
	const n = 300_000
	r := rand.New(rand.NewPCG(9, 9))
	for _, test := range []struct {
		name string
		make func(i int, b []byte) []byte
	}{
		{"a run every few records", func(i int, b []byte) []byte {
			return classictest.AppendRecord(b, 16, 0x401000, 1, uint32(i%12)*10_000_000+uint32(i), byte(i&1), 0)
		}},
		{"random ticks", func(i int, b []byte) []byte {
			return classictest.AppendRecord(b, 16, 0x401000, 1, r.Uint32(), byte(i&1), 0)
		}},
		{"a wrap at every record", func(i int, b []byte) []byte {
			return classictest.AppendRecord(b, 16, 0x401000, 1, -uint32(i&1), byte(i&1), 0)
		}},
		{"half the counter's range at every record", func(i int, b []byte) []byte {
			return classictest.AppendRecord(b, 16, 0x401000, 1, uint32(i)*0x30000000, byte(i&1), 0)
		}},
		{"every second record damaged", func(i int, b []byte) []byte {
			return classictest.AppendRecord(b, 16, 0x401000, 1, uint32(i), byte(i&1)*7, 0)
		}},
		{"a byte too many every 30 records", func(i int, b []byte) []byte {
			if i%30 == 29 {
				b = append(b, 0x55)
			}
			return classictest.AppendRecord(b, 24, 0x401000, 1, uint32(i), byte(i&1), 0)
		}},
		{"only leaves", func(i int, b []byte) []byte {
			return classictest.AppendRecord(b, 24, 0x401000, 1, uint32(i), 0, 0)
		}},
		{"noise", func(i int, b []byte) []byte {
			for range 16 {
				b = append(b, byte(r.Uint32()))
			}
			return b
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var data []byte
			for i := range n {
				data = test.make(i, data)
			}
			bounded(t, func() {
				for _, size := range []int{0, 16, 24} {
					l, err := openBytes(data, nil, parser.Options{RecordSize: size})
					if err != nil {
						continue
					}
					check(t, l)
					if i := l.Info(); len(i.Runs) > maxRuns+1 || len(i.Damage) > parser.MaxDamage || len(l.view.Load().segments) > maxSegments || len(l.view.Load().epochs) > maxEpochs {
						t.Errorf("%d runs, %d damages, %d segments, %d epochs", len(i.Runs), len(i.Damage), len(l.view.Load().segments), len(l.view.Load().epochs))
					}
				}
			})
		})
	}
}

func FuzzClassic(f *testing.F) {
	for _, spec := range []classictest.Spec{
		{Records: 20, RecordSize: 16}, {Records: 20, RecordSize: 24, Padding: 0xcc}, {Records: 100, RecordSize: 24, StartTick: 1<<32 - 1},
	} {
		log, mods := generate(f, spec)
		f.Add(log, mods, uint8(0))
		f.Add(append(log[:len(log)-5:len(log)-5], log...), mods, uint8(1))
	}
	f.Fuzz(func(t *testing.T, log, mods []byte, force uint8) {
		opt := parser.Options{RecordSize: [...]int{0, 16, 24}[force%3]}
		if len(mods) == 0 {
			mods = nil
		}
		l, err := openBytes(log, mods, opt)
		if err != nil {
			return
		}
		check(t, l)
		var one [1]parser.Event
		if _, err := l.ReadEvents(one[:], l.Info().Records); err != io.EOF {
			t.Fatalf("after the end: %v", err)
		}
	})
}
