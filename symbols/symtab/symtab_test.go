package symtab

import (
	"bytes"
	"debug/elf"
	"debug/pe"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"logparser/symbols"
	"logparser/symbols/demangle"
	"logparser/symbols/symtest"
)

// dwarfData is the folder of the files that package dwarf builds.
const dwarfData = "../dwarf/testdata"

func openTable(t testing.TB, path string) *Table {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	table, err := Open(&symbols.File{Path: path, ReaderAt: f, Size: info.Size(), Closer: f})
	if err != nil {
		f.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table.(*Table)
}

func openBytes(data []byte) (symbols.Table, error) {
	return Open(&symbols.File{Path: "input", ReaderAt: bytes.NewReader(data), Size: int64(len(data))})
}

// TestAgainstDebugELF holds every function symbol of ELF files against the
// standard library's reader.
func TestAgainstDebugELF(t *testing.T) {
	for _, name := range []string{"gcc5.so", "clang4.so", "gcc5.debug", "mips.so", "s390x.so", "armv7.so", "aarch64.so", "i386.so"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dwarfData, name)
			table := openTable(t, path)
			f, err := elf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			syms, err := f.Symbols()
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, s := range syms {
				if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Section == elf.SHN_UNDEF {
					continue
				}
				n++
				rva := s.Value - table.im.Base
				if f.Machine == elf.EM_ARM {
					rva &^= 1
				}
				for _, at := range []uint64{rva, rva + s.Size - 1} {
					got, err := table.Lookup(at)
					if err != nil || got.Start != rva || got.Size != s.Size || got.Kind != symbols.Symtab {
						t.Errorf("%#x: %+v, %v, want %s at %#x, %d bytes", at, got, err, s.Name, rva, s.Size)
					} else if short := demangle.Short(s.Name); got.Frames[0].Function != short && !contains(got.Aliases, short) {
						t.Errorf("%#x: %s, aliases %v, want %s", at, got.Frames[0].Function, got.Aliases, short)
					}
				}
				if !contains(table.LinkNames(rva), s.Name) {
					t.Errorf("%#x: names %v, want %s among them", rva, table.LinkNames(rva), s.Name)
				}
			}
			if n < 10 {
				t.Errorf("only %d functions", n)
			}
		})
	}
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

// TestAgainstDebugPE holds every function of COFF symbol tables against the
// standard library's reader.
func TestAgainstDebugPE(t *testing.T) {
	paths := []string{filepath.Join(dwarfData, "x86_64.dll"), filepath.Join(dwarfData, "i686.dll")}
	// MinGW's own libraries are big, and have names of hundreds of bytes.
	more, _ := filepath.Glob("/usr/lib/gcc/*-w64-mingw32/*-win32/libstdc++-6.dll")
	for _, path := range append(paths, more...) {
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(path)))+"/"+filepath.Base(path), func(t *testing.T) {
			table := openTable(t, path)
			f, err := pe.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			n, longest, bad := 0, 0, 0
			for _, s := range f.Symbols {
				if s.Type != coffFunction || s.SectionNumber <= 0 || s.StorageClass != coffExternal && s.StorageClass != coffStatic {
					continue
				}
				n++
				longest = max(longest, len(s.Name))
				rva := uint64(f.Sections[s.SectionNumber-1].VirtualAddress + s.Value)
				if !contains(table.LinkNames(rva), s.Name) && len(table.LinkNames(rva)) < maxAliases {
					if bad++; bad < 5 {
						t.Errorf("%#x: %v, want %s", rva, table.LinkNames(rva), s.Name)
					}
				}
			}
			t.Logf("%d functions, the longest name has %d bytes", n, longest)
			if n < 5 {
				t.Errorf("only %d functions", n)
			}
		})
	}
}

