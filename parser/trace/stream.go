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

// sampleEvery is the number of events of a stream between two samples.
const sampleEvery = 4096

// A chunk is an event chunk of a stream.
type chunk struct {
	offset   int64 // of its header in the file
	base     uint64
	used     uint32
	size     uint32
	sequence uint32
	// done is the number of bytes of a process chunk that were already read.
	done uint32
	// gap says that events before this chunk are missing. Then the open calls are
	// known only if the chunk lists them.
	gap bool
}

// end returns the offset of the end of the chunk's records.
func (c *chunk) end() int64 { return c.offset + wire.ChunkHeaderSize + int64(c.used) }

// A sample is the state of a decoder before every sampleEvery-th event. It refers to nodes, unwind leaves and windows of the
// stream.
type sample struct {
	offset  int64  // of the next record
	time    uint64 // of the record before the sample
	shown   uint64 // no event before the sample has a later time
	chunk   int32
	stack   uint32
	windows int32
	unwinds int32
	saved   int32 // see saveStacks
}

// An unwindLeave is a leave that names another call than the innermost one. It also ends all calls above the one that it names.
type unwindLeave struct {
	ordinal int64
	// above is the number of calls above the one that the leave ends, or -1 if the leave ends none.
	above int32
}

// A stream is the events of one thread and level in order of time. Unlike the thread ids of the system, its number is never
// reused.
//
// While the log grows, each view has its own copy of a stream. The copies share the lists, to which elements are only appended.
type stream struct {
	number uint32
	level  uint8
	thread uint64 // the system's id
	chunks []chunk
	// begun says that the first record was examined for inherited calls; see inherit. inherited is the content of the chunk
	// that inherit inserts before the first one, and inheritedCalls the number of enters in it. inheritedStack says that the
	// stream begins with the open calls of a coroutine.
	begun          bool
	inheritedStack bool
	inherited      string
	inheritedCalls int64

	// The following fields are results of scanning.
	count       int64
	first, last uint64 // times of the first and the last event
	samples     []sample
	windows     [][wire.Windows]window
	nodes       []node
	unwinds     []unwindLeave
	// stacks are the STACK records that differ from the stack that the events before them give.
	stacks []statedStack
	// broken are the indexes of chunks that cannot be read to their end.
	broken   []int32
	earliest []notBefore
	// strands is shared by all streams of the log. stackNumbers are the stacks of the stream that are not the thread's own; the
	// first numbered ones were added to strands. saved are the stacks of samples.
	strands      *strands
	stackNumbers []uint32
	known        map[uint32]bool
	numbered     int
	saved        []savedStacks
	// annotationSamples are the places at which reading annotations can begin.
	annotationSamples []annotationSample

	lost, annotations, counters int64
	damage                      []parser.Damage
	damageBytes                 int64
}

// A notBefore is the earliest time, in units, of the events from ordinal on. It delays events that were found after later
// events were already published.
type notBefore struct {
	ordinal int64
	time    uint64
}

// raise applies s.earliest to events. The first of them has the number ordinal.
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

// earlier reports whether events of s come before events of t that have the same time.
func (s *stream) earlier(t *stream) bool {
	return cmp.Or(cmp.Compare(uint32(s.thread), uint32(t.thread)), cmp.Compare(s.level, t.level), cmp.Compare(s.number, t.number)) < 0
}

// breakAt notes that the rest of a chunk cannot be read, and why.
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

// noLimit is a time in units that is later than any event.
const noLimit = math.MaxUint64

// scan continues scanning the stream, up to the events before limit. dst is a buffer for sampleEvery events, and probe a
// decoder for temporary use. progress, if not nil, is called now and then with a number of bytes that were scanned.
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

// readUpTo reads the events before limit. It returns their number and the times, in units, of the first and the last one.
func (s *stream) readUpTo(d, probe *decoder, dst []parser.Event, limit uint64) (got int, first, last uint64, err error) {
	if limit != noLimit {
		// A decoder cannot go back, so another one first finds how many events are before the limit.
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

// follow moves a decoder to the place of another one that is scanning. It gives correct times of events only, because it does
// not know which calls leaves end.
func (d *decoder) follow(o *decoder) {
	buf, records, frames := d.buf[:0], d.records, append(d.frames[:0], o.frames...)
	*d = *o
	d.bufAt, d.p = o.bufAt+int64(o.p), 0
	d.buf, d.records, d.frames, d.scanning, d.deep, d.parked, d.knownFrames = buf, records, frames, false, nil, nil, nil
}

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

// sampleBefore returns the index of the last sample before which all events are earlier than a time in units.
func (s *stream) sampleBefore(time uint64) int {
	return max(sort.Search(len(s.samples), func(k int) bool { return k > 0 && s.samples[k].shown >= time })-1, 0)
}
