package trace

import "slices"

// A reading is a range of records that a goroutine is reading. When it is done, its cursor is at the end of the range.
//
// If several goroutines read a log block by block, one of them often asks for the records directly after those that another one
// is still reading. With a cursor of its own it would have to decode these records as well to get there. On two processors that
// took a tenth of the time for writing all rows as text. So the goroutine waits for the cursor of the other one.
type reading struct {
	v *view
	// end is the first record after the range.
	end int64
	// before is the reading that this one waits for, or nil. behind is the number of readings in the chain before this one.
	before *reading
	behind int
	done   chan struct{}
}

// mostBehind bounds the chain of waiting readings. With more processors, decoding some records twice is faster than waiting.
const mostBehind = 3

// begin begins a reading of the records from from up to end. If a cursor will soon be at from, begin waits for it. The caller
// must call end.
func (l *Log) begin(v *view, from, end int64) *reading {
	r := l.queue(v, from, end)
	// A reading waits only for one of earlier records, so readings cannot wait for each other in a circle.
	if r.before != nil {
		<-r.before.done
		r.before = nil
	}
	return r
}

// queue adds a reading, and sets the reading that it has to wait for.
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

// end ends a reading. Its cursor must have been released already.
func (l *Log) end(r *reading) {
	l.mu.Lock()
	l.readings = slices.DeleteFunc(l.readings, func(o *reading) bool { return o == r })
	l.mu.Unlock()
	close(r.done)
}
