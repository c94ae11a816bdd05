package mapfile

import (
	"bytes"
	"io"
)

// Levels of a line of GNU's maps.
const (
	levelNone = iota
	levelOutput
	levelInput
)

// gnuLine reads a line of GNU ld's and gold's maps:
//
//	.text           0x0000000000401000      0x178
//	 .text.name     0x0000000000401000        0x7 file.o
//	                0x0000000000401000                name
//
// Where the name of a section is long the rest stands on the next line.
func (r *reader) gnuLine(text []byte, offset int64) {
	s := &r.sect
	w, rest, at := field(text)
	if len(w) == 0 {
		s.pendingLevel = levelNone
		return
	}
	switch {
	case at == 0 && w[0] == '.', at == 1 && (w[0] == '.' || w[0] == '*' || string(w) == "COMMON"):
		level := levelOutput
		if at == 1 {
			level = levelInput
		}
		s.pendingLevel = levelNone
		if len(bytes.TrimSpace(rest)) == 0 {
			s.pendingLevel = level
			s.pending = append(s.pending[:0], w...)
			s.pendingAt = offset + int64(at)
			return
		}
		r.gnuSection(level, w, offset+int64(at), rest)
	case at == 0:
		// Headings, and "LOAD file.o".
		s.pendingLevel = levelNone
	default:
		address, ok := hex0x(w)
		if !ok {
			return
		}
		second, _, skip := field(rest)
		if len(second) == 0 {
			return
		}
		if level := s.pendingLevel; level != levelNone {
			s.pendingLevel = levelNone
			if _, ok := hex0x(second); ok {
				r.gnuSection(level, s.pending, s.pendingAt, text)
				return
			}
		}
		if _, ok := hex0x(second); ok {
			return // a header of gold's
		}
		if len(text) < minSymbolLine {
			return
		}
		name := bytes.TrimRight(rest[skip:], " ")
		r.gnuSymbol(name, offset+int64(len(text)-len(rest)+skip), address)
	}
}

// gnuSection reads the address and size behind a section's name.
func (r *reader) gnuSection(level int, name []byte, nameAt int64, rest []byte) {
	w, rest, _ := field(rest)
	address, ok := hex0x(w)
	w, _, _ = field(rest)
	size, ok2 := hex0x(w)
	switch {
	case level == levelInput && name[0] == '*':
		// "*fill*" and patterns of the linker's script: what lies between
		// two input sections is nobody's.
		r.endInput()
	case !ok || !ok2:
	case level == levelOutput:
		r.outputSection(name, address, size)
	default:
		r.inputSection(name, nameAt, address, size)
	}
}

func (r *reader) gnuSymbol(name []byte, nameAt int64, address uint64) {
	s := &r.sect
	switch {
	case bytes.HasPrefix(name, []byte("__image_base__")), bytes.HasPrefix(name, []byte("__ImageBase")),
		bytes.HasPrefix(name, []byte("___ImageBase")), bytes.HasPrefix(name, []byte("___image_base__")):
		if !s.given {
			r.base, s.given = address, true
		}
		r.pe = true
	case bytes.HasPrefix(name, []byte("PROVIDE")), bytes.HasPrefix(name, []byte(". =")), bytes.Contains(name, []byte(" = ")),
		bytes.HasPrefix(name, []byte("ASSERT")):
		// What the linker's script computes.
	default:
		r.symbol(name, nameAt, address, 0)
	}
}

// reread returns a piece of the file that was passed already.
func (r *reader) reread(s span) (string, error) {
	b := make([]byte, s.len())
	n, err := r.file.ReadAt(b, s.offset())
	if err != nil && !(err == io.EOF && n == len(b)) {
		return "", err
	}
	return string(b), nil
}
