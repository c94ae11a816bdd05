package breakpad

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logparser/symbols"
	"logparser/symbols/demangle"
	"logparser/symbols/symtest"
)

// The causes of the differences. The tables are compared with themselves: the
// reader has to choose where they overlap.
const (
	causeCovered = "a function of the table covers the public"
	// dump_syms writes the rows of a function that OMAP has cut into pieces
	// under the last of its FUNC records. A row counts where the record above
	// it holds the address, for Breakpad's own tools as well.
	causePiece = "row outside of the FUNC record that it stands under"
	// Public symbols that dump_syms could not undecorate.
	causeDecorated = "left decorated by the table, undecorated here"
)

func explain(table *symtest.Table, d *symtest.Difference) string {
	switch d.Subject {
	case symtest.LineRow:
		if f := d.Func; d.Address < f.Address || d.Address-f.Address >= f.Size {
			return causePiece
		}
	case symtest.PublicName:
		if d.Err != nil {
			return ""
		}
		if short := demangle.Short(d.Want); short != d.Want && short == d.Symbol.Outermost().Function {
			return causeDecorated
		}
		for i := range table.Funcs {
			f := &table.Funcs[i]
			if f.Address <= d.Address && d.Address-f.Address < f.Size && d.Symbol.Start == f.Address {
				return causeCovered
			}
		}
	}
	return ""
}

// TestConformance holds the reader on every table of the conformance data
// against the test-only reader of the same tables.
func TestConformance(t *testing.T) {
	dir := symtest.Path(t, "README.md")
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "*", "*.sym"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no tables: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want, err := symtest.Parse(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			table := openText(t, string(data))
			id := table.Identity()
			if strings.EqualFold(want.OS, "windows") && !id.PDB.IsZero() {
				if key := fmt.Sprintf("%s%X", id.PDB.Key(), id.Age); !strings.EqualFold(key, want.ID) {
					t.Errorf("identity %s, want %s", key, want.ID)
				}
			}
			symtest.Compare(want, table.Lookup, symtest.Rules{Explain: explain}).
				Report(t, "Breakpad "+strings.TrimSuffix(filepath.Base(path), ".sym"), symtest.DefaultBars)
			for _, f := range want.Funcs {
				if s, err := table.Lookup(f.Address); err == nil && s.Kind != symbols.Procedure {
					t.Errorf("%#x %s: kind %s", f.Address, f.Name, s.Kind)
				}
			}
		})
	}
}
