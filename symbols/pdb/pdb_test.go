package pdb

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/pdb/msf"
	"logparser/symbols/pdb/msf/msftest"
)

// Types and ids of the built programs.
const (
	typeArgs     = 0x1000 // (int, char *)
	typeFunc     = 0x1001 // void (int, char *)
	idInlined    = 0x1000 // ns::inlined
	idInner      = 0x1001 // inner
	idNamespace  = 0x1002 // ns
	typeInt      = 0x74
	typeVoid     = 0x03
	typeCharPtr  = 0x670
	publicIsCode = publicFunction
)

func someTypes() [][]byte {
	return [][]byte{
		bin(uint16(lfArgList), uint32(2), uint32(typeInt), uint32(typeCharPtr)),
		bin(uint16(lfProcedure), uint32(typeVoid), uint8(0), uint8(0), uint16(2), uint32(typeArgs)),
	}
}

func someIDs() [][]byte {
	return [][]byte{
		bin(uint16(lfFuncID), uint32(idNamespace), uint32(typeFunc), "inlined"),
		bin(uint16(lfFuncID), uint32(0), uint32(typeFunc), "inner"),
		bin(uint16(lfStringID), uint32(0), "ns"),
	}
}

func inlineSite(id uint32, annotations ...byte) []byte {
	return bin(uint16(sInlineSite), uint32(0), uint32(0), id, annotations)
}

// sample is a program with one of everything.
func sample() *program {
	return &program{
		age: 7, infoAge: 9,
		types: someTypes(), ids: someIDs(),
		objects: []object{{
			name: "a.obj",
			code: [][2]uint32{{0, 0x400}},
			symbols: [][]byte{
				procedureRecord(sGProc32, "main", 0x10, 0x40, typeFunc),
				inlineSite(idInlined,
					opChangeLineOffset, 4, // +2
					opChangeCodeOffset, 0x08,
					opChangeFile, 0,
					opChangeCodeOffsetAndLineOffset, 0x28, // +1 line, +8
					opChangeCodeLength, 0x04),
				inlineSite(idInner, opCodeOffset, 0x10, opChangeCodeLengthAndCodeOffset, 2, 1),
				bin(uint16(sInlineSiteEnd)),
				bin(uint16(sInlineSiteEnd)),
				endRecord(),
				procedureRecord(sLProc32ID, "local", 0x60, 0x10, idInner),
				bin(uint16(sProcIDEnd)),
				bin(uint16(sThunk32), uint32(0), uint32(0), uint32(0), uint32(0x80), uint16(1), uint16(6), uint8(0), "importThunk"),
				endRecord(),
				bin(uint16(sSepCode), uint32(0), uint32(0), uint32(0x20), uint32(0), uint32(0x200), uint32(0x10), uint16(1), uint16(1)),
				endRecord(),
				bin(uint16(sGManProc), uint32(0), uint32(0), uint32(0), uint32(0x10), uint32(0), uint32(0), uint32(0x06000001), uint32(0x90), uint16(1), uint8(0), uint16(0), "Managed.Method"),
				endRecord(),
			},
			c13: slices.Concat(checksums(),
				lines(0x10, 0x40, 0, 0, 100, 0x08, 101, 0x20, 102, 0x30, lineNeverStep),
				lines(0x200, 0x20, 8, 0, 300),
				subsection(c13InlineeLines, uint32(0), uint32(idInlined), uint32(8), uint32(50)),
				subsection(c13InlineeLines, uint32(1), uint32(idInner), uint32(0), uint32(70), uint32(1), uint32(8))),
		}, {
			name: "* Linker *",
			code: [][2]uint32{{0x500, 0x100}},
			symbols: [][]byte{
				bin(uint16(sTrampoline), uint16(0), uint16(5), uint32(0x500), uint32(0x10), uint16(1), uint16(1)),
				bin(uint16(sTrampoline), uint16(1), uint16(8), uint32(0x510), uint32(0x60), uint16(1), uint16(1)),
				bin(uint16(sTrampoline), uint16(0), uint16(5), uint32(0x520), uint32(0x700), uint16(1), uint16(1)),
			},
		}, {
			name: "asm.obj", noStream: true,
			code: [][2]uint32{{0x700, 0x80}, {0x780, 0x40}},
		}},
		publics: []publicSymbol{
			{"main", publicIsCode, 1, 0x10},
			{"?named@ns@@YAXH@Z", publicIsCode, 1, 0x700},
			{"folded", publicIsCode, 1, 0x700},
			{"??_C@_03ABC@text@", 0, 1, 0x740},
			{"last", publicIsCode, 1, 0x750},
			{"data", 0, 2, 0x10},
		},
	}
}

