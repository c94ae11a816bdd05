// Package symtab names functions by the symbol tables of ELF and PE files:
// .symtab (MiniDebugInfo's too) and .dynsym, the COFF symbol table, and a PE's
// export table.
//
// Its input is an image (see package image); its output is a [Table], which
// gives a function's name, start and size, and never a line. Only symbols of
// functions count: data, sections, files, mapping symbols ($a, $t, $x, $d)
// and compiler-local labels are passed over.
//
// A symbol covers the bytes that its size says; where the table has no size,
// those of another symbol at the same address; where that has none either,
// those up to the next symbol, to the end of the sized function around it or
// to the end of the section, whichever comes first. A label that the table
// does not call a function is none inside a function, and a local one does
// not end a function without a size: assembler code has such labels for its
// loops. Of several symbols at one address the best is the name and the others
// are aliases: functions before labels, global before weak before local,
// undecorated before longer. Exports are the last resort and marked as such:
// they give a name only up to the next one, their size is unknown, and where
// an x64 image has its exception directory, only within the function that
// starts at the export.
//
// Stubs of the procedure linkage table of x86-64, arm64 and arm are named
// name@plt, by the GOT slot that each jumps through. On ppc64, where symbols of
// functions are those of descriptors in .opd, the code's address is read there.
//
// The tables are decoded here and not by debug/elf and debug/pe, whose records
// are several times larger than those in the file and hold every symbol.
package symtab

import (
	"math"
	"slices"
	"sort"
	"strings"

	"logparser/message"
	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/demangle"
	"logparser/symbols/image"
)

// Format opens the symbol tables of ELF and PE files. Open fails with an error
// that wraps [symbols.ErrNoSymbols] where a file has no function symbols.
var Format = symbols.Format{Name: "symbol table", Detect: image.Detect, Open: Open}

// Open makes a table of a file's symbols.
func Open(f *symbols.File) (symbols.Table, error) {
	im, err := image.Open(f)
	if err != nil {
		return nil, err
	}
	t, err := New(im)
	if err != nil {
		return nil, err
	}
	t.owner = im
	return t, nil
}

// New makes a table of an opened image's symbols. The image must stay open as
// long as the table is used; closing the table does not close it.
func New(im *image.Image) (*Table, error) {
	t := &Table{im: im}
	var err error
	switch im.Kind {
	case image.ELF:
		err = t.readELF()
	case image.PE:
		if im.ManagedOnly() {
			return nil, message.Errorf("%s: image of managed code (.NET), which does not run where it lies: %w",
				im.File().Path, symbols.ErrNoSymbols)
		}
		err = t.readPE()
	}
	if err != nil {
		return nil, err
	}
	if len(t.syms) == 0 {
		return nil, message.Errorf("%s: %w", im.File().Path, symbols.ErrNoSymbols)
	}
	t.arrange()
	return t, nil
}

// A Table is the function symbols of an image. It is safe for concurrent use.
type Table struct {
	im    *image.Image
	owner *image.Image // closed with the table
	// syms are sorted by address, the best of one address first.
	syms []sym
	// reach[i] is the highest end of syms[:i+1].
	reach []uint64
	// names are the string tables that syms refer to.
	names []*image.Content
	// records are the COFF symbols, which hold names of up to eight bytes.
	records *image.Content
	// texts are the names that are in neither.
	texts    []string
	describe []string
	// parts are what the exception directory of a PE that has nothing but
	// exports lists, sorted.
	parts []part
}

// A sym is a function symbol.
type sym struct {
	addr uint64 // RVA
	end  uint64 // RVA; 0 until arrange
	// name is an offset into a string table or into the COFF records, or an
	// index into texts.
	name uint32
	src  uint8 // index into Table.names, or inText, or inRecord
	rank uint8 // smaller is better
	kind kind
	// sized says that the end is the table's own.
	sized bool
}

const (
	inText   = 0xff
	inRecord = 0xfe
)

type kind uint8

const (
	kindSymbol kind = iota
	kindExport
	kindPLT
)

func (k kind) symbols() symbols.Kind {
	switch k {
	case kindExport:
		return symbols.Export
	case kindPLT:
		return symbols.PLT
	}
	return symbols.Symtab
}

// Ranks, smaller is better; a label is something that the table does not call
// a function.
const (
	rankGlobal = iota
	rankWeak
	rankLocal
	rankLabel // global or weak
	rankLocalLabel
)

