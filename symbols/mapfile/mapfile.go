// Package mapfile names functions by the map that a linker writes beside an
// image: for programs whose PDB or debug information is lost and whose map was
// kept.
//
// Its input is the text of one of these linkers, told apart by their headings:
//
//	link.exe /MAP, /MAPINFO:LINES    Microsoft; 32 and 64 bit, static symbols,
//	                                 line numbers (until Visual Studio .NET)
//	lld-link /map, /lldmap           LLVM for Windows
//	ld.lld -Map                      LLVM for ELF, with and without load
//	                                 addresses
//	mold -Map
//	ld -Map, gold -Map               GNU, for ELF and for PE
//
// None of them is specified; what is read here follows from what the linkers
// write. Its output is a [Table].
//
// Only what lies in code counts: segments of class CODE in Microsoft's maps,
// output sections with the names of code elsewhere; where a map marks
// functions, only those. What else lies there ends the function before it.
// A function without a size reaches to the next symbol or to the end of its
// part of the section, whichever comes first.
//
// GNU's linkers list global symbols only. A static function that follows a
// global one in the same object file cannot be told from it, so their symbols
// are marked [symbols.Public] and have no size, but where the section is named
// for the symbol. A section that is named for a static C++ function gives its
// name, marked so too.
//
// The map is read once, line by line; a table keeps 24 bytes a symbol and
// reads names from the file when they are asked for.
package mapfile

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"sort"
	"strings"

	"logparser/message"
	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/demangle"
)

// Format opens linker maps. Open fails with an error that wraps
// [symbols.ErrNoSymbols] where the text is no map or names no function.
var Format = symbols.Format{Name: "linker map", Detect: Detect, Open: open}

// Detect reports whether a file beginning with these bytes may be a map: text
// that begins as the linkers' maps do.
func Detect(head []byte) bool {
	if len(head) == 0 {
		return false
	}
	for _, c := range head {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7F {
			return false
		}
	}
	switch head[0] {
	case ' ', '\n', '\r':
		return true
	}
	for _, heading := range [...]string{"Address", "VMA", "Archive member", "Memory map", "As-needed library", "There are no discarded"} {
		if bytes.HasPrefix(head, []byte(heading)) {
			return true
		}
	}
	return false
}

// A producer is the linker that wrote a map.
type producer int

const (
	unknownProducer producer = iota
	msvcProducer             // link.exe, and lld-link /map
	lldCOFFProducer          // lld-link /lldmap
	lldProducer              // ld.lld
	moldProducer
	gnuProducer
)

func (p producer) String() string {
	switch p {
	case msvcProducer:
		return "MSVC link map"
	case lldCOFFProducer:
		return "lld-link map"
	case lldProducer:
		return "ld.lld map"
	case moldProducer:
		return "mold map"
	case gnuProducer:
		return "GNU ld map"
	}
	return "linker map"
}

// A Table is the functions of a map. It is safe for concurrent use.
type Table struct {
	file     *symbols.File
	producer producer
	identity modules.Identity
	is386    bool
	// preferred is the base where the map itself gives it.
	preferred uint64
	entries   list[entry]
	lines     list[line]
	sources   []span
}

// An entry is a symbol in code. size is in bytes; 0 where nothing is known.
type entry struct {
	rva   uint64
	name  span
	size  uint32
	flags entryFlags
}

type entryFlags uint32

const (
	// flagFunction: the symbol is a function; others only end the one before.
	flagFunction entryFlags = 1 << iota
	// flagSized: the map gives the size itself.
	flagSized
	// flagExact: the whole of the symbol's extent is known to be its own.
	flagExact
	// flagMarked: the map says that this is a function.
	flagMarked
)

// A span is a piece of the file: its offset and, in the low 24 bits, its
// length.
type span uint64

const (
	maxSpanLength = 1<<16 - 1
	maxSpanOffset = 1<<40 - 1
)

// newSpan returns an empty span where the piece is too long for a name.
func newSpan(offset int64, length int) span {
	if offset < 0 || offset > maxSpanOffset || length <= 0 || length > maxSpanLength {
		return 0
	}
	return span(offset)<<24 | span(length)
}

