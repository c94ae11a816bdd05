package image

import (
	"encoding/binary"

	"logparser/message"
)

const (
	// maxImportedDLLs and maxImports bound a PE's import tables.
	maxImportedDLLs = 1 << 12
	maxImports      = 1 << 18
	// maxRelocations bounds the places that a PE's loader relocates.
	maxRelocations = 1 << 24

	importDescriptorSize = 20
	importOrdinal        = 1 << 63 // in an entry of 8 bytes: it has a number, and no name
	relocationAbsolute   = 0       // IMAGE_REL_BASED_ABSOLUTE: padding
)

// An Import is a function or variable that a PE imports by its name.
type Import struct {
	Name string
	// Library is the file name of the DLL that has it.
	Library string
	// RVA is where the loader puts its address, a pointer.
	RVA uint64
}

// Imports returns what a PE for 64 bits imports by name as it is loaded; what is loaded when it is first used is left
// out. A nil slice means that there is nothing.
func (im *Image) Imports() ([]Import, error) {
	if im.pe == nil || im.PointerSize != 8 || im.pe.dirs[dirImport].rva == 0 {
		return nil, nil
	}
	const word = 8
	le := binary.LittleEndian
	at := uint64(im.pe.dirs[dirImport].rva)
	fail := func(err error) ([]Import, error) {
		return nil, message.Errorf("%s: import table at RVA %#x: %w", im.file.Path, at, err)
	}
	var out []Import
	total, seen := 0, 0
	for range maxImportedDLLs {
		d, err := im.ReadRVA(at, importDescriptorSize)
		if err != nil {
			return fail(err)
		}
		at += importDescriptorSize
		names, slots := uint64(le.Uint32(d)), uint64(le.Uint32(d[16:]))
		if slots == 0 {
			return out, nil
		}
		if names == 0 { // some old linkers: the names are where the addresses will be
			names = slots
		}
		library := im.stringRVA(uint64(le.Uint32(d[12:])), maxExportName)
		for ; ; names, slots = names+word, slots+word {
			b, err := im.ReadRVA(names, word)
			if err != nil {
				return fail(err)
			}
			entry := le.Uint64(b)
			if entry == 0 {
				break
			}
			if seen++; seen > maxImports {
				return fail(message.Errorf("more than %d entries", maxImports))
			}
			if entry&importOrdinal != 0 {
				continue
			}
			const hint = 2 // bytes before the name
			name := im.stringRVA(entry&(1<<31-1)+hint, maxExportName)
			if name != "" {
				out = append(out, Import{name, library, slots})
				total += len(name)
			} else {
				total += maxExportName // it was searched for its end
			}
			if total > maxExportBytes {
				return fail(message.Errorf("names of more than %d bytes", maxExportBytes))
			}
		}
	}
	return fail(message.Errorf("more than %d libraries", maxImportedDLLs))
}

// ImportAddresses returns where the table of imported addresses lies of which a PE's header tells: its RVA and its size
// in bytes. Both are 0 where there is none.
func (im *Image) ImportAddresses() (rva, size uint32) {
	if im.pe == nil {
		return 0, 0
	}
	d := im.pe.dirs[dirImportAddresses]
	return d.rva, d.size
}

// BaseRelocations returns the RVAs of what a PE's loader changes where it does not load the image at its Base, in the
// order of the file.
func (im *Image) BaseRelocations() ([]uint32, error) {
	if im.pe == nil || im.pe.dirs[dirRelocations].rva == 0 {
		return nil, nil
	}
	const head, entry = 8, 2
	le := binary.LittleEndian
	d := im.pe.dirs[dirRelocations]
	fail := func(err error) ([]uint32, error) {
		return nil, message.Errorf("%s: relocation table at RVA %#x: %w", im.file.Path, d.rva, err)
	}
	var out []uint32
	for at, end := uint64(d.rva), uint64(d.rva)+uint64(d.size); at+head <= end; {
		b, err := im.ReadRVA(at, head)
		if err != nil {
			return fail(err)
		}
		page, size := le.Uint32(b), uint64(le.Uint32(b[4:]))
		if size < head || size > end-at {
			break
		}
		if b, err = im.ReadRVA(at+head, int64(size-head)); err != nil {
			return fail(err)
		}
		at += size
		for ; len(b) >= entry; b = b[entry:] {
			if r := le.Uint16(b); r>>12 != relocationAbsolute {
				out = append(out, page+uint32(r&0xfff))
			}
		}
		if len(out) > maxRelocations {
			return fail(message.Errorf("more than %d entries", maxRelocations))
		}
	}
	return out, nil
}
