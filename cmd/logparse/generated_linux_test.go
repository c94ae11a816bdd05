package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// generatedBuilds are the ways in which generated programs are compiled and recorded. The first ones are those of "make test"; all are
// those of a soak, as far as their compilers are there.
var generatedBuilds = []struct {
	name    string
	command []string
	// least is how many of 100 values must be known at least.
	least int
}{
	{"gcc -O0", []string{"g++", "-O0", "-minstrument-return=call"}, 95},
	{"gcc -O2", []string{"g++", "-O2", "-minstrument-return=call"}, 90},
	{"gcc -O2 -finstrument-functions", []string{"g++", "-O2", "-finstrument-functions"}, 60},
	{"clang -O0", []string{"clang++", "-O0"}, 50},
	{"clang -O2", []string{"clang++", "-O2"}, 40},
	{"clang -O2 -finstrument-functions", []string{"clang++", "-O2", "-finstrument-functions-after-inlining"}, 50},
	{"clang -O0 -finstrument-functions", []string{"clang++", "-O0", "-finstrument-functions-after-inlining"}, 90},
	{"clang 14 -O2", []string{"clang++-14", "-O2"}, 30},
	{"MinGW -O2", []string{"x86_64-w64-mingw32-g++", "-O2", "-minstrument-return=call"}, 90},
	{"arm64 clang -O2", []string{"arm64", "-O2", "-fxray-instrument", "-fxray-instruction-threshold=1"}, 50},
}

// soakBuilds are those that only a soak has.
func soakBuilds() (list [][]string) {
	for _, compiler := range []string{"g++-11", "g++-12", "g++-13", "g++-14"} {
		for _, level := range []string{"-O0", "-O1", "-O2", "-O3", "-Os"} {
			list = append(list, []string{compiler, level, "-minstrument-return=call"}, []string{compiler, level, "-finstrument-functions"})
		}
		list = append(list, []string{compiler, "-O2", "-gdwarf-4", "-minstrument-return=call"})
	}
	for _, version := range clangVersions {
		compiler := "clang++-" + version
		for _, level := range []string{"-O0", "-O1", "-O2", "-O3"} {
			list = append(list, []string{compiler, level}, []string{compiler, level, "-finstrument-functions-after-inlining"})
		}
		list = append(list, []string{compiler, "-O2", "-gdwarf-4"}, []string{compiler, "-stdlib=libc++", "-O0"}, []string{compiler, "-stdlib=libc++", "-O2", "-finstrument-functions-after-inlining"},
			[]string{compiler, "-O0", "--target=x86_64-w64-mingw32"}, []string{compiler, "-O2", "--target=x86_64-w64-mingw32"},
			[]string{compiler, "-O2", "--target=x86_64-w64-mingw32", "-finstrument-functions-after-inlining"})
	}
	mingw := "x86_64-w64-mingw32-g++"
	for _, level := range []string{"-O0", "-O2"} {
		list = append(list, []string{mingw, level, "-minstrument-return=call"}, []string{mingw, level, "-finstrument-functions"},
			[]string{"arm64", level, "-fxray-instrument", "-fxray-instruction-threshold=1"}, []string{"arm64", level, "-fpatchable-function-entry=8"})
	}
	return list
}

// recordGenerated builds a program and records it; it returns what it says of its calls, and the log.
func recordGenerated(t *testing.T, source string, command []string) (told []toldCall, log string) {
	t.Helper()
	headers, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	options := append(slices.Clone(command[1:]), "-I"+headers, "-w")
	if command[0] == "arm64" {
		a := needARM64(t)
		out, log := a.record(t, a.compile(t, source, options...), []string{"app::*"}, "LOGREC_INCLUDE=app::*")
		return toldCalls(t, out), log
	}
	compiler := findCompiler(command[0])
	if compiler == "" {
		t.Skip("there is no " + command[0])
	}
	command = append([]string{compiler}, options...)
	needHeaders(t, command...)
	if strings.Contains(strings.Join(command, " "), "mingw") {
		out, log := recordWine(t, compileMinGW(t, source, command...), "--values", "app::*", "./program.exe")
		return toldCalls(t, out), log
	}
	return recordTold(t, compileHooked(t, source, command), "--values", "app::*")
}

var (
	textMember = regexp.MustCompile(`= "[^"]*"`)
	ownClass   = regexp.MustCompile(`^app::(v1::)?S[0-9]+ \{`)
)

// asTold takes what may be shown of a value in two ways as what is told: of a text in a struct, or of a large struct that is referred to, its address, and of an object
// its class or not, because compilers need not write the pointer to its table of virtual methods for a copy of which nobody asks.
func asTold(told, shown *toldCall) {
	next := 0 // what is behind the last value without a name
	for _, w := range told.values {
		k := slices.IndexFunc(shown.values, func(v [2]string) bool { return v[0] == w[0] })
		if w[0] == "?" {
			if k = slices.IndexFunc(shown.values[next:], func(v [2]string) bool { return v[0] == "" }); k >= 0 {
				k += next
				next = k + 1
			}
		}
		if k < 0 || shown.values[k][1] == w[1] || !strings.Contains(w[1], "{") {
			continue
		}
		pattern := regexp.QuoteMeta(w[1])
		pattern = textMember.ReplaceAllStringFunc(pattern, func(text string) string { return "(" + text + "|= 0x[0-9a-f]+)" })
		if class := ownClass.FindString(w[1]); class != "" {
			class = regexp.QuoteMeta(class)
			pattern = "(" + class + "|" + regexp.QuoteMeta("{") + ")" + strings.TrimPrefix(pattern, class)
		}
		if v := &shown.values[k]; regexp.MustCompile("^(" + pattern + "|0x[0-9a-f]+)$").MatchString(v[1]) {
			v[1] = w[1]
		}
	}
}

