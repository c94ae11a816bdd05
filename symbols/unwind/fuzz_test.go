package unwind

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"testing"

	"logparser/symbols"
	"logparser/symbols/image"
)

// bytesMemory is one piece of memory.
type bytesMemory struct {
	base uint64
	b    []byte
}

func (m bytesMemory) ReadMemory(p []byte, address uint64) error {
	if address < m.base || address-m.base > uint64(len(m.b)) || uint64(len(p)) > uint64(len(m.b))-(address-m.base) {
		return errNoRule
	}
	copy(p, m.b[address-m.base:])
	return nil
}

func (m bytesMemory) Range(address uint64) (lo, hi uint64, ok bool) {
	hi = m.base + uint64(len(m.b))
	return m.base, hi, address >= m.base && address < hi
}

// walkAll walks from addresses all over an image with all its rules, over a stack of some
// bytes, and checks what must hold of every walk.
func walkAll(t *testing.T, im *image.Image, stack []byte) {
	machine := MachineOf(im.Machine)
	if machine == Unknown || im.Size > 1<<30 {
		return
	}
	const base, low = 0x10000000, 0x7fff0000
	m := &Module{Base: base, Size: im.Size, Code: CodeOf(im), Rules: RulesOf(im)}
	u := &Unwinder{Machine: machine, Memory: bytesMemory{low, stack}, Find: func(address uint64) *Module {
		if address >= base && address-base < im.Size {
			return m
		}
		return nil
	}}
	const places = 24
	for i := range uint64(places) {
		var r Registers
		for n := range maxRegisters {
			r.Set(n, low+uint64(n)*16)
		}
		r.Set(machine.SP(), low)
		r.Set(machine.PC(), base+im.Size/places*i)
		frames := 0
		u.Walk(r, func(f *Frame) bool {
			if sp, _ := f.Registers.Get(machine.SP()); frames > 0 && f.Found != BySignalFrame && !f.Exact && (sp < low || sp > low+uint64(len(stack))) {
				t.Errorf("frame %d at %#x, found by %s, has the stack pointer %#x", frames, f.PC, f.Found, sp)
			}
			FunctionStart(m, f.PC)
			frames++
			return frames < 1000
		})
		if frames > len(stack)+maxStacks+2 {
			t.Errorf("%d frames on a stack of %d bytes", frames, len(stack))
		}
	}
}

// stackOf makes a stack of words that lie in an image.
func stackOf(seed []byte) []byte {
	stack := make([]byte, 4096)
	for i := range len(stack) / 8 {
		v := 0x10000000 + uint64(i*37)
		if len(seed) > 0 {
			v += uint64(seed[i%len(seed)]) << 4
		}
		if i%3 == 0 {
			v = 0x7fff0000 + uint64(i*8+16)
		}
		binary.LittleEndian.PutUint64(stack[8*i:], v)
	}
	return stack
}

