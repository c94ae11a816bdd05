package pdb

import (
	"bytes"
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"logparser/symbols"
	"logparser/symbols/pdb"
	"logparser/symbols/pdb/msf/msftest"
	"logparser/symbols/types"
)

const (
	intType = 0x74 // of 4 bytes
	public  = uint16(isPublic)
)

// bin joins numbers of their own width and texts into bytes.
func bin(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case []byte:
			b = append(b, p...)
		case string:
			b = append(append(b, p...), 0)
		default:
			var err error
			if b, err = binary.Append(b, binary.LittleEndian, p); err != nil {
				panic(err)
			}
		}
	}
	return b
}

// padded fills up to four bytes with a length word, as lists of fields are.
func padded(b []byte) []byte {
	b = slices.Clip(b)
	for n := (len(b) + 2) % 4; n != 0; n = (len(b) + 2) % 4 {
		b = append(b, lfPadding+byte(4-n))
	}
	return b
}

// records puts lengths in front of records.
func records(list [][]byte) []byte {
	var b []byte
	for _, r := range list {
		r = padded(r)
		b = append(append(b, bin(uint16(len(r)))...), r...)
	}
	return b
}

// Records of types.
func modifierRecord(of uint32, attributes uint16) []byte {
	return bin(uint16(lfModifier), of, attributes)
}
func pointerRecord(to uint32) []byte { return bin(uint16(lfPointer), to, uint32(0x1000C)) }
func arrayRecord(of uint32, size uint16) []byte {
	return bin(uint16(lfArray), of, uint32(0x23), size, "")
}
func argumentsRecord(list ...uint32) []byte { return bin(uint16(lfArgList), uint32(len(list)), list) }
func procedureType(result, arguments uint32, count uint16) []byte {
	return bin(uint16(lfProcedure), result, uint8(0), uint8(0), count, arguments)
}
func classRecord(count, properties uint16, list uint32, size uint16, names ...any) []byte {
	return bin(uint16(lfStructure), count, properties, list, uint32(0), uint32(0), size, bin(names...))
}

// Records of fields.
func memberRecord(typ uint32, offset uint16, name string) []byte {
	return paddedField(bin(uint16(lfMember), public, typ, offset, name))
}
func methodRecord(typ uint32, name string) []byte {
	return paddedField(bin(uint16(lfOneMethod), public, typ, name))
}
func continuedRecord(list uint32) []byte { return bin(uint16(lfIndex), uint16(0), list) }
func listRecord(fields ...[]byte) []byte {
	return bin(uint16(lfFieldList), slices.Concat(fields...))
}

// paddedField is padded for what stands within a list.
func paddedField(b []byte) []byte { return padded(append([]byte{0, 0}, b...))[2:] }

// A proc is a procedure of a program.
type proc struct {
	name  string
	typ   uint32
	flags uint8
	own   [][]byte
}

