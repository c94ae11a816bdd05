package modules

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestLayouts reads one list of modules in the forms that other programs may
// write: the article that the format stems from names a load address, a module
// name and an image size, and does not say how they are written.
func TestLayouts(t *testing.T) {
	const want = `400000+1c000 C:\Program Files\Log Test\LogTest.exe
10000000+25000 C:\Windows\System32\MFC42.DLL
77d30000+10b000 C:\Windows\System32\kernel32.dll
`
	const names = `400000+1c000 LogTest.exe
10000000+25000 MFC42.DLL
77d30000+10b000 kernel32.dll
`
	for _, test := range []struct {
		name, in, want, columns string
	}{
		{"the article's order", `
0x00400000 C:\Program Files\Log Test\LogTest.exe 0x1C000
0x10000000 C:\Windows\System32\MFC42.DLL 0x25000
0x77D30000 C:\Windows\System32\kernel32.dll 0x10B000`, want, "base:hex,name,size:hex"},
		{"the article's order, commas, size in decimal", `
00400000,C:\Program Files\Log Test\LogTest.exe,114688
10000000,C:\Windows\System32\MFC42.DLL,151552
77D30000,C:\Windows\System32\kernel32.dll,1093632`, want, "base:hex,name,size:dec"},
		{"the article's order, all in decimal", `
4194304;C:\Program Files\Log Test\LogTest.exe;114688
268435456;C:\Windows\System32\MFC42.DLL;151552
2010316800;C:\Windows\System32\kernel32.dll;1093632`, want, "base:dec,name,size:dec"},
		{"name first", `
C:\Program Files\Log Test\LogTest.exe 0x400000 0x1C000
C:\Windows\System32\MFC42.DLL 0x10000000 0x25000
C:\Windows\System32\kernel32.dll 0x77D30000 0x10B000`, want, "name,base:hex,size:hex"},
		{"name first, size before base, quotes", `
"C:\Program Files\Log Test\LogTest.exe", 1C000h, 00400000h
"C:\Windows\System32\MFC42.DLL", 25000h, 10000000h
"C:\Windows\System32\kernel32.dll", 10B000h, 77D30000h`, want, "name,size:hex,base:hex"},
		{"semicolons", `
0x400000;0x1C000;C:\Program Files\Log Test\LogTest.exe
0x10000000;0x25000;C:\Windows\System32\MFC42.DLL
0x77D30000;0x10B000;C:\Windows\System32\kernel32.dll`, want, "base:hex,size:hex,name"},
		{"labels", `
Load Address: 0x00400000, Module: C:\Program Files\Log Test\LogTest.exe, Size: 0x1C000
Load Address: 0x10000000, Module: C:\Windows\System32\MFC42.DLL, Size: 0x25000
Load Address: 0x77D30000, Module: C:\Windows\System32\kernel32.dll, Size: 0x10B000`, want, "base:hex,name,size:hex"},
		{"labels without commas", `
base=0x400000 size=114688 path=C:\Program Files\Log Test\LogTest.exe
base=0x10000000 size=151552 path=C:\Windows\System32\MFC42.DLL
base=0x77D30000 size=1093632 path=C:\Windows\System32\kernel32.dll`, want, "base:hex,name,size:dec"},
		{"labels, one a line", `
Module Name: C:\Program Files\Log Test\LogTest.exe
  Image Base: 00400000
  Image Size: 0001C000

Module Name: C:\Windows\System32\MFC42.DLL
  Image Base: 10000000
  Image Size: 00025000

Module Name: C:\Windows\System32\kernel32.dll
  Image Base: 77D30000
  Image Size: 0010B000`, want, "base:hex,name,size:hex"},
		{"Chinese labels", `
加载地址：0x00400000，模块名：C:\Program Files\Log Test\LogTest.exe，映像大小：0x1C000
加载地址：0x10000000，模块名：C:\Windows\System32\MFC42.DLL，映像大小：0x25000
加载地址：0x77D30000，模块名：C:\Windows\System32\kernel32.dll，映像大小：0x10B000`, want, "base:hex,name,size:hex"},
		{"three lines a module", `
00400000
C:\Program Files\Log Test\LogTest.exe
0001C000
10000000
C:\Windows\System32\MFC42.DLL
00025000
77D30000
C:\Windows\System32\kernel32.dll
0010B000`, want, "base:hex,name,size:hex"},
		{"three lines a module, tick ahead", `
2026-11-21 11:22:33
123456
C:\Program Files\Log Test\LogTest.exe
0x400000
114688

C:\Windows\System32\MFC42.DLL
0x10000000
151552

C:\Windows\System32\kernel32.dll
0x77D30000
1093632`, "start 2026-11-21 11:22:33\ntick 123456\n" + want, "name,base:hex,size:dec"},
		{"two lines a module", `
C:\Program Files\Log Test\LogTest.exe
	0x400000	0x1C000
C:\Windows\System32\MFC42.DLL
	0x10000000	0x25000
C:\Windows\System32\kernel32.dll
	0x77D30000	0x10B000`, want, "name,base:hex,size:hex"},
		{"names alone, columns of a table", `
Base        Size        Module
----------  ----------  ------------
0x00400000  0x0001C000  LogTest.exe
0x10000000  0x00025000  MFC42.DLL
0x77D30000  0x0010B000  kernel32.dll`, names, "base:hex,size:hex,name"},
		{"first and last address", `
00400000-0041C000 LogTest.exe
10000000-10025000 MFC42.DLL
77D30000-77E3B000 kernel32.dll`, names, "base:hex,end:hex,name"},
		{"a number in the list and an entry point", `
1 LogTest.exe 0x00400000 0x1C000 0x401A30
2 MFC42.DLL 0x10000000 0x25000 0x10012344
3 kernel32.dll 0x77D30000 0x10B000 0x77D4B5AE`, names, "-,name,base:hex,size:hex,-"},
		{"a date with the day first, and a labelled tick", `
21.11.2026 11:22:33.456 Tick=123456
0x00400000 LogTest.exe 114688 bytes
0x10000000 MFC42.DLL 151552 bytes
0x77D30000 kernel32.dll 1093632 bytes`, "start 21.11.2026 11:22:33.456\ntick 123456\n" + names, "base:hex,name,size:dec"},
		{"labelled start and tick", `
Start time: 2026-11-21 11:22:33.456
TickCount: 123456
0x00400000 LogTest.exe 0x1C000
0x10000000 MFC42.DLL 0x25000
0x77D30000 kernel32.dll 0x10B000`, "start 2026-11-21 11:22:33.456\ntick 123456\n" + names, "base:hex,name,size:hex"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, ends := range []string{"\n", "\r\n"} {
				in := strings.ReplaceAll(strings.TrimPrefix(test.in, "\n"), "\n", ends)
				f, err := Parse([]byte(in), Options{})
				if err != nil {
					t.Fatal(err)
				}
				if got := describe(f); got != test.want {
					t.Errorf("got\n%swant\n%s", got, test.want)
				}
				if f.Columns.String() != test.columns {
					t.Errorf("columns %s, want %s", f.Columns, test.columns)
				}
				if !Looks([]byte(in)) {
					t.Error("does not look like a modules file")
				}
			}
		})
	}
}

