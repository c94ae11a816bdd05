package attached

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"logparser/symbols"
	"logparser/symbols/breakpad"
	"logparser/symbols/dwarf"
	"logparser/symbols/gosym"
	"logparser/symbols/image"
	"logparser/symbols/mapfile"
	"logparser/symbols/pdb"
	"logparser/symbols/symtab"
)

var readers = []symbols.Format{pdb.Format, dwarf.Format, breakpad.Format, gosym.Format, symtab.Format, mapfile.Format}

// openFile opens a file with the first reader that finds symbols in it.
func openFile(t testing.TB, path string) symbols.Table {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	info, _ := f.Stat()
	head := make([]byte, min(4096, info.Size()))
	f.ReadAt(head, 0)
	var failure error
	for _, r := range readers {
		if !r.Detect(head) {
			continue
		}
		file := &symbols.File{Path: path, ReaderAt: f, Size: info.Size(), Sibling: func(name string, fits func(*symbols.File) bool) (*symbols.File, error) {
			sibling, err := os.Open(filepath.Join(filepath.Dir(path), filepath.Base(name)))
			if err != nil {
				return nil, err
			}
			t.Cleanup(func() { sibling.Close() })
			info, _ := sibling.Stat()
			s := &symbols.File{Path: name, ReaderAt: sibling, Size: info.Size()}
			if !fits(s) {
				return nil, os.ErrNotExist
			}
			return s, nil
		}}
		table, err := r.Open(file)
		if err == nil {
			if all, ok := table.(interface{ ReadAliases() error }); ok {
				if err := all.ReadAliases(); err != nil {
					t.Fatal(err)
				}
			}
			return table
		}
		failure = errors.Join(failure, err)
	}
	t.Fatalf("%s: %v", path, failure)
	return nil
}

// codeOf returns the code of the image that path is, or that lies beside it; text is
// how many bytes that is. Without an image it is what procedures cover.
func codeOf(t testing.TB, table symbols.Table, path string) (ranges []Range, text uint64) {
	t.Helper()
	stem := path[:len(path)-len(filepath.Ext(path))]
	for _, p := range []string{path, stem + ".exe", stem + ".dll", stem + ".node", stem + ".so"} {
		f, err := os.Open(p)
		if err != nil {
			continue
		}
		t.Cleanup(func() { f.Close() })
		info, _ := f.Stat()
		im, err := image.Open(&symbols.File{Path: p, ReaderAt: f, Size: info.Size()})
		if err != nil {
			continue
		}
		ranges = CodeOf(im)
		if s := im.Section(".text"); s != nil {
			text = s.MemSize
		}
		return ranges, text
	}
	ranges, err := CodeOfTable(table)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range merge(ranges) {
		text += r.Hi - r.Lo
	}
	return ranges, text
}

// encodeFile returns the container of a file's symbols.
func encodeFile(t testing.TB, table symbols.Table, ranges []Range) ([]byte, *Encoded) {
	t.Helper()
	e, err := Encode(context.Background(), table, ranges, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	m := &Module{Name: "m", Identity: table.Identity(), Source: table.Describe()}
	if err := Write(&b, e.Parts(m, 0)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), e
}

func openContainer(t testing.TB, data []byte) *Table {
	t.Helper()
	table, err := open(&symbols.File{ReaderAt: bytes.NewReader(data), Size: int64(len(data))})
	if err != nil {
		t.Fatal(err)
	}
	return table.(*Table)
}

// realFiles are files of each reader. Those of the project's data are tested where it lies.
var realFiles = []string{
	"../dwarf/testdata/*.so", "../dwarf/testdata/*.dll", "../pdb/testdata/*.pdb", "../symtab/testdata/*.so", "../mapfile/testdata/*.map",
	"../gosym/testdata/*.elf", "../gosym/testdata/*.exe",
	"../../../shared/data/elf/basic.full", "../../../shared/data/elf/basic.dbg", "../../../shared/data/elf/basic.minidebuginfo",
	"../../../shared/data/pdb/*.pdb", "../../../shared/data/pdb/dump_syms_regtest64.sym", "../../../shared/data/pe-dwarf/*.dll",
}

// TestSameAnswers asks about every byte of code, and around it.
func TestSameAnswers(t *testing.T) {
	for _, pattern := range realFiles {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if len(paths) == 0 {
			t.Logf("%s: not there", pattern)
		}
		for _, path := range paths {
			t.Run(filepath.Base(path), func(t *testing.T) {
				t.Parallel()
				sameAnswers(t, path)
			})
		}
	}
}

func sameAnswers(t *testing.T, path string) {
	table := openFile(t, path)
	defer table.Close()
	ranges, text := codeOf(t, table, path)
	data, e := encodeFile(t, table, ranges)
	kept := openContainer(t, data)
	if got, want := kept.Identity(), table.Identity(); got != want {
		t.Errorf("identity %v, want %v", got, want)
	}
	named := 0
	for _, r := range merge(ranges) {
		for rva := r.Lo; rva < r.Hi; rva++ {
			want, wantErr := table.Lookup(rva)
			got, err := kept.Lookup(rva)
			if wantErr != nil {
				if !errors.Is(err, symbols.ErrNotFound) {
					t.Fatalf("%#x: %v, want none: %v", rva, got, err)
				}
				continue
			}
			named++
			if err != nil || !sameSymbol(&got, &want) {
				t.Fatalf("%#x: %+v, %v, want %+v", rva, got, err, want)
			}
		}
	}
	for _, r := range merge(ranges) {
		for _, rva := range []uint64{r.Lo - 1, r.Hi, r.Hi + 1<<20} {
			if got, err := kept.Lookup(rva); err == nil && !inRanges(ranges, rva) {
				t.Errorf("%#x, where there is no code: %+v", rva, got)
			}
		}
	}
	// What a container has to have in any case counts in small files.
	if text > 100<<10 && len(data)*100 > int(text)*40 {
		t.Errorf("%d bytes for %d of code", len(data), text)
	}
	if named == 0 {
		t.Error("no byte has a name")
	}
	t.Logf("%s: %d bytes of code, %d named, %d runs, %d functions; container %d bytes, %.1f %% of .text",
		table.Describe(), text, named, e.Runs, e.Functions, len(data), 100*float64(len(data))/float64(text))
}

func inRanges(ranges []Range, rva uint64) bool {
	for _, r := range ranges {
		if rva >= r.Lo && rva < r.Hi {
			return true
		}
	}
	return false
}

// TestProcedures holds the functions that a container lists against the look-ups.
func TestProcedures(t *testing.T) {
	table := openFile(t, "../dwarf/testdata/gcc5.so")
	ranges, _ := codeOf(t, table, "../dwarf/testdata/gcc5.so")
	data, _ := encodeFile(t, table, ranges)
	kept := openContainer(t, data)
	got, want := make(map[uint64]string), make(map[uint64]string)
	collect := func(m map[uint64]string) func(uint64, string) bool {
		return func(rva uint64, name string) bool { m[rva] = name; return true }
	}
	if err := kept.Procedures(collect(got)); err != nil {
		t.Fatal(err)
	}
	for _, r := range merge(ranges) {
		for rva := r.Lo; rva < r.Hi; rva++ {
			if s, err := table.Lookup(rva); err == nil {
				want[s.Start] = s.Outermost().Function
			}
		}
	}
	if !reflect.DeepEqual(got, want) || len(got) < 5 {
		t.Errorf("procedures %v, want %v", got, want)
	}
}

// matches returns how many files a pattern has.
func matches(pattern string) int {
	list, _ := filepath.Glob(pattern)
	return len(list)
}
