package app

import (
	"context"
	"path/filepath"

	"logparser/symbols"
)

// An Image is an image or a symbol file whose addresses can be looked up by
// hand. Its methods are safe for concurrent use.
type Image struct {
	binding symbols.Binding
	// base and size are where the image is linked to, 0 for symbol files.
	base, size uint64
}

// OpenImage opens an image with its symbols, or a file of symbols itself. Of
// the inputs only those count that say where symbols are; the image's own
// folder is looked at too.
func OpenImage(ctx context.Context, file string, in Inputs) (*Image, error) {
	finder := newFinder(in, filepath.Dir(file), nil)
	b, linked, err := finder.FindFor(ctx, file)
	if err != nil {
		return nil, &InputError{file, unwrapPath(err), "give a PE or ELF image, a .pdb or a .debug file"}
	}
	// Large symbol files list folded functions only when asked to.
	if t, ok := b.Table.(interface{ ReadAliases() error }); ok {
		if err := t.ReadAliases(); err != nil {
			b.Table.Close()
			return nil, &InputError{b.File, err, ""}
		}
	}
	m := &Image{binding: b}
	if linked != nil {
		m.base, m.size = linked.Base, linked.Size
	}
	return m, nil
}

// RVA returns an address relative to the image: the address itself, or, where
// it can only be one of the addresses that the image is linked to, that less
// the image's base.
func (m *Image) RVA(address uint64) uint64 {
	if m.base >= m.size && address >= m.base && address-m.base < m.size {
		return address - m.base
	}
	return address
}

// Binding returns what was found, and how far it can be trusted.
func (m *Image) Binding() symbols.Binding { return m.binding }

// Lookup returns the symbol at an RVA; the error wraps symbols.ErrNotFound
// where there is none.
func (m *Image) Lookup(rva uint64) (symbols.Symbol, error) {
	if m.binding.Table == nil {
		return symbols.Symbol{}, symbols.ErrNotFound
	}
	return m.binding.Table.Lookup(rva)
}

// Close closes the symbol file.
func (m *Image) Close() error {
	if m.binding.Table == nil {
		return nil
	}
	return m.binding.Table.Close()
}
