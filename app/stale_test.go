package app

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"logparser/modules"
	"logparser/rows"
	"logparser/symbols"
	"logparser/symbols/store"
)

const (
	clangFolder = "../testdata/logtest/windows-x64-clang"
	mingwFolder = "../testdata/logtest/windows-x64-mingw"
	linuxFolder = "../testdata/logtest/linux-gcc-O2"
)

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// replaced returns data with one text, which must be there, in the place of
// another of the same length wherever that is.
func replaced(t *testing.T, data, old, fresh []byte) []byte {
	t.Helper()
	if !bytes.Contains(data, old) || len(old) != len(fresh) {
		t.Fatalf("nothing to replace %x by %x", old, fresh)
	}
	return bytes.ReplaceAll(data, old, fresh)
}

// identityOf returns what a log recorded of a module.
func identityOf(t *testing.T, folder, name string) modules.Identity {
	t.Helper()
	f, err := modules.ReadFile(filepath.Join(folder, "LogDetails.bin"), modules.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range f.Modules {
		if m.Name() == name {
			return m.Identity
		}
	}
	t.Fatalf("no module %s", name)
	return modules.Identity{}
}

// rebuilt returns an image or PDB as another build of the same sources would
// be: all is the same but its identity.
func rebuilt(t *testing.T, data []byte, id modules.Identity) []byte {
	t.Helper()
	switch {
	case id.BuildID != "":
		return replaced(t, data, []byte(id.BuildID), bytes.Repeat([]byte{0xAB}, len(id.BuildID)))
	case !id.PDB.IsZero():
		other := id.PDB
		other[7] ^= 0xFF
		data = replaced(t, data, id.PDB[:], other[:])
	}
	if bytes.HasPrefix(data, []byte("MZ")) {
		data = bytes.Clone(data)
		at := binary.LittleEndian.Uint32(data[0x3C:]) + 8
		stamp := binary.LittleEndian.Uint32(data[at:])
		binary.LittleEndian.PutUint32(data[at:], stamp^0x55)
	}
	return data
}

// withoutIdentities returns a modules file with bases, sizes and paths only,
// or with the columns that keep names.
func withoutIdentities(t *testing.T, data []byte, keepStamp bool) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, line := range strings.SplitAfter(string(data), "\n") {
		cells := strings.SplitN(line, " ", 6)
		if len(cells) == 6 && !strings.HasPrefix(line, "#") {
			cells[3] = "-"
			if !keepStamp {
				cells[4] = "-"
			}
			line = strings.Join(cells, " ")
		}
		out.WriteString(line)
	}
	return out.Bytes()
}

