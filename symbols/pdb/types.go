package pdb

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"

	"logparser/message"
	"logparser/symbols/pdb/msf"
)

// Type records that are used. The names are those of cvinfo.h.
const (
	lfModifier   = 0x1001
	lfPointer    = 0x1002
	lfProcedure  = 0x1008
	lfMFunction  = 0x1009
	lfArgList    = 0x1201
	lfArray      = 0x1503
	lfClass      = 0x1504
	lfStructure  = 0x1505
	lfUnion      = 0x1506
	lfEnum       = 0x1507
	lfAlias      = 0x150A
	lfInterface  = 0x1519
	lfFuncID     = 0x1601
	lfMFuncID    = 0x1602
	lfSubstrList = 0x1604
	lfStringID   = 0x1605
	// lfLastID is the last of the records that only the id stream has, of
	// which lfFuncID is the first.
	lfLastID = 0x1607
)

const (
	typeHeaderSize = 56
	// typesV50 is the first version of the streams with this header, typesV80
	// the last one there is.
	typesV50 = 19961031
	typesV80 = 20040203
	// firstType is the lowest index of a type that has a record; those below
	// are built in.
	firstType = 0x1000

	// maxTypeDepth bounds how deep types may be built of types, maxTypeText
	// how long the text of a signature gets, maxTypeWork how many records
	// are visited for it.
	maxTypeDepth = 40
	maxTypeText  = 16 << 10
	maxTypeWork  = 4096
)

// errNoType says that a type is not known, or not in a form that is
// understood. The function's name is still right without it.
var errNoType = message.New("type not known")

// typeStream is a stream of type records (TPI or IPI), read by index. The
// records are of any length; of each few kilobytes the first one's index is
// known.
type typeStream struct {
	stream     *msf.Stream
	begin, end uint32
	records    part

	once  sync.Once
	err   error
	marks []typeMark

	mu     sync.Mutex
	chunks [typeChunks]*typeChunk
}

// typeMark says that the record of a type lies at an offset behind the
// stream's header.
type typeMark struct{ index, off uint32 }

// typeChunk is the records between two marks.
type typeChunk struct {
	mark  int
	bytes []byte
	// offsets are where the records lie in bytes.
	offsets []uint32
}

const (
	// typeChunks is how many chunks are kept, by the last bits of the mark's
	// number.
	typeChunks = 128
	// markDistance is the distance between marks that are made here, in
	// bytes. Writers use the same.
	markDistance = 8 << 10
	// maxChunk bounds the distance between the marks that a file gives.
	maxChunk = 1 << 20
)

// openTypes opens a stream of types. A file without it, with an empty one, or
// with one of the layouts before Visual C++ 5, has no types.
func openTypes(f *msf.File, number int) (*typeStream, error) {
	s, err := f.Stream(number)
	if errors.Is(err, msf.ErrNoStream) || err == nil && s.Size() == 0 {
		return &typeStream{}, nil
	}
	if err != nil {
		return nil, err
	}
	h, err := s.Read(0, min(s.Size(), typeHeaderSize))
	if err != nil {
		return nil, message.Errorf("pdb: types: %w", err)
	}
	if len(h) < typeHeaderSize {
		return nil, message.Errorf("pdb: %w: stream %d: header of %d bytes", ErrDamaged, number, len(h))
	}
	if le.Uint32(h) < typesV50 {
		return &typeStream{}, nil
	}
	ts := &typeStream{stream: s, begin: le.Uint32(h[8:]), end: le.Uint32(h[12:])}
	header, size := int64(le.Uint32(h[4:])), int64(le.Uint32(h[16:]))
	if header > s.Size() || size > s.Size()-header || ts.begin < firstType || ts.end < ts.begin {
		return nil, message.Errorf("pdb: %w: stream %d: types %#x to %#x in %d bytes", ErrDamaged, number, ts.begin, ts.end, size)
	}
	ts.records = part{header, size}
	hash, at, length := le.Uint16(h[20:]), int64(le.Uint32(h[40:])), int64(le.Uint32(h[44:]))
	if hash != noStream {
		ts.readMarks(f, hash, at, length)
	}
	return ts, nil
}

