package main

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logparser/internal/testlog/classictest"
)

// TestShowFirst prints a large classic log whose first rows seem to be those of its only run, and then turn out to be
// of the first of two.
func TestShowFirst(t *testing.T) {
	log := filepath.Join(t.TempDir(), "LogDetails.dat")
	f, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	for _, s := range []classictest.Spec{
		{Records: 2_800_000, StartTick: 1_000_000},
		{Records: 100, StartTick: 900_000, Seed: 2},
		{Records: 500, StartTick: 1_200_000, Seed: 3},
	} {
		err = errors.Join(err, classictest.Generate(w, s))
	}
	if err := errors.Join(err, w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	out, errs, code := command(t, "show", log, "--index-cache", cache)
	first, rest, found := strings.Cut(out, contradicted)
	if code != 0 || !found || !strings.Contains(errs, "the file holds 2 runs") {
		t.Fatalf("status %d, the first rows are contradicted: %t\n%s", code, found, errs)
	}
	if !strings.Contains(first, "\nRows:     \u2026\n") || !strings.Contains(first, " \u2026  ") || strings.Count(first, "\n") < 1000 {
		t.Errorf("the first rows are\n%.1000s", first)
	}
	if want, _, _ := command(t, "show", log, "--index-cache", cache); rest != want || strings.Count(want, "\n") < 600 {
		t.Errorf("all rows are\n%.1000s\nwant\n%.1000s", rest, want)
	}
	if out, _, _ := command(t, "show", log, "--no-index-cache", "--json"); strings.Count(out, "\n") != 600 {
		t.Errorf("%d objects for programs", strings.Count(out, "\n"))
	}
}
