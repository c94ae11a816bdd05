package symtab

import (
	"bytes"
	"encoding/binary"
	"sort"

	"logparser/message"
	"logparser/symbols/image"
)

const (
	coffRecord   = 18
	coffExternal = 2
	coffStatic   = 3
	coffFunction = 0x20 // the derived type "function"
)

// readPE reads the COFF symbol table, or, where there is none, the exports.
func (t *Table) readPE() error {
	if err := t.readCOFF(); err != nil {
		return err
	}
	if len(t.syms) > 0 {
		t.describe = append(t.describe, "COFF symbol table")
		return nil
	}
	exports, err := t.im.Exports()
	if err != nil {
		return err
	}
	for _, e := range exports {
		if _, _, ok := t.im.Executable(t.im.Base + e.RVA); !ok {
			continue
		}
		t.texts = append(t.texts, e.Name)
		if err := t.add(sym{addr: e.RVA, kind: kindExport, src: inText, name: uint32(len(t.texts) - 1)}); err != nil {
			return err
		}
	}
	t.describe = append(t.describe, "PE exports")
	t.readFunctionTable()
	return nil
}

func (t *Table) readCOFF() error {
	records, strings := t.im.COFF()
	if records == nil {
		return nil
	}
	t.names = append(t.names, strings)
	src := uint8(len(t.names) - 1)
	le := binary.LittleEndian
	t.records = records
	t.reserve(records.Size() / coffRecord)
	skip := 0
	for off := int64(0); off < records.Size(); off += coffRecord * chunk {
		b, err := records.Upto(off, coffRecord*chunk)
		if err != nil {
			return message.Errorf("%s: COFF symbols: %w", t.im.File().Path, err)
		}
		for n := 0; len(b) >= coffRecord; n, b = n+1, b[coffRecord:] {
			if skip > 0 {
				skip--
				continue
			}
			skip = int(b[17])
			section := int(int16(le.Uint16(b[12:])))
			typ, class := le.Uint16(b[14:]), b[16]
			if section <= 0 || section > len(t.im.Sections) || class != coffExternal && class != coffStatic {
				continue
			}
			s := t.im.Sections[section-1]
			value := uint64(le.Uint32(b[8:]))
			if !s.Exec || value >= s.MemSize {
				continue
			}
			sy := sym{addr: s.Addr + value - t.im.Base, src: src}
			switch {
			case typ != coffFunction:
				// Assembler code has no types; what is static and has none is
				// a label or the section itself.
				if class == coffStatic {
					continue
				}
				sy.rank = rankLabel
			case class == coffStatic:
				sy.rank = rankLocal
			}
			switch {
			case le.Uint32(b) == 0:
				sy.name = le.Uint32(b[4:])
			case b[0] == '.':
				continue
			default:
				sy.src, sy.name = inRecord, uint32(off+int64(n)*coffRecord)
			}
			if err := t.add(sy); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachCOFF hands out the COFF symbols that lie in a section, as long as it is told to. The names of those that
// stand for what an input file put there begin with a period.
func eachCOFF(im *image.Image, more func(s *image.Section, value uint64, name string) bool) error {
	records, strings := im.COFF()
	if records == nil {
		return nil
	}
	le := binary.LittleEndian
	skip := 0
	for off := int64(0); off < records.Size(); off += coffRecord * chunk {
		b, err := records.Upto(off, coffRecord*chunk)
		if err != nil {
			return message.Errorf("%s: COFF symbols: %w", im.File().Path, err)
		}
		for ; len(b) >= coffRecord; b = b[coffRecord:] {
			if skip > 0 {
				skip--
				continue
			}
			skip = int(b[17])
			section, class := int(int16(le.Uint16(b[12:]))), b[16]
			if section <= 0 || section > len(im.Sections) || class != coffExternal && class != coffStatic {
				continue
			}
			s, value := im.Sections[section-1], uint64(le.Uint32(b[8:]))
			if value >= s.MemSize || s.Addr < im.Base {
				continue
			}
			short, _, _ := bytes.Cut(b[:8], []byte{0})
			name := string(short)
			if le.Uint32(b) == 0 {
				if name, err = strings.String(int64(le.Uint32(b[4:]))); err != nil {
					continue // damaged
				}
			}
			if name != "" && !more(s, value, name) {
				return nil
			}
		}
	}
	return nil
}

// A part is a contiguous piece of a function that the exception directory
// lists: RVAs of its begin and end and of its unwind record.
type part struct{ lo, hi, unwind uint32 }

// readFunctionTable reads the x64 exception directory.
func (t *Table) readFunctionTable() {
	table := t.im.FunctionTable()
	le := binary.LittleEndian
	t.parts = make([]part, 0, len(table)/12)
	for ; len(table) >= 12; table = table[12:] {
		if p := (part{le.Uint32(table), le.Uint32(table[4:]), le.Uint32(table[8:])}); p.hi > p.lo {
			t.parts = append(t.parts, p)
		}
	}
	sort.Slice(t.parts, func(i, j int) bool { return t.parts[i].lo < t.parts[j].lo })
}

// functionStart returns the RVA at which the function of a part starts: a part
// whose unwind record is chained belongs to the function of the part that it
// is chained to.
func (t *Table) functionStart(p part) uint64 {
	const chainInfo, maxChain = 4, 8
	for range maxChain {
		head, err := t.im.ReadRVA(uint64(p.unwind), 4)
		if err != nil || head[0]>>3&chainInfo == 0 {
			break
		}
		// The record of the part before follows the unwind codes, which are
		// padded to an even number of two bytes each.
		codes := (int64(head[2]) + 1) &^ 1
		next, err := t.im.ReadRVA(uint64(p.unwind)+4+uint64(codes)*2, 12)
		if err != nil {
			break
		}
		p = part{lo: binary.LittleEndian.Uint32(next), unwind: binary.LittleEndian.Uint32(next[8:])}
	}
	return uint64(p.lo)
}

// sameFunction reports whether rva lies in the function that starts at an
// export. Without an exception directory nothing speaks against it; with one,
// an address behind a listed part that begins at or after the export belongs
// to a leaf function of its own, which has no name.
func (t *Table) sameFunction(export, rva uint64) bool {
	if len(t.parts) == 0 || export == rva {
		return true
	}
	i := sort.Search(len(t.parts), func(i int) bool { return uint64(t.parts[i].lo) > rva }) - 1
	if i < 0 || uint64(t.parts[i].lo) < export {
		return true
	}
	return uint64(t.parts[i].hi) > rva && t.functionStart(t.parts[i]) == export
}
