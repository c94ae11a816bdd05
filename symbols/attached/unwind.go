package attached

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"slices"
	"sort"

	"logparser/message"
	"logparser/symbols/image"
	"logparser/symbols/unwind"
)

// The fields before a module's unwind rules.
const (
	fieldMachine    = 1
	fieldLinkBase   = 2
	fieldLeaves     = 3
	fieldExecutable = 4
	fieldSections   = 5
	fieldCode       = 6

	// maxUnwindHead bounds those fields, maxKeptCode the code among them, in bytes.
	maxUnwindHead = 1 << 20
	maxKeptCode   = 256 << 10

	// maxRuleRecords bounds the different rules of an image, in bytes of memory, of which each takes its own and
	// ruleRecord more.
	maxRuleRecords = 64 << 20
	ruleRecord     = 64
)

// The columns of a block of entries, and of a block of rules.
const (
	columnGap      = iota // bytes without an entry before it, uvarint
	columnLength          // its bytes, uvarint
	columnFunction        // its start less its function's, signed
	columnSpans           // number of spans, uvarint
	columnSpan            // bytes of each span but the last, uvarint
	columnExact           // the rule of each span, see ruleCode
	columnReturn          // 0 the same, 1 none, n + 2 the rule n
	unwindColumns
)

const (
	// entriesInBlock is how many entries a block has, spansInBlock about how many spans.
	entriesInBlock = 2048
	spansInBlock   = 8192
)

// EncodedUnwind are the unwind rules of a module, ready to be written.
type EncodedUnwind struct {
	// Entries is how many pieces of code have rules, Rules how many different rules there are.
	Entries, Rules int
	parts          [2][]byte // in the order of unwindKinds
}

var unwindKinds = [2]Kind{KindUnwind, KindRules}

// Size returns the bytes that the rules take, 0 of none.
func (e *EncodedUnwind) Size() (n int64) {
	if e != nil {
		for _, p := range e.parts {
			n += int64(len(p))
		}
	}
	return n
}

// Parts returns what a container has of a module's rules; owner is its number there. e may be nil.
func (e *EncodedUnwind) Parts(owner uint32) (list []Part) {
	if e != nil {
		for i, kind := range unwindKinds {
			list = append(list, bytesPart(kind, owner, e.parts[i]))
		}
	}
	return list
}

// CodePiece is bytes of a module's code.
type CodePiece struct {
	RVA   uint64
	Bytes []byte
}

// EncodeUnwind keeps the unwind rules of an image, and pieces of its code, as many as there is room for. It returns nil for an image
// without rules of which no pieces are kept.
func EncodeUnwind(ctx context.Context, im *image.Image, pieces []CodePiece) (*EncodedUnwind, error) {
	machine := unwind.MachineOf(im.Machine)
	rules := unwind.RulesOf(im)
	if machine == unwind.Unknown || im.Relocatable || len(rules) == 0 && len(pieces) == 0 {
		return nil, nil
	}
	e := &unwindEncoder{rules: newRowRecords()}
	e.blocks.w = &e.packed
	err := unwind.Collect(rules, func(entry *unwind.Entry) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return e.add(entry)
	})
	if err == nil {
		err = e.flush()
	}
	if err != nil {
		return nil, err
	}
	if e.parts[1], err = e.rules.part(); err != nil {
		return nil, err
	}
	fields := unwindFields(im, machine, rules, pieces)
	e.parts[0] = binary.LittleEndian.AppendUint32(nil, uint32(len(fields)))
	e.parts[0] = append(append(append(e.parts[0], fields...), e.blocks.head()...), e.packed.Bytes()...)
	e.Rules = e.rules.n
	return &e.EncodedUnwind, nil
}

