package dwarf

import (
	std "debug/dwarf"
	"slices"
	"sync"

	"logparser/message"
	"logparser/symbols/image"
)

// An attrSpec is an attribute of an abbreviation.
type attrSpec struct {
	attr uint16 // 0 where it does not fit: no such attribute is read
	form uint16
	size int8 // of the form, or variable
	// implicit is an index into the table's constants, for formImplicitConst.
	implicit uint16
	// at is where the attribute is in an entry whose attributes have fixed sizes.
	at uint16
}

// A step passes over so many bytes, and then over a value of a form whose size varies, if form is not 0.
type step struct {
	fixed uint32
	form  uint16
}

// isOfCode reports whether an attribute is one that a walk reads of functions and inlined calls.
func (s *attrSpec) isOfCode() bool {
	switch std.Attr(s.attr) {
	case std.AttrLowpc, std.AttrHighpc, std.AttrRanges, std.AttrEntrypc, std.AttrCallLine, std.AttrCallFile, std.AttrAbstractOrigin:
		return true
	}
	return false
}

// A role says what a walk over a unit does with an entry.
type role uint8

const (
	// roleNone has nothing of interest and, at any depth below, no code.
	roleNone role = iota
	// roleBlock may hold code below.
	roleBlock
	// roleScope names what is below and may hold functions.
	roleScope
	roleFunction
	roleInlined
)

func roleOf(tag std.Tag) role {
	switch tag {
	case std.TagCompileUnit, std.TagPartialUnit, std.TagSkeletonUnit, std.TagLexDwarfBlock,
		std.TagTryDwarfBlock, std.TagCatchDwarfBlock, std.TagWithStmt, std.TagTypeUnit:
		return roleBlock
	case std.TagNamespace, std.TagClassType, std.TagStructType, std.TagUnionType,
		std.TagInterfaceType, std.TagModule:
		return roleScope
	case std.TagSubprogram, std.TagEntryPoint:
		return roleFunction
	case std.TagInlinedSubroutine:
		return roleInlined
	}
	return roleNone
}

// An abbrev is an abbreviation: the shape of an entry.
type abbrev struct {
	attrs    []attrSpec
	tag      std.Tag
	role     role
	children bool
	// sibling says that there is an attribute DW_AT_sibling.
	sibling bool
	// class says that the scope is a type and not a namespace.
	class bool
	// codeless says that no attribute tells where the entry's code is.
	codeless bool
	// fixed is the size of all attributes together, or variable.
	fixed int32
	// steps passes over the attributes, if their sizes vary.
	steps []step
	// code are those of them that a walk reads of functions and inlined calls, if all sizes are fixed.
	code []attrSpec
}

// complete makes what follows from the attributes, in the memory of steps and code, which it returns with what it
// appended.
func (a *abbrev) complete(steps []step, code []attrSpec) ([]step, []attrSpec) {
	a.codeless = !slices.ContainsFunc(a.attrs, func(s attrSpec) bool {
		return s.attr == uint16(std.AttrLowpc) || s.attr == uint16(std.AttrHighpc) || s.attr == uint16(std.AttrRanges)
	})
	isCode := a.role == roleFunction || a.role == roleInlined
	if isCode && a.fixed > 1<<16-1 {
		a.fixed = variable // the places do not fit
	}
	if a.fixed < 0 {
		from := len(steps)
		var st step
		for i := range a.attrs {
			s := &a.attrs[i]
			if s.size >= 0 {
				st.fixed += uint32(s.size)
				continue
			}
			st.form = s.form
			steps = append(steps, st)
			st = step{}
		}
		if st.fixed > 0 {
			steps = append(steps, st)
		}
		a.steps = steps[from:len(steps):len(steps)]
		return steps, code
	}
	if !isCode {
		return steps, code
	}
	from, at := len(code), uint16(0)
	for i := range a.attrs {
		s := &a.attrs[i]
		if s.at = at; s.isOfCode() {
			code = append(code, *s)
		}
		at += uint16(s.size)
	}
	a.code = code[from:len(code):len(code)]
	return steps, code
}

