package trace

import (
	"cmp"
	"context"
	"math"
	"sort"

	"logparser/message"
	"logparser/parser"
	"logparser/parser/trace/wire"
)

// sampleEvery is how many events of a stream lie between two samples.
const sampleEvery = 4096

// A chunk is an event chunk of a stream.
type chunk struct {
	offset   int64 // of its header
	base     uint64
	used     uint32
	size     uint32
	sequence uint32
	// done is how many bytes of a process chunk were read.
	done uint32
	// gap says that events before this chunk are missing, so that the calls
	// that are open are only known if it says so.
	gap bool
}

// end is the offset of the end of the chunk's records.
func (c *chunk) end() int64 { return c.offset + wire.ChunkHeaderSize + int64(c.used) }

// A sample is the state of a decoder before every sampleEvery-th event. It
// refers to the stream's nodes, unwind leaves and windows.
type sample struct {
	offset  int64  // of the next record
	time    uint64 // of the record before
	shown   uint64 // no event before has a later time
	chunk   int32
	stack   uint32
	windows int32
	unwinds int32
	saved   int32 // see saveStacks
}

// An unwindLeave is a leave that names another call than the top one, and ends all above it.
type unwindLeave struct {
	ordinal int64
	// above is how many calls are above the one that it closes, -1 if it
	// closes none.
	above int32
}

// A stream is the events of one thread and level, in order of time. Threads
// are numbered by the file's stream numbers, which unlike the system's ids are
// never used again.
//
// While the log grows a stream is copied for each view. Of the lists, which the
// copies share, only the ends grow.
type stream struct {
	number uint32
	level  uint8
	thread uint64 // the system's id
	chunks []chunk
	// begun says that the first record was looked at. inherited has the records of
	// a chunk of size 0 before all others, inheritedCalls is how many enters they
	// are; see inherit. inheritedStack says that it begins with the calls of a coroutine.
	begun          bool
	inheritedStack bool
	inherited      string
	inheritedCalls int64

	// What scanning found.
	count       int64
	first, last uint64 // times of the first and the last event
	samples     []sample
	windows     [][wire.Windows]window
	nodes       []node
	unwinds     []unwindLeave
	// stacks has what STACK records say that is new.
	stacks []statedStack
	// broken has the chunks that cannot be read to their end.
	broken   []int32
	earliest []notBefore
	// strands are the log's. stackNumbers are the stacks that are not the thread's own,
	// of which numbered have a number there, saved those of samples.
	strands      *strands
	stackNumbers []uint32
	known        map[uint32]bool
	numbered     int
	saved        []savedStacks
	// annotationSamples are places from which annotations can be read.
	annotationSamples []annotationSample

	lost, annotations, counters int64
	damage                      []parser.Damage
	damageBytes                 int64
}

// A notBefore says that from an event on none is shown before a time in units:
// events that were found later than others with a later time come after them.
type notBefore struct {
	ordinal int64
	time    uint64
}

// raise applies the earliest to events, of which the first has the given number.
func (s *stream) raise(events []parser.Event, ordinal int64) {
	if len(s.earliest) == 0 || len(events) == 0 {
		return
	}
	first := sort.Search(len(s.earliest), func(i int) bool { return int64(s.earliest[i].time) > events[0].Time })
	for _, f := range s.earliest[first:] {
		for i := max(f.ordinal-ordinal, 0); i < int64(len(events)) && events[i].Time < int64(f.time); i++ {
			events[i].Time = int64(f.time)
		}
	}
}

// earlier reports whether events of s come before those of t of the same time.
func (s *stream) earlier(t *stream) bool {
	return cmp.Or(cmp.Compare(uint32(s.thread), uint32(t.thread)), cmp.Compare(s.level, t.level), cmp.Compare(s.number, t.number)) < 0
}

// breakAt notes that the rest of a chunk cannot be read.
func (s *stream) breakAt(chunk int, bad *recordError) {
	if n := len(s.broken); n > 0 && s.broken[n-1] == int32(chunk) {
		return
	}
	s.broken = append(s.broken, int32(chunk))
	n := s.chunks[chunk].end() - bad.offset
	s.damageBytes += n
	if len(s.damage) < parser.MaxDamage {
		s.damage = append(s.damage, parser.Damage{Offset: bad.offset, Bytes: n,
			Reason: message.Textf("thread %d: %v; the rest of the chunk is left out", s.thread, bad.err)})
	}
}