// tableOf returns a PDB with types, from firstType on, and with procedures of C or C++ of a compiler.
func tableOf(t *testing.T, list [][]byte, language uint32, compiler string, procedures ...proc) *pdb.Table {
	t.Helper()
	body := records(list)
	head := bin(uint32(20040203), uint32(56), uint32(firstType), uint32(firstType+len(list)), uint32(len(body)), uint16(0xFFFF), uint16(0xFFFF))
	code := [][]byte{bin(uint16(0x113C), language, uint16(0xD0), make([]byte, 16), compiler)}
	for i, p := range procedures {
		code = append(code, bin(uint16(0x1110), make([]byte, 12), uint32(16), uint32(0), uint32(16), p.typ, uint32(16*i), uint16(1), p.flags, p.name))
		code = append(append(code, p.own...), bin(uint16(0x0006)))
	}
	module := append(bin(uint32(4)), records(code)...)
	unit := bin(uint32(0), make([]byte, 28), uint16(0), uint16(8), uint32(len(module)), make([]byte, 24), "a.obj", "a.obj")
	for len(unit)%4 != 0 {
		unit = append(unit, 0)
	}
	slots := []uint16{0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 5}
	f := &msftest.File{PageSize: 4096, Streams: [][]byte{
		{},
		bin(uint32(20000404), uint32(1), uint32(1), make([]byte, 16), uint32(0), uint32(0), uint32(1), uint32(1), uint32(0), uint32(0), uint32(0), uint32(20140508)),
		append(append(head, make([]byte, 56-len(head))...), body...),
		bin(uint32(math.MaxUint32), uint32(19990903), uint32(1), uint16(0xFFFF), uint16(0), uint16(6), uint16(0), uint16(7), uint16(0),
			uint32(len(unit)), make([]byte, 20), uint32(2*len(slots)), uint32(0), uint16(0), uint16(0x8664), uint32(0), unit, slots),
		bin(uint32(20040203), uint32(56), uint32(firstType), uint32(firstType), uint32(0), make([]byte, 36)),
		bin([]byte(".section"), uint32(1<<24), uint32(0x1000), uint32(1<<24), make([]byte, 16), uint32(0x60000020)),
		bin(uint32(4), make([]byte, 28)),
		{},
		module,
	}}
	b := f.Bytes()
	table, err := pdb.Open(&symbols.File{Path: "x.pdb", ReaderAt: bytes.NewReader(b), Size: int64(len(b))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table
}

// readerOf returns a reader of types, whose definitions are known.
func readerOf(t *testing.T, list ...[]byte) *reader {
	t.Helper()
	r := newReader(tableOf(t, list, languageC, "clang"), nil)
	if err := r.define(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

func functions(t *testing.T, table *pdb.Table) []types.Function {
	t.Helper()
	list, err := Functions(t.Context(), table, nil, all)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestDeepClasses has classes within each other, deeper than any stack should be. What lies too deep is not known.
func TestDeepClasses(t *testing.T) {
	const n = 4 * maxAnew * maxDepth
	var list [][]byte
	for i := range uint32(n) {
		list = append(list, listRecord(memberRecord(firstType+2*i+3, 0, "a")), classRecord(1, 0, firstType+2*i, 4, "c"+strings.Repeat("x", int(i%7))+string(rune('a'+i%26))))
	}
	list = append(list, listRecord(memberRecord(intType, 0, "a")), classRecord(1, 0, firstType+2*n, 4, "last"))
	r := readerOf(t, list...)
	if of := r.typeAt(firstType+1, 0); of == nil || !of.Doubtful || of.Indirect {
		t.Errorf("%+v", of)
	}
	if len(r.built) > n/2 {
		t.Errorf("%d classes are read within each other", len(r.built))
	}
	// A class is known where only the way to it is long.
	if of := r.typeAt(firstType+2*(n-3*maxDepth)+1, 0); of == nil || of.Doubtful || len(of.Members) != 1 {
		t.Errorf("%+v", of)
	}
}

// TestListsNotWhole has lists of fields of which the end is not reached: what is in their classes is not known.
func TestListsNotWhole(t *testing.T) {
	for _, test := range []struct {
		name string
		rest []byte
	}{
		{"a record that is not known", bin(uint16(0x15FF), uint16(0), uint32(0))},
		{"a record that is cut off", bin(uint16(lfMember), public)},
		{"half a record", []byte{0x0D, 0x15}},
		{"no next list", continuedRecord(firstType + 1000)},
		{"itself", continuedRecord(firstType)},
		{"what is no list", continuedRecord(firstType + 1)},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := readerOf(t, listRecord(memberRecord(intType, 0, "a"), test.rest), classRecord(2, 0, firstType, 8, "c"), argumentsRecord())
			if of := r.typeAt(firstType+1, 0); of.Kind != types.Opaque || of.Members != nil || of.Size != 8 || !of.Doubtful {
				t.Errorf("%+v", of)
			}
			if n := maxMembersInAll - r.left; n != 1 {
				t.Errorf("%d records are read", n)
			}
			if a := r.resultByAddress(firstType+1, 0); !a.doubtful {
				t.Errorf("%+v", a)
			}
		})
	}
	r := readerOf(t, classRecord(1, 0, noType, 8, "lost"), classRecord(0, 0, noType, 1, "empty"),
		listRecord(memberRecord(intType, 0, "a"), bin(uint16(lfMethod), uint16(2), uint32(firstType+1000), "methods")), classRecord(3, 0, firstType+2, 4, "methods"))
	if of := r.typeAt(firstType, 0); of.Kind != types.Opaque || !of.Doubtful {
		t.Errorf("without its list: %+v", of)
	}
	if of := r.typeAt(firstType+1, 0); of.Kind != types.Struct || of.Doubtful {
		t.Errorf("without members: %+v", of)
	}
	if of := r.typeAt(firstType+3, 0); of.Kind != types.Struct || len(of.Members) != 1 || !of.Doubtful {
		t.Errorf("without a list of methods: %+v", of)
	}
}

// TestOneNameOfSeveral has two files of C with a struct of the same name. A declaration may mean either.
func TestOneNameOfSeveral(t *testing.T) {
	const one, other, declaration, pointer = firstType + 1, firstType + 3, firstType + 4, firstType + 5
	list := [][]byte{
		listRecord(memberRecord(intType, 0, "k")), classRecord(1, 0, firstType, 4, "node"),
		listRecord(memberRecord(0x41, 0, "x")), classRecord(1, 0, firstType+2, 8, "node"),
		classRecord(0, isDeclaration, noType, 0, "node"), pointerRecord(declaration),
	}
	r := readerOf(t, list...)
	if of := r.typeAt(pointer, 0); of.Name != "node*" || of.Target.Kind != types.Opaque || of.Target.Size != 0 {
		t.Errorf("%+v to %+v", of, of.Target)
	}
	if a, b := r.typeAt(one, 0), r.typeAt(other, 0); a.Size != 4 || b.Size != 8 || a.Members[0].Name != "k" || b.Members[0].Name != "x" {
		t.Errorf("%+v, %+v", a, b)
	}
	if !r.same(declaration, other, 0) || r.same(one, other, 0) {
		t.Error("a variable of either may be a parameter of what is declared, and of no other")
	}
	// The same twice is one.
	list[2], list[3] = list[0], classRecord(1, 0, firstType, 4, "node")
	if of := readerOf(t, list...).typeAt(pointer, 0); of.Target.Size != 4 || len(of.Target.Members) != 1 {
		t.Errorf("%+v to %+v", of, of.Target)
	}
	// Names that are one in the whole program.
	list[1], list[3] = classRecord(1, hasUniqueName, firstType, 4, "node", ".?AUnode@a@@"), classRecord(1, hasUniqueName, firstType+2, 8, "node", ".?AUnode@b@@")
	list[2], list[4] = listRecord(memberRecord(0x41, 0, "x")), classRecord(0, isDeclaration|hasUniqueName, noType, 0, "node", ".?AUnode@b@@")
	if of := readerOf(t, list...).typeAt(pointer, 0); of.Target.Size != 8 {
		t.Errorf("%+v to %+v", of, of.Target)
	}
	// One class of C++ of which two files list not the same; and two that have one name against the rules.
	for size, want := range map[uint16]int{4: 4, 8: 0} {
		list[3], list[4] = classRecord(1, hasUniqueName, firstType+2, size, "node", ".?AUnode@a@@"), classRecord(0, isDeclaration|hasUniqueName, noType, 0, "node", ".?AUnode@a@@")
		if of := readerOf(t, list...).typeAt(pointer, 0); of.Target.Size != want {
			t.Errorf("%+v to %+v", of, of.Target)
		}
	}
	// A constructor that copies takes its own class, by whatever index.
	list = [][]byte{
		bin(uint16(lfPointer), uint32(firstType+4), uint32(0x1000C|lvalueReference<<pointerModeShift)), argumentsRecord(firstType),
		bin(uint16(lfMFunction), uint32(voidType), uint32(firstType+4), uint32(0), uint8(0), uint8(0), uint16(1), uint32(firstType+1), uint32(0)),
		listRecord(memberRecord(intType, 0, "k"), methodRecord(firstType+2, "node")), classRecord(0, isDeclaration, noType, 0, "node"),
		classRecord(2, hasConstructor, firstType+3, 4, "node"), listRecord(memberRecord(0x41, 0, "x")), classRecord(1, 0, firstType+6, 8, "node"),
	}
	r = readerOf(t, list...)
	if r.typeAt(firstType+5, 0); !r.classes[firstType+5].copies || r.classes[firstType+5].ours {
		t.Errorf("%+v", r.classes[firstType+5])
	}
}

// TestCopiesOfUnfinished has classes that lead to themselves by way of const: all of their members are there, too.
func TestCopiesOfUnfinished(t *testing.T) {
	const class, constant, pointer, both, array = firstType, firstType + 1, firstType + 2, firstType + 4, firstType + 5
	r := readerOf(t,
		classRecord(4, 0, firstType+3, 40, "Node"), modifierRecord(class, 1), pointerRecord(constant),
		listRecord(memberRecord(intType, 0, "a"), memberRecord(pointer, 8, "next"), memberRecord(firstType+6, 16, "both"), memberRecord(firstType+7, 24, "array"),
			memberRecord(intType, 32, "b"), memberRecord(intType, 36, "c")),
		modifierRecord(constant, 2), arrayRecord(constant, 80), pointerRecord(both), pointerRecord(array))
	for index, want := range map[uint32]string{class: "Node", constant: "Node const", both: "Node const volatile"} {
		if of := r.typeAt(index, 0); of.Name != want || len(of.Members) != 6 {
			t.Errorf("%+v, want %s", of, want)
		}
	}
	node := r.typeAt(class, 0)
	for i, want := range map[int]string{1: "Node const", 2: "Node const volatile", 3: "Node const[2]"} {
		of := node.Members[i].Type.Target
		if of.Name != want {
			t.Errorf("%s, want %s", of.Name, want)
		}
		if of.Kind == types.Array {
			of = of.Target
		}
		if len(of.Members) != 6 {
			t.Errorf("%s has %d members", want, len(of.Members))
		}
	}
	if len(r.unfinished) > 0 || len(r.copies) > 0 {
		t.Errorf("%d and %d are left", len(r.unfinished), len(r.copies))
	}
}

// allocated returns how many bytes are allocated, and may be given back.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestLongNames has types whose names are made of each other's.
func TestLongNames(t *testing.T) {
	const n = 10_000
	for name, record := range map[string]func(of uint32) []byte{
		"pointers": pointerRecord, "arrays": func(of uint32) []byte { return arrayRecord(of, 4) }, "modifiers": func(of uint32) []byte { return modifierRecord(of, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			list := [][]byte{record(intType)}
			for i := range uint32(n) {
				list = append(list, record(firstType+i))
			}
			r := readerOf(t, list...)
			for i := range uint32(n) {
				if of := r.typeAt(firstType+i, 0); len(of.Name) > maxName {
					t.Fatalf("a name has %d bytes", len(of.Name))
				}
			}
		})
	}
	// Many may be made of one that is as long as they may be.
	r := readerOf(t, classRecord(0, 0, noType, 1, strings.Repeat("x", maxName-1)), pointerRecord(firstType), pointerRecord(firstType))
	r.leftOfNames = maxName + 1
	if a, b := r.typeAt(firstType+1, 0).Name, r.typeAt(firstType+2, 0).Name; len(a) != maxName || b != "?*" {
		t.Errorf("%d bytes, %q", len(a), b)
	}
}

// TestParameterCalledThis has a function of C whose first parameter has the name of an object: it is none.
func TestParameterCalledThis(t *testing.T) {
	list := [][]byte{
		argumentsRecord(0x674), procedureType(intType, firstType, 1), argumentsRecord(),
		bin(uint16(lfMFunction), uint32(intType), uint32(firstType+4), uint32(firstType+5), uint8(0), uint8(0), uint16(0), uint32(firstType+2), uint32(0)),
		classRecord(0, 0, noType, 1, "c"), pointerRecord(firstType + 4),
	}
	for _, f := range functions(t, tableOf(t, list, languageC, "Microsoft (R) Optimizing Compiler",
		proc{name: "f", typ: firstType + 1, own: [][]byte{bin(uint16(sLocal), uint32(0x674), uint16(localIsParameter), "this")}}, proc{name: "c::m", typ: firstType + 3})) {
		if f.ObjectFirst != (f.Linkage == "c::m") || len(f.Parameters) != 1 || f.Parameters[0].Name != "this" {
			t.Errorf("%+v", f)
		}
	}
}

// TestListsOfMany has many classes of one list that has nothing but padding, or long names: it is not read without end.
func TestListsOfMany(t *testing.T) {
	const size = 0xFF00
	long := bin(uint16(lfNestedType), uint16(0), uint32(intType), strings.Repeat("x", size))
	for _, list := range [][]byte{listRecord(slices.Repeat([]byte{lfPadding}, size)), listRecord(long)} {
		records := [][]byte{list}
		const n = maxLists/size + 100
		for range n {
			records = append(records, classRecord(1, 0, firstType, 1, "c"))
		}
		r := readerOf(t, records...)
		first := r.typeAt(firstType+1, 0)
		for i := range uint32(n) {
			r.typeAt(firstType+1+i, 0)
		}
		if last := r.typeAt(firstType+n, 0); first.Kind != types.Struct || last.Kind != types.Opaque {
			t.Errorf("%+v, %+v", first, last)
		}
	}
}

// TestLongNamesOfArguments has many functions that take classes with long names: these are not copied for each.
func TestLongNamesOfArguments(t *testing.T) {
	const size, arguments, procedures, maxAllocated = 60_000, 200, 100, 32 << 20
	name := strings.Repeat("x", size)
	list := [][]byte{
		classRecord(0, isDeclaration, noType, 0, name), listRecord(memberRecord(intType, 0, "a")), classRecord(1, 0, firstType+1, 4, name),
		argumentsRecord(slices.Repeat([]uint32{firstType}, arguments)...), procedureType(intType, firstType+3, arguments),
	}
	var own [][]byte
	for range arguments {
		own = append(own, bin(uint16(sLocal), uint32(firstType), uint16(localIsParameter), "a"))
	}
	var all []proc
	for range procedures {
		all = append(all, proc{name: "f", typ: firstType + 4, own: own})
	}
	table := tableOf(t, list, languageC, "clang", all...)
	var got []types.Function
	n := allocated(func() { got = functions(t, table) })
	if len(got) != procedures || len(got[0].Parameters) != arguments || got[0].Parameters[arguments-1].Name != "a" {
		t.Errorf("%d functions", len(got))
	}
	if n > maxAllocated {
		t.Errorf("%d bytes are allocated", n)
	}
}

// TestMadeSmall has functions that Microsoft's compiler has made small: callers need not pass what is not named, and nothing says
// that they are optimized but the flags of the procedure. Those of LLVM say so always.
func TestMadeSmall(t *testing.T) {
	list := [][]byte{argumentsRecord(intType), procedureType(voidType, firstType, 1)}
	frame := bin(uint16(sFrameProc), make([]byte, 26))
	for _, test := range []struct {
		compiler string
		flags    uint8
		unused   bool
	}{
		{"Microsoft (R) Optimizing Compiler", 0, false}, {"Microsoft (R) Optimizing Compiler", hasOptimizedInfo, true},
		{"clang version 19.1.7", hasOptimizedInfo | isNoInline, false}, {"clang version 19.1.7", hasOptimizedInfo, true},
	} {
		got := functions(t, tableOf(t, list, languageCpp, test.compiler, proc{name: "f", typ: firstType + 1, flags: test.flags, own: [][]byte{frame}}))
		if len(got) != 1 || got[0].Parameters[0].Unused != test.unused {
			t.Errorf("%+v: %+v", test, got)
		}
	}
}