// rooms returns at most how many steps and attributes of code an abbreviation has.
func (a *abbrev) rooms() (steps, code int) {
	if a.fixed < 0 {
		for i := range a.attrs {
			if a.attrs[i].size < 0 {
				steps++
			}
		}
		return steps + 1, 0
	}
	if a.role != roleFunction && a.role != roleInlined {
		return 0, 0
	}
	for i := range a.attrs {
		if a.attrs[i].isOfCode() {
			code++
		}
	}
	return 1, code
}

// An abbrevTable is the abbreviations of a unit.
type abbrevTable struct {
	// dense holds the abbreviations by code; compilers number from 1 on
	// without gaps. What does not fit is in sparse.
	dense    []abbrev
	passages []passage // of the dense ones
	sparse   map[uint64]*abbrev
	implicit []int64
	cost     int
}

func (t *abbrevTable) get(code uint64) *abbrev {
	if code < uint64(len(t.dense)) {
		if a := &t.dense[code]; a.tag != 0 {
			return a
		}
		return nil
	}
	return t.sparse[code]
}

const (
	// maxAbbrevs bounds the abbreviations of a table and maxAttrs their
	// attributes together; big units have some hundreds.
	maxAbbrevs = 1 << 16
	maxAttrs   = 1 << 19
)

// abbrevs keeps the abbreviation tables of a source: many units may share one.
// It holds two generations; when the young one is full, the old one is
// dropped.
type abbrevs struct {
	mu         sync.Mutex
	limit      int // of a generation, in bytes
	young, old map[abbrevKey]*abbrevTable
	cost       int // of the young one
	// roots are the abbreviations of root entries alone, and taken is where the
	// tables lie.
	roots map[rootKey]*abbrevTable
	taken extents
	// scanned counts the bytes that were read for root entries.
	scanned int64
	// buffer is memory for the bytes of a table.
	buffer []byte
}

type rootKey struct {
	abbrevKey
	code uint64
}

var (
	errOverlap   = message.New("overlaps another table")
	errManyRoots = message.New("root entries of too many kinds")
)

// maxScanned bounds the bytes that are read for root entries, given the size of the section. Units that share a table have
// few kinds of root entries; if each had one of its own, each might make the reader go through the whole table.
func maxScanned(size int64) int64 { return 1<<20 + 16*size }

// root returns a table that has the abbreviation of a root entry and nothing
// else. Most units are never asked for more.
func (c *abbrevs) root(section *image.Content, off int64, enc encoding, big bool, code uint64) (*abbrevTable, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := rootKey{abbrevKey{off, enc}, code}
	if t := c.roots[key]; t != nil {
		return t, nil
	}
	if c.scanned > maxScanned(section.Size()) {
		return nil, message.Errorf(".debug_abbrev: %w", errManyRoots)
	}
	t, scanned, err := c.parse(section, off, enc, big, code)
	c.scanned += scanned
	if err != nil {
		return nil, err
	}
	if c.roots == nil || len(c.roots) >= 1<<12 {
		c.roots = map[rootKey]*abbrevTable{}
	}
	c.roots[key] = t
	return t, nil
}

type abbrevKey struct {
	off int64
	enc encoding
}

func (c *abbrevs) get(section *image.Content, off int64, enc encoding, big bool) (*abbrevTable, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := abbrevKey{off, enc}
	t := c.young[key]
	if t != nil {
		return t, nil
	}
	if t = c.old[key]; t == nil {
		var err error
		if t, _, err = c.parse(section, off, enc, big, 0); err != nil {
			return nil, err
		}
	}
	if c.young == nil || c.cost+t.cost > c.limit {
		c.old, c.young, c.cost = c.young, map[abbrevKey]*abbrevTable{}, 0
	}
	c.young[key] = t
	c.cost += t.cost
	return t, nil
}

// maxBuffer is the most memory that is kept from one table for the next, in bytes.
const maxBuffer = 1 << 20

