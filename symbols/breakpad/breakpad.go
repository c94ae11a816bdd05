// Package breakpad names functions by the text files that Breakpad's and
// Crashpad's dump_syms write (.sym), which Mozilla's and other symbol servers
// hand out where PDB or DWARF files are not published.
//
// Its input is one record a line, the first word naming its kind; the format
// is described in Breakpad's docs/symbol_files.md:
//
//	MODULE os arch id name
//	INFO CODE_ID id [name]
//	FILE number path
//	INLINE_ORIGIN number name
//	FUNC [m] address size parameter-bytes name
//	INLINE depth call-line call-file origin [address size]...
//	address size line file
//	PUBLIC [m] address parameter-bytes name
//
// Addresses and sizes are hexadecimal RVAs and bytes, the rest is decimal.
// INLINE records and line rows belong to the FUNC before them. STACK and other
// INFO records are passed over. Its output is a [Table].
//
// Names are demangled already, mostly with parameters. A last line without its
// end was cut and is not believed.
//
// Opening reads the file once and keeps 16 bytes a function, 8 bytes a source
// file or inlined function; a look-up reads the function's own records.
package breakpad

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"sort"
	"strings"
	"sync"

	"logparser/message"
	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/demangle"
)

// Format opens Breakpad symbol files. Open fails with an error that wraps
// [symbols.ErrNoSymbols] where no function is named.
var Format = symbols.Format{Name: "Breakpad symbols", Detect: Detect, Open: open}

// Detect reports whether a file beginning with these bytes may be a symbol
// file of Breakpad.
func Detect(head []byte) bool { return bytes.HasPrefix(head, []byte("MODULE ")) }

// ErrSize says that a file, or the records of one function, are larger than
// anything a compiler gives rise to.
var ErrSize = message.New("too large")

// A Table is the functions of a symbol file. It is safe for concurrent use.
type Table struct {
	file     *symbols.File
	module   module
	identity modules.Identity
	funcs    list
	publics  list
	files    numbered
	origins  numbered
	buffers  sync.Pool
}

// Limits of what a look-up reads and answers.
const (
	// maxBody is the most that is read of one function's records, in bytes.
	maxBody = 32 << 20
	// maxDepth bounds the chain of inlined calls.
	maxDepth = 256
	// maxWalk bounds the search for a function that encloses others.
	maxWalk = 64
	// maxAliases bounds the names that one address has in an answer.
	maxAliases = 256
	// maxPublic is how far from its start a name without a size is believed,
	// in bytes. Breakpad's files do not say where sections end.
	maxPublic = 64 << 10
)

func open(f *symbols.File) (symbols.Table, error) { return Open(f) }

// Open reads a symbol file and makes a table of it.
func Open(f *symbols.File) (*Table, error) {
	t := &Table{file: f}
	t.buffers.New = func() any { return bufio.NewReaderSize(nil, 4<<10) }
	if err := t.read(); err != nil {
		return nil, message.Errorf("breakpad: %w", err)
	}
	if t.funcs.n+t.publics.n == 0 {
		return nil, message.Errorf("breakpad: %w", symbols.ErrNoSymbols)
	}
	t.funcs.sort()
	t.publics.sort()
	return t, nil
}

// Identity returns the build that the MODULE and CODE_ID records name. Where
// there is no CODE_ID, only the first bytes of a build-id are known, which
// [Table.Compare] goes by.
func (t *Table) Identity() modules.Identity { return t.identity }

// Compare compares the build with another by the means of the format, for
// identities that [modules.Identity.Compare] says nothing about: a MODULE
// record holds the first 16 bytes of a build-id, a shorter one is filled up
// with zeros. The UUID of an image of macOS is compared in the same form.
func (t *Table) Compare(other modules.Identity) modules.Match {
	if m := t.identity.Compare(other); m != modules.Unknown {
		return m
	}
	if !t.module.elf && !t.module.mac || t.module.id.IsZero() || len(other.BuildID) < minBuildID {
		return modules.Unknown
	}
	var raw [16]byte
	copy(raw[:], other.BuildID)
	if modules.GUID(raw) == t.module.id {
		return modules.Same
	}
	return modules.Different
}

