package symtab

import (
	"debug/elf"
	"slices"
	"strings"

	"logparser/message"
	"logparser/symbols/demangle"
	"logparser/symbols/image"
)

// An Object is data that a symbol table names: a variable, or the table of a class's virtual methods.
type Object struct {
	// RVA and Size are in bytes.
	RVA, Size uint64
	// Name is as people read it, such as "vtable for app::Shape".
	Name string
}

// maxObjects bounds the objects of an image, and maxObjectNames the bytes of their names: of a table with more, no
// objects are known.
const (
	maxObjects     = 1 << 20
	maxObjectNames = 64 << 20
)

// Objects returns the data that the symbol tables of an image name, by ascending RVA; of several names
// for one place it returns one. Those of a PE image have no sizes: an object ends where the next one begins.
func Objects(im *image.Image) ([]Object, error) {
	var list []Object
	if im.Kind == image.PE {
		return objectsOfPE(im)
	}
	if im.Relocatable {
		return nil, nil
	}
	for _, typ := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		s := section(im, typ)
		if s == nil {
			continue
		}
		found, err := objectsOf(im, s)
		if err != nil {
			return nil, err
		}
		if list = found; len(list) > 0 {
			break
		}
	}
	slices.SortStableFunc(list, func(a, b Object) int { return cmp(a.RVA, b.RVA) })
	return slices.CompactFunc(list, func(a, b Object) bool { return a.RVA == b.RVA }), nil
}

// objectsOf reads the objects of a symbol table.
func objectsOf(im *image.Image, s *image.Section) (list []Object, err error) {
	room := maxObjectNames
	err = eachSymbol(im, s, func(typ elf.SymType, rva, size uint64, name string) bool {
		if typ == elf.STT_OBJECT && size > 0 && rva+size <= im.Size {
			_, full := demangle.Forms(name)
			list = append(list, Object{rva, size, full})
			room -= len(full)
		}
		return len(list) < maxObjects && room > 0
	})
	if room <= 0 {
		list = nil
	}
	return list, err
}

// objectsOfPE reads the data that COFF symbols name.
func objectsOfPE(im *image.Image) (list []Object, err error) {
	// What an input file put into a section begins at a symbol, too: no object goes beyond that, where data may
	// follow that has no name.
	type begin struct{ rva, section uint64 }
	var begins []begin
	room := maxObjectNames
	err = eachCOFF(im, func(s *image.Section, value uint64, name string) bool {
		if rva := s.Addr + value - im.Base; !s.Exec && rva < im.Size {
			begins = append(begins, begin{rva, min(s.Addr+s.MemSize-im.Base, im.Size)})
			if name[0] != '.' {
				_, full := demangle.Forms(name)
				list = append(list, Object{RVA: rva, Name: full})
				room -= len(full)
			}
		}
		return len(begins) < maxObjects && room > 0
	})
	if len(begins) >= maxObjects || room <= 0 {
		return nil, err
	}
	slices.SortStableFunc(begins, func(a, b begin) int { return cmp(a.rva, b.rva) })
	slices.SortStableFunc(list, func(a, b Object) int { return cmp(a.RVA, b.RVA) })
	list = slices.CompactFunc(list, func(a, b Object) bool { return a.RVA == b.RVA })
	begins = slices.CompactFunc(begins, func(a, b begin) bool { return a.rva == b.rva })
	next := 0
	for i := range list {
		for begins[next].rva != list[i].RVA {
			next++
		}
		last := begins[next].section
		if next+1 < len(begins) {
			last = min(last, begins[next+1].rva)
		}
		list[i].Size = last - list[i].RVA
	}
	return list, err
}

// clone reports whether a name is one that compilers give functions that they made of others.
func clone(name string) bool {
	return strings.Contains(name, ".isra") || strings.Contains(name, ".constprop") || strings.Contains(name, ".part")
}

// Clones returns where the functions of an image begin that the compiler made of others, with
// parameters of their own (names such as f.isra.0).
func Clones(im *image.Image) (map[uint64]bool, error) {
	if im.Kind == image.PE {
		list := make(map[uint64]bool)
		err := eachCOFF(im, func(s *image.Section, value uint64, name string) bool {
			if s.Exec && name[0] != '.' && clone(name) {
				list[s.Addr+value-im.Base] = true
			}
			return len(list) < maxObjects
		})
		return list, err
	}
	s := section(im, elf.SHT_SYMTAB)
	if im.Kind != image.ELF || im.Relocatable || s == nil {
		return nil, nil
	}
	list := make(map[uint64]bool)
	err := eachSymbol(im, s, func(typ elf.SymType, rva, _ uint64, name string) bool {
		if typ == elf.STT_FUNC && clone(name) {
			list[rva] = true
		}
		return len(list) < maxObjects
	})
	return list, err
}

// Resolvers returns where the functions of an image begin that only choose the code of others, by whose names they go
// (STT_GNU_IFUNC): the loader calls them once.
func Resolvers(im *image.Image) (map[uint64]bool, error) {
	if im.Kind != image.ELF || im.Relocatable {
		return nil, nil
	}
	list := make(map[uint64]bool)
	for _, table := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		s := section(im, table)
		if s == nil {
			continue
		}
		if err := eachSymbol(im, s, func(typ elf.SymType, rva, _ uint64, _ string) bool {
			if typ == elf.STT_GNU_IFUNC {
				list[rva] = true
			}
			return len(list) < maxObjects
		}); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// eachSymbol hands out the symbols of a table that are defined and have a name, as long as it is told to.
func eachSymbol(im *image.Image, s *image.Section, more func(typ elf.SymType, rva, size uint64, name string) bool) error {
	names, err := stringTable(im, s)
	if err != nil {
		return err
	}
	c, err := s.Content()
	if err != nil {
		return err
	}
	size := elfSymbolSize(im)
	for off := size; off+size <= c.Size(); off += size * chunk {
		b, err := c.Upto(off, size*chunk)
		if err != nil {
			return message.Errorf("%s: section %s: %w", im.File().Path, s.Name, err)
		}
		for ; int64(len(b)) >= size; b = b[size:] {
			sy := decodeSymbol(im.Order, size, b)
			if sy.index == uint16(elf.SHN_UNDEF) || sy.value < im.Base || sy.value-im.Base >= im.Size || sy.length > im.Size {
				continue
			}
			name, err := names.String(int64(sy.name))
			if err == nil && name != "" && !more(elf.ST_TYPE(sy.info), sy.value-im.Base, sy.length, name) {
				return nil
			}
		}
	}
	return nil
}

// Addresses returns the RVAs of the functions that the symbol table of an image defines by chosen names.
func Addresses(im *image.Image, chosen func(name string) bool) (map[string]uint64, error) {
	list := make(map[string]uint64)
	if im.Kind == image.PE {
		err := eachCOFF(im, func(s *image.Section, value uint64, name string) bool {
			if s.Exec && name[0] != '.' && chosen(name) {
				list[name] = s.Addr + value - im.Base
			}
			return len(list) < maxObjects
		})
		return list, err
	}
	s := section(im, elf.SHT_SYMTAB)
	if s == nil {
		s = section(im, elf.SHT_DYNSYM)
	}
	if im.Kind != image.ELF || im.Relocatable || s == nil {
		return list, nil
	}
	err := eachSymbol(im, s, func(typ elf.SymType, rva, _ uint64, name string) bool {
		if (typ == elf.STT_FUNC || typ == elf.STT_NOTYPE) && chosen(name) {
			list[name] = rva
		}
		return len(list) < maxObjects
	})
	return list, err
}
