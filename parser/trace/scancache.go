package trace

import (
	"context"
	"encoding/binary"
	"math"

	"logparser/message"
	"logparser/parser"
	"logparser/parser/trace/wire"
)

// The scan cache keeps what opening a trace has found ([Log.Found]), so that opening it again need not visit its chunks or
// decode its events. It has the list of chunks and, for each stream, the samples with what they refer to. It does not have the
// process chunks, which are small and are read each time. The caller must know that the file has not changed. If the program
// may still be writing to the file, the chunks to which it would write are checked.
//
// The cache is scanCacheMagic followed by numbers. Most of them are varints of the difference from the number before. Numbers
// that are used as indexes are checked when they are read.

// scanCacheMagic must be changed when the meaning of the numbers changes, or when scanning finds something else than before.
const scanCacheMagic = "LPSCAN\x00\x02"

// Found implements [parser.Scanner]. It is nil if the program was seen to write, or if it may overwrite old records.
func (l *Log) Found() []byte {
	l.growing.Lock()
	defer l.growing.Unlock()
	if l.found != nil || !l.whole {
		return l.found
	}
	l.found = l.growth.w.encode()
	return l.found
}

// Beginning implements [parser.Scanner]. Nothing of an old scan helps with a trace that has grown, because new events may lie
// between old ones.
func (l *Log) Beginning(int64) ([]byte, bool) { return nil, false }

// restore sets the state of the walker from data. The walker must have read the header. restore returns false if data belongs
// to another file or the file has changed; then the walker must not be used any more.
func (w *walker) restore(ctx context.Context, data []byte) bool {
	if len(data) < len(scanCacheMagic) || string(data[:len(scanCacheMagic)]) != scanCacheMagic {
		return false
	}
	r := &scanCacheReader{b: data[len(scanCacheMagic):]}
	if r.number() != w.size || r.unsigned() != uint64(w.head.Size) || r.unsigned() != uint64(w.head.Granularity) || r.unsigned() != uint64(w.head.State) {
		return false
	}
	w.byID, w.open = make(map[streamID]*stream), make(map[*stream]int)
	w.at = r.within(w.size)
	r.left(&w.unknown)
	r.left(&w.unmade)
	w.damage, w.damageBytes = r.damage()
	w.process = r.chunks(w.size)
	for range r.count(8) {
		s := r.stream(w.size)
		s.strands = w.strands
		id := streamID{s.number, s.level}
		if r.bad || w.byID[id] != nil {
			return false
		}
		w.byID[id] = s
		w.all = append(w.all, s)
	}
	if r.bad || len(r.b) > 0 {
		return false
	}
	w.growing = true
	return w.head.State != wire.StateRecording || w.unchanged(ctx)
}

// unchanged reports whether a file that may still be written has nothing new.
func (w *walker) unchanged(ctx context.Context) bool {
	at, streams, chunks, damage, bytes := w.at, len(w.all), len(w.process), len(w.damage), w.damageBytes
	for _, s := range w.all {
		w.open[s] = len(s.chunks) - 1
	}
	w.openProcess = max(len(w.process)-1, 0)
	before := make([]int, len(w.all))
	for i, s := range w.all {
		before[i] = len(s.chunks)
	}
	if w.walk(ctx) != nil || w.at != at || len(w.all) != streams || len(w.process) != chunks {
		return false
	}
	// The walk finds damage at the end of the file a second time.
	w.damage, w.damageBytes = w.damage[:damage], bytes
	for i, s := range w.all {
		if len(s.chunks) != before[i] {
			return false
		}
	}
	changed, err := w.refresh()
	return err == nil && !changed
}

// encode returns the scan cache: what the walker has found, and the scans of its streams.
func (w *walker) encode() []byte {
	f := &scanCacheWriter{b: []byte(scanCacheMagic)}
	f.number(w.size)
	f.unsigned(uint64(w.head.Size))
	f.unsigned(uint64(w.head.Granularity))
	f.unsigned(uint64(w.head.State))
	f.number(w.at)
	f.left(w.unknown)
	f.left(w.unmade)
	f.damage(w.damage, w.damageBytes)
	f.chunks(w.process)
	f.unsigned(uint64(len(w.all)))
	for _, s := range w.all {
		f.stream(s)
	}
	if f.failed {
		return nil
	}
	return f.b
}

// A scanCacheWriter writes what a scan has found.
type scanCacheWriter struct {
	b      []byte
	failed bool // a value cannot be encoded
}

func (f *scanCacheWriter) number(n int64)    { f.b = binary.AppendVarint(f.b, n) }
func (f *scanCacheWriter) unsigned(n uint64) { f.b = binary.AppendUvarint(f.b, n) }

func (f *scanCacheWriter) bytes(s string) {
	f.unsigned(uint64(len(s)))
	f.b = append(f.b, s...)
}