func TestSample(t *testing.T) {
	table, err := sample().open()
	if err != nil {
		t.Fatal(err)
	}
	want := modules.Identity{PDB: modules.GUID([]byte("0123456789abcdef")), Age: 7}
	if table.Identity() != want {
		t.Errorf("identity %v, want %v", table.Identity(), want)
	}
	for _, c := range []struct {
		rva  uint64
		want string
	}{
		{0x100F, ""},
		{0x1010, `1010+40 procedure main(int, char *) a.cpp:100`},
		{0x1017, `1010+40 procedure main(int, char *) a.cpp:100`},
		{0x1018, `1010+40 procedure ns::inlined(int, char *) a.h:52 < main(int, char *) a.cpp:101`},
		{0x1020, `1010+40 procedure ns::inlined(int, char *) a.cpp:53 < main(int, char *) a.cpp:101`},
		{0x1021, `1010+40 procedure inner(int, char *) a.cpp:70 < ns::inlined(int, char *) a.cpp:53 < main(int, char *) a.cpp:101`},
		{0x1023, `1010+40 procedure ns::inlined(int, char *) a.cpp:53 < main(int, char *) a.cpp:101`},
		{0x1024, `1010+40 procedure main(int, char *) a.cpp:101`},
		{0x1030, `1010+40 procedure main(int, char *) a.cpp:102`},
		{0x1040, `1010+40 procedure main(int, char *) a.cpp:0`},
		{0x1050, ""}, // a public does not go on behind its procedure
		{0x1060, `1060+10 procedure local(int, char *) :0`},
		{0x1080, `1080+6 thunk importThunk :0`},
		{0x1085, `1080+6 thunk importThunk :0`},
		{0x1086, ""},
		{0x1090, ""}, // managed code
		{0x1200, `1200+20 procedure main(int, char *) a.h:300`},
		{0x1500, `1500+5 ilt-thunk main(int, char *) :0`},
		{0x1510, `1510+8 thunk local(int, char *) :0`},
		{0x1520, `1520+5 ilt-thunk ns::named(int) :0`},
		{0x1530, ""},
		{0x1700, `1700+0 public ns::named(int) :0 = folded`},
		{0x173F, `1700+0 public ns::named(int) :0 = folded`},
		{0x1740, ""}, // a string constant is no function
		{0x174F, ""},
		{0x1750, `1750+0 public last :0`},
		{0x177F, `1750+0 public last :0`},
		{0x1780, ""}, // another contribution
		{0x17C0, ""}, // no contribution
		{0x81000, ""},
		{0x100010, ""}, // data
		{1 << 32, ""},
		{^uint64(0), ""},
	} {
		if got := describe(t, table, c.rva); got != c.want {
			t.Errorf("%x: got  %s\n    want %s", c.rva, got, c.want)
		}
	}
}

