package gosym

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"logparser/symbols"
)

// Where the parts of the made program lie: code, table, go:func.* and
// moduledata.
const (
	madeText   = 0x1000
	madeEnd    = 0x1060
	madeTable  = 0x2000
	madeGoFunc = 0x3000
	madeModule = 0x4000
)

// byteOrder is what binary.LittleEndian and binary.BigEndian are.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// made is a small program in one of the forms of the pclntab.
type made struct {
	version version
	order   byteOrder
	pointer int
	// noModule leaves moduledata out; text puts the start of the code into the
	// header; pie leaves pointers to relocations.
	noModule, text, pie bool
	// merged has the table in .rodata, as a C linker leaves it, behind so many
	// bytes like the beginning of one.
	merged bool
	decoys int
}

func (m made) word(v uint64) []byte {
	if m.pointer == 4 {
		return m.order.AppendUint32(nil, uint32(v))
	}
	return m.order.AppendUint64(nil, v)
}

func (m made) u32(list ...uint32) (b []byte) {
	for _, v := range list {
		b = m.order.AppendUint32(b, v)
	}
	return b
}

// A step of a pc-value table: the value for so many bytes of code.
type step struct{ value, size int }

func pcvalues(steps ...step) []byte {
	var b []byte
	last := -1
	for i, s := range steps {
		delta := uint64(s.value-last) << 1
		if s.value < last {
			delta = uint64(last-s.value-1)<<1 | 1
		}
		if i > 0 && delta == 0 {
			panic("two steps of one value")
		}
		b = binary.AppendUvarint(b, delta)
		b = binary.AppendUvarint(b, uint64(s.size))
		last = s.value
	}
	return append(b, 0)
}

