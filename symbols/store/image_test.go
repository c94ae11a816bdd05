package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/dwarf"
)

// gcc5ID is the build-id of gcc5.so and of what was made of it.
const gcc5ID = "afeda5eaf1ad95a24b1d1139d14a564ed7eeaaea"

// breakpadOf returns Breakpad's symbols of an ELF build, with one function.
func breakpadOf(t testing.TB, buildID, name string) string {
	t.Helper()
	raw, err := hex.DecodeString(buildID)
	if err != nil {
		t.Fatal(err)
	}
	var guid modules.GUID
	copy(guid[:], raw)
	return "MODULE Linux x86_64 " + guid.Key() + "0 " + name + "\nFUNC 7e0 10 0 f\n"
}

// TestDebugInfoOfImage holds that an image with its own debug information is
// better than files beside it, and one without is not.
func TestDebugInfoOfImage(t *testing.T) {
	sym := "app.so.sym:" + breakpadOf(t, gcc5ID, "app.so")
	const gnuMap = "app.so.map:Memory Configuration\n\nLinker script and memory map\n\n.text           0x00000000000007e0      0x100\n" +
		" .text          0x00000000000007e0      0x100 main.o\n                0x00000000000007e0                f\n"
	pdbSym := "MODULE windows x86_64 %s logtest.pdb\nFUNC 1000 10 0 f\n"
	linux := &modules.Module{Path: "/bin/app.so", Identity: modules.Identity{BuildID: rawID(t, gcc5ID)}}
	nothing := &modules.Module{Path: "/bin/app.so"}
	mingwExe := recorded(t, mingw, "logtest.exe")
	clangExe := recorded(t, clang, "logtest.exe")
	tests := []struct {
		name  string
		mod   *modules.Module
		files []string
		want  symbols.Status
		file  string
		// form begins the table's description.
		form string
	}{
		{"Breakpad", linux, []string{"app.so=" + dwarfData + "gcc5.so", sym}, symbols.Embedded, "app.so", "DWARF 5"},
		{"a map", linux, []string{"app.so=" + dwarfData + "gcc5.so", gnuMap}, symbols.Embedded, "app.so", "DWARF 5"},
		{"a debug file", linux, []string{"app.so=" + dwarfData + "gcc5.so", "app.so.debug=" + dwarfData + "gcc5.debug"},
			symbols.Embedded, "app.so", "DWARF 5"},
		{"compressed", linux, []string{"app.so=" + dwarfData + "gcc5-zlib-gnu.so", sym}, symbols.Embedded, "app.so", "DWARF 5"},
		{"PE", mingwExe, []string{"logtest.exe=" + mingw + "logtest.exe",
			"logtest.sym:" + fmt.Sprintf(pdbSym, fmt.Sprintf("%s%X", mingwExe.Identity.PDB.Key(), mingwExe.Identity.Age))},
			symbols.Embedded, "logtest.exe", "DWARF"},
		{"PE that names a PDB", clangExe, []string{"logtest.exe=" + clang + "logtest.exe", "logtest.pdb=" + clang + "logtest.pdb"},
			symbols.Matched, "logtest.pdb", "PDB"},
		{"stripped, a debug file", linux, []string{"app.so=" + dwarfData + "gcc5-stripped.so", "app.so.debug=" + dwarfData + "gcc5.debug"},
			symbols.Matched, "app.so.debug", "DWARF 5"},
		{"stripped, Breakpad", linux, []string{"app.so=" + dwarfData + "gcc5-stripped.so", sym}, symbols.Matched, "app.so.sym", "Breakpad"},
		{"MiniDebugInfo, Breakpad", linux, []string{"app.so=" + dwarfData + "gcc5-mini.so", sym}, symbols.Matched, "app.so.sym", "Breakpad"},
		{"nothing recorded, Breakpad", nothing, []string{"app.so=" + dwarfData + "gcc5.so", sym}, symbols.Unverified, "app.so", "DWARF 5"},
		{"nothing recorded, a debug file", nothing, []string{"app.so=" + dwarfData + "gcc5.so", "app.so.debug=" + dwarfData + "gcc5.debug"},
			symbols.Unverified, "app.so", "DWARF 5"},
		{"nothing recorded, stripped", nothing, []string{"app.so=" + dwarfData + "gcc5-stripped.so", sym}, symbols.Unverified, "app.so.sym", "Breakpad"},
		{"nothing recorded, PDB", &modules.Module{Path: `C:\logtest.exe`},
			[]string{"logtest.exe=" + clang + "logtest.exe", "logtest.pdb=" + clang + "logtest.pdb"}, symbols.Unverified, "logtest.pdb", "PDB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			plant(t, dir, tt.files...)
			b, file, attempts := find(t, dir, tt.mod, "$")
			if b.Status != tt.want || file != "$/"+tt.file || b.Table == nil || !strings.HasPrefix(b.Table.Describe(), tt.form) {
				t.Errorf("%s, %q (%s), want %s, %q, %s\n%s", b.Status, file, b.Reason, tt.want, tt.file, tt.form, strings.Join(attempts, "\n"))
			}
			if tt.want == symbols.Unverified {
				return
			}
			// By hand the image stands for what was recorded.
			by, _, err := NewFinder(formats, nil, "", false).FindFor(context.Background(), filepath.Join(dir, tt.mod.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if by.Table != nil {
				defer by.Table.Close()
			}
			if tt.want == symbols.Embedded && (by.Status != tt.want || filepath.Base(by.File) != tt.file) {
				t.Errorf("by hand: %s, %s", by.Status, by.File)
			}
		})
	}
}

func rawID(t testing.TB, id string) string {
	t.Helper()
	raw, err := hex.DecodeString(id)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestServersNotNeeded asks no server for the debug file of an image that has
// its own debug information.
func TestServersNotNeeded(t *testing.T) {
	server := serve(t, http.NotFound)
	dir := t.TempDir()
	plant(t, dir, "full/gcc5.so="+dwarfData+"gcc5.so", "stripped/gcc5-stripped.so="+dwarfData+"gcc5-stripped.so")
	for _, name := range []string{"gcc5.so", "gcc5-stripped.so"} {
		folder := "full"
		if name != "gcc5.so" {
			folder = "stripped"
		}
		f := NewFinder(formats, []string{filepath.Join(dir, folder), "debuginfod:" + server.URL}, "", false)
		f.Network, f.Cache = true, t.TempDir()
		run(t, dir, f, &modules.Module{Path: "/bin/" + name, Identity: modules.Identity{BuildID: rawID(t, gcc5ID)}})
		if asked := server.requests(); (len(asked) > 0) != (name == "gcc5-stripped.so") {
			t.Errorf("%s: asked %q", name, asked)
		}
	}
}

// TestTwinOfDebugFile looks every byte of an image up whose debug information
// lies in a separate file: the answers are those of the image with everything
// in it, stubs of the linkage table too.
func TestTwinOfDebugFile(t *testing.T) {
	for _, name := range []string{"gcc5", "clang5"} {
		dir := t.TempDir()
		plant(t, dir, "stripped.so="+dwarfData+name+"-stripped.so", name+".debug="+dwarfData+name+".debug")
		b, img, err := NewFinder(formats, nil, "", false).FindFor(context.Background(), filepath.Join(dir, "stripped.so"))
		if err != nil || b.Status != symbols.Matched {
			t.Fatalf("%s: %s, %v", name, b.Status, err)
		}
		defer b.Table.Close()
		file, err := openFile(dwarfData + name + ".so")
		if err != nil {
			t.Fatal(err)
		}
		full, err := dwarf.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer full.Close()
		rvas := make([]uint64, img.Size)
		for i := range rvas {
			rvas[i] = uint64(i)
		}
		answers := make([]string, len(rvas))
		err = symbols.LookupAll(context.Background(), b.Table, rvas, func(i int, sym symbols.Symbol, err error) {
			answers[i] = fmt.Sprint(sym, err)
		})
		if err != nil {
			t.Fatal(err)
		}
		stubs := 0
		for i, rva := range rvas {
			want, err := full.Lookup(rva)
			if want.Kind == symbols.PLT {
				stubs++
			}
			if w := fmt.Sprint(want, err); answers[i] != w {
				t.Errorf("%s %#x, among others: %s, want %s", name, rva, answers[i], w)
			}
			if sym, err := b.Table.Lookup(rva); fmt.Sprint(sym, err) != answers[i] {
				t.Errorf("%s %#x by itself: %v, %v, want %s", name, rva, sym, err, answers[i])
			}
		}
		if stubs < 100 {
			t.Errorf("%s: %d bytes of stubs", name, stubs)
		}
		names := func(table symbols.Table) map[string]uint64 {
			m := make(map[string]uint64)
			table.Procedures(func(rva uint64, name string) bool {
				m[name] = rva
				return true
			})
			return m
		}
		if got, want := names(b.Table), names(full); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: procedures %v, want %v", name, got, want)
		}
	}
}

// TestStubsBesideBreakpad names stubs where the functions come from Breakpad's
// symbols, which have none.
func TestStubsBesideBreakpad(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, "app.so="+dwarfData+"gcc5-stripped.so", "app.so.sym:"+breakpadOf(t, gcc5ID, "app.so"))
	b, _, _ := find(t, dir, &modules.Module{Path: "/bin/app.so", Identity: modules.Identity{BuildID: rawID(t, gcc5ID)}}, "$")
	for rva, want := range map[uint64]string{0x7b4: "report@plt", 0x7e4: "f"} {
		if sym, err := b.Table.Lookup(rva); err != nil || sym.Frames[0].Function != want {
			t.Errorf("%#x: %+v, %v, want %s", rva, sym, err, want)
		}
	}
}

