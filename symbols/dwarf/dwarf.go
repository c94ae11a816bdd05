// Package dwarf names functions, lines and inlined calls by the DWARF debug
// information of ELF and PE files.
//
// Its input is an image (see package image) with the sections .debug_*, or
// .zdebug_*, of DWARF 2 to 5: an executable, a shared library, or a separate
// debug file, whose other sections have no contents. Its output is a [Table].
// The format is that of the DWARF standard, with the GNU extensions for split
// units and alternate files.
//
// # How it reads
//
// A table reads one unit at a time, when an address in it is first asked for.
// Opening reads nothing. The first look-up reads the header and the root entry
// of every unit, and nothing below it, which gives an index from addresses to
// units; a unit that does not say where its code is takes its ranges from
// .debug_aranges, and if that section is missing too, from its functions. A
// unit's entries are then decoded once, into the parts of its functions and
// the inlined calls that cover them, and its line table into rows. What was
// decoded is kept up to a limit that grows with the file, and dropped by age
// beyond it. Names are read when an address needs them.
//
// Many addresses are looked up together with LookupAll: sorted, grouped by
// unit, each unit by one processor. Where sections are compressed, the first
// look-up inflates all that look-ups need, on all processors; Prompt answers
// before that, by the symbol table.
//
// # What it answers
//
// An inlined call's frame has the line inside it, the frame around it the line
// of the call. A function with several pieces (GCC's .cold) has one name, and
// Start and Size are those of the piece. Code that the linker dropped, whose
// addresses are 0, 1, -1 or -2 with whatever was added, does not lie in
// executable memory and is passed over. Addresses that no DWARF function
// covers (assembler code, stubs of the linkage table, units whose split file
// is missing) are named by the symbol tables; then the symbol's kind says so,
// and the line is the line table's, if it has one.
//
// Function names are qualified and without parameters, as demangle.Short
// makes them of the linkage name: app::Shape::area, app::twice<int>,
// app::Box::operator bool, (anonymous namespace)::f,
// main::{lambda()#1}::operator(). Signatures are what demangle.Full makes.
// GCC writes no linkage name for functions that are not visible outside their
// file: the symbol table's name stands in where one starts at the same address
// and means the same function. What has neither (inlined functions of that
// sort, C) is named by its entry and the scopes around it, without a
// signature; a lambda is then {lambda(int)} without its number.
//
// # What it is built on
//
// Entries, ranges and line programs are decoded here. debug/dwarf makes a
// record of every attribute of every entry, some 0.5 microseconds each where a
// big program has forty million entries; it wants whole sections in memory,
// and knows neither split units nor alternate files. delve's godwarf trees
// are built on it. delve's line package reads little-endian tables with 32-bit
// offsets only, keeps a state machine a row apart, and trusts counts; its
// opcodes are used here. The tests hold every function, inlined call and line
// row against debug/dwarf and delve.
package dwarf

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"logparser/message"
	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/demangle"
	"logparser/symbols/image"
	"logparser/symbols/symtab"
)

// Format opens files with DWARF. Open fails with an error that wraps
// [symbols.ErrNoSymbols] where an image has none; package symtab may still
// have names for it.
var Format = symbols.Format{Name: "DWARF", Detect: image.Detect, Open: Open}

// Open makes a table of a file's debug information.
var Open = image.Opener(New)

// New makes a table of an opened image's debug information. On success the
// table owns the image and closes it.
func New(im *image.Image) (*Table, error) {
	if !im.HasDWARF() {
		return nil, message.Errorf("%s: %w", im.File().Path, symbols.ErrNoSymbols)
	}
	t := &Table{im: im, src: newSource(im, false)}
	t.src.alternate = func() (*source, error) { return t.alternate(t.src) }
	// What is kept may grow with the file.
	t.cache.limit = 16<<20 + im.File().Size/4*3
	t.names.limit = 8<<20 + im.File().Size/16
	var err error
	if t.version, err = firstVersion(im); err != nil {
		return nil, err
	}
	return t, nil
}

// firstVersion reads the DWARF version of the first unit, without inflating
// more than that.
func firstVersion(im *image.Image) (int, error) {
	head, err := im.Debug("info").Head(16)
	if err != nil {
		return 0, err
	}
	b := buf{b: head, big: im.Order.String() == "BigEndian"}
	b.length()
	version := b.u16()
	if b.failed || version < 2 || version > 5 {
		return 0, message.Errorf("%s: .debug_info: unknown DWARF version %d", im.File().Path, version)
	}
	return int(version), nil
}

