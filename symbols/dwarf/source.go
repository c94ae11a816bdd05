package dwarf

import (
	std "debug/dwarf"
	"io"
	"slices"
	"sort"
	"sync/atomic"

	"logparser/message"
	"logparser/symbols/image"
)

var (
	errTruncated = io.ErrUnexpectedEOF
	errNoSection = message.New("no such section")
)

// A source is the debug sections of one file. Units of a source refer to each
// other by offsets in its .debug_info.
type source struct {
	im  *image.Image
	big bool
	// split says that this is a .dwo or .dwp file: its sections are named
	// *.dwo, and addresses lie in the file that refers to it.
	split  bool
	abbrev abbrevs
	// units are sorted by offset. They are read once (see readUnits).
	units []*unit
	// alternate, if not nil, returns the source that the alternate forms
	// refer to.
	alternate func() (*source, error)
	// opened are the sections of frequent once they were asked for.
	opened [len(frequent)]atomic.Pointer[image.Content]
}

// frequent are the sections that are asked for with each name.
var frequent = [...]string{"info", "str", "abbrev"}

func newSource(im *image.Image, split bool) *source {
	s := &source{im: im, big: im.Order.String() == "BigEndian", split: split}
	s.abbrev.limit = 4<<20 + int(im.File().Size/16)
	return s
}

// section returns a debug section's bytes, given its name without ".debug_".
func (s *source) section(name string) (*image.Content, error) {
	at := slices.Index(frequent[:], name)
	if at >= 0 {
		if c := s.opened[at].Load(); c != nil {
			return c, nil
		}
	}
	if s.split {
		name += ".dwo"
	}
	sec := s.im.Debug(name)
	if sec == nil {
		return nil, message.Errorf("%s: .debug_%s: %w", s.im.File().Path, name, errNoSection)
	}
	c, err := sec.Content()
	if err == nil && at >= 0 {
		s.opened[at].Store(c)
	}
	return c, err
}

func (s *source) errorf(pattern string, args ...any) error {
	return message.Errorf("%s: %w", s.im.File().Path, message.Errorf(pattern, args...))
}

// Unit types (DWARF 5, table 7.2).
const (
	unitCompile      = 1
	unitType         = 2
	unitPartial      = 3
	unitSkeleton     = 4
	unitSplitCompile = 5
	unitSplitType    = 6
)

// A unit is a unit header with what is needed of its root entry.
type unit struct {
	src *source
	encoding
	typ       uint8
	off, end  int64 // in .debug_info; off is that of the header
	die       int64 // offset of the root entry
	abbrevOff int64
	dwoID     uint64
	// sections is where a unit's contributions begin in the sections of a
	// package (.dwp); zero elsewhere.
	sections contributions

	root rootEntry
	// skeleton is the unit of the main file that a split unit belongs to.
	skeleton *unit

	load loader
}

// contributions are offsets into the sections of a .dwp.
type contributions struct{ abbrev, line, strOffsets, rnglists int64 }

// A rootEntry holds the attributes of a unit's root entry as they stand there.
type rootEntry struct {
	tag                 std.Tag
	children            bool
	name, compDir       value
	lowPC, highPC       value
	ranges              value
	stmtList            value
	strOffsetsBase      value
	addrBase            value
	rnglistsBase        value
	gnuRangesBase       value
	dwoName             value
	language            value
	nameString, dirText string // of formString, whose bytes are not kept
	dwoText             string
}

// maxUnits bounds the units of a file, those that are damaged among them: a fixed number and one for every so
// many bytes of .debug_info.
func maxUnits(size int64) int { return 1<<16 + int(size/512) }

// window reads pieces of a section in order, many at a time.
type window struct {
	c      *image.Content
	off    int64
	b      []byte
	buffer []byte
}

const windowSize = 64 << 10

// at returns the bytes from an offset: at least n unless the section ends.
// They are good until the next call.
func (w *window) at(off, n int64) ([]byte, error) {
	if off >= w.off && off-w.off <= int64(len(w.b)) {
		if b := w.b[off-w.off:]; int64(len(b)) >= n || w.off+int64(len(w.b)) == w.c.Size() {
			return b, nil
		}
	}
	if off < 0 || off > w.c.Size() {
		return nil, message.Errorf("offset %#x: %w", off, errTruncated)
	}
	w.b = nil
	b, err := w.c.ReadInto(&w.buffer, off, min(max(n, windowSize), w.c.Size()-off))
	if err != nil {
		return nil, err
	}
	w.off, w.b = off, b
	return b, nil
}

