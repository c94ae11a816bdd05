package trace

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// What a forked child inherits.
//
// The file of a forked child begins with a STACK: the calls that were open at the
// fork, whose enters are in the parent's file. The child goes on in them and leaves
// them. So that they are calls like all others, enters are made of them, at the time
// at which the child's first event was recorded. They are records in a chunk before
// the first, which is not in the file, and nothing but reading a chunk's bytes knows
// of the difference.

// mostInherited is how many calls a child inherits at most; of a deeper stack only
// the depth is known. The recorder of this project states up to 32,768.
const mostInherited = 1 << 16

// inherit gives a stream the enters of the calls that its first record states. It is
// to be called before the stream is decoded, and again while the first chunk has no
// record yet: a decoder that stands at its beginning stands before the enters then.
func (w *walker) inherit(s *stream) error {
	if s.begun || s.chunks[0].used == 0 {
		return nil
	}
	s.begun = true
	c := s.chunks[0]
	var head [16]byte
	if c.sequence != 0 || int(c.used) < len(head) {
		return nil
	}
	read := func(b []byte, at int64) error {
		if n, err := w.r.ReadAt(b, at); n < len(b) {
			return fmt.Errorf("offset %d: %w", at, shrunk(err))
		}
		return nil
	}
	at := c.offset + ChunkHeaderSize
	if err := read(head[:], at); err != nil {
		return err
	}
	le := binary.LittleEndian
	if le.Uint16(head[:]) == recSwitch<<2|4<<8 && le.Uint16(head[8:]) == recStack<<2 {
		s.inheritedStack = true
	}
	length, flags := int64(le.Uint32(head[2:])), le.Uint16(head[6:])
	depth, k := le.Uint32(head[8:]), int64(le.Uint32(head[12:]))
	size := k * 8
	if flags&stackTimes != 0 {
		size *= 2
	}
	if le.Uint16(head[:]) != recStack<<2 || flags&stackStated != 0 || k == 0 || k > mostInherited ||
		int64(depth) < k || length < int64(len(head))+size || length > int64(c.used) {
		return nil
	}
	list := make([]byte, k*8)
	if err := read(list, at+int64(len(head))); err != nil {
		return err
	}
	var b []byte
	if outer := depth - uint32(k); outer > 0 {
		b = le.AppendUint32(le.AppendUint16(b, recStack<<2), uint32(len(head)))
		b = le.AppendUint32(le.AppendUint16(b, stackStated), outer)
		b = le.AppendUint32(b, 0)
	}
	for ; len(list) > 0; list = list[8:] {
		v := le.Uint64(list)
		if v == 0 {
			return nil
		}
		b = le.AppendUint16(b, (recEnter+uint16(v&1))<<2|8<<8)
		b = append(b, 0, 0, 0, 0, 0, 0)
		b = le.AppendUint64(b, v>>1)
	}
	s.inherited, s.inheritedCalls = string(b), k
	s.chunks = slices.Insert(slices.Clone(s.chunks), 0, chunk{offset: c.offset, base: c.base, used: uint32(len(b))})
	if first, ok := w.open[s]; ok {
		w.open[s] = first + 1
	}
	return nil
}

// readAt is for bytes of the chunk that is being read.
func (d *decoder) readAt(b []byte, at int64) (int, error) {
	if c := &d.s.chunks[d.chunk]; c.size == 0 {
		return copy(b, d.s.inherited[at-c.offset-ChunkHeaderSize:]), nil
	}
	return d.r.ReadAt(b, at)
}
