package pdb

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"logparser/message"
	"logparser/symbols/pdb/msf"
)

// Subsections of a module's C13 part that are used.
const (
	c13Ignore            = 0x80000000
	c13Lines             = 0xF2
	c13Checksums         = 0xF4
	c13InlineeLines      = 0xF6
	c13CrossScopeImports = 0xF7
	c13CrossScopeExports = 0xF8
)

// Lines that stand for no line: code that the debugger is to step over, or
// into, without showing anything.
const (
	lineNeverStep  = 0xFEEFEE
	lineAlwaysStep = 0xF00F00
)

// noFile is a file reference that leads nowhere.
const noFile = math.MaxUint32

// lineBlock is a DEBUG_S_LINES subsection: the lines of one contribution.
type lineBlock struct {
	off, size uint32
	// pos and length are its content behind the header, in the module's
	// stream.
	pos, length uint32
	sec         uint16
}

func (b *lineBlock) addr() address { return at(b.sec, b.off) }

// c13 is the index of a module's C13 part.
type c13 struct {
	stream    *msf.Stream
	lines     []lineBlock
	checksums part
	inlinees  []inlinee
	imports   []part
	exports   []part
}

func (c *c13) bytes() int64 {
	return int64(len(c.lines)*20 + len(c.inlinees)*12 + (len(c.imports)+len(c.exports))*16)
}

func (t *Table) readC13(w *msf.Window, m *module) (*c13, error) {
	c := &c13{}
	if m.stream == noStream || m.c13 == 0 {
		return c, nil
	}
	s, err := t.msf.Stream(int(m.stream))
	if err != nil {
		return nil, err
	}
	c.stream = s
	start := int64(m.symbols) + int64(m.c11)
	if err := w.Reset(s, start, start+int64(m.c13)); err != nil {
		return nil, message.Errorf("lines: %w", err)
	}
	for pos := start; w.End()-pos >= 8; {
		h, err := w.Bytes(pos, 8)
		if err != nil {
			return nil, err
		}
		sub, length := le.Uint32(h), int64(le.Uint32(h[4:]))
		pos += 8
		if length > w.End()-pos {
			return nil, message.Errorf("%w: stream %d: subsection of %d bytes at %d, the lines end at %d",
				ErrDamaged, s.Number(), length, pos, w.End())
		}
		p := part{pos, length}
		switch sub {
		case c13Lines:
			h, err := w.Bytes(pos, int(min(length, 12)))
			if err != nil {
				return nil, err
			}
			if len(h) < 12 {
				return nil, message.Errorf("%w: stream %d: lines without a header at %d", ErrDamaged, s.Number(), pos)
			}
			c.lines = append(c.lines, lineBlock{
				off:    le.Uint32(h),
				size:   le.Uint32(h[8:]),
				pos:    uint32(pos + 12),
				length: uint32(length - 12),
				sec:    le.Uint16(h[4:]),
			})
		case c13Checksums:
			c.checksums = p
		case c13InlineeLines:
			if err := c.addInlinees(w, p); err != nil {
				return nil, err
			}
		case c13CrossScopeImports:
			c.imports = append(c.imports, p)
		case c13CrossScopeExports:
			c.exports = append(c.exports, p)
		}
		pos = (pos + length + 3) &^ 3
	}
	slices.SortStableFunc(c.lines, func(a, b lineBlock) int { return cmp.Compare(a.addr(), b.addr()) })
	slices.SortStableFunc(c.inlinees, func(a, b inlinee) int { return cmp.Compare(a.id, b.id) })
	return c, nil
}

// row says that the code from an offset within a procedure was made from a
// line of a file, up to the next row. Line 0 says that it was made from none.
type row struct {
	off  uint32
	line uint32
	// file is the offset of the file's entry in the module's checksums, once
	// decoded the number of its path in the detail. noFile means none.
	file uint32
}

// maxRows bounds the rows of one procedure.
const maxRows = 1 << 20

