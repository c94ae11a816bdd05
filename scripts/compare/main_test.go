package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestRank holds the ranks against tables of the sign test.
func TestRank(t *testing.T) {
	for n, want := range map[int]int{6: 0, 7: 0, 8: 0, 9: 1, 10: 1, 11: 1, 12: 2, 15: 3, 20: 5, 25: 7, 30: 9} {
		if got := rank(n); got != want {
			t.Errorf("%d values: %d, want %d", n, got, want)
		}
	}
}

// TestConfidence draws values whose median is known: the interval misses it in
// one of 20 cases at most.
func TestConfidence(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{6, 7, 8, 9, 15, 20} {
		missed := 0
		const rounds = 20000
		for range rounds {
			values := make([]float64, n)
			for i := range values {
				values[i] = rng.ExpFloat64() // its median is the logarithm of 2
			}
			if i := medianOf(values); i.low > 0.6931 || i.high < 0.6931 {
				missed++
			}
		}
		// Three standard deviations of the number of misses.
		if limit := rounds/20 + 93; missed > limit {
			t.Errorf("%d values: the interval missed the median %d times of %d", n, missed, rounds)
		}
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		wall, cpu interval
		tolerance float64
		want      string
	}{
		{interval{0.98, 1, 1.02}, interval{0.98, 1, 1.02}, 0, cannotTell},
		{interval{1.01, 1.02, 1.03}, interval{0.98, 1, 1.02}, 0, isSlower},
		{interval{0.9, 1, 1.1}, interval{1.06, 1.07, 1.08}, 5, isSlower},
		{interval{1.01, 1.02, 1.03}, interval{1.01, 1.02, 1.03}, 5, cannotTell},
		{interval{0.8, 0.85, 0.9}, interval{0.9, 0.95, 1}, 0, cannotTell},
		{interval{0.8, 0.85, 0.9}, interval{0.9, 0.95, 0.99}, 0, isFaster},
		{interval{0.8, 0.85, 0.9}, interval{1.1, 1.2, 1.3}, 0, isSlower},
	} {
		s := settings{tolerance: c.tolerance}
		if got := s.verdict(c.wall, c.cpu); got != c.want {
			t.Errorf("%v by the clock, %v by CPU, %g %%: %q, want %q", c.wall, c.cpu, c.tolerance, got, c.want)
		}
	}
}

// TestRun compares a program with itself and with one that is slower.
func TestRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
	dir := t.TempDir()
	program := func(name, script string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cache := filepath.Join(dir, "cache")
	quick := program("quick", "echo $1 >>"+dir+"/ran\nmkdir -p "+cache)
	fails := program("fails", "echo no such log >&2; exit 3")
	s := settings{old: quick, new: quick, cache: cache, pairs: 6, tolerance: 1e9, once: once}
	var out strings.Builder
	if slower, err := s.run(strings.NewReader("first\tone x\n\nsecond, kept\ttwo\n"), &out); err != nil || slower {
		t.Fatalf("%v, %v: %s", slower, err, out.String())
	}
	ran, _ := os.ReadFile(filepath.Join(dir, "ran"))
	if got := fmt.Sprint(strings.Count(string(ran), "one"), strings.Count(string(ran), "two")); got != "12 24" {
		t.Errorf("ran %s times, want 12 and, with those before, 24", got)
	}
	// How long programs take depends on what else the machine does, so these times are given.
	s = settings{old: "quick", new: "slow", pairs: 6, tolerance: 50, once: func(program string, _ []string) (usage, error) {
		if program == "slow" {
			return usage{wall: 50 * time.Millisecond, cpu: time.Millisecond}, nil
		}
		return usage{wall: 2 * time.Millisecond, cpu: time.Millisecond}, nil
	}}
	if slower, err := s.run(strings.NewReader("wait\t\n"), &out); err != nil || !slower || !strings.Contains(out.String(), isSlower) {
		t.Errorf("%v, %v: %s", slower, err, out.String())
	}
	s.old, s.new, s.once = quick, fails, once
	if _, err := s.run(strings.NewReader("wait\t\n"), &out); err == nil || !strings.Contains(err.Error(), "no such log") {
		t.Errorf("error %v", err)
	}
	if _, err := s.run(strings.NewReader("no tab\n"), &out); err == nil {
		t.Error("a line without a tab was taken")
	}
}