// TestAsTold holds that no value is taken for what is told of another one.
func TestAsTold(t *testing.T) {
	for _, test := range []struct{ told, shown, want [][2]string }{
		{[][2]string{{"a", `{t = "x", n = 1}`}}, [][2]string{{"a", "{t = 0x10, n = 1}"}}, [][2]string{{"a", `{t = "x", n = 1}`}}},
		{[][2]string{{"a", "{n = 1}"}}, [][2]string{{"a", "{n = 2}"}}, [][2]string{{"a", "{n = 2}"}}},
		{[][2]string{{"?", "{n = 1}"}, {"?", "0x20"}}, [][2]string{{"", "0x10"}, {"", "0x20"}}, [][2]string{{"", "{n = 1}"}, {"", "0x20"}}},
		{[][2]string{{"?", "0x20"}, {"?", "{n = 1}"}}, [][2]string{{"", "0x20"}, {"", "?"}}, [][2]string{{"", "0x20"}, {"", "?"}}},
	} {
		shown := toldCall{values: slices.Clone(test.shown)}
		asTold(&toldCall{values: test.told}, &shown)
		if !slices.Equal(shown.values, test.want) {
			t.Errorf("%v: %v becomes %v, want %v", test.told, test.shown, shown.values, test.want)
		}
	}
}

// A tally counts the values of calls, and those that are known; unknown counts, by what may be the cause, parameters that are not.
type tally struct {
	known, all int
	unknown    map[string]int
}

func (y *tally) add(o tally) {
	y.known, y.all = y.known+o.known, y.all+o.all
	if y.unknown == nil {
		y.unknown = make(map[string]int)
	}
	for cause, n := range o.unknown {
		y.unknown[cause] += n
	}
}

// checkGenerated holds what is shown of the calls of a generated program against what it says: of functions that the compiler must not
// change, and of those that are free.
func checkGenerated(t *testing.T, seed uint64, n int, command []string) (kept, free tally) {
	t.Helper()
	posix := !strings.Contains(strings.Join(command, " "), "mingw")
	text, causes := generate(seed, n, posix)
	source := filepath.Join(t.TempDir(), "generated.cpp")
	if kept := os.Getenv("LOGPARSER_GENERATED_SOURCE"); kept != "" {
		source = kept
	}
	if err := os.WriteFile(source, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	told, log := recordGenerated(t, source, command)
	shown := enteredCalls(t, log, functionsOf(told))
	for i := range min(len(told), len(shown)) {
		asTold(&told[i], &shown[i])
	}
	isFree := func(c toldCall) bool { return strings.HasSuffix(causes[c.function+"\treturn"], ", free") }
	isKept := func(c toldCall) bool { return !isFree(c) }
	without := func(list []toldCall, not func(toldCall) bool) []toldCall {
		return slices.DeleteFunc(slices.Clone(list), not)
	}
	kept.compare(t, without(told, isFree), without(shown, isFree), causes)
	free.compare(t, without(told, isKept), without(shown, isKept), causes)
	return kept, free
}

func (y *tally) compare(t *testing.T, told, shown []toldCall, causes map[string]string) {
	t.Helper()
	cells, known, all := compareCalls(t, told, shown)
	*y = tally{known, all, make(map[string]int)}
	for function, cell := range cells {
		list, not := strings.CutPrefix(cell, "not ")
		if !not {
			continue
		}
		for name := range strings.SplitSeq(list, ", ") {
			cause := causes[function+"\t"+name]
			switch {
			case strings.HasPrefix(name, "argument "):
				cause = "unnamed"
			case cause == "":
				cause = "not listed: " + function + " " + name
			}
			y.unknown[cause]++
		}
	}
}

// TestGenerated records generated programs: none of the values that are shown is wrong, and of functions that the compiler must not change
// most are known.
func TestGenerated(t *testing.T) {
	if testing.Short() {
		t.Skip("programs and the recorder are built")
	}
	const some = 30
	for i, build := range generatedBuilds {
		t.Run(build.name, func(t *testing.T) {
			kept, free := checkGenerated(t, uint64(i+1), some, build.command)
			t.Logf("%d of %d values are known, of other functions %d of %d", kept.known, kept.all, free.known, free.all)
			if kept.known*100 < kept.all*build.least {
				t.Errorf("%d of %d values are known, want %d %%; not: %v", kept.known, kept.all, build.least, kept.unknown)
			}
		})
	}
}

// TestGeneratedSoak does so with all compilers that are there. LOGPARSER_GENERATED is how many functions there are of each build, LOGPARSER_SEED
// the number from which they are drawn.
func TestGeneratedSoak(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("LOGPARSER_GENERATED"))
	if err != nil || n <= 0 {
		t.Skip("LOGPARSER_GENERATED does not say how many functions there are")
	}
	seed, _ := strconv.ParseUint(os.Getenv("LOGPARSER_SEED"), 10, 32)
	for _, command := range soakBuilds() {
		t.Run(strings.Join(command, " "), func(t *testing.T) {
			var kept, free tally
			for done := 0; done < n; done += 200 {
				k, f := checkGenerated(t, seed<<32+uint64(done), min(n-done, 200), command)
				kept.add(k)
				free.add(f)
			}
			t.Logf("%d of %d values are known, of other functions %d of %d", kept.known, kept.all, free.known, free.all)
			for _, y := range []tally{kept, free} {
				for _, cause := range slices.SortedFunc(maps.Keys(y.unknown), func(a, b string) int { return y.unknown[b] - y.unknown[a] }) {
					t.Logf("  not known: %d %s", y.unknown[cause], cause)
				}
			}
		})
	}
}
