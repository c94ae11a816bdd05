package attached

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"logparser/message"
	"logparser/symbols"
)

// A Range is code to encode: the RVAs [Lo, Hi).
type Range struct{ Lo, Hi uint64 }

// merge sorts ranges and joins those that touch.
func merge(ranges []Range) []Range {
	ranges = slices.Clone(ranges)
	slices.SortFunc(ranges, func(a, b Range) int { return cmp.Compare(a.Lo, b.Lo) })
	var merged []Range
	for _, r := range ranges {
		switch n := len(merged); {
		case r.Lo >= r.Hi:
		case n > 0 && r.Lo <= merged[n-1].Hi:
			merged[n-1].Hi = max(merged[n-1].Hi, r.Hi)
		default:
			merged = append(merged, r)
		}
	}
	return merged
}

// Encoded are the symbols of a module, ready to be written.
type Encoded struct {
	// Runs is how many pieces of code have one answer each, Functions and
	// Files how many names there are. Damaged is how many bytes the table had
	// an error for; they have no name.
	Runs, Functions, Files, Damaged int
	parts                           [3][]byte // in the order of encodedKinds
}

var encodedKinds = [3]Kind{KindRuns, KindFunctions, KindStrings}

// Size returns the bytes that the symbols take.
func (e *Encoded) Size() int64 {
	n := int64(0)
	for _, p := range e.parts {
		n += int64(len(p))
	}
	return n
}

// Parts returns what a container has of a module; owner is its number there.
// e may be nil: then nothing but the module is said.
func (e *Encoded) Parts(m *Module, owner uint32) []Part {
	list := []Part{m.part(owner)}
	if e != nil {
		for i, kind := range encodedKinds {
			list = append(list, bytesPart(kind, owner, e.parts[i]))
		}
	}
	return list
}

// maxCode bounds the code of one module, in bytes.
const maxCode = 1 << 32

// Encode asks a table about every byte of ranges, on all processors, and keeps
// the answers. It ends early with the error of ctx alone. Progress, if not nil,
// is told how many of the bytes are done.
func Encode(ctx context.Context, t symbols.Table, ranges []Range, progress func(done, total int64)) (*Encoded, error) {
	ranges = merge(ranges)
	total, done := uint64(0), uint64(0)
	for _, r := range ranges {
		if total += r.Hi - r.Lo; total > maxCode {
			return nil, message.Errorf("a module with %d bytes of code", total)
		}
	}
	e := newEncoder()
	// Answers of one piece are held at once.
	const piece = 1 << 15
	rvas := make([]uint64, 0, piece)
	found := make([]symbols.Symbol, piece)
	failed := make([]error, piece)
	for _, r := range ranges {
		for lo := r.Lo; lo < r.Hi; lo += uint64(len(rvas)) {
			rvas = rvas[:0]
			for rva := lo; rva < min(r.Hi, lo+piece); rva++ {
				rvas = append(rvas, rva)
			}
			if err := symbols.LookupAll(ctx, t, rvas, func(i int, s symbols.Symbol, err error) { found[i], failed[i] = s, err }); err != nil {
				return nil, err
			}
			for i, rva := range rvas {
				if failed[i] != nil && !errors.Is(failed[i], symbols.ErrNotFound) {
					e.Damaged++
				}
				if err := e.answer(rva, &found[i], failed[i] == nil && len(found[i].Frames) > 0); err != nil {
					return nil, err
				}
			}
			if done += uint64(len(rvas)); progress != nil {
				progress(int64(done), int64(total))
			}
		}
	}
	return e.finish()
}

// An encoder collects the answers of a table in the order of RVAs.
type encoder struct {
	Encoded
	functions, strings *records
	runs               blockWriter
	packed             bytes.Buffer
	block              *runEncoder
	// last is the answer of the run that is not ended yet, [from, to).
	last     symbols.Symbol
	named    bool
	from, to uint64
	frames   []frame
}

func newEncoder() *encoder {
	e := &encoder{functions: newRecords(), strings: newRecords()}
	e.runs.w = &e.packed
	return e
}

// answer adds the answer for the byte at rva.
func (e *encoder) answer(rva uint64, s *symbols.Symbol, named bool) error {
	if e.to == rva && e.to > e.from && e.named == named && (!named || sameSymbol(&e.last, s)) {
		e.to++
		return nil
	}
	if err := e.endRun(); err != nil {
		return err
	}
	if e.to != rva && e.to > 0 && e.block != nil {
		// What lies between ranges has no name.
		e.block.add(rva-e.to, part{}, nil)
	}
	e.last, e.named, e.from, e.to = *s, named, rva, rva+1
	return nil
}

// sameSymbol reports whether two answers are equal.
func sameSymbol(a, b *symbols.Symbol) bool {
	return a.Start == b.Start && a.Size == b.Size && a.Kind == b.Kind && slices.Equal(a.Frames, b.Frames) && slices.Equal(a.Aliases, b.Aliases)
}

