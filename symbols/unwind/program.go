package unwind

import "logparser/message"

// Kinds of rules of a register.
const (
	ruleNone              = iota // nothing is said of it
	ruleUndefined                // it is lost
	ruleSame                     // the function did not change it
	ruleOffset                   // it is saved at CFA + offset
	ruleValueOffset              // it is CFA + offset
	ruleRegister                 // it is in another register
	ruleExpression               // it is saved where an expression says
	ruleValueOfExpression        // it is what an expression says
)

// A unwindLocation says where the caller's value of a register is. For the CFA,
// ruleRegister is a register and an offset.
type unwindLocation struct {
	kind       uint8
	register   uint64
	offset     int64
	expression []byte
}

// A row is the rules at one address.
type row struct {
	cfa       unwindLocation
	registers [maxRegisters]unwindLocation
	ra        uint64
	signal    bool
	// info says that the row comes from a PE's exception directory. Registers that functions of
	// Windows preserve then have the caller's values, unless the row says where these are.
	// interrupt says that an interrupt entered the code. frame is the number + 1 of the register
	// from which an epilogue may take the stack pointer, 0 for none.
	info, interrupt bool
	frame           int
}

// maxRemembered bounds DW_CFA_remember_state within itself.
const maxRemembered = 64

// Call frame instructions (DW_CFA_*).
const (
	cfaAdvanceLoc1       = 0x02
	cfaAdvanceLoc2       = 0x03
	cfaAdvanceLoc4       = 0x04
	cfaOffsetExtended    = 0x05
	cfaRestoreExtended   = 0x06
	cfaUndefined         = 0x07
	cfaSameValue         = 0x08
	cfaRegister          = 0x09
	cfaRememberState     = 0x0a
	cfaRestoreState      = 0x0b
	cfaDefCFA            = 0x0c
	cfaDefCFARegister    = 0x0d
	cfaDefCFAOffset      = 0x0e
	cfaDefCFAExpression  = 0x0f
	cfaExpression        = 0x10
	cfaOffsetExtendedSF  = 0x11
	cfaDefCFASF          = 0x12
	cfaDefCFAOffsetSF    = 0x13
	cfaValOffset         = 0x14
	cfaValOffsetSF       = 0x15
	cfaValExpression     = 0x16
	cfaMIPSAdvanceLoc8   = 0x1d
	cfaNegateRAState     = 0x2d // on arm64
	cfaArgsSize          = 0x2e
	cfaNegativeOffset    = 0x2f
	cfaAdvanceLoc        = 0x1 << 6
	cfaOffset            = 0x2 << 6
	cfaRestore           = 0x3 << 6
	cfaOperand           = 0x3f
	cfaSetLoc            = 0x01
	cfaNop               = 0x00
	cfaNegateRAStateByPC = 0x2c // on arm64: FEAT_PAuth_LR
)

// A program runs call frame instructions.
type program struct {
	*cie
	eh         bool
	pc, target uint64
	row        row
	// initial are the rules after the CIE's instructions.
	initial    row
	remembered []row
	// visit, if not nil, is told of the rules of each piece of code; it ends the program by
	// returning false.
	visit func(from, to uint64, r *row) bool
}

// rowAt returns the rules at an address of an FDE's code.
func (f *fde) rowAt(vaddr uint64, c *CFI) (*row, error) {
	p := &program{cie: f.cie, eh: c.eh, pc: f.start, target: 1<<64 - 1}
	p.row.ra, p.row.signal = f.ra, f.signal
	in := buffer{b: f.cie.instructions, addr: f.cie.addr, order: c.im.Order}
	if err := p.run(&in); err != nil {
		return nil, err
	}
	p.initial, p.target = p.row, vaddr
	in = buffer{b: f.instructions, addr: f.addr, order: c.im.Order}
	if err := p.run(&in); err != nil {
		return nil, err
	}
	return &p.row, nil
}

// run runs instructions up to the target address.
func (p *program) run(in *buffer) error {
	for in.left() > 0 {
		op := in.u8()
		operand := uint64(op & cfaOperand)
		switch op &^ cfaOperand {
		case cfaAdvanceLoc:
			if p.advance(operand) {
				return nil
			}
			continue
		case cfaOffset:
			p.set(operand, unwindLocation{kind: ruleOffset, offset: int64(in.uleb()) * p.dataAlign})
			continue
		case cfaRestore:
			p.restore(operand)
			continue
		}
		done, err := p.extended(op, in)
		if err != nil {
			return err
		}
		if in.bad {
			return errCFI
		}
		if done {
			return nil
		}
	}
	if in.bad {
		return errCFI
	}
	return nil
}

// advance moves the location; it reports whether the target lies before it.
func (p *program) advance(delta uint64) bool {
	next := p.pc + delta*p.codeAlign
	return p.moveTo(next)
}

