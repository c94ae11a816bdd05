package export

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"logparser/rows"
)

var update = flag.Bool("update", false, "write the golden files anew")

// A list is a source of rows in memory.
type list struct {
	rows   []rows.Row
	runs   []rows.Run
	digits int
	// failAt is the row whose reading fails, if err is not nil.
	failAt int64
	err    error
}

func (l *list) Len() int64           { return int64(len(l.rows)) }
func (l *list) Row(i int64) rows.Row { return l.rows[i] }
func (l *list) TimeDigits() int      { return l.digits }

func (l *list) Read(dst []rows.Row, from int64) (int, error) {
	if l.err != nil && from+int64(len(dst)) > l.failAt {
		return copy(dst, l.rows[from:max(from, l.failAt)]), l.err
	}
	n := copy(dst, l.rows[from:])
	if n < len(dst) {
		return n, io.EOF
	}
	return n, nil
}

// sample returns a row of each kind, and names with special characters.
func sample() *list {
	at := time.Date(2013, 5, 12, 14, 3, 7, 123456789, time.UTC)
	src := &list{digits: 3}
	add := func(ms int, thread uint32, e rows.Event, depth int, us int64, address uint64, function, module, source string, line int, symbols, note string) {
		d := rows.NoDuration
		if us >= 0 {
			d = us * 1000
		}
		elapsed := time.Duration(ms) * time.Millisecond
		src.rows = append(src.rows, rows.Row{
			Index: int64(len(src.rows)), Wall: at.Add(elapsed), HasWall: true, Elapsed: int64(elapsed), Thread: thread, Event: e, Depth: depth,
			Duration: d, Function: function, Module: module, Source: source, Line: line, Address: address, Symbols: symbols, Note: note,
		})
	}
	const exe, dll, cpp = "LogTest.exe", "日志.dll", `C:\src\LogTest\main.cpp`
	add(0, 4711, rows.Enter, 0, 2_500_000, 0x401005, "main", exe, cpp, 12, "matched", "")
	add(0, 4711, rows.Enter, 1, 15_000, 0x401105, "app::Shape<int, 3>::area", exe, cpp, 40, "matched", "")
	add(0, 4712, rows.Enter, 0, -1, 0x401205, `operator""_km`, exe, "/home/me/src/km.h", 7, "matched", "open")
	add(15, 4711, rows.Leave, 1, 15_000, 0x401105, "app::Shape<int, 3>::area", exe, cpp, 40, "matched", "")
	add(16, 4711, rows.Enter, 1, -1, 0x10001234, "日志.dll+0x1234", dll, "", 0, "not found", "no leave")
	add(17, 4711, rows.Enter, 2, -1, 0x401305, "-[Widget draw]", exe, cpp, 0, "unverified", "no leave")
	add(17, 4711, rows.Enter, 40, 0, 0x401405, "app::recurse", exe, cpp, 99, "matched", "")
	add(17, 4711, rows.Leave, 40, 0, 0x401405, "app::recurse", exe, cpp, 99, "matched", "tail")
	add(18, 9, rows.Leave, 0, -1, 0xfffffffffffffff0, "0xfffffffffffffff0", "", "", 0, "", "stray")
	add(19, 4294967295, rows.Unknown, 1, -1, 0x123, "0x123", "", "", 0, "", "damaged")
	add(20, 4711, rows.Enter, 1, -1, 0x401505, "app::a_function_with_a_name_longer_than_its_column_which_moves_the_rest", exe, cpp, 1000, "matched", "no leave")
	add(21, 4711, rows.Enter, 1, -1, 0x401605, "=HYPERLINK(\"http://example.com\")", exe, "bad\xffname\x1b[31m\n.cpp", 1, "matched", "two\u202ereasons, \"quoted\"")
	add(2500, 4711, rows.Leave, 0, 2_500_000, 0x401005, "main", exe, cpp, 12, "matched", "")
	return src
}

