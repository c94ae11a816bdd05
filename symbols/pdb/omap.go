package pdb

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"sync"

	"logparser/message"
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
		return nil, message.Errorf("pdb: OMAP: %w", err)
	}
	b, err := s.Read(0, s.Size()&^7)
	if err != nil {
		return nil, message.Errorf("pdb: OMAP: %w", err)
	}
	m := make(omap, 0, len(b)/8)
	before := uint32(0)
	for i := range len(b) / 8 {
		e := omapEntry{le.Uint32(b[i*8:]), le.Uint32(b[i*8+4:])}
		if e.from < before {
			return nil, message.Errorf("pdb: %w: stream %d: OMAP entry %d is out of order", ErrDamaged, stream, i)
		}
		before = e.from
		// Of several entries that lead nowhere the first says it all.
		if n := len(m); n > 0 && !e.mapped() && !m[n-1].mapped() {
			continue
		}
		m = append(m, e)
	}
	return m, nil
}

// mapped reports whether an entry leads anywhere. Targets of 0 and those with
// the highest bit set mark code that only one of the layouts has.
func (e omapEntry) mapped() bool { return e.to-1 < 1<<31-1 }

// mapped reports whether entry i leads anywhere.
func (m omap) mapped(i int) bool { return m[i].mapped() }

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
//
// toSource alone says where code was: a byte of an entry was as far behind the
// entry's target as it is behind its start. But an instruction may have become
// longer, and tools leave padding and inserted code without an entry of their
// own; then an entry goes on behind the code that it leads to. fromSource
// shows where, but only of entries that it leads back to: one original byte
// may be in the image several times (tools give inserted code the place of
// what it was put in front of), and fromSource has room for one of them. What
// it says of the others' length means nothing. Some tools even leave nothing
// of such code but an entry of a single byte, and call the rest of it gone.
type layout struct {
	toSource, fromSource omap

	// ends are where the original code of the entries of toSource ends, for
	// those of which fromSource tells it; 0 for the others.
	ends []uint32
	// confirmed are the starts of those entries of fromSource that lead to
	// code which leads back to them, in order.
	confirmed []uint32

	byTargetOnce sync.Once
	byTarget     []target
}

// target is what an entry of toSource leads to.
type target struct {
	start uint32
	entry int32
	reach reach
	// upTo is the farthest reach of this one and all before it.
	upTo uint32
}

// maxGrowth is how many bytes longer an instruction may have become: those of
// x86 have 15 at most.
const maxGrowth = 14

// present reports whether the image was rearranged.
func (l *layout) present() bool { return len(l.toSource) > 0 }

// compare fills ends and confirmed.
func (l *layout) compare() {
	to, from := l.toSource, l.fromSource
	l.ends = make([]uint32, len(to))
	for i := range to {
		if rva, ok := from.find(to[i].to); ok && to.mapped(i) && rva == to[i].from {
			l.ends[i] = from.end(from.entry(to[i].to))
		}
	}
	for k := range from {
		if !from.mapped(k) {
			continue
		}
		if source, ok := to.find(from[k].to); !ok || source != from[k].from {
			continue
		}
		// What is known of an entry ends where other code begins.
		i := to.entry(from[k].to)
		known := l.ends[i]
		if known == 0 {
			known = to[i].to
		}
		if n := len(l.confirmed); n == 0 || l.confirmed[n-1] < known {
			l.ends[i] = max(l.ends[i], from.end(k))
		}
		l.confirmed = append(l.confirmed, from[k].from)
	}
}

// reach is how far the original code of an entry goes.
type reach struct {
	// all is where it ends if the entry has nothing else, end where it does
	// end, up to where it may go on, from where on there is other code, which
	// lies elsewhere in the image.
	end, upTo, all uint32
}

// grown reports whether an entry is a few bytes longer than its code, which an
// instruction may have become longer by.
func (r reach) grown() bool { return r.all-r.end <= maxGrowth }

// reach returns how far the original code of entry i goes.
func (l *layout) reach(i int) reach {
	e := l.toSource[i]
	all := uint32(min(uint64(e.to)+uint64(l.toSource.end(i)-e.from), math.MaxUint32))
	r := reach{l.ends[i], all, all}
	if r.end == 0 || all <= r.end {
		r.end = all
		return r
	}
	n := sort.Search(len(l.confirmed), func(n int) bool { return l.confirmed[n] >= r.end })
	if n < len(l.confirmed) {
		r.upTo = min(l.confirmed[n], all)
	}
	// What fromSource calls gone is more than a longer instruction.
	if r.upTo-r.end > maxGrowth {
		r.end = r.upTo
	}
	return r
}

