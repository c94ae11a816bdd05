package filter

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"logparser/rows"
)

// sample is a row, its thread's name, its self time and the functions around
// it.
type sample struct {
	rows.Row
	thread string
	self   int64
	around []string
}

func (s sample) ThreadName(*rows.Row) string { return s.thread }
func (s sample) Self(int64) (int64, bool)    { return s.self, s.self >= 0 }
func (s sample) Enter(row int64) int64       { return row }
func (s sample) Calls(int64) (list []rows.Row) {
	for i, f := range s.around {
		list = append(list, rows.Row{Index: int64(100 + i), Function: f})
	}
	return list
}

func draw() sample {
	return sample{
		Row: rows.Row{
			Index: 7, Wall: time.Date(2013, 5, 12, 14, 3, 7, 123e6, time.UTC), HasWall: true, Elapsed: 1_500e6, Thread: 12,
			Event: rows.Leave, Depth: 3, Duration: 5_200_000, Function: "app::Widget::Draw(int, char)", Module: "LogTest.exe",
			Source: `C:\src\widget.cpp`, Line: 40, Address: 0x7ff6_0040_1000, Symbols: "matched", Note: "no leave",
		},
		thread: "render", self: 2e6, around: []string{"main", "Render", "app::Widget::Draw(int, char)"},
	}
}

