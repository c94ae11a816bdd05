package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"logparser/app"
	"logparser/rows"
)

// The table of testdata/prototypes.txt says, for functions of testdata/prototypes.cpp and each way of building
// them, which values LogParser knows: "all", which is so where it says nothing, or which it does not.

// prototypeBuilds are the columns of the table: names and commands; and that of which the table says what it does not say
// of the column itself.
var prototypeBuilds = []struct {
	name    string
	command []string
	as      string
}{
	{"gcc -O0", []string{"g++", "-O0", "-minstrument-return=call"}, ""},
	{"gcc -O2", []string{"g++", "-O2", "-minstrument-return=call"}, ""},
	{"gcc -m32 -O0", []string{"g++", "-m32", "-fno-pie", "-no-pie", "-O0", "-minstrument-return=call"}, ""},
	{"gcc -m32 -O2", []string{"g++", "-m32", "-fno-pie", "-no-pie", "-O2", "-minstrument-return=call"}, ""},
	{"gcc -m32 -O0 -finstrument-functions", []string{"g++", "-m32", "-O0", "-finstrument-functions"}, ""},
	{"gcc -m32 -O2 -finstrument-functions", []string{"g++", "-m32", "-fno-pie", "-no-pie", "-O2", "-finstrument-functions"}, ""},
	{"clang -O0", []string{"clang++", "-O0"}, ""},
	{"clang -O2", []string{"clang++", "-O2"}, ""},
	{"gcc -O0 -finstrument-functions", []string{"g++", "-O0", "-finstrument-functions"}, ""},
	{"gcc -O2 -finstrument-functions", []string{"g++", "-O2", "-finstrument-functions"}, ""},
	{"clang -O0 -finstrument-functions", []string{"clang++", "-O0", "-finstrument-functions-after-inlining"}, ""},
	{"clang -O2 -finstrument-functions", []string{"clang++", "-O2", "-finstrument-functions-after-inlining"}, ""},
	{"libc++ -O0", []string{"clang++", "-stdlib=libc++", "-O0"}, "clang -O0"},
	{"libc++ -O2 -finstrument-functions", []string{"clang++", "-stdlib=libc++", "-O2", "-finstrument-functions-after-inlining"}, "clang -O2 -finstrument-functions"},
}

// hasLibcxx reports whether a compiler finds libc++.
func hasLibcxx(compiler string) bool {
	command := exec.Command(compiler, "-stdlib=libc++", "-x", "c++", "-fsyntax-only", "-")
	command.Stdin = strings.NewReader("#include <string>\n")
	return command.Run() == nil
}

// A toldCall is what a function said of its call: names and texts of values, in order.
type toldCall struct {
	function string
	values   [][2]string
}

// toldCalls takes apart what the program wrote.
func toldCalls(t *testing.T, out string) (list []toldCall) {
	t.Helper()
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if function, ok := strings.CutPrefix(line, "= "); ok {
			list = append(list, toldCall{function: function})
			continue
		}
		name, text, ok := strings.Cut(line, "\t")
		if !ok || len(list) == 0 {
			t.Fatalf("the program wrote %q", line)
		}
		last := &list[len(list)-1]
		last.values = append(last.values, [2]string{name, text})
	}
	return list
}

// recordTold records ./program with values; it returns what the program says of its calls, and the log.
func recordTold(t *testing.T, program string, values ...string) (told []toldCall, log string) {
	t.Helper()
	out, err := recordProcess(t, program, slices.Concat(values, []string{"-o", "log", "--head", "0", "./program"})...).Output()
	if err != nil {
		t.Fatalf("%v: %q", err, out)
	}
	return toldCalls(t, string(out)), filepath.Join(filepath.Dir(program), "log")
}

// functionsOf returns the functions of calls.
func functionsOf(calls []toldCall) map[string]bool {
	names := make(map[string]bool)
	for _, call := range calls {
		names[call.function] = true
	}
	return names
}