// parse reads the table at an offset of .debug_abbrev. The table does
// not say how long it is, so the bytes are read in growing pieces. If only is
// not 0, the table is read as far as that code, and holds nothing else. The
// number is that of the bytes that were gone through for it.
//
// Tables do not overlap: if they could, each of many units might make the reader go through most of the section. So
// nothing is read of what another table has, and a table that cannot be read is not tried again.
func (c *abbrevs) parse(section *image.Content, off int64, enc encoding, big bool, only uint64) (*abbrevTable, int64, error) {
	before, next := c.taken.around(off)
	if before != nil && before.off == off && before.err != nil {
		return nil, 0, before.err
	}
	if before != nil && before.off < off && before.end > off {
		return nil, 0, message.Errorf(".debug_abbrev at offset %#x: %w", off, errOverlap)
	}
	limit, beyond := section.Size(), errTruncated
	if next != nil {
		limit, beyond = next.off, errOverlap
	}
	defer func() {
		if cap(c.buffer) > maxBuffer {
			c.buffer = nil
		}
	}()
	scanned, n := int64(0), int64(8<<10)
	if only == 0 {
		n = 64 << 10 // as much as tables of large units have
	}
	for ; ; n *= 4 {
		data, err := section.ReadInto(&c.buffer, off, max(0, min(n, limit-off)))
		if err != nil {
			return nil, scanned, message.Errorf(".debug_abbrev: %w", err)
		}
		b := buf{b: data, big: big}
		t, err := parseAbbrevTable(&b, enc, only)
		scanned += int64(b.pos)
		if err == nil && b.failed {
			if off+int64(len(data)) < limit {
				continue
			}
			err = beyond
		}
		if err != nil {
			t, err = nil, message.Errorf(".debug_abbrev at offset %#x: %w", off, err)
		}
		c.taken.add(extent{off, off + int64(b.pos), err})
		return t, scanned, err
	}
}

// abbrevParser reads a table.
type abbrevParser struct {
	b         *buf
	enc       encoding
	table     *abbrevTable
	constants map[int64]uint16
	total     int // attributes
	// list and codes are the abbreviations in their order; the attributes of one end in attrs where ends says. They are cut
	// from there when there will be no more, so that no part of attrs has to be kept twice.
	list  []abbrev
	codes []uint64
	attrs []attrSpec
	ends  []int
}

func parseAbbrevTable(b *buf, enc encoding, only uint64) (*abbrevTable, error) {
	p := abbrevParser{b: b, enc: enc, table: &abbrevTable{}, constants: map[int64]uint16{}}
	for count := 0; ; {
		code := b.uleb()
		if code == 0 || b.failed {
			break
		}
		if count++; count > maxAbbrevs {
			return nil, message.Errorf("more than %d abbreviations", maxAbbrevs)
		}
		if only != 0 && code != only {
			skipAbbrev(b)
			continue
		}
		a, err := p.abbrev()
		if err != nil {
			return nil, err
		}
		if a.tag != 0 {
			p.list, p.codes, p.ends = append(p.list, a), append(p.codes, code), append(p.ends, len(p.attrs))
			if only != 0 {
				break
			}
		}
	}
	if b.failed {
		return p.table, nil // the caller reads more
	}
	p.finish()
	return p.table, nil
}

