package unwind

import (
	"encoding/binary"
	"sort"
	"sync/atomic"

	"logparser/message"
	"logparser/symbols/image"
)

// An ExceptionDirectory is the unwind rules of a PE for x64 or arm64 (.pdata and what it
// points to). It is safe for concurrent use.
type ExceptionDirectory struct {
	im      *image.Image
	machine Machine
	rva     uint64
	count   int
	size    int64 // of an entry
	// steps is what was gone through of epilogues to collect the rules.
	steps atomic.Int64
}

// maxFunctions bounds the entries of an exception directory.
const maxFunctions = 16 << 20

// NewExceptionDirectory returns the exception directory of an image, nil where it has
// none. The image must stay open as long as it is used.
func NewExceptionDirectory(im *image.Image) *ExceptionDirectory {
	d := &ExceptionDirectory{im: im, machine: MachineOf(im.Machine)}
	switch d.machine {
	case X8664:
		d.size = 12
	case ARM64:
		d.size = 8
	default:
		return nil
	}
	rva, size := im.ExceptionDirectory()
	if rva == 0 || int64(size) < d.size {
		return nil
	}
	d.rva, d.count = uint64(rva), int(min(int64(size)/d.size, maxFunctions))
	return d
}

// A runtimeFunction is an entry: of arm64 the end is not known here.
type runtimeFunction struct {
	begin, end uint64 // RVAs
	info       uint32
}

var errUnwindInfo = message.New("damaged unwind info")

// at returns entry i.
func (d *ExceptionDirectory) at(i int) (f runtimeFunction, err error) {
	b, err := d.im.ReadRVA(d.rva+uint64(int64(i)*d.size), d.size)
	if err != nil {
		return f, err
	}
	return d.decode(b), nil
}

func (d *ExceptionDirectory) decode(b []byte) (f runtimeFunction) {
	le := binary.LittleEndian
	f.begin = uint64(le.Uint32(b))
	if d.size == 12 {
		f.end, f.info = uint64(le.Uint32(b[4:])), le.Uint32(b[8:])
		return f
	}
	f.info = le.Uint32(b[4:])
	return f
}

// find returns the entry of an RVA.
func (d *ExceptionDirectory) find(rva uint64) (f runtimeFunction, err error) {
	var failed error
	i := sort.Search(d.count, func(i int) bool {
		f, err := d.at(i)
		if err != nil {
			failed = err
		}
		return f.begin > rva
	})
	if failed != nil {
		return f, failed
	}
	if i == 0 {
		return f, errNoRule
	}
	if f, err = d.at(i - 1); err != nil {
		return f, err
	}
	if d.machine == ARM64 {
		length, err := d.arm64Length(&f)
		if err != nil {
			return f, err
		}
		f.end = f.begin + length
	}
	if rva >= f.end {
		return f, errNoRule
	}
	return f, nil
}

// caller implements [Rules].
func (d *ExceptionDirectory) caller(s *step) (caller, error) {
	if d.machine != s.Machine {
		return caller{}, errNoRule
	}
	rva := s.vaddr - d.im.Base
	f, err := d.find(rva)
	switch {
	case err == errNoRule:
		// A function without an entry changes no register and no stack pointer.
		return s.leaf()
	case err != nil:
		return caller{}, err
	case d.machine == ARM64:
		return d.arm64Caller(s, f)
	}
	return d.x64Caller(s, f)
}

// leaf makes the caller of a function that saves nothing.
func (s *step) leaf() (c caller, err error) {
	if code := s.module.Code; !s.frame.Exact || code == nil || !code.Executable(s.frame.Lookup()-s.module.Base) {
		return c, errNoRule
	}
	m := s.Machine
	sp, ok := s.frame.Registers.Get(m.SP())
	if !ok {
		return c, errNoRule
	}
	c.registers, c.found = s.inherit(), ByUnwindInfo
	var pc uint64
	if m == ARM64 {
		c.cfa = sp
		pc, ok = s.frame.Registers.Get(arm64LR)
	} else {
		c.cfa = sp + 8
		pc, ok = s.word(sp)
	}
	if !ok {
		return c, errNoRule
	}
	c.registers.Set(m.SP(), c.cfa)
	c.registers.Set(m.PC(), pc)
	return c, nil
}

