package breakpad

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/symtest"
)

// sample has each kind of record, in no order that dump_syms would write.
const sample = `MODULE Linux x86_64 20AD60B0B4C68177552708AA192E77390 app
INFO CODE_ID B060AD20C6B47781552708AA192E7739FAC7C84A
INFO GENERATOR hand
FILE 0 /src/a b.cpp
FILE 1 /src/shape.h
FILE 7 /src/late.cpp
INLINE_ORIGIN 0 app::Shape::area() const
INLINE_ORIGIN 1 app::square(double)
FUNC 2000 30 0 app::total(std::vector<int, std::allocator<int> > const&)
INLINE 0 21 0 0 2010 10 2028 4
INLINE 1 5 1 1 2014 4
2000 10 20 0
2010 4 5 1
2014 4 9 7
2018 8 6 1
2020 8 22 0
2028 4 5 1
FUNC m 1000 20 8 main
1000 20 3 0
FUNC 1000 20 8 also_main(int, char**)
FUNC 1008 4 0 inner
FUNC 5000 0 0 sizeless
STACK CFI INIT 2000 30 .cfa: $rsp 8 +
PUBLIC 3000 0 _start
PUBLIC m 1800 10 handler(int)
PUBLIC 4000 0 <.plt ELF section in app>
PUBLIC 3000 0 start_alias
FUNC 6000 10 0 old
INLINE 0 77 1 6000 8
INLINE 0 99 0 6000 8
6000 10 78 0
FUNC 7000 10 0 gap
INLINE 1 77 0 1 7000 8
FUNC 8000 10 0 cut
8000 10 5 0
PUBLIC a0000 0 last
PUBLIC 9000 0 cut_of`

