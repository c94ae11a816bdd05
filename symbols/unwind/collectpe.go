package unwind

import (
	"encoding/binary"
	"slices"

	"logparser/message"
)

// The prologues that a PE's exception directory describes, undone without a stack: what becomes
// of each register, as the rules of call frame information say it.

// A formula is the value of a register of the caller: what a register of the frame has plus an
// offset or, if loaded is set, what is saved there plus more.
type formula struct {
	register int
	offset   int64
	loaded   bool
	more     int64
}

// plus returns the formula with a number added.
func (t formula) plus(n int64) formula {
	if t.loaded {
		t.more += n
	} else {
		t.offset += n
	}
	return t
}

// A prologue undoes operations symbolically.
type prologue struct {
	machine   Machine
	values    [maxRegisters]formula
	interrupt bool
	frame     int // the register that epilogues may use + 1
	bad       bool
}

func newPrologue(m Machine) *prologue {
	p := &prologue{machine: m}
	for n := range p.values {
		p.values[n].register = n
	}
	return p
}

// at returns the formula of what is saved at an address. There is no rule where the address itself had to be loaded: a
// formula has room for one load.
func (p *prologue) at(address formula) formula {
	if address.loaded {
		p.bad = true
	}
	return formula{register: address.register, offset: address.offset, loaded: true}
}

// rule returns the rule that the formulas of all registers come to.
func (p *prologue) rule(ra int) KeptRow {
	if p.bad {
		return ""
	}
	sp := p.machine.SP()
	cfa := p.values[sp]
	r := row{info: true, interrupt: p.interrupt, ra: uint64(ra), frame: p.frame}
	if p.interrupt {
		cfa = formula{register: sp}
	}
	switch {
	case cfa.loaded:
		r.cfa = unwindLocation{kind: ruleValueOfExpression, expression: cfa.expression()}
	default:
		r.cfa = unwindLocation{kind: ruleRegister, register: uint64(cfa.register), offset: cfa.offset}
	}
	for n := range p.values {
		v := &p.values[n]
		if n == sp && !p.interrupt || v.register == n && *v == (formula{register: n}) || n != sp && n != ra && !p.machine.preserved(n, true) && !p.interrupt {
			continue
		}
		l := &r.registers[n]
		switch {
		case v.loaded && v.more == 0 && !cfa.loaded && cfa.register == v.register:
			*l = unwindLocation{kind: ruleOffset, offset: v.offset - cfa.offset}
		case v.loaded && v.more == 0:
			*l = unwindLocation{kind: ruleExpression, expression: formula{register: v.register, offset: v.offset}.expression()}
		default:
			*l = unwindLocation{kind: ruleValueOfExpression, expression: v.expression()}
		}
	}
	return r.rule()
}

// expression returns a DWARF expression that has the formula's value.
func (t formula) expression() []byte {
	b := []byte{opBregx}
	b = appendSLEB(binary.AppendUvarint(b, uint64(t.register)), t.offset)
	if t.loaded {
		b = append(b, opDeref)
		if t.more != 0 {
			b = append(appendSLEB(append(b, opConsts), t.more), opPlus)
		}
	}
	return b
}

