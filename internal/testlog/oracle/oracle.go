// Package oracle pairs the events of a log in the plainest way, by the rules of
// package calls, and says what follows of every call: how long it lasted, what
// it spent itself, what the calls of an address come to, which rows a view has.
// The tests hold the index, and whatever is asked of it, against the answers.
// It keeps everything, looks at whole stacks, and has no thought of speed.
package oracle

import (
	"maps"
	"math"
	"slices"

	"logparser/calls"
	"logparser/internal/testlog"
	"logparser/parser"
)

// A Call is a call, from the row at which it was found to be open.
type Call struct {
	// Enter is the row of its enter, -1 where that is missing from the log;
	// Found is Enter, or the row before which the log says that it is open.
	Enter, Found int64
	// Leave is the row of its leave, -1 where it has none. End is the row after
	// its last, and Until the last row before which it was on the stack.
	Leave, End, Until int64
	// Caller is the call below it on the stack, nil for none.
	Caller *Call
	Stack  uint32 // of the rows
	Number uint32 // of its address
	Depth  int
	Time   int64 // of the enter
	// Duration is how long it lasted, calls.NoDuration where that is not known.
	// A running call has lasted until the log's end.
	Duration int64
	// Self is what of Duration it did not spend in calls that it made.
	Self int64
	// Inside is how many events its stack had in it.
	Inside  int64
	Anomaly calls.Anomaly // of its enter
	AtEnd   bool          // it is open when the log ends

	children int64 // what the calls that it made lasted
	ordinal  int64 // the number of its enter among the events of its stack
}

// A Row is a record of the log.
type Row struct {
	parser.Event
	calls.Record
	Run int
	// Stack is what testlog.StackOf says of the event.
	Stack uint32
	// Number is that of the address, Slot that of the stack, by first appearance.
	// A damaged record has neither.
	Number, Slot uint32
	// Call is the call that the row enters or leaves, Caller the one around it.
	Call, Caller *Call
	// Inside and Self are those of Call, -1 where the row does not have them.
	Inside, Self int64
}

// A Log is what there is to know of a log.
type Log struct {
	Rows  []Row
	Calls []*Call // in the order in which they were found
	// Addresses are the distinct addresses in the order in which they appear.
	Addresses  []calls.Address
	Threads    []calls.Thread // by id
	NeedsNames bool

	log      parser.Log
	runs     []parser.Run
	options  Options
	numbers  map[calls.Address]uint32
	slots    map[uint32]uint32
	lastTime int64
}

// Options say how a log is to be read.
type Options struct {
	Namer calls.Namer // or nil
	Live  bool        // the program may still be writing
	// Before is an earlier answer, whose addresses come first.
	Before  *Log
	correct func(row, duration, inside int64) int64
}

// A stack is the open calls of a thread or a coroutine, the outermost first.
type stack struct {
	calls  []*Call
	events int64
	thread uint32
	own    bool // it is the stack that the thread began with
}

