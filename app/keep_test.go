package app

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"logparser/parser/classic/classictest"
	"logparser/rows"
)

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
		return len(entries)
	}
	in := Inputs{Log: log, IndexCache: filepath.Join(cache)}
	none := in
	none.NoIndexCache = true
	want := read(none)
	if files() != 0 {
		t.Fatal("an index was kept")
	}
	for range 2 {
		if got := read(in); !slices.Equal(got, want) {
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
	if got := read(in); !slices.Equal(got, want) || files() != 1 {
		t.Errorf("renamed: %d files", files())
	}
	if err := os.Chtimes(other, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := read(in); !slices.Equal(got, want) || files() != 2 {
		t.Errorf("touched: %d files", files())
	}
	if _, _, err := classictest.WriteFiles(dir, classictest.Spec{Records: 20_000, Seed: 2}); err != nil {
		t.Fatal(err)
	}
	in.Log, in.Modules = log, ""
	none.Log = log
	if got := read(in); !slices.Equal(got, read(none)) || slices.Equal(got, want) || files() != 3 {
		t.Errorf("another log: %d files", files())
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
	said := slices.ContainsFunc(s.Warnings(), func(p Phrase) bool { return strings.Contains(p.String(), "the index of the log could not be kept") })
	if s.IndexError() == nil || !said {
		t.Errorf("%v, warnings %v", s.IndexError(), s.Warnings())
	}
}
