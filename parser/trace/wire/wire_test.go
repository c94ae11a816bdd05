package wire

import (
	"bytes"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"testing"
)

// TestEvents encodes a record of each kind, and decodes its length, type and delta.
func TestEvents(t *testing.T) {
	const address = 0x7f12_3456_789a
	long := string(bytes.Repeat([]byte("x"), 600))
	tests := []struct {
		name   string
		b      []byte
		typ    Type
		length int
		delta  uint64
		event  bool
	}{
		{"short leave", AppendShortLeave(nil, 5), 0, 2, 0, true},
		{"short enter", AppendShortEnter(nil, 5, Offset(3, 0x1234)), 0, 6, 0, true},
		{"time of 16 bits", AppendTime(nil, 7), Time, 4, 0, false},
		{"time of 48 bits", AppendTime(nil, 1<<40), Time, 8, 0, false},
		{"time of 64 bits", AppendTime(nil, 1<<60), Time, 10, 0, false},
		{"window", AppendWindow(nil, 7, Return, address), Window, 12, 0, false},
		{"enter", AppendEnter(nil, 1<<40, Entry, address), Enter, 16, 1 << 40, true},
		{"enter, return address", AppendEnter(nil, 9, Return, address), EnterReturn, 16, 9, true},
		{"leave", AppendLeave(nil, 9, Entry, address), Leave, 16, 9, true},
		{"leave, return address", AppendLeave(nil, 9, Return, address), LeaveReturn, 16, 9, true},
		{"windowed leave", AppendLeaveWindowed(nil, 65535, Offset(1, 2)), LeaveWindowed, 8, 65535, true},
		{"site", AppendSite(nil, address), Site, 10, 0, false},
		{"windowed site", AppendSiteWindowed(nil, Offset(1, 2)), Site, 6, 0, false},
		{"stack", AppendStack(nil, 0, 9, []uint64{1, 2}, nil), Stack, 6 + 10 + 16, 0, false},
		{"stack with times", AppendStack(nil, StackTimes, 9, []uint64{1, 2}, []uint64{3, 4}), Stack, 6 + 10 + 32, 0, false},
		{"mark", AppendAnnotation(nil, 3, "abc"), Mark, 10, 3, false},
		{"long mark", AppendAnnotation(nil, 3, long), Mark, 6 + 4 + 600, 3, false},
		{"counter", AppendCounter(nil, 4, 1, 77, "n"), Counter, 16, 4, false},
		{"arguments", AppendValues(nil, Arguments, 1, []byte{1, 2, 3}), Arguments, 8, 0, false},
		{"result", AppendValues(nil, Result, 1, nil), Result, 4, 0, false},
		{"arguments by plan", AppendPlanValues(nil, PlanArguments, []byte{1, 2, 3}), PlanArguments, 6, 0, false},
		{"long result by plan", AppendPlanValues(nil, PlanResult, make([]byte, 600)), PlanResult, 606, 0, false},
		{"arguments of a place", AppendPlaceValues(nil, PlaceArguments, MostShortPlace, []byte{1, 2, 3}), PlaceArguments, 6, 0, false},
		{"result of a place", AppendPlaceValues(nil, PlaceResult, 18, make([]byte, 28)), PlaceResult, 30, 0, false},
		{"lost", AppendLost(nil, 8), Lost, 6, 0, false},
		{"switch", AppendSwitch(nil, 6, 2), Switch, 8, 6, false},
		{"left", AppendLeft(nil, 2), Left, 6, 0, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := append(bytes.Clone(test.b), make([]byte, 8)...)
			length, head := Length(b)
			if length != test.length || len(test.b) != test.length {
				t.Fatalf("%d bytes, of which Length says %d, want %d", len(test.b), length, test.length)
			}
			first := le.Uint16(b)
			if got := IsEvent(first); got != test.event {
				t.Errorf("an event: %v", got)
			}
			if test.typ == 0 {
				if !IsShort(first) {
					t.Error("it is not short")
				}
				return
			}
			if got := TypeOf(first); IsShort(first) || got != test.typ {
				t.Errorf("type %d, want %d", got, test.typ)
			}
			if got := Delta(test.typ, b[head:]); got != test.delta {
				t.Errorf("delta %d, want %d", got, test.delta)
			}
			if least := LeastLength(test.typ, head); length < least {
				t.Errorf("%d bytes, at least %d", length, least)
			}
			if n, _ := Length(test.b[:test.length-1]); n != 0 {
				t.Errorf("one byte less has length %d", n)
			}
		})
	}
}

