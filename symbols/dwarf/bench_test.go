package dwarf

import (
	"context"
	"debug/elf"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"testing"

	"logparser/symbols"
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

// BenchmarkFirstCached is BenchmarkFirst where what is inflated was kept.
func BenchmarkFirstCached(b *testing.B) {
	path := bigFile(b)
	rvas := randomCode(b, path, 100)
	cache := b.TempDir()
	open := func(rva uint64) {
		f := openFile(b, path)
		f.Cache = cache
		table, err := Open(f)
		if err != nil {
			b.Fatal(err)
		}
		table.Lookup(rva)
		table.Close()
	}
	open(rvas[0])
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		open(rvas[i%len(rvas)])
	}
}

// BenchmarkPrompt opens a file and names one function by its symbol table.
func BenchmarkPrompt(b *testing.B) {
	path := bigFile(b)
	rvas := randomCode(b, path, 100)
	b.ReportAllocs()
	for i := range b.N {
		table, err := Open(openFile(b, path))
		if err != nil {
			b.Fatal(err)
		}
		table.(symbols.Prompt).Prompt(rvas[i%len(rvas)])
		table.Close()
	}
}

// BenchmarkInflate inflates what BenchmarkFirst needs of a compressed file
// with the standard library and throws it away, on all processors too: what
// BenchmarkFirst can be held against.
func BenchmarkInflate(b *testing.B) {
	f, err := elf.Open(bigFile(b))
	if err != nil {
		b.Skip(err)
	}
	defer f.Close()
	var sections []*elf.Section
	for _, name := range []string{".debug_info", ".debug_str", ".debug_line", ".debug_rnglists", ".debug_ranges", ".debug_abbrev", ".debug_line_str"} {
		if s := f.Section(name); s != nil && s.Flags&elf.SHF_COMPRESSED != 0 {
			sections = append(sections, s)
		}
	}
	if len(sections) == 0 {
		b.Skip("nothing is compressed")
	}
	for range b.N {
		err := symbols.Share(context.Background(), len(sections), func() func(int) {
			return func(i int) {
				n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, sections[i].Open(), make([]byte, 256<<10))
				if err != nil || n != int64(sections[i].Size) {
					b.Error(n, err)
				}
			}
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBatch looks random addresses up together, all units being cold at
// first.
func BenchmarkBatch(b *testing.B) {
	path := bigFile(b)
	rvas := randomCode(b, path, 1<<20)
	table := openTable(b, path)
	b.ReportAllocs()
	b.ResetTimer()
	for left := b.N; left > 0; left -= len(rvas) {
		err := symbols.LookupAll(context.Background(), table, rvas[:min(left, len(rvas))], func(int, symbols.Symbol, error) {})
		if err != nil {
			b.Fatal(err)
		}
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
