package tracetext

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"logparser/parser/trace/wire"
)

var (
	kinds    = [...]string{"entry", "return"}
	counters = [...]string{"i64", "u64", "f64"}
)

// dumpEvent returns the line of a record, or "" if it does not know the record's type. Fields that the record is too short for
// are read as zero.
func dumpEvent(record []byte, head int) string {
	le := binary.LittleEndian
	first := le.Uint16(record)
	switch {
	case wire.IsShortLeave(first):
		return fmt.Sprintf("leave +%d", wire.LeaveDelta(uint64(first)))
	case wire.IsShort(first):
		v := uint64(le.Uint32(record)) | uint64(le.Uint16(record[4:]))<<32
		return fmt.Sprintf("enter +%d w%d %#x", wire.EnterDelta(v), wire.EnterWindow(v), wire.EnterOffset(v))
	case first == 0:
		return fmt.Sprintf("padding %d", len(record)/2)
	}
	body := record[head:]
	// at reads a number of n bytes.
	at := func(offset, n int) uint64 {
		var v [8]byte
		if offset < len(body) {
			copy(v[:n], body[offset:])
		}
		return le.Uint64(v[:])
	}
	rest := func(from, to int) []byte { return body[min(from, len(body)):min(max(from, to), len(body))] }
	windowed := func(offset int) string {
		w, o := wire.Windowed(uint32(at(offset, 4)))
		return fmt.Sprintf("w%d %#x", w, o)
	}
	switch typ := wire.TypeOf(first); typ {
	case wire.Time:
		return fmt.Sprintf("time %d", at(0, min(len(body), 8)))
	case wire.Window:
		return fmt.Sprintf("window w%d %s %#x", at(0, 2)&7, kinds[at(0, 2)>>3&1], at(2, 8))
	case wire.Enter, wire.EnterReturn:
		return fmt.Sprintf("enter +%d %s %#x", at(0, 6), kinds[typ-wire.Enter], at(6, 8))
	case wire.Leave, wire.LeaveReturn:
		return fmt.Sprintf("leave +%d %s %#x", at(0, 6), kinds[typ-wire.Leave], at(6, 8))
	case wire.LeaveWindowed:
		return fmt.Sprintf("leave +%d %s", at(0, 2), windowed(2))
	case wire.Site:
		if len(body) == 4 {
			return "site " + windowed(0)
		}
		return fmt.Sprintf("site %#x", at(0, 8))
	case wire.Stack:
		var s strings.Builder
		times, k := at(0, 2)&wire.StackTimes, int(at(6, 4))
		fmt.Fprintf(&s, "stack depth=%d times=%d", at(2, 4), times)
		if at(0, 2)&wire.StackStated != 0 {
			s.WriteString(" stated=1")
		}
		for i := range min(k, len(body)/8) {
			v := at(wire.StackHead+8*i, 8)
			if v == 0 {
				s.WriteString(" unknown")
			} else {
				fmt.Fprintf(&s, " %s:%#x", kinds[v&1], v>>1)
			}
			if times != 0 {
				fmt.Fprintf(&s, "@%d", at(wire.StackHead+8*(k+i), 8))
			}
		}
		return s.String()
	case wire.Mark:
		return fmt.Sprintf("mark +%d %s", at(0, 2), strconv.Quote(string(rest(4, 4+int(at(2, 2))))))
	case wire.Counter:
		v := at(4, 8)
		var value string
		form := at(2, 1)
		switch form {
		case 0:
			value = strconv.FormatInt(int64(v), 10)
		case 1:
			value = strconv.FormatUint(v, 10)
		default:
			form = 2
			value = strconv.FormatFloat(math.Float64frombits(v), 'g', -1, 64)
		}
		return fmt.Sprintf("counter +%d %s %s %s", at(0, 2), counters[form], value, strconv.Quote(string(rest(12, 12+int(at(3, 1))))))
	case wire.Arguments, wire.Result, wire.PlanArguments, wire.PlanResult, wire.PlaceArguments, wire.PlaceResult:
		return dumpValues(typ, first, body, at(0, 2))
	case wire.Lost:
		return fmt.Sprintf("lost %d", at(0, 4))
	case wire.Switch:
		return fmt.Sprintf("switch +%d %d", at(0, 2), at(2, 4))
	case wire.Left:
		return fmt.Sprintf("left %d", at(0, 4))
	}
	return ""
}

