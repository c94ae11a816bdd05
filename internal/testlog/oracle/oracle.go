// Package oracle pairs the events of a log in the plainest way, by the rules of
// package calls, and says what follows of every call: how long it lasted, what
// it spent itself, what the calls of an address come to, which rows a view has.
// The tests hold the index, and whatever is asked of it, against the answers.
// It keeps everything, looks at whole stacks, and has no thought of speed.
package oracle

import (
	"cmp"
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
	Slot   uint32
	Depth  int
	Time   int64 // of the enter
	// Duration is how long it lasted, calls.NoDuration where that is not known.
	// A running call has lasted until the log's end.
	Duration int64
	// Children is the time in calls that it made and that have a leave, Self
	// what is left of Duration.
	Children, Self int64
	// Inside is how many events its stack had in it.
	Inside  int64
	Anomaly calls.Anomaly // of its enter
	// AtEnd says that it is open when the log ends, Ended that its thread had ended.
	AtEnd, Ended bool

	ordinal int64 // the number of its enter among the events of its stack
}

// A Row is a record of the log.
type Row struct {
	parser.Event
	calls.Record
	Run int
	// Stack is what testlog.StackOf says of the event.
	Stack uint32
	// Number is that of the address, Slot that of the stack; see [Log.NumberAs].
	// A damaged record has no number.
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
	options  Options
	numbers  map[place]uint32
	lastTime int64
}

// Options say how a log is to be read.
type Options struct {
	// Namer may be nil.
	Namer calls.Namer
	// Live says that the program may still be writing.
	Live bool
	// Before is an earlier answer, whose addresses come first.
	Before *Log
}

type place struct {
	run     int
	space   uint16
	address uint64
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
	l := &Log{log: log, options: o, numbers: map[place]uint32{}}
	if o.Before != nil {
		for _, a := range o.Before.Addresses {
			l.number(int(a.Run), a.Space, a.Value)
		}
	}
	last := 0 // the last run that has events
	for k, run := range runs {
		if run.Count > 0 {
			last = k
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
			l.endRun(s, k == last, o.Live && k == len(runs)-1)
		}
	}
	for id, n := range threads {
		l.Threads = append(l.Threads, calls.Thread{ID: id, Records: n})
	}
	slices.SortFunc(l.Threads, func(a, b calls.Thread) int { return cmp.Compare(a.ID, b.ID) })
	l.finish()
	return l, nil
}

// number returns the number of an address.
func (l *Log) number(run int, space uint16, address uint64) uint32 {
	p := place{run, space, address}
	n, ok := l.numbers[p]
	if !ok {
		n = uint32(len(l.Addresses))
		l.numbers[p] = n
		l.Addresses = append(l.Addresses, calls.Address{Value: address, Run: int32(run), Space: space})
	}
	return n
}

// name returns the function of an address by number.
func (l *Log) name(number uint32) calls.Function {
	a := &l.Addresses[number]
	if l.options.Namer == nil {
		return 0
	}
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
				c.Ended = true
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
	for i := len(s.calls) - outer; i < len(open); i++ {
		var c parser.OpenCall // of the outer ones nothing is known
		if i >= 0 {
			c = open[i]
		}
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
		f, t := l.name(r.Number), l.name(s.calls[top].Number)
		if f != 0 && t != 0 && f != t {
			named := nearest(func(c *Call) bool { return l.name(c.Number) == f })
			if named < 0 || named == top-1 {
				r.Anomaly = calls.Tail
			} else {
				closed = named
			}
		}
	}
	l.cut(s, closed+1, row)
	c := s.calls[closed]
	s.calls = s.calls[:closed]
	c.Leave, c.End, c.Until = row, row+1, row
	r.Call, r.Caller, r.Depth = c, c.Caller, closed
	if c.Enter < 0 {
		r.Anomaly = calls.NoEnter
		return
	}
	c.lasts(r.Time, s.events-1)
}

// lasts notes that a call lasted until a time, when its stack had so many events.
func (c *Call) lasts(until, events int64) {
	if c.Enter >= 0 {
		c.Duration, c.Inside = calls.Elapsed(c.Time, until), events-c.ordinal
	}
}

// endRun ends the calls that are open at the end of a run.
func (l *Log) endRun(s *stack, last, live bool) {
	if len(s.calls) == 0 {
		return
	}
	end, anomaly, ended := l.lastTime, calls.Open, false
	if live {
		anomaly = calls.Running
	}
	if log := l.log.Capabilities().Ender; log != nil && last {
		at, _ := log.End()
		end = max(end, at)
		if at, _, ok := log.ProcessEnd(s.thread); ok {
			end = at
		}
		if s.own {
			if at, ok := log.ThreadEnd(s.thread, s.calls[len(s.calls)-1].Time, math.MaxInt64); ok {
				end, anomaly, ended = at, calls.NoLeave, true
			}
		}
	}
	for _, c := range s.calls {
		c.End, c.Until = int64(len(l.Rows)), int64(len(l.Rows)-1)
		c.Anomaly, c.AtEnd, c.Ended = anomaly, last, ended
		c.lasts(end, s.events)
	}
}

// finish computes what follows from the durations of the calls.
func (l *Log) finish() {
	for _, c := range l.Calls {
		c.Children = 0
	}
	open := map[*Call]int64{} // the time in a call that has no leave either
	for _, c := range l.Calls {
		if c.Caller == nil || c.Duration == calls.NoDuration {
			continue
		}
		if c.Leave >= 0 {
			c.Caller.Children += c.Duration
		} else {
			open[c.Caller] = c.Duration
		}
	}
	for _, c := range l.Calls {
		if c.Enter < 0 {
			continue
		}
		enter := &l.Rows[c.Enter]
		if enter.Anomaly = c.Anomaly; c.Duration == calls.NoDuration {
			continue
		}
		c.Self = max(0, c.Duration-c.Children)
		if c.Leave < 0 {
			c.Self = max(0, c.Self-open[c])
		}
		rows := []*Row{enter}
		if c.Leave >= 0 {
			leave := &l.Rows[c.Leave]
			enter.Partner, leave.Partner = c.Leave, c.Enter
			rows = append(rows, leave)
		} else if c.Anomaly == calls.Running {
			continue // it would be another time at every look
		}
		for _, r := range rows {
			r.Duration, r.Inside, r.Self = c.Duration, c.Inside, c.Self
		}
	}
}
