package pdb

import (
	"math/rand/v2"
	"os"
	"testing"

	"logparser/symbols"
	"logparser/symbols/symtest"
)

// benchFile opens the file that the benchmarks read: the one that the
// environment variable LOGPARSER_BENCH_PDB names, or conpty.pdb.
func benchFile(b *testing.B) *symbols.File {
	path := os.Getenv("LOGPARSER_BENCH_PDB")
	if path == "" {
		path = symtest.Path(b, "pdb", "conpty.pdb")
	}
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	st, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	return &symbols.File{Path: path, ReaderAt: f, Size: st.Size()}
}

// codeAddresses returns random RVAs in the contributions of code.
func codeAddresses(t *Table, n int) []uint64 {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]uint64, n)
	for i := range out {
		c := t.contributions[r.IntN(len(t.contributions))]
		rva, _ := t.sections.rva(c.sec, c.off+r.Uint32N(c.size))
		out[i] = uint64(rva)
	}
	return out
}

func BenchmarkOpen(b *testing.B) {
	f := benchFile(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Open(f); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFirstName opens a file and looks up one address in it.
func BenchmarkFirstName(b *testing.B) {
	f := benchFile(b)
	t, err := Open(f)
	if err != nil {
		b.Fatal(err)
	}
	addresses := codeAddresses(t, 1<<10)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		t, err := Open(f)
		if err != nil {
			b.Fatal(err)
		}
		t.Lookup(addresses[i%len(addresses)])
	}
}

// BenchmarkLookup looks up random addresses, with inlines and lines.
func BenchmarkLookup(b *testing.B) {
	t, err := Open(benchFile(b))
	if err != nil {
		b.Fatal(err)
	}
	addresses := codeAddresses(t, 1<<16)
	for _, a := range addresses {
		t.Lookup(a)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		t.Lookup(addresses[i%len(addresses)])
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "lookups/s")
}

// BenchmarkLookupCold looks up each procedure for the first time.
func BenchmarkLookupCold(b *testing.B) {
	f := benchFile(b)
	t, err := Open(f)
	if err != nil {
		b.Fatal(err)
	}
	addresses := codeAddresses(t, 1<<14)
	n := 0
	for b.Loop() {
		t, err := Open(f)
		if err != nil {
			b.Fatal(err)
		}
		for _, a := range addresses {
			t.Lookup(a)
			n++
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "lookups/s")
}
