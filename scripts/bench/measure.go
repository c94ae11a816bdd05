package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"
)

// A program is a command line that is measured.
type program struct {
	name string
	argv []string
	// stdin is the file that it reads, "" for none.
	stdin string
	// before, if not nil, runs before each run.
	before func() error
}

// A usage is what one process needed.
type usage struct {
	Wall, User, System float64 // seconds
	Peak               int64   // bytes, 0 if unknown
}

// A row holds the medians of a program.
type row struct {
	name          string
	wall, cpu, mb float64
}

// children are what bench calls itself with.
var children = map[string]func(args []string) error{
	"measure": measure, "lookups": lookups, "inflate": inflate, "firstname": firstname,
}

// measure runs a command with its own standard input and output and writes its
// usage to the file that is the first argument.
func measure(args []string) error {
	if len(args) < 2 {
		return errors.New("usage: measure FILE COMMAND [ARGUMENT]")
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	start := time.Now()
	err := cmd.Run()
	u := usage{Wall: time.Since(start).Seconds()}
	if cmd.ProcessState == nil {
		return err
	}
	u.User, u.System = cmd.ProcessState.UserTime().Seconds(), cmd.ProcessState.SystemTime().Seconds()
	u.Peak = peak(cmd.ProcessState)
	data, jsonErr := json.Marshal(u)
	if jsonErr != nil {
		return jsonErr
	}
	return errors.Join(err, os.WriteFile(args[0], data, 0o644))
}

// once runs a program and returns what it needed.
func once(p program) (usage, error) {
	var u usage
	if p.before != nil {
		if err := p.before(); err != nil {
			return u, err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return u, err
	}
	result, err := os.CreateTemp("", "bench")
	if err != nil {
		return u, err
	}
	result.Close()
	defer os.Remove(result.Name())
	cmd := exec.Command(self, append([]string{"measure", result.Name()}, p.argv...)...)
	if p.stdin != "" {
		f, err := os.Open(p.stdin)
		if err != nil {
			return u, err
		}
		defer f.Close()
		cmd.Stdin = f
	}
	// Standard output is the null device: what is measured is the program.
	if err := cmd.Run(); err != nil {
		return u, fmt.Errorf("%s: %w", p.argv[0], err)
	}
	data, err := os.ReadFile(result.Name())
	if err != nil {
		return u, err
	}
	return u, json.Unmarshal(data, &u)
}

// measureAll runs the programs in turns and returns the median of each.
func measureAll(programs []program, runs int) ([]row, error) {
	all := make([][]usage, len(programs))
	for range runs {
		for i, p := range programs {
			u, err := once(p)
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], u)
		}
	}
	rows := make([]row, len(programs))
	for i, p := range programs {
		rows[i] = row{name: p.name,
			wall: median(all[i], func(u usage) float64 { return u.Wall }),
			cpu:  median(all[i], func(u usage) float64 { return u.User + u.System }),
			mb:   median(all[i], func(u usage) float64 { return float64(u.Peak) / 1e6 })}
	}
	return rows, nil
}

func median(all []usage, of func(usage) float64) float64 {
	values := make([]float64, len(all))
	for i, u := range all {
		values[i] = of(u)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// compare measures and prints; the ratios are to the first program.
func (b *bench) compare(programs []program, n int) ([]row, error) {
	rows, err := measureAll(programs, b.runs)
	if err != nil {
		return nil, err
	}
	fmt.Printf("  %-34s %9s %9s %9s %12s   %s\n", "", "wall s", "CPU s", "peak MB", "look-ups/s", "as many times ours: wall, CPU, memory")
	for i, r := range rows {
		persecond := ""
		if n > 1 {
			persecond = strconv.FormatFloat(float64(n)/r.wall, 'f', 0, 64)
		}
		ratio := ""
		if i > 0 {
			ratio = fmt.Sprintf("%.1f, %.1f, %.1f", r.wall/rows[0].wall, r.cpu/rows[0].cpu, r.mb/rows[0].mb)
		}
		fmt.Printf("  %-34s %9.3f %9.3f %9.1f %12s   %s\n", r.name, r.wall, r.cpu, r.mb, persecond, ratio)
	}
	return rows, nil
}

// marginal is how many look-ups a second of CPU a program makes once it has
// given its first answer.
func marginal(all, first row, n int) float64 {
	d := all.cpu - first.cpu
	if d <= 0 {
		d = all.cpu
	}
	return float64(n-1) / d
}
