package wire

import (
	"encoding/binary"
	"hash/fnv"

	"logparser/message"
)

const (
	// FileMagic is the first bytes of a trace.
	FileMagic  = "\x89LPT\r\n\x1a\n"
	chunkMagic = "LPTC"

	// HeaderSize is the size of a file header of version 1 in bytes. Only the first
	// HeaderUsed bytes have a meaning.
	HeaderSize = 4096
	HeaderUsed = 100
	// headerSummed and chunkSummed are how many bytes the checksums cover.
	headerSummed = 80
	chunkSummed  = 40
	// ChunkHeaderSize is the size of a chunk header in bytes.
	ChunkHeaderSize = 64
	// Granularity and MaxGranularity are the least and the greatest granularity
	// of chunks in bytes.
	Granularity    = 4096
	MaxGranularity = 1 << 20

	// MajorVersion is the major version of the files that can be read.
	MajorVersion = 1
)

// Flags of a file header.
const (
	FlagRing         = 1
	FlagSites        = 2
	FlagShortDropped = 4
	FlagSnapshot     = 8
)

// States of a file.
const (
	StateRecording = iota
	StateEnded
	StateDiskFull
	StateFailed
)

// What stopped a recording whose state is StateDiskFull or StateFailed; 0: it is not known.
const (
	WhyFull = 1 + iota
	WhyQuota
	WhySize
	WhyMemory
	WhyTruncated
	WhyClosed
)

// States of a chunk. Events may still be added to an open chunk. A closed one is complete, and is followed by another chunk of
// its stream.
const (
	ChunkOpen   = 0
	ChunkClosed = 1
)

// Kinds of chunks.
const (
	ProcessChunk = 1
	EventsChunk  = 2
)

// Errors of headers.
var (
	ErrMagic    = message.New("no magic")
	ErrChecksum = message.New("the checksum is wrong")
)

// Possible reports whether the sizes in the header are possible. The granularity must be a power of two within its bounds.
func (h *Header) Possible() bool {
	g := h.Granularity
	return h.Size >= HeaderUsed && g >= Granularity && g <= MaxGranularity && g&(g-1) == 0
}

// Systems that a file's header can name.
const (
	SystemLinux   = 1
	SystemWindows = 2
)

// A Header is the header of a trace file. The names and units of its fields
// are those of docs/formats.md.
type Header struct {
	Major, Minor      uint16
	Size, Granularity uint32
	Flags             uint32
	PointerSize       uint8 // bytes
	System            uint8
	Machine           uint16
	PID               uint32
	Started           uint64 // as the system counts it
	Begin             uint64 // units
	Rate              uint64 // units a second
	Shift, Counter    uint8
	MinDuration       uint64 // ns
	Ring              uint64 // bytes for each thread
	State             uint32
	End               uint64 // bytes
	Why               uint32 // what stopped the recording
}

// ParseHeader reads a file header from the first bytes of a file. If only the checksum is wrong, it returns the header together
// with an error.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < HeaderUsed || string(b[:8]) != FileMagic {
		return Header{}, ErrMagic
	}
	le := binary.LittleEndian
	h := Header{
		Major: le.Uint16(b[8:]), Minor: le.Uint16(b[10:]),
		Size: le.Uint32(b[12:]), Granularity: le.Uint32(b[16:]), Flags: le.Uint32(b[20:]),
		PointerSize: b[24], System: b[25], Machine: le.Uint16(b[26:]), PID: le.Uint32(b[28:]),
		Started: le.Uint64(b[32:]), Begin: le.Uint64(b[40:]), Rate: le.Uint64(b[48:]),
		Shift: b[56], Counter: b[57], MinDuration: le.Uint64(b[64:]), Ring: le.Uint64(b[72:]),
		State: le.Uint32(b[84:]), End: le.Uint64(b[88:]), Why: le.Uint32(b[96:]),
	}
	if checksum(b[:headerSummed]) != le.Uint32(b[80:]) {
		return h, ErrChecksum
	}
	return h, nil
}

