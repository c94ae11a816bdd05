package launch

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"time"

	"logparser/message"
	"logparser/parser/trace/wire"
	"logparser/wholefile"
)

// An instant is a moment by several clocks, 0 where one is not known.
type instant struct {
	counter     uint64 // of the processor
	monotonic   uint64 // ns
	performance uint64 // QueryPerformanceCounter
	wall        int64  // ns since 1970 UTC
	uncertainty uint32 // ns
}

// Counters of file headers.
const (
	counterTSC = 1 + iota
	counterMonotonic
	counterQPC
	counterCNTVCT
)

// units returns the instant as a log counts it.
func (at *instant) units(h *wire.Header) (units uint64, ok bool) {
	switch h.Counter {
	case counterTSC:
		units, ok = at.counter, cpuCounter == counterTSC
	case counterCNTVCT:
		units, ok = at.counter, cpuCounter == counterCNTVCT
	case counterMonotonic:
		units, ok = at.monotonic, at.monotonic != 0
	case counterQPC:
		units, ok = at.performance, at.performance != 0
	}
	return units >> (h.Shift & 63), ok
}

// Errors of [AppendExit].
var (
	errCounter = message.New("its clock cannot be read here")
	errNoChunk = message.New("it has no room for it")
	errChanged = message.New("its header is damaged")
)

// maxTail is the most that a recorder allocates in advance, bytes.
const maxTail = 16 << 20

// maxProcessChunk bounds what is read of a chunk, bytes.
const maxProcessChunk = 16 << 20

// AppendExit writes into a log how its process ended: a CLOCK and an EXIT record behind the last process
// record. The process must have ended. Nothing that is there is changed, but that zeros behind the last chunk are cut off. If
// the log's last process chunk has room, none is needed on the disk.
func AppendExit(path string, e Ending) error {
	folder, err := wholefile.OpenFolder(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer folder.Close()
	f, err := folder.Open(filepath.Base(path), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	h, err := headerOf(f)
	if err != nil {
		return err
	}
	if err := appendExit(f, &h, e); err != nil {
		return err
	}
	return giveBackTail(f)
}

// headerOf reads the header of a log.
func headerOf(f *os.File) (h wire.Header, err error) {
	head := make([]byte, wire.HeaderUsed)
	if _, err := f.ReadAt(head, 0); err != nil {
		return h, err
	}
	h, err = wire.ParseHeader(head)
	if err != nil || !h.Possible() || h.Major != wire.MajorVersion {
		return h, errChanged
	}
	return h, nil
}

// giveBackTail cuts off what a process that was killed had allocated in advance: zeros behind the last chunk.
func giveBackTail(f *os.File) error {
	h, err := headerOf(f)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	end := int64(h.End)
	if end < int64(h.Size) || end >= info.Size() || info.Size()-end > maxTail {
		return nil
	}
	tail, err := io.ReadAll(io.NewSectionReader(f, end, maxTail))
	if err != nil || len(bytes.TrimLeft(tail, "\x00")) > 0 {
		return err // not zeros: the header may be damaged
	}
	return f.Truncate(end)
}

// appendExit writes the records into the last process chunk or, if there is no room, into one of their own.
func appendExit(f *os.File, h *wire.Header, e Ending) error {
	units, ok := e.when.units(h)
	if !ok {
		return errCounter
	}
	at, chunk, err := lastProcessChunk(f, h)
	if err != nil {
		return err
	}
	body, err := readBody(f, at, chunk)
	if err != nil {
		return err
	}
	records := exitRecords(body, units, e)
	if int64(chunk.Size)-wire.ChunkHeaderSize-int64(chunk.Used) >= int64(len(records)) {
		if _, err := f.WriteAt(records, at+wire.ChunkHeaderSize+int64(chunk.Used)); err != nil {
			return err
		}
		// From here on the records are part of the chunk.
		return put32(f, at+44, chunk.Used+uint32(len(records)))
	}
	return newChunk(f, h, chunk.Sequence+1, units, records)
}

// newChunk writes records into a chunk of their own at the end of a log.
func newChunk(f *os.File, h *wire.Header, sequence uint32, units uint64, records []byte) error {
	g := int64(h.Granularity)
	end := (int64(h.End) + g - 1) / g * g
	size := (wire.ChunkHeaderSize + int64(len(records)) + g - 1) / g * g
	c := wire.ChunkHeader{Size: uint32(size), Kind: wire.ProcessChunk, Sequence: sequence, Base: units, Used: uint32(len(records)), Last: units, State: 1}
	b := append(c.Append(nil), records...)
	if _, err := f.WriteAt(append(b, make([]byte, size-int64(len(b)))...), end); err != nil {
		return err
	}
	var le [8]byte
	for i := range le {
		le[i] = byte(uint64(end+size) >> (8 * i))
	}
	_, err := f.WriteAt(le[:], 88)
	return err
}

func put32(f *os.File, at int64, v uint32) error {
	_, err := f.WriteAt([]byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)}, at)
	return err
}

