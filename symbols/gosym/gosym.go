// Package gosym names functions, lines and inlined calls of Go programs by the
// pclntab, the table that the Go runtime itself prints stacks by. Every Go
// program has it, stripped ones too.
//
// Its input is an ELF or PE image (see package image); its output is a
// [Table]. The table is the section .gopclntab (.data.rel.ro.gopclntab in
// position-independent programs before Go 1.26); in a PE, and where a C linker
// merged the sections, it is found by its header and then held against its own
// contents. All forms since Go 1.2 are read. Their source is the Go
// distribution: runtime/symtab.go, runtime/symtabinl.go and
// internal/abi/symtab.go of the releases 1.15 to 1.26, and the note
// golang.org/s/go12symtab.
//
// From Go 1.18 on, addresses count from the start of the Go code, and inlined
// calls lie in go:func.*. Where both are, runtime.moduledata says, a structure
// of the program's data that is found by its pointers to the table. A table
// without it is refused if the header does not say where the code is: the
// start of .text is not it where C code comes first.
//
// # What it answers
//
// Names are the runtime's: main.(*Shape).Area, main.main.func1,
// main.Map[...]. Where the table has the type arguments, the name with them is
// the signature: main.Map[int,go.shape.string]. The chain of frames, their
// files and lines are those of a stack trace, with the wrappers that it hides.
// A function ends where its line table does, which is without the padding that
// follows. Where inlined calls cannot be read (Go 1.11 and before) an inlined
// instruction has the function's name and no line. What lies in no Go function
// is named by the symbol tables, as far as the file has them.
//
// # What it is built on
//
// debug/gosym reads the same tables without inlined calls, makes a record for
// every function at opening, trusts the counts that it allocates by, and needs
// to be told where the code begins. The tests hold this reader against it, and
// against the DWARF of the same programs.
package gosym

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"logparser/message"
	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/image"
	"logparser/symbols/symtab"
)

// Format opens Go programs. Open fails with an error that wraps
// [symbols.ErrNoSymbols] where an image has no pclntab.
var Format = symbols.Format{Name: "Go pclntab", Detect: image.Detect, Open: Open}

// Open makes a table of a Go program's functions.
var Open = image.Opener(New)

// New makes a table of an opened image's Go functions. On success the table
// owns the image and closes it.
func New(im *image.Image) (*Table, error) {
	if im.Relocatable {
		return nil, message.Errorf("%s: not linked yet: %w", im.File().Path, symbols.ErrNoSymbols)
	}
	tab, addr, err := findPclntab(im)
	if err != nil {
		return nil, message.Errorf("%s: %w", im.File().Path, err)
	}
	t := &Table{im: im, tab: tab}
	m, ok := module{}, false
	if tab.version >= go116 {
		m, ok = findModule(im, tab, addr)
	}
	if tab.version >= go118 {
		if t.text = m.text; !ok {
			t.text = tab.text
		}
		if t.text == 0 {
			return nil, message.Errorf("%s: the pclntab at address %#x does not say where the code is, and no moduledata does: %w",
				im.File().Path, addr, symbols.ErrNoSymbols)
		}
	}
	first, last := t.text+tab.start(0), t.text+tab.start(tab.len())
	if _, hi, ok := im.Executable(first); !ok || last > hi || last < first {
		return nil, message.Errorf("%s: %w: functions from %#x to %#x, where there is no code",
			im.File().Path, errDamaged, first, last)
	}
	if f, err := tab.function(0); err == nil {
		name, _ := tab.name(f)
		t.buildID = name == "go:buildid" || name == "go.buildid"
	}
	t.inlining = newInlining(im, tab, m.goFunc)
	t.sizes = make([]atomic.Uint32, tab.len())
	return t, nil
}

// A Table is the functions of a Go program. It is safe for concurrent use.
type Table struct {
	im  *image.Image
	tab *pclntab
	// text is added to the table's addresses.
	text uint64
	// buildID says that the first function is none: in a PE the code begins
	// with the Go build ID.
	buildID bool
	// inlining is nil where inlined calls cannot be read.
	inlining *inlining
	// sizes holds the sizes of functions that were asked for, 0 for the
	// others.
	sizes []atomic.Uint32

	symtabOnce sync.Once
	symtab     *symtab.Table
}

// size returns the length of function i, in bytes.
func (t *Table) size(i int, f []byte) uint64 {
	size := uint64(t.sizes[i].Load())
	if size == 0 {
		size = t.tab.size(i, f)
		t.sizes[i].Store(uint32(size))
	}
	return size
}