// describe returns in a line what a table says of an RVA, "" for nothing.
func describe(t testing.TB, table *Table, rva uint64) string {
	t.Helper()
	s, err := table.Lookup(rva)
	if errors.Is(err, symbols.ErrNotFound) {
		return ""
	}
	if err != nil {
		return "error: " + err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%x+%x %s", s.Start, s.Size, s.Kind)
	for i, f := range s.Frames {
		if i > 0 {
			b.WriteString(" <")
		}
		name := f.Function
		if f.Signature != "" {
			name = f.Signature
		}
		fmt.Fprintf(&b, " %s %s:%d", name, f.File[strings.LastIndexByte(f.File, '\\')+1:], f.Line)
	}
	for _, a := range s.Aliases {
		fmt.Fprintf(&b, " = %s", a)
	}
	return b.String()
}

// TestShapesOfFile changes how the same program is stored, which must not
// change the answers.
func TestShapesOfFile(t *testing.T) {
	answers := func(t *testing.T, table *Table) string {
		var b strings.Builder
		for rva := uint64(0x1000); rva < 0x1800; rva++ {
			fmt.Fprintf(&b, "%x %s\n", rva, describe(t, table, rva))
		}
		return b.String()
	}
	table, err := sample().open()
	if err != nil {
		t.Fatal(err)
	}
	want := answers(t, table)
	check := func(name string, table *Table, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := answers(t, table); got != want {
			t.Errorf("%s: other answers", name)
		}
	}
	for size := 512; size <= 65536; size *= 2 {
		f := sample().file()
		f.PageSize, f.Scatter = size, size%1024 == 0
		table, err := openBytes(f.Bytes())
		check(fmt.Sprintf("pages of %d bytes", size), table, err)
	}
	f := sample().file()
	f.PageSize, f.FirstPage = 65536, 200000
	r, size := f.ReaderAt()
	table, err = Open(&symbols.File{ReaderAt: r, Size: size})
	check("file of 13 GB", table, err)

	p := sample()
	p.newContributions = true
	table, err = p.open()
	check("second layout of contributions", table, err)
	p = sample()
	p.shuffle = true
	p.publics = append(p.publics[3:], p.publics[:3]...)
	table, err = p.open()
	check("publics in no order", table, err)
}

// TestShapesRepacked does the same with what the real linker wrote.
func TestShapesRepacked(t *testing.T) {
	b := shapes(t, "x86_64")
	table, err := openBytes(b)
	if err != nil {
		t.Fatal(err)
	}
	want := render(t, table)
	f := msftest.Load(t, bytes.NewReader(b), int64(len(b)))
	for size := 512; size <= 65536; size *= 2 {
		for _, scatter := range []bool{false, true} {
			f.PageSize, f.Scatter = size, scatter
			if table, err = openBytes(f.Bytes()); err != nil {
				t.Fatal(err)
			}
			if render(t, table) != want {
				t.Errorf("other answers from pages of %d bytes, scattered %v", size, scatter)
			}
		}
	}
	// Without the marks that the linker left, types are found as well.
	le.PutUint16(f.Streams[streamTPI][20:], noStream)
	le.PutUint16(f.Streams[streamIPI][20:], noStream)
	if table, err = openBytes(f.Bytes()); err != nil {
		t.Fatal(err)
	}
	if render(t, table) != want {
		t.Error("other answers without the types' marks")
	}
}

// TestWithoutContributions finds procedures by a scan of all modules.
func TestWithoutContributions(t *testing.T) {
	p := sample()
	for i := range p.objects {
		p.objects[i].code = nil
	}
	table, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rva  uint64
		want string
	}{
		{0x1021, `1010+40 procedure inner(int, char *) a.cpp:70 < ns::inlined(int, char *) a.cpp:53 < main(int, char *) a.cpp:101`},
		{0x1065, `1060+10 procedure local(int, char *) :0`},
		{0x1700, `1700+0 public ns::named(int) :0 = folded`},
		{0x1055, ""},
	} {
		if got := describe(t, table, c.rva); got != c.want {
			t.Errorf("%x: got  %s\n    want %s", c.rva, got, c.want)
		}
	}
}