// The numbers that unwind info gives registers, as DWARF's.
var x64Numbers = [16]int{amd64RAX, amd64RCX, amd64RDX, amd64RBX, amd64RSP, amd64RBP, amd64RSI, amd64RDI, 8, 9, 10, 11, 12, 13, 14, 15}

// Flags and operations of UNWIND_INFO.
const (
	unwindChained = 4

	uwopPushNonvolatile    = 0
	uwopAllocLarge         = 1
	uwopAllocSmall         = 2
	uwopSetFrameRegister   = 3
	uwopSaveNonvolatile    = 4
	uwopSaveNonvolatileFar = 5
	uwopEpilog             = 6 // version 2; before that a save of half a register
	uwopSpare              = 7
	uwopSaveXMM            = 8
	uwopSaveXMMFar         = 9
	uwopPushMachineFrame   = 10
)

// maxChain bounds the infos of one function.
const maxChain = 32

// An unwindInfo is an UNWIND_INFO. Codes are in the file's order, the last of the prologue
// first.
type unwindInfo struct {
	version, flags uint8
	prologue       uint64
	register       int // of the frame, -1 for none
	offset         uint64
	codes          []unwindCode
	chained        runtimeFunction
}

// An unwindCode is an operation of a prologue.
type unwindCode struct {
	at      uint64 // end of the instruction, from the function's start
	op      uint8
	info    uint8
	operand uint64
}

// readInfo reads an UNWIND_INFO.
func (d *ExceptionDirectory) readInfo(rva uint32) (u unwindInfo, err error) {
	head, err := d.im.ReadRVA(uint64(rva), 4)
	if err != nil {
		return u, err
	}
	u.version, u.flags, u.prologue = head[0]&7, head[0]>>3, uint64(head[1])
	if u.version != 1 && u.version != 2 {
		return u, message.Errorf("%w: version %d", errUnwindInfo, u.version)
	}
	u.register = -1
	if n := head[3] & 15; n != 0 {
		u.register, u.offset = x64Numbers[n], uint64(head[3]>>4)*16
	}
	count := int64(head[2])
	size := 4 + 2*((count+1)&^1)
	if u.flags&unwindChained != 0 {
		size += 12
	}
	b, err := d.im.ReadRVA(uint64(rva), size)
	if err != nil {
		return u, err
	}
	if u.flags&unwindChained != 0 {
		u.chained = d.decode(b[size-12:])
	}
	b = b[4 : 4+2*count]
	le := binary.LittleEndian
	for len(b) > 0 {
		c := unwindCode{at: uint64(b[0]), op: b[1] & 15, info: b[1] >> 4}
		slots := 1
		switch c.op {
		case uwopAllocLarge:
			if slots = 2; c.info == 1 {
				slots = 3
			}
		case uwopSaveNonvolatile, uwopSaveXMM:
			slots = 2
		case uwopSaveNonvolatileFar, uwopSaveXMMFar:
			slots = 3
		case uwopEpilog:
			if u.version == 1 {
				slots = 2
			}
		case uwopSpare:
			slots = 3
		case uwopPushNonvolatile, uwopAllocSmall, uwopSetFrameRegister, uwopPushMachineFrame:
		default:
			return u, message.Errorf("%w: operation %d", errUnwindInfo, c.op)
		}
		if 2*slots > len(b) {
			return u, errUnwindInfo
		}
		switch slots {
		case 2:
			c.operand = uint64(le.Uint16(b[2:]))
		case 3:
			c.operand = uint64(le.Uint32(b[2:]))
		}
		u.codes = append(u.codes, c)
		b = b[2*slots:]
	}
	return u, nil
}

// An x64Frame undoes a function's prologue.
type x64Frame struct {
	s    *step
	r    Registers // of the frame, becoming the caller's
	done bool      // a machine frame gave the program counter
}

