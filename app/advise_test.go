package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAdvise(t *testing.T) {
	s := open(t, Inputs{Log: logtest(t, "linux-gcc-O2"), NoRecordedPaths: true})
	a := s.Advise(0)
	var events int64
	var share float64
	for i, f := range a.Functions {
		events += f.Events
		share += f.OfEvents
		if i > 0 && f.Overhead > a.Functions[i-1].Overhead {
			t.Errorf("%s costs more than the function before", f.Function)
		}
		if want := time.Duration(f.Events) * classicEventCost; f.Overhead != want {
			t.Errorf("%s costs %v, want %v", f.Function, f.Overhead, want)
		}
	}
	if n := s.Rows().Len(); events != n || a.Events != n || share < 0.999 || share > 1.001 {
		t.Errorf("%d events of functions, %d in all, want %d; shares sum to %f", events, a.Events, n, share)
	}
	if f := a.Functions[0]; f.Function != "app::factorial" || f.Module != "logtest" || !f.Named {
		t.Errorf("first is %+v", f)
	}
	if a.Measured || a.EventCost != classicEventCost || a.Span <= 0 || a.OfTime <= 0 {
		t.Errorf("%+v", a)
	}
	if dear := s.Advise(11 * time.Microsecond); dear.EventCost != 11*time.Microsecond || dear.Overhead != 22*a.Overhead {
		t.Errorf("with another cost: %v an event, %v in all; %v before", dear.EventCost, dear.Overhead, a.Overhead)
	}
}

func TestGCCName(t *testing.T) {
	for function, want := range map[string]string{
		"main":                                   "main",
		"app::Shape::area":                       "app::Shape::area",
		"app::Shape::~Shape":                     "app::Shape::~Shape",
		"shapes::(anonymous namespace)::rounded": "shapes::{anonymous}::rounded",
		"app::twice<int>":                        "app::twice",
		"app::two<int, std::vector<int> >":       "app::two",
		"Vec<float>::at":                         "Vec<float>::at",
		"Vec<float, int>::at":                    "",
		"Vec<std::vector<int>>::at":              "",
		"A::operator<":                           "A::operator<",
		"A::operator->":                          "A::operator->",
		"A::operator<<":                          "A::operator<<",
		"A::operator()":                          "A::operator()",
		"app::f::{lambda}::operator()":           "",
		"`anonymous namespace'::f":               "",
		"broken<":                                "",
	} {
		if got, ok := gccName(function); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %t, want %q", function, got, ok, want)
		}
	}
}

func TestRecorderPattern(t *testing.T) {
	for function, want := range map[string]string{
		"app::get":                                  "app::get",
		"std::vector<int, A<3>>::at":                "std::vector::at",
		"(anonymous namespace)::leaf":               "(anonymous namespace)::leaf",
		"a::V::operator+":                           "a::V::operator+",
		"A::operator<":                              "A::operator<",
		"A<int>::operator<":                         "A::operator<",
		"operator<< <char>":                         "operator<<",
		"A::operator<=><int>":                       "A::operator<=>",
		"A::operator->":                             "A::operator->",
		"A::operator()":                             "A::operator()",
		"A::operator[]":                             "A::operator[]",
		"A::operator new[]":                         "A::operator new[]",
		"A::operator bool":                          "A::operator bool",
		"A::operator unsigned int":                  "A::operator unsigned int",
		"A::operator!=":                             "*!A::operator!=",
		"A::operator*":                              "",
		"A::operator,":                              "",
		"A::operator*=":                             "",
		"A::operator char const*":                   "",
		"A::operators<int>":                         "A::operators",
		"my_operator<int>":                          "my_operator",
		"main::{lambda(int)#1}::operator()":         "main::{lambda}::operator()",
		"main::{lambda(A<int>)#2}::operator()<int>": "main::{lambda}::operator()",
		"main::{unnamed type#1}::f":                 "",
		"main::'lambda'()::operator()":              "",
		"broken<":                                   "",
	} {
		if got, ok := recorderPattern(function); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %t, want %q", function, got, ok, want)
		}
	}
}

