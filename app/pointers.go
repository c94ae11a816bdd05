package app

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"logparser/symbols"
	"logparser/symbols/pdb"
	"logparser/symbols/symtab"
)

// pointers names what pointers among values lead to: functions, and data that symbol tables name. The caller
// of its methods holds the session's token.
type pointers struct {
	generation uint64
	names      map[siteKey]string
	objects    map[moduleKey][]symtab.Object
}

// maxPointers bounds the names that are kept.
const maxPointers = 1 << 16

// symbolAt returns the name of what lies at an address of a run, with how far into it, or "" where nothing
// with a name does, as long as modules get their symbols, too.
func (s *Session) symbolAt(run int, space uint16, address uint64) string {
	sp := s.runs()[run].spaces[space]
	loc := s.runs()[run].plain.Resolve(address, sp.Time, 0)
	if loc.Module < 0 || loc.Ambiguous {
		return ""
	}
	key, generation := siteKey{run, address, space}, s.generation.Load()
	c := &s.taken
	c.mu.Lock()
	if c.pointers.generation != generation || c.pointers.names == nil || len(c.pointers.names) >= maxPointers {
		c.pointers = pointers{generation: generation, names: make(map[siteKey]string)}
	}
	name, known := c.pointers.names[key]
	c.mu.Unlock()
	if known {
		return name
	}
	s.mu.Lock()
	loaded := s.loaded
	s.mu.Unlock()
	// Symbol files are open as long as nobody names anew.
	if !loaded || s.acquire(context.Background()) != nil {
		return ""
	}
	defer s.release()
	name = s.nameOfData(moduleKey{run, loc.Module}, loc.RVA)
	if name == "" && run < len(s.bindings) && trusted(s.bindings[run][loc.Module].Status) {
		named := symbols.NewResolver(s.runs()[run].modules, s.bindings[run], s.log.Truncated())
		at := named.Resolve(address, sp.Time, 0)
		if len(at.Symbol.Frames) > 0 && at.RVA == at.Symbol.Start {
			name = at.Symbol.Outermost().Function
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pointers.generation == generation {
		c.pointers.names[key] = name
	}
	return name
}

// trusted reports whether a module's symbols are surely those of its build.
func trusted(status symbols.Status) bool {
	return status == symbols.Matched || status == symbols.Embedded || status == symbols.ExportsOnly
}

// nameOfData returns the name of the data at an RVA of a module. The caller holds the token.
func (s *Session) nameOfData(key moduleKey, rva uint64) string {
	if key.run >= len(s.bindings) || key.module >= len(s.bindings[key.run]) {
		return ""
	}
	binding := &s.bindings[key.run][key.module]
	if !trusted(binding.Status) || binding.File == "" {
		return ""
	}
	if table, ok := symbols.As[*pdb.Table](binding.Table); ok {
		return dataOf(table, rva)
	}
	c := &s.taken
	c.mu.Lock()
	list, known := c.pointers.objects[key]
	c.mu.Unlock()
	if !known {
		if im, err := openImage(binding.File); err == nil {
			list, _ = symtab.Objects(im)
			im.Close()
		}
		c.mu.Lock()
		if c.pointers.objects == nil {
			c.pointers.objects = make(map[moduleKey][]symtab.Object)
		}
		c.pointers.objects[key] = list
		c.mu.Unlock()
	}
	i, found := slices.BinarySearchFunc(list, rva, func(o symtab.Object, rva uint64) int { return cmp.Compare(o.RVA, rva) })
	switch {
	case found:
		return list[i].Name
	case i > 0 && rva-list[i-1].RVA < list[i-1].Size:
		return list[i-1].Name + "+0x" + strconv.FormatUint(rva-list[i-1].RVA, 16)
	}
	return ""
}

// dataOf returns the name of data by a PDB, which knows no sizes of them: where it begins, and where a table of virtual methods by the
// C++ ABI of Itanium is pointed to.
func dataOf(table *pdb.Table, rva uint64) string {
	const methods = 0x10
	name, offset, ok := table.Data(rva)
	switch {
	case ok && offset == 0:
		return name
	case ok && offset == methods && strings.HasPrefix(name, "vtable for "):
		return name + "+0x10"
	}
	return ""
}
