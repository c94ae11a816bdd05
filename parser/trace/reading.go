package trace

import "slices"

// A reading is records that somebody reads at the moment, by a cursor that will stand behind them.
//
// Who reads a log block by block on several processors asks for the records behind those that another one is
// still reading. A cursor that stands elsewhere would have to decode these, too, to get there: of what text of all
// rows takes on two processors that was a tenth. So the next one waits for the cursor.
type reading struct {
	v *view
	// end is the first record behind it.
	end int64
	// before is the one that it waits for, nil for none, and behind how many wait for each other up to it.
	before *reading
	behind int
	done   chan struct{}
}

// mostBehind bounds how many wait for each other in a row: with more processors than that it is quicker to let one
// of them decode some records twice.
const mostBehind = 3

// begin makes a reading of the records before end, from one on, and returns when the cursor is there that will stand
// at that, if any will soon. It is to be ended.
func (l *Log) begin(v *view, from, end int64) *reading {
	r := l.queue(v, from, end)
	// Readings wait for those of earlier records only, so that none waits for itself.
	if r.before != nil {
		<-r.before.done
		r.before = nil
	}
	return r
}

// queue makes a reading with the one that it is to wait for.
func (l *Log) queue(v *view, from, end int64) *reading {
	r := &reading{v: v, end: end, done: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.ContainsFunc(l.cursors, func(c *cursor) bool { return c.v == v && c.next == from }) {
		i := slices.IndexFunc(l.readings, func(o *reading) bool { return o.v == v && o.end == from && o.behind < mostBehind })
		if i >= 0 {
			r.before = l.readings[i]
			r.behind = r.before.behind + 1
		}
	}
	l.readings = append(l.readings, r)
	return r
}

// end ends a reading, when its cursor is back.
func (l *Log) end(r *reading) {
	l.mu.Lock()
	l.readings = slices.DeleteFunc(l.readings, func(o *reading) bool { return o == r })
	l.mu.Unlock()
	close(r.done)
}
