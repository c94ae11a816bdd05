package mapfile

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
)

// manySymbols makes a map of link.exe with n functions, 32 bytes each.
func manySymbols(n int) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, " big\n\n Timestamp is 5f3a1b2c (Mon Aug 17 07:40:12 2020)\n\n"+
		" Preferred load address is 0000000140000000\n\n"+
		" Start         Length     Name                   Class\n 0001:00000000 %08xH .text$mn                CODE\n\n"+
		"  Address         Publics by Value              Rva+Base               Lib:Object\n\n", 32*n)
	for i := 0; i < n; i++ {
		fmt.Fprintf(&b, " 0001:%08x       ?method_%d@?$Holder@VWidget_%d@app@@@app@@QEAAXH@Z %016x f   part_%d.obj\n",
			32*i, i, i%1000, 0x140001000+int64(32*i), i%777)
	}
	return []byte(b.String())
}

func BenchmarkOpen(b *testing.B) {
	text := manySymbols(100_000)
	b.ResetTimer()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for i := 0; i < b.N; i++ {
		t, err := openBytes(text)
		if err != nil {
			b.Fatal(err)
		}
		t.Close()
	}
}

func BenchmarkLookup(b *testing.B) {
	const n = 100_000
	t, err := openBytes(manySymbols(n))
	if err != nil {
		b.Fatal(err)
	}
	random := rand.New(rand.NewSource(1))
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		rva := 0x1000 + uint64(random.Intn(32*n))
		if s, err := t.Lookup(rva); err != nil || s.Start != rva&^31 {
			b.Fatalf("%#x: %+v, %v", rva, s, err)
		}
	}
}
