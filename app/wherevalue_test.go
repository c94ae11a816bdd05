package app

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"logparser/calls/index"
	"logparser/calls/query"
	"logparser/internal/testlog/tracetest"
	"logparser/parser"
	"logparser/rows"
	"logparser/rows/filter"
)

const valuedPlan = `lpvalues 1
machine x86-64
abi sysv
type 1 int 4 int
type 2 text 0 char const*
type 3 enum 4 app::Mode
enumerator 3 0 Closed
enumerator 3 3 Open
type 4 float 8 double
type 5 struct 8 app::Pt
member 5 0 1 x
member 5 4 1 y
type 6 struct 16 app::Box
member 6 0 5 at
member 6 8 1 <base>
member 6 12 1 w
type 7 bool 1 bool
type 8 pointer 8 0 void*
type 9 struct 16 app::Named
member 9 0 2 name
member 9 8 1 n
module app
identity build-id 0102030405060708090a0b0c0d0e0f1011121314
function 100 10 move(char const*, int)
enter rdi text 8 2 name
enter rsi value 4 1 w
enter rdx value 8 5 p
enter - unknown 1 lost
leave rax value 4 1 return
leave @rdi text 8 2 name@leave
leave @rdx memory 0 8 5 p@leave
function 200 10 draw(app::Box const&)
enter rdi memory 0 16 6 box
enter xmm0 value 8 4 scale
enter rsi value 4 3 mode
leave rax value 1 7 return
function 300 10 plain(void*)
enter rdi value 8 8 this
enter rsi memory 0 16 9 in
enter rsi text-at 0 8 2 in.name
leave rax string libstdc++ 16 2 return
leave @rsi memory 0 16 9 in@leave
leave @rsi text-at 0 8 2 in@leave.name
`

// takenBytes makes what is taken at an enter or a leave of a function of valuedPlan.
func takenBytes(r *rand.Rand, function int, leave bool) []byte {
	le := binary.LittleEndian
	small := func() uint32 { return uint32(r.IntN(9) - 4) }
	text := func(b []byte) []byte {
		switch s := []string{"", "open", "close", "a longer name", "\xff"}[r.IntN(5)]; r.IntN(6) {
		case 0:
			return le.AppendUint16(b, 0xffff)
		case 1:
			return le.AppendUint16(b, 0xfffe)
		default:
			return append(le.AppendUint16(b, uint16(len(s))), s[:min(len(s), 8)]...)
		}
	}
	var b []byte
	switch {
	case leave && function == 1:
		b = text(le.AppendUint32(b, small()))
		if b = append(b, byte(r.IntN(3))); b[len(b)-1] == 0 {
			b = le.AppendUint32(le.AppendUint32(b, small()), small())
		}
	case leave && function == 2:
		b = append(b, byte(r.IntN(3)))
	case leave:
		b = append(text(b), 0)
		b = text(le.AppendUint32(le.AppendUint32(le.AppendUint64(b, 0x400100), small()), 0))
	case function == 1:
		b = le.AppendUint32(text(b), small())
		b = le.AppendUint32(le.AppendUint32(b, small()), small())
	case function == 2:
		if b = append(b, byte(r.IntN(4))); b[0] == 0 {
			for range 4 {
				b = le.AppendUint32(b, small())
			}
		}
		b = le.AppendUint64(b, []uint64{0, 0x3ff8000000000000, 0x7ff8000000000001, 0xc000000000000000}[r.IntN(4)])
		b = le.AppendUint32(b, uint32(r.IntN(4)))
	default:
		b = le.AppendUint64(b, []uint64{0, 0x5581, 0xffffffffffffffff}[r.IntN(3)])
		if b = append(b, byte(r.IntN(3))); b[8] == 0 {
			b = text(le.AppendUint32(le.AppendUint32(le.AppendUint64(b, 0x400100), small()), 0))
		} else {
			b = le.AppendUint16(b, 0xfffe)
		}
	}
	if r.IntN(20) == 0 {
		b = b[:r.IntN(len(b)+1)]
	}
	return append(b, make([]byte, len(b)&1)...)
}

