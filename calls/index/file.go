package index

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"math"
	"runtime/debug"
	"slices"
	"unsafe"

	"logparser/calls"
	"logparser/calls/indexcache"
	"logparser/calls/internal/sizes"
	"logparser/calls/pairing"
	"logparser/message"
	"logparser/parser"
)

// An index can be kept in a file, which is there for one log, one choice of
// runs and one state of symbols. A file is
//
//	a fileHead
//	the arrays, each as the number of its elements (8 bytes), these, and zeros up to
//	a multiple of 8 bytes
//
// as this machine has them in memory: it is made to be read by the program
// that wrote it, and can be thrown away at any time. It is mapped into memory, and what
// is written to the arrays from then on is the process's own. It is written beside its
// place, sealed (see sealMagic), and gets its name when it is whole. What is read
// is not believed: numbers that lead somewhere are checked, and where one is wrong
// the index is built from the log and takes the file's place.

const (
	fileMagic = "LPINDEX\x01"
	// fileVersion changes with the meaning of anything in a file.
	fileVersion = 7
	byteOrder   = 0x01020304
)

// A fileHead begins a file.
type fileHead struct {
	Magic     [8]byte
	Order     uint32
	Version   uint32
	Key       indexcache.Key
	Sizes     [10]uint32 // of the elements of the arrays
	Rows      int64
	BlockLen  int64
	Runs      int64
	Run       int64 // of the last row
	LastTime  int64
	Anomalies [calls.NoEnter + 1]int64
	Position  uint8 // 1 where a leave was matched by position
	Many      uint8 // 1 where there are too many addresses for totals
	Levels    uint8
	_         [5]byte
	Longest   pairing.Longest // of the last block, if that is not complete
}

// A fileThread is a thread as it is kept.
type fileThread struct {
	Records, First, Below int64
	ID, Top               uint32
	Depth                 int32
	Rowless               uint32
	Live                  uint32
	Stack, Strand, Home   uint32
}

// A fileStrand is a strand as it is kept.
type fileStrand struct {
	Records          int64
	ID, Stack, Owner uint32
	_                uint32
}

// A fileAddress is an address as it is kept.
type fileAddress struct {
	Value   uint64
	Records int64
	Run     int32
	Space   uint32
}

var elementSizes = [10]uint32{
	uint32(unsafe.Sizeof(pairing.Node{})), uint32(unsafe.Sizeof(Summary{})), uint32(unsafe.Sizeof(pairing.Longest{})), uint32(unsafe.Sizeof(place{})),
	uint32(unsafe.Sizeof(checkpoint{})), uint32(unsafe.Sizeof(sum{})), uint32(unsafe.Sizeof(octaveCounts{})), uint32(unsafe.Sizeof(fileHead{})),
	uint32(unsafe.Sizeof(keptSegment{})), uint32(unsafe.Sizeof(fileThread{})),
}

// bytesOf returns the memory of elements that hold no pointers.
func bytesOf[T any](list []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*int(unsafe.Sizeof(*new(T))))
}

// save keeps a core in the store.
func (c *core) save(ctx context.Context, s *indexcache.Store, k indexcache.Key) error {
	return s.Write(ctx, s.Path(k), func(f io.Writer) error { return c.encode(f, k) })
}

// A fileWriter writes a file.
type fileWriter struct {
	w   *bufio.Writer
	err error
}

func (w *fileWriter) bytes(b []byte) {
	if w.err == nil {
		_, w.err = w.w.Write(b)
	}
}

func (w *fileWriter) number(n int) { w.bytes(binary.NativeEndian.AppendUint64(nil, uint64(n))) }

// pad ends an array of so many bytes.
func (w *fileWriter) pad(size int) { w.bytes(make([]byte, -size&7)) }

func writeList[T any](w *fileWriter, list []T) {
	w.number(len(list))
	b := bytesOf(list)
	w.bytes(b)
	w.pad(len(b))
}

func writeArray[T any](w *fileWriter, a *array[T]) {
	w.number(a.n)
	for i := 0; i < a.n; i += arrayLen {
		w.bytes(bytesOf(a.chunks[i>>arrayBits][:min(arrayLen, a.n-i)]))
	}
	w.pad(a.n * int(unsafe.Sizeof(*new(T))))
}

