package pdb

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"logparser/symbols"
)

var update = flag.Bool("update", false, "write the golden files anew")

// openBytes opens a PDB that lies in memory.
func openBytes(b []byte) (*Table, error) {
	return Open(&symbols.File{Path: "memory.pdb", ReaderAt: strings.NewReader(string(b)), Size: int64(len(b))})
}

// shapes returns the PDB made from testdata/shapes.cpp for an architecture.
func shapes(t testing.TB, arch string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "shapes-"+arch+".pdb"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// render writes what a table says of every byte of its code, a line where it
// changes.
func render(t testing.TB, table *Table) string {
	t.Helper()
	var starts []uint64
	if err := table.Procedures(func(rva uint64, _ string) bool {
		starts = append(starts, rva)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	var out strings.Builder
	for _, start := range starts {
		s, err := table.Lookup(start)
		if err != nil {
			t.Fatalf("%#x: %v", start, err)
		}
		o := s.Outermost()
		fmt.Fprintf(&out, "%x %x %s %s | %s", s.Start, s.Size, s.Kind, o.Function, o.Signature)
		for _, a := range s.Aliases {
			fmt.Fprintf(&out, " = %s", a)
		}
		out.WriteByte('\n')
		last := ""
		for rva := start; rva < start+max(s.Size, 1); rva++ {
			s, err := table.Lookup(rva)
			if err != nil {
				t.Fatalf("%#x: %v", rva, err)
			}
			var line strings.Builder
			for i, f := range s.Frames {
				if i > 0 {
					line.WriteString(" < ")
				}
				name := f.Signature
				if name == "" {
					name = f.Function
				}
				fmt.Fprintf(&line, "%s %s:%d", name, f.File[strings.LastIndexAny(f.File, `\/`)+1:], f.Line)
			}
			if line.String() != last {
				last = line.String()
				fmt.Fprintf(&out, "  %x %s\n", rva, last)
			}
		}
	}
	return out.String()
}

func TestShapes(t *testing.T) {
	for _, arch := range []string{"x86_64", "i686"} {
		t.Run(arch, func(t *testing.T) {
			table, err := openBytes(shapes(t, arch))
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("%s, %s\n%s", table.Describe(), table.Identity(), render(t, table))
			golden := filepath.Join("testdata", "shapes-"+arch+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("differs from %s (run with -update after looking):\n%s", golden, got)
			}
		})
	}
}
