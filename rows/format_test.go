package rows

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestTime(t *testing.T) {
	at := time.Date(2013, 5, 12, 14, 3, 7, 123456789, time.UTC)
	tests := []struct {
		row    Row
		digits int
		want   string
	}{
		{Row{Wall: at, HasWall: true}, 3, "2013-05-12T14:03:07.123"},
		{Row{Wall: at, HasWall: true}, 6, "2013-05-12T14:03:07.123456"},
		{Row{Wall: at, HasWall: true}, 9, "2013-05-12T14:03:07.123456789"},
		{Row{Wall: at, HasWall: true}, 0, "2013-05-12T14:03:07"},
		{Row{Wall: time.Date(1969, 12, 31, 23, 59, 59, 999e6, time.UTC), HasWall: true}, 3, "1969-12-31T23:59:59.999"},
		{Row{Wall: time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), HasWall: true}, 3, "0001-01-01T00:00:00.000"},
		{Row{Wall: time.Date(12345, 1, 1, 0, 0, 0, 0, time.UTC), HasWall: true}, 3, "12345-01-01T00:00:00.000"},
		{Row{Wall: time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC), HasWall: true}, 3, "-0005-01-01T00:00:00.000"},
		{Row{Elapsed: 0}, 3, "0.000"},
		{Row{Elapsed: 7_123_456_789}, 3, "7.123"},
		{Row{Elapsed: 7_123_456_789}, 9, "7.123456789"},
		{Row{Elapsed: -5e6}, 3, "-0.005"},
		{Row{Elapsed: math.MinInt64}, 3, "-9223372036.854"},
	}
	for _, test := range tests {
		if got := string(AppendTime([]byte("x"), &test.row, test.digits)); got != "x"+test.want {
			t.Errorf("%+v with %d digits: %s, want x%s", test.row, test.digits, got, test.want)
		}
	}
}

// TestClock holds the cached second against the standard library's formatting.
func TestClock(t *testing.T) {
	var c Clock
	at := time.Date(2024, 2, 28, 23, 59, 58, 0, time.UTC)
	for range 2000 {
		r := Row{Wall: at, HasWall: true}
		want := at.Format("2006-01-02T15:04:05.000000")
		if got := string(c.Append(nil, &r, 6)); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
		at = at.Add(1_234_567 * time.Microsecond / 10)
	}
	c = Clock{Separator: ' '}
	r := Row{Wall: time.Date(2024, 2, 28, 1, 2, 3, 0, time.UTC), HasWall: true}
	if got := string(c.Append(nil, &r, 3)); got != "2024-02-28 01:02:03.000" {
		t.Errorf("with a blank: %s", got)
	}
}

func TestDurations(t *testing.T) {
	tests := []struct {
		ns           int64
		csv          string
		d3, d6, nine string
	}{
		{NoDuration, "", "", "", ""},
		{0, "0", "0 ms", "0 us", "0 ns"},
		{1, "0.001", "0 ms", "0 us", "1 ns"},
		{10, "0.01", "0 ms", "0 us", "10 ns"},
		{100, "0.1", "0 ms", "0 us", "100 ns"},
		{120, "0.12", "0 ms", "0 us", "120 ns"},
		{1000, "1", "0 ms", "1 us", "1.000 us"},
		{1500, "1.5", "0 ms", "1 us", "1.500 us"},
		{1_234_567, "1234.567", "1 ms", "1.234 ms", "1.234 ms"},
		{15_000_000, "15000", "15 ms", "15.000 ms", "15.000 ms"},
		{999_999_999, "999999.999", "999 ms", "999.999 ms", "999.999 ms"},
		{1_234_567_890, "1234567.89", "1.234 s", "1.234 s", "1.234 s"},
		{math.MaxInt64, "9223372036854775.807", "9223372036.854 s", "9223372036.854 s", "9223372036.854 s"},
	}
	for _, test := range tests {
		if got := string(AppendMicroseconds(nil, test.ns)); got != test.csv {
			t.Errorf("%d ns in csv: %s, want %s", test.ns, got, test.csv)
		}
		for digits, want := range map[int]string{3: test.d3, 6: test.d6, 9: test.nine} {
			if got := string(AppendDuration(nil, test.ns, digits)); got != want {
				t.Errorf("%d ns with %d digits: %s, want %s", test.ns, digits, got, want)
			}
		}
	}
}