// encode writes a file. The core must have been built to its end.
func (c *core) encode(f io.Writer, k indexcache.Key) error {
	w := &fileWriter{w: bufio.NewWriterSize(f, 64<<10)}
	st := c.pairs.State()
	head := fileHead{
		Order: byteOrder, Version: fileVersion, Key: k, Sizes: elementSizes, Rows: st.Row, BlockLen: sizes.Block,
		Runs: int64(len(c.layout().Runs)), Run: int64(st.Run), LastTime: st.LastTime, Anomalies: st.Anomalies, Levels: uint8(len(c.groups)),
	}
	if st.Position {
		head.Position = 1
	}
	if c.totals.many {
		head.Many = 1
	}
	copy(head.Magic[:], fileMagic)
	var text []byte
	if st.Block != nil {
		head.Longest = st.Block.Longest
		text = appendExceptions(nil, st.Block.Exceptions)
	}
	writeList(w, []fileHead{head})
	writeList(w, text)
	strands := make([]fileStrand, len(st.Strands))
	for i, x := range st.Strands {
		strands[i] = fileStrand{Records: x.Records, ID: x.ID, Stack: x.Stack, Owner: x.Owner}
	}
	threads := make([]fileThread, len(st.Stacks))
	for i, t := range st.Stacks {
		threads[i] = fileThread{Records: t.Records, First: always, Below: t.Below, ID: t.ID, Top: t.Top, Depth: t.Depth, Rowless: t.Rowless,
			Stack: t.Stack, Strand: t.Strand, Home: t.Home}
		if i < len(c.stacks) {
			threads[i].First = c.stacks[i].first
		}
		if t.Live {
			threads[i].Live = 1
		}
	}
	writeList(w, threads)
	writeList(w, strands)
	addresses := make([]fileAddress, c.addresses.Len())
	for i := range addresses {
		a := c.addresses.At(i)
		addresses[i] = fileAddress{a.Value, a.Records, a.Run, uint32(a.Space)}
	}
	writeList(w, addresses)
	writeList(w, c.totals.list)
	writeList(w, c.totals.octaves)
	writeArray(w, &c.nodes)
	for l := range c.groups {
		writeArray(w, &c.groups[l])
		writeArray(w, &c.longs[l])
	}
	writeArray(w, &c.places)
	writeArray(w, &c.visits)
	writeArray(w, &c.texts)
	writeArray(w, &c.segments)
	writeArray(w, &c.segmentText)
	writeArray(w, &c.leftOpen)
	if w.err != nil {
		return w.err
	}
	return w.w.Flush()
}

// A fileReader reads a file, which lies in memory from a multiple of 8 on. It is bad once
// there is not what should be.
type fileReader struct {
	b   []byte
	bad bool
}

// elements returns the bytes of an array whose elements have so many, and how many
// elements it has.
func (r *fileReader) elements(size uintptr) (b []byte, n int) {
	if len(r.b) >= 8 {
		k := binary.NativeEndian.Uint64(r.b)
		if rest := r.b[8:]; k <= uint64(len(rest))/uint64(size) {
			length := int(k) * int(size)
			if padded := (length + 7) &^ 7; padded <= len(rest) {
				r.b = rest[padded:]
				return rest[:length:length], int(k)
			}
		}
	}
	r.b, r.bad = nil, true
	return nil, 0
}

// elementsOf returns n elements, which hold no pointers, that lie in memory.
func elementsOf[T any](b []byte, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// readList returns a copy of an array.
func readList[T any](r *fileReader) []T {
	b, n := r.elements(unsafe.Sizeof(*new(T)))
	return slices.Clone(elementsOf[T](b, n))
}

// readArray returns an array that lies where it is.
func readArray[T any](r *fileReader) (a array[T]) {
	b, n := r.elements(unsafe.Sizeof(*new(T)))
	all := elementsOf[T](b, n)
	for ; a.n < n; a.n = min(a.n+arrayLen, n) {
		k := min(arrayLen, n-a.n)
		a.chunks = append(a.chunks, all[a.n:a.n+k:a.n+k])
	}
	return a
}

// load takes what a file of the store has into an empty core.
func (c *core) load(ctx context.Context, s *indexcache.Store, k indexcache.Key) error {
	path := s.Path(k)
	kept, err := s.Open(ctx, path)
	if err != nil {
		return err
	}
	if err := c.take(kept.Content, k); err != nil {
		kept.Close()
		return err
	}
	if !kept.Mapped {
		c.memory.bytes += int64(len(kept.Content))
	}
	c.maps.unmap = append(c.maps.unmap, kept.Close)
	indexcache.Touch(path)
	return nil
}

// take is decode; what panics there is a file that is no good.
func (c *core) take(content []byte, k indexcache.Key) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = message.Errorf("%w: %v", indexcache.ErrOther, p)
		}
	}()
	return c.decode(content, k)
}

