package gosym

import (
	"bytes"
	"encoding/binary"
	"sort"

	"logparser/message"
)

// A version is a form of the pclntab, named for the Go release it came with.
type version uint8

const (
	go12  version = iota // 1.2 to 1.15: offsets from the header, absolute addresses
	go116                // 1.16, 1.17: tables of their own, absolute addresses
	go118                // 1.18, 1.19: addresses relative to the text
	go120                // from 1.20: functions have their first line
)

func (v version) String() string {
	return [...]string{"Go 1.2 to 1.15", "Go 1.16 or 1.17", "Go 1.18 or 1.19", "Go 1.20 or later"}[v]
}

// The magic numbers, by which byte order and version are told.
const (
	magic12  = 0xfffffffb
	magic116 = 0xfffffffa
	magic118 = 0xfffffff0
	magic120 = 0xfffffff1
)

const (
	// headerSize is the largest header, in bytes: magic, two zeros, quantum,
	// pointer size and eight words.
	headerSize = 8 + 8*8
	// maxName bounds the names of functions and files, in bytes.
	maxName = 1 << 16
	// maxSteps bounds the steps of one pc-value table. The largest functions
	// that compilers make have some ten thousand.
	maxSteps = 1 << 20
)

// errDamaged is wrapped with what is wrong and where.
var errDamaged = message.New("damaged pclntab")

// A header is the beginning of a pclntab.
type header struct {
	version version
	order   binary.ByteOrder
	// quantum is the smallest step of code addresses, pointer the size of an
	// address, in bytes.
	quantum, pointer int
	functions        uint64
	// text is where the code of the tables begins, as far as the header says:
	// 0 from Go 1.26 on, and where a relocation would set it.
	text uint64
	// names, units, files, values and records are offsets of the tables.
	names, units, files, values, records uint64
}

// parseHeader reads a header; b begins with it. It reports false where b is
// not one.
func parseHeader(b []byte) (h header, ok bool) {
	if len(b) < 16 || b[4] != 0 || b[5] != 0 {
		return h, false
	}
	h.order = binary.LittleEndian
	magic := binary.LittleEndian.Uint32(b)
	if b[0] == 0xff {
		h.order, magic = binary.BigEndian, binary.BigEndian.Uint32(b)
	}
	switch magic {
	case magic12:
		h.version = go12
	case magic116:
		h.version = go116
	case magic118:
		h.version = go118
	case magic120:
		h.version = go120
	default:
		return h, false
	}
	h.quantum, h.pointer = int(b[6]), int(b[7])
	if h.quantum != 1 && h.quantum != 2 && h.quantum != 4 || h.pointer != 4 && h.pointer != 8 {
		return h, false
	}
	word := func(i int) uint64 {
		at := 8 + i*h.pointer
		if at+h.pointer > len(b) {
			ok = false
			return 0
		}
		if h.pointer == 4 {
			return uint64(h.order.Uint32(b[at:]))
		}
		return h.order.Uint64(b[at:])
	}
	ok = true
	h.functions = word(0)
	switch h.version {
	case go12:
		h.records = 8 + uint64(h.pointer)
	case go116:
		h.names, h.units, h.files, h.values, h.records = word(2), word(3), word(4), word(5), word(6)
	default:
		h.text = word(2)
		h.names, h.units, h.files, h.values, h.records = word(3), word(4), word(5), word(6), word(7)
	}
	return h, ok && h.functions > 0
}

// A pclntab maps code addresses to functions, files and lines. It is not
// changed once it is made.
type pclntab struct {
	header
	// The tables, each up to the end of the data. In go12 names, files, values
	// and records are all the data, and units is the one table of files.
	names, units, files, values, records []byte
	functab                              []byte
	// field is the size of an entry's two fields in the function table.
	field int
}

