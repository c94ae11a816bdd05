package dwarf

import (
	"errors"
	"slices"
	"sync/atomic"

	"logparser/message"
)

// none stands for no node, function or scope.
const none = -1

// A function is a subprogram with code.
type function struct {
	die   int64 // offset of its entry
	entry uint64
}

// A node is an inlined call.
type node struct {
	origin   int32 // index into tree.origins
	parent   int32 // the node around it, or none
	callLine uint32
	callFile uint32
}

// A part is a contiguous piece of a function's code. Its segments begin at
// segs[first] and end where the next part's begin.
type part struct {
	lo, hi uint64
	fn     int32
	first  int32
}

// A seg says which inlined call is the innermost from an offset in its part
// on, up to the next one.
type seg struct {
	off  uint32
	node int32
}

// A scope is the entry of a namespace or class, and what lies in it:
// [off, end) of .debug_info.
type scope struct {
	off, end int64
	parent   int32
}

// A tree is what a walk over a unit's entries finds.
type tree struct {
	functions []function
	nodes     []node
	parts     []part // by lo, then in the unit's order
	segs      []seg
	scopes    []scope // by off
	// outside are the starts of parts that only inlined calls say exist (see
	// [walker.assemble]); nil where there is none.
	outside map[uint64]bool
	// origins are the offsets of the entries that name the nodes, their
	// abstract origins: in this source, or, as complements, in the alternate
	// file.
	origins []int64
	// originNames and functionNames are the names that were asked for.
	originNames, functionNames []atomic.Pointer[funcName]
}

// cost estimates the memory that a tree takes, in bytes.
func (t *tree) cost() int64 {
	return int64(len(t.outside))*32 + int64(cap(t.functions))*24 + int64(cap(t.nodes))*16 + int64(cap(t.origins))*16 + int64(cap(t.parts))*24 + int64(cap(t.segs))*8 + int64(cap(t.scopes))*24
}

// maxDepth bounds how deep entries nest.
const maxDepth = 1 << 12

// An area is a range of a function or an inlined call, while a unit is read.
type area struct {
	lo    uint64
	size  uint32
	fn    int32
	node  int32
	depth int32
}

func (a *area) hi() uint64 { return a.lo + uint64(a.size) }

// walker reads a unit's entries, each once.
type walker struct {
	u     *unit
	table *abbrevTable
	coder *coder
	tree  *tree
	*workspace
	// origins finds the origins that the tree has: a hash table of their
	// indexes plus 1, whose size is a power of two.
	origins []int32
	// damage is the first entry's whose ranges could not be read.
	damage error
}

func newWalker(u *unit, c *coder, work *workspace) *walker {
	work.reset()
	return &walker{u: u, coder: c, tree: &work.found, workspace: work, origins: work.room(64)}
}

// walk reads all entries of a unit. Damage ends it; what was found before is
// in the tree.
func walk(u *unit, c *coder, l *lookup) (*tree, error) {
	w := newWalker(u, c, &l.work)
	var err error
	if w.table, err = l.table(u); err != nil {
		return nil, err
	}
	if err := l.readBody(u); err != nil {
		return nil, err
	}
	err = w.entries(&buf{b: l.body, big: u.src.big})
	if err != nil {
		err = u.src.errorf(".debug_info: unit at offset %#x: %w", u.off, err)
	}
	w.assemble()
	return w.tree.copied(), err
}

// copied returns a tree with lists of its own, as large as they have to be.
func (t *tree) copied() *tree {
	return &tree{
		functions: slices.Clone(t.functions), nodes: slices.Clone(t.nodes), parts: slices.Clone(t.parts), segs: slices.Clone(t.segs),
		scopes: slices.Clone(t.scopes), outside: t.outside, origins: slices.Clone(t.origins),
		originNames: make([]atomic.Pointer[funcName], len(t.origins)), functionNames: make([]atomic.Pointer[funcName], len(t.functions)),
	}
}

