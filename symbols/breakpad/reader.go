package breakpad

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"strconv"
	"strings"

	"logparser/message"
	"logparser/modules"
)

// maxLine is the longest line understood, in bytes. Templates give names of
// many thousand.
const maxLine = 1 << 17

// maxTables is what the tables may take beyond the size of the file, in bytes.
const maxTables = 32 << 20

// A module is a MODULE record.
type module struct {
	os, arch, name string
	// text is the id as it stands there.
	text string
	id   modules.GUID
	// elf says that id holds bytes of a build-id.
	elf bool
	// mac says that the image is one of macOS or iOS, whose id is a UUID.
	mac bool
}

// read reads the whole file once. Line rows and inlined calls are left for the
// look-ups.
func (t *Table) read() error {
	in := bufio.NewReaderSize(io.NewSectionReader(t.file, 0, t.file.Size), maxLine)
	var next int64
	for {
		offset := next
		text, err := in.ReadSlice('\n')
		next += int64(len(text))
		tooLong := false
		for errors.Is(err, bufio.ErrBufferFull) {
			tooLong = true
			var rest []byte
			rest, err = in.ReadSlice('\n')
			next += int64(len(rest))
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return message.Errorf("offset %#x: %w", offset, err)
		}
		if offset == 0 {
			if tooLong {
				return message.Errorf("offset 0: a line of more than %d bytes: %w", maxLine, ErrSize)
			}
			if t.module, err = parseModule(string(bytes.TrimRight(text, "\r\n"))); err != nil {
				return message.Errorf("offset 0: not a MODULE record: %w", err)
			}
			t.identity = t.module.identity()
			continue
		}
		if tooLong || len(text) < 5 || text[0] != 'F' && text[0] != 'P' && text[0] != 'I' {
			continue
		}
		if err := t.record(bytes.TrimRight(text, "\r\n"), offset); err != nil {
			return message.Errorf("offset %#x: %w", offset, err)
		}
	}
	if t.module.text == "" {
		return message.Errorf("offset 0: no MODULE record: %w", io.ErrUnexpectedEOF)
	}
	return nil
}

// record takes the records that the tables hold.
func (t *Table) record(text []byte, offset int64) error {
	kind, rest, _ := bytes.Cut(text, []byte(" "))
	switch string(kind) {
	case "FUNC", "PUBLIC":
		rec, ok := parseSymbol(text)
		if !ok {
			return message.Errorf("a damaged %s record", kind)
		}
		e, ok := newEntry(rec.address, rec.size, offset)
		if !ok || len(rec.name) == 0 {
			return nil
		}
		if string(kind) == "FUNC" {
			t.funcs.add(e)
		} else {
			t.publics.add(e)
		}
	case "FILE", "INLINE_ORIGIN":
		number, _, _ := bytes.Cut(rest, []byte(" "))
		n, err := strconv.ParseUint(string(number), 10, 32)
		if err != nil {
			return message.Errorf("a damaged %s record", kind)
		}
		if string(kind) == "FILE" {
			t.files.add(uint32(n), offset)
		} else {
			t.origins.add(uint32(n), offset)
		}
	case "INFO":
		if id, ok := bytes.CutPrefix(rest, []byte("CODE_ID ")); ok {
			t.codeID(string(id))
		}
		return nil
	}
	if size := 16*int64(t.funcs.n+t.publics.n) + 8*int64(t.files.n+t.origins.n); size > t.file.Size+maxTables {
		return message.Errorf("more records than a file of %d bytes needs: %w", t.file.Size, ErrSize)
	}
	return nil
}

// parseModule reads a MODULE record. The id is a GUID, 32 digits, and an age
// of one digit or more.
func parseModule(text string) (module, error) {
	f := strings.SplitN(text, " ", 5)
	if len(f) < 4 || f[0] != "MODULE" || len(f[3]) < 33 || len(f[3]) > 40 {
		return module{}, message.New("its fields are not those of the format")
	}
	m := module{os: f[1], arch: f[2], text: f[3]}
	if len(f) == 5 {
		m.name = f[4]
	}
	// A build-id's bytes are written as if they were a GUID's, with the first
	// three fields little-endian, so that reading one gives them back.
	id, err := modules.ParseGUID(f[3][:32])
	if err != nil {
		return module{}, err
	}
	if _, err := strconv.ParseUint(f[3][32:], 16, 32); err != nil {
		return module{}, message.New("its age is not a number")
	}
	m.id = id
	switch strings.ToLower(m.os) {
	case "linux", "android", "fuchsia":
		m.elf = true
	case "mac", "ios":
		m.mac = true
	}
	return m, nil
}

// identity returns what a MODULE record alone says of the build.
func (m *module) identity() modules.Identity {
	if !strings.EqualFold(m.os, "windows") || m.id.IsZero() {
		return modules.Identity{}
	}
	age, _ := strconv.ParseUint(m.text[32:], 16, 32)
	return modules.Identity{PDB: m.id, Age: uint32(age)}
}

