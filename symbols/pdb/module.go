package pdb

import (
	"cmp"
	"slices"
	"sort"
	"sync/atomic"

	"logparser/message"
	"logparser/symbols/pdb/msf"
)

// entry is one piece of code of a module: a procedure, a thunk, a
// trampoline, a separated part.
type entry struct {
	off, size uint32
	record    uint32
	sec       uint16
	kind      kind
}

func (e *entry) addr() address { return at(e.sec, e.off) }

// end returns the address behind the entry. One without a length takes its
// first byte.
func (e *entry) end() address { return e.addr() + address(max(e.size, 1)) }

// moduleIndex is what is kept of a module: where its code, its lines and its
// inlinees are, but not what they say.
type moduleIndex struct {
	number  int
	entries []entry
	// spans say which entry covers what, if entries overlap. It is nil if
	// they do not.
	spans []span
	c13   *c13

	// details are the decoded procedures, by entry.
	details []atomic.Pointer[detail]

	// bytes is the memory that the index and its details take, used the time
	// of the last use.
	bytes atomic.Int64
	used  atomic.Uint64
}

// maxEntries bounds the code records of one module. The largest program that
// is linked as one module has a few million.
const maxEntries = 1 << 23

// maxOverlapping is the number of entries up to which code that lies within
// other code is told apart. Modules with more are found by start alone.
const maxOverlapping = 1 << 18

// readModule indexes a module's symbols and C13 subsections.
func (t *Table) readModule(number int) (*moduleIndex, error) {
	m := &t.modules[number]
	x := &moduleIndex{number: number}
	var w msf.Window
	if err := t.resetSymbols(&w, m); err != nil {
		return nil, message.Errorf("pdb: module %d: %w", number, err)
	}
	for pos := w.Start(); pos < w.End(); {
		b, next, err := record(&w, pos)
		if err != nil {
			return nil, message.Errorf("pdb: module %d: %w", number, err)
		}
		if c := parseCode(b, uint32(pos)); c.kind != kindNone {
			if len(x.entries) == maxEntries {
				return nil, message.Errorf("pdb: %w: module %d has more than %d procedures", ErrDamaged, number, maxEntries)
			}
			x.entries = append(x.entries, entry{c.addr.offset(), c.size, c.record, c.addr.section(), c.kind})
		}
		pos = next
	}
	slices.SortStableFunc(x.entries, func(a, b entry) int { return cmp.Compare(a.addr(), b.addr()) })
	x.findOverlaps()
	x.details = make([]atomic.Pointer[detail], len(x.entries))
	var err error
	if x.c13, err = t.readC13(&w, m); err != nil {
		return nil, message.Errorf("pdb: module %d: %w", number, err)
	}
	x.bytes.Store(int64(len(x.entries)*24+len(x.spans)*24) + x.c13.bytes() + 256)
	return x, nil
}

// findOverlaps fills spans if a look-up by start alone would go wrong.
func (x *moduleIndex) findOverlaps() {
	var end address
	overlap := false
	for i := range x.entries {
		e := &x.entries[i]
		if e.addr() < end && e.addr() != x.entries[i-1].addr() {
			overlap = true
			break
		}
		end = max(end, e.end())
	}
	if !overlap || len(x.entries) > maxOverlapping {
		return
	}
	ranges := make([]ranked, len(x.entries))
	for i := range x.entries {
		e := &x.entries[i]
		ranges[i] = ranked{span{uint64(e.addr()), uint64(e.end()), int32(i)}, uint64(e.addr())}
	}
	x.spans = flatten(ranges)
}

// find returns the number of the entry that covers an address, or -1. Of
// several that start where the one found does, it is the first in the file.
func (x *moduleIndex) find(a address) int {
	if x.spans != nil {
		return int(findSpan(x.spans, uint64(a)))
	}
	i := sort.Search(len(x.entries), func(i int) bool { return x.entries[i].addr() > a })
	if i == 0 {
		return -1
	}
	start := x.entries[i-1].addr()
	for i--; i > 0 && x.entries[i-1].addr() == start; i-- {
	}
	for ; i < len(x.entries) && x.entries[i].addr() == start; i++ {
		if a < x.entries[i].end() {
			return i
		}
	}
	return -1
}

// endBefore returns the end of the last code of the module that starts at or
// before an address.
func (x *moduleIndex) endBefore(a address) address {
	i := sort.Search(len(x.entries), func(i int) bool { return x.entries[i].addr() > a })
	if i == 0 {
		return 0
	}
	return x.entries[i-1].end()
}
