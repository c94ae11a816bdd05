package modules

import (
	"io"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"logparser/message"
)

// Limits of a modules file. A program with 1,000 modules writes 150 KB.
const (
	// MaxFileSize is the largest modules file read, in bytes.
	MaxFileSize = 16 << 20
	// MaxModules bounds File.Modules; further lines are counted in a note.
	MaxModules = 100_000
	// MaxLine is the longest line understood, in bytes of UTF-8. A Windows
	// path has at most 32,767 UTF-16 units.
	MaxLine = 128 << 10
	// MaxNotes bounds File.Notes.
	MaxNotes = 200
)

// Header begins the comment by which the recorder marks its modules files; a
// version number and the names of the columns follow.
const Header = "# LogParser modules file "

// HeaderLine is the whole comment, with the version that [Parse] knows.
const HeaderLine = Header + "1: base size pointer-size identity timestamp path"

// Sentinel errors of [Parse] and [ReadFile].
var (
	// ErrBinary: the file is not text. Perhaps it is the log itself.
	ErrBinary = message.New("it is not text")
	// ErrNoModules: the file is text, and none of it was understood.
	ErrNoModules = message.New("it is not a modules file")
	// ErrTooLarge: the file is larger than MaxFileSize.
	ErrTooLarge = message.New("it is too large for a modules file")
)

// A File is what a modules file says. Where it holds the modules of several
// runs, one after the other, it is the last of them.
type File struct {
	// Modules are in the order of the file, at most MaxModules. They may
	// overlap, which is noted.
	Modules []Module
	// Came says of each module from which byte of the run's records on it was there: what was
	// recorded before is not of it. It is negative for what came before the run, rising in the order
	// in which modules came, and nil where all were there from the start.
	Came []int64
	// StartText is the local start time as written, "" where there is none.
	// Package timeparse reads it.
	StartText string
	// Tick is the tick counter (milliseconds, 32 bits) at the start time, if
	// HasTick.
	Tick    uint32
	HasTick bool
	// Ours says that the recorder's own header was there.
	Ours bool
	// PointerSize is 4 or 8 bytes where all modules that record it agree,
	// otherwise 0.
	PointerSize int
	// Columns are the columns as they were understood, nil in our own files and
	// where there are none.
	Columns Columns
	// Encoding is the name of the encoding that the file was read in.
	Encoding string
	// Notes say what was guessed and what was not understood, with line
	// numbers counted from 1; at most MaxNotes and one that counts the rest.
	Notes []message.Text
}

// Options are what is known of a modules file besides its contents. The zero
// value means that the file itself decides.
type Options struct {
	// Encoding forces one, "" detects.
	Encoding string
	// Columns says what the columns are, nil that they are found out by their
	// contents. Our own files have their columns whatever it says.
	Columns Columns
	// Addresses are samples of the log's addresses (VA), each by another guess of
	// how the log is to be read. They decide between readings of a file that fit
	// equally well.
	Addresses [][]uint64
}

// ReadFile reads the modules file at path; see [Parse].
func ReadFile(path string, opt Options) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, message.InFile(path, message.New("it is not a regular file"))
	}
	if st.Size() > MaxFileSize {
		return nil, message.InFile(path, message.Errorf("%w (%d bytes)", ErrTooLarge, st.Size()))
	}
	data := make([]byte, st.Size())
	n, err := io.ReadFull(f, data)
	data = data[:n]
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	file, err := Parse(data, opt)
	if err != nil {
		return nil, message.InFile(path, err)
	}
	return file, nil
}

// Looks reports whether the first bytes of a file, a few KiB, are those of a
// modules file.
func Looks(head []byte) bool {
	// The last line may be cut.
	cut := false
	if i := strings.LastIndexByte(string(head), '\n'); i > 0 && len(head) > 4096 {
		head, cut = head[:i+1], true
	}
	p, err := scan(head, "")
	if err != nil {
		return false
	}
	if p.ours {
		return true
	}
	r, err := choose(p.lines, Options{}, cut)
	if err != nil {
		return true // ambiguous
	}
	switch {
	case r == nil:
		return false
	case r.in.lines == 1:
		return 2*len(r.in.entries) > len(p.lines)-p.integers()
	}
	return true // it has labels, or all lines belong to modules
}