// moveTo sets the location; it reports whether the target lies before it.
func (p *program) moveTo(next uint64) bool {
	if next > p.target || next < p.pc {
		return true
	}
	if p.visit != nil && next > p.pc && !p.visit(p.pc, next, &p.row) {
		return true
	}
	p.pc = next
	return false
}

func (p *program) set(register uint64, r unwindLocation) {
	if register < maxRegisters {
		p.row.registers[register] = r
	}
}

func (p *program) restore(register uint64) {
	if register < maxRegisters {
		p.row.registers[register] = p.initial.registers[register]
	}
}

// extended runs an instruction without an operand in its first byte.
func (p *program) extended(op uint8, in *buffer) (done bool, err error) {
	switch op {
	case cfaNop:
	case cfaSetLoc:
		encoding := uint8(0)
		if p.eh {
			encoding = p.encoding
		}
		to := in.encoded(encoding, p.addressSize, 0)
		return p.moveTo(to), nil
	case cfaAdvanceLoc1:
		return p.advance(uint64(in.u8())), nil
	case cfaAdvanceLoc2:
		return p.advance(uint64(in.u16())), nil
	case cfaAdvanceLoc4:
		return p.advance(uint64(in.u32())), nil
	case cfaMIPSAdvanceLoc8:
		return p.advance(in.u64()), nil
	case cfaRememberState:
		if len(p.remembered) >= maxRemembered {
			return false, message.Errorf("%w: too many remembered states", errCFI)
		}
		p.remembered = append(p.remembered, p.row)
	case cfaRestoreState:
		n := len(p.remembered)
		if n == 0 {
			return false, message.Errorf("%w: no state to restore", errCFI)
		}
		p.row = p.remembered[n-1]
		p.remembered = p.remembered[:n-1]
	case cfaArgsSize:
		in.uleb()
	case cfaNegateRAState, cfaNegateRAStateByPC:
		// The return address is signed from here on, or no longer. The code is
		// taken off every return address that has one.
	case cfaDefCFA, cfaDefCFASF, cfaDefCFARegister, cfaDefCFAOffset, cfaDefCFAOffsetSF, cfaDefCFAExpression:
		return false, p.defineCFA(op, in)
	default:
		return false, p.changeRegister(op, in)
	}
	return false, nil
}

// defineCFA runs the instructions about the CFA.
func (p *program) defineCFA(op uint8, in *buffer) error {
	cfa := &p.row.cfa
	switch op {
	case cfaDefCFA:
		*cfa = unwindLocation{kind: ruleRegister, register: in.uleb(), offset: int64(in.uleb())}
	case cfaDefCFASF:
		*cfa = unwindLocation{kind: ruleRegister, register: in.uleb(), offset: in.sleb() * p.dataAlign}
	case cfaDefCFAExpression:
		*cfa = unwindLocation{kind: ruleValueOfExpression, expression: in.take(in.uleb())}
	default:
		if cfa.kind != ruleRegister {
			return message.Errorf("%w: the CFA has no register to change", errCFI)
		}
		switch op {
		case cfaDefCFARegister:
			cfa.register = in.uleb()
		case cfaDefCFAOffset:
			cfa.offset = int64(in.uleb())
		case cfaDefCFAOffsetSF:
			cfa.offset = in.sleb() * p.dataAlign
		}
	}
	return nil
}

// changeRegister runs the instructions about one register.
func (p *program) changeRegister(op uint8, in *buffer) error {
	if op < cfaOffsetExtended || op > cfaValExpression && op != cfaNegativeOffset {
		return message.Errorf("%w: instruction %#x", errCFI, op)
	}
	register := in.uleb()
	switch op {
	case cfaOffsetExtended:
		p.set(register, unwindLocation{kind: ruleOffset, offset: int64(in.uleb()) * p.dataAlign})
	case cfaOffsetExtendedSF:
		p.set(register, unwindLocation{kind: ruleOffset, offset: in.sleb() * p.dataAlign})
	case cfaNegativeOffset:
		p.set(register, unwindLocation{kind: ruleOffset, offset: -int64(in.uleb()) * p.dataAlign})
	case cfaValOffset:
		p.set(register, unwindLocation{kind: ruleValueOffset, offset: int64(in.uleb()) * p.dataAlign})
	case cfaValOffsetSF:
		p.set(register, unwindLocation{kind: ruleValueOffset, offset: in.sleb() * p.dataAlign})
	case cfaRestoreExtended:
		p.restore(register)
	case cfaUndefined:
		p.set(register, unwindLocation{kind: ruleUndefined})
	case cfaSameValue:
		p.set(register, unwindLocation{kind: ruleSame})
	case cfaRegister:
		p.set(register, unwindLocation{kind: ruleRegister, register: in.uleb()})
	case cfaExpression:
		p.set(register, unwindLocation{kind: ruleExpression, expression: in.take(in.uleb())})
	case cfaValExpression:
		p.set(register, unwindLocation{kind: ruleValueOfExpression, expression: in.take(in.uleb())})
	default:
		return message.Errorf("%w: instruction %#x", errCFI, op)
	}
	return nil
}

