package pdb

import (
	"slices"
	"sort"
	"strings"

	"logparser/message"
	"logparser/symbols/pdb/msf"
)

// inlinee says where the body of an inlined function begins in the source.
type inlinee struct {
	id   uint32
	file uint32
	line uint32
}

// addInlinees reads a DEBUG_S_INLINEELINES subsection.
func (c *c13) addInlinees(w *msf.Window, p part) error {
	end := p.off + p.size
	if p.size < 4 {
		return nil
	}
	b, err := w.Bytes(p.off, 4)
	if err != nil {
		return err
	}
	signature := le.Uint32(b)
	if signature > 1 {
		return message.Errorf("stream %d: inlinee lines of an unknown layout %d at offset %d: %w",
			c.stream.Number(), signature, p.off, ErrUnsupported)
	}
	for pos := p.off + 4; end-pos >= 12; {
		b, err := w.Bytes(pos, 12)
		if err != nil {
			return err
		}
		c.inlinees = append(c.inlinees, inlinee{le.Uint32(b), le.Uint32(b[4:]), le.Uint32(b[8:])})
		pos += 12
		if signature == 1 {
			// The second layout lists further files of the same body.
			if end-pos < 4 {
				return message.Errorf("%w: stream %d: inlinee lines end at %d", ErrDamaged, c.stream.Number(), pos)
			}
			if b, err = w.Bytes(pos, 4); err != nil {
				return err
			}
			pos += 4 + 4*int64(le.Uint32(b))
		}
	}
	return nil
}

// inlinee returns where the body of an inlined function begins. It is not ok where that is not known. The list may have several
// places for an id, and nothing tells which is meant: functions of one name and type have one id if they are static and link-time
// optimization by LLVM has joined them, and those of Microsoft's compiler in one file. Then it is not ok if the files differ, and
// otherwise the line is 0.
func (c *c13) inlinee(id uint32) (inlinee, bool) {
	i := sort.Search(len(c.inlinees), func(i int) bool { return c.inlinees[i].id >= id })
	if i == len(c.inlinees) || c.inlinees[i].id != id {
		return inlinee{}, false
	}
	found := c.inlinees[i]
	for _, other := range c.inlinees[i+1:] {
		switch {
		case other.id != id:
			return found, true
		case other.file != found.file:
			return inlinee{}, false
		case other.line != found.line:
			found.line = 0
		}
	}
	return found, true
}

// Operations of the annotations of an inline site. Each is followed by one or
// two operands.
const (
	opInvalid = iota
	opCodeOffset
	opChangeCodeOffsetBase
	opChangeCodeOffset
	opChangeCodeLength
	opChangeFile
	opChangeLineOffset
	opChangeLineEndDelta
	opChangeRangeKind
	opChangeColumnStart
	opChangeColumnEndDelta
	opChangeCodeOffsetAndLineOffset
	opChangeCodeLengthAndCodeOffset
	opChangeColumnEnd
)

// operand reads a number of one, two or four bytes.
func operand(b []byte) (v uint32, rest []byte, ok bool) {
	switch {
	case len(b) >= 1 && b[0]&0x80 == 0:
		return uint32(b[0]), b[1:], true
	case len(b) >= 2 && b[0]&0xC0 == 0x80:
		return uint32(b[0]&0x3F)<<8 | uint32(b[1]), b[2:], true
	case len(b) >= 4 && b[0]&0xE0 == 0xC0:
		return uint32(b[0]&0x1F)<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3]), b[4:], true
	}
	return 0, nil, false
}

// signed reads an operand's value as a number with its sign in the lowest
// bit.
func signed(v uint32) uint32 {
	if v&1 != 0 {
		return -(v >> 1)
	}
	return v >> 1
}

// site is one inlined call in a procedure.
type site struct {
	// parent is the number of the site that it was inlined into, -1 for the
	// procedure itself.
	parent int32
	depth  int32
	id     uint32
	rows   []row
	// name and signature are the inlined function's.
	name, signature string
}

// piece is a range of offsets.
type piece struct{ start, end uint32 }

