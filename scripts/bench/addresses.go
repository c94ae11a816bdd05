package main

import (
	"bufio"
	"debug/elf"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"logparser/symbols"
	"logparser/symbols/image"
	"logparser/symbols/pdb"
	"logparser/symbols/symtab"
)

// addresses are random RVAs of the code of an image.
type addresses struct {
	rvas []uint64
	base uint64
	pe   bool
}

// A span is a function's bytes.
type span struct{ start, size uint64 }

func openFile(path string) (*symbols.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &symbols.File{Path: path, ReaderAt: f, Size: info.Size(), Closer: f}, nil
}

// pdbAddresses picks from the procedures of a PDB.
func pdbAddresses(path string, n int) (*addresses, error) {
	table, err := openPDB(path)
	if err != nil {
		return nil, err
	}
	defer table.Close()
	var spans []span
	err = table.Procedures(func(rva uint64, _ string) bool {
		if s, err := table.Lookup(rva); err == nil {
			spans = append(spans, span{s.Start, s.Size})
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	return &addresses{rvas: pick(spans, n), pe: true}, nil
}

func openPDB(path string) (symbols.Table, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	table, err := pdb.Open(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return table, nil
}

// imageAddresses picks from the function symbols of an ELF or PE file.
func imageAddresses(path string, n int) (*addresses, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	im, err := image.Open(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	a := &addresses{base: im.Base, pe: im.Kind != image.ELF}
	var spans []span
	if a.pe {
		table, err := symtab.New(im)
		if err != nil {
			im.Close()
			return nil, err
		}
		defer table.Close()
		err = table.Procedures(func(rva uint64, _ string) bool {
			if s, err := table.Lookup(rva); err == nil && s.Size < 1<<16 {
				spans = append(spans, span{s.Start, s.Size})
			}
			return true
		})
		if err != nil {
			return nil, err
		}
	} else {
		im.Close()
		file, err := elf.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		list, err := file.Symbols()
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Section != elf.SHN_UNDEF && s.Value >= a.base {
				spans = append(spans, span{s.Value - a.base, s.Size})
			}
		}
	}
	a.rvas = pick(spans, n)
	if len(a.rvas) == 0 {
		return nil, fmt.Errorf("%s: no function symbols", path)
	}
	return a, nil
}

// pick takes n distinct bytes out of the spans, or all where there are fewer,
// always the same ones and in random order.
func pick(spans []span, n int) []uint64 {
	slices.SortFunc(spans, func(a, b span) int {
		switch {
		case a.start < b.start:
			return -1
		case a.start > b.start:
			return 1
		}
		return 0
	})
	// Folded functions and parts cover the same bytes.
	total, end, out := uint64(0), uint64(0), spans[:0]
	for _, s := range spans {
		if s.start < end {
			cut := min(end-s.start, s.size)
			s.start, s.size = s.start+cut, s.size-cut
		}
		if s.size > 0 {
			end = s.start + s.size
			total += s.size
			out = append(out, s)
		}
	}
	offset := make([]uint64, len(out)) // of each span in the sum
	sum := uint64(0)
	for i, s := range out {
		offset[i] = sum
		sum += s.size
	}
	at := func(k uint64) uint64 {
		i, found := slices.BinarySearch(offset, k)
		if !found {
			i--
		}
		return out[i].start + k - offset[i]
	}
	r := rand.New(rand.NewPCG(1, 2))
	var rvas []uint64
	if uint64(n) >= total/2 {
		for k := range total {
			rvas = append(rvas, at(k))
		}
		r.Shuffle(len(rvas), func(i, j int) { rvas[i], rvas[j] = rvas[j], rvas[i] })
		return rvas[:min(n, len(rvas))]
	}
	seen := make(map[uint64]bool, n)
	for len(rvas) < n {
		k := r.Uint64N(total)
		if !seen[k] {
			seen[k] = true
			rvas = append(rvas, at(k))
		}
	}
	return rvas
}

// write leaves the addresses in a file, one a line, and the first of them in
// another; beside each lies one with ".va" at the end that has the addresses
// as the image is linked.
func (a *addresses) write(dir string) (all, one string, err error) {
	all, one = filepath.Join(dir, "addresses"), filepath.Join(dir, "address")
	for _, f := range []struct {
		path string
		rvas []uint64
		base uint64
	}{{all, a.rvas, 0}, {all + ".va", a.rvas, a.base}, {one, a.rvas[:1], 0}, {one + ".va", a.rvas[:1], a.base}} {
		if err := writeAddresses(f.path, f.rvas, f.base); err != nil {
			return "", "", err
		}
	}
	return all, one, nil
}

func writeAddresses(path string, rvas []uint64, base uint64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for _, rva := range rvas {
		fmt.Fprintf(w, "%#x\n", base+rva)
	}
	if err := w.Flush(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
