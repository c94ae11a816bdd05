package app

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"logparser/calls"
	"logparser/calls/indexcache"
	"logparser/internal/testlog/classictest"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
	"logparser/parser/classic"
)

// keepAll makes indexes of small logs be kept.
func keepAll(t *testing.T) {
	old := leastKept
	leastKept = 1
	t.Cleanup(func() { leastKept = old })
}

// keptFiles returns how many indexes and notes a cache has.
func keptFiles(t *testing.T, cache string) (indexes, notes int) {
	t.Helper()
	entries, err := os.ReadDir(cache)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		switch {
		case strings.HasSuffix(e.Name(), indexcache.FileSuffix):
			indexes++
		case strings.HasSuffix(e.Name(), indexcache.NoteSuffix):
			notes++
		case e.Name() == "index.key":
		default:
			t.Errorf("%s is left", e.Name())
		}
	}
	return indexes, notes
}

// checkKept opens a log with the cache and without, and holds both against each
// other and against the oracle. It returns how many indexes and notes there are then.
func checkKept(t *testing.T, in Inputs) (indexes, notes int) {
	t.Helper()
	none := in
	none.NoIndexCache = true
	fresh, s := open(t, none), open(t, in)
	defer fresh.Close()
	defer s.Close()
	if err := s.IndexError(); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%+v", s.Info()), fmt.Sprintf("%+v", fresh.Info()); got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	if got, want := saved(t, s), saved(t, fresh); got != want {
		t.Fatal(firstDifference(got, want))
	}
	var runs []parser.Run
	for _, r := range s.runs() {
		runs = append(runs, r.Run)
	}
	want, err := oracle.New(s.log, runs, oracle.Options{})
	if err == nil && want.NeedsNames {
		want, err = oracle.New(s.log, runs, oracle.Options{Namer: s.names.namer, Before: want})
	}
	if err != nil {
		t.Fatal(err)
	}
	records := make([]calls.Record, want.Len())
	s.table.Read(records, 0)
	for i := range records {
		if records[i] != want.Rows[i].Record {
			t.Fatalf("row %d is %+v, want %+v", i, records[i], want.Rows[i].Record)
		}
	}
	for i, want := range want.Addresses {
		if got := s.table.Addresses().At(i); got != want {
			t.Fatalf("address %d: %+v, want %+v", i, got, want)
		}
	}
	if !slices.Equal(s.table.Threads(), want.Threads) {
		t.Fatal("threads are not those of the oracle")
	}
	return keptFiles(t, in.IndexCache)
}

// growWhileOpen appends to a log that is followed.
func growWhileOpen(t *testing.T, in Inputs, data []byte) {
	t.Helper()
	s := open(t, in)
	defer s.Close()
	appendTo(t, in.Log, data)
	for pending := true; pending; {
		g, err := s.grow(context.Background(), s.can.Grower)
		if err != nil {
			t.Fatal(err)
		}
		pending = g.Pending
	}
	s.keepFollowed()
}