// newPclntab makes a table of data, which begins with the header and ends
// where the section does.
func newPclntab(data []byte, h header) (*pclntab, error) {
	t := &pclntab{header: h, field: h.pointer}
	size := uint64(len(data))
	for _, off := range []uint64{h.names, h.units, h.files, h.values, h.records} {
		if off > size {
			return nil, message.Errorf("%w: table at offset %#x of %#x", errDamaged, off, size)
		}
	}
	t.names, t.units, t.files, t.values = data[h.names:], data[h.units:], data[h.files:], data[h.values:]
	t.records, t.functab = data[h.records:], data[h.records:]
	if h.version >= go118 {
		t.field = 4
	}
	if h.functions > uint64(len(t.functab)/(2*t.field)) {
		return nil, message.Errorf("%w: %d functions in %d bytes", errDamaged, h.functions, len(t.functab))
	}
	n := (2*int(h.functions) + 1) * t.field
	if n > len(t.functab) {
		return nil, message.Errorf("%w: the function table ends at offset %#x of %#x", errDamaged, h.records+uint64(n), size)
	}
	if h.version == go12 {
		// The offset of the file table follows the function table.
		if n+4 > len(t.functab) {
			return nil, message.Errorf("%w: no file table", errDamaged)
		}
		files := uint64(h.order.Uint32(t.functab[n:]))
		if files > size {
			return nil, message.Errorf("%w: file table at offset %#x of %#x", errDamaged, files, size)
		}
		t.units, t.records = data[files:], data
	}
	t.functab = t.functab[:n]
	return t, nil
}

// check reports whether the function table is sorted and its first and last
// records are sound. It is what tells a table from bytes that look like one.
func (t *pclntab) check() error {
	last := t.start(0)
	for i := 1; i <= t.len(); i++ {
		start := t.start(i)
		if start < last {
			return message.Errorf("%w: function %d begins at %#x, the one before at %#x", errDamaged, i, start, last)
		}
		last = start
	}
	if last == t.start(0) {
		return message.Errorf("%w: no code", errDamaged)
	}
	for _, i := range []int{0, t.len() / 2, t.len() - 1} {
		f, err := t.function(i)
		if err != nil {
			return err
		}
		if entry := t.entry(f); entry != t.start(i) {
			return message.Errorf("%w: function %d is at %#x, its record says %#x", errDamaged, i, t.start(i), entry)
		}
		if _, err := t.name(f); err != nil {
			return err
		}
	}
	return nil
}

// len returns the number of functions.
func (t *pclntab) len() int { return int(t.functions) }

// uint reads an address, or an offset from the text, of t.field bytes.
func (t *pclntab) uint(b []byte) uint64 {
	if t.field == 4 {
		return uint64(t.order.Uint32(b))
	}
	return t.order.Uint64(b)
}

// start returns where function i begins: an address, or, from go118 on, an
// offset from the text. Function len() is where the last one ends.
func (t *pclntab) start(i int) uint64 { return t.uint(t.functab[2*i*t.field:]) }

// find returns the function that begins at or before pc, which counts as
// start does.
func (t *pclntab) find(pc uint64) (int, bool) {
	if pc < t.start(0) || pc >= t.start(t.len()) {
		return 0, false
	}
	return sort.Search(t.len(), func(i int) bool { return t.start(i) > pc }) - 1, true
}

// function returns the record of function i, up to the end of the data.
func (t *pclntab) function(i int) ([]byte, error) {
	off := t.uint(t.functab[(2*i+1)*t.field:])
	if off > uint64(len(t.records)) || uint64(len(t.records))-off < uint64(t.fixed()) {
		return nil, message.Errorf("%w: function %d: record at offset %#x", errDamaged, i, off)
	}
	return t.records[off:], nil
}

// The 32-bit fields of a function's record, counted from the one behind its
// entry.
const (
	fieldName    = 0
	fieldFile    = 4
	fieldLine    = 5
	fieldNPCData = 6
	fieldUnit    = 7 // from go116 on
)

func (t *pclntab) entry(f []byte) uint64 { return t.uint(f) }

func (t *pclntab) fieldOf(f []byte, i int) uint32 { return t.order.Uint32(f[t.field+4*i:]) }

// name returns a function's name.
func (t *pclntab) name(f []byte) (string, error) { return t.nameAt(t.fieldOf(f, fieldName)) }

// nameAt returns the name at an offset of the name table.
func (t *pclntab) nameAt(off uint32) (string, error) { return cString(t.names, off) }

func cString(table []byte, off uint32) (string, error) {
	if uint64(off) < uint64(len(table)) {
		b := table[off:]
		if i := bytes.IndexByte(b[:min(len(b), maxName)], 0); i >= 0 {
			return string(b[:i]), nil
		}
	}
	return "", message.Errorf("%w: no string at offset %#x", errDamaged, off)
}

// A walker goes through a pc-value table, whose values hold for pieces of a
// function's code one after the other.
type walker struct {
	rest    []byte
	quantum uint64
	// value holds for the code from from up to to, in bytes from the
	// function's entry.
	value    int32
	from, to uint64
	steps    int
}