// valuedModule is the text of the record of a trace that has a plan, and of the module that this is of.
func valuedModule(text string) string {
	return fmt.Sprintf(`load @1000 module=1 base=0x400000 size=0x10000 path="/nowhere/app" identity="build-id:0102030405060708090a0b0c0d0e0f1011121314"
record type=17 %x
`, tracetest.Plan(text, 0, len(text)))
}

// valuedTrace is the text of a log of events with values on some threads, which call far at times.
func valuedTrace(r *rand.Rand, threads, events int) string {
	var b strings.Builder
	b.WriteString("file begin=1000\nchunk process\nclock @1000 ns=1000 wall=1700000000000000000\n")
	b.WriteString("setting name=\"values\" value=\"plan 0 /app.lpvalues\"\n")
	b.WriteString(valuedModule(valuedPlan))
	for thread := range threads {
		fmt.Fprintf(&b, "chunk events stream=%d thread=%d base=1000\nwindow w0 entry 0x400000\n", thread+1, thread+7)
		var open []int
		jumped := false
		for k := range events / threads {
			// Two calls last long, and of one thread now and then more than are looked up one by one.
			deep := threads == 1 && k/index.BlockLen%3 == 1 && k%index.BlockLen > index.BlockLen-200
			if !jumped && !deep && len(open) > 2 && r.IntN(len(open)) > 2 || len(open) > 0 && k == events/threads-2 {
				function := open[len(open)-1]
				open = open[:len(open)-1]
				b.WriteString("leave +1\n")
				if r.IntN(4) == 0 {
					b.WriteString("result jump\n") // what comes next may be no call all the same
					jumped = r.IntN(5) > 0
				} else if r.IntN(3) > 0 && function < 4 {
					fmt.Fprintf(&b, "result 1 %x\n", takenBytes(r, function, true))
				}
				continue
			}
			jumped = false
			function := 1 + r.IntN(4)
			open = append(open, function)
			fmt.Fprintf(&b, "enter +1 w0 %#x\n", 0x100*function)
			if r.IntN(3) > 0 && function < 4 {
				fmt.Fprintf(&b, "arguments 1 %x\n", takenBytes(r, function, false))
			}
		}
	}
	return b.String()
}

// TestWhereValues holds rows found by values against what the language says of rows as they are shown: of two threads,
// and of one, whose calls the log pairs.
func TestWhereValues(t *testing.T) {
	for threads := 1; threads <= 2; threads++ {
		testWhereValues(t, threads)
	}
}