func (f *scanCacheWriter) flag(set bool) {
	if set {
		f.b = append(f.b, 1)
	} else {
		f.b = append(f.b, 0)
	}
}

func (f *scanCacheWriter) left(l left) {
	f.number(l.n)
	f.number(l.bytes)
	f.number(l.first)
}

func (f *scanCacheWriter) damage(list []parser.Damage, bytes int64) {
	f.number(bytes)
	f.unsigned(uint64(len(list)))
	for i := range list {
		f.number(list[i].Offset)
		f.number(list[i].Bytes)
		f.text(list[i].Reason)
	}
}

// Kinds of arguments of messages.
const (
	numberArgument = iota
	unsignedArgument
	stringArgument
	textArgument
)

func (f *scanCacheWriter) text(t message.Text) {
	f.bytes(t.Pattern)
	f.unsigned(uint64(len(t.Args)))
	for _, a := range t.Args {
		number := func(n int64) { f.unsigned(numberArgument); f.number(n) }
		unsigned := func(n uint64) { f.unsigned(unsignedArgument); f.unsigned(n) }
		switch a := a.(type) {
		case int:
			number(int64(a))
		case int64:
			number(a)
		case wire.Type:
			unsigned(uint64(a))
		case uint16:
			unsigned(uint64(a))
		case uint32:
			unsigned(uint64(a))
		case uint64:
			unsigned(a)
		case string:
			f.unsigned(stringArgument)
			f.bytes(a)
		case message.Text:
			f.unsigned(textArgument)
			f.text(a)
		case error:
			f.unsigned(textArgument)
			f.text(message.Of(a))
		default:
			f.failed = true
		}
	}
}

func (f *scanCacheWriter) chunks(list []chunk) {
	f.unsigned(uint64(len(list)))
	var before chunk
	for i := range list {
		c := &list[i]
		f.number(c.offset - before.offset)
		f.number(int64(c.base - before.base))
		f.unsigned(uint64(c.used))
		f.unsigned(uint64(c.size))
		f.number(int64(c.sequence) - int64(before.sequence))
		f.flag(c.gap)
		before = *c
	}
}

func (f *scanCacheWriter) stream(s *stream) {
	f.unsigned(uint64(s.number))
	f.unsigned(uint64(s.level))
	f.unsigned(s.thread)
	f.chunks(s.chunks)
	f.flag(s.begun)
	f.flag(s.inheritedStack)
	f.bytes(s.inherited)
	f.number(s.inheritedCalls)
	f.number(s.count)
	f.unsigned(s.first)
	f.unsigned(s.last)
	f.number(s.lost)
	f.number(s.annotations)
	f.number(s.counters)
	f.damage(s.damage, s.damageBytes)
	f.windows(s.windows)
	f.nodes(s.nodes)
	f.unsigned(uint64(len(s.unwinds)))
	ordinal := int64(0)
	for _, u := range s.unwinds {
		f.number(u.ordinal - ordinal)
		f.number(int64(u.above) + 1)
		ordinal = u.ordinal
	}
	f.unsigned(uint64(len(s.stacks)))
	for _, k := range s.stacks {
		f.number(int64(k.chunk))
		f.number(k.offset)
		f.unsigned(uint64(k.node))
		f.unsigned(uint64(k.outer))
	}
	f.unsigned(uint64(len(s.broken)))
	for _, k := range s.broken {
		f.number(int64(k))
	}
	f.unsigned(uint64(len(s.stackNumbers)))
	for _, k := range s.stackNumbers {
		f.unsigned(uint64(k))
	}
	f.unsigned(uint64(len(s.saved)))
	for _, k := range s.saved {
		f.unsigned(uint64(k.stack))
		f.unsigned(uint64(k.gap))
		f.unsigned(uint64(len(k.parked)))
		for _, p := range k.parked {
			f.unsigned(uint64(p.number))
			f.unsigned(uint64(p.node))
			f.unsigned(uint64(p.gap))
		}
	}
	f.unsigned(uint64(len(s.annotationSamples)))
	for _, a := range s.annotationSamples {
		f.number(a.offset)
		f.unsigned(a.time)
		f.number(a.before)
		f.number(int64(a.chunk))
	}
	f.samples(s.samples)
}

func (f *scanCacheWriter) windows(list [][wire.Windows]window) {
	f.unsigned(uint64(len(list)))
	for i := range list {
		for _, w := range &list[i] {
			f.flag(w.set)
			if w.set {
				f.unsigned(w.base)
				f.unsigned(uint64(w.kind))
			}
		}
	}
}

