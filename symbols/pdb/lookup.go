package pdb

import (
	"math"
	"sync"

	"logparser/symbols"
)

// Lookup implements [symbols.Table]. Aliases of folded functions are complete
// for files with up to 32 MB of symbols, and for others after
// [Table.ReadAliases].
func (t *Table) Lookup(rva uint64) (symbols.Symbol, error) {
	if rva > math.MaxUint32 {
		return symbols.Symbol{}, errNotFound
	}
	p := place{source: uint32(rva)}
	if t.layout.present() {
		var ok bool
		if p, ok = t.place(p.source); !ok {
			return symbols.Symbol{}, errNotFound
		}
	}
	sec, off, ok := t.sections.find(p.source)
	if !ok {
		return symbols.Symbol{}, errNotFound
	}
	a := at(sec, off)
	if p.next != 0 {
		return t.lookupInserted(uint32(rva), a, p.next)
	}
	con := t.contributions.find(a)
	if con == nil {
		if len(t.contributions) > 0 {
			return symbols.Symbol{}, errNotFound
		}
		return t.lookupUnowned(uint32(rva), a)
	}
	var end address
	if int(con.module) < len(t.modules) {
		x, err := t.module(int(con.module))
		if err != nil {
			return symbols.Symbol{}, err
		}
		if i := x.find(a); i >= 0 {
			return t.symbol(uint32(rva), a, x, i)
		}
		end = x.endBefore(a)
	}
	// A public names what lies behind it up to the next one, but neither
	// beyond a procedure nor beyond the contribution.
	public, err := t.public(a)
	if err != nil {
		return symbols.Symbol{}, err
	}
	if public != nil && public.addr >= con.addr() && public.addr >= end {
		return t.publicSymbol(uint32(rva), a, public), nil
	}
	return t.lookupStray(uint32(rva), a)
}

// place returns where code of a rearranged image was before.
func (t *Table) place(rva uint32) (place, bool) {
	p, ok := t.layout.source(rva)
	if p.maybe != 0 && !t.endsAt(p.source) {
		p = place{source: p.maybe}
	}
	return p, ok
}

// endsAt reports whether an RVA of the original image is the last byte of a
// procedure.
func (t *Table) endsAt(source uint32) bool {
	sec, off, ok := t.sections.find(source)
	if !ok {
		return false
	}
	a := at(sec, off)
	con := t.contributions.find(a)
	if con == nil || int(con.module) >= len(t.modules) {
		return false
	}
	x, err := t.module(int(con.module))
	if err != nil {
		return false
	}
	i := x.find(a)
	return i >= 0 && x.find(a+1) != i
}

// lookupInserted looks up code that was inserted after linking, between an
// address and an RVA of the original image. It belongs to a procedure only if
// both do.
func (t *Table) lookupInserted(rva uint32, before address, behind uint32) (symbols.Symbol, error) {
	con := t.contributions.find(before)
	sec, off, ok := t.sections.find(behind)
	if con == nil || !ok || int(con.module) >= len(t.modules) {
		return symbols.Symbol{}, errNotFound
	}
	x, err := t.module(int(con.module))
	if err != nil {
		return symbols.Symbol{}, err
	}
	i := x.find(before)
	if i < 0 || x.find(at(sec, off)) != i {
		return symbols.Symbol{}, errNotFound
	}
	return t.symbol(rva, before, x, i)
}

// lookupUnowned looks up an address of a file without section contributions.
func (t *Table) lookupUnowned(rva uint32, a address) (symbols.Symbol, error) {
	s, err := t.lookupStray(rva, a)
	if err != errNotFound {
		return s, err
	}
	p, err := t.public(a)
	if err != nil {
		return symbols.Symbol{}, err
	}
	if p == nil || p.addr.section() != a.section() || p.addr < t.icf.endBefore(a) {
		return symbols.Symbol{}, errNotFound
	}
	return t.publicSymbol(rva, a, p), nil
}

// lookupStray looks for a procedure among all modules, for an address that
// its contribution does not lead to one.
func (t *Table) lookupStray(rva uint32, a address) (symbols.Symbol, error) {
	if err := t.readFolded(); err != nil && len(t.icf.strays) == 0 {
		return symbols.Symbol{}, err
	}
	p := t.stray(a)
	if p == nil {
		return symbols.Symbol{}, errNotFound
	}
	x, err := t.module(int(p.module))
	if err != nil {
		return symbols.Symbol{}, err
	}
	if i := x.find(a); i >= 0 {
		return t.symbol(rva, a, x, i)
	}
	return symbols.Symbol{}, errNotFound
}