func appendSLEB(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// extents implements collector.
func (d *ExceptionDirectory) extents() ([]fdeRange, error) {
	var list []fdeRange
	for i := range d.count {
		f, err := d.at(i)
		if err != nil {
			break
		}
		if d.machine == ARM64 {
			length, err := d.arm64Length(&f)
			if err != nil {
				continue
			}
			f.end = f.begin + length
		}
		if f.begin < f.end && f.end <= d.im.Size {
			list = append(list, fdeRange{f.begin, f.end, int64(i)})
		}
	}
	slices.SortStableFunc(list, func(a, b fdeRange) int { return int(int64(a.start) - int64(b.start)) })
	return disjoint(list), nil
}

// collect implements collector.
func (d *ExceptionDirectory) collect(at fdeRange) (*Entry, error) {
	f, err := d.at(int(at.off))
	if err != nil {
		return nil, err
	}
	e := &Entry{Start: at.start, End: at.end, Function: f.begin}
	if d.machine == ARM64 {
		f.end = at.end
		if length, err := d.arm64Length(&f); err == nil {
			f.end = f.begin + length
		}
		return e, d.arm64Entry(e, f)
	}
	e.Function = d.primary(f)
	changes := []uint64{0}
	if f.info&1 == 0 {
		if u, err := d.readInfo(f.info); err == nil {
			changes = append(changes, u.prologue)
			for i := range u.codes {
				changes = append(changes, u.codes[i].at)
			}
		}
	}
	e.fill(changes, func(offset uint64) (exact, back KeptRow) {
		rule := d.x64Rule(f, offset)
		return rule, rule
	})
	return e, nil
}

// fill adds spans that begin at some offsets from the function's start.
func (e *Entry) fill(changes []uint64, rules func(offset uint64) (exact, back KeptRow)) {
	slices.Sort(changes)
	length := e.End - e.Start
	for i, from := range changes {
		to := length
		if i+1 < len(changes) {
			to = min(to, changes[i+1])
		}
		if from < to {
			exact, back := rules(from)
			e.add(to-from, exact, back)
		}
	}
}

// x64Rule returns the rule of an instruction of x64 code that is not in an epilogue; offset counts from the
// entry's start.
func (d *ExceptionDirectory) x64Rule(f runtimeFunction, offset uint64) KeptRow {
	p := newPrologue(X8664)
	for chain := 0; ; chain++ {
		if chain >= maxChain || p.bad {
			return ""
		}
		if f.info&1 != 0 {
			b, err := d.im.ReadRVA(uint64(f.info&^1), 12)
			if err != nil {
				return ""
			}
			f = d.decode(b)
			continue
		}
		u, err := d.readInfo(f.info)
		if err != nil {
			return ""
		}
		if chain == 0 && u.register >= 0 {
			p.frame = u.register + 1
		}
		p.undoX64(&u, offset, chain == 0)
		if u.flags&unwindChained == 0 {
			break
		}
		f = u.chained
	}
	if !p.interrupt {
		p.values[amd64PC] = p.at(p.values[amd64RSP])
		p.values[amd64RSP] = p.values[amd64RSP].plus(8)
	}
	return p.rule(amd64PC)
}

// undoX64 undoes operations as [x64Frame.undo] does, on formulas instead of values.
func (p *prologue) undoX64(u *unwindInfo, offset uint64, first bool) {
	done := func(c *unwindCode) bool { return !first || offset >= u.prologue || offset >= c.at }
	sp := &p.values[amd64RSP]
	base := *sp
	if u.register >= 0 {
		for i := range u.codes {
			if c := &u.codes[i]; c.op == uwopSetFrameRegister && done(c) || !first {
				base = p.values[u.register].plus(-int64(u.offset))
				break
			}
		}
	}
	for i := range u.codes {
		c := &u.codes[i]
		if c.op == uwopEpilog && u.version >= 2 || !done(c) {
			continue
		}
		switch c.op {
		case uwopPushNonvolatile:
			v := p.at(*sp)
			*sp = sp.plus(8)
			p.values[x64Numbers[c.info]] = v
		case uwopAllocLarge:
			n := c.operand
			if c.info == 0 {
				n *= 8
			}
			*sp = sp.plus(int64(n))
		case uwopAllocSmall:
			*sp = sp.plus(int64(c.info)*8 + 8)
		case uwopSetFrameRegister:
			*sp = base
		case uwopSaveNonvolatile:
			p.values[x64Numbers[c.info]] = p.at(base.plus(int64(c.operand * 8)))
		case uwopSaveNonvolatileFar:
			p.values[x64Numbers[c.info]] = p.at(base.plus(int64(c.operand)))
		case uwopPushMachineFrame:
			at := sp.plus(8 * int64(c.info))
			p.values[amd64PC] = p.at(at)
			p.values[amd64RSP] = p.at(at.plus(24))
			p.interrupt = true
		}
	}
}

// maxEpilogueSteps bounds what is gone through of the epilogues of an image's arm64 functions, in operations: a record may describe
// 65,535 of them, and be that of many functions.
const maxEpilogueSteps = 1 << 30

// arm64Entry fills an entry of arm64 code: in prologues and epilogues each instruction has its own
// rule.
func (d *ExceptionDirectory) arm64Entry(e *Entry, f runtimeFunction) error {
	length := (f.end - f.begin) / 4
	// own are the operations of instructions in prologues and epilogues, nil elsewhere.
	own := make([][]armOp, min(length, (e.End-e.Start+3)/4))
	var all []armOp
	var err error
	steps := int64(0)
	switch f.info & 3 {
	case 0:
		all, steps, err = d.arm64Own(f.info, length, own)
	case 1, 2:
		all = arm64Packed(f.info, 0, length, false)
		const margin = 4 // what an epilogue may have more than the prologue has, at least the return
		near := uint64(len(all)) + margin
		for i := range uint64(len(own)) {
			if i < near || length-i <= near {
				own[i] = arm64Packed(f.info, i, length, true)
			}
		}
	default:
		err = message.Errorf("%w: flag 3", errUnwindInfo)
	}
	if err != nil {
		return err
	}
	for _, ops := range own {
		steps += int64(len(ops))
	}
	if d.steps.Add(steps) > maxEpilogueSteps {
		e.add(e.End-e.Start, "", "")
		return nil
	}
	back := arm64Rule(all)
	changes := []uint64{0}
	for i := range own {
		if i > 0 && (own[i] != nil || own[i-1] != nil) {
			changes = append(changes, 4*uint64(i))
		}
	}
	e.fill(changes, func(offset uint64) (KeptRow, KeptRow) {
		if i := offset / 4; i < uint64(len(own)) && own[i] != nil {
			return arm64Rule(own[i]), back
		}
		return back, back
	})
	return nil
}

// arm64Own sets in own what [ExceptionDirectory.arm64Full] returns for the instructions of a function's prologue and
// epilogues, as far as own reaches. It returns what undoes the whole prologue, and how many steps it took.
func (d *ExceptionDirectory) arm64Own(info uint32, length uint64, own [][]armOp) (all []armOp, steps int64, err error) {
	single, scopes, codes, err := d.arm64Record(info)
	if err != nil {
		return nil, 0, err
	}
	if all, err = arm64Codes(codes); err != nil {
		return nil, 0, err
	}
	steps = int64(len(codes) + len(scopes)/4)
	if d.steps.Load()+steps > maxEpilogueSteps {
		return all, steps, nil
	}
	set := func(first uint64, ops []armOp) {
		for i := first; i < uint64(len(own)) && i-first <= uint64(len(ops)); i++ {
			steps++
			if own[i] == nil {
				own[i] = ops[i-first:]
			}
		}
	}
	for i := range min(len(all), len(own)) {
		own[i] = all[len(all)-i:]
	}
	decoded := make(map[uint32][]armOp)
	epilogue := func(index uint32) ([]armOp, bool) {
		if index >= uint32(len(codes)) {
			return nil, false
		}
		ops, ok := decoded[index]
		if !ok {
			steps += int64(len(codes)) - int64(index)
			var err error
			if ops, err = arm64Codes(codes[index:]); err == nil && ops == nil {
				ops = []armOp{} // nil says that they are damaged
			}
			decoded[index] = ops
		}
		return ops, ops != nil
	}
	if scopes == nil {
		if ops, ok := epilogue(single); ok {
			if first := length - uint64(len(ops)) - 1; first < length {
				set(first, ops)
			}
		}
		return all, steps, nil
	}
	type scope struct {
		first uint64
		index uint32
	}
	seen := make(map[scope]bool)
	for ; len(scopes) >= 4; scopes = scopes[4:] {
		v := binary.LittleEndian.Uint32(scopes)
		s := scope{uint64(v & 0x3ffff), v >> 22}
		if s.first >= uint64(len(own)) || seen[s] {
			continue
		}
		seen[s] = true
		if ops, ok := epilogue(s.index); ok {
			set(s.first, ops)
		}
	}
	return all, steps, nil
}

// arm64Rule returns the rule that undoing operations comes to.
func arm64Rule(ops []armOp) KeptRow {
	p := newPrologue(ARM64)
	ra := arm64LR
	sp := &p.values[arm64SP]
	load := func(n int, at formula) {
		if n < maxRegisters { // damaged codes can name others
			p.values[n] = p.at(at)
		}
	}
	for i := range ops {
		switch op := &ops[i]; op.kind {
		case armAdd:
			*sp = sp.plus(int64(op.n))
		case armLoad:
			at := *sp
			if op.from >= 0 && op.from <= arm64LR {
				load(op.from, at.plus(int64(op.n)))
			}
			if op.pair && op.second <= arm64LR {
				load(op.second, at.plus(int64(op.n)+8))
			}
			*sp = at.plus(int64(op.up))
		case armSetFP:
			*sp = p.values[arm64FP].plus(-int64(op.n))
		case armMachineFrame:
			at := *sp
			load(arm64SP, at)
			load(arm64PC, at.plus(8))
			p.interrupt = true
		case armContext:
			at := *sp
			for n := range arm64PC + 1 {
				load(n, at.plus(8+8*int64(n)))
			}
			p.interrupt = true
		}
		if p.interrupt {
			ra = arm64PC
			break
		}
		if p.bad {
			break
		}
	}
	return p.rule(ra)
}