// TestFolded has three functions at one address. The one of the module that
// owns the contribution is shown.
func TestFolded(t *testing.T) {
	p := &program{objects: []object{
		{name: "a.obj", symbols: [][]byte{procedureRecord(sGProc32, "first", 0x10, 8, 0), endRecord()}},
		{name: "b.obj", code: [][2]uint32{{0x10, 8}}, symbols: [][]byte{
			procedureRecord(sGProc32, "owner", 0x10, 8, 0), endRecord(),
			procedureRecord(sGProc32, "owner's twin", 0x10, 8, 0), endRecord()}},
		{name: "c.obj", code: [][2]uint32{{0x20, 8}}, symbols: [][]byte{
			procedureRecord(sGProc32, "alone", 0x20, 8, 0), endRecord(),
			procedureRecord(sGProc32, "third", 0x10, 8, 0), endRecord()}},
		// Code whose own module says nothing about it.
		{name: "asm.obj", code: [][2]uint32{{0x30, 8}}},
		{name: "d.obj", symbols: [][]byte{procedureRecord(sGProc32, "stray", 0x30, 8, 0), endRecord()}},
	}}
	table, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rva  uint64
		want string
	}{
		{0x1010, "1010+8 procedure owner :0 = first = owner's twin = third"},
		{0x1017, "1010+8 procedure owner :0 = first = owner's twin = third"},
		{0x1018, ""},
		{0x1020, "1020+8 procedure alone :0"},
		{0x1034, "1030+8 procedure stray :0"},
	} {
		if got := describe(t, table, c.rva); got != c.want {
			t.Errorf("%x: got  %s\n    want %s", c.rva, got, c.want)
		}
	}
	// A large file gives the aliases only when it is asked.
	table, err = p.open()
	if err != nil {
		t.Fatal(err)
	}
	table.eager = false
	for range 2 {
		if got, want := describe(t, table, 0x1010), "1010+8 procedure owner :0"; got != want {
			t.Errorf("before ReadAliases: got %s, want %s", got, want)
		}
		// The stray makes all modules be read, which changes no other answer.
		if got, want := describe(t, table, 0x1034), "1030+8 procedure stray :0"; got != want {
			t.Errorf("before ReadAliases: got %s, want %s", got, want)
		}
	}
	if err := table.ReadAliases(); err != nil {
		t.Fatal(err)
	}
	if got, want := describe(t, table, 0x1010), "1010+8 procedure owner :0 = first = owner's twin = third"; got != want {
		t.Errorf("after ReadAliases: got %s, want %s", got, want)
	}
}

// countingReader counts the bytes that are read.
type countingReader struct {
	io.ReaderAt
	n atomic.Int64
}

func (r *countingReader) ReadAt(b []byte, off int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(b, off)
	r.n.Add(int64(n))
	return n, err
}

// TestFirstNameReadsLittle opens a large file and looks one address up: only
// aliases make all modules be read.
func TestFirstNameReadsLittle(t *testing.T) {
	p := &program{}
	const modules, each = 300, 200
	for m := range uint32(modules) {
		o := object{name: fmt.Sprint(m, ".obj"), code: [][2]uint32{{m * 16 * each, 16 * each}}}
		for i := range uint32(each) {
			name := fmt.Sprintf("function %d of module %d, %s", i, m, strings.Repeat("x", 100))
			o.symbols = append(o.symbols, procedureRecord(sGProc32, name, (m*each+i)*16, 16, 0), endRecord())
		}
		p.objects = append(p.objects, o)
	}
	data := p.file().Bytes()
	counter := &countingReader{ReaderAt: bytes.NewReader(data)}
	table, err := Open(&symbols.File{Path: "large.pdb", ReaderAt: counter, Size: int64(len(data))})
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	table.eager = false
	sym, err := table.Lookup(0x1000 + 150*16*each + 5)
	if err != nil || !strings.HasPrefix(sym.Frames[0].Function, "function 0 of module 150,") {
		t.Fatalf("%+v, %v", sym, err)
	}
	if n := counter.n.Load(); n > int64(len(data))/10 {
		t.Errorf("the first name reads %d of %d bytes", n, len(data))
	}
	if err := table.ReadAliases(); err != nil {
		t.Fatal(err)
	}
	if n := counter.n.Load(); n < int64(len(data))/2 {
		t.Errorf("with all aliases %d of %d bytes are read", n, len(data))
	}
}

