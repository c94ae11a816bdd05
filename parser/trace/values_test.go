package trace_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"logparser/internal/testlog/tracetest"
	"logparser/parser"
	"logparser/parser/trace"
	"logparser/parser/trace/tracetext"
	"logparser/parser/trace/wire"
)

// placeRecord returns the body of a PLACE that gives n ints.
func placeRecord(number, line uint32, names string, n int) []byte {
	le := binary.LittleEndian
	text := func(b []byte, s string) []byte { return append(le.AppendUint32(b, uint32(len(s))), s...) }
	b := le.AppendUint32(le.AppendUint32(nil, number), line)
	b = text(text(text(b, "area"), "shape.cpp"), names)
	b = append(le.AppendUint16(b, uint16(n)), slices.Repeat([]byte{7}, n)...)
	for range n {
		b = text(b, "int")
	}
	return append(b, make([]byte, -len(b)&7)...)
}

// appendValues makes a record of values, either in the form of version 1.1 or in the shorter form of version 1.2. Values that
// the program gave are of place 1.
func appendValues(r *rand.Rand, typ wire.Type, kind wire.ValueKind, values []byte) []byte {
	place := []byte{1, 0, 0, 0}
	switch short := r.IntN(2) == 0; {
	case short && kind == wire.ByPlan:
		return wire.AppendPlanValues(nil, typ-wire.Arguments+wire.PlanArguments, values)
	case short && kind == wire.Given && len(values) <= 28:
		return wire.AppendPlaceValues(nil, (typ-wire.Arguments)*4+wire.PlaceArguments, 1, values)
	case kind == wire.Given:
		return wire.AppendValues(nil, typ, uint16(kind), append(place, values...))
	}
	return wire.AppendValues(nil, typ, uint16(kind), values)
}

// saidValues returns the values of each record as text, "-" for none. Values that hooks took have a letter for their form, and
// values that the program gave have the number of their place.
func saidValues(t *testing.T, log *trace.Log) string {
	t.Helper()
	var list []string
	for i := range log.Info().Records {
		list = append(list, sayValues(valuesOf(t, log, i)))
	}
	return strings.Join(list, " ")
}

func sayValues(v *parser.CallValues) string {
	if v.By == nil {
		return "-"
	}
	var list []string
	if v.Form != parser.NoValues {
		list = append(list, fmt.Sprintf("%c%x", "-prtj"[v.Form], v.Taken))
	}
	if v.Form == parser.ValuesOfJump {
		list[0] += fmt.Sprint(v.Next)
	}
	for _, g := range v.Given {
		list = append(list, fmt.Sprintf("%d:%x", g.Place, g.Bytes))
	}
	return strings.Join(list, "+")
}

func valuesOf(t *testing.T, log *trace.Log, record int64) *parser.CallValues {
	t.Helper()
	var dst [1]parser.CallValues
	if _, err := log.Values(dst[:], record); err != nil {
		t.Fatalf("record %d: %v", record, err)
	}
	return &dst[0]
}

