package tracetext

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"

	"logparser/parser/trace/wire"
)

// Dump reads a trace of size bytes from r and writes it as text. Comments in the text tell which places are not chunks.
func Dump(ctx context.Context, w io.Writer, r io.ReaderAt, size int64) error {
	out := bufio.NewWriterSize(w, 64<<10)
	head := make([]byte, min(size, wire.HeaderSize))
	if _, err := r.ReadAt(head, 0); err != nil && err != io.EOF {
		return err
	}
	h, err := wire.ParseHeader(head)
	if err != nil {
		return fmt.Errorf("the header: %w", err)
	}
	if !h.Possible() {
		return fmt.Errorf("the header: granularity %d and size %d are impossible", h.Granularity, h.Size)
	}
	fmt.Fprintf(out, "file major=%d minor=%d header=%d granularity=%d flags=%d pointer=%d system=%d machine=%d pid=%d started=%d "+
		"begin=%d rate=%d shift=%d counter=%d minimum=%d ring=%d state=%d end=%d size=%d\n",
		h.Major, h.Minor, h.Size, h.Granularity, h.Flags, h.PointerSize, h.System, h.Machine, h.PID, h.Started,
		h.Begin, h.Rate, h.Shift, h.Counter, h.MinDuration, h.Ring, h.State, h.End, size)
	expected := int64(h.Size)
	var chunk [wire.ChunkHeaderSize]byte
	var body []byte
	for at := int64(h.Size); at+wire.ChunkHeaderSize <= size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := r.ReadAt(chunk[:], at); err != nil {
			return fmt.Errorf("offset %d: %w", at, err)
		}
		c, err := wire.ParseChunkHeader(chunk[:], h.Granularity)
		if err != nil {
			if chunk != [wire.ChunkHeaderSize]byte{} {
				fmt.Fprintf(out, "# offset %d: no chunk: %v\n", at, err)
			}
			at = (at/int64(h.Granularity) + 1) * int64(h.Granularity)
			continue
		}
		used := min(int64(c.Used), int64(c.Size)-wire.ChunkHeaderSize, size-at-wire.ChunkHeaderSize)
		if used < int64(c.Used) {
			fmt.Fprintf(out, "# the chunk says that it uses %d bytes\n", c.Used)
		}
		name := map[uint8]string{wire.ProcessChunk: "process", wire.EventsChunk: "events"}[c.Kind]
		if name == "" {
			name = fmt.Sprintf("kind=%d", c.Kind)
		}
		fmt.Fprintf(out, "chunk %s", name)
		if at != expected {
			fmt.Fprintf(out, " at=%d", at)
		}
		fmt.Fprintf(out, " size=%d level=%d stream=%d sequence=%d lost=%d thread=%d base=%d last=%d state=%d\n",
			c.Size, c.Level, c.Stream, c.Sequence, c.Lost, c.Thread, c.Base, c.Last, c.State)
		if int64(cap(body)) < used {
			body = make([]byte, used)
		}
		body = body[:used]
		if n, err := r.ReadAt(body, at+wire.ChunkHeaderSize); int64(n) < used {
			return fmt.Errorf("offset %d: %w", at+wire.ChunkHeaderSize+int64(n), err)
		}
		switch c.Kind {
		case wire.ProcessChunk:
			dumpRecords(out, body, processLength, func(b []byte, _ int) string { return dumpProcess(b) }, "process")
		case wire.EventsChunk:
			dumpRecords(out, body, wire.Length, dumpEvent, "events")
		default:
			dumpRecords(out, body, func([]byte) (int, int) { return 0, 0 }, nil, "")
		}
		at += int64(c.Size)
		expected = at
	}
	return out.Flush()
}

// processLength is [wire.Length] for process records.
func processLength(b []byte) (length, head int) {
	if len(b) < wire.ProcessHead {
		return 0, 0
	}
	n := wire.ParseProcess(b).Length
	if n < wire.ProcessHead || n%8 != 0 || uint64(n) > uint64(len(b)) {
		return 0, 0
	}
	return int(n), wire.ProcessHead
}

// dumpRecords writes a line for each record. If loading that line would not give the same bytes, it writes the bytes in
// hexadecimal.
func dumpRecords(out *bufio.Writer, b []byte, length func([]byte) (int, int), dump func([]byte, int) string, kind string) {
	for len(b) > 0 {
		n, head := length(b)
		s := ""
		if n > 0 {
			s = dump(b[:n], head)
		} else {
			// The bytes that follow cannot be divided into records.
			n = len(b)
		}
		if s != "" {
			if list, err := words(s); err != nil || !same(list, kind, b[:n]) {
				s = ""
			}
		}
		if s == "" {
			s = "raw " + hex.EncodeToString(b[:n])
		}
		out.WriteString(s)
		out.WriteByte('\n')
		b = b[n:]
	}
}

func same(list []string, kind string, want []byte) bool {
	l := parseLine(list[1:])
	var got []byte
	if kind == "process" {
		got, _ = loadProcess(nil, list[0], l, 0)
	} else {
		got, _ = loadEvent(nil, list[0], l, 0)
	}
	return l.end() == nil && bytes.Equal(got, want)
}
