package dwarf

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"logparser/symbols"
	"logparser/symbols/image"
	"logparser/symbols/symtest"
)

var update = flag.Bool("update", false, "ask llvm-symbolizer-19 again for the golden files")

// withSiblings lets a file open the others of its folder.
func withSiblings(f *symbols.File) *symbols.File {
	dir := filepath.Dir(f.Path)
	f.Sibling = func(name string, fits func(*symbols.File) bool) (*symbols.File, error) {
		if name != filepath.Base(name) {
			return nil, os.ErrPermission
		}
		path := filepath.Join(dir, name)
		g, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		info, err := g.Stat()
		if err != nil {
			return nil, err
		}
		sibling := &symbols.File{Path: path, ReaderAt: g, Size: info.Size(), Closer: g}
		if !fits(sibling) {
			g.Close()
			return nil, os.ErrNotExist
		}
		return sibling, nil
	}
	return f
}

// openPair opens one of the files of testdata, which find each other.
func openPair(t testing.TB, name string) *Table {
	t.Helper()
	f := withSiblings(openFile(t, filepath.Join("testdata", name)))
	table, err := Open(f)
	if err != nil {
		f.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table.(*Table)
}

// codeOf returns the addresses of the code of an image, as RVAs.
func codeOf(t testing.TB, name string) (rvas []uint64, base uint64) {
	t.Helper()
	f := openFile(t, filepath.Join("testdata", name))
	defer f.Close()
	im, err := image.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	text := im.Section(".text")
	for a := text.Addr; a < text.Addr+text.MemSize; a++ {
		rvas = append(rvas, a-im.Base)
	}
	if im.Relocatable {
		return rvas, 0 // the first section of code is at 0 for everybody
	}
	return rvas, im.Base
}

// An answer is what llvm-symbolizer says of the addresses from one on.
type answer struct {
	rva    uint64
	frames []symbols.Frame
}

// askLLVM asks llvm-symbolizer for every byte of code and writes what changes.
func askLLVM(t *testing.T, name, golden string) {
	t.Helper()
	rvas, base := codeOf(t, name)
	cmd := exec.Command("llvm-symbolizer-19", "--output-style=JSON", "--obj="+filepath.Join("testdata", name))
	var in bytes.Buffer
	for _, rva := range rvas {
		fmt.Fprintf(&in, "%#x\n", base+rva)
	}
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "# llvm-symbolizer-19 on %s: from this RVA on, frames from the inside out\n", name)
	last := ""
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for i := 0; lines.Scan(); i++ {
		var o struct {
			Symbol []struct {
				FunctionName, FileName string
				Line                   int
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			t.Fatal(err)
		}
		var frames []string
		for _, s := range o.Symbol {
			if s.FunctionName != "" {
				frames = append(frames, fmt.Sprintf("%s|%s|%d", s.FunctionName, s.FileName, s.Line))
			}
		}
		if now := strings.Join(frames, "\t"); now != last {
			fmt.Fprintf(&text, "%#x\t%s\n", rvas[i], now)
			last = now
		}
	}
	if err := os.WriteFile(golden, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readGolden(t *testing.T, path string) []answer {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []answer
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n")[1:] {
		fields := strings.Split(line, "\t")
		var a answer
		if _, err := fmt.Sscanf(fields[0], "%v", &a.rva); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		for _, f := range fields[1:] {
			if f == "" {
				continue
			}
			parts := strings.Split(f, "|")
			frame := symbols.Frame{Function: parts[0], File: parts[1]}
			fmt.Sscan(parts[2], &frame.Line)
			a.frames = append(a.frames, frame)
		}
		out = append(out, a)
	}
	return out
}

// matches compares a frame with llvm-symbolizer's. It says 'lambda' for
// {lambda#1}, where there is no linkage name it leaves the scopes out, and it
// says which part of a function is the cold one.
func matches(got symbols.Frame, want symbols.Frame) bool {
	if strings.HasSuffix(want.Function, "TOR_LIST__") {
		return true // MinGW's lists of constructors, data among the code
	}
	if got.Line != want.Line || got.Line != 0 && got.File != clean(want.File) {
		return false
	}
	name := strings.NewReplacer("'lambda'(int)", "{lambda(int)#1}", " (.cold)", "").Replace(want.Function)
	return symtest.Same(name, got.Function) || symtest.Same(name, got.Signature) ||
		got.Signature == "" && strings.HasSuffix(got.Function, "::"+name)
}

// TestConformanceLLVM holds every byte of code of the full files against
// llvm-symbolizer: functions, chains of inlined calls, files and lines.
func TestConformanceLLVM(t *testing.T) {
	for _, name := range []string{"gcc4.so", "gcc5.so", "clang4.so", "clang5.so", "gc.so", "gcc2.so", "gcc64.so", "lto.so", "x86_64.dll", "i686.dll",
		"i386.so", "mips.so", "s390x.so", "armv7.so", "aarch64.so", "count.o", "cold2.so"} {
		t.Run(name, func(t *testing.T) {
			golden := filepath.Join("testdata", name+".golden")
			if *update {
				askLLVM(t, name, golden)
			}
			table := openPair(t, name)
			rvas, _ := codeOf(t, name)
			want := readGolden(t, golden)
			at, bad := -1, 0
			for _, rva := range rvas {
				for at+1 < len(want) && want[at+1].rva <= rva {
					at++
				}
				var frames []symbols.Frame
				if at >= 0 {
					frames = want[at].frames
				}
				sym, err := table.Lookup(rva)
				ok := len(frames) == len(sym.Frames) && (err == nil) == (len(frames) > 0)
				for i := range sym.Frames {
					ok = ok && matches(sym.Frames[i], frames[i])
				}
				if !ok && err != nil && filepath.Ext(name) == ".dll" {
					// In a PE, whose symbols have no sizes, llvm-symbolizer
					// gives the padding up to the next function to the one
					// before.
					_, end := table.Lookup(rva | 15)
					ok = end != nil
				}
				if !ok {
					if bad++; bad <= 10 {
						t.Errorf("%#x: %v, %v, want %v", rva, sym.Frames, err, frames)
					}
				}
			}
			c := symtest.Comparison{Names: symtest.Score{All: len(rvas), Same: len(rvas) - bad}}
			c.Report(t, "DWARF "+name+" and llvm-symbolizer, every byte of code", symtest.Bars{})
		})
	}
}

// TestConformanceTwins holds every way of keeping DWARF against its full twin:
// the same answer at every byte of code.
func TestConformanceTwins(t *testing.T) {
	for _, c := range []struct{ name, full string }{
		{"gcc5-zlib.so", "gcc5.so"},
		{"gcc5-zlib-gnu.so", "gcc5.so"},
		{"gcc5-zstd.so", "gcc5.so"},
		{"gcc5.debug", "gcc5.so"},
		{"gcc5-dwz.so", "gcc5.so"},
		{"clang5-zlib.so", "clang5.so"},
		{"clang5-zstd.so", "clang5.so"},
		{"clang5.debug", "clang5.so"},
		{"clang4-dwz.so", "clang4.so"},
		{"gcc5-split.so", "gcc5.so"},
		{"clang5-split.so", "clang5.so"},
		{"gcc4-split.so", "gcc4.so"},
		{"clang4-split.so", "clang4.so"},
		{"gcc5-dwp.so", "gcc5.so"},
		{"clang5-dwp.so", "clang5.so"},
		{"gcc4-dwp.so", "gcc4.so"},
		{"clang4-dwp.so", "clang4.so"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, want := openPair(t, c.name), openPair(t, c.full)
			rvas, _ := codeOf(t, c.full)
			bad := 0
			for _, rva := range rvas {
				a, err := got.Lookup(rva)
				b, err2 := want.Lookup(rva)
				if (err == nil) != (err2 == nil) || fmt.Sprint(a) != fmt.Sprint(b) {
					if bad++; bad <= 5 {
						t.Errorf("%#x: %v, %v\n\twant %v, %v", rva, a, err, b, err2)
					}
				}
			}
			score := symtest.Comparison{Names: symtest.Score{All: len(rvas), Same: len(rvas) - bad}}
			score.Report(t, "DWARF "+c.name+" and its twin "+c.full+", every byte of code", symtest.Bars{})
		})
	}
}

// TestMissingFiles opens files whose other halves are not to be had: names
// come from the symbol table then, and none is wrong.
func TestMissingFiles(t *testing.T) {
	for _, c := range []struct {
		name, full string
		// names says that the file itself still knows the functions' names.
		kind symbols.Kind
	}{
		{"gcc5-split.so", "gcc5.so", symbols.Symtab},
		{"gcc4-split.so", "gcc4.so", symbols.Symtab},
		{"clang5-split.so", "clang5.so", symbols.Symtab},
		{"gcc5-dwp.so", "gcc5.so", symbols.Symtab},
		{"gcc5-dwz.so", "gcc5.so", symbols.Procedure},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := openTable(t, filepath.Join("testdata", c.name))
			want := openPair(t, c.full)
			rvas, _ := codeOf(t, c.full)
			kinds := map[symbols.Kind]int{}
			for _, rva := range rvas {
				a, err := got.Lookup(rva)
				b, err2 := want.Lookup(rva)
				if err2 != nil {
					continue
				}
				if err != nil {
					t.Errorf("%#x: %v, want %s", rva, err, b.Outermost().Function)
					continue
				}
				kinds[a.Kind]++
				name := b.Outermost().Function
				if a.Outermost().Function != name && a.Outermost().Function != unnamed {
					t.Errorf("%#x: %s, want %s", rva, a.Outermost().Function, name)
				}
				if len(a.Frames) == 1 && (a.Frames[0].Line != b.Frames[0].Line || a.Frames[0].File != b.Frames[0].File) {
					t.Errorf("%#x: %s:%d, want %s:%d", rva, a.Frames[0].File, a.Frames[0].Line, b.Frames[0].File, b.Frames[0].Line)
				}
			}
			if kinds[c.kind] == 0 {
				t.Errorf("kinds %v, want %s", kinds, c.kind)
			}
		})
	}
}

// TestNoMachinePaths looks for paths of the machine that built the files.
func TestNoMachinePaths(t *testing.T) {
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		switch filepath.Ext(path) {
		case ".so", ".dll", ".dwo", ".dwp", ".alt", ".debug", ".o":
		default:
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 100<<10 {
			t.Errorf("%s has %d bytes", path, len(data))
		}
		for _, dir := range []string{"/tmp/", "/home/", "/root/"} {
			if bytes.Contains(data, []byte(dir)) {
				t.Errorf("%s names a path in %s", path, dir)
			}
		}
	}
}

// TestCodeAddresses checks the test's own idea of the code's addresses.
func TestCodeAddresses(t *testing.T) {
	f, err := elf.Open("testdata/gcc5.so")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rvas, base := codeOf(t, "gcc5.so")
	if text := f.Section(".text"); base+rvas[0] != text.Addr || uint64(len(rvas)) != text.Size {
		t.Errorf("code at %#x, %d bytes, want %#x, %d bytes", base+rvas[0], len(rvas), text.Addr, text.Size)
	}
}
