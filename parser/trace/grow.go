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
// Each thread writes into chunks of its own, so that what was committed at a
// moment is not in order of time: a thread may have taken an event's time and
// be stopped before it commits it. Events are published up to a time, the
// limit: 50 ms before what the recorder's clock says now as far as a reader can
// know, which is the time of the newest event and what has passed since it was
// seen. So an idle thread holds nobody back, and the last events of a program
// that pauses come after 50 ms. An event that comes later still is published
// with the limit's time, behind those that were: what was published stays as
// it is. Where short calls are dropped the limit lies earlier by the least
// duration, because until then an enter may be taken back.

// margin is how long events wait for others with an earlier time.
const margin = 50 * time.Millisecond

var errRing = message.New("a ring cannot be followed: its old events are overwritten while new ones come")

// since is time.Since; tests that say what order events come in stop it.
var since = time.Since

// A growth is what is needed to go on when the file has grown.
type growth struct {
	w       *walker
	process *process
	// gone: an EXIT record was read before the events were looked at.
	gone bool
	// scanners are the decoders that stand where the streams' scans ended.
	scanners map[*stream]*decoder
	// restored says that nothing was scanned: what a scan would have found was known.
	restored bool
	// shown are the streams as the last view has them.
	shown map[*stream]*stream
	// published is the limit of what was published: no event to come gets an
	// earlier time.
	published uint64
	// newest is the latest time of an event or annotation, first seen at seen.
	newest uint64
	seen   time.Time
	// calibrations and loads are how many the last view has.
	calibrations, loads, unloads int
	// chunks is how many process chunks were looked at.
	chunks int
	// For every look the same, because there are ten a second: what lends its
	// buffer to the scanners, what looks ahead, and room for events.
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

// units returns how many units pass in a time.
func (g *growth) units(d time.Duration) uint64 {
	hi, lo := bits.Mul64(uint64(max(d, 0)), g.w.head.Rate)
	if hi >= 1e9 {
		return maxTime
	}
	n, _ := bits.Div64(hi, lo, 1e9)
	return min(n, maxTime)
}

// firstLimit says up to when events are published when the log is opened: all
// of them, unless the program is seen to write just now.
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

// see reads on to the end of a decoder's stream for the time of its last event
// or annotation.
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

// limit says up to when events may be published.
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

// readProcess reads the process records that were not read before, and reports
// whether there were any.
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

// waiting reports whether a stream has records that were not scanned.
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

// publish completes a view from what was scanned up to a limit.
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
	// The state is read before the records: what was written before the
	// recording ended is all that will be.
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
	// An event that comes late gets the time up to which others were published.
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

// replaced reports whether another file has taken the name of the log's.
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

// readChunks finds the chunks that were added and reads the process records, and reports
// whether there were any.
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

// next returns the view that follows an old one, without its events.
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

// lookAhead sees to it that each stream has a scanner that knows how far it reaches, and reads
// on to its end for the time of the newest event.
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

// scan scans the streams up to a limit, and reports whether events are left that come later.
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

// resume makes the decoders that a scan would have left, where there was none.
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

// atEnd reports whether a parked decoder has nothing left to read.
func (d *decoder) atEnd() bool {
	return d.chunk+1 == len(d.s.chunks) && (d.chunk < 0 || d.bufAt+int64(d.p) >= d.end)
}
