package export

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"

	"logparser/rows"
)

// writePerfetto writes the protocol buffers of Perfetto: a Trace of TracePackets with track events. Each thread has a track,
// and each name is written once.
func writePerfetto(ctx context.Context, out *output, src rows.Source, opt Options) error {
	return writeCalls(ctx, out, src, opt, &perfetto{header: &opt.Header, pids: processIDs(&opt.Header)})
}

// Fields of Perfetto's messages, as protos/perfetto/trace numbers them.
const (
	tracePacket = 1

	packetTimestamp      = 8
	packetSequence       = 10
	packetTrackEvent     = 11
	packetInterned       = 12
	packetSequenceFlags  = 13
	packetTrack          = 60
	packetFirstOfSession = 87

	eventCategoryIDs = 3
	eventCategories  = 22
	eventName        = 23
	eventCounter     = 30
	eventDouble      = 44
	eventAnnotations = 4
	eventType        = 9
	eventNameID      = 10
	eventTrack       = 11
	eventSourceID    = 34

	annotationNameID = 1
	annotationBool   = 2
	annotationUint   = 3
	annotationInt    = 4
	annotationDouble = 5
	annotationString = 6
	annotationHex    = 7
	annotationName   = 10
	annotationDict   = 11
	annotationArray  = 12

	internedCategories  = 1
	internedNames       = 2
	internedAnnotations = 3
	internedSources     = 4

	internedID   = 1
	internedName = 2
	sourceFile   = 2
	sourceLine   = 4

	trackID      = 1
	trackName    = 2
	trackProcess = 3
	trackThread  = 4
	trackParent  = 5
	trackCounter = 8

	processPID  = 1
	processText = 6
	threadPID   = 1
	threadTID   = 2
	threadText  = 5
)

const (
	sliceBegin = 1
	sliceEnd   = 2
	instant    = 3
	counterSet = 4

	stateCleared = 1
	stateNeeded  = 2
)

// Arguments of events: the ids of their interned names.
const (
	argRow = 1 + iota
	argAddress
	argNote
	argEvent
	numArgs = iota
)

var argNames = [numArgs]string{"row", "address", "note", "event"}

type perfetto struct {
	header *rows.Header
	pids   []uint32 // see processIDs
	// named says, by a function's id, which names the current file has. modules and sources have the ids of those that it has.
	named   []bool
	modules map[string]uint64
	sources map[sourceKey]uint64
	// keys are the ids of the names of values that the current file has; see key.
	keys map[string]uint64
	// counters are the tracks of the counters that the current file has.
	counters map[processCounter]uint64
	// event, interned and inner are buffers for messages.
	event, interned, inner []byte
}

// A processCounter identifies a counter by the number of its process and its name.
type processCounter struct {
	process int
	name    string
}

type sourceKey struct {
	fn   int
	line int
}

// appendField appends a field of wire type varint.
func appendField(dst []byte, field int, v uint64) []byte {
	dst = binary.AppendUvarint(dst, uint64(field)<<3)
	return binary.AppendUvarint(dst, v)
}

// appendDouble appends a field of wire type I64.
func appendDouble(dst []byte, field int, bits uint64) []byte {
	dst = binary.AppendUvarint(dst, uint64(field)<<3|1)
	return binary.LittleEndian.AppendUint64(dst, bits)
}

// appendBytes appends a field of wire type LEN: text or a message.
func appendBytes[T string | []byte](dst []byte, field int, v T) []byte {
	dst = binary.AppendUvarint(dst, uint64(field)<<3|2)
	dst = binary.AppendUvarint(dst, uint64(len(v)))
	return append(dst, v...)
}

// appendName appends a field with a text that may contain invalid UTF-8.
func appendName(dst []byte, field int, s string) []byte {
	return appendBytes(dst, field, rows.Visible(s))
}

const (
	// processTrack is the track of the process if there is only one. The track of the thread with index i is processTrack + 1 +
	// i.
	processTrack = 1
	// severalTracks is the base of the tracks of processes if there are several.
	severalTracks = 1 << 41
)

// trackOfProcess returns the track of the process with a number, which is 0 if there is only one.
func trackOfProcess(number int) uint64 {
	if number == 0 {
		return processTrack
	}
	return severalTracks + uint64(number)
}

