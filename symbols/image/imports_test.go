package image

import (
	"debug/pe"
	"encoding/binary"
	"slices"
	"testing"
)

// TestImports holds the imports of PEs against another reader. What is said to be an imported address is one: until the
// image is loaded it says the same name. What the loader relocates leads into the image.
func TestImports(t *testing.T) {
	for _, path := range []string{
		"../../testdata/logtest/windows-x64-clangcl/logtest.exe",
		"../../testdata/logtest/windows-x64-clang/logtest_shapes.dll", "../../testdata/logtest/windows-x64-mingw/logtest.exe",
	} {
		t.Run(path, func(t *testing.T) {
			im := openPath(t, path)
			list, err := im.Imports()
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, i := range list {
				names = append(names, i.Name+":"+i.Library)
				b, err := im.ReadRVA(i.RVA, 8)
				if err != nil {
					t.Fatal(err)
				}
				if name := im.stringRVA(binary.LittleEndian.Uint64(b)+2, maxExportName); name != i.Name {
					t.Errorf("%s: at RVA %#x is %q", i.Name, i.RVA, name)
				}
			}
			f, err := pe.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			want, err := f.ImportedSymbols()
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(names, want) || len(names) == 0 {
				t.Errorf("imports %v\nwant %v", names, want)
			}
			relocations, err := im.BaseRelocations()
			if err != nil || len(relocations) == 0 {
				t.Errorf("%d relocations, %v", len(relocations), err)
			}
			for _, rva := range relocations {
				b, err := im.ReadRVA(uint64(rva), 8)
				if err != nil || binary.LittleEndian.Uint64(b)-im.Base >= im.Size {
					t.Fatalf("at RVA %#x is %x, %v", rva, b, err)
				}
			}
		})
	}
}