// readUnits reads the headers and root entries of all units of .debug_info.
// Units whose root entry is damaged are left out, and so is what follows a
// damaged header, because it cannot be found. The error is the first; the
// other units stand.
func (s *source) readUnits() error {
	info, err := s.section("info")
	if err != nil {
		return err
	}
	w := window{c: info}
	limit, damaged := maxUnits(info.Size()), 0
	var first error
	for off := int64(0); off < info.Size(); {
		u, err := s.readUnit(&w, off, contributions{})
		if err != nil && first == nil {
			first = s.errorf(".debug_info: unit at offset %#x: %w", off, err)
		}
		if u == nil {
			break
		}
		if err != nil {
			damaged++
		} else if u.typ != unitType && u.typ != unitSplitType {
			s.units = append(s.units, u)
		}
		if len(s.units)+damaged > limit {
			return s.errorf(".debug_info: more than %d units", limit)
		}
		off = u.end
	}
	return first
}

// readUnit reads the header of a unit and its root entry. With an error there
// is a unit nonetheless if its header is sound.
func (s *source) readUnit(w *window, off int64, at contributions) (*unit, error) {
	u := &unit{src: s, off: off, sections: at}
	for n := int64(512); ; n *= 8 {
		data, err := w.at(off, n)
		if err != nil {
			return nil, err
		}
		b := &buf{b: data, big: s.big}
		if err := u.readHeader(b, off, w.c.Size()); err != nil {
			return nil, err
		}
		headerRead := !b.failed
		if headerRead && u.typ != unitType && u.typ != unitSplitType {
			if int64(len(b.b)) > u.end-off {
				b.b = b.b[:u.end-off]
			}
			if err := u.readRoot(b); err != nil {
				return u, err
			}
		}
		if !b.failed {
			return u, nil
		}
		if int64(len(data)) < n || n > maxRootEntry {
			if !headerRead {
				return nil, errTruncated
			}
			return u, errTruncated
		}
	}
}

// maxRootEntry bounds the bytes of a root entry, whose strings (producer,
// command line) may be long.
const maxRootEntry = 1 << 20

func (u *unit) readHeader(b *buf, off, size int64) error {
	length, offsetSize := b.length()
	start := int64(b.pos)
	if b.failed {
		return errTruncated
	}
	if length > uint64(size-off-start) {
		return message.Errorf("length %#x is more than the %#x bytes left", length, size-off-start)
	}
	u.end = off + start + int64(length)
	u.offsetSize = uint8(offsetSize)
	version := b.u16()
	if version < 2 || version > 5 {
		return message.Errorf("unknown DWARF version %d", version)
	}
	u.version = uint8(version)
	if version >= 5 {
		u.typ = b.u8()
		u.addrSize = b.u8()
		u.abbrevOff = int64(b.uint(offsetSize))
	} else {
		u.typ = unitCompile
		u.abbrevOff = int64(b.uint(offsetSize))
		u.addrSize = b.u8()
	}
	switch u.typ {
	case unitSkeleton, unitSplitCompile:
		u.dwoID = b.u64()
	case unitType, unitSplitType:
		b.u64()
		b.uint(offsetSize)
	}
	if !b.failed && u.addrSize != 4 && u.addrSize != 8 && u.addrSize != 2 {
		return message.Errorf("addresses of %d bytes", u.addrSize)
	}
	u.die = off + int64(b.pos)
	return nil
}

// table returns the unit's abbreviations.
func (u *unit) table() (*abbrevTable, error) {
	section, err := u.src.section("abbrev")
	if err != nil {
		return nil, err
	}
	return u.src.abbrev.get(section, u.abbrevOff+u.sections.abbrev, u.encoding, u.src.big)
}