func (p *perfetto) head(dst []byte, part int, at int64) []byte {
	clear(p.named)
	p.modules, p.sources = make(map[string]uint64), make(map[sourceKey]uint64)
	p.keys, p.counters = make(map[string]uint64), make(map[processCounter]uint64)
	packet := appendField(nil, packetTimestamp, uint64(at))
	packet = appendField(packet, packetSequence, 1)
	packet = appendField(packet, packetSequenceFlags, stateCleared)
	packet = appendField(packet, packetFirstOfSession, 1)
	if len(p.header.Processes) == 0 {
		packet = appendBytes(packet, packetTrack, p.process(0, processName(p.header)))
	}
	for i, name := range argNames {
		entry := appendField(nil, internedID, uint64(i)+1)
		entry = appendBytes(entry, internedName, name)
		packet = appendBytes(packet, packetInterned, appendBytes(nil, internedAnnotations, entry))
	}
	dst = appendBytes(dst, tracePacket, packet)
	for _, of := range p.header.Processes {
		packet := appendField(nil, packetSequence, 1)
		dst = appendBytes(dst, tracePacket, appendBytes(packet, packetTrack, p.process(of.Number, of.Label)))
	}
	return dst
}

// process returns the descriptor of a process's track.
func (p *perfetto) process(number int, name string) []byte {
	process := appendField(nil, processPID, uint64(p.pids[number]))
	process = appendName(process, processText, name)
	return appendBytes(appendField(nil, trackID, trackOfProcess(number)), trackProcess, process)
}

func (p *perfetto) thread(dst []byte, t *thread) []byte {
	number := t.track.ProcessNumber()
	thread := appendField(nil, threadPID, uint64(p.pids[number]))
	thread = appendField(thread, threadTID, uint64(t.track.ID()))
	if name := cmp.Or(p.header.StackName(t.track), p.header.Threads[t.track]); name != "" {
		thread = appendName(thread, threadText, name)
	}
	track := appendField(nil, trackID, trackOf(t))
	track = appendField(track, trackParent, trackOfProcess(number))
	track = appendBytes(track, trackThread, thread)
	packet := appendField(nil, packetSequence, 1)
	return appendBytes(dst, tracePacket, appendBytes(packet, packetTrack, track))
}

func trackOf(t *thread) uint64 { return processTrack + 1 + uint64(t.index) }

// begin begins an event with its type and track.
func (p *perfetto) begin(kind uint64, t *thread) {
	p.event, p.interned = p.event[:0], p.interned[:0]
	p.event = appendField(p.event, eventType, kind)
	p.event = appendField(p.event, eventTrack, trackOf(t))
}

// names adds a function's name, module and source to the event. Those that the current file does not have yet become interned
// data of the packet.
func (p *perfetto) names(fn *function, line int) {
	for len(p.named) <= fn.id {
		p.named = append(p.named, false)
	}
	if !p.named[fn.id] {
		p.named[fn.id] = true
		p.intern(internedNames, uint64(fn.id), fn.name)
	}
	p.event = appendField(p.event, eventNameID, uint64(fn.id))
	if fn.module != "" {
		id := p.modules[fn.module]
		if id == 0 {
			id = uint64(len(p.modules)) + 1
			p.modules[fn.module] = id
			p.intern(internedCategories, id, fn.module)
		}
		p.event = appendField(p.event, eventCategoryIDs, id)
	}
	if fn.source != "" {
		key := sourceKey{fn.id, line}
		id := p.sources[key]
		if id == 0 {
			id = uint64(len(p.sources)) + 1
			p.sources[key] = id
			p.inner = appendField(p.inner[:0], internedID, id)
			p.inner = appendName(p.inner, sourceFile, fn.source)
			if line > 0 {
				p.inner = appendField(p.inner, sourceLine, uint64(line))
			}
			p.interned = appendBytes(p.interned, internedSources, p.inner)
		}
		p.event = appendField(p.event, eventSourceID, id)
	}
}

func (p *perfetto) intern(kind int, id uint64, name string) {
	p.inner = appendField(p.inner[:0], internedID, id)
	p.inner = appendName(p.inner, internedName, name)
	p.interned = appendBytes(p.interned, kind, p.inner)
}

func (p *perfetto) argument(name uint64, field int, v uint64) {
	p.inner = appendField(p.inner[:0], annotationNameID, name)
	p.inner = appendField(p.inner, field, v)
	p.event = appendBytes(p.event, eventAnnotations, p.inner)
}

