package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestCallSitesOfInlined records where calls are made from, of functions that are inlined: what is shown is the line of a call
// of that name, or that it is not known.
func TestCallSitesOfInlined(t *testing.T) {
	if testing.Short() {
		t.Skip("programs and the recorder are built")
	}
	source, err := os.ReadFile("testdata/sites.cpp")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(source), "\n")
	for _, level := range []string{"-O0", "-O2"} {
		program := compileHooked(t, "testdata/sites.cpp", []string{"g++", level, "-finstrument-functions", "-pthread"})
		if out, err := recordProcess(t, program, "--sites", "-o", "log", "--head", "0", "./program").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		code, text, errs := logparse("show", filepath.Join(filepath.Dir(program), "log"), "--columns", "function,depth,site,site_line", "--where", "event:enter", "--format", "csv")
		if code != exitOK {
			t.Fatal(errs)
		}
		table, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		known := 0
		for _, row := range table[1:] {
			name := row[0][strings.LastIndex(row[0], ":")+1:]
			if row[1] == "0" || strings.HasPrefix(name, "~") || row[2] == "?" {
				continue
			}
			known++
			if n, _ := strconv.Atoi(row[3]); n < 1 || n > len(lines) || !strings.Contains(lines[n-1], name+"(") {
				t.Errorf("%s: %s from line %s of %s", level, row[0], row[3], row[2])
			}
		}
		if want := map[string]int{"-O0": 5, "-O2": 2}[level]; known < want {
			t.Errorf("%s: %d call sites are known, want %d: %s", level, known, want, text)
		}
	}
}