// annotations decodes the annotations of an inline site: the lines of the
// body, and the ranges of code that it takes in a procedure of the given
// size. Both are relative to the procedure's start.
func annotations(b []byte, body inlinee, size uint32) (rows []row, ranges []piece) {
	line, file := body.line, body.file
	var off, base, length uint32
	// open is the start of a range whose end is not known yet.
	open, isOpen := uint32(0), false
	closeAt := func(end uint32) {
		if isOpen && end > open && open < size {
			ranges = append(ranges, piece{open, min(end, size)})
		}
		isOpen = false
	}
	for len(b) > 0 {
		var op, v, v2 uint32
		var ok bool
		if op, b, ok = operand(b); !ok || op == opInvalid {
			break
		}
		if v, b, ok = operand(b); !ok {
			break
		}
		if op == opChangeCodeLengthAndCodeOffset {
			if v2, b, ok = operand(b); !ok {
				break
			}
		}
		emits := false
		switch op {
		case opCodeOffset:
			off = v
		case opChangeCodeOffsetBase:
			base = v
		case opChangeCodeOffset:
			off += v
			emits = true
		case opChangeCodeLength:
			if isOpen {
				closeAt(open + v)
			}
			// What follows is counted from the range's end.
			off += v
		case opChangeFile:
			file = v
		case opChangeLineOffset:
			line += signed(v)
		case opChangeCodeOffsetAndLineOffset:
			off += v & 0xF
			line += signed(v >> 4)
			emits = true
		case opChangeCodeLengthAndCodeOffset:
			length = v
			off += v2
			emits = true
		}
		if !emits {
			continue
		}
		start := base + off
		closeAt(start)
		open, isOpen = start, true
		if start < size {
			if n := len(rows); n > 0 && rows[n-1].off == start {
				rows[n-1] = row{start, line, file}
			} else {
				rows = append(rows, row{start, line, file})
			}
		}
		if length > 0 {
			closeAt(start + length)
			length = 0
		}
	}
	// A range without an end takes no more than its first byte for sure.
	closeAt(open + 1)
	return rows, ranges
}

// A reference to an id of another module: the module's place among the
// imports, and the id's place in that import.
const (
	crossScope       = 1 << 31
	crossScopeModule = 0x7FF00000
	crossScopeID     = 0x000FFFFF
)

// resolveID returns the index in the id stream that an inlinee's id stands
// for: itself, or for a cross-scope reference what the module that it names
// has exported.
func (t *Table) resolveID(c *c13, id uint32) (uint32, error) {
	if id&crossScope == 0 {
		return id, nil
	}
	name, local, err := t.imported(c, int(id&crossScopeModule>>20), id&crossScopeID)
	if err != nil {
		return 0, err
	}
	number, err := t.moduleByName(name)
	if err != nil {
		return 0, err
	}
	x, err := t.module(number)
	if err != nil {
		return 0, err
	}
	return exported(x.c13, local)
}

// imported returns the module and the local id of an imported id.
func (t *Table) imported(c *c13, module int, index uint32) (name string, local uint32, err error) {
	var w msf.Window
	for _, p := range c.imports {
		if err := w.Reset(c.stream, p.off, p.off+p.size); err != nil {
			return "", 0, err
		}
		for pos := p.off; w.End()-pos >= 8; module-- {
			b, err := w.Bytes(pos, 8)
			if err != nil {
				return "", 0, err
			}
			ref, count := le.Uint32(b), le.Uint32(b[4:])
			if module == 0 {
				if index >= count {
					return "", 0, message.Errorf("%w: stream %d: imported id %d of %d", ErrDamaged, c.stream.Number(), index, count)
				}
				if b, err = w.Bytes(pos+8+4*int64(index), 4); err != nil {
					return "", 0, err
				}
				local = le.Uint32(b)
				name, err = t.names.at(ref)
				return name, local, err
			}
			pos += 8 + 4*int64(count)
		}
	}
	return "", 0, message.Errorf("%w: module imports %d more modules than it lists", ErrDamaged, module+1)
}

// exported returns the index in the id stream of an id that a module exports.
func exported(c *c13, local uint32) (uint32, error) {
	for _, p := range c.exports {
		n := int(p.size / 8)
		var b [8]byte
		var err error
		i := sort.Search(n, func(i int) bool {
			if err == nil {
				_, err = c.stream.ReadAt(b[:], p.off+int64(i)*8)
			}
			return le.Uint32(b[:]) >= local
		})
		if err == nil && i < n {
			_, err = c.stream.ReadAt(b[:], p.off+int64(i)*8)
			if err == nil && le.Uint32(b[:]) == local {
				return le.Uint32(b[4:]), nil
			}
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, message.Errorf("%w: id %#x is not exported", ErrDamaged, local)
}

// moduleByName returns the number of the module of a name. Case counts only
// where two names differ in nothing else.
func (t *Table) moduleByName(name string) (int, error) {
	t.byNameOnce.Do(func() {
		type named struct {
			name   string
			number int
		}
		var list []named
		for i := range t.modules {
			n, err := t.dbi.moduleName(&t.modules[i])
			if err != nil {
				t.byNameErr = err
				return
			}
			list = append(list, named{n, i})
		}
		t.byName = make(map[string]int, len(list))
		for _, m := range slices.Backward(list) {
			t.byName[strings.ToLower(m.name)] = m.number
		}
		for _, m := range slices.Backward(list) {
			t.byName[m.name] = m.number
		}
	})
	if t.byNameErr != nil {
		return 0, t.byNameErr
	}
	if n, ok := t.byName[name]; ok {
		return n, nil
	}
	if n, ok := t.byName[strings.ToLower(name)]; ok {
		return n, nil
	}
	return 0, message.Errorf("%w: no module %q to import from", ErrDamaged, name)
}