// walk begins to walk through the table at an offset. There is none at offset
// 0.
func (t *pclntab) walk(off uint32) walker {
	w := walker{value: -1, quantum: uint64(t.quantum)}
	if off != 0 && uint64(off) < uint64(len(t.values)) {
		w.rest = t.values[off:]
	}
	return w
}

// next goes on to the next piece and reports whether there is one.
func (w *walker) next() bool {
	b := w.rest
	if len(b) < 2 || w.steps >= maxSteps {
		return false
	}
	delta, advance := uint32(b[0]), uint32(b[1])
	if (delta|advance)&0x80 == 0 {
		b = b[2:]
	} else {
		var ok bool
		if delta, b, ok = varint(b); !ok {
			return false
		}
		if advance, b, ok = varint(b); !ok {
			return false
		}
	}
	if delta == 0 && w.steps > 0 {
		return false // the end of the table
	}
	w.steps++
	w.rest = b
	w.value += int32(delta>>1) ^ -int32(delta&1)
	w.from = w.to
	w.to += uint64(advance) * w.quantum
	return true
}

// varint reads a number of seven bits a byte.
func varint(b []byte) (v uint32, rest []byte, ok bool) {
	for i := 0; i < len(b) && i < 5; i++ {
		v |= uint32(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return v, b[i+1:], true
		}
	}
	return 0, nil, false
}

// value returns the value of a pc-value table for the code at pc.
func (t *pclntab) value(off uint32, pc uint64) (int32, bool) {
	for w := t.walk(off); w.next(); {
		if pc < w.to {
			return w.value, true
		}
	}
	return 0, false
}

// size returns the length of function i in bytes: up to where its line table
// ends, which is without the padding, or, where it has none, up to the next
// function.
func (t *pclntab) size(i int, f []byte) uint64 {
	w := t.walk(t.fieldOf(f, fieldLine))
	for w.next() {
	}
	end := w.to
	room := t.start(i+1) - t.start(i)
	if end == 0 || end > room {
		return room
	}
	return end
}

// position returns file and line of the code at pc, in bytes from the
// function's entry.
func (t *pclntab) position(f []byte, pc uint64) (file string, line int) {
	number, ok := t.value(t.fieldOf(f, fieldLine), pc)
	if !ok || number <= 0 {
		return "", 0
	}
	index, ok := t.value(t.fieldOf(f, fieldFile), pc)
	if !ok || index < 0 {
		return "", 0
	}
	at := uint64(index) * 4
	if t.version != go12 {
		unit := t.fieldOf(f, fieldUnit)
		if unit == ^uint32(0) {
			return "", 0
		}
		at += uint64(unit) * 4
	}
	if at+4 > uint64(len(t.units)) {
		return "", 0
	}
	off := t.order.Uint32(t.units[at:])
	if off == ^uint32(0) {
		return "", 0 // the linker dropped the file
	}
	file, err := cString(t.files, off)
	if err != nil {
		return "", 0
	}
	return file, int(number)
}

// pcdata returns the offset of a function's pc-value table i, 0 for none.
func (t *pclntab) pcdata(f []byte, i uint32) uint32 {
	at := t.fixed() + 4*int(i)
	if i >= t.fieldOf(f, fieldNPCData) || at+4 > len(f) {
		return 0
	}
	return t.order.Uint32(f[at:])
}

// fixed returns the size of a record without its arrays.
func (t *pclntab) fixed() int {
	words := 8 // up to and with npcdata, and the one that ends in nfuncdata
	switch t.version {
	case go116, go118:
		words = 9 // the unit
	case go120:
		words = 10 // the unit and the first line
	}
	return t.field + 4*words
}

// funcdata returns entry i of a function's data: an address, or, from go118
// on, an offset from go:func.*.
func (t *pclntab) funcdata(f []byte, i int) (uint64, bool) {
	fixed := t.fixed()
	n := int(f[fixed-1])
	at := uint64(fixed) + 4*uint64(t.fieldOf(f, fieldNPCData))
	if t.version < go118 && t.pointer == 8 {
		// Aligned as the record is, which begins at a multiple of eight.
		at = (at + 7) &^ 7
	}
	at += uint64(i) * uint64(t.field)
	if i >= n || at+uint64(t.field) > uint64(len(f)) {
		return 0, false
	}
	v := t.uint(f[at:])
	if t.version >= go118 {
		return v, v != 1<<32-1
	}
	return v, v != 0
}
