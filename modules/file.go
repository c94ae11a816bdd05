package modules

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
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
	ErrBinary = errors.New("it is not text")
	// ErrNoModules: the file is text, and none of it was understood.
	ErrNoModules = errors.New("it is not a modules file")
	// ErrTooLarge: the file is larger than MaxFileSize.
	ErrTooLarge = errors.New("it is too large for a modules file")
)

// A File is what a modules file says. Where it holds the modules of several
// runs, one after the other, it is the last of them.
type File struct {
	// Modules are in the order of the file, at most MaxModules. They may
	// overlap, which is noted.
	Modules []Module
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
	// Encoding is the name of the encoding that the file was read in.
	Encoding string
	// Notes say what was guessed and what was not understood, with line
	// numbers counted from 1; at most MaxNotes and one that counts the rest.
	Notes []string
}

// ReadFile reads the modules file at path; see [Parse].
func ReadFile(path, encoding string) (*File, error) {
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
		return nil, fmt.Errorf("%s: it is not a regular file", path)
	}
	if st.Size() > MaxFileSize {
		return nil, fmt.Errorf("%s: %w (%d bytes)", path, ErrTooLarge, st.Size())
	}
	data := make([]byte, st.Size())
	n, err := io.ReadFull(f, data)
	data = data[:n]
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	file, err := Parse(data, encoding)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return file, nil
}

// Looks reports whether the first bytes of a file, a few KiB, are those of a
// modules file.
func Looks(head []byte) bool {
	// The last line may be cut.
	if i := strings.LastIndexByte(string(head), '\n'); i > 0 && len(head) > 4096 {
		head = head[:i+1]
	}
	p, err := scan(head, "")
	return err == nil && (p.ours || len(p.lines) > p.unknown)
}

// Parse reads a modules file. It takes the form that the recorder writes and,
// leniently, what other recorders of the same kind write; docs/formats.md
// describes both. encoding forces one, "" detects. An empty file is a File
// without modules. The error wraps one of the sentinels of this package.
func Parse(data []byte, encoding string) (*File, error) {
	if len(data) > MaxFileSize {
		return nil, fmt.Errorf("%d bytes: %w", len(data), ErrTooLarge)
	}
	p, err := scan(data, encoding)
	if err != nil {
		return nil, err
	}
	if p.unknown > 0 && !p.ours && len(p.lines) == 0 && p.file.StartText == "" && !p.file.HasTick {
		return nil, fmt.Errorf("no line names a module, line %d is %q: %w", p.firstUnknown, p.firstText, ErrNoModules)
	}
	p.finish()
	return &p.file, nil
}

// A moduleLine is a line that names a module, its two numbers not yet told
// apart.
type moduleLine struct {
	number      int
	first, last string
	pointerSize int
	identity    Identity
	timestamp   uint32
	path        string
}

type scanner struct {
	file  File
	lines []moduleLine
	ours  bool
	notes noteList
	// unknown counts the lines not understood.
	unknown, firstUnknown int
	firstText             string
	tooMany               int
	sections              int
}

type noteList struct {
	list []string
	more int
}

func (n *noteList) add(format string, args ...any) {
	if len(n.list) == MaxNotes {
		n.more++
		return
	}
	n.list = append(n.list, fmt.Sprintf(format, args...))
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
	if note != "" {
		p.notes.add("%s", note)
	}
	if strings.TrimSpace(text) == "" {
		p.notes.add("the modules file is empty")
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
		p.reject(number, line, "is too long")
		return
	}
	line = strings.Trim(line, " \t\x00\x1a\uFEFF")
	switch {
	case line == "":
	case line[0] == '#':
		if version, ok := strings.CutPrefix(line, Header); ok {
			p.ours = true
			if v, _, _ := strings.Cut(version, ":"); v != "1" {
				p.notes.add("the modules file has version %q, which is newer than this program; it is read as version 1", clip(v))
			}
		}
	case isTimeLine(line):
		text, tick := splitTick(line)
		if len(p.lines) > 0 {
			// The file was appended to by the next run.
			p.sections++
			p.lines, p.tooMany = nil, 0
			p.file.StartText, p.file.HasTick = "", false
		}
		if p.file.StartText != "" {
			p.reject(number, line, "is a second start time")
			return
		}
		p.file.StartText = text
		if tick != "" {
			p.tick(number, tick)
		}
	case isInteger(line):
		p.tick(number, line)
	default:
		p.module(number, line)
	}
}