// x64Caller makes the caller of a frame of x64 code.
func (d *ExceptionDirectory) x64Caller(s *step, f runtimeFunction) (c caller, err error) {
	x := &x64Frame{s: s, r: s.frame.Registers}
	rva := s.vaddr - d.im.Base
	inEpilogue := false
	if s.frame.Exact {
		inEpilogue = x.epilogue(f.begin, f.end, func() int {
			u, err := d.readInfo(f.info &^ 1)
			if err != nil {
				return -1
			}
			return u.register
		})
	}
	for chain := 0; !inEpilogue; chain++ {
		if chain >= maxChain {
			return c, message.Errorf("%w: a chain of more than %d", errUnwindInfo, maxChain)
		}
		if f.info&1 != 0 {
			// The low bit makes it the RVA of another entry.
			b, err := d.im.ReadRVA(uint64(f.info&^1), 12)
			if err != nil {
				return c, err
			}
			f = d.decode(b)
			continue
		}
		u, err := d.readInfo(f.info)
		if err != nil {
			return c, err
		}
		if err := x.undo(&u, rva-f.begin, chain == 0); err != nil {
			return c, err
		}
		if u.flags&unwindChained == 0 {
			break
		}
		// The whole prologue of the entry that this one is chained to has run.
		f = u.chained
	}
	return x.finish()
}

// finish makes the caller from the registers after the prologue was undone.
func (x *x64Frame) finish() (c caller, err error) {
	if !x.done {
		pc, ok := x.pop()
		if !ok {
			return c, message.Errorf("%w: the return address was not saved", errNoRule)
		}
		x.r.Set(amd64PC, pc)
	}
	c.registers, c.machine, c.found = x.r, x.done, ByUnwindInfo
	if !c.machine {
		for n := range maxRegisters {
			if n != amd64PC && n != amd64RSP && !X8664.preserved(n, true) {
				c.registers.Forget(n)
			}
		}
	}
	c.cfa, _ = x.r.Get(amd64RSP)
	return c, nil
}

// pop takes a word off the stack.
func (x *x64Frame) pop() (uint64, bool) {
	sp, ok := x.r.Get(amd64RSP)
	if !ok {
		return 0, false
	}
	v, ok := x.s.word(sp)
	x.r.Set(amd64RSP, sp+8)
	return v, ok
}

// load sets a register from memory, or forgets it where that was not saved.
func (x *x64Frame) load(n int, at uint64) {
	if v, ok := x.s.word(at); ok {
		x.r.Set(n, v)
	} else {
		x.r.Forget(n)
	}
}

// undo undoes the operations of a prologue; first says that only those before offset
// have been done.
func (x *x64Frame) undo(u *unwindInfo, offset uint64, first bool) error {
	done := func(c *unwindCode) bool { return !first || offset >= u.prologue || offset >= c.at }
	sp, ok := x.r.Get(amd64RSP)
	if !ok {
		return errNoRule
	}
	base, based := sp, true
	if u.register >= 0 {
		for i := range u.codes {
			if c := &u.codes[i]; c.op == uwopSetFrameRegister && done(c) || !first {
				base, based = x.r.Get(u.register)
				base -= u.offset
				break
			}
		}
	}
	add := func(n uint64) {
		sp, _ := x.r.Get(amd64RSP)
		x.r.Set(amd64RSP, sp+n)
	}
	for i := range u.codes {
		c := &u.codes[i]
		if c.op == uwopEpilog && u.version >= 2 || !done(c) {
			continue
		}
		switch c.op {
		case uwopPushNonvolatile:
			// What was not saved is not known; the return address may be.
			if v, ok := x.pop(); ok {
				x.r.Set(x64Numbers[c.info], v)
			} else {
				x.r.Forget(x64Numbers[c.info])
			}
		case uwopAllocLarge:
			if c.info == 0 {
				add(c.operand * 8)
			} else {
				add(c.operand)
			}
		case uwopAllocSmall:
			add(uint64(c.info)*8 + 8)
		case uwopSetFrameRegister:
			if !based {
				return message.Errorf("%w: register %d is not known", errNoRule, u.register)
			}
			x.r.Set(amd64RSP, base)
		case uwopSaveNonvolatile, uwopSaveNonvolatileFar:
			at := base + c.operand
			if c.op == uwopSaveNonvolatile {
				at = base + c.operand*8
			}
			if based {
				x.load(x64Numbers[c.info], at)
			} else {
				x.r.Forget(x64Numbers[c.info])
			}
		case uwopPushMachineFrame:
			x.machineFrame(uint64(c.info))
		}
	}
	return nil
}

