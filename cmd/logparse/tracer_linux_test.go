package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTracerSample records the program of recorder/samples/tracer and prints it as a tracer does. The text is the expected one, but for what
// a build does not know.
func TestTracerSample(t *testing.T) {
	if testing.Short() {
		t.Skip("programs and the recorder are built")
	}
	const sample = "../../recorder/samples/tracer/"
	for _, build := range []struct {
		options string
		unknown int // at most so many places have ? or nothing that the expected text has
	}{{"-O0", 0}, {"-O2", 2}, {"-m32 -O0", 0}, {"-m32 -O2", 2}} {
		t.Run(build.options, func(t *testing.T) {
			if strings.Contains(build.options, "-m32") && !compiles32("g++") {
				t.Skip("g++ does not compile for 32 bits here")
			}
			program := compileHooked(t, sample+"traced.cpp", append([]string{"g++", "-finstrument-functions", "-pthread"}, strings.Fields(build.options)...))
			if out, err := recordProcess(t, program, "--sites", "--values", "*", "-o", "log", "--head", "0", "./program").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			log := filepath.Join(filepath.Dir(program), "log")
			code, text, errs := logparse("show", log, "--style", "tracer")
			if code != exitOK {
				t.Fatal(errs)
			}
			if _, same, _ := logparse("show", log, "--format", "tracer"); same != text {
				t.Errorf("--format tracer prints %s", same)
			}
			level := build.options[strings.LastIndex(build.options, "-"):]
			got, want := strings.Split(traced(text), "\n"), strings.Split(readFile(t, sample+"expected"+level+".txt"), "\n")
			if len(got) != len(want) {
				t.Fatalf("%d lines, want %d: %s", len(got), len(want), text)
			}
			unknown := 0
			for i := range want {
				n, ok := compareTraced(got[i], want[i])
				if unknown += n; !ok {
					t.Errorf("line %d: %s, want %s", i+1, got[i], want[i])
				}
			}
			if unknown > build.unknown {
				t.Errorf("%d places are not known: %s", unknown, text)
			}
		})
	}
	if code, _, _ := logparse("show", sampleDir, "--style", "other"); code != exitUsage {
		t.Errorf("another style: exit status %d", code)
	}
}

var (
	tracedHead = regexp.MustCompile(`(?m)^(T0x[0-9a-f]+): (0x[0-9a-f]+)`)
	tracedHex  = regexp.MustCompile(`0x[0-9a-f]+`)
	tracedFrom = regexp.MustCompile(`\[from [^\]]*\]`)
	tracedCell = regexp.MustCompile(`= [^,)]+|\[from [^\]]*\]|=> .*$|=>$`)
)

// traced puts numbers in the place of threads and addresses, a letter for pointers, and a word for where the C library calls from.
func traced(text string) string {
	threads, addresses := make(map[string]string), make(map[string]string)
	number := func(of map[string]string, letter, s string) string {
		if of[s] == "" {
			of[s] = fmt.Sprint(letter, len(of)+1)
		}
		return of[s]
	}
	text = tracedHead.ReplaceAllStringFunc(text, func(s string) string {
		thread, address, _ := strings.Cut(s, ": ")
		return number(threads, "T", thread) + ": " + number(addresses, "A", address)
	})
	text = tracedFrom.ReplaceAllStringFunc(text, func(s string) string {
		if strings.HasPrefix(s, "[from traced.cpp:") || s == "[from ?]" {
			return s
		}
		return "[from outside]"
	})
	return tracedHex.ReplaceAllString(text, "P")
}

// compareTraced reports whether two lines say the same but for what is not known in one of them, and how often the first one does not know what
// the other does.
func compareTraced(got, want string) (unknown int, ok bool) {
	if tracedCell.ReplaceAllString(got, "") != tracedCell.ReplaceAllString(want, "") {
		return 0, false
	}
	a, b := tracedCell.FindAllString(got, -1), tracedCell.FindAllString(want, -1)
	if len(a) != len(b) {
		return 0, false
	}
	nothing := func(s string) bool { return strings.HasSuffix(s, "?") || s == "[from ?]" || s == "=>" }
	for i := range a {
		switch {
		case a[i] == b[i], nothing(b[i]):
		case nothing(a[i]):
			unknown++
		default:
			return unknown, false
		}
	}
	return unknown, true
}