func TestAmbiguousColumns(t *testing.T) {
	// Which of the two is the base only the log can say.
	const in = "0x02000000 0x00400000 a.exe\n"
	_, err := Parse([]byte(in), Options{})
	var ambiguous *AmbiguousError
	if !errors.As(err, &ambiguous) {
		t.Fatalf("read as %v", err)
	}
	var ways []string
	for _, c := range ambiguous.Columns {
		ways = append(ways, c.String())
	}
	if want := []string{"base:hex,size:hex,name", "size:hex,base:hex,name", "end:hex,base:hex,name"}; !slices.Equal(ways, want) {
		t.Errorf("ways %q", ways)
	}
	if len(ambiguous.Lines) != 1 || !strings.Contains(ambiguous.Error(), "base:hex,size:hex,name or ") {
		t.Errorf("%q, %v", ambiguous.Lines, err)
	}
	for _, test := range []struct {
		opt  Options
		want string
	}{
		{Options{Addresses: [][]uint64{{0x10, 0x30}, {0x401000, 0x2300000}}}, "400000+2000000 a.exe\n"},
		{Options{Columns: must(ParseColumns("base,size,name"))}, "2000000+400000 a.exe\n"},
		{Options{Columns: must(ParseColumns("size,base,name"))}, "400000+2000000 a.exe\n"},
		{Options{Columns: must(ParseColumns("end,base,name"))}, "400000+1c00000 a.exe\n"},
	} {
		f, err := Parse([]byte(in), test.opt)
		if err != nil {
			t.Errorf("%v: %v", test.opt, err)
		} else if got := describe(f); got != test.want {
			t.Errorf("%v: got %swant %s", test.opt, got, test.want)
		}
	}
	for _, addresses := range [][]uint64{{0x10}, {0x90000000}, {0x2001000}} {
		if _, err := Parse([]byte(in), Options{Addresses: [][]uint64{addresses}}); !errors.As(err, &ambiguous) {
			t.Errorf("addresses %x, which decide nothing: %v", addresses, err)
		}
	}
}