// TestShort decodes the fields of short records.
func TestShort(t *testing.T) {
	v := func(b []byte) uint64 { return le.Uint64(append(b, make([]byte, 8)...)) }
	enter := v(AppendShortEnter(nil, 65535, Offset(5, 1<<OffsetBits-1)))
	if EnterDelta(enter) != 65535 || EnterWindow(enter) != 5 || EnterOffset(enter) != 1<<OffsetBits-1 {
		t.Errorf("enter: +%d w%d %#x", EnterDelta(enter), EnterWindow(enter), EnterOffset(enter))
	}
	if leave := v(AppendShortLeave(nil, MaxShortDelta)); LeaveDelta(leave) != MaxShortDelta || !IsShortLeave(uint16(leave)) {
		t.Errorf("leave: +%d", LeaveDelta(leave))
	}
	if w, o := Windowed(Offset(5, 0xabc)); w != 5 || o != 0xabc {
		t.Errorf("windowed: w%d %#x", w, o)
	}
	for _, want := range []uint64{0, 65535, 65536, 1<<48 - 1, 1 << 48, 1<<64 - 1} {
		b := AppendTime(nil, want)
		if got, ok := TimeUnits(append(b[2:], make([]byte, 8)...), int64(len(b))); !ok || got != want {
			t.Errorf("time %d: %d, %v", want, got, ok)
		}
	}
	if _, ok := TimeUnits(make([]byte, 8), 6); ok {
		t.Error("a TIME of 6 bytes is one")
	}
	s := ParseStack(AppendStack(nil, StackTimes|StackStated, 9, []uint64{1, 2}, []uint64{3, 4})[6:])
	if s != (StackInfo{StackTimes | StackStated, 9, 2}) || s.Size() != 32 {
		t.Errorf("stack: %+v", s)
	}
}

// TestBodies fills the fields of each process record, writes them and reads them again. A body that is cut is too short at any
// length.
func TestBodies(t *testing.T) {
	for _, kind := range ProcessKinds {
		t.Run(kind.Name, func(t *testing.T) {
			want := kind.New()
			s := reflect.ValueOf(want).Elem()
			for i := range s.NumField() {
				switch f := s.Field(i); {
				case !f.CanSet():
				case f.Kind() == reflect.String:
					f.SetString("text " + string(rune('a'+i)))
				case f.Type() == reflect.TypeFor[[]string]():
					f.Set(reflect.ValueOf([]string{"one", "", "three"}))
				case f.Kind() == reflect.Slice:
					f.SetBytes([]byte{1, 2, 3})
				case f.CanInt():
					f.SetInt(-int64(i) - 1)
				default:
					f.SetUint(uint64(i) + 100)
				}
			}
			b := AppendBody(nil, want)
			got := kind.New()
			if err := ParseBody(b, got); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%+v, %v; want %+v", got, err, want)
			}
			for n := range b {
				// The body of a Process that is cut between arguments only has fewer of them.
				if err := ParseBody(b[:n:n], kind.New()); err != ErrShort && kind.Type != ProcessRecord {
					t.Errorf("%d bytes of %d: %v", n, len(b), err)
				}
			}
			record := AppendProcess(nil, kind.Type, 12345, b)
			if info := ParseProcess(record); info != (ProcessInfo{uint32(len(record)), kind.Type, 12345}) || len(record)%8 != 0 {
				t.Errorf("%+v of %d bytes", info, len(record))
			}
		})
	}
}