func (p *scanner) reject(number int, line, why string) {
	if p.unknown == 0 {
		p.firstUnknown, p.firstText = number, clip(line)
	}
	p.unknown++
	p.notes.add("line %d of the modules file %s: %q", number, why, clip(line))
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
		p.reject(number, s, "is not a tick count")
	case p.file.HasTick:
		p.reject(number, s, "is a second tick count")
	default:
		if v >= 1<<32 {
			p.notes.add("line %d of the modules file: of the tick count %d the low 32 bits are taken", number, v)
		}
		p.file.Tick, p.file.HasTick = uint32(v), true
	}
}

func (p *scanner) module(number int, line string) {
	m := moduleLine{number: number}
	var rest string
	var ok1, ok2 bool
	m.first, rest, ok1 = cutNumber(line)
	m.last, rest, ok2 = cutNumber(rest)
	if !ok1 || !ok2 || rest == "" {
		p.reject(number, line, "is not understood")
		return
	}
	m.path = rest
	p.columns(&m, rest)
	m.path = unquote(m.path)
	if m.path == "" {
		p.reject(number, line, "names no file")
		return
	}
	if len(p.lines) == MaxModules {
		p.tooMany++
		return
	}
	p.lines = append(p.lines, m)
}

// columns reads the recorder's own columns. They are looked for in any file,
// as the header may have been lost, and are told from a path by their form.
func (p *scanner) columns(m *moduleLine, rest string) {
	pointer, rest := cutField(rest)
	identity, rest := cutField(rest)
	timestamp, rest := cutField(rest)
	if pointer != "4" && pointer != "8" || rest == "" {
		if p.ours {
			p.notes.add("line %d of the modules file lacks columns; it is read as base, size and path", m.number)
		}
		return
	}
	ts, tsErr := parseHex(timestamp)
	if timestamp == "-" {
		ts, tsErr = 0, nil
	}
	id, idErr := ParseIdentity(identity)
	if !p.ours && (tsErr != nil || idErr != nil) {
		return
	}
	m.pointerSize = int(pointer[0] - '0')
	m.path = rest
	if idErr != nil {
		p.notes.add("line %d of the modules file: identity %q is not understood", m.number, clip(identity))
	}
	m.identity = id
	if tsErr != nil || ts > 1<<32-1 {
		p.notes.add("line %d of the modules file: timestamp %q is not understood", m.number, clip(timestamp))
		ts = 0
	}
	m.timestamp = uint32(ts)
}

func parseHex(s string) (uint64, error) {
	t, _ := cutPrefix0x(s)
	return strconv.ParseUint(t, 16, 64)
}

func cutPrefix0x(s string) (string, bool) {
	if len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') {
		return s[2:], true
	}
	return s, false
}

const separators = " \t,"

func cutField(s string) (field, rest string) {
	i := strings.IndexAny(s, separators)
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimLeft(s[i:], separators)
}

// cutNumber takes a hexadecimal or decimal number off the front of s. At least
// one decimal digit must be in it, so that words like "add" are none.
func cutNumber(s string) (number, rest string, ok bool) {
	number, rest = cutField(s)
	t, prefixed := cutPrefix0x(number)
	if t == "" || len(t) > 20 {
		return "", "", false
	}
	decimal := prefixed
	for i := 0; i < len(t); i++ {
		switch c := t[i]; {
		case c >= '0' && c <= '9':
			decimal = true
		case c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		default:
			return "", "", false
		}
	}
	return number, rest, decimal
}