// TestNested has a procedure within a procedure, and one of no length.
func TestNested(t *testing.T) {
	p := &program{objects: []object{{name: "a.obj", code: [][2]uint32{{0, 0x100}}, symbols: [][]byte{
		procedureRecord(sGProc32, "outer", 0x10, 0x40, 0), endRecord(),
		procedureRecord(sGProc32, "inside", 0x20, 8, 0), endRecord(),
		procedureRecord(sGProc32, "empty", 0x60, 0, 0), endRecord(),
	}}}}
	table, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	for rva, want := range map[uint64]string{
		0x1010: "1010+40 procedure outer :0", 0x101F: "1010+40 procedure outer :0",
		0x1020: "1020+8 procedure inside :0", 0x1027: "1020+8 procedure inside :0",
		0x1028: "1010+40 procedure outer :0", 0x104F: "1010+40 procedure outer :0", 0x1050: "",
		0x1060: "1060+0 procedure empty :0", 0x1061: "",
	} {
		if got := describe(t, table, rva); got != want {
			t.Errorf("%x: got %s, want %s", rva, got, want)
		}
	}
}

// TestCrossModule has an inlined function whose id another module exports.
func TestCrossModule(t *testing.T) {
	imports := subsection(c13CrossScopeImports,
		uint32(1), uint32(1), uint32(0x99), // a module that is not asked
		uint32(25), uint32(2), uint32(0x1F), uint32(0x20)) // b.obj
	p := &program{types: someTypes(), ids: someIDs(), objects: []object{
		{name: "a.obj", code: [][2]uint32{{0, 0x100}},
			symbols: [][]byte{
				procedureRecord(sGProc32, "main", 0x10, 0x40, 0),
				inlineSite(crossScope|1<<20|1, opChangeCodeLengthAndCodeOffset, 4, 8), bin(uint16(sInlineSiteEnd)),
				inlineSite(crossScope|1<<20|7, opChangeCodeLengthAndCodeOffset, 4, 16), bin(uint16(sInlineSiteEnd)),
				inlineSite(crossScope|5<<20, opChangeCodeLengthAndCodeOffset, 4, 24), bin(uint16(sInlineSiteEnd)),
				endRecord(),
			},
			c13: slices.Concat(checksums(), imports,
				subsection(c13InlineeLines, uint32(0), uint32(crossScope|1<<20|1), uint32(8), uint32(50)))},
		{name: "B.obj", symbols: [][]byte{},
			c13: subsection(c13CrossScopeExports, uint32(0x10), uint32(0x1001), uint32(0x20), uint32(idInlined))},
	}}
	table, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	for rva, want := range map[uint64]string{
		0x1018: "1010+40 procedure ns::inlined(int, char *) a.h:50 < main :0",
		// What the file does not name is not given the caller's name.
		0x1020: "1010+40 procedure (inlined function 0x80100007) :0 < main :0",
		0x1028: "1010+40 procedure (inlined function 0x80500000) :0 < main :0",
	} {
		if got := describe(t, table, rva); got != want {
			t.Errorf("%x: got  %s\n    want %s", rva, got, want)
		}
	}
}

// TestDecorated has names as assemblers record them for 32-bit x86.
func TestDecorated(t *testing.T) {
	p := &program{
		machine: machineX86,
		objects: []object{{name: "a.obj", code: [][2]uint32{{0, 0x100}}, symbols: [][]byte{
			procedureRecord(sGProc32, "_fromC", 0x10, 8, 0), endRecord(),
			procedureRecord(sGProc32, "__fromAssembler", 0x20, 8, 0), endRecord(),
			procedureRecord(sGProc32, "@fast@8", 0x30, 8, 0), endRecord(),
		}}},
		publics: []publicSymbol{
			{"__fromC", publicIsCode, 1, 0x10}, {"__fromAssembler", publicIsCode, 1, 0x20},
			{"@fast@8", publicIsCode, 1, 0x30}, {"_public", publicIsCode, 1, 0x50}, {"_std@4", publicIsCode, 1, 0x60},
		},
	}
	table, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	for rva, want := range map[uint64]string{
		0x1010: "_fromC", 0x1020: "_fromAssembler", 0x1030: "fast", 0x1050: "public", 0x1060: "std",
	} {
		s, err := table.Lookup(rva)
		if err != nil || s.Outermost().Function != want {
			t.Errorf("%x: got %v, %v, want %s", rva, s.Frames, err, want)
		}
	}
}