func TestMatches(t *testing.T) {
	row := draw()
	for text, want := range map[string]bool{
		"": true, "  ": true,
		// Texts.
		"draw": true, "widget.CPP": true, "12": true, "leave": true, "0x7FF6": true, "paint": false, "matched": false,
		`"Draw(int, char)"`: true, "Draw(int, char)": true, "app::Widget": true, `C:\src`: true, "text:~^app": true, "text:=LogTest.exe": true,
		"func:draw": true, "func:=Draw": false, `func:="app::Widget::Draw(int, char)"`: true, "func:=app::Widget::Draw(int, char)": true,
		`func:~Draw\(int`: true, "func:~(Draw|Paint)": true, "func:~^Draw": false, "func:~(?i)DRAW": true, "FUNCTION:draw": true,
		"func:app::": true, "func:Widget::": true, "func:idget::": false, "func:~idget::": true, "in:Render::": false,
		"module:logtest": true, "module:=logtest.exe": false, `module:=""`: false, `source:C:\src\`: true, "symbols:match": true,
		"event:leave": true, "event:enter": false, `mark:"no leave"`: true, "mark:stray": false, `mark:=""`: false,
		"event:LEA": true, "event:~entr": false, `event:""`: true, "mark:~opne": false, `mark:""`: true, "mark:LEAVE": true,
		"mark:several": false, `mark:"open; a"`: false, "mark:=opne": false, `"&" or "||"`: false, "a&b": false,
		// Numbers.
		"thread:12": true, "thread:1": false, "thread:>11": true, "thread:5..12": true, "thread:render": true, "thread:~^ren": true, `thread:"12"`: false,
		"depth:3": true, "depth:<3": false, "depth:..3": true, "depth:3..": true, "depth:4..5": false, "line:40": true, "line:>=41": false,
		"symbols:=matched": true, "symbols:EXPORTS": false, `symbols:"exports only"`: false, `symbols:=""`: false, "symbols:~foo": false,
		"address:x7ff": true, `address:"7FF6"`: true, "address:~zz": false, "thread:-1": false,
		// Words like a column's name with an operator behind it.
		"function<void": false, "file": false, "draw ~Widget": false, "in ~W": false, "time ::Draw": false, `"dur>5ms"`: false, "durer>5": false,
		"row:7": true, "row:0..6": false, "index:>6": true, "address:7ff6": true, "address:0x7ff600401000..0x7ff600402000": true,
		"address:=0x7ff600401000": true, "address:>0x7ff600401000": false, "address:=0x7ff6": false,
		// Durations and times.
		"dur:>5ms": true, "dur:5ms": true, "dur:=5ms": false, "dur:5.2ms": true, "dur:5.20ms": true, "dur:5.3ms": false, "dur:1..6ms": true,
		"dur:0..": true, "dur:<0.01s": true, "dur:>=5200us": true, "dur:5200000ns": true, "dur:>1m": false, "dur:<1h": true,
		"dur:0": false, "dur:=0": false, "dur:0.0": false, "dur:0s": true, "dur:0..6ms": true, "dur:>0": true, "self:0": false, "dur:0..0": false,
		"self:2ms": true, "self:>2ms": false, "self:..2ms": true,
		"time:1.5": true, "time:1": true, "time:=1": false, "time:1.5s..2s": true, "time:1..2": true, "time:>1500ms": false, "time:1400..1600ms": true,
		"time:14:03": true, "time:14:03:07": true, "time:14:03:07.1": true, "time:14:03:07.2": false, "time:>14:03": true, "time:<14:03": false,
		"time:14:00..15:00": true, "time:23:00..01:00": false, "time:13:00..01:00": true, "time:2013-05-12": true, "time:2013-05-13": false,
		"time:2013-05-12T14:03": true, `time:"2013-05-12 14:03:07.123"`: true, "time:>2013-05-12": true, "time:<2013-05-12T14:03:07.123": false,
		"time:<=2013-05-12T14:03:07.123": true, "time:2013-05-12..2013-05-13": true,
		// Where it lies.
		"in:render": true, "in:=Rend": false, "in:~^Render$": true, "in:main -in:paint": true, "call:101": true, "call:103": false,
		// Joined.
		"draw leave": true, "draw paint": false, "draw or paint": true, "paint or draw and leave": true, "draw and not paint": true,
		"-paint": true, "-draw": false, "--draw": true, "not not draw": true, "-(paint or 13)": true, "(paint or draw) and thread:12": true,
		"paint or paint or thread:12": true, "draw AND (NOT paint)": true, `"or"`: false, "-dur:>6ms": true,
	} {
		e, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := e.Matches(&row.Row, row); got != want {
			t.Errorf("%s matches: %t", text, got)
		}
		again, err := Parse(e.String())
		if err != nil || again.String() != e.String() {
			t.Errorf("%s is written %s, and that %v: %v", text, e, again, err)
		} else if got := again.Matches(&row.Row, row); got != want {
			t.Errorf("%s, written %s, matches: %t", text, e, got)
		}
	}
}

// TestMissing holds the terms against a row that has hardly anything, and a
// damaged one.
func TestMissing(t *testing.T) {
	bare := sample{Row: rows.Row{Event: rows.Enter, Duration: rows.NoDuration, Elapsed: -5_500_000, Function: "0x0"}, self: -1}
	damaged := draw()
	damaged.Event = rows.Unknown
	for _, test := range []struct {
		text string
		row  sample
		want bool
	}{
		{"dur:>=0", bare, false}, {"-dur:>=0", bare, true}, {"self:0..", bare, false}, {"time:14:00..", bare, false}, {"time:2000-01-01..", bare, false},
		{"time:-0.005", bare, true}, {"time:-0.006", bare, false}, {"time:<0", bare, true}, {"line:0", bare, false}, {`module:=""`, bare, true},
		{"thread:render", bare, false}, {"thread:0", bare, true}, {`mark:=""`, bare, true},
		{"thread:12", damaged, false}, {"in:main", damaged, false}, {"event:unknown", damaged, true}, {"func:draw", damaged, true},
	} {
		e, err := Parse(test.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Matches(&test.row.Row, test.row); got != test.want {
			t.Errorf("%s matches %v: %t", test.text, test.row, got)
		}
	}
}

func TestString(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "",
		" a   b ":                             "a b",
		"a and b or c":                        "a b or c",
		"a (b or c)":                          "a (b or c)",
		"(a b) c":                             "a b c",
		"not (a or b) and NOT c":              "-(a or b) -c",
		"-(a)":                                "-a",
		"--a":                                 "a",
		`"a b"`:                               `"a b"`,
		`"a"`:                                 "a",
		`"a\"b\\c\d"`:                         `a"b\c\d`,
		`"and"`:                               `"and"`,
		`"-x"`:                                `"-x"`,
		`"(x)"`:                               `"(x)"`,
		`"func:x"`:                            `"func:x"`,
		"a->b":                                "a->b",
		`depth "!0"`:                          `depth "!0"`,
		`depth ::a`:                           `depth ::a`,
		"function:f(int, char)":               "func:f(int, char)",
		`func:="=x"`:                          "func:==x",
		`func:"=x"`:                           `func:"=x"`,
		`func:~"a b"`:                         `func:~"a b"`,
		`func:~a\(b`:                          `func:~a\(b`,
		`func:a\(b`:                           "",
		`mark:=""`:                            `mark:=""`,
		`thread:"12"`:                         `thread:"12"`,
		"tid:12":                              "thread:12",
		`time:"2013-05-12 14:03..2013-05-13"`: `time:"2013-05-12 14:03..2013-05-13"`,
		"DUR:>5MS":                            "dur:>5MS",
	} {
		e, err := Parse(text)
		if want == "" && text != "" {
			if err == nil {
				t.Errorf("%s is read as %s", text, e)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := e.String(); got != want {
			t.Errorf("%s is written %s, want %s", text, got, want)
		}
	}
}

// TestStars has names with a *, which no wildcard is taken for.
func TestStars(t *testing.T) {
	row := draw()
	for _, test := range []struct{ text, function string }{
		{"func:operator*", "vec::operator*"}, {"func:operator*=", "vec::operator*="}, {"func:operator->*", "ptr::operator->*"},
		{"func:list<char*>::add", "list<char*>::add"}, {"func:f(char*,int)", "f(char*,int)"}, {"func:x<char**,int*&>", "x<char**,int*&>"},
		{`func:"char*"`, "get char* x"}, {"func:=*x", "*x"}, {"func:~^a*b", "aab"}, {`"*x"`, "a*x"}, {`in:"a*"`, "a*b"},
	} {
		e, err := Parse(test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		row.Function = test.function
		if e.Parts()[0].Term.Column != In && !e.Matches(&row.Row, row) {
			t.Errorf("%s does not hold for %s", test.text, test.function)
		}
		again, err := Parse(e.String())
		if err != nil || again.String() != e.String() {
			t.Errorf("%s is written %s: %v", test.text, e.String(), err)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		text, want string
		offset     int
	}{
		{"a (b", "there is no ) for this (", 2},
		{"a b)", "there is no ( for this )", 3},
		{"()", "a term is expected", 1},
		{"a or", "a term is expected", 4},
		{"or a", "a term is expected", 0},
		{"a and or b", "a term is expected", 6},
		{"not", "a term is expected", 3},
		{"a - b", "a term must follow the -", 2},
		{"func:*draw*", "there are no wildcards, because a text is found anywhere in a name: write func:draw; a * that belongs to a name is put in quotes", 5},
		{"-in:Dr*w", "write in:~Dr.*w;", 4}, {"*draw", "write draw;", 0}, {"dr*w.cpp", `write text:~dr.*w\.cpp;`, 0}, {"module:*", "write module:~.*;", 7},
		{"thread:rend*", "write thread:rend;", 7}, {"source:*.cpp", "write source:.cpp;", 7}, {"func:char*", "write func:char;", 5},
		{"fnc:x", `there is no column "fnc"`, 0},
		{"a func:", "a value is expected after func:", 7},
		{"func: b", "a value is expected after func:", 5},
		{`a "b`, "the quoted text has no end", 2},
		{`"a"b`, "a blank is expected after the quoted text", 3},
		{"func:f(int", "there is no ) for this (", 6},
		{"a func:~[", "the regular expression is wrong: missing closing ]", 8},
		{"dur:5", "a unit is expected after 5", 5},
		{"dur:5..6", "a unit is expected after 6", 8},
		{"dur:5kg", `"kg" is no unit`, 5},
		{"dur:-5ms", "a duration is expected", 4},
		{"dur:x", `"x" is no unit`, 4},
		{"dur:~x", "dur: is compared as a number", 5},
		{"dur:..", "a range needs a bound", 4},
		{"dur:>1..2ms", "a range stands without >", 5},
		{"dur:99999999999h", "the number is too large", 4},
		{"depth:x", "a number is expected after depth:", 6},
		{"depth:1..x", "a number is expected after depth:", 9},
		{"time:25:00", "a time is expected", 5},
		{"time:1s..14:03", "both bounds of a range", 9},
		{"address:>x", "an address is expected", 9},
		{"address:zz", "an address is expected", 8},
		{"address:12345678123456781", "an address is expected", 8},
		{"address:0x1..0x12345678123456781", "an address is expected", 8},
		{"a symbols:foo", "symbols: is matched, attached, embedded, exports only, starts only, mismatched, unverified, not found, pending, not \"foo\"", 10},
		{"symbols:=Matched", "symbols: is matched,", 9},
		{"row:-1", "row: is never negative", 4},
		{"depth:<-1", "depth: is never negative", 7},
		{"call:-1", "call: is never negative", 5},
		{"row:99999999999999999999", "the number is too large", 4},
		{"line:1..99999999999999999999", "the number is too large", 8},
		{"row:5..3", "the range is the wrong way round", 4},
		{"thread:5..3", "the range is the wrong way round", 7},
		{"dur:6..5ms", "the range is the wrong way round", 4},
		{"a time:2s..1", "the range is the wrong way round", 7},
		{"time:2013-05-13..2013-05-12", "the range is the wrong way round", 5},
		{"address:0x2..0x1", "the range is the wrong way round", 8},
		{"a dur>5ms", "write dur:>5ms; a text is put in quotes", 2},
		{"dur >= 5ms", "write dur:>=5ms;", 0},
		{"dur :>5ms", "write dur:>5ms;", 0},
		{"dur : 5ms b", "write dur:5ms;", 0},
		{"(Duration<5ms)", "write dur:<5ms;", 1},
		{"func=f(int, char)", "write func:=f(int, char);", 0},
		{"func==x", "write func:=x;", 0},
		{"func=~^x", "write func:~^x;", 0},
		{"func~x", "write func:~x;", 0},
		{"func>x", "write func:x;", 0},
		{`fn!="a b"`, `write -func:="a b";`, 0},
		{"depth~5", "write depth:5;", 0},
		{"a dur>", "a value is expected after dur:", 2},
		{"call:1..2", "one row of the call is expected", 5},
		{"call:>1", "one row of the call is expected", 6},
		{`dur:"x"`, `"x" is no unit`, 5},
		{"a event:entr", "event: is enter, leave or unknown, not \"entr\"", 8},
		{`event:="Enter"`, "event: is enter, leave or unknown", 8},
		{"-mark:opne", `"opne" is part of no note; there are open, running, no leave, stray, tail, damaged, no enter`, 6},
		{"func:main & module:app", "& does not join terms, write and", 10},
		{"a && b", "&& does not join terms, write and", 2},
		{"(a | b)", "| does not join terms, write or", 3},
		{"a || b", "|| does not join terms, write or", 2},
		{strings.Repeat("(", 500) + "a", "nested more than 100 times", 100},
		{strings.Repeat("-", 500) + "a", "nested more than 100 times", 100},
		{strings.Repeat("a", MaxLength+1), "longer than", MaxLength},
	} {
		_, err := Parse(test.text)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%.20s: %v", test.text, err)
		} else if e.Offset != test.offset || !strings.Contains(e.Error(), test.want) {
			t.Errorf("%.20s: byte %d: %v; want byte %d: %s", test.text, e.Offset, e, test.offset, test.want)
		}
	}
}

func TestEdit(t *testing.T) {
	parse := func(text string) *Expr {
		e, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for _, test := range []struct{ have, do, term, want string }{
		{"", "include", "func:=a", "func:=a"},
		{"thread:1", "include", "func:=a", "thread:1 func:=a"},
		{"thread:1 func:=a", "include", "func:=b", "thread:1 (func:=a or func:=b)"},
		{"func:=a or func:=b", "include", "func:=c", "func:=a or func:=b or func:=c"},
		{"func:=a or func:=b", "include", "func:=a", "func:=a or func:=b"},
		{"-func:=a x", "include", "func:=a", "x func:=a"},
		{"-func:=b", "include", "func:=a", "-func:=b func:=a"},
		{"func:=a or thread:1", "include", "func:=b", "(func:=a or thread:1) func:=b"},
		{"", "exclude", "func:=a", "-func:=a"},
		{"func:=a", "exclude", "func:=a", "-func:=a"},
		{"func:=a or func:=b", "exclude", "func:=a", "func:=b"},
		{"x -func:=a", "exclude", "func:=a", "x -func:=a"},
		{"x or y", "exclude", "func:=a", "(x or y) -func:=a"},
		{"x time:1..2", "replace", "time:3..4", "x time:3..4"},
		{"x -time:1..2", "replace", "time:3..4", "x time:3..4"},
		{"", "replace", "time:3..4", "time:3..4"},
	} {
		e, term := parse(test.have), parse(test.term)
		do := map[string]func(*Expr) *Expr{"include": e.Include, "exclude": e.Exclude, "replace": e.Replace}[test.do]
		if got := do(term).String(); got != test.want {
			t.Errorf("%s: %s %s: %s, want %s", test.have, test.do, test.term, got, test.want)
		}
		if got := e.String(); got != test.have {
			t.Errorf("%s became %s", test.have, got)
		}
	}
	e := parse("a (b or c) -d")
	var parts []string
	for _, p := range e.Parts() {
		parts = append(parts, p.String())
	}
	if want := []string{"a", "b or c", "-d"}; !slices.Equal(parts, want) {
		t.Errorf("parts %q", parts)
	}
	if got := e.Without(1).Without(0).Without(0); !got.IsAll() || got.String() != "" {
		t.Errorf("without all parts: %s", got)
	}
}

// TestProcess has rows of several processes, and of one alone.
func TestProcess(t *testing.T) {
	processes := []*rows.Process{{ID: 29, Name: "app"}, {ID: 129, Name: "app"}, {ID: 29, Name: "app"}}
	rows.LabelProcesses(processes)
	for text, want := range map[string]string{
		"process:29": "tft", "process:app": "ttt", "process:129": "ftf", "process:2": "fff", "pid:=29": "tft",
		"process:=app": "ttt", `process:="29 app"`: "tff", `process:="29 app (2)"`: "fft", "process:~^29": "tft", "-process:29": "ftf", "process:other": "fff",
	} {
		e, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, p := range processes {
			row := draw()
			row.Process = p
			got += map[bool]string{true: "t", false: "f"}[e.Matches(&row.Row, row)]
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	row := draw()
	if e, err := Parse("process:29 or process:app"); err != nil || e.Matches(&row.Row, row) {
		t.Errorf("a row of one process alone: %v", err)
	}
	if _, ok := Of(Process, &row.Row); ok {
		t.Error("one process alone has a term")
	}
	// A thread is one of its process, and takes the place of another.
	row.Process = processes[2]
	term, ok := Of(Thread, &row.Row)
	if want := `process:="29 app (2)" thread:12`; !ok || term.String() != want {
		t.Errorf("%v, want %s", term, want)
	}
	e, err := Parse(`thread:7 func:a process:="129 app"`)
	if want := `func:a process:="29 app (2)" thread:12`; err != nil || e.Replace(term).String() != want {
		t.Errorf("%v, want %s", e.Replace(term), want)
	}
	if want := `func:a -(process:="29 app (2)" thread:12)`; e.Without(2).Without(0).Exclude(term).String() != want {
		t.Errorf("%v, want %s", e.Without(2).Without(0).Exclude(term), want)
	}
}

func TestOf(t *testing.T) {
	row := draw()
	for c, want := range map[Column]string{
		Func: "func:=app::Widget::Draw(int, char)", Module: "module:=LogTest.exe", Source: `source:=C:\src\widget.cpp`, Line: "line:40",
		Thread: "thread:12", Event: "event:=leave", Duration: "dur:>=5200000ns", Depth: "depth:3", Time: "time:1500000000ns",
		Address: "address:=0x7ff600401000", Symbols: "symbols:=matched", Mark: `mark:="no leave"`, Row: "row:7", Call: "call:7",
		In: "in:=app::Widget::Draw(int, char)",
	} {
		e, ok := Of(c, &row.Row)
		if !ok || e.String() != want {
			t.Errorf("%v: %v, want %s", c, e, want)
			continue
		}
		again, err := Parse(want)
		if err != nil || again.String() != want {
			t.Errorf("%s is read as %v: %v", want, again, err)
			continue
		}
		if c != Call && (!e.Matches(&row.Row, row) || !again.Matches(&row.Row, row)) {
			t.Errorf("%s does not match its row", want)
		}
	}
	if got, err := InRange(Time, "-5ns", "1s"); err != nil || got.String() != "time:-5ns..1s" {
		t.Errorf("time range %v, %v", got, err)
	}
	if _, err := InRange(Duration, "5", "x"); err == nil {
		t.Error("a range without a unit")
	}
	for _, function := range []string{"operator()", "f(", "a b", `"`, "=x", "~x", "", "\xff", "operator>=", "a::b<c>(d) const"} {
		e := Is(Func, function)
		again, err := Parse(e.String())
		if err != nil || again.Kind != Leaf || again.Term.Value != function || again.Term.Op != Equals {
			t.Errorf("%q is written %s and read %v: %v", function, e, again, err)
		}
	}
}

func TestComplete(t *testing.T) {
	for _, test := range []struct {
		text          string
		at            int
		from          int
		column, typed string
		insert, want  string
	}{
		{"", 0, 0, "", "", "func:", "func:"},
		{"fu", 2, 0, "", "fu", "func:", "func:"},
		{"a -mod", 6, 3, "", "mod", "module:", "a -module:"},
		{"a (th", 5, 3, "", "th", "thread:", "a (thread:"},
		{"func:Dr", 7, 5, "func", "Dr", "app::Draw", "func:app::Draw "},
		{"func:=Dr", 8, 6, "func", "Dr", "f(int, char)", "func:=f(int, char) "},
		{`func:"a b`, 9, 5, "func", "a b", "a b(", `func:"a b(" `},
		{"func:D thread:1", 6, 5, "func", "D", "Draw", "func:Draw  thread:1"},
		{"func:a ", 7, 7, "", "", "module:", "func:a module:"},
	} {
		c := Complete(test.text, test.at)
		column := ""
		if c.InValue {
			column = c.Column.String()
		}
		if c.From != test.from || c.To != test.at || column != test.column || c.Prefix != test.typed {
			t.Errorf("%s at %d: %+v", test.text, test.at, c)
			continue
		}
		if got, _ := c.Insert(test.text, test.insert); got != test.want {
			t.Errorf("%s: %s inserted: %q, want %q", test.text, test.insert, got, test.want)
		}
	}
}

// FuzzParse checks that what is written is read as the same.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`func:~Draw.* thread:12 dur:>5ms -module:ntdll (mark:open or mark:stray) in:Render time:1.5s..2s depth:<10 "free text"`,
		"time:14:03..2013-05-12T14:03 address:0x1..0x2 -(a or not b)", `func:~\( f(int, char) C:\x a::b`, `"\" \\ \x" thread:"12"`,
		"dur:5..6ms self:1.5us line:>=3 row:..5 call:3 text:=x event:enter symbols:matched source:a/b", "((((a", "--a", "\xff(\x00)",
	} {
		f.Add(text)
	}
	row := draw()
	f.Fuzz(func(t *testing.T, text string) {
		Complete(text, len(text)/2)
		e, err := Parse(text)
		if err != nil {
			var wrong *Error
			if !errors.As(err, &wrong) || wrong.Offset < 0 || wrong.Offset > len(text) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		written := e.String()
		if len(written) > MaxLength {
			return
		}
		again, err := Parse(written)
		if err != nil {
			t.Fatalf("%q is written %q: %v", text, written, err)
		}
		if again.String() != written {
			t.Fatalf("%q is written %q, and that %q", text, written, again.String())
		}
		if e.Matches(&row.Row, row) != again.Matches(&row.Row, row) {
			t.Fatalf("%q and %q do not match the same", text, written)
		}
	})
}
