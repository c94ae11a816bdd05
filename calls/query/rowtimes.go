package query

import (
	"math"
	"slices"

	"logparser/calls/index"
	"logparser/parser"
)

// Calls know times and not rows. But where rows are in order of time, those from one on are,
// on each thread, those from a time on.

// rowTimes says from which times on events of a thread have at least a row's number.
type rowTimes struct {
	time int64
	// later are the threads' slots of which all events of just this time have lower numbers.
	later []uint32
}

// mostTied bounds the rows of one time that are looked at.
const mostTied = 4 * index.BlockLen

// timesFrom returns the times of the rows from one on. It is not ok where a thread has events
// of one time before the row and from it on, or the log cannot be read.
func timesFrom(src *index.Index, row int64) (t rowTimes, ok bool) {
	if row <= 0 {
		return rowTimes{time: math.MinInt64}, true
	}
	if row >= src.Len() {
		return rowTimes{time: math.MaxInt64}, true
	}
	var b index.Block
	const want = index.Times | index.Threads | index.Kinds
	at, err := FillAt(src, &b, row, want)
	if err != nil || at < 0 {
		return t, false
	}
	t.time = b.Time[at]
	var from []uint32 // the slots of events of this time from the row on
	// tied goes over the rows of this time from one on, forward or back, and notes their slots.
	tied := func(row, step int64, slots *[]uint32) bool {
		for n := 0; n < mostTied; n++ {
			if row < 0 || row >= src.Len() {
				return true
			}
			i := int(row - b.First)
			if i < 0 || i >= b.N {
				if i, err = FillAt(src, &b, row, want); err != nil || i < 0 {
					return false
				}
			}
			if b.Kind[i] == parser.Damaged || (b.Time[i]-t.time)*step < 0 {
				return false // it is not in order
			}
			if b.Time[i] != t.time {
				return true
			}
			if !slices.Contains(*slots, b.Thread[i]) {
				*slots = append(*slots, b.Thread[i])
			}
			row += step
		}
		return false
	}
	if !tied(row, 1, &from) || !tied(row-1, -1, &t.later) {
		return t, false
	}
	return t, !slices.ContainsFunc(t.later, func(slot uint32) bool { return slices.Contains(from, slot) })
}

// of returns the time of a thread, by its slot.
func (t *rowTimes) of(slot uint32) int64 {
	if slices.Contains(t.later, slot) {
		return t.time + 1
	}
	return t.time
}

// rows returns a test for the calls that are entered in a range of rows, nil where their times
// do not tell that.
func (t *CallTest) rows(r rowTest) callTester {
	if r.first > r.last {
		return func(_ *CallsOf, pass []uint8) { clear(pass) }
	}
	from, ok := timesFrom(t.src, r.first)
	if !ok {
		return nil
	}
	end := rowTimes{time: math.MaxInt64}
	if r.last < t.src.Len() {
		if end, ok = timesFrom(t.src, r.last+1); !ok {
			return nil
		}
	}
	t.times[r] = [2]int64{from.time, end.time}
	return func(c *CallsOf, pass []uint8) {
		least, below := from.of(c.Owner), end.of(c.Owner)
		for i := range pass {
			pass[i] = 0
			if at := c.Calls[i].Enter; at >= least && at < below {
				pass[i] = 1
			}
		}
	}
}
