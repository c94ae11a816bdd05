package pdb

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"logparser/symbols/pdb/msf/msftest"
)

// exercise asks a table for everything, and more addresses than it has.
func exercise(table *Table) {
	n := 0
	table.Procedures(func(rva uint64, _ string) bool {
		for _, d := range []uint64{0, 1, 7, 0x40} {
			table.Lookup(rva + d)
		}
		n++
		return n < 500
	})
	for rva := uint64(0xFF0); rva < 0x1300; rva += 3 {
		table.Lookup(rva)
	}
	for rva := uint64(0); rva < 1<<32; rva += 1<<32/50 + 12345 {
		table.Lookup(rva)
	}
	table.ReadAliases()
	table.Describe()
}

// maxBeyond is what a reader may allocate beyond the file's size, in bytes.
const maxBeyond = 64 << 20

// allocated returns how many bytes f allocates, freed ones included.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// rounds is how often the random tests run: the environment variable
// LOGPARSER_SOAK, or few.
func rounds(few int) int {
	if n, err := strconv.Atoi(os.Getenv("LOGPARSER_SOAK")); err == nil {
		return n
	}
	return few
}

// TestChangedBytes changes 16 random bytes, and wants an error or answers,
// soon, within the memory that is allowed.
func TestChangedBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, c := range []struct {
		name string
		file []byte
	}{
		{"shapes", shapes(t, "x86_64")},
		{"sample", sample().file().Bytes()},
	} {
		opened := 0
		n := rounds(150)
		for i := range n {
			b := bytes.Clone(c.file)
			for range 16 {
				b[r.IntN(len(b))] = byte(r.Uint32())
			}
			begin := time.Now()
			var err error
			used := allocated(func() {
				var table *Table
				if table, err = openBytes(b); err == nil {
					opened++
					exercise(table)
				}
			})
			if used > uint64(len(b))+maxBeyond {
				t.Errorf("%s, round %d: %d bytes allocated", c.name, i, used)
			}
			if d := time.Since(begin); d > 20*time.Second {
				t.Errorf("%s, round %d: took %v", c.name, i, d)
			}
		}
		t.Logf("%s: %d of %d opened", c.name, opened, n)
	}
}

// TestChangedWords puts the values that break readers into each word of the
// sample's tables.
func TestChangedWords(t *testing.T) {
	whole := sample().file()
	for i, stream := range whole.Streams {
		for off := 0; off+4 <= len(stream); off += 4 {
			for _, v := range []uint32{0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, uint32(len(stream))} {
				old := le.Uint32(stream[off:])
				le.PutUint32(stream[off:], v)
				b := whole.Bytes()
				le.PutUint32(stream[off:], old)
				table, err := openBytes(b)
				if err != nil {
					continue
				}
				begin := time.Now()
				for rva := uint64(0x1010); rva < 0x1760; rva += 0x10 {
					table.Lookup(rva)
				}
				table.ReadAliases()
				if d := time.Since(begin); d > 10*time.Second {
					t.Errorf("stream %d, offset %d = %#x: took %v", i, off, v, d)
				}
			}
		}
	}
}