func TestParseColumns(t *testing.T) {
	for in, want := range map[string]string{
		"base,size,name":          "base,size,name",
		" Base , NAME , size:dec": "base,name,size:dec",
		"-,path,base:hex,end,-":   "-,name,base:hex,end,-",
		"skip,name,base,size":     "-,name,base,size",
	} {
		c, err := ParseColumns(in)
		if err != nil || c.String() != want {
			t.Errorf("%q: got %q, %v", in, c, err)
		}
	}
	for _, in := range []string{"", "base", "base,size", "base,base,name", "base,size,end,name", "base,size,name:hex", "base:oct,size,name", "a,b,c", "-,-,-,-,-,-,base,size,name"} {
		if c, err := ParseColumns(in); !errors.Is(err, ErrColumns) {
			t.Errorf("%q: got %q, %v", in, c, err)
		}
	}
}

// A randomList is a list of modules as some system might have them.
func randomList(r *rand.Rand) []Module {
	n := 1 + r.IntN(4)
	if r.IntN(3) > 0 {
		n = 4 + r.IntN(40)
	}
	system := r.IntN(3) // Windows of 32 and 64 bits, Linux
	base, step := uint64(0x400000), uint64(granularity)
	switch system {
	case 0:
		base += uint64(r.IntN(64)) * granularity
	case 1:
		base = 0x7ff600000000 + uint64(r.IntN(1<<14))*granularity
	case 2:
		base, step = 0x555500000000+uint64(r.IntN(1<<20))*page, page
	}
	bare, blanks := r.IntN(3) == 0, r.IntN(3) == 0
	words := []string{"kernel", "Log", "User Data", "日志", "x86", "add", "3", "Über", "mfc", "api-ms-win", "beef", "v2.1"}
	var list []Module
	for range n {
		size := uint64(1+r.IntN(1<<10)) * page
		if r.IntN(20) == 0 {
			size = uint64(1+r.IntN(1<<15)) * page
		}
		word := func() string {
			w := words[r.IntN(len(words))]
			if !blanks {
				w = strings.ReplaceAll(w, " ", "")
			}
			return w
		}
		name := fmt.Sprintf("%s%d", word(), r.IntN(100))
		if blanks && r.IntN(2) == 0 {
			name = word() + " " + name
		}
		switch {
		case system == 2 && bare:
			name = "lib" + name + ".so"
		case system == 2:
			name = "/usr/lib/" + word() + "/" + name + ".so." + fmt.Sprint(r.IntN(9))
		case bare:
			name += []string{".dll", ".exe", ".ocx"}[r.IntN(3)]
		default:
			name = `C:\` + word() + `\` + word() + `\` + name + ".dll"
		}
		list = append(list, Module{Base: base, Size: size, Path: name})
		base += (size + step - 1) / step * step
		base += uint64(r.IntN(200)) * step
		if system == 0 && base > 0x70000000 {
			break
		}
	}
	// Loaders list modules in any order, the program first.
	r.Shuffle(len(list)-1, func(i, j int) { list[i+1], list[j+1] = list[j+1], list[i+1] })
	return list
}

// randomLayout writes a list in some form.
func randomLayout(r *rand.Rand, list []Module) string {
	number := func(form int, v uint64) string {
		return fmt.Sprintf([]string{"0x%x", "0x%08X", "%08X", "%016x", "%d", "%x"}[form], v)
	}
	baseForm, sizeForm := r.IntN(6), r.IntN(6)
	// parts are base, name and size of a module in the file's order.
	order := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}[r.IntN(6)]
	if r.IntN(2) == 0 {
		order = []int{0, 1, 2}
	}
	quote := r.IntN(4) == 0
	end := r.IntN(12) == 0
	parts := func(m Module) []string {
		name, size := m.Path, m.Size
		if quote {
			name = `"` + name + `"`
		}
		if end {
			size += m.Base
		}
		p := []string{number(baseForm, m.Base), name, number(sizeForm, size)}
		return []string{p[order[0]], p[order[1]], p[order[2]]}
	}
	var b strings.Builder
	switch r.IntN(4) {
	case 0:
		b.WriteString("2026-11-21 11:22:33.456\n123456789\n")
	case 1:
		b.WriteString("21.11.2026 11:22:33 Tick=123456\n")
	case 2:
		b.WriteString("2026 11 6 21 11 22 33 456\n" + fmt.Sprint(r.Uint32()) + "\n")
	}
	labels := [][]string{{"Load Address", "Module", "Size"}, {"base", "path", "size"}, {"ImageBase", "Name", "SizeOfImage"}, {"加载地址", "模块名", "大小"}}[r.IntN(4)]
	if end {
		labels = []string{"Base", "Module", "End"}
	}
	separator := []string{" ", "\t", ",", ";", " | ", ", "}[r.IntN(6)]
	switch shape := r.IntN(10); {
	case shape < 5: // a line a module
		extra := r.IntN(5)
		if len(list) < 4 {
			extra = 4
		}
		for i, m := range list {
			p := parts(m)
			switch extra {
			case 0:
				p = append([]string{fmt.Sprint(i + 1)}, p...)
			case 1:
				p = append(p, number(baseForm, m.Base+0x1234))
			}
			fmt.Fprintln(&b, strings.Join(p, separator))
		}
	case shape < 7: // a part a line
		blank := r.IntN(2) == 0
		for _, m := range list {
			fmt.Fprintln(&b, strings.Join(parts(m), "\n"))
			if blank {
				b.WriteString("\n")
			}
		}
	default: // labels
		colon, between := []string{": ", ":", "=", " = "}[r.IntN(4)], []string{", ", "\n", "; ", "\n\t"}[r.IntN(4)]
		for _, m := range list {
			var line []string
			for i, p := range parts(m) {
				line = append(line, labels[order[i]]+colon+p)
			}
			fmt.Fprintln(&b, strings.Join(line, between))
		}
	}
	return b.String()
}

// TestRandomLayouts: a list in any form is read as it is, or refused; it is
// never read wrong.
func TestRandomLayouts(t *testing.T) {
	rounds := 5_000
	if testing.Short() {
		rounds = 500
	}
	read, wrong, long := 0, 0, 0
	for seed := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		list := randomList(r)
		text := randomLayout(r, list)
		var opt Options
		if r.IntN(2) == 0 {
			for range 100 {
				m := list[r.IntN(len(list))]
				opt.Addresses = append(opt.Addresses, []uint64{m.Base + r.Uint64N(m.Size)})
			}
			opt.Addresses = [][]uint64{slices.Concat(opt.Addresses...), {r.Uint64(), r.Uint64()}}
		}
		f, err := Parse([]byte(text), opt)
		if len(list) >= 6 {
			long++
		}
		var ambiguous *AmbiguousError
		if err != nil {
			if !errors.As(err, &ambiguous) && !errors.Is(err, ErrNoModules) {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
			continue
		}
		if len(f.Modules) == 0 {
			if len(f.Notes) == 0 {
				t.Fatalf("seed %d: nothing was read, and nothing is said\n%s", seed, text)
			}
			continue
		}
		if len(list) >= 6 {
			read++
		}
		same := slices.EqualFunc(f.Modules, list, func(a, b Module) bool { return a.Base == b.Base && a.Size == b.Size && a.Path == b.Path })
		if !same {
			if wrong++; wrong <= 3 {
				t.Errorf("seed %d, as %s:\n%s\nread as\n%s", seed, f.Columns, text, describe(f))
			}
		}
	}
	// So that refusing everything is no way to pass.
	if part := float64(read) / float64(long); part < 0.97 {
		t.Errorf("of lists of 6 modules and more %.3f were read", part)
	}
	t.Logf("%d of %d lists of 6 modules and more read, %d of %d wrong", read, long, wrong, rounds)
}
