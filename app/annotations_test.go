package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"logparser/internal/testlog/classictest"
	"logparser/rows"
)

// markedTrace has annotations before, between and behind the calls of two threads, and
// of a third that has no calls.
const markedTrace = `file begin=1000
chunk process
clock @1000 ns=1000 wall=1700000000000000000
thread @1000 stream=2 id=8 name="render \"A\""
chunk events stream=1 thread=7 base=1000
mark @1050 "before"
enter @1100 entry 0x400010
counter +50 i64 -5 "queue"
enter @2000 entry 0x400020
mark @2000 "frame, 1"
leave @3000
leave @4000
mark @4500 "behind=\x1b\xff"
chunk events stream=2 thread=8 base=1500
mark @1500 "=frame 2"
enter @2500 entry 0x400030
counter @2600 u64 18446744073709551615 "bytes"
counter @2700 f64 0.25 "load"
leave @3500
counter @3600 f64 NaN "load"
chunk events stream=3 thread=9 base=1500
mark @1600 "alone"
`

// TestAnnotations asks for the annotations of a trace and for their rows.
func TestAnnotations(t *testing.T) {
	s := open(t, Inputs{Log: traceOf(t, t.TempDir(), markedTrace)})
	if texts, counters, ok := s.AnnotationCount(); texts != 5 || counters != 4 || !ok {
		t.Errorf("%d texts, %d values, %t", texts, counters, ok)
	}
	for _, test := range []struct {
		query AnnotationQuery
		want  string // elapsed, thread, text = value -> row
	}{
		// Rows: 0 enter@1100, 1 enter@2000, 2 enter@2500 (8), 3 leave@3000, 4 leave@3500 (8), 5 leave@4000.
		{AnnotationQuery{}, `-50 7 before -> 0
50 7 queue = -5 -> 1
400 8 =frame 2 -> 2
500 9 alone -> none
900 7 frame, 1 -> 1
1500 8 bytes = 18446744073709551615 -> 4
1600 8 load = 0.25 -> 4
2500 8 load = NaN -> 4
3400 7 behind=` + "\x1b\uFFFD" + ` -> 5`},
		{AnnotationQuery{Text: "FRAME"}, "400 8 =frame 2 -> 2\n900 7 frame, 1 -> 1"},
		{AnnotationQuery{Text: "a", Thread: "RENDER"}, "400 8 =frame 2 -> 2\n1600 8 load = 0.25 -> 4\n2500 8 load = NaN -> 4"},
		{AnnotationQuery{Thread: "9"}, "500 9 alone -> none"},
		{AnnotationQuery{Text: "nothing"}, ""},
		{AnnotationQuery{Thread: "nobody"}, ""},
	} {
		var got []string
		err := s.Annotations(context.Background(), test.query, func(m *rows.Annotation) bool {
			line := fmt.Sprintf("%d %d %s", m.Elapsed, m.Thread, m.Text)
			if v := m.AppendValue(nil); len(v) > 0 {
				line += " = " + string(v)
			}
			row, ok, err := s.RowOfAnnotation(context.Background(), m)
			if err != nil {
				t.Fatal(err)
			}
			if line += " -> none"; ok {
				line = strings.TrimSuffix(line, "none") + fmt.Sprint(row)
			}
			got = append(got, line)
			return true
		})
		if g := strings.Join(got, "\n"); err != nil || g != test.want {
			t.Errorf("%+v: %v\n%s\nwant\n%s", test.query, err, g, test.want)
		}
	}
}

// TestWriteAnnotations writes annotations as tables.
func TestWriteAnnotations(t *testing.T) {
	s := open(t, Inputs{Log: traceOf(t, t.TempDir(), markedTrace)})
	for _, test := range []struct {
		table AnnotationTable
		query AnnotationQuery
		want  string
	}{
		{AnnotationTable{Format: "csv", Rows: true}, AnnotationQuery{}, `time,thread,thread_name,kind,text,value,row
2023-11-14T22:13:20.000000050,7,,mark,before,,0
2023-11-14T22:13:20.000000150,7,,counter,queue,-5,1
2023-11-14T22:13:20.000000500,8,"render ""A""",mark,'=frame 2,,2
2023-11-14T22:13:20.000000600,9,,mark,alone,,
2023-11-14T22:13:20.000001000,7,,mark,"frame, 1",,1
2023-11-14T22:13:20.000001600,8,"render ""A""",counter,bytes,18446744073709551615,4
2023-11-14T22:13:20.000001700,8,"render ""A""",counter,load,0.25,4
2023-11-14T22:13:20.000002600,8,"render ""A""",counter,load,NaN,4
2023-11-14T22:13:20.000003500,7,,mark,behind=` + "\x1b\uFFFD" + `,,5
`},
		{AnnotationTable{Format: "jsonl", Rows: true}, AnnotationQuery{Thread: "8"}, `{"time":"2023-11-14T22:13:20.000000500","thread":8,"thread_name":"render \"A\"","kind":"mark","text":"=frame 2","row":2}
{"time":"2023-11-14T22:13:20.000001600","thread":8,"thread_name":"render \"A\"","kind":"counter","text":"bytes","value":18446744073709551615,"row":4}
{"time":"2023-11-14T22:13:20.000001700","thread":8,"thread_name":"render \"A\"","kind":"counter","text":"load","value":0.25,"row":4}
{"time":"2023-11-14T22:13:20.000002600","thread":8,"thread_name":"render \"A\"","kind":"counter","text":"load","value":"NaN","row":4}
`},
		{AnnotationTable{Format: "txt"}, AnnotationQuery{Text: "e"}, `time                           thread                                   value  text
2023-11-14T22:13:20.000000050  7                                               before
2023-11-14T22:13:20.000000150  7                                           -5  queue
2023-11-14T22:13:20.000000500  8 render "A"                                    =frame 2
2023-11-14T22:13:20.000000600  9                                               alone
2023-11-14T22:13:20.000001000  7                                               frame, 1
2023-11-14T22:13:20.000001600  8 render "A"              18446744073709551615  bytes
2023-11-14T22:13:20.000003500  7                                               behind=` + "\uFFFD\uFFFD" + "\n"},
	} {
		var b bytes.Buffer
		if _, err := s.WriteAnnotations(context.Background(), &b, test.query, test.table); err != nil {
			t.Fatal(err)
		}
		if b.String() != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.table.Format, b.String(), test.want)
		}
	}
}

