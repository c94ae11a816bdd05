package symbols

import (
	"context"
	"errors"

	"logparser/modules"
)

// A Location is an address of the recorded program, resolved.
type Location struct {
	// Module is the index of the owning module in the resolver's map, or -1.
	Module int
	// Address is the whole address (a VA): the given one, or, where only its
	// low 32 bits were recorded, the one that lies in Module.
	Address uint64
	// RVA is Address within the module; it has no meaning if Module is -1.
	RVA uint64
	// Ambiguous says that the address lies in more than one module, as far as the log says.
	Ambiguous bool
	// Symbol is empty (no frames) where nothing is known.
	Symbol Symbol
	// Err is what went wrong in the symbol file, nil where nothing did.
	Err error
}

// A Resolver finds module and symbol of addresses. It is safe for concurrent
// use.
type Resolver struct {
	modules   *modules.Map
	bindings  []Binding
	truncated bool
}

// NewResolver makes a resolver over a map of modules and their symbols:
// bindings[i] belongs to module i; a shorter list means that the rest have
// none. If truncated is set, addresses hold only the low 32 bits.
func NewResolver(m *modules.Map, bindings []Binding, truncated bool) *Resolver {
	return &Resolver{modules: m, bindings: bindings, truncated: truncated}
}

// Resolve resolves an address (a VA) at a time (nanoseconds of the log's
// clock). back is subtracted before the look-up and not from the answer's
// Address: 1 for a return address, 0 for an entry.
func (r *Resolver) Resolve(address uint64, at int64, back uint64) Location {
	loc, rva, table := r.locate(Query{address, at, back})
	if table != nil {
		loc.answer(table.Lookup(rva))
	}
	return loc
}

// Prompt is Resolve for tables that are a [Prompt], with what they know at
// once. ok is false where that is nothing.
func (r *Resolver) Prompt(q Query) (loc Location, ok bool) {
	loc, rva, table := r.locate(q)
	prompt, ok := table.(Prompt)
	if !ok {
		return loc, false
	}
	sym, err := prompt.Prompt(rva)
	loc.answer(sym, err)
	return loc, err == nil
}

// A Query is what [Resolver.Resolve] is asked.
type Query struct {
	Address uint64
	At      int64
	// Back is subtracted before the look-up: 1 of a return address, 0 of an entry.
	Back uint64
}

// ResolveAll resolves addresses on all processors. It calls found once for
// each index of queries, with what [Resolver.Resolve] answers, in no promised
// order and from several goroutines at once. It ends early with the error of
// ctx alone.
func (r *Resolver) ResolveAll(ctx context.Context, queries []Query, found func(i int, loc Location)) error {
	type group struct {
		rvas []uint64
		// indexes are those of the queries, locs what is known of them.
		indexes []int
		locs    []Location
	}
	groups := make(map[Table]*group)
	var order []Table
	for i, q := range queries {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		loc, rva, table := r.locate(q)
		if table == nil {
			found(i, loc)
			continue
		}
		g := groups[table]
		if g == nil {
			g = &group{}
			groups[table] = g
			order = append(order, table)
		}
		g.rvas, g.indexes, g.locs = append(g.rvas, rva), append(g.indexes, i), append(g.locs, loc)
	}
	for _, table := range order {
		g := groups[table]
		err := LookupAll(ctx, table, g.rvas, func(i int, sym Symbol, err error) {
			loc := g.locs[i]
			loc.answer(sym, err)
			found(g.indexes[i], loc)
		})
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// locate finds an address's module, and its symbols with the RVA to look up
// there, if it has any.
func (r *Resolver) locate(q Query) (loc Location, rva uint64, table Table) {
	loc = Location{Module: -1, Address: q.Address}
	look := q.Address - q.Back
	var ok bool
	if r.truncated {
		var whole uint64
		loc.Module, whole, ok, loc.Ambiguous = r.modules.FindTruncated(uint32(look), q.At)
		if ok {
			look, loc.Address = whole, whole+q.Back
		}
	} else {
		var owners int
		loc.Module, owners = r.modules.Find(look, q.At)
		ok, loc.Ambiguous = owners == 1, owners > 1
	}
	if !ok {
		loc.Module = -1
		return loc, 0, nil
	}
	base := r.modules.At(loc.Module).Base
	loc.RVA = loc.Address - base
	if loc.Module < len(r.bindings) {
		table = r.bindings[loc.Module].Table
	}
	return loc, look - base, table
}

// answer takes what a table says of the location.
func (loc *Location) answer(sym Symbol, err error) {
	switch {
	case err == nil:
		loc.Symbol = sym
	case !errors.Is(err, ErrNotFound):
		loc.Err = err
	}
}