// dumpValues returns the line of a record of values. code is the number that a body with a kind begins with.
func dumpValues(typ wire.Type, first uint16, body []byte, code uint64) string {
	v, _ := wire.ParseValues(first, body)
	name, of, values := "arguments", "plan", v.Values
	if typ == wire.Result || typ == wire.PlanResult || typ == wire.PlaceResult {
		name = "result"
	}
	switch {
	case typ == wire.Result && wire.ValueKind(code) == wire.Jumped && len(body) == 2:
		of = "jump"
	case typ == wire.Arguments || typ == wire.Result:
		of, values = strconv.FormatUint(code, 10), body[min(2, len(body)):]
	case v.Kind == wire.Given:
		of = fmt.Sprintf("place%d", v.Place)
	}
	return strings.TrimSuffix(fmt.Sprintf("%s %s %s", name, of, hex.EncodeToString(values)), " ")
}

// isWindow reports whether a word is "w0" to "w7".
func isWindow(w string) bool { return len(w) == 2 && w[0] == 'w' && w[1] >= '0' && w[1] <= '7' }

// An eventLoader makes an event record from a line. now is the time before the record, and after it when the record was made.
type eventLoader struct {
	*line
	b   []byte
	now uint64
}

// loadEvent appends the record of a line. now is the time before the record; loadEvent returns the time after it.
func loadEvent(b []byte, name string, l *line, now uint64) ([]byte, uint64) {
	e := &eventLoader{l, b, now}
	switch name {
	case "enter", "leave":
		e.call(name == "enter")
	case "time":
		v := e.number(e.next("a number"), "the time", 64)
		e.b = wire.AppendTime(e.b, v)
		e.now += v << wire.TimeShift
	case "window":
		if w := e.next("a window"); isWindow(w) {
			kind := e.kind()
			e.b = wire.AppendWindow(e.b, int(w[1]-'0'), kind, e.address())
		} else {
			e.fail("%q is not a window", w)
		}
	case "site":
		if len(e.plain) > 0 && isWindow(e.plain[0]) {
			e.b = wire.AppendSiteWindowed(e.b, e.windowed())
		} else {
			e.b = wire.AppendSite(e.b, e.address())
		}
	case "stack":
		e.stack()
	case "mark":
		d := e.delta(wire.MaxWordDelta)
		s := e.text(e.next("a text"), "the text")
		if len(s) > math.MaxUint16 {
			e.fail("the text is too long")
		}
		e.b = wire.AppendAnnotation(e.b, d, s)
	case "counter":
		e.counter()
	case "arguments":
		e.values(wire.Arguments, wire.PlanArguments, wire.PlaceArguments)
	case "result":
		e.values(wire.Result, wire.PlanResult, wire.PlaceResult)
	case "lost":
		e.b = wire.AppendLost(e.b, uint32(e.number(e.next("a number"), "the events", 32)))
	case "switch":
		d := e.delta(wire.MaxWordDelta)
		e.b = wire.AppendSwitch(e.b, d, uint32(e.number(e.next("a number"), "the stack", 32)))
	case "left":
		e.b = wire.AppendLeft(e.b, uint32(e.number(e.next("a number"), "the calls", 32)))
	case "padding":
		n := e.number(e.next("a number"), "the words", 24)
		e.b = append(e.b, make([]byte, 2*n)...)
	default:
		e.fail("there is no event record %q", name)
	}
	return e.b, e.now
}

// delta reads a time, and returns the time since the last record. If that exceeds most, it writes a TIME record and returns the
// rest.
func (e *eventLoader) delta(most uint64) uint64 {
	w := e.next("a time, + or @")
	if e.err != nil {
		return 0
	}
	var d uint64
	switch w[0] {
	case '+':
		d = e.number(w[1:], "the time", 64)
		if d > most {
			e.fail("+%d does not fit this record; a time record must come before it", d)
		}
	case '@':
		t := e.number(w[1:], "the time", 64)
		if t < e.now {
			e.fail("@%d is before %d", t, e.now)
		}
		if d = t - e.now; d > most {
			e.b = wire.AppendTime(e.b, d>>wire.TimeShift)
			d &= 1<<wire.TimeShift - 1
		}
		e.now = t
		return d
	default:
		e.fail("%q is not a time", w)
	}
	e.now += d
	return d
}

