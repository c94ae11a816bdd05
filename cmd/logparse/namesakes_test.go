package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// calledTrace writes a trace of a program whose module is at a path, which enters and leaves functions at RVAs, all within a call of
// the first.
func calledTrace(t *testing.T, path, identity string, size uint64, rvas ...uint64) string {
	t.Helper()
	const base uint64 = 0x7f0000400000
	text := fmt.Sprintf("file begin=1000\nchunk process\nload @1000 module=1 base=%#x size=%#x path=%q identity=%q\nchunk events stream=1 thread=7 base=1000\n", base, size, path, identity)
	text += fmt.Sprintf("enter @1100 entry %#x\n", base+rvas[0])
	for i, rva := range rvas[1:] {
		text += fmt.Sprintf("enter @%d entry %#x\nleave @%d\n", 1200+10*i, base+rva, 1205+10*i)
	}
	return loadTrace(t, text+"leave @9000\n")
}

// checkApart looks whether each function is by itself, under the name that is wanted, in statistics, the tree, rows and sums.
func checkApart(t *testing.T, trace, symbols string, want []string) {
	t.Helper()
	want = slices.Sorted(slices.Values(want))
	for name, args := range map[string][]string{
		"statistics": {"stats", trace, "--format", "csv"}, "tree": {"tree", trace, "--format", "csv"},
		"tree bottom-up": {"tree", trace, "--bottom-up", "--depth", "1", "--format", "csv"},
		"rows":           {"save", trace, "-o", "-", "--format", "csv", "--where", "event:enter"},
	} {
		code, out, errs := logparse(append(args, "--symbols", symbols)...)
		if code != exitOK {
			t.Errorf("%s: %s", name, errs)
			continue
		}
		var got []string
		for _, row := range table(t, out) {
			got = append(got, row["function"])
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: the functions are\n%q, want\n%q", name, got, want)
		}
	}
	for _, format := range []string{"folded", "speedscope", "chrome", "callgrind"} {
		_, out, errs := logparse("save", trace, "-o", "-", "--format", format, "--weight", "calls", "--symbols", symbols)
		if format != "folded" {
			_, out, errs = logparse("save", trace, "-o", "-", "--format", format, "--symbols", symbols)
		}
		for _, name := range want {
			if !strings.Contains(out, name) {
				t.Errorf("%s has no %q: %s\n%s", format, name, errs, out)
			}
		}
	}
}

// TestNamesakes shows functions of one name that symbol files of all systems tell apart.
func TestNamesakes(t *testing.T) {
	rvas := []uint64{0x1000, 0x1010, 0x1020, 0x1030, 0x1040, 0x1050, 0x1060}
	for _, test := range []struct {
		name, file, symbols string
		want                []string
	}{
		{"Breakpad with lines", "app.sym", "MODULE windows x86_64 000000000000000000000000000000011 app.pdb\nFILE 0 src/a.c\nFILE 1 src/b.c\nFILE 2 lib/b.c\n" +
			"FUNC 1000 10 0 main\n1000 10 1 0\nFUNC 1010 10 0 V::V(int)\n1010 10 2 0\nFUNC 1020 10 0 V::V(double)\n1020 10 3 0\nFUNC 1030 10 0 load(int)\n1030 10 4 0\n" +
			"FUNC 1040 10 0 load(int)\n1040 10 4 1\nFUNC 1050 10 0 load(int)\n1050 10 4 2\nFUNC 1060 10 0 alone(int)\n1060 10 5 0\n",
			[]string{"main", "V::V(int)", "V::V(double)", "load (a.c)", "load (src/b.c)", "load (lib/b.c)", "alone"}},
		{"Breakpad without lines", "app.sym", "MODULE windows x86_64 000000000000000000000000000000011 app.pdb\n" +
			"FUNC 1000 10 0 main\nFUNC 1010 10 0 V::V(int)\nFUNC 1020 10 0 V::V(double)\nFUNC 1030 10 0 load\nFUNC 1040 10 0 load\nFUNC 1050 10 0 alone\nFUNC 1060 10 0 V::W::V(int)\n",
			[]string{"main", "V::V(int)", "V::V(double)", "load [+0x1030]", "load [+0x1040]", "alone", "V::W::V"}},
		{"a map of MSVC", "app.map", ` app

 Timestamp is 00000000 (Thu Jan  1 00:00:00 1970)

 Preferred load address is 0000000140000000

 Start         Length     Name                   Class
 0001:00000000 00000070H .text                   CODE

  Address         Publics by Value              Rva+Base               Lib:Object

 0001:00000000       main                       0000000140001000 f   a.obj
 0001:00000010       ??0V@@QEAA@H@Z             0000000140001010 f   a.obj
 0001:00000020       ??0V@@QEAA@N@Z             0000000140001020 f   a.obj
 0001:00000030       ?f@app@@YAHH@Z             0000000140001030 f   a.obj
 0001:00000040       ?f@app@@YAHN@Z             0000000140001040 f   a.obj

 entry point at        0001:00000000

 Static symbols

 0001:00000050       load                       0000000140001050 f   a.obj
 0001:00000060       load                       0000000140001060 f   b.obj
`, []string{"main", "V::V(int)", "V::V(double)", "app::f(int)", "app::f(double)", "load [+0x1050]", "load [+0x1060]"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			symbols := t.TempDir()
			if err := os.WriteFile(filepath.Join(symbols, test.file), []byte(test.symbols), 0o666); err != nil {
				t.Fatal(err)
			}
			checkApart(t, calledTrace(t, `C:\nowhere\app.exe`, "-", 0x10000, rvas...), symbols, test.want)
		})
	}
}