// machineFrame takes what the processor pushed for an interrupt: RIP, CS, EFLAGS, RSP,
// SS, behind an error code if code is 1.
func (x *x64Frame) machineFrame(code uint64) {
	sp, _ := x.r.Get(amd64RSP)
	sp += 8 * code
	x.load(amd64PC, sp)
	x.load(amd64RSP, sp+24)
	x.done = true
}

// epilogue reports whether the frame's next instructions are the rest of an epilogue,
// and undoes it then. Epilogues have one form: the stack pointer is put back, registers
// are popped, and the function returns or jumps to another. The entry's code is [begin, end); frameRegister returns
// the register that the function has as frame pointer, -1 for none.
func (x *x64Frame) epilogue(begin, end uint64, frameRegister func() int) bool {
	b := x.s.code(x.s.frame.PC, 64)
	r := x.r
	sp, ok := r.Get(amd64RSP)
	if !ok {
		return false
	}
	take := func(n int) { b = b[n:] }
	le := binary.LittleEndian
	switch {
	case len(b) >= 4 && b[0] == 0x48 && b[1] == 0x83 && b[2] == 0xc4: // add rsp, imm8
		sp += uint64(int64(int8(b[3])))
		take(4)
	case len(b) >= 7 && b[0] == 0x48 && b[1] == 0x81 && b[2] == 0xc4: // add rsp, imm32
		sp += uint64(int64(int32(le.Uint32(b[3:]))))
		take(7)
	case len(b) >= 7 && b[0]&0xfe == 0x48 && b[1] == 0x8d && b[2]>>3&7 == 4 && b[2]>>6 != 3 && b[2]&7 != 4: // lea rsp, [reg+disp]
		n := x64Numbers[b[2]&7|b[0]&1<<3]
		base, ok := r.Get(n)
		if !ok || frameRegister() != n {
			return false
		}
		switch b[2] >> 6 {
		case 1:
			sp = base + uint64(int64(int8(b[3])))
			take(4)
		case 2:
			sp = base + uint64(int64(int32(le.Uint32(b[3:]))))
			take(7)
		default:
			return false
		}
	}
	r.Set(amd64RSP, sp)
	for pops := 0; len(b) >= 2 && pops < 16; pops++ {
		n := -1
		switch {
		case b[0]&0xf8 == 0x58:
			n = x64Numbers[b[0]&7]
			take(1)
		case b[0] == 0x41 && b[1]&0xf8 == 0x58:
			n = x64Numbers[8+b[1]&7]
			take(2)
		}
		if n < 0 {
			break
		}
		v, ok := x.s.word(sp)
		if !ok || n == amd64RSP {
			return false
		}
		sp += 8
		r.Set(amd64RSP, sp)
		r.Set(n, v)
	}
	if len(b) < 2 || !x.leaves(begin, end, b) {
		return false
	}
	x.r = r
	return true
}

// leaves reports whether code begins with an instruction that ends an epilogue.
func (x *x64Frame) leaves(begin, end uint64, b []byte) bool {
	switch {
	case b[0] == 0xc3, b[0] == 0xc2, b[0] == 0xf3 && b[1] == 0xc3: // ret
		return true
	case b[0] == 0xff && b[1] == 0x25, len(b) >= 3 && b[0]&0xf8 == 0x48 && b[1] == 0xff && b[2]>>3&7 == 4: // jmp [mem]
		return true
	case b[0] == 0xeb || b[0] == 0xe9 && len(b) >= 5: // jmp out of the function
		at := x.s.frame.PC + uint64(len(x.s.code(x.s.frame.PC, 64))-len(b)) - x.s.module.Base
		to := at + 2 + uint64(int64(int8(b[1])))
		if b[0] == 0xe9 {
			to = at + 5 + uint64(int64(int32(binary.LittleEndian.Uint32(b[1:]))))
		}
		return to < begin || to >= end
	}
	return false
}
