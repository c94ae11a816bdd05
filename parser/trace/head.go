package trace

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"sort"

	"logparser/filemap"
	"logparser/message"
	"logparser/parser"
	"logparser/parser/trace/wire"
)

// The first events of a trace.
//
// Opening a trace decodes all of it, which takes time. To show its first rows in the meantime, the beginning of the trace can
// be opened as a log of its own. It has all events up to a time; these are also the first events of the whole log. All chunks
// are visited, because any thread may have begun early, and all process chunks are read. But only the events up to that time
// are decoded. For calls that are still open then, CallEnds finds the ends: each chunk begins with a list of its open calls and
// of the times of their enters, so a binary search finds the chunk in which a call ends.

// OpenHead opens the beginning of the trace at path, with about records records. It returns nil without an error if the first
// events might not be those of the whole log, which can happen only with stacks of coroutines.
func OpenHead(ctx context.Context, path string, records int64) (*Log, error) {
	f, size, err := openFile(path)
	if err != nil {
		return nil, err
	}
	l := &Log{r: f, file: f, name: path}
	l.head = &logHead{}
	if err := l.open(ctx, size, nil, records, nil); err != nil {
		f.Close()
		return nil, message.InFile(path, err)
	}
	if l.HasStacks() {
		f.Close()
		return nil, nil
	}
	l.mapped = filemap.NewWritten(f)
	return l, nil
}

// A logHead says that a log is only the beginning of another.
type logHead struct {
	// limit is a time in units. The log has all events before it, and no others.
	limit uint64
}

