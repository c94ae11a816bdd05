package trace

import (
	"cmp"
	"io"
	"math"
	"slices"
	"sort"
	"sync"

	"logparser/message"
	"logparser/parser"
	"logparser/parser/trace/wire"
)

// An index divides time into slices, so that a record is found by its number without merging all events before it. The exact
// number of events before a slice is computed when it is first needed. Until then only a lower bound is known.
type index struct {
	streams []*stream
	total   int64
	slices  []slice
	// active has the active streams of each slice, slice by slice.
	active []activeStream

	mu    sync.Mutex
	exact []int64 // events before each slice, -1 if not known yet
}

// A slice is the events from a time in units up to the time of the next slice.
type slice struct {
	from uint64
	// least is a lower bound of the number of events before the slice. It counts the events of streams that ended before it,
	// and those before the samples of active streams.
	least int64
	// active is the index in index.active of the slice's first stream.
	active int
}

// An activeStream is a stream that has events in a slice, as an index into index.streams. sample is its last sample before
// which all events are earlier than the slice.
type activeStream struct{ stream, sample int32 }

// sliceEvents is the smallest number of events in a slice. If many streams are active, slices have more.
const sliceEvents = 4 * sampleEvery

// newIndex makes an index. If the log has grown, old is its previous index, else nil. Then streams begins with the old streams,
// and all new events are later than the old ones.
func newIndex(streams []*stream, old *index) *index {
	x := &index{streams: streams}
	for _, s := range streams {
		x.total += s.count
	}
	from := uint64(0)
	if old != nil && len(old.slices) > 0 {
		// The last slices may have had too few events, so they are made again.
		n := len(old.slices)
		for n > 1 && old.total-old.slices[n-1].least < sliceEvents {
			n--
		}
		n--
		from = old.slices[n].from
		x.slices = slices.Clip(old.slices[:n])
		x.active = slices.Clip(old.active[:old.slices[n].active])
		old.mu.Lock()
		x.exact = append(x.exact, old.exact[:n]...)
		old.mu.Unlock()
	}
	// Samples and ends of streams. A step says that events more events lie before a time.
	type step struct {
		time   uint64
		events int64
	}
	type place struct {
		stream int32
		sample int
	}
	var steps []step
	var live, coming []place
	ended := int64(0)
	for i, s := range streams {
		switch {
		case s.count == 0:
			continue
		case s.last < from:
			ended += s.count
			continue
		}
		k := s.sampleBefore(from)
		if s.first < from {
			live = append(live, place{int32(i), k})
		} else {
			coming = append(coming, place{int32(i), 0})
		}
		for k++; k < len(s.samples); k++ {
			if int64(k)*sampleEvery < s.count {
				steps = append(steps, step{s.samples[k].shown, sampleEvery})
			}
		}
		steps = append(steps, step{s.last, s.count % sampleEvery})
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.time, b.time) })
	slices.SortFunc(coming, func(a, b place) int { return cmp.Compare(streams[a.stream].first, streams[b.stream].first) })
	add := func(from, to uint64) {
		sl := slice{from: from, active: len(x.active)}
		for len(coming) > 0 && streams[coming[0].stream].first < to {
			live = append(live, coming[0])
			coming = coming[1:]
		}
		kept := live[:0]
		for _, p := range live {
			s := streams[p.stream]
			if s.last < from {
				ended += s.count
				continue
			}
			for p.sample+1 < len(s.samples) && s.samples[p.sample+1].shown < from {
				p.sample++
			}
			sl.least += int64(p.sample) * sampleEvery
			kept = append(kept, p)
			x.active = append(x.active, activeStream{p.stream, int32(p.sample)})
		}
		live = kept
		sl.least += ended
		x.slices = append(x.slices, sl)
	}
	events := int64(0)
	for _, st := range steps {
		events += st.events
		if events >= max(sliceEvents, int64(len(live))*sampleEvery/64) && st.time+1 > from {
			add(from, st.time+1)
			from, events = st.time+1, 0
		}
	}
	add(from, math.MaxUint64)
	for len(x.exact) < len(x.slices) {
		x.exact = append(x.exact, -1)
	}
	return x
}