func (u *unit) readRoot(b *buf) error {
	if u.end <= u.die {
		return nil
	}
	code := b.uleb()
	if b.failed || code == 0 {
		return nil
	}
	section, err := u.src.section("abbrev")
	if err != nil {
		return err
	}
	table, err := u.src.abbrev.root(section, u.abbrevOff+u.sections.abbrev, u.encoding, u.src.big, code)
	if err != nil {
		return err
	}
	a := table.get(code)
	if a == nil {
		return message.Errorf("no abbreviation %d", code)
	}
	u.root = rootEntry{tag: a.tag, children: a.children}
	text := func(v value) string {
		if v.form != formString || b.failed || b.pos <= int(v.u) {
			return ""
		}
		return string(b.b[v.u : b.pos-1])
	}
	for _, s := range a.attrs {
		implicit := int64(0)
		if s.form == formImplicitConst {
			implicit = table.implicit[s.implicit]
		}
		v := read(b, u.encoding, s.form, implicit)
		switch std.Attr(s.attr) {
		case std.AttrName:
			u.root.name, u.root.nameString = v, text(v)
		case std.AttrCompDir:
			u.root.compDir, u.root.dirText = v, text(v)
		case std.AttrLowpc:
			u.root.lowPC = v
		case std.AttrHighpc:
			u.root.highPC = v
		case std.AttrRanges:
			u.root.ranges = v
		case std.AttrStmtList:
			u.root.stmtList = v
		case std.AttrStrOffsetsBase:
			u.root.strOffsetsBase = v
		case std.AttrAddrBase, attrGNUAddrBase:
			u.root.addrBase = v
		case std.AttrRnglistsBase:
			u.root.rnglistsBase = v
		case attrGNURangesBase:
			u.root.gnuRangesBase = v
		case std.AttrDwoName, attrGNUDwoName:
			u.root.dwoName, u.root.dwoText = v, text(v)
		case attrGNUDwoID:
			u.dwoID = v.u
		case std.AttrLanguage:
			u.root.language = v
		}
	}
	return nil
}

// unitAt returns the unit that an offset in .debug_info lies in, or nil.
func (s *source) unitAt(off int64) *unit {
	i := sort.Search(len(s.units), func(i int) bool { return s.units[i].end > off })
	if i < len(s.units) && off >= s.units[i].die {
		return s.units[i]
	}
	return nil
}

// string returns the text of a string value read from this unit. data is what
// the value was read from, for strings that stand there.
func (u *unit) string(v value, data []byte) (string, error) {
	switch v.form {
	case formString:
		b := buf{b: data, pos: int(v.u)}
		b.skipString()
		if b.failed {
			return "", errTruncated
		}
		return string(data[v.u : b.pos-1]), nil
	case formStrp:
		return u.sectionString("str", v.u)
	case formLineStrp:
		return u.sectionString("line_str", v.u)
	case formStrx, formStrx1, formStrx2, formStrx3, formStrx4, formGNUStrIndex:
		offsets, err := u.src.section("str_offsets")
		if err != nil {
			return "", err
		}
		base := u.sections.strOffsets
		switch {
		case u.root.strOffsetsBase.present():
			base += int64(u.root.strOffsetsBase.u)
		case u.version >= 5 && u.offsetSize == 8:
			base += 16
		case u.version >= 5:
			base += 8
		}
		size := int64(u.offsetSize)
		if v.u > uint64(offsets.Size()) {
			return "", u.src.errorf(".debug_str_offsets: index %d: %w", v.u, errTruncated)
		}
		data, err := offsets.Bytes(base+int64(v.u)*size, size)
		if err != nil {
			return "", u.src.errorf(".debug_str_offsets: %w", err)
		}
		b := buf{b: data, big: u.src.big}
		return u.sectionString("str", b.uint(int(size)))
	}
	return "", message.Errorf("string of form %#x", v.form)
}

func (u *unit) sectionString(name string, off uint64) (string, error) {
	section, err := u.src.section(name)
	if err != nil {
		return "", err
	}
	s, err := section.String(int64(off))
	if err != nil {
		return "", u.src.errorf(".debug_%s: %w", name, err)
	}
	return s, nil
}

// rootString returns a string of the root entry.
func (u *unit) rootString(v value, text string) string {
	if v.form == formString {
		return text
	}
	if !v.present() {
		return ""
	}
	if (v.form == formGNUStrpAlt || v.form == formStrpSup) && u.src.alternate != nil {
		return u.src.alternateString(v)
	}
	s, err := u.string(v, nil)
	if err != nil {
		return ""
	}
	return s
}

// alternateString returns a string of the alternate file, or "" where that is
// not to be had.
func (s *source) alternateString(v value) string {
	alt, err := s.alternate()
	if err != nil {
		return ""
	}
	section, err := alt.section("str")
	if err != nil {
		return ""
	}
	text, err := section.String(int64(v.u))
	if err != nil {
		return ""
	}
	return text
}