func (e *eventLoader) kind() int {
	switch w := e.next("entry or return"); w {
	case "entry":
		return wire.Entry
	case "return":
		return wire.Return
	default:
		e.fail("%q is neither entry nor return", w)
	}
	return wire.Entry
}

func (e *eventLoader) windowed() uint32 {
	w := e.next("a window")
	if !isWindow(w) {
		e.fail("%q is not a window", w)
		return 0
	}
	return wire.Offset(int(w[1]-'0'), e.number(e.next("an offset"), "the offset", wire.OffsetBits))
}

func (e *eventLoader) address() uint64 { return e.number(e.next("an address"), "the address", 64) }

func (e *eventLoader) call(enter bool) {
	hasWindow := len(e.plain) > 1 && isWindow(e.plain[1])
	switch {
	case !enter && len(e.plain) == 1:
		e.b = wire.AppendShortLeave(e.b, e.delta(wire.MaxShortDelta))
	case hasWindow:
		d := e.delta(wire.MaxWordDelta)
		if enter {
			e.b = wire.AppendShortEnter(e.b, d, e.windowed())
		} else {
			e.b = wire.AppendLeaveWindowed(e.b, d, e.windowed())
		}
	default:
		d := e.delta(wire.MaxDelta)
		kind := e.kind()
		if enter {
			e.b = wire.AppendEnter(e.b, d, kind, e.address())
		} else {
			e.b = wire.AppendLeave(e.b, d, kind, e.address())
		}
	}
}

func (e *eventLoader) stack() {
	depth := e.field("depth", 32, uint64(len(e.plain)))
	flags := e.field("times", 1, 0)*wire.StackTimes | e.field("stated", 1, 0)*wire.StackStated
	var calls, times []uint64
	for len(e.plain) > 0 {
		call, time, _ := strings.Cut(e.next("a call"), "@")
		if flags&wire.StackTimes != 0 {
			times = append(times, e.number(time, "the time of a call", 64))
		}
		if call == "unknown" {
			calls = append(calls, 0)
			continue
		}
		word, address, _ := strings.Cut(call, ":")
		e.plain = append([]string{word}, e.plain...)
		kind := e.kind()
		calls = append(calls, wire.Call(e.number(address, "the address", 63), kind))
	}
	e.b = wire.AppendStack(e.b, uint16(flags), uint32(depth), calls, times)
}

func (e *eventLoader) counter() {
	d := e.delta(wire.MaxWordDelta)
	word, value := e.next("i64, u64 or f64"), e.next("a value")
	name := e.text(e.next("a name"), "the name")
	if len(name) > math.MaxUint8 {
		e.fail("the name is too long")
	}
	var bits uint64
	form := slices.Index(counters[:], word)
	switch word {
	case "i64":
		bits = uint64(e.signed(value, "the value", 64))
	case "u64":
		bits = e.number(value, "the value", 64)
	case "f64":
		f, err := strconv.ParseFloat(value, 64)
		if err != nil {
			e.fail("%q is not a number", value)
		}
		bits = math.Float64bits(f)
	default:
		e.fail("%q is not i64, u64 or f64", word)
	}
	e.b = wire.AppendCounter(e.b, d, uint8(form), bits, name)
}

// values makes a record of values in one of three forms: with a code, by the plan, or of a place.
func (e *eventLoader) values(coded, byPlan, ofPlace wire.Type) {
	code := e.next("a code, plan or a place")
	var values []byte
	if len(e.plain) > 0 {
		values = e.bytes(e.next("bytes"), "the bytes")
	}
	if code == "jump" && coded == wire.Result {
		e.b = wire.AppendValues(e.b, coded, uint16(wire.Jumped), nil)
		return
	}
	if code == "plan" {
		e.b = wire.AppendPlanValues(e.b, byPlan, values)
		return
	}
	if place, is := strings.CutPrefix(code, "place"); is {
		const longest = 28
		n := e.number(place, "the place", 6)
		if len(values) > longest {
			e.fail("the record of a place has at most %d bytes", longest)
			return
		}
		e.b = wire.AppendPlaceValues(e.b, ofPlace, uint32(n), values)
		return
	}
	e.b = wire.AppendValues(e.b, coded, uint16(e.number(code, "the code", 16)), values)
}
