package trace

import (
	"encoding/binary"
	"io"
	"math"
	"slices"

	"logparser/message"
	"logparser/parser"
	"logparser/parser/trace/wire"
)

// pull moves the innermost node to frames if frames is empty. Afterwards, frames is empty only if the stack is.
func (d *decoder) pull() {
	if len(d.frames) == 0 && d.base != 0 {
		n := &d.s.nodes[d.base-1]
		d.frames = append(d.frames, n.frame)
		d.base = n.parent
		if d.deep != nil {
			d.index(n.frame, -1)
		}
	}
}

// setStack replaces the stack by one that the file lists.
func (d *decoder) setStack(o openStack) {
	d.frames, d.base, d.deep = d.frames[:0], o.node, nil
	d.known, d.knownFrames = o, d.knownFrames[:0]
	if d.s.level == 0 {
		d.gap = parser.EventsMissing
	}
}

// keep moves all frames into nodes and returns the innermost node.
func (d *decoder) keep() uint32 {
	s := d.s
	if uint64(len(s.nodes)+len(d.frames)) >= math.MaxUint32 {
		d.setStack(openStack{})
	}
	for _, f := range d.frames {
		s.nodes = append(s.nodes, node{f, d.base})
		d.base = uint32(len(s.nodes))
		if d.deep != nil {
			d.index(f, 1)
		}
	}
	d.frames = d.frames[:0]
	return d.base
}

// same reports whether two frames have the same address, regardless of their epochs.
func (f frame) same(g frame) bool { return f.address == g.address && (f.space^g.space)&1 == 0 }

// leave ends the innermost call of an address and all calls above it, and returns the call's frame. If no such call is open, it
// ends none and returns f.
func (d *decoder) leave(f frame, ordinal int64) frame {
	d.pull()
	if n := len(d.frames); n > 0 && d.frames[n-1].same(f) {
		f = d.frames[n-1]
		d.frames = d.frames[:n-1]
		return f
	}
	above := int32(-1)
	s := d.s
	if d.scanning {
		above = d.search(f)
		s.unwinds = append(s.unwinds, unwindLeave{ordinal, above})
	} else if d.unwinds < len(s.unwinds) && s.unwinds[d.unwinds].ordinal == ordinal {
		above = s.unwinds[d.unwinds].above
	}
	d.unwinds++
	for ; above >= 0; above-- {
		d.pull()
		n := len(d.frames)
		if n == 0 {
			break
		}
		if above == 0 {
			f = d.frames[n-1]
		}
		d.frames = d.frames[:n-1]
	}
	return f
}

// nearNodes is how many nodes search examines before it makes an index.
const nearNodes = 64

// search returns the number of calls above the innermost call of an address, or -1 if no such call is open. Many unmatched
// leaves on a deep stack must not take quadratic time. There are few frames, because each sample moves them into nodes; for the
// nodes there is an index.
func (d *decoder) search(f frame) int32 {
	above := int32(0)
	for i := len(d.frames) - 1; i >= 0; i-- {
		if d.frames[i].same(f) {
			return above
		}
		above++
	}
	at := d.base
	for near := 0; at != 0; near++ {
		if near == nearNodes {
			if d.deep == nil {
				d.deep = make(map[frame]int32)
				for i := d.base; i != 0; i = d.s.nodes[i-1].parent {
					d.index(d.s.nodes[i-1].frame, 1)
				}
			}
			if d.deep[frame{f.address, f.space & 1}] == 0 {
				return -1
			}
		}
		n := &d.s.nodes[at-1]
		if n.same(f) {
			return above
		}
		above++
		at = n.parent
	}
	return -1
}

// index adds n to the number of nodes that have a frame's address.
func (d *decoder) index(f frame, n int32) {
	f.space &= 1
	if d.deep[f] += n; d.deep[f] == 0 {
		delete(d.deep, f)
	}
}

// comparableStack bounds the size of listed stacks that are compared with the stack of the decoder.
const comparableStack = 4096

// stack processes the STACK record at an offset. It reads the calls only while scanning; later passes use the stream's results.
func (d *decoder) stack(offset, head, length int64) error {
	s := d.s
	if d.on != 0 {
		return d.describe(offset, head, length)
	}
	if !d.scanning {
		d.restated(offset)
		return nil
	}
	le := binary.LittleEndian
	b := d.buf[d.p:]
	info := wire.ParseStack(b[head:])
	if info.Size() > length-head-wire.StackHead {
		return d.bad(errLength)
	}
	k := int64(info.Calls)
	// Normally a STACK agrees with the events before it, or the stack is empty after a gap. A deep stack is not compared: it is
	// assumed to agree unless the recorder says that it does not (StackStated).
	stated := info.Flags&wire.StackStated != 0
	if !stated && k > comparableStack && (len(d.frames) > 0 || d.base != 0) {
		return nil
	}
	at := offset + head + wire.StackHead
	known := d.frames
	if !stated && k <= comparableStack {
		known = d.top(int(k))
	}
	equal := !stated && int64(len(known)) == k
	var block [512 * 8]byte
	fresh := uint32(0)
	first := len(s.nodes)
	if int64(first)+k >= math.MaxUint32 {
		return nil
	}
	for i := int64(0); i < k; i += 512 {
		n := min(512, k-i)
		if got, err := d.r.ReadAt(block[:n*8], at+i*8); int64(got) < n*8 {
			if err == io.EOF {
				err = parser.ErrShrunk
			}
			return message.Errorf("offset %d: %w", at+i*8+int64(got), err)
		}
		for j := range n {
			v := le.Uint64(block[j*8:])
			f := frame{}
			if v != 0 {
				f = frame{v >> 1, d.space(uint16(v & 1))}
			}
			if equal && v != 0 && !known[k-1-i-j].same(f) {
				equal = false
			}
			s.nodes = append(s.nodes, node{f, fresh})
			fresh = uint32(len(s.nodes))
		}
	}
	if equal {
		s.nodes = s.nodes[:first]
		return nil
	}
	o := openStack{fresh, info.Depth - min(info.Depth, info.Calls)}
	d.setStack(o)
	s.stacks = append(s.stacks, statedStack{int32(d.chunk), offset, o})
	return nil
}

// restated sets the stack as scanning did at the record at an offset, if that record gave a new stack.
func (d *decoder) restated(offset int64) {
	at := statedStack{chunk: int32(d.chunk), offset: offset}
	if i, ok := slices.BinarySearchFunc(d.s.stacks, at, statedStack.compare); ok {
		d.setStack(d.s.stacks[i].openStack)
	}
}

// top returns up to k frames, innermost first.
func (d *decoder) top(k int) []frame {
	list := make([]frame, 0, min(k, len(d.frames)+64))
	for i := len(d.frames) - 1; i >= 0 && len(list) < k; i-- {
		list = append(list, d.frames[i])
	}
	for at := d.base; at != 0 && len(list) < k; at = d.s.nodes[at-1].parent {
		list = append(list, d.s.nodes[at-1].frame)
	}
	return list
}
