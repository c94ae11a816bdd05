package modules

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"logparser/message"
)

// describe prints a File in one form for comparison.
func describe(f *File) string {
	var b strings.Builder
	if f.StartText != "" {
		fmt.Fprintf(&b, "start %s\n", f.StartText)
	}
	if f.HasTick {
		fmt.Fprintf(&b, "tick %d\n", f.Tick)
	}
	for _, m := range f.Modules {
		fmt.Fprintf(&b, "%x+%x", m.Base, m.Size)
		if m.PointerSize != 0 {
			fmt.Fprintf(&b, " /%d", m.PointerSize)
		}
		if m.Identity != (Identity{}) {
			fmt.Fprintf(&b, " %s %x,%x", m.Identity, m.Identity.Timestamp, m.Identity.ImageSize)
		}
		fmt.Fprintf(&b, " %s\n", m.Path)
	}
	return b.String()
}

func TestParse(t *testing.T) {
	for _, test := range []struct {
		name, in, want string
		// notes are parts of the notes expected, in order.
		notes []string
	}{
		{
			name: "the recorder's own",
			in: `# LogParser modules file 1: base size pointer-size identity timestamp path
2026-11-21T11:22:33.456
123456789
0x00007ff6a0000000 0x0001c000 8 pdb:0123ABCD-4567-89AB-CDEF-0123456789AB:1 0x5f000001 C:\a b\sample.exe
0x00007ff800000000 0x00200000 8 - 0x5f000002 C:\Windows\System32\KERNEL32.dll
0x0000555555554000 0x00005000 8 build-id:0a1b2c - /home/x/a.out
0x00007ffff7fc1000 0x00002000 8 - - [vdso]
`,
			want: `start 2026-11-21T11:22:33.456
tick 123456789
7ff6a0000000+1c000 /8 pdb:0123ABCD-4567-89AB-CDEF-0123456789AB:1 5f000001,1c000 C:\a b\sample.exe
7ff800000000+200000 /8 pe:5F000002:200000 5f000002,200000 C:\Windows\System32\KERNEL32.dll
555555554000+5000 /8 build-id:0a1b2c 0,0 /home/x/a.out
7ffff7fc1000+2000 /8 [vdso]
`,
		},
		{
			name: "the recorder's own, a path that is not UTF-8",
			in:   HeaderLine + "\n0x400000 0x1000 8 - - /home/\xe4\xb8\xad/\xff\xc4\n",
			want: "400000+1000 /8 /home/\xe4\xb8\xad/\xff\xc4\n",
		},
		{
			name: "the recorder's own, header lost",
			in:   "0x400000 0x10000 4 - 0x5f000002 C:\\8 a.exe\n",
			want: "400000+10000 /4 pe:5F000002:10000 5f000002,10000 C:\\8 a.exe\n",
		},
		{
			name: "the recorder's own, columns damaged",
			in: HeaderLine + "\n" +
				"0x400000 0x10000 4 pdb:zz:1 0x5 a.exe\n0x500000 0x10000 4 - q b.exe\n0x600000 0x10000 c.exe\n0x700000 0x10000 4 - 0x123456789 d.exe\n",
			want:  "400000+10000 /4 pe:00000005:10000 5,10000 a.exe\n500000+10000 /4 b.exe\n600000+10000 c.exe\n700000+10000 /4 d.exe\n",
			notes: []string{`line 2 of the modules file: identity "pdb:zz:1"`, `line 3 of the modules file: timestamp "q"`, "line 4 of the modules file lacks columns", `line 5 of the modules file: timestamp "0x123456789"`},
		},
		{
			name:  "a later version",
			in:    "# LogParser modules file 2: more\n0x400000 0x10000 4 - - a.exe\n",
			want:  "400000+10000 /4 a.exe\n",
			notes: []string{`has version "2"`},
		},
		{
			name: "SYSTEMTIME, tick and a path that looks like a column",
			in:   "2026 11 6 21 11 22 33 456\n1000\n0x400000 0x10000 8 ball pool.exe\n",
			want: "start 2026 11 6 21 11 22 33 456\ntick 1000\n400000+10000 8 ball pool.exe\n",
		},
		{
			name: "SYSTEMTIME and tick in one line, commas",
			in:   "2026,11,6,21,11,22,33,456,1000\n0x400000,0x10000,\"C:\\a, b\\c.exe\"\n",
			want: "start 2026,11,6,21,11,22,33,456\ntick 1000\n400000+10000 C:\\a, b\\c.exe\n",
		},
		{
			name: "ISO and tick in one line",
			in:   "2026-11-21 11:22:33.456 +0800 1000\n0x400000\t0x10000\tC:\\c.exe\r\n",
			want: "start 2026-11-21 11:22:33.456 +0800\ntick 1000\n400000+10000 C:\\c.exe\n",
		},
		{
			name: "ISO with a zone and no tick",
			in:   "2026-11-21 11:22:33 +0800\n",
			want: "start 2026-11-21 11:22:33 +0800\n",
		},
		{
			name: "ISO without seconds",
			in:   "2026-11-21 11:22\n",
			want: "start 2026-11-21 11:22\n",
		},
		{
			name: "negative tick of %d, old Macintosh line ends",
			in:   "-1\r0x400000 0x10000 c.exe\r",
			want: "tick 4294967295\n400000+10000 c.exe\n",
		},
		{
			name:  "GetTickCount64",
			in:    "4294967301\n",
			want:  "tick 5\n",
			notes: []string{"low 32 bits"},
		},
		{
			name: "a tick in hexadecimal, one with zeros in front",
			in:   "0x10\n",
			want: "tick 16\n",
		},
		{
			name: "zeros in front are not octal",
			in:   "0010\n",
			want: "tick 10\n",
		},
		{
			name: "hexadecimal by %p and %x",
			in:   "00400000 0001C000 C:\\a.exe\n10000000 00025000 C:\\b.dll\n",
			want: "400000+1c000 C:\\a.exe\n10000000+25000 C:\\b.dll\n",
		},
		{
			name: "hexadecimal by a letter anywhere in the column",
			in:   "400000 10000 C:\\a.exe\n6fd0000 4000 C:\\b.dll\n",
			want: "400000+10000 C:\\a.exe\n6fd0000+4000 C:\\b.dll\n",
			// The sizes show nothing, but bases and sizes are judged together.
			notes: []string{"load addresses are read as hexadecimal and sizes as hexadecimal"},
		},
		{
			name:  "no mark at all, hexadecimal by alignment",
			in:    "400000 10000 C:\\a.exe\n",
			want:  "400000+10000 C:\\a.exe\n",
			notes: []string{"load addresses are read as hexadecimal and sizes as hexadecimal"},
		},
		{
			name:  "no mark at all, decimal by alignment",
			in:    "4194304 65536 C:\\a.exe\n268435456 151552 C:\\b.dll\n",
			want:  "400000+10000 C:\\a.exe\n10000000+25000 C:\\b.dll\n",
			notes: []string{"load addresses are read as decimal and sizes as decimal"},
		},
		{
			name:  "bases by %p, sizes by %u",
			in:    "0x400000 65536 C:\\a.exe\n0x10000000 151552 C:\\b.dll\n",
			want:  "400000+10000 C:\\a.exe\n10000000+25000 C:\\b.dll\n",
			notes: []string{"load addresses are read as hexadecimal and sizes as decimal"},
		},
		{
			name:  "bases by %u, sizes by %x",
			in:    "4194304 0x10000 C:\\a.exe\n268435456 0x25000 C:\\b.dll\n",
			want:  "400000+10000 C:\\a.exe\n10000000+25000 C:\\b.dll\n",
			notes: []string{"load addresses are read as decimal and sizes as hexadecimal"},
		},
		{
			name:  "64-bit decimals",
			in:    "140695073390592 114688 C:\\a.exe\n",
			want:  "7ff61fdf0000+1c000 C:\\a.exe\n",
			notes: []string{"load addresses are read as decimal and sizes as decimal"},
		},
		{
			name:  "size first",
			in:    "0x1c000 0x400000 C:\\a.exe\n0x25000 0x10000000 C:\\b.dll\n",
			want:  "400000+1c000 C:\\a.exe\n10000000+25000 C:\\b.dll\n",
			notes: []string{"sizes before bases"},
		},
		{
			name:  "size first, a large module low in memory",
			in:    "0x2000000 0x400000 C:\\a.exe\n0x25000 0x10000000 C:\\b.dll\n0x30000 0x20000000 C:\\c.dll\n",
			want:  "400000+2000000 C:\\a.exe\n10000000+25000 C:\\b.dll\n20000000+30000 C:\\c.dll\n",
			notes: []string{"sizes before bases"},
		},
		{
			name: "base first, a large module low in memory",
			in:   "0x400000 0x2000000 C:\\a.exe\n0x10000000 0x25000 C:\\b.dll\n0x20000000 0x30000 C:\\c.dll\n",
			want: "400000+2000000 C:\\a.exe\n10000000+25000 C:\\b.dll\n20000000+30000 C:\\c.dll\n",
		},
		{
			name: "comments, blanks, quotes",
			in:   "\n  # a comment\n\t0x400000 , 0x10000 , '/opt/a b/c'  \n",
			want: "400000+10000 /opt/a b/c\n",
		},
		{
			name:  "lines that are not understood",
			in:    "0x400000 0x10000 a.exe\nhello\n0x1 0x2\n0x3 \"\" b\n0x3 0x4 \"\"\nadd a module\n-\n5\n6\n",
			want:  "tick 5\n400000+10000 a.exe\n",
			notes: []string{`line 2 of the modules file is not understood: "hello"`, "line 3", "line 4", "line 5 of the modules file names no file", "line 6", "line 7", "line 9 of the modules file is a second tick count"},
		},
		{
			name: "a date with the day first",
			in:   "21.11.2026 11:22:33\n0x400000 0x10000 a.exe\n",
			want: "start 21.11.2026 11:22:33\n400000+10000 a.exe\n",
		},
		{
			// To judge by alignment these would be a size and a base.
			name: "our header and a base below the size",
			in:   HeaderLine + "\n0x00400000 0x00500000 4 - - C:\\a.exe\n",
			want: "400000+500000 /4 C:\\a.exe\n",
		},
		{
			name: "our header and digits alone",
			in:   HeaderLine + "\n10000000 20000 8 - - a.exe\n",
			want: "10000000+20000 /8 a.exe\n",
		},
		{
			name:  "overlap, twice the same, size 0, beyond the end",
			in:    "0x400000 0x10000 a.exe\n0x40f000 0x10000 b.dll\n0x40f000 0x10000 b.dll\n0x500000 0x0 c.dll\n0xffffffffffffffff 0x2 d.dll\n",
			want:  "400000+10000 a.exe\n40f000+10000 b.dll\n40f000+10000 b.dll\n500000+0 c.dll\n",
			notes: []string{`line 4 of the modules file: "c.dll" has size 0`, "line 5 of the modules file names no range", `modules overlap: "a.exe" at 0x400000 and "b.dll" at 0x40f000`, `modules overlap: "b.dll" at 0x40f000 and "b.dll"`},
		},
		{
			name:  "appended by a second run",
			in:    "2026-11-21 11:22:33\n1000\n0x400000 0x10000 a.exe\n2026-11-22 11:22:33\n2000\n0x500000 0x10000 a.exe\n0x700000 0x10000 later.dll\n",
			want:  "start 2026-11-22 11:22:33\ntick 2000\n500000+10000 a.exe\n700000+10000 later.dll\n",
			notes: []string{"holds 2 runs"},
		},
		{
			name:  "two start times",
			in:    "2026-11-21 11:22:33\n2026-11-22 11:22:33\n",
			want:  "start 2026-11-21 11:22:33\n",
			notes: []string{"line 2 of the modules file is a second start time"},
		},
		{
			name:  "empty",
			notes: []string{"the modules file is empty"},
		},
		{
			name: "cut by a power failure",
			in:   "0x400000 0x10000 a.exe\n" + strings.Repeat("\x00", 100),
			want: "400000+10000 a.exe\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, err := Parse([]byte(test.in), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(f); got != test.want {
				t.Errorf("got\n%swant\n%s", got, test.want)
			}
			if f.Encoding != "utf-8" {
				t.Errorf("encoding %s", f.Encoding)
			}
			if f.Ours != strings.HasPrefix(test.in, Header) {
				t.Errorf("ours = %v", f.Ours)
			}
			checkNotes(t, message.Strings(f.Notes), test.notes)
			for _, m := range f.Modules {
				if m.Loaded != -1<<63 || m.Unloaded != Always {
					t.Errorf("%s lives from %d to %d", m.Path, m.Loaded, m.Unloaded)
				}
			}
		})
	}
}