// rowsOf returns all rows of a module.
func rowsOf(t *testing.T, s *Session, module string) []rows.Row {
	t.Helper()
	all := make([]rows.Row, s.Rows().Len())
	if n, err := s.Rows().Read(all, 0); err != nil || n != len(all) {
		t.Fatalf("read %d rows of %d: %v", n, len(all), err)
	}
	var list []rows.Row
	for _, r := range all {
		if r.Module == module {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		t.Fatalf("no row lies in %s", module)
	}
	return list
}

// A staleCase is a log whose module has, among the files that are found, some
// of another build.
type staleCase struct {
	name   string
	folder string
	module string
	// files are beside the log, or below it where stores are.
	files func(t *testing.T) map[string][]byte
	// modules changes the modules file.
	modules func(t *testing.T, data []byte) []byte
	path    []string // below the log's folder
	want    symbols.Status
	// reason is part of why.
	reason string
	// forced says that there is a file that [Inputs].LoadMismatched takes.
	forced bool
}

func staleCases(t *testing.T) []staleCase {
	clang := identityOf(t, clangFolder, "logtest.exe")
	mingw := identityOf(t, mingwFolder, "logtest.exe")
	linux := identityOf(t, linuxFolder, "logtest")
	exe := func(t *testing.T) []byte { return readFile(t, clangFolder+"/logtest.exe") }
	pdb := func(t *testing.T) []byte { return readFile(t, clangFolder+"/logtest.pdb") }
	elf := func(t *testing.T) []byte { return readFile(t, linuxFolder+"/logtest") }
	stalePDB := func(t *testing.T) []byte { return rebuilt(t, pdb(t), clang) }
	staleKey := func() string {
		other := clang.PDB
		other[7] ^= 0xFF // as rebuilt changes it
		return fmt.Sprintf("%s%X", other.Key(), clang.Age)
	}()
	key := fmt.Sprintf("%s%X", clang.PDB.Key(), clang.Age)
	stamped := func(t *testing.T, data []byte) []byte { return withoutIdentities(t, data, true) }
	bare := func(t *testing.T, data []byte) []byte { return withoutIdentities(t, data, false) }

	return []staleCase{
		{name: "stale PDB beside the image", folder: clangFolder, module: "logtest.exe",
			files: func(t *testing.T) map[string][]byte {
				return map[string][]byte{"logtest.exe": exe(t), "logtest.pdb": stalePDB(t)}
			}, want: symbols.Mismatched, reason: "recorded is " + clang.PDB.String() + " age 1", forced: true},
		{name: "stale PDB alone", folder: clangFolder, module: "logtest.exe",
			files: func(t *testing.T) map[string][]byte { return map[string][]byte{"logtest.pdb": stalePDB(t)} },
			want:  symbols.Mismatched, reason: "recorded is " + clang.PDB.String() + " age 1", forced: true},
		{name: "PDB of another age", folder: clangFolder, module: "logtest.exe",
			files: func(t *testing.T) map[string][]byte { return map[string][]byte{"logtest.pdb": pdb(t)} },
			modules: func(t *testing.T, data []byte) []byte {
				return bytes.ReplaceAll(data, []byte(clang.PDB.String()+":1"), []byte(clang.PDB.String()+":2"))
			}, want: symbols.Mismatched, reason: "age 1, recorded is " + clang.PDB.String() + " age 2", forced: true},
		{name: "stale PDB first, the right one in a store after it", folder: clangFolder, module: "logtest.exe",
			files: func(t *testing.T) map[string][]byte {
				return map[string][]byte{"logtest.exe": exe(t), "logtest.pdb": stalePDB(t), "store/logtest.pdb/" + key + "/logtest.pdb": pdb(t)}
			}, path: []string{"", "store"}, want: symbols.Matched},
		{name: "two PDBs of one name in one store", folder: clangFolder, module: "logtest.exe",
			files: func(t *testing.T) map[string][]byte {
				return map[string][]byte{"store/logtest.pdb/" + staleKey + "/logtest.pdb": stalePDB(t), "store/logtest.pdb/" + key + "/logtest.pdb": pdb(t)}
			}, path: []string{"store"}, want: symbols.Matched},
		{name: "only the other PDB in the store", folder: clangFolder, module: "logtest.exe",
			files: func(t *testing.T) map[string][]byte {
				return map[string][]byte{"store/logtest.pdb/" + staleKey + "/logtest.pdb": stalePDB(t)}
			}, path: []string{"store"}, want: symbols.NotFound},
		{name: "stale PDB under the right key", folder: clangFolder, module: "logtest.exe",
			files: func(t *testing.T) map[string][]byte {
				return map[string][]byte{"store/logtest.pdb/" + key + "/logtest.pdb": stalePDB(t)}
			}, path: []string{"store"}, want: symbols.Mismatched, reason: "recorded is", forced: true},
		{name: "rebuilt image and PDB, only the timestamp recorded", folder: clangFolder, module: "logtest.exe",
			files: func(t *testing.T) map[string][]byte {
				return map[string][]byte{"logtest.exe": rebuilt(t, exe(t), clang), "logtest.pdb": stalePDB(t)}
			}, modules: func(t *testing.T, data []byte) []byte {
				// The program was built without /Brepro.
				return withStamp(stamped(t, data), "logtest.exe", binary.LittleEndian.Uint32(exe(t)[binary.LittleEndian.Uint32(exe(t)[0x3C:])+8:]))
			}, want: symbols.Mismatched, reason: "it belongs to the image", forced: true},
		{name: "rebuilt PE with DWARF", folder: mingwFolder, module: "logtest.exe",
			files: func(t *testing.T) map[string][]byte {
				return map[string][]byte{"logtest.exe": rebuilt(t, readFile(t, mingwFolder+"/logtest.exe"), mingw)}
			}, want: symbols.Mismatched, reason: "of another build", forced: true},
		{name: "rebuilt PE with its exports only", folder: clangFolder, module: "logtest_shapes.dll",
			files: func(t *testing.T) map[string][]byte {
				return map[string][]byte{"logtest_shapes.dll": rebuilt(t, readFile(t, clangFolder+"/logtest_shapes.dll"), identityOf(t, clangFolder, "logtest_shapes.dll"))}
			}, want: symbols.Mismatched, reason: "of another build", forced: true},
		{name: "rebuilt ELF", folder: linuxFolder, module: "logtest",
			files: func(t *testing.T) map[string][]byte {
				return map[string][]byte{"logtest": rebuilt(t, elf(t), linux)}
			}, want: symbols.Mismatched, reason: "it is build-id abababab", forced: true},
		{name: "rebuilt shared object with its exports only", folder: linuxFolder, module: "liblogtest_shapes.so",
			files: func(t *testing.T) map[string][]byte {
				so := rebuilt(t, readFile(t, linuxFolder+"/liblogtest_shapes.so"), identityOf(t, linuxFolder, "liblogtest_shapes.so"))
				return map[string][]byte{"liblogtest_shapes.so": strip(t, so)}
			}, want: symbols.Mismatched, reason: "it is build-id abababab", forced: true},
		{name: "stale debug file of another build-id", folder: linuxFolder, module: "logtest",
			files: func(t *testing.T) map[string][]byte {
				image, debug := separate(t, elf(t))
				return map[string][]byte{"logtest": image, "logtest.debug": rebuilt(t, debug, linux)}
			}, want: symbols.ExportsOnly, reason: "it is build-id abababab", forced: true},
		{name: "stale debug file in a build-id folder", folder: linuxFolder, module: "logtest",
			files: func(t *testing.T) map[string][]byte {
				_, debug := separate(t, elf(t))
				digits := hex.EncodeToString([]byte(linux.BuildID))
				return map[string][]byte{"d/.build-id/" + digits[:2] + "/" + digits[2:] + ".debug": rebuilt(t, debug, linux)}
			}, path: []string{"d"}, want: symbols.Mismatched, reason: "recorded is build-id " + hex.EncodeToString([]byte(linux.BuildID)), forced: true},
		{name: "debug file whose checksum the image does not name", folder: linuxFolder, module: "logtest",
			files: func(t *testing.T) map[string][]byte {
				image, debug := separate(t, withoutBuildID(t, elf(t), linux))
				return map[string][]byte{"logtest": image, "logtest.debug": append(debug, 0)}
			}, modules: bare, want: symbols.Unverified, reason: "recorded is an image that names", forced: true},
		{name: "debug file whose checksum the image names", folder: linuxFolder, module: "logtest",
			files: func(t *testing.T) map[string][]byte {
				image, debug := separate(t, withoutBuildID(t, elf(t), linux))
				return map[string][]byte{"logtest": image, "logtest.debug": debug}
			}, modules: bare, want: symbols.Unverified, reason: "no identity was recorded to check it by"},
		{name: "PDB with nothing recorded", folder: clangFolder, module: "logtest.exe",
			files: func(t *testing.T) map[string][]byte { return map[string][]byte{"logtest.pdb": pdb(t)} }, modules: bare,
			want: symbols.Unverified, reason: "no identity was recorded to check it by"},
		{name: "ELF with nothing recorded", folder: linuxFolder, module: "logtest",
			files: func(t *testing.T) map[string][]byte { return map[string][]byte{"logtest": elf(t)} }, modules: bare,
			want: symbols.Unverified, reason: "no identity was recorded to check it by"},
		{name: "PDB with only the timestamp recorded", folder: mingwFolder, module: "logtest.exe",
			files:   func(t *testing.T) map[string][]byte { return map[string][]byte{"logtest.pdb": pdb(t)} },
			modules: stamped, want: symbols.Unverified, reason: "which the file does not carry"},
		{name: "PDB and an image that belong to each other, nothing recorded", folder: clangFolder, module: "logtest.exe",
			files: func(t *testing.T) map[string][]byte {
				return map[string][]byte{"logtest.exe": exe(t), "logtest.pdb": pdb(t)}
			}, modules: bare, want: symbols.Unverified, reason: "no identity was recorded to check it by"},
		{name: "PDB and an image of different builds, nothing recorded", folder: clangFolder, module: "logtest.exe",
			files: func(t *testing.T) map[string][]byte {
				return map[string][]byte{"logtest.exe": exe(t), "logtest.pdb": stalePDB(t)}
			}, modules: bare, want: symbols.Mismatched, reason: "age 1, the image ", forced: true},
		{name: "image of another size, nothing recorded", folder: clangFolder, module: "logtest.exe",
			files: func(t *testing.T) map[string][]byte {
				return map[string][]byte{"logtest.exe": exe(t), "logtest.pdb": pdb(t)}
			}, modules: func(t *testing.T, data []byte) []byte {
				return bytes.ReplaceAll(bare(t, data), []byte(" 0x00026000 "), []byte(" 0x00027000 "))
			}, want: symbols.Mismatched, reason: "it belongs to the image", forced: true},
		{name: "map of the recorded timestamp", folder: mingwFolder, module: "logtest.exe",
			files: func(t *testing.T) map[string][]byte {
				return map[string][]byte{"logtest.map": mapOf(mingw.Timestamp, 0x140000000)}
			}, want: symbols.Matched, reason: "timestamp"},
		{name: "map of another timestamp", folder: mingwFolder, module: "logtest.exe",
			files: func(t *testing.T) map[string][]byte {
				return map[string][]byte{"logtest.map": mapOf(mingw.Timestamp^1, 0x140000000)}
			}, want: symbols.Mismatched, reason: fmt.Sprintf("recorded is timestamp %08X", mingw.Timestamp), forced: true},
		{name: "map of another base", folder: clangFolder, module: "logtest.exe",
			files: func(t *testing.T) map[string][]byte {
				return map[string][]byte{"logtest.exe": exe(t), "logtest.map": mapOf(0, 0x180000000)}
			}, want: symbols.Mismatched, reason: "it is linked for base 0x180000000", forced: true},
		{name: "map of the image's base", folder: clangFolder, module: "logtest.exe",
			files: func(t *testing.T) map[string][]byte {
				return map[string][]byte{"logtest.exe": exe(t), "logtest.map": mapOf(0, 0x7ff6a0000000)}
			}, want: symbols.Unverified, reason: "which the file does not carry"},
		{name: "Breakpad symbols of another build", folder: clangFolder, module: "logtest.exe",
			files: func(t *testing.T) map[string][]byte {
				return map[string][]byte{"logtest.sym": []byte("MODULE windows x86_64 " + staleKey + " logtest.pdb\nFUNC 1000 20000 0 wrong\n")}
			}, want: symbols.Mismatched, reason: "recorded is", forced: true},
	}
}

// withStamp writes a timestamp into a module's line.
func withStamp(data []byte, module string, stamp uint32) []byte {
	var out bytes.Buffer
	for _, line := range strings.SplitAfter(string(data), "\n") {
		if cells := strings.SplitN(line, " ", 6); len(cells) == 6 && strings.HasSuffix(strings.TrimSpace(line), module) {
			cells[4] = fmt.Sprintf("0x%08x", stamp)
			line = strings.Join(cells, " ")
		}
		out.WriteString(line)
	}
	return out.Bytes()
}

// mapOf returns a map of link.exe's kind with one function that covers all
// code.
func mapOf(stamp uint32, base uint64) []byte {
	return []byte(fmt.Sprintf(` logtest

 Timestamp is %08x (Fri Nov 20 12:00:00 2026)

 Preferred load address is %016x

 Start         Length     Name                   Class
 0001:00000000 00020000H .text                   CODE

  Address         Publics by Value              Rva+Base               Lib:Object

 0001:00000000       frommap                    %016x f   main.obj
`, stamp, base, base+0x1000))
}

// withoutBuildID takes the name off the note that holds the build-id.
func withoutBuildID(t *testing.T, data []byte, id modules.Identity) []byte {
	t.Helper()
	note := append([]byte("\x04\x00\x00\x00\x14\x00\x00\x00\x03\x00\x00\x00GNU\x00"), id.BuildID...)
	other := bytes.Clone(note)
	copy(other[12:], "XXX")
	return replaced(t, data, note, other)
}

// binutils runs objcopy or strip on a file.
func binutils(t *testing.T, program string, args ...string) {
	t.Helper()
	tool, err := exec.LookPath(program)
	if err != nil || runtime.GOARCH != "amd64" {
		t.Skipf("%s for x86-64 is not installed", program)
	}
	if out, err := exec.Command(tool, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", program, err, out)
	}
}

// separate parts an ELF image into one without debug information, which names
// logtest.debug, and that.
func separate(t *testing.T, elf []byte) (image, debug []byte) {
	t.Helper()
	dir := t.TempDir()
	whole, split := filepath.Join(dir, "logtest"), filepath.Join(dir, "logtest.debug")
	writeFile(t, whole, elf)
	binutils(t, "objcopy", "--only-keep-debug", whole, split)
	binutils(t, "objcopy", "--strip-all", "--add-gnu-debuglink="+split, whole)
	return readFile(t, whole), readFile(t, split)
}

// strip removes all symbols that are not needed to load a file.
func strip(t *testing.T, elf []byte) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stripped")
	writeFile(t, path, elf)
	binutils(t, "strip", "--strip-all", path)
	return readFile(t, path)
}

