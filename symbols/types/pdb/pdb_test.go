package pdb

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"logparser/symbols"
	"logparser/symbols/pdb"
	"logparser/symbols/types"
)

// shapes is the PDB whose functions the tests read, of symbols/pdb/testdata/shapes.cpp.
var shapes = filepath.Join("..", "..", "pdb", "testdata", "shapes-x86_64.pdb")

func open(t testing.TB, b []byte) *pdb.Table {
	t.Helper()
	table, err := pdb.Open(&symbols.File{Path: "x.pdb", ReaderAt: bytes.NewReader(b), Size: int64(len(b))})
	if err != nil {
		return nil
	}
	return table
}

func all(string) bool { return true }

// TestFunctions reads functions of a program that clang-cl has built with optimization.
func TestFunctions(t *testing.T) {
	b, err := os.ReadFile(shapes)
	if err != nil {
		t.Fatal(err)
	}
	table := open(t, b)
	defer table.Close()
	list, err := Functions(t.Context(), table, nil, all)
	if err != nil {
		t.Fatal(err)
	}
	says := make(map[string]string)
	for i := range list {
		f := &list[i]
		text := ""
		for _, p := range f.Parameters {
			text += p.Type.Name + " " + p.Name
			if p.Entry.Kind == types.InRegister {
				text += "@" + strconv.Itoa(p.Entry.Number)
			}
			if p.Unused {
				text += " unused"
			}
			text += "; "
		}
		if f.Result != nil {
			text += "= " + f.Result.Name
		}
		says[f.Name] = text
	}
	for name, want := range map[string]string{
		"app::Shape::area() const":                      "app::Shape const* this@2; = int",
		"app::Shape::grow(int, unsigned char)":          "app::Shape* this@2; int by@1; unsigned char limit@8; ",
		"app::Shape::count(const app::Point (&)[])":     "app::Point const[4]& corners@2; = int",
		"app::call(int (*)(const char *, int), double)": "function* f@2; double weight@18; = int",
		"app::first(const char *, int)":                 "char const* text@2; int length@1; = int",
		"app::twice<float>(float)":                      "float value@17; = float",
	} {
		if says[name] != want {
			t.Errorf("%s: %q, want %q", name, says[name], want)
		}
	}
	if t.Failed() {
		t.Log(says)
	}
}

// TestNumbers reads numbers of variable length, by size and sign.
func TestNumbers(t *testing.T) {
	for _, test := range []struct {
		b    []byte
		want int64
	}{
		{[]byte{0xff, 0x7f}, 0x7fff}, {[]byte{0, 0x80, 0xfd}, -3}, {[]byte{1, 0x80, 0xfe, 0xff}, -2}, {[]byte{2, 0x80, 0xfe, 0xff}, 0xfffe},
		{[]byte{3, 0x80, 0xfe, 0xff, 0xff, 0xff}, -2}, {[]byte{4, 0x80, 0xfe, 0xff, 0xff, 0xff}, 0xfffffffe},
		{[]byte{9, 0x80, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, -1},
	} {
		if got, rest, ok := pdb.Number(append(test.b, 7)); !ok || got != test.want || len(rest) != 1 {
			t.Errorf("% x: %d, %v", test.b, got, ok)
		}
		if _, _, ok := pdb.Number(test.b[:len(test.b)-1]); ok {
			t.Errorf("% x is read without its end", test.b)
		}
	}
}

// TestShortName takes scopes and arguments of templates off names.
func TestShortName(t *testing.T) {
	for name, want := range map[string]string{"A": "A", "a::B": "B", "a::B<c::D>": "B", "a::B<c::D>::E": "E", "B<void (*)(a::b)>": "B", "": ""} {
		if got := shortName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// exercise reads all functions of a file, and looks at all of their types.
func exercise(t testing.TB, b []byte) {
	table := open(t, b)
	if table == nil {
		return
	}
	defer table.Close()
	list, _ := Functions(t.Context(), table, nil, all)
	seen := make(map[*types.Type]bool)
	var look func(of *types.Type)
	look = func(of *types.Type) {
		if of == nil || seen[of] {
			return
		}
		seen[of] = true
		if of.Size < 0 || of.Count < 0 || len(of.Members) > maxMembers+2 {
			t.Errorf("%+v", of)
		}
		look(of.Target)
		for i := range of.Members {
			m := &of.Members[i]
			if m.Offset < 0 || m.Bits > 0 && m.Bit+m.Bits > 64 {
				t.Errorf("%+v", m)
			}
			look(m.Type)
		}
	}
	for i := range list {
		look(list[i].Result)
		for _, p := range list[i].Parameters {
			look(p.Type)
		}
	}
}

// rounds is how often the random tests run: the environment variable LOGPARSER_SOAK, or few.
func rounds(few int) int {
	if n, err := strconv.Atoi(os.Getenv("LOGPARSER_SOAK")); err == nil {
		return n
	}
	return few
}

// TestChangedBytes changes 16 random bytes: the reader ends, within the memory that is allowed.
func TestChangedBytes(t *testing.T) {
	const maxBeyond = 64 << 20
	whole, err := os.ReadFile(shapes)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range rounds(100) {
		b := slices.Clone(whole)
		for range 16 {
			b[random.IntN(len(b))] = byte(random.Uint32())
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		exercise(t, b)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > maxBeyond {
			t.Errorf("%d bytes are allocated", n)
		}
	}
}

// TestCircles has types that consist of themselves.
func TestCircles(t *testing.T) {
	whole, err := os.ReadFile(shapes)
	if err != nil {
		t.Fatal(err)
	}
	// Each type is made to refer to the first one that is like it.
	for _, leaf := range []uint16{lfModifier, lfPointer, lfArray, lfStructure, lfFieldList, lfArgList, lfMFunction} {
		b := slices.Clone(whole)
		for i := 0; i+8 <= len(b); i += 2 {
			if binary.LittleEndian.Uint16(b[i:]) == leaf && i >= 2 {
				binary.LittleEndian.PutUint32(b[i+2:], firstType+uint32(i/2)%64)
			}
		}
		exercise(t, b)
	}
}

// FuzzFunctions reads the PDB with some bytes changed: they are put where a fraction of the file ends.
func FuzzFunctions(f *testing.F) {
	whole, err := os.ReadFile(shapes)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0x2000), []byte{0x04, 0x15, 0xff, 0xff}, uint32(0x3000), []byte{0x03, 0x12})
	f.Add(uint32(0x4000), []byte{0x3e, 0x11, 0, 0, 0, 0}, uint32(0x5000), []byte{0x41, 0x11, 0x4a, 0x01})
	f.Fuzz(func(t *testing.T, at uint32, with []byte, and uint32, more []byte) {
		b := slices.Clone(whole)
		copy(b[int(at)%len(b):], with)
		copy(b[int(and)%len(b):], more)
		exercise(t, b)
	})
}