func openText(t testing.TB, text string) *Table {
	t.Helper()
	table, err := Open(&symbols.File{Path: "app.sym", ReaderAt: strings.NewReader(text), Size: int64(len(text))})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// brief writes a symbol in one line: the frames from the inside out.
func brief(s symbols.Symbol) string {
	var b strings.Builder
	for _, f := range s.Frames {
		fmt.Fprintf(&b, "%s", f.Function)
		if f.Signature != "" {
			fmt.Fprintf(&b, " [%s]", f.Signature)
		}
		if f.Line != 0 || f.File != "" {
			fmt.Fprintf(&b, " %s:%d", f.File, f.Line)
		}
		b.WriteString("; ")
	}
	fmt.Fprintf(&b, "%x+%x %s", s.Start, s.Size, s.Kind)
	if len(s.Aliases) > 0 {
		fmt.Fprintf(&b, " also %s", strings.Join(s.Aliases, ", "))
	}
	return b.String()
}

func TestLookup(t *testing.T) {
	table := openText(t, sample)
	const (
		total  = "app::total [app::total(std::vector<int, std::allocator<int> > const&)]"
		area   = "app::Shape::area [app::Shape::area() const]"
		square = "app::square [app::square(double)]"
	)
	tests := []struct {
		rva  uint64
		want string
	}{
		{0xFFF, ""},
		{0x1000, "main /src/a b.cpp:3; 1000+20 procedure also also_main"},
		{0x1008, "inner; 1008+4 procedure"},
		{0x100C, "main /src/a b.cpp:3; 1000+20 procedure also also_main"},
		{0x1020, ""},
		{0x1800, "handler [handler(int)]; 1800+0 public"},
		{0x1FFF, "handler [handler(int)]; 1800+0 public"},
		{0x2000, total + " /src/a b.cpp:20; 2000+30 procedure"},
		{0x2010, area + " /src/shape.h:5; " + total + " /src/a b.cpp:21; 2000+30 procedure"},
		{0x2015, square + " /src/late.cpp:9; " + area + " /src/shape.h:5; " + total + " /src/a b.cpp:21; 2000+30 procedure"},
		{0x2018, area + " /src/shape.h:6; " + total + " /src/a b.cpp:21; 2000+30 procedure"},
		{0x2021, total + " /src/a b.cpp:22; 2000+30 procedure"},
		{0x2029, area + " /src/shape.h:5; " + total + " /src/a b.cpp:21; 2000+30 procedure"},
		{0x202C, total + "; 2000+30 procedure"},
		{0x2030, ""}, // handler ends where a function begins
		{0x3010, "_start; 3000+0 public also start_alias"},
		{0x4010, "<.plt ELF section in app>; 4000+0 plt"},
		{0x5000, "sizeless; 5000+0 procedure"},
		{0x5001, ""},
		{0x6004, square + " /src/a b.cpp:78; old :77; 6000+10 procedure"},
		{0x7004, "gap; 7000+10 procedure"},
		{0x8004, "cut /src/a b.cpp:5; 8000+10 procedure"},
		{0x9000, ""},
		{0xA0000 + maxPublic - 1, "last; a0000+0 public"},
		{0xA0000 + maxPublic, ""},
		{1 << 60, ""},
	}
	for _, tt := range tests {
		s, err := table.Lookup(tt.rva)
		if tt.want == "" {
			if !errors.Is(err, symbols.ErrNotFound) {
				t.Errorf("%#x: got %s, %v; want none", tt.rva, brief(s), err)
			}
			continue
		}
		if err != nil || brief(s) != tt.want {
			t.Errorf("%#x:\ngot  %s, %v\nwant %s", tt.rva, brief(s), err, tt.want)
		}
	}
}

func TestProcedures(t *testing.T) {
	var got []string
	err := openText(t, sample).Procedures(func(rva uint64, name string) bool {
		got = append(got, fmt.Sprintf("%x %s", rva, name))
		return true
	})
	want := "1000 main, 1008 inner, 2000 app::total, 5000 sizeless, 6000 old, 7000 gap, 8000 cut, " +
		"1800 handler, 3000 _start, 4000 <.plt ELF section in app>, a0000 last"
	if err != nil || strings.Join(got, ", ") != want {
		t.Errorf("got  %s, %v\nwant %s", strings.Join(got, ", "), err, want)
	}
}

func TestIdentity(t *testing.T) {
	const build = "\xb0\x60\xad\x20\xc6\xb4\x77\x81\x55\x27\x08\xaa\x19\x2e\x77\x39"
	const full = build + "\xfa\xc7\xc8\x4a"
	linux := "MODULE Linux x86_64 20AD60B0B4C68177552708AA192E77390 app\n"
	short := "MODULE Linux x86_64 20AD60B0B4C6817700000000000000000 app\n"
	windows := "MODULE windows x86_64 72E103A85CB249078B76B2E7C06257B11a app.pdb\n"
	mingw := "MODULE windows x86 000000000000000000000000000000000 app.dll\n"
	guid, err := modules.ParseGUID("72E103A85CB249078B76B2E7C06257B1")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, head, identity string
		other                modules.Identity
		want                 modules.Match
	}{
		{"code id", linux + "INFO CODE_ID B060AD20C6B47781552708AA192E7739FAC7C84A\n",
			"build-id:b060ad20c6b47781552708aa192e7739fac7c84a", modules.Identity{BuildID: full}, modules.Same},
		{"code id of another build", linux + "INFO CODE_ID B060AD20C6B47781552708AA192E7739FAC7C84A\n",
			"build-id:b060ad20c6b47781552708aa192e7739fac7c84a", modules.Identity{BuildID: full[:19] + "x"}, modules.Different},
		{"module id alone", linux, "-", modules.Identity{BuildID: full}, modules.Same},
		{"module id alone, other build", linux, "-", modules.Identity{BuildID: "x" + full[1:]}, modules.Different},
		{"short build-id", short, "-", modules.Identity{BuildID: full[:8]}, modules.Same},
		{"short build-id against a longer one", short, "-", modules.Identity{BuildID: full}, modules.Different},
		{"nothing to compare", linux, "-", modules.Identity{Timestamp: 1}, modules.Unknown},
		{"GUID", windows, "pdb:72E103A8-5CB2-4907-8B76-B2E7C06257B1:26", modules.Identity{PDB: guid, Age: 26}, modules.Same},
		{"age", windows, "pdb:72E103A8-5CB2-4907-8B76-B2E7C06257B1:26", modules.Identity{PDB: guid, Age: 1}, modules.Different},
		{"time stamp", mingw + "INFO CODE_ID 63CF13F21F000 app.dll\n", "pe:63CF13F2:1f000",
			modules.Identity{Timestamp: 0x63CF13F2, ImageSize: 0x1F000}, modules.Same},
		{"no GUID", mingw, "-", modules.Identity{PDB: guid, Age: 1}, modules.Unknown},
	}
	for _, tt := range tests {
		table := openText(t, tt.head+"PUBLIC 10 0 f\n")
		if got := table.Identity().String(); got != tt.identity {
			t.Errorf("%s: identity %s, want %s", tt.name, got, tt.identity)
		}
		if got := table.Compare(tt.other); got != tt.want {
			t.Errorf("%s: compared %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestDamage(t *testing.T) {
	const head = "MODULE Linux x86_64 20AD60B0B4C68177552708AA192E77390 app\n"
	tests := []struct {
		name, text, want string
		none             bool
	}{
		{"empty", "", "no MODULE record", false},
		{"no end of line", "MODULE Linux x86_64 20AD60B0B4C68177552708AA192E77390 app", "no MODULE record", false},
		{"short id", "MODULE Linux x86_64 20AD app\n", "not a MODULE record", false},
		{"id without digits", "MODULE Linux x86_64 xxAD60B0B4C68177552708AA192E77390 app\n", "not a MODULE record", false},
		{"no function", head + "FILE 0 a\n", "no symbols", true},
		{"address", head + "FUNC xyz 10 0 f\n", "offset 0x3a: a damaged FUNC record", false},
		{"number of a file", head + "FILE -1 f\n", "offset 0x3a: a damaged FILE record", false},
		{"endless line", "MODULE " + strings.Repeat("x", 1<<18) + "\n", "too large", false},
	}
	for _, tt := range tests {
		_, err := Open(&symbols.File{Path: "app.sym", ReaderAt: strings.NewReader(tt.text), Size: int64(len(tt.text))})
		if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, symbols.ErrNoSymbols) != tt.none {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestLongNames finds names that are longer than what is read at once, and says so if the file has changed since it was opened.
func TestLongNames(t *testing.T) {
	long := "_" + strings.Repeat("x", 100_000)
	data := []byte("MODULE Linux x86_64 20AD60B0B4C68177552708AA192E77390 app\nFUNC 1000 10 0 " + long + "\nPUBLIC 3000 0 last\n")
	file := &symbols.File{Path: "app.sym", ReaderAt: bytes.NewReader(data), Size: int64(len(data))}
	if !Format.Detect(data) || Format.Detect(data[1:]) {
		t.Error("the file is not told from others")
	}
	opened, err := Format.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	table := opened.(*Table)
	if table.ModuleID() != "20AD60B0B4C68177552708AA192E77390" || table.Describe() != "Breakpad symbols" || table.File() != file {
		t.Errorf("%s, module id %s", table.Describe(), table.ModuleID())
	}
	if sym, err := table.Lookup(0x1008); err != nil || sym.Outermost().Function != long {
		t.Errorf("the long name: %v", err)
	}
	var got []uint64
	if err := table.Procedures(func(rva uint64, _ string) bool { got = append(got, rva); return false }); err != nil || len(got) != 1 || got[0] != 0x1000 {
		t.Errorf("one procedure was asked for: %x, %v", got, err)
	}
	copy(data[bytes.Index(data, []byte("FUNC")):], "WHAT")
	if _, err := table.Lookup(0x1008); err == nil || !strings.Contains(err.Error(), "the file has changed") {
		t.Errorf("a record that is gone: %v", err)
	}
	if err := table.Procedures(func(uint64, string) bool { return true }); err == nil || !strings.Contains(err.Error(), "the file has changed") {
		t.Errorf("a record that is gone, among all: %v", err)
	}
	// A line without an end is too long.
	for i := range data {
		if data[i] == '\n' {
			data[i] = 'x'
		}
	}
	if _, err := table.Lookup(0x1008); err == nil {
		t.Error("a line without an end is read")
	}
}

// TestLarge reads files of nothing but the shortest records.
func TestLarge(t *testing.T) {
	const size = 16 << 20
	const head = "MODULE Linux x86_64 20AD60B0B4C68177552708AA192E77390 app\n"
	repeat := func(line func(i int) string) string {
		var b strings.Builder
		b.Grow(size + 100)
		b.WriteString(head)
		for i := 0; b.Len() < size; i++ {
			b.WriteString(line(i))
		}
		return b.String()
	}
	for _, c := range []struct {
		name, file string
		err        error
	}{
		{"functions", repeat(func(i int) string { return "FUNC 1 1 0 f\n" }), nil},
		{"functions backwards", repeat(func(i int) string { return fmt.Sprintf("FUNC %x 1 0 f\n", 1<<30-i) }), nil},
		{"publics", repeat(func(i int) string { return "PUBLIC 1 0 f\n" }), nil},
		{"files", repeat(func(i int) string { return fmt.Sprintf("FILE %d\n", i) }), symbols.ErrNoSymbols},
		{"files in no order", repeat(func(i int) string {
			return fmt.Sprintf("FILE %d\nINLINE_ORIGIN %d\n", int64(i)*7%(1<<31), int64(i)*5%(1<<31))
		}),
			symbols.ErrNoSymbols},
		{"one function", repeat(func(i int) string {
			if i == 0 {
				return "FUNC 1 ffff 0 f\n"
			}
			return "1 ffff 1 1\n"
		}), nil},
		{"inlined calls", repeat(func(i int) string {
			if i == 0 {
				return "FUNC 1 ffff 0 f\n"
			}
			return fmt.Sprintf("INLINE %d 1 1 1 1 ffff\n", i%1000)
		}), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var table *Table
			var err error
			symtest.Limited(t, c.name, len(c.file), func() {
				table, err = Open(&symbols.File{Path: "app.sym", ReaderAt: strings.NewReader(c.file), Size: int64(len(c.file))})
			})
			if !errors.Is(err, c.err) {
				t.Fatal(err)
			}
			if err == nil {
				symtest.Limited(t, c.name, 0, func() { table.Lookup(1) })
			}
		})
	}
}

// TestHostile damages the sample.
func TestHostile(t *testing.T) {
	symtest.Hostile(t, "sample", []byte(sample), symtest.Rounds(1000), func(data []byte) {
		table, err := Open(&symbols.File{Path: "app.sym", ReaderAt: bytes.NewReader(data), Size: int64(len(data))})
		if err != nil {
			return
		}
		table.Procedures(func(rva uint64, _ string) bool {
			table.Lookup(rva)
			table.Lookup(rva + 0x10)
			return true
		})
	})
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte(sample), uint64(0x2015))
	f.Add([]byte("MODULE windows x86 000000000000000000000000000000001 a\nINFO CODE_ID 63CF13F21F000 a\nFUNC m 1 1 1 a\n1 1 1 1\n"), uint64(1))
	f.Add([]byte("MODULE Linux x 20AD60B0B4C68177552708AA192E77390 a\nFUNC ffffffffffff ffffffffffffffff 0 a\n"), uint64(1<<48-1))
	f.Fuzz(func(t *testing.T, data []byte, rva uint64) {
		table, err := Open(&symbols.File{Path: "fuzz", ReaderAt: bytes.NewReader(data), Size: int64(len(data))})
		if err != nil {
			return
		}
		n := 0
		check := func(rva uint64) {
			s, err := table.Lookup(rva)
			if err != nil {
				if !errors.Is(err, symbols.ErrNotFound) && !errors.Is(err, ErrSize) {
					t.Errorf("%#x: %v", rva, err)
				}
				return
			}
			if len(s.Frames) == 0 || s.Start > rva {
				t.Errorf("%#x: %+v", rva, s)
			}
		}
		check(rva)
		err = table.Procedures(func(rva uint64, name string) bool {
			check(rva)
			n++
			return n < 100
		})
		if err != nil && !errors.Is(err, ErrSize) {
			t.Error(err)
		}
		table.Identity()
		table.Compare(modules.Identity{BuildID: "0123456789abcdef0123"})
	})
}
