package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"logparser/app"
	"logparser/rows"
)

// TestUftrace holds the values that LogParser shows of the test programs of uftrace against what uftrace shows of the same
// builds by its automatic arguments: it shows at least as much, and where the two differ the reason is known. The programs are
// those in the folder UFTRACE_TESTS, where scripts/uftrace-values.sh puts what Debian's source package has, and two of ours with
// the same prototypes.
func TestUftrace(t *testing.T) {
	if testing.Short() {
		t.Skip("programs and the recorder are built")
	}
	for _, name := range []string{"uftrace", "gcc", "g++"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("there is no " + name)
		}
	}
	var programs []string
	for _, name := range []string{"testdata/arguments.c", "testdata/arguments.cpp"} {
		source, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		programs = append(programs, source)
	}
	if dir := os.Getenv("UFTRACE_TESTS"); dir != "" {
		if programs = append(programs, uftracePrograms(t, dir)...); len(programs) < 17 {
			t.Fatalf("only %d programs: %v", len(programs), programs)
		}
	}
	var all uftraceScore
	for _, level := range []string{"-O0", "-O2"} {
		for _, hooks := range [][2]string{
			// What each of the two records.
			{"-pg -mfentry -minstrument-return=call", "-pg -mfentry -minstrument-return=call"},
			{"-pg", "-pg -mfentry -minstrument-return=call"},
			{"-finstrument-functions", "-finstrument-functions"},
		} {
			if level == "-O0" && hooks[0] != "-pg" && os.Getenv("CONFORMANCE") == "" {
				continue // make conformance runs all
			}
			t.Run(level+" "+hooks[0], func(t *testing.T) {
				var score uftraceScore
				for _, source := range programs {
					score.program(t, source, level, hooks)
				}
				t.Logf("scores|%s %s: %v", level, hooks[0], score)
				all.add(score)
			})
		}
	}
	t.Logf("scores|all: %v", all)
}

// uftracePrograms returns the sources of the programs with which uftrace tests arguments and results.
func uftracePrograms(t *testing.T, dir string) (list []string) {
	t.Helper()
	scripts, err := filepath.Glob(filepath.Join(dir, "t[0-9]*.py"))
	if err != nil {
		t.Fatal(err)
	}
	about := regexp.MustCompile(`_(auto_?)?arg|_retval|_string|_enum|_struct|_dwarf`)
	named := regexp.MustCompile(`TestBase\.__init__\(self, '([^']+)'`)
	for _, script := range scripts {
		if !about.MatchString(filepath.Base(script)) {
			continue
		}
		m := named.FindStringSubmatch(readFile(t, script))
		if m == nil {
			continue
		}
		for _, suffix := range []string{".c", ".cpp"} {
			source := filepath.Join(dir, "s-"+m[1]+suffix)
			if _, err := os.Stat(source); err == nil && !slices.Contains(list, source) {
				list = append(list, source)
			}
		}
	}
	return list
}

// A uftraceScore counts values: those that uftrace shows, those that LogParser shows, and what comparing them gave.
type uftraceScore struct {
	calls, theirs, ours, same, more, less, differ int
}

func (s *uftraceScore) add(o uftraceScore) {
	s.calls += o.calls
	s.theirs += o.theirs
	s.ours += o.ours
	s.same += o.same
	s.more += o.more
	s.less += o.less
	s.differ += o.differ
}

func (s uftraceScore) String() string {
	return fmt.Sprintf("of %d calls uftrace shows %d values, LogParser %d: %d the same, %d shown by LogParser alone, %d by uftrace alone, %d not the same", s.calls, s.theirs, s.ours, s.same, s.more, s.less, s.differ)
}

