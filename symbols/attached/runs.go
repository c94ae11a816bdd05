package attached

import (
	"encoding/binary"
	"math"
	"slices"
	"sort"

	"logparser/symbols"
)

// A run is a piece of code, every byte of which has the same answer. A block
// of runs is a list of columns, in this order; what it says of a run is the
// difference from the run before it. State does not outlive a block.
const (
	columnLengths  = iota // bytes of the run, uvarint
	columnOps             // a byte a run: see opNamed
	columnCounts          // pops and pushes that do not fit in the byte, uvarint
	columnParts           // of a new part: see encodePart
	columnCalls           // of each frame that is pushed: which function
	columnFuncs           // functions that the block has not named before
	columnFiles           // of each frame that is pushed: which file
	columnNewFiles        // files that the block has not named before
	columnLines           // of each frame that is pushed: its line
	columns
)

// The bits of a run's byte: whether it has a name, whether it begins another
// part of a procedure than the run before it, how many frames of the run
// before it are gone (from the innermost on), how many new ones there are.
// opMany says that the number is in columnCounts.
const (
	opNamed     = 1 << 0
	opPart      = 1 << 1
	opPopShift  = 2
	opPushShift = 5
	opMany      = 7
)

// The codes of columnCalls and columnFiles that are no places. Others are
// places in the list of those that the block has named, the latest first: codeOld
// is the first place.
const (
	codeSame = 0 // the function that stood at this depth; the file that is expected
	codeNew  = 1
	codeOld  = 2
)

const (
	// maxFrames bounds the frames of one answer.
	maxFrames = 1 << 12
	// maxAliases bounds its aliases.
	maxAliases = 1 << 12
	// runsInBlock is how many runs a block has, fewer where they are large.
	runsInBlock = 8192
)

// kinds are numbered in a container by their places here.
var kinds = []symbols.Kind{symbols.Procedure, symbols.Thunk, symbols.ILTThunk, symbols.Public, symbols.Symtab, symbols.Export, symbols.PLT, symbols.FunctionStart}

// noID stands for "none" among numbers of records.
const noID = math.MaxUint32

// A frame is one of an answer, with numbers of records.
type frame struct {
	function, file uint32
	line           int64
}

// A part is what the symbols of a run say besides its frames.
type part struct {
	start, size uint64
	kind        int
	aliases     []uint32
}

func (p *part) equal(q *part) bool {
	return p.start == q.start && p.size == q.size && p.kind == q.kind && slices.Equal(p.aliases, q.aliases)
}

// state is what the coding of a run depends on. Writer and reader keep the
// same one.
type state struct {
	// stack is the run's frames, the outermost first.
	stack []frame
	// gone are the frames that were popped last, in their places.
	gone []frame
	part part
	rva  uint64
	// funcs and files are the records that the block has named, the latest first.
	funcs, files       []uint32
	lastFunc, lastFile int64
	// latest has the last frame of each function, entered its frame when it was last
	// called.
	latest, entered map[uint32]frame
}

func newState(rva uint64) *state {
	return &state{rva: rva, latest: make(map[uint32]frame), entered: make(map[uint32]frame)}
}

// toFront puts a number first in a list; place is where it stands, -1 for nowhere.
func toFront(list []uint32, place int, number uint32) []uint32 {
	if place < 0 {
		place = len(list)
		list = append(list, number)
	}
	copy(list[1:place+1], list[:place])
	list[0] = number
	return list
}

// predicted returns the file and line that a frame of a function is compared
// with: where the function stood last, or, where it is called anew, where it was when
// it was called before; else its caller's.
func (s *state) predicted(function uint32, anew bool) frame {
	of := s.latest
	if anew {
		of = s.entered
	}
	if f, ok := of[function]; ok {
		return f
	}
	f := frame{function: function, file: noID}
	if n := len(s.stack); n > 0 {
		f.file, f.line = s.stack[n-1].file, s.stack[n-1].line
	}
	return f
}

// push adds a frame.
func (s *state) push(f frame, anew bool) {
	s.stack = append(s.stack, f)
	s.latest[f.function] = f
	if anew {
		s.entered[f.function] = f
	}
}

// pop removes n frames.
func (s *state) pop(n int) {
	s.gone = append(s.gone[:0], s.stack...)
	s.stack = s.stack[:len(s.stack)-n]
}

// at returns the function that stood, before frames were popped, where the
// next is pushed.
func (s *state) at() (uint32, bool) {
	if len(s.stack) < len(s.gone) {
		return s.gone[len(s.stack)].function, true
	}
	return 0, false
}