// endRun writes the run that is not ended yet.
func (e *encoder) endRun() error {
	if e.from == e.to {
		return nil
	}
	if e.block != nil && (e.block.n >= runsInBlock || e.block.size() > maxBlock/4) {
		if err := e.endBlock(); err != nil {
			return err
		}
	}
	if e.block == nil {
		e.block = newRunEncoder(e.from)
	}
	e.Runs++
	if !e.named {
		e.block.add(e.to-e.from, part{}, nil)
		return nil
	}
	s := &e.last
	kind := slices.Index(kinds, s.Kind)
	if kind < 0 || len(s.Frames) > maxFrames || len(s.Aliases) > maxAliases {
		return message.Errorf("RVA %#x: an answer with %d frames and %d aliases of the kind %q", e.from, len(s.Frames), len(s.Aliases), s.Kind)
	}
	p := part{start: s.Start, size: s.Size, kind: kind}
	for _, a := range s.Aliases {
		id, err := e.strings.number(a, "")
		if err != nil {
			return err
		}
		p.aliases = append(p.aliases, id)
	}
	e.frames = e.frames[:0]
	for i := len(s.Frames) - 1; i >= 0; i-- {
		f := &s.Frames[i]
		function, err := e.functions.number(f.Function, f.Signature)
		if err != nil {
			return err
		}
		file := uint32(noID)
		if f.File != "" {
			if file, err = e.strings.number(f.File, ""); err != nil {
				return err
			}
		}
		e.frames = append(e.frames, frame{function, file, int64(f.Line)})
	}
	e.block.add(e.to-e.from, p, e.frames)
	return nil
}

func (e *encoder) endBlock() error {
	b := e.block
	e.block = nil
	return e.runs.add(b.first, b.column[:]...)
}

func (e *encoder) finish() (*Encoded, error) {
	if err := e.endRun(); err != nil {
		return nil, err
	}
	if e.block != nil {
		if err := e.endBlock(); err != nil {
			return nil, err
		}
	}
	e.parts[0] = append(e.runs.head(), e.packed.Bytes()...)
	for i, r := range []*records{e.functions, e.strings} {
		var err error
		if e.parts[i+1], err = r.part(); err != nil {
			return nil, err
		}
	}
	e.Functions, e.Files = e.functions.n, e.strings.n
	return &e.Encoded, nil
}

// records are texts that are numbered in the order in which they first occur:
// a function's name with its signature, or a file's path alone.
type records struct {
	numbers map[[2]string]uint32
	n       int
	packed  bytes.Buffer
	blocks  blockWriter
	first   int
	// before is the name of the record before.
	before string
	column [recordColumns][]byte
}

// A block of records has these columns. A name is kept as what differs from the
// name before it in the block, a signature as what differs from its name.
const (
	columnShared       = iota // bytes in common with the name before, uvarint
	columnNames               // bytes of the name that follow, uvarint
	columnSharedByName        // bytes that the signature has in common with the name, uvarint
	columnSignatures          // bytes of the signature that follow, uvarint
	columnTexts               // those bytes, of names and signatures in turn
	recordColumns
)

const (
	// recordsInBlock is about how many bytes of records a block has.
	recordsInBlock = 256 << 10
	// maxText bounds a name or a path, in bytes.
	maxText = 256 << 10
)

func newRecords() *records {
	r := &records{numbers: make(map[[2]string]uint32)}
	r.blocks.w = &r.packed
	return r
}

// number returns the number of a pair of texts.
func (r *records) number(a, b string) (uint32, error) {
	if n, ok := r.numbers[[2]string{a, b}]; ok {
		return n, nil
	}
	if len(a) > maxText || len(b) > maxText || int64(r.n) >= noID-1 {
		return 0, message.Errorf("a name of %d bytes", max(len(a), len(b)))
	}
	if len(r.column[columnTexts]) >= recordsInBlock {
		if err := r.flush(); err != nil {
			return 0, err
		}
	}
	n := uint32(r.n)
	r.numbers[[2]string{a, b}] = n
	r.n++
	r.text(columnShared, a, r.before)
	r.text(columnSharedByName, b, a)
	r.before = a
	return n, nil
}

// text adds a text as what differs from another.
func (r *records) text(column int, text, other string) {
	shared := 0
	for shared < len(text) && shared < len(other) && text[shared] == other[shared] {
		shared++
	}
	r.column[column] = binary.AppendUvarint(r.column[column], uint64(shared))
	r.column[column+1] = binary.AppendUvarint(r.column[column+1], uint64(len(text)-shared))
	r.column[columnTexts] = append(r.column[columnTexts], text[shared:]...)
}

func (r *records) flush() error {
	err := r.blocks.add(uint64(r.first), r.column[:]...)
	for i := range r.column {
		r.column[i] = r.column[i][:0]
	}
	r.first, r.before = r.n, ""
	return err
}

// part returns the bytes of the part: how many records there are, then blocks.
func (r *records) part() ([]byte, error) {
	if len(r.column[columnShared]) > 0 {
		if err := r.flush(); err != nil {
			return nil, err
		}
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(r.n))
	b = append(b, r.blocks.head()...)
	return append(b, r.packed.Bytes()...), nil
}