// compileUftrace builds a program with hooks.
func compileUftrace(t *testing.T, source, level, hooks string) (program string, ok bool) {
	t.Helper()
	dir := t.TempDir()
	compiler := "gcc"
	if strings.HasSuffix(source, ".cpp") {
		compiler = "g++"
	}
	if err := os.WriteFile(filepath.Join(dir, "hook.c"), []byte("void __return__(void) {}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for i, command := range []string{
		"gcc -O1 -shared -fPIC hook.c -o libhook.so",
		compiler + " -g -w " + level + " " + hooks + " " + source + " -o program -L. -lhook -Wl,-rpath," + dir + " -Wl,--build-id -lm -pthread -ldl",
	} {
		words := strings.Fields(command)
		build := exec.Command(words[0], words[1:]...)
		build.Dir = dir
		if out, err := build.CombinedOutput(); err != nil {
			if i == 0 {
				t.Fatalf("%v: %s", err, out)
			}
			return "", false
		}
	}
	return filepath.Join(dir, "program"), true
}

// program compares the values of one program's calls.
func (s *uftraceScore) program(t *testing.T, source, level string, hooks [2]string) {
	t.Helper()
	theirs, ok := compileUftrace(t, source, level, hooks[0])
	if !ok {
		t.Logf("%s is not built here", filepath.Base(source))
		return
	}
	ours := theirs
	if hooks[1] != hooks[0] {
		ours, _ = compileUftrace(t, source, level, hooks[1])
	}
	record := exec.Command("timeout", "60", "uftrace", "record", "-a", "--no-libcall", "--no-event", "-d", "uf", "./program")
	record.Dir = filepath.Dir(theirs)
	if out, err := record.CombinedOutput(); err != nil && strings.Contains(string(out), "ERROR") {
		t.Logf("uftrace does not record %s: %s", filepath.Base(source), out)
		return
	}
	dump := exec.Command("uftrace", "dump", "--chrome", "-d", "uf")
	dump.Dir = record.Dir
	text, err := dump.Output()
	if err != nil {
		t.Logf("uftrace does not show %s: %v", filepath.Base(source), err)
		return
	}
	arguments := []string{"--values", "*", "-o", "log", "--head", "0", "./program"}
	if level == "-O2" {
		// What a function ends by a jump to may be in a library.
		arguments = append([]string{"--libcalls"}, arguments...)
	}
	_, _ = recordProcess(t, ours, arguments...).Output()
	shown := callsByName(t, filepath.Join(filepath.Dir(ours), "log"))
	by := uftraceCalls(string(text))
	for _, name := range slices.Sorted(maps.Keys(by)) {
		for i, call := range by[name] {
			if i < len(shown[name]) {
				s.calls++
				s.call(t, filepath.Base(source)+" "+level+" "+hooks[0], name, call, &shown[name][i])
			}
		}
	}
}

// A uftraceCall is what uftrace shows of a call.
type uftraceCall struct {
	arguments []string
	result    string
}

// uftraceCalls reads what uftrace writes for Chrome.
func uftraceCalls(text string) map[string][]*uftraceCall {
	by := make(map[string][]*uftraceCall)
	open := make(map[int][]*uftraceCall)
	for line := range strings.Lines(text) {
		var e struct {
			Ph, Name string
			Pid, Tid int
			Args     struct{ Arguments, Retval string }
		}
		if json.Unmarshal([]byte(strings.TrimRight(strings.TrimSpace(line), ",")), &e) != nil {
			continue
		}
		switch e.Ph {
		case "B":
			call := &uftraceCall{arguments: topLevel(e.Args.Arguments)}
			by[e.Name] = append(by[e.Name], call)
			open[e.Pid<<20+e.Tid] = append(open[e.Pid<<20+e.Tid], call)
		case "E":
			if list := open[e.Pid<<20+e.Tid]; len(list) > 0 {
				list[len(list)-1].result = e.Args.Retval
				open[e.Pid<<20+e.Tid] = list[:len(list)-1]
			}
		}
	}
	return by
}

// topLevel takes a list in parentheses apart.
func topLevel(list string) (parts []string) {
	list = strings.TrimSuffix(strings.TrimPrefix(list, "("), ")")
	depth, quoted, from := 0, false, 0
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '(':
			depth++
		case c == '}' || c == ')':
			depth--
		case c == ',' && depth == 0:
			parts = append(parts, strings.TrimSpace(list[from:i]))
			from = i + 1
		}
	}
	if list != "" {
		parts = append(parts, strings.TrimSpace(list[from:]))
	}
	return parts
}

