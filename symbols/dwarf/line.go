package dwarf

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/go-delve/delve/pkg/dwarf/line"

	"logparser/message"
)

// A row says from which line the code was made from an offset in its sequence
// on, up to the next row.
type row struct {
	off  uint32
	line uint32
	file uint32
}

// A sequence is the rows of a contiguous piece of code, [lo, hi).
type sequence struct {
	lo, hi      uint64
	first, last int32 // rows[first:last]
}

// A lineTable is a unit's line number table. It is safe for concurrent use.
type lineTable struct {
	u       *unit
	version uint16
	// data is the table's header, from which names of files are read.
	data  []byte
	dirs  []fileEntry
	files []fileEntry
	rows  []row
	seqs  []sequence // by lo

	// paths are the whole paths of files that were asked for.
	paths []atomic.Pointer[filePath]
}

// A filePath is the whole path of a file.
type filePath struct {
	text      string
	printable bool // see symbols.Symbol
}

// noPath stands for a file that is not known.
var noPath = &filePath{printable: true}

// A fileEntry is a file or directory of a line table's header.
type fileEntry struct {
	name value
	dir  uint32
}

func (t *lineTable) cost() int64 {
	return int64(len(t.data)) + int64(cap(t.dirs)+cap(t.files))*32 + int64(cap(t.rows))*12 + int64(cap(t.seqs))*24
}

const (
	// maxRows bounds the rows of a table, beside one for so many bytes.
	maxRows = 1 << 20
	// maxFiles bounds the files and the directories of a table.
	maxFiles = 1 << 18
)

// errNoLines says that a unit has no line table.
var errNoLines = message.New("no line table")

// readLines reads the line table of a unit. code reports whether a range is
// code of the image: sequences of code that the linker dropped are left out.
// With rows false only the header is read.
// They are made in the memory of work, which may be nil.
func readLines(u *unit, code func(span) bool, rows bool, work *workspace) (*lineTable, error) {
	if !u.root.stmtList.present() {
		return nil, errNoLines
	}
	section, err := u.src.section("line")
	if err != nil {
		return nil, err
	}
	off := int64(u.root.stmtList.u) + u.sections.line
	fail := func(err error) (*lineTable, error) {
		return nil, u.src.errorf(".debug_line: table at offset %#x: %w", off, err)
	}
	head, err := section.Upto(off, 12)
	if err != nil {
		return fail(err)
	}
	b := &buf{b: head, big: u.src.big}
	length, offsetSize := b.length()
	if b.failed || length > uint64(section.Size()-off-int64(b.pos)) {
		return fail(errTruncated)
	}
	if work == nil {
		work = &workspace{}
	}
	all, err := section.ReadInto(&work.program, off, int64(b.pos)+int64(length))
	if err != nil {
		return fail(err)
	}
	t := &lineTable{u: u}
	b = &buf{b: all, pos: b.pos, big: u.src.big}
	p, err := t.header(b, offsetSize)
	if err != nil {
		return fail(err)
	}
	if rows {
		if work.rows, err = p.run(b, t, code, emptied(work.rows)); err != nil {
			return fail(err)
		}
	}
	// The rows are decoded; the header is kept alone.
	t.data = slices.Clone(all[:p.end])
	t.paths = make([]atomic.Pointer[filePath], len(t.files))
	return t, nil
}

// A program is what a header says of the line number program.
type program struct {
	end        int // of the header
	minInstr   uint64
	maxOps     uint64
	lineBase   int64
	lineRange  uint8
	opcodeBase uint8
	lengths    []byte // operands of the standard opcodes
	addrSize   int
}

func (t *lineTable) header(b *buf, offsetSize int) (*program, error) {
	p := &program{maxOps: 1, addrSize: int(t.u.addrSize)}
	t.version = b.u16()
	if t.version < 2 || t.version > 5 {
		return nil, message.Errorf("unknown version %d", t.version)
	}
	if t.version >= 5 {
		p.addrSize = int(b.u8())
		b.u8() // segment selector size
	}
	headerLength := b.uint(offsetSize)
	if b.failed || headerLength > uint64(len(b.b)-b.pos) {
		return nil, errTruncated
	}
	p.end = b.pos + int(headerLength)
	p.minInstr = uint64(b.u8())
	if t.version >= 4 {
		p.maxOps = max(1, uint64(b.u8()))
	}
	b.u8() // default of is_stmt
	p.lineBase = int64(int8(b.u8()))
	p.lineRange = b.u8()
	p.opcodeBase = b.u8()
	if p.opcodeBase > 0 {
		p.lengths = b.take(int(p.opcodeBase) - 1)
	}
	if b.failed {
		return nil, errTruncated
	}
	h := &buf{b: b.b[:p.end], pos: b.pos, big: b.big}
	var err error
	if t.version >= 5 {
		if t.dirs, err = t.entries5(h, offsetSize); err == nil {
			t.files, err = t.entries5(h, offsetSize)
		}
	} else {
		err = t.entries2(h)
	}
	if err == nil && h.failed {
		err = errTruncated
	}
	b.pos = p.end
	return p, err
}

