package dwarf

import (
	"errors"
	"slices"
	"sort"

	"logparser/message"
	"logparser/symbols"
)

// A lookup is what one goroutine looks addresses up with. It remembers the
// unit of the last address, because the next one is often of the same.
type lookup struct {
	t *Table
	// many says that many addresses of each unit are looked up, so that it
	// pays to read the unit's entries as a whole for their names.
	many bool

	treeOf   *unit
	lastTree *tree
	treeErr  error

	linesOf   *unit
	lastLines *lineTable
	linesErr  error

	tableOf   *unit
	lastTable *abbrevTable

	// body is the entries of bodyOf, from its root entry on, in the memory of
	// buffer or in the mapped file; entry is for single entries of other units.
	bodyOf        *unit
	body          []byte
	buffer, entry []byte
	// frames are what answers are cut from.
	frames []symbols.Frame
	few    [4]*unit
	work   workspace
}

// lookup returns what to look addresses up with; the caller gives it back.
func (t *Table) lookup() *lookup {
	if l, ok := t.lookups.Get().(*lookup); ok {
		return l
	}
	return &lookup{t: t}
}

// done takes a lookup back. It keeps only memory: units may be dropped from
// the cache.
func (t *Table) done(l *lookup) {
	l.many = false
	l.forget()
	t.lookups.Put(l)
}

// forget leaves a lookup nothing but memory, and what it is for.
func (l *lookup) forget() {
	l.work.reset()
	*l = lookup{t: l.t, many: l.many, buffer: l.buffer, entry: l.entry, frames: l.frames, work: l.work}
}

// tree returns what the walk over a unit's entries finds; see [Table.tree].
func (l *lookup) tree(u *unit) (*tree, error) {
	if l.treeOf != u {
		l.treeOf = u
		l.lastTree, l.treeErr = l.t.treeWith(u, l)
	}
	return l.lastTree, l.treeErr
}

// lines returns a unit's line table.
func (l *lookup) lines(u *unit) (*lineTable, error) {
	if l.linesOf != u {
		l.linesOf = u
		l.lastLines, l.linesErr = l.t.linesWith(u, &l.work)
	}
	return l.lastLines, l.linesErr
}

// table returns a unit's abbreviations.
func (l *lookup) table(u *unit) (*abbrevTable, error) {
	if l.tableOf == u {
		return l.lastTable, nil
	}
	t, err := u.table()
	if err == nil {
		l.tableOf, l.lastTable = u, t
	}
	return t, err
}

// readBody reads the entries of a unit.
func (l *lookup) readBody(u *unit) error {
	if l.bodyOf == u {
		return nil
	}
	info, err := u.src.section("info")
	if err != nil {
		return err
	}
	l.bodyOf = nil
	if l.body, err = info.ReadInto(&l.buffer, u.die, u.end-u.die); err != nil {
		return u.src.errorf(".debug_info: %w", err)
	}
	l.bodyOf = u
	return nil
}

// withBody does work while the entries of a unit are mapped. A fault ends the work where the file was shortened; where
// the file is not mapped there is none. u may be nil.
func (l *lookup) withBody(u *unit, work func()) {
	if u == nil {
		return
	}
	info, err := u.src.section("info")
	if err != nil {
		return
	}
	info.UseOnce(u.die, u.end-u.die, func(b []byte) {
		l.bodyOf, l.body = u, b
		work()
	})
	// A fault may have come while a unit was being read.
	l.forget()
}

// newFrames returns room for n frames.
func (l *lookup) newFrames(n int) []symbols.Frame {
	const chunk = 2048
	if !l.many || n > chunk/8 {
		return make([]symbols.Frame, 0, n)
	}
	if cap(l.frames)-len(l.frames) < n {
		l.frames = make([]symbols.Frame, 0, chunk)
	}
	at := len(l.frames)
	l.frames = l.frames[:at+n]
	return l.frames[at : at : at+n]
}

// symbol returns the symbol at an RVA.
func (l *lookup) symbol(rva uint64) (symbols.Symbol, error) {
	t := l.t
	addr := t.im.Base + rva
	units := t.unitsAt(addr, l.few[:0])
	sym, err := l.lookupIn(units, addr)
	if err == nil {
		return sym, nil
	}
	if len(t.unplaced) > 0 && len(units) == 0 {
		t.placeUnits()
		i := sort.Search(len(t.found), func(i int) bool { return t.found[i].lo > addr }) - 1
		if i >= 0 && t.found[i].hi > addr {
			if sym, err := l.lookupIn([]*unit{t.found[i].u}, addr); err == nil {
				return sym, nil
			}
		}
	}
	if st, _ := t.symbolTable(); st != nil {
		if sym, err2 := st.Lookup(rva); err2 == nil && !l.endsBefore(sym.Start, addr) {
			l.addLine(&sym, units, addr)
			return sym, nil
		}
	}
	if errors.Is(err, symbols.ErrNotFound) && t.indexErr != nil && len(units) == 0 {
		err = t.indexErr
	}
	return symbols.Symbol{}, err
}

// endsBefore reports whether a function starts at an RVA and ends before an
// address: what follows it is padding, though the symbol table, which has no
// sizes in a PE, gives it to the function.
func (l *lookup) endsBefore(start, addr uint64) bool {
	t := l.t
	for _, u := range t.unitsAt(t.im.Base+start, nil) {
		code := t.codeUnit(u)
		if code == nil {
			continue
		}
		tree, _ := l.tree(code)
		if tree == nil {
			continue
		}
		if p, ok := tree.find(t.im.Base + start); ok && tree.parts[p].lo == t.im.Base+start && tree.parts[p].hi <= addr {
			return true
		}
	}
	return false
}