// minBuildID is the length from which on a build-id tells builds apart, in
// bytes.
const minBuildID = 8

// ModuleID returns the id of the MODULE record, as a symbol store's key has
// it.
func (t *Table) ModuleID() string { return t.module.text }

// File returns the symbol file, which has more records than the table reads.
func (t *Table) File() *symbols.File { return t.file }

// Describe implements [symbols.Table].
func (t *Table) Describe() string { return "Breakpad symbols" }

// Close closes the file.
func (t *Table) Close() error { return t.file.Close() }

// Lookup implements [symbols.Table].
func (t *Table) Lookup(rva uint64) (symbols.Symbol, error) {
	if first, end, ok := t.funcs.covering(rva); ok {
		return t.function(first, end, rva)
	}
	end := t.publics.after(rva)
	if end == 0 {
		return symbols.Symbol{}, notFound(rva)
	}
	start := t.publics.at(end - 1).rva()
	first := t.publics.before(start)
	limit := start + maxPublic
	if size := uint64(t.identity.ImageSize); size != 0 {
		limit = min(limit, size)
	}
	// A function in between ends what the name before it stands for.
	if i := t.funcs.after(rva); i > 0 && t.funcs.at(i-1).rva() >= start {
		limit = start
	}
	if rva != start && rva >= limit {
		return symbols.Symbol{}, notFound(rva)
	}
	return t.public(first, end, rva)
}

func notFound(rva uint64) error { return message.Errorf("RVA %#x: %w", rva, symbols.ErrNotFound) }

// reader returns a reader of the file from an offset on. Give it back by
// [Table.done].
func (t *Table) reader(offset int64) *bufio.Reader {
	r := t.buffers.Get().(*bufio.Reader)
	r.Reset(io.NewSectionReader(t.file, offset, min(t.file.Size-offset, maxBody)))
	return r
}

func (t *Table) done(r *bufio.Reader) {
	r.Reset(nil)
	t.buffers.Put(r)
}

// line reads the line that begins at an offset.
func (t *Table) line(offset int64) (string, error) {
	r := t.reader(offset)
	defer t.done(r)
	text, err := wholeLine(r)
	if err != nil {
		return "", message.Errorf("breakpad: offset %#x: %w", offset, err)
	}
	return string(text), nil
}

// wholeLine reads a line of at most maxLine bytes. The text is valid until the
// next call.
func wholeLine(r *bufio.Reader) ([]byte, error) {
	text, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(text)
		for errors.Is(err, bufio.ErrBufferFull) {
			if len(long) > maxLine {
				return nil, message.Errorf("a line of more than %d bytes: %w", maxLine, ErrSize)
			}
			text, err = r.ReadSlice('\n')
			long = append(long, text...)
		}
		text = long
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(text, "\r\n"), nil
}

// name returns the name in the record of an entry.
func (t *Table) name(e entry) (string, error) {
	text, err := t.line(e.offset())
	if err != nil {
		return "", err
	}
	rec, ok := parseSymbol([]byte(text))
	if !ok {
		return "", message.Errorf("breakpad: offset %#x: the file has changed", e.offset())
	}
	return string(rec.name), nil
}

// spell turns a name as the file has it into function and signature.
func spell(raw string) (name, signature string) {
	if strings.HasPrefix(raw, "?") || strings.HasPrefix(raw, "_Z") || strings.HasPrefix(raw, "_R") {
		if full := demangle.Full(raw); full != raw {
			return demangle.Short(raw), full
		}
	}
	if !strings.ContainsAny(raw, "( ") || strings.HasPrefix(raw, "<.plt") || raw == omitted {
		return raw, ""
	}
	name = demangle.Name(raw)
	if name == "" {
		return raw, ""
	}
	if name != raw {
		signature = raw
	}
	return name, signature
}

// omitted is what dump_syms writes for names that it does not find.
const omitted = "<name omitted>"