// FuzzImage unwinds by the rules of images that are damaged.
func FuzzImage(f *testing.F) {
	for _, name := range []string{"gcc5.so", "aarch64.so", "i386.so", "x86_64.dll", "i686.dll"} {
		b, err := os.ReadFile("../dwarf/testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, []byte{1, 2, 3})
	}
	f.Fuzz(func(t *testing.T, data, seed []byte) {
		if len(data) > 1<<20 {
			return
		}
		im, err := image.Open(&symbols.File{Path: "fuzz", ReaderAt: bytes.NewReader(data), Size: int64(len(data))})
		if err != nil {
			return
		}
		defer im.FreeScratch()
		walkAll(t, im, stackOf(seed))
		entries := 0
		stop := errors.New("enough")
		end := uint64(0)
		if err := Collect(RulesOf(im), func(e *Entry) error {
			length := uint64(0)
			for _, s := range e.Spans {
				length += s.Length
				for _, k := range []KeptRow{s.Exact, s.Return} {
					if _, err := k.row(); k != "" && k != leafRule && err != nil {
						t.Errorf("rule %x: %v", k, err)
					}
				}
			}
			if e.Start < end || e.End <= e.Start || length != e.End-e.Start {
				t.Errorf("an entry at %#x up to %#x with %#x bytes, behind %#x", e.Start, e.End, length, end)
			}
			if end = e.End; entries > 1000 {
				return stop
			}
			entries++
			return nil
		}); err != nil && err != stop {
			t.Error(err)
		}
		if s := NewStarts(im); s != nil {
			_ = s.Procedures(func(rva uint64, name string) bool {
				if sym, err := s.Lookup(rva); err != nil || sym.Start != rva {
					t.Errorf("%s at %#x: %+v, %v", name, rva, sym, err)
				}
				return true
			})
		}
	})
}

// fuzzedPE makes a PE for x64 or arm64 of whose code, exception directory and unwind info these are the first bytes.
func fuzzedPE(t testing.TB, machine uint16, code, directory, info []byte) *image.Image {
	t.Helper()
	le := binary.LittleEndian
	b := make([]byte, 0x800)
	copy(b, "MZ")
	le.PutUint32(b[0x3c:], 0x40)
	copy(b[0x40:], "PE\x00\x00")
	le.PutUint16(b[0x44:], machine)
	le.PutUint16(b[0x46:], 3)
	le.PutUint16(b[0x54:], 240)
	optional := b[0x58:]
	le.PutUint16(optional, 0x20b)
	le.PutUint32(optional[56:], 0x4000)
	le.PutUint32(optional[60:], 0x200)
	le.PutUint32(optional[108:], 16)
	le.PutUint32(optional[112+8*3:], 0x2000)
	le.PutUint32(optional[112+8*3+4:], uint32(min(len(directory), 0x200)))
	for i, contents := range [][]byte{code, directory, info} {
		section := optional[240+40*i:]
		copy(section, []string{".text", ".pdata", ".xdata"}[i])
		le.PutUint32(section[8:], 0x200)
		le.PutUint32(section[12:], 0x1000*uint32(i+1))
		le.PutUint32(section[16:], 0x200)
		le.PutUint32(section[20:], 0x200*uint32(i+1))
		le.PutUint32(section[36:], []uint32{0x60000020, 0x40000040, 0x40000040}[i])
		copy(b[0x200*(i+1):0x200*(i+2)], contents)
	}
	im, err := image.Open(&symbols.File{Path: "fuzz", ReaderAt: bytes.NewReader(b), Size: int64(len(b))})
	if err != nil {
		t.Fatal(err)
	}
	return im
}

// endlessMemory has something at each address.
type endlessMemory struct{ seed uint64 }

func (m endlessMemory) ReadMemory(p []byte, address uint64) error {
	for i := range p {
		at := address + uint64(i)
		p[i] = byte((at&^7 + m.seed) * 0x9e3779b97f4a7c15 >> (8 * (at & 7)))
	}
	return nil
}

func (endlessMemory) Range(uint64) (lo, hi uint64, ok bool) { return 0, 1<<64 - 1, true }

// FuzzExceptionDirectory unwinds by a PE's exception directory without the image around it, which the fuzzer can change better. The
// rules that are collected of it lead to the same callers, as far as memory was saved.
func FuzzExceptionDirectory(f *testing.F) {
	entry := func(words ...uint32) (b []byte) {
		for _, w := range words {
			b = binary.LittleEndian.AppendUint32(b, w)
		}
		return b
	}
	f.Add(false, entry(0x1000, 0x1040, 0x3000, 0x1040, 0x1080, 0x3020), []byte("\x01\x0a\x04\x05\x0a\x03\x06\x32\x02\x30\x01\x50\x00\x00\x00\x00\x02\x08\x03\x00\x08\x06\x04\x74\x02\x00\x00\x00"),
		[]byte("\x55\x53\x48\x83\xec\x20\x48\x8d\x6c\x24\x20\x48\x83\xc4\x20\x5b\x5d\xc3"))
	f.Add(false, entry(0x1000, 0x1040, 0x3000), append([]byte("\x21\x00\x02\x00\x00\x34\x02\x00"), append(entry(0x1000, 0x1040, 0x3020), "............\x01\x04\x01\x00\x04\x42\x00\x00"...)...), []byte("\x48\xff\xe0\xc3"))
	f.Add(false, entry(0x1000, 0x1040, 0x3000), []byte("\x01\x00\x01\x00\x00\x1a\x00\x00"), []byte{})
	f.Add(true, entry(0x1000, 0x3000, 0x1040, 0x00a00021), append(entry(0x18400010), "\xe1\x81\xe4\xe4\xe3\xe3\xe3\xe3"...), []byte{})
	f.Fuzz(func(t *testing.T, arm bool, directory, info, code []byte) {
		id := uint16(0x8664)
		if arm {
			id = 0xaa64
		}
		im := fuzzedPE(t, id, code, directory, info)
		machine, rules := MachineOf(im.Machine), RulesOf(im)
		if len(rules) == 0 {
			return
		}
		table := collected(t, im)
		kept := NewKept(machine, table)
		// Where entries overlap or are not in order the one that is found depends on how it is looked for.
		d := rules[0].(*ExceptionDirectory)
		last, ordered := uint64(0), len(table.list) == d.count
		for i := range d.count {
			f, err := d.at(i)
			if ordered = ordered && err == nil && f.begin >= last && table.list[i].Start == f.begin; !ordered {
				break
			}
			last = table.list[i].End
		}
		walkAll(t, im, stackOf(info))
		if !ordered {
			return
		}
		seed := uint64(len(info))
		var r Registers
		for n := range maxRegisters {
			if machine.RegisterName(n) != "" {
				r.Set(n, 0x7fff0000+uint64(n)*8)
			}
		}
		r.Set(machine.SP(), 0x7fff0000)
		for rva := uint64(0x1000); rva < 0x1100; rva += 5 {
			// Damaged info has no rule; in an epilogue it is not needed.
			place, _ := table.Rule(rva)
			if place.Exact != "" || place.Start == place.End {
				sameCaller(t, machine, im, kept, rules, rva, true, r, endlessMemory{seed})
			}
			if place.Return != "" || place.Start == place.End {
				sameCaller(t, machine, im, kept, rules, rva, false, r, endlessMemory{seed})
			}
		}
	})
}

// FuzzCFI runs instructions of call frame information, and FuzzARM64 unwind codes.
func FuzzCFI(f *testing.F) {
	f.Add([]byte{0x0c, 7, 8, 0x90, 1}, []byte{0x41, 0x0e, 16, 0x86, 2, 0x0a, 0x0b}, uint64(3))
	f.Add([]byte{0x0f, 2, 0x77, 8}, []byte{0x16, 6, 3, 0x12, 0x06, 0x22}, uint64(0))
	f.Add([]byte{0x0f, 3, 0x2f, 0xfd, 0xff}, []byte{}, uint64(0))
	f.Fuzz(func(t *testing.T, initial, instructions []byte, at uint64) {
		c := &CFI{im: &image.Image{Order: binary.LittleEndian}, eh: true, machine: X8664}
		d := &fde{cie: &cie{codeAlign: 1, dataAlign: -8, ra: 16, instructions: initial, addressSize: 8}, start: 0, end: 1 << 32, instructions: instructions}
		r, err := d.rowAt(at, c)
		if err != nil {
			return
		}
		var registers Registers
		for n := range maxRegisters {
			registers.Set(n, 0x7fff0000+uint64(n)*8)
		}
		s := &step{Unwinder: &Unwinder{Machine: X8664, Memory: bytesMemory{0x7fff0000, stackOf(instructions)}}, frame: &Frame{Registers: registers}}
		if next, err := r.apply(s); err == nil && !next.outermost {
			if _, ok := next.registers.Get(amd64PC); !ok {
				t.Error("a caller without a program counter")
			}
		}
	})
}

func FuzzARM64(f *testing.F) {
	f.Add([]byte{0xe1, 0x81, 0xe4}, uint32(0x00a00021), uint64(2))
	f.Add([]byte{0xe6, 0xe6, 0xc8, 0x02, 0x22, 0xe4}, uint32(0xffffffff), uint64(0))
	f.Fuzz(func(t *testing.T, codes []byte, packed uint32, at uint64) {
		s := &step{Unwinder: &Unwinder{Machine: ARM64, Memory: bytesMemory{0x7fff0000, stackOf(codes)}}, frame: &Frame{}}
		ops, err := arm64Codes(codes)
		if err != nil {
			ops = nil
		}
		ops = append(ops, arm64Packed(packed&^3|1, at, uint64(packed>>2&0x7ff), true)...)
		var r Registers
		r.Set(arm64SP, 0x7fff0000)
		r.Set(arm64FP, 0x7fff0100)
		registers := r
		var c caller
		for i := range ops {
			if err := ops[i].undo(s, &r, &c); err != nil {
				return
			}
			if c.machine {
				break
			}
		}
		// The rule that the operations come to gives the same.
		row, err := arm64Rule(ops).row()
		if err != nil {
			return
		}
		s.frame.Registers = registers
		next, err := row.apply(s)
		if err != nil {
			return
		}
		sp, ok := r.Get(arm64SP)
		got, ok2 := next.registers.Get(arm64SP)
		pc, ok3 := r.Get(arm64PC)
		if !c.machine {
			pc, ok3 = r.Get(arm64LR)
		}
		gotPC, ok4 := next.registers.Get(arm64PC)
		if next.machine != c.machine || ok != ok2 || sp != got || ok3 != ok4 || pc != gotPC {
			t.Errorf("%+v: sp %#x %v, pc %#x %v; by the rule %#x %v, %#x %v", ops, sp, ok, pc, ok3, got, ok2, gotPC, ok4)
		}
	})
}

// FuzzRule reads rules that were kept.
func FuzzRule(f *testing.F) {
	f.Add([]byte("\x01\x10\x07\x10\x83\x01\x0f"))
	f.Add([]byte("\x62\x10\x05\x03\x77\x08\x06\x36\x02\x77\x10\x83\x01\x0f"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := KeptRow(data).row()
		if err != nil {
			return
		}
		if back, err := r.rule().row(); err != nil || !back.equal(r) {
			t.Errorf("%x is read and written as %x: %v", data, r.rule(), err)
		}
		var registers Registers
		for n := range maxRegisters {
			registers.Set(n, 0x7fff0000+uint64(n)*8)
		}
		for m := X86; m <= ARM64; m++ {
			s := &step{Unwinder: &Unwinder{Machine: m, Memory: bytesMemory{0x7fff0000, stackOf(data)}}, frame: &Frame{Registers: registers}}
			_, _ = r.apply(s)
		}
	})
}

// FuzzStackRecords unwinds by the records of damaged symbol files.
func FuzzStackRecords(f *testing.F) {
	f.Add([]byte("STACK CFI INIT 0 100 .cfa: $rsp 8 + .ra: .cfa -8 + ^\nSTACK CFI 1 .cfa: $rsp 16 + $rbp: .cfa -16 + ^\n"), true)
	f.Add([]byte("STACK WIN 4 0 86 13 0 8 0 e0 0 1 $T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + =\n"), false)
	f.Add([]byte("STACK WIN 0 0 86 13 0 8 0 e0 0 0 1\n"), false)
	f.Fuzz(func(t *testing.T, data []byte, wide bool) {
		r := NewStackRecords(&symbols.File{ReaderAt: bytes.NewReader(data), Size: int64(len(data))})
		machine := X86
		if wide {
			machine = X8664
		}
		m := &Module{Base: 0x10000000, Size: 1 << 20, Rules: []Rules{r}}
		u := &Unwinder{Machine: machine, Memory: bytesMemory{0x7fff0000, stackOf(data)}, Find: func(address uint64) *Module {
			if address >= m.Base && address-m.Base < m.Size {
				return m
			}
			return nil
		}, Executable: func(uint64) bool { return true }}
		var registers Registers
		for n := range maxRegisters {
			registers.Set(n, 0x7fff0000+uint64(n)*16)
		}
		registers.Set(machine.PC(), m.Base+3)
		frames := 0
		u.Walk(registers, func(*Frame) bool { frames++; return true })
		if frames > 4096+2 {
			t.Errorf("%d frames", frames)
		}
	})
}

// TestHostileExpressions: loops and reads of what is not there end, and give no value.
func TestHostileExpressions(t *testing.T) {
	s := &step{Unwinder: &Unwinder{Machine: X8664, Memory: bytesMemory{0x1000, make([]byte, 64)}}, frame: &Frame{}}
	for name, e := range map[string][]byte{
		"loop":               {opLit0, opSkip, 0xfd, 0xff},
		"grows":              {opLit0, opSkip, 0xfc, 0xff},
		"division by zero":   {opLit0 + 1, opLit0, opDiv},
		"remainder by zero":  {opLit0 + 1, opLit0, opMod},
		"empty":              {},
		"underflow":          {opPlus},
		"jump before":        {opSkip, 0x00, 0x80},
		"unknown operation":  {0xff},
		"memory not saved":   {opConst2u, 0x00, 0x20, opDeref},
		"register not known": {opBreg0, 0},
		"cut":                {opConst8u, 1},
		"wide read":          {opConst2u, 0x00, 0x10, opDerefSize, 9},
	} {
		if v, ok := evaluate(e, s, 0, false); ok {
			t.Errorf("%s has the value %#x", name, v)
		}
	}
	for _, c := range []struct {
		e    []byte
		want uint64
	}{
		{[]byte{opLit0 + 7, opLit0 + 3, opMinus}, 4},
		{[]byte{opConst1s, 0xf8, opLit0 + 4, opDiv}, 1<<64 - 2},
		{[]byte{opLit0 + 1, opLit0 + 2, opLit0 + 3, opRot, opMinus, opMinus}, 3 - (1 - 2)},
		{[]byte{opConst2u, 0, 0x10, opDeref}, 0},
		{[]byte{opLit0 + 5, opDup, opMul, opLit0 + 1, opShl}, 50},
		{[]byte{opConst1s, 0xff, opConst1u, 60, opShr}, 15},
	} {
		if v, ok := evaluate(c.e, s, 0, false); !ok || v != c.want {
			t.Errorf("% x: %#x, %v, want %#x", c.e, v, ok, c.want)
		}
	}
}
