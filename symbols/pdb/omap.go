package pdb

import (
	"fmt"
	"math"
	"sort"

	"logparser/symbols/pdb/msf"
)

// omapEntry says that the code from one RVA on lies from another on in the
// other layout of the image, up to the next entry. A zero target says that it
// does not lie there at all.
type omapEntry struct{ from, to uint32 }

// omap is one direction of the tables that a tool leaves behind which has
// rearranged an image after it was linked.
type omap []omapEntry

func readOmap(f *msf.File, stream uint16) (omap, error) {
	if stream == noStream {
		return nil, nil
	}
	s, err := f.Stream(int(stream))
	if err != nil {
		return nil, fmt.Errorf("pdb: OMAP: %w", err)
	}
	b, err := s.Read(0, s.Size()&^7)
	if err != nil {
		return nil, fmt.Errorf("pdb: OMAP: %w", err)
	}
	m := make(omap, len(b)/8)
	for i := range m {
		m[i] = omapEntry{le.Uint32(b[i*8:]), le.Uint32(b[i*8+4:])}
		if i > 0 && m[i].from < m[i-1].from {
			return nil, fmt.Errorf("pdb: %w: stream %d: OMAP entry %d is out of order", ErrDamaged, stream, i)
		}
	}
	return m, nil
}

// mapped reports whether entry i leads anywhere. Targets of 0 and those with
// the highest bit set mark code that only one of the layouts has.
func (m omap) mapped(i int) bool { return m[i].to-1 < 1<<31-1 }

// entry returns the number of the entry that holds an RVA, or -1.
func (m omap) entry(rva uint32) int {
	return sort.Search(len(m), func(i int) bool { return m[i].from > rva }) - 1
}

// end returns where entry i ends.
func (m omap) end(i int) uint32 {
	if i+1 < len(m) {
		return m[i+1].from
	}
	return math.MaxUint32
}

// find returns where an RVA lies in the other layout.
func (m omap) find(rva uint32) (uint32, bool) {
	i := m.entry(rva)
	if i < 0 || !m.mapped(i) {
		return 0, false
	}
	return m[i].to + (rva - m[i].from), true
}

// layout is both directions of the tables.
type layout struct {
	toSource, fromSource omap
}

// present reports whether the image was rearranged.
func (l *layout) present() bool { return l.toSource != nil }

// source returns the RVA that an RVA had before the image was rearranged. For
// code that was inserted it is that of the last byte in front of it, and next
// that of the first byte behind it; otherwise next is 0.
func (l *layout) source(rva uint32) (source, next uint32, ok bool) {
	m := l.toSource
	i := m.entry(rva)
	if i < 0 {
		return 0, 0, false
	}
	if m.mapped(i) {
		return l.within(i, rva-m[i].from), 0, true
	}
	before, behind := i, i
	for before >= 0 && !m.mapped(before) {
		before--
	}
	for behind < len(m) && !m.mapped(behind) {
		behind++
	}
	if before < 0 || behind == len(m) || m[before+1].from == m[before].from {
		return 0, 0, false
	}
	return l.within(before, m[before+1].from-m[before].from-1), m[behind].to, true
}

// within returns the source of an offset in an entry. An instruction may have
// become longer, so that the entry is longer than its source.
func (l *layout) within(i int, off uint32) uint32 {
	start := l.toSource[i].to
	if j := l.fromSource.entry(start); j >= 0 {
		if n := l.fromSource.end(j) - start; off >= n && n > 0 {
			off = n - 1
		}
	}
	return start + off
}

// piece returns the part of the rearranged image that lies around an RVA and
// holds nothing but code from the given range of the original, and code that
// was inserted into it.
func (l *layout) piece(rva, start, end uint32) (from, to uint32) {
	m := l.toSource
	inside := func(i int) bool {
		return m.mapped(i) && m[i].to < end && (m[i].to >= start || m.end(i)-m[i].from > start-m[i].to)
	}
	i := m.entry(rva)
	for i >= 0 && !m.mapped(i) {
		i--
	}
	if i < 0 {
		return rva, rva
	}
	first, last := i, i
	for j := first - 1; j >= 0 && (inside(j) || !m.mapped(j)); j-- {
		if m.mapped(j) {
			first = j
		}
	}
	for j := last + 1; j < len(m) && (inside(j) || !m.mapped(j)); j++ {
		if m.mapped(j) {
			last = j
		}
	}
	from, to = m[first].from, m.end(last)
	// The first entry may begin before the range and the last go on behind.
	if m[first].to < start {
		from += start - m[first].to
	}
	if n := end - m[last].to; to-m[last].from > n && m.end(last) == to {
		if j := l.fromSource.entry(m[last].to); j < 0 || l.fromSource.end(j) > end {
			to = m[last].from + n
		}
	}
	return min(from, rva), max(to, from)
}
