package index

import (
	"logparser/calls"
)

// longCount is how many of the longest calls are kept.
const longCount = 4

// longs are the longest calls of a block or group, the longest first; one
// without any duration is none.
type longs [longCount]Long

func (l *Long) Duration() int64 { return calls.Elapsed(l.EnterTime, l.LeaveTime) }

// add takes a call in if it is long enough and not there. Of equally long ones those that
// end first are kept, in whatever order they come.
func (l *longs) add(c Long) {
	d := c.Duration()
	i := longCount
	for i > 0 && (l[i-1].Duration() < d || l[i-1].Duration() == d && l[i-1].Leave > c.Leave) {
		i--
	}
	for k := range i {
		if l[k] == c {
			return
		}
	}
	if i < longCount {
		copy(l[i+1:], l[i:])
		l[i] = c
	}
}