// Parse reads a modules file. It takes the form that the recorder writes and,
// leniently, what other recorders of the same kind write; docs/formats.md
// describes both. An empty file is a File without modules. The error wraps one
// of the sentinels of this package, or is an [AmbiguousError].
func Parse(data []byte, opt Options) (*File, error) {
	if len(data) > MaxFileSize {
		return nil, message.Errorf("%d bytes: %w", len(data), ErrTooLarge)
	}
	p, err := scan(data, opt.Encoding)
	if err != nil {
		return nil, err
	}
	if err := p.finish(opt); err != nil {
		return nil, err
	}
	if p.unknown > 0 && !p.ours && len(p.file.Modules) == 0 && p.file.StartText == "" && !p.file.HasTick {
		return nil, message.Errorf("no line names a module, line %d is %q: %w", p.firstUnknown, p.firstText, ErrNoModules)
	}
	return &p.file, nil
}

type scanner struct {
	file File
	// lines are those of the last run that are no comments and no times.
	lines []rawLine
	// came is from which byte on the modules of the lines that follow were there, and copied how far the bytes of
	// earlier lines lie before the child's log, which copied them.
	came, copied int64
	ours         bool
	notes        noteList
	// unknown counts the lines not understood.
	unknown, firstUnknown int
	firstText             string
	tooMany               int
	sections              int
	// timeless says that the first modules have no time before them, and before are the lines of the run before the last time: where times
	// stand behind their modules, it is the last run.
	timeless bool
	before   []rawLine
}

// maxRawLines bounds scanner.lines.
const maxRawLines = MaxModules * blockLines

// integers returns how many lines are one integer alone.
func (p *scanner) integers() int {
	n := 0
	for _, l := range p.lines {
		if isInteger(l.text) {
			n++
		}
	}
	return n
}

type noteList struct {
	list []message.Text
	more int
}

func (n *noteList) addf(pattern string, args ...any) { n.append(message.Textf(pattern, args...)) }

func (n *noteList) append(note message.Text) {
	if len(n.list) == MaxNotes {
		n.more++
		return
	}
	n.list = append(n.list, note)
}

func scan(data []byte, encoding string) (*scanner, error) {
	// A file system may pad what was being written when the power failed.
	for len(data) > 0 && data[len(data)-1] == 0 && (len(data) < 2 || data[len(data)-2] == 0) {
		data = data[:len(data)-1]
	}
	text, used, note, err := decodeText(data, encoding)
	if err != nil {
		return nil, err
	}
	if !isText(text) {
		return nil, ErrBinary
	}
	p := &scanner{}
	p.file.Encoding = used
	if !note.IsZero() {
		p.notes.append(note)
	}
	if strings.TrimSpace(text) == "" {
		p.notes.addf("the modules file is empty")
	}
	for number := 1; text != ""; number++ {
		var line string
		if i := strings.IndexAny(text, "\r\n"); i < 0 {
			line, text = text, ""
		} else {
			line = text[:i]
			if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
				i++
			}
			text = text[i+1:]
		}
		p.line(number, line)
	}
	return p, nil
}

// isText looks for control characters, which a text has few of.
func isText(s string) bool {
	s = s[:min(len(s), 64<<10)]
	control := 0
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 9 || c > 13 && c < 26 || c == 127 {
			control++
		}
	}
	return control <= 2+len(s)/50
}

func (p *scanner) line(number int, line string) {
	if len(line) > MaxLine {
		p.reject(number, line, message.Textf("is too long"))
		return
	}
	line = strings.Trim(line, " \t\x00\x1a\uFEFF")
	switch {
	case line == "":
	case line[0] == '#':
		if version, ok := strings.CutPrefix(line, Header); ok {
			p.ours = true
			if v, _, _ := strings.Cut(version, ":"); v != "1" {
				p.notes.addf("the modules file has version %q, which is newer than this program; it is read as version 1", clip(v))
			}
		} else if p.ours {
			p.change(number, line)
		}
	case p.time(number, line):
	case len(p.lines) == maxRawLines:
		p.tooMany++
	default:
		p.lines = append(p.lines, rawLine{number, line, p.came + p.copied})
	}
}