// level is an entry whose children are being read.
type level struct {
	fn, node, scope int32
	depth           int32 // of inlined calls
	opens           opened
	// local says that a function is around, with code or without.
	local bool
	// bare says that the node has no code of its own. It is dropped if no
	// other lies in it.
	bare bool
	// passed counts the lists of children around that were begun in it by entries that change nothing of it.
	passed int
}

// opened says whether a level is a scope itself.
type opened uint8

const (
	opensNothing opened = iota
	opensScope
	// opensFunction is a scope that is dropped if no other lies in it.
	opensFunction
)

// entries walks over the entries in their order.
func (w *walker) entries(b *buf) error {
	enc := w.u.encoding
	base := w.u.die
	head := int(base - w.u.off)
	stack := w.stack[:0]
	defer func() { w.stack = stack }()
	nested := 0 // lists of children around
	now := level{fn: none, node: none, scope: none}
	for {
		was := now.passed
		b.pos, now.passed = w.table.pass(b.b, b.pos, head, was, was+maxDepth-nested)
		nested += now.passed - was
		if b.pos >= len(b.b) {
			break
		}
		at := b.pos
		code := b.uleb()
		if code == 0 {
			if now.passed > 0 {
				now.passed--
				nested--
				continue
			}
			if len(stack) == 0 {
				// Padding behind the last entry.
				continue
			}
			nested--
			w.leave(&now, base+int64(b.pos))
			now = stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			continue
		}
		a := w.table.get(code)
		if a == nil {
			return message.Errorf("no abbreviation %d for the entry at offset %#x", code, base+int64(at))
		}
		inner := now
		inner.opens, inner.bare, inner.passed = opensNothing, false, 0
		switch a.role {
		case roleNone:
			if !a.children || !a.sibling {
				a.skip(b, enc)
				break
			}
			next := a.skipTo(b, enc)
			if w.jump(b, next) {
				continue
			}
		case roleBlock:
			a.skip(b, enc)
		case roleScope:
			if !a.children {
				a.skip(b, enc)
				break
			}
			w.tree.scopes = append(w.tree.scopes, scope{off: base + int64(at), parent: now.scope})
			inner.scope, inner.opens = int32(len(w.tree.scopes)-1), opensScope
			// GCC puts the code of a local class's functions into the class.
			if a.class && a.sibling && !now.local && w.u.outOfLine() {
				next := a.skipTo(b, enc)
				if w.jump(b, next) {
					w.tree.scopes[inner.scope].end = base + int64(b.pos)
					continue
				}
			} else {
				a.skip(b, enc)
			}
		case roleFunction, roleInlined:
			var err error
			if inner, err = w.code(b, a, base+int64(at), inner); err != nil {
				err = message.Errorf("entry at offset %#x: %w", base+int64(at), err)
				if errors.Is(err, errTooManyRanges) {
					return err
				}
				if w.damage == nil {
					w.damage = err
				}
			}
			inner.local = true
			if a.role == roleFunction && a.children {
				w.tree.scopes = append(w.tree.scopes, scope{off: base + int64(at), parent: now.scope})
				inner.scope, inner.opens = int32(len(w.tree.scopes)-1), opensFunction
			}
		}
		if b.failed {
			return message.Errorf("entry at offset %#x: %w", base+int64(at), errTruncated)
		}
		if a.children {
			if nested++; nested > maxDepth {
				return message.Errorf("entries nest deeper than %d", maxDepth)
			}
			stack = append(stack, now)
			now = inner
		}
	}
	return w.damage
}

// leave ends a level, whose children end at an offset.
func (w *walker) leave(now *level, end int64) {
	t := w.tree
	if now.opens != opensNothing {
		t.scopes[now.scope].end = end
		if last := len(t.scopes) - 1; now.opens == opensFunction && int(now.scope) == last {
			t.scopes = t.scopes[:last]
		}
	}
	if last := len(t.nodes) - 1; now.bare && int(now.node) == last {
		t.nodes = t.nodes[:last]
	}
}

