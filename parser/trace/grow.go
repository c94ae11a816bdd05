package trace

import (
	"context"
	"math"
	"math/bits"
	"os"
	"slices"
	"time"

	"logparser/message"
	"logparser/parser"
	"logparser/parser/trace/wire"
)

// How a trace grows.
//
// Each thread writes into its own chunks. So events do not reach the file in order of time: a thread may read the clock for an
// event and be stopped before it writes the event. Therefore the reader publishes events only up to a limit, 50 ms before the
// present time of the recorder's clock. It estimates the present time as the time of the newest event plus the time that has
// passed since it saw that event. So an idle thread does not delay the others, and the last events of a program that pauses
// appear after 50 ms. An event that comes even later gets the time of the limit and is published after the others, because
// published events do not change. If the recorder drops calls that are shorter than some duration, the limit is earlier by that
// duration, because until then the recorder may remove an enter that it has written.

// margin is how long events wait for others that may have an earlier time.
const margin = 50 * time.Millisecond

var errRing = message.New("a ring cannot be followed: its old events are overwritten while new ones come")

// since is time.Since. Tests that depend on the order of events stop the clock with it.
var since = time.Since

// A growth is the state that is needed to read on when the file has grown.
type growth struct {
	w       *walker
	process *process
	// gone says that the process was gone (an EXIT record was read) before the events were read.
	gone bool
	// scanners has each stream's decoder, at the place where scanning ended.
	scanners map[*stream]*decoder
	// restored says that no stream was scanned, because the result of an earlier scan was known.
	restored bool
	// shown has each stream's copy in the last view.
	shown map[*stream]*stream
	// published is the limit up to which events were published. Later events get
	// no earlier time.
	published uint64
	// newest is the latest time of an event or annotation, which was first seen at seen.
	newest uint64
	seen   time.Time
	// calibrations, loads and unloads are the numbers of these records in the last view.
	calibrations, loads, unloads int
	// chunks is the number of process chunks that were read.
	chunks int
	// Buffers that all looks at the file share, because there are ten looks a second. The scanners use the buffer of buffer;
	// probe reads ahead.
	buffer, probe *decoder
	events        []parser.Event
}

// canGrow reports whether the program may still write to the file.
func (g *growth) canGrow() bool {
	return g.w.ok && !g.gone && g.w.head.State == wire.StateRecording && g.w.head.Flags&(wire.FlagRing|wire.FlagSnapshot) == 0
}

// park returns a copy of a scanning decoder without its buffer.
func (d *decoder) park() *decoder {
	c := *d
	c.bufAt, c.p = d.bufAt+int64(d.p), 0
	c.buf, c.records, c.frames, c.deep = nil, nil, slices.Clone(d.frames), nil
	return &c
}

// units converts a duration to units.
func (g *growth) units(d time.Duration) uint64 {
	hi, lo := bits.Mul64(uint64(max(d, 0)), g.w.head.Rate)
	if hi >= 1e9 {
		return maxTime
	}
	n, _ := bits.Div64(hi, lo, 1e9)
	return min(n, maxTime)
}

// firstLimit returns the limit for opening the log: noLimit, unless the program is writing at that moment.
func (g *growth) firstLimit(ctx context.Context) (uint64, error) {
	if !g.canGrow() {
		return noLimit, nil
	}
	active := false
	for range 2 {
		changed, err := g.w.refresh()
		if err != nil {
			return 0, err
		}
		active = active || changed
	}
	if !active {
		return noLimit, nil
	}
	d := newDecoder(g.w.r, scanBuffer)
	for _, s := range g.w.all {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		d.reset(s, nil)
		d.chunk = len(s.chunks) - 2
		if err := g.see(d); err != nil {
			return 0, err
		}
	}
	return g.limit(), nil
}

// see reads to the end of a decoder's stream to find the time of its last event or annotation.
func (g *growth) see(d *decoder) error {
	var dst [512]parser.Event
	for {
		n, err := d.read(dst[:])
		if err != nil {
			return err
		}
		if d.time > g.newest || g.seen.IsZero() {
			g.newest, g.seen = d.time, time.Now()
		}
		if n == 0 {
			return nil
		}
	}
}

// limit returns the time up to which events may be published at present.
func (g *growth) limit() uint64 {
	if !g.canGrow() {
		return noLimit
	}
	wait := margin
	if g.w.head.Flags&wire.FlagShortDropped != 0 {
		wait += time.Duration(min(g.w.head.MinDuration, math.MaxInt64/2))
	}
	now := min(g.newest+g.units(since(g.seen)), maxTime)
	return max(g.published, now-min(now, g.units(wait)))
}