// lookupIn looks an address up in the units that have code there. The first
// that has a function decides; functions of others that start at the same
// address are aliases.
func (l *lookup) lookupIn(units []*unit, addr uint64) (symbols.Symbol, error) {
	t := l.t
	var out symbols.Symbol
	var failure error
	for _, u := range units {
		code := t.codeUnit(u)
		if code == nil {
			continue // a split unit that is not to be had
		}
		tree, err := l.tree(code)
		if tree == nil {
			failure = err
			continue
		}
		first, ok := tree.find(addr)
		if !ok {
			if err != nil {
				failure = err
			}
			continue
		}
		start := tree.parts[first].lo
		if len(out.Frames) == 0 {
			out.Frames, out.Printable, err = l.chain(u, code, tree, first, addr)
			if err != nil {
				out.Frames = nil
				failure = err
				continue
			}
			out.Kind = symbols.Procedure
			out.Start = start - t.im.Base
			out.Size = tree.parts[first].hi - start
			if tree.outside[start] && !t.wholePart(&out, addr-t.im.Base) {
				return symbols.Symbol{}, message.Errorf("RVA %#x: %w", addr-t.im.Base, symbols.ErrNotFound)
			}
			first++
		}
		if start-t.im.Base != out.Start {
			continue
		}
		for p := first; p < len(tree.parts) && tree.parts[p].lo == start && len(out.Aliases) < maxAliases; p++ {
			name, err := l.function(code, tree, tree.parts[p].fn)
			if err == nil && name.function != out.Outermost().Function && !slices.Contains(out.Aliases, name.function) {
				out.Aliases = append(out.Aliases, name.function)
			}
		}
	}
	if len(out.Frames) == 0 {
		if failure == nil {
			failure = message.Errorf("RVA %#x: %w", addr-t.im.Base, symbols.ErrNotFound)
		}
		return out, failure
	}
	return out, nil
}

// wholePart takes start and size of a function's part from the symbol table,
// where only an inlined call says that the part exists. It reports false where
// the table knows another function there.
func (t *Table) wholePart(sym *symbols.Symbol, rva uint64) bool {
	st, _ := t.symbolTable()
	if st == nil {
		return true
	}
	whole, err := st.Lookup(rva)
	if err != nil {
		return true
	}
	if whole.Frames[0].Function != sym.Outermost().Function || whole.Start > sym.Start {
		return false
	}
	sym.Start, sym.Size = whole.Start, whole.Size
	return true
}

// maxAliases bounds the aliases of one address, maxFrames the inlined calls
// around one.
const (
	maxAliases = 64
	maxFrames  = 256
)

// chain makes the chain of calls at an address, innermost first. u has the
// line table, code (the same unit, or its split part) the entries. printable is
// what [symbols.Symbol] says.
func (l *lookup) chain(u, code *unit, tree *tree, p int, addr uint64) (chain []symbols.Frame, printable bool, err error) {
	part := tree.parts[p]
	at := tree.innermost(p, addr)
	depth := 1
	for n := at; n != none && depth < maxFrames; n = tree.nodes[n].parent {
		depth++
	}
	out := l.newFrames(depth)
	lines, _ := l.lines(u)
	calls := lines
	if code != u {
		calls = l.t.fileTable(u, code)
	}
	file, line := noPath, uint32(0)
	if lines != nil {
		if f, l, ok := lines.find(addr); ok {
			file, line = lines.filePath(f), l
		}
	}
	printable = true
	add := func(name *funcName) {
		printable = printable && name.printable && file.printable
		out = append(out, symbols.Frame{Function: name.function, Signature: name.signature, File: file.text, Line: int(line)})
	}
	for at != none && len(out) < depth-1 {
		n := tree.nodes[at]
		name, err := l.inlined(code, tree, n.origin)
		if err != nil {
			return nil, false, err
		}
		add(name)
		file, line = noPath, n.callLine
		if line != 0 {
			file = calls.filePath(n.callFile)
		}
		at = n.parent
	}
	name, err := l.function(code, tree, part.fn)
	if err != nil {
		return nil, false, err
	}
	add(name)
	return out, printable, nil
}

// function names function i of a unit.
func (l *lookup) function(u *unit, tree *tree, i int32) (*funcName, error) {
	if n := tree.functionNames[i].Load(); n != nil {
		return n, nil
	}
	n, err := l.nameOf(u, tree.functions[i].die, 0)
	if err != nil {
		return nil, err
	}
	if n.plain && (u.mangles() || n.function == unnamed) {
		// Whichever part of it was asked for first, the name is the same.
		l.t.improve(n, tree.functions[i].entry)
		n.look()
	}
	tree.functionNames[i].Store(n)
	l.t.charge(u, n)
	return n, nil
}

// inlined names the inlined calls of a unit that have origin i.
func (l *lookup) inlined(u *unit, tree *tree, i int32) (*funcName, error) {
	if n := tree.originNames[i].Load(); n != nil {
		return n, nil
	}
	n := newName(unnamed, "", false)
	if to, off := l.t.resolve(u, tree.origins[i]); to != nil {
		var err error
		if n, err = l.nameOf(to, off, 0); err != nil {
			return nil, err
		}
	}
	tree.originNames[i].Store(n)
	l.t.charge(u, n)
	return n, nil
}

// addLine completes a symbol of the symbol table with the line of the address.
func (l *lookup) addLine(sym *symbols.Symbol, units []*unit, addr uint64) {
	for _, u := range units {
		lines, err := l.lines(u)
		if err != nil || lines == nil {
			continue
		}
		if f, l, ok := lines.find(addr); ok {
			sym.Frames[0].File, sym.Frames[0].Line = lines.path(f), int(l)
			return
		}
	}
}
