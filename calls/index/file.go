package index

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"math"
	"slices"
	"unsafe"

	"logparser/calls"
	"logparser/calls/indexcache"
	"logparser/calls/internal/sizes"
	"logparser/message"
	"logparser/parser"
)

// An index can be kept in a file, which is there for one log, one choice of
// runs and one state of symbols. A file is
//
//	a fileHead
//	the arrays, each as the number of its elements (8 bytes) and these
//
// as this machine has them in memory: it is made to be read by the program
// that wrote it, and can be thrown away at any time. It is written beside its
// place, sealed (see sealMagic), and gets its name when it is whole. What is read
// is not believed: numbers that lead somewhere are checked, and where one is wrong
// the index is built from the log and takes the file's place.

const (
	fileMagic = "LPINDEX\x01"
	// fileVersion changes with the meaning of anything in a file.
	fileVersion = 4
	byteOrder   = 0x01020304
)

// A fileHead begins a file.
type fileHead struct {
	Magic     [8]byte
	Order     uint32
	Version   uint32
	Key       indexcache.Key
	Sizes     [8]uint32 // of the elements of the arrays
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
	Longest   longs // of the last block, if that is not complete
	Exception int64 // bytes of its exceptions
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

var elementSizes = [8]uint32{
	uint32(unsafe.Sizeof(node{})), uint32(unsafe.Sizeof(Summary{})), uint32(unsafe.Sizeof(longs{})), uint32(unsafe.Sizeof(place{})),
	uint32(unsafe.Sizeof(checkpoint{})), uint32(unsafe.Sizeof(sum{})), uint32(unsafe.Sizeof(octaveCounts{})), uint32(unsafe.Sizeof(fileHead{})),
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

func writeList[T any](w *fileWriter, list []T) {
	w.number(len(list))
	w.bytes(bytesOf(list))
}

func writeArray[T any](w *fileWriter, a *array[T]) {
	w.number(a.n)
	for i := 0; i < a.n; i += arrayLen {
		w.bytes(bytesOf(a.chunks[i>>arrayBits][:min(arrayLen, a.n-i)]))
	}
}

// encode writes a file. The core must have been built to its end.
func (c *core) encode(f io.Writer, k indexcache.Key) error {
	w := &fileWriter{w: bufio.NewWriterSize(f, 64<<10)}
	head := fileHead{
		Order: byteOrder, Version: fileVersion, Key: k, Sizes: elementSizes, Rows: c.row, BlockLen: sizes.Block,
		Runs: int64(len(c.layout().Runs)), Run: int64(c.number), LastTime: c.lastTime, Anomalies: c.anomalies, Levels: uint8(len(c.groups)),
	}
	if c.position {
		head.Position = 1
	}
	if c.totals.many {
		head.Many = 1
	}
	copy(head.Magic[:], fileMagic)
	var text []byte
	if c.begun {
		head.Longest = c.longest
		text = appendExceptions(nil, c.exceptions)
	}
	writeList(w, []fileHead{head})
	writeList(w, text)
	threads := make([]fileThread, len(c.threads))
	strands := make([]fileStrand, len(c.strands))
	for i := range strands {
		s := &c.strands[i]
		strands[i] = fileStrand{Records: s.records, ID: s.id, Stack: s.stack, Owner: s.owner}
	}
	for i, th := range c.threads {
		threads[i] = fileThread{Records: th.records, First: th.first, Below: th.below, ID: th.id, Top: th.top, Depth: th.depth, Rowless: th.rowless,
			Stack: th.number, Strand: th.strand, Home: th.home}
		strands[th.strand].Records += th.records - th.settled
		if th.live {
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
	if w.err != nil {
		return w.err
	}
	return w.w.Flush()
}

// A fileReader reads a file.
type fileReader struct {
	r    io.Reader
	left int64
	err  error
}

func (r *fileReader) bytes(b []byte) bool {
	if r.err != nil {
		return false
	}
	if int64(len(b)) > r.left {
		r.err = indexcache.ErrOther
		return false
	}
	if _, r.err = io.ReadFull(r.r, b); r.err != nil {
		return false
	}
	r.left -= int64(len(b))
	return true
}

// number reads the number of elements of so many bytes, which must be there.
func (r *fileReader) number(size uintptr) int {
	var b [8]byte
	if !r.bytes(b[:]) {
		return 0
	}
	n := binary.NativeEndian.Uint64(b[:])
	if n > uint64(r.left)/uint64(size) {
		r.err = indexcache.ErrOther
		return 0
	}
	return int(n)
}

func readList[T any](r *fileReader) []T {
	list := make([]T, r.number(unsafe.Sizeof(*new(T))))
	if !r.bytes(bytesOf(list)) {
		return nil
	}
	return list
}

func readArray[T any](r *fileReader, m *memory) (a array[T]) {
	n := r.number(unsafe.Sizeof(*new(T)))
	for a.n < n {
		chunk := alloc[T](m, arrayLen)
		k := min(arrayLen, n-a.n)
		if !r.bytes(bytesOf(chunk[:k])) {
			return array[T]{}
		}
		a.chunks = append(a.chunks, chunk)
		a.n += k
	}
	return a
}

// load takes what a file of the store has into an empty core.
func (c *core) load(ctx context.Context, s *indexcache.Store, k indexcache.Key) error {
	path := s.Path(k)
	f, r, size, err := s.Open(ctx, path)
	if err == nil {
		err = c.take(r, size, k)
		f.Close()
	}
	if err == nil {
		indexcache.Touch(path)
	}
	return err
}

// take is decode; what panics there is a file that is no good.
func (c *core) take(r io.Reader, size int64, k indexcache.Key) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = message.Errorf("%w: %v", indexcache.ErrOther, p)
		}
	}()
	return c.decode(r, size, k)
}

func (c *core) decode(f io.Reader, size int64, k indexcache.Key) error {
	r := &fileReader{r: f, left: size}
	heads := readList[fileHead](r)
	if r.err != nil || len(heads) != 1 {
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
	c.nodes = readArray[node](r, &c.memory)
	for range min(h.Levels, 32) {
		c.groups = append(c.groups, readArray[Summary](r, &c.memory))
		c.longs = append(c.longs, readArray[longs](r, &c.memory))
	}
	c.places = readArray[place](r, &c.memory)
	c.visits = readArray[checkpoint](r, &c.memory)
	c.texts = readArray[byte](r, &c.memory)
	if r.err != nil || r.left != 0 {
		return cmp.Or(r.err, indexcache.ErrOther)
	}
	c.row, c.number, c.lastTime = h.Rows, int(h.Run), h.LastTime
	c.anomalies, c.position = h.Anomalies, h.Position != 0
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
	if err := c.check(threads, len(addresses), text); err != nil {
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
	return c.restore(h, threads, strands, text)
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
func (c *core) restore(h *fileHead, threads []fileThread, strands []fileStrand, text []byte) error {
	p := &c.pairer
	for i := range strands {
		s := &strands[i]
		p.strands = append(p.strands, pairedStrand{id: s.ID, stack: s.Stack, owner: s.Owner, records: s.Records})
		p.hashStrand(i)
	}
	for i := range threads {
		t := &threads[i]
		th := &thread{id: t.ID, slot: uint32(i), number: t.Stack, strand: t.Strand, home: t.Home, settled: t.Records}
		p.threads = append(p.threads, th)
		if th.number != 0 {
			if p.byStack == nil {
				p.byStack = make(map[uint32]*thread)
			}
			p.byStack[th.number] = th
		}
		th.records, th.first, th.below, th.top, th.depth, th.rowless = t.Records, t.First, t.Below, t.Top, t.Depth, t.Rowless
		if t.Live != 0 {
			th.live = true
			c.live = append(c.live, th)
		}
	}
	blocks := c.blockCount()
	for i := range c.visits.len() {
		th := p.threads[c.visits.at(i).thread]
		th.visits = append(th.visits, uint32(i))
	}
	for i := range c.nodes.len() {
		if n := c.nodes.at(i); n.ended || n.leave >= 0 && n.anomaly == calls.Open {
			c.leaveless = append(c.leaveless, uint32(i))
		}
	}
	c.levels.fill(&c.memory, c.nodes.len(), func(i int) uint8 {
		if n := c.nodes.at(i); n.leave >= 0 {
			return levelOf(n.enter/sizes.Block, n.leave/sizes.Block)
		}
		return openLevel
	})
	for _, th := range c.live {
		for i := th.top; i != NoNode; i = c.nodes.at(int(i)).parent {
			a := c.addresses.At(int(c.nodes.at(int(i)).address))
			p.stats[p.statsOf(th, a.Space, a.Value)].open++
		}
	}
	if blocks == 0 {
		return nil
	}
	p.block = 1
	p.begun = c.row%sizes.Block != 0
	p.first = int64(blocks-1) * sizes.Block
	from, to := c.visitsOf(blocks - 1)
	for i := from; i < to; i++ {
		v := c.visits.at(i)
		th := p.threads[v.thread]
		th.block = p.block
		p.active = append(p.active, visit{th: th, top: v.top, records: v.records})
	}
	p.summary = *c.groups[0].at(blocks - 1)
	p.longest, p.longer = h.Longest, max(1, h.Longest[longCount-1].Duration())
	p.exceptions = parseExceptions(len(text), func(i int) byte { return text[i] })
	return nil
}
