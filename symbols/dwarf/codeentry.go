package dwarf

import (
	std "debug/dwarf"
	"encoding/binary"
)

// A codeEntry is what is read of a function or an inlined call.
type codeEntry struct {
	low, high, ranges, entry value
	line, file, origin       value
}

// of returns where the value of an attribute goes, nil where it is not read.
func (e *codeEntry) of(attr uint16) *value {
	switch std.Attr(attr) {
	case std.AttrLowpc:
		return &e.low
	case std.AttrHighpc:
		return &e.high
	case std.AttrRanges:
		return &e.ranges
	case std.AttrEntrypc:
		return &e.entry
	case std.AttrCallLine:
		return &e.line
	case std.AttrCallFile:
		return &e.file
	case std.AttrAbstractOrigin:
		return &e.origin
	}
	return nil
}

// fixedEntry reads an entry whose attributes have fixed sizes, all of which are there.
func (w *walker) fixedEntry(b *buf, a *abbrev, e *codeEntry) {
	from := b.pos
	data := b.b[from : from+int(a.fixed)]
	for i := range a.code {
		s := &a.code[i]
		v := e.of(s.attr)
		v.form = s.form
		switch {
		case s.size == 4 && !b.big:
			v.u = uint64(binary.LittleEndian.Uint32(data[s.at:]))
		case s.size == 8 && !b.big:
			v.u = binary.LittleEndian.Uint64(data[s.at:])
		case s.size == 1:
			v.u = uint64(data[s.at])
		default:
			b.pos = from + int(s.at)
			*v = w.value(b, s)
		}
	}
	b.pos = from + int(a.fixed)
}

// variableEntry reads an entry of which some attribute tells its size.
func (w *walker) variableEntry(b *buf, a *abbrev, e *codeEntry) {
	for i := range a.attrs {
		s := &a.attrs[i]
		if v := e.of(s.attr); v != nil {
			*v = w.value(b, s)
		} else if s.size >= 0 {
			b.skip(uint64(s.size))
		} else {
			skipForm(b, w.u.encoding, s.form)
		}
	}
}
