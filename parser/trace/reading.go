package trace

import "slices"

// A reading is a range of records that a goroutine is reading now. Its cursor will be at the end of the range.
//
// If several goroutines read a log block by block, one often asks for the records behind those that another is still reading.
// Another cursor would have to decode these records as well to get there. On two processors that took a tenth of the time for
// writing all rows as text. So the goroutine waits for the first one's cursor instead.
type reading struct {
	v *view
	// end is the first record behind the range.
	end int64
	// before is the reading that this one waits for, nil for none. behind is the length of the chain of waiting readings.
	before *reading
	behind int
	done   chan struct{}
}

// mostBehind bounds the chain of waiting readings. With more processors it is quicker if one of them decodes some records twice.
const mostBehind = 3

// begin begins a reading of the records from from to end. If a cursor will soon be at from, it waits for that cursor. The caller
// must end the reading.
func (l *Log) begin(v *view, from, end int64) *reading {
	r := l.queue(v, from, end)
	// A reading waits only for one of earlier records, so there is no circle of waiting readings.
	if r.before != nil {
		<-r.before.done
		r.before = nil
	}
	return r
}

// queue makes a reading and sets the reading that it has to wait for.
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

// end ends a reading. Its cursor must have been released before.
func (l *Log) end(r *reading) {
	l.mu.Lock()
	l.readings = slices.DeleteFunc(l.readings, func(o *reading) bool { return o == r })
	l.mu.Unlock()
	close(r.done)
}
