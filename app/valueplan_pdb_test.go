package app

import (
	"os"
	"path/filepath"
	"testing"

	"logparser/calls/values"
	"logparser/symbols/pdb"
	"logparser/symbols/store"
	"logparser/symbols/types"
	typespdb "logparser/symbols/types/pdb"
)

// openPDB opens a PDB, or skips the test where it is absent.
func openPDB(t *testing.T, path string) *pdb.Table {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is absent", path)
	}
	f, err := store.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	table, err := pdb.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table
}

// TestPlacesOfMSVC holds the places of arguments by the calling convention against those that Microsoft's compiler has written into
// PDBs of optimized programs, where it says where arguments are at a function's first byte: never is one elsewhere.
func TestPlacesOfMSVC(t *testing.T) {
	registers := map[int]string{2: "rcx", 1: "rdx", 8: "r8", 9: "r9", 17: "xmm0", 18: "xmm1", 19: "xmm2", 20: "xmm3"}
	for _, test := range []struct {
		name             string
		functions, least int
	}{{"registry.pdb", 2500, 1000}, {"conpty.pdb", 1000, 400}, {"dump_syms_regtest64.pdb", 200, 100}} {
		t.Run(test.name, func(t *testing.T) {
			table := openPDB(t, filepath.Join("..", "..", "shared", "data", "pdb", test.name))
			list, err := typespdb.Functions(t.Context(), table, nil, func(string) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			told, agree, unnamed, altered := 0, 0, 0, 0
			for i := range list {
				f := &list[i]
				entries := make([]types.Entry, len(f.Parameters))
				for k := range f.Parameters {
					entries[k] = f.Parameters[k].Entry
					f.Parameters[k].Entry = types.Entry{}
					if f.Parameters[k].Name == "" {
						unnamed++
					}
				}
				if f.Altered {
					altered++
				}
				free := f.Free
				f.Free = false
				plan := values.NewMaker(values.Win64).Function(f, nil)
				for k := range plan.Enter {
					v := &plan.Enter[k]
					if entries[k].Kind != types.InRegister || v.Op.Kind == values.Unknown {
						continue
					}
					told++
					if v.Place == registers[entries[k].Number] {
						agree++
					} else if !free {
						t.Errorf("%s: %s is in %s, and was to be in %s", f.Name, v.Name, registers[entries[k].Number], v.Place)
					}
				}
			}
			t.Logf("%d functions, %d arguments whose place is told, %d as expected, %d without a name; of %d functions nothing is known", len(list), told, agree, unnamed, altered)
			if len(list) < test.functions || agree < test.least || altered*50 > len(list) {
				t.Errorf("%d functions and %d places are fewer than there are", len(list), agree)
			}
		})
	}
}