// jump goes to a sibling, if it lies ahead.
func (w *walker) jump(b *buf, sibling value) bool {
	off, ok := w.u.reference(sibling)
	if !ok || off > w.u.end || off-w.u.die < int64(b.pos) {
		return false
	}
	b.pos = int(off - w.u.die)
	return true
}

// reference returns the offset in .debug_info that a reference within this
// source stands for.
func (u *unit) reference(v value) (int64, bool) {
	switch v.form {
	case formRef1, formRef2, formRef4, formRef8, formRefUdata:
		if v.u >= uint64(u.end-u.off) {
			return 0, false
		}
		return u.off + int64(v.u), true
	case formRefAddr:
		return int64(v.u), int64(v.u) >= 0
	}
	return 0, false
}

// Languages (DWARF 5, table 7.17) whose compilers put the code of a class's
// functions outside of the class.
func (u *unit) outOfLine() bool {
	switch u.root.language.u {
	case 0x01, 0x02, 0x0c, 0x1d, 0x2c, 0x3e, // C
		0x04, 0x1a, 0x21, 0x2b, 0x3a, // C++
		0x10, 0x11: // Objective C and C++
		return true
	}
	return false
}

// code reads a function or an inlined call.
func (w *walker) code(b *buf, a *abbrev, die int64, now level) (level, error) {
	var e codeEntry
	n := node{parent: now.node}
	if a.fixed >= 0 {
		if len(b.b)-b.pos < int(a.fixed) {
			b.skip(uint64(a.fixed)) // which fails
			return now, nil
		}
		w.fixedEntry(b, a, &e)
	} else if w.variableEntry(b, a, &e); b.failed {
		return now, nil
	}
	low, high, ranges, entry := e.low, e.high, e.ranges, e.entry
	n.callLine, n.callFile = uint32(e.line.u), uint32(e.file.u)
	origin := die
	if e.origin.present() {
		if off, ok := w.u.reference(e.origin); ok {
			origin = off
		} else if inAlternate(e.origin) {
			origin = ^int64(e.origin.u)
		}
	}
	inner := now
	if a.role == roleInlined && now.fn == none {
		return now, nil // in a function without code
	}
	if a.role == roleFunction {
		// A function within another stands for itself.
		inner = level{fn: none, node: none, scope: now.scope}
	}
	var err error
	w.spans, err = w.coder.spans(w.spans[:0], low, high, ranges)
	if err != nil || len(w.spans) == 0 {
		if a.role == roleInlined && a.children {
			// Calls in it have code all the same: GCC leaves the addresses
			// of a call out that it cannot write in old versions.
			inner.node, inner.bare = w.addNode(n, origin), true
			inner.depth++
		}
		return inner, err
	}
	if a.role == roleFunction {
		fn := function{die: die, entry: w.spans[0].lo}
		if entry.present() && !entry.constant() {
			if pc, err := w.coder.address(entry); err == nil {
				fn.entry = pc
			}
		} else if low.present() {
			if pc, err := w.coder.address(low); err == nil && ranges.present() && contains(w.spans, pc) {
				fn.entry = pc
			}
		}
		w.tree.functions = append(w.tree.functions, fn)
		inner.fn = int32(len(w.tree.functions) - 1)
	} else {
		inner.node = w.addNode(n, origin)
		inner.depth++
	}
	for _, s := range w.spans {
		if n := s.hi - s.lo; n <= 1<<32-1 {
			w.areas = append(w.areas, area{s.lo, uint32(n), inner.fn, inner.node, inner.depth})
		}
	}
	return inner, nil
}

// addNode adds an inlined call to the tree and returns its index.
func (w *walker) addNode(n node, origin int64) int32 {
	n.origin = w.originIndex(origin)
	w.tree.nodes = append(w.tree.nodes, n)
	return int32(len(w.tree.nodes) - 1)
}