// TestEndlessTypes has types that are made of themselves.
func TestEndlessTypes(t *testing.T) {
	const self = 0x1000
	wide := bin(uint16(lfArgList), uint32(1000))
	for range 1000 {
		wide = append(wide, bin(uint32(self+1))...)
	}
	for _, c := range []struct {
		name  string
		types [][]byte
	}{
		{"pointer to itself", [][]byte{bin(uint16(lfPointer), uint32(self), uint32(0xC))}},
		{"const itself", [][]byte{bin(uint16(lfModifier), uint32(self), uint16(1))}},
		{"array of itself", [][]byte{bin(uint16(lfArray), uint32(self), uint32(typeInt), uint16(4), "")}},
		{"function that takes itself", [][]byte{
			bin(uint16(lfProcedure), uint32(self), uint8(0), uint8(0), uint16(1), uint32(self+1)),
			bin(uint16(lfArgList), uint32(1), uint32(self))}},
		{"1000 functions of 1000 functions", [][]byte{
			wide, bin(uint16(lfProcedure), uint32(typeVoid), uint8(0), uint8(0), uint16(1), uint32(self))}},
		{"list that is no list", [][]byte{bin(uint16(lfProcedure), uint32(typeVoid), uint8(0), uint8(0), uint16(1), uint32(self))}},
		{"longer than its record", [][]byte{bin(uint16(lfArgList), uint32(1<<30), uint32(typeInt))}},
		{"member pointer into itself", [][]byte{bin(uint16(lfPointer), uint32(self), uint32(0x40), uint32(self), uint16(0))}},
	} {
		t.Run(c.name, func(t *testing.T) {
			table, err := (&program{types: c.types, objects: []object{{name: "a.obj"}}}).open()
			if err != nil {
				t.Fatal(err)
			}
			used := allocated(func() {
				for i := range c.types {
					p := printer{typeNames: table.typeNames}
					if s, err := p.typeName(uint32(self + i)); len(s) > 2*maxTypeText {
						t.Errorf("type %d: text of %d bytes, %v", i, len(s), err)
					}
					table.typeNames.parameters(uint32(self + i))
				}
			})
			if used > maxBeyond {
				t.Errorf("%d bytes allocated", used)
			}
		})
	}
	// Strings that are made of themselves.
	ids := [][]byte{
		bin(uint16(lfSubstrList), uint32(2), uint32(self+1), uint32(self+1)),
		bin(uint16(lfStringID), uint32(self), strings.Repeat("x", 1000)),
		bin(uint16(lfFuncID), uint32(self+1), uint32(0), "f"),
	}
	table, err := (&program{ids: ids, objects: []object{{name: "a.obj"}}}).open()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := table.typeNames.function(self + 2); !errors.Is(err, errNoType) {
		t.Errorf("endless string: %v", err)
	}
}

// TestDeepInlining nests calls deeper than is read.
func TestDeepInlining(t *testing.T) {
	list := [][]byte{procedureRecord(sGProc32, "main", 0, 0x100, 0)}
	for range 3 * maxSiteDepth {
		list = append(list, inlineSite(idInner, opChangeCodeLengthAndCodeOffset, 8, 0))
	}
	for range 3 * maxSiteDepth {
		list = append(list, bin(uint16(sInlineSiteEnd)))
	}
	list = append(list, endRecord())
	p := &program{ids: someIDs(), objects: []object{{name: "a.obj", code: [][2]uint32{{0, 0x100}}, symbols: list}}}
	table, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Lookup(0x1000); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

// TestManyRecords has as many records of each kind as fit into a few megabytes,
// all over each other.
func TestManyRecords(t *testing.T) {
	const n = 200_000
	many := func(record func(i int) []byte) []byte {
		b := bin(uint32(4))
		for i := range n {
			b = append(b, records([][]byte{record(i)})...)
		}
		return b
	}
	var blocks, inlinees []byte
	for i := range uint32(n) {
		blocks = append(blocks, subsection(c13Lines, i%1000, uint16(1), uint16(0), uint32(1<<20))...)
		inlinees = append(inlinees, bin(i, uint32(0), i)...)
	}
	rows := bytes.Repeat([]byte{opChangeCodeOffsetAndLineOffset, 0x11}, 20000)
	site := records([][]byte{inlineSite(idInner, rows...), bin(uint16(sInlineSiteEnd))})
	inlined := append(bin(uint32(4)), records([][]byte{procedureRecord(sGProc32, "main", 0, 0x70000, 0)})...)
	inlined = append(inlined, bytes.Repeat(site, 50)...)
	for _, c := range []struct {
		name         string
		symbols, c13 []byte
	}{
		{"trampolines", many(func(i int) []byte {
			return bin(uint16(sTrampoline), uint16(0), uint16(0xFFFF), uint32(i%0x400), uint32(0), uint16(1), uint16(1))
		}), nil},
		{"procedures", many(func(i int) []byte { return procedureRecord(sGProc32, "", uint32(i%0x400), 1<<31, 0) }), nil},
		{"blocks of lines", symbolRecords(sample().objects[0].symbols), blocks},
		{"inlinees", symbolRecords(sample().objects[0].symbols), subsection(c13InlineeLines, uint32(0), inlinees)},
		{"inlined lines", inlined, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := raw(c.symbols, c.c13).file().Bytes()
			begin := time.Now()
			// Of each look-up of its own, as what an earlier one has left
			// over is given back.
			for _, rva := range []uint64{0x1000, 0x1010, 0x1234} {
				used := allocated(func() {
					table, err := openBytes(b)
					if err != nil {
						t.Fatal(err)
					}
					table.Lookup(rva)
				})
				if used > uint64(len(b))+maxBeyond {
					t.Errorf("%d bytes allocated for a file of %d", used, len(b))
				}
			}
			table, err := openBytes(b)
			if err != nil {
				t.Fatal(err)
			}
			for rva := uint64(0x1000); rva < 0x1400; rva++ {
				table.Lookup(rva)
			}
			if d := time.Since(begin); d > time.Minute {
				t.Errorf("took %v", d)
			}
		})
	}
}

