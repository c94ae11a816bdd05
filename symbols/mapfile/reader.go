package mapfile

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"sort"

	"logparser/message"
	"logparser/symbols"
	"logparser/symbols/demangle"
)

// A reader reads a map in one pass. Addresses are kept as the map has them
// until the base is known, which the entries' rva field then holds less.
type reader struct {
	file      io.ReaderAt
	in        *bufio.Reader
	next      int64 // offset of the line that follows
	producer  producer
	entries   list[entry]
	lines     list[line]
	sources   []span
	base      uint64
	timestamp uint32

	// marked counts the symbols that the map says are functions.
	marked int
	// Names of C functions by whether they begin as those of 32-bit Windows
	// all do.
	underscored, bare int
	// pe says that the map is of a PE image, digits how many an address has.
	pe     bool
	digits int

	parse func(text []byte, offset int64)
	msvc  msvcState
	sect  sectionState
}

// maxLine is how much of a line is looked at, in bytes. The rest is passed
// over.
const maxLine = 1 << 17

// minSymbolLine is the length of the shortest line that a linker writes for a
// symbol. Shorter lines are not symbols; so the memory taken is bounded by the
// size of the file.
const minSymbolLine = 40

// maxTables is what the tables may take beyond the size of the file, in bytes.
// A map whose lines are all shorter than a linker's comes to it. Only tests
// change it.
var maxTables int64 = 32 << 20

// maxPreamble is how far into a file the heading of a map is searched for.
// Before it GNU ld lists why archive members were taken.
const maxPreamble = 64 << 20

func newReader(f *symbols.File) *reader {
	return &reader{
		file: f,
		in:   bufio.NewReaderSize(io.NewSectionReader(f, 0, f.Size), maxLine),
	}
}

func (r *reader) read() error {
	for {
		text, offset, err := r.line()
		if err != nil && !errors.Is(err, io.EOF) {
			return message.Errorf("offset %#x: %w", offset, err)
		}
		if bytes.IndexByte(text, 0) >= 0 {
			return message.Errorf("offset %#x: not text: %w", offset, symbols.ErrNoSymbols)
		}
		if len(text) > 0 {
			if r.parse == nil {
				r.recognise(text, offset)
				if r.parse == nil && offset > maxPreamble {
					break
				}
			} else {
				r.parse(text, offset)
				if used := 24*int64(r.entries.n) + 16*int64(r.lines.n); used > r.next+maxTables {
					return message.Errorf("offset %#x: more symbols than fit into a map of this size: %w", offset, symbols.ErrNoSymbols)
				}
			}
		}
		if err != nil {
			break
		}
	}
	if r.parse == nil {
		return message.Errorf("not a linker map: %w", symbols.ErrNoSymbols)
	}
	if r.producer != msvcProducer {
		r.endSections()
	}
	return nil
}

// line returns the next line without its end, and its offset. The text is
// valid until the next call; at the end of the file err is io.EOF.
func (r *reader) line() (text []byte, offset int64, err error) {
	offset = r.next
	text, err = r.in.ReadSlice('\n')
	r.next += int64(len(text))
	if errors.Is(err, bufio.ErrBufferFull) {
		text = bytes.Clone(text)
		for errors.Is(err, bufio.ErrBufferFull) {
			var rest []byte
			rest, err = r.in.ReadSlice('\n')
			r.next += int64(len(rest))
		}
	}
	return bytes.TrimRight(text, "\r\n"), offset, err
}

// recognise looks for the headings by which the producers are told apart.
func (r *reader) recognise(text []byte, offset int64) {
	t := bytes.TrimSpace(text)
	switch {
	case bytes.HasPrefix(t, []byte("Timestamp is ")), bytes.HasPrefix(t, []byte("Preferred load address is ")):
		r.producer, r.parse, r.pe = msvcProducer, r.msvcLine, true
		r.msvcLine(text, offset)
	case bytes.HasSuffix(t, []byte("Symbol")) && bytes.Contains(t, []byte("Align")) && bytes.Contains(t, []byte("Out")):
		heading := bytes.Fields(t)
		r.parse = r.columnLine
		switch {
		case string(heading[0]) == "VMA" && string(heading[1]) == "LMA":
			r.producer, r.sect.numbers = lldProducer, 4
		case string(heading[0]) == "VMA":
			r.producer, r.sect.numbers = moldProducer, 3
		default:
			r.producer, r.sect.numbers = lldProducer, 3
			// lld-link writes RVAs, eight digits wide, under this heading,
			// ld.lld once wrote addresses.
			r.sect.maybeCOFF = bytes.HasPrefix(text, []byte("Address  Size "))
		}
	case gnuHeading(text):
		r.producer, r.parse = gnuProducer, r.gnuLine
		r.gnuLine(text, offset)
	}
}

