package app

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"logparser/modules"
	"logparser/symbols"
)

// A foldedTable has aliases only after somebody has asked for them.
type foldedTable struct {
	file    *symbols.File
	aliases []string
}

func (t *foldedTable) Lookup(rva uint64) (symbols.Symbol, error) {
	return symbols.Symbol{Frames: []symbols.Frame{{Function: "shown"}}, Start: rva, Size: 1, Aliases: t.aliases, Kind: symbols.Procedure}, nil
}

func (t *foldedTable) Procedures(func(uint64, string) bool) error { return nil }
func (t *foldedTable) Identity() modules.Identity                 { return modules.Identity{} }
func (t *foldedTable) Describe() string                           { return "a large PDB" }
func (t *foldedTable) Close() error                               { return t.file.Close() }

func (t *foldedTable) ReadAliases() error {
	t.aliases = []string{"folded"}
	return nil
}

// TestAliasesWhenAsked opens a symbol file without reading all of it, which
// aliases may need, until they are asked for.
func TestAliasesWhenAsked(t *testing.T) {
	formats := symbolFormats
	defer func() { symbolFormats = formats }()
	symbolFormats = []symbols.Format{{
		Name:   "PDB",
		Detect: func([]byte) bool { return true },
		Open:   func(f *symbols.File) (symbols.Table, error) { return &foldedTable{file: f}, nil },
	}}
	path := filepath.Join(t.TempDir(), "large.pdb")
	if err := os.WriteFile(path, make([]byte, 64), 0o666); err != nil {
		t.Fatal(err)
	}
	img, err := OpenImage(context.Background(), path, Inputs{})
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	if sym, err := img.Lookup(1); err != nil || sym.Frames[0].Function != "shown" || len(sym.Aliases) > 0 {
		t.Errorf("the first name: %+v, %v", sym, err)
	}
	if err := img.ReadAliases(); err != nil {
		t.Fatal(err)
	}
	if sym, err := img.Lookup(1); err != nil || len(sym.Aliases) != 1 {
		t.Errorf("when asked: %+v, %v", sym, err)
	}
}