// readMarks reads the marks that the linker left in the hash stream. Where
// they are missing or wrong, marks are made when they are needed.
func (ts *typeStream) readMarks(f *msf.File, hash uint16, at, length int64) {
	s, err := f.Stream(int(hash))
	if err != nil {
		return
	}
	b, err := s.Read(at, length&^7)
	if err != nil {
		return
	}
	marks := make([]typeMark, len(b)/8)
	for i := range marks {
		m := typeMark{le.Uint32(b[i*8:]), le.Uint32(b[i*8+4:])}
		prev := typeMark{ts.begin, 0}
		if i > 0 {
			prev = marks[i-1]
			if m.index <= prev.index || m.off <= prev.off {
				return
			}
		} else if m != prev {
			return
		}
		if int64(m.off) >= ts.records.size || m.off-prev.off > maxChunk {
			return
		}
		marks[i] = m
	}
	if n := len(marks); n > 0 && ts.records.size-int64(marks[n-1].off) <= maxChunk {
		ts.marks = marks
	}
}

// makeMarks walks all records and marks one every few kilobytes.
func (ts *typeStream) makeMarks() error {
	var w msf.Window
	if err := w.Reset(ts.stream, ts.records.off, ts.records.off+ts.records.size); err != nil {
		return err
	}
	index, marked := ts.begin, int64(-markDistance)
	for pos := w.Start(); pos < w.End() && index < ts.end; index++ {
		b, err := w.Bytes(pos, 2)
		if err != nil {
			return err
		}
		if off := pos - w.Start(); off-marked >= markDistance {
			ts.marks = append(ts.marks, typeMark{index, uint32(off)})
			marked = off
		}
		n := int64(le.Uint16(b))
		if n < 2 {
			return message.Errorf("%w: stream %d: type record of %d bytes at %d", ErrDamaged, ts.stream.Number(), n, pos)
		}
		pos += 2 + n
	}
	return nil
}

// record returns the record of a type without its length word. It must not be
// changed.
func (ts *typeStream) record(index uint32) ([]byte, error) {
	if index < ts.begin || index >= ts.end {
		return nil, errNoType
	}
	ts.once.Do(func() {
		if ts.marks == nil {
			ts.err = ts.makeMarks()
		}
	})
	if ts.err != nil {
		return nil, ts.err
	}
	i := sort.Search(len(ts.marks), func(i int) bool { return ts.marks[i].index > index }) - 1
	if i < 0 {
		return nil, errNoType
	}
	c, err := ts.chunk(i)
	if err != nil {
		return nil, err
	}
	n := index - ts.marks[i].index
	if n >= uint32(len(c.offsets)) {
		return nil, errNoType
	}
	b := c.bytes[c.offsets[n]:]
	return b[2 : 2+le.Uint16(b)], nil
}

// chunk returns the records from a mark to the next.
func (ts *typeStream) chunk(mark int) (*typeChunk, error) {
	slot := &ts.chunks[mark%typeChunks]
	ts.mu.Lock()
	c := *slot
	ts.mu.Unlock()
	if c != nil && c.mark == mark {
		return c, nil
	}
	start, end := int64(ts.marks[mark].off), ts.records.size
	if mark+1 < len(ts.marks) {
		end = int64(ts.marks[mark+1].off)
	}
	b, err := ts.stream.Read(ts.records.off+start, end-start)
	if err != nil {
		return nil, err
	}
	c = &typeChunk{mark: mark, bytes: b}
	for at := 0; len(b)-at >= 4; {
		n := int(le.Uint16(b[at:]))
		if n < 2 || n > len(b)-at-2 {
			break
		}
		c.offsets = append(c.offsets, uint32(at))
		at += 2 + n
	}
	ts.mu.Lock()
	*slot = c
	ts.mu.Unlock()
	return c, nil
}

// typeNames turns types into text. It is safe for concurrent use.
type typeNames struct {
	types, ids *typeStream

	mu   sync.RWMutex
	seen map[uint32]string
	kept int
}

// maxTypeNames bounds the texts that are kept at a time, in bytes.
const maxTypeNames = 4 << 20

// printer is the state of turning one type into text.
type printer struct {
	*typeNames
	depth int
	work  int
}