// maxSymbols bounds the function symbols that are kept, 32 bytes each beside
// the file's own 16 to 24. The largest programs have some two million.
const maxSymbols = 4 << 20

// reserve makes room for n symbols more, so that what is kept is not copied as
// it grows.
func (t *Table) reserve(n int64) {
	t.syms = slices.Grow(t.syms, int(min(n, maxSymbols-int64(len(t.syms)))))
}

func (t *Table) add(s sym) error {
	if len(t.syms) >= maxSymbols {
		return message.Errorf("%s: more than %d function symbols", t.im.File().Path, maxSymbols)
	}
	t.syms = append(t.syms, s)
	return nil
}

// arrange sorts the symbols, drops labels inside functions and gives ends to
// the symbols that have none.
func (t *Table) arrange() {
	slices.SortFunc(t.syms, func(a, b sym) int {
		switch {
		case a.addr != b.addr:
			return cmp(a.addr, b.addr)
		case a.rank != b.rank:
			return int(a.rank) - int(b.rank)
		case a.sized != b.sized:
			if a.sized {
				return -1
			}
			return 1
		case a.end != b.end:
			return -cmp(a.end, b.end)
		case a.src != b.src:
			return int(a.src) - int(b.src)
		}
		return cmp(uint64(a.name), uint64(b.name))
	})
	if cap(t.syms) > 2*len(t.syms) {
		t.syms = append(make([]sym, 0, len(t.syms)), t.syms...)
	}
	t.dropLabels()
	t.setEnds()
	t.reach = make([]uint64, len(t.syms))
	var high uint64
	for i, s := range t.syms {
		high = max(high, s.end)
		t.reach[i] = high
	}
}

// dropLabels drops labels that lie in functions: in the bytes of one with a
// size, and local ones behind one without, up to the next symbol.
func (t *Table) dropLabels() {
	kept := t.syms[:0]
	var covered uint64 // the highest end of functions with a size
	var open uint64    // how far one without a size may reach
	for _, s := range t.syms {
		switch {
		case s.rank >= rankLabel && s.addr < covered, s.rank == rankLocalLabel && s.addr < open:
			continue
		case s.rank < rankLabel && s.sized:
			covered, open = max(covered, s.end), 0
		case s.rank < rankLabel && s.addr >= covered:
			open = t.codeEnd(s.addr)
		case s.rank == rankLabel:
			open = 0
		}
		kept = append(kept, s)
	}
	t.syms = kept
}

// codeEnd returns the end of the executable section that an address lies in.
func (t *Table) codeEnd(rva uint64) uint64 {
	if _, hi, ok := t.im.Executable(t.im.Base + rva); ok {
		return hi - t.im.Base
	}
	return math.MaxUint64
}

// setEnds gives ends to the symbols that have none.
func (t *Table) setEnds() {
	var around uint64 // the highest end of sized symbols that begin before
	for from, to := 0, 0; from < len(t.syms); from = to {
		addr := t.syms[from].addr
		var twin uint64 // the highest end of sized symbols that begin here
		for to = from; to < len(t.syms) && t.syms[to].addr == addr; to++ {
			if s := &t.syms[to]; s.sized {
				twin = max(twin, s.end)
			}
		}
		end := twin
		if twin == 0 {
			end = t.codeEnd(addr)
			if to < len(t.syms) {
				end = min(end, t.syms[to].addr)
			}
			if addr < around {
				end = min(end, around)
			}
		}
		for i := from; i < to; i++ {
			if s := &t.syms[i]; !s.sized {
				s.end, s.sized = end, twin > 0
			}
		}
		around = max(around, twin)
	}
}

