package index

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"math"
	"os"
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
	fileVersion = 3
	byteOrder   = 0x01020304
)

// Keep makes Build take the index from a file of the store if there is one,
// and leave it there otherwise. It comes before Build.
func (x *Index) Keep(s indexcache.Store, k indexcache.Key) {
	x.building.Lock()
	defer x.building.Unlock()
	x.store, x.key = &s, k
}

// A shorter is an index of the first rows.
type shorter struct {
	key  indexcache.Key
	runs []parser.Run
	// addresses is how many it has, once it was taken from its file without
	// names.
	addresses int
}

// KeepGrown is for a log that had fewer records before: where no index is kept
// under the key of Keep, but one of the first rows under key k, Build goes on with
// that, and takes it out of the store when the longer one is there. runs are those
// of that index: the first ones of this, of which the last may have become longer.
// That their records are what they were is for the caller to know. It comes after
// Keep and before Build.
func (x *Index) KeepGrown(k indexcache.Key, runs []parser.Run) {
	x.building.Lock()
	defer x.building.Unlock()
	x.shorter = &shorter{key: k, runs: runs}
}

// loadShorter takes the index of the first rows, as a namer gives it, into an
// empty core, and returns the file that has it, "" where there is none that is
// good.
func (x *Index) loadShorter(ctx context.Context, c *core, namer calls.Namer) (path string) {
	s, l := x.shorter, c.layout()
	if s == nil || namer != nil && s.addresses == 0 || continues(s.runs, l.Runs) != nil {
		return ""
	}
	key := s.key.Of(namer, c.addresses, s.addresses)
	c.rows.Store(calls.NewLayout(s.runs))
	if c.load(ctx, x.store, key) != nil {
		return ""
	}
	c.rows.Store(l)
	if namer == nil {
		s.addresses = c.addresses.Len()
	}
	return x.store.Path(key)
}

// Save keeps the index, which was built and then extended, in a store under
// another key than that of Keep, and takes out what is there under that one. It
// keeps none whose pairs depend on names: of these a store also has one without.
func (x *Index) Save(s indexcache.Store, k indexcache.Key) error {
	x.building.Lock()
	defer x.building.Unlock()
	c := x.core.Load()
	if !x.done.Load() || c.row < c.layout().Total() || c.position {
		return errUnfinished
	}
	if err := c.save(context.Background(), &s, k); err != nil {
		return err
	}
	if x.store != nil {
		os.Remove(x.store.Path(x.key))
	}
	x.store, x.key, x.shorter = &s, k, nil
	return nil
}

var errUnfinished = message.New("the index is not one that can be kept as it is")

// StoreError returns why the index could not be kept, nil where it is or was
// not to be. That it cannot be written does not keep it from working.
func (x *Index) StoreError() error {
	if e := x.storeError.Load(); e != nil {
		return *e
	}
	return nil
}

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
	Marks     [calls.NoEnter + 1]int64
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
	uint32(unsafe.Sizeof(checkpoint{})), uint32(unsafe.Sizeof(sum{})), uint32(unsafe.Sizeof(slab{})), uint32(unsafe.Sizeof(fileHead{})),
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
		Runs: int64(len(c.layout().Runs)), Run: int64(c.number), LastTime: c.lastTime, Marks: c.marks, Levels: uint8(len(c.groups)),
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
	writeList(w, c.totals.slabs)
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
	c.totals.list, c.totals.slabs, c.totals.many = readList[sum](r), readList[slab](r), h.Many != 0
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
	c.marks, c.position = h.Marks, h.Position != 0
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
	return c.resurrect(h, threads, strands, text)
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

func bad(what string, i int) error { return message.Errorf("%w: %s %d", indexcache.ErrOther, what, i) }