// callsByName reads the calls of the program's own functions with their values, by names as uftrace has them.
func callsByName(t *testing.T, log string) map[string][]rows.CallValues {
	t.Helper()
	s, err := app.Open(t.Context(), app.Inputs{Log: log, Symbols: []string{filepath.Dir(log)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Load(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	by := make(map[string][]rows.CallValues)
	src := rows.With(s.Rows(), rows.Values)
	for i := range src.Len() {
		r := src.Row(i)
		if r.Event != rows.Enter || r.Module != "program" {
			continue
		}
		name := plainFunction(r.Function)
		var v rows.CallValues
		if of := r.CallValues(); of != nil {
			v = *of
		}
		by[name] = append(by[name], v)
	}
	return by
}

// call compares the values of one call.
func (s *uftraceScore) call(t *testing.T, where, name string, theirs *uftraceCall, ours *rows.CallValues) {
	t.Helper()
	one := func(what, text string, v *rows.Value) {
		known := v != nil && v.Kind != rows.UnknownValue
		if known {
			s.ours++
		}
		// Of an address that is none both say so in their ways.
		unreadable := v != nil && v.Text == "not readable"
		told := text != "" && !strings.HasSuffix(text, "{...}") && !strings.HasSuffix(text, "{}")
		if told {
			s.theirs++
		}
		switch {
		case told && known && sameValue(text, v):
			s.same++
		case told && known && isAddress.MatchString(text) && v.Kind != rows.PointerValue && (strings.ContainsAny(v.Type, "&*") || strings.HasSuffix(v.Type, "::reference")):
			s.more++ // what it leads to
		case told && known:
			s.differ++
			if right, ok := uftraceWrong[name+" "+what]; !ok || !slices.Contains(right, v.Text) {
				t.Errorf("difference|%s: %s: %s: uftrace shows %s, LogParser %s %s", where, name, what, text, v.Type, v.Text)
			}
		case told && unreadable && (isAddress.MatchString(text) || strings.HasPrefix(text, `"<0x`)):
			s.same++
		case told:
			s.less++
			report := t.Errorf
			if strings.Contains(where, " -O2 ") && slices.Contains(uftraceAlone, name+" "+what) {
				report = t.Logf
			}
			report("less|%s: %s: %s: uftrace shows %s, LogParser nothing", where, name, what, text)
		case known:
			s.more++
		}
	}
	for i := range max(len(theirs.arguments), len(ours.Arguments)) {
		text, what := "", fmt.Sprintf("argument %d", i+1)
		if i < len(theirs.arguments) {
			text = theirs.arguments[i]
		}
		var v *rows.Value
		if i < len(ours.Arguments) {
			v = &ours.Arguments[i]
			what = v.Name
		}
		one(what, text, v)
	}
	var result *rows.Value
	if len(ours.Results) > 0 {
		result = &ours.Results[0]
	}
	if result != nil || theirs.result != "" {
		one("return", theirs.result, result)
	}
}

var isAddress = regexp.MustCompile(`^(0x[0-9a-f]+|&.*)$`)

// uftraceWrong are values that uftrace shows wrong, with what they are by the programs' sources. It reads results of floating types where
// others are, and changes arguments of floating types that lie behind a struct, which the program then works with.
var uftraceWrong = map[string][]string{
	"mixed_add return": {"-0.800000011920929", "-0.7999999970197678"},
	"float_add return": {"0.1"}, "float_div return": {"-2e+12"},
	"foo m": {"memory_order_mask"}, "opened f": {"0x40"}, "foo f": {"0.001", "1e-05", "-1.0"},
	"C::copy val": {"1"}, "C::C v": {"3"}, "C::construct val": {"3"}, "main return": {"0"}, "C::copy str": {`"debug info test"`},
	"pass_dbl1 z": {"3.0"}, "pass_dbl3 z": {"3.0", "5.0"}, "pass_lng1 z": {"3.0"}, "pass_lng3 z": {"3.0", "5.0"}, "pass_int1 z": {"3.0"}, "pass_int3 z": {"3.0", "5.0"},
	"pass_mix1 z": {"3.0", "4.0"}, "pass_mix2 z": {"3.0", "4.0"}, "pass_mix3 z": {"3.0", "6.0"},
	"pass_dbl1 return": {"0.0", "1.0", "127.0"}, "pass_dbl3 return": {"0.0", "1.0", "136.0"}, "pass_lng3 return": {"0", "1", "136"}, "pass_lng1 return": {"0", "1", "127"},
	"pass_int1 return": {"0", "1", "127"}, "pass_int3 return": {"0", "1", "136"},
	"pass_mix1 return": {"0.0", "131.0"}, "pass_mix2 return": {"0.0", "1.0", "131.0"}, "pass_mix3 return": {"0", "1", "142"},
	// Of a bool and an int it shows all bits of a register or eight bytes of the stack.
	"__gnu_cxx::operator== return": {"false", "true"}, "myless return": {"false", "true"}, "many m": {"12"},
}

// uftraceAlone are values that LogParser does not show of optimized programs. What uftrace shows of foo is what lies in a register:
// foo.part.0, which gcc made of what foo seldom does, gets no argument, reads no register and overwrites that one.
var uftraceAlone = []string{"foo i"}

// sameValue reports whether a text of uftrace says what a value is.
func sameValue(text string, v *rows.Value) bool {
	switch {
	case text == v.Text, text == `"NULL"` && v.Text == "null", text == "'''" && v.Text == `'\''`:
		return true
	case strings.HasPrefix(text, `"`):
		text = strings.TrimSuffix(text, "s") // as C++ writes a std::string
	case strings.Contains(text, "|") && !strings.Contains(text, "+"):
		theirs, ours := strings.Split(text, "|"), strings.Split(v.Text, "|")
		slices.Sort(theirs)
		slices.Sort(ours)
		return slices.Equal(theirs, ours)
	}
	number := func() (float64, bool) {
		if n, err := strconv.ParseInt(text, 0, 64); err == nil {
			return float64(n), true
		}
		if n, err := strconv.ParseUint(text, 0, 64); err == nil {
			return float64(n), true
		}
		f, err := strconv.ParseFloat(text, 64)
		return f, err == nil
	}
	switch v.Kind {
	case rows.SignedValue:
		n, ok := number()
		u, err := strconv.ParseUint(text, 0, 64)
		return ok && n == float64(int64(v.Bits)) || err == nil && (u == v.Bits || u == uint64(uint32(v.Bits)))
	case rows.UnsignedValue:
		n, ok := number()
		return ok && n == float64(v.Bits)
	case rows.FloatValue:
		f := math.Float64frombits(v.Bits)
		n, ok := number()
		return ok && math.Abs(n-f) <= 1e-6*max(1, math.Abs(f))
	case rows.PointerValue:
		if n, err := strconv.ParseUint(text, 0, 64); err == nil {
			return (n == 0) == (v.Bits == 0) // addresses of two runs
		}
		name, isName := strings.CutPrefix(text, "&")
		return isName && strings.Contains(strings.ReplaceAll(v.Text, "[abi:", "::"), "<"+name)
	case rows.TextValue:
		s, err := strconv.Unquote(text)
		return err == nil && (s == v.Characters || strings.HasSuffix(s, "...") && strings.HasPrefix(v.Characters, strings.TrimSuffix(s, "...")))
	}
	return false
}