// TestGrownIndex opens logs that grow in pieces of any size: of our recorder, of one
// whose pairs depend on names, and of programs that were started several times.
func TestGrownIndex(t *testing.T) {
	keepAll(t)
	from := logtest(t, "linux-gcc-O2")
	own := readFile(t, filepath.Join(from, "LogDetails.dat"))
	foreign := bytes.Clone(own)
	for at := 0; at+classic.Size64 <= len(foreign); at += classic.Size64 {
		if foreign[at+16] == 0 {
			foreign[at]++
		}
	}
	r := rand.New(rand.NewPCG(1, 41))
	generated := func(damage bool) []byte {
		var b bytes.Buffer
		for range 1 + r.IntN(3) {
			if err := classictest.Generate(&b, classictest.Spec{Records: 1 + r.Int64N(6000), StartTick: r.Uint32(), Seed: r.Uint64()}); err != nil {
				t.Fatal(err)
			}
		}
		if damage {
			b.Bytes()[r.IntN(b.Len())] = 7
		}
		return b.Bytes()
	}
	for _, kind := range []string{"own", "foreign", "runs", "damage"} {
		t.Run(kind, func(t *testing.T) {
			grown, rounds := 0, 8
			if testing.Short() {
				rounds = 3
			}
			for round := range rounds {
				data := map[string]func() []byte{
					"own": func() []byte { return own }, "foreign": func() []byte { return foreign },
					"runs": func() []byte { return generated(false) }, "damage": func() []byte { return generated(true) },
				}[kind]()
				dir := t.TempDir()
				if kind == "own" || kind == "foreign" {
					copyFiles(t, from, dir, "LogDetails.bin", "logtest", "liblogtest_shapes.so")
				}
				path := filepath.Join(dir, "LogDetails.dat")
				in := Inputs{Log: path, NoRecordedPaths: true, RecordSize: classic.Size64, IndexCache: filepath.Join(dir, "cache")}
				if r.IntN(2) == 0 {
					in.Run = "all"
				}
				before := 0
				for at := 0; at < len(data); {
					n := min(len(data)-at, max(keyBeginning, 1+r.IntN(len(data)/2)))
					if at > 0 && r.IntN(3) == 0 {
						growWhileOpen(t, in, data[at:at+n])
					} else {
						appendTo(t, path, data[at:at+n])
					}
					at += n
					indexes, notes := checkKept(t, in)
					if indexes == before && notes > 0 {
						grown++
					}
					before = indexes
				}
				if kind == "own" {
					if indexes, notes := keptFiles(t, in.IndexCache); indexes != 1 || notes != 1 {
						t.Errorf("round %d: %d indexes and %d notes are kept of one log that only grew", round, indexes, notes)
					}
				}
			}
			if grown == 0 {
				t.Error("no index was gone on with")
			}
		})
	}
}

// TestNotGrown changes a log in other ways than growing, and what else an index
// depends on: the old index is never gone on with.
func TestNotGrown(t *testing.T) {
	keepAll(t)
	var first, other bytes.Buffer
	for b, seed := range map[*bytes.Buffer]uint64{&first: 1, &other: 2} {
		if err := classictest.Generate(b, classictest.Spec{Records: 20_000, Seed: seed}); err != nil {
			t.Fatal(err)
		}
	}
	old, fresh := first.Bytes(), other.Bytes()
	n := len(old) / 2 / 24 * 24
	tick := uint32(99_999_000)
	// A program was started again where the log ended: its only record could as
	// well be an odd one.
	var again bytes.Buffer
	if err := classictest.Generate(&again, classictest.Spec{Records: 5000, StartTick: 50_000}); err != nil {
		t.Fatal(err)
	}
	reset := slices.Concat(old[:n], again.Bytes())
	zeros := slices.Concat(old[:n-24*5000], make([]byte, 24*10), old[n-24*4990:])
	for name, c := range map[string]struct {
		before, after []byte
		change        func(in *Inputs)
		grown         bool
	}{
		"grown":                  {old[:n], old, nil, true},
		"grown by a part":        {old[:n], old[:n+7], nil, true},
		"a part of a record":     {old[:n+7], old, nil, true},
		"another program":        {old[:n], slices.Concat(old[:n], fresh), nil, true},
		"cut":                    {old[:n], old[:n-24], nil, false},
		"as long":                {old[:n], fresh[:n], nil, false},
		"longer":                 {old[:n], fresh, nil, false},
		"the same, later":        {old[:n], old[:n], nil, false},
		"another end":            {old[:n], slices.Concat(old[:n-24], fresh[n-24:]), nil, false},
		"another beginning":      {old[:n], slices.Concat(fresh[:24], old[24:]), nil, false},
		"a record is missing":    {old[:n], slices.Concat(old[:2400], old[2424:]), nil, false},
		"a record more":          {old[:n], slices.Concat(old[:2400], old[2400:2424], old[2400:]), nil, false},
		"a run began":            {reset[:n+24], reset, nil, false},
		"zeros that were filled": {zeros[:n], old, nil, false},
		"zeros":                  {zeros[:n], zeros[:len(zeros)-24], nil, false},
		"modules file":           {old[:n], old, func(in *Inputs) { appendFile(t, in.Modules, "0x70000000 0x1000 C:\\late.dll\n") }, false},
		"no modules file":        {old[:n], old, func(in *Inputs) { os.Remove(in.Modules); in.Modules = "" }, false},
		"tick at start":          {old[:n], old, func(in *Inputs) { in.StartTick = &tick }, true},
		"runs":                   {old[:n], old, func(in *Inputs) { in.Run = "all" }, true},
		"size of records":        {old[:n], old, func(in *Inputs) { in.RecordSize = 16 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path, modules, err := classictest.WriteFiles(dir, classictest.Spec{Records: 1})
			if err != nil {
				t.Fatal(err)
			}
			in := Inputs{Log: path, Modules: modules, RecordSize: 24, IndexCache: filepath.Join(dir, "cache")}
			write := func(data []byte, at time.Time) {
				if err := os.WriteFile(path, data, 0o644); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(path, at, at); err != nil {
					t.Fatal(err)
				}
			}
			start := time.Now().Add(-time.Hour)
			write(c.before, start)
			before, notes := checkKept(t, in)
			if before == 0 || notes != 1 {
				t.Fatalf("%d indexes and %d notes", before, notes)
			}
			write(c.after, start.Add(time.Minute))
			if c.change != nil {
				c.change(&in)
			}
			indexes, _ := checkKept(t, in)
			if grown := indexes == before; grown != c.grown {
				t.Errorf("%d indexes are kept, gone on with is to be %t", indexes, c.grown)
			}
			// Once kept, it is taken as it is.
			if again, _ := checkKept(t, in); again != indexes {
				t.Errorf("%d indexes, then %d", indexes, again)
			}
		})
	}
}

