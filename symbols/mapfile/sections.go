package mapfile

import (
	"bytes"

	"logparser/symbols/demangle"
)

// sectionState is what is known in the middle of a map that lists output
// sections, in them input sections, and in these symbols.
type sectionState struct {
	// numbers is how many columns of numbers a line of lld or mold has.
	numbers   int
	maybeCOFF bool

	// lowest is the lowest address of an output section but 0, by which the
	// base is found where the map does not give it; given says that it does.
	lowest uint64
	given  bool

	// The output section: whether it holds code, and its extent.
	code     bool
	out, end uint64

	// The input section: its extent, the name of the function that it was
	// made for, and the first of its symbols in the reader's entries.
	in, inEnd uint64
	function  span
	mangled   string
	plain     string
	first     int
	open      bool
	// atStart says that a symbol lies at the section's start, several that
	// there are symbols at more than one address.
	atStart, several bool

	// GNU's linkers write a long section name on a line of its own.
	pending      []byte
	pendingAt    int64
	pendingLevel int
}

// isCode reports whether an output section of this name holds code.
func isCode(name []byte) bool {
	switch string(name) {
	case ".init", ".fini", ".plt", ".iplt", ".stub":
		return true
	}
	return bytes.HasPrefix(name, []byte(".text")) || bytes.HasPrefix(name, []byte(".plt.")) ||
		bytes.HasSuffix(name, []byte(".text")) || bytes.HasPrefix(name, []byte("text"))
}

func (r *reader) outputSection(name []byte, address, size uint64) {
	r.endInput()
	s := &r.sect
	s.code = isCode(name) && address != 0 && size != 0 && address+size > address
	s.out, s.end = address, address+size
	if bytes.HasPrefix(name, []byte(".idata")) {
		r.pe = true
	}
	if address != 0 && (s.lowest == 0 || address < s.lowest) {
		s.lowest = address
	}
}

func (r *reader) inputSection(name []byte, nameAt int64, address, size uint64) {
	r.endInput()
	s := &r.sect
	if !s.code || size == 0 || address < s.out || address >= s.end || size > s.end-address {
		return
	}
	s.open = true
	s.in, s.inEnd = address, address+size
	s.first = r.entries.n
	s.atStart, s.several = false, false
	s.function, s.mangled, s.plain = 0, "", ""
	if f := functionOfSection(name); len(f) > 0 && len(f) <= maxSpanLength {
		if isMangled(f) {
			s.function = newSpan(nameAt+int64(len(name)-len(f)), len(f))
			s.mangled = string(f)
		} else {
			s.plain = string(f)
		}
	}
}

// symbol adds a symbol of the input section. size is 0 where the map gives
// none.
func (r *reader) symbol(name []byte, nameAt int64, address, size uint64) {
	s := &r.sect
	if !s.open || address < s.in || address >= s.inEnd || isMapping(name) {
		return
	}
	limit := s.inEnd - address
	e := entry{rva: address, name: newSpan(nameAt, len(name)), size: clamp32(limit)}
	if r.producer != gnuProducer {
		e.flags |= flagExact
	}
	if size > 0 && size <= limit {
		e.size = clamp32(size)
		e.flags |= flagSized
	}
	if e.name != 0 && !isData(name) {
		e.flags |= flagFunction
		r.countName(name)
	}
	if s.mangled != "" && address == s.in && bytes.Contains(name, []byte("'lambda")) {
		// The section says it in the form that has one spelling.
		e.name = s.function
	}
	if address == s.in {
		s.atStart = true
	} else {
		s.several = true
	}
	r.entries.add(e)
}

// isMapping reports whether a name is one of ARM's marks between code and
// data.
func isMapping(name []byte) bool {
	return len(name) >= 2 && name[0] == '$' && bytes.IndexByte([]byte("adtx"), name[1]) >= 0 &&
		(len(name) == 2 || name[2] == '.')
}

// endInput is called when an input section ends.
func (r *reader) endInput() {
	s := &r.sect
	if !s.open {
		return
	}
	s.open = false
	if r.producer != gnuProducer {
		return
	}
	if !s.atStart && s.mangled != "" {
		// A static function in a section of its own. It is not certain: where
		// the compiler has folded two functions the section may be named for
		// the other.
		r.entries.add(entry{rva: s.in, name: s.function, size: clamp32(s.inEnd - s.in), flags: flagFunction})
		return
	}
	if s.several || !s.atStart || s.mangled == "" && s.plain == "" {
		return
	}
	// One address, and a section named for one function: if it is the same,
	// all of the section is the function's.
	for i := s.first; i < r.entries.n; i++ {
		if r.ownSection(r.entries.at(i)) {
			for i := s.first; i < r.entries.n; i++ {
				r.entries.at(i).flags |= flagExact
			}
			return
		}
	}
}

// ownSection reports whether a symbol is the function that its section is
// named for.
func (r *reader) ownSection(e *entry) bool {
	if e.name.len() > maxOwnName {
		return false
	}
	name, err := r.reread(e.name)
	if err != nil {
		return false
	}
	if r.sect.mangled == "" {
		return name == r.sect.plain || name == "_"+r.sect.plain
	}
	return name == r.sect.mangled || demangle.Name(name) == demangle.Short(r.sect.mangled)
}

// maxOwnName bounds the names that are compared with their section's.
const maxOwnName = 4096

// endSections ends the map: the base of the image is known only now.
func (r *reader) endSections() {
	r.endInput()
	s := &r.sect
	switch {
	case s.given:
	case s.maybeCOFF && s.lowest%0x1000 == 0:
		r.producer, r.pe, r.base = lldCOFFProducer, true, 0
	default:
		// The headers lie before the first section, on the same page.
		r.base = s.lowest &^ 0xFFF
	}
}

// columnLine reads a line of lld's and mold's maps: numbers, one blank, then
// the section, 8 blanks and the input section, or 16 and the symbol.
func (r *reader) columnLine(text []byte, offset int64) {
	var numbers [4]uint64
	rest := text
	for i := 0; i < r.sect.numbers; i++ {
		var w []byte
		w, rest, _ = field(rest)
		var ok bool
		switch {
		case i == r.sect.numbers-1:
			numbers[i], ok = decimal(w)
		case r.producer == moldProducer && i == 0:
			if numbers[i], ok = hex0x(w); !ok {
				numbers[i], ok = decimal(w) // what is not loaded has "0"
			}
		case r.producer == moldProducer:
			numbers[i], ok = decimal(w)
		default:
			numbers[i], ok = hex(w)
		}
		if !ok {
			return
		}
	}
	if len(rest) < 2 || rest[0] != ' ' {
		return
	}
	rest = rest[1:]
	blanks := 0
	for blanks < len(rest) && rest[blanks] == ' ' {
		blanks++
	}
	name := rest[blanks:]
	at := offset + int64(len(text)-len(name))
	if len(name) == 0 {
		return
	}
	address, size := numbers[0], numbers[r.sect.numbers-2]
	switch blanks {
	case 0:
		if string(name) == "EHDR" && r.producer == moldProducer {
			r.base, r.sect.given = address, true
		}
		if !bytes.Contains(name, []byte(" = ")) {
			r.outputSection(name, address, size)
		}
	case 8:
		// "file.o:(.text.name)"
		if open := bytes.LastIndex(name, []byte(":(")); open >= 0 && name[len(name)-1] == ')' {
			section := name[open+2 : len(name)-1]
			r.inputSection(section, at+int64(open)+2, address, size)
		}
	case 16:
		if len(text) >= minSymbolLine && !bytes.Contains(name, []byte(" = ")) {
			r.symbol(name, at, address, size)
		}
	}
}
