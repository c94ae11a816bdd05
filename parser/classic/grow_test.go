package classic

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"logparser/parser"
)

// rec makes a 24-byte record.
func rec(address uint64, thread, tick uint32, enter bool) []byte {
	b := make([]byte, Size64)
	binary.LittleEndian.PutUint64(b, address)
	binary.LittleEndian.PutUint32(b[8:], thread)
	binary.LittleEndian.PutUint32(b[12:], tick)
	if enter {
		b[16] = 1
	}
	return b
}

// recs makes n records with rising ticks, each a little after the one before.
func recs(n int, tick uint32) []byte {
	var b []byte
	for i := range n {
		b = append(b, rec(0x401000+uint64(i/2%100)*64, 7, tick+uint32(i)*10, i%2 == 0)...)
	}
	return b
}

// A growing is a log that is written and followed.
type growing struct {
	t    *testing.T
	path string
	log  *Log
	// events are those that were seen.
	events []parser.Event
	writes int64
}

func newGrowing(t *testing.T, data []byte, modulesFile string) *growing {
	dir := t.TempDir()
	g := &growing{t: t, path: filepath.Join(dir, "LogDetails.dat")}
	opt := parser.Options{RecordSize: Size64}
	if modulesFile != "" {
		opt.ModulesFile = filepath.Join(dir, "LogDetails.bin")
		g.write(opt.ModulesFile, []byte(modulesFile))
	}
	g.write(g.path, data)
	var err error
	if g.log, err = Open(context.Background(), g.path, opt, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.log.Close() })
	g.check()
	check(t, g.log)
	return g
}

func (g *growing) write(path string, data []byte) {
	g.t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		g.t.Fatal(err)
	}
	// Systems count the time of change in steps of milliseconds.
	g.writes++
	if err := os.Chtimes(path, time.Time{}, time.Unix(g.writes, 0)); err != nil {
		g.t.Fatal(err)
	}
}

func (g *growing) append(data []byte) {
	g.t.Helper()
	f, err := os.OpenFile(g.path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.Write(data)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		g.t.Fatal(err)
	}
}

