package pdb_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/pdb"
	"logparser/symbols/store"
	"logparser/symbols/symtest"
)

// names renders what a table calls its procedures, and the lines of their
// first bytes.
func names(t testing.TB, table symbols.Table) string {
	t.Helper()
	var b strings.Builder
	err := table.Procedures(func(rva uint64, name string) bool {
		s, err := table.Lookup(rva)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%x %s %v\n", rva, name, s.Frames)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestFindCabinet has a symbol store with a PDB that the cabinet maker of the
// system has compressed.
func TestFindCabinet(t *testing.T) {
	if _, err := exec.LookPath("gcab"); err != nil {
		t.Skip("no gcab")
	}
	plain, err := os.ReadFile(filepath.Join("testdata", "shapes-x86_64.pdb"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "shapes.pdb")
	if err := os.WriteFile(path, plain, 0o600); err != nil {
		t.Fatal(err)
	}
	finder := store.NewFinder([]symbols.Format{pdb.Format}, nil, "", false)
	alone, _, err := finder.FindFor(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Table.Close()
	id := alone.Table.Identity()

	key := filepath.Join(dir, "store", "shapes.pdb", fmt.Sprintf("%s%X", strings.ReplaceAll(strings.Trim(id.PDB.String(), "{}"), "-", ""), id.Age))
	if err := os.MkdirAll(key, 0o700); err != nil {
		t.Fatal(err)
	}
	packed := filepath.Join(key, "shapes.pd_")
	cmd := exec.Command("gcab", "-c", "-z", packed, "shapes.pdb")
	cmd.Dir = dir
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, b)
	}
	if info, err := os.Stat(packed); err != nil || info.Size() >= int64(len(plain)) {
		t.Fatalf("not compressed: %v, %v", info, err)
	}
	finder = store.NewFinder([]symbols.Format{pdb.Format}, []string{filepath.Join(dir, "store")}, "", false)
	b := finder.Find(context.Background(), &modules.Module{Path: `C:\app\shapes.exe`, Identity: id})
	if b.Status != symbols.Matched || b.File != packed || !strings.Contains(fmt.Sprint(b.Reason), "from a cabinet") {
		t.Fatalf("%s, %s: %s", b.Status, b.File, b.Reason)
	}
	defer b.Table.Close()
	if got, want := names(t, b.Table), names(t, alone.Table); got != want || want == "" {
		t.Errorf("other answers from a cabinet:\n%s\nwant\n%s", got, want)
	}
	// Cut, it gives no names and says why.
	whole, err := os.ReadFile(packed)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(packed, whole[:len(whole)-100], 0o600); err != nil {
		t.Fatal(err)
	}
	b = finder.Find(context.Background(), &modules.Module{Path: `C:\app\shapes.exe`, Identity: id})
	if b.Table != nil || len(b.Attempts) == 0 || !strings.Contains(fmt.Sprint(b.Attempts), "it is cut short") {
		t.Errorf("a cut cabinet: %s, %v", b.Status, b.Attempts)
	}
}

// TestSaid has files that are called PDBs and give no names: what they are is
// said among the attempts.
func TestSaid(t *testing.T) {
	plain, err := os.ReadFile(filepath.Join("testdata", "shapes-x86_64.pdb"))
	if err != nil {
		t.Fatal(err)
	}
	pad := strings.Repeat("\x00", 100)
	for _, c := range []struct{ name, content, want string }{
		{"portable", "BSJB\x01\x00\x01\x00" + pad, "portable PDB of .NET"},
		{"Visual C++ 6", "Microsoft C/C++ program database 2.00\r\n\x1aJG\x00\x00" + pad, "PDB 2.00 (JG)"},
		{"compressed", "Microsoft MSFZ Container\r\n\x1aALD\x00\x00" + pad, "MSFZ"},
		{"cut", string(plain[:len(plain)-4096]), fmt.Sprintf("need %d bytes, the file has %d", len(plain), len(plain)-4096)},
		{"text", "main 1000\n", "not a symbol file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "app.pdb"), []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			finder := store.NewFinder([]symbols.Format{pdb.Format}, []string{dir}, "", false)
			b := finder.Find(context.Background(), &modules.Module{Path: `C:\app\app.exe`})
			if b.Table != nil || !strings.Contains(fmt.Sprint(b.Attempts), c.want) {
				t.Errorf("%s, %v, want %q", b.Status, b.Attempts, c.want)
			}
		})
	}
}

// TestThunks looks every incremental thunk of a real file up: each has the
// name of the procedure that it jumps to, and says what it is.
func TestThunks(t *testing.T) {
	finder := store.NewFinder([]symbols.Format{pdb.Format}, nil, "", false)
	b, _, err := finder.FindFor(context.Background(), symtest.Path(t, "pdb", "registry.pdb"))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Table.Close()
	procedures := make(map[string]bool)
	var thunks []symbols.Symbol
	err = b.Table.Procedures(func(rva uint64, _ string) bool {
		s, err := b.Table.Lookup(rva)
		if err != nil {
			t.Fatalf("%#x: %v", rva, err)
		}
		if s.Kind == symbols.ILTThunk {
			thunks = append(thunks, s)
		} else {
			procedures[s.Outermost().Function] = true
			for _, a := range s.Aliases {
				procedures[a] = true
			}
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(thunks) != 2318 {
		t.Errorf("%d thunks, want 2318", len(thunks))
	}
	for _, s := range thunks {
		if f := s.Outermost(); !procedures[f.Function] || len(s.Frames) != 1 || s.Size != 5 {
			t.Errorf("%#x: %q leads to no procedure (%d bytes)", s.Start, f.Function, s.Size)
		}
	}
}