// lastProcessChunk returns the last process chunk of a log, and where it is.
func lastProcessChunk(f *os.File, h *wire.Header) (at int64, chunk wire.ChunkHeader, err error) {
	found := false
	b := make([]byte, wire.ChunkHeaderSize)
	for pos := int64(h.Size); pos < int64(h.End); {
		if _, err := f.ReadAt(b, pos); err == io.EOF {
			break
		} else if err != nil {
			return 0, chunk, err
		}
		c, err := wire.ParseChunkHeader(b, h.Granularity)
		if err != nil {
			pos += int64(h.Granularity)
			continue
		}
		if c.Kind == wire.ProcessChunk && (!found || c.Sequence > chunk.Sequence) {
			at, chunk, found = pos, c, true
		}
		pos += int64(c.Size)
	}
	if !found || int64(chunk.Used) > int64(chunk.Size)-wire.ChunkHeaderSize || chunk.Size > maxProcessChunk {
		return 0, chunk, errNoChunk
	}
	return at, chunk, nil
}

func readBody(f *os.File, at int64, c wire.ChunkHeader) ([]byte, error) {
	b := make([]byte, c.Used)
	_, err := f.ReadAt(b, at+wire.ChunkHeaderSize)
	return b, err
}

// exitRecords returns the records to append behind those of a process chunk.
func exitRecords(body []byte, units uint64, e Ending) (b []byte) {
	if e.when.monotonic != 0 {
		clock := wire.Clock{NS: e.when.monotonic, Wall: e.when.wall, Ahead: lastAhead(body), Uncertainty: e.when.uncertainty}
		b = wire.AppendProcess(b, wire.ClockRecord, units, wire.AppendBody(nil, clock))
	}
	exit := wire.Exit{How: wire.ExitStatus, Value: uint32(e.Status)}
	switch {
	case e.unknown:
		exit = wire.Exit{}
	case e.Signal != 0:
		exit = wire.Exit{How: wire.ExitSignal, Value: uint32(e.Signal)}
		if e.Core {
			exit.Flags = wire.ExitCore
		}
	}
	return wire.AppendProcess(b, wire.ExitRecord, units, wire.AppendBody(nil, exit))
}

// lastAhead returns how many seconds local time was ahead of UTC, by the last CLOCK of a chunk: the program's
// time zone need not be this process's. If there is no CLOCK, this process's is taken.
func lastAhead(body []byte) int32 {
	_, zone := time.Now().Zone()
	ahead := int32(zone)
	for len(body) >= wire.ProcessHead {
		info := wire.ParseProcess(body)
		if info.Length < wire.ProcessHead || uint64(info.Length) > uint64(len(body)) {
			break
		}
		var c wire.Clock
		if info.Type == wire.ClockRecord && wire.ParseBody(body[wire.ProcessHead:info.Length], &c) == nil {
			ahead = c.Ahead
		}
		body = body[info.Length:]
	}
	return ahead
}