// TestManagedImage gives an image the header of managed code. What lies in one
// that has no native code is never run where it lies, so nothing is named.
func TestManagedImage(t *testing.T) {
	const ilOnly, il32, mixed = 1, 2, 0
	for _, arch := range []string{"i686.dll", "x86_64.dll"} {
		path := filepath.Join(dwarfData, arch)
		f, err := pe.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		dirs := 96
		if f.FileHeader.Machine == pe.IMAGE_FILE_MACHINE_AMD64 {
			dirs = 112
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		le := binary.LittleEndian
		directory := int(le.Uint32(data[0x3C:])) + 24 + dirs + 14*8
		text := f.Sections[0]
		for _, c := range []struct {
			name               string
			rva, flags, native uint32
			managed            bool
		}{
			{"none", 0, ilOnly, 0, false},
			{"managed", text.VirtualAddress, ilOnly, 0, true},
			{"managed, 32 bits", text.VirtualAddress, ilOnly | il32, 0, true},
			{"with native code", text.VirtualAddress, mixed, 0, false},
			{"compiled ahead of time", text.VirtualAddress, ilOnly, text.VirtualAddress, false},
			{"out of the image", 0xFFFFFF00, ilOnly, 0, false},
		} {
			changed := bytes.Clone(data)
			le.PutUint32(changed[directory:], c.rva)
			le.PutUint32(changed[directory+4:], 72)
			header := changed[text.Offset:]
			le.PutUint32(header[16:], c.flags)
			le.PutUint32(header[64:], c.native)
			table, err := openBytes(changed)
			switch {
			case c.managed && !(errors.Is(err, symbols.ErrNoSymbols) && strings.Contains(err.Error(), ".NET")):
				t.Errorf("%s, %s: %v", arch, c.name, err)
			case !c.managed && err != nil:
				t.Errorf("%s, %s: %v", arch, c.name, err)
			}
			if err == nil {
				table.Close()
			}
		}
	}
}

// TestRanks chooses among the names of one address.
func TestRanks(t *testing.T) {
	table := &Table{texts: []string{"local", "weak", "global", "label", "global2"}}
	for i, rank := range []uint8{rankLocal, rankWeak, rankGlobal, rankLabel, rankGlobal} {
		table.syms = append(table.syms, sym{addr: 0x10, end: 0x20, sized: true, rank: rank, src: inText, name: uint32(i)})
	}
	// A label inside a function is none.
	table.syms = append(table.syms, sym{addr: 0x18, rank: rankLabel, src: inText, name: 3})
	data, err := os.ReadFile(filepath.Join(dwarfData, "gcc5.so"))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := openBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	table.im = opened.(*Table).im
	table.arrange()
	got, err := table.Lookup(0x1c)
	want := "{[{global   0}] 16 16 [global2 weak local] symbol false} <nil>"
	if s := fmt.Sprint(got, err); s != want {
		t.Errorf("got %s, want %s", s, want)
	}
}

// TestPLT names the stubs of procedure linkage tables.
func TestPLT(t *testing.T) {
	for _, c := range []struct {
		file string
		want []string
	}{
		{"gcc5.so", []string{"report@plt"}},
		{"clang5.so", []string{"report@plt"}},
		{"aarch64.so", []string{"report@plt", "fail@plt"}},
		{"armv7.so", []string{"report@plt", "fail@plt"}},
	} {
		table := openTable(t, filepath.Join(dwarfData, c.file))
		found := map[string]uint64{}
		table.Procedures(func(rva uint64, name string) bool {
			found[name] = rva
			return true
		})
		for _, name := range c.want {
			rva, ok := found[name]
			sym, err := table.Lookup(rva)
			if !ok || err != nil || sym.Kind != symbols.PLT || sym.Size == 0 || sym.Frames[0].Function != name {
				t.Errorf("%s: %s: %+v, %v", c.file, name, sym, err)
			}
		}
	}
}

// TestStubsOfData names stubs as GNU objdump does.
func TestStubsOfData(t *testing.T) {
	table := openTable(t, symtest.Path(t, "elf", "debuglink", "main"))
	want := map[uint64]string{0x820: "__cxa_finalize@plt", 0x830: "__libc_start_main@plt"}
	for rva, name := range want {
		sym, err := table.Lookup(rva + 4)
		if err != nil || sym.Frames[0].Function != name || sym.Start != rva || sym.Size != 16 {
			t.Errorf("%#x: %+v, %v, want %s", rva, sym, err, name)
		}
	}
}

// TestExports names a PE by its exports alone, and never beyond the function
// that is exported.
func TestExports(t *testing.T) {
	table := openTable(t, symtest.Path(t, "pdb", "conpty.node"))
	if !table.ExportsOnly() || table.Describe() != "PE exports" {
		t.Errorf("%s, exports only: %v", table.Describe(), table.ExportsOnly())
	}
	n := 0
	table.Procedures(func(rva uint64, name string) bool {
		n++
		sym, err := table.Lookup(rva)
		if err != nil || sym.Kind != symbols.Export || sym.Size != 0 || sym.Frames[0].Function != name {
			t.Errorf("%#x: %+v, %v, want %s", rva, sym, err, name)
		}
		// The exception directory knows where the function ends.
		i := sort.Search(len(table.parts), func(i int) bool { return uint64(table.parts[i].lo) > rva }) - 1
		if p := table.parts[i]; uint64(p.lo) == rva {
			if sym, err := table.Lookup(uint64(p.hi) - 1); err != nil || sym.Start != rva {
				t.Errorf("%#x: %+v, %v, want %s", p.hi-1, sym, err, name)
			}
			if sym, err := table.Lookup(uint64(p.hi) + 64); err == nil && sym.Start == rva {
				t.Errorf("%#x behind the end at %#x: %s", p.hi+64, p.hi, name)
			}
		}
		return true
	})
	if n == 0 {
		t.Error("no exports")
	}
	if _, err := table.Lookup(uint64(table.im.Size) - 1); !errors.Is(err, symbols.ErrNotFound) {
		t.Errorf("last byte of the image: %v", err)
	}
}

// TestDynamic names a stripped ELF by its dynamic symbols.
func TestDynamic(t *testing.T) {
	table := openTable(t, filepath.Join(dwarfData, "gcc5-stripped.so"))
	if !table.ExportsOnly() {
		t.Error("not exports only")
	}
	full := openTable(t, filepath.Join(dwarfData, "gcc5.so"))
	if full.ExportsOnly() {
		t.Error("full: exports only")
	}
	n := 0
	table.Procedures(func(rva uint64, name string) bool {
		got, err := table.Lookup(rva)
		want, err2 := full.Lookup(rva)
		if err != nil || err2 != nil || got.Frames[0].Function != want.Frames[0].Function || got.Size != want.Size {
			t.Errorf("%#x: %+v, %v, want %+v, %v", rva, got, err, want, err2)
		}
		if got.Kind == symbols.Export {
			n++
		}
		return true
	})
	if n == 0 {
		t.Error("no exports")
	}
	// Between exported functions lie others, which must not get their names.
	full.Procedures(func(rva uint64, name string) bool {
		if sym, err := table.Lookup(rva); err == nil && sym.Start != rva {
			t.Errorf("%#x: %s, want %s or none", rva, sym.Frames[0].Function, name)
		}
		return true
	})
}

func TestNoSymbols(t *testing.T) {
	f, err := os.ReadFile(filepath.Join(dwarfData, "gcc5-split-main.dwo"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openBytes(f); !errors.Is(err, symbols.ErrNoSymbols) {
		t.Errorf("a .dwo file: %v", err)
	}
}

// exercise looks names up in a table made of data.
func exercise(data []byte) {
	table, err := openBytes(data)
	if err != nil {
		return
	}
	defer table.Close()
	for rva := uint64(0); rva < 0x4000; rva += 97 {
		table.Lookup(rva)
	}
	n := 0
	table.Procedures(func(rva uint64, name string) bool {
		table.Lookup(rva)
		n++
		return n < 100
	})
}

func samples(t testing.TB) [][]byte {
	var out [][]byte
	own, err := filepath.Glob("testdata/*.*o")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gcc5-stripped.so", "aarch64.so", "mips.so", "armv7.so", "i686.dll", "x86_64.dll"} {
		own = append(own, filepath.Join(dwarfData, name))
	}
	for _, path := range own {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, data)
	}
	return out
}

func TestDamage(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	rng := rand.New(rand.NewSource(1))
	for _, data := range samples(t) {
		for range rounds {
			changed := bytes.Clone(data)
			for range 16 {
				changed[rng.Intn(len(changed))] = byte(rng.Intn(256))
			}
			exercise(changed)
			exercise(data[:rng.Intn(len(data))])
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, data := range samples(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { exercise(data) })
}