func (c *core) decode(content []byte, k indexcache.Key) error {
	r := &fileReader{b: content}
	heads := readList[fileHead](r)
	if r.bad || len(heads) != 1 {
		return indexcache.ErrOther
	}
	h := &heads[0]
	if string(h.Magic[:]) != fileMagic || h.Order != byteOrder || h.Version != fileVersion || h.Key != k || h.Sizes != elementSizes ||
		h.Rows != c.layout().Total() || h.BlockLen != sizes.Block || h.Runs != int64(len(c.layout().Runs)) {
		return indexcache.ErrOther
	}
	text := readList[byte](r)
	threads := readList[fileThread](r)
	strands := readList[fileStrand](r)
	addresses := readList[fileAddress](r)
	c.totals.list, c.totals.octaves, c.totals.many = readList[sum](r), readList[octaveCounts](r), h.Many != 0
	c.nodes = readArray[pairing.Node](r)
	for range min(h.Levels, 32) {
		c.groups = append(c.groups, readArray[Summary](r))
		c.longs = append(c.longs, readArray[pairing.Longest](r))
	}
	c.places = readArray[place](r)
	c.visits = readArray[checkpoint](r)
	c.texts = readArray[byte](r)
	c.segments, c.segmentText, c.leftOpen = readArray[keptSegment](r), readArray[byte](r), readArray[uint32](r)
	if r.bad || len(r.b) > 0 {
		return indexcache.ErrOther
	}
	if h.Run < 0 || h.Run > max(0, h.Runs-1) {
		return indexcache.ErrOther
	}
	// Addresses come first: what follows names them.
	known := c.addresses.Len()
	if known > len(addresses) && c.counted <= h.Rows {
		return indexcache.ErrOther
	}
	spaces := c.spacesOfRuns()
	for i, a := range addresses {
		if a.Run < 0 || int(a.Run) >= len(spaces) || int64(a.Space) >= int64(spaces[a.Run]) {
			return bad("address", i)
		}
		if i < known {
			if old := c.addresses.At(i); old.Value != a.Value || old.Run != a.Run || uint32(old.Space) != a.Space {
				return indexcache.ErrOther
			}
		}
	}
	if err := c.check(h.Rows, threads, len(addresses), text); err != nil {
		return err
	}
	if err := c.checkSegments(h.Rows); err != nil {
		return err
	}
	if err := checkStrands(threads, strands); err != nil {
		return err
	}
	for i, a := range addresses {
		if c.addresses.Add(int(a.Run), uint16(a.Space), a.Value) != i {
			return indexcache.ErrOther
		}
		if i >= known {
			c.addresses.Count(i, a.Records)
		}
	}
	c.restore(h, threads, strands, text)
	return nil
}

// spacesOfRuns returns how many spaces the log knows of each run.
func (c *core) spacesOfRuns() []int {
	all, runs := c.log.Info().Runs, c.layout().Runs
	list := make([]int, max(1, len(runs)))
	for i := range list {
		number := i
		if i < len(runs) {
			if k := slices.IndexFunc(all, func(r parser.Run) bool { return r.First == runs[i].First }); k >= 0 {
				number = k
			}
		}
		list[i] = min(len(c.log.Spaces(number)), math.MaxUint16+1)
	}
	return list
}

// restore makes the state from which Extend goes on.
func (c *core) restore(h *fileHead, threads []fileThread, strands []fileStrand, text []byte) {
	st := pairing.State{Row: h.Rows, Run: int(h.Run), LastTime: h.LastTime, Anomalies: h.Anomalies, Position: h.Position != 0}
	for i := range strands {
		x := &strands[i]
		st.Strands = append(st.Strands, pairing.StrandState{ID: x.ID, Stack: x.Stack, Owner: x.Owner, Records: x.Records})
	}
	for i := range threads {
		t := &threads[i]
		st.Stacks = append(st.Stacks, pairing.StackState{
			ID: t.ID, Stack: t.Stack, Strand: t.Strand, Home: t.Home, Records: t.Records, Below: t.Below,
			Top: t.Top, Depth: t.Depth, Rowless: t.Rowless, Live: t.Live != 0, Seen: t.First != always,
		})
		c.stacks = append(c.stacks, stack{first: t.First})
	}
	for i := range c.visits.len() {
		s := &c.stacks[c.visits.at(i).thread]
		s.visits = append(s.visits, uint32(i))
	}
	for i := range c.nodes.len() {
		if n := c.nodes.at(i); n.Ended || n.Leave >= 0 && n.Anomaly == calls.Open {
			c.leaveless = append(c.leaveless, uint32(i))
		}
	}
	c.levels.fill(&c.memory, c.nodes.len(), func(i int) uint8 { return levelOfNode(c.nodes.at(i)) })
	if last := c.blockCount() - 1; last >= 0 {
		b := &pairing.BlockState{
			Ended: h.Rows%sizes.Block == 0, Summary: *c.groups[0].at(last), Longest: h.Longest,
			Exceptions: parseExceptions(len(text), func(i int) byte { return text[i] }),
		}
		from, to := c.visitsOf(last)
		for i := from; i < to; i++ {
			v := c.visits.at(i)
			b.Active = append(b.Active, pairing.ActiveState{Slot: v.thread, Top: v.top, Records: v.records})
		}
		st.Block = b
	}
	c.pairs.Restore(&st)
}