func unquote(s string) string {
	s = strings.TrimSpace(s)
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		s = strings.TrimSpace(s[1 : len(s)-1])
	}
	return s
}

// isTimeLine recognises a line by its form: a date that begins with the year,
// or the eight numbers of a SYSTEMTIME, perhaps with the tick as a ninth.
func isTimeLine(s string) bool {
	if len(s) >= 10 && isDigits(s[:4]) && s[4] == '-' && isDigits(s[5:7]) && s[7] == '-' {
		return true
	}
	n := 0
	for s != "" {
		var f string
		if f, s = cutField(s); !isDigits(f) || len(f) > 10 {
			return false
		}
		n++
	}
	return n == 8 || n == 9
}

// splitTick takes the tick off the end of a line that has time and tick.
func splitTick(s string) (text, tick string) {
	i := strings.LastIndexAny(s, separators)
	if i < 0 || !isInteger(s[i+1:]) {
		return s, ""
	}
	head := strings.TrimRight(s[:i], separators)
	if strings.Contains(s, ":") {
		// The last number of "2026-11-21 11:22" holds the colon itself, and
		// "+0800" is a zone.
		if strings.Contains(head, ":") && s[i+1] != '+' && s[i+1] != '-' {
			return head, s[i+1:]
		}
		return s, ""
	}
	if len(strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(separators, r) })) == 9 {
		return head, s[i+1:]
	}
	return s, ""
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

func (p *scanner) finish() {
	f := &p.file
	f.Ours = p.ours
	if p.sections > 0 {
		p.notes.add("the modules file holds %d runs, one after the other; the modules of the last are taken", p.sections+1)
	}
	if p.tooMany > 0 {
		p.notes.add("the modules file names %d modules more than the %d that are read", p.tooMany, MaxModules)
	}
	layout := p.chooseLayout()
	for i := range p.lines {
		p.convert(&p.lines[i], layout)
	}
	f.PointerSize = agreedPointerSize(f.Modules)
	p.noteOverlaps()
	if p.notes.more > 0 {
		p.notes.list = append(p.notes.list, fmt.Sprintf("%d more notes on the modules file are left out", p.notes.more))
	}
	f.Notes = p.notes.list
	p.lines = nil
}

func (p *scanner) convert(l *moduleLine, layout layout) {
	base, size, ok := layout.numbers(l)
	if !ok || base+size < base {
		p.reject(l.number, l.first+" "+l.last+" "+l.path, "names no range of addresses")
		return
	}
	if size == 0 {
		p.notes.add("line %d of the modules file: %q has size 0 and owns no address", l.number, clip(BaseName(l.path)))
	}
	m := Module{
		Base: base, Size: size, Path: l.path, PointerSize: l.pointerSize, Identity: l.identity,
		Loaded: -1 << 63, Unloaded: Always,
	}
	// Only a PE image has a CodeView record or a timestamp.
	if m.Identity.Timestamp == 0 {
		m.Identity.Timestamp = l.timestamp
	}
	if (m.Identity.Timestamp != 0 || !m.Identity.PDB.IsZero()) && m.Identity.ImageSize == 0 && size < 1<<32 {
		m.Identity.ImageSize = uint32(size)
	}
	p.file.Modules = append(p.file.Modules, m)
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
		if widest >= 0 && list[i].Base < list[widest].Base+list[widest].Size {
			overlaps++
			if overlaps <= 10 {
				p.notes.add("modules overlap: %q at 0x%x and %q at 0x%x",
					clip(list[widest].Name()), list[widest].Base, clip(list[i].Name()), list[i].Base)
			}
		}
		if widest < 0 || list[i].Base+list[i].Size > list[widest].Base+list[widest].Size {
			widest = i
		}
	}
	if overlaps > 10 {
		p.notes.add("%d more modules overlap", overlaps-10)
	}
}