func TestCells(t *testing.T) {
	r := Row{
		Index: 7, Elapsed: 1500e6, Thread: 4711, Event: Leave, Depth: 2, Duration: 1500, Function: "app::Shape::area",
		Module: "LogTest.exe", Source: "/src/shape.cpp", Line: 40, Address: 0x401125, Symbols: "matched", Note: "tail",
		Process: &Process{ID: 29, Label: "29 app"}, Stack: 3, Filled: SelfTimes | CallSites | ThreadNames | Values, Self: 250, ThreadName: "render",
		Site:   &CallSite{Function: "main", Source: "/src/main.cpp", Line: 9, Address: 0x401000},
		Values: &CallValues{Arguments: []Value{{Name: "w", Type: "int", Text: "3"}}, Results: []Value{{Name: "return", Text: "12"}}},
	}
	cells := func(r *Row) string {
		var list []string
		for i := range Columns() {
			list = append(list, string(Columns()[i].Append(nil, r, 3)))
		}
		return strings.Join(list, ",")
	}
	if got, want := cells(&r), "7,1.500,1500000,,,4711,render,29 app,3,leave,2,app::Shape::area,1.5,0.25,LogTest.exe,/src/shape.cpp,40,0x401125,matched,main,/src/main.cpp,9,0x401000,int w = 3,12,tail"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	// What was not filled in is not known, whatever the row has.
	r.Filled = 0
	if got, want := cells(&r), "7,1.500,1500000,,,4711,,29 app,3,leave,2,app::Shape::area,1.5,,LogTest.exe,/src/shape.cpp,40,0x401125,matched,,,,,,,tail"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	r = Row{Event: Unknown, Duration: NoDuration, Function: "0x0", Elapsed: -1500, Filled: SelfTimes | CallSites, Self: NoDuration}
	if got, want := cells(&r), "0,-0.000,-1.5,,,0,,,,unknown,0,0x0,,,,,,0x0,,,,,,,,"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestColumnNames reads lists of columns, by their own names and by those of files.
func TestColumnNames(t *testing.T) {
	for text, want := range map[string]string{
		"index,self": "index self_us", " Index, self_us": "index self_us", "duration_us,utc,site_line": "duration_us time_utc site_line",
		"index,nosuch": `there is no column "nosuch"; there are index, time, elapsed`, "self,self_us": "the column self is there twice", "": `there is no column ""`,
	} {
		var names []string
		list, err := ParseColumns(text)
		for _, c := range list {
			names = append(names, (&Header{}).ColumnName(c))
		}
		got := strings.Join(names, " ")
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || err == nil && got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	names := make(map[string]bool)
	for i := range Columns() {
		c := &Columns()[i]
		for _, name := range slices.Compact([]string{c.Name, (&Header{}).ColumnName(c)}) {
			if names[name] {
				t.Errorf("two columns are called %s", name)
			}
			names[name] = true
		}
		for _, name := range []string{c.Name, (&Header{}).ColumnName(c)} {
			if ColumnOf(name) != c {
				t.Errorf("%s is another column", name)
			}
		}
	}
	corrected := Header{Corrected: true}
	if a, b := corrected.ColumnName(ColumnOf("duration")), corrected.ColumnName(ColumnOf("self")); a != "duration_corrected_us" || b != "self_recorded_us" {
		t.Errorf("corrected: %s, %s", a, b)
	}
}

func TestMatches(t *testing.T) {
	r := Row{Function: "app::Shape::Area", Module: "Größe.dll", Source: `C:\src\模块\shape.cpp`, Note: "no leave", Thread: 4711, Address: 0x7ff6ABCD}
	for text, want := range map[string]bool{
		"": true, "SHAPE::area": true, "größe": true, "GRÖSSE": false, "GRÖßE": true, "模块": true, "leave": true, "4711": true,
		"7FF6abcd": true, "0x7ff6": true, "shape::b": false, "area ": false, "app::shape::areas": false, "\u212A": false,
	} {
		if got := NewMatcher(text).Matches(&r); got != want {
			t.Errorf("%q matches: %t", text, got)
		}
	}
	if !NewMatcher("kelvin").Matches(&Row{Function: "\u212Aelvin"}) || !NewMatcher("\u212Aelvin").Matches(&Row{Function: "KELVIN"}) {
		t.Error("the Kelvin sign is not a k")
	}
	if NewMatcher("\xff").Matches(&Row{Function: "abc"}) {
		t.Error("broken text matches")
	}
}

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "app::f(int)": "app::f(int)", "Größe 模块": "Größe 模块",
		"\x1b[2J": "\uFFFD[2J", "a\nb\tc\x7f": "a\uFFFDb\uFFFDc\uFFFD", "\u0085\u2028\u202e": "\uFFFD\uFFFD\uFFFD", "a\xff": "a\uFFFD",
	} {
		if got := Visible(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// FuzzMatches holds the matcher against a plain one.
func FuzzMatches(f *testing.F) {
	f.Add("app::Shape", "SHAPE")
	f.Add("\u212Aelvin ΣΑΣ", "σας")
	f.Add("a\xffb", "\xff")
	f.Fuzz(func(t *testing.T, s, text string) {
		got := NewMatcher(text).Matches(&Row{Function: s, Thread: math.MaxUint32})
		want := false
		for i := 0; i <= len(s); {
			if strings.HasPrefix(foldString(s[i:]), foldString(text)) {
				want = true
			}
			_, n := utf8.DecodeRuneInString(s[i:])
			i += max(n, 1)
		}
		for _, number := range []string{"4294967295", "0x0"} {
			want = want || strings.Contains(number, foldString(text))
		}
		if got != want {
			t.Errorf("%q in %q: %t, want %t", text, s, got, want)
		}
	})
}

func TestNoAllocation(t *testing.T) {
	r := Row{Wall: time.Unix(1e9, 5e6), HasWall: true, Function: "app::Shape::area", Source: "/src/größe.cpp", Duration: 1234567, Address: 1 << 40, Line: 5}
	buf := make([]byte, 0, 200)
	m := NewMatcher("Größen")
	var c Clock
	if n := testing.AllocsPerRun(100, func() {
		for i := range columns {
			buf = columns[i].Append(buf[:0], &r, 9)
		}
		buf = AppendDuration(buf[:0], r.Duration, 9)
		buf = c.Append(buf[:0], &r, 9)
		m.Matches(&r)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