// newShapes are programs of the kinds that the readers of other tools, and
// this one once, have taken for something else.
func newShapes() []*program {
	var list []*program
	for _, c := range []struct {
		features []uint32
		stream4  []byte
	}{
		{[]uint32{}, vs2008Stream4()},
		{[]uint32{}, linkedIDs(someIDs())},
		{[]uint32{featureVC110}, linkedIDs(someIDs())},
	} {
		p := sample()
		p.features, p.stream4 = c.features, c.stream4
		list = append(list, p)
	}
	return append(list, stretched(), mixed(), onlyManaged())
}

func FuzzOpen(f *testing.F) {
	f.Add(sample().file().Bytes())
	small := msftest.Load(f, bytes.NewReader(shapes(f, "x86_64")), int64(len(shapes(f, "x86_64"))))
	small.PageSize = 512
	f.Add(small.Bytes())
	for _, p := range newShapes() {
		f.Add(p.file().Bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if table, err := openBytes(b); err == nil {
			exercise(table)
		}
	})
}

// fuzzModule looks up everything in a program of one module.
func fuzzModule(p *program) {
	table, err := p.open()
	if err != nil {
		return
	}
	for rva := uint64(0x1000); rva < 0x1400; rva += 5 {
		table.Lookup(rva)
	}
	table.ReadAliases()
}

// raw is a module whose symbols are given as they are in the file.
func raw(symbols, c13 []byte) *program {
	p := &program{types: someTypes(), ids: someIDs(), machine: machineX86,
		objects: []object{{name: "a.obj", code: [][2]uint32{{0, 0x400}}, c13: c13}},
		publics: sample().publics}
	p.objects[0].raw = symbols
	return p
}

func FuzzSymbols(f *testing.F) {
	for _, o := range sample().objects {
		f.Add(symbolRecords(o.symbols))
	}
	m := msftest.Load(f, bytes.NewReader(shapes(f, "x86_64")), int64(len(shapes(f, "x86_64"))))
	for _, s := range m.Streams {
		if len(s) > 4 && len(s) < 8192 && le.Uint32(s) == 4 {
			f.Add(s)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) { fuzzModule(raw(b, sample().objects[0].c13)) })
}

func FuzzLines(f *testing.F) {
	f.Add(sample().objects[0].c13)
	f.Fuzz(func(t *testing.T, b []byte) {
		fuzzModule(raw(symbolRecords(sample().objects[0].symbols), b))
	})
}