func TestExclude(t *testing.T) {
	f := func(name, source string) FunctionCost {
		return FunctionCost{Function: name, Named: true, Source: source}
	}
	chosen := []FunctionCost{f("app::get", "/src/a,b.cpp"), f("app::twice<int>", `C:\src\it's.cpp`), f("f::{lambda}::operator()", ""), {Function: "x.exe+0x10"}}
	e := Exclude(chosen, nil, append(chosen, f("app::getAll", ""), f("app::twice<double>", ""), f("app::other", ""), f("app::more", "")))
	if want := `'-finstrument-functions-exclude-function-list=app::get,app::twice'`; e.Functions != want {
		t.Errorf("got %s, want %s", e.Functions, want)
	}
	if want := `'-finstrument-functions-exclude-file-list=a\,b.cpp,it'\''s.cpp'`; e.Files != want {
		t.Errorf("got %s, want %s", e.Files, want)
	}
	if want := `LOGREC_EXCLUDE='app::get,app::twice,f::{lambda}::operator()'`; e.Recorder != want || len(e.Unlisted) > 0 {
		t.Errorf("got %s and %q, want %s", e.Recorder, e.Unlisted, want)
	}
	if e := Exclude([]FunctionCost{f("A::operator*", "")}, nil, nil); e.Recorder != "" || !slices.Equal(e.Unlisted, []string{"A::operator*"}) {
		t.Errorf("of what no list can name: %q, %q", e.Recorder, e.Unlisted)
	}
	if !slices.Equal(e.Also, []string{"app::getAll", "app::twice<double>"}) || !slices.Equal(e.Left, []string{"f::{lambda}::operator()"}) {
		t.Errorf("also %q, left %q", e.Also, e.Left)
	}
	if e := Exclude([]FunctionCost{{Function: "x.exe+0x10"}}, nil, nil); e.Functions != "" || e.Files != "" || e.Recorder != "" {
		t.Errorf("of functions without names: %+v", e)
	}
}

// gnuCompiler is g++ for x86-64.
func gnuCompiler(t *testing.T) string {
	t.Helper()
	gcc, err := exec.LookPath("g++")
	if err != nil || runtime.GOARCH != "amd64" {
		t.Skip("no g++ for x86-64")
	}
	if out, _ := exec.Command(gcc, "--version").Output(); !strings.Contains(string(out), "Free Software Foundation") {
		t.Skip("g++ is another compiler")
	}
	return gcc
}