// declare returns the declaration of something called inner, which may be
// empty, of a type: "int *inner", "void (*inner)(int)".
func (p *printer) declare(index uint32, inner string) (string, error) {
	if index < firstType {
		name, ok := builtIn(index)
		if !ok {
			return "", errNoType
		}
		return join(name, inner), nil
	}
	p.depth++
	p.work++
	defer func() { p.depth-- }()
	if p.depth > maxTypeDepth || p.work > maxTypeWork || len(inner) > maxTypeText {
		return "", errNoType
	}
	b, err := p.types.record(index)
	if err != nil {
		return "", err
	}
	switch leaf := le.Uint16(b); leaf {
	case lfModifier:
		if len(b) < 8 {
			return "", errNoType
		}
		text, err := p.declare(le.Uint32(b[2:]), inner)
		attr := le.Uint16(b[6:])
		if attr&2 != 0 {
			text = "volatile " + text
		}
		if attr&1 != 0 {
			text = "const " + text
		}
		return text, err
	case lfPointer:
		return p.pointer(b, inner)
	case lfProcedure, lfMFunction:
		ret, args, ok := functionParts(b)
		if !ok {
			return "", errNoType
		}
		list, err := p.arguments(args)
		if err != nil {
			return "", err
		}
		return p.declare(ret, inner+list)
	case lfArray:
		if len(b) < 10 {
			return "", errNoType
		}
		size, _, ok := numeric(b[10:])
		if !ok {
			return "", errNoType
		}
		bounds := "[]"
		if n, ok := p.sizeOf(le.Uint32(b[2:])); ok && n > 0 && size > 0 {
			bounds = fmt.Sprintf("[%d]", size/n)
		}
		return p.declare(le.Uint32(b[2:]), inner+bounds)
	}
	name, _, ok := named(b)
	if !ok {
		return "", errNoType
	}
	return join(name, inner), nil
}

// join puts a name behind a type.
func join(name, inner string) string {
	if inner == "" || inner[0] == '[' {
		return name + inner
	}
	return name + " " + inner
}

func (p *printer) pointer(b []byte, inner string) (string, error) {
	if len(b) < 10 {
		return "", errNoType
	}
	target, attr := le.Uint32(b[2:]), le.Uint32(b[6:])
	var sign string
	switch attr >> 5 & 7 {
	case 0:
		sign = "*"
	case 1:
		sign = "&"
	case 4:
		sign = "&&"
	case 2, 3:
		if len(b) < 14 {
			return "", errNoType
		}
		class, err := p.declare(le.Uint32(b[10:]), "")
		if err != nil {
			return "", err
		}
		sign = class + "::*"
	default:
		return "", errNoType
	}
	if attr&(1<<10) != 0 {
		sign += "const"
	}
	if attr&(1<<9) != 0 {
		sign += "volatile"
	}
	if inner != "" && wordStart(inner) && wordEnd(sign) {
		sign += " "
	}
	inner = sign + inner
	if target >= firstType {
		t, err := p.types.record(target)
		if err != nil {
			return "", err
		}
		switch le.Uint16(t) {
		case lfProcedure, lfMFunction, lfArray:
			return p.declare(target, "("+inner+")")
		}
	}
	return p.declare(target, inner)
}

func wordStart(s string) bool { return s[0] == '_' || s[0] >= 'A' }
func wordEnd(s string) bool   { return s[len(s)-1] >= 'A' }

// functionParts returns the types of a function's result and of its
// parameters.
func functionParts(b []byte) (ret, args uint32, ok bool) {
	switch {
	case len(b) >= 14 && le.Uint16(b) == lfProcedure:
		return le.Uint32(b[2:]), le.Uint32(b[10:]), true
	case len(b) >= 22 && le.Uint16(b) == lfMFunction:
		return le.Uint32(b[2:]), le.Uint32(b[18:]), true
	}
	return 0, 0, false
}