// tables makes the pclntab and what lies around it. The program is
//
//	0x1000 main.outer, 0x18 bytes and padding: a.go:10, from 8 on main.inner,
//	       b.go:5, which it calls in a.go:11 and which at 12 has main.leaf,
//	       b.go:7, called in b.go:6
//	0x1020 main.Map[...], up to 0x1050: c.go:30
//	0x1050 runtime.asm without lines, up to 0x1060
func (m made) tables() (table, goFunc, module []byte) {
	nameList := []string{"runtime.asm", "main.outer", "main.Map[int,string]", "main.inner", "main.leaf"}
	fileList := []string{"a.go", "b.go", "c.go"}
	var base uint32 // what the offsets of values count from
	offsets := func(list []string, at uint32) (out []uint32, b []byte) {
		for _, s := range list {
			out = append(out, at+uint32(len(b)))
			b = append(append(b, s...), 0)
		}
		return out, b
	}
	valueList := [][]byte{
		{0},
		pcvalues(step{10, 8}, step{5, 4}, step{7, 4}, step{6, 4}, step{11, 4}), // outer's lines
		pcvalues(step{0, 8}, step{1, 12}, step{0, 4}),                          // outer's files
		pcvalues(step{-1, 8}, step{0, 4}, step{1, 4}, step{0, 4}, step{-1, 4}), // outer's inlined calls
		pcvalues(step{30, 0x30}), // Map's lines
		pcvalues(step{2, 0x30}),  // Map's file
	}
	if m.version == go12 {
		// The file table counts from 1.
		valueList[2] = pcvalues(step{1, 8}, step{2, 12}, step{1, 4})
		valueList[5] = pcvalues(step{3, 0x30})
	}
	header := append(m.u32([]uint32{magic12, magic116, magic118, magic120}[m.version]), 0, 0, 1, byte(m.pointer))
	words := map[version]int{go12: 1, go116: 7, go118: 8, go120: 8}[m.version]
	at := uint32(len(header) + words*m.pointer)
	const functions = 3
	field := m.pointer
	if m.version >= go118 {
		field = 4
	}
	var functab uint32
	if m.version == go12 {
		at += uint32((2*functions+1)*field + 4 + 4 + 4*len(fileList))
	}
	part := func(b []byte) (off uint32) {
		for len(table)%8 != 0 {
			table = append(table, 0)
		}
		off = at + uint32(len(table))
		table = append(table, b...)
		return off
	}
	for (at % 8) != 0 {
		at++
	}
	start := func() uint32 {
		if m.version == go12 {
			return at + uint32(len(table)+7)&^7
		}
		return 0
	}
	names, b := offsets(nameList, start())
	namesAt := part(b)
	files, b := offsets(fileList, start())
	filesAt := part(b)
	unitsAt := part(m.u32(files...))
	var values []uint32
	b = nil
	base = start()
	for _, v := range valueList {
		values = append(values, base+uint32(len(b)))
		b = append(b, v...)
	}
	valuesAt := part(b)

	// The functions' records follow the function table.
	var records []byte
	var entries []uint32
	recordsAt := (2*functions + 1) * field
	if m.version == go12 {
		recordsAt = int(start())
	}
	for recordsAt%8 != 0 {
		recordsAt++
	}
	text := uint64(madeText)
	if m.version >= go118 {
		text = 0
	}
	address := func(v uint64) []byte {
		if field == 4 {
			return m.u32(uint32(v))
		}
		return m.order.AppendUint64(nil, v)
	}
	noValues := values[0] - base
	record := func(pc uint64, name, fileValues, lineValues, inlined uint32, tree bool) {
		entries = append(entries, uint32(recordsAt+len(records)))
		npcdata, nfuncdata := uint32(0), byte(0)
		if tree {
			npcdata, nfuncdata = 3, 5
		}
		r := address(text + pc)
		r = append(r, m.u32(name, 0, 0, noValues, fileValues, lineValues, npcdata)...)
		if m.version >= go116 {
			r = append(r, m.u32(0)...) // the unit
		}
		if m.version >= go120 {
			r = append(r, m.u32(1)...) // the first line
		}
		r = append(r, 0, 0, 0, nfuncdata)
		if tree {
			r = append(r, m.u32(0, 0, inlined)...)
			for m.version < go118 && m.pointer == 8 && len(r)%8 != 0 {
				r = append(r, 0)
			}
			where, none := uint64(madeGoFunc), uint64(0)
			if m.version >= go118 {
				where, none = 0, 1<<32-1
			}
			datum := 3
			if m.version == go12 {
				datum = 4
			}
			for i := range int(nfuncdata) {
				if i == datum {
					r = append(r, address(where)...)
				} else {
					r = append(r, address(none)...)
				}
			}
		}
		for len(r)%8 != 0 {
			r = append(r, 0)
		}
		records = append(records, r...)
	}
	record(0, names[1], values[2], values[1], values[3], true)
	record(0x20, names[2], values[5], values[4], 0, false)
	record(0x50, names[0], noValues, noValues, 0, false)
	pcs := []uint64{0, 0x20, 0x50, madeEnd - madeText}
	var list []byte
	for i, pc := range pcs {
		list = append(list, address(text+pc)...)
		if i < functions {
			list = append(list, address(uint64(entries[i]))...)
		}
	}
	if m.version == go12 {
		part(records)
		list = append(list, m.u32(uint32(len(header)+m.pointer+len(list)+4))...)
		list = append(list, m.u32(uint32(len(files)+1))...)
		list = append(list, m.u32(files...)...)
		header = append(header, m.word(functions)...)
		header = append(header, list...)
	} else {
		for len(list)%8 != 0 {
			list = append(list, 0)
		}
		functab = part(append(list, records...))
		fields := []uint64{functions, uint64(len(files)), 0, uint64(namesAt), uint64(unitsAt), uint64(filesAt), uint64(valuesAt), uint64(functab)}
		if m.text {
			fields[2] = madeText
		}
		if m.version == go116 {
			fields = append(fields[:2], fields[3:]...)
		}
		for _, v := range fields {
			header = append(header, m.word(v)...)
		}
	}
	for uint32(len(header)) < at {
		header = append(header, 0)
	}
	table = append(header, table...)

	for i, parent := range []uint32{20, 16} {
		name := names[3+i]
		if m.version >= go120 {
			goFunc = append(goFunc, m.u32(0, name, parent, 1)...)
			continue
		}
		goFunc = append(goFunc, 0xff, 0xff, 0, 0)
		if m.order == binary.BigEndian {
			goFunc[len(goFunc)-4], goFunc[len(goFunc)-3] = 0xff, 0xff
		}
		goFunc = append(goFunc, m.u32(0, 0, name, parent)...)
	}
	w := make([]uint64, moduleWords)
	w[wordHeader] = madeTable
	for i, off := range map[int]uint32{wordNames: namesAt, wordUnits: unitsAt, wordFiles: filesAt, wordValues: valuesAt,
		wordRecords: functab, wordFunctab: functab} {
		w[i] = madeTable + uint64(off)
	}
	w[wordFunctions], w[wordMinPC], w[wordText] = functions+1, madeText, madeText
	w[wordGoFunc120] = madeGoFunc
	if m.version == go118 {
		w[wordGoFunc118], w[wordGoFunc120] = madeGoFunc, 1
	}
	for _, v := range w {
		module = append(module, m.word(v)...)
	}
	return table, goFunc, module
}

// A part is a section of a made file.
type part struct {
	name  string
	typ   elf.SectionType
	flags elf.SectionFlag
	addr  uint64
	data  []byte
}

