package uprobe

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logparser/calls/values"
	"logparser/parser"
	"logparser/parser/trace"
	"logparser/recorder/probe"
	"logparser/symbols/types"
)

// An entry is made as those of the programs in the kernel.
type entry struct{ b []byte }

func (e *entry) words(list ...uint64) {
	for _, w := range list {
		e.b = binary.LittleEndian.AppendUint64(e.b, w)
	}
}

// text is a text slot: what reading returned, the pointer, and the characters.
func (e *entry) text(got int64, pointer uint64, s string, size int) {
	e.words(uint64(got), pointer)
	e.bytes(s, size)
}

// counted is a slot of counted characters: whether reading failed, the pointer and the number, the object, and whether reading the characters failed.
func (e *entry) counted(object int64, pointer, length, at uint64, characters int64, s string, size int) {
	e.words(uint64(object), pointer, length, at, uint64(characters))
	e.bytes(s, size)
}

func (e *entry) bytes(s string, size int) {
	b := make([]byte, (size+7)&^7)
	copy(b, s)
	e.b = append(e.b, b...)
}

func TestPayload(t *testing.T) {
	if len(registers) == 0 {
		t.Skip("no probes on this kind of processor")
	}
	register := "rdi"
	if _, ok := registers[register]; !ok {
		t.Skip("the plan is one for x86-64")
	}
	head := bytes.Repeat([]byte{0xee}, headSize)
	text := values.Value{Name: "s", Place: "rsi", Op: values.Op{Kind: values.Text, Max: 8}}
	str := values.Value{Name: "s", Place: "rdi", Op: values.Op{Kind: values.String, Max: 8, Library: types.Libstdcxx}}
	view := values.Value{Name: "v", Place: "rdi+rsi", Op: values.Op{Kind: values.View, Max: 8, Library: types.Libstdcxx}}
	viewAt := view
	viewAt.Place = "rdi"
	memory := values.Value{Name: "b", Place: "rdi", Op: values.Op{Kind: values.Memory, Size: 3}}
	for name, c := range map[string]struct {
		list []values.Value
		fill func(e *entry)
		want string
	}{
		"register": {[]values.Value{{Place: "rdi", Op: values.Op{Kind: values.Direct, Size: 4}}}, func(e *entry) { e.words(0x1122334455667788) }, "\x88\x77\x66\x55"},
		"two":      {[]values.Value{{Place: "rdi+rsi", Op: values.Op{Kind: values.Direct, Size: 12}}}, func(e *entry) { e.words(1, 2) }, "\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00"},
		"stack":    {[]values.Value{{Place: "stack+0", Op: values.Op{Kind: values.Direct, Size: 2}}}, func(e *entry) { e.words(0, 0x7000); e.bytes("ab", 2) }, "ab"},
		"lost stack": {[]values.Value{{Place: "stack+0", Op: values.Op{Kind: values.Direct, Size: 2}}, text},
			func(e *entry) { e.words(^uint64(13), 0); e.bytes("", 2); e.text(2, 1, "x", 9) }, ""},
		"memory":             {[]values.Value{memory}, func(e *entry) { e.words(0, 5); e.bytes("abc", 3) }, "\x00abc"},
		"null memory":        {[]values.Value{memory}, func(e *entry) { e.words(^uint64(13), 0); e.bytes("", 3) }, "\x01"},
		"bad memory":         {[]values.Value{memory}, func(e *entry) { e.words(^uint64(13), 5); e.bytes("", 3) }, "\x02"},
		"text":               {[]values.Value{text}, func(e *entry) { e.text(4, 5, "abc", 9) }, "\x03\x00abc"},
		"null text":          {[]values.Value{text}, func(e *entry) { e.text(-14, 0, "", 9) }, "\xff\xff"},
		"bad text":           {[]values.Value{text}, func(e *entry) { e.text(-14, 5, "", 9) }, "\xfe\xff"},
		"long text":          {[]values.Value{text}, func(e *entry) { e.text(9, 5, "abcdefgh", 9) }, "\xfd\xffabcdefgh"},
		"string":             {[]values.Value{str}, func(e *entry) { e.counted(0, 6, 3, 5, 0, "abc", 8) }, "\x03\x00abc"},
		"string of 0":        {[]values.Value{str}, func(e *entry) { e.counted(0, 6, 3, 5, 0, "a\x00c", 8) }, "\x03\x00a\x00c"},
		"long string":        {[]values.Value{str}, func(e *entry) { e.counted(0, 6, 300, 5, 0, "abcdefgh", 8) }, "\x2c\x01abcdefgh"},
		"null string":        {[]values.Value{str}, func(e *entry) { e.counted(-14, 0, 0, 0, -14, "", 8) }, "\xff\xff"},
		"bad string":         {[]values.Value{str}, func(e *entry) { e.counted(-14, 0, 0, 5, 0, "", 8) }, "\xfe\xff"},
		"bad text of string": {[]values.Value{str}, func(e *entry) { e.counted(0, 6, 3, 5, -14, "", 8) }, "\xfe\xff"},
		"view":               {[]values.Value{view}, func(e *entry) { e.counted(0, 5, 2, 1, 0, "ab", 8) }, "\x02\x00ab"},
		"empty view":         {[]values.Value{view}, func(e *entry) { e.counted(0, 0, 0, 1, -14, "", 8) }, "\x00\x00"},
		"view by reference":  {[]values.Value{viewAt}, func(e *entry) { e.counted(0, 5, 2, 7, 0, "ab", 8) }, "\x02\x00ab"},
		"unknown":            {[]values.Value{{Place: "-"}, {Place: "rdi", Op: values.Op{Kind: values.Direct, Size: 1}}}, func(e *entry) { e.words(7) }, "\x07"},
	} {
		e := entry{bytes.Clone(head)}
		c.fill(&e)
		s := shapeOf(c.list, false, 8)
		if name != "lost stack" && s.size != len(e.b) {
			t.Errorf("%s: an entry has %d bytes, and this %d", name, s.size, len(e.b))
		}
		if got := payload(c.list, e.b, headSize); string(got) != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		payload(c.list, e.b[:len(e.b)/2], headSize) // cut off: nothing is read behind it
	}
}

