package dwarf

import (
	"path/filepath"
	"strings"
	"sync"

	"logparser/message"
	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/image"
)

// hasSplit reports whether a unit is a skeleton, whose entries lie in another
// file.
func (u *unit) hasSplit() bool {
	return !u.src.split && (u.root.dwoName.present() || u.typ == unitSkeleton)
}

// splitFiles are the files with split units that were opened: .dwo files, one
// for each unit, or one .dwp file for all.
type splitFiles struct {
	mu     sync.Mutex
	units  map[*unit]*unit // skeleton to split unit, nil where there is none
	opened []*image.Image

	packageOnce sync.Once
	pack        *dwp
}

func (s *splitFiles) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first error
	for _, im := range s.opened {
		if err := im.Close(); first == nil {
			first = err
		}
	}
	s.opened = nil
	return first
}

// codeUnit returns the unit that has a unit's entries: itself, or its split
// unit, or nil where that is not to be had. Whatever file is found must have
// the unit's id. Without it, what clang writes into the skeleton for inlined
// calls is all that is known of them.
func (t *Table) codeUnit(u *unit) *unit {
	if !u.hasSplit() {
		return u
	}
	t.split.mu.Lock()
	defer t.split.mu.Unlock()
	if code, ok := t.split.units[u]; ok {
		return code
	}
	code := t.findSplit(u)
	if code != nil {
		code.skeleton = u
	} else if u.root.children {
		code = u
	}
	if t.split.units == nil {
		t.split.units = map[*unit]*unit{}
	}
	t.split.units[u] = code
	return code
}

// findSplit looks for a skeleton's split unit: in the package beside the
// image, then in the .dwo file of the unit's own.
func (t *Table) findSplit(u *unit) *unit {
	sibling := t.im.File().Sibling
	if sibling == nil || u.dwoID == 0 {
		return nil
	}
	t.split.packageOnce.Do(func() { t.split.pack = t.openPackage(sibling) })
	if p := t.split.pack; p != nil {
		if code, err := p.unit(u.dwoID); err == nil {
			return code
		}
	}
	name := u.rootString(u.root.dwoName, u.root.dwoText)
	if name == "" {
		return nil
	}
	names := []string{name}
	if !absolute(name) {
		if dir := u.compDir(); dir != "" {
			names = append(names, joinPath(dir, name))
		}
	}
	if base := modules.BaseName(name); base != name {
		names = append(names, base)
	}
	for _, name := range names {
		var code *unit
		_, err := sibling(name, func(f *symbols.File) bool {
			code = t.openSplit(f, u.dwoID)
			return code != nil
		})
		if err == nil {
			return code
		}
	}
	return nil
}

// openSplit opens a .dwo file and returns the unit with the id, or nil; then
// the file is still the caller's.
func (t *Table) openSplit(f *symbols.File, id uint64) *unit {
	im, err := image.Open(f)
	if err != nil {
		return nil
	}
	src := newSource(im, true)
	src.readUnits()
	for _, code := range src.units {
		if code.dwoID == id {
			t.split.opened = append(t.split.opened, im)
			return code
		}
	}
	im.FreeScratch()
	return nil
}

// openPackage opens the package of all split units that lies beside the
// image, or returns nil.
func (t *Table) openPackage(sibling func(string, func(*symbols.File) bool) (*symbols.File, error)) *dwp {
	base := filepath.Base(t.im.File().Path)
	names := []string{base + ".dwp"}
	if trimmed, ok := strings.CutSuffix(base, ".debug"); ok {
		names = append(names, trimmed+".dwp")
	}
	for _, name := range names {
		var p *dwp
		_, err := sibling(name, func(f *symbols.File) bool {
			im, err := image.Open(f)
			if err != nil {
				return false
			}
			if p, err = newPackage(im); err != nil {
				im.FreeScratch()
				return false
			}
			return true
		})
		if err != nil {
			continue
		}
		t.split.opened = append(t.split.opened, p.src.im)
		return p
	}
	return nil
}

