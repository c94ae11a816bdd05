package symtab

import (
	"context"
	"sync"

	"logparser/symbols"
	"logparser/symbols/image"
)

// Complete returns a table of a separate debug file together with the symbol
// tables of the ELF image that it belongs to. The image has what the file
// cannot have: its section of stubs, their relocations and the dynamic symbols
// are contents of the image alone. The table owns the image and the given
// table, and closes both.
//
// The debug file has the first word. Where it has no answer, the image's
// symbols name an address that their own sizes cover, or that they start at,
// unless the debug file knows what starts there: then it ends before the
// address. The image's tables are read at the first address that the file
// does not know.
func Complete(file symbols.Table, im *image.Image) symbols.Table {
	return &completed{Table: file, im: im}
}

// completed is what Complete returns. The embedded table is the debug file's.
type completed struct {
	symbols.Table
	im *image.Image

	once sync.Once
	own  *Table // the image's, nil where it has none
}

// gap returns what the image knows of an address that the debug file does not.
// lookup asks the debug file.
func (c *completed) gap(rva uint64, lookup func(rva uint64) (symbols.Symbol, error)) (symbols.Symbol, bool) {
	c.once.Do(func() { c.own, _ = New(c.im) })
	if c.own == nil || !c.own.covers(rva) {
		return symbols.Symbol{}, false
	}
	sym, err := c.own.Lookup(rva)
	if err != nil {
		return symbols.Symbol{}, false
	}
	if sym.Start != rva {
		if _, err := lookup(sym.Start); err == nil {
			return symbols.Symbol{}, false
		}
	}
	return sym, true
}

// covers reports whether a symbol starts at an address, or has a size of its
// own that reaches beyond it. That of others is only up to the next symbol.
func (t *Table) covers(rva uint64) bool {
	i, ok := t.find(rva)
	if !ok {
		return false
	}
	for addr := t.syms[i].addr; i < len(t.syms) && t.syms[i].addr == addr; i++ {
		if s := t.syms[i]; addr == rva || s.sized && s.end > rva {
			return true
		}
	}
	return false
}

// Lookup implements [symbols.Table].
func (c *completed) Lookup(rva uint64) (symbols.Symbol, error) {
	sym, err := c.Table.Lookup(rva)
	if err != nil {
		if own, ok := c.gap(rva, c.Table.Lookup); ok {
			return own, nil
		}
	}
	return sym, err
}

// LookupAll implements [symbols.Batch].
func (c *completed) LookupAll(ctx context.Context, rvas []uint64, found func(i int, sym symbols.Symbol, err error)) error {
	return symbols.LookupAll(ctx, c.Table, rvas, func(i int, sym symbols.Symbol, err error) {
		if err != nil {
			if own, ok := c.gap(rvas[i], c.Table.Lookup); ok {
				sym, err = own, nil
			}
		}
		found(i, sym, err)
	})
}

// Unwrap returns the debug file's table, for [symbols.As].
func (c *completed) Unwrap() symbols.Table { return c.Table }

// Slow implements [symbols.Prompt].
func (c *completed) Slow() bool {
	prompt, ok := c.Table.(symbols.Prompt)
	return ok && prompt.Slow()
}

// Prompt implements [symbols.Prompt].
func (c *completed) Prompt(rva uint64) (symbols.Symbol, error) {
	prompt, ok := c.Table.(symbols.Prompt)
	if !ok {
		return c.Lookup(rva)
	}
	sym, err := prompt.Prompt(rva)
	if err != nil {
		if own, ok := c.gap(rva, prompt.Prompt); ok {
			return own, nil
		}
	}
	return sym, err
}

// Procedures implements [symbols.Table]. Those of the debug file come first,
// then those of the image that fill gaps.
func (c *completed) Procedures(yield func(rva uint64, name string) bool) error {
	more := true
	err := c.Table.Procedures(func(rva uint64, name string) bool {
		more = yield(rva, name)
		return more
	})
	if err != nil || !more {
		return err
	}
	c.once.Do(func() { c.own, _ = New(c.im) })
	if c.own == nil {
		return nil
	}
	return c.own.Procedures(func(rva uint64, name string) bool {
		if _, err := c.Table.Lookup(rva); err == nil {
			return true
		}
		return yield(rva, name)
	})
}

// Close implements [symbols.Table].
func (c *completed) Close() error {
	err := c.Table.Close()
	if err2 := c.im.Close(); err == nil {
		err = err2
	}
	return err
}