func sampleOptions() Options {
	return Options{Header: rows.Header{
		Log: "LogDetails.dat", Modules: "LogDetails.bin", Format: "classic, 16-byte records, 32-bit program",
		Lines: []string{"run 2 of 2 is shown, 1,234 rows of run 1 are left out", "the last record is cut off\x07 at byte 123456"},
		Images: []rows.Image{
			{Name: "LogTest.exe", Base: 0x400000, Size: 0x12000, Identity: "pdb:0123ABCD-4567-89AB-CDEF-0123456789AB:1", Status: "matched", SymbolFile: "LogTest.pdb"},
			{Name: "日志.dll", Base: 0x10000000, Size: 0x8000, Identity: "-", Status: "not found"},
		},
	}}
}

func save(t testing.TB, format string, src rows.Source, opt Options) []byte {
	t.Helper()
	for _, f := range Formats() {
		if f.Name == format {
			var buf bytes.Buffer
			if err := f.Write(context.Background(), &buf, src, opt); err != nil {
				t.Fatal(err)
			}
			return buf.Bytes()
		}
	}
	t.Fatalf("no format %s", format)
	return nil
}

func TestGolden(t *testing.T) {
	elapsed := func() *list {
		l := sample()
		l.digits = 6
		for i := range l.rows {
			l.rows[i].HasWall = false
		}
		return l
	}
	with := func(change func(o *Options)) Options {
		o := sampleOptions()
		change(&o)
		return o
	}
	tests := []struct {
		file, format string
		src          rows.Source
		opt          Options
	}{
		{"sample.txt", "txt", sample(), sampleOptions()},
		{"elapsed.txt", "txt", elapsed(), Options{Header: rows.Header{Log: "LogDetails.dat"}}},
		{"windows.txt", "txt", sample(), with(func(o *Options) { o.BOM, o.CRLF = true, true })},
		{"empty.txt", "txt", &list{}, Options{}},
		{"sample.csv", "csv", sample(), Options{}},
		{"elapsed.csv", "csv", elapsed(), Options{}},
		{"corrected.csv", "csv", sample(), Options{Header: rows.Header{Corrected: true}}},
		{"corrected.jsonl", "jsonl", sample(), Options{Header: rows.Header{Corrected: true}}},
		{"windows.csv", "csv", sample(), Options{BOM: true, CRLF: true}},
		{"raw.csv", "csv", sample(), Options{Raw: true}},
		{"empty.csv", "csv", &list{}, Options{}},
		{"sample.jsonl", "jsonl", sample(), sampleOptions()},
		{"elapsed.jsonl", "jsonl", elapsed(), Options{BOM: true, CRLF: true}},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			got := save(t, test.format, test.src, test.opt)
			path := filepath.Join("testdata", test.file)
			if *update {
				if err := os.MkdirAll("testdata", 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, got, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("differs from %s:\n%s", path, got)
			}
			if !utf8.Valid(got) {
				t.Error("not UTF-8")
			}
		})
	}
}

func liveFormats() []Format {
	return slices.DeleteFunc(Formats(), func(f Format) bool { return !f.Live })
}

// TestFrom writes a file in two steps. Together they must give the whole file.
func TestFrom(t *testing.T) {
	for _, f := range liveFormats() {
		src := sample()
		whole := save(t, f.Name, src, Options{})
		last := save(t, f.Name, src, Options{From: 2, NoHead: true})
		if !bytes.HasSuffix(whole, last) || bytes.Count(last, []byte("\n")) >= bytes.Count(whole, []byte("\n")) || len(last) == 0 {
			t.Errorf("%s: the rows from 2 on are\n%s\nthe whole is\n%s", f.Name, last, whole)
		}
		if none := save(t, f.Name, src, Options{From: src.Len(), NoHead: true}); len(none) != 0 {
			t.Errorf("%s: no rows are %q", f.Name, none)
		}
		if all := save(t, f.Name, src, Options{From: 0}); !bytes.Equal(all, whole) {
			t.Errorf("%s: the rows from 0 on are not all", f.Name)
		}
	}
}