// arguments returns a parameter list in parentheses.
func (p *printer) arguments(index uint32) (string, error) {
	if index == 0 {
		return "()", nil
	}
	b, err := p.types.record(index)
	if err != nil {
		return "", err
	}
	if len(b) < 6 || le.Uint16(b) != lfArgList {
		return "", errNoType
	}
	count := le.Uint32(b[2:])
	if count > uint32(len(b)-6)/4 {
		return "", errNoType
	}
	var text strings.Builder
	text.WriteByte('(')
	for i := range count {
		if i > 0 {
			text.WriteString(", ")
		}
		arg := le.Uint32(b[6+i*4:])
		if arg == 0 && i == count-1 {
			text.WriteString("...")
			continue
		}
		s, err := p.typeName(arg)
		if err != nil {
			return "", err
		}
		text.WriteString(s)
		if text.Len() > maxTypeText {
			return "", errNoType
		}
	}
	text.WriteByte(')')
	if text.String() == "(void)" {
		return "()", nil
	}
	return text.String(), nil
}

// typeName returns a type's text.
func (p *printer) typeName(index uint32) (string, error) {
	if index < firstType {
		return p.declare(index, "")
	}
	p.mu.RLock()
	s, ok := p.seen[index]
	p.mu.RUnlock()
	if ok {
		return s, nil
	}
	s, err := p.declare(index, "")
	if err != nil {
		return "", err
	}
	p.keep(index, s)
	return s, nil
}

func (n *typeNames) keep(index uint32, s string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.kept += len(s) + 48; n.kept > maxTypeNames {
		clear(n.seen)
		n.kept = len(s) + 48
	}
	n.seen[index] = s
}

// parameters returns the parameter list of a function type, with "const"
// behind it for a member function that leaves its object alone.
func (n *typeNames) parameters(index uint32) (string, error) {
	// Function types are kept beside the others: none is asked for both ways.
	n.mu.RLock()
	s, ok := n.seen[index]
	n.mu.RUnlock()
	if ok {
		return s, nil
	}
	b, err := n.types.record(index)
	if err != nil {
		return "", err
	}
	_, args, ok := functionParts(b)
	if !ok {
		return "", errNoType
	}
	p := printer{typeNames: n}
	list, err := p.arguments(args)
	if err != nil {
		return "", err
	}
	if le.Uint16(b) == lfMFunction {
		list += n.thisQualifiers(le.Uint32(b[10:]))
	}
	n.keep(index, list)
	return list, nil
}

// thisQualifiers returns what a member function's pointer to its object says
// about it.
func (n *typeNames) thisQualifiers(this uint32) string {
	b, err := n.types.record(this)
	if err != nil || len(b) < 10 || le.Uint16(b) != lfPointer {
		return ""
	}
	b, err = n.types.record(le.Uint32(b[2:]))
	if err != nil || len(b) < 8 || le.Uint16(b) != lfModifier {
		return ""
	}
	q := ""
	if attr := le.Uint16(b[6:]); attr&1 != 0 {
		q = " const"
		if attr&2 != 0 {
			q += " volatile"
		}
	} else if attr&2 != 0 {
		q = " volatile"
	}
	return q
}

// sizeOf returns the size of an array's elements in bytes.
func (p *printer) sizeOf(index uint32) (uint64, bool) {
	for range maxTypeDepth {
		if index < firstType {
			return builtInSize(index)
		}
		b, err := p.types.record(index)
		if err != nil {
			return 0, false
		}
		switch leaf := le.Uint16(b); {
		case leaf == lfModifier && len(b) >= 8:
			index = le.Uint32(b[2:])
		case leaf == lfEnum && len(b) >= 10:
			index = le.Uint32(b[6:])
		case leaf == lfPointer && len(b) >= 10:
			return uint64(le.Uint32(b[6:]) >> 13 & 0x3F), true
		case leaf == lfArray && len(b) >= 10:
			n, _, ok := numeric(b[10:])
			return n, ok
		default:
			_, n, ok := named(b)
			return n, ok
		}
	}
	return 0, false
}

// named returns the name and the size in bytes of a class, union or
// enumeration.
func named(b []byte) (name string, size uint64, ok bool) {
	var rest []byte
	switch le.Uint16(b) {
	case lfClass, lfStructure, lfInterface:
		if len(b) < 18 {
			return "", 0, false
		}
		size, rest, ok = numeric(b[18:])
	case lfUnion:
		if len(b) < 10 {
			return "", 0, false
		}
		size, rest, ok = numeric(b[10:])
	case lfEnum:
		if len(b) < 14 {
			return "", 0, false
		}
		rest, ok = b[14:], true
	case lfAlias:
		if len(b) < 6 {
			return "", 0, false
		}
		rest, ok = b[6:], true
	}
	if !ok {
		return "", 0, false
	}
	return normalise(cString(rest)), size, true
}

