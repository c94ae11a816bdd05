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
func readLines(u *unit, code func(span) bool, rows bool) (*lineTable, error) {
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
	all, err := section.Bytes(off, int64(b.pos)+int64(length))
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
		if err := p.run(b, t, code); err != nil {
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

// run executes the line number program.
func (p *program) run(b *buf, t *lineTable, code func(span) bool) error {
	limit := maxRows + len(b.b)/24
	if p.lineRange == 0 && p.opcodeBase < 255 {
		return message.Errorf("line_range is 0")
	}
	type registers struct {
		addr, op   uint64
		file, line uint64
	}
	start := registers{file: 1, line: 1}
	r := start
	first := len(t.rows)
	var seqLo, last uint64
	begun, ordered := false, true
	advance := func(n uint64) {
		if p.maxOps == 1 {
			r.addr += n * p.minInstr
			return
		}
		r.addr += p.minInstr * ((r.op + n) / p.maxOps)
		r.op = (r.op + n) % p.maxOps
	}
	emit := func() {
		if !begun {
			begun, seqLo, last = true, r.addr, r.addr
		}
		off := r.addr - seqLo
		if off > 1<<32-1 {
			off = 1<<32 - 1
			if r.addr < seqLo {
				off = 0
			}
		}
		if r.addr < last {
			ordered = false
		}
		last = r.addr
		next := row{uint32(off), uint32(r.line), uint32(r.file)}
		if n := len(t.rows); n > first {
			prev := &t.rows[n-1]
			if prev.off == next.off {
				*prev = next
				return
			}
			if prev.line == next.line && prev.file == next.file {
				return
			}
		}
		t.rows = append(t.rows, next)
	}
	endSequence := func() {
		if begun && r.addr > seqLo && code(span{seqLo, r.addr}) {
			if !ordered {
				slices.SortStableFunc(t.rows[first:], func(a, b row) int { return compare(uint64(a.off), uint64(b.off)) })
			}
			t.seqs = append(t.seqs, sequence{seqLo, r.addr, int32(first), int32(len(t.rows))})
		} else {
			t.rows = t.rows[:first]
		}
		first = len(t.rows)
		r = start
		begun, ordered = false, true
	}
	for b.pos < len(b.b) {
		if len(t.rows) > limit {
			return message.Errorf("more than %d rows", limit)
		}
		opcode := b.u8()
		if opcode >= p.opcodeBase {
			adjusted := opcode - p.opcodeBase
			advance(uint64(adjusted / p.lineRange))
			r.line += uint64(p.lineBase + int64(adjusted%p.lineRange))
			emit()
			continue
		}
		switch opcode {
		case 0:
			n := b.uleb()
			if n == 0 || n > uint64(len(b.b)-b.pos) {
				return errTruncated
			}
			next := b.pos + int(n)
			switch b.u8() {
			case line.DW_LINE_end_sequence:
				endSequence()
			case line.DW_LINE_set_address:
				size := int(n) - 1
				if size != 2 && size != 4 && size != 8 {
					return message.Errorf("address of %d bytes", size)
				}
				r.addr, r.op = b.uint(size), 0
			case line.DW_LINE_define_file:
				if len(t.files) < maxFiles {
					// The name would be beyond the bytes that are kept.
					t.files = append(t.files, fileEntry{})
				}
			}
			b.pos = next
		case line.DW_LNS_copy:
			emit()
		case line.DW_LNS_advance_pc:
			advance(b.uleb())
		case line.DW_LNS_advance_line:
			r.line += uint64(b.sleb())
		case line.DW_LNS_set_file:
			r.file = b.uleb()
		case line.DW_LNS_const_add_pc:
			if p.lineRange == 0 {
				return message.Errorf("line_range is 0")
			}
			advance(uint64((255 - p.opcodeBase) / p.lineRange))
		case line.DW_LNS_fixed_advance_pc:
			r.addr += uint64(b.u16())
			r.op = 0
		case line.DW_LNS_negate_stmt, line.DW_LNS_set_basic_block, line.DW_LNS_prologue_end, line.DW_LNS_epilogue_begin:
		case line.DW_LNS_set_column, line.DW_LNS_set_isa:
			b.uleb()
		default:
			for n := p.lengths[opcode-1]; n > 0; n-- {
				b.uleb()
			}
		}
	}
	if b.failed {
		return errTruncated
	}
	// Rows that no end_sequence closes have no end.
	t.rows = slices.Clip(t.rows[:first])
	slices.SortStableFunc(t.seqs, func(a, b sequence) int { return compare(a.lo, b.lo) })
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