// prepare writes a case's files and returns the inputs.
func (c *staleCase) prepare(t *testing.T) Inputs {
	t.Helper()
	dir := t.TempDir()
	list := readFile(t, filepath.Join(c.folder, "LogDetails.bin"))
	if c.modules != nil {
		changed := c.modules(t, list)
		if bytes.Equal(changed, list) {
			t.Fatal("the modules file is as it was")
		}
		list = changed
	}
	writeFile(t, filepath.Join(dir, "LogDetails.bin"), list)
	writeFile(t, filepath.Join(dir, "LogDetails.dat"), readFile(t, filepath.Join(c.folder, "LogDetails.dat")))
	for name, data := range c.files(t) {
		writeFile(t, filepath.Join(dir, filepath.FromSlash(name)), data)
	}
	in := Inputs{Log: filepath.Join(dir, "LogDetails.dat"), NoRecordedPaths: true}
	for _, p := range c.path {
		in.Symbols = append(in.Symbols, filepath.Join(dir, p))
	}
	return in
}

// TestStale holds that no name of another build is in the table, and with the
// switch that every such name is marked.
func TestStale(t *testing.T) {
	for _, c := range staleCases(t) {
		t.Run(c.name, func(t *testing.T) {
			in := c.prepare(t)
			s := open(t, in)
			m := module(t, s, c.module)
			if m.Status != c.want || !strings.Contains(m.Reason.String(), c.reason) {
				t.Errorf("%s: %s\nwant %s: %s\n%v", m.Status, m.Reason, c.want, c.reason, m.Attempts)
			}
			names := c.want == symbols.Matched || c.want == symbols.Unverified && !c.forced
			named := 0
			for _, r := range rowsOf(t, s, c.module) {
				plain := r.Function == fmt.Sprintf("%s+0x%x", c.module, r.Address-m.Base) && r.Source == "" && r.Line == 0
				if !plain {
					named++
				}
				if !plain && !names || r.IsTagged() || r.Symbols != string(c.want) {
					t.Fatalf("row %d: %q %s:%d %q", r.Index, r.Function, r.Source, r.Line, r.Symbols)
				}
			}
			if names != (named > 0) {
				t.Errorf("%d rows have names", named)
			}

			in.LoadMismatched = true
			if err := s.SetSymbols(context.Background(), in, nil); err != nil {
				t.Fatal(err)
			}
			m = module(t, s, c.module)
			want := c.want
			if c.forced {
				want = symbols.Mismatched
			}
			if m.Status != want || m.OnRequest != c.forced || !strings.Contains(m.Reason.String(), c.reason) ||
				strings.Contains(m.Reason.String(), "that was asked for") != c.forced {
				t.Errorf("with the switch: %s, on request %v: %s", m.Status, m.OnRequest, m.Reason)
			}
			if !c.forced {
				return
			}
			if m.SymbolFile == "" {
				t.Error("the file is not named")
			}
			marked := 0
			for _, r := range rowsOf(t, s, c.module) {
				plain := r.Function == fmt.Sprintf("%s+0x%x", c.module, r.Address-m.Base)
				if r.IsTagged() {
					marked++
				}
				if !plain && !strings.HasPrefix(r.Function, "[mismatched] ") ||
					r.Source != "" && !strings.HasSuffix(r.Source, " [mismatched]") || r.Symbols != "mismatched" {
					t.Fatalf("with the switch, row %d: %q %s:%d %q", r.Index, r.Function, r.Source, r.Line, r.Symbols)
				}
			}
			if marked == 0 {
				t.Errorf("with the switch, no row has a name")
			}
		})
	}
}

