package dwarf

import (
	"bytes"
	std "debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/line"

	"logparser/symbols"
)

// image of the tests: code from 0x1000 to 0x3000 in a file that begins at 0.
const (
	codeLo = 0x1000
	codeHi = 0x3000
)

// A symbol is a function of the symbol table of a made file.
type symbol struct {
	name string
	addr uint64
	size uint64
}

// makeELF makes a little-endian ELF file of 64 bits with debug sections and, where there are symbols, a symbol table.
func makeELF(sections map[string][]byte, table ...symbol) []byte {
	le := binary.LittleEndian
	names := "\x00.shstrtab\x00.text\x00"
	data := make([]byte, 64+56)
	copy(data, "\x7fELF\x02\x01\x01")
	le.PutUint16(data[16:], uint16(elf.ET_DYN))
	le.PutUint16(data[18:], uint16(elf.EM_X86_64))
	le.PutUint32(data[20:], 1)
	le.PutUint64(data[32:], 64)
	le.PutUint16(data[54:], 56)
	le.PutUint16(data[56:], 1)
	le.PutUint16(data[58:], 64)
	le.PutUint16(data[62:], 1)
	le.PutUint32(data[64:], uint32(elf.PT_LOAD))
	le.PutUint64(data[64+40:], codeHi)
	var headers []byte
	add := func(name int, typ elf.SectionType, flags elf.SectionFlag, addr uint64, off, size int) {
		b := make([]byte, 64)
		le.PutUint32(b, uint32(name))
		le.PutUint32(b[4:], uint32(typ))
		le.PutUint64(b[8:], uint64(flags))
		le.PutUint64(b[16:], addr)
		le.PutUint64(b[24:], uint64(off))
		le.PutUint64(b[32:], uint64(size))
		headers = append(headers, b...)
	}
	add(0, elf.SHT_NULL, 0, 0, 0, 0)
	var debug []byte
	type later struct{ name, off, size int }
	var rest []later
	for name, b := range sections {
		rest = append(rest, later{len(names), len(debug), len(b)})
		names += ".debug_" + name + "\x00"
		debug = append(debug, b...)
	}
	var entries maker
	if len(table) > 0 {
		entries.Write(make([]byte, elf.Sym64Size))
	}
	for _, f := range table {
		entries.u32(uint32(len(names)))
		entries.u8(elf.ST_INFO(elf.STB_GLOBAL, elf.STT_FUNC), 0)
		entries.u16(2) // .text
		entries.u64(f.addr)
		entries.u64(f.size)
		names += f.name + "\x00"
	}
	add(1, elf.SHT_STRTAB, 0, 0, len(data), len(names))
	add(11, elf.SHT_NOBITS, elf.SHF_ALLOC|elf.SHF_EXECINSTR, codeLo, 0, codeHi-codeLo)
	data = append(data, names...)
	for _, l := range rest {
		add(l.name, elf.SHT_PROGBITS, 0, 0, len(data)+l.off, l.size)
	}
	data = append(data, debug...)
	if len(table) > 0 {
		link := len(headers) + 40
		add(0, elf.SHT_SYMTAB, 0, 0, len(data), entries.Len())
		le.PutUint32(headers[link:], 1) // the names are among those of the sections
		data = append(data, entries.Bytes()...)
	}
	le.PutUint64(data[40:], uint64(len(data)))
	le.PutUint16(data[60:], uint16(len(headers)/64))
	return append(data, headers...)
}

// A maker writes debug sections.
type maker struct{ bytes.Buffer }

func (m *maker) u8(v ...byte) { m.Write(v) }
func (m *maker) u16(v uint16) { binary.Write(m, binary.LittleEndian, v) }
func (m *maker) u32(v uint32) { binary.Write(m, binary.LittleEndian, v) }
func (m *maker) u64(v uint64) { binary.Write(m, binary.LittleEndian, v) }
func (m *maker) str(s string) { m.WriteString(s); m.WriteByte(0) }
func (m *maker) uleb(v uint64) {
	for v >= 0x80 {
		m.WriteByte(byte(v) | 0x80)
		v >>= 7
	}
	m.WriteByte(byte(v))
}

