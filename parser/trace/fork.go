package trace

import (
	"encoding/binary"
	"slices"

	"logparser/message"
	"logparser/parser"
	"logparser/parser/trace/wire"
)

// The calls that a forked child inherits.
//
// The file of a forked child begins with a STACK record, which lists the calls that were open at the fork. Their enters are in
// the parent's file, but the child continues in these calls and leaves them. So that they look like other calls, the reader
// makes enters for them, with the time of the child's first event. It puts these enters into a chunk of their own before the
// first one. That chunk is not in the file; only the code that reads the bytes of a chunk knows of it.

// mostInherited is the largest number of calls that a child inherits. Of a deeper stack only the depth is known. This project's
// recorder lists up to 32,768 calls.
const mostInherited = 1 << 16

// stackHead is the length in bytes of a STACK record before its calls.
const stackHead = 6 + wire.StackHead

// isStack reports whether a record with this first word is a STACK.
func isStack(first uint16) bool {
	return !wire.IsShort(first) && wire.TypeOf(first) == wire.Stack && first>>8 == 0
}

// inherit gives a stream the enters of the calls that its first record lists. It must be called before the stream is decoded.
// While the first chunk has no record, it must be called again; a decoder that has not decoded anything by then begins with the
// enters.
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

// readAt reads bytes of the current chunk, which may be the chunk of inherited calls.
func (d *decoder) readAt(b []byte, at int64) (int, error) {
	if c := &d.s.chunks[d.chunk]; c.size == 0 {
		return copy(b, d.s.inherited[at-c.offset-wire.ChunkHeaderSize:]), nil
	}
	return d.r.ReadAt(b, at)
}

// Inherited implements [parser.Forked].
func (l *Log) Inherited() (list []parser.InheritedCalls) {
	v := l.view.Load()
	for _, s := range v.index.streams {
		if s.inheritedCalls == 0 {
			continue
		}
		outer := int64(0)
		if b := []byte(s.inherited); len(b) >= stackHead && isStack(binary.LittleEndian.Uint16(b)) {
			outer = int64(wire.ParseStack(b[6:]).Depth)
		}
		list = append(list, parser.InheritedCalls{Thread: uint32(s.thread), Time: v.clock.at(s.chunks[0].base), Depth: int32(outer + s.inheritedCalls)})
	}
	return list
}