// beginning returns a time in units before which the log has about records records, estimated from the headers of chunks. It
// returns noLimit if the log has fewer.
func (w *walker) beginning(records int64) uint64 {
	// The estimate assumes that the events of a chunk are evenly spread in time and that each has the length of a short enter.
	type part struct {
		from, to uint64
		events   float64
	}
	var parts []part
	last := uint64(0)
	for _, s := range w.all {
		for i := range s.chunks {
			c := &s.chunks[i]
			p := part{c.base, c.base + 1, float64(c.used) / wire.ShortEnterSize}
			if i+1 < len(s.chunks) {
				p.to = max(p.to, s.chunks[i+1].base)
			} else {
				p.to = maxTime
			}
			parts = append(parts, p)
			last = max(last, c.base)
		}
	}
	before := func(t uint64) (n float64) {
		for i := range parts {
			p := &parts[i]
			switch {
			case t >= p.to:
				n += p.events
			case t > p.from && p.to < maxTime:
				n += p.events * float64(t-p.from) / float64(p.to-p.from)
			}
		}
		return n
	}
	if before(last) < float64(records) {
		return noLimit
	}
	low, high := w.head.Begin, last
	for low < high {
		if mid := low + (high-low)/2; before(mid) < float64(records) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// An openFrame is an open call with the time and the number of its enter.
type openFrame struct {
	frame
	time    uint64
	ordinal int64
}

// A frameStack follows the open calls of a stream, event by event.
type frameStack struct {
	// outer is the number of calls below frames. Nothing else is known of these.
	outer  int
	frames []openFrame
	// lost says that it is no longer known which calls are open.
	lost bool
}

// take processes an event with its time in units. It calls ended for a call that ends by its own leave, and left with the depth
// of a call that ends without one.
func (k *frameStack) take(e *parser.Event, ordinal int64, ended func(f *openFrame, depth int, at uint64), left func(depth int)) {
	drop := func(n int) {
		for ; n > 0 && len(k.frames) > 0; n-- {
			k.frames = k.frames[:len(k.frames)-1]
			left(k.outer + len(k.frames))
		}
	}
	switch {
	case e.Gap == parser.EventsMissing:
		k.lost = true
		return
	case e.Gap >= parser.CallsLeft:
		drop(int(e.Gap-parser.CallsLeft) + 1)
	}
	if e.Kind == parser.Enter {
		k.frames = append(k.frames, openFrame{frame{e.Address, e.Space}, uint64(e.Time), ordinal})
		return
	}
	i := len(k.frames) - 1
	for i >= 0 && !k.frames[i].same(frame{e.Address, e.Space}) {
		i--
	}
	if i < 0 {
		k.lost = k.lost || k.outer > 0
		return
	}
	drop(len(k.frames) - 1 - i)
	f := k.frames[i]
	k.frames = k.frames[:i]
	ended(&f, k.outer+i, uint64(e.Time))
}

// CallEnds implements [parser.CallEnder].
func (l *Log) CallEnds(ctx context.Context, records []int64) (ends map[int64]int64, err error) {
	ends = make(map[int64]int64)
	v := l.view.Load()
	if l.head == nil || l.head.limit == noLimit {
		return ends, nil
	}
	type wanted struct{ ordinal, record int64 }
	byStream := make(map[*stream][]wanted)
	c := &cursor{v: v, r: l.r, x: v.index, next: -1}
	for _, record := range slices.Sorted(slices.Values(records)) {
		s, ordinal, err := c.find(record)
		if err != nil {
			return nil, message.InFile(l.name, err)
		}
		byStream[s] = append(byStream[s], wanted{ordinal, record})
	}
	d := newDecoder(l.r, 64<<10)
	for s, list := range byStream {
		limit := s.alone(v.index.streams)
		if s.inheritedStack || limit == 0 {
			continue
		}
		open, err := s.openAtEnd(d, v.epochs.times)
		if err != nil {
			return nil, message.InFile(l.name, err)
		}
		// The calls whose ends are wanted, by depth.
		targets := make(map[int]target)
		for depth, f := range open {
			if i, ok := slices.BinarySearchFunc(list, f.ordinal, func(w wanted, ordinal int64) int { return cmp.Compare(w.ordinal, ordinal) }); ok {
				targets[depth] = target{f, list[i].record}
			}
		}
		if err := l.endsOf(ctx, d, s, targets, func(record int64, at uint64) {
			// An end within the beginning would have been found there, so the log is damaged.
			if at >= l.head.limit && at < limit {
				ends[record] = v.clock.at(at)
			}
		}); err != nil {
			return nil, message.InFile(l.name, err)
		}
	}
	return ends, nil
}

// alone returns a time in units up to which no other stream has events of the thread of s, or 0 if a signal handler may have
// some. Only up to that time does the stream alone tell which calls end, because the calls of a thread are paired across its
// streams.
func (s *stream) alone(streams []*stream) uint64 {
	limit := uint64(noLimit)
	for _, t := range streams {
		if t == s || uint32(t.thread) != uint32(s.thread) {
			continue
		}
		if s.level > 0 || t.level > 0 {
			return 0
		}
		limit = min(limit, t.chunks[0].base)
	}
	return limit
}

// A target is a call whose end is wanted. It is open at the end of the log's beginning. record is the number of its enter.
type target struct {
	openFrame
	record int64
}

// openAtEnd returns the calls that are open after the last known event of a stream, or nil if they are not known.
func (s *stream) openAtEnd(d *decoder, epochs []uint64) ([]openFrame, error) {
	d.restore(s, epochs, 0)
	var k frameStack
	var dst [512]parser.Event
	for d.ordinal < s.count && !k.lost {
		first := d.ordinal
		n, err := d.read(dst[:min(int64(len(dst)), s.count-d.ordinal)])
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, errChanged
		}
		for i := range dst[:n] {
			k.take(&dst[i], first+int64(i), func(*openFrame, int, uint64) {}, func(int) {})
		}
	}
	if k.lost {
		return nil, nil
	}
	return k.frames, nil
}

// endsOf finds the ends of calls of a stream. targets has the calls by depth. It calls found for each call that ends by its own
// leave.
func (l *Log) endsOf(ctx context.Context, d *decoder, s *stream, targets map[int]target, found func(record int64, at uint64)) error {
	// A call ends in the last chunk before one that begins with a list of open calls without it.
	byChunk := make(map[int][]int)
	for depth, t := range targets {
		first := sort.Search(len(s.chunks), func(i int) bool { return s.chunks[i].base > t.time }) - 1
		if first < 0 {
			continue
		}
		known := true
		n := sort.Search(len(s.chunks)-first-1, func(i int) bool {
			open, ok := l.openAt(&s.chunks[first+1+i], depth, &t.openFrame)
			known = known && ok
			return !open
		})
		if known {
			byChunk[first+n] = append(byChunk[first+n], depth)
		}
	}
	for chunk, depths := range byChunk {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.endsIn(d, s, chunk, depths, targets, found); err != nil {
			return err
		}
	}
	return nil
}

// stackOf reads the STACK record at the beginning of a chunk. It returns the number of open calls, and for the innermost of
// them two lists with 8 bytes a call: the addresses and the times of the enters. ok is false if the open calls are not known.
func (l *Log) stackOf(c *chunk) (depth int, addresses, times []byte, ok bool) {
	var head [stackHead]byte
	if c.gap || c.size == 0 || c.used == 0 {
		return 0, nil, nil, false
	}
	le := binary.LittleEndian
	at := c.offset + wire.ChunkHeaderSize
	n := min(int64(c.used), int64(len(head)))
	if k, _ := l.r.ReadAt(head[:n], at); int64(k) < n {
		return 0, nil, nil, false
	}
	first := le.Uint16(head[:])
	if n < int64(len(head)) || !isStack(first) {
		// A chunk without a STACK begins without open calls, unless it begins with the SWITCH of a coroutine.
		return 0, nil, nil, n >= 2 && wire.TypeOf(first) != wire.Switch || n >= 2 && wire.IsShort(first)
	}
	info := wire.ParseStack(head[6:])
	if info.Flags != wire.StackTimes || info.Calls > comparableStack || info.Calls > info.Depth || int64(le.Uint32(head[2:])) < int64(len(head))+info.Size() || int64(len(head))+info.Size() > int64(c.used) {
		return 0, nil, nil, false
	}
	b := make([]byte, info.Size())
	if k, _ := l.r.ReadAt(b, at+int64(len(head))); k < len(b) {
		return 0, nil, nil, false
	}
	return int(info.Depth), b[:info.Calls*8], b[info.Calls*8:], true
}

// openAt reports whether a call at a depth is open at the beginning of a chunk. ok is false if that is not known.
func (l *Log) openAt(c *chunk, depth int, f *openFrame) (open, ok bool) {
	all, addresses, times, ok := l.stackOf(c)
	if !ok || depth >= all {
		return false, ok
	}
	i := depth - (all - len(addresses)/8)
	if i < 0 {
		return false, false
	}
	le := binary.LittleEndian
	return le.Uint64(addresses[i*8:])>>1 == f.address && le.Uint64(times[i*8:]) == f.time, true
}

// endsIn decodes a chunk to find the ends of the calls at depths.
func (l *Log) endsIn(d *decoder, s *stream, chunk int, depths []int, targets map[int]target, found func(record int64, at uint64)) error {
	// Scanning finds which call is ended by a leave that is not of the innermost one. It stores the result in a copy of the
	// stream, because the stream itself must not change.
	of := &stream{number: s.number, level: s.level, thread: s.thread, chunks: s.chunks[:chunk+1], strands: s.strands, inherited: s.inherited}
	d.reset(of, l.view.Load().epochs.times)
	d.scanning, d.chunk, d.gap = true, chunk-1, parser.NoGap
	var k frameStack
	if s.chunks[chunk].size > 0 {
		depth, addresses, times, ok := l.stackOf(&s.chunks[chunk])
		if !ok && chunk > 0 {
			return nil
		}
		k.outer = depth - len(addresses)/8
		le := binary.LittleEndian
		for i := 0; i < len(addresses); i += 8 {
			v := le.Uint64(addresses[i:])
			k.frames = append(k.frames, openFrame{frame{v >> 1, uint16(v & 1)}, le.Uint64(times[i:]), -1})
		}
	}
	left := len(depths)
	ended := func(f *openFrame, depth int, at uint64) {
		if t, ok := targets[depth]; ok && t.address == f.address && t.time == f.time && slices.Contains(depths, depth) {
			found(t.record, at)
			left--
		}
	}
	var dst [512]parser.Event
	for first := true; left > 0 && !k.lost; first = false {
		n, err := d.read(dst[:])
		if err != nil || n == 0 {
			return err
		}
		if first && dst[0].Gap == parser.EventsMissing {
			// The gap was caused by the STACK at the beginning of the chunk, whose calls are known.
			dst[0].Gap = parser.NoGap
		}
		for i := range dst[:n] {
			k.take(&dst[i], 0, ended, func(int) {})
		}
	}
	return nil
}
