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
// To open a trace is to decode all of it. Who wants to show its first rows meanwhile opens
// its beginning: all events up to a time, which are the first of the whole log, too. The
// chunks are all walked over, since any thread may have begun early, and all process chunks
// are read, but of the events only those are decoded. Calls that are open at the end of
// that are looked for where they end: each chunk begins with the calls that are open there
// and when they were entered, so that the chunk in which a call ended is found by bisecting.

// OpenHead opens the beginning of the trace at path: some records, about as many as are
// wanted. It returns nil where its first events would not be those
// of the whole log, which is so only for some logs with coroutines' stacks.
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

// A logHead is what is special about the beginning of a log.
type logHead struct {
	// limit is the time in units before which all events are there.
	limit uint64
}

// beginning returns a time in units before which a log has, as far as the heads of its chunks
// tell, so many records, noLimit for all of them.
func (w *walker) beginning(records int64) uint64 {
	// The events of a chunk are believed to come at a steady pace, and to have the length
	// of the longer of the two records that have no type.
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

// An openFrame is a call on a stack that is followed event by event.
type openFrame struct {
	frame
	time    uint64
	ordinal int64
}

// frameStack follows the calls of a stream.
type frameStack struct {
	// outer is how many calls lie below frames that are not known.
	outer  int
	frames []openFrame
	// lost says that what is open is not known any more.
	lost bool
}

// take takes in an event, with its time in units. ended is called for each call that ends by
// its own leave.
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
		// The calls that are wanted, by their depths.
		targets := make(map[int]target)
		for depth, f := range open {
			if i, ok := slices.BinarySearchFunc(list, f.ordinal, func(w wanted, ordinal int64) int { return cmp.Compare(w.ordinal, ordinal) }); ok {
				targets[depth] = target{f, list[i].record}
			}
		}
		if err := l.endsOf(ctx, d, s, targets, func(record int64, at uint64) {
			// One before the beginning's end is of a damaged log.
			if at >= l.head.limit && at < limit {
				ends[record] = v.clock.at(at)
			}
		}); err != nil {
			return nil, message.InFile(l.name, err)
		}
	}
	return ends, nil
}

// alone returns a time in units up to which no other of the streams has events of the stream's
// thread, 0 where a signal handler may have any: calls of a thread are paired whichever
// stream they are of.
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

// A target is a call whose end is looked for: one of a stream that is open where the
// beginning of the log ends, and the record of its enter.
type target struct {
	openFrame
	record int64
}

// openAtEnd returns the calls that are open behind the events of a stream that are known, nil
// where that is not known.
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

// endsOf finds the ends of calls of a stream by their depths, and calls found for those that
// end by their own leaves.
func (l *Log) endsOf(ctx context.Context, d *decoder, s *stream, targets map[int]target, found func(record int64, at uint64)) error {
	// In which chunk does each end? It is open where the next one begins no more.
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

// stackOf reads the STACK with which a chunk begins: how many calls are open, and of the
// innermost their addresses and when they were entered, 16 bytes each in two lists. It is not
// ok where that is not known.
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
		// Where no calls are open there is none. A chunk of a coroutine begins with a SWITCH.
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

// openAt reports whether a call of some depth is open where a chunk begins; it is not ok where
// that is not known.
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

// endsIn goes over a chunk for the ends of calls.
func (l *Log) endsIn(d *decoder, s *stream, chunk int, depths []int, targets map[int]target, found func(record int64, at uint64)) error {
	// What a leave closes that is not of the innermost call is found out as in scanning,
	// and is not for the stream to keep.
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
			// That is the STACK of the chunk's beginning.
			dst[0].Gap = parser.NoGap
		}
		for i := range dst[:n] {
			k.take(&dst[i], 0, ended, func(int) {})
		}
	}
	return nil
}