func cmp(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// maxNested bounds the walk back from an address to a symbol that covers it,
// over symbols that begin nearer and end before it.
const maxNested = 256

// find returns the index of the first symbol of the nearest address whose
// symbols cover rva.
func (t *Table) find(rva uint64) (int, bool) {
	i := sort.Search(len(t.syms), func(i int) bool { return t.syms[i].addr > rva }) - 1
	for n := 0; i >= 0 && t.reach[i] > rva && n < maxNested; n++ {
		if t.syms[i].end > rva {
			for i > 0 && t.syms[i-1].addr == t.syms[i].addr {
				i--
			}
			return i, true
		}
		i--
	}
	return 0, false
}

// Lookup implements [symbols.Table].
func (t *Table) Lookup(rva uint64) (symbols.Symbol, error) {
	i, ok := t.find(rva)
	if !ok || t.syms[i].kind == kindExport && !t.sameFunction(t.syms[i].addr, rva) {
		return symbols.Symbol{}, message.Errorf("RVA %#x: %w", rva, symbols.ErrNotFound)
	}
	best := t.syms[i]
	// The best name of the address may be one whose size stops short.
	j := i
	for t.syms[j].end <= rva {
		j++
	}
	frame, err := t.frame(best)
	if err != nil {
		return symbols.Symbol{}, err
	}
	out := symbols.Symbol{Frames: []symbols.Frame{frame}, Start: best.addr, Kind: best.kind.symbols()}
	if s := t.syms[j]; s.kind != kindExport || s.sized {
		out.Size = s.end - s.addr
	}
	out.Aliases = t.aliases(i, frame.Function)
	return out, nil
}

// maxAliases bounds the aliases of one address.
const maxAliases = 64

// aliases returns the other names of the address of symbol i, each once.
func (t *Table) aliases(i int, name string) []string {
	seen := map[string]bool{name: true}
	var out []string
	for j := i + 1; j < len(t.syms) && t.syms[j].addr == t.syms[i].addr && len(out) < maxAliases; j++ {
		f, err := t.frame(t.syms[j])
		if err != nil || seen[f.Function] {
			continue
		}
		seen[f.Function] = true
		out = append(out, f.Function)
	}
	return out
}

// frame names a symbol.
func (t *Table) frame(s sym) (symbols.Frame, error) {
	raw, err := t.raw(s)
	if err != nil {
		return symbols.Frame{}, err
	}
	return t.named(raw, s.kind), nil
}

func (t *Table) named(raw string, k kind) symbols.Frame {
	if t.im.Kind == image.PE {
		// Exported C functions have lost the underscore that x86 puts in
		// front of every name; those of the symbol table have not.
		raw = demangle.CName(raw, t.im.Machine == "x86" && k != kindExport)
	}
	suffix := ""
	if k == kindPLT {
		suffix = "@plt"
		raw, _, _ = strings.Cut(raw, "@")
	}
	short, full := demangle.Forms(raw)
	if suffix != "" {
		short += suffix
	}
	f := symbols.Frame{Function: short}
	if full != raw {
		f.Signature = full + suffix
	}
	return f
}

// raw returns a symbol's name as the table has it.
func (t *Table) raw(s sym) (string, error) {
	switch s.src {
	case inText:
		return t.texts[s.name], nil
	case inRecord:
		b, err := t.records.Bytes(int64(s.name), 8)
		if err != nil {
			return "", message.Errorf("%s: symbol name: %w", t.im.File().Path, err)
		}
		name, _, _ := strings.Cut(string(b), "\x00")
		return name, nil
	}
	name, err := t.names[s.src].String(int64(s.name))
	if err != nil {
		return "", message.Errorf("%s: symbol name: %w", t.im.File().Path, err)
	}
	return name, nil
}

// LinkNames returns the names of the symbols at exactly an RVA, as the table has
// them, the best first.
func (t *Table) LinkNames(rva uint64) []string {
	i := sort.Search(len(t.syms), func(i int) bool { return t.syms[i].addr >= rva })
	var out []string
	for ; i < len(t.syms) && t.syms[i].addr == rva && len(out) < maxAliases; i++ {
		if name, err := t.raw(t.syms[i]); err == nil {
			out = append(out, name)
		}
	}
	return out
}

// Procedures implements [symbols.Table]; it yields the best name of each
// address.
func (t *Table) Procedures(yield func(rva uint64, name string) bool) error {
	for i, s := range t.syms {
		if i > 0 && t.syms[i-1].addr == s.addr {
			continue
		}
		f, err := t.frame(s)
		if err != nil {
			return err
		}
		if !yield(s.addr, f.Function) {
			return nil
		}
	}
	return nil
}

// Identity implements [symbols.Table]; it is the image's.
func (t *Table) Identity() modules.Identity { return t.im.Identity }

// Describe implements [symbols.Table].
func (t *Table) Describe() string {
	if len(t.describe) == 0 {
		return "no symbols but import stubs"
	}
	return strings.Join(t.describe, ", ")
}

// ExportsOnly reports whether the names are those that the image exports, and
// no others.
func (t *Table) ExportsOnly() bool {
	for _, s := range t.syms {
		if s.kind == kindSymbol {
			return false
		}
	}
	return true
}

// Close implements [symbols.Table].
func (t *Table) Close() error {
	if t.owner == nil {
		return nil
	}
	return t.owner.Close()
}
