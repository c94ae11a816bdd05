package trace

import (
	"encoding/binary"
	"slices"

	"logparser/message"
	"logparser/parser/trace/wire"
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

// stackHead is the length in bytes of what stands in a STACK before its calls.
const stackHead = 6 + wire.StackHead

// isStack reports whether a record is a STACK by its first word.
func isStack(first uint16) bool {
	return !wire.IsShort(first) && wire.TypeOf(first) == wire.Stack && first>>8 == 0
}

// inherit gives a stream the enters of the calls that its first record states. It is
// to be called before the stream is decoded, and again while the first chunk has no
// record yet: a decoder that stands at its beginning stands before the enters then.
func (w *walker) inherit(s *stream) error {
	if s.begun || s.chunks[0].used == 0 {
		return nil
	}
	s.begun = true
	c := s.chunks[0]
	var head [stackHead]byte
	if c.sequence != 0 || int(c.used) < len(head) {
		return nil
	}
	read := func(b []byte, at int64) error {
		if n, err := w.r.ReadAt(b, at); n < len(b) {
			return message.Errorf("offset %d: %w", at, shrunk(err))
		}
		return nil
	}
	at := c.offset + wire.ChunkHeaderSize
	if err := read(head[:], at); err != nil {
		return err
	}
	le := binary.LittleEndian
	first := le.Uint16(head[:])
	if !wire.IsShort(first) && wire.TypeOf(first) == wire.Switch && first>>8 == 4 && isStack(le.Uint16(head[8:])) {
		s.inheritedStack = true
	}
	length, info := int64(le.Uint32(head[2:])), wire.ParseStack(head[6:])
	k := int64(info.Calls)
	if !isStack(first) || info.Flags&wire.StackStated != 0 || k == 0 || k > mostInherited ||
		info.Depth < info.Calls || length < int64(len(head))+info.Size() || length > int64(c.used) {
		return nil
	}
	list := make([]byte, k*8)
	if err := read(list, at+int64(len(head))); err != nil {
		return err
	}
	var b []byte
	if outer := info.Depth - info.Calls; outer > 0 {
		b = wire.AppendStack(b, wire.StackStated, outer, nil, nil)
	}
	for ; len(list) > 0; list = list[8:] {
		v := le.Uint64(list)
		if v == 0 {
			return nil
		}
		b = wire.AppendEnter(b, 0, int(v&1), v>>1)
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
		return copy(b, d.s.inherited[at-c.offset-wire.ChunkHeaderSize:]), nil
	}
	return d.r.ReadAt(b, at)
}