// function makes the answer for rva out of the functions at one address.
func (t *Table) function(first, end int, rva uint64) (symbols.Symbol, error) {
	chosen := first
	for i := first; i < end; i++ {
		// Of functions that start together the first that reaches so far.
		if e := t.funcs.at(i); rva-e.rva() < uint64(e.size()) {
			chosen = i
			break
		}
	}
	e := *t.funcs.at(chosen)
	s := symbols.Symbol{Start: e.rva(), Size: uint64(e.size()), Kind: symbols.Procedure}

	r := t.reader(e.offset())
	defer t.done(r)
	text, err := wholeLine(r)
	if err != nil {
		return symbols.Symbol{}, message.Errorf("breakpad: offset %#x: %w", e.offset(), err)
	}
	rec, ok := parseSymbol(text)
	if !ok {
		return symbols.Symbol{}, message.Errorf("breakpad: offset %#x: the file has changed", e.offset())
	}
	var outer symbols.Frame
	outer.Function, outer.Signature = spell(string(rec.name))

	body, err := readBody(r, rva)
	if err != nil {
		return symbols.Symbol{}, message.Errorf("breakpad: records of the function at offset %#x: %w", e.offset(), err)
	}
	// The calls stand from the outside in, the frames the other way round.
	s.Frames = make([]symbols.Frame, len(body.calls)+1)
	at := len(s.Frames) - 1
	s.Frames[at] = outer
	for i, c := range body.calls {
		caller := &s.Frames[at-i]
		caller.Line = c.line
		if c.hasFile {
			if caller.File, err = t.text(&t.files, c.file); err != nil {
				return symbols.Symbol{}, err
			}
		}
		raw, err := t.text(&t.origins, c.origin)
		if err != nil {
			return symbols.Symbol{}, err
		}
		if raw == "" {
			raw = omitted
		}
		inner := &s.Frames[at-i-1]
		inner.Function, inner.Signature = spell(raw)
	}
	if body.covered {
		s.Frames[0].Line = body.row.line
		if s.Frames[0].File, err = t.text(&t.files, body.row.file); err != nil {
			return symbols.Symbol{}, err
		}
	}
	return s, t.aliases(&t.funcs, first, end, chosen, &s)
}

// public makes the answer out of the names without a size at one address.
func (t *Table) public(first, end int, rva uint64) (symbols.Symbol, error) {
	e := t.publics.at(first)
	raw, err := t.name(*e)
	if err != nil {
		return symbols.Symbol{}, err
	}
	s := symbols.Symbol{Start: e.rva(), Kind: symbols.Public, Frames: make([]symbols.Frame, 1)}
	s.Frames[0].Function, s.Frames[0].Signature = spell(raw)
	if strings.HasPrefix(raw, "<.plt") {
		s.Kind = symbols.PLT
	}
	return s, t.aliases(&t.publics, first, end, first, &s)
}

// aliases adds the other names of an address to an answer.
func (t *Table) aliases(l *list, first, end, chosen int, s *symbols.Symbol) error {
	for i := first; i < end && len(s.Aliases) < maxAliases && i-first < 4*maxAliases; i++ {
		if i == chosen {
			continue
		}
		raw, err := t.name(*l.at(i))
		if err != nil {
			return err
		}
		if name, _ := spell(raw); name != s.Outermost().Function && !slices.Contains(s.Aliases, name) {
			s.Aliases = append(s.Aliases, name)
		}
	}
	return nil
}

// Procedures implements [symbols.Table]. Of several names of an address it
// gives the first.
func (t *Table) Procedures(yield func(rva uint64, name string) bool) error {
	for _, l := range []*list{&t.funcs, &t.publics} {
		last := uint64(math.MaxUint64)
		for i := 0; i < l.n; i++ {
			e := *l.at(i)
			if e.rva() == last {
				continue
			}
			last = e.rva()
			if l == &t.publics {
				if _, _, ok := t.funcs.covering(last); ok {
					continue
				}
			}
			raw, err := t.name(e)
			if err != nil {
				return err
			}
			if name, _ := spell(raw); !yield(last, name) {
				return nil
			}
		}
	}
	return nil
}

// text returns the name of a FILE or INLINE_ORIGIN record, "" where there is
// none of the number.
func (t *Table) text(n *numbered, number uint32) (string, error) {
	offset, ok := n.find(number)
	if !ok {
		return "", nil
	}
	line, err := t.line(offset)
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(line, " ")
	_, name, _ := strings.Cut(rest, " ")
	return name, nil
}