func (p *perfetto) text(name uint64, s string) {
	p.inner = appendField(p.inner[:0], annotationNameID, name)
	p.inner = appendName(p.inner, annotationString, s)
	p.event = appendBytes(p.event, eventAnnotations, p.inner)
}

// end appends the packet of the event to dst.
func (p *perfetto) end(dst []byte, at int64) []byte {
	p.inner = appendField(p.inner[:0], packetTimestamp, uint64(at))
	p.inner = appendField(p.inner, packetSequence, 1)
	p.inner = appendField(p.inner, packetSequenceFlags, stateNeeded)
	if len(p.interned) > 0 {
		p.inner = appendBytes(p.inner, packetInterned, p.interned)
	}
	p.inner = appendBytes(p.inner, packetTrackEvent, p.event)
	return appendBytes(dst, tracePacket, p.inner)
}

func (p *perfetto) enter(dst []byte, t *thread, again bool) []byte {
	c := &t.stack[len(t.stack)-1]
	p.begin(sliceBegin, t)
	p.names(c.fn, c.line)
	p.argument(argRow, annotationUint, uint64(c.index))
	p.argument(argAddress, annotationHex, c.address)
	if c.note != "" {
		p.text(argNote, c.note)
	}
	if again {
		p.text(argNote, "goes on from the part before")
	}
	p.callValues(c.values)
	return p.end(dst, c.start)
}

func (p *perfetto) leave(dst []byte, t *thread, at int64, how ending) []byte {
	p.begin(sliceEnd, t)
	switch how {
	case hidden:
		p.text(argNote, "its leave is not among the rows")
	case parted:
		p.text(argNote, "goes on in the next part")
	}
	return p.end(dst, at)
}

func (p *perfetto) anomaly(dst []byte, t *thread, at int64, fn *function, r *rows.Row) []byte {
	p.begin(instant, t)
	p.names(fn, r.Line)
	p.argument(argRow, annotationUint, uint64(r.Index))
	p.argument(argAddress, annotationHex, r.Address)
	p.text(argEvent, r.Event.String())
	if r.Note != "" {
		p.text(argNote, r.Note)
	}
	return p.end(dst, at)
}

const (
	// counterTrack is the base of the tracks of counters. Those of threads are below it.
	counterTrack = 1 << 40
	// maxCounters bounds the number of tracks of counters in a file. The value of a further counter is an instant event with
	// the value in its name.
	maxCounters = 1 << 16
)

func (p *perfetto) annotation(dst []byte, t *thread, at int64, m *rows.Annotation) []byte {
	name := m.Text
	if m.Kind != rows.TextAnnotation {
		key := processCounter{t.track.ProcessNumber(), name}
		track, known := p.counters[key]
		if known || len(p.counters) < maxCounters {
			if !known {
				track = counterTrack + uint64(len(p.counters))
				p.counters[key] = track
				dst = p.counter(dst, track, key)
			}
			return p.value(dst, track, at, m)
		}
		name = string(m.AppendValue([]byte(name + " = ")))
	}
	p.begin(instant, t)
	p.event = appendBytes(p.event, eventCategories, m.Kind.String())
	p.event = appendName(p.event, eventName, name)
	return p.end(dst, at)
}

// counter appends the descriptor of a counter's track.
func (p *perfetto) counter(dst []byte, track uint64, of processCounter) []byte {
	p.inner = appendField(p.inner[:0], trackID, track)
	p.inner = appendField(p.inner, trackParent, trackOfProcess(of.process))
	p.inner = appendName(p.inner, trackName, of.name)
	p.inner = appendBytes(p.inner, trackCounter, "")
	packet := appendField(nil, packetSequence, 1)
	return appendBytes(dst, tracePacket, appendBytes(packet, packetTrack, p.inner))
}

// value appends a value of a counter.
func (p *perfetto) value(dst []byte, track uint64, at int64, m *rows.Annotation) []byte {
	p.event, p.interned = p.event[:0], p.interned[:0]
	p.event = appendField(p.event, eventType, counterSet)
	p.event = appendField(p.event, eventTrack, track)
	if m.Kind == rows.FloatCounter || m.Kind == rows.UintCounter && m.Bits > math.MaxInt64 {
		p.event = appendDouble(p.event, eventDouble, math.Float64bits(m.Float()))
	} else {
		p.event = appendField(p.event, eventCounter, m.Bits)
	}
	return p.end(dst, at)
}

func (p *perfetto) tail(out *output, dst []byte) error { return out.write(dst) }

func (p *perfetto) kept() int64 { return 0 }
