package app

import (
	"errors"

	"logparser/symbols"
	"logparser/symbols/hooks"
	"logparser/symbols/image"
	"logparser/symbols/symtab"
	"logparser/symbols/types"
)

// A codeReader tells what the code of a module's functions does with the registers that arguments are passed in. Of other processors than
// x86-64 it tells nothing.
type codeReader struct {
	code  *hooks.Code
	sizes map[uint64]uint64 // of functions, by their RVAs
}

func newCodeReader(im *image.Image) (*codeReader, error) {
	code, err := hooks.Functions(im)
	if code == nil {
		return &codeReader{}, err
	}
	r := &codeReader{code, make(map[uint64]uint64)}
	named, err := symtab.Functions(im)
	if err != nil && !errors.Is(err, symbols.ErrNoSymbols) {
		return nil, err
	}
	for i := range named {
		r.sizes[named[i].RVA] = named[i].Size
	}
	return r, nil
}

// taken returns which registers a function may take something in.
func (r *codeReader) taken(f *types.Function) hooks.Taken {
	if r.code == nil {
		return hooks.Taken{}
	}
	return r.code.Taken(f.RVA, f.Size, func(rva uint64) uint64 { return r.sizes[rva] })
}

// reads returns what reports whether a function certainly reads what a register has when it is entered, nil where that is not known.
func (r *codeReader) reads(f *types.Function) func(register string) bool {
	if r.code == nil {
		return nil
	}
	const result = "rdi" // where the address of a result would be; nothing is asked about that
	passed := r.code.Passed(f.RVA, f.Size, result)
	return passed.Reads
}