// unwindFields returns what is said of an image besides its rules.
func unwindFields(im *image.Image, machine unwind.Machine, rules []unwind.Rules, pieces []CodePiece) []byte {
	fields := appendField(nil, fieldMachine, []byte(machine.String()))
	fields = appendField(fields, fieldLinkBase, binary.LittleEndian.AppendUint64(nil, im.Base))
	if unwind.LeavesAlone(rules) {
		fields = appendField(fields, fieldLeaves, []byte{1})
	}
	var b []byte
	at := uint64(0)
	for _, r := range merge(CodeOf(im)) {
		b = binary.AppendUvarint(binary.AppendUvarint(b, r.Lo-at), r.Hi-r.Lo)
		at = r.Hi
	}
	fields = appendField(fields, fieldExecutable, b)
	b = nil
	for _, s := range im.Sections {
		if s.MemSize > 0 && s.Addr >= im.Base && s.Addr-im.Base < im.Size && len(b) < maxUnwindHead/8 {
			b = binary.AppendUvarint(b, uint64(s.Index))
			b = binary.AppendUvarint(binary.AppendUvarint(b, s.Addr-im.Base), s.MemSize)
		}
	}
	fields = appendField(fields, fieldSections, b)
	b = nil
	for _, p := range pieces {
		if len(b)+len(p.Bytes) > maxKeptCode {
			break
		}
		b = binary.AppendUvarint(binary.AppendUvarint(b, p.RVA), uint64(len(p.Bytes)))
		b = append(b, p.Bytes...)
	}
	return appendField(fields, fieldCode, b)
}

// An unwindEncoder collects entries in the order of RVAs.
type unwindEncoder struct {
	EncodedUnwind
	rules  *rowRecords
	blocks blockWriter
	packed bytes.Buffer
	column [unwindColumns][]byte
	// first is the RVA that the block begins at, end where its last entry ended; n and spans are
	// how many entries and spans it has.
	first, end uint64
	n, spans   int
	after      successors
}

func (e *unwindEncoder) add(entry *unwind.Entry) error {
	if e.n >= entriesInBlock || e.n > 0 && e.spans+len(entry.Spans) > spansInBlock {
		if err := e.flush(); err != nil {
			return err
		}
	}
	// An entry that no block has room for is kept piece by piece.
	for len(entry.Spans) > spansInBlock {
		head, tail := *entry, *entry
		head.Spans, tail.Spans = entry.Spans[:spansInBlock], entry.Spans[spansInBlock:]
		head.End = head.Start
		for _, s := range head.Spans {
			head.End += s.Length
		}
		tail.Start = head.End
		if err := e.add(&head); err != nil {
			return err
		}
		if err := e.flush(); err != nil {
			return err
		}
		entry = &tail
	}
	if e.n == 0 {
		e.first, e.end, e.after = entry.Start, entry.Start, nil
	}
	put := func(column int, v uint64) { e.column[column] = binary.AppendUvarint(e.column[column], v) }
	put(columnGap, entry.Start-e.end)
	put(columnLength, entry.End-entry.Start)
	e.column[columnFunction] = binary.AppendVarint(e.column[columnFunction], int64(entry.Start-entry.Function))
	put(columnSpans, uint64(len(entry.Spans)))
	last := uint32(noRule)
	for i, s := range entry.Spans {
		if i+1 < len(entry.Spans) {
			put(columnSpan, s.Length)
		}
		exact, err := e.rules.number(s.Exact)
		if err != nil {
			return err
		}
		put(columnExact, e.after.code(last, exact))
		last = exact
		if s.Return == s.Exact {
			put(columnReturn, 0)
			continue
		}
		back, err := e.rules.number(s.Return)
		if err != nil {
			return err
		}
		put(columnReturn, uint64(back)+1)
	}
	e.end = entry.End
	e.n++
	e.spans += len(entry.Spans)
	e.Entries++
	return nil
}

func (e *unwindEncoder) flush() error {
	if e.n == 0 {
		return nil
	}
	err := e.blocks.add(e.first, e.column[:]...)
	for i := range e.column {
		e.column[i] = e.column[i][:0]
	}
	e.n, e.spans = 0, 0
	return err
}

// noRule stands for code without a rule. Rules are numbered from 1.
const noRule = 0

// successors has, for each rule, the rule that followed it last time.
type successors map[uint32]uint32

// code returns the code of a rule that follows another: 0 is the one that followed it last time, n + 1 the rule n.
func (c *successors) code(after, rule uint32) uint64 {
	if *c == nil {
		*c = make(successors)
	}
	if next, ok := (*c)[after]; ok && next == rule {
		return 0
	}
	(*c)[after] = rule
	return uint64(rule) + 1
}

