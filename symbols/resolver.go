package symbols

import (
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
	// Ambiguous says that a truncated address lies in more than one module.
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
	loc := Location{Module: -1, Address: address}
	look := address - back
	var ok bool
	if r.truncated {
		var whole uint64
		loc.Module, whole, ok, loc.Ambiguous = r.modules.FindTruncated(uint32(look), at)
		if ok {
			look, loc.Address = whole, whole+back
		}
	} else {
		loc.Module, ok = r.modules.Find(look, at)
	}
	if !ok {
		loc.Module = -1
		return loc
	}
	base := r.modules.At(loc.Module).Base
	loc.RVA = loc.Address - base
	if loc.Module >= len(r.bindings) || r.bindings[loc.Module].Table == nil {
		return loc
	}
	sym, err := r.bindings[loc.Module].Table.Lookup(look - base)
	switch {
	case err == nil:
		loc.Symbol = sym
	case !errors.Is(err, ErrNotFound):
		loc.Err = err
	}
	return loc
}