// nodes writes nodes. A frame that was written before is replaced by its number.
func (f *scanCacheWriter) nodes(list []node) {
	numbers := make(map[frame]uint64)
	f.unsigned(uint64(len(list)))
	for i := range list {
		n := &list[i]
		f.unsigned(uint64(i) - uint64(n.parent))
		k, known := numbers[n.frame]
		if !known {
			k = uint64(len(numbers))
			numbers[n.frame] = k
		}
		f.unsigned(k)
		if !known {
			f.unsigned(n.address)
			f.unsigned(uint64(n.space))
		}
	}
}

func (f *scanCacheWriter) samples(list []sample) {
	f.unsigned(uint64(len(list)))
	var before sample
	for i := range list {
		m := &list[i]
		f.number(m.offset - before.offset)
		f.unsigned(m.time - before.time)
		f.number(int64(m.shown - m.time))
		f.number(int64(m.chunk) - int64(before.chunk))
		f.number(int64(m.stack) - int64(before.stack))
		f.number(int64(m.windows) - int64(before.windows))
		f.unsigned(uint64(m.unwinds - before.unwinds))
		f.number(int64(m.saved))
		before = *m
	}
}

// A scanCacheReader reads what a scanCacheWriter has written. bad is set by the first error.
type scanCacheReader struct {
	b   []byte
	bad bool
}

