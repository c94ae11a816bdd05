package app

import (
	"context"
	"path/filepath"
	"slices"

	"logparser/message"
	"logparser/rows"
	"logparser/symbols"
	"logparser/symbols/image"
)

// A Symbol is all that is known of one address.
type Symbol = symbols.Symbol

// An Image is an image or a symbol file whose addresses can be looked up by
// hand. Its methods are safe for concurrent use.
type Image struct {
	binding symbols.Binding
	// linked has the image's sections and where it is linked to; nil for
	// symbol files.
	linked *image.Image
}

// OpenImage opens an image with its symbols, or a file of symbols itself. Of
// the inputs only those count that say where symbols are; the image's own
// folder is looked at too.
func OpenImage(ctx context.Context, file string, in Inputs) (*Image, error) {
	finder := newFinder(in, filepath.Dir(file))
	type result struct {
		b      symbols.Binding
		linked *image.Image
		err    error
	}
	r, err := beside(ctx, func() (r result) {
		r.b, r.linked, r.err = finder.FindFor(ctx, file)
		return r
	}, func(r result) { closeTable(r.b) })
	if err != nil {
		return nil, err
	}
	if r.err != nil {
		return nil, &InputError{OtherInput, file, unwrapPath(r.err)}
	}
	return &Image{binding: r.b, linked: r.linked}, nil
}

// RVA returns an address relative to the image: the address itself, or, where it is one of the addresses that the image is linked
// to, that less the image's base. In an image that is larger than its base an address may be either: then it is what leads to
// code, and where both do, of a program of ELF what tools show of it, which is the linked address.
func (m *Image) RVA(address uint64) uint64 {
	rva, ok := m.linkedRVA(address)
	if !ok {
		return address
	}
	if l := m.linked; address < l.Size {
		asLinked, asRVA := l.SectionAt(address) != nil, l.SectionAt(l.Base+address) != nil
		if asRVA && !asLinked || asRVA == asLinked && l.Kind == image.PE {
			return address
		}
	}
	return rva
}

// linkedRVA returns the RVA of an address that the image is linked to. It is not ok where that is none.
func (m *Image) linkedRVA(address uint64) (rva uint64, ok bool) {
	l := m.linked
	if l == nil || l.Relocatable || l.Base == 0 || address < l.Base || address-l.Base >= l.Size {
		return 0, false
	}
	return address - l.Base, true
}

// Place returns the RVA to look up for an address, or for an offset in a
// section of code, whose name is not "" then. Relocatable files have no
// addresses but offsets in sections; without a name the offset must be of one
// section only.
func (m *Image) Place(section string, address uint64) (rva uint64, err error) {
	if section == "" && (m.linked == nil || !m.linked.Relocatable) {
		return m.RVA(address), nil
	}
	if m.linked == nil {
		return 0, message.New("the file has no sections of code")
	}
	switch list := m.linked.Place(section, address); {
	case len(list) == 1:
		return list[0].Addr + address - m.linked.Base, nil
	case len(list) == 0 && section != "":
		return 0, message.Errorf("no code at %#x of a section %s", address, section)
	case len(list) == 0:
		return 0, symbols.ErrNotFound
	case section != "":
		return 0, message.Errorf("%d sections have this name and offset", len(list))
	default:
		return 0, message.Errorf("%d sections of code have this offset: say which, such as %s+%#x", len(list), list[0].Name, address)
	}
}

// Offset returns what is shown for an RVA: the RVA itself, or, of a relocatable
// file, the offset in its section.
func (m *Image) Offset(rva uint64) uint64 {
	if m.linked != nil && m.linked.Relocatable {
		if s := m.linked.SectionAt(m.linked.Base + rva); s != nil {
			return m.linked.Base + rva - s.Addr
		}
	}
	return rva
}

// ReadAliases makes every later look-up give all aliases. Large PDBs have to be
// read as a whole for that, which takes longer than a name; without it they
// give none.
func (m *Image) ReadAliases() error {
	if t, ok := symbols.As[interface{ ReadAliases() error }](m.binding.Table); ok {
		if err := t.ReadAliases(); err != nil {
			return &InputError{OtherInput, m.binding.File, err}
		}
	}
	return nil
}

// Binding returns what was found, and how far it can be trusted.
func (m *Image) Binding() symbols.Binding { return m.binding }

// Lookup returns the symbol at an RVA; the error wraps symbols.ErrNotFound
// where there is none.
func (m *Image) Lookup(rva uint64) (Symbol, error) {
	if m.binding.Table == nil {
		return Symbol{}, symbols.ErrNotFound
	}
	sym, err := m.binding.Table.Lookup(rva)
	if err == nil && m.binding.Status == symbols.Mismatched {
		tagNames(&sym)
	}
	return sym, err
}

// LookupAll looks many RVAs up on all processors; see [symbols.LookupAll].
func (m *Image) LookupAll(ctx context.Context, rvas []uint64, found func(i int, sym Symbol, err error)) error {
	if m.binding.Table == nil {
		for i := range rvas {
			if i%cancelEvery == 0 && ctx.Err() != nil {
				break
			}
			found(i, Symbol{}, symbols.ErrNotFound)
		}
		return ctx.Err()
	}
	return symbols.LookupAll(ctx, m.binding.Table, rvas, func(i int, sym Symbol, err error) {
		if err == nil && m.binding.Status == symbols.Mismatched {
			tagNames(&sym)
		}
		found(i, sym, err)
	})
}

// NamesAll is LookupAll for the names of the containing procedures alone,
// without lines and inlined calls: symbol tables answer at once where debug
// information would have to be inflated.
func (m *Image) NamesAll(ctx context.Context, rvas []uint64, found func(i int, sym Symbol, err error)) error {
	prompt, ok := m.binding.Table.(symbols.Prompt)
	if !ok || !prompt.Slow() {
		return m.LookupAll(ctx, rvas, func(i int, sym Symbol, err error) {
			if err == nil {
				outermost := *sym.Outermost()
				outermost.File, outermost.Line = "", 0
				sym.Frames = []symbols.Frame{outermost}
			}
			found(i, sym, err)
		})
	}
	for i, rva := range rvas {
		if err := ctx.Err(); err != nil {
			return err
		}
		sym, err := prompt.Prompt(rva)
		if err == nil && m.binding.Status == symbols.Mismatched {
			tagNames(&sym)
		}
		found(i, sym, err)
	}
	return nil
}

// tagNames tags all names of a symbol as those of another build. The table may
// keep what it answered, so that the lists are copied.
func tagNames(sym *Symbol) {
	sym.Frames, sym.Aliases, sym.Printable = slices.Clone(sym.Frames), slices.Clone(sym.Aliases), false
	for i := range sym.Frames {
		f := &sym.Frames[i]
		f.Function, f.Signature, f.File = rows.TagFunction(f.Function), rows.TagFunction(f.Signature), rows.TagSource(f.File)
	}
	for i, alias := range sym.Aliases {
		sym.Aliases[i] = rows.TagFunction(alias)
	}
}

// Close closes the symbol file.
func (m *Image) Close() error {
	if m.binding.Table == nil {
		return nil
	}
	return m.binding.Table.Close()
}
