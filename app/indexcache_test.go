package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"logparser/calls/indexcache"
	"logparser/internal/testlog/classictest"
	"logparser/internal/testlog/tracetest"
	"logparser/parser"
	"logparser/rows"
)

// sameRows compares rows of two sessions, which do not have their places in common.
func sameRows(a, b []rows.Row) bool {
	return slices.EqualFunc(a, b, func(a, b rows.Row) bool {
		a.Place, b.Place = nil, nil
		return a == b
	})
}

// TestKeptIndex opens a log twice, changed and in other ways.
func TestKeptIndex(t *testing.T) {
	old := leastKept
	leastKept = 1
	defer func() { leastKept = old }()
	cache := t.TempDir()
	dir := t.TempDir()
	log, _, err := classictest.WriteFiles(dir, classictest.Spec{Records: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	read := func(in Inputs) []rows.Row {
		s, err := Open(context.Background(), in, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Load(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		if err := s.IndexError(); err != nil {
			t.Error(err)
		}
		list := make([]rows.Row, s.Rows().Len())
		if _, err := s.Rows().Read(list, 0); err != nil {
			t.Fatal(err)
		}
		return list
	}
	files := func() int {
		entries, err := os.ReadDir(cache)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		indexes := 0
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), indexcache.FileSuffix) {
				indexes++
			}
		}
		// A note of its runs goes with each, and one key with all.
		if notes := len(entries) - indexes - min(indexes, 1); notes != indexes {
			t.Errorf("%d indexes and %d other files", indexes, notes)
		}
		return indexes
	}
	in := Inputs{Log: log, IndexCache: filepath.Join(cache)}
	none := in
	none.NoIndexCache = true
	want := read(none)
	if files() != 0 {
		t.Fatal("an index was kept")
	}
	for range 2 {
		if got := read(in); !sameRows(got, want) {
			t.Fatal("rows differ")
		}
		if files() != 1 {
			t.Fatalf("%d files", files())
		}
	}
	// The same under another name is the same; another time or size is not.
	other := filepath.Join(dir, "other.dat")
	if err := os.Rename(log, other); err != nil {
		t.Fatal(err)
	}
	in.Log, in.Modules = other, filepath.Join(dir, classictest.ModulesName)
	if got := read(in); !sameRows(got, want) || files() != 1 {
		t.Errorf("renamed: %d files", files())
	}
	if err := os.Chtimes(other, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := read(in); !sameRows(got, want) || files() != 2 {
		t.Errorf("touched: %d files", files())
	}
	if _, _, err := classictest.WriteFiles(dir, classictest.Spec{Records: 20_000, Seed: 2}); err != nil {
		t.Fatal(err)
	}
	in.Log, in.Modules = log, ""
	none.Log = log
	if got := read(in); !sameRows(got, read(none)) || sameRows(got, want) || files() != 3 {
		t.Errorf("another log: %d files", files())
	}
}

// changeFile replaces the content of a file.
func changeFile(t *testing.T, path string, f func(data []byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, f(data), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestKeptRuns opens a log of two runs and some damage again and again, unchanged
// and not. Of a note that is not true one sees whether it is used.
func TestKeptRuns(t *testing.T) {
	old := leastKept
	leastKept = 1
	defer func() { leastKept = old }()
	dir := t.TempDir()
	log, modules, err := classictest.WriteFiles(dir, classictest.Spec{Records: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	var second bytes.Buffer
	if err := classictest.Generate(&second, classictest.Spec{Records: 20_000, StartTick: 1000, Seed: 2}); err != nil {
		t.Fatal(err)
	}
	change := func(f func(data []byte) []byte) { t.Helper(); changeFile(t, log, f) }
	change(func(data []byte) []byte {
		data[24*100+16] = 7
		return append(data, second.Bytes()...)
	})
	in := Inputs{Log: log, Modules: modules, Run: "all", IndexCache: filepath.Join(dir, "cache")}
	info := func(in Inputs) *parser.Info {
		t.Helper()
		s, err := Open(context.Background(), in, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		return s.Info()
	}
	note := func() string {
		t.Helper()
		n := in.found()
		if n == nil {
			t.Fatal("there can be no note")
		}
		return n.store.File(n.key, indexcache.NoteSuffix)
	}
	none := in
	none.NoIndexCache = true
	want := info(none)
	if len(want.Runs) != 2 || len(want.Damage) != 1 {
		t.Fatalf("%+v", want)
	}
	const made = "the tick count goes back from 4000000001 "
	from := regexp.MustCompile(`"From":[1-9]\d*`) // at which the second run ends the first
	// forge replaces the note by one that is not true.
	forge := func() {
		t.Helper()
		info(in)
		n := in.found()
		if err := n.store.Note(n.key, from.ReplaceAll(n.data, []byte(`"From":4000000001`))); err != nil {
			t.Fatal(err)
		}
		if got := info(in); !strings.HasPrefix(got.Runs[1].Reason.String(), made) {
			t.Fatalf("the note is not used: %+v", got)
		}
	}
	for range 2 {
		if got := info(in); !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v, want %+v", got, want)
		}
	}
	flip := func(at int64) func() {
		return func() {
			changeFile(t, note(), func(data []byte) []byte {
				data[(at+int64(len(data)))%int64(len(data))] ^= 4
				return data
			})
		}
	}
	cut := func(n int64) func() {
		return func() {
			if err := os.Truncate(note(), n); err != nil {
				t.Error(err)
			}
		}
	}
	tick := uint32(99_999_000)
	for name, change := range map[string]func(){
		"magic":   flip(0),
		"version": flip(7),
		"key":     flip(10),
		"content": flip(100),
		"sum":     flip(-1),
		"empty":   cut(0),
		"cut":     cut(60),
		"touched": func() { os.Chtimes(log, time.Time{}, time.Unix(1_000_000, 0)) },
		"grown": func() {
			change(func(data []byte) []byte { return append(data, second.Bytes()[:24*30]...) })
		},
		"shorter": func() {
			change(func(data []byte) []byte { return data[:len(data)-24*10] })
		},
		"another tick at start": func() { in.StartTick = &tick },
	} {
		forge()
		change()
		none.StartTick = in.StartTick
		if got := info(in); !reflect.DeepEqual(got, info(none)) || len(got.Runs) < 2 || strings.HasPrefix(got.Runs[1].Reason.String(), made) {
			t.Errorf("%s: %+v", name, got)
		}
		in.StartTick = nil
		none.StartTick = nil
		// What is true takes its place.
		if n := in.found(); n == nil || !from.Match(n.data) || bytes.Contains(n.data, []byte("4000000001")) {
			t.Errorf("%s: nothing was noted", name)
		}
	}
	forge()
	if got := info(none); strings.HasPrefix(got.Runs[1].Reason.String(), made) {
		t.Errorf("used although there is to be no cache: %+v", got)
	}
	leastKept = 1_000_000
	if got := info(in); strings.HasPrefix(got.Runs[1].Reason.String(), made) {
		t.Errorf("used for a small log: %+v", got)
	}
}

// TestIndexNotKept has a cache that cannot be made: it is said, and all works.
func TestIndexNotKept(t *testing.T) {
	old := leastKept
	leastKept = 1
	defer func() { leastKept = old }()
	dir := t.TempDir()
	log, modules, err := classictest.WriteFiles(dir, classictest.Spec{Records: 1000})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(context.Background(), Inputs{Log: log, IndexCache: filepath.Join(modules, "cache")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Load(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	said := slices.ContainsFunc(s.Warnings(), func(w Warning) bool {
		return strings.Contains(w.Text.String(), "the index of the log could not be kept")
	})
	if s.IndexError() == nil || !said {
		t.Errorf("%v, warnings %v", s.IndexError(), s.Warnings())
	}
}

// BenchmarkOpenAgain opens and loads a log whose index is kept: the one that
// LOGPARSER_BENCH_LOG names, or else one of 4 million records.
func BenchmarkOpenAgain(b *testing.B) {
	in := Inputs{Log: os.Getenv("LOGPARSER_BENCH_LOG"), IndexCache: b.TempDir()}
	if in.Log == "" {
		var err error
		if in.Log, _, err = classictest.WriteFiles(b.TempDir(), classictest.Spec{Records: 4_000_000}); err != nil {
			b.Fatal(err)
		}
	}
	open := func() {
		s, err := Open(context.Background(), in, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		if err := s.Load(context.Background(), nil); err != nil {
			b.Fatal(err)
		}
		if err := s.IndexError(); err != nil {
			b.Fatal(err)
		}
	}
	open()
	for b.Loop() {
		open()
	}
}

// TestKeptTrace opens a trace again, which is then not decoded to be opened, and one that is
// another at the same place.
func TestKeptTrace(t *testing.T) {
	old := leastKept
	leastKept = 1
	defer func() { leastKept = old }()
	cache := t.TempDir()
	log := filepath.Join(t.TempDir(), "a.lptrace")
	write := func(seed uint64) {
		t.Helper()
		f, err := os.Create(log)
		if err != nil {
			t.Fatal(err)
		}
		w := tracetest.NewWriter(f)
		tracetest.Random(rand.New(rand.NewPCG(seed, 1))).Write(rand.New(rand.NewPCG(seed, 2)), w)
		if err := errors.Join(w.Close(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	read := func(cache string) (list []rows.Row, info string) {
		t.Helper()
		s, err := Open(context.Background(), Inputs{Log: log, IndexCache: cache, NoIndexCache: cache == "", NoRecordedPaths: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Load(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		list = make([]rows.Row, s.Rows().Len())
		if _, err := s.Rows().Read(list, 0); err != nil {
			t.Fatal(err)
		}
		return list, fmt.Sprint(s.Info())
	}
	for seed := range uint64(5) {
		write(seed)
		want, says := read("")
		for range 2 {
			got, said := read(cache)
			if !reflect.DeepEqual(got, want) || said != says {
				t.Fatalf("program %d: the kept log is another", seed)
			}
			notes, err := filepath.Glob(filepath.Join(cache, "*"+indexcache.NoteSuffix))
			if err != nil || len(notes) != int(seed)+1 {
				t.Fatalf("program %d: %d notes, %v", seed, len(notes), err)
			}
		}
	}
}
