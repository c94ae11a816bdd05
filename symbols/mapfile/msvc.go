package mapfile

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
)

// msvcState is what is known in the middle of one of Microsoft's maps.
type msvcState struct {
	part     msvcPart
	code     []codePiece
	sorted   bool
	segments map[uint16]uint64 // RVA of each segment's start
}

type msvcPart int

const (
	msvcHead msvcPart = iota
	msvcSegments
	msvcSymbols
	msvcLines
	msvcOther
)

// A codePiece is a piece of a segment that holds code: bytes from the offset
// start up to end.
type codePiece struct {
	segment    uint16
	start, end uint32
}

func (r *reader) msvcLine(text []byte, offset int64) {
	t := bytes.TrimSpace(text)
	if len(t) == 0 {
		return
	}
	s := &r.msvc
	if !('0' <= t[0] && t[0] <= '9') || !bytes.Contains(t, []byte(":")) {
		r.msvcHeading(t, offset+int64(bytes.Index(text, t)))
		return
	}
	switch s.part {
	case msvcSegments:
		r.msvcSegment(t)
	case msvcSymbols:
		r.msvcSymbol(text, offset)
	case msvcLines:
		r.msvcLineNumbers(t)
	}
}

func (r *reader) msvcHeading(t []byte, offset int64) {
	s := &r.msvc
	word := func(prefix string) ([]byte, bool) {
		rest, ok := bytes.CutPrefix(t, []byte(prefix))
		if !ok {
			return nil, false
		}
		w, _, _ := field(rest)
		return w, true
	}
	if w, ok := word("Timestamp is "); ok {
		if v, ok := hex(w); ok && v <= 1<<32-1 {
			r.timestamp = uint32(v)
		}
		return
	}
	if w, ok := word("Preferred load address is "); ok {
		if v, ok := hex(w); ok {
			r.base, r.digits = v, len(w)
		}
		return
	}
	switch {
	case bytes.HasPrefix(t, []byte("Start ")) && bytes.Contains(t, []byte("Class")):
		s.part = msvcSegments
	case bytes.Contains(t, []byte("Publics by Value")), bytes.HasPrefix(t, []byte("Static symbols")):
		s.part = msvcSymbols
	case bytes.HasPrefix(t, []byte("entry point at")):
	case bytes.HasPrefix(t, []byte("Line numbers for ")):
		s.part = msvcOther
		// "Line numbers for object(source) segment .text"
		end := bytes.LastIndex(t, []byte(") segment "))
		open := bytes.IndexByte(t, '(')
		if open < 0 || end <= open || len(r.sources) >= maxSources {
			return
		}
		if name := newSpan(offset+int64(open)+1, end-open-1); name != 0 {
			r.sources = append(r.sources, name)
			s.part = msvcLines
		}
	case bytes.HasPrefix(t, []byte("Exports")), bytes.HasPrefix(t, []byte("FIXUPS")):
		s.part = msvcOther
	}
}

// maxSources bounds the source files of a map.
const maxSources = 1 << 20

// maxPieces bounds the pieces of code that a map lists.
const maxPieces = 1 << 16

// segmentOffset reads "0001:0000a2b4".
func segmentOffset(w []byte) (segment uint16, offset uint32, ok bool) {
	colon := bytes.IndexByte(w, ':')
	if colon < 1 || colon > 4 || len(w)-colon-1 > 8 {
		return 0, 0, false
	}
	s, ok1 := hex(w[:colon])
	o, ok2 := hex(w[colon+1:])
	return uint16(s), uint32(o), ok1 && ok2
}