// time reads a line that has the start time, the tick or both.
func (p *scanner) time(number int, line string) bool {
	text, tick, ok := cutTime(line)
	if !ok {
		return false
	}
	if text == "" {
		p.tick(number, tick)
		return true
	}
	if p.namesModules() {
		// The file was appended to by the next run, or times stand behind the modules.
		if p.sections++; p.sections == 1 {
			p.timeless = p.file.StartText == ""
		}
		p.before, p.lines, p.tooMany, p.came = p.lines, nil, 0, 0
		p.file.StartText, p.file.HasTick = "", false
	}
	if p.file.StartText != "" {
		p.reject(number, line, message.Textf("is a second start time"))
		return true
	}
	p.file.StartText = text
	if tick != "" {
		p.tick(number, tick)
	}
	return true
}

// namesModules reports whether there is a text and two numbers among the lines.
func (p *scanner) namesModules() bool {
	numbers, texts := 0, 0
	for _, l := range p.lines {
		e := newEntry(l.number, l.text)
		if n := len(e.front) + len(e.back); n > 0 {
			numbers += max(len(e.front), len(e.back))
		}
		if !isInteger(l.text) {
			texts++
		}
		if numbers >= 2 && texts > 0 {
			return true
		}
	}
	return numbers >= 2 && texts > 0
}

// reject notes a line of which why says what is wrong.
func (p *scanner) reject(number int, line string, why message.Text) {
	if p.unknown == 0 {
		p.firstUnknown, p.firstText = number, clip(line)
	}
	p.unknown++
	p.notes.addf("line %d of the modules file %s: %q", number, why, clip(line))
}

func (p *scanner) tick(number int, s string) {
	base := 10
	t, prefixed := cutPrefix0x(s)
	if prefixed {
		base = 16
	}
	// GetTickCount printed by %d is negative after 24.8 days.
	v, err := strconv.ParseInt(t, base, 64)
	switch {
	case err != nil || v < -1<<31:
		p.reject(number, s, message.Textf("is not a tick count"))
	case p.file.HasTick:
		p.reject(number, s, message.Textf("is a second tick count"))
	default:
		if v >= 1<<32 {
			p.notes.addf("line %d of the modules file: of the tick count %d the low 32 bits are taken", number, v)
		}
		p.file.Tick, p.file.HasTick = uint32(v), true
	}
}

// lineEntry makes the entry of one line. The recorder's own columns are looked
// for in any file, as its header may have been lost, and are told from a path by
// their form.
func lineEntry(l rawLine) entry {
	e := newEntry(l.number, l.text)
	if len(e.front) < 2 {
		return e
	}
	at := e.front[1].end
	pointer, rest := cutField(strings.TrimLeft(e.text[at:], separators))
	identity, rest := cutField(rest)
	timestamp, rest := cutField(rest)
	ts, tsErr := parseTimestamp(timestamp)
	id, idErr := ParseIdentity(identity)
	if pointer != "4" && pointer != "8" || rest == "" || tsErr != nil || idErr != nil {
		return e
	}
	e.pointerSize, e.identity, e.timestamp = int(pointer[0]-'0'), id, ts
	e.text, e.front, e.back = e.text[:at]+" "+rest, e.front[:2], nil
	return e
}

// ownEntry makes the entry of a line of our own file; ok is false for a line
// that is not understood.
func (p *scanner) ownEntry(l rawLine) (e entry, ok bool) {
	e = newEntry(l.number, l.text)
	if len(e.front) < 2 {
		return e, false
	}
	e.front, e.back = e.front[:2], nil
	at := e.front[1].end
	rest := strings.TrimLeft(e.text[at:], separators)
	pointer, rest := cutField(rest)
	identity, rest := cutField(rest)
	timestamp, rest := cutField(rest)
	if pointer != "4" && pointer != "8" || rest == "" {
		p.notes.addf("line %d of the modules file lacks columns; it is read as base, size and path", e.number)
		return e, true
	}
	e.pointerSize, e.text = int(pointer[0]-'0'), e.text[:at]+" "+rest
	var err error
	if e.identity, err = ParseIdentity(identity); err != nil {
		p.notes.addf("line %d of the modules file: identity %q is not understood", e.number, clip(identity))
	}
	if e.timestamp, err = parseTimestamp(timestamp); err != nil {
		p.notes.addf("line %d of the modules file: timestamp %q is not understood", e.number, clip(timestamp))
	}
	return e, true
}