// check checks the numbers that lead somewhere.
func (c *core) check(threads []fileThread, addresses int, text []byte) error {
	blocks := int((c.row + sizes.Block - 1) / sizes.Block)
	nodes := c.nodes.len()
	if c.places.len() != blocks {
		return bad("blocks", c.places.len())
	}
	levels := 0
	for ; blocks > 0 && (levels == 0 || (blocks-1)>>(2*(levels-1)) != 0); levels++ {
		n := (blocks + 1<<(2*levels) - 1) >> (2 * levels)
		if levels >= len(c.groups) || c.groups[levels].len() != n || c.longs[levels].len() != n {
			return bad("level", levels)
		}
		for i := range n {
			for _, l := range c.longs[levels].at(i) {
				if l.Duration() > 0 && (l.Enter < 0 || l.Leave <= l.Enter || l.Leave >= c.row || int(l.Address) >= addresses || int(l.Thread) >= len(threads)) {
					return bad("long call", i)
				}
			}
		}
	}
	if levels != len(c.groups) {
		return bad("levels", len(c.groups))
	}
	for i := range nodes {
		n := c.nodes.at(i)
		depth := int32(0)
		if n.parent != NoNode {
			if int64(n.parent) >= int64(i) || c.nodes.at(int(n.parent)).thread != n.thread {
				return bad("node", i)
			}
			depth = c.nodes.at(int(n.parent)).depth + 1
		}
		if n.enter < 0 || n.enter >= c.row || n.leave < -1 || n.leave >= c.row || n.leave >= 0 && n.leave < n.enter || int(n.address) >= addresses ||
			int(n.thread) >= len(threads) || n.depth != depth || n.mark > calls.NoEnter || i > 0 && n.enter < c.nodes.at(i-1).enter {
			return bad("node", i)
		}
		// A bool of another value than 0 and 1 is none.
		if a, b := *(*byte)(unsafe.Pointer(&n.rowless)), *(*byte)(unsafe.Pointer(&n.ended)); a > 1 || b > 1 {
			return bad("node", i)
		}
	}
	var before place
	for k := range blocks {
		p := c.places.at(k)
		if p.text < before.text || p.visit < before.visit || p.node < before.node || p.text > int64(c.texts.len()) || p.visit > int64(c.visits.len()) || int(p.node) > nodes ||
			k == 0 && *p != (place{}) {
			return bad("block", k)
		}
		before = *p
	}
	for k := range blocks {
		from, to := c.nodesOf(k)
		for i := from; i < to; i++ {
			if c.nodes.at(i).enter/sizes.Block != int64(k) {
				return bad("node", i)
			}
		}
		first := from
		from, to = c.visitsOf(k)
		for i := from; i < to; i++ {
			v := c.visits.at(i)
			if int(v.thread) >= len(threads) || v.top != NoNode && (int(v.top) >= first || c.nodes.at(int(v.top)).thread != v.thread) {
				return bad("visit", i)
			}
		}
		if !sound(c.exceptionsOf(k), addresses) {
			return bad("exceptions of block", k)
		}
	}
	if !sound(parseExceptions(len(text), func(i int) byte { return text[i] }), addresses) {
		return bad("exceptions of block", blocks)
	}
	for i := range threads {
		th := &threads[i]
		depth := int32(0)
		if th.Top != NoNode {
			if int(th.Top) >= nodes || int(c.nodes.at(int(th.Top)).thread) != i {
				return bad("thread", i)
			}
			depth = c.nodes.at(int(th.Top)).depth + 1
		}
		if th.Depth != depth || int64(th.Rowless) > int64(depth) || th.First < 0 {
			return bad("thread", i)
		}
	}
	if len(c.totals.list) > addresses || len(c.totals.slabs) == 0 && !c.totals.many {
		return bad("totals", len(c.totals.list))
	}
	seen := make([]bool, len(c.totals.slabs))
	for i := range c.totals.list {
		for k := c.totals.list[i].slab; k != noSlab; k = c.totals.slabs[k].next {
			if int(k) >= len(seen) || seen[k] || c.totals.slabs[k].octave >= calls.HistogramOctaves {
				return bad("total", i)
			}
			seen[k] = true
		}
	}
	return nil
}

// checkStrands checks which stacks and threads strands say they are of.
func checkStrands(threads []fileThread, strands []fileStrand) error {
	stacks, ids := make(map[uint32]bool), make(map[uint32]bool)
	for i := range strands {
		s := &strands[i]
		if int(s.Stack) >= len(threads) || int(s.Owner) >= len(threads) || threads[s.Owner].Stack != 0 || threads[s.Stack].Stack == 0 && s.Stack != s.Owner || ids[s.ID] {
			return bad("strand", i)
		}
		ids[s.ID] = true
	}
	for i := range threads {
		th := &threads[i]
		if int(th.Strand) >= len(strands) || strands[th.Strand].Stack != uint32(i) || strands[th.Strand].ID != th.ID ||
			int(th.Home) >= len(threads) || threads[th.Home].Stack != 0 || th.Stack == 0 && int(th.Home) != i || th.Stack != 0 && stacks[th.Stack] {
			return bad("stack", i)
		}
		stacks[th.Stack] = true
	}
	return nil
}

// maxPushed bounds the calls that an exception puts on a stack.
const maxPushed = 1 << 24

func sound(list []exception, addresses int) bool {
	for i := range list {
		x := &list[i]
		if int64(x.row) >= sizes.Block || i > 0 && x.row < list[i-1].row {
			return false
		}
		total := uint64(0)
		for _, p := range x.pushed {
			total += uint64(p.n)
			if total > maxPushed || int(p.address) >= addresses {
				return false
			}
		}
	}
	return true
}

// resurrect makes the state from which Extend goes on.
func (c *core) resurrect(h *fileHead, threads []fileThread, strands []fileStrand, text []byte) error {
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
		if n := c.nodes.at(i); n.ended || n.leave >= 0 && n.mark == calls.Open {
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
			p.cells[p.cell(th, a.Space, a.Value)].open++
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
	p.longest, p.longer = h.Longest, h.Longest[longCount-1].Duration()
	p.exceptions = parseExceptions(len(text), func(i int) byte { return text[i] })
	return nil
}
