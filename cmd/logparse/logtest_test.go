package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// logtestDirs are the folders of recorded LogTest runs: those that are kept
// in testdata, and those that a build of all lanes has just made.
func logtestDirs(t *testing.T) []string {
	t.Helper()
	patterns := []string{"../../testdata/logtest/*/LogDetails.dat"}
	if built := os.Getenv("LOGPARSER_LOGTEST_DIR"); built != "" {
		patterns = append(patterns, filepath.Join(built, "*", "LogDetails.dat"))
	}
	var dirs []string
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			t.Errorf("no recorded run at %s", p)
		}
		for _, f := range found {
			dirs = append(dirs, filepath.Dir(f))
		}
	}
	return dirs
}

// A step is an enter or a leave of a thread.
type step struct{ event, function string }

// TestLogTest saves each recorded run of LogTest as csv and compares every
// row with the truth that the program wrote about itself: the function's
// name, in order, per thread, and balanced depth.
func TestLogTest(t *testing.T) {
	for _, dir := range logtestDirs(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			want := readTruth(t, filepath.Join(dir, "LogDetails.truth"))
			got := make(map[string][]step)
			stacks := make(map[string][]string)
			for i, r := range saveCSV(t, dir) {
				thread, event, function, depth := r["thread"], r["event"], plainName(r["function"]), r["depth"]
				got[thread] = append(got[thread], step{event, function})
				if event == "enter" {
					if depth != strconv.Itoa(len(stacks[thread])) {
						t.Fatalf("row %d: depth %s of %s, want %d", i, depth, function, len(stacks[thread]))
					}
					stacks[thread] = append(stacks[thread], function)
				} else {
					top := len(stacks[thread]) - 1
					if top < 0 || depth != strconv.Itoa(top) || stacks[thread][top] != function {
						t.Fatalf("row %d: leave of %s at depth %s does not match the open calls %v", i, function, depth, stacks[thread])
					}
					stacks[thread] = stacks[thread][:top]
				}
				if r["note"] != "" {
					t.Errorf("row %d: %s has the note %q", i, function, r["note"])
				}
				if s := r["symbols"]; s != "matched" && s != "embedded" {
					t.Errorf("row %d: the symbols of %s are %q", i, r["module"], s)
				}
				// Clang inlines this virtual function into its adjustor thunk,
				// which has no line information in a PDB.
				thunk := function == "shapes::Square::label"
				if !thunk && (r["source"] == "" || r["line"] == "") {
					t.Errorf("row %d: %s has no source line", i, function)
				}
			}
			for thread, stack := range stacks {
				if len(stack) > 0 {
					t.Errorf("thread %s: %v are not left", thread, stack)
				}
			}
			compareTruth(t, got, want)
		})
	}
}

func compareTruth(t *testing.T, got, want map[string][]step) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d threads, want %d", len(got), len(want))
	}
	rows, wrong := 0, 0
	for thread, steps := range want {
		if len(got[thread]) != len(steps) {
			t.Errorf("thread %s: %d rows, want %d", thread, len(got[thread]), len(steps))
		}
		for i, w := range steps {
			rows++
			if i >= len(got[thread]) || got[thread][i] != w {
				if wrong++; wrong < 10 && i < len(got[thread]) {
					t.Errorf("thread %s, step %d: got %v, want %v", thread, i, got[thread][i], w)
				}
			}
		}
	}
	if wrong > 0 || rows == 0 {
		t.Errorf("%d of %d rows are wrong", wrong, rows)
	}
	t.Logf("%d rows, %d wrong", rows, wrong)
}

// readTruth reads what LogTest says about itself: a line a step, thread,
// event and function between tabs.
func readTruth(t *testing.T, path string) map[string][]step {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	truth := make(map[string][]step)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := strings.TrimSuffix(lines.Text(), "\r")
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) != 3 {
			t.Fatalf("%s: %q is not a step", path, line)
		}
		truth[cells[0]] = append(truth[cells[0]], step{cells[1], cells[2]})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return truth
}

// saveCSV runs "logparse save" and reads the file back.
func saveCSV(t *testing.T, log string, flags ...string) []map[string]string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out.csv")
	args := append([]string{"save", log, "-o", path, "--no-recorded-paths"}, flags...)
	var errs strings.Builder
	if code := run(context.Background(), args, strings.NewReader(""), io.Discard, &errs); code != exitOK {
		t.Fatalf("logparse %s: exit %d, %s", strings.Join(args, " "), code, errs.String())
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	const header = "index,time,thread,event,depth,duration_us,function,module,source,line,address,symbols,note,time_utc"
	if got := strings.Join(records[0], ","); got != header {
		t.Fatalf("csv header\n got %s\nwant %s", got, header)
	}
	var list []map[string]string
	for i, r := range records[1:] {
		row := make(map[string]string)
		for k, name := range records[0] {
			row[name] = r[k]
		}
		if row["index"] != fmt.Sprint(i) {
			t.Fatalf("row %d has the index %s", i, row["index"])
		}
		list = append(list, row)
	}
	return list
}

// lambdas are the ways in which compilers name the call of a lambda.
var lambdas = regexp.MustCompile(`::(?:<lambda_?[0-9a-f]*>|\{lambda[^}]*\}(?:#\d+)?|\$_\d+)::operator\(\)`)

// sharedNames are the functions of LogTest that share a name, which are shown with their parameters: overloads, and a virtual
// function with its adjustor thunk, with their files where these differ. No others are.
var sharedNames = regexp.MustCompile(`^(?:(shapes::scale)\((?:int|double)\)|(shapes::Square::label)\(int\)(?: \(shapes\.(?:h|cpp)\))?)$`)

// plainName writes a name as the truth has it; the README of LogTest says
// why lambdas and blanks differ from compiler to compiler. The truth has no parameters.
func plainName(name string) string {
	name = sharedNames.ReplaceAllString(name, "$1$2")
	return strings.ReplaceAll(lambdas.ReplaceAllString(name, "::<lambda>"), ", ", ",")
}
