package attached

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"

	"logparser/message"
)

// ErrFormat says that something is no container, or a damaged one.
var ErrFormat = message.New("not a container of symbols, or damaged")

// ErrVersion says that a container was written by a later version.
var ErrVersion = message.New("the container is of a later version")

const (
	magic   = "\x89LPsym\r\n"
	version = 1
	// headerSize and entrySize are the bytes of the header and of an entry
	// of the directory.
	headerSize = 32
	entrySize  = 32
	// maxParts bounds the directory.
	maxParts = 1 << 20
)

// A Kind says what a part of a container is. Readers pass over kinds that they
// do not know.
type Kind uint16

const (
	// KindModule says which module the parts of the same owner belong to.
	KindModule Kind = 1
	// KindRuns, KindFunctions and KindStrings are a module's code, run by
	// run, and the names and files in it.
	KindRuns      Kind = 2
	KindFunctions Kind = 3
	KindStrings   Kind = 4
	// KindUnwind is a module's unwind rules: what code has which; KindRules are those that are named
	// there.
	KindUnwind Kind = 5
	KindRules  Kind = 7
	// KindFile is a file; its owner is the number of the log that it belongs to.
	KindFile Kind = 6
	// KindStack is a module's STACK records of a symbol file of Breakpad's.
	KindStack Kind = 8
)

// A Part is a stretch of a container, with an entry in its directory.
type Part struct {
	Kind Kind
	// Owner is the number of the module or of the log.
	Owner uint32
	// Length is the number of bytes that Write writes.
	Length int64
	Write  func(w io.Writer) error
}

// bytesPart returns a part of bytes.
func bytesPart(kind Kind, owner uint32, data []byte) Part {
	return Part{kind, owner, int64(len(data)), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}}
}

// Length returns the size of a container of these parts, in bytes.
func Length(parts []Part) int64 {
	n := int64(headerSize + entrySize*len(parts))
	for _, p := range parts {
		n += p.Length
	}
	return n
}

// Write writes a container.
func Write(w io.Writer, parts []Part) error {
	le := binary.LittleEndian
	head := make([]byte, headerSize, headerSize+entrySize*len(parts))
	at := int64(cap(head))
	for _, p := range parts {
		head = le.AppendUint16(head, uint16(p.Kind))
		head = le.AppendUint16(head, 0)
		head = le.AppendUint32(head, p.Owner)
		head = le.AppendUint64(head, uint64(at))
		head = le.AppendUint64(head, uint64(p.Length))
		head = le.AppendUint64(head, 0)
		at += p.Length
	}
	copy(head, magic)
	le.PutUint16(head[8:], version)
	le.PutUint16(head[10:], headerSize)
	le.PutUint16(head[12:], entrySize)
	le.PutUint32(head[16:], uint32(len(parts)))
	le.PutUint64(head[20:], uint64(at))
	le.PutUint32(head[28:], checksum(head[headerSize:]))
	if _, err := w.Write(head); err != nil {
		return err
	}
	for _, p := range parts {
		c := counter{w: w}
		if err := p.Write(&c); err != nil {
			return err
		}
		if c.n != p.Length {
			return message.Errorf("a part of %d bytes became %d", p.Length, c.n)
		}
	}
	return nil
}

// A counter counts what is written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// A Container is an opened container. It is safe for concurrent use. It reads
// from what it was opened on as long as it, or a table of it, is used.
type Container struct {
	r       io.ReaderAt
	size    int64
	entries []entry
	// first finds the first entry of a kind and owner.
	first   map[owned]int
	modules []*Module
}

type owned struct {
	kind  Kind
	owner uint32
}

// An entry of the directory says where a part lies.
type entry struct {
	kind           Kind
	owner          uint32
	offset, length int64
}

// Detect reports whether a file that begins with these bytes may be a container.
func Detect(head []byte) bool { return len(head) >= len(magic) && string(head[:len(magic)]) == magic }

// OpenContainer reads the directory of a container of at most size bytes, and what it says
// of modules. The error wraps [ErrFormat] where it is none.
func OpenContainer(r io.ReaderAt, size int64) (*Container, error) {
	le := binary.LittleEndian
	var head [headerSize]byte
	if size < headerSize {
		return nil, message.Errorf("%w: it has %d bytes", ErrFormat, size)
	}
	if err := readAt(r, head[:], 0); err != nil {
		return nil, err
	}
	if !Detect(head[:]) {
		return nil, message.Errorf("%w: it does not begin as one", ErrFormat)
	}
	if v := le.Uint16(head[8:]); v != version {
		return nil, message.Errorf("%w: %d, known is %d", ErrVersion, v, version)
	}
	begin, step, count := int64(le.Uint16(head[10:])), int64(le.Uint16(head[12:])), int64(le.Uint32(head[16:]))
	total := le.Uint64(head[20:])
	if begin < headerSize || step < entrySize || count > maxParts || total > uint64(size) || begin+step*count > int64(total) {
		return nil, message.Errorf("%w: a directory of %d parts in %d bytes", ErrFormat, count, total)
	}
	c := &Container{r: r, size: int64(total), first: make(map[owned]int)}
	dir := make([]byte, step*count)
	if err := readAt(r, dir, begin); err != nil {
		return nil, err
	}
	if checksum(dir) != le.Uint32(head[28:]) {
		return nil, message.Errorf("%w: the directory's checksum is wrong", ErrFormat)
	}
	for ; len(dir) > 0; dir = dir[step:] {
		offset, length := le.Uint64(dir[8:]), le.Uint64(dir[16:])
		if offset > total || length > total-offset {
			return nil, message.Errorf("%w: a part at %#x of %d bytes reaches beyond its end", ErrFormat, offset, length)
		}
		e := entry{Kind(le.Uint16(dir)), le.Uint32(dir[4:]), int64(offset), int64(length)}
		if _, have := c.first[owned{e.kind, e.owner}]; !have {
			c.first[owned{e.kind, e.owner}] = len(c.entries)
		}
		c.entries = append(c.entries, e)
	}
	if err := c.apart(begin + step*count); err != nil {
		return nil, err
	}
	return c, c.readModules()
}

// apart checks that all parts lie one behind the other, from the end of the directory on: few bytes could be as many parts as the
// directory has room for.
func (c *Container) apart(end int64) error {
	list := slices.Clone(c.entries)
	slices.SortFunc(list, func(a, b entry) int { return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.length, b.length)) })
	for _, e := range list {
		if e.length > 0 && e.offset < end {
			return message.Errorf("%w: its parts lie over each other at %#x", ErrFormat, e.offset)
		}
		end = max(end, e.offset+e.length)
	}
	return nil
}

// Size returns the bytes of the container.
func (c *Container) Size() int64 { return c.size }

// readAt fills b from an offset.
func readAt(r io.ReaderAt, b []byte, offset int64) error {
	n, err := r.ReadAt(b, offset)
	if n == len(b) {
		return nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// part returns the first part of a kind that an owner has.
func (c *Container) part(kind Kind, owner uint32) (entry, bool) {
	i, ok := c.first[owned{kind, owner}]
	if !ok {
		return entry{}, false
	}
	return c.entries[i], true
}

// read reads a part of at most limit bytes.
func (c *Container) read(e entry, limit int64) ([]byte, error) {
	if e.length > limit {
		return nil, message.Errorf("%w: a part at %#x of %d bytes", ErrFormat, e.offset, e.length)
	}
	b := make([]byte, e.length)
	return b, readAt(c.r, b, e.offset)
}