// An entry is a FUNC or PUBLIC record: 48 bits of its RVA, 32 of its size, 40
// of its offset in the file. Records that do not fit are passed over.
type entry struct{ high, low uint64 }

const (
	maxRVA    = 1<<48 - 1
	maxOffset = 1<<40 - 1
)

func newEntry(rva, size uint64, offset int64) (entry, bool) {
	if rva > maxRVA || offset > maxOffset {
		return entry{}, false
	}
	size = min(size, math.MaxUint32, maxRVA-rva)
	return entry{rva<<16 | size>>16, size<<48 | uint64(offset)}, true
}

func (e *entry) rva() uint64   { return e.high >> 16 }
func (e *entry) size() uint32  { return uint32(e.high&0xFFFF)<<16 | uint32(e.low>>48) }
func (e *entry) offset() int64 { return int64(e.low & maxOffset) }

// A list holds entries in chunks, so that it grows without copying what it
// holds.
type list struct {
	chunks [][]entry
	n      int
}

const chunkLength = 4096

func (l *list) add(e entry) {
	if l.n%chunkLength == 0 {
		l.chunks = append(l.chunks, make([]entry, 0, chunkLength))
	}
	last := &l.chunks[len(l.chunks)-1]
	*last = append(*last, e)
	l.n++
}

func (l *list) at(i int) *entry { return &l.chunks[i/chunkLength][i%chunkLength] }

// sort sorts by address; the file's order decides between equal ones. Most
// files are sorted already and are only read.
func (l *list) sort() {
	for i := 1; i < l.n; i++ {
		if l.Less(i, i-1) {
			sort.Sort(l)
			return
		}
	}
}

func (l *list) Len() int { return l.n }

func (l *list) Less(i, j int) bool {
	a, b := l.at(i), l.at(j)
	if a.rva() != b.rva() {
		return a.rva() < b.rva()
	}
	return a.offset() < b.offset()
}

func (l *list) Swap(i, j int) {
	a, b := l.at(i), l.at(j)
	*a, *b = *b, *a
}

// after returns the index of the first entry that starts behind rva.
func (l *list) after(rva uint64) int {
	return sort.Search(l.n, func(i int) bool { return l.at(i).rva() > rva })
}

// before returns the index of the first entry that starts at rva or behind.
func (l *list) before(rva uint64) int {
	return sort.Search(l.n, func(i int) bool { return l.at(i).rva() >= rva })
}

// covering returns the entries [first, end) that share the highest start
// address of those that rva lies in. An entry without a size covers its start.
func (l *list) covering(rva uint64) (first, end int, ok bool) {
	end = l.after(rva)
	for n := 0; end > 0 && n < maxWalk; n++ {
		start := l.at(end - 1).rva()
		covers := start == rva
		first = l.before(start)
		for i := first; i < end && !covers; i++ {
			covers = rva-start < uint64(l.at(i).size())
		}
		if covers {
			return first, end, true
		}
		end = first
	}
	return 0, 0, false
}

// numbered finds records by their numbers, which nearly always count up from
// 0 or 1 without a gap.
type numbered struct {
	chunks [][]uint64
	n      int
	first  uint32
	sparse map[uint32]uint64
}

// maxSparse bounds the records whose numbers are out of the row.
const maxSparse = 1 << 18

func (n *numbered) add(number uint32, offset int64) {
	if n.n == 0 {
		n.first = number
	}
	if uint64(number) != uint64(n.first)+uint64(n.n) {
		if n.sparse == nil {
			n.sparse = make(map[uint32]uint64)
		}
		if _, have := n.sparse[number]; !have && len(n.sparse) < maxSparse {
			n.sparse[number] = uint64(offset)
		}
		return
	}
	if n.n%chunkLength == 0 {
		n.chunks = append(n.chunks, make([]uint64, 0, chunkLength))
	}
	last := &n.chunks[len(n.chunks)-1]
	*last = append(*last, uint64(offset))
	n.n++
}

func (n *numbered) find(number uint32) (int64, bool) {
	if number >= n.first && int64(number)-int64(n.first) < int64(n.n) {
		i := int(number - n.first)
		return int64(n.chunks[i/chunkLength][i%chunkLength]), true
	}
	offset, ok := n.sparse[number]
	return int64(offset), ok
}
