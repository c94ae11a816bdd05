package tracetext

import (
	"bufio"
	"fmt"
	"io"

	"logparser/parser/trace/wire"
)

// maxLine bounds a line of text, and maxFile the trace that is made, both in bytes.
const (
	maxLine = 64 << 20
	maxFile = 1 << 30
)

// Load makes a trace from text. Its errors name the line, except an error of r and that of a text without any line.
func Load(r io.Reader) ([]byte, error) {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 64<<10), maxLine)
	var a assembler
	for n := 1; in.Scan(); n++ {
		list, err := words(in.Text())
		if err == nil && len(list) > 0 {
			err = a.line(list[0], parseLine(list[1:]))
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	a.endChunk()
	return a.end()
}

// An assembler collects the parts of a file.
type assembler struct {
	header  wire.Header
	begun   bool
	hasEnd  bool
	size    uint64 // of the file; 0 for as much as is needed
	file    []byte
	chunk   wire.ChunkHeader
	at      int
	open    bool
	body    []byte
	now     uint64
	hasLast bool
	next    map[[3]uint32]uint32 // sequences by kind, stream and level
}

func (a *assembler) line(name string, l *line) error {
	switch {
	case name == "file":
		a.begin(l)
	case name == "chunk":
		a.begin(&line{fields: map[string]string{}})
		a.endChunk()
		a.beginChunk(l)
	case !a.open:
		l.fail("%q is outside of a chunk", name)
	case name == "raw":
		a.body = append(a.body, l.bytes(l.next("bytes"), "the record")...)
	case a.chunk.Kind == wire.ProcessChunk:
		if !isProcess(name) {
			l.fail("there is no process record %q", name)
			break
		}
		a.body, a.now = loadProcess(a.body, name, l, a.now)
	case a.chunk.Kind == wire.EventsChunk:
		a.body, a.now = loadEvent(a.body, name, l, a.now)
	default:
		l.fail("a chunk of this kind has only raw bytes")
	}
	if len(a.body)+len(a.file) > maxFile {
		l.fail("the file would be larger than %d bytes", maxFile)
	}
	return l.end()
}

// begin reads the line of the file's header. It is called once.
func (a *assembler) begin(l *line) {
	if a.begun {
		if len(l.fields) > 0 {
			l.fail("the file's line must come first")
		}
		return
	}
	a.begun = true
	a.next = make(map[[3]uint32]uint32)
	_, a.hasEnd = l.fields["end"]
	a.header = wire.Header{
		Major: uint16(l.field("major", 16, 1)), Minor: uint16(l.field("minor", 16, 0)),
		Size: uint32(l.field("header", 32, wire.HeaderSize)), Granularity: uint32(l.field("granularity", 32, wire.Granularity)),
		Flags: uint32(l.field("flags", 32, 0)), PointerSize: uint8(l.field("pointer", 8, 8)), System: uint8(l.field("system", 8, 1)),
		Machine: uint16(l.field("machine", 16, 62)), PID: uint32(l.field("pid", 32, 1)), Started: l.field("started", 64, 0),
		Begin: l.field("begin", 64, 0), Rate: l.field("rate", 64, 1e9), Shift: uint8(l.field("shift", 8, 0)),
		Counter: uint8(l.field("counter", 8, 2)), MinDuration: l.field("minimum", 64, 0), Ring: l.field("ring", 64, 0),
		State: uint32(l.field("state", 32, wire.StateEnded)), End: l.field("end", 64, 0), Why: uint32(l.field("why", 32, 0)),
	}
	a.size = l.field("size", 64, 0)
	if a.header.Size < wire.HeaderSize || a.header.Size > 1<<20 || a.size > maxFile || !a.header.Possible() {
		l.fail("the sizes are impossible")
		return
	}
	a.file = make([]byte, a.header.Size)
}

func (a *assembler) beginChunk(l *line) {
	kind := l.field("kind", 8, 0)
	if len(l.plain) > 0 {
		switch w := l.next("the kind"); w {
		case "process":
			kind = wire.ProcessChunk
		case "events":
			kind = wire.EventsChunk
		default:
			l.fail("%q is neither process nor events", w)
		}
	}
	stream := uint64(0)
	if kind == wire.EventsChunk {
		stream = 1
	}
	c := wire.ChunkHeader{Kind: uint8(kind), Level: uint8(l.field("level", 8, 0)), Stream: uint32(l.field("stream", 32, stream))}
	id := [3]uint32{uint32(c.Kind), c.Stream, uint32(c.Level)}
	c.Sequence = uint32(l.field("sequence", 32, uint64(a.next[id])))
	a.next[id] = c.Sequence + 1
	c.Size = uint32(l.field("size", 32, 0))
	c.Lost = uint32(l.field("lost", 32, 0))
	c.Thread = l.field("thread", 64, uint64(c.Stream))
	c.Base = l.field("base", 64, a.header.Begin)
	_, a.hasLast = l.fields["last"]
	c.Last = l.field("last", 64, 0)
	c.State = uint32(l.field("state", 32, 1))
	at := l.field("at", 32, uint64(len(a.file)))
	if at < uint64(len(a.file)) || at > maxFile || at%uint64(a.header.Granularity) != 0 && at != uint64(len(a.file)) {
		l.fail("a chunk cannot begin at %d", at)
		return
	}
	if c.Size%a.header.Granularity != 0 || c.Size > maxFile {
		l.fail("a chunk cannot have %d bytes", c.Size)
		return
	}
	a.file = append(a.file, make([]byte, at-uint64(len(a.file)))...)
	a.at = int(at)
	a.chunk, a.open, a.body, a.now = c, true, a.body[:0], c.Base
}

func (a *assembler) endChunk() {
	if !a.open {
		return
	}
	a.open = false
	c := &a.chunk
	c.Used = uint32(len(a.body))
	need := uint64(wire.ChunkHeaderSize + len(a.body))
	if uint64(c.Size) < need {
		g := uint64(a.header.Granularity)
		c.Size = uint32((need + g - 1) / g * g)
	}
	if !a.hasLast {
		c.Last = a.now
	}
	a.file = c.Append(a.file)
	a.file = append(a.file, a.body...)
	a.file = append(a.file, make([]byte, uint64(c.Size)-need)...)
}

func (a *assembler) end() ([]byte, error) {
	if !a.begun {
		return nil, fmt.Errorf("there is no line with file or chunk: %w", errSyntax)
	}
	if !a.hasEnd {
		a.header.End = uint64(len(a.file))
	}
	copy(a.file, a.header.Append(nil))
	if a.size > 0 {
		if n := uint64(len(a.file)); n < a.size {
			a.file = append(a.file, make([]byte, a.size-n)...)
		} else {
			a.file = a.file[:a.size]
		}
	}
	return a.file, nil
}