func testWhereValues(t *testing.T, threads int) {
	r := rand.New(rand.NewPCG(3, 7))
	s := open(t, Inputs{Log: traceOf(t, t.TempDir(), valuedTrace(r, threads, 7*index.BlockLen)), NoRecordedPaths: true})
	if pairs := new(parser.CallPairs); s.can.TakenReader.TakenCalls(0, 10, pairs, func(*parser.TakenAt) {}) != (threads == 1) {
		t.Error("calls of one thread are not paired by the log, or those of two are")
	}
	list := make([]rows.Row, s.Rows().Len())
	if n, err := rows.With(s.Rows(), rows.Values).Read(list, 0); n != len(list) {
		t.Fatalf("%d rows: %v", n, err)
	}
	terms := []string{"arg.w:>1", "arg.w:-4..-2", "arg.w:0", "arg.w:~1", "arg.w:'1'", "arg.w:nothing", "arg.name:~o", "arg.name:open", "arg.name:null", "arg.name:>3",
		"arg.p.x:<0", "arg.p.z:1", "arg.p:~x", "arg.lost:0", "arg.box.at.y:>0", "arg.box.w:3", "arg.box:null", "arg.box:~w", "arg.box:0", "arg.scale:1.5", "arg.scale:<0", "arg.mode:Open", "arg.mode:1",
		"arg.mode:>=2", "this:0x5581", "this:null", "this:0xffffffffffffffff", "this:>0", "arg.this:0", "result:<0", "result:true", "result:2", "result:close", "result:~ger", "result:null",
		"arg.in.name:~o", "arg.in.n:>1", "arg.in:~close", "arg.in:null", "arg.in.name:null", "arg.in.name:>1", "result.x:1", "arg.none:1", "arg.name:/^c/", "arg.w:>1 event:leave", "-arg.w:>1", "arg.w:>1 or result:<0", "arg.box.app::Pt.x:1",
		"arg.name@leave:~o", "arg.name@leave:open", "arg.p@leave.x:>0", "arg.p@leave:null", "arg.in@leave.name:close", "arg.in@leave.n:<0", "arg.in@leave:~o", "arg.p@leave.x:>0 event:enter",
		"arg.name@leave:~e -result:<0"}
	step := 1
	if testing.Short() {
		step = 7
	}
	if n := jumpResults(t, s, list); n < 100 {
		t.Errorf("%d results are those of other calls", n)
	}
	some, asked := 0, 0
	for k := 0; k < len(terms); k += step {
		text := terms[k]
		asked++
		where, err := filter.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var want []int64
		for i := range list {
			if where.Matches(&list[i], nil) {
				want = append(want, int64(i))
			}
		}
		if some += min(len(want), 1); !slices.Equal(indexes(t, viewOf(t, s, Selection{Where: text})), want) {
			t.Errorf("%d threads, %s: other rows than the %d that are shown with such values", threads, text, len(want))
		}
	}
	if some < asked-12/step {
		t.Errorf("%d of %d terms find something", some, asked)
	}
	if s.can.TakenReader == nil || !s.taken.decoder(s.can.ValueTeller.ValuesTaken()).Whole() {
		t.Error("values are not read by the plan")
	}
}

// jumpResults returns how many calls that ended with a jump have a result.
func jumpResults(t *testing.T, s *Session, list []rows.Row) (n int) {
	t.Helper()
	taken := make([]parser.CallValues, len(list))
	if _, err := s.can.ValueTeller.Values(taken, 0); err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if v := list[i].CallValues(); taken[i].Form == parser.ValuesOfJump && v != nil && len(v.Results) > 0 && v.Results[0].Kind != rows.UnknownValue {
			n++
		}
	}
	return n
}

// someValues is a log that has values.
type someValues struct{ parser.ValueTeller }

func (someValues) ValuesTaken() *parser.ValuesTaken { return &parser.ValuesTaken{} }

// TestWhereNoValues looks for values in a log without any: no row is read for that, until it has some.
func TestWhereNoValues(t *testing.T) {
	s := open(t, Inputs{Log: traceOf(t, t.TempDir(), "file begin=1000\nchunk process\nclock @1000 ns=1000 wall=1700000000000000000\n"+
		"chunk events stream=1 thread=7 base=1000\nwindow w0 entry 0x400000\nenter +1 w0 0x100\nleave +1\n"), NoRecordedPaths: true})
	for text, want := range map[string]int{"arg.w:1": 0, "-result:<0": 2} {
		if got := indexes(t, viewOf(t, s, Selection{Where: text})); len(got) != want {
			t.Errorf("%s: %d rows, want %d", text, len(got), want)
		}
		e, err := filter.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.compile(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		if most, _ := query.Candidates(s.table, c.pass); text[0] != '-' && most != 0 {
			t.Errorf("%s: %d rows are looked at", text, most)
		}
		before := s.can.ValueTeller
		if c.outgrown() {
			t.Errorf("%s: out of date", text)
		}
		s.can.ValueTeller = someValues{before}
		if !c.outgrown() {
			t.Errorf("%s: the log has values now", text)
		}
		s.can.ValueTeller = before
	}
}
