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

// results lets those functions of a list that the compiler may have changed say in which registers they certainly return something.
func (r *codeReader) results(list []types.Function) {
	if r.code == nil {
		return
	}
	sizes := make(map[uint64]uint64)
	for i := range list {
		if f := &list[i]; f.Result != nil && !f.Foreign && (f.Altered || f.Free) {
			sizes[f.RVA] = f.Size
		}
	}
	found := r.code.Results(sizes)
	for i := range list {
		if f := &list[i]; sizes[f.RVA] > 0 {
			f.Returned = found[f.RVA].In
		}
	}
}