// lose notes that events were lost before an offset.
func (s *stream) lose(offset, events int64) {
	if events == 0 {
		return
	}
	s.lost += events
	if len(s.damage) < parser.MaxDamage {
		s.damage = append(s.damage, parser.Damage{Offset: offset,
			Reason: message.Textf("thread %d: the recorder lost %d events here", s.thread, events)})
	}
}

// noLimit is a time in units that no event has.
const noLimit = math.MaxUint64

// scan goes on with the stream's events up to those from limit on. dst is
// memory for sampleEvery events, probe a decoder to use; progress, if not nil,
// is told the bytes done now and then.
func (s *stream) scan(ctx context.Context, d, probe *decoder, dst []parser.Event, limit uint64, progress func(bytes int64)) error {
	done := max(d.chunk, 0)
	for {
		if s.count == int64(len(s.samples))*sampleEvery {
			s.sample(d)
		}
		want := sampleEvery - int(s.count%sampleEvery)
		var got int
		var first, last uint64
		var err error
		if limit == noLimit && len(s.earliest) == 0 {
			var t passed
			t, err = d.pass(want)
			got, first, last = t.n, t.first, t.last
		} else {
			got, first, last, err = s.readUpTo(d, probe, dst[:want], limit)
		}
		if err != nil {
			return err
		}
		if got > 0 {
			if s.count == 0 {
				s.first = first
			}
			s.last = last
			s.count += int64(got)
		}
		for ; progress != nil && done <= d.chunk && done < len(s.chunks); done++ {
			progress(int64(s.chunks[done].size))
		}
		if got < want {
			if limit != noLimit {
				return d.passAnnotations(limit)
			}
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// readUpTo reads events up to those from limit on, and returns how many and the times in units of the first and the last.
func (s *stream) readUpTo(d, probe *decoder, dst []parser.Event, limit uint64) (got int, first, last uint64, err error) {
	if limit != noLimit {
		// A decoder cannot go back, so another one looks first.
		probe.follow(d)
		k, err := probe.read(dst)
		if err != nil {
			return 0, 0, 0, err
		}
		dst = dst[:sort.Search(k, func(i int) bool { return uint64(dst[i].Time) >= limit })]
	}
	if got, err = d.read(dst); got > 0 {
		first, last = uint64(dst[0].Time), uint64(dst[got-1].Time)
	}
	return got, first, last, err
}

// follow makes a decoder stand where another one does that is scanning. It is
// good for times alone: what is found out while scanning it does not know.
func (d *decoder) follow(o *decoder) {
	buf, records, frames := d.buf[:0], d.records, append(d.frames[:0], o.frames...)
	*d = *o
	d.bufAt, d.p = o.bufAt+int64(o.p), 0
	d.buf, d.records, d.frames, d.scanning, d.deep, d.parked, d.knownFrames = buf, records, frames, false, nil, nil, nil
}

// sample takes a sample.
func (s *stream) sample(d *decoder) {
	if d.changed && d.chunk >= 0 {
		s.windows = append(s.windows, d.windows)
		d.changed = false
	}
	shown := d.time
	if n := len(s.earliest); n > 0 {
		shown = max(shown, s.earliest[n-1].time)
	}
	saved := d.saveStacks()
	s.samples = append(s.samples, sample{
		offset: d.bufAt + int64(d.p), time: d.time, shown: shown, chunk: int32(d.chunk), stack: d.keep(),
		windows: int32(len(s.windows)) - 1, unwinds: int32(len(s.unwinds)), saved: saved,
	})
}

// sampleBefore returns the last sample whose events before are all earlier than a
// time in units.
func (s *stream) sampleBefore(time uint64) int {
	return max(sort.Search(len(s.samples), func(k int) bool { return k > 0 && s.samples[k].shown >= time })-1, 0)
}