// rule is the reverse of code.
func (c *successors) rule(after uint32, code uint64) (uint32, bool) {
	if *c == nil {
		*c = make(successors)
	}
	if code == 0 {
		rule, ok := (*c)[after]
		return rule, ok
	}
	(*c)[after] = uint32(code - 1)
	return uint32(code - 1), true
}

// rowRecords are rules that are numbered in the order in which they first occur, from 1 on.
type rowRecords struct {
	numbers map[unwind.KeptRow]uint32
	n       int
	room    int // bytes that rules may still take
	packed  bytes.Buffer
	blocks  blockWriter
	first   int
	column  [ruleColumns][]byte
}

const (
	columnRuleLength = iota // bytes of the rule, uvarint
	columnRule              // those bytes
	ruleColumns
)

func newRowRecords() *rowRecords {
	r := &rowRecords{numbers: map[unwind.KeptRow]uint32{"": noRule}, room: maxRuleRecords}
	r.blocks.w = &r.packed
	return r
}

// number returns the number of a rule, noRule once there is no room for more: the code then counts as having none.
func (r *rowRecords) number(rule unwind.KeptRow) (uint32, error) {
	if n, ok := r.numbers[rule]; ok {
		return n, nil
	}
	if r.room -= len(rule) + ruleRecord; r.room < 0 {
		r.room = 0
		return noRule, nil
	}
	if len(r.column[columnRule])+len(rule) > recordsInBlock {
		if err := r.flush(); err != nil {
			return 0, err
		}
	}
	if int64(r.n) >= noID-2 {
		return 0, message.Errorf("more than %d unwind rules", r.n)
	}
	r.column[columnRuleLength] = binary.AppendUvarint(r.column[columnRuleLength], uint64(len(rule)))
	r.column[columnRule] = append(r.column[columnRule], rule...)
	r.n++
	r.numbers[rule] = uint32(r.n)
	return uint32(r.n), nil
}

func (r *rowRecords) flush() error {
	err := r.blocks.add(uint64(r.first), r.column[:]...)
	for i := range r.column {
		r.column[i] = r.column[i][:0]
	}
	r.first = r.n
	return err
}

func (r *rowRecords) part() ([]byte, error) {
	if len(r.column[columnRule]) > 0 {
		if err := r.flush(); err != nil {
			return nil, err
		}
	}
	return append(r.blocks.head(), r.packed.Bytes()...), nil
}

// Unwind is the unwind rules of a module in a container, and what is kept of its code. It is safe for concurrent use.
// It reads from what the container was opened on.
type Unwind struct {
	// Machine is that of the code.
	Machine unwind.Machine

	linkBase   uint64
	leaves     bool
	executable []Range
	sections   []section
	code       []CodePiece // by RVA
	entries    *blocks
	rules      *blocks
	cache      cache
	// kept are the container's entries of the rules.
	container *Container
	kept      [2]entry
}

// A section is where a section of the image lies in memory.
type section struct {
	index   int
	rva, to uint64
}

// ErrNoUnwind says that a container has no unwind rules of a module.
var ErrNoUnwind = message.New("the container has no unwind rules of this module")

// OpenUnwind opens the module's unwind rules. The error wraps [ErrNoUnwind] where there are none.
func (m *Module) OpenUnwind() (*Unwind, error) {
	c := m.container
	entries, ok := c.part(KindUnwind, m.owner)
	rules, ok2 := c.part(KindRules, m.owner)
	if !ok || !ok2 {
		return nil, ErrNoUnwind
	}
	bad := message.Errorf("%w: unwind rules at %#x", ErrFormat, entries.offset)
	var length [4]byte
	if entries.length < 4 {
		return nil, bad
	}
	if err := readAt(c.r, length[:], entries.offset); err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(length[:]))
	if n > min(maxUnwindHead, entries.length-4) {
		return nil, bad
	}
	fields := make([]byte, n)
	if err := readAt(c.r, fields, entries.offset+4); err != nil {
		return nil, err
	}
	u := &Unwind{container: c, kept: [2]entry{entries, rules}}
	if !u.read(fields) {
		return nil, bad
	}
	var err error
	if u.entries, err = openBlocks(c.r, entries.offset+4+n, entries.length-4-n); err != nil {
		return nil, err
	}
	u.rules, err = openBlocks(c.r, rules.offset, rules.length)
	return u, err
}