// originIndex returns the index of an origin, which it adds if need be.
func (w *walker) originIndex(origin int64) int32 {
	slot := w.originSlot(origin)
	if i := w.origins[slot]; i > 0 {
		return i - 1
	}
	w.tree.origins = append(w.tree.origins, origin)
	i := int32(len(w.tree.origins))
	w.origins[slot] = i
	if 2*int(i) > len(w.origins) {
		w.origins = w.room(4 * len(w.origins))
		for i, origin := range w.tree.origins {
			w.origins[w.originSlot(origin)] = int32(i + 1)
		}
	}
	return i - 1
}

// originSlot returns where an origin is in the hash table, or should be.
func (w *walker) originSlot(origin int64) int {
	mask := len(w.origins) - 1
	// The golden ratio in 64 bits: neighbours are spread over the table.
	slot := int(uint64(origin)*0x9e3779b97f4a7c15>>32) & mask
	for w.origins[slot] > 0 && w.tree.origins[w.origins[slot]-1] != origin {
		slot = (slot + 1) & mask
	}
	return slot
}

func contains(spans []span, pc uint64) bool {
	for _, s := range spans {
		if pc >= s.lo && pc < s.hi {
			return true
		}
	}
	return false
}

func (w *walker) value(b *buf, s *attrSpec) value {
	if s.size == 4 {
		// Most values have four bytes.
		return value{form: s.form, u: uint64(b.u32())}
	}
	implicit := int64(0)
	if s.form == formImplicitConst {
		implicit = w.table.implicit[s.implicit]
	}
	return read(b, w.u.encoding, s.form, implicit)
}

// assemble turns the areas into parts and segments. Areas of one function
// that are not inlined are its parts; each part's inlined areas are laid over
// it by depth, cut to the part. DWARF 2 has no ranges, and gives a function of
// several parts the addresses of one: inlined calls outside of it are all that
// it says of the others, and are parts there.
func (w *walker) assemble() {
	t := w.tree
	for i := range t.scopes {
		if t.scopes[i].end == 0 {
			t.scopes[i].end = w.u.end
		}
	}
	w.sortAreas()
	var open []area // the areas around the current address, outermost first
	emit := func(off uint64, node int32) {
		p := t.parts[len(t.parts)-1]
		if off -= p.lo; off > 1<<32-1 {
			return
		}
		if n := len(t.segs); n > int(p.first) {
			last := &t.segs[n-1]
			if last.off == uint32(off) {
				last.node = node
				return
			}
			if last.node == node {
				return
			}
		}
		t.segs = append(t.segs, seg{uint32(off), node})
	}
	closeTo := func(addr uint64) {
		for len(open) > 1 && open[len(open)-1].hi() <= addr {
			end := open[len(open)-1].hi()
			open = open[:len(open)-1]
			for len(open) > 1 && open[len(open)-1].hi() <= end {
				open = open[:len(open)-1]
			}
			if end < open[0].hi() {
				emit(end, open[len(open)-1].node)
			}
		}
	}
	for i := range w.areas {
		a := w.areas[i]
		outside := a.depth > 0 && (len(open) == 0 || a.fn != open[0].fn || a.lo >= open[0].hi())
		if outside && w.u.version > 2 {
			continue // an inlined call outside of its function
		}
		if a.depth == 0 || outside {
			if len(open) > 0 {
				closeTo(open[0].hi())
			}
			open = append(open[:0], area{lo: a.lo, size: a.size, fn: a.fn, node: none})
			t.parts = append(t.parts, part{lo: a.lo, hi: a.hi(), fn: a.fn, first: int32(len(t.segs))})
		}
		if a.depth == 0 {
			continue
		}
		if outside {
			if t.outside == nil {
				t.outside = map[uint64]bool{}
			}
			t.outside[a.lo] = true
		} else if t.outside[open[0].lo] && a.hi() > open[0].hi() {
			open[0].size = uint32(min(a.hi()-open[0].lo, 1<<32-1))
			t.parts[len(t.parts)-1].hi = open[0].hi()
		}
		closeTo(a.lo)
		for len(open) > 1 && open[len(open)-1].depth >= a.depth {
			// Siblings that overlap: the later one counts.
			open = open[:len(open)-1]
		}
		// Go's calls inlined into inlined calls are not always within them.
		a.size = uint32(min(a.hi(), open[0].hi()) - a.lo)
		emit(a.lo, a.node)
		open = append(open, a)
	}
	if len(open) > 0 {
		closeTo(open[0].hi())
	}
	w.sortParts()
}

