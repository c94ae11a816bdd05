package merged

import (
	"context"
	"io"
	"math"
	"slices"
	"sync"

	"logparser/message"
	"logparser/parser"
)

const (
	// markEvery is after how many records of each log, on average, it is noted which
	// come next.
	markEvery = 4096
	// batch is how many events of a log are read at a time, as long as all of that is
	// no more than room events.
	batch = 2048
	room  = 1 << 18
	// maxIdle is how many cursors are kept for later.
	maxIdle = 4
)

// A cursor merges the logs from some record on.
type cursor struct {
	l *Log
	// next is the number of the record that comes next.
	next  int64
	heads []head
	// order has the places of the logs that have events left in heads, as a heap: the one
	// whose event comes next is the first.
	order []int32
	// of is the log of what take has handed out, and own the number of its first record
	// there.
	of  int
	own int64
	// seen, while the log is opened, gathers the threads; nil later.
	seen []noted
}

// A head is where a cursor stands in a log.
type head struct {
	// at is the record behind events.
	at     int64
	events []parser.Event // those left of batch
	// batch was read last; spare is what was read before it, which may be in use.
	batch, spare []parser.Event
}

// newCursor makes a cursor that stands where the next records of the logs are these.
func (l *Log) newCursor(next int64, at []int64) *cursor {
	c := &cursor{l: l, next: next, heads: make([]head, len(l.parts))}
	for i := range c.heads {
		n := max(16, min(batch, room/len(l.parts)))
		c.heads[i] = head{at: at[i], batch: make([]parser.Event, n), spare: make([]parser.Event, n)}
	}
	return c
}

// begin reads the first events.
func (c *cursor) begin() error {
	for i := range c.heads {
		if err := c.more(i); err != nil {
			return err
		}
		if len(c.heads[i].events) > 0 {
			c.order = append(c.order, int32(i))
		}
	}
	for k := len(c.order)/2 - 1; k >= 0; k-- {
		c.down(k)
	}
	return nil
}

// more reads the next events of a log, none at its end.
func (c *cursor) more(i int) error {
	of, h := c.l.parts[i], &c.heads[i]
	h.batch, h.spare = h.spare, h.batch
	want := h.batch[:min(int64(len(h.batch)), of.records-h.at)]
	n, err := of.Log.ReadEvents(want, h.at)
	if n < len(want) {
		if err == nil || err == io.EOF {
			err = parser.ErrShrunk
		}
		return message.InFile(of.Name, err)
	}
	h.events, h.at = want, h.at+int64(n)
	var seen noted
	if c.seen != nil {
		seen = c.seen[i]
	}
	var last, key uint32
	for k := range want {
		e := &want[k]
		e.Time += of.shift
		e.Space += of.firstSpace
		if seen != nil {
			if k == 0 || e.Thread != last {
				seen[e.Thread], last = true, e.Thread
			}
			if e.Kind != parser.Damaged {
				of.last = e.Time
			}
			continue
		}
		if k == 0 || e.Thread != last {
			last, key = e.Thread, of.keys[e.Thread]
		}
		e.Thread = key
	}
	return nil
}

// before reports whether the next event of one log comes before that of another.
func (c *cursor) before(a, b int32) bool {
	x, y := c.heads[a].events[0].Time, c.heads[b].events[0].Time
	return x < y || x == y && a < b
}

// down restores the order below k, where it may be wrong.
func (c *cursor) down(k int) {
	for {
		child := 2*k + 1
		if child >= len(c.order) {
			return
		}
		if child+1 < len(c.order) && c.before(c.order[child+1], c.order[child]) {
			child++
		}
		if !c.before(c.order[child], c.order[k]) {
			return
		}
		c.order[k], c.order[child] = c.order[child], c.order[k]
		k = child
	}
}

// limit returns the time up to which, and whether it is included, events of the first log
// come before all others.
func (c *cursor) limit() (time int64, included bool) {
	time = math.MaxInt64
	other := int32(math.MaxInt32)
	for k := 1; k < min(3, len(c.order)); k++ {
		if at := c.heads[c.order[k]].events[0].Time; at < time || at == time && c.order[k] < other {
			time, other = at, c.order[k]
		}
	}
	return time, other > c.order[0]
}