// find returns the function that an address (a VA) lies in, and how far from
// its entry.
func (t *Table) find(addr uint64) (i int, f []byte, pc uint64, err error) {
	i, ok := t.tab.find(addr - t.text)
	if addr < t.text || !ok || i == 0 && t.buildID {
		return 0, nil, 0, symbols.ErrNotFound
	}
	f, err = t.tab.function(i)
	if err != nil {
		return 0, nil, 0, err
	}
	pc = addr - t.text - t.tab.start(i)
	if pc >= t.size(i, f) {
		return 0, nil, 0, symbols.ErrNotFound
	}
	return i, f, pc, nil
}

// Lookup implements [symbols.Table].
func (t *Table) Lookup(rva uint64) (symbols.Symbol, error) {
	i, f, pc, err := t.find(t.im.Base + rva)
	if errors.Is(err, symbols.ErrNotFound) {
		return t.lookupSymtab(rva)
	}
	if err != nil {
		return symbols.Symbol{}, message.Errorf("%s: RVA %#x: %w", t.im.File().Path, rva, err)
	}
	size := t.size(i, f)
	frames, err := t.frames(f, pc, size)
	if err != nil {
		return symbols.Symbol{}, message.Errorf("%s: RVA %#x: %w", t.im.File().Path, rva, err)
	}
	return symbols.Symbol{Frames: frames, Start: rva - pc, Size: size, Kind: symbols.Procedure}, nil
}

// frames returns the chain of inlined calls at pc of a function.
func (t *Table) frames(f []byte, pc, size uint64) ([]symbols.Frame, error) {
	var out []symbols.Frame
	name, err := t.tab.name(f)
	if err != nil {
		return nil, err
	}
	index := t.tab.pcdata(f, inlineIndex)
	for range maxDepth {
		i, ok := t.tab.value(index, pc)
		if !ok || i < 0 {
			file, line := t.tab.position(f, pc)
			return append(out, frame(name, file, line)), nil
		}
		if t.inlining == nil {
			return []symbols.Frame{frame(name, "", 0)}, nil
		}
		tree, ok := t.inlining.tree(f)
		if !ok {
			return nil, message.Errorf("%w: no tree of inlined calls", errDamaged)
		}
		c, err := t.inlining.call(tree, i, size)
		if err != nil {
			return nil, err
		}
		inlined, err := t.tab.nameAt(c.name)
		if err != nil {
			return nil, err
		}
		file, line := t.tab.position(f, pc)
		out = append(out, frame(inlined, file, line))
		pc = c.parent
	}
	return nil, message.Errorf("%w: more than %d inlined calls around each other", errDamaged, maxDepth)
}

// frame names a function as the runtime prints it: without type arguments.
func frame(name, file string, line int) symbols.Frame {
	f := symbols.Frame{Function: printed(name), File: file, Line: line}
	if f.Function != name && !strings.Contains(name, "[...]") {
		f.Signature = name
	}
	return f
}

// printed puts dots in place of everything between the first bracket and the
// last, as the runtime does.
func printed(name string) string {
	i, j := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if i < 0 || j < i {
		return name
	}
	return name[:i] + "[...]" + name[j+1:]
}

// symbolTable returns the symbol tables of the image, or nil.
func (t *Table) symbolTable() *symtab.Table {
	t.symtabOnce.Do(func() { t.symtab, _ = symtab.New(t.im) })
	return t.symtab
}

// lookupSymtab names what is not Go code. The symbols of a PE have no sizes:
// one that a Go function begins with ends before it does.
func (t *Table) lookupSymtab(rva uint64) (symbols.Symbol, error) {
	missing := message.Errorf("RVA %#x: %w", rva, symbols.ErrNotFound)
	st := t.symbolTable()
	if st == nil {
		return symbols.Symbol{}, missing
	}
	sym, err := st.Lookup(rva)
	if err != nil {
		return symbols.Symbol{}, err
	}
	if _, _, _, err := t.find(t.im.Base + sym.Start); err == nil {
		return symbols.Symbol{}, missing
	}
	return sym, nil
}

// Procedures implements [symbols.Table]; it yields the Go functions.
func (t *Table) Procedures(yield func(rva uint64, name string) bool) error {
	for i := range t.tab.len() {
		if t.tab.start(i) == t.tab.start(i+1) || i == 0 && t.buildID {
			continue
		}
		f, err := t.tab.function(i)
		if err != nil {
			return message.Errorf("%s: %w", t.im.File().Path, err)
		}
		name, err := t.tab.name(f)
		if err != nil {
			return message.Errorf("%s: %w", t.im.File().Path, err)
		}
		if !yield(t.text+t.tab.start(i)-t.im.Base, printed(name)) {
			return nil
		}
	}
	return nil
}

// Identity implements [symbols.Table]; it is the image's. The Go build ID is
// no part of it: recorders note the GNU build-id.
func (t *Table) Identity() modules.Identity { return t.im.Identity }

// Describe implements [symbols.Table].
func (t *Table) Describe() string { return "Go pclntab, " + t.tab.version.String() }

// Close implements [symbols.Table].
func (t *Table) Close() error { return t.im.Close() }