func (s span) offset() int64 { return int64(s >> 24) }
func (s span) len() int      { return int(s & (1<<24 - 1)) }

// A line says that the code from rva on was made from a line of a source.
type line struct {
	rva    uint64
	source uint32
	number uint32
}

func open(f *symbols.File) (symbols.Table, error) { return Open(f) }

// Open reads a map and makes a table of it.
func Open(f *symbols.File) (*Table, error) {
	r := newReader(f)
	if err := r.read(); err != nil {
		return nil, message.Errorf("%s: %w", modules.BaseName(f.Path), err)
	}
	t := &Table{
		file:     f,
		producer: r.producer,
		identity: modules.Identity{Timestamp: r.timestamp},
		is386:    r.is386(),
		sources:  r.sources,
	}
	if r.producer == msvcProducer || r.sect.given {
		t.preferred = r.base
	}
	t.arrange(r)
	if !t.hasFunctions() {
		return nil, message.Errorf("%s: %w", modules.BaseName(f.Path), symbols.ErrNoSymbols)
	}
	return t, nil
}

func (t *Table) hasFunctions() bool {
	for i := 0; i < t.entries.n; i++ {
		if t.entries.at(i).flags&flagFunction != 0 {
			return true
		}
	}
	return false
}

// arrange sorts what was read and gives every symbol its extent.
func (t *Table) arrange(r *reader) {
	t.entries, t.lines = r.entries, r.lines
	for i := 0; i < t.entries.n; i++ {
		e := t.entries.at(i)
		e.rva -= r.base
		if r.marked > 0 && e.flags&flagMarked == 0 {
			// This linker marks functions; what has no mark is a label or data.
			e.flags &^= flagFunction
		}
	}
	// The order of the file decides between symbols at one address.
	t.entries.sort(func(a, b *entry) bool { return a.rva < b.rva || a.rva == b.rva && a.name < b.name })
	t.lines.sort(func(a, b *line) bool {
		return a.rva < b.rva || a.rva == b.rva && (a.source < b.source || a.source == b.source && a.number < b.number)
	})
	next := uint64(math.MaxUint64) // where the symbols behind e begin
	for end := t.entries.n; end > 0; {
		start := t.entries.at(end - 1).rva
		first, size := end, uint64(0)
		for ; first > 0 && t.entries.at(first-1).rva == start; first-- {
			e := t.entries.at(first - 1)
			extent := uint64(e.size)
			if e.flags&flagSized == 0 {
				extent = min(extent, next-start)
			}
			size = max(size, extent)
		}
		// Symbols at one address are names of one thing.
		for i := first; i < end; i++ {
			t.entries.at(i).size = clamp32(size)
		}
		next, end = start, first
	}
}

// maxWalk bounds the search for a symbol that encloses others.
const maxWalk = 64

// Lookup implements [symbols.Table].
func (t *Table) Lookup(rva uint64) (symbols.Symbol, error) {
	// end is behind the last entry that starts at rva or before.
	end := t.before(rva + 1)
	for n := 0; end > 0 && n < maxWalk; n++ {
		last := t.entries.at(end - 1)
		first := t.before(last.rva)
		if rva == last.rva || rva-last.rva < uint64(last.size) {
			return t.symbol(first, end, rva)
		}
		end = first
	}
	return symbols.Symbol{}, message.Errorf("RVA %#x: %w", rva, symbols.ErrNotFound)
}

// before returns the number of entries that start before rva.
func (t *Table) before(rva uint64) int {
	return sort.Search(t.entries.n, func(i int) bool { return t.entries.at(i).rva >= rva })
}