// recorded are the columns of a csv file whose values are fields of a row.
var recorded = defaultColumns(&rows.Header{}, csvColumns[:13])

// TestCSVReadBack reads the file with encoding/csv and compares every cell.
func TestCSVReadBack(t *testing.T) {
	for _, opt := range []Options{{}, {BOM: true, CRLF: true}, {Raw: true}} {
		src := sample()
		text := save(t, "csv", src, opt)
		if opt.BOM {
			text = bytes.TrimPrefix(text, []byte("\xEF\xBB\xBF"))
		}
		records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Join(records[0], ","), "index,time,thread,event,depth,duration_us,function,module,source,line,address,symbols,note,time_utc"; got != want {
			t.Errorf("header %s", got)
		}
		for i, r := range src.rows {
			for c, column := range recorded {
				want := strings.ToValidUTF8(string(column.Append(nil, &r, src.digits)), "\uFFFD")
				if !opt.Raw && want != "" && strings.Contains("=-", want[:1]) {
					want = "'" + want
				}
				if got := records[i+1][c]; got != want {
					t.Errorf("%+v: row %d, %s: %q, want %q", opt, i, column.Name, got, want)
				}
			}
		}
	}
}

func TestCSVText(t *testing.T) {
	tests := []struct{ in, want, raw string }{
		{"", "", ""},
		{"plain text", "plain text", "plain text"},
		{"a,b", `"a,b"`, `"a,b"`},
		{`say "hi"`, `"say ""hi"""`, `"say ""hi"""`},
		{"a\nb", "\"a\nb\"", "\"a\nb\""},
		{"=1+1", "'=1+1", "=1+1"},
		{"+1", "'+1", "+1"},
		{"-1", "-1", "-1"},
		{"-1.5", "-1.5", "-1.5"},
		{"-1+1", "'-1+1", "-1+1"},
		{"@SUM(A1)", "'@SUM(A1)", "@SUM(A1)"},
		{"\tx", "\"'\tx\"", "\"\tx\""},
		{"\n=1+1", "\"'\n=1+1\"", "\"\n=1+1\""},
		{"\x00=1+1", "'\x00=1+1", "\x00=1+1"},
		{"＝1+1", "'＝1+1", "＝1+1"}, {"＋1", "'＋1", "＋1"}, {"－1", "'－1", "－1"}, {"＠SUM(1)", "'＠SUM(1)", "＠SUM(1)"},
		{" =1", "' =1", " =1"}, {"\u00a0\ufeff=1", "'\u00a0\ufeff=1", "\u00a0\ufeff=1"}, {"\u200b-1", "'\u200b-1", "\u200b-1"},
		{" f", " f", " f"}, {"日本=1", "日本=1", "日本=1"}, {"~A", "~A", "~A"},
		{"a;=HYPERLINK(1)", `"a;=HYPERLINK(1)"`, `"a;=HYPERLINK(1)"`},
		{"a\t=1", "\"a\t=1\"", "\"a\t=1\""},
		{"\rx", "\"'\rx\"", "\"\rx\""},
		{"=a,b", `"'=a,b"`, `"=a,b"`},
		{"a=b", "a=b", "a=b"},
		{"'x", "'x", "'x"},
		{"größe", "größe", "größe"},
		{"\xffx", "\uFFFDx", "\uFFFDx"},
	}
	for _, test := range tests {
		if got := string(appendCSVText(nil, test.in, false)); got != test.want {
			t.Errorf("%q: %q, want %q", test.in, got, test.want)
		}
		if got := string(appendCSVText(nil, test.in, true)); got != test.raw {
			t.Errorf("%q raw: %q, want %q", test.in, got, test.raw)
		}
	}
}