// readProcess reads the new process records, and reports whether there were any.
func (g *growth) readProcess() (news bool, err error) {
	for i := range g.w.process {
		c := &g.w.process[i]
		if i >= g.chunks {
			g.process.gap(g.w.process, i)
			g.chunks++
			news = true
		}
		if c.done == c.used {
			continue
		}
		if err := g.process.read(g.w.r, c); err != nil {
			return news, err
		}
		news = true
	}
	return news, nil
}

// waiting reports whether a stream has records that were not scanned yet.
func (g *growth) waiting() bool {
	for _, s := range g.w.all {
		d := g.scanners[s]
		if d == nil || d.chunk < 0 {
			return true
		}
		if d.end = s.chunks[d.chunk].end(); !d.atEnd() {
			return true
		}
	}
	return false
}

// publish fills in a view from the scans, which have reached a limit.
func (g *growth) publish(v, old *view, limit uint64) {
	var before *index
	streams := make([]*stream, 0, len(g.w.all))
	shown := make(map[*stream]*stream, len(g.w.all))
	if old != nil {
		before = old.index
	}
	latest := uint64(0)
	for _, s := range g.w.all {
		c := g.shown[s]
		if c == nil || c.count != s.count || c.annotationCount() != s.annotationCount() || len(c.chunks) != len(s.chunks) || c.chunks[len(c.chunks)-1] != s.chunks[len(s.chunks)-1] {
			fresh := *s
			c = &fresh
		}
		streams = append(streams, c)
		if shown[s] = c; c.count > 0 {
			latest = max(latest, c.last)
		}
	}
	if limit == noLimit {
		limit = latest + 1
	}
	g.published = max(g.published, limit)
	if latest > g.newest || g.seen.IsZero() {
		g.newest, g.seen = latest, time.Now()
	}
	v.header = g.w.head
	v.index = newIndex(streams, before)
	v.names, g.process.shared = g.process.names, true
	v.overhead, v.ends = g.process.overhead, g.process.ends(v.clock)
	v.ways, v.late = g.process.ways, g.process.late
	v.crashes = g.process.crashes
	v.values = g.process.values.state()
	g.describe(v)
	g.calibrations, g.loads = len(g.process.calibrations), len(g.process.loads)
	if !g.canGrow() {
		g.scanners, g.buffer, g.probe, g.events = nil, nil, nil, nil
		shown = nil
	}
	g.shown = shown
}

// Grow implements [parser.Grower].
func (l *Log) Grow(ctx context.Context) (parser.Growth, error) {
	l.growing.Lock()
	defer l.growing.Unlock()
	growth, err := l.grow(ctx)
	if err != nil && l.name != "" {
		err = message.InFile(l.name, err)
	}
	return growth, err
}

func (l *Log) grow(ctx context.Context) (result parser.Growth, err error) {
	g, old := &l.growth, l.view.Load()
	w := g.w
	if w.head.Flags&wire.FlagRing != 0 && w.head.State == wire.StateRecording {
		return result, errRing
	}
	if !g.canGrow() {
		result.Ended = true
		return result, nil
	}
	if err := g.resume(old); err != nil {
		return result, err
	}
	// The state is read before the records. If it says that the recording has
	// ended, the file has all its records, and so none are missed.
	g.gone = g.process.exited
	head, err := w.header()
	if err != nil {
		return result, err
	}
	if !w.ok || head.PID != old.header.PID || head.Started != old.header.Started || head.Begin != old.header.Begin {
		return result, message.Errorf("the header is another one: %w", parser.ErrShrunk)
	}
	if result.Replaced, err = l.replaced(); err != nil {
		return result, err
	}
	news, err := g.readChunks(ctx)
	if err != nil {
		return result, err
	}
	if !news && g.canGrow() && !g.waiting() {
		return result, nil
	}
	g.process.order(g.loads, g.published)
	v := g.next(old)
	result.Modules = len(g.process.loads) > g.loads
	if err := g.lookAhead(v); err != nil {
		return result, err
	}
	// The limit must increase, because a late event gets the time of the last limit.
	limit := max(g.limit(), g.published+1)
	if result.Pending, err = g.scan(ctx, limit); err != nil {
		return result, err
	}
	w.numberStrands(g.published)
	g.publish(v, old, limit)
	g.unloads = g.process.unloads
	l.whole, l.found = false, nil
	result.Records = v.info.Records - old.info.Records
	result.Annotations = v.annotationCount() != old.annotationCount()
	result.Ended = !g.canGrow()
	l.view.Store(v)
	return result, nil
}