// streamsOf returns the active streams of a slice.
func (x *index) streamsOf(i int) []activeStream {
	end := len(x.active)
	if i+1 < len(x.slices) {
		end = x.slices[i+1].active
	}
	return x.active[x.slices[i].active:end]
}

// end returns the time in units at which a slice ends.
func (x *index) end(i int) uint64 {
	if i+1 < len(x.slices) {
		return x.slices[i+1].from
	}
	return math.MaxUint64
}

func (x *index) known(i int) int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.exact[i]
}

func (x *index) know(i int, n int64) {
	x.mu.Lock()
	x.exact[i] = n
	x.mu.Unlock()
}

// A source is an active stream of a cursor, with decoded events. Their times are in units.
type source struct {
	d      *decoder
	s      *stream
	events []parser.Event // the events of batch that are left
	batch  []parser.Event
	// ordinals is cursor.ordinals.
	ordinals bool
	// taken has the values of decoded events if the cursor reads values.
	taken takenQueue
}

// more decodes the next events. At the end of the stream events becomes empty.
func (a *source) more() error {
	a.batch = a.batch[:min(int64(cap(a.batch)), a.s.count-a.d.ordinal)]
	n, err := a.read(a.batch)
	a.events = a.batch[:n]
	return err
}

// read fills dst with events. The caller does not ask for more events than scanning has counted, so it is an error if there are
// fewer.
func (a *source) read(dst []parser.Event) (int, error) {
	n, err := a.d.read(dst)
	if err == nil && n < len(dst) {
		err = message.Errorf("thread %d: %w", a.s.thread, errChanged)
	}
	if a.d.taken != nil {
		a.markTaken(dst[:n])
		return n, err
	}
	if a.ordinals {
		for i := range dst[:n] {
			dst[i].Address, dst[i].Thread = uint64(a.d.ordinal-int64(n-i)), a.s.number
		}
	}
	return n, err
}

// A cursor merges the streams by time, from any record on.
type cursor struct {
	v    *view
	r    io.ReaderAt
	x    *index
	next int64 // number of the next event
	i    int   // index of the slice
	// heap has the streams that have events left; that of the next event is at index 0. idle has sources for reuse.
	heap    heads[*source]
	idle    []*source
	segment int // index of the clock's segment of the last event
	skipped []parser.Event
	// mapped is the mapped part of the file while events are read.
	mapped []byte
	// sites says that the cursor reads call sites.
	sites bool
	// ordinals says that the cursor only finds the streams of events and their numbers in these. Then Address of an event is
	// that number, and Thread the number of the stream.
	ordinals bool
	// taking says that the cursor reads the values that hooks took. values are those of the events that were read last.
	taking bool
	values []eventValues
}

// Memory of a cursor, in events and in bytes. Its active streams share it.
const (
	cursorEvents = 64 << 10
	cursorBytes  = 2 << 20
)

// start moves the cursor to the first event of a slice.
func (c *cursor) start(i int) error {
	for _, h := range c.heap {
		c.idle = append(c.idle, h.of)
	}
	for _, s := range c.idle {
		s.taken.reset()
	}
	c.heap = c.heap[:0]
	c.i = i
	from := int64(c.x.slices[i].from)
	n := c.x.slices[i].least
	list := c.x.streamsOf(i)
	for _, a := range list {
		s := c.source(len(list), c.x.streams[a.stream], int(a.sample))
		for {
			if err := s.more(); err != nil {
				c.idle = append(c.idle, s)
				return err
			}
			if len(s.events) == 0 {
				break
			}
			k := sort.Search(len(s.events), func(k int) bool { return s.events[k].Time >= from })
			n += int64(k)
			if s.events = s.events[k:]; len(s.events) > 0 {
				break
			}
		}
		if len(s.events) == 0 {
			c.idle = append(c.idle, s)
			continue
		}
		c.heap = append(c.heap, head[*source]{s.events[0].Time, s.s, s})
	}
	for k := len(c.heap)/2 - 1; k >= 0; k-- {
		c.heap.down(k)
	}
	c.next = n
	c.x.know(i, n)
	return nil
}