// TestMarkedFiles holds that no saved format and no copy has a name of another
// build without its mark.
func TestMarkedFiles(t *testing.T) {
	c := staleCases(t)[0]
	in := c.prepare(t)
	in.LoadMismatched = true
	s := open(t, in)
	for _, format := range SaveFormats() {
		var out bytes.Buffer
		if err := s.Write(context.Background(), &out, format, SaveOptions{}, nil); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		names := strings.Count(text, "app::factorial")
		if names == 0 || names != strings.Count(text, "[mismatched] app::factorial") {
			t.Errorf("%s: %d names, %d marked", format, names, strings.Count(text, "[mismatched] app::factorial"))
		}
		files := strings.Count(text, "main.cpp")
		if format != "folded" && format != "tracer" && files == 0 || files != strings.Count(text, "main.cpp [mismatched]") {
			t.Errorf("%s: %d sources, %d marked", format, files, strings.Count(text, "main.cpp [mismatched]"))
		}
		if format == "txt" && !strings.Contains(text, "names are those of another build, because that was asked for") {
			t.Errorf("the head of the file does not say it:\n%.2000s", text)
		}
		if format != "jsonl" {
			continue
		}
		for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
			var row struct{ Function, Source, Symbols string }
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err)
			}
			if row.Source != "" && row.Symbols != "mismatched" {
				t.Fatalf("%s", line)
			}
		}
	}
}

