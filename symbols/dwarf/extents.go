package dwarf

import (
	"slices"
	"sort"
)

// An extent is the bytes [off, end) of a table, as far as it was read, and why no more of it can be, if so.
type extent struct {
	off, end int64
	err      error
}

// extents are sorted by offset and do not overlap. They lie in blocks of at most maxBlock, so that many that come in any
// order are soon entered.
type extents struct{ blocks [][]extent }

const maxBlock = 512

// find returns the place of the first extent that begins behind an offset: its block, and where it is in the block or
// would be at its end.
func (x *extents) find(off int64) (block, at int) {
	block = sort.Search(len(x.blocks), func(i int) bool { return x.blocks[i][0].off > off }) - 1
	if block < 0 {
		return 0, 0
	}
	b := x.blocks[block]
	return block, sort.Search(len(b), func(i int) bool { return b[i].off > off })
}

// around returns the last extent that begins at an offset or before it, and the first that begins behind it, nil where
// there is none. They are good until the next add.
func (x *extents) around(off int64) (before, next *extent) {
	block, at := x.find(off)
	if at > 0 {
		before = &x.blocks[block][at-1]
	}
	if block < len(x.blocks) && at == len(x.blocks[block]) {
		block, at = block+1, 0
	}
	if block < len(x.blocks) {
		next = &x.blocks[block][at]
	}
	return before, next
}

// add enters an extent, or more of one that begins at the same offset. It must not overlap others.
func (x *extents) add(e extent) {
	block, at := x.find(e.off)
	if at > 0 {
		if same := &x.blocks[block][at-1]; same.off == e.off {
			same.end = max(same.end, e.end)
			if e.err != nil {
				same.err = e.err
			}
			return
		}
	}
	if len(x.blocks) == 0 {
		x.blocks = make([][]extent, 1)
	}
	b := slices.Insert(x.blocks[block], at, e)
	x.blocks[block] = b
	if len(b) > maxBlock {
		half := len(b) / 2
		x.blocks[block] = slices.Clone(b[:half])
		x.blocks = slices.Insert(x.blocks, block+1, slices.Clone(b[half:]))
	}
}