// sortAreas orders the areas by function, then address, then from the outside
// in. They come in the order of the entries, which is nearly that.
func (w *walker) sortAreas() {
	if !slices.IsSortedFunc(w.areas, func(a, b area) int { return int(a.fn) - int(b.fn) }) {
		w.groupAreas()
	}
	for from := 0; from < len(w.areas); {
		to := from + 1
		for to < len(w.areas) && w.areas[to].fn == w.areas[from].fn {
			to++
		}
		w.sortFunction(w.areas[from:to])
		from = to
	}
}

// before reports whether an area of the same function comes before another.
func (a *area) before(b *area) bool {
	switch {
	case a.lo != b.lo:
		return a.lo < b.lo
	case a.depth != b.depth:
		return a.depth < b.depth
	}
	return a.node < b.node
}

func compareAreas(a, b area) int {
	switch {
	case a.fn != b.fn:
		return int(a.fn) - int(b.fn)
	case a.before(&b):
		return -1
	case b.before(&a):
		return 1
	}
	return 0
}

// sortParts orders the parts by address, and the segments with them.
func (w *walker) sortParts() {
	t := w.tree
	n := len(t.parts)
	type piece struct {
		part
		last int32
	}
	pieces := make([]piece, n)
	for i, p := range t.parts {
		pieces[i] = piece{p, int32(len(t.segs))}
		if i+1 < n {
			pieces[i].last = t.parts[i+1].first
		}
	}
	sorted := slices.IsSortedFunc(pieces, func(a, b piece) int { return compare(a.lo, b.lo) })
	if sorted {
		return
	}
	slices.SortStableFunc(pieces, func(a, b piece) int { return compare(a.lo, b.lo) })
	segs := make([]seg, 0, len(t.segs))
	for i, p := range pieces {
		first := int32(len(segs))
		segs = append(segs, t.segs[p.first:p.last]...)
		p.first = first
		t.parts[i] = p.part
	}
	t.segs = segs
}

func compare(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// maxOverlap bounds how many parts are looked at for one address.
const maxOverlap = 64

// find returns the indexes of the first parts whose code covers an address
// and of those that share its start; the part that is returned first starts
// nearest.
func (t *tree) find(addr uint64) (first int, ok bool) {
	i, end := 0, len(t.parts)
	for i < end {
		if mid := int(uint(i+end) / 2); t.parts[mid].lo <= addr {
			i = mid + 1
		} else {
			end = mid
		}
	}
	i--
	for n := 0; i >= 0 && n < maxOverlap; n++ {
		if t.parts[i].hi > addr {
			for i > 0 && t.parts[i-1].lo == t.parts[i].lo && t.parts[i-1].hi > addr {
				i--
			}
			return i, true
		}
		i--
	}
	return 0, false
}

// innermost returns the innermost inlined call at an address of a part, or
// none.
func (t *tree) innermost(p int, addr uint64) int32 {
	first, last := int(t.parts[p].first), len(t.segs)
	if p+1 < len(t.parts) {
		last = int(t.parts[p+1].first)
	}
	segs := t.segs[first:last]
	off := addr - t.parts[p].lo
	i, end := 0, len(segs)
	for i < end {
		if mid := int(uint(i+end) / 2); uint64(segs[mid].off) <= off {
			i = mid + 1
		} else {
			end = mid
		}
	}
	if i == 0 {
		return none
	}
	return segs[i-1].node
}