// A dwp is a package of split units: the sections of many .dwo files, one
// behind the other, and a hash table from unit ids to what is whose.
type dwp struct {
	src   *source
	index []byte
	big   bool
	// columns says which section each column of the table is for.
	columns []uint32
	units   uint32
	slots   uint32
	version uint32 // 2 for GNU's, 5 for DWARF 5's
}

// Sections of a package index (DWARF 5, table 7.1, and GNU's version 2, which
// has the same numbers for what is read here).
const (
	sectInfo       = 1
	sectAbbrev     = 3
	sectLine       = 4
	sectStrOffsets = 6
	sectRnglists   = 8 // of version 5
)

var errNotInPackage = message.New("no such unit in the package")

func newPackage(im *image.Image) (*dwp, error) {
	s := im.Debug("cu_index")
	if s == nil {
		return nil, errNoSection
	}
	c, err := s.Content()
	if err != nil {
		return nil, err
	}
	p := &dwp{src: newSource(im, true)}
	p.big = p.src.big
	if p.index, err = c.Bytes(0, c.Size()); err != nil {
		return nil, err
	}
	b := &buf{b: p.index, big: p.big}
	p.version = b.u32()
	if p.version != 2 {
		b.pos = 0
		p.version = uint32(b.u16())
		b.u16()
	}
	columns := b.u32()
	p.units, p.slots = b.u32(), b.u32()
	need := 16 + uint64(p.slots)*12 + uint64(columns)*4 + 2*uint64(columns)*uint64(p.units)*4
	if b.failed || p.version != 2 && p.version != 5 || columns > 64 || p.slots == 0 || p.slots&(p.slots-1) != 0 || need > uint64(len(p.index)) {
		return nil, message.Errorf("%s: .debug_cu_index: damaged", im.File().Path)
	}
	b.pos = 16 + int(p.slots)*12
	for range columns {
		p.columns = append(p.columns, b.u32())
	}
	return p, nil
}

// unit finds a unit by its id.
func (p *dwp) unit(id uint64) (*unit, error) {
	mask := uint64(p.slots - 1)
	step := id>>32&mask | 1
	for slot, n := id&mask, uint32(0); n < p.slots; slot, n = (slot+step)&mask, n+1 {
		b := &buf{b: p.index, pos: 16 + int(slot)*8, big: p.big}
		signature := b.u64()
		b.pos = 16 + int(p.slots)*8 + int(slot)*4
		row := b.u32()
		if row == 0 {
			return nil, errNotInPackage
		}
		if signature != id {
			continue
		}
		if row > p.units {
			return nil, errNotInPackage
		}
		at := contributions{}
		info := int64(-1)
		b.pos = 16 + int(p.slots)*12 + len(p.columns)*4*int(row)
		for _, section := range p.columns {
			off := int64(b.u32())
			switch section {
			case sectInfo:
				info = off
			case sectAbbrev:
				at.abbrev = off
			case sectLine:
				at.line = off
			case sectStrOffsets:
				at.strOffsets = off
			case sectRnglists:
				if p.version >= 5 {
					at.rnglists = off
				}
			}
		}
		if info < 0 {
			return nil, errNotInPackage
		}
		section, err := p.src.section("info")
		if err != nil {
			return nil, err
		}
		u, err := p.src.readUnit(&window{c: section}, info, at)
		if err != nil {
			return nil, err
		}
		if u.dwoID != id {
			return nil, errNotInPackage
		}
		return u, nil
	}
	return nil, errNotInPackage
}

// fileTable returns the table that file numbers in a split unit refer to: the
// split file's own, if it has one, otherwise the skeleton's.
func (t *Table) fileTable(u, split *unit) *lineTable {
	if split.root.stmtList.present() && split.src.split {
		if lines, err := t.lines(split); err == nil {
			return lines
		}
	}
	lines, err := t.lines(u)
	if err != nil {
		return nil
	}
	return lines
}