// TestMismatchedImage looks addresses up by hand in a PDB of another build.
func TestMismatchedImage(t *testing.T) {
	dir := t.TempDir()
	id := identityOf(t, clangFolder, "logtest.exe")
	writeFile(t, filepath.Join(dir, "logtest.exe"), readFile(t, clangFolder+"/logtest.exe"))
	writeFile(t, filepath.Join(dir, "logtest.pdb"), rebuilt(t, readFile(t, clangFolder+"/logtest.pdb"), id))
	for _, load := range []bool{false, true} {
		img, err := OpenImage(context.Background(), filepath.Join(dir, "logtest.exe"), Inputs{NoRecordedPaths: true, LoadMismatched: load})
		if err != nil {
			t.Fatal(err)
		}
		defer img.Close()
		if b := img.Binding(); b.Status != symbols.Mismatched || (b.Table != nil) != load {
			t.Fatalf("load %v: %s, %s", load, b.Status, b.Reason)
		}
		found := 0
		for rva := uint64(0x1000); rva < 0x3000; rva += 16 {
			sym, err := img.Lookup(rva)
			if err != nil {
				continue
			}
			for _, f := range sym.Frames {
				found++
				if !strings.HasPrefix(f.Function, "[mismatched] ") || f.Signature != "" && !strings.HasPrefix(f.Signature, "[mismatched] ") ||
					f.File != "" && !strings.HasSuffix(f.File, " [mismatched]") {
					t.Fatalf("%#x: %+v", rva, f)
				}
			}
			for _, a := range sym.Aliases {
				if !strings.HasPrefix(a, "[mismatched] ") {
					t.Fatalf("%#x: alias %s", rva, a)
				}
			}
			again, err := img.Lookup(rva)
			if err != nil || strings.Count(again.Frames[0].Function, "[mismatched]") != 1 {
				t.Fatalf("%#x again: %+v, %v", rva, again, err)
			}
		}
		if found > 0 != load {
			t.Errorf("load %v: %d frames", load, found)
		}
	}
}