func zigzag(n int64) uint64   { return uint64(n<<1) ^ uint64(n>>63) }
func unzigzag(n uint64) int64 { return int64(n>>1) ^ -int64(n&1) }

// A runEncoder makes a block of runs.
type runEncoder struct {
	*state
	column [columns][]byte
	n      int
	first  uint64
}

func newRunEncoder(rva uint64) *runEncoder { return &runEncoder{state: newState(rva), first: rva} }

// size returns about how many bytes the block has.
func (e *runEncoder) size() int {
	n := 0
	for i := range e.column {
		n += len(e.column[i])
	}
	return n
}

func (e *runEncoder) number(column int, n uint64) {
	e.column[column] = binary.AppendUvarint(e.column[column], n)
}

// add adds a run of length bytes, without a name where frames is empty. They
// stand with the outermost first.
func (e *runEncoder) add(length uint64, p part, frames []frame) {
	e.n++
	e.number(columnLengths, length)
	if len(frames) == 0 {
		e.column[columnOps] = append(e.column[columnOps], 0)
		e.rva += length
		return
	}
	op := byte(opNamed)
	if !e.part.equal(&p) {
		op |= opPart
		e.encodePart(&p)
	}
	kept := 0
	for kept < len(frames) && kept < len(e.stack) && frames[kept] == e.stack[kept] {
		kept++
	}
	pops, pushes := len(e.stack)-kept, len(frames)-kept
	op |= byte(min(pops, opMany))<<opPopShift | byte(min(pushes, opMany))<<opPushShift
	e.column[columnOps] = append(e.column[columnOps], op)
	if pops >= opMany {
		e.number(columnCounts, uint64(pops))
	}
	if pushes >= opMany {
		e.number(columnCounts, uint64(pushes))
	}
	e.pop(pops)
	for _, f := range frames[kept:] {
		e.encodeFrame(f)
	}
	e.rva += length
}

// encodePart writes the start as the distance from the run, and what follows it.
func (e *runEncoder) encodePart(p *part) {
	e.number(columnParts, zigzag(int64(e.rva-p.start)))
	e.number(columnParts, p.size)
	e.number(columnParts, uint64(p.kind))
	e.number(columnParts, uint64(len(p.aliases)))
	for _, a := range p.aliases {
		e.number(columnParts, uint64(a))
	}
	e.part = *p
}

func (e *runEncoder) encodeFrame(f frame) {
	was, ok := e.at()
	anew := !ok || was != f.function
	place := slices.Index(e.funcs, f.function)
	switch {
	case !anew:
		e.number(columnCalls, codeSame)
	case place >= 0:
		e.number(columnCalls, uint64(codeOld+place))
	default:
		e.number(columnCalls, codeNew)
		e.number(columnFuncs, zigzag(int64(f.function)-e.lastFunc))
		e.lastFunc = int64(f.function)
	}
	if anew {
		e.funcs = toFront(e.funcs, place, f.function)
	}
	guess := e.predicted(f.function, anew)
	place = slices.Index(e.files, f.file)
	switch {
	case guess.file == f.file:
		e.number(columnFiles, codeSame)
	case place >= 0:
		e.number(columnFiles, uint64(codeOld+place))
		e.files = toFront(e.files, place, f.file)
	default:
		e.number(columnFiles, codeNew)
		e.number(columnNewFiles, zigzag(int64(f.file)-e.lastFile))
		e.lastFile = int64(f.file)
		e.files = toFront(e.files, place, f.file)
	}
	e.number(columnLines, zigzag(f.line-guess.line))
	e.push(f, anew)
}

// A runBlock is a block of runs, decoded for look-ups.
type runBlock struct {
	// starts are the RVAs of the runs, and end that behind the last.
	starts []uint64
	end    uint64
	// nodes are the runs' innermost frames, -1 where there is no name; parts
	// what else is said of each.
	nodes, part []int32
	frames      []node
	parts       []part
}

// A node is a frame with the one that called it, -1 for none.
type node struct {
	frame
	caller int32
}

// A runDecoder reads a block of runs.
type runDecoder struct {
	*state
	column [columns][]byte
	bad    bool
}

func (d *runDecoder) number(column int) uint64 {
	v, n := binary.Uvarint(d.column[column])
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.column[column] = d.column[column][n:]
	return v
}