// A Table is the debug information of an image. It is safe for concurrent
// use.
type Table struct {
	im      *image.Image
	src     *source
	version int
	cache   cache
	names   nameCache
	lookups sync.Pool // of *lookup

	indexOnce sync.Once
	indexed   atomic.Bool
	indexErr  error
	// index is sorted by address; reach[i] is the highest end of index[:i+1].
	index []unitSpan
	reach []uint64
	// unplaced are units that do not say where their code is.
	unplaced     []*unit
	unplacedOnce sync.Once
	found        []unitSpan // of the unplaced units, sorted

	symtabOnce sync.Once
	symtab     *symtab.Table
	symtabErr  error

	split splitFiles
	alt   altFile
}

// A unitSpan says that a unit has code in a range of addresses.
type unitSpan struct {
	span
	u *unit
}

// isCode reports whether a range lies in one executable section.
func (t *Table) isCode(s span) bool {
	_, hi, ok := t.im.Executable(s.lo)
	return ok && s.hi <= hi
}

// rangeLimit bounds the ranges that are read for one unit, or for the index.
// What is made of one takes up to some hundred bytes for a moment, and a few
// bytes may stand for many, because entries may share a list.
func (t *Table) rangeLimit() int { return 1<<19 + int(t.im.File().Size/128) }

// buildIndex reads the units' headers and where their code is.
func (t *Table) buildIndex() {
	defer t.indexed.Store(true)
	t.im.Inflate("info", "str", "line", "rnglists", "ranges", "abbrev", "str_offsets", "addr", "line_str")
	t.indexErr = t.src.readUnits()
	limit := t.rangeLimit()
	var aranges map[int64][]span
	arangesRead := false
	var spans []span
	for _, u := range t.src.units {
		if u.root.tag == 0 || !u.root.ranges.present() && !u.root.children && !u.hasSplit() && !u.root.lowPC.present() {
			continue
		}
		c := newCoder(u, nil, t.isCode, limit)
		var err error
		spans, err = c.spans(spans[:0], u.root.lowPC, u.root.highPC, u.root.ranges)
		limit = c.left
		if err != nil {
			if t.indexErr == nil {
				t.indexErr = u.src.errorf("unit at offset %#x: %w", u.off, err)
			}
			if errors.Is(err, errTooManyRanges) {
				break
			}
		}
		says := u.root.ranges.present() || u.root.lowPC.present() && u.root.highPC.present()
		// DWARF 2 has no ranges: what a unit says there is only its main part.
		if partial := u.version == 2 && !u.root.ranges.present(); !says || partial {
			if !arangesRead {
				arangesRead = true
				aranges = t.readAranges()
			}
			if aranges != nil {
				spans = append(spans, aranges[u.off]...)
			} else if !says {
				t.unplaced = append(t.unplaced, u)
			}
		}
		for _, s := range spans {
			t.index = append(t.index, unitSpan{s, u})
		}
	}
	slices.SortStableFunc(t.index, func(a, b unitSpan) int { return compare(a.lo, b.lo) })
	t.reach = make([]uint64, len(t.index))
	var high uint64
	for i, s := range t.index {
		high = max(high, s.hi)
		t.reach[i] = high
	}
}

// maxUnitsAt bounds the units that are asked for one address.
const maxUnitsAt = 64

// unitsAt appends to out the units that have code at an address, the one whose
// range begins nearest first.
func (t *Table) unitsAt(addr uint64, out []*unit) []*unit {
	t.indexOnce.Do(t.buildIndex)
	i, end := 0, len(t.index)
	for i < end {
		if mid := int(uint(i+end) / 2); t.index[mid].lo <= addr {
			i = mid + 1
		} else {
			end = mid
		}
	}
	i--
	for n := 0; i >= 0 && t.reach[i] > addr && n < maxUnitsAt; i, n = i-1, n+1 {
		if t.index[i].hi > addr && !slices.Contains(out, t.index[i].u) {
			out = append(out, t.index[i].u)
		}
	}
	return out
}

// placeUnits walks the units that do not say where their code is.
func (t *Table) placeUnits() {
	t.unplacedOnce.Do(func() {
		limit := t.rangeLimit()
		for _, u := range t.unplaced {
			tree, _ := t.tree(u)
			if tree == nil {
				continue
			}
			for _, p := range tree.parts {
				if limit--; limit < 0 {
					return
				}
				t.found = append(t.found, unitSpan{span{p.lo, p.hi}, u})
			}
		}
		slices.SortStableFunc(t.found, func(a, b unitSpan) int { return compare(a.lo, b.lo) })
	})
}

// Lookup implements [symbols.Table].
func (t *Table) Lookup(rva uint64) (symbols.Symbol, error) {
	l := t.lookup()
	defer t.done(l)
	return l.symbol(rva)
}

// mangles reports whether the unit's language is one whose compilers mangle
// names.
func (u *unit) mangles() bool {
	switch u.root.language.u {
	case 0x04, 0x1a, 0x21, 0x2b, 0x3a, 0x11, // C++, Objective C++
		0x13, 0x1c, 0x1e: // D, Rust, Swift
		return true
	}
	return false
}