// Parts returns the rules as parts of another container; owner is the module's number there. What u reads from is
// needed until they are written.
func (u *Unwind) Parts(owner uint32) (list []Part) {
	for i, e := range u.kept {
		list = append(list, Part{unwindKinds[i], owner, e.length, func(w io.Writer) error {
			return copyRange(w, u.container.r, e.offset, e.offset+e.length)
		}})
	}
	return list
}

// read reads the fields.
func (u *Unwind) read(fields []byte) bool {
	good := true
	err := eachField(fields, func(number uint64, f []byte) {
		// pair takes two numbers, of which the second is a length that does not reach beyond the end of
		// addresses.
		pair := func(at uint64) (from, length uint64) {
			const all = 1<<64 - 1
			from, ok := uvarint(&f, all-at)
			length, ok2 := uvarint(&f, all-at-from)
			if !ok || !ok2 {
				good, f = false, nil
			}
			return at + from, length
		}
		switch {
		case number == fieldMachine:
			u.Machine = unwind.MachineOf(string(f))
		case number == fieldLinkBase && len(f) == 8:
			u.linkBase = binary.LittleEndian.Uint64(f)
		case number == fieldLeaves:
			u.leaves = len(f) == 1 && f[0] != 0
		case number == fieldExecutable:
			for at := uint64(0); len(f) > 0; {
				from, length := pair(at)
				at = from + length
				u.executable = append(u.executable, Range{from, at})
			}
		case number == fieldSections:
			for len(f) > 0 {
				index, ok := uvarint(&f, 1<<31-1)
				good = good && ok
				from, length := pair(0)
				u.sections = append(u.sections, section{int(index), from, from + length})
			}
		case number == fieldCode:
			for len(f) > 0 {
				rva, length := pair(0)
				if length > uint64(len(f)) {
					good, length = false, uint64(len(f))
				}
				u.code = append(u.code, CodePiece{rva, f[:length:length]})
				f = f[length:]
			}
		}
	})
	return err == nil && good && u.Machine != unwind.Unknown
}

// LinkBase implements [unwind.Code].
func (u *Unwind) LinkBase() uint64 { return u.linkBase }

// Executable implements [unwind.Code].
func (u *Unwind) Executable(rva uint64) bool {
	i := sort.Search(len(u.executable), func(i int) bool { return u.executable[i].Lo > rva })
	return i > 0 && rva < u.executable[i-1].Hi
}

// Read implements [unwind.Code]: only pieces were kept.
func (u *Unwind) Read(rva uint64, n int64) ([]byte, error) {
	for i := range u.code {
		p := &u.code[i]
		if rva >= p.RVA && rva-p.RVA <= uint64(len(p.Bytes)) && uint64(n) <= uint64(len(p.Bytes))-(rva-p.RVA) {
			return slices.Clone(p.Bytes[rva-p.RVA:][:n]), nil
		}
	}
	return nil, errNoCode
}

var errNoCode = message.New("this code was not kept")

// Section returns the section that an RVA lies in, and the RVA that it begins at.
func (u *Unwind) Section(rva uint64) (index int, start uint64, ok bool) {
	for _, s := range u.sections {
		if rva >= s.rva && rva < s.to {
			return s.index, s.rva, true
		}
	}
	return 0, 0, false
}

// LeavesAlone implements [unwind.KeptTable].
func (u *Unwind) LeavesAlone() bool { return u.leaves }

// Rules returns the rules.
func (u *Unwind) Rules() unwind.Rules { return unwind.NewKept(u.Machine, u) }

// Rule implements [unwind.KeptTable].
func (u *Unwind) Rule(rva uint64) (k unwind.Place, err error) {
	i := u.entries.find(rva)
	if i < 0 {
		return k, nil
	}
	v, err := u.cache.get(cacheKey{u.entries, i}, func() (any, int, error) {
		list, err := u.entries.read(i, unwindColumns)
		if err != nil {
			return nil, 0, err
		}
		b := decodeEntries(list, u.entries.list[i].key)
		if b == nil {
			return nil, 0, message.Errorf("%w: the unwind rules at %#x", ErrFormat, u.entries.list[i].offset)
		}
		return b, 40*len(b.entries) + 16*len(b.ends), nil
	})
	if err != nil {
		return k, err
	}
	b := v.(*entryBlock)
	at := sort.Search(len(b.entries), func(i int) bool { return b.entries[i].start > rva }) - 1
	if at < 0 || rva >= b.entries[at].end {
		return k, nil
	}
	e := &b.entries[at]
	k.Start, k.End, k.Function = e.start, e.end, e.function
	span := e.first + sort.Search(e.spans, func(i int) bool { return b.ends[e.first+i] > rva })
	if k.Exact, err = u.rule(b.exact[span]); err == nil {
		k.Return, err = u.rule(b.back[span])
	}
	return k, err
}