// take hands out the next events, at most n of them, all of one log: less than one only at
// the end, or with an error. They are good until the next take.
func (c *cursor) take(n int64) (events []parser.Event, err error) {
	if len(c.order) == 0 {
		return nil, nil
	}
	i := c.order[0]
	h := &c.heads[i]
	c.of, c.own = int(i), h.at-int64(len(h.events))
	time, included := c.limit()
	// The first event of the log is the next of all, whatever its time is.
	k := 1
	for most := int(min(int64(len(h.events)), n)); k < most; k++ {
		if at := h.events[k].Time; at > time || at == time && !included {
			break
		}
	}
	events, h.events = h.events[:k], h.events[k:]
	c.next += int64(k)
	if len(h.events) > 0 {
		c.down(0)
		return events, nil
	}
	if err := c.more(int(i)); err != nil {
		return events, err
	}
	if len(h.events) == 0 {
		last := len(c.order) - 1
		c.order[0] = c.order[last]
		c.order = c.order[:last]
	}
	c.down(0)
	return events, nil
}

// skip goes on to a record.
func (c *cursor) skip(to int64) error {
	for c.next < to {
		events, err := c.take(to - c.next)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			return io.EOF
		}
	}
	return nil
}

// scan goes over all events and notes where to begin with any of them, and the threads.
func (l *Log) scan(ctx context.Context, p parser.Progress) error {
	l.every = markEvery * int64(len(l.parts))
	total := int64(0)
	seen := make([]noted, len(l.parts))
	for i, of := range l.parts {
		total += of.records
		seen[i] = noted{}
	}
	c := l.newCursor(0, make([]int64, len(l.parts)))
	c.seen = seen
	if err := c.begin(); err != nil {
		return err
	}
	for at := int64(0); ; at += l.every {
		if err := ctx.Err(); err != nil {
			return err
		}
		if p != nil {
			p(at, total)
		}
		for i := range c.heads {
			l.marks = append(l.marks, c.heads[i].at-int64(len(c.heads[i].events)))
		}
		if at+l.every >= total {
			break
		}
		if err := c.skip(at + l.every); err != nil {
			return err
		}
	}
	// What is left of the logs is read for its threads.
	for i := range c.heads {
		for c.heads[i].at < l.parts[i].records {
			if err := c.more(i); err != nil {
				return err
			}
		}
	}
	if p != nil {
		p(total, total)
	}
	return l.setThreads(ctx, seen)
}

// A pool has cursors that may be gone on with.
type pool struct {
	mu   sync.Mutex
	idle []*cursor // the one used last is the last
}

// cursorAt returns a cursor that stands at a record.
func (l *Log) cursorAt(record int64) (*cursor, error) {
	mark := record / l.every
	l.mu.Lock()
	best := -1
	for i, c := range l.idle {
		if c.next <= record && c.next >= mark*l.every && (best < 0 || c.next > l.idle[best].next) {
			best = i
		}
	}
	var c *cursor
	if best >= 0 {
		c = l.idle[best]
		l.idle = slices.Delete(l.idle, best, best+1)
	}
	l.mu.Unlock()
	if c == nil {
		n := int64(len(l.parts))
		c = l.newCursor(mark*l.every, l.marks[mark*n:(mark+1)*n])
		if err := c.begin(); err != nil {
			return nil, err
		}
	}
	return c, c.skip(record)
}

// release keeps a cursor for later.
func (l *Log) release(c *cursor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.idle) == maxIdle {
		l.idle = slices.Delete(l.idle, 0, 1)
	}
	l.idle = append(l.idle, c)
}

// each calls f with n events from a record on, those of one log at a time: own is the number
// of the first of them there. It returns how many they are, less than n with io.EOF at the end.
func (l *Log) each(n int, from int64, f func(events []parser.Event, of *part, own int64) error) (done int, err error) {
	if from < 0 || from >= l.info.Records {
		return 0, io.EOF
	}
	c, err := l.cursorAt(from)
	if err != nil {
		return 0, err
	}
	for done < n {
		events, err := c.take(int64(n - done))
		if len(events) > 0 {
			if e := f(events, l.parts[c.of], c.own); e != nil {
				return done, e
			}
			done += len(events)
		} else if err == nil {
			l.release(c)
			return done, io.EOF
		}
		if err != nil {
			return done, err
		}
	}
	l.release(c)
	return done, nil
}

// ReadEvents implements [parser.Log].
func (l *Log) ReadEvents(dst []parser.Event, from int64) (int, error) {
	return l.each(len(dst), from, func(events []parser.Event, _ *part, _ int64) error {
		dst = dst[copy(dst, events):]
		return nil
	})
}

// find returns which record of which log a record is.
func (l *Log) find(record int64) (of *part, own int64, err error) {
	if record < 0 || record >= l.info.Records {
		return nil, 0, io.EOF
	}
	c, err := l.cursorAt(record)
	if err != nil {
		return nil, 0, err
	}
	i := c.order[0]
	own = c.heads[i].at - int64(len(c.heads[i].events))
	l.release(c)
	return l.parts[i], own, nil
}