// improve takes a name from the symbol table where one starts at the same
// address and ends in the same identifier. Of folded functions, which share
// their address, only the one of the very same name will do.
func (t *Table) improve(name *funcName, lo uint64) {
	st, _ := t.symbolTable()
	if st == nil || lo < t.im.Base {
		return
	}
	if name.function == unnamed {
		sym, err := st.Lookup(lo - t.im.Base)
		if err == nil && sym.Start == lo-t.im.Base && sym.Kind == symbols.Symtab {
			name.function, name.signature = sym.Frames[0].Function, sym.Frames[0].Signature
		}
		return
	}
	last := lastName(name.function)
	var short, full string
	for _, raw := range st.LinkNames(lo - t.im.Base) {
		s, f := demangle.Forms(raw)
		if f == raw || lastName(s) != last {
			continue
		}
		if s == name.function {
			short, full = s, f
			break
		}
		if short != "" && s != short {
			return
		}
		if short == "" {
			short, full = s, f
		}
	}
	if short != "" {
		name.function, name.signature = short, full
	}
}

// LinkNames returns what the image's own symbol table calls what begins at an RVA.
func (t *Table) LinkNames(rva uint64) []string {
	st, _ := t.symbolTable()
	if st == nil {
		return nil
	}
	return st.LinkNames(rva)
}

// lastName returns the last part of a qualified name, without template
// arguments.
func lastName(name string) string {
	if i := strings.Index(name, "operator"); i >= 0 && !strings.Contains(name[i:], "::") {
		return name[i:]
	}
	depth, end := 0, len(name)
	for i := len(name) - 1; i >= 0; i-- {
		switch name[i] {
		case '>', ')', '}':
			depth++
		case '<', '(', '{':
			if depth--; depth == 0 && name[i] == '<' {
				end = i
			}
		case ':':
			if depth == 0 {
				return name[i+1 : end]
			}
		}
	}
	return name[:end]
}

// symbolTable returns the image's own symbol table, or nil.
func (t *Table) symbolTable() (*symtab.Table, error) {
	t.symtabOnce.Do(func() { t.symtab, t.symtabErr = symtab.New(t.im) })
	return t.symtab, t.symtabErr
}

// Slow implements [symbols.Prompt].
func (t *Table) Slow() bool { return !t.indexed.Load() && t.im.Debug("info").Compressed() }

// Prompt implements [symbols.Prompt]: it asks the symbol table.
func (t *Table) Prompt(rva uint64) (symbols.Symbol, error) {
	st, err := t.symbolTable()
	if st == nil {
		return symbols.Symbol{}, message.Errorf("RVA %#x: %w (%v)", rva, symbols.ErrNotFound, err)
	}
	return st.Lookup(rva)
}

// Procedures implements [symbols.Table]. It reads every unit.
func (t *Table) Procedures(yield func(rva uint64, name string) bool) error {
	t.indexOnce.Do(t.buildIndex)
	l := t.lookup()
	defer t.done(l)
	l.many = true
	first := t.indexErr
	var covered []span
	for _, u := range t.src.units {
		code := t.codeUnit(u)
		if code == nil {
			continue
		}
		tree, err := l.tree(code)
		if err != nil && first == nil {
			first = err
		}
		if tree == nil {
			continue
		}
		starts := make(map[int32]uint64)
		for _, p := range tree.parts {
			if tree.functions[p.fn].entry == p.lo {
				starts[p.fn] = p.lo
			}
			covered = append(covered, span{p.lo, p.hi})
		}
		for i, fn := range tree.functions {
			lo, ok := starts[int32(i)]
			if !ok {
				lo = fn.entry
			}
			name, err := l.function(code, tree, int32(i))
			if err != nil {
				if first == nil {
					first = err
				}
				continue
			}
			if !yield(lo-t.im.Base, name.function) {
				return nil
			}
		}
	}
	st, _ := t.symbolTable()
	if st == nil {
		return first
	}
	slices.SortFunc(covered, func(a, b span) int { return compare(a.lo, b.lo) })
	err := st.Procedures(func(rva uint64, name string) bool {
		addr := t.im.Base + rva
		i := sort.Search(len(covered), func(i int) bool { return covered[i].lo > addr }) - 1
		if i >= 0 && covered[i].hi > addr {
			return true
		}
		return yield(rva, name)
	})
	if first == nil {
		first = err
	}
	return first
}

// Identity implements [symbols.Table]; it is the image's.
func (t *Table) Identity() modules.Identity { return t.im.Identity }

// Describe implements [symbols.Table]; the version is that of the first unit.
func (t *Table) Describe() string { return fmt.Sprintf("DWARF %d", t.version) }

// Close implements [symbols.Table].
func (t *Table) Close() error {
	err := t.split.close()
	if err2 := t.alt.close(); err == nil {
		err = err2
	}
	if err2 := t.im.Close(); err == nil {
		err = err2
	}
	return err
}
