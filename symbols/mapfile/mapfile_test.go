package mapfile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"logparser/symbols"
	"logparser/symbols/demangle"
	"logparser/symbols/symtest"
)

func openBytes(b []byte) (*Table, error) {
	return Open(&symbols.File{Path: "test.map", ReaderAt: bytes.NewReader(b), Size: int64(len(b))})
}

func openFile(t *testing.T, name string) *Table {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if !Detect(b[:min(len(b), 64)]) {
		t.Errorf("%s is not detected", name)
	}
	table, err := openBytes(b)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// A golden function, from the symbol table of the image that a map is of.
type golden struct {
	rva    uint64
	static bool
	name   string
}

func readGolden(t *testing.T, name string) []golden {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var list []golden
	for _, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		f := strings.SplitN(l, " ", 3)
		rva, err := strconv.ParseUint(f[0], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, golden{rva, f[1] == "t", f[2]})
	}
	return list
}

// TestAgainstSymbolTables looks every function of an image's own symbol table
// up in the image's map.
func TestAgainstSymbolTables(t *testing.T) {
	for _, c := range []struct {
		file, golden, describe string
		// globals says that the linker lists no static functions and that the
		// object files give them no sections of their own.
		globals bool
		is386   bool
	}{
		{file: "lld-link-x86_64.map", golden: "lld-link-x86_64.golden", describe: "MSVC link map"},
		{file: "lld-link-x86_64.lldmap", golden: "lld-link-x86_64.golden", describe: "lld-link map"},
		{file: "lld-link-i686.map", golden: "lld-link-i686.golden", describe: "MSVC link map", is386: true},
		{file: "lld-link-i686.lldmap", golden: "lld-link-i686.golden", describe: "lld-link map", is386: true},
		{file: "mingw-x86_64.map", golden: "mingw-x86_64.golden", describe: "GNU ld map", globals: true},
		{file: "mingw-i686.map", golden: "mingw-i686.golden", describe: "GNU ld map", globals: true, is386: true},
		{file: "bfd.map", golden: "bfd.golden", describe: "GNU ld map"},
		{file: "bfd-mangled.map", golden: "bfd-mangled.golden", describe: "GNU ld map"},
		{file: "bfd-joined.map", golden: "bfd-joined.golden", describe: "GNU ld map", globals: true},
		{file: "bfd-shared.map", golden: "bfd-shared.golden", describe: "GNU ld map", globals: true},
		{file: "gold.map", golden: "gold.golden", describe: "GNU ld map"},
		{file: "lld.map", golden: "lld.golden", describe: "ld.lld map"},
		{file: "lld-mangled.map", golden: "lld-mangled.golden", describe: "ld.lld map"},
		{file: "lld-pie.map", golden: "lld-pie.golden", describe: "ld.lld map"},
		{file: "mold.map", golden: "mold.golden", describe: "mold map"},
		{file: "mold-pie.map", golden: "mold-pie.golden", describe: "mold map"},
	} {
		t.Run(c.file, func(t *testing.T) {
			table := openFile(t, c.file)
			defer table.Close()
			if got := table.Describe(); got != c.describe {
				t.Errorf("described as %q, want %q", got, c.describe)
			}
			functions := readGolden(t, c.golden)
			starts := map[uint64]bool{}
			for i, g := range functions {
				starts[g.rva] = true
				want := demangle.Short(g.name)
				if want == g.name {
					want = demangle.CName(g.name, c.is386)
				} else if c.is386 {
					want = demangle.Short(strings.TrimPrefix(g.name, "_"))
				}
				s, err := table.Lookup(g.rva)
				if g.static && c.globals {
					if err == nil && (s.Start == g.rva || s.Kind != symbols.Public || s.Size != 0) {
						t.Errorf("%#x: %+v for the static function %s", g.rva, s, want)
					}
					continue
				}
				if err != nil {
					t.Errorf("%#x %s: %v", g.rva, want, err)
					continue
				}
				names := append([]string{s.Frames[0].Function}, s.Aliases...)
				if s.Start != g.rva || !contains(names, want) {
					t.Errorf("%#x: got %q at %#x, want %q", g.rva, names, s.Start, want)
				}
				// The byte before belongs to another function, or to none.
				if i > 0 && functions[i-1].rva < g.rva {
					if s, err := table.Lookup(g.rva - 1); err == nil && s.Start >= g.rva {
						t.Errorf("%#x: answered by the function behind it", g.rva-1)
					}
				}
			}
			err := table.Procedures(func(rva uint64, name string) bool {
				if !starts[rva] {
					t.Errorf("procedure %q at %#x is not in the image", name, rva)
				}
				delete(starts, rva)
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(starts) > 0 && !c.globals {
				t.Errorf("procedures not given: %v", starts)
			}
		})
	}
}

func contains(list []string, want string) bool {
	for _, s := range list {
		if s == want {
			return true
		}
	}
	return false
}

func TestIdentity(t *testing.T) {
	table := openFile(t, "lld-link-x86_64.map")
	if id := table.Identity(); id.Timestamp != 1700000000 {
		t.Errorf("time stamp %d", id.Timestamp)
	}
	if base := table.PreferredBase(); base != 0x140000000 {
		t.Errorf("preferred base %#x", base)
	}
	if id := openFile(t, "lld.map").Identity(); !id.IsZero() {
		t.Errorf("identity %v out of a map that has none", id)
	}
}

// describe writes an answer in one line.
func describe(s symbols.Symbol, err error) string {
	if err != nil {
		if errors.Is(err, symbols.ErrNotFound) {
			return "-"
		}
		return err.Error()
	}
	text := fmt.Sprintf("%s %s [%x+%x]", s.Kind, s.Frames[0].Function, s.Start, s.Size)
	if len(s.Aliases) > 0 {
		text += fmt.Sprintf(" aliases %q", s.Aliases)
	}
	if s.Frames[0].File != "" {
		text += fmt.Sprintf(" at %s:%d", s.Frames[0].File, s.Frames[0].Line)
	}
	return text
}

// What link.exe writes, 32 bit, with line numbers.
const msvcMap32 = " demo\r\n" +
	"\r\n" +
	" Timestamp is 4f3a1b2c (Tue Feb 14 09:30:04 2012)\r\n" +
	"\r\n" +
	" Preferred load address is 00400000\r\n" +
	"\r\n" +
	" Start         Length     Name                   Class\r\n" +
	" 0001:00000000 00000200H .text                   CODE\r\n" +
	" 0001:00000200 00000040H .text$x                 CODE\r\n" +
	" 0002:00000000 00000100H .idata$5                DATA\r\n" +
	" 0002:00000100 00000080H .rdata                  DATA\r\n" +
	"\r\n" +
	"  Address         Publics by Value              Rva+Base       Lib:Object\r\n" +
	"\r\n" +
	" 0000:00000003       ___safe_se_handler_count   00000003     <absolute>\r\n" +
	" 0001:00000000       _main                      00401000 f   demo.obj\r\n" +
	" 0001:00000040       ?area@Shape@app@@UBENXZ    00401040 f i demo.obj\r\n" +
	" 0001:00000080       ?same_a@app@@YAHH@Z        00401080 f   demo.obj\r\n" +
	" 0001:00000080       ?same_b@app@@YAHH@Z        00401080 f   other file.obj\r\n" +
	" 0001:000000c0       ?a_name_that_is_longer_than_its_column@app@@YAXXZ 004010c0 f   demo.obj\r\n" +
	" 0001:000000e0       _table                     004010e0     demo.obj\r\n" +
	" 0001:00000100       _DllMain@12                00401100 f   LIBCMT:dll.obj\r\n" +
	" 0001:00000120       -[Shape area:]             00401120 f   objc.obj\r\n" +
	" 0002:00000000       __imp__ExitProcess@4       00403000     kernel32:KERNEL32.dll\r\n" +
	" 0002:00000100       ??_C@_02PCEFGMJL@hi?$AA@   00403100     demo.obj\r\n" +
	"\r\n" +
	" entry point at        0001:00000000\r\n" +
	"\r\n" +
	" Static symbols\r\n" +
	"\r\n" +
	" 0001:00000140       _only_here                 00401140 f   demo.obj\r\n" +
	" 0001:00000160       @ILT+5(_main)              00401160 f   demo.obj\r\n" +
	" 0001:00000200       __unwindfunclet$_main$0    00401200 f   demo.obj\r\n" +
	"\r\n" +
	"Line numbers for .\\Debug\\demo.obj(c:\\src (old)\\demo.cpp) segment .text\r\n" +
	"\r\n" +
	"     5 0001:00000000     6 0001:00000010     9 0001:00000020    12 0001:00000040\r\n" +
	"    13 0001:00000048\r\n" +
	"\r\n" +
	"Line numbers for .\\Debug\\b.obj(c:\\src\\b.c) segment .text\r\n" +
	"\r\n" +
	"    77 0001:00000140\r\n" +
	"\r\n" +
	" Exports\r\n" +
	"\r\n" +
	"  ordinal    name\r\n" +
	"\r\n" +
	"        1    _DllMain@12\r\n" +
	"\r\n" +
	"FIXUPS: 00001004 a4 c 1b\r\n"

// The same linker for x64, where addresses have sixteen digits.
const msvcMap64 = " demo64\n\n Timestamp is 5f3a1b2c (Mon Aug 17 07:40:12 2020)\n\n" +
	" Preferred load address is 0000000180000000\n\n" +
	" Start         Length     Name                   Class\n" +
	" 0001:00000000 00000100H .text$mn                CODE\n" +
	" 0001:00000100 00000010H .text$yd                CODE\n" +
	" 0002:00000000 00000100H .rdata                  DATA\n\n" +
	"  Address         Publics by Value              Rva+Base               Lib:Object\n\n" +
	" 0001:00000000       ?run@app@@YAHXZ            0000000180001000 f   demo.obj\n" +
	" 0001:00000020       _underscored               0000000180001020 f   demo.obj\n" +
	" 0001:00000030       plain                      0000000180001030 f   demo.obj\n" +
	" 0001:00000100       ??__Fgi@@YAXXZ             0000000180001100 f   demo.obj\n" +
	" 0002:00000000       ??_7Shape@app@@6B@         0000000180002000     demo.obj\n"

func TestMSVC(t *testing.T) {
	for _, c := range []struct {
		name, text string
		timestamp  uint32
		base       uint64
		want       map[uint64]string
	}{
		{"32 bit", msvcMap32, 0x4f3a1b2c, 0x400000, map[uint64]string{
			0xfff:  "-",
			0x1000: `symbol main [1000+40] at c:\src (old)\demo.cpp:5`,
			0x103f: `symbol main [1000+40] at c:\src (old)\demo.cpp:9`,
			0x1047: `symbol app::Shape::area [1040+40] at c:\src (old)\demo.cpp:12`,
			0x1048: `symbol app::Shape::area [1040+40] at c:\src (old)\demo.cpp:13`,
			0x1080: `symbol app::same_a [1080+40] aliases ["app::same_b"]`,
			0x10c0: `symbol app::a_name_that_is_longer_than_its_column [10c0+20]`,
			0x10e0: "-", // data among the code
			0x10ff: "-",
			0x1100: "symbol DllMain [1100+20]",
			0x1120: "symbol -[Shape area:] [1120+20]",
			0x1140: `symbol only_here [1140+20] at c:\src\b.c:77`,
			0x1160: "ilt-thunk main [1160+a0]",
			0x11ff: "ilt-thunk main [1160+a0]",
			0x1200: "symbol _unwindfunclet$_main$0 [1200+40]",
			0x1240: "-", // behind the section
			0x3000: "-",
			0x3100: "-",
		}},
		{"64 bit", msvcMap64, 0x5f3a1b2c, 0x180000000, map[uint64]string{
			0x1000: "symbol app::run [1000+20]",
			0x1020: "symbol _underscored [1020+10]",
			0x1030: "symbol plain [1030+d0]",
			0x10ff: "symbol plain [1030+d0]",
			0x1100: "symbol `dynamic atexit destructor for 'gi'' [1100+10]",
			0x1110: "-",
			0x2000: "-",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !Detect([]byte(c.text[:64])) {
				t.Error("not detected")
			}
			table, err := openBytes([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if table.Identity().Timestamp != c.timestamp || table.PreferredBase() != c.base {
				t.Errorf("time stamp %#x, base %#x", table.Identity().Timestamp, table.PreferredBase())
			}
			for rva, want := range c.want {
				if got := describe(table.Lookup(rva)); got != want {
					t.Errorf("%#x: got %s\n want %s", rva, got, want)
				}
			}
		})
	}
}

// Forms of the other linkers that the installed versions do not write.
func TestOlderForms(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       map[uint64]string
	}{
		{"ld.lld without load addresses", "Address          Size             Align Out     In      Symbol\n" +
			"0000000000200190 0000000000000024     4 .note.gnu.build-id\n" +
			"0000000000201000 0000000000000050    16 .text\n" +
			"0000000000201000 0000000000000020    16         a.o:(.text)\n" +
			"0000000000201000 0000000000000008     0                 first(int)\n" +
			"0000000000201010 0000000000000000     0                 label\n" +
			"0000000000201018 0000000000000004     0                 second\n" +
			"0000000000201020 0000000000000030    16         b.o:(.text)\n" +
			"0000000000201020 0000000000000030     0                 outer\n" +
			"0000000000201028 0000000000000004     0                 inner\n",
			map[uint64]string{
				0x1000: "symbol first [1000+8]",
				0x1008: "-", // what the map gives a size does not reach farther
				0x1010: "symbol label [1010+8]",
				0x101b: "symbol second [1018+4]",
				0x101c: "-",
				0x1027: "symbol outer [1020+30]",
				0x1028: "symbol inner [1028+4]",
				0x102c: "symbol outer [1020+30]",
				0x1050: "-",
			}},
		{"GNU ld, headings in another language", "\n内存配置\n\n名称           来源             长度             属性\n\n链结器命令稿和内存映射\n\n" +
			".interp         0x00000000000002a8       0x1c\n" +
			".text           0x0000000000001040       0x40\n" +
			" .text          0x0000000000001040       0x20 a.o\n" +
			"                0x0000000000001040                first\n" +
			"                0x0000000000001050                _etext = .\n" +
			" *fill*         0x0000000000001060        0x8 \n" +
			" .text.unlikely._Z6secondv\n" +
			"                0x0000000000001068        0x8 a.o\n" +
			".data           0x0000000000003000       0x10\n" +
			" .data          0x0000000000003000       0x10 a.o\n" +
			"                0x0000000000003000                variable\n",
			map[uint64]string{
				0x1040: "public first [1040+0]",
				0x105f: "public first [1040+0]",
				0x1060: "-",
				0x1068: "public second [1068+0]",
				0x1070: "-",
				0x3000: "-",
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			table, err := openBytes([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			for rva, want := range c.want {
				if got := describe(table.Lookup(rva)); got != want {
					t.Errorf("%#x: got %s\n want %s", rva, got, want)
				}
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for name, text := range map[string]string{
		"empty":            "",
		"text":             "once upon a time\nthere was a log\n",
		"binary":           " demo\n\x00\x01\x02",
		"binary behind":    msvcMap64 + "\x00",
		"headings only":    msvcMap64[:strings.Index(msvcMap64, " 0001:00000000       ?run")],
		"no code":          strings.ReplaceAll(msvcMap64, "CODE", "DATA"),
		"another base":     strings.ReplaceAll(msvcMap64, "address is 0000000180000000", "address is 0000000190000000"),
		"no symbols, lld":  "Address          Size             Align Out     In      Symbol\n",
		"no symbols, mold": "               VMA       Size Align Out     In      Symbol\n          0x201450        376    16 .text\n",
	} {
		if _, err := openBytes([]byte(text)); !errors.Is(err, symbols.ErrNoSymbols) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLongLines has a name that is too long to be kept: its function is not
// known, and the one before it does not reach over it.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", 3*maxLine)
	text := strings.Replace(msvcMap64, "_underscored ", long+" ", 1)
	table, err := openBytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for rva, want := range map[uint64]string{
		0x1000: "symbol app::run [1000+30]",
		0x1030: "symbol plain [1030+d0]",
	} {
		if got := describe(table.Lookup(rva)); got != want {
			t.Errorf("%#x: got %s\n want %s", rva, got, want)
		}
	}
	text = strings.Replace(msvcMap64, "_underscored ", long[:maxSpanLength+1]+" ", 1)
	if table, err = openBytes([]byte(text)); err != nil {
		t.Fatal(err)
	}
	for rva, want := range map[uint64]string{
		0x101f: "symbol app::run [1000+20]",
		0x1020: "-",
		0x1030: "symbol plain [1030+d0]",
	} {
		if got := describe(table.Lookup(rva)); got != want {
			t.Errorf("%#x: got %s\n want %s", rva, got, want)
		}
	}
}

// TestCut cuts maps at every byte: whatever is still answered agrees with the
// whole map.
func TestCut(t *testing.T) {
	for _, text := range []string{msvcMap32, msvcMap64} {
		whole, err := openBytes([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for n := range text {
			table, err := openBytes([]byte(text[:n]))
			if err != nil {
				if !errors.Is(err, symbols.ErrNoSymbols) {
					t.Fatalf("cut at %d: %v", n, err)
				}
				continue
			}
			err = table.Procedures(func(rva uint64, name string) bool {
				s, err := whole.Lookup(rva)
				if err != nil || !contains(append(s.Aliases, s.Frames[0].Function), name) && s.Kind != symbols.ILTThunk {
					t.Errorf("cut at %d: %q at %#x, in the whole %s", n, name, rva, describe(s, err))
				}
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestLarge reads maps of nothing but the shortest lines that count.
func TestLarge(t *testing.T) {
	const size = 16 << 20
	repeat := func(head, line string) []byte {
		b := make([]byte, 0, size+len(head))
		b = append(b, head...)
		for len(b) < size {
			b = append(b, line...)
		}
		return b
	}
	numbered := msvcMap64 + "\nLine numbers for a.obj(a.cpp) segment .text\n\n"
	gnu := "Memory map\n\n.text 0x1000 0xfffffff\n"
	for _, c := range []struct {
		name string
		file []byte
		err  error
	}{
		{"line numbers", repeat(numbered, "1 0001:00000000 2 0001:00000001 3 0001:00000002 4 0001:00000003\n"), nil},
		{"sources", repeat(numbered, "Line numbers for a(b) segment .text\n"), nil},
		{"symbols", repeat(msvcMap64, " 0001:00000000 _f 0000000180001000 f a.o\n"), nil},
		{"sections", repeat(gnu, " .text._Z1fv 0x1000 0x1\n"), nil},
		{"segments", repeat(msvcMap64[:strings.Index(msvcMap64, " 0002:00000000")], " 0001:00000000 00000001H x CODE\n"), symbols.ErrNoSymbols},
		{"empty lines", repeat("Memory map\n", "\n"), symbols.ErrNoSymbols},
	} {
		t.Run(c.name, func(t *testing.T) {
			var table *Table
			var err error
			symtest.Limited(t, c.name, len(c.file), func() { table, err = openBytes(c.file) })
			if !errors.Is(err, c.err) {
				t.Fatal(err)
			}
			if err == nil {
				symtest.Limited(t, c.name, 0, func() { table.Lookup(0x1000) })
			}
		})
	}
}

// TestTablesLimit has a map that would take more memory than its size and the
// limit, which is lower here than it is.
func TestTablesLimit(t *testing.T) {
	defer func(old int64) { maxTables = old }(maxTables)
	maxTables = 0
	text := "Memory map\n\n.text 0x1 0xff\n" + strings.Repeat(" .text._Z1fv 0x1 0x1\n", 1000)
	if _, err := openBytes([]byte(text)); !errors.Is(err, symbols.ErrNoSymbols) || !strings.Contains(err.Error(), "more symbols than fit") {
		t.Errorf("got %v", err)
	}
	if _, err := openBytes([]byte(msvcMap64)); err != nil {
		t.Errorf("a real map: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte(msvcMap32))
	f.Add([]byte(msvcMap64))
	for _, name := range []string{"bfd.map", "gold.map", "lld.map", "mold.map", "lld-link-i686.lldmap", "mingw-i686.map"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		Detect(b)
		table, err := openBytes(b)
		if err != nil {
			return
		}
		n := 0
		err = table.Procedures(func(rva uint64, name string) bool {
			s, err := table.Lookup(rva)
			if err != nil || s.Start != rva {
				t.Fatalf("procedure %q at %#x: %s", name, rva, describe(s, err))
			}
			if s.Size > 0 {
				if s, err := table.Lookup(rva + s.Size - 1); err == nil && s.Start < rva && s.Kind == symbols.Symtab && s.Start+s.Size < rva {
					t.Fatalf("%#x is answered by %s", rva, describe(s, err))
				}
			}
			n++
			return n < 1000
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