// rule returns the rule of a number.
func (u *Unwind) rule(number uint32) (unwind.KeptRow, error) {
	if number == noRule {
		return "", nil
	}
	n := uint64(number - 1)
	i := u.rules.find(n)
	if i < 0 {
		return "", message.Errorf("%w: there is no unwind rule %d", ErrFormat, number)
	}
	v, err := u.cache.get(cacheKey{u.rules, i}, func() (any, int, error) {
		list, err := u.rules.read(i, ruleColumns)
		if err != nil {
			return nil, 0, err
		}
		b := &recordBlock{text: string(list[columnRule])}
		at := uint64(0)
		for lengths := list[columnRuleLength]; len(lengths) > 0; {
			length, ok := uvarint(&lengths, uint64(len(b.text))-at)
			if !ok {
				return nil, 0, message.Errorf("%w: the unwind rules at %#x", ErrFormat, u.rules.list[i].offset)
			}
			at += length
			b.ends = append(b.ends, uint32(at))
		}
		return b, len(b.text) + 4*len(b.ends), nil
	})
	if err != nil {
		return "", err
	}
	b := v.(*recordBlock)
	at := n - u.rules.list[i].key
	if at >= uint64(len(b.ends)) {
		return "", message.Errorf("%w: there is no unwind rule %d", ErrFormat, number)
	}
	start := uint32(0)
	if at > 0 {
		start = b.ends[at-1]
	}
	return unwind.KeptRow(b.text[start:b.ends[at]]), nil
}

// An entryBlock is a block of entries. Spans of all entries lie one behind the other: where each ends, and its rules.
type entryBlock struct {
	entries     []unwindEntry
	ends        []uint64
	exact, back []uint32
}

type unwindEntry struct {
	start, end, function uint64
	first, spans         int
}

// varint takes a signed number off b.
func varint(b *[]byte) (int64, bool) {
	v, n := binary.Varint(*b)
	if n <= 0 {
		return 0, false
	}
	*b = (*b)[n:]
	return v, true
}

// decodeEntries takes a block's columns apart. It is nil where they are damaged.
func decodeEntries(column [][]byte, at uint64) *entryBlock {
	const all = 1<<64 - 1
	b := &entryBlock{}
	var after successors
	for len(column[columnGap]) > 0 {
		gap, ok := uvarint(&column[columnGap], all-at)
		length, ok2 := uvarint(&column[columnLength], all-at-gap)
		back, ok3 := varint(&column[columnFunction])
		// Each span has a byte of its own in the column of rules.
		spans, ok4 := uvarint(&column[columnSpans], uint64(len(column[columnExact])))
		if !ok || !ok2 || !ok3 || !ok4 || length == 0 || spans == 0 {
			return nil
		}
		at += gap
		e := unwindEntry{start: at, end: at + length, function: at - uint64(back), first: len(b.ends), spans: int(spans)}
		last := uint32(noRule)
		for i := range spans {
			part := e.end - at
			if i+1 < spans {
				if part, ok = uvarint(&column[columnSpan], e.end-at); !ok {
					return nil
				}
			}
			at += part
			code, ok := uvarint(&column[columnExact], noID)
			rule, ok2 := after.rule(last, code)
			other, ok3 := uvarint(&column[columnReturn], noID)
			if !ok || !ok2 || !ok3 {
				return nil
			}
			last = rule
			b.ends = append(b.ends, at)
			b.exact = append(b.exact, rule)
			if other > 0 {
				rule = uint32(other - 1)
			}
			b.back = append(b.back, rule)
		}
		b.entries = append(b.entries, e)
	}
	return b
}