// TestSourcePathRule reads hostile source paths out of symbol files: none is
// opened.
func TestSourcePathRule(t *testing.T) {
	const mapLines = ` logtest

 Timestamp is 00000000 (Thu Jan  1 00:00:00 1970)

 Preferred load address is 00400000

 Start         Length     Name                   Class
 0001:00000000 00001000H .text                   CODE

  Address         Publics by Value              Rva+Base     Lib:Object

 0001:00000000       _main                      00401000 f   main.obj

Line numbers for .\Release\main.obj(%s) segment .text

    10 0001:00000000    11 0001:00000004
`
	const recorded = `/logtest/recorder/samples/logtest\main.cpp`
	for _, hostile := range []string{`\\server\share\x.cpp`, "//server/share/x.cpp", `\\?\UNC\server\share\x.cpp`, `\\.\pipe\x`, "/dev/zero",
		"../x.cpp", `..\x.cpp`, "/src/../../x.cpp", "x.cpp", "NUL"} {
		pdb := readFile(t, clangFolder+"/logtest.pdb")
		files := map[string][]byte{
			"logtest.sym": []byte("MODULE windows x86_64 8EAC50EB47A137D14C4C44205044422E1 logtest.pdb\nFILE 0 " + hostile + "\nFUNC 1000 10 0 f\n1000 10 1 0\n"),
			"logtest.map": []byte(fmt.Sprintf(mapLines, hostile)),
			"logtest.pdb": replaced(t, pdb, []byte(recorded+"\x00"), append([]byte(hostile), make([]byte, len(recorded)+1-len(hostile))...)),
		}
		for name, data := range files {
			path := filepath.Join(t.TempDir(), name)
			writeFile(t, path, data)
			img, err := OpenImage(context.Background(), path, Inputs{NoRecordedPaths: true})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			refused := 0
			for rva := uint64(0x1000); rva < 0x5000; rva += 4 {
				sym, err := img.Lookup(rva)
				if err != nil {
					continue
				}
				for _, f := range sym.Frames {
					if f.File != hostile {
						continue
					}
					if _, err := SourceFile(f.File, nil, true); !errors.Is(err, store.ErrRefused) {
						t.Fatalf("%s: %q: %v", name, f.File, err)
					}
					refused++
				}
			}
			if refused == 0 {
				t.Errorf("%s: no frame has the source %q", name, hostile)
			}
			img.Close()
		}
	}
}