// place is where code was before the image was rearranged.
type place struct {
	// source is its RVA. Where maybe is not 0, it is that one instead, unless
	// source is the last byte of a procedure: a procedure that fromSource
	// calls gone behind its first bytes is not believed to be.
	source, maybe uint32
	// next is 0, or the RVA of the first byte behind code that was inserted;
	// source is then that of the last byte in front of it.
	next uint32
}

// source returns the place of an RVA.
func (l *layout) source(rva uint32) (place, bool) {
	m := l.toSource
	i := m.entry(rva)
	if i < 0 {
		return place{}, false
	}
	before, behind, maybe := i, i+1, uint32(0)
	if m.mapped(i) {
		r := l.reach(i)
		source := m[i].to + (rva - m[i].from)
		if source < r.end {
			return place{source: source}, true
		}
		if source < r.upTo {
			maybe = source
		}
		if r.grown() {
			return place{source: r.end - 1, maybe: maybe}, true
		}
	}
	for before >= 0 && !m.mapped(before) {
		before--
	}
	for behind < len(m) && !m.mapped(behind) {
		behind++
	}
	next := uint32(math.MaxUint32) // nothing is there
	if behind < len(m) {
		next = m[behind].to
	}
	if before < 0 || m.end(before) == m[before].from {
		return place{}, false
	}
	return place{source: l.reach(before).end - 1, maybe: maybe, next: next}, true
}

// image returns the lowest RVA at which a byte of the original lies now. Where
// that is not sure it returns one at which the byte may lie.
func (l *layout) image(source uint32) (rva uint32, ok bool) {
	l.byTargetOnce.Do(func() {
		for i, e := range l.toSource {
			if e.mapped() {
				l.byTarget = append(l.byTarget, target{start: e.to, entry: int32(i), reach: l.reach(i)})
			}
		}
		slices.SortStableFunc(l.byTarget, func(a, b target) int { return cmp.Compare(a.start, b.start) })
		upTo := uint32(0)
		for i := range l.byTarget {
			upTo = max(upTo, l.byTarget[i].reach.upTo)
			l.byTarget[i].upTo = upTo
		}
	})
	n := sort.Search(len(l.byTarget), func(n int) bool { return l.byTarget[n].start > source }) - 1
	sure := false
	for last := n; n >= 0 && last-n <= maxPiece && l.byTarget[n].upTo > source; n-- {
		t := &l.byTarget[n]
		if t.reach.upTo <= source {
			continue
		}
		at, known := l.toSource[t.entry].from+(source-t.start), t.reach.end > source
		if !ok || known && !sure || known == sure && at < rva {
			rva, ok, sure = at, true, known
		}
	}
	return rva, ok
}

// maxPiece bounds how many entries in front of an RVA and behind it may belong
// to one piece.
const maxPiece = 1 << 14

// piece returns the part of the rearranged image that lies around an RVA and
// holds nothing but code from the given range of the original, and code that
// was inserted into it.
func (l *layout) piece(rva, start, end uint32) (from, to uint32) {
	m := l.toSource
	inside := func(i int) bool {
		return m.mapped(i) && m[i].to < end && (m[i].to >= start || l.reach(i).end > start)
	}
	i := m.entry(rva)
	for i >= 0 && !m.mapped(i) {
		i--
	}
	if i < 0 {
		return rva, rva
	}
	first, last := i, i
	for j := first - 1; j >= 0 && i-j <= maxPiece && (inside(j) || !m.mapped(j)); j-- {
		if m.mapped(j) {
			first = j
		}
	}
	for j := last + 1; j < len(m) && j-i <= maxPiece && (inside(j) || !m.mapped(j)); j++ {
		if m.mapped(j) {
			last = j
		}
	}
	from, to = m[first].from, m.end(last)
	// The first entry may begin before the range and the last go on behind.
	if m[first].to < start {
		from += start - m[first].to
	}
	if r := l.reach(last); r.end > end || !r.grown() {
		to = m[last].from + min(r.upTo, end) - m[last].to
	}
	return min(from, rva), max(to, from)
}