// unit5 puts the header of a DWARF 5 compile unit in front of entries.
func unit5(entries []byte) []byte {
	var m maker
	m.u32(uint32(len(entries)) + 8)
	m.u16(5)
	m.u8(unitCompile, 8)
	m.u32(0)
	m.Write(entries)
	return m.Bytes()
}

// abbrevOf writes an abbreviation: code, tag, children, then pairs of
// attribute and form.
func (m *maker) abbrev(code uint64, tag std.Tag, children bool, pairs ...uint64) {
	m.uleb(code)
	m.uleb(uint64(tag))
	if children {
		m.u8(1)
	} else {
		m.u8(0)
	}
	for _, p := range pairs {
		m.uleb(p)
	}
	m.u8(0, 0)
}

const headerSize = 12 // of a unit made by unit5

// Abbreviations of the tests.
const (
	abUnit        = 1 + iota // language, low_pc, high_pc
	abUnitRanges             // language, ranges (sec_offset)
	abUnitBare               // language
	abFunction               // name, low_pc, high_pc; with children
	abLeaf                   // name, low_pc, high_pc
	abRanges                 // name, ranges
	abInlined                // abstract_origin (ref4), low_pc, high_pc, call_line; with children
	abAbstract               // name, abstract_origin (ref4)
	abNamespace              // name; with children
	abUnitLeaf               // language, low_pc, high_pc; without children
	abInlinedBare            // abstract_origin (ref4), call_line; with children
	abUnitLines              // language, low_pc, high_pc, stmt_list (sec_offset)
	abLinkage                // linkage_name, low_pc, high_pc
	abInlinedFile            // abstract_origin (ref4), low_pc, high_pc, call_line, call_file
)

func abbrevs5() []byte {
	var m maker
	lang := []uint64{uint64(std.AttrLanguage), formData1}
	pc := []uint64{uint64(std.AttrLowpc), formAddr, uint64(std.AttrHighpc), formData4}
	name := []uint64{uint64(std.AttrName), formString}
	join := func(lists ...[]uint64) (out []uint64) {
		for _, l := range lists {
			out = append(out, l...)
		}
		return out
	}
	ranges := []uint64{uint64(std.AttrRanges), formSecOffset}
	origin := []uint64{uint64(std.AttrAbstractOrigin), formRef4}
	callLine := []uint64{uint64(std.AttrCallLine), formData1}
	m.abbrev(abUnit, std.TagCompileUnit, true, join(lang, pc)...)
	m.abbrev(abUnitRanges, std.TagCompileUnit, true, join(lang, ranges)...)
	m.abbrev(abUnitBare, std.TagCompileUnit, true, lang...)
	m.abbrev(abFunction, std.TagSubprogram, true, join(name, pc)...)
	m.abbrev(abLeaf, std.TagSubprogram, false, join(name, pc)...)
	m.abbrev(abRanges, std.TagSubprogram, false, join(name, ranges)...)
	m.abbrev(abInlined, std.TagInlinedSubroutine, true, join(origin, pc, callLine)...)
	m.abbrev(abAbstract, std.TagSubprogram, false, join(name, origin)...)
	m.abbrev(abNamespace, std.TagNamespace, true, name...)
	m.abbrev(abUnitLeaf, std.TagCompileUnit, false, join(lang, pc)...)
	m.abbrev(abInlinedBare, std.TagInlinedSubroutine, true, join(origin, callLine)...)
	m.abbrev(abUnitLines, std.TagCompileUnit, true, join(lang, pc, []uint64{uint64(std.AttrStmtList), formSecOffset})...)
	m.abbrev(abLinkage, std.TagSubprogram, false, join([]uint64{uint64(std.AttrLinkageName), formString}, pc)...)
	m.abbrev(abInlinedFile, std.TagInlinedSubroutine, false, join(origin, pc, callLine, []uint64{uint64(std.AttrCallFile), formData1})...)
	m.u8(0)
	return m.Bytes()
}

func (m *maker) unit(code byte, lo, size uint32) {
	m.u8(code, 0x21) // C++14
	m.u64(uint64(lo))
	m.u32(size)
}

// origin adds an abstract function, which refers to itself, and returns where it is in the unit.
func (m *maker) origin(name string) uint32 {
	at := uint32(headerSize + m.Len())
	m.u8(abAbstract)
	m.str(name)
	m.u32(at)
	return at
}