// replaced reports whether the log's path now names another file.
func (l *Log) replaced() (bool, error) {
	if l.file == nil {
		return false, nil
	}
	here, err := os.Stat(l.name)
	st, err2 := l.file.Stat()
	if err2 != nil {
		return false, err2
	}
	return err != nil || !os.SameFile(here, st), nil
}

// readChunks finds new chunks and reads the process records in them. It reports whether there was anything new.
func (g *growth) readChunks(ctx context.Context) (news bool, err error) {
	w := g.w
	walked := w.at
	if err := w.walk(ctx); err != nil {
		return false, err
	}
	if _, err := w.refresh(); err != nil {
		return false, err
	}
	for _, s := range w.all {
		if err := w.inherit(s); err != nil {
			return false, err
		}
	}
	news, err = g.readProcess()
	return news || w.at != walked, err
}

// next returns a view that follows an old one, still without its events.
func (g *growth) next(old *view) *view {
	v := &view{clock: old.clock.extend(g.process.calibrations[g.calibrations:], g.published), wall: old.wall, epochs: old.epochs}
	if !v.wall.HasWall {
		v.wall = v.clock.wall()
	}
	if len(g.process.loads) > g.loads || g.process.unloads != g.unloads {
		v.epochs, _ = findEpochs(g.process.loads, v.clock, int(g.w.head.PointerSize))
	}
	return v
}

// lookAhead updates the scanner of each stream to the current size of its chunks, and makes one if there is none. It reads to
// the end of each stream to find the time of the newest event.
func (g *growth) lookAhead(v *view) error {
	w := g.w
	if g.buffer == nil {
		g.buffer, g.probe = newDecoder(w.r, 64<<10), newDecoder(w.r, 64<<10)
		g.events = make([]parser.Event, sampleEvery)
	}
	for _, s := range w.all {
		d := g.scanners[s]
		if d == nil {
			d = newDecoder(w.r, 0)
			d.reset(s, v.epochs.times)
			d.scanning = true
			d = d.park()
			g.scanners[s] = d
		}
		d.epochs = v.epochs.times
		d.enterEpoch()
		if d.chunk >= 0 {
			d.end = s.chunks[d.chunk].end()
		}
		if d.atEnd() {
			continue
		}
		g.probe.follow(d)
		if err := g.see(g.probe); err != nil {
			return err
		}
	}
	return nil
}

// scan scans the streams up to a limit. pending says that later events were left.
func (g *growth) scan(ctx context.Context, limit uint64) (pending bool, err error) {
	for _, s := range g.w.all {
		d := g.scanners[s]
		if d.atEnd() {
			continue
		}
		buf := d.buf
		d.buf = g.buffer.buf[:0]
		g.probe.follow(d)
		n, err := g.probe.read(g.events[:1])
		if err == nil && n == 1 && uint64(g.events[0].Time) < g.published {
			s.earliest = append(s.earliest, notBefore{s.count, g.published})
		}
		if err == nil {
			err = s.scan(ctx, d, g.probe, g.events, limit, nil)
		}
		d.bufAt, d.p, d.buf = d.bufAt+int64(d.p), 0, buf
		if err != nil {
			return pending, err
		}
		pending = pending || !d.atEnd()
	}
	return pending, nil
}

// resume makes the decoders that scanning would have left if the log was restored without scanning.
func (g *growth) resume(v *view) error {
	if !g.restored {
		return nil
	}
	g.scanners = make(map[*stream]*decoder, len(g.w.all))
	var dst [512]parser.Event
	for _, s := range g.w.all {
		d := newDecoder(g.w.r, 64<<10)
		d.restore(s, v.epochs.times, len(s.samples)-1)
		for {
			n, err := d.read(dst[:])
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
		}
		if d.ordinal != s.count {
			return errChanged
		}
		d.scanning, d.changed = true, true
		g.scanners[s] = d.park()
	}
	g.restored = false
	return nil
}

// atEnd reports whether a parked decoder is at the end of its stream.
func (d *decoder) atEnd() bool {
	return d.chunk+1 == len(d.s.chunks) && (d.chunk < 0 || d.bufAt+int64(d.p) >= d.end)
}