// source returns a source for a stream, at a sample. active is the number of streams that share the cursor's memory.
func (c *cursor) source(active int, s *stream, sample int) *source {
	var a *source
	// A source that has values which were not handed out yet cannot be reused, even if its stream has ended.
	i := len(c.idle) - 1
	for i >= 0 && len(c.idle[i].taken.list) > 0 {
		i--
	}
	if i >= 0 {
		a = c.idle[i]
		c.idle = slices.Delete(c.idle, i, i+1)
	} else {
		a = &source{d: newDecoder(c.r, min(max(cursorBytes/active, wire.LongestFixed*2), 64<<10))}
	}
	// There may be thousands of streams with few events each.
	if room := int(min(s.count, int64(max(cursorEvents/active, 128)), 1024)); cap(a.batch) < room {
		a.batch = make([]parser.Event, 0, room)
	}
	a.s, a.ordinals, a.d.mapped, a.d.sites = s, c.ordinals, &c.mapped, c.sites
	if c.taking {
		a.taken.reset()
		a.d.taken = &a.taken
	}
	a.d.restore(s, c.v.epochs.times, sample)
	return a
}

// seek moves the cursor into the slice of a record, to the record or before it.
func (c *cursor) seek(record int64) error {
	x := c.x
	// The slice lies between two bounds: hi is the last slice that begins at or before the record by the lower bounds of
	// events, and lo the last one that does so by upper bounds.
	hi := sort.Search(len(x.slices), func(i int) bool { return x.slices[i].least > record }) - 1
	lo := hi
	for lo > 0 && x.slices[lo].least+sampleEvery*int64(len(x.streamsOf(lo))) > record {
		lo--
	}
	at := -1
	for lo < hi {
		mid := (lo + hi + 1) / 2
		n := x.known(mid)
		if n < 0 {
			if err := c.start(mid); err != nil {
				return err
			}
			n, at = c.next, mid
		}
		if n <= record {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	if at == lo {
		return nil
	}
	return c.start(lo)
}

// jump moves to the last sample before a record of the slice, if all events of the slice belong to one stream.
func (c *cursor) jump(record int64) {
	if len(c.heap) != 1 || len(c.x.streamsOf(c.i)) != 1 {
		return
	}
	s := c.heap[0].of
	ordinal := s.d.ordinal - int64(len(s.events))
	k := min((ordinal+record-c.next)/sampleEvery, int64(len(s.s.samples))-1)
	if at := k * sampleEvery; at > s.d.ordinal {
		s.d.restore(s.s, c.v.epochs.times, int(k))
		s.events = s.events[:0]
		s.taken.reset()
		c.next += at - ordinal
	}
}

// read fills dst with the next events. It returns fewer only at the end of the log or with an error. Times are in units.
func (c *cursor) read(dst []parser.Event) (int, error) {
	n := 0
	end := c.x.end(c.i)
	for n < len(dst) {
		if c.alone() {
			k, err := c.readAlone(dst[n:], end)
			n += k
			c.next += int64(k)
			if err != nil {
				return n, err
			}
			continue
		}
		if len(c.heap) == 0 || uint64(c.heap[0].time) >= end {
			if c.i+1 == len(c.x.slices) {
				break
			}
			if err := c.enter(c.i + 1); err != nil {
				return n, err
			}
			end = c.x.end(c.i)
			continue
		}
		if len(c.heap) == 2 {
			if k := c.readTwo(dst[n:], end); k > 0 {
				n += k
				c.next += int64(k)
				if err := c.refillTwo(); err != nil {
					return n, err
				}
				continue
			}
		}
		// Take events of the first stream until the second stream has the next
		// event, or the slice ends.
		s := c.heap[0].of
		limit := int64(min(end, math.MaxInt64))
		if len(c.heap) > 1 {
			second := &c.heap[1]
			if len(c.heap) > 2 && c.heap[2].before(second) {
				second = &c.heap[2]
			}
			t := second.time
			if limit = min(limit, t); limit == t && t < int64(min(end, math.MaxInt64)) && s.s.earlier(second.s) {
				limit++
			}
		}
		events := s.events[:min(len(s.events), len(dst)-n)]
		k := 0
		out := dst[n:]
		if events[len(events)-1].Time < limit {
			k = copy(out, events)
		} else {
			for k < len(events) && events[k].Time < limit {
				out[k] = events[k]
				k++
			}
		}
		n += k
		c.next += int64(k)
		s.events = s.events[k:]
		if len(s.events) == 0 {
			if len(c.heap) == 1 {
				continue
			}
			if err := s.more(); err != nil {
				return n, err
			}
			if len(s.events) == 0 {
				c.heap = c.heap.pop()
				c.idle = append(c.idle, s)
				continue
			}
		}
		c.heap[0].time = s.events[0].Time
		c.heap.down(0)
	}
	return n, nil
}

// alone reports whether there is only one stream, without decoded events. If there are several streams, each has decoded
// events.
func (c *cursor) alone() bool { return len(c.heap) == 1 && len(c.heap[0].of.events) == 0 }

// readAlone decodes events of the only stream directly into dst, up to the end of the slice, where other streams may begin. It
// keeps later events for the next call.
func (c *cursor) readAlone(dst []parser.Event, end uint64) (int, error) {
	s := c.heap[0].of
	want := min(int64(len(dst)), int64(cap(s.batch)), s.s.count-s.d.ordinal)
	if want == 0 {
		c.heap, c.idle = c.heap[:0], append(c.idle, s)
		return 0, nil
	}
	n, err := s.read(dst[:want])
	if n > 0 && uint64(dst[n-1].Time) >= end {
		k := sort.Search(n, func(i int) bool { return uint64(dst[i].Time) >= end })
		s.events = s.batch[:copy(s.batch[:cap(s.batch)], dst[k:n])]
		c.heap[0].time = s.events[0].Time
		n = k
	}
	return n, err
}

// enter moves to a slice and adds the streams that begin in it.
func (c *cursor) enter(i int) error {
	c.i = i
	c.x.know(i, c.next)
	list := c.x.streamsOf(i)
	for _, a := range list {
		st := c.x.streams[a.stream]
		if st.first < c.x.slices[i].from {
			continue
		}
		s := c.source(len(list), st, 0)
		if err := s.more(); err != nil {
			return err
		}
		c.heap = append(c.heap, head[*source]{s.events[0].Time, st, s})
		c.heap.up()
	}
	return nil
}

// convert changes the times of events from units to nanoseconds.
func (c *cursor) convert(events []parser.Event) {
	clock := c.v.clock
	for len(events) > 0 {
		c.segment = clock.near(c.segment, uint64(events[0].Time))
		n := len(events)
		if !clock.has(c.segment, uint64(events[n-1].Time)) {
			n = sort.Search(n, func(i int) bool { return !clock.has(c.segment, uint64(events[i].Time)) })
		}
		clock.segments[c.segment].convert(events[:n])
		events = events[n:]
	}
}

const (
	// maxCursors is how many cursors are kept so that sequential reading can continue.
	maxCursors = 4
	// maxSkip is how many events a cursor reads to get to a record. If there are more, it seeks.
	maxSkip = sliceEvents / 2
)

// ReadEvents implements [parser.Log].
func (l *Log) ReadEvents(dst []parser.Event, from int64) (int, error) {
	return l.readEvents(dst, from, true)
}

// ReadUntimed implements [parser.UntimedReader].
func (l *Log) ReadUntimed(dst []parser.Event, from int64) (int, error) {
	return l.readEvents(dst, from, false)
}

func (l *Log) readEvents(dst []parser.Event, from int64, timed bool) (int, error) {
	if from < 0 {
		return 0, message.InFile(l.name, message.Errorf("there is no record %d", from))
	}
	v := l.view.Load()
	if from >= v.index.total || len(dst) == 0 {
		if len(dst) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	defer l.end(l.begin(v, from, min(from+int64(len(dst)), v.index.total)))
	c := l.cursor(v, from, &l.cursors)
	n, err := readMapped(l.mapped, c, dst, from, timed)
	if err != nil {
		return n, message.InFile(l.name, err)
	}
	l.release(c, &l.cursors)
	if n < len(dst) {
		return n, io.EOF
	}
	return n, nil
}

// cursor returns a cursor for reading from a record on. If possible, it takes one from the list that is a little before the
// record.
func (l *Log) cursor(v *view, record int64, list *[]*cursor) *cursor {
	l.mu.Lock()
	defer l.mu.Unlock()
	best := -1
	*list = slices.DeleteFunc(*list, func(c *cursor) bool { return c.v != v })
	for i, c := range *list {
		if d := record - c.next; d >= 0 && d <= maxSkip && (best < 0 || c.next > (*list)[best].next) {
			best = i
		}
	}
	if best < 0 && len(*list) == maxCursors {
		best = 0
	}
	if best < 0 {
		return &cursor{v: v, r: l.r, x: v.index, next: -1}
	}
	c := (*list)[best]
	*list = slices.Delete(*list, best, best+1)
	return c
}

// release puts a cursor into a list for later use.
func (l *Log) release(c *cursor, list *[]*cursor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if *list = append(*list, c); len(*list) > maxCursors {
		*list = slices.Delete(*list, 0, 1)
	}
}

// goTo moves the cursor before a record.
func (c *cursor) goTo(from int64) error {
	if d := from - c.next; c.next < 0 || d < 0 || d > maxSkip {
		if err := c.seek(from); err != nil {
			return err
		}
		c.jump(from)
	}
	if c.next < from && c.skipped == nil {
		c.skipped = make([]parser.Event, 512)
	}
	for c.next < from {
		n, err := c.read(c.skipped[:min(int64(len(c.skipped)), from-c.next)])
		if err != nil {
			return err
		}
		if n == 0 {
			return errChanged
		}
		if c.taking {
			c.handOut(c.skipped[:n])
		}
	}
	return nil
}

func (c *cursor) readAt(dst []parser.Event, from int64, timed bool) (int, error) {
	if err := c.goTo(from); err != nil {
		return 0, err
	}
	n, err := c.read(dst)
	if c.taking {
		c.handOut(dst[:n])
	}
	if timed {
		c.convert(dst[:n])
	}
	if err == nil && n < len(dst) && c.next < c.x.total {
		err = errChanged
	}
	return n, err
}

// OpenCalls implements [parser.Resumer].
func (l *Log) OpenCalls(record int64) ([]parser.OpenCall, int, error) {
	c := l.cursor(l.view.Load(), record, &l.cursors)
	list, outer, err := c.openCalls(record)
	if err != nil {
		return nil, 0, message.InFile(l.name, err)
	}
	l.release(c, &l.cursors)
	return list, outer, nil
}

// find returns the stream of a record, and the record's number in that stream.
func (c *cursor) find(record int64) (s *stream, ordinal int64, err error) {
	if err := c.goTo(record); err != nil {
		return nil, 0, err
	}
	if c.alone() {
		first := &c.heap[0]
		if err := first.of.more(); err != nil {
			return nil, 0, err
		}
		if len(first.of.events) == 0 {
			c.heap, c.idle = c.heap[:0], append(c.idle, first.of)
		} else {
			first.time = first.of.events[0].Time
		}
	}
	// The event is the first one of the first stream, unless the slice ends here.
	for len(c.heap) == 0 || uint64(c.heap[0].of.events[0].Time) >= c.x.end(c.i) {
		if c.i+1 == len(c.x.slices) {
			return nil, 0, io.EOF
		}
		if err := c.enter(c.i + 1); err != nil {
			return nil, 0, err
		}
	}
	a := c.heap[0].of
	return a.s, a.d.ordinal - int64(len(a.events)), nil
}

func (c *cursor) openCalls(record int64) ([]parser.OpenCall, int, error) {
	s, ordinal, err := c.find(record)
	if err != nil {
		return nil, 0, err
	}
	// After the event, known is the last stack that the file listed before it.
	d := newDecoder(c.r, wire.LongestFixed*4)
	d.restore(s, c.v.epochs.times, int(ordinal/sampleEvery))
	var dst [64]parser.Event
	for d.ordinal <= ordinal {
		if n, err := d.read(dst[:min(int64(len(dst)), ordinal+1-d.ordinal)]); err != nil || n == 0 {
			return nil, 0, cmp.Or(err, errChanged)
		}
	}
	var list []parser.OpenCall
	for i := d.known.node; i != 0; i = s.nodes[i-1].parent {
		list = append(list, parser.OpenCall{Address: s.nodes[i-1].address, Space: s.nodes[i-1].space})
	}
	slices.Reverse(list)
	for _, f := range d.knownFrames {
		list = append(list, parser.OpenCall{Address: f.address, Space: f.space})
	}
	return list, int(d.known.outer), nil
}