// Arguments on the stack begin behind the return address, which arm64 has in a register.
func TestStackPlaces(t *testing.T) {
	list := []values.Value{{Place: "stack+16", Op: values.Op{Kind: values.Direct, Size: 8}}}
	for machine, want := range map[string]int{"x86-64": 24, "arm64": 16} {
		target := probe.Target{Machine: machine}
		if s := shapeOf(list, false, target.ReturnAddress()); len(s.slots) != 1 || s.slots[0].stack != want {
			t.Errorf("%s: %+v, want %d", machine, s.slots, want)
		}
	}
}

// Values that the kernel has no access to are named and not taken.
func TestKernelPlan(t *testing.T) {
	double := &types.Type{Kind: types.Float, Size: 8, Name: "double"}
	p := &values.Plan{Modules: []values.Module{{Functions: []values.Function{{RVA: 1, Size: 1,
		Enter: []values.Value{{Name: "d", Place: "xmm0", Op: values.Op{Kind: values.Direct, Size: 8}, Type: double}, {Name: "on", Place: "stack+8", Op: values.Op{Kind: values.Direct, Size: 8}, Type: double}},
		Leave: []values.Value{{Name: values.Result, Place: "st0", Op: values.Op{Kind: values.Direct, Size: 16}, Type: double}}}}}}}
	f := Kernel(p).Modules[0].Functions[0]
	if f.Enter[0].Op.Kind != values.Unknown || f.Enter[0].Place != "-" || f.Enter[1].Op.Kind != values.Direct || f.Leave[0].Op.Kind != values.Unknown {
		t.Errorf("%+v", f)
	}
	if p.Modules[0].Functions[0].Enter[0].Place != "xmm0" {
		t.Error("the plan itself was changed")
	}
}