func (r *scanCacheReader) number() int64 {
	n, k := binary.Varint(r.b)
	if k <= 0 {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[k:]
	return n
}

func (r *scanCacheReader) unsigned() uint64 {
	n, k := binary.Uvarint(r.b)
	if k <= 0 {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[k:]
	return n
}

// most reads a number that must be at most n. within reads one that must be from 0 to n.
func (r *scanCacheReader) most(n uint64) uint64 {
	v := r.unsigned()
	if v > n {
		r.bad = true
		return 0
	}
	return v
}

func (r *scanCacheReader) within(n int64) int64 {
	v := r.number()
	if v < 0 || v > n {
		r.bad = true
		return 0
	}
	return v
}

// count reads the length of a list whose elements take at least size bytes each.
func (r *scanCacheReader) count(size int) int {
	return int(r.most(uint64(len(r.b) / size)))
}

func (r *scanCacheReader) bytes() string {
	n := r.count(1)
	if r.bad {
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *scanCacheReader) flag() bool { return r.most(1) == 1 }

func (r *scanCacheReader) left(l *left) { l.n, l.bytes, l.first = r.number(), r.number(), r.number() }

func (r *scanCacheReader) damage() (list []parser.Damage, bytes int64) {
	bytes = r.number()
	for range r.count(4) {
		list = append(list, parser.Damage{Offset: r.number(), Bytes: r.number(), Reason: r.text(0)})
		if r.bad {
			return nil, 0
		}
	}
	return list, bytes
}

// maxNested bounds the depth of messages that are arguments of messages.
const maxNested = 8

func (r *scanCacheReader) text(depth int) message.Text {
	t := message.Text{Pattern: r.bytes()}
	if r.bad = r.bad || depth > maxNested; r.bad {
		return message.Text{}
	}
	for range r.count(2) {
		switch r.most(textArgument) {
		case numberArgument:
			t.Args = append(t.Args, r.number())
		case unsignedArgument:
			t.Args = append(t.Args, r.unsigned())
		case stringArgument:
			t.Args = append(t.Args, r.bytes())
		default:
			t.Args = append(t.Args, r.text(depth+1))
		}
		if r.bad {
			break
		}
	}
	return t
}

func (r *scanCacheReader) chunks(size int64) []chunk {
	list := make([]chunk, 0, r.count(6))
	var c chunk
	for range cap(list) {
		sequence := int64(c.sequence)
		c = chunk{offset: c.offset + r.number(), base: c.base + uint64(r.number()), used: uint32(r.most(math.MaxUint32)), size: uint32(r.most(math.MaxUint32))}
		sequence += r.number()
		c.sequence, c.gap = uint32(sequence), r.flag()
		// The chunk of inherited calls has size 0 and is not in the file.
		if r.bad = r.bad || c.offset < 0 || c.offset > size || c.base > maxTime || sequence < 0 || sequence > math.MaxUint32 || c.size > 0 && c.end() > size; r.bad {
			return nil
		}
		list = append(list, c)
	}
	return list
}

func (r *scanCacheReader) stream(size int64) *stream {
	s := &stream{number: uint32(r.most(math.MaxUint32)), level: uint8(r.most(math.MaxUint8)), thread: r.unsigned(), chunks: r.chunks(size)}
	s.begun, s.inheritedStack, s.inherited, s.inheritedCalls = r.flag(), r.flag(), r.bytes(), r.within(mostInherited)
	s.count, s.first, s.last = r.within(math.MaxInt64), r.most(maxTime), r.most(maxTime)
	s.lost, s.annotations, s.counters = r.within(math.MaxInt64), r.within(math.MaxInt64), r.within(math.MaxInt64)
	s.damage, s.damageBytes = r.damage()
	for i := range s.chunks {
		if c := &s.chunks[i]; c.size == 0 && (i > 0 || int(c.used) != len(s.inherited)) {
			r.bad = true
		}
	}
	if r.bad = r.bad || len(s.chunks) == 0; r.bad {
		return s
	}
	s.windows = r.windows()
	s.nodes = r.nodes()
	nodes, chunks := uint64(len(s.nodes)), int64(len(s.chunks))
	s.unwinds = make([]unwindLeave, r.count(2))
	ordinal := int64(0)
	for i := range s.unwinds {
		ordinal += r.number()
		s.unwinds[i] = unwindLeave{ordinal, int32(r.within(math.MaxInt32+1) - 1)}
	}
	s.stacks = make([]statedStack, r.count(4))
	for i := range s.stacks {
		s.stacks[i] = statedStack{int32(r.within(chunks - 1)), r.within(size), openStack{uint32(r.most(nodes)), uint32(r.most(math.MaxUint32))}}
		r.bad = r.bad || i > 0 && s.stacks[i-1].compare(s.stacks[i]) > 0
	}
	s.broken = make([]int32, r.count(1))
	for i := range s.broken {
		s.broken[i] = int32(r.within(chunks - 1))
		r.bad = r.bad || i > 0 && s.broken[i] <= s.broken[i-1]
	}
	for range r.count(1) {
		s.found(uint32(r.most(math.MaxUint32)))
	}
	s.saved = make([]savedStacks, r.count(3))
	for i := range s.saved {
		k := &s.saved[i]
		k.stack, k.gap = uint32(r.most(math.MaxUint32)), parser.Gap(r.most(math.MaxUint8))
		for range r.count(3) {
			k.parked = append(k.parked, savedStack{uint32(r.most(math.MaxUint32)), uint32(r.most(nodes)), parser.Gap(r.most(math.MaxUint8))})
		}
	}
	s.annotationSamples = make([]annotationSample, r.count(4))
	for i := range s.annotationSamples {
		s.annotationSamples[i] = annotationSample{r.within(size), r.most(maxTime), r.within(math.MaxInt64), int32(r.within(chunks - 1))}
	}
	r.samples(s)
	return s
}

func (r *scanCacheReader) windows() [][wire.Windows]window {
	list := make([][wire.Windows]window, r.count(wire.Windows))
	for i := range list {
		for k := range list[i] {
			if r.flag() {
				list[i][k] = window{r.unsigned(), uint16(r.most(1)), true}
			}
		}
		if r.bad {
			return nil
		}
	}
	return list
}

func (r *scanCacheReader) nodes() []node {
	list := make([]node, r.count(2))
	var frames []frame
	for i := range list {
		above := r.most(uint64(i))
		k := r.most(uint64(len(frames)))
		if k == uint64(len(frames)) {
			frames = append(frames, frame{r.unsigned(), uint16(r.most(math.MaxUint16))})
		}
		if r.bad {
			return nil
		}
		list[i] = node{frames[k], uint32(uint64(i) - above)}
	}
	return list
}

func (r *scanCacheReader) samples(s *stream) {
	s.samples = make([]sample, r.count(8))
	if n := s.count/sampleEvery + 1; int64(len(s.samples)) != n && (s.count%sampleEvery != 0 || int64(len(s.samples)) != n-1) {
		r.bad = true
	}
	var m sample
	for i := range s.samples {
		before := m
		m.offset += r.number()
		m.time += r.unsigned()
		m.shown = m.time + uint64(r.number())
		chunk, stack, windows := int64(m.chunk)+r.number(), int64(m.stack)+r.number(), int64(m.windows)+r.number()
		unwinds, saved := uint64(m.unwinds)+r.unsigned(), r.within(int64(len(s.saved)))
		switch {
		case r.bad, m.time > maxTime, m.shown > maxTime, m.shown < before.shown, chunk < -1, chunk >= int64(len(s.chunks)), stack < 0, stack > int64(len(s.nodes)),
			windows < -1, windows >= int64(len(s.windows)), unwinds > uint64(len(s.unwinds)):
			r.bad = true
			return
		}
		m.chunk, m.stack, m.windows, m.unwinds, m.saved = int32(chunk), uint32(stack), int32(windows), int32(unwinds), int32(saved)
		if i > 0 {
			// The first sample is before the first chunk.
			if chunk < 0 || windows < 0 {
				r.bad = true
				return
			}
			if c := &s.chunks[chunk]; m.offset < c.offset+wire.ChunkHeaderSize || m.offset > c.end() {
				r.bad = true
				return
			}
		}
		s.samples[i] = m
	}
}