// blocks returns the line blocks that touch an entry. Where folded functions
// of one module have their lines at the same place, rank chooses: it is the
// entry's place among the entries that start where it does.
func (c *c13) blocks(e *entry, rank int) []lineBlock {
	i := sort.Search(len(c.lines), func(i int) bool { return c.lines[i].addr() > e.addr() })
	if i > 0 && rank >= 0 {
		start := c.lines[i-1].addr()
		first := i - 1
		for first > 0 && c.lines[first-1].addr() == start {
			first--
		}
		if i-first > 1 {
			if rank < i-first && start == e.addr() {
				return c.lines[first+rank : first+rank+1]
			}
			return c.lines[first : first+1]
		}
		i--
	}
	from := i
	for i < len(c.lines) && c.lines[i].addr() < e.end() {
		i++
	}
	return c.lines[from:i]
}

// rows decodes the lines of an entry.
func (c *c13) rows(w *msf.Window, e *entry, rank int) ([]row, error) {
	var rows []row
	begin, end := e.addr(), e.end()
	for _, b := range c.blocks(e, rank) {
		if b.addr()+address(b.size) <= begin || b.addr() >= end {
			continue
		}
		if err := w.Reset(c.stream, int64(b.pos), int64(b.pos)+int64(b.length)); err != nil {
			return nil, err
		}
		sorted := true
		first := len(rows)
		for pos := w.Start(); w.End()-pos >= 12; {
			h, err := w.Bytes(pos, 12)
			if err != nil {
				return nil, err
			}
			file, count, size := le.Uint32(h), int64(le.Uint32(h[4:])), int64(le.Uint32(h[8:]))
			if size < 12 || size > w.End()-pos || count*8 > size-12 {
				return nil, message.Errorf("%w: stream %d: %d lines in %d bytes at offset %d",
					ErrDamaged, c.stream.Number(), count, size, pos)
			}
			const batch = 4096
			for done := int64(0); done < count; done += batch {
				list, err := w.Bytes(pos+12+done*8, int(min(batch, count-done))*8)
				if err != nil {
					return nil, err
				}
				for ; len(list) > 0; list = list[8:] {
					a := b.addr() + address(le.Uint32(list))
					if a >= end {
						continue
					}
					line := le.Uint32(list[4:]) & 0xFFFFFF
					if line == lineNeverStep || line == lineAlwaysStep {
						line = 0
					}
					// A row before the procedure's start still holds at it.
					off := uint32(0)
					if a > begin {
						off = uint32(a - begin)
					}
					if len(rows) == maxRows {
						return nil, message.Errorf("%w: stream %d: more than %d lines in a procedure",
							ErrDamaged, c.stream.Number(), maxRows)
					}
					if n := len(rows); n > first && rows[n-1].off > off {
						sorted = false
					}
					rows = append(rows, row{off, line, file})
				}
			}
			pos += size
		}
		if !sorted {
			slices.SortStableFunc(rows[first:], func(a, b row) int { return cmp.Compare(a.off, b.off) })
		}
		// Behind the block nothing is known, unless another follows.
		if stop := b.addr() + address(b.size); stop < end && len(rows) > first {
			rows = append(rows, row{uint32(stop - begin), 0, noFile})
		}
	}
	return slices.Clip(rows), nil
}

// rowAt returns the row that holds at an offset, or nil.
func rowAt(rows []row, off uint32) *row {
	i := sort.Search(len(rows), func(i int) bool { return rows[i].off > off })
	if i == 0 {
		return nil
	}
	return &rows[i-1]
}

// path returns the path of a file that a row refers to.
func (t *Table) path(c *c13, ref uint32) (string, error) {
	if int64(ref) > c.checksums.size-6 {
		return "", message.Errorf("%w: stream %d: file %d of checksums of %d bytes",
			ErrDamaged, c.stream.Number(), ref, c.checksums.size)
	}
	var b [4]byte
	if _, err := c.stream.ReadAt(b[:], c.checksums.off+int64(ref)); err != nil {
		return "", err
	}
	return t.names.at(le.Uint32(b[:]))
}
