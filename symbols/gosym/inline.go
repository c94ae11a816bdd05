package gosym

import (
	"logparser/message"
	"logparser/symbols/image"
)

const (
	// inlineIndex is the pc-value table whose values are indexes into a
	// function's tree of inlined calls, -1 for none.
	inlineIndex = 2
	// maxDepth bounds a chain of inlined calls, maxCalls a function's tree.
	maxDepth = 256
	maxCalls = 1 << 16
)

// An inlining is how the trees of inlined calls of a table are found and read.
type inlining struct {
	im *image.Image
	t  *pclntab
	// base is added to what a function's data says, datum the number of the
	// tree among it.
	base  uint64
	datum int
	// size is that of an entry: 16 bytes from go120 on, 20 before.
	size uint64
}

// A call is an inlined call.
type call struct {
	name uint32
	// parent is an address of the code that the call stands in, in bytes from
	// the function's entry; its line is the call's.
	parent uint64
}

// tree returns where a function's tree of inlined calls lies.
func (n *inlining) tree(f []byte) (uint64, bool) {
	v, ok := n.t.funcdata(f, n.datum)
	return n.base + v, ok
}

// call reads entry i of the tree at an address, for a function of size bytes.
func (n *inlining) call(tree uint64, i int32, size uint64) (c call, err error) {
	at := tree + uint64(i)*n.size
	damaged := func(what string) (call, error) {
		return c, message.Errorf("%w: inlined call %d at address %#x: %s", errDamaged, i, tree, what)
	}
	if i < 0 || i >= maxCalls || at < n.im.Base {
		return damaged("out of range")
	}
	b, err := n.im.ReadRVA(at-n.im.Base, int64(n.size))
	if err != nil {
		return c, message.Errorf("%w: inlined call %d: %w", errDamaged, i, err)
	}
	order := n.t.order
	var parent uint32
	if n.size == 16 {
		if b[1] != 0 || b[2] != 0 || b[3] != 0 {
			return damaged("padding is not zero")
		}
		c.name, parent = order.Uint32(b[4:]), order.Uint32(b[8:])
	} else {
		if b[3] != 0 || int16(order.Uint16(b)) < -1 {
			return damaged("padding is not zero")
		}
		c.name, parent = order.Uint32(b[12:]), order.Uint32(b[16:])
	}
	c.parent = uint64(parent)
	if c.parent >= size {
		return damaged("called from outside the function")
	}
	names := n.t.names
	if uint64(c.name) >= uint64(len(names)) || names[c.name] == 0 {
		return damaged("no name")
	}
	// In go12 names stand among other things.
	if n.t.version != go12 && c.name > 0 && names[c.name-1] != 0 {
		return damaged("not the beginning of a name")
	}
	return c, nil
}

// newInlining finds out how the trees of a table are read, or returns nil
// where that is not known: before Go 1.12, and where go:func.* is not found.
// That the entries of many functions make sense is the proof.
func newInlining(im *image.Image, t *pclntab, goFunc uint64) *inlining {
	n := &inlining{im: im, t: t, base: goFunc, datum: 3, size: 20}
	switch t.version {
	case go120:
		n.size = 16
	case go12:
		n.datum = 4
	}
	if t.version >= go118 && goFunc == 0 || !n.proven() {
		return nil
	}
	return n
}

// proven reports whether the trees of a sample of the functions make sense.
func (n *inlining) proven() bool {
	const functions, sample = 1 << 14, 32
	found, named := 0, false
	for i := 0; i < n.t.len() && found < sample; i += 1 + n.t.len()/functions {
		f, err := n.t.function(i)
		if err != nil {
			return false
		}
		last := int32(-1)
		for w := n.t.walk(n.t.pcdata(f, inlineIndex)); last < sample && w.next(); {
			last = max(last, w.value)
		}
		if last < 0 {
			continue
		}
		tree, ok := n.tree(f)
		if !ok {
			return false
		}
		size := n.t.start(i+1) - n.t.start(i)
		for c := int32(0); c <= min(last, sample); c++ {
			call, err := n.call(tree, c, size)
			if err != nil {
				return false
			}
			named = named || call.name != 0
		}
		found++
	}
	return named // nothing but zeros would make sense too
}