// parseTimestamp reads a PE timestamp in hexadecimal, "-" for none.
func parseTimestamp(s string) (uint32, error) {
	if s == "-" {
		return 0, nil
	}
	t, _ := cutPrefix0x(s)
	v, err := strconv.ParseUint(t, 16, 32)
	if err != nil {
		return 0, err
	}
	return uint32(v), nil
}

func cutPrefix0x(s string) (string, bool) {
	if len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') {
		return s[2:], true
	}
	return s, false
}

func cutField(s string) (field, rest string) {
	i := strings.IndexAny(s, separators)
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimLeft(s[i:], separators)
}

func unquote(s string) string {
	s = strings.TrimSpace(s)
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		s = strings.TrimSpace(s[1 : len(s)-1])
	}
	return s
}

func isDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func isInteger(s string) bool {
	if t, ok := cutPrefix0x(s); ok {
		_, err := strconv.ParseUint(t, 16, 64)
		return err == nil
	}
	return isDigits(strings.TrimPrefix(s, "-"))
}

// clip shortens hostile text for a note.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	n := most
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

// ownReading is that of our own files, whose header says what the columns are.
var ownReading = reading{
	in: &grouping{lines: 1}, columns: Columns{{Base, 16}, {Size, 16}, {Role: Name}}, front: 2, base: 0, size: 1,
}

func (p *scanner) finish(opt Options) error {
	f := &p.file
	f.Ours = p.ours
	p.timesLast()
	if p.sections > 0 {
		p.notes.addf("the modules file holds %d runs, one after the other; the modules of the last are taken", p.sections+1)
	}
	if p.ours {
		p.own()
	} else if err := p.others(opt); err != nil {
		return err
	}
	if p.tooMany > 0 {
		p.notes.addf("the modules file names %d modules more than the %d that are read", p.tooMany, MaxModules)
	}
	f.PointerSize = agreedPointerSize(f.Modules)
	p.fillSizes()
	p.noteOverlaps()
	if p.notes.more > 0 {
		p.notes.list = append(p.notes.list, message.Textf("%d more notes on the modules file are left out", p.notes.more))
	}
	f.Notes = p.notes.list
	p.lines = nil
	return nil
}

// own reads the lines of our own file.
func (p *scanner) own() {
	for _, l := range p.lines {
		if isInteger(l.text) {
			p.tick(l.number, l.text)
			continue
		}
		e, ok := p.ownEntry(l)
		if !ok {
			p.reject(l.number, l.text, message.Textf("is not understood"))
			continue
		}
		if p.add(&e, &ownReading) {
			p.setCame(l.came - p.copied)
		}
	}
}

// others reads the lines of a file that is not ours.
func (p *scanner) others(opt Options) error {
	r, err := choose(p.lines, opt, false)
	if err != nil {
		return err
	}
	if r == nil {
		for _, l := range p.lines {
			p.lone(l)
		}
		return nil
	}
	p.noteReading(r)
	switch {
	case r.in.lines == 0:
		_, _, rejected, _ := labelledEntries(p.lines)
		for _, l := range rejected {
			p.lone(l)
		}
	case r.in.lines == 1:
		for _, l := range p.lines {
			e := lineEntry(l)
			if _, ok := e.middle(r.front, r.back); !ok || isInteger(l.text) {
				p.lone(l)
				continue
			}
			p.add(&e, r)
		}
		return nil
	default:
		lines := p.lines[r.in.head:]
		if r.in.ahead {
			p.lone(lines[0])
			lines = lines[1:]
		}
		r.in.entries = blockGrouping(lines, r.in.lines, false, len(lines)).entries
	}
	for i := range r.in.entries {
		p.add(&r.in.entries[i], r)
	}
	return nil
}