func appendFile(t *testing.T, path, text string) {
	t.Helper()
	appendTo(t, path, []byte(text))
}

// TestKeptFollowed follows logs that grow: what was kept when they were opened is
// replaced by what there is at the end, unless that is not to be trusted.
func TestKeptFollowed(t *testing.T) {
	keepAll(t)
	var b bytes.Buffer
	if err := classictest.Generate(&b, classictest.Spec{Records: 20_000}); err != nil {
		t.Fatal(err)
	}
	data := b.Bytes()
	for name, c := range map[string]struct {
		first   int
		between func(t *testing.T, path string) // before the last part is written
		taken   bool
	}{
		"half":     {len(data) / 2, nil, true},
		"birth":    {classic.Size64 * 2, nil, true},
		"a little": {len(data) - 100, nil, true},
		"written over": {len(data) / 2, func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteAt([]byte{1}, 0); err != nil {
				t.Fatal(err)
			}
		}, false},
		"damaged": {len(data) / 2, func(t *testing.T, path string) {
			appendTo(t, path, bytes.Repeat([]byte{7}, classic.Size64))
		}, false},
		"a stray leave": {len(data) / 2, func(t *testing.T, path string) {
			leave := bytes.Clone(data[len(data)/2-classic.Size64:][:classic.Size64])
			leave[0], leave[classic.Size64-8] = 0x55, 0
			appendTo(t, path, bytes.Repeat(leave, 3))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path, _, err := classictest.WriteFiles(dir, classictest.Spec{Records: 1})
			if err == nil {
				err = os.WriteFile(path, data[:c.first], 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			in := Inputs{Log: path, RecordSize: classic.Size64, IndexCache: filepath.Join(dir, "cache")}
			s := open(t, in)
			f := follow(t, s)
			half := c.first + (len(data)-c.first)/2/classic.Size64*classic.Size64
			appendTo(t, path, data[c.first:half])
			if half > c.first {
				f.wait(t, func(u Update) bool { return u.Rows >= int64(half/classic.Size64) })
			}
			if c.between != nil {
				c.between(t, path)
			}
			appendTo(t, path, data[half:])
			f.wait(t, func(u Update) bool { return u.Rows >= 20_000 })
			f.stop()
			if err := <-f.result; err != nil {
				t.Fatal(err)
			}
			s.Close()
			before, _ := keptFiles(t, in.IndexCache)
			kept, err := filepath.Glob(filepath.Join(in.IndexCache, "*"+indexcache.FileSuffix))
			if err != nil || len(kept) == 0 {
				t.Fatal(kept, err)
			}
			old, err := os.Stat(kept[0])
			if err != nil {
				t.Fatal(err)
			}
			after, notes := checkKept(t, in)
			now, err := os.Stat(kept[0])
			if taken := before == 1 && after == 1 && notes == 1 && err == nil && os.SameFile(old, now); taken != c.taken {
				t.Errorf("%d indexes, then %d and %d notes; taken is to be %t", before, after, notes, c.taken)
			}
			// It goes on growing.
			appendTo(t, path, data[:c.first])
			checkKept(t, in)
		})
	}
}