// Append appends the header's HeaderSize bytes to b.
func (h *Header) Append(b []byte) []byte {
	le := binary.LittleEndian
	start := len(b)
	b = append(b, make([]byte, HeaderSize)...)
	p := b[start:]
	copy(p, FileMagic)
	le.PutUint16(p[8:], h.Major)
	le.PutUint16(p[10:], h.Minor)
	le.PutUint32(p[12:], h.Size)
	le.PutUint32(p[16:], h.Granularity)
	le.PutUint32(p[20:], h.Flags)
	p[24], p[25] = h.PointerSize, h.System
	le.PutUint16(p[26:], h.Machine)
	le.PutUint32(p[28:], h.PID)
	le.PutUint64(p[32:], h.Started)
	le.PutUint64(p[40:], h.Begin)
	le.PutUint64(p[48:], h.Rate)
	p[56], p[57] = h.Shift, h.Counter
	le.PutUint64(p[64:], h.MinDuration)
	le.PutUint64(p[72:], h.Ring)
	le.PutUint32(p[80:], checksum(p[:headerSummed]))
	le.PutUint32(p[84:], h.State)
	le.PutUint64(p[88:], h.End)
	le.PutUint32(p[96:], h.Why)
	return b
}

// A ChunkHeader is the header of a chunk. docs/formats.md describes its fields.
type ChunkHeader struct {
	Size        uint32 // bytes, including this header
	Kind, Level uint8
	Stream      uint32
	Sequence    uint32
	Lost        uint32
	Thread      uint64
	Base        uint64 // units
	Used        uint32 // bytes behind this header
	Last        uint64 // units
	State       uint32
}

// ParseChunkHeader reads a chunk header. It checks the magic, the checksum, and that the size fits the granularity.
func ParseChunkHeader(b []byte, granularity uint32) (ChunkHeader, error) {
	if len(b) < ChunkHeaderSize || string(b[:4]) != chunkMagic {
		return ChunkHeader{}, ErrMagic
	}
	le := binary.LittleEndian
	if checksum(b[:chunkSummed]) != le.Uint32(b[40:]) {
		return ChunkHeader{}, ErrChecksum
	}
	h := ChunkHeader{
		Size: le.Uint32(b[4:]), Kind: b[8], Level: b[9],
		Stream: le.Uint32(b[12:]), Sequence: le.Uint32(b[16:]), Lost: le.Uint32(b[20:]),
		Thread: le.Uint64(b[24:]), Base: le.Uint64(b[32:]),
		Used: le.Uint32(b[44:]), Last: le.Uint64(b[48:]), State: le.Uint32(b[56:]),
	}
	if h.Size < granularity || h.Size%granularity != 0 {
		return ChunkHeader{}, message.Errorf("a chunk of %d bytes", h.Size)
	}
	return h, nil
}

// Append appends the header's ChunkHeaderSize bytes to b.
func (h *ChunkHeader) Append(b []byte) []byte {
	le := binary.LittleEndian
	start := len(b)
	b = append(b, make([]byte, ChunkHeaderSize)...)
	p := b[start:]
	copy(p, chunkMagic)
	le.PutUint32(p[4:], h.Size)
	p[8], p[9] = h.Kind, h.Level
	le.PutUint32(p[12:], h.Stream)
	le.PutUint32(p[16:], h.Sequence)
	le.PutUint32(p[20:], h.Lost)
	le.PutUint64(p[24:], h.Thread)
	le.PutUint64(p[32:], h.Base)
	le.PutUint32(p[40:], checksum(p[:chunkSummed]))
	le.PutUint32(p[44:], h.Used)
	le.PutUint64(p[48:], h.Last)
	le.PutUint32(p[56:], h.State)
	return b
}

func checksum(b []byte) uint32 {
	h := fnv.New32a()
	h.Write(b)
	return h.Sum32()
}