// TestValues asks for the values of each record.
func TestValues(t *testing.T) {
	const plan = "lpvalues 1\nmachine x86-64\n"
	text := `file begin=1000
chunk process
setting name="values" value="plan 0 /a.lpvalues"
record type=18 ` + fmt.Sprintf("%x", placeRecord(1, 40, "w, h", 2)) + `
record type=18 ` + fmt.Sprintf("%x", placeRecord(2, 41, "w * h", 1)) + `
record type=17 ` + fmt.Sprintf("%x", tracetest.Plan(plan, 0, 16)) + `
record type=17 ` + fmt.Sprintf("%x", tracetest.Plan(plan, 16, len(plan))) + `
chunk events stream=1 thread=7 base=1000
window w0 entry 0x400000
arguments 1 99 # of no enter
enter +5 w0 0x10 # 0
arguments 1 0102
enter +5 w0 0x20 # 1
leave +5 # 2
result 1 0303
arguments 3 0100000005060000 # of call 0, late
enter +5 w0 0x30 # 3
arguments 2 0000
result 3 0200000011 # of call 3
result 3 0200000012
enter +5 w0 0x40 # 4
result 1 77 # of no leave
leave +5 # 5
leave +5 # 6, of call 3
result 3 0200000013 # of call 0
enter +5 w0 0x40 # 7
leave @1100 entry 0x400010 # 8, of call 0, which leaves 4 behind
arguments 9 01 # of no known kind
chunk events stream=2 thread=8 base=1000
window w0 entry 0x400000
enter @2000 w0 0x10 # 9
arguments 1 aa00
`
	file, err := tracetext.Load(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	log := open(t, &tracetest.Memory{Bytes: file})
	want := "p0102+1:05060000 - p0303 r0000 - - 2:11+2:12 - 2:13 paa00"
	// A result that the program gives is one byte, and one byte of padding.
	got := saidValues(t, log)
	if got = strings.NewReplacer("2:1100", "2:11", "2:1200", "2:12", "2:1300", "2:13").Replace(got); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	by := log.ValuesTaken()
	if string(by.Plan) != plan || len(by.Places) != 2 || by.Places[1].Names != "w, h" || by.Places[2].Line != 41 || by.Places[1].Types[1] != "int" {
		t.Errorf("%+v", by)
	}
	if again := log.ValuesTaken(); again != by {
		t.Error("another answer")
	}
}

// TestValuesWithoutPlan has plans of which a piece is missing.
func TestValuesWithoutPlan(t *testing.T) {
	const plan = "lpvalues 1\nmachine x86-64\n"
	half, wrong := tracetest.Plan(plan, 0, 16), tracetest.Plan(plan, 0, len(plan))
	wrong[20]++
	for name, records := range map[string][][]byte{
		"half": {half}, "wrong": {wrong}, "end first": {tracetest.Plan(plan, 16, len(plan)), half}, "two": {half, tracetest.Plan(plan+"#", 16, len(plan))},
	} {
		t.Run(name, func(t *testing.T) {
			text := "file begin=1000\nchunk process\n"
			for _, r := range records {
				text += fmt.Sprintf("record type=17 %x\n", r)
			}
			file, err := tracetext.Load(strings.NewReader(text + "chunk events stream=1 thread=7 base=1000\nenter +5 entry 0x10\narguments 1 01\n"))
			if err != nil {
				t.Fatal(err)
			}
			log := open(t, &tracetest.Memory{Bytes: file})
			if by := log.ValuesTaken(); by == nil || by.Plan != nil || by.PlanHash == 0 {
				t.Errorf("%+v", by)
			}
		})
	}
}

// TestValuesOfJumps has calls that end with a jump to the call that comes next in their stream, and records that say so wrongly.
func TestValuesOfJumps(t *testing.T) {
	const jump = "enter +5 w0 0x10\nleave +5\nresult jump\n"
	for _, test := range []struct{ name, first, second, want string }{
		{"one", jump + "enter +5 w0 0x20\nleave +5\nresult plan 07\n", "", "- j2 - p0700"},
		{"two", jump + strings.ReplaceAll(jump, "10", "20") + "enter +5 w0 0x30\n", "", "- j2 - j4 -"},
		{"another window", jump + "window w1 entry 0x8000000\nenter +5 w1 0x20\n", "", "- j2 -"},
		{"another thread between", jump + "enter +9 w0 0x20\nleave +5\n", "enter +11 w0 0x30\nleave +1\nenter +1 w0 0x40\nleave +1\n", "- j6 - - - - - -"},
		{"another chunk", jump + "chunk events stream=1 thread=7 base=1020 sequence=1\nwindow w0 entry 0x400000\nenter +5 w0 0x20\n", "", "- j2 -"},
		{"a chunk is missing", jump + "chunk events stream=1 thread=7 base=1020 sequence=2\nwindow w0 entry 0x400000\nenter +5 w0 0x20\n", "", "- - -"},
		{"the end", jump, "", "- -"},
		{"the end of a thread", jump, "enter +50 w0 0x20\nleave +1\n", "- - - -"},
		{"a leave", "enter +1 w0 0x30\n" + jump + "leave +5\n", "", "- - - -"},
		{"at an enter", "enter +1 w0 0x30\nresult jump\nenter +1 w0 0x40\n", "", "- -"},
		{"arguments", "enter +1 w0 0x30\narguments 4\nenter +1 w0 0x40\n", "", "- -"},
		{"twice", jump + "result jump\nenter +5 w0 0x20\n", "", "- j2 -"},
		{"and values", jump + "result plan 01\nenter +5 w0 0x20\n", "", "- p0100 -"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := "file begin=1000\nchunk process\nsetting name=\"values\" value=\"plan 0 /a.lpvalues\"\nchunk events stream=1 thread=7 base=1000\nwindow w0 entry 0x400000\n" + test.first
			if test.second != "" {
				text += "chunk events stream=2 thread=8 base=1000\nwindow w0 entry 0x400000\n" + test.second
			}
			file, err := tracetext.Load(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			log := open(t, &tracetest.Memory{Bytes: file})
			if got := saidValues(t, log); got != test.want {
				t.Errorf("one by one: %s, want %s", got, test.want)
			}
			all := make([]parser.CallValues, log.Info().Records)
			if _, err := log.Values(all, 0); err != nil {
				t.Fatal(err)
			}
			var list []string
			for i := range all {
				list = append(list, sayValues(&all[i]))
			}
			if got := strings.Join(list, " "); got != test.want {
				t.Errorf("together: %s, want %s", got, test.want)
			}
		})
	}
}

// aValuedCall is an open call of writeValues, with the number of its enter.
type aValuedCall struct {
	enter   int
	results string
}

// writeValues writes a trace of calls with values on a few threads. It returns the values of each record, in order.
func writeValues(t *testing.T, r *rand.Rand, places bool, threads, events int) (*tracetest.Memory, []string) {
	m := &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	w.Record(wire.SettingRecord, 900, wire.AppendBody(nil, &wire.Setting{Name: "values", Value: "plan 1 /a"}))
	if places {
		w.Record(wire.PlaceRecord, 900, placeRecord(1, 1, "a", 1))
	}
	var want []string
	list := make([]*tracetest.Thread, threads)
	open := make([][]aValuedCall, threads)
	jumped := make([]int, threads) // the record that ended the last call with a jump, else 0
	for i := range list {
		list[i] = w.Thread(uint32(i+1), 0, uint64(i+7))
	}
	say := func(i int, s string) {
		if want[i] == "-" {
			want[i] = s
		} else {
			want[i] += "+" + s
		}
	}
	value := func() []byte {
		b := make([]byte, 2*r.IntN(3)+2)
		if r.IntN(200) == 0 {
			b = make([]byte, 4000) // a long record
		}
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	given := func(i int, typ wire.Type) string {
		v := value()
		list[i].Raw(appendValues(r, typ, wire.Given, v))
		return fmt.Sprintf("1:%x", v)
	}
	for k := range events {
		i := r.IntN(threads)
		th, now, stack := list[i], uint64(1000+k), &open[i]
		want = append(want, "-")
		if len(*stack) == 0 || len(*stack) < 10 && r.IntN(2) == 0 {
			th.Enter(now, 0x400000+uint64(r.IntN(50)), tracetest.Entry)
			*stack = append(*stack, aValuedCall{enter: k})
			if at := jumped[i]; at > 0 {
				want[at] = strings.TrimSuffix(fmt.Sprintf("j%d+%s", k, strings.TrimPrefix(want[at], "-")), "+")
			}
			jumped[i] = 0
			if r.IntN(3) == 0 {
				v := value()
				th.Raw(appendValues(r, wire.Arguments, wire.ByPlan, v))
				say(k, fmt.Sprintf("p%x", v))
			}
		} else {
			top := (*stack)[len(*stack)-1]
			*stack = (*stack)[:len(*stack)-1]
			th.Leave(now)
			if jumped[i] = 0; r.IntN(3) == 0 {
				th.Raw(wire.AppendValues(nil, wire.Result, uint16(wire.Jumped), nil))
				jumped[i] = k
			} else if r.IntN(3) == 0 {
				v := value()
				th.Raw(appendValues(r, wire.Result, wire.ByPlan, v))
				say(k, fmt.Sprintf("p%x", v))
			}
			if top.results != "" {
				say(k, top.results)
			}
		}
		if n := len(*stack); places && n > 0 && r.IntN(5) == 0 {
			say((*stack)[n-1].enter, given(i, wire.Arguments))
		}
		if n := len(*stack); places && n > 0 && r.IntN(5) == 0 {
			s := given(i, wire.Result)
			if before := (*stack)[n-1].results; before != "" {
				s = before + "+" + s
			}
			(*stack)[n-1].results = s
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return m, want
}

// TestValuesFar reads values of calls of several threads, in order and at random.
func TestValuesFar(t *testing.T) {
	for _, places := range []bool{false, true} {
		const events = 40000
		r := rand.New(rand.NewPCG(6, 6))
		m, want := writeValues(t, r, places, 3, events)
		log := open(t, m)
		dst := make([]parser.CallValues, events)
		for from := 0; from < events; {
			n, err := log.Values(dst[from:min(from+1+r.IntN(700), events)], int64(from))
			if err != nil {
				t.Fatal(err)
			}
			from += n
		}
		compare := func(i int, v *parser.CallValues) {
			t.Helper()
			got := sayValues(v)
			// In a long call, values that the program gave may be too far away to be found.
			if got != want[i] {
				t.Fatalf("places %t, record %d: %.200s, want %.200s", places, i, got, want[i])
			}
		}
		for i := range dst {
			compare(i, &dst[i])
		}
		for range 500 {
			i := r.IntN(events)
			compare(i, valuesOf(t, log, int64(i)))
		}
		each := func(from, n int) {
			t.Helper()
			taken := make([]parser.CallValues, n)
			err := log.EachTaken(int64(from), n, func(i int, form parser.ValueForm, b []byte) {
				taken[i].Form, taken[i].Taken = form, bytes.Clone(b)
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range taken {
				want := dst[from+i]
				if taken[i].Form == parser.ValuesOfJump && want.Form == parser.NoValues {
					continue // the next event of the thread enters no call
				}
				if taken[i].Form != want.Form || !bytes.Equal(taken[i].Taken, want.Taken) {
					t.Fatalf("places %t, record %d: taken %v %x, want %v %x", places, from+i, taken[i].Form, taken[i].Taken, want.Form, want.Taken)
				}
			}
		}
		for from, n := 0, 0; from < events; from += n {
			n = min(1+r.IntN(3000), events-from)
			each(from, n)
		}
		for range 40 {
			from := r.IntN(events)
			each(from, min(1+r.IntN(3000), events-from))
		}
		if log.EachTaken(events, 1, nil) == nil || log.EachTaken(-1, 1, nil) == nil {
			t.Error("behind the end, before the beginning")
		}
		if _, err := log.Values(dst[:1], events); err != io.EOF {
			t.Errorf("behind the end: %v", err)
		}
		if _, err := log.Values(dst[:1], -1); err == nil {
			t.Error("before the beginning")
		}
	}
}

// TestValuesAlone reads the values that hooks took in a log of one thread, from a file that may be mapped.
func TestValuesAlone(t *testing.T) {
	for _, places := range []bool{false, true} {
		const events = 30000
		r := rand.New(rand.NewPCG(6, 7))
		m, want := writeValues(t, r, places, 1, events)
		path := filepath.Join(t.TempDir(), "alone.lptrace")
		if err := os.WriteFile(path, m.Bytes, 0o644); err != nil {
			t.Fatal(err)
		}
		log, err := trace.Open(context.Background(), path, parser.Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		for from, n := 0, 0; from < events; from += n {
			if n = min(1+r.IntN(3000), events-from); r.IntN(8) == 0 {
				n = 1
			}
			got := make([]string, n)
			err := log.EachTaken(int64(from), n, func(i int, form parser.ValueForm, b []byte) {
				if form == parser.ValuesByPlan {
					got[i] = fmt.Sprintf("p%x", b)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				said, _, _ := strings.Cut(want[from+i], "+")
				if !strings.HasPrefix(said, "p") {
					said = ""
				}
				if got[i] != said {
					t.Fatalf("places %t, record %d: taken %.200s, want %.200s", places, from+i, got[i], said)
				}
			}
		}
	}
}

// valuedLog makes a log of calls with values. Behind the first plain events, leaves may have an address.
func valuedLog(t *testing.T, r *rand.Rand, events, plain int) *trace.Log {
	t.Helper()
	m := &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	w.ChunkSize = 1 << 15
	w.Record(wire.SettingRecord, 900, wire.AppendBody(nil, &wire.Setting{Name: "values", Value: "plan 1 /a"}))
	th := w.Thread(1, 0, 7)
	depth := 0
	for k := range events {
		if k%5000 == 0 {
			th.Flush() // the next event begins a chunk
		}
		now, typ := uint64(1000+k), wire.Arguments
		if depth == 0 || depth < 100 && r.IntN(5) < 2+k/500%2 {
			address := uint64(0x400000) + uint64(r.IntN(50))<<4
			if k/3000%2 == 1 {
				address += uint64(k/150*5%12) << wire.OffsetBits
			}
			th.Full = r.IntN(10) == 0
			th.Enter(now, address, r.IntN(2))
			th.Full = false
			depth++
		} else {
			th.Full = k > plain && r.IntN(500) == 0
			th.Leave(now)
			th.Full = false
			depth--
			typ = wire.Result
		}
		if r.IntN(3) == 0 {
			form := wire.ValueKind(1 + r.IntN(2))
			th.Raw(appendValues(r, typ, form, []byte{byte(k), byte(k >> 8), byte(form)}))
		}
		if r.IntN(20) == 0 {
			th.Annotation(now, "between")
			th.Raw(appendValues(r, typ, wire.Given, []byte{9, 9}))
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "calls.lptrace")
	if err := os.WriteFile(path, m.Bytes, 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := trace.Open(context.Background(), path, parser.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// TestTakenCalls compares the calls and values of TakenCalls with the events of the log and the values of EachTaken. The log has
// short and long enters, windows that are replaced, and many chunks. TakenCalls may refuse records that it cannot pair.
func TestTakenCalls(t *testing.T) {
	const events, plain = 40000, 30000 // the last ones have leaves with an address
	r := rand.New(rand.NewPCG(6, 8))
	log := valuedLog(t, r, events, plain)
	defer log.Close()
	list := make([]parser.Event, events)
	if _, err := parser.ReadFull(log.ReadEvents, list, 0); err != nil {
		t.Fatal(err)
	}
	var pairs parser.CallPairs
	refused := 0
	for range 300 {
		n := 1 + r.IntN(4096)
		from := r.IntN(events - n + 1)
		if r.IntN(3) == 0 {
			from = from &^ 4095
		}
		var got, want []string
		ok := log.TakenCalls(int64(from), n, &pairs, func(a *parser.TakenAt) {
			got = append(got, fmt.Sprintf("%d: %#x %d, %d %x", a.Record, a.Address, a.Space, a.Form, a.Bytes))
		})
		if !ok {
			if refused++; from+n < plain {
				t.Fatalf("records %d to %d are not read", from, from+n-1)
			}
			continue
		}
		var open []int
		var before []int16
		partner := make([]int16, n)
		for i := range partner {
			if partner[i] = int16(i); list[from+i].Kind == parser.Enter {
				open = append(open, i)
			} else if k := len(open) - 1; k >= 0 {
				partner[i], partner[open[k]] = int16(open[k]), int16(i)
				open = open[:k]
			} else {
				partner[i] = -1
				before = append(before, int16(i))
			}
		}
		if !slices.Equal(pairs.Partner, partner) || !slices.Equal(pairs.Before, before) {
			t.Fatalf("records %d to %d: other pairs", from, from+n-1)
		}
		err := log.EachTaken(int64(from), n, func(i int, form parser.ValueForm, b []byte) {
			e := list[from+i]
			if partner[i] < 0 {
				e.Address, e.Space = 0, 0
			}
			want = append(want, fmt.Sprintf("%d: %#x %d, %d %x", i, e.Address, e.Space, form, b))
		})
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("records %d to %d: %v\n%.1000v\nwant\n%.1000v", from, from+n-1, err, got, want)
		}
	}
	if refused == 0 || refused > 150 {
		t.Errorf("%d of 300 ranges are refused", refused)
	}
	for _, n := range [][2]int64{{-1, 1}, {events, 1}, {events - 1, 2}, {0, 4097}} {
		if log.TakenCalls(n[0], int(n[1]), &pairs, func(*parser.TakenAt) {}) {
			t.Errorf("%d records from %d on are read", n[1], n[0])
		}
	}
}

// TestValuesMemory reads the values of two threads that take turns. The memory for them must not grow with the log.
func TestValuesMemory(t *testing.T) {
	m := &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	w.Record(wire.SettingRecord, 900, wire.AppendBody(nil, &wire.Setting{Name: "values", Value: "plan 1 /a"}))
	threads := []*tracetest.Thread{w.Thread(1, 0, 7), w.Thread(2, 0, 8)}
	const calls, size = 30000, 100
	value := make([]byte, size)
	for i := range calls {
		th := threads[i%2]
		th.Enter(uint64(1000+2*i), 0x400000, tracetest.Entry)
		value[0], value[size-1] = byte(i), byte(i>>8)
		th.Raw(wire.AppendValues(nil, wire.Arguments, 1, value))
		th.Leave(uint64(1001 + 2*i))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	log := open(t, m)
	const step = 1000
	most, seen := 0, 0
	for from := 0; from < 2*calls; from += step {
		err := log.EachTaken(int64(from), step, func(i int, _ parser.ValueForm, b []byte) {
			n := (from + i) / 2
			if (from+i)%2 != 0 || len(b) != size || b[0] != byte(n) || b[size-1] != byte(n>>8) {
				t.Fatalf("record %d: %x", from+i, b)
			}
			seen++
		})
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, log.TakenBytes())
	}
	if seen != calls {
		t.Errorf("%d values of %d", seen, calls)
	}
	// A batch has up to 1024 events, and half of them have a value.
	if limit := 2 * 4 * 512 * (size + 2); most > limit {
		t.Errorf("%d bytes were kept, more than %d, of %d", most, limit, calls*size)
	}
}