// TestExcludeCompiles gives the options to gcc by a shell.
func TestExcludeCompiles(t *testing.T) {
	gcc := gnuCompiler(t)
	dir := t.TempDir()
	source := `template<class T> struct Vec { T at(int i); };
template<class T> T Vec<T>::at(int i) { return T(i); }
template struct Vec<float>;
template<class A, class B> int two(A, B) { return 2; }
template int two<int, char>(int, char);
namespace app {
struct Shape { Shape(); ~Shape(); int area(int); bool operator<(const Shape &) const; };
Shape::Shape() {}
Shape::~Shape() {}
int Shape::area(int a) { return a; }
bool Shape::operator<(const Shape &) const { return false; }
namespace { int hidden(int a) { return a; } }
int kept(int a) { return hidden(a); }
}
`
	if err := os.WriteFile(filepath.Join(dir, "it's a,b.cpp"), []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	var list []FunctionCost
	for _, name := range []string{"Vec<float>::at", "two<int, char>", "app::Shape::Shape", "app::Shape::~Shape", "app::Shape::area",
		"app::Shape::operator<", "app::(anonymous namespace)::hidden"} {
		list = append(list, FunctionCost{Function: name, Named: true, Source: "/src/it's a,b.cpp"})
	}
	e := Exclude(list, nil, list)
	for option, want := range map[string]int{"": 8, e.Functions: 1, e.Files: 0} {
		cmd := exec.Command("sh", "-c", gcc+` -S -o - -O0 -finstrument-functions `+option+` "it's a,b.cpp"`)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if got := strings.Count(string(out), "call\t__cyg_profile_func_enter"); got != want {
			t.Errorf("with %s %d functions are recorded, want %d", option, got, want)
		}
	}
}

// TestChoose never leaves out the whole program, and what is not its own first.
func TestChoose(t *testing.T) {
	own := func(name string, events int64) FunctionCost {
		return FunctionCost{Function: name, Named: true, Source: "/home/me/" + name + ".cpp", Events: events}
	}
	std := func(name string, events int64) FunctionCost {
		f := FunctionCost{Function: "std::" + name, Named: true, Source: "/usr/include/c++/12/bits/x.h", Events: events}
		f.System = ofSystem(&f)
		return f
	}
	for _, test := range []struct {
		name      string
		functions []FunctionCost
		most      int
		want      string
	}{
		{"few calls", []FunctionCost{own("work", 38), own("pause", 38), own("main", 2)}, 20, ""},
		{"all of it", []FunctionCost{own("work", 3800), own("pause", 3800), own("main", 2)}, 20, "work"},
		{"main", []FunctionCost{own("main", 5000), own("leaf", 4000), own("other", 3)}, 20, "leaf"},
		{"alone", []FunctionCost{own("leaf", 4000)}, 20, ""},
		{"half", []FunctionCost{own("a", 4000), own("b", 4000), own("c", 4000), own("d", 4000), own("e", 4000)}, 20, "a b"},
		{"most", []FunctionCost{own("a", 4000), own("b", 4000), own("c", 4000), own("d", 4000), own("e", 4000)}, 1, "a"},
		{"std", []FunctionCost{std("move", 80000), std("end", 10), own("work", 38), own("pause", 38), own("main", 2)}, 20, "std::move std::end |"},
		{"both", []FunctionCost{std("move", 80000), own("leaf", 300), own("work", 2), own("main", 2)}, 20, "std::move | leaf"},
		{"little of std", []FunctionCost{own("leaf", 30000), std("move", 30), own("work", 2), own("main", 2)}, 20, "leaf"},
		{"no names", []FunctionCost{{Function: "a+0x10", Events: 1000}, {Function: "a+0x20", Events: 1000}}, 20, ""},
	} {
		a := Advice{Functions: test.functions}
		for _, f := range test.functions {
			a.Events += f.Events
		}
		system, chosen := a.Choose(test.most)
		var words []string
		for _, f := range system {
			words = append(words, f.Function)
		}
		if len(system) > 0 {
			words = append(words, "|")
		}
		for _, f := range chosen {
			words = append(words, f.Function)
		}
		if got := strings.Join(words, " "); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		// The options leave main and most of the rest, too.
		e := Exclude(chosen, system, a.Functions)
		if strings.Contains(e.Files, "main.cpp") || len(system) > 0 && len(chosen) > 0 && e.Recorder != "LOGREC_EXCLUDE='std::*,leaf'" {
			t.Errorf("%s: %+v", test.name, e)
		}
	}
	e := Exclude([]FunctionCost{own("in", 4000)}, nil, []FunctionCost{own("in", 4000), own("main", 2), own("x", 2), own("y", 2)})
	if e.Functions != "" || len(e.Left) != 1 || e.Files == "" {
		t.Errorf("in, which is part of main: %+v", e)
	}
	for source, want := range map[string]string{
		"/usr/include/c++/12/chrono": "/usr/include", "/usr/include/stdio.h": "/usr/include", "/usr/lib/gcc/x86_64-linux-gnu/12/include/xmmintrin.h": "/usr/lib/gcc",
		"/opt/gcc-13/include/c++/13/vector": "/opt/gcc-13/include/c++", `C:\mingw64\include\c++\13\vector`: "C:/mingw64/include/c++",
		`C:\Program Files\Microsoft Visual Studio\2022\Community\VC\Tools\MSVC\14.3\include\vector`: "C:/Program Files/Microsoft Visual Studio/2022/Community/VC/Tools/MSVC",
		"/home/me/include/vector": "", "vector": "", "": "",
	} {
		if got := systemFolder(source); got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}

// TestExcludeSystemCompiles leaves out all but a small program's own functions.
func TestExcludeSystemCompiles(t *testing.T) {
	gcc := gnuCompiler(t)
	dir := t.TempDir()
	source := `#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>
static int work(int n) { std::vector<int> v; for (int i = 0; i < n; i++) v.push_back(i); std::sort(v.begin(), v.end()); return v[n / 2]; }
static void pause(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
int main() { auto begin = std::chrono::steady_clock::now(); pause(work(3)); return (std::chrono::steady_clock::now() - begin).count() < 0; }
`
	if err := os.WriteFile(filepath.Join(dir, "a.cpp"), []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	for option, own := range map[string]bool{"": false, ExcludeSystem(nil).Files: true} {
		cmd := exec.Command("sh", "-c", gcc+` -S -o - -O0 -finstrument-functions `+option+` a.cpp`)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if got := strings.Count(string(out), "call\t__cyg_profile_func_enter"); own && got != 3 || !own && got < 50 {
			t.Errorf("with %s %d functions are recorded", option, got)
		}
	}
}