// shownCalls reads the calls of a log that are told of, with their values.
func shownCalls(t *testing.T, log string, told map[string]bool) []toldCall {
	t.Helper()
	list := enteredCalls(t, log, told)
	// clang's hooks are also called by what adjusts the object of a virtual method and goes on to it.
	kept := list[:0]
	for i, call := range list {
		if i+1 == len(list) || len(call.values) > 0 || list[i+1].function != call.function {
			kept = append(kept, call)
		}
	}
	return kept
}

// enteredCalls is shownCalls with all that hooks were called by.
func enteredCalls(t *testing.T, log string, told map[string]bool) (list []toldCall) {
	t.Helper()
	s, err := app.Open(context.Background(), app.Inputs{Log: log, Symbols: []string{filepath.Dir(log)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Load(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	src := rows.With(s.Rows(), rows.Values)
	for i := range src.Len() {
		r := src.Row(i)
		function := plainFunction(r.Function)
		if function == "p90" { // extern "C"
			function = "app::p90"
		}
		if r.Event != rows.Enter || !told[function] {
			continue
		}
		call := toldCall{function: function}
		if v := r.CallValues(); v != nil {
			for _, value := range slices.Concat(v.Arguments, v.Results) {
				text := value.Text
				if value.Kind == rows.UnknownValue {
					text = "?"
				}
				call.values = append(call.values, [2]string{value.Name, text})
			}
		}
		list = append(list, call)
	}
	return list
}

// plainFunction is a function's name without arguments of templates, and without parameters or the source file, which names have where
// several functions have one name, such as a method and what adjusts its object.
func plainFunction(name string) string {
	if strings.HasSuffix(name, ")") && !strings.HasSuffix(name, "operator()") {
		depth := 0
		for i := len(name) - 1; i > 0; i-- {
			switch name[i] {
			case ')':
				depth++
			case '(':
				depth--
			}
			if depth == 0 {
				name = strings.TrimSuffix(name[:i], " ")
				break
			}
		}
	}
	var b strings.Builder
	depth := 0
	for _, c := range name {
		switch {
		case c == '<':
			depth++
		case c == '>':
			depth--
		case depth == 0:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// compareCalls returns what is known of each function's values, and reports those that are wrong.
func compareCalls(t *testing.T, told, shown []toldCall) (cells map[string]string, known, all int) {
	t.Helper()
	cells = make(map[string]string)
	unknown := make(map[string][]string)
	values := make(map[string]int)
	for i, want := range told {
		if i >= len(shown) || shown[i].function != want.function {
			t.Fatalf("call %d is one of %s, and shown as %v", i, want.function, shown[min(i, len(shown)-1)])
		}
		got := shown[i].values
		for k, w := range want.values {
			name, text := w[0], w[1]
			if text == "" {
				continue
			}
			all++
			values[want.function]++
			is := "?"
			if j := slices.IndexFunc(got, func(v [2]string) bool { return v[0] == name || v[0] == "" && name == "?" }); j >= 0 {
				is = got[j][1]
				got = slices.Delete(slices.Clone(got), j, j+1)
			} else if all := shown[i].values; k < len(all) && all[k][0] == "" && len(all) == len(want.values) {
				// Which of the parameters without a name the source has none for is not always known.
				is = all[k][1]
				got = slices.DeleteFunc(slices.Clone(got), func(v [2]string) bool { return v == all[k] })
			}
			if strings.Contains(is, " = ?") {
				is = "?" // a part of it is not known
			}
			either, may := strings.CutPrefix(text, "?or ")
			switch {
			case is == "?" && (text == "?" || may):
				known++ // there is nothing to know
			case is == "?":
				if name == "?" {
					name = fmt.Sprintf("argument %d", k+1)
				}
				if !slices.Contains(unknown[want.function], name) {
					unknown[want.function] = append(unknown[want.function], name)
				}
			case is == text, may && is == either, text == "?any":
				known++
			default:
				t.Errorf("%s: %s is shown as %s, and was %s", want.function, name, is, text)
			}
		}
		for _, v := range got {
			t.Errorf("%s: shown is also %s = %s", want.function, v[0], v[1])
		}
	}
	for _, call := range told {
		switch list := unknown[call.function]; {
		case len(list) == 0:
			cells[call.function] = "all"
		default:
			cells[call.function] = "not " + strings.Join(list, ", ")
		}
	}
	return cells, known, all
}

// expectedKnown reads the table: by build and function which values are known.
func expectedKnown(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/prototypes.txt")
	if err != nil {
		t.Fatal(err)
	}
	expected := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) == 3 && !strings.HasPrefix(line, "#") {
			expected[cells[0]+"\t"+cells[1]] = cells[2]
		}
	}
	return expected
}

// prototypeValues are what is taken of the program.
var prototypeValues = []string{"--values", "app::*", "--values", "p90", "--values", "app::o*@*,*@leave", "--values", "app::Counter::*@*,this->total_@leave"}

// checkPrototypes holds what is shown of a program's calls, which was built in a way, against what it says itself:
// nothing is wrong, and what is not known is what the table says of that way, or of as. Of a compiler of a version that the table
// was not made with, the table says nothing.
func checkPrototypes(t *testing.T, compiler, build, as, out, log string, nearlyAll bool) {
	t.Helper()
	expected := expectedKnown(t)
	told := toldCalls(t, out)
	names := functionsOf(told)
	cells, known, all := compareCalls(t, told, shownCalls(t, log, names))
	t.Logf("%d of %d values of %d functions are known", known, all, len(names))
	if !inTable(compiler) {
		return
	}
	if nearlyAll && known*100 < all*98 {
		t.Errorf("%d of %d values are known, which is less than 98 %%", known, all)
	}
	seen := make(map[string]bool)
	for _, call := range told {
		if seen[call.function] {
			continue
		}
		seen[call.function] = true
		want, ok := expected[build+"\t"+call.function]
		if !ok {
			want = cmp.Or(expected[as+"\t"+call.function], expected[build+"\t*"], expected[as+"\t*"], "all")
		}
		if got := cells[call.function]; got != want {
			t.Errorf("%s\t%s\t%s (in the table: %s)", build, call.function, got, want)
		}
	}
}

// TestPrototypes does so with each compiler of Linux that is there.
func TestPrototypes(t *testing.T) {
	if testing.Short() {
		t.Skip("programs and the recorder are built")
	}
	for _, build := range prototypeBuilds {
		t.Run(build.name, func(t *testing.T) {
			compiler := findCompiler(build.command[0])
			if compiler == "" {
				t.Skip("there is no " + build.command[0])
			}
			if slices.Contains(build.command, "-m32") && !compiles32(compiler) {
				t.Skip("there is no " + compiler + " for 32 bits")
			}
			if slices.Contains(build.command, "-stdlib=libc++") && !hasLibcxx(compiler) {
				t.Skip("there is no libc++")
			}
			program := compileHooked(t, "testdata/prototypes.cpp", append([]string{compiler}, build.command[1:]...))
			out, err := recordProcess(t, program, slices.Concat(prototypeValues, []string{"-o", "log", "--head", "0", "./program"})...).Output()
			if err != nil {
				t.Fatalf("%v: %q", err, out)
			}
			checkPrototypes(t, compiler, build.name, build.as, string(out), filepath.Join(filepath.Dir(program), "log"), slices.Contains(build.command, "-minstrument-return=call") && !slices.Contains(build.command, "-m32"))
			if !slices.Contains(build.command, "-m32") {
				checkSignatures(t, program, slices.Contains(build.command, "-stdlib=libc++"))
			}
		})
	}
}

// compiles32 reports whether a compiler makes programs of 32 bits.
func compiles32(compiler string) bool {
	cmd := exec.Command(compiler, "-m32", "-x", "c++", "-", "-o", os.DevNull)
	cmd.Stdin = strings.NewReader("#include <string>\nint main() {}\n")
	return cmd.Run() == nil
}

// TestStringLayouts does the same for texts of the C++ standard library in layouts that the library of this
// system does not have.
func TestStringLayouts(t *testing.T) {
	if testing.Short() {
		t.Skip("programs and the recorder are built")
	}
	t.Run("copy on write", func(t *testing.T) {
		checkStrings(t, []string{"g++", "-O1", "-minstrument-return=call", "-D_GLIBCXX_USE_CXX11_ABI=0"})
	})
	t.Run("libc++ alternate", func(t *testing.T) {
		compiler := findCompiler("clang++")
		if compiler == "" || !hasLibcxx(compiler) {
			t.Skip("there is no clang++ with libc++")
		}
		// The library's own settings, but for the layout and the namespace that goes with it.
		command := exec.Command(compiler, "-stdlib=libc++", "-x", "c++", "-E", "-dI", "-")
		command.Stdin = strings.NewReader("#include <__config>\n")
		out, err := command.Output()
		if err != nil {
			t.Fatal(err)
		}
		var site string
		for line := range strings.Lines(string(out)) {
			if words := strings.Split(line, `"`); len(words) > 1 && strings.HasSuffix(words[1], "/__config_site") {
				site = words[1]
			}
		}
		text, err := os.ReadFile(site)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		own := strings.ReplaceAll(string(text), "_LIBCPP_ABI_NAMESPACE __1", "_LIBCPP_ABI_NAMESPACE __2") + "\n#define _LIBCPP_ABI_ALTERNATE_STRING_LAYOUT\n"
		if err := os.WriteFile(filepath.Join(dir, "__config_site"), []byte(own), 0o666); err != nil {
			t.Fatal(err)
		}
		checkStrings(t, []string{compiler, "-O1", "-stdlib=libc++", "-DINSTANTIATED", "-I" + dir, "-finstrument-functions-after-inlining"})
	})
}

// TestAliases holds values whose types have names of their own against what testdata/aliases.cpp says.
func TestAliases(t *testing.T) {
	if testing.Short() {
		t.Skip("programs and the recorder are built")
	}
	for _, command := range [][]string{
		{"g++", "-O2", "-minstrument-return=call"}, {"clang++", "-O0", "-gtemplate-alias"},
		{"clang++", "-O0", "-stdlib=libc++", "-finstrument-functions-after-inlining"},
	} {
		t.Run(strings.Join(command, " "), func(t *testing.T) {
			compiler := findCompiler(command[0])
			if compiler == "" {
				t.Skip("there is no " + command[0])
			}
			command := append([]string{compiler}, command[1:]...)
			needHeaders(t, command...)
			program := compileHooked(t, "testdata/aliases.cpp", command)
			told, log := recordTold(t, program, "--values", "app::*")
			cells, known, all := compareCalls(t, told, shownCalls(t, log, functionsOf(told)))
			t.Logf("%d of %d values are known", known, all)
			for function, cell := range cells {
				if cell != "all" && cell != "not return" {
					t.Errorf("of %s: %s", function, cell)
				}
			}
		})
	}
}

// checkStrings records testdata/strings.cpp and holds all that is shown against what it says.
func checkStrings(t *testing.T, command []string) {
	t.Helper()
	program := compileHooked(t, "testdata/strings.cpp", command)
	told, log := recordTold(t, program, "--values", "app::*", "--values", "app::grown@*,*@leave")
	names := functionsOf(told)
	_, known, all := compareCalls(t, told, shownCalls(t, log, names))
	t.Logf("%d of %d values of %d functions are known", known, all, len(names))
	if known*10 < all*9 {
		t.Errorf("%d of %d values are known", known, all)
	}
}

// TestClones holds what is shown of functions that gcc made of others against what their callers say: nothing is wrong. It is
// not said what they return, because that may be left out as well.
func TestClones(t *testing.T) {
	if testing.Short() {
		t.Skip("programs and the recorder are built")
	}
	for _, build := range []struct {
		options string
		least   int // how many values are known
	}{
		{"-O2", 60}, {"-O3", 55}, {"-O2 -gdwarf-4", 60}, {"-O2 -fcf-protection", 60}, {"-O2 -finstrument-functions", 90}, {"-O2 -fno-pie -no-pie", 60},
		// Without these it is not known of which state of a variable a place is.
		{"-O2 -gno-statement-frontiers", 0}, {"-O2 -gno-variable-location-views", 0}, {"-O2 -gno-record-gcc-switches", 0}, {"-O2 -fno-var-tracking-assignments", 0},
	} {
		t.Run(build.options, func(t *testing.T) {
			if findCompiler("g++") == "" {
				t.Skip("there is no g++")
			}
			program := compileHooked(t, "testdata/clones.cpp", append([]string{"g++", "-minstrument-return=call"}, strings.Fields(build.options)...))
			told, log := recordTold(t, program, "--values", "app::*")
			shown := shownCalls(t, log, functionsOf(told))
			for i := range shown {
				shown[i].values = slices.DeleteFunc(shown[i].values, func(v [2]string) bool { return v[0] == rows.Result })
			}
			cells, known, all := compareCalls(t, told, shown)
			t.Logf("%d of %d values of %d calls are known: %v", known, all, len(told), cells)
			if known < build.least || build.least == 0 && known > 0 {
				t.Errorf("%d of %d values are known, want %d", known, all, build.least)
			}
		})
	}
}

// TestOutsOfCalls reads what arguments lead to when calls return that lie within each other, that end by exceptions, and whose
// memory is gone by then.
func TestOutsOfCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("programs and the recorder are built")
	}
	for _, command := range [][]string{
		{"g++", "-O0", "-finstrument-functions"}, {"g++", "-O2", "-finstrument-functions"}, {"g++", "-O2", "-minstrument-return=call"},
		{"clang++", "-O0", "-finstrument-functions-after-inlining"}, {"clang++", "-O2", "-finstrument-functions-after-inlining"},
	} {
		t.Run(strings.Join(command, " "), func(t *testing.T) {
			compiler := findCompiler(command[0])
			if compiler == "" {
				t.Skip("there is no " + command[0])
			}
			program := compileHooked(t, "testdata/outs.cpp", append([]string{compiler}, command[1:]...))
			told, log := recordTold(t, program, "--values", "app::*@*,*@leave")
			cells, known, all := compareCalls(t, told, shownCalls(t, log, functionsOf(told)))
			t.Logf("%d of %d values of %d calls are known", known, all, len(told))
			for function, cell := range cells {
				if cell != "all" {
					t.Errorf("of %s: %s", function, cell)
				}
			}
		})
	}
}

// TestX86 records a program for 32 bits with values: it does what it does without the recorder, and its values are right.
func TestX86(t *testing.T) {
	if testing.Short() {
		t.Skip("programs and the recorder are built")
	}
	if findCompiler("gcc") == "" || !compiles32("g++") {
		t.Skip("there is no gcc for 32 bits")
	}
	for _, optimized := range []string{"-O0", "-O2"} {
		t.Run(optimized, func(t *testing.T) {
			program := compileHooked(t, "testdata/x86.c", []string{"gcc", "-m32", "-msse2", "-fno-pie", "-no-pie", optimized, "-minstrument-return=call"})
			plain := exec.Command(program)
			want, err := plain.Output()
			if plain.ProcessState.ExitCode() != 7 {
				t.Fatal(err)
			}
			record := recordProcess(t, program, "--values", "*", "-o", "log", "--head", "0", "./program")
			got, err := record.Output()
			if record.ProcessState.ExitCode() != 7 || string(got) != string(want) {
				t.Fatalf("it wrote %q (%v), and without the recorder %q", got, err, want)
			}
			told := []toldCall{
				{"registers", [][2]string{{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}, {"return", "1234"}}},
				{"fast", [][2]string{{"a", "5"}, {"b", "-6"}, {"c", "-7"}, {"return", "?"}}},
				{"halves", [][2]string{{"a", "-5.0"}, {"return", "-2.5"}}},
				{"small", [][2]string{{"a", "0.5"}, {"return", "1.5"}}},
				{"text", [][2]string{{"of", `"text"`}, {"nowhere", "?"}, {"return", `"ext"`}}},
			}
			cells, _, _ := compareCalls(t, told, shownCalls(t, filepath.Join(filepath.Dir(program), "log"), functionsOf(told)))
			for name, got := range cells {
				if got != "all" {
					t.Errorf("of %s: %s", name, got)
				}
			}
		})
	}
}