// entries2 reads the directories and files of DWARF 2 to 4. Number 0 is the
// unit's own directory, and no file.
func (t *lineTable) entries2(b *buf) error {
	t.dirs = append(t.dirs, fileEntry{})
	for {
		v := read(b, t.u.encoding, formString, 0)
		if b.failed || int(v.u)+1 == b.pos {
			break
		}
		if len(t.dirs) > maxFiles {
			return message.Errorf("more than %d directories", maxFiles)
		}
		t.dirs = append(t.dirs, fileEntry{name: v})
	}
	t.files = append(t.files, fileEntry{})
	for {
		v := read(b, t.u.encoding, formString, 0)
		if b.failed || int(v.u)+1 == b.pos {
			return nil
		}
		if len(t.files) > maxFiles {
			return message.Errorf("more than %d files", maxFiles)
		}
		t.files = append(t.files, fileEntry{name: v, dir: uint32(b.uleb())})
		b.uleb() // time
		b.uleb() // length
	}
}

// Content types of entry formats (DWARF 5, table 7.27).
const (
	lnctPath           = 1
	lnctDirectoryIndex = 2
)

// entries5 reads a table of directories or files of DWARF 5.
func (t *lineTable) entries5(b *buf, offsetSize int) ([]fileEntry, error) {
	enc := t.u.encoding
	enc.offsetSize = uint8(offsetSize)
	type format struct{ content, form uint64 }
	var formats []format
	for n := int(b.u8()); n > 0; n-- {
		formats = append(formats, format{b.uleb(), b.uleb()})
	}
	count := b.uleb()
	if b.failed {
		return nil, errTruncated
	}
	if count > maxFiles || len(formats) == 0 && count > 0 {
		return nil, message.Errorf("%d files or directories", count)
	}
	var out []fileEntry
	for ; count > 0 && !b.failed; count-- {
		var e fileEntry
		for _, f := range formats {
			v := read(b, enc, uint16(f.form), 0)
			switch f.content {
			case lnctPath:
				e.name = v
			case lnctDirectoryIndex:
				e.dir = uint32(v.u)
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// registers are those of the machine that line number programs are written for.
type registers struct {
	addr, op   uint64
	file, line uint64
}

// A lineRunner executes a line number program.
type lineRunner struct {
	*program
	registers
	// rows are those of all sequences, and from first on those of the one that is being made.
	rows  []row
	first int
	seqs  []sequence
	// lo is where the sequence begins and last the address of its last row, if it has begun. ordered says that no row's
	// address is below the one before.
	lo, last       uint64
	begun, ordered bool
}

// startOfSequence is what registers hold before each sequence.
var startOfSequence = registers{file: 1, line: 1}

// advance moves the address by a number of operations.
func (m *lineRunner) advance(n uint64) {
	if m.maxOps == 1 {
		m.addr += n * m.minInstr
		return
	}
	m.addr += m.minInstr * ((m.op + n) / m.maxOps)
	m.op = (m.op + n) % m.maxOps
}

// emit adds a row, unless it says what the row before does.
func (m *lineRunner) emit() {
	if !m.begun {
		m.begun, m.lo, m.last = true, m.addr, m.addr
	}
	off := m.addr - m.lo
	if off > 1<<32-1 {
		off = 1<<32 - 1
		if m.addr < m.lo {
			off = 0
		}
	}
	if m.addr < m.last {
		m.ordered = false
	}
	m.last = m.addr
	next := row{uint32(off), uint32(m.line), uint32(m.file)}
	if n := len(m.rows); n > m.first {
		prev := &m.rows[n-1]
		if prev.off == next.off {
			*prev = next
			return
		}
		if prev.line == next.line && prev.file == next.file {
			return
		}
	}
	m.rows = append(m.rows, next)
}

// endSequence ends a sequence at the address. It is dropped if it is no code of the image.
func (m *lineRunner) endSequence(code func(span) bool) {
	if m.begun && m.addr > m.lo && code(span{m.lo, m.addr}) {
		if !m.ordered {
			slices.SortStableFunc(m.rows[m.first:], func(a, b row) int { return compare(uint64(a.off), uint64(b.off)) })
		}
		m.seqs = append(m.seqs, sequence{m.lo, m.addr, int32(m.first), int32(len(m.rows))})
	} else {
		m.rows = m.rows[:m.first]
	}
	m.first = len(m.rows)
	m.registers = startOfSequence
	m.begun, m.ordered = false, true
}

// run executes the line number program. rows is memory to make rows in.
func (p *program) run(b *buf, t *lineTable, code func(span) bool, rows []row) ([]row, error) {
	if p.lineRange == 0 && p.opcodeBase < 255 {
		return rows, message.Errorf("line_range is 0")
	}
	m := lineRunner{program: p, registers: startOfSequence, rows: rows[:0], ordered: true}
	if err := m.run(b, t, code); err != nil {
		return m.rows, err
	}
	// Rows that no end_sequence closes have no end.
	t.rows, t.seqs = slices.Clone(m.rows[:m.first]), m.seqs
	slices.SortStableFunc(t.seqs, func(a, b sequence) int { return compare(a.lo, b.lo) })
	return m.rows, nil
}

func (m *lineRunner) run(b *buf, t *lineTable, code func(span) bool) error {
	limit := maxRows + len(b.b)/24
	// What a special opcode adds to the operations and to the line.
	var operations [256]uint8
	var lines [256]int16
	for i := range 256 - int(m.opcodeBase) {
		if m.lineRange > 0 {
			operations[i+int(m.opcodeBase)] = uint8(i / int(m.lineRange))
			lines[i+int(m.opcodeBase)] = int16(m.lineBase) + int16(i%int(m.lineRange))
		}
	}
	for b.pos < len(b.b) {
		if len(m.rows) > limit {
			return message.Errorf("more than %d rows", limit)
		}
		opcode := b.b[b.pos]
		b.pos++
		if opcode >= m.opcodeBase {
			m.advance(uint64(operations[opcode]))
			m.line += uint64(int64(lines[opcode]))
			m.emit()
			continue
		}
		switch opcode {
		case 0:
			if err := m.extended(b, t, code); err != nil {
				return err
			}
		case line.DW_LNS_copy:
			m.emit()
		case line.DW_LNS_advance_pc:
			m.advance(b.uleb())
		case line.DW_LNS_advance_line:
			m.line += uint64(b.sleb())
		case line.DW_LNS_set_file:
			m.file = b.uleb()
		case line.DW_LNS_const_add_pc:
			if m.lineRange == 0 {
				return message.Errorf("line_range is 0")
			}
			m.advance(uint64((255 - m.opcodeBase) / m.lineRange))
		case line.DW_LNS_fixed_advance_pc:
			m.addr += uint64(b.u16())
			m.op = 0
		case line.DW_LNS_negate_stmt, line.DW_LNS_set_basic_block, line.DW_LNS_prologue_end, line.DW_LNS_epilogue_begin:
		case line.DW_LNS_set_column, line.DW_LNS_set_isa:
			b.uleb()
		default:
			for n := m.lengths[opcode-1]; n > 0; n-- {
				b.uleb()
			}
		}
	}
	if b.failed {
		return errTruncated
	}
	return nil
}

// extended executes an extended opcode.
func (m *lineRunner) extended(b *buf, t *lineTable, code func(span) bool) error {
	n := b.uleb()
	if n == 0 || n > uint64(len(b.b)-b.pos) {
		return errTruncated
	}
	next := b.pos + int(n)
	switch b.u8() {
	case line.DW_LINE_end_sequence:
		m.endSequence(code)
	case line.DW_LINE_set_address:
		size := int(n) - 1
		if size != 2 && size != 4 && size != 8 {
			return message.Errorf("address of %d bytes", size)
		}
		m.addr, m.op = b.uint(size), 0
	case line.DW_LINE_define_file:
		if len(t.files) < maxFiles {
			// The name would be beyond the bytes that are kept.
			t.files = append(t.files, fileEntry{})
		}
	}
	b.pos = next
	return nil
}

// maxSequences bounds how many sequences are looked at for one address.
const maxSequences = 16

// find returns the file number and line of an address.
func (t *lineTable) find(addr uint64) (file, line uint32, ok bool) {
	i, end := 0, len(t.seqs)
	for i < end {
		if mid := int(uint(i+end) / 2); t.seqs[mid].lo <= addr {
			i = mid + 1
		} else {
			end = mid
		}
	}
	i--
	for n := 0; i >= 0 && n < maxSequences; i, n = i-1, n+1 {
		s := &t.seqs[i]
		if addr >= s.hi {
			continue
		}
		rows := t.rows[s.first:s.last]
		off := addr - s.lo
		j, end := 0, len(rows)
		for j < end {
			if mid := int(uint(j+end) / 2); uint64(rows[mid].off) <= off {
				j = mid + 1
			} else {
				end = mid
			}
		}
		if j == 0 {
			return 0, 0, false
		}
		return rows[j-1].file, rows[j-1].line, true
	}
	return 0, 0, false
}

// path returns the path of a file, "" where it is not known.
func (t *lineTable) path(file uint32) string { return t.filePath(file).text }

func (t *lineTable) filePath(file uint32) *filePath {
	if t == nil || uint64(file) >= uint64(len(t.files)) || t.version < 5 && file == 0 {
		return noPath
	}
	if p := t.paths[file].Load(); p != nil {
		return p
	}
	text := t.join(t.files[file])
	p := &filePath{text, printable(text)}
	t.paths[file].Store(p)
	return p
}

func (t *lineTable) join(f fileEntry) string {
	name := t.text(f.name)
	if name == "" || absolute(name) {
		return clean(name)
	}
	dir := ""
	if uint64(f.dir) < uint64(len(t.dirs)) {
		dir = t.text(t.dirs[f.dir].name)
	}
	if !absolute(dir) {
		dir = joinPath(t.u.compDir(), dir)
	}
	return clean(joinPath(dir, name))
}

// compDir returns the folder that the compiler ran in. Where its name is in an
// alternate file that is not to be had, it is taken for the root, as dump_syms
// does, so that the path is whole and stays comparable.
func (u *unit) compDir() string {
	if u.skeleton != nil && !u.root.compDir.present() {
		return u.skeleton.compDir()
	}
	dir := u.rootString(u.root.compDir, u.root.dirText)
	if f := u.root.compDir.form; dir == "" && (f == formGNUStrpAlt || f == formStrpSup) {
		return "/"
	}
	return dir
}

func (t *lineTable) text(v value) string {
	if !v.present() {
		return ""
	}
	s, err := t.u.string(v, t.data)
	if err != nil {
		return ""
	}
	return s
}

// absolute reports whether a path of any system is absolute.
func absolute(path string) bool {
	if path == "" {
		return false
	}
	if path[0] == '/' || path[0] == '\\' {
		return true
	}
	return len(path) >= 3 && path[1] == ':' && (path[2] == '\\' || path[2] == '/')
}

// joinPath joins two parts of a path of any system.
func joinPath(dir, name string) string {
	switch {
	case dir == "":
		return name
	case name == "":
		return dir
	}
	slash := "/"
	if strings.Contains(dir, "\\") && !strings.Contains(dir, "/") {
		slash = "\\"
	}
	if last := dir[len(dir)-1]; last == '/' || last == '\\' {
		slash = ""
	}
	return dir + slash + name
}

// clean takes "." and ".." elements out of a path, as far as its text allows:
// the folders are another machine's.
func clean(path string) string {
	if !strings.Contains(path, ".") && !strings.Contains(path, "//") {
		return path
	}
	type element struct{ text, slash string }
	var out []element
	root := 0
	for rest := path; rest != ""; {
		i := strings.IndexAny(rest, `/\`)
		e := element{text: rest}
		if i >= 0 {
			e = element{rest[:i], rest[i : i+1]}
		}
		rest = rest[len(e.text)+len(e.slash):]
		switch {
		case e.text == "" && len(out) > root, e.text == ".":
			continue
		case e.text == ".." && len(out) > root && out[len(out)-1].text != "..":
			out = out[:len(out)-1]
			continue
		case e.text == ".." && root > 0:
			continue // the root's parent is the root
		}
		if len(out) == 0 && (e.text == "" || len(e.text) == 2 && e.text[1] == ':') {
			root = 1
		}
		out = append(out, e)
	}
	var b strings.Builder
	for _, e := range out {
		b.WriteString(e.text)
		b.WriteString(e.slash)
	}
	return b.String()
}