// decodeRuns reads the columns of a block whose first run starts at rva. functions
// and files are how many records of both there are.
func decodeRuns(list [][]byte, rva uint64, functions, files uint32) (*runBlock, error) {
	d := &runDecoder{state: newState(rva)}
	copy(d.column[:], list)
	count := len(d.column[columnOps])
	b := &runBlock{starts: make([]uint64, 0, count), nodes: make([]int32, 0, count), part: make([]int32, 0, count)}
	var path []int32 // the nodes of the stack
	for range count {
		b.starts = append(b.starts, d.rva)
		length := d.number(columnLengths)
		op := d.column[columnOps][0]
		d.column[columnOps] = d.column[columnOps][1:]
		if op&opNamed == 0 {
			b.nodes, b.part = append(b.nodes, -1), append(b.part, -1)
		} else {
			if path = d.run(op, b, path, functions, files); d.bad {
				return nil, ErrFormat
			}
			b.nodes, b.part = append(b.nodes, path[len(path)-1]), append(b.part, int32(len(b.parts)-1))
		}
		if length == 0 || d.rva+length < d.rva || d.bad {
			return nil, ErrFormat
		}
		d.rva += length
	}
	b.end = d.rva
	return b, nil
}

// run reads a run that has a name, and returns the nodes of its frames.
func (d *runDecoder) run(op byte, b *runBlock, path []int32, functions, files uint32) []int32 {
	if op&opPart != 0 {
		p, ok := d.decodePart(files)
		if d.bad = d.bad || !ok; d.bad {
			return nil
		}
		b.parts = append(b.parts, p)
	}
	pops, pushes := uint64(op>>opPopShift&opMany), uint64(op>>opPushShift&opMany)
	if pops == opMany {
		pops = d.number(columnCounts)
	}
	if pushes == opMany {
		pushes = d.number(columnCounts)
	}
	if d.bad = d.bad || pops > uint64(len(d.stack)) || pushes > maxFrames || uint64(len(d.stack))-pops+pushes-1 >= maxFrames || len(b.parts) == 0; d.bad {
		return nil
	}
	d.pop(int(pops))
	path = path[:len(d.stack)]
	for range pushes {
		f, ok := d.decodeFrame(functions, files)
		if d.bad = d.bad || !ok; d.bad {
			return nil
		}
		caller := int32(-1)
		if len(path) > 0 {
			caller = path[len(path)-1]
		}
		b.frames = append(b.frames, node{f, caller})
		path = append(path, int32(len(b.frames)-1))
	}
	return path
}

func (d *runDecoder) decodePart(records uint32) (part, bool) {
	p := part{start: d.rva - uint64(unzigzag(d.number(columnParts))), size: d.number(columnParts)}
	kind, n := d.number(columnParts), d.number(columnParts)
	if kind >= uint64(len(kinds)) || n > min(maxAliases, uint64(len(d.column[columnParts]))) {
		return p, false
	}
	p.kind = int(kind)
	for range n {
		a := d.number(columnParts)
		if a >= uint64(records) {
			return p, false
		}
		p.aliases = append(p.aliases, uint32(a))
	}
	return p, true
}

// decodeFrame reads a frame, and pushes it.
func (d *runDecoder) decodeFrame(functions, files uint32) (f frame, ok bool) {
	anew := true
	switch code := d.number(columnCalls); code {
	case codeSame:
		if f.function, ok = d.at(); !ok {
			return f, false
		}
		anew = false
	case codeNew:
		d.lastFunc += unzigzag(d.number(columnFuncs))
		if d.lastFunc < 0 || d.lastFunc >= int64(functions) {
			return f, false
		}
		f.function = uint32(d.lastFunc)
		d.funcs = toFront(d.funcs, -1, f.function)
	default:
		if code-codeOld >= uint64(len(d.funcs)) {
			return f, false
		}
		f.function = d.funcs[code-codeOld]
		d.funcs = toFront(d.funcs, int(code-codeOld), f.function)
	}
	guess := d.predicted(f.function, anew)
	switch code := d.number(columnFiles); code {
	case codeSame:
		f.file = guess.file
	case codeNew:
		d.lastFile += unzigzag(d.number(columnNewFiles))
		if d.lastFile != noID && (d.lastFile < 0 || d.lastFile >= int64(files)) {
			return f, false
		}
		f.file = uint32(d.lastFile)
		d.files = toFront(d.files, -1, f.file)
	default:
		if code-codeOld >= uint64(len(d.files)) {
			return f, false
		}
		f.file = d.files[code-codeOld]
		d.files = toFront(d.files, int(code-codeOld), f.file)
	}
	f.line = guess.line + unzigzag(d.number(columnLines))
	d.push(f, anew)
	return f, !d.bad
}

// find returns the run that an RVA lies in, -1 for none.
func (b *runBlock) find(rva uint64) int {
	if rva >= b.end {
		return -1
	}
	return sort.Search(len(b.starts), func(i int) bool { return b.starts[i] > rva }) - 1
}