// grow calls Grow until nothing waits.
func (g *growing) grow() parser.Growth {
	g.t.Helper()
	var all parser.Growth
	for {
		growth, err := g.log.Grow(context.Background())
		if err != nil {
			g.t.Fatal(err)
		}
		all.Records += growth.Records
		all.Modules = all.Modules || growth.Modules
		all.Replaced = growth.Replaced
		g.check()
		if !growth.Pending {
			check(g.t, g.log)
			return all
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// check reads everything and checks that what was seen has not changed.
func (g *growing) check() {
	g.t.Helper()
	now := readAll(g.t, g.log)
	if len(now) < len(g.events) || !slices.Equal(now[:len(g.events)], g.events) {
		g.t.Fatalf("%d events that were seen have changed", len(g.events))
	}
	g.events = now
}

func (g *growing) runs() string {
	s := ""
	for _, r := range g.log.Info().Runs {
		s += fmt.Sprintf("[%d+%d %t]", r.First, r.Count, r.HasModules)
	}
	return s
}

// TestGrow follows logs that are written in pieces of any size and compares
// with the whole.
func TestGrow(t *testing.T) {
	tests := map[string][]byte{
		"one run":              recs(3000, 1000),
		"two runs":             append(recs(900, 50_000_000), recs(700, 1000)...),
		"wrap":                 recs(900, 1<<32-4000),
		"damage in the middle": append(append(recs(500, 1000), rec(0, 7, 9000, true)...), recs(500, 9000)...),
	}
	for name, data := range tests {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(6) {
				r := rand.New(rand.NewPCG(seed, 1))
				first := 48 + r.IntN(2000)
				g := newGrowing(t, data[:first], "")
				for at := first; at < len(data); {
					n := min(len(data)-at, 1+r.IntN([]int{30, 1000, 40_000}[r.IntN(3)]))
					g.append(data[at : at+n])
					at += n
					if r.IntN(3) > 0 {
						if _, err := g.log.Grow(context.Background()); err != nil {
							t.Fatal(err)
						}
						g.check()
					}
				}
				g.grow()
				whole := newGrowing(t, data, "")
				if !slices.Equal(g.events, whole.events) {
					t.Fatalf("seed %d: %d events, the whole has %d", seed, len(g.events), len(whole.events))
				}
				if got, want := describe(t, g.log), describe(t, whole.log); got != want {
					t.Errorf("seed %d: got\n%s\nwant\n%s", seed, got, want)
				}
			}
		})
	}
}

const startLine = "2013-05-12T14:03:05.000\n"

func modulesFile(tick int, lines string) string {
	return fmt.Sprintf("%s%d\n%s", startLine, tick, lines)
}

const twoModules = "0x400000 0x10000 C:\\app\\a.exe\n0x10000000 0x8000 C:\\app\\b.dll\n"

// TestGrowRuns has programs that are started again and append.
func TestGrowRuns(t *testing.T) {
	t.Run("after a reboot", func(t *testing.T) {
		g := newGrowing(t, recs(100, 5_000_000), modulesFile(4_999_000, twoModules))
		g.write(g.log.o.opt.ModulesFile, []byte(modulesFile(70_000, "0x500000 0x10000 C:\\app\\a.exe\n")))
		g.grow()
		g.append(recs(2, 70_100))
		g.grow()
		g.append(recs(50, 70_200))
		g.grow()
		if got, want := g.runs(), "[0+100 true][100+52 true]"; got != want {
			t.Errorf("runs %s, want %s", got, want)
		}
		if n, m := g.log.Modules(0).Len(), g.log.Modules(1).Len(); n != 2 || m != 1 {
			t.Errorf("%d and %d modules", n, m)
		}
		wall, ok := g.log.Clock(1).Wall(g.events[100].Time)
		if got := wall.Format("15:04:05.000"); !ok || got != "14:03:05.100" {
			t.Errorf("the second run begins at %s", got)
		}
	})
	t.Run("in one boot", func(t *testing.T) {
		g := newGrowing(t, recs(100, 5_000_000), modulesFile(4_999_000, twoModules))
		g.append(recs(10, 5_001_000))
		g.write(g.log.o.opt.ModulesFile, []byte(modulesFile(5_090_000, twoModules)))
		g.append(recs(20, 5_090_010))
		g.grow()
		if got, want := g.runs(), "[0+110 true][110+20 true]"; got != want {
			t.Errorf("runs %s, want %s", got, want)
		}
	})
	t.Run("nothing known of it", func(t *testing.T) {
		g := newGrowing(t, recs(100, 5_000_000), "")
		g.append(recs(1, 70_000))
		g.grow()
		g.append(recs(40, 70_010))
		g.grow()
		// The first record came alone, and might have been damage.
		if got, want := g.runs(), "[0+101 false][101+40 false]"; got != want {
			t.Errorf("runs %s, want %s", got, want)
		}
	})
}

func TestGrowModules(t *testing.T) {
	g := newGrowing(t, recs(10, 70_000), modulesFile(69_000, twoModules))
	before := g.log.Modules(0)
	g.write(g.log.o.opt.ModulesFile, []byte(modulesFile(69_000, "0x20000000 0x8000 C:\\app\\c.dll\n"+twoModules)))
	if growth := g.grow(); !growth.Modules || growth.Records != 0 {
		t.Errorf("%+v", growth)
	}
	after := g.log.Modules(0)
	if before.Len() != 2 || after.Len() != 3 || after.At(2).Name() != "c.dll" || *after.At(0) != *before.At(0) {
		t.Errorf("%d modules, then %d", before.Len(), after.Len())
	}
	if growth := g.grow(); growth.Modules {
		t.Error("the same modules are told twice")
	}
	for _, line := range []string{"0x30000000 0x8000 C:\\app\\d", "0x30000000 0x8000 C:\\app\\d.dll\n"} {
		g.write(g.log.o.opt.ModulesFile, []byte(modulesFile(69_000, twoModules+line)))
		if growth := g.grow(); !growth.Modules {
			t.Errorf("%q was not seen", line)
		}
	}
	if m := g.log.Modules(0); m.Len() != 4 || m.At(3).Name() != "d.dll" {
		t.Errorf("%d modules, the last is %s", m.Len(), m.At(m.Len()-1).Name())
	}
}

// TestGrowTail has records that are not whole.
func TestGrowTail(t *testing.T) {
	data := recs(12, 1000)
	g := newGrowing(t, data[:10*Size64+5], "")
	if d := g.log.Info().Damage; len(d) != 1 || len(g.events) != 10 {
		t.Fatalf("%d events, damage %+v", len(g.events), d)
	}
	g.append(data[10*Size64+5 : 11*Size64-1])
	if growth := g.grow(); growth.Records != 0 {
		t.Errorf("%+v", growth)
	}
	g.append(data[11*Size64-1:])
	if growth := g.grow(); growth.Records != 2 || len(g.log.Info().Damage) != 0 || g.log.Info().DamageBytes != 0 {
		t.Errorf("%+v, damage %+v", growth, g.log.Info().Damage)
	}
	// A reservation, which is filled in later.
	g.append(make([]byte, 50*Size64))
	if growth := g.grow(); growth.Records != 0 {
		t.Errorf("%+v", growth)
	}
	f, err := os.OpenFile(g.path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i := range 50 {
		if _, err := f.WriteAt(rec(0x401000, 7, 2000+uint32(i), i%2 == 0), int64(12+i)*Size64); err != nil {
			t.Fatal(err)
		}
		// The system may take its time over the time of change.
		if err := os.Chtimes(g.path, time.Time{}, time.Unix(int64(i), 0)); err != nil {
			t.Fatal(err)
		}
		if growth := g.grow(); growth.Records != 1 {
			t.Errorf("record %d: %+v", i, growth)
		}
	}
}

// TestCheck asks, without reading on, whether the file is still the log that was read.
func TestCheck(t *testing.T) {
	for _, test := range []struct {
		name string
		now  []byte
		want error
	}{
		{"the same", recs(10, 1000), nil},
		{"longer", append(recs(10, 1000), recs(3, 9000)...), nil},
		{"cut", recs(3, 1000), ErrShrunk},
		{"empty", nil, ErrShrunk},
		{"written anew", recs(12, 90_000), ErrShrunk},
	} {
		g := newGrowing(t, recs(10, 1000), "")
		records := g.log.Info().Runs[0].Count
		if err := g.log.Check(); err != nil {
			t.Errorf("%s: before: %v", test.name, err)
		}
		g.write(g.path, test.now)
		if err := g.log.Check(); !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
		if n := g.log.Info().Runs[0].Count; n != records {
			t.Errorf("%s: %d records, before %d", test.name, n, records)
		}
	}
}

func TestGrowShrunk(t *testing.T) {
	for _, c := range []struct {
		name string
		now  []byte
	}{
		{"cut", recs(3, 1000)},
		{"written anew", recs(12, 90_000)},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGrowing(t, recs(10, 1000), "")
			g.write(g.path, c.now)
			if _, err := g.log.Grow(context.Background()); !errors.Is(err, parser.ErrShrunk) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestGrowReplaced(t *testing.T) {
	g := newGrowing(t, recs(10, 1000), "")
	old := g.path
	if err := os.Rename(old, old+".1"); err != nil {
		t.Skip("an open file cannot be renamed here")
	}
	g.path = old + ".1"
	g.append(recs(2, 1100))
	if growth := g.grow(); growth.Records != 2 || !growth.Replaced {
		t.Errorf("%+v", growth)
	}
	g.write(old, recs(2, 1))
	if growth := g.grow(); growth.Records != 0 || !growth.Replaced {
		t.Errorf("%+v", growth)
	}
}

// BenchmarkGrowIdle is the cost of a look at a file that has not grown.
func BenchmarkGrowIdle(b *testing.B) {
	path := filepath.Join(b.TempDir(), "LogDetails.dat")
	if err := os.WriteFile(path, recs(1000, 1000), 0o644); err != nil {
		b.Fatal(err)
	}
	l, err := Open(context.Background(), path, parser.Options{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	for b.Loop() {
		if _, err := l.Grow(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzGrow appends any bytes to any: what was read stays, and nothing panics.
func FuzzGrow(f *testing.F) {
	f.Add(recs(40, 1000), uint16(300), uint16(1))
	f.Add(append(recs(20, 5_000_000), recs(30, 1000)...), uint16(500), uint16(200))
	f.Add(append(append(recs(30, 1000), make([]byte, 100)...), recs(30, 2000)...), uint16(100), uint16(37))
	path := filepath.Join(f.TempDir(), "LogDetails.dat")
	f.Fuzz(func(t *testing.T, data []byte, first, step uint16) {
		if step == 0 || len(data) > 20_000 || len(data)/int(step) > 200 {
			return
		}
		at := min(int(first), len(data))
		if err := os.WriteFile(path, data[:at], 0o644); err != nil {
			t.Fatal(err)
		}
		l, err := Open(context.Background(), path, parser.Options{RecordSize: Size64}, nil)
		if err != nil {
			return
		}
		defer l.Close()
		seen := readAll(t, l)
		for at < len(data) {
			n := min(int(step), len(data)-at)
			file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = file.Write(data[at : at+n])
				err = errors.Join(err, file.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
			at += n
			// Odd records do not wait, so that they are seen alone.
			l.growth.heldSince = time.Time{}
			growth, err := l.Grow(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			now := readAll(t, l)
			if len(now) != len(seen)+int(growth.Records) || !slices.Equal(now[:len(seen)], seen) {
				t.Fatalf("%d events, %d were seen and %d are new", len(now), len(seen), growth.Records)
			}
			if seen = now; !growth.Pending {
				check(t, l)
			}
		}
	})
}
