package main

import (
	"debug/elf"
	"debug/pe"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const mapSource = `#include <stdio.h>
volatile int v;
int zero(int x) { return v = x; }
static int load(int x) { v += x; printf("%d\n", x); return x + 1; }
int first(int x) { v = x; return load(x) + 1; }
static int leaf(int x) { return x * v; }
int second(int x) { return leaf(x) + load(x); }
int main(void) { return first(1) + second(2) == 0; }
`

// TestMapsOfGlobals names addresses by maps of GNU's linker, which list global functions alone and no sizes: what other functions
// have is not theirs. Where nothing tells where functions end, names are marked.
func TestMapsOfGlobals(t *testing.T) {
	for _, test := range []struct {
		name    string
		command []string
		strip   string
		rules   bool
	}{
		{"MinGW", []string{"x86_64-w64-mingw32-gcc"}, "x86_64-w64-mingw32-strip", true},
		{"MinGW, 32 bits", []string{"i686-w64-mingw32-gcc"}, "i686-w64-mingw32-strip", true},
		{"ELF", []string{"gcc"}, "strip", true},
		{"ELF without rules", []string{"gcc", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"}, "strip", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "p.c"), []byte(mapSource), 0o666); err != nil {
				t.Fatal(err)
			}
			for _, command := range [][]string{
				append(test.command, "-O1", "-fno-inline", "-fno-ipa-icf", "-fno-toplevel-reorder", "p.c", "-o", "app.exe", "-Wl,-Map=app.map"),
				{"cp", "app.exe", "whole"}, {test.strip, "app.exe"},
			} {
				cmd := exec.Command(command[0], command[1:]...)
				cmd.Dir = dir
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Skipf("%v: %v\n%s", cmd, err, out)
				}
			}
			at := symbolRVAs(t, filepath.Join(dir, "whole"))
			program := filepath.Join(dir, "app.exe")
			check := func(by string, rules bool, args ...string) {
				t.Helper()
				for name, global := range map[string]bool{"first": true, "second": true, "main": true, "load": false, "leaf": false} {
					rva, ok := at[name]
					if !ok {
						t.Fatalf("the program has no %s", name)
					}
					for offset := range uint64(3) {
						code, out, errs := logparse(append([]string{"resolve", fmt.Sprintf("+%#x", rva+offset)}, args...)...)
						if code != exitOK {
							t.Fatal(errs)
						}
						out, _, _ = strings.Cut(out, "\n")
						switch named := strings.Contains(out, name); {
						case global && offset == 0 && (!named || strings.Contains(out, "[nearest]")),
							global && rules && !named, global && !rules && offset > 0 && !strings.Contains(out, "[nearest] "+name),
							!global && rules && !strings.HasSuffix(out, "??"), !global && !rules && !strings.Contains(out, "[nearest]"):
							t.Errorf("by %s: %s+%d: %s", by, name, offset, out)
						}
					}
				}
			}
			if !strings.HasPrefix(test.name, "ELF") { // whose exports have precedence, which are sure to belong to it
				check("the map beside it", test.rules, "--image", program)
			}
			check("the map alone", false, "--image", filepath.Join(dir, "app.map"))
			if code, _, errs := logparse("attach", program, filepath.Join(dir, "app.map")); code != exitOK {
				t.Fatal(errs)
			}
			if err := os.Remove(filepath.Join(dir, "app.map")); err != nil {
				t.Fatal(err)
			}
			check("what is attached", test.rules, "--image", program)
		})
	}
}

// symbolRVAs returns where the functions of a program begin, by names as C has them.
func symbolRVAs(t *testing.T, path string) map[string]uint64 {
	t.Helper()
	at := make(map[string]uint64)
	if f, err := elf.Open(path); err == nil {
		defer f.Close()
		list, _ := f.Symbols()
		for _, s := range list {
			at[s.Name] = s.Value
		}
		return at
	}
	f, err := pe.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, s := range f.Symbols {
		if s.SectionNumber == 1 {
			name := s.Name
			if f.Machine == pe.IMAGE_FILE_MACHINE_I386 {
				name = strings.TrimPrefix(name, "_")
			}
			at[name] = uint64(f.Sections[0].VirtualAddress + s.Value)
		}
	}
	return at
}