func checkNotes(t *testing.T, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("no note with %q", want[i])
		case i >= len(want):
			t.Errorf("note not expected: %s", got[i])
		case !strings.Contains(got[i], want[i]):
			t.Errorf("note %q has no %q", got[i], want[i])
		}
	}
}

func TestPointerSize(t *testing.T) {
	for _, test := range []struct {
		sizes string
		want  int
	}{{"8 8", 8}, {"4 4", 4}, {"4 8", 0}} {
		s := strings.Fields(test.sizes)
		f, err := Parse([]byte("0x400000 0x1000 "+s[0]+" - - a\n0x500000 0x1000 "+s[1]+" - - b\n"), Options{})
		if err != nil || f.PointerSize != test.want {
			t.Errorf("%s: got %d, %v", test.sizes, f.PointerSize, err)
		}
	}
}

func TestEncodings(t *testing.T) {
	const (
		chinese = "2026-11-21 11:22:33\n0x400000 0x10000 C:\\项目\\日志 测试\\主程序.exe\n"
		german  = "2026-11-21 11:22:33\n0x400000 0x10000 C:\\Jörg Müller\\Größe\\Übung.exe\n"
		french  = "0x400000 0x10000 C:\\Données\\Île\\été.exe\n"
		euro    = "0x400000 0x10000 C:\\Preis \u20ac\\a.exe\n"
		mixed   = "0x400000 0x10000 C:\\work\\（鑫）管理系统v2\\a.exe\n"
		emoji   = "0x600000 0x10000 C:\\\U0001F600\\a.exe\n"
	)
	gbk := func(s string) []byte { return must(simplifiedchinese.GBK.NewEncoder().Bytes([]byte(s))) }
	gb18030 := func(s string) []byte { return must(simplifiedchinese.GB18030.NewEncoder().Bytes([]byte(s))) }
	ansi := func(s string) []byte { return must(charmap.Windows1252.NewEncoder().Bytes([]byte(s))) }
	utf16 := func(e unicode.Endianness, b unicode.BOMPolicy, s string) []byte {
		return must(unicode.UTF16(e, b).NewEncoder().Bytes([]byte(s)))
	}
	for _, test := range []struct {
		name   string
		data   []byte
		forced string
		text   string
		want   string
		note   string
	}{
		{"utf-8", []byte(chinese), "", chinese, "utf-8", ""},
		{"utf-8 with mark", []byte("\uFEFF" + chinese), "", chinese, "utf-8", ""},
		{"utf-8 with mark, forced", []byte("\uFEFF" + chinese), "utf8", chinese, "utf-8", ""},
		{"utf-16le with mark", utf16(unicode.LittleEndian, unicode.UseBOM, emoji), "", emoji, "utf-16le", ""},
		{"utf-16be with mark", utf16(unicode.BigEndian, unicode.UseBOM, chinese), "", chinese, "utf-16be", ""},
		{"utf-16le without", utf16(unicode.LittleEndian, unicode.IgnoreBOM, chinese), "", chinese, "utf-16le", "a guess"},
		{"utf-16be without", utf16(unicode.BigEndian, unicode.IgnoreBOM, chinese), "", chinese, "utf-16be", "a guess"},
		{"utf-16le forced", utf16(unicode.LittleEndian, unicode.UseBOM, chinese), "UTF-16LE", chinese, "utf-16le", ""},
		{"gbk", gbk(chinese), "", chinese, "gb18030", "a guess"},
		{"gbk, rare characters and brackets", gbk(mixed), "", mixed, "gb18030", "a guess"},
		{"gb18030, four bytes", gb18030(chinese + emoji), "", chinese + emoji, "gb18030", "a guess"},
		{"gbk forced", gbk(chinese), "GBK", chinese, "gbk", ""},
		{"cp936 forced", gbk(chinese), "cp936", chinese, "gbk", ""},
		{"german", ansi(german), "", german, "windows-1252", "a guess"},
		{"french", ansi(french), "", french, "windows-1252", "a guess"},
		{"euro", ansi(euro), "", euro, "windows-1252", "a guess"},
		{"german forced", ansi(german), "windows-1252", german, "windows-1252", ""},
		{"chinese forced wrong", gbk("0x400000 0x10000 日.exe"), "windows-1252", "0x400000 0x10000 ÈÕ.exe", "windows-1252", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, err := Parse(test.data, Options{Encoding: test.forced})
			if err != nil {
				t.Fatal(err)
			}
			want, err := Parse([]byte(test.text), Options{Encoding: "utf-8"})
			if err != nil {
				t.Fatal(err)
			}
			if f.Encoding != test.want {
				t.Errorf("encoding %s, want %s", f.Encoding, test.want)
			}
			if describe(f) != describe(want) {
				t.Errorf("got\n%swant\n%s", describe(f), describe(want))
			}
			if test.note == "" && len(f.Notes) > 0 || test.note != "" && (len(f.Notes) != 1 || !strings.Contains(f.Notes[0].String(), test.note)) {
				t.Errorf("notes %q", f.Notes)
			}
		})
	}
	if _, err := Parse(nil, Options{Encoding: "klingon"}); !errors.Is(err, ErrEncoding) {
		t.Errorf("unknown encoding: %v", err)
	}
	if CheckEncoding("") != nil || CheckEncoding("big5") != nil || CheckEncoding("?") == nil {
		t.Error("CheckEncoding")
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestParseErrors(t *testing.T) {
	binary := bytes.Repeat([]byte{0x10, 0x20, 0x40, 0, 1, 0, 0, 0, 5, 0, 0, 0, 1, 0xcc, 0xcc, 0xcc}, 100)
	for _, test := range []struct {
		name string
		data []byte
		want error
	}{
		{"a log", binary, ErrBinary},
		{"prose", []byte("Dear reader,\nthis is a text.\n"), ErrNoModules},
		{"too large", make([]byte, MaxFileSize+1), ErrTooLarge},
	} {
		if _, err := Parse(test.data, Options{}); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
		if test.want != ErrTooLarge && Looks(test.data) {
			t.Errorf("%s looks like a modules file", test.name)
		}
	}
}

func TestLooks(t *testing.T) {
	cut := strings.Repeat("0x400000 0x10000 a.exe\n", 200) + "0x500"
	ambiguous := "0x02000000 0x00400000 a.exe\n" // only the log can say which of the two is the base
	for _, s := range []string{HeaderLine, "0x400000 0x10000 a.exe\n", "2026-11-21 11:22:33\n1\n0x400000 0x10000 a.exe\n", cut, ambiguous} {
		if !Looks([]byte(s)) {
			t.Errorf("%q does not look like a modules file", s)
		}
	}
	if Looks(nil) || Looks([]byte("1\n2\n3\n")) {
		t.Error("looks like a modules file")
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "LogDetails.bin")
	if err := os.WriteFile(path, []byte("0x400000 0x10000 a.exe\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if f, err := ReadFile(path, Options{}); err != nil || len(f.Modules) != 1 {
		t.Errorf("got %v, %v", f, err)
	}
	if _, err := ReadFile(dir, Options{}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("folder: %v", err)
	}
	if _, err := ReadFile(filepath.Join(dir, "none"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	large := filepath.Join(dir, "large")
	f, err := os.Create(large)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(MaxFileSize + 1); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := ReadFile(large, Options{}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("large file: %v", err)
	}
	if err := os.WriteFile(path, []byte("prose\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path, Options{}); !errors.Is(err, ErrNoModules) || !strings.Contains(err.Error(), path) {
		t.Errorf("prose: %v", err)
	}
}

func TestLimits(t *testing.T) {
	var b bytes.Buffer
	for i := range MaxModules + 7 {
		fmt.Fprintf(&b, "0x%x 0x1000 m\n", 0x10000+i*0x1000)
	}
	f, err := Parse(b.Bytes(), Options{})
	if err != nil || len(f.Modules) != MaxModules {
		t.Fatalf("%d modules, %v", len(f.Modules), err)
	}
	checkNotes(t, message.Strings(f.Notes), []string{"names 7 modules more"})

	f, err = Parse([]byte("0x400000 0x1000 a\n"+strings.Repeat("?\n", 1000)+"0x500000 0x1000 "+strings.Repeat("x", MaxLine)+"\n"), Options{})
	if err != nil || len(f.Modules) != 1 || len(f.Notes) != MaxNotes+1 {
		t.Fatalf("%d modules, %d notes, %v", len(f.Modules), len(f.Notes), err)
	}
	if last := f.Notes[MaxNotes].String(); !strings.HasPrefix(last, "801 more notes") {
		t.Errorf("last note %q", last)
	}
}

func FuzzModulesFile(f *testing.F) {
	for _, s := range []string{
		HeaderLine + "\n2026-11-21T11:22:33.456\n123456789\n0x00007ff6a0000000 0x0001c000 8 pdb:0123ABCD-4567-89AB-CDEF-0123456789AB:1 0x5f000001 C:\\a b\\sample.exe\n0x0000555555554000 0x00005000 8 build-id:0a1b2c - /home/x/a.out\n",
		"2026 11 6 21 11 22 33 456 1000\n400000 10000 C:\\a.exe\n6fd0000 4000 C:\\b.dll\n",
		"4194304,65536,a\n\xcf\xee\xc4\xbf",
		"\xff\xfe0\x00x\x001\x00 \x002\x00 \x00a\x00",
		"\xfe\xff\x00", "\x00\x00\x00\x00", "-1\r\n-\r\n",
		"0x400000 C:\\a b.exe 0x10000\n0x800000 C:\\c.dll 0x20000\n", "a.exe;400000h;4096 bytes\n",
		"Load Address: 0x400000, Module: C:\\a.exe, Size: 0x1000\n", "Module=a\nBase=400000\nEnd=401000\n",
		"1\n00400000\na.exe\n00001000\n", "Base Size Name\n400000-401000 a.exe\n", "加载地址：0x400000，模块名：a，大小：4096\n",
		"21.11.2026 11:22:33 Tick=5\n0x02000000 0x00400000 a.exe\n",
	} {
		f.Add([]byte(s), "")
	}
	f.Add([]byte("0x400000 0x10000 a"), "gbk")
	f.Fuzz(func(t *testing.T, data []byte, encoding string) {
		file, err := Parse(data, Options{Encoding: encoding})
		if err != nil {
			return
		}
		if len(file.Modules) > MaxModules || len(file.Notes) > MaxNotes+1 {
			t.Fatalf("%d modules, %d notes", len(file.Modules), len(file.Notes))
		}
		m := NewMap(file.Modules)
		for i, mod := range file.Modules {
			if mod.Path == "" || mod.Base+mod.Size < mod.Base {
				t.Fatalf("module %+v", mod)
			}
			if mod.Size == 0 {
				continue
			}
			if k, owners := m.Find(mod.Base, 0); owners == 0 || !m.At(k).Contains(mod.Base) {
				t.Fatalf("module %d of %v is not found at its base", i, file.Modules)
			}
		}
		again, err := Parse(data, Options{Encoding: encoding})
		if err != nil || !reflect.DeepEqual(file, again) {
			t.Fatal("read differently the second time")
		}
	})
}