// FuzzCSVCell reads cells back with encoding/csv, which turns CR LF within a
// cell into LF.
func FuzzCSVCell(f *testing.F) {
	for _, s := range []string{"", "a,b", `"`, "=1", "\t", "\r", "a\r\nb", "\xff", "größe", " x ", "a;b", "a\t-1", "\uFEFF", "\x00", `\.`, "'", "-", "-.", "-1.5", "-1-2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, raw := range []bool{false, true} {
			line := append([]byte("first,"), appendCSVText(nil, s, raw)...)
			line = append(line, ",last\n"...)
			records, err := csv.NewReader(bytes.NewReader(line)).ReadAll()
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if len(records) != 1 || len(records[0]) != 3 {
				t.Fatalf("%q is read as %q", line, records)
			}
			want := strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
			got := records[0][1]
			first, _ := utf8.DecodeRuneInString(strings.TrimLeft(s, " "))
			_, err = strconv.ParseFloat(s, 64)
			number := err == nil && strings.Trim(s, "-.0123456789") == ""
			formula := !number && strings.ContainsRune("=+-@\t\r\n\x00＝＋－＠", first)
			if !raw && formula && (got == "" || got[0] != '\'') {
				t.Fatalf("%q is not guarded: %q", s, got)
			}
			if !raw && got != want && strings.HasPrefix(got, "'") {
				got = got[1:]
			}
			if got != want {
				t.Fatalf("%q is read as %q, want %q", s, got, want)
			}
			if !raw && !number && got != "" && strings.ContainsRune("=+-@\t\r\n\x00", rune(records[0][1][0])) {
				t.Fatalf("%q begins a formula: %q", s, records[0][1])
			}
		}
	})
}

// TestJSONReadBack reads the lines with encoding/json and compares every
// member.
func TestJSONReadBack(t *testing.T) {
	src := sample()
	lines := strings.SplitAfter(string(save(t, "jsonl", src, Options{})), "\n")
	if len(lines) != len(src.rows)+1 || lines[len(src.rows)] != "" {
		t.Fatalf("%d lines for %d rows", len(lines), len(src.rows))
	}
	for i, r := range src.rows {
		d := json.NewDecoder(strings.NewReader(lines[i]))
		d.UseNumber()
		var got map[string]any
		if err := d.Decode(&got); err != nil {
			t.Fatalf("%s: %v", lines[i], err)
		}
		for _, column := range recorded {
			c := (&rows.Header{}).ColumnName(column)
			want := strings.ToValidUTF8(string(column.Append(nil, &r, src.digits)), "\uFFFD")
			cell, ok := got[c]
			delete(got, c)
			if ok != (want != "") || ok && fmt.Sprint(cell) != want {
				t.Errorf("row %d, %s: %v, want %s", i, c, cell, want)
			}
			switch _, number := cell.(json.Number); column.Kind {
			case rows.Number, rows.Duration:
				if ok && !number {
					t.Errorf("row %d, %s: %v is no number", i, c, cell)
				}
			}
		}
		if len(got) != 0 {
			t.Errorf("row %d: unknown members %v", i, got)
		}
	}
}

// FuzzJSONString reads strings back with encoding/json.
func FuzzJSONString(f *testing.F) {
	for _, s := range []string{"", "plain", `"\\`, "\n\r\t\x00\x1f\x7f", "\xff\xffx\xc3", "größe", "\u2028\u2029", "\uFFFD\xff", "\u009b\x7f\u202e\u061c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := rows.AppendJSONString(nil, s)
		var got string
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if want := strings.ToValidUTF8(s, "\uFFFD"); got != want {
			t.Fatalf("%q is read as %q, want %q", s, got, want)
		}
		if got := rows.Visible(string(text)); got != string(text) && !strings.Contains(s, "\uFFFD") && utf8.ValidString(s) {
			t.Fatalf("%q is not visible as it is", text)
		}
		if encoded, err := json.Marshal(s); err != nil || rows.Visible(string(rows.VisibleJSON(encoded))) != string(rows.VisibleJSON(encoded)) {
			t.Fatalf("%q is not visible as it is: %v", rows.VisibleJSON(encoded), err)
		}
	})
}