// codeID takes the id of the image: a build-id, or a PE's time stamp, eight
// digits, and its size in memory.
func (t *Table) codeID(text string) {
	id, _, _ := strings.Cut(text, " ")
	switch {
	case t.module.elf:
		raw, err := hex.DecodeString(id)
		if err == nil && len(raw) >= minBuildID && len(raw) <= modules.MaxBuildID {
			t.identity.BuildID = string(raw)
		}
	case strings.EqualFold(t.module.os, "windows") && len(id) > 8 && len(id) <= 16:
		stamp, err := strconv.ParseUint(id[:8], 16, 32)
		size, err2 := strconv.ParseUint(id[8:], 16, 32)
		if err == nil && err2 == nil {
			t.identity.Timestamp, t.identity.ImageSize = uint32(stamp), uint32(size)
		}
	}
}

// A symbol is a FUNC or PUBLIC record.
type symbol struct {
	address, size uint64
	name          []byte
}

func parseSymbol(text []byte) (symbol, bool) {
	f := fields{rest: text}
	kind := string(f.word())
	if bytes.HasPrefix(f.rest, []byte("m ")) {
		f.word()
	}
	var s symbol
	s.address = f.hex()
	if kind == "FUNC" {
		s.size = f.hex()
	}
	f.hex()
	s.name = f.rest
	return s, !f.bad && (kind == "FUNC" || kind == "PUBLIC")
}

// A row is a line row that covers an address.
type row struct {
	line int
	file uint32
}

// A call is an inlined call that an address lies in.
type call struct {
	line    int
	file    uint32
	hasFile bool
	origin  uint32
}

// A body is what the records of a function say about one address.
type body struct {
	row     row
	covered bool
	// calls are the inlined calls, the outermost first.
	calls []call
}

// readBody reads the records behind a FUNC record, which r stands behind.
func readBody(r *bufio.Reader, rva uint64) (body, error) {
	var b body
	var calls map[uint64]call
	read := 0
	for {
		text, err := wholeLine(r)
		if errors.Is(err, io.EOF) {
			if read > maxBody/2 {
				return body{}, ErrSize
			}
			break
		}
		if err != nil {
			return body{}, err
		}
		read += len(text) + 1
		if len(text) == 0 {
			continue
		}
		f := fields{rest: text}
		if rest, ok := bytes.CutPrefix(text, []byte("INLINE ")); ok {
			f.rest = rest
			depth, c, covers := f.inline(rva)
			if f.bad || !covers || depth >= maxDepth {
				continue
			}
			if calls == nil {
				calls = make(map[uint64]call)
			}
			if _, have := calls[depth]; !have {
				calls[depth] = c
			}
			continue
		}
		if c := text[0]; !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') || bytes.HasPrefix(text, []byte("FUNC ")) || bytes.HasPrefix(text, []byte("FILE ")) {
			break
		}
		address, size := f.hex(), f.hex()
		line, file := f.decimal(), f.decimal()
		if f.bad || b.covered || address > rva || rva-address >= size {
			continue // a row without a size is about no byte
		}
		b.covered = true
		b.row = row{line: int(min(line, 1<<31-1)), file: uint32(min(file, 1<<32-1))}
	}
	for depth := uint64(0); ; depth++ {
		c, ok := calls[depth]
		if !ok {
			return b, nil
		}
		b.calls = append(b.calls, c)
	}
}

// fields cuts a record into words.
type fields struct {
	rest []byte
	// bad says that a word was not the number it should be.
	bad bool
}

func (f *fields) word() []byte {
	w, rest, _ := bytes.Cut(f.rest, []byte(" "))
	f.rest = rest
	return w
}

func (f *fields) hex() uint64 {
	w := f.word()
	if len(w) == 0 || len(w) > 16 {
		f.bad = true
		return 0
	}
	var v uint64
	for _, c := range w {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			f.bad = true
			return 0
		}
		v = v<<4 | uint64(c)
	}
	return v
}

func (f *fields) decimal() uint64 {
	w := f.word()
	if len(w) == 0 || len(w) > 19 {
		f.bad = true
		return 0
	}
	var v uint64
	for _, c := range w {
		if c < '0' || c > '9' {
			f.bad = true
			return 0
		}
		v = v*10 + uint64(c-'0')
	}
	return v
}

// inline reads an INLINE record and says whether one of its ranges covers rva.
// The oldest files have no file of the call, which the count of words tells.
func (f *fields) inline(rva uint64) (depth uint64, c call, covers bool) {
	words := bytes.Count(f.rest, []byte(" ")) + 1
	depth = f.decimal()
	c.line = int(min(f.decimal(), 1<<31-1))
	if words%2 == 0 {
		c.file, c.hasFile = uint32(min(f.decimal(), 1<<32-1)), true
	}
	c.origin = uint32(min(f.decimal(), 1<<32-1))
	for len(f.rest) > 0 && !f.bad {
		start, size := f.hex(), f.hex()
		covers = covers || start <= rva && rva-start < size
	}
	return depth, c, covers
}
