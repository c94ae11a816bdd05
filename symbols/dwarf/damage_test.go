package dwarf

import (
	"bytes"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"logparser/symbols"
)

// exercise looks names up in a table made of data. Files that it names are
// those of testdata.
func exercise(data []byte) {
	f := withSiblings(&symbols.File{
		Path:     filepath.Join("testdata", "input.so"),
		ReaderAt: bytes.NewReader(data), Size: int64(len(data)),
	})
	table, err := Open(f)
	if err != nil {
		return
	}
	defer table.Close()
	table.Describe()
	for rva := uint64(0); rva < 0x3000; rva += 61 {
		table.Lookup(rva)
	}
	n := 0
	table.Procedures(func(rva uint64, name string) bool {
		table.Lookup(rva)
		table.Lookup(rva + 7)
		n++
		return n < 50
	})
}

func samples(t testing.TB) map[string][]byte {
	out := map[string][]byte{}
	for _, name := range []string{
		"gcc4.so", "gcc5.so", "clang4.so", "clang5.so", "gcc5-zlib.so", "gcc5-zstd.so", "gcc5-dwz.so", "gcc5-dbgsym.debug",
		"gcc5-split.so", "clang4-split.so", "mips.so", "i686.dll",
		"gcc5-zlib.o", "clang5.o", "mips.o", "cold2.so",
	} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = data
	}
	return out
}

// maxAllocated is what one opening may allocate in all, in bytes, for files of
// some kilobytes: a bound for what it holds at any time.
const maxAllocated = 64 << 20

// TestDamage changes bytes of every kind of file, and cuts it.
func TestDamage(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 20
	}
	rng := rand.New(rand.NewSource(1))
	var before, after runtime.MemStats
	for name, data := range samples(t) {
		for round := range rounds {
			changed := bytes.Clone(data)
			for range 16 {
				changed[rng.Intn(len(changed))] = byte(rng.Intn(256))
			}
			if round%4 == 0 {
				changed = changed[:rng.Intn(len(changed))]
			}
			runtime.ReadMemStats(&before)
			exercise(changed)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > maxAllocated {
				t.Errorf("%s: round %d allocated %d bytes", name, round, n)
			}
		}
	}
}

// TestDamagedSplit changes bytes of files that another one names.
func TestDamagedSplit(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 20
	}
	rng := rand.New(rand.NewSource(2))
	for _, c := range []struct{ main, other string }{
		{"gcc5-split.so", "gcc5-split-main.dwo"},
		{"clang4-split.so", "clang4-split-main.dwo"},
		{"gcc5-dwp.so", "gcc5-dwp.so.dwp"},
		{"gcc4-dwp.so", "gcc4-dwp.so.dwp"},
		{"gcc5-dwz.so", "gcc5-dwz.alt"},
	} {
		data, err := os.ReadFile(filepath.Join("testdata", c.other))
		if err != nil {
			t.Fatal(err)
		}
		for range rounds {
			changed := bytes.Clone(data)
			for range 16 {
				changed[rng.Intn(len(changed))] = byte(rng.Intn(256))
			}
			f := withSiblings(openFile(t, filepath.Join("testdata", c.main)))
			sibling := f.Sibling
			f.Sibling = func(name string, fits func(*symbols.File) bool) (*symbols.File, error) {
				if name == c.other {
					f := &symbols.File{Path: name, ReaderAt: bytes.NewReader(changed), Size: int64(len(changed))}
					if !fits(f) {
						return nil, os.ErrNotExist
					}
					return f, nil
				}
				return sibling(name, fits)
			}
			table, err := Open(f)
			if err != nil {
				f.Close()
				t.Fatal(err)
			}
			for rva := uint64(0); rva < 0x2000; rva += 31 {
				table.Lookup(rva)
			}
			table.Close()
		}
	}
}

// TestConcurrent looks names up from several goroutines, while little is kept.
func TestConcurrent(t *testing.T) {
	table := openPair(t, "gcc5-split.so")
	table.cache.limit, table.names.limit, table.src.abbrev.limit = 1<<10, 1<<10, 1<<10
	want := openPair(t, "gcc5-split.so")
	rvas, _ := codeOf(t, "gcc5-split.so")
	done := make(chan bool)
	for worker := range 4 {
		go func() {
			defer func() { done <- true }()
			for i := range rvas {
				rva := rvas[(i*7+worker*100)%len(rvas)]
				a, err := table.Lookup(rva)
				b, err2 := want.Lookup(rva)
				if (err == nil) != (err2 == nil) || len(a.Frames) != len(b.Frames) || err == nil && a.Frames[0] != b.Frames[0] {
					t.Errorf("%#x: %v, %v, want %v, %v", rva, a, err, b, err2)
					return
				}
			}
		}()
	}
	for range 4 {
		<-done
	}
}

// FuzzOpen reads whatever it is given as an image.
func FuzzOpen(f *testing.F) {
	for _, data := range samples(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { exercise(data) })
}

// FuzzSections reads whatever it is given as the sections of an image.
func FuzzSections(f *testing.F) {
	var e maker
	e.unit(abUnit, 0x1000, 0x1000)
	e.function(abFunction, "f", 0x1100, 0x100)
	e.u8(0, 0)
	f.Add(unit5(e.Bytes()), abbrevs5(), []byte{}, []byte{}, []byte{})
	for _, name := range []string{"gcc4.so", "gcc5.so", "clang4.so", "clang5.so"} {
		t := openPair(f, name)
		var parts [5][]byte
		for i, section := range []string{"info", "abbrev", "line", "rnglists", "ranges"} {
			if c, err := t.src.section(section); err == nil {
				parts[i], _ = c.Bytes(0, c.Size())
			}
		}
		f.Add(parts[0], parts[1], parts[2], parts[3], parts[4])
	}
	f.Fuzz(func(t *testing.T, info, abbrev, line, rnglists, ranges []byte) {
		exercise(makeELF(map[string][]byte{
			"info": info, "abbrev": abbrev, "line": line, "rnglists": rnglists, "ranges": ranges,
			"str": []byte("a\x00b\x00"), "addr": make([]byte, 64),
		}))
	})
}