// TestCompareNamesakes compares runs that call other functions of one name.
func TestCompareNamesakes(t *testing.T) {
	folders := []string{t.TempDir(), t.TempDir()}
	file := func(build int, text string) {
		if err := os.WriteFile(filepath.Join(folders[build], "app.sym"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	const first, second = "pdb:00000000-0000-0000-0000-000000000001:1", "pdb:00000000-0000-0000-0000-000000000002:1"
	const main, f, g, loadA, loadB, alone = 0x1000, 0x1010, 0x1020, 0x1030, 0x1040, 0x1050
	file(0, "MODULE windows x86_64 000000000000000000000000000000011 app.pdb\nFILE 0 a.c\nFILE 1 b.c\n"+
		"FUNC 1000 10 0 main\n1000 10 1 0\nFUNC 1010 10 0 f(int)\n1010 10 2 0\nFUNC 1020 10 0 f(double)\n1020 10 3 0\n"+
		"FUNC 1030 10 0 load()\n1030 10 4 0\nFUNC 1040 10 0 load()\n1040 10 5 1\nFUNC 1050 10 0 alone()\n1050 10 6 0\n")
	// Another build, in which alone has moved to another file, and a compiler has made copies.
	const moved = 0x800
	file(1, "MODULE windows x86_64 000000000000000000000000000000021 app.pdb\nFILE 0 a.c\nFILE 1 b.c\nFILE 2 c.c\n"+
		"FUNC 1800 10 0 main\n1800 10 1 0\nFUNC 1810 10 0 f(int) [clone .constprop.0]\n1810 10 2 0\nFUNC 1820 10 0 f(double)\n1820 10 3 0\n"+
		"FUNC 1830 10 0 load()\n1830 10 4 0\nFUNC 1840 10 0 load()\n1840 10 5 1\nFUNC 1850 10 0 alone()\n1850 10 6 2\n")
	for _, test := range []struct {
		name        string
		a, b        []uint64
		otherBuild  bool
		same        bool
		onlyA, only string
	}{
		{"the same", []uint64{f, g, loadA, loadB}, []uint64{f, g, loadA, loadB}, false, true, "", ""},
		{"another overload", []uint64{f, f, g}, []uint64{g, f, g}, false, false, "", ""},
		{"an overload each", []uint64{f}, []uint64{g}, false, false, "f(int)", "f(double)"},
		{"one overload and both", []uint64{f, f}, []uint64{f, g}, false, false, "", "f(double)"},
		{"static functions", []uint64{loadA}, []uint64{loadB}, false, false, "load (a.c)", "load (b.c)"},
		{"the same of another build", []uint64{f, g, loadA, loadB, alone}, []uint64{f, g, loadA, loadB, alone}, true, true, "", ""},
		{"another overload of another build", []uint64{f}, []uint64{g}, true, false, "f(int)", "f(double)"},
		{"a static function of another build", []uint64{loadA, loadB}, []uint64{loadB, loadB}, true, false, "load (a.c)", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := calledTrace(t, `C:\nowhere\app.exe`, first, 0x10000, append([]uint64{main}, test.a...)...)
			identity, rvas := first, append([]uint64{main}, test.b...)
			if test.otherBuild {
				identity = second
				for i := range rvas {
					rvas[i] += moved
				}
			}
			b := calledTrace(t, `C:\nowhere\app.exe`, identity, 0x10000, rvas...)
			code, out, errs := logparse("compare", a, b, "--symbols", folders[0], "--symbols", folders[1])
			if want := map[bool]int{true: exitOK, false: exitDiffer}[test.same]; code != want {
				t.Errorf("status %d, want %d: %s\n%s", code, want, errs, out)
			}
			for who, name := range map[string]string{"A": test.onlyA, "B": test.only} {
				line := "functions that only " + who + " entered: "
				if name == "" && strings.Contains(out, line) || name != "" && !strings.Contains(out, line+name+"\n") {
					t.Errorf("not %q alone:\n%s", line+name, out)
				}
			}
		})
	}
}