func (m *maker) function(code byte, name string, lo uint64, size uint32) {
	m.u8(code)
	m.str(name)
	m.u64(lo)
	m.u32(size)
}

func openMade(t testing.TB, sections map[string][]byte, table ...symbol) *Table {
	t.Helper()
	if sections["abbrev"] == nil {
		sections["abbrev"] = abbrevs5()
	}
	data := makeELF(sections, table...)
	opened, err := Open(&symbols.File{Path: "made", ReaderAt: bytes.NewReader(data), Size: int64(len(data))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	return opened.(*Table)
}

// madeLines makes a line table of DWARF 4: the code is of /first.c, but from lo to hi, which is of the second file.
func madeLines(second string, lo, hi uint64) []byte {
	var head, m maker
	head.u8(1, 1, 1, 0, 1, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0)
	for _, file := range []string{"/first.c", second} {
		head.str(file)
		head.u8(0, 0, 0)
	}
	head.u8(0)
	m.u16(4)
	m.u32(uint32(head.Len()))
	m.Write(head.Bytes())
	m.u8(0, 9, line.DW_LINE_set_address)
	m.u64(codeLo)
	m.u8(line.DW_LNS_copy, line.DW_LNS_advance_pc)
	m.uleb(lo - codeLo)
	m.u8(line.DW_LNS_set_file, 2, line.DW_LNS_copy, line.DW_LNS_advance_pc)
	m.uleb(hi - lo)
	m.u8(line.DW_LNS_set_file, 1, line.DW_LNS_copy, line.DW_LNS_advance_pc)
	m.uleb(codeHi - hi)
	m.u8(0, 1, line.DW_LINE_end_sequence)
	var out maker
	out.u32(uint32(m.Len()))
	out.Write(m.Bytes())
	return out.Bytes()
}

// names looks addresses up and joins the functions' names.
func names(table *Table, rvas ...uint64) string {
	var out []string
	for _, rva := range rvas {
		sym, err := table.Lookup(rva)
		switch {
		case errors.Is(err, symbols.ErrNotFound):
			out = append(out, "-")
		case err != nil:
			out = append(out, "error")
		default:
			var chain []string
			for _, f := range sym.Frames {
				chain = append(chain, f.Function)
			}
			out = append(out, strings.Join(chain, "<"))
		}
	}
	return strings.Join(out, " ")
}

// TestTombstones has functions that the linker dropped beside one that it
// kept.
func TestTombstones(t *testing.T) {
	var e maker
	e.u8(abUnitRanges, 0x21)
	e.u32(12)
	e.function(abLeaf, "kept", 0x1100, 0x10)
	for i, lo := range []uint64{0, 1, 0x40, 1<<64 - 1, 1<<64 - 2, 1<<32 - 1, 0x2ff8} {
		e.function(abLeaf, fmt.Sprint("dropped", i), lo, 0x10)
	}
	e.u8(0)
	var r maker
	r.u32(0)
	r.u16(5)
	r.u8(8, 0)
	r.u32(0)
	r.u8(rleStartLength)
	r.u64(0x1100)
	r.uleb(0x10)
	r.u8(rleStartLength)
	r.u64(0)
	r.uleb(0x100)
	r.u8(rleEndOfList)
	table := openMade(t, map[string][]byte{"info": unit5(e.Bytes()), "rnglists": r.Bytes()})
	if got, want := names(table, 0, 8, 0x48, 0x10ff, 0x1100, 0x110f, 0x1110, 0x2fff), "- - - - kept kept - -"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	n := 0
	table.Procedures(func(rva uint64, name string) bool {
		n++
		return name == "kept"
	})
	if n != 1 {
		t.Errorf("%d procedures", n)
	}
}

// TestUnplaced has units that do not say where their code is.
func TestUnplaced(t *testing.T) {
	var e maker
	e.u8(abUnitBare, 0x21)
	e.function(abLeaf, "f", 0x1100, 0x10)
	e.u8(0)
	info := unit5(e.Bytes())
	table := openMade(t, map[string][]byte{"info": info})
	if got, want := names(table, 0x1100, 0x1110), "f -"; got != want {
		t.Errorf("walked: got %s, want %s", got, want)
	}
	var a maker
	a.u32(44)
	a.u16(2)
	a.u32(0)
	a.u8(8, 0)
	a.u32(0) // up to a multiple of 16
	a.u64(0x1100)
	a.u64(0x10)
	a.u64(0)
	a.u64(0)
	table = openMade(t, map[string][]byte{"info": info, "aranges": a.Bytes()})
	if got, want := names(table, 0x1100, 0x1110), "f -"; got != want || len(table.unplaced) != 0 {
		t.Errorf("by .debug_aranges: got %s, want %s; %d units unplaced", got, want, len(table.unplaced))
	}
}

// TestSelfReference has entries that refer to themselves and to each other.
func TestSelfReference(t *testing.T) {
	var e maker
	e.unit(abUnit, 0x1000, 0x1000)
	self := uint32(headerSize + e.Len())
	e.u8(abAbstract)
	e.str("")
	e.u32(self)
	e.function(abFunction, "f", 0x1100, 0x100)
	inlined := uint32(headerSize + e.Len())
	e.u8(abInlined)
	e.u32(self)
	e.u64(0x1110)
	e.u32(0x10)
	e.u8(7)
	e.u8(abInlined)
	e.u32(inlined)
	e.u64(0x1114)
	e.u32(0x4)
	e.u8(8)
	e.u8(0, 0, 0, 0)
	table := openMade(t, map[string][]byte{"info": unit5(e.Bytes())})
	if got, want := names(table, 0x1110, 0x1114, 0x1118), unnamed+"<f "+unnamed+"<"+unnamed+"<f "+unnamed+"<f"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestOverlaps has inlined calls that end behind the one around them, as Go
// makes them, and that lie outside of the function.
func TestOverlaps(t *testing.T) {
	var e maker
	e.unit(abUnit, 0x1000, 0x1000)
	a, b, c := e.origin("a"), e.origin("b"), e.origin("c")
	call := func(origin uint32, lo uint64, size uint32) {
		e.u8(abInlined)
		e.u32(origin)
		e.u64(lo)
		e.u32(size)
		e.u8(1)
	}
	e.function(abFunction, "f", 0x1100, 0x100)
	call(a, 0x1110, 0x10)
	call(b, 0x1118, 0x10) // to 0x1128, a only to 0x1120
	e.u8(0)
	e.u8(0)
	call(c, 0x11f8, 0x10) // beyond the end
	e.u8(0)
	call(c, 0x1400, 0x10) // elsewhere
	e.u8(0)
	e.u8(0, 0)
	table := openMade(t, map[string][]byte{"info": unit5(e.Bytes())})
	got := names(table, 0x1108, 0x1110, 0x1118, 0x1124, 0x1128, 0x11f8, 0x1204, 0x1400)
	if want := "f a<f b<a<f b<a<f f c<f - -"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestCallsWithoutCode has inlined calls without addresses, which strict DWARF 2
// writes for some: the calls in them have addresses, and are called from them.
func TestCallsWithoutCode(t *testing.T) {
	var e maker
	e.unit(abUnit, 0x1000, 0x1000)
	a, b, c, d := e.origin("a"), e.origin("b"), e.origin("c"), e.origin("d")
	bare := func(origin uint32, line byte) {
		e.u8(abInlinedBare)
		e.u32(origin)
		e.u8(line)
	}
	call := func(origin uint32, lo uint64, size uint32) {
		e.u8(abInlined)
		e.u32(origin)
		e.u64(lo)
		e.u32(size)
		e.u8(1)
	}
	e.function(abFunction, "f", 0x1100, 0x100)
	bare(a, 7)
	bare(d, 8) // nothing lies in it
	e.u8(0)
	bare(b, 9)
	call(c, 0x1110, 0x10)
	e.u8(0)
	e.u8(0)
	call(d, 0x1130, 0x10)
	e.u8(0)
	e.u8(0)
	call(c, 0x1150, 0x10)
	e.u8(0)
	e.u8(0, 0)
	table := openMade(t, map[string][]byte{"info": unit5(e.Bytes())})
	got := names(table, 0x1108, 0x1110, 0x1120, 0x1130, 0x1140, 0x1150)
	if want := "f c<b<a<f f d<a<f f c<f"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	sym, err := table.Lookup(0x1110)
	if err != nil || len(sym.Frames) != 4 || sym.Frames[1].Line != 1 || sym.Frames[2].Line != 9 || sym.Frames[3].Line != 7 {
		t.Errorf("%+v, %v: the lines of the calls", sym.Frames, err)
	}
	if tree, err := table.tree(table.src.units[0]); err != nil || len(tree.nodes) != 5 {
		t.Errorf("%d inlined calls are kept, %v", len(tree.nodes), err)
	}
}

// TestScopes names a function without a linkage name by its scopes.
func TestScopes(t *testing.T) {
	var e maker
	e.unit(abUnit, 0x1000, 0x1000)
	e.u8(abNamespace)
	e.str("app")
	e.u8(abNamespace)
	e.str("")
	e.function(abLeaf, "f", 0x1100, 0x10)
	e.u8(0)
	e.function(abLeaf, "g", 0x1110, 0x10)
	e.u8(0)
	e.function(abLeaf, "h", 0x1120, 0x10)
	e.u8(0)
	table := openMade(t, map[string][]byte{"info": unit5(e.Bytes())})
	if got, want := names(table, 0x1100, 0x1110, 0x1120), "app::(anonymous namespace)::f app::g h"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestFolded has two functions at one address.
func TestFolded(t *testing.T) {
	var e maker
	e.unit(abUnit, 0x1000, 0x1000)
	e.function(abLeaf, "f", 0x1100, 0x10)
	e.function(abLeaf, "g", 0x1100, 0x10)
	e.u8(0)
	var other maker
	other.unit(abUnit, 0x1100, 0x10)
	other.function(abLeaf, "h", 0x1100, 0x10)
	other.u8(0)
	info := append(unit5(e.Bytes()), unit5(other.Bytes())...)
	table := openMade(t, map[string][]byte{"info": info})
	sym, err := table.Lookup(0x1104)
	if err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprint(sym.Frames[0].Function, sym.Aliases); s != "h[f g]" {
		t.Errorf("got %s", s)
	}
}

// TestDamagedUnit has a unit that cannot be read behind one that can.
func TestDamagedUnit(t *testing.T) {
	var good, bad maker
	good.unit(abUnit, 0x1100, 0x10)
	good.function(abLeaf, "f", 0x1100, 0x10)
	good.u8(0)
	bad.unit(abUnit, 0x1200, 0x100)
	bad.function(abLeaf, "g", 0x1200, 0x10)
	bad.u8(99) // no such abbreviation
	info := append(unit5(good.Bytes()), unit5(bad.Bytes())...)
	info = append(info, 1, 2, 3) // no header
	table := openMade(t, map[string][]byte{"info": info})
	if got, want := names(table, 0x1100, 0x1200, 0x1210, 0x1400), "f g error error"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	_, err := table.Lookup(0x1210)
	if err == nil || !strings.Contains(err.Error(), "made: .debug_info: unit at offset") {
		t.Errorf("error %v", err)
	}
}

// TestLimits opens what few bytes make much of.
func TestLimits(t *testing.T) {
	deep := func() []byte {
		var e maker
		e.unit(abUnit, 0x1000, 0x1000)
		for range maxDepth + 10 {
			e.u8(abNamespace)
			e.str("n")
		}
		return unit5(e.Bytes())
	}
	// Many functions share a long list of ranges.
	shared := func() (info, lists []byte) {
		var e, r maker
		e.unit(abUnit, 0x1000, 0x1000)
		for range 20000 {
			e.u8(abRanges)
			e.str("")
			e.u32(12)
		}
		e.u8(0)
		r.u32(0)
		r.u16(5)
		r.u8(8, 0)
		r.u32(0)
		for range 20000 {
			r.u8(rleStartLength)
			r.u64(0x1100)
			r.uleb(0x10)
		}
		r.u8(rleEndOfList)
		return unit5(e.Bytes()), r.Bytes()
	}
	info, lists := shared()
	for _, c := range []struct {
		name     string
		sections map[string][]byte
		want     string
	}{
		{"deep", map[string][]byte{"info": deep()}, "nest deeper"},
		{"shared ranges", map[string][]byte{"info": info, "rnglists": lists}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := openMade(t, c.sections)
			_, err := table.Lookup(0x1500)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if used := table.cache.used; used > 64<<20 {
				t.Errorf("%d bytes are kept", used)
			}
		})
	}
}