// New reads runs of a log.
func New(log parser.Log, runs []parser.Run, o Options) (*Log, error) {
	l := &Log{log: log, runs: runs, options: o, numbers: map[calls.Address]uint32{}, slots: map[uint32]uint32{}}
	if o.Before != nil {
		for _, a := range o.Before.Addresses {
			l.number(int(a.Run), a.Space, a.Value)
		}
	}
	threads := map[uint32]int64{}
	for k, run := range runs {
		events := make([]parser.Event, run.Count)
		if _, err := log.ReadEvents(events, run.First); err != nil {
			return nil, err
		}
		stacks := map[uint32]*stack{}
		for i, e := range events {
			l.Rows = append(l.Rows, Row{
				Event: e, Record: calls.Record{Partner: calls.NoPartner, Duration: calls.NoDuration},
				Run: k, Stack: testlog.StackOf(log, &e), Inside: -1, Self: calls.NoDuration,
			})
			if e.Kind != parser.Damaged {
				threads[testlog.ThreadOf(log, &e)]++
			}
			l.pair(stacks, run.First+int64(i))
		}
		for _, s := range stacks {
			last := !slices.ContainsFunc(runs[k+1:], func(r parser.Run) bool { return r.Count > 0 })
			l.endRun(s, last, o.Live && k == len(runs)-1)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(threads)) {
		l.Threads = append(l.Threads, calls.Thread{ID: id, Records: threads[id]})
	}
	l.finish()
	return l, nil
}

// number returns the number of an address.
func (l *Log) number(run int, space uint16, address uint64) uint32 {
	a := calls.Address{Value: address, Run: int32(run), Space: space}
	if _, ok := l.numbers[a]; !ok {
		l.numbers[a] = uint32(len(l.Addresses))
		l.Addresses = append(l.Addresses, a)
	}
	return l.numbers[a]
}

// name returns the function of an address by number.
func (l *Log) name(number uint32) calls.Function {
	if l.options.Namer == nil {
		return 0
	}
	a := &l.Addresses[number]
	return l.options.Namer(int(a.Run), a.Space, a.Value)
}

// pair takes in the last row, which is a record of the log.
func (l *Log) pair(stacks map[uint32]*stack, record int64) {
	row := int64(len(l.Rows) - 1)
	r := &l.Rows[row]
	s := stacks[r.Stack]
	if r.Kind == parser.Damaged {
		if r.Anomaly = calls.Damaged; s != nil {
			r.Depth = len(s.calls)
		}
		return
	}
	if s == nil {
		s = &stack{thread: r.Thread, own: testlog.ThreadOf(l.log, &r.Event) == r.Stack}
		stacks[r.Stack] = s
	}
	if _, ok := l.slots[r.Stack]; !ok {
		l.slots[r.Stack] = uint32(len(l.slots))
	}
	r.Slot = l.slots[r.Stack]
	s.events++
	l.lastTime = r.Time
	if r.Gap != parser.NoGap {
		l.resume(s, row, record)
	}
	r.Number = l.number(r.Run, r.Space, r.Address)
	l.Addresses[r.Number].Records++
	if r.Kind == parser.Leave {
		l.leave(s, row)
		return
	}
	c := l.open(s, row, r.Number)
	c.Enter = row
	r.Call, r.Caller, r.Depth = c, c.Caller, c.Depth
}

// open puts a call on a stack.
func (l *Log) open(s *stack, row int64, number uint32) *Call {
	r := &l.Rows[row]
	c := &Call{
		Enter: -1, Found: row, Leave: -1, Stack: r.Stack, Number: number, Depth: len(s.calls), Time: r.Time,
		Duration: calls.NoDuration, Self: calls.NoDuration, ordinal: s.events,
	}
	if c.Depth > 0 {
		c.Caller = s.calls[c.Depth-1]
	}
	s.calls = append(s.calls, c)
	l.Calls = append(l.Calls, c)
	return c
}

// cut takes calls from a stack until n are left, because a row shows that they
// were left without a leave.
func (l *Log) cut(s *stack, n int, row int64) {
	for _, c := range s.calls[n:] {
		c.End, c.Until, c.Anomaly = row, row, calls.NoLeave
	}
	s.calls = s.calls[:n]
}

// resume makes a stack what the log says was open before a row.
func (l *Log) resume(s *stack, row, record int64) {
	r := &l.Rows[row]
	if r.Gap >= parser.CallsLeft {
		l.cut(s, max(0, len(s.calls)-1-int(r.Gap-parser.CallsLeft)), row)
		return
	}
	if log := l.log.Capabilities().Ender; log != nil && r.Gap == parser.ThreadBegins && s.own && len(s.calls) > 0 {
		if at, ok := log.ThreadEnd(s.thread, s.calls[len(s.calls)-1].Time, r.Time); ok {
			for _, c := range s.calls {
				c.lasts(at, s.events-1)
			}
		}
	}
	var open []parser.OpenCall
	outer := 0
	if log := l.log.Capabilities().Resumer; log != nil && r.Gap == parser.EventsMissing {
		open, outer, _ = log.OpenCalls(record)
	}
	// What is open now is compared from the innermost call outwards.
	for i := len(s.calls) - 1 - outer; i >= 0; i-- {
		a := &l.Addresses[s.calls[len(s.calls)-1].Number]
		if i < len(open) && a.Value == open[i].Address && (a.Space^open[i].Space)&1 == 0 {
			break
		}
		l.cut(s, len(s.calls)-1, row)
	}
	for len(s.calls) < outer {
		l.open(s, row, l.number(r.Run, 0, 0)) // nothing is known of it
	}
	for _, c := range open[min(len(open), len(s.calls)-outer):] {
		l.open(s, row, l.number(r.Run, c.Space, c.Address))
	}
}

// leave closes the call that a leave closes.
func (l *Log) leave(s *stack, row int64) {
	r := &l.Rows[row]
	top := len(s.calls) - 1
	nearest := func(same func(c *Call) bool) int {
		k := top
		for k >= 0 && !same(s.calls[k]) {
			k--
		}
		return k
	}
	closed := nearest(func(c *Call) bool { return c.Number == r.Number })
	if closed < 0 && (top < 0 || l.log.ExactLeaves()) {
		if r.Anomaly = calls.Stray; top >= 0 {
			r.Caller = s.calls[top]
		}
		return
	}
	if closed < 0 {
		l.NeedsNames = true
		closed = top
		if f, t := l.name(r.Number), l.name(s.calls[top].Number); f != 0 && t != 0 && f != t {
			if named := nearest(func(c *Call) bool { return l.name(c.Number) == f }); named >= 0 && named < top-1 {
				closed = named
			} else {
				r.Anomaly = calls.Tail
			}
		}
	}
	l.cut(s, closed+1, row)
	c := s.calls[closed]
	s.calls = s.calls[:closed]
	c.Leave, c.End, c.Until = row, row+1, row
	r.Call, r.Caller, r.Depth = c, c.Caller, closed
	if c.lasts(r.Time, s.events-1); c.Enter < 0 {
		r.Anomaly = calls.NoEnter
	}
}

// lasts notes that a call lasted until a time, when its stack had so many events.
func (c *Call) lasts(until, events int64) {
	if c.Enter >= 0 {
		c.Duration, c.Inside = calls.Elapsed(c.Time, until), events-c.ordinal
	}
}

// endRun ends the calls that are open at the end of a run.
func (l *Log) endRun(s *stack, last, live bool) {
	end, anomaly := l.lastTime, calls.Open
	if live {
		anomaly = calls.Running
	}
	if log := l.log.Capabilities().Ender; log != nil && last {
		at, _ := log.End()
		end = max(end, at)
		if at, _, ok := log.ProcessEnd(s.thread); ok {
			end = at
		}
		if s.own && len(s.calls) > 0 {
			if at, ok := log.ThreadEnd(s.thread, s.calls[len(s.calls)-1].Time, math.MaxInt64); ok {
				end, anomaly = at, calls.NoLeave
			}
		}
	}
	for _, c := range s.calls {
		c.End, c.Until = int64(len(l.Rows)), int64(len(l.Rows)-1)
		c.Anomaly, c.AtEnd = anomaly, last
		c.lasts(end, s.events)
	}
}

// finish computes what follows from the durations of the calls.
func (l *Log) finish() {
	for _, c := range l.Calls {
		if l.options.correct != nil && c.Duration != calls.NoDuration {
			c.Duration = l.options.correct(c.Enter, c.Duration, c.Inside)
		}
		if c.Caller != nil && c.Duration != calls.NoDuration {
			c.Caller.children += c.Duration
		}
	}
	for _, c := range l.Calls {
		if c.Enter >= 0 {
			l.Rows[c.Enter].Anomaly = c.Anomaly
		}
		if c.Duration == calls.NoDuration {
			continue
		}
		enter := &l.Rows[c.Enter]
		c.Self = max(0, c.Duration-c.children)
		if c.Leave >= 0 {
			leave := &l.Rows[c.Leave]
			enter.Partner, leave.Partner = c.Leave, c.Enter
			leave.Duration, leave.Inside, leave.Self = c.Duration, c.Inside, c.Self
		}
		if c.Anomaly != calls.Running { // it would be another time at every look
			enter.Duration, enter.Inside, enter.Self = c.Duration, c.Inside, c.Self
		}
	}
}

// Len returns the number of rows.
func (l *Log) Len() int64 { return int64(len(l.Rows)) }

// CallerRow returns the row of the enter of a row's caller, -1 where there is none.
func (l *Log) CallerRow(row int64) int64 {
	if c := l.Rows[row].Caller; c != nil {
		return c.Enter
	}
	return -1
}

// Recursive reports whether another call of a call's group is open.
func (c *Call) Recursive(group func(number uint32) uint32) bool {
	for o := c.Caller; o != nil; o = o.Caller {
		if group(o.Number) == group(c.Number) {
			return true
		}
	}
	return false
}

// Corrected reads the log again, with other durations of the calls that have one.
func (l *Log) Corrected(correct func(row, duration, inside int64) int64) (*Log, error) {
	o := l.options
	o.correct = correct
	return New(l.log, l.runs, o)
}

// Totals returns the totals of each address by number.
func (l *Log) Totals() []calls.Total {
	all := func(row int64) bool { return true }
	return l.TotalsOf(all, all)
}

// TotalsOf is Totals of the calls whose enters pass. Those whose leaves do not have no duration.
func (l *Log) TotalsOf(enter, leave func(row int64) bool) []calls.Total {
	list := make([]calls.Total, len(l.Addresses))
	for _, c := range l.Calls {
		if c.Enter < 0 || !enter(c.Enter) {
			continue
		}
		t := &list[c.Number]
		if t.Calls++; c.Leave < 0 || !leave(c.Leave) {
			continue
		}
		if t.Timed++; t.Timed == 1 {
			t.Min = c.Duration
		}
		t.Sum += c.Duration
		t.Self += c.Self
		t.Min, t.Max = min(t.Min, c.Duration), max(t.Max, c.Duration)
		if !c.Recursive(func(number uint32) uint32 { return number }) {
			t.NonRecursive += c.Duration
		}
		t.Histogram.Add(c.Duration)
	}
	return list
}
