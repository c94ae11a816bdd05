package symtab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"logparser/symbols"
)

// TestManySections names the functions of an object with more sections than
// symbols can number in 16 bits, each in its own section.
func TestManySections(t *testing.T) {
	as, err := exec.LookPath("as")
	if err != nil {
		t.Skip("no assembler here")
	}
	const functions = 66_000
	dir := t.TempDir()
	var source strings.Builder
	for i := range functions {
		fmt.Fprintf(&source, ".section .text.f%d,\"ax\"\n.type f%d,%%function\nf%d: .byte 0,0,0,0\n.size f%d,4\n", i, i, i, i)
	}
	path := filepath.Join(dir, "many.o")
	if err := os.WriteFile(filepath.Join(dir, "many.s"), []byte(source.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(as, filepath.Join(dir, "many.s"), "-o", path).CombinedOutput(); err != nil {
		t.Skipf("the assembler does not make ELF files with many sections: %v: %s", err, out)
	}
	table := openTable(t, path)
	if n := len(table.im.CodeSections()); n != functions {
		t.Fatalf("%d sections of code", n)
	}
	for i, s := range table.im.CodeSections() {
		name := "f" + strings.TrimPrefix(s.Name, ".text.f")
		sym, err := table.Lookup(s.Addr - table.im.Base + 3)
		if err != nil || sym.Frames[0].Function != name || sym.Size != 4 || sym.Kind != symbols.Symtab {
			t.Fatalf("section %d: %+v, %v, want %s", i, sym, err, name)
		}
	}
}
