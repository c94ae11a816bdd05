// Compare runs two builds of a command in turns and says whether the new one
// needs more time than the old one, as far as the runs can tell.
//
//	compare [flags] -old PROGRAM -new PROGRAM < COMMANDS
//
// A line of the standard input is a name, a tab and the arguments of one
// command, with blanks between them. A name that ends in "kept" is run once
// before it is measured; before all others the folder -cache is emptied.
//
// Each pair runs both programs, the old one first in every other pair. Of the
// ratios of a command's pairs, new to old, the median is shown and an interval
// that holds the true median with a confidence of 95 percent at least, whatever
// the scatter is like (order statistics). Only where this whole interval lies
// above 1 and the tolerance is a command said to be slower; the exit status is
// then 1. Of many commands one or another is so by chance: measure it again.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// settings are what the flags say.
type settings struct {
	old, new  string
	cache     string
	pairs     int
	tolerance float64
	// once runs a command.
	once func(program string, args []string) (usage, error)
}

func main() {
	s := settings{once: once}
	flag.StringVar(&s.old, "old", "", "the program to compare with")
	flag.StringVar(&s.new, "new", "", "the program that is compared")
	flag.StringVar(&s.cache, "cache", "", "folder that is removed before each command but those of a name with \"kept\"")
	flag.IntVar(&s.pairs, "pairs", 7, "how many pairs of runs")
	flag.Float64Var(&s.tolerance, "tolerance", 0, "how much slower is not worth a word, in percent")
	flag.Parse()
	slower, err := s.run(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(2)
	}
	if slower {
		os.Exit(1)
	}
}

// run measures the commands that are read from in.
func (s *settings) run(in io.Reader, out io.Writer) (slower bool, err error) {
	if s.old == "" || s.new == "" || s.pairs < minPairs {
		return false, fmt.Errorf("-old, -new and at least %d -pairs are needed", minPairs)
	}
	fmt.Fprintf(out, "%-32s %24s %24s\n", "new to old", "by the clock", "by CPU")
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if lines.Text() == "" {
			continue
		}
		name, command, ok := strings.Cut(lines.Text(), "\t")
		if !ok {
			return slower, fmt.Errorf("%q has no tab behind its name", lines.Text())
		}
		wall, cpu, err := s.measure(name, strings.Fields(command))
		if err != nil {
			return slower, fmt.Errorf("%s: %w", name, err)
		}
		verdict := s.verdict(wall, cpu)
		slower = slower || verdict == isSlower
		fmt.Fprintf(out, "%-32s %24s %24s  %s\n", name, wall, cpu, verdict)
	}
	return slower, lines.Err()
}

// measure runs the pairs of one command.
func (s *settings) measure(name string, args []string) (wall, cpu interval, err error) {
	kept := strings.HasSuffix(name, "kept")
	var walls, cpus []float64
	for i := range s.pairs {
		var used [2]usage
		for turn := range 2 {
			which := (turn + i) % 2
			program := []string{s.old, s.new}[which]
			if s.cache != "" {
				if err := os.RemoveAll(s.cache); err != nil {
					return wall, cpu, err
				}
			}
			if kept {
				// The two may not understand each other's files.
				if _, err := s.once(program, args); err != nil {
					return wall, cpu, err
				}
			}
			if used[which], err = s.once(program, args); err != nil {
				return wall, cpu, err
			}
		}
		walls = append(walls, ratio(used[1].wall, used[0].wall))
		cpus = append(cpus, ratio(used[1].cpu, used[0].cpu))
	}
	return medianOf(walls), medianOf(cpus), nil
}

// ratio divides two times. What is too short to be measured is alike.
func ratio(a, b time.Duration) float64 {
	const shortest = time.Millisecond
	return float64(max(a, shortest)) / float64(max(b, shortest))
}

// usage is the time that one process took.
type usage struct{ wall, cpu time.Duration }

// once runs a command and throws its output away.
func once(program string, args []string) (usage, error) {
	cmd := exec.Command(program, args...)
	var said strings.Builder
	cmd.Stderr = &said
	start := time.Now()
	err := cmd.Run()
	u := usage{wall: time.Since(start)}
	if err != nil {
		return u, errors.Join(err, errors.New(strings.TrimSpace(said.String())))
	}
	u.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return u, nil
}

// confidence is that of an interval, and minPairs how many pairs it needs.
const (
	confidence = 0.95
	minPairs   = 6
)

// An interval is a median with the bounds that hold the true one.
type interval struct{ low, median, high float64 }

func (i interval) String() string {
	return fmt.Sprintf("%.3f (%.3f to %.3f)", i.median, i.low, i.high)
}

// medianOf returns the median of values and its interval.
func medianOf(values []float64) interval {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	k := rank(n)
	return interval{low: v[k], median: (v[(n-1)/2] + v[n/2]) / 2, high: v[n-1-k]}
}

// rank returns how many of n sorted values may be left out at either end so
// that the rest still holds the median with the confidence. Each value is above
// the median with a probability of one half, so that the number of those above
// follows the binomial distribution.
func rank(n int) int {
	outside, k := 0.0, 0
	for term := math.Pow(0.5, float64(n)); k < n/2; k++ {
		if outside += 2 * term; 1-outside < confidence {
			break
		}
		term *= float64(n-k) / float64(k+1)
	}
	return max(k-1, 0)
}

// What can be said of a command.
const (
	isSlower   = "slower"
	isFaster   = "faster"
	cannotTell = ""
)

// verdict says what the intervals are worth. Time by the clock counts where
// there is something to see in it; other programs disturb it more than CPU.
func (s *settings) verdict(wall, cpu interval) string {
	limit := 1 + s.tolerance/100
	switch {
	case wall.low > limit || cpu.low > limit:
		return isSlower
	case wall.high < 1 && cpu.high < limit || cpu.high < 1 && wall.high < limit:
		return isFaster
	}
	return cannotTell
}