// symbol makes the answer for rva out of the symbols at one address, which are
// the entries from first up to end.
func (t *Table) symbol(first, end int, rva uint64) (symbols.Symbol, error) {
	var s symbols.Symbol
	for i := first; i < min(end, first+maxAliases); i++ {
		e := t.entries.at(i)
		if e.flags&flagFunction == 0 {
			continue
		}
		raw, err := t.text(e.name)
		if err != nil {
			return symbols.Symbol{}, err
		}
		name, signature, kind := t.spell(raw)
		if name == "" {
			continue
		}
		if len(s.Frames) == 0 {
			s.Frames = []symbols.Frame{{Function: name, Signature: signature}}
			s.Start, s.Size, s.Kind = e.rva, uint64(e.size), kind
			if e.flags&flagExact == 0 {
				s.Size = 0
				if kind == symbols.Symtab {
					s.Kind = symbols.Public
				}
			}
			continue
		}
		if name != s.Frames[0].Function && !slices.Contains(s.Aliases, name) {
			s.Aliases = append(s.Aliases, name)
		}
	}
	if len(s.Frames) == 0 {
		return symbols.Symbol{}, message.Errorf("RVA %#x: %w", rva, symbols.ErrNotFound)
	}
	if l := t.line(s.Start, rva); l != nil {
		source, err := t.text(t.sources[l.source])
		if err != nil {
			return symbols.Symbol{}, err
		}
		s.Frames[0].File, s.Frames[0].Line = source, int(l.number)
	}
	return s, nil
}

// maxAliases bounds the symbols of one address that are looked at. Folding of
// identical functions makes groups of thousands.
const maxAliases = 1 << 10

// line returns the line row that rva lies in, if it belongs to the function
// from start on.
func (t *Table) line(start, rva uint64) *line {
	i := sort.Search(t.lines.n, func(i int) bool { return t.lines.at(i).rva > rva })
	if i == 0 || t.lines.at(i-1).rva < start {
		return nil
	}
	return t.lines.at(i - 1)
}

// text reads a piece of the file.
func (t *Table) text(s span) (string, error) {
	b := make([]byte, s.len())
	if n, err := t.file.ReadAt(b, s.offset()); err != nil && !(errors.Is(err, io.EOF) && n == len(b)) {
		return "", message.Errorf("name at offset %#x: %w", s.offset(), err)
	}
	return string(b), nil
}

// spell turns a name as the map has it into function and signature; the
// signature is empty where it is not known.
func (t *Table) spell(raw string) (name, signature string, kind symbols.Kind) {
	kind = symbols.Symtab
	if rest, ok := strings.CutPrefix(raw, "@ILT+"); ok {
		// "@ILT+5(_main)": a jump of the incremental linker's table.
		if open := strings.IndexByte(rest, '('); open >= 0 && strings.HasSuffix(rest, ")") {
			raw, kind = rest[open+1:len(rest)-1], symbols.ILTThunk
		}
	}
	if strings.ContainsAny(raw, "( ") && raw[0] != '?' {
		return demangle.Name(raw), raw, kind
	}
	if full := demangle.Full(raw); full != raw {
		return demangle.Short(raw), full, kind
	}
	if c := demangle.CName(raw, t.is386); c != raw {
		return c, "", kind
	}
	return demangle.Short(raw), "", kind
}

// Procedures implements [symbols.Table]. Of several names of an address it
// gives the first.
func (t *Table) Procedures(yield func(rva uint64, name string) bool) error {
	last := ^uint64(0)
	for i := 0; i < t.entries.n; i++ {
		e := t.entries.at(i)
		if e.flags&flagFunction == 0 || e.rva == last {
			continue
		}
		raw, err := t.text(e.name)
		if err != nil {
			return err
		}
		name, _, _ := t.spell(raw)
		if name == "" {
			continue
		}
		last = e.rva
		if !yield(e.rva, name) {
			return nil
		}
	}
	return nil
}

// Identity returns the time stamp of the image where the map gives it, and
// nothing else. See also [Table.PreferredBase].
func (t *Table) Identity() modules.Identity { return t.identity }

// PreferredBase returns the address that the image was linked for, 0 where the
// map does not tell. An image with another one is another build.
func (t *Table) PreferredBase() uint64 { return t.preferred }

// SomeFunctions reports whether the map has neither the sizes of functions nor all of them: GNU's linkers list what is global.
func (t *Table) SomeFunctions() bool { return t.producer == gnuProducer }

// Describe implements [symbols.Table].
func (t *Table) Describe() string { return t.producer.String() }

// Close closes the map.
func (t *Table) Close() error { return t.file.Close() }
