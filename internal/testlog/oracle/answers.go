package oracle

import (
	"slices"

	"logparser/calls"
	"logparser/parser"
)

// A Total sums up the calls of an address, as index.Total does.
type Total struct {
	Calls, Timed, Sum, Self, NonRecursive, Min, Max int64
	Durations                                       []int64
}

// A Numbering gives numbers to addresses and stacks.
type Numbering interface {
	AddressTable() *calls.Addresses
	Slots() int
	ThreadID(slot uint32) uint32
}

// NumberAs gives addresses and stacks the numbers that an index has for them. The
// log must have no other stacks than those of threads.
func (l *Log) NumberAs(n Numbering) {
	slots := map[uint32]uint32{}
	for slot := range n.Slots() {
		slots[n.ThreadID(uint32(slot))] = uint32(slot)
	}
	for i := range l.Rows {
		r := &l.Rows[i]
		slot, ok := slots[r.Stack]
		if r.Slot = slot; !ok {
			r.Slot = ^uint32(0)
		}
		if r.Kind == parser.Damaged {
			continue
		}
		number, _ := n.AddressTable().Find(r.Run, r.Space, r.Address)
		r.Number = uint32(number)
		if c := r.Call; c != nil && c.Enter == int64(i) {
			c.Number, c.Slot = r.Number, r.Slot
		}
	}
}

// Len returns the number of rows.
func (l *Log) Len() int64 { return int64(len(l.Rows)) }

// Count returns how many rows have an anomaly.
func (l *Log) Count(m calls.Anomaly) int64 {
	n := int64(0)
	for i := range l.Rows {
		if l.Rows[i].Anomaly == m {
			n++
		}
	}
	return n
}

// CallerRow returns the row of the enter of a row's caller, -1 where there is none.
func (l *Log) CallerRow(row int64) int64 {
	if c := l.Rows[row].Caller; c != nil {
		return c.Enter
	}
	return -1
}

// Timed reports whether enter and leave of a call are known.
func (c *Call) Timed() bool { return c.Enter >= 0 && c.Leave >= 0 }

// Running reports whether a call was open when its run ended.
func (c *Call) Running() bool { return c.Anomaly == calls.Open || c.Anomaly == calls.Running }

// Recursive reports whether another call of a call's group is open.
func (c *Call) Recursive(group func(number uint32) uint32) bool {
	for o := c.Caller; o != nil; o = o.Caller {
		if group(o.Number) == group(c.Number) {
			return true
		}
	}
	return false
}

// Totals returns the totals of each address by number.
func (l *Log) Totals() []Total {
	list := make([]Total, len(l.Addresses))
	self := func(number uint32) uint32 { return number }
	for _, c := range l.Calls {
		t := &list[c.Number]
		if c.Enter < 0 {
			continue
		}
		t.Calls++
		if !c.Timed() {
			continue
		}
		if t.Timed++; t.Timed == 1 {
			t.Min = c.Duration
		}
		t.Sum += c.Duration
		t.Self += c.Self
		t.Min, t.Max = min(t.Min, c.Duration), max(t.Max, c.Duration)
		if !c.Recursive(self) {
			t.NonRecursive += c.Duration
		}
		t.Durations = append(t.Durations, c.Duration)
	}
	return list
}

// Within returns which rows lie in calls that ok accepts.
func (l *Log) Within(ok func(c *Call) bool) []bool {
	in := make([]bool, len(l.Rows))
	for i := range l.Rows {
		for c := l.Rows[i].Call; c != nil && !in[i]; c = c.Caller {
			in[i] = ok(c)
		}
	}
	return in
}

// A Range is the rows of a slot from First on, before End.
type Range struct {
	Slot       uint32
	First, End int64
}

// View returns the rows that pass, but for those inside folded calls, whose enters
// are given, and those of hidden ranges that belong to calls.
func (l *Log) View(pass func(row int64) bool, folded []int64, hidden []Range) []int64 {
	for _, row := range folded {
		if row >= 0 && row < l.Len() && l.Rows[row].Kind == parser.Enter {
			hidden = append(hidden[:len(hidden):len(hidden)], Range{l.Rows[row].Slot, row + 1, l.Rows[row].Call.End})
		}
	}
	var rows []int64
	for row := range l.Len() {
		r := &l.Rows[row]
		if pass(row) && (r.Call == nil || !slices.ContainsFunc(hidden, func(h Range) bool { return h.Slot == r.Slot && row >= h.First && row < h.End })) {
			rows = append(rows, row)
		}
	}
	return rows
}

// Corrected returns the log with other durations of the calls that have one.
func (l *Log) Corrected(correct func(row, duration, inside int64) int64) *Log {
	n := &Log{Rows: slices.Clone(l.Rows), Addresses: l.Addresses}
	copies := map[*Call]*Call{}
	for _, old := range l.Calls {
		c := *old
		copies[old] = &c
		c.Caller = copies[c.Caller]
		if c.Enter >= 0 && c.Duration != calls.NoDuration {
			c.Duration = correct(c.Enter, c.Duration, c.Inside)
		}
		n.Calls = append(n.Calls, &c)
	}
	for i := range n.Rows {
		r := &n.Rows[i]
		r.Call, r.Caller = copies[r.Call], copies[r.Caller]
	}
	n.finish()
	return n
}