// lone takes a line that is not part of an entry: the tick, or one that is not
// understood.
func (p *scanner) lone(l rawLine) {
	switch {
	case isInteger(l.text):
		p.tick(l.number, l.text)
	case headColumns(l.text) == nil:
		p.reject(l.number, l.text, message.Textf("is not understood"))
	}
}

// noteReading says how the file was understood where that is not the documented
// order, or the numbers do not show their radix.
func (p *scanner) noteReading(r *reading) {
	p.file.Columns = slices.Clone(r.columns)
	if r.size < 0 {
		return
	}
	base, size := r.columns[r.place(r.base)], r.columns[r.place(r.size)]
	switch {
	case r.plain() && r.base == 1 && size.Role == Size:
		p.notes.addf("the modules file has sizes before bases, to judge by alignment and overlap")
	case !r.plain() || size.Role != Size:
		p.notes.addf("the columns of the modules file are read as %s, to judge by what they hold", r.columns.String())
	}
	if shown := func(i int) bool { return len(radices(r.in.entries, i, r.front, r.back)) == 1 }; !shown(r.base) || !shown(r.size) {
		name := func(c Column) message.Text {
			if c.Radix == 16 {
				return message.Textf("hexadecimal")
			}
			return message.Textf("decimal")
		}
		p.notes.addf("the numbers of the modules file do not show their base: load addresses are read as %s and sizes as %s, to judge by alignment",
			name(base), name(size))
	}
}

// add takes an entry into the file's modules, if it names one.
func (p *scanner) add(e *entry, r *reading) bool {
	text, ok := e.middle(r.front, r.back)
	name := unquote(text)
	if !ok || name == "" {
		p.reject(e.number, e.text, message.Textf("names no file"))
		return false
	}
	if len(p.file.Modules) == MaxModules {
		p.tooMany++
		return false
	}
	base, size, ok := r.numbers(e)
	if !ok {
		p.reject(e.number, e.text, message.Textf("names no range of addresses"))
		return false
	}
	if size == 0 && r.size >= 0 {
		p.notes.addf("line %d of the modules file: %q has size 0 and owns no address", e.number, clip(BaseName(name)))
	}
	m := Module{
		Base: base, Size: size, Path: name, PointerSize: e.pointerSize, Identity: e.identity,
		Loaded: -1 << 63, Unloaded: Always, Unsized: r.size < 0,
	}
	// Only a PE image has a CodeView record or a timestamp.
	if m.Identity.Timestamp == 0 {
		m.Identity.Timestamp = e.timestamp
	}
	if (m.Identity.Timestamp != 0 || !m.Identity.PDB.IsZero()) && m.Identity.ImageSize == 0 && size < 1<<32 {
		m.Identity.ImageSize = uint32(size)
	}
	p.file.Modules = append(p.file.Modules, m)
	return true
}

func agreedPointerSize(list []Module) int {
	size := 0
	for i := range list {
		switch s := list[i].PointerSize; {
		case s == 0 || s == size:
		case size == 0:
			size = s
		default:
			return 0
		}
	}
	return size
}

func (p *scanner) noteOverlaps() {
	list := p.file.Modules
	order := make([]int, 0, len(list))
	for i := range list {
		if list[i].Size > 0 {
			order = append(order, i)
		}
	}
	sort.SliceStable(order, func(a, b int) bool { return list[order[a]].Base < list[order[b]].Base })
	// widest is the module seen that reaches furthest.
	widest := -1
	overlaps := 0
	for _, i := range order {
		if widest >= 0 && list[i].Base < list[widest].Base+list[widest].Size && p.file.cameTogether(i, widest) {
			overlaps++
			if overlaps <= 10 {
				p.notes.addf("modules overlap: %q at 0x%x and %q at 0x%x",
					clip(list[widest].Name()), list[widest].Base, clip(list[i].Name()), list[i].Base)
			}
		}
		if widest < 0 || list[i].Base+list[i].Size > list[widest].Base+list[widest].Size {
			widest = i
		}
	}
	if overlaps > 10 {
		p.notes.addf("%d more modules overlap", overlaps-10)
	}
}