// TestServers opens a log whose symbols are on a server: it is asked only with
// the network switched on, and only for modules that records lie in.
func TestServers(t *testing.T) {
	t.Setenv("_NT_SYMBOL_PATH", "")
	t.Setenv("DEBUGINFOD_URLS", "")
	id := identityOf(t, clangFolder, "logtest.exe")
	pdb := fmt.Sprintf("/logtest.pdb/%s%X/logtest.pdb", id.PDB.Key(), id.Age)
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.Path)
		mu.Unlock()
		if r.URL.Path == pdb {
			http.ServeFile(w, r, clangFolder+"/logtest.pdb")
			return
		}
		http.NotFound(w, r)
	}))
	defer server.Close()
	dir := t.TempDir()
	copyFiles(t, clangFolder, dir, "LogDetails.dat", "LogDetails.bin")
	in := Inputs{Log: dir, NoRecordedPaths: true, Symbols: []string{server.URL}, SymbolCache: filepath.Join(dir, "cache")}
	s := open(t, in)
	if m := module(t, s, "logtest.exe"); m.Status != symbols.NotFound || len(asked) > 0 {
		t.Errorf("with the network off: %s, asked %q", m.Status, asked)
	}
	in.Network = true
	fetched := ""
	p := func(stage Stage, done, total int64) {
		if stage == StageFetch && s.Fetching() != "" {
			fetched += s.Fetching() + "\n"
		}
	}
	if err := s.SetSymbols(context.Background(), in, p); err != nil {
		t.Fatal(err)
	}
	if m := module(t, s, "logtest.exe"); m.Status != symbols.Matched || !strings.Contains(fetched, server.URL+pdb) || s.Fetching() != "" {
		t.Errorf("%s: %s; fetched %s; still fetching %q", m.Status, m.Reason, fetched, s.Fetching())
	}
	for _, path := range asked {
		if strings.Contains(path, "ntdll") || strings.Contains(path, "kernel32") {
			t.Errorf("asked for %s, which no record lies in", path)
		}
	}
	if !functionsOf(t, s, "logtest.exe")["app::factorial"] {
		t.Error("app::factorial has no name")
	}
}