// TestForeignDebugInfo gives an image with DWARF a PDB's name: then the DWARF
// is that of libraries, and a file of the PDB's identity is better.
func TestForeignDebugInfo(t *testing.T) {
	data := read(t, mingw+"logtest.exe")
	at := bytes.LastIndex(data, []byte("RSDS")) // the first is the word in the program's code
	const entry, size, path = 28, 16, 24        // a debug directory's entry, the record's size in it, the name in the record
	if at < entry || binary.LittleEndian.Uint32(data[at-entry+size:]) != path+1 {
		t.Fatal("the image's debug directory is not as lld writes it")
	}
	binary.LittleEndian.PutUint32(data[at-entry+size:], path+uint32(copy(data[at+path:], "logtest.pdb\x00")))
	dir := t.TempDir()
	write(t, dir, "logtest.exe", data)
	mod := recorded(t, mingw, "logtest.exe")
	if b, file, attempts := find(t, dir, mod, "$"); b.Status != symbols.Embedded || file != "$/logtest.exe" {
		t.Errorf("by itself: %s, %s\n%s", b.Status, file, strings.Join(attempts, "\n"))
	}
	plant(t, dir, fmt.Sprintf("logtest.sym:MODULE windows x86_64 %s%X logtest.pdb\nFUNC 1000 10 0 f\n", mod.Identity.PDB.Key(), mod.Identity.Age))
	if b, file, attempts := find(t, dir, mod, "$"); b.Status != symbols.Matched || file != "$/logtest.sym" {
		t.Errorf("beside Breakpad's symbols: %s, %s\n%s", b.Status, file, strings.Join(attempts, "\n"))
	}
}