// rowOf returns the rules at an address, as the image is linked.
func (c *CFI) rowOf(vaddr uint64) (*row, error) {
	c.mu.Lock()
	r := c.rows[vaddr]
	c.mu.Unlock()
	if r != nil {
		return r, nil
	}
	f, err := c.find(vaddr)
	if err != nil {
		return nil, err
	}
	if r, err = f.rowAt(vaddr, c); err != nil {
		return nil, err
	}
	c.mu.Lock()
	if len(c.rows) >= maxRows {
		clear(c.rows)
	}
	c.rows[vaddr] = r
	c.mu.Unlock()
	return r, nil
}

// caller implements [Rules].
func (c *CFI) caller(s *step) (caller, error) {
	if c.machine != s.Machine {
		return caller{}, errNoRule
	}
	r, err := c.rowOf(s.vaddr)
	if err != nil {
		return caller{}, err
	}
	return r.apply(s)
}

// apply makes the caller of a frame by the rules of its address.
func (r *row) apply(s *step) (next caller, err error) {
	if r.signal && s.Machine == ARM64 {
		// The kernel's rules for its own return from a handler give the link
		// register where the interrupted instruction is wanted.
		return next, errNoRule
	}
	next.found, next.signal, next.machine = ByCFI, r.signal, r.interrupt
	registers := &s.frame.Registers
	cfa, err := r.cfaOf(s)
	if err != nil {
		return next, err
	}
	next.cfa = cfa
	m := s.Machine
	next.registers = r.inherited(s)
	next.registers.Set(m.SP(), cfa)
	if r.info {
		next.found = ByUnwindInfo
	}
	for n := range r.registers {
		rule := &r.registers[n]
		if rule.kind == ruleNone || uint64(n) == r.ra && n == m.PC() {
			continue
		}
		if v, ok := rule.value(s, cfa, n); ok {
			next.registers.Set(n, v)
		} else {
			next.registers.Forget(n)
		}
	}
	if r.ra >= maxRegisters {
		return next, message.Errorf("%w: return address in register %d", errCFI, r.ra)
	}
	ra := &r.registers[r.ra]
	var pc uint64
	var ok bool
	switch ra.kind {
	case ruleUndefined:
		next.outermost = true
		return next, nil
	case ruleNone, ruleSame:
		// The return address is still in its register.
		if pc, ok = registers.Get(int(r.ra)); !ok || int(r.ra) == m.PC() {
			return next, errNoRule
		}
	default:
		if pc, ok = ra.value(s, cfa, int(r.ra)); !ok {
			return next, message.Errorf("%w: the return address was not saved", errNoRule)
		}
	}
	next.registers.Set(m.PC(), pc)
	if r.interrupt {
		next.cfa, _ = next.registers.Get(m.SP())
	}
	return next, nil
}

// inherited returns the registers that are the caller's where the row says nothing of them.
func (r *row) inherited(s *step) Registers {
	if r.interrupt {
		return s.frame.Registers
	}
	if !r.info {
		return s.inherit()
	}
	list := s.frame.Registers
	for n := range maxRegisters {
		if !s.Machine.preserved(n, true) && !(s.Machine == ARM64 && n == arm64LR) {
			list.Forget(n)
		}
	}
	return list
}

// cfaOf computes the CFA of a frame.
func (r *row) cfaOf(s *step) (uint64, error) {
	switch r.cfa.kind {
	case ruleRegister:
		v, ok := s.frame.Registers.Get(int(min(r.cfa.register, maxRegisters)))
		if !ok {
			return 0, message.Errorf("%w: register %d is not known", errNoRule, r.cfa.register)
		}
		return (v + uint64(r.cfa.offset)) & s.Machine.mask(), nil
	case ruleValueOfExpression:
		v, ok := evaluate(r.cfa.expression, s, 0, false)
		if !ok {
			return 0, message.Errorf("%w: the CFA's expression has no value", errNoRule)
		}
		return v, nil
	}
	return 0, message.Errorf("%w: no rule for the CFA", errCFI)
}

// value computes a register of the caller.
func (r *unwindLocation) value(s *step, cfa uint64, n int) (uint64, bool) {
	mask := s.Machine.mask()
	switch r.kind {
	case ruleSame:
		return s.frame.Registers.Get(n)
	case ruleOffset:
		return s.word(cfa + uint64(r.offset))
	case ruleValueOffset:
		return (cfa + uint64(r.offset)) & mask, true
	case ruleRegister:
		return s.frame.Registers.Get(int(min(r.register, maxRegisters)))
	case ruleExpression:
		at, ok := evaluate(r.expression, s, cfa, true)
		if !ok {
			return 0, false
		}
		return s.word(at)
	case ruleValueOfExpression:
		return evaluate(r.expression, s, cfa, true)
	}
	return 0, false
}