// file makes the ELF file.
func (m made) file() []byte {
	table, goFunc, module := m.tables()
	parts := []part{
		{".text", elf.SHT_PROGBITS, elf.SHF_ALLOC | elf.SHF_EXECINSTR, madeText, make([]byte, madeEnd-madeText)},
		{".gopclntab", elf.SHT_PROGBITS, elf.SHF_ALLOC, madeTable, table},
		{".typelink", elf.SHT_PROGBITS, elf.SHF_ALLOC, madeGoFunc, goFunc},
	}
	if m.merged {
		var before []byte
		for range m.decoys {
			before = append(before, table[:headerSize]...)
		}
		parts[1] = part{".rodata", elf.SHT_PROGBITS, elf.SHF_ALLOC, madeTable - uint64(len(before)), append(before, table...)}
		parts = append(parts, part{".go.buildinfo", elf.SHT_PROGBITS, elf.SHF_ALLOC, 0x5000, []byte("Go")})
	}
	switch {
	case m.pie:
		// All pointers of moduledata go to relocations.
		var rela []byte
		for at := 0; at < len(module); at += 8 {
			if v := m.order.Uint64(module[at:]); v >= madeText && v < madeModule {
				for _, field := range []uint64{madeModule + uint64(at), uint64(elf.R_X86_64_RELATIVE), v} {
					rela = m.order.AppendUint64(rela, field)
				}
				clear(module[at : at+8])
			}
		}
		parts = append(parts, part{".data", elf.SHT_PROGBITS, elf.SHF_ALLOC | elf.SHF_WRITE, madeModule, module},
			part{".rela.dyn", elf.SHT_RELA, elf.SHF_ALLOC, madeModule + 0x1000, rela})
	case !m.noModule:
		parts = append(parts, part{".data", elf.SHT_PROGBITS, elf.SHF_ALLOC | elf.SHF_WRITE, madeModule, module})
	}
	return m.elf(parts)
}

// elf joins sections to a file without segments.
func (m made) elf(parts []part) []byte {
	class, header, entry := elf.ELFCLASS64, 64, 64
	machine := elf.EM_X86_64
	if m.pointer == 4 {
		class, header, entry, machine = elf.ELFCLASS32, 52, 40, elf.EM_386
	}
	encoding := elf.ELFDATA2LSB
	if m.order == binary.BigEndian {
		encoding = elf.ELFDATA2MSB
		if machine = elf.EM_S390; m.pointer == 4 {
			machine = elf.EM_MIPS
		}
	}
	names := []byte("\x00.shstrtab\x00")
	body := make([]byte, header)
	var table []byte
	section := func(name int, p part, off int) {
		s := m.u32(uint32(name), uint32(p.typ))
		for _, v := range []uint64{uint64(p.flags), p.addr, uint64(off), uint64(len(p.data))} {
			s = append(s, m.word(v)...)
		}
		s = append(s, m.u32(0, 0)...)
		s = append(s, m.word(8)...)
		s = append(s, m.word(0)...)
		table = append(table, s...)
	}
	section(0, part{}, 0)
	for _, p := range parts {
		section(len(names), p, len(body))
		names = append(append(names, p.name...), 0)
		body = append(body, p.data...)
		for len(body)%8 != 0 {
			body = append(body, 0)
		}
	}
	section(1, part{typ: elf.SHT_STRTAB, data: names}, len(body))
	body = append(body, names...)
	for len(body)%8 != 0 {
		body = append(body, 0)
	}
	head := append([]byte{0x7f, 'E', 'L', 'F', byte(class), byte(encoding), 1}, make([]byte, 9)...)
	head = m.order.AppendUint16(head, uint16(elf.ET_DYN))
	head = m.order.AppendUint16(head, uint16(machine))
	head = append(head, m.u32(1)...)
	for _, v := range []uint64{0, 0, uint64(len(body))} {
		head = append(head, m.word(v)...)
	}
	head = append(head, m.u32(0)...)
	for _, v := range []int{header, 0, 0, entry, len(table) / entry, len(table)/entry - 1} {
		head = m.order.AppendUint16(head, uint16(v))
	}
	copy(body, head)
	return append(body, table...)
}

func openBytes(data []byte) (*Table, error) {
	t, err := Open(&symbols.File{Path: "made", ReaderAt: bytes.NewReader(data), Size: int64(len(data))})
	if err != nil {
		return nil, err
	}
	return t.(*Table), nil
}