// TestRearranged has a procedure that was cut in two, with code inserted into
// the first part and a jump made longer.
func TestRearranged(t *testing.T) {
	p := &program{
		objects: []object{{name: "a.obj", code: [][2]uint32{{0x10, 0x30}}, symbols: [][]byte{
			procedureRecord(sGProc32, "first", 0x10, 0x20, 0), endRecord(),
			procedureRecord(sGProc32, "second", 0x30, 0x10, 0), endRecord(),
		}, c13: slices.Concat(checksums(), lines(0x10, 0x20, 0, 0, 1, 8, 2, 0x10, 3))}},
		omap: [2][]omapEntry{{
			{0x1010, 0},      // nothing
			{0x1100, 0x1010}, // first, its first 8 bytes
			{0x1108, 1 << 31},
			{0x1110, 0x1018}, // its next 8, with a jump of 2 bytes made 5 long
			{0x111B, 0},
			{0x1120, 0x1030}, // second
			{0x1130, 0},
			{0x1200, 0x1020}, // first, its last 16
			{0x1210, 1 << 31},
		}, {
			{0x1010, 0x1100}, {0x1018, 0x1110}, {0x1020, 0x1200}, {0x1030, 0x1120}, {0x1040, 1 << 31},
		}},
	}
	table, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rva  uint64
		want string
	}{
		{0xFFF, ""},
		{0x1010, ""},
		{0x10FF, ""},
		{0x1100, "1100+1b procedure first a.cpp:1"},
		{0x1108, "1100+1b procedure first a.cpp:1"}, // inserted
		{0x1110, "1100+1b procedure first a.cpp:2"},
		{0x111A, "1100+1b procedure first a.cpp:2"}, // the longer jump
		{0x111B, ""}, // between two functions
		{0x1120, "1120+10 procedure second :0"},
		{0x112F, "1120+10 procedure second :0"},
		{0x1200, "1200+10 procedure first a.cpp:3"},
		{0x1210, ""},
	} {
		if got := describe(t, table, c.rva); got != c.want {
			t.Errorf("%x: got  %s\n    want %s", c.rva, got, c.want)
		}
	}
	if !strings.Contains(table.Describe(), "OMAP") {
		t.Errorf("described as %q", table.Describe())
	}
	var got []string
	table.Procedures(func(rva uint64, name string) bool {
		got = append(got, fmt.Sprintf("%x %s", rva, name))
		return true
	})
	if want := []string{"1100 first", "1120 second"}; !slices.Equal(got, want) {
		t.Errorf("procedures %q, want %q", got, want)
	}
}

func TestDescribe(t *testing.T) {
	p := sample()
	p.features = []uint32{20140508, featureFastlink}
	p.flags = dbiIncremental | dbiStripped
	table, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"PDB 7.00", "FASTLINK", "incremental", "stripped"} {
		if !strings.Contains(table.Describe(), word) {
			t.Errorf("%q does not say %q", table.Describe(), word)
		}
	}
}

