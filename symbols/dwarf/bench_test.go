package dwarf

import (
	"math/rand"
	"os"
	"path/filepath"
	"testing"

	"logparser/symbols/image"
)

// bigFile returns the largest debug file of the system's own packages, or one
// of testdata where none is installed. LOGPARSER_DWARF names another.
func bigFile(b *testing.B) string {
	if path := os.Getenv("LOGPARSER_DWARF"); path != "" {
		return path
	}
	best, size := filepath.Join("testdata", "clang5.so"), int64(0)
	paths, _ := filepath.Glob("/usr/lib/debug/.build-id/*/*.debug")
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.Size() > size {
			best, size = path, info.Size()
		}
	}
	b.Logf("%s, %d bytes", best, size)
	return best
}

// randomCode returns RVAs spread over the code of a file.
func randomCode(b *testing.B, path string, n int) []uint64 {
	f := openFile(b, path)
	defer f.Close()
	im, err := image.Open(f)
	if err != nil {
		b.Fatal(err)
	}
	text := im.Section(".text")
	rng := rand.New(rand.NewSource(1))
	rvas := make([]uint64, n)
	for i := range rvas {
		rvas[i] = text.Addr - im.Base + uint64(rng.Int63n(int64(text.MemSize)))
	}
	return rvas
}

// BenchmarkFirst opens a file and looks one address up.
func BenchmarkFirst(b *testing.B) {
	path := bigFile(b)
	rvas := randomCode(b, path, 100)
	b.ReportAllocs()
	for i := range b.N {
		f := openFile(b, path)
		table, err := Open(f)
		if err != nil {
			b.Fatal(err)
		}
		table.Lookup(rvas[i%len(rvas)])
		table.Close()
	}
}

// BenchmarkRandom looks random addresses up, all units being cold at first.
func BenchmarkRandom(b *testing.B) {
	path := bigFile(b)
	rvas := randomCode(b, path, 1<<20)
	table := openTable(b, path)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		table.Lookup(rvas[i%len(rvas)])
	}
}

// BenchmarkHot looks two thousand addresses up again and again.
func BenchmarkHot(b *testing.B) {
	path := bigFile(b)
	rvas := randomCode(b, path, 2000)
	table := openTable(b, path)
	for _, rva := range rvas {
		table.Lookup(rva)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		table.Lookup(rvas[i%len(rvas)])
	}
}
