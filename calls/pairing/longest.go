package pairing

import "logparser/calls"

// A Long is one of the longest calls that end in a block or a group.
type Long struct {
	Enter, Leave         int64 // rows
	EnterTime, LeaveTime int64 // nanoseconds of the log's clock
	Address, Thread      uint32
	Depth                int32
}

// Duration returns the nanoseconds from the enter to the leave.
func (l *Long) Duration() int64 { return calls.Elapsed(l.EnterTime, l.LeaveTime) }

// Longest are the longest calls of a block or group, the longest first; one
// without any duration is none.
type Longest [4]Long

// Least returns the duration from which on a call may be one of the longest.
func (l *Longest) Least() int64 { return l[len(l)-1].Duration() }

// Add takes a call in if it is long enough and not there. Of equally long ones those that
// end first are kept, in whatever order they come.
func (l *Longest) Add(c Long) {
	d := c.Duration()
	i := len(l)
	for i > 0 && (l[i-1].Duration() < d || l[i-1].Duration() == d && l[i-1].Leave > c.Leave) {
		i--
	}
	for k := range i {
		if l[k] == c {
			return
		}
	}
	if i < len(l) {
		copy(l[i+1:], l[i:])
		l[i] = c
	}
}

// Merge takes in the calls of another that have a duration.
func (l *Longest) Merge(other *Longest) {
	for _, c := range other {
		if d := c.Duration(); d > 0 && d >= l.Least() {
			l.Add(c)
		}
	}
}