// many returns n rows with few addresses, as logs have.
func many(n int) *list {
	l := &list{digits: 3, rows: make([]rows.Row, n)}
	at := time.Date(2024, 2, 28, 23, 59, 0, 0, time.UTC)
	const functions = 500
	var names, sources [functions]string
	for i := range names {
		names[i] = fmt.Sprintf("app::module%d::Class%d::method%d", i%7, i%40, i)
		sources[i] = fmt.Sprintf("/home/user/projects/logtest/src/module%d/class%d.cpp", i%7, i%40)
	}
	for i := range l.rows {
		k := i / 2 * 7919 % functions
		l.rows[i] = rows.Row{
			Index: int64(i), Wall: at.Add(time.Duration(i/10) * time.Millisecond), HasWall: true, Elapsed: int64(i/10) * 1e6, Thread: 4711 + uint32(i%3), Event: rows.Event(i & 1),
			Depth: i / 2 % 20, Duration: int64(i/2%30) * 1e6, Function: names[k], Module: "LogTest.exe", Source: sources[k], Line: 10 + k,
			Address: 0x7ff612340000 + uint64(k)*64, Symbols: "matched",
		}
	}
	return l
}

// TestOrder saves many blocks and checks that no line is lost or out of order.
func TestOrder(t *testing.T) {
	src := many(50*blockRows + 17)
	for _, format := range []string{"csv", "txt"} {
		lines := strings.Split(strings.TrimSuffix(string(save(t, format, src, Options{})), "\n"), "\n")
		lines = lines[len(lines)-len(src.rows):]
		for i, line := range lines {
			index, _, _ := strings.Cut(strings.ReplaceAll(strings.TrimLeft(line, " "), " ", ","), ",")
			if index != fmt.Sprint(i) {
				t.Fatalf("%s: line %d is %s", format, i, line)
			}
		}
	}
}

// TestSameAddress has rows with the same address but different names, as two runs may have. Cached names must not be mixed up.
func TestSameAddress(t *testing.T) {
	src := &list{}
	for i := range 40 {
		r := rows.Row{Index: int64(i), Address: 0x1000, Function: "f", Module: "m", Source: "s", Line: 1, Symbols: "matched", Duration: rows.NoDuration}
		switch i % 8 {
		case 1:
			r.Function = "g"
		case 2:
			r.Module = "n"
		case 3:
			r.Source = "t"
		case 4:
			r.Line = 2
		case 5:
			r.Symbols = "unverified"
		case 6:
			r.Address = 0
		case 7:
			r.Function = strings.Repeat("long", 1000)
		}
		src.rows = append(src.rows, r)
	}
	lines := strings.Split(string(save(t, "csv", src, Options{})), "\n")
	for i, r := range src.rows {
		want := fmt.Sprintf("%d,0.,0,enter,0,,%s,%s,%s,%d,%#x,%s,,", i, r.Function, r.Module, r.Source, r.Line, r.Address, r.Symbols)
		if lines[i+1] != strings.Replace(want, "0.,", "0,", 1) {
			t.Errorf("row %d: %s", i, lines[i+1])
		}
	}
	lines = strings.Split(string(save(t, "txt", src, Options{})), "\n")
	lines = lines[len(lines)-1-len(src.rows):]
	for i, r := range src.rows {
		want := []string{fmt.Sprint(i), "0", "0", "->", r.Function, fmt.Sprintf("%s:%d", r.Source, r.Line), r.Module}
		if got := strings.Fields(lines[i]); !slices.Equal(got, want) {
			t.Errorf("row %d: %q", i, got)
		}
	}
}