// abbrev reads an abbreviation, from behind its code on. Its attributes are those behind the ones that were read before.
func (p *abbrevParser) abbrev() (abbrev, error) {
	b, t := p.b, p.table
	a := abbrev{tag: std.Tag(b.uleb())}
	a.children = b.u8() != 0
	a.role = roleOf(a.tag)
	a.class = a.role == roleScope && a.tag != std.TagNamespace && a.tag != std.TagModule
	start := len(p.attrs)
	for {
		attr, form := b.uleb(), b.uleb()
		s := attrSpec{}
		known := attr <= 0xffff
		if form == formImplicitConst {
			c := b.sleb()
			i, ok := p.constants[c]
			if !ok && len(t.implicit) <= 0xffff {
				i, ok = uint16(len(t.implicit)), true
				p.constants[c] = i
				t.implicit = append(t.implicit, c)
			}
			s.implicit, known = i, known && ok
		}
		if b.failed || attr == 0 && form == 0 {
			break
		}
		if p.total++; p.total > maxAttrs {
			return a, message.Errorf("more than %d attributes", maxAttrs)
		}
		if known {
			s.attr = uint16(attr)
		}
		if form > 0xffff {
			return a, message.Errorf("unknown form %#x", form)
		}
		s.form = uint16(form)
		n := p.enc.size(s.form)
		s.size = int8(n)
		if n < 0 {
			a.fixed = variable
		} else if a.fixed >= 0 {
			a.fixed += int32(n)
		}
		a.sibling = a.sibling || attr == uint64(std.AttrSibling)
		p.attrs = append(p.attrs, s)
	}
	if a.tag == 0 {
		p.attrs = p.attrs[:start]
	}
	return a, nil
}

// finish makes the table of what was read.
func (p *abbrevParser) finish() {
	t := p.table
	attrs := slices.Clone(p.attrs)
	steps, code, dense := 0, 0, 1
	for i := range p.list {
		a := &p.list[i]
		from := 0
		if i > 0 {
			from = p.ends[i-1]
		}
		a.attrs = attrs[from:p.ends[i]:p.ends[i]]
		moreSteps, moreCode := a.rooms()
		steps, code = steps+moreSteps, code+moreCode
		if p.codes[i] == uint64(dense) {
			dense++
		}
	}
	allSteps, allCode := make([]step, 0, steps), make([]attrSpec, 0, code)
	t.dense = make([]abbrev, 1, dense)
	for i := range p.list {
		a := &p.list[i]
		allSteps, allCode = a.complete(allSteps, allCode)
		switch code := p.codes[i]; {
		case code == uint64(len(t.dense)):
			t.dense = append(t.dense, *a)
		case t.get(code) == nil:
			if t.sparse == nil {
				t.sparse = map[uint64]*abbrev{}
			}
			sparse := *a
			t.sparse[code] = &sparse
		}
	}
	t.passages = make([]passage, len(t.dense))
	for i := range t.dense {
		if a := &t.dense[i]; a.tag != 0 {
			t.passages[i] = passageOf(a, p.b.big)
		}
	}
	// By what unsafe.Sizeof says.
	t.cost = 10*(len(attrs)+code) + 8*steps + 96*len(t.dense) + 140*len(t.sparse) + 8*len(t.implicit)
}

// skipAbbrev passes over an abbreviation, from behind its code on.
func skipAbbrev(b *buf) {
	b.uleb()
	b.u8()
	for !b.failed {
		attr, form := b.uleb(), b.uleb()
		if form == formImplicitConst {
			b.sleb()
		}
		if attr == 0 && form == 0 {
			return
		}
	}
}

// skip passes over an entry's attributes.
func (a *abbrev) skip(b *buf, enc encoding) {
	if a.fixed >= 0 {
		b.skip(uint64(a.fixed))
		return
	}
	for i := range a.steps {
		s := &a.steps[i]
		b.skip(uint64(s.fixed))
		if s.form == formExprloc && b.pos < len(b.b) && b.b[b.pos] < 0x80 {
			n := uint64(b.b[b.pos])
			b.skip(1 + n)
		} else if s.form != 0 {
			skipForm(b, enc, s.form)
		}
	}
}

// skipTo passes over an entry's attributes and returns the value of
// DW_AT_sibling.
func (a *abbrev) skipTo(b *buf, enc encoding) (sibling value) {
	for i := range a.attrs {
		switch s := &a.attrs[i]; {
		case s.attr == uint16(std.AttrSibling):
			sibling = read(b, enc, s.form, 0)
		case s.size >= 0:
			b.skip(uint64(s.size))
		default:
			skipForm(b, enc, s.form)
		}
	}
	return sibling
}