func TestRefused(t *testing.T) {
	pad := strings.Repeat("\x00", 100)
	noDBI := sample().file()
	noDBI.Streams[streamDBI] = []byte{}
	noHeaders := sample().file()
	le.PutUint16(noHeaders.Streams[streamDBI][len(noHeaders.Streams[streamDBI])-2:], noStream)
	dotNet := sample()
	dotNet.objects = dotNet.objects[:1]
	dotNet.objects[0].symbols = [][]byte{
		bin(uint16(sGManProc), uint32(0), uint32(0), uint32(0), uint32(0x10), uint32(0), uint32(0), uint32(0x06000001), uint32(0), uint16(0), uint8(0), uint16(0), "Main"),
		endRecord(),
	}
	managed := dotNet.file()
	le.PutUint16(managed.Streams[streamDBI][len(managed.Streams[streamDBI])-2:], noStream)
	whole := sample().file().Bytes()
	for _, c := range []struct {
		name string
		file []byte
		err  error
		text string
	}{
		{"Visual C++ 6", []byte("Microsoft C/C++ program database 2.00\r\n\x1aJG\x00\x00" + pad), ErrUnsupported, "JG"},
		{"compressed", []byte("Microsoft MSFZ Container\r\n\x1aALD\x00\x00" + pad), ErrUnsupported, "MSFZ"},
		{"portable", []byte("BSJB\x01\x00\x01\x00" + pad), symbols.ErrNoSymbols, "portable PDB"},
		{"empty", nil, msf.ErrMagic, ""},
		{"text", []byte("main 1000\n"), msf.ErrMagic, ""},
		{"a compiler's", noDBI.Bytes(), symbols.ErrNoSymbols, "compiler's PDB"},
		{"no section headers", noHeaders.Bytes(), symbols.ErrNoSymbols, "no section headers"},
		{"managed", managed.Bytes(), symbols.ErrNoSymbols, "managed code (.NET)"},
		{"managed, with section headers", onlyManaged().file().Bytes(), symbols.ErrNoSymbols, "managed code (.NET)"},
		{"cut", whole[:len(whole)-600], msf.ErrCut, fmt.Sprintf("need %d bytes, the file has %d", len(whole), len(whole)-600)},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := openBytes(c.file)
			if !errors.Is(err, c.err) || !strings.Contains(fmt.Sprint(err), c.text) {
				t.Errorf("got %v, want %v with %q", err, c.err, c.text)
			}
		})
	}
}

// TestCut cuts a file at every length.
func TestCut(t *testing.T) {
	whole := sample().file().Bytes()
	for n := range len(whole) {
		if _, err := openBytes(whole[:n]); err == nil {
			t.Fatalf("a file cut at %d of %d bytes opened", n, len(whole))
		}
	}
}

func TestCutReturn(t *testing.T) {
	for _, c := range []struct{ signature, name, want string }{
		{"void __cdecl ns::f(int)", "ns::f", "ns::f(int)"},
		{"public: virtual int __thiscall A::f(void) const", "A::f", "A::f() const"},
		{"public: __thiscall A::A(class A const &)", "A::A", "A::A(class A const &)"},
		{"class A __cdecl A(int)", "A", "A(int)"},
		{"int (__cdecl * __cdecl f(int))(char)", "f", "f(int)"},
		{"f", "f", ""},
		{"int x", "x", "int x"},
	} {
		if got := cutReturn(c.signature, c.name); got != c.want {
			t.Errorf("cutReturn(%q, %q) = %q, want %q", c.signature, c.name, got, c.want)
		}
	}
}

func TestFormat(t *testing.T) {
	for head, want := range map[string]bool{
		msf.Magic + "rest": true, "BSJB": true, "\x7fELF": false, "": false, msf.Magic[:20]: false,
	} {
		if got := Format.Detect([]byte(head)); got != want {
			t.Errorf("Detect(%q) = %v", head, got)
		}
	}
	b := shapes(t, "x86_64")
	table, err := Format.Open(&symbols.File{ReaderAt: bytes.NewReader(b), Size: int64(len(b))})
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Close(); err != nil {
		t.Error(err)
	}
	if table, err := Format.Open(&symbols.File{ReaderAt: bytes.NewReader(nil)}); err == nil || table != nil {
		t.Errorf("got %v, %v", table, err)
	}
}

// TestConcurrent looks up from many goroutines in a cache that is too small,
// so that modules come and go.
func TestConcurrent(t *testing.T) {
	b := shapes(t, "x86_64")
	table, err := openBytes(b)
	if err != nil {
		t.Fatal(err)
	}
	want := render(t, table)
	if table, err = openBytes(b); err != nil {
		t.Fatal(err)
	}
	table.cache.limit = 2000
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if render(t, table) != want {
				t.Error("other answers from a small cache")
			}
		}()
	}
	wg.Wait()
	if n := table.cache.bytes.Load(); n < 0 || n > 100_000 {
		t.Errorf("%d bytes are counted", n)
	}
}