func FuzzTypes(f *testing.F) {
	f.Add(records(someTypes()), records(someIDs()))
	m := msftest.Load(f, bytes.NewReader(shapes(f, "x86_64")), int64(len(shapes(f, "x86_64"))))
	f.Add(m.Streams[streamTPI][typeHeaderSize:], m.Streams[streamIPI][typeHeaderSize:])
	f.Fuzz(func(t *testing.T, types, ids []byte) {
		p := &program{objects: []object{{name: "a.obj"}}}
		file := p.file()
		for stream, b := range map[int][]byte{streamTPI: types, streamIPI: ids} {
			h := bytes.Clone(file.Streams[stream][:typeHeaderSize])
			le.PutUint32(h[12:], firstType+200)
			le.PutUint32(h[16:], uint32(len(b)))
			file.Streams[stream] = append(h, b...)
		}
		table, err := openBytes(file.Bytes())
		if err != nil {
			return
		}
		for i := range uint32(200) {
			p := printer{typeNames: table.typeNames}
			if s, _ := p.typeName(firstType + i); len(s) > 1<<20 {
				t.Errorf("text of %d bytes", len(s))
			}
			table.typeNames.parameters(firstType + i)
			table.typeNames.function(firstType + i)
		}
	})
}

// FuzzOmap has any OMAP tables: what is found lies around what was asked for.
func FuzzOmap(f *testing.F) {
	add := func(p *program) {
		s := p.file().Streams
		f.Add(s[testToSource], s[testFrom])
	}
	add(stretched())
	original, err := openBytes(shapes(f, "i686"))
	if err != nil {
		f.Fatal(err)
	}
	for i := range arrangements {
		r := rand.New(rand.NewPCG(uint64(i), 2))
		to, from, _, _ := arrangements[i].tables(codePieces(f, original, arrangements[i].whole, r), r)
		add(&program{omap: [2][]omapEntry{to, from}})
	}
	f.Fuzz(func(t *testing.T, toSource, fromSource []byte) {
		file := stretched().file()
		file.Streams[testToSource], file.Streams[testFrom] = toSource, fromSource
		table, err := openBytes(file.Bytes())
		if err != nil {
			return
		}
		for rva := uint64(0x1000); rva < 0x1400; rva += 3 {
			s, err := table.Lookup(rva)
			if err == nil && (rva < s.Start || rva >= s.Start+s.Size) {
				t.Errorf("%#x: found in %#x bytes from %#x", rva, s.Size, s.Start)
			}
		}
		table.Procedures(func(uint64, string) bool { return true })
	})
}

func FuzzAnnotations(f *testing.F) {
	f.Add([]byte{opChangeLineOffset, 4, opChangeCodeOffset, 8, opChangeCodeOffsetAndLineOffset, 0x28, opChangeCodeLength, 4}, uint32(0x40))
	f.Fuzz(func(t *testing.T, b []byte, size uint32) {
		rows, ranges := annotations(b, inlinee{line: 10}, size)
		for _, r := range ranges {
			if r.start >= r.end || r.end > size {
				t.Errorf("range %d to %d of %d", r.start, r.end, size)
			}
		}
		for _, r := range rows {
			if r.off >= size {
				t.Errorf("row at %d of %d", r.off, size)
			}
		}
	})
}

// TestProceduresCancelled cancels while the procedures of one module are read: not all of them are.
func TestProceduresCancelled(t *testing.T) {
	const n = 10_000
	var list [][]byte
	for i := range uint32(n) {
		list = append(list, procedureRecord(sGProc32, "f", 16*i, 16, 0), endRecord())
	}
	table, err := (&program{objects: []object{{name: "a.obj", symbols: list}}}).open()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	read := 0
	err = table.EachProcedure(ctx, func(*Procedure) bool {
		cancel()
		read++
		return true
	}, func(uint16, []byte) {}, func() {})
	if read == 0 || read > n/10 || err != context.Canceled {
		t.Errorf("%d procedures are read: %v", read, err)
	}
}