// numeric reads a number of variable length: itself in two bytes if it is
// small, else its kind and then the number.
func numeric(b []byte) (v uint64, rest []byte, ok bool) {
	if len(b) < 2 {
		return 0, nil, false
	}
	kind := le.Uint16(b)
	if kind < 0x8000 {
		return uint64(kind), b[2:], true
	}
	width, ok := map[uint16]int{0x8000: 1, 0x8001: 2, 0x8002: 2, 0x8003: 4, 0x8004: 4, 0x8009: 8, 0x800A: 8}[kind]
	if !ok || len(b) < 2+width {
		return 0, nil, false
	}
	for i := width - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[2+i])
	}
	return v, b[2+width:], true
}

// Number reads a number of variable length of a type record, of a signed kind with its sign, and returns what lies behind it.
func Number(b []byte) (v int64, rest []byte, ok bool) {
	bits, rest, ok := numeric(b)
	if !ok {
		return 0, nil, false
	}
	switch le.Uint16(b) {
	case 0x8000:
		return int64(int8(bits)), rest, true
	case 0x8001:
		return int64(int16(bits)), rest, true
	case 0x8003:
		return int64(int32(bits)), rest, true
	}
	return int64(bits), rest, true
}

// builtInTypes are the types without a record, by the low byte of their
// index, and their sizes in bytes.
var builtInTypes = map[uint32]struct {
	name string
	size uint64
}{
	0x03: {"void", 0}, 0x08: {"HRESULT", 4},
	0x10: {"signed char", 1}, 0x20: {"unsigned char", 1}, 0x68: {"__int8", 1}, 0x69: {"unsigned __int8", 1},
	0x70: {"char", 1}, 0x71: {"wchar_t", 2}, 0x7A: {"char16_t", 2}, 0x7B: {"char32_t", 4}, 0x7C: {"char8_t", 1},
	0x11: {"short", 2}, 0x21: {"unsigned short", 2}, 0x72: {"short", 2}, 0x73: {"unsigned short", 2},
	0x12: {"long", 4}, 0x22: {"unsigned long", 4}, 0x74: {"int", 4}, 0x75: {"unsigned int", 4},
	0x13: {"__int64", 8}, 0x23: {"unsigned __int64", 8}, 0x76: {"__int64", 8}, 0x77: {"unsigned __int64", 8},
	0x14: {"__int128", 16}, 0x24: {"unsigned __int128", 16}, 0x78: {"__int128", 16}, 0x79: {"unsigned __int128", 16},
	0x46: {"_Float16", 2}, 0x40: {"float", 4}, 0x45: {"float", 4}, 0x44: {"float", 6}, 0x41: {"double", 8},
	0x42: {"long double", 10}, 0x43: {"long double", 16},
	0x50: {"_Complex float", 8}, 0x51: {"_Complex double", 16}, 0x52: {"_Complex long double", 20},
	0x30: {"bool", 1}, 0x31: {"__bool16", 2}, 0x32: {"__bool32", 4}, 0x33: {"__bool64", 8},
}

// nullptrType is the built-in index of std::nullptr_t, which would otherwise
// read as a pointer to void.
const nullptrType = 0x0103

func builtIn(index uint32) (string, bool) {
	if index == nullptrType {
		return "std::nullptr_t", true
	}
	t, ok := builtInTypes[index&0xFF]
	if !ok {
		return "", false
	}
	if index>>8&0xF != 0 {
		return t.name + " *", true
	}
	return t.name, true
}

func builtInSize(index uint32) (uint64, bool) {
	switch index >> 8 & 0xF {
	case 0:
		t, ok := builtInTypes[index&0xFF]
		return t.size, ok
	case 6:
		return 8, true
	}
	return 4, true
}

// signature returns a function's name with its parameters, or "".
func (n *typeNames) signature(name string, typ uint32) string {
	if typ < firstType {
		return ""
	}
	list, err := n.parameters(typ)
	if err != nil {
		return ""
	}
	return name + list
}