func TestTraces(t *testing.T) {
	dir := t.TempDir()
	f, g := &probe.Function{Name: "f", RVA: 0x1000}, &probe.Function{Name: "g", RVA: 0x2000, Go: true}
	enterF, leaveF := &probe.Probe{Function: f, RVA: 0x1000}, &probe.Probe{Function: f, RVA: 0x1000, Kind: parser.Leave}
	enterG, leaveG := &probe.Probe{Function: g, RVA: 0x2006}, &probe.Probe{Function: g, RVA: 0x2040, Kind: parser.Leave, AtReturn: true}
	const base = 0x555500000000
	traces := &Traces{Dir: dir, Name: "app", Target: probe.Target{Path: "/opt/app", Size: 0x4000, Machine: "x86-64"}, Plan: []byte(strings.Repeat("plan\n", 20_000))}
	pid := uint32(4_000_000_000) // no process
	for _, h := range []Hit{
		{Time: 100, PID: pid, TID: 1, Probe: enterF, IP: base + 0x1000, Values: []byte{1, 2, 3}},
		{Time: 200, PID: pid, TID: 1, Probe: leaveF, IP: 0x77},
		{Time: 300, PID: pid, TID: 1, Probe: enterG, IP: base + 0x2006, Stack: 0xa},
		{Time: 400, PID: pid, TID: 1, Probe: enterG, IP: base + 0x2006, Stack: 0xb},
		{Time: 500, PID: pid, TID: 2, Probe: leaveG, IP: base + 0x2040, Stack: 0xa},
		{Time: 600, PID: pid, TID: 1, Probe: leaveG, IP: base + 0x2040, Stack: 0xb},
		// It becomes another program.
		{Time: 700, PID: pid, TID: 1, Probe: enterF, IP: 2*base + 0x1000},
		// A return whose call began before, of a process that has ended.
		{Time: 800, PID: pid + 1, TID: 9, Probe: leaveF, IP: 0x77},
	} {
		if err := traces.Add(&h); err != nil {
			t.Fatal(err)
		}
	}
	if traces.Hits != 7 || traces.Nowhere != 1 {
		t.Errorf("%d hits, %d nowhere", traces.Hits, traces.Nowhere)
	}
	if err := traces.Close(3); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.lptrace"))
	if len(files) != 3 {
		t.Fatal(files)
	}
	l, err := trace.Open(context.Background(), filepath.Join(dir, "app.4000000000.lptrace"), parser.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	events := make([]parser.Event, 6)
	if n, err := l.ReadEvents(events, 0); n != 6 || err != nil {
		t.Fatal(n, err)
	}
	for i, want := range []struct {
		kind  parser.Kind
		rva   uint64
		stack uint32
	}{{parser.Enter, 0x1000, 0}, {parser.Leave, 0x1000, 0}, {parser.Enter, 0x2000, 1}, {parser.Enter, 0x2000, 2}, {parser.Leave, 0x2000, 1}, {parser.Leave, 0x2000, 2}} {
		e := events[i]
		if e.Kind != want.kind || e.Address != base+want.rva || l.Thread(e.Thread).Stack != want.stack {
			t.Errorf("event %d: %+v, stack %d", i, e, l.Thread(e.Thread).Stack)
		}
	}
	taken := make([]parser.CallValues, 1)
	if _, err := l.Capabilities().ValueTeller.Values(taken, 0); err != nil || string(taken[0].Taken[:3]) != "\x01\x02\x03" {
		t.Errorf("%+v %v", taken, err)
	}
	if by := l.Capabilities().ValueTeller.ValuesTaken(); by == nil || !bytes.Equal(by.Plan, traces.Plan) {
		t.Error("the plan is not there")
	}
	if m := l.Modules(0); m.Len() != 1 || m.At(0).Base != base {
		t.Errorf("%d modules", m.Len())
	}
	if _, err := os.Stat(filepath.Join(dir, "app.4000000000.2.lptrace")); err != nil {
		t.Error(err)
	}
}

// TestOpenCalls follows hits at the beginnings and ends of functions, of which some end by a jump to another function, or an exception.
func TestOpenCalls(t *testing.T) {
	const (
		main   = 0x7ffd_0000_1000 // the thread's own stack
		thread = 0x7f00_0001_0000 // one that is not known
	)
	type hit struct {
		function uint64 // ends where it is negative
		sp       uint64
		left     int
	}
	const end = 1 << 63
	for name, c := range map[string]struct {
		hits []hit
		open int
	}{
		"nested":                         {[]hit{{1, main, 0}, {2, main - 32, 0}, {2 | end, main - 32, 0}, {1 | end, main, 0}}, 0},
		"a jump to another one":          {[]hit{{1, main, 0}, {2, main - 32, 0}, {3, main - 32, 1}, {3 | end, main - 32, 0}, {1 | end, main, 0}}, 0},
		"a jump to what has no probe":    {[]hit{{1, main, 0}, {2, main - 32, 0}, {2, main - 32, 1}, {1 | end, main, 1}}, 0},
		"one call behind the other":      {[]hit{{2, main - 64, 0}, {2, main - 64, 1}, {2, main - 64, 1}, {2, main - 32, 1}}, 1},
		"an exception through several":   {[]hit{{1, main, 0}, {2, main - 32, 0}, {3, main - 64, 0}, {4, main - 16, 2}, {4 | end, main - 16, 0}}, 1},
		"recursion":                      {[]hit{{1, main, 0}, {1, main - 32, 0}, {1, main - 64, 0}, {1 | end, main, 2}}, 0},
		"a return whose call was lost":   {[]hit{{1, main, 0}, {2, main - 64, 0}, {3 | end, main - 32, 1}, {1 | end, main, 0}}, 0},
		"another stack, and back":        {[]hit{{1, main, 0}, {2, thread, 0}, {3, main - 32, 0}, {3 | end, main - 32, 0}, {2 | end, thread, 0}, {1 | end, main, 0}}, 0},
		"a jump on another stack":        {[]hit{{1, main, 0}, {2, thread, 0}, {3, thread, 1}, {3 | end, thread, 0}}, 1},
		"calls side by side there":       {[]hit{{1, thread, 0}, {2, thread + 64, 0}, {1 | end, thread, 1}}, 0},
		"the stack pointer is not known": {[]hit{{1, 0, 0}, {2, 0, 0}, {2 | end, 0, 0}}, 1},
	} {
		calls := openCalls{own: stackRange{main - 0x10000, main + 0x1000}}
		for i, h := range c.hits {
			p := &probe.Probe{Function: &probe.Function{RVA: h.function &^ end}}
			if h.function&end != 0 {
				p.Kind, p.AtReturn = parser.Leave, h.sp != 0
			}
			if left := calls.hit(&Hit{SP: h.sp, Probe: p}); left != h.left {
				t.Errorf("%s: hit %d: %d calls have ended, want %d", name, i, left, h.left)
			}
		}
		if len(calls.list) != c.open {
			t.Errorf("%s: %d calls are open, want %d", name, len(calls.list), c.open)
		}
	}
	// Coroutines whose stacks lie in one piece of memory: the return of a call that was taken to have ended shows it.
	calls := openCalls{own: stackRange{thread - 0x10000, thread + 0x1000}}
	enter := func(function, sp uint64) int {
		return calls.hit(&Hit{SP: sp, Probe: &probe.Probe{Function: &probe.Function{RVA: function}}})
	}
	enter(1, thread-0x8000)
	if left := enter(2, thread); left != 1 {
		t.Errorf("%d calls have ended", left)
	}
	calls.hit(&Hit{SP: thread - 0x8000, Probe: &probe.Probe{Kind: parser.Leave, AtReturn: true, Function: &probe.Function{RVA: 1}}})
	enter(3, thread-0x8000)
	if left := enter(4, thread-0x100); left != 0 {
		t.Errorf("%d calls have ended, of another stack", left)
	}
}
