package symtab

import (
	"logparser/symbols/image"
)

// A Named is a function with all its names.
type Named struct {
	// RVA and Size are in bytes. Size is 0 where it is not known.
	RVA, Size uint64
	// Names are as the table has them, mangled, the best first.
	Names []string
	// Local says that nothing outside its file can call it by name.
	Local bool
}

// Functions returns the functions of an image's symbol table, or of its exports, in ascending order of RVA, without
// stubs and labels. Left out are functions that only choose the code of others, whose names are of what they choose.
func Functions(im *image.Image) ([]Named, error) {
	t, err := New(im)
	if err != nil {
		return nil, err
	}
	resolvers, err := Resolvers(im)
	if err != nil {
		return nil, err
	}
	var list []Named
	for i := range t.syms {
		s := &t.syms[i]
		if s.kind == kindPLT || s.rank >= rankLabel || resolvers[s.addr] {
			continue
		}
		name, err := t.raw(*s)
		if err != nil {
			continue // damaged
		}
		n := len(list)
		if n == 0 || list[n-1].RVA != s.addr {
			list = append(list, Named{RVA: s.addr, Local: true})
			n++
		}
		f := &list[n-1]
		if s.end > s.addr {
			f.Size = max(f.Size, s.end-s.addr)
		}
		f.Local = f.Local && s.rank == rankLocal
		if len(f.Names) < maxAliases {
			f.Names = append(f.Names, name)
		}
	}
	return list, nil
}