// TestSavedAnnotations saves rows as a Chrome trace: with all rows go all annotations, with
// some of them those of their time.
func TestSavedAnnotations(t *testing.T) {
	s := open(t, Inputs{Log: traceOf(t, t.TempDir(), markedTrace)})
	for _, test := range []struct {
		where, want string // what they are, where they stand in microseconds
	}{
		{"", "i before 0, C queue 0.05, i =frame 2 0.4, i alone 0.5, i frame, 1 0.9, C bytes 1.5, C load 1.6, C load 2.5, i behind=\x1b\uFFFD 3.4"},
		// 2000 to 3500.
		{"row:1..4", "i frame, 1 0.9, C bytes 1.5, C load 1.6"},
		{"thread:8", "C bytes 1.5, C load 1.6"},
		{"func:nothing", ""},
	} {
		v, err := s.View(context.Background(), Selection{Where: test.where}, nil)
		if err == nil {
			err = v.Wait(context.Background())
		}
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := s.WriteRows(context.Background(), &b, "chrome", v, SaveOptions{}, nil); err != nil {
			t.Fatal(err)
		}
		var file struct {
			TraceEvents []struct {
				Ph, Cat, Name string
				TS            json.Number
			}
		}
		if err := json.Unmarshal(b.Bytes(), &file); err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
		var got []string
		for _, e := range file.TraceEvents {
			if e.Cat == "mark" || e.Cat == "counter" {
				got = append(got, fmt.Sprintf("%s %s %s", e.Ph, e.Name, e.TS))
			}
		}
		if g := strings.Join(got, ", "); g != test.want {
			t.Errorf("where %q:\n%s\nwant\n%s", test.where, g, test.want)
		}
	}
}

// TestNoAnnotations asks a log that cannot have any.
func TestNoAnnotations(t *testing.T) {
	log, _, err := classictest.WriteFiles(t.TempDir(), classictest.Spec{Records: 10})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, Inputs{Log: log})
	var b bytes.Buffer
	_, err = s.WriteAnnotations(context.Background(), &b, AnnotationQuery{}, AnnotationTable{Format: "csv"})
	if _, _, ok := s.AnnotationCount(); ok || err != nil || b.String() != "time,thread,thread_name,kind,text,value\n" {
		t.Errorf("%t, %v, %q", ok, err, b.String())
	}
}

// TestAnnotationsBeforeRows follows a trace that has nothing but annotations at first, and
// calls later.
func TestAnnotationsBeforeRows(t *testing.T) {
	const annotations = `file begin=1000 state=0 rate=1000000000
chunk process
clock @1000 ns=1000 wall=1700000000000000000
load @1000 module=1 flags=1 base=0x400000 size=0x1000 path="/bin/a"
chunk events stream=1 thread=7 base=1000
mark @1050 "first"
mark @1150 "second"
`
	const later = `chunk events stream=2 thread=8 base=1000
enter @2000 entry 0x400010
mark @2500 "third"
leave @3000
`
	dir := t.TempDir()
	whole, err := os.ReadFile(traceOf(t, dir, annotations+later))
	if err != nil {
		t.Fatal(err)
	}
	path := traceOf(t, dir, annotations)
	elapsed := func(s *Session) (list []int64) {
		if err := s.Annotations(context.Background(), AnnotationQuery{}, func(m *rows.Annotation) bool {
			list = append(list, m.Elapsed)
			return true
		}); err != nil {
			t.Fatal(err)
		}
		return list
	}
	s := open(t, Inputs{Log: path})
	if got := elapsed(s); !slices.Equal(got, []int64{0, 100}) {
		t.Errorf("annotations at %d", got)
	}
	tl := s.Timeline()
	if runs, err := tl.Runs(); err != nil || len(runs) != 0 {
		t.Errorf("the timeline has runs %+v, %v", runs, err)
	}
	if _, _, err := s.RowOfAnnotation(context.Background(), &rows.Annotation{}); err != nil {
		t.Error(err)
	}
	// It is written in place, as the recorder does.
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(whole, 0); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for pending := true; pending; {
		if time.Now().After(deadline) {
			t.Fatalf("%d rows came", s.Rows().Len())
		}
		g, err := s.grow(context.Background(), s.can.Grower)
		if err != nil {
			t.Fatal(err)
		}
		if g.runs != 0 {
			t.Errorf("%d runs came", g.runs)
		}
		pending = g.Pending || s.Rows().Len() < 2
	}
	if got, want := saved(t, s), saved(t, open(t, Inputs{Log: path})); got != want {
		t.Error(firstDifference(got, want))
	}
	if got := elapsed(s); !slices.Equal(got, []int64{-950, -850, 500}) {
		t.Errorf("annotations at %d when there are calls", got)
	}
}