// TestLongNames checks that a block of long names is handed over in parts,
// whole and in order.
func TestLongNames(t *testing.T) {
	src := many(3 * blockRows)
	for i := range src.rows {
		src.rows[i].Function = strings.Repeat("x", 2000+i%100)
	}
	var biggest int
	var buf bytes.Buffer
	w := writerFunc(func(p []byte) (int, error) {
		biggest = max(biggest, len(p))
		return buf.Write(p)
	})
	if err := writeCSV(context.Background(), &output{w: w}, src, Options{}); err != nil {
		t.Fatal(err)
	}
	if biggest > partBytes+1<<14 {
		t.Errorf("%d bytes in one piece", biggest)
	}
	records, err := csv.NewReader(&buf).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range records[1:] {
		if r[0] != fmt.Sprint(i) || len(r[6]) != 2000+i%100 {
			t.Fatalf("row %d: index %s, a name of %d bytes", i, r[0], len(r[6]))
		}
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestErrors(t *testing.T) {
	full := errors.New("no space left on device")
	broken := errors.New("bad sector")
	src := many(20 * blockRows)
	for _, f := range liveFormats() {
		var written int
		w := writerFunc(func(p []byte) (int, error) {
			if written += len(p); written > 3_000_000 {
				return 0, full
			}
			return len(p), nil
		})
		err := f.Write(context.Background(), w, src, Options{})
		if !errors.Is(err, full) || !strings.Contains(err.Error(), "writing rows ") {
			t.Errorf("%s: full disk: %v", f.Name, err)
		}
		err = f.Write(context.Background(), writerFunc(func([]byte) (int, error) { return 0, full }), src, Options{})
		if !errors.Is(err, full) || !strings.HasPrefix(err.Error(), "writing ") {
			t.Errorf("%s: full disk at once: %v", f.Name, err)
		}

		bad := &list{rows: src.rows, failAt: 5*blockRows + 7, err: broken}
		var buf bytes.Buffer
		err = f.Write(context.Background(), &buf, bad, Options{})
		if want := fmt.Sprintf("reading row %d: bad sector", bad.failAt); !errors.Is(err, broken) || err.Error() != want {
			t.Errorf("%s: %v, want %s", f.Name, err, want)
		}
		if n := bytes.Count(buf.Bytes(), []byte("\n")); n < int(bad.failAt) {
			t.Errorf("%s: %d lines before the error", f.Name, n)
		}
		bad.err = io.EOF
		if err := f.Write(context.Background(), io.Discard, bad, Options{}); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: early end: %v", f.Name, err)
		}
	}
}

func TestCancel(t *testing.T) {
	src := many(100 * blockRows)
	for _, f := range liveFormats() {
		ctx, cancel := context.WithCancel(context.Background())
		var blocks atomic.Int32
		w := writerFunc(func(p []byte) (int, error) {
			if blocks.Add(1) == 5 {
				cancel()
			}
			return len(p), nil
		})
		if err := f.Write(ctx, w, src, Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", f.Name, err)
		}
		if n := blocks.Load(); n > 20 {
			t.Errorf("%s: %d blocks written after a cancel at the fifth", f.Name, n)
		}
	}
}

func TestProgress(t *testing.T) {
	src := many(10 * blockRows)
	var last int64
	opt := Options{Progress: func(done, total int64) {
		if done <= last || total != src.Len() {
			t.Errorf("%d of %d after %d", done, total, last)
		}
		last = done
	}}
	save(t, "csv", src, opt)
	if last != src.Len() {
		t.Errorf("progress ended at %d", last)
	}
}

// repeat is a source of n rows that repeats a few rows.
type repeat struct {
	list
	n int64
}

func (r *repeat) Len() int64           { return r.n }
func (r *repeat) Row(i int64) rows.Row { return r.rows[i%int64(len(r.rows))] }

func (r *repeat) Read(dst []rows.Row, from int64) (int, error) {
	k := int(from % int64(len(r.rows)))
	for i := range dst {
		dst[i] = r.rows[k]
		if k++; k == len(r.rows) {
			k = 0
		}
	}
	return len(dst), nil
}

func BenchmarkWrite(b *testing.B) {
	const n = 2_000_000
	for _, f := range Formats() {
		b.Run(f.Name, func(b *testing.B) {
			src := &repeat{list: *many(10_000), n: n}
			var bytes int64
			w := writerFunc(func(p []byte) (int, error) { bytes += int64(len(p)); return len(p), nil })
			b.ReportAllocs()
			for b.Loop() {
				if err := f.Write(context.Background(), w, src, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds()/1e6, "Mrows/s")
			b.ReportMetric(float64(bytes)/float64(b.N)/n, "B/row")
		})
	}
}

// TestPieces compares lines made of cached pieces with lines made cell by cell.
func TestPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, digits := range []int{0, 3, 5, 6, 9} {
		src := &list{digits: digits}
		row := rows.Row{Wall: time.Date(2024, 2, 29, 23, 59, 59, 0, time.UTC), HasWall: true, Function: "f"}
		for i := range 5000 {
			switch r.IntN(8) {
			case 0:
				row.Index = int64(r.Uint64()) >> r.IntN(64)
			case 1:
				row.Elapsed = int64(r.Uint64()) >> r.IntN(64)
			case 2:
				row.HasWall = !row.HasWall
			case 3:
				row.Wall = row.Wall.Add(time.Duration(r.Uint64() >> (20 + r.IntN(40))))
			case 4:
				row.Thread, row.Event, row.Depth = r.Uint32()>>r.IntN(32), rows.Event(r.IntN(3)), int(r.Int64()>>r.IntN(63))
			case 5:
				row.Duration = int64(r.Uint64()) >> r.IntN(64)
			case 6:
				row.Address, row.Line, row.Note = r.Uint64N(5000), r.IntN(3), []string{"", "=open, \"x\""}[r.IntN(2)]
			}
			row.Index++
			if i%1000 == 999 {
				row.Index = int64(math.Pow10(i / 1000 * 4))
			}
			src.rows = append(src.rows, row)
		}
		lines := strings.Split(string(save(t, "csv", src, Options{})), "\n")
		for i := range src.rows {
			var want []byte
			for _, column := range recorded {
				cell := column.Append(nil, &src.rows[i], digits)
				if column.Kind == rows.Text {
					cell = appendCSVText(nil, string(cell), false)
				}
				want = append(append(want, cell...), ',')
			}
			if lines[i+1] != string(want) {
				t.Fatalf("%d digits, row %d:\n%s\nwant\n%s", digits, i, lines[i+1], want)
			}
		}
	}
}

// TestSpool writes speedscope files of few and of many threads, with their text in memory and in a temporary file.
func TestSpool(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	for _, threads := range []uint32{2, 300} {
		src := many(40_000)
		for i := range src.rows {
			src.rows[i].Thread = uint32(i/2) % threads
		}
		want := save(t, "speedscope", src, Options{})
		var got bytes.Buffer
		s := &speedscope{header: &rows.Header{}, spool: spool{limit: 40 << 10}}
		if err := writeCalls(context.Background(), &output{w: &got}, src, Options{}, s); err != nil {
			t.Fatal(err)
		}
		chunks := 0
		for _, st := range s.spool.streams {
			chunks += len(st.chunks)
		}
		if chunks < 10 || s.spool.memory > 80<<10 {
			t.Errorf("%d threads: %d pieces in the file, %d bytes in memory", threads, chunks, s.spool.memory)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%d threads: the text differs", threads)
		}
		s.spool.remove()
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s is left behind", left[0].Name())
		}
	}
}
