package symtab

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/image"
)

// debugFile is a debug file with some procedures.
type debugFile struct {
	procedures []symbols.Symbol
	slow       bool
	asked      int
	closed     bool
}

func (d *debugFile) Lookup(rva uint64) (symbols.Symbol, error) {
	d.asked++
	return d.Prompt(rva)
}

func (d *debugFile) Slow() bool { return d.slow }

func (d *debugFile) Prompt(rva uint64) (symbols.Symbol, error) {
	for _, p := range d.procedures {
		if rva-p.Start < p.Size {
			return p, nil
		}
	}
	return symbols.Symbol{}, symbols.ErrNotFound
}

func (d *debugFile) Procedures(yield func(rva uint64, name string) bool) error {
	for _, p := range d.procedures {
		if !yield(p.Start, p.Frames[0].Function) {
			break
		}
	}
	return nil
}

func (d *debugFile) Identity() modules.Identity { return modules.Identity{} }
func (d *debugFile) Describe() string           { return "procedures of a test" }
func (d *debugFile) Close() error               { d.closed = true; return nil }

func procedureAt(name string, start, size uint64) symbols.Symbol {
	return symbols.Symbol{Frames: []symbols.Frame{{Function: name}}, Start: start, Size: size, Kind: symbols.Procedure}
}

func openImage(t *testing.T, path string) *image.Image {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	im, err := image.Open(&symbols.File{Path: path, ReaderAt: f, Size: info.Size(), Closer: f})
	if err != nil {
		t.Fatal(err)
	}
	return im
}

// TestComplete fills the gaps of a debug file from its image, and only those.
func TestComplete(t *testing.T) {
	exports := openTable(t, filepath.Join(dwarfData, "gcc5-stripped.so"))
	// Two exported functions of some size.
	var list []symbols.Symbol
	exports.Procedures(func(rva uint64, name string) bool {
		if sym, err := exports.Lookup(rva); err == nil && sym.Kind == symbols.Export && sym.Size >= 16 {
			list = append(list, sym)
		}
		return len(list) < 2
	})
	if len(list) < 2 {
		t.Fatal("no exported functions")
	}
	known, unknown := list[0], list[1]
	const stub = 0x7b0 // report@plt
	file := &debugFile{procedures: []symbols.Symbol{procedureAt("ends early", known.Start, known.Size-4), procedureAt("a stub's", stub+8, 2)}}
	table := Complete(file, openImage(t, filepath.Join(dwarfData, "gcc5-stripped.so")))
	for _, c := range []struct {
		what string
		rva  uint64
		want string
	}{
		{"the debug file has the first word", known.Start, "ends early"},
		{"an export is not longer than the debug file says", known.Start + known.Size - 2, ""},
		{"an export that the debug file does not know", unknown.Start, unknown.Frames[0].Function},
		{"the middle of it", unknown.Start + unknown.Size - 1, unknown.Frames[0].Function},
		{"a stub", stub, "report@plt"},
		{"the middle of it", stub + 7, "report@plt"},
		{"a procedure of the debug file in it", stub + 8, "a stub's"},
		{"nothing", 0x6f0, ""},
	} {
		for how, lookup := range map[string]func(uint64) (symbols.Symbol, error){"Lookup": table.Lookup, "Prompt": table.(symbols.Prompt).Prompt} {
			sym, err := lookup(c.rva)
			got := ""
			if err == nil {
				got = sym.Frames[0].Function
			} else if !errors.Is(err, symbols.ErrNotFound) {
				t.Errorf("%s: %v", c.what, err)
			}
			if got != c.want {
				t.Errorf("%s of %s: %q, want %q", how, c.what, got, c.want)
			}
		}
	}
	file.asked, file.slow = 0, true
	if prompt := table.(symbols.Prompt); !prompt.Slow() {
		t.Error("not slow, though the debug file is")
	} else if _, err := prompt.Prompt(stub + 4); err != nil || file.asked > 0 {
		t.Errorf("%v, %d slow look-ups of the debug file", err, file.asked)
	}
	if err := table.Close(); err != nil || !file.closed {
		t.Errorf("%v, closed %v", err, file.closed)
	}
}

// TestCompleteUnsized takes a symbol without a size only where it starts: how
// far it reaches is only known up to the next symbol, past others' code.
func TestCompleteUnsized(t *testing.T) {
	own := openTable(t, filepath.Join(dwarfData, "gcc5-stripped.so"))
	start := own.syms[0].addr
	for i := range own.syms {
		if own.syms[i].addr == start {
			own.syms[i].sized = false
		}
	}
	if !own.covers(start) || own.covers(start+1) {
		t.Errorf("covers its start: %v, the byte behind: %v", own.covers(start), own.covers(start+1))
	}
	if _, err := own.Lookup(start + 1); err != nil {
		t.Errorf("by itself: %v", err)
	}
}

// TestStubsOfMiniDebugInfo names the stubs of a stripped file as its full twin
// does.
func TestStubsOfMiniDebugInfo(t *testing.T) {
	for _, name := range []string{"gcc5", "clang5"} {
		mini, full := openTable(t, filepath.Join(dwarfData, name+"-mini.so")), openTable(t, filepath.Join(dwarfData, name+".so"))
		n := 0
		full.Procedures(func(rva uint64, function string) bool {
			want, _ := full.Lookup(rva)
			if want.Kind != symbols.PLT {
				return true
			}
			n++
			if got, err := mini.Lookup(rva + want.Size - 1); err != nil || got.Kind != symbols.PLT || got.Frames[0].Function != function {
				t.Errorf("%s %#x: %+v, %v, want %s", name, rva, got, err, function)
			}
			return true
		})
		if n < 5 {
			t.Errorf("%s: %d stubs", name, n)
		}
	}
}