// gnuHeading reports whether a line begins a part of GNU ld's or gold's maps.
// The headings are translated, the sections are not.
func gnuHeading(text []byte) bool {
	for _, h := range [...]string{"Archive member included", "Discarded input sections", "Memory Configuration",
		"Linker script and memory map", "Memory map", "As-needed library included"} {
		if bytes.HasPrefix(text, []byte(h)) {
			return true
		}
	}
	if len(text) < 2 || text[0] != '.' {
		return false
	}
	f := bytes.Fields(text)
	return len(f) >= 3 && bytes.HasPrefix(f[1], []byte("0x")) && bytes.HasPrefix(f[2], []byte("0x"))
}

// is386 reports whether the image is for 32-bit x86 Windows, where the names
// of C functions have an underscore in front.
func (r *reader) is386() bool {
	if !r.pe {
		return false
	}
	if r.digits == 8 {
		return true
	}
	return r.base <= math.MaxUint32 && r.underscored > 0 && r.bare == 0
}

// countName notes how the name of a function begins.
func (r *reader) countName(name []byte) {
	switch {
	case len(name) == 0:
	case name[0] == '_' || name[0] == '@':
		r.underscored++
	case name[0] != '?' && bytes.IndexByte(name, '(') < 0 && bytes.IndexByte(name, ':') < 0:
		r.bare++
	}
}

// hex reads a number without a prefix; all of b must be digits.
func hex(b []byte) (uint64, bool) {
	if len(b) == 0 || len(b) > 16 {
		return 0, false
	}
	var v uint64
	for _, c := range b {
		switch {
		case '0' <= c && c <= '9':
			v = v<<4 | uint64(c-'0')
		case 'a' <= c && c <= 'f':
			v = v<<4 | uint64(c-'a'+10)
		case 'A' <= c && c <= 'F':
			v = v<<4 | uint64(c-'A'+10)
		default:
			return 0, false
		}
	}
	return v, true
}

// hex0x reads a number with the prefix 0x.
func hex0x(b []byte) (uint64, bool) {
	if !bytes.HasPrefix(b, []byte("0x")) {
		return 0, false
	}
	return hex(b[2:])
}

func decimal(b []byte) (uint64, bool) {
	if len(b) == 0 || len(b) > 19 {
		return 0, false
	}
	var v uint64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	return v, true
}

// field returns the first word of b and where it begins; rest is what follows
// the word.
func field(b []byte) (word, rest []byte, at int) {
	for at < len(b) && (b[at] == ' ' || b[at] == '\t') {
		at++
	}
	end := at
	for end < len(b) && b[end] != ' ' && b[end] != '\t' {
		end++
	}
	return b[at:end], b[end:], at
}

// isData reports whether a name is of something that is never a function,
// whatever section it lies in.
func isData(name []byte) bool {
	for _, p := range [...]string{"??_C@", "??_7", "??_8", "??_R", "__real@", "__xmm@", "__ymm@", "__imp_", "vtable for ", "typeinfo "} {
		if bytes.HasPrefix(name, []byte(p)) {
			return true
		}
	}
	return false
}

// clamp32 returns n, or the largest number that an entry's size holds.
func clamp32(n uint64) uint32 {
	return uint32(min(n, math.MaxUint32))
}

// A list grows without copying what it holds, which may be much.
type list[T any] struct {
	chunks [][]T
	n      int
}

const chunkLength = 4096

func (l *list[T]) add(v T) {
	if l.n%chunkLength == 0 {
		l.chunks = append(l.chunks, make([]T, 0, chunkLength))
	}
	last := &l.chunks[len(l.chunks)-1]
	*last = append(*last, v)
	l.n++
}

func (l *list[T]) at(i int) *T { return &l.chunks[i/chunkLength][i%chunkLength] }

// sort sorts the list in place by less, which must tell any two elements
// apart. Lists that are sorted already, as most maps are, are only read.
func (l *list[T]) sort(less func(a, b *T) bool) {
	for i := 1; i < l.n; i++ {
		if less(l.at(i), l.at(i-1)) {
			sort.Sort(&sorter[T]{l, less})
			return
		}
	}
}

type sorter[T any] struct {
	*list[T]
	less func(a, b *T) bool
}

func (s *sorter[T]) Len() int           { return s.n }
func (s *sorter[T]) Less(i, j int) bool { return s.less(s.at(i), s.at(j)) }
func (s *sorter[T]) Swap(i, j int) {
	a, b := s.at(i), s.at(j)
	*a, *b = *b, *a
}

// functionOfSection returns the mangled name of the function that an input
// section was made for, nil where the section's name has none. Names of C are
// not taken: other things are named like them.
func functionOfSection(section []byte) []byte {
	rest, ok := bytes.CutPrefix(section, []byte(".text."))
	if !ok {
		if rest, ok = bytes.CutPrefix(section, []byte(".text$")); !ok {
			if rest, ok = bytes.CutPrefix(section, []byte(".gnu.linkonce.t.")); !ok {
				return nil
			}
		}
	}
	for _, part := range [...]string{"unlikely.", "hot.", "startup.", "exit."} {
		rest = bytes.TrimPrefix(rest, []byte(part))
	}
	return rest
}

// isMangled reports whether a name is one that only a compiler makes.
func isMangled(name []byte) bool {
	s := string(name)
	return len(s) > 2 && s[0] == '_' && demangle.Short(s) != s
}