// msvcSegment reads " 0001:00000000 0000a2b4H .text$mn    CODE".
func (r *reader) msvcSegment(t []byte) {
	w, rest, _ := field(t)
	segment, start, ok := segmentOffset(w)
	w, rest, _ = field(rest)
	length, ok2 := hex(bytes.TrimSuffix(w, []byte("H")))
	if !ok || !ok2 || len(r.msvc.code) >= maxPieces || segment == 0 || length == 0 || uint64(start)+length > 1<<32-1 {
		return
	}
	if bytes.HasSuffix(bytes.TrimSpace(rest), []byte("CODE")) {
		r.msvc.code = append(r.msvc.code, codePiece{segment, start, start + uint32(length)})
		r.msvc.sorted = false
	}
}

// codeEnd returns the offset in the segment where the code around an offset
// ends.
func (s *msvcState) codeEnd(segment uint16, offset uint32) (uint32, bool) {
	if !s.sorted {
		slices.SortFunc(s.code, func(a, b codePiece) int {
			return cmp.Or(cmp.Compare(a.segment, b.segment), cmp.Compare(a.start, b.start))
		})
		s.sorted = true
	}
	i := sort.Search(len(s.code), func(i int) bool {
		c := &s.code[i]
		return c.segment > segment || c.segment == segment && c.start > offset
	})
	if i == 0 || s.code[i-1].segment != segment || offset >= s.code[i-1].end {
		return 0, false
	}
	return s.code[i-1].end, true
}

// msvcSymbol reads " 0001:00000010  name  0000000140001010 f i  lib:object".
func (r *reader) msvcSymbol(text []byte, offset int64) {
	w, rest, _ := field(text)
	segment, off, ok := segmentOffset(w)
	if !ok || segment == 0 || len(text) < minSymbolLine {
		return // segment 0 holds absolute numbers
	}
	end, ok := r.msvc.codeEnd(segment, off)
	if !ok {
		return
	}
	// Names may hold blanks; the address behind the name has as many digits
	// as the preferred load address, whatever linker wrote it.
	at := len(text) - len(rest)
	first, _, skip := field(rest)
	if len(first) == 0 {
		return
	}
	nameStart := at + skip
	var rva uint64
	nameEnd := -1
	for p := nameStart + len(first); p < len(text); {
		w, _, skip := field(text[p:])
		if len(w) == 0 {
			break
		}
		if v, ok := hex(w); ok && (len(w) == 8 || len(w) == 16) && v >= r.base && v-r.base < 1<<32 {
			rva, nameEnd = v-r.base, p
			rest = text[p+skip+len(w):]
			break
		}
		p += skip + len(w)
	}
	if nameEnd < 0 || rva < uint64(off) {
		return
	}
	if r.msvc.segments == nil {
		r.msvc.segments = map[uint16]uint64{}
	}
	if start, ok := r.msvc.segments[segment]; !ok {
		r.msvc.segments[segment] = rva - uint64(off)
	} else if start != rva-uint64(off) {
		return // the two addresses of the line contradict each other
	}
	name := text[nameStart:nameEnd]
	e := entry{
		rva:   rva + r.base,
		name:  newSpan(offset+int64(nameStart), len(name)),
		size:  end - off,
		flags: flagExact,
	}
	if w, rest, _ := field(rest); string(w) == "f" && len(bytes.TrimSpace(rest)) > 0 {
		e.flags |= flagMarked
		r.marked++
	}
	if e.name != 0 && !isData(name) {
		e.flags |= flagFunction
		r.countName(name)
	}
	r.entries.add(e)
}

// msvcLineNumbers reads rows of "line segment:offset", four to a row.
func (r *reader) msvcLineNumbers(t []byte) {
	for {
		var w, place []byte
		w, t, _ = field(t)
		place, t, _ = field(t)
		number, ok := decimal(w)
		segment, off, ok2 := segmentOffset(place)
		if !ok || !ok2 || len(place) != len("0001:00000000") || number == 0 || number > 1<<31 {
			return
		}
		if start, ok := r.msvc.segments[segment]; ok {
			r.lines.add(line{rva: start + uint64(off), source: uint32(len(r.sources) - 1), number: uint32(number)})
		}
	}
}