// TestHeaders writes and reads headers. If one bit is changed, the checksum is wrong.
func TestHeaders(t *testing.T) {
	h := Header{Major: 1, Minor: 1, Size: HeaderSize, Granularity: Granularity, Flags: FlagSites, PointerSize: 8, System: 1, Machine: 62,
		PID: 4711, Started: 1, Begin: 2, Rate: 3, Shift: 4, Counter: 5, MinDuration: 6, Ring: 7, State: StateEnded, End: 8, Why: 9}
	b := h.Append(nil)
	if got, err := ParseHeader(b); err != nil || got != h || len(b) != HeaderSize {
		t.Errorf("%+v, %v", got, err)
	}
	b[70] ^= 1
	if _, err := ParseHeader(b); err != ErrChecksum {
		t.Errorf("another bit: %v", err)
	}
	if _, err := ParseHeader(b[:HeaderUsed-1]); err != ErrMagic {
		t.Errorf("cut off: %v", err)
	}
	c := ChunkHeader{Size: Granularity, Kind: EventsChunk, Level: 1, Stream: 2, Sequence: 3, Lost: 4, Thread: 5, Base: 6, Used: 7, Last: 8, State: 1}
	b = c.Append(nil)
	if got, err := ParseChunkHeader(b, Granularity); err != nil || got != c || len(b) != ChunkHeaderSize {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ParseChunkHeader(b, 2*Granularity); err == nil {
		t.Error("half a granule is a chunk")
	}
	b[30] ^= 1
	if _, err := ParseChunkHeader(b, Granularity); err != ErrChecksum {
		t.Errorf("another bit: %v", err)
	}
}

// TestRecorder compares the recorder's numbers with those here.
func TestRecorder(t *testing.T) {
	text, err := os.ReadFile("../../../recorder/src/format.h")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"HEADER_SIZE": HeaderSize, "GRANULARITY": Granularity, "CHUNK_HEADER_SIZE": ChunkHeaderSize,
		"RING": FlagRing, "SITES": FlagSites, "SHORT_DROPPED": FlagShortDropped, "SNAPSHOT": FlagSnapshot,
		"RECORDING": StateRecording, "ENDED": StateEnded, "DISK_FULL": StateDiskFull, "FAILED": StateFailed,
		"CHUNK_PROCESS": ProcessChunk, "CHUNK_EVENTS": EventsChunk,
		"OFFSET_BITS": OffsetBits, "WINDOWS": Windows, "TIME_SHIFT": TimeShift,
		"TIME": int(Time), "WINDOW": int(Window), "ENTER_ENTRY": int(Enter), "LEAVE_ENTRY": int(Leave), "LEAVE_WINDOWED": int(LeaveWindowed),
		"SITE": int(Site), "STACK": int(Stack), "MARK": int(Mark), "COUNTER": int(Counter), "LOST": int(Lost),
		"STACK_TIMES": StackTimes, "STACK_STATED": StackStated,
		"PROCESS": int(ProcessRecord), "CLOCK": int(ClockRecord), "LOAD": int(LoadRecord), "UNLOAD": int(UnloadRecord),
		"THREAD": int(ThreadRecord), "THREADEND": int(ThreadEndRecord), "FORK": int(ForkRecord), "EXEC": int(ExecRecord),
		"SWITCH": int(SwitchRecord), "OVERHEAD": int(OverheadRecord), "PROCESS_LOST": int(LostRecord), "IMAGE": int(ImageRecord),
		"SETTING": int(SettingRecord), "END": int(EndRecord),
	}
	found := 0
	for _, m := range regexp.MustCompile(`\bLRF_([A-Z_]+) = (\d+)`).FindAllStringSubmatch(string(text), -1) {
		if n, ok := want[m[1]]; ok {
			found++
			if m[2] != strconv.Itoa(n) {
				t.Errorf("LRF_%s is %s there and %d here", m[1], m[2], n)
			}
		}
	}
	if found != len(want) {
		t.Errorf("%d of %d numbers were found", found, len(want))
	}
}

func TestParseValues(t *testing.T) {
	v := []byte{5, 6}
	for _, test := range []struct {
		name   string
		record []byte
		want   CallValues
		ok     bool
	}{
		{"by plan, version 1.1", AppendValues(nil, Arguments, uint16(ByPlan), v), CallValues{ByPlan, false, 0, v}, true},
		{"registers", AppendValues(nil, Result, uint16(Registers), v), CallValues{Registers, true, 0, v}, true},
		{"place 300", AppendValues(nil, Result, uint16(Given), []byte{44, 1, 0, 0, 5, 6}), CallValues{Given, true, 300, v}, true},
		{"by plan", AppendPlanValues(nil, PlanArguments, v), CallValues{ByPlan, false, 0, v}, true},
		{"by plan, result", AppendPlanValues(nil, PlanResult, v), CallValues{ByPlan, true, 0, v}, true},
		{"place 18", AppendPlaceValues(nil, PlaceArguments, 18, v), CallValues{Given, false, 18, v}, true},
		{"place 63, result", AppendPlaceValues(nil, PlaceResult, 63, v), CallValues{Given, true, 63, v}, true},
		{"no kind", AppendLost(nil, 1)[:2], CallValues{}, false},
		{"half a place", AppendValues(nil, Arguments, uint16(Given), []byte{1, 0}), CallValues{}, false},
	} {
		_, head := Length(test.record)
		head = max(head, 2)
		got, ok := ParseValues(le.Uint16(test.record), test.record[head:])
		if ok != test.ok || got.Kind != test.want.Kind || got.Result != test.want.Result || got.Place != test.want.Place || !bytes.Equal(got.Values, test.want.Values) {
			t.Errorf("%s: %+v, %v; want %+v, %v", test.name, got, ok, test.want, test.ok)
		}
	}
}