// answers renders what a table says at addresses.
func answers(table *Table, rvas ...uint64) string {
	var b strings.Builder
	for _, rva := range rvas {
		fmt.Fprintf(&b, "%#x", rva)
		sym, err := table.Lookup(rva)
		switch {
		case errors.Is(err, symbols.ErrNotFound):
			b.WriteString(" nothing")
		case err != nil:
			fmt.Fprintf(&b, " %v", err)
		default:
			fmt.Fprintf(&b, " %#x+%#x %s:", sym.Start, sym.Size, sym.Kind)
			for i, f := range sym.Frames {
				if i > 0 {
					b.WriteString(" <-")
				}
				fmt.Fprintf(&b, " %s", f.Function)
				if f.Signature != "" {
					fmt.Fprintf(&b, " (%s)", f.Signature)
				}
				if f.Line != 0 {
					fmt.Fprintf(&b, " %s:%d", f.File, f.Line)
				}
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

const madeAnswers = `0xfff nothing
0x1000 0x1000+0x18 procedure: main.outer a.go:10
0x1008 0x1000+0x18 procedure: main.inner b.go:5 <- main.outer a.go:11
0x100c 0x1000+0x18 procedure: main.leaf b.go:7 <- main.inner b.go:6 <- main.outer a.go:11
0x1017 0x1000+0x18 procedure: main.outer a.go:11
0x1018 nothing
0x1020 0x1020+0x30 procedure: main.Map[...] (main.Map[int,string]) c.go:30
0x104f 0x1020+0x30 procedure: main.Map[...] (main.Map[int,string]) c.go:30
0x1050 0x1050+0x10 procedure: runtime.asm
0x105f 0x1050+0x10 procedure: runtime.asm
0x1060 nothing
`

// TestFirstProcedures lists the functions of the sample, and no more than are asked for.
func TestFirstProcedures(t *testing.T) {
	table, err := openBytes(made{version: go120, order: binary.LittleEndian, pointer: 8}.file())
	if err != nil {
		t.Fatal(err)
	}
	for most, want := range []string{1: "1000 main.outer", 2: "1000 main.outer, 1020 main.Map[...]", 9: "1000 main.outer, 1020 main.Map[...], 1050 runtime.asm"} {
		if want == "" {
			continue
		}
		var got []string
		err := table.Procedures(func(rva uint64, name string) bool {
			got = append(got, fmt.Sprintf("%x %s", rva, name))
			return len(got) < most
		})
		if err != nil || strings.Join(got, ", ") != want {
			t.Errorf("at most %d: %q, %v; want %s", most, got, err, want)
		}
	}
}

// TestMerged finds the table where no section is named for it, and not by its
// first bytes alone.
func TestMerged(t *testing.T) {
	for _, c := range []struct {
		decoys int
		found  bool
	}{{0, true}, {1, true}, {maxCandidates - 1, true}, {maxCandidates, false}} {
		m := made{version: go120, order: binary.LittleEndian, pointer: 8, merged: true, decoys: c.decoys}
		table, err := openBytes(m.file())
		if !c.found {
			if !errors.Is(err, errDamaged) {
				t.Errorf("%d decoys: %v", c.decoys, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%d decoys: %v", c.decoys, err)
			continue
		}
		if got, want := answers(table, 0x100c), "0x100c 0x1000+0x18 procedure: main.leaf b.go:7 <- main.inner b.go:6 <- main.outer a.go:11\n"; got != want {
			t.Errorf("%d decoys: got %s", c.decoys, got)
		}
	}
}

// TestForms reads the same small program in every form of the table.
func TestForms(t *testing.T) {
	le, be := byteOrder(binary.LittleEndian), byteOrder(binary.BigEndian)
	for _, m := range []made{
		{version: go12, order: le, pointer: 8},
		{version: go12, order: le, pointer: 4},
		{version: go12, order: be, pointer: 8},
		{version: go116, order: le, pointer: 8},
		{version: go116, order: be, pointer: 4},
		{version: go118, order: le, pointer: 8},
		{version: go118, order: le, pointer: 4},
		{version: go120, order: le, pointer: 8},
		{version: go120, order: le, pointer: 4},
		{version: go120, order: be, pointer: 8},
		{version: go120, order: be, pointer: 4},
		{version: go120, order: le, pointer: 8, pie: true},
	} {
		t.Run(fmt.Sprintf("%v-%v-%d-%v", m.version, m.order, m.pointer, m.pie), func(t *testing.T) {
			table, err := openBytes(m.file())
			if err != nil {
				t.Fatal(err)
			}
			if got, want := table.Describe(), "Go pclntab, "+m.version.String(); got != want {
				t.Errorf("%q, want %q", got, want)
			}
			got := answers(table, 0xfff, 0x1000, 0x1008, 0x100c, 0x1017, 0x1018, 0x1020, 0x104f, 0x1050, 0x105f, 0x1060)
			if got != madeAnswers {
				t.Errorf("got\n%swant\n%s", got, madeAnswers)
			}
		})
	}
}