// symbol makes the answer from an entry of a module.
func (t *Table) symbol(rva uint32, a address, x *moduleIndex, i int) (symbols.Symbol, error) {
	if x.entries[i].kind == kindManaged {
		return symbols.Symbol{}, errManaged
	}
	d, err := t.detail(x, i)
	if err != nil {
		return symbols.Symbol{}, err
	}
	e := &x.entries[i]
	off := uint32(a - e.addr())
	s := symbols.Symbol{Kind: symbols.Procedure}
	inner := int32(-1)
	if d.spans != nil {
		inner = findSpan(d.spans, uint64(off))
	}
	depth := 1
	if inner >= 0 {
		depth = int(d.sites[inner].depth) + 2
	}
	s.Frames = make([]symbols.Frame, 0, depth)
	for n := inner; n >= 0; n = d.sites[n].parent {
		site := &d.sites[n]
		s.Frames = append(s.Frames, d.frame(site.name, site.signature, site.rows, off))
	}
	s.Frames = append(s.Frames, d.frame(d.name, d.signature, d.rows, off))
	switch e.kind {
	case kindIncremental:
		s.Kind = symbols.ILTThunk
	case kindIsland, kindThunk:
		s.Kind = symbols.Thunk
	}
	s.Start, s.Size = t.extent(rva, e.addr(), e.size)
	if e.kind != kindIncremental && e.kind != kindIsland && t.aliasesReady() && len(t.icf.shared) > 0 {
		s.Aliases = t.aliases(e.addr(), d.name)
	}
	return s, nil
}

func (d *detail) frame(name, signature string, rows []row, off uint32) symbols.Frame {
	f := symbols.Frame{Function: name, Signature: signature}
	if r := rowAt(rows, off); r != nil {
		f.Line = int(r.line)
		if r.file != noFile {
			f.File = d.files[r.file]
		}
	}
	return f
}

// extent returns the RVA and the length of the part of a piece of code that
// an RVA lies in.
func (t *Table) extent(rva uint32, addr address, size uint32) (start, length uint64) {
	first, ok := t.sections.rva(addr.section(), addr.offset())
	if !ok {
		return uint64(rva), 0
	}
	if !t.layout.present() {
		return uint64(first), uint64(size)
	}
	end := first + size
	if end < first {
		end = math.MaxUint32
	}
	from, to := t.layout.piece(rva, first, end)
	return uint64(from), uint64(to) - uint64(from)
}

// publicsCache keeps the publics that were asked for.
type publicsCache struct {
	mu   sync.RWMutex
	seen map[address]*namedPublic
	kept int
}

// maxKeptPublics bounds the publics that are kept at a time, in bytes.
const maxKeptPublics = 8 << 20

// public returns the code public that an address may belong to, or nil.
func (t *Table) public(a address) (*namedPublic, error) {
	list, err := t.publics.last(a)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	f := &t.found
	key := list[0].addr
	f.mu.RLock()
	p, ok := f.seen[key]
	f.mu.RUnlock()
	if ok {
		return p, nil
	}
	if p, err = t.publics.find(a); err != nil {
		return nil, err
	}
	size := 64
	if p != nil {
		size += len(p.name) + len(p.signature) + 64
		for _, s := range p.aliases {
			size += len(s) + 16
		}
	}
	f.mu.Lock()
	if f.kept += size; f.kept > maxKeptPublics {
		clear(f.seen)
		f.kept = size
	}
	f.seen[key] = p
	f.mu.Unlock()
	return p, nil
}

// publicSymbol makes the answer from a public.
func (t *Table) publicSymbol(rva uint32, a address, p *namedPublic) symbols.Symbol {
	s := symbols.Symbol{
		Frames:  []symbols.Frame{{Function: p.name, Signature: p.signature}},
		Aliases: p.aliases,
		Kind:    symbols.Public,
	}
	start, _ := t.extent(rva, p.addr, uint32(a-p.addr)+1)
	s.Start = start
	return s
}

// Procedures implements [symbols.Table]. Thunks and trampolines are among the
// procedures, publics and managed code are not. A procedure that was rearranged after linking
// is given where its first byte lies now, and left out if it is gone.
func (t *Table) Procedures(yield func(rva uint64, name string) bool) error {
	w := t.window()
	defer t.release(w)
	return t.eachProcedure(func(module int, c *code) bool {
		rva, ok := t.sections.rva(c.addr.section(), c.addr.offset())
		if ok && t.layout.present() {
			source := rva
			if rva, ok = t.layout.image(source); ok {
				p, known := t.place(rva)
				ok = known && p.next == 0 && p.source == source
			}
		}
		if !ok || c.kind == kindSeparated || c.kind == kindManaged {
			return true
		}
		var x *moduleIndex
		name, _, err := t.name(w, x, c)
		if err != nil {
			return true
		}
		return yield(uint64(rva), name)
	})
}
