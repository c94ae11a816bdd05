package unwind

import (
	"encoding/binary"

	"logparser/message"
)

// Kinds of operations of a prologue of arm64 code, as what undoes them.
const (
	armNop          = iota
	armAdd          // sp += n
	armLoad         // registers = [sp + n], then sp += up
	armSetFP        // sp = x29 - n
	armMachineFrame // sp and pc = [sp]
	armContext      // all registers are in a CONTEXT at sp
	armHome         // arguments stored for varargs; epilogues do not undo it
	armEnd
)

// An armOp undoes one instruction of a prologue.
type armOp struct {
	kind uint8
	n    uint64
	// registers of armLoad: from is the first, and pair says that second follows it. Damaged codes may name
	// ones that there are not, which are passed over.
	from, second int
	pair         bool
	up           uint64
}

// arm64Length returns the length of a function in bytes.
func (d *ExceptionDirectory) arm64Length(f *runtimeFunction) (uint64, error) {
	if f.info&3 != 0 {
		return uint64(f.info >> 2 & 0x7ff * 4), nil
	}
	b, err := d.im.ReadRVA(uint64(f.info), 4)
	if err != nil {
		return 0, err
	}
	return uint64(binary.LittleEndian.Uint32(b) & 0x3ffff * 4), nil
}

// arm64Caller makes the caller of a frame of arm64 code.
func (d *ExceptionDirectory) arm64Caller(s *step, f runtimeFunction) (c caller, err error) {
	at := (s.vaddr - d.im.Base - f.begin) / 4
	length := (f.end - f.begin) / 4
	var ops []armOp
	switch f.info & 3 {
	case 0:
		ops, err = d.arm64Full(f.info, at, length, s.frame.Exact)
	case 1, 2:
		ops = arm64Packed(f.info, at, length, s.frame.Exact)
	default:
		err = message.Errorf("%w: flag 3", errUnwindInfo)
	}
	if err != nil {
		return c, err
	}
	r := s.frame.Registers
	for i := range ops {
		if err := ops[i].undo(s, &r, &c); err != nil {
			return c, err
		}
		if c.machine {
			break
		}
	}
	if !c.machine {
		lr, ok := r.Get(arm64LR)
		if !ok {
			return c, message.Errorf("%w: the return address was not saved", errNoRule)
		}
		r.Set(arm64PC, lr)
		for n := range arm64LR {
			if !ARM64.preserved(n, true) {
				r.Forget(n)
			}
		}
	}
	c.registers, c.found = r, ByUnwindInfo
	c.cfa, _ = r.Get(arm64SP)
	return c, nil
}

// undo undoes one instruction.
func (op *armOp) undo(s *step, r *Registers, c *caller) error {
	sp, ok := r.Get(arm64SP)
	if !ok {
		return errNoRule
	}
	load := func(n int, at uint64) {
		if v, ok := s.word(at); ok {
			r.Set(n, v)
		} else {
			r.Forget(n)
		}
	}
	switch op.kind {
	case armAdd:
		r.Set(arm64SP, sp+op.n)
	case armLoad:
		if op.from >= 0 && op.from <= arm64LR {
			load(op.from, sp+op.n)
		}
		if op.pair && op.second <= arm64LR {
			load(op.second, sp+op.n+8)
		}
		r.Set(arm64SP, sp+op.up)
	case armSetFP:
		fp, ok := r.Get(arm64FP)
		if !ok {
			return message.Errorf("%w: register %d is not known", errNoRule, arm64FP)
		}
		r.Set(arm64SP, fp-op.n)
	case armMachineFrame:
		load(arm64SP, sp)
		load(arm64PC, sp+8)
		c.machine = true
	case armContext:
		// CONTEXT: flags and CPSR, X0 to X30, SP, PC.
		for n := range arm64PC + 1 {
			load(n, sp+8+8*uint64(n))
		}
		c.machine = true
	}
	return nil
}

// arm64Packed returns what undoes the prologue that packed unwind data describes, as far as it
// has run at an instruction. Compilers use this form only for prologues
// and epilogues of a fixed order.
func arm64Packed(info uint32, at, length uint64, exact bool) []armOp {
	regF, regI, home, cr := int(info>>13&7), int(info>>16&15), info>>20&1 == 1, info>>21&3
	integers := uint64(regI) * 8
	if cr == 1 {
		integers += 8
	}
	floats := uint64(regF) * 8
	if regF > 0 {
		floats += 8
	}
	saved := integers + floats
	if home {
		saved += 64
	}
	saved = (saved + 15) &^ 15
	local := uint64(info>>23)*16 - saved
	if uint64(info>>23)*16 < saved {
		local = 0
	}
	// In the prologue's order; the first store makes room for all.
	var ops []armOp
	if cr == 2 {
		ops = append(ops, armOp{}) // pacibsp
	}
	room := saved
	store := func(op armOp) {
		op.kind = armLoad
		if room > 0 {
			op.up, room = room, 0
		}
		ops = append(ops, op)
	}
	for i := 0; i < regI; i += 2 {
		op := armOp{from: 19 + i, n: uint64(i) * 8}
		if i+1 < regI {
			op.pair, op.second = true, 20+i
		} else if cr == 1 {
			op.pair, op.second = true, arm64LR
		}
		store(op)
	}
	if cr == 1 && regI%2 == 0 {
		store(armOp{from: arm64LR, n: integers - 8})
	}
	for i := 0; regF > 0 && i <= regF; i += 2 {
		store(armOp{from: -1})
	}
	for i := 0; home && i < 4; i++ {
		store(armOp{from: -1})
		if last := &ops[len(ops)-1]; last.up == 0 {
			last.kind = armHome
		}
	}
	frame := armOp{kind: armLoad, from: arm64FP, pair: true, second: arm64LR}
	switch {
	case cr >= 2 && local <= 512:
		frame.up = local
		ops = append(ops, frame, armOp{kind: armSetFP})
	default:
		for left := local; left > 0; {
			n := min(left, 4080)
			ops = append(ops, armOp{kind: armAdd, n: n})
			left -= n
		}
		if cr >= 2 {
			ops = append(ops, frame, armOp{kind: armSetFP})
		}
	}
	var undo, epilogue []armOp
	for i := len(ops) - 1; i >= 0; i-- {
		undo = append(undo, ops[i])
		if ops[i].kind != armSetFP && ops[i].kind != armHome {
			epilogue = append(epilogue, ops[i])
		}
	}
	if !exact || info&3 == 2 { // a fragment has neither prologue nor epilogue
		return undo
	}
	if at < uint64(len(undo)) {
		return undo[uint64(len(undo))-at:]
	}
	if first := length - uint64(len(epilogue)) - 1; first < length && at >= first {
		return epilogue[min(at-first, uint64(len(epilogue))):]
	}
	return undo
}

// arm64Record reads a full record: its head, with the number of epilogues or, if all is one epilogue, the index
// of its first code; the scopes of epilogues, nil if all is one; and the codes.
func (d *ExceptionDirectory) arm64Record(rva uint32) (epilogues uint32, scopes, codes []byte, err error) {
	le := binary.LittleEndian
	b, err := d.im.ReadRVA(uint64(rva), 4)
	if err != nil {
		return 0, nil, nil, err
	}
	head := le.Uint32(b)
	if head>>18&3 != 0 {
		return 0, nil, nil, message.Errorf("%w: version %d", errUnwindInfo, head>>18&3)
	}
	single := head>>21&1 == 1
	epilogues, words := head>>22&31, head>>27
	size := uint64(4)
	if epilogues == 0 && words == 0 {
		if b, err = d.im.ReadRVA(uint64(rva)+4, 4); err != nil {
			return 0, nil, nil, err
		}
		epilogues, words = le.Uint32(b)&0xffff, le.Uint32(b)>>16&0xff
		size = 8
	}
	if !single {
		scopes = []byte{}
		if epilogues > 0 {
			if scopes, err = d.im.ReadRVA(uint64(rva)+size, int64(epilogues)*4); err != nil {
				return 0, nil, nil, err
			}
		}
		size += uint64(len(scopes))
	}
	codes, err = d.im.ReadRVA(uint64(rva)+size, int64(words)*4)
	return epilogues, scopes, codes, err
}

// arm64Full returns the same of a full record.
func (d *ExceptionDirectory) arm64Full(rva uint32, at, length uint64, exact bool) ([]armOp, error) {
	le := binary.LittleEndian
	epilogues, scopes, codes, err := d.arm64Record(rva)
	if err != nil {
		return nil, err
	}
	undo, err := arm64Codes(codes)
	if err != nil || !exact {
		return undo, err
	}
	if n := uint64(len(undo)); at < n {
		return undo[n-at:], nil
	}
	try := func(first uint64, index uint32) ([]armOp, bool) {
		if at < first || index >= uint32(len(codes)) {
			return nil, false
		}
		ops, err := arm64Codes(codes[index:])
		if err != nil || at > first+uint64(len(ops)) {
			return nil, false
		}
		return ops[at-first:], true
	}
	if scopes == nil {
		if epilogues < uint32(len(codes)) {
			if ops, err := arm64Codes(codes[epilogues:]); err == nil {
				if first := length - uint64(len(ops)) - 1; first < length {
					if ops, ok := try(first, epilogues); ok {
						return ops, nil
					}
				}
			}
		}
		return undo, nil
	}
	for ; len(scopes) >= 4; scopes = scopes[4:] {
		scope := le.Uint32(scopes)
		if ops, ok := try(uint64(scope&0x3ffff), scope>>22); ok {
			return ops, nil
		}
	}
	return undo, nil
}

// arm64Codes decodes unwind codes up to the end code.
func arm64Codes(b []byte) (ops []armOp, err error) {
	next := 0 // save_next codes that wait for their pair
	for len(b) > 0 {
		op, n, err := arm64Code(b)
		if err != nil {
			return nil, err
		}
		b = b[n:]
		switch {
		case op.kind == armEnd:
			return ops, nil
		case n == 1 && op.kind == armHome: // save_next
			next++
			ops = append(ops, armOp{})
			continue
		case next > 0 && op.kind == armLoad && op.pair && op.from >= 0:
			// The pairs that follow this one were saved above it.
			for i := range next {
				ops[len(ops)-1-i] = armOp{kind: armLoad, from: op.from + 2*(i+1), pair: true, second: op.second + 2*(i+1), n: op.n + 16*uint64(i+1)}
			}
		}
		next = 0
		ops = append(ops, op)
	}
	return nil, message.Errorf("%w: codes without an end", errUnwindInfo)
}

// arm64Code decodes one unwind code, of n bytes. save_next is an armHome.
func arm64Code(b []byte) (op armOp, n int, err error) {
	c := b[0]
	n = arm64CodeSize(c)
	if n > len(b) || n == 0 {
		return op, 0, message.Errorf("%w: code %#x", errUnwindInfo, c)
	}
	w := uint64(c)
	if n >= 2 {
		w = w<<8 | uint64(b[1])
	}
	pair := func(from int, at, up uint64) armOp {
		return armOp{kind: armLoad, from: from, pair: true, second: from + 1, n: at, up: up}
	}
	x, z := int(w>>6&15), w&63*8
	switch {
	case c < 0x20:
		op = armOp{kind: armAdd, n: uint64(c&31) * 16}
	case c < 0x40:
		op = pair(19, 0, uint64(c&31)*8)
	case c < 0x80:
		op = pair(arm64FP, uint64(c&63)*8, 0)
	case c < 0xc0:
		op = pair(arm64FP, 0, uint64(c&63)*8+8)
	case c < 0xc8:
		op = armOp{kind: armAdd, n: w & 0x7ff * 16}
	case c < 0xcc:
		op = pair(19+x, z, 0)
	case c < 0xd0:
		op = pair(19+x, 0, z+8)
	case c < 0xd4:
		op = armOp{kind: armLoad, from: 19 + x, n: z}
	case c < 0xd6:
		op = armOp{kind: armLoad, from: 19 + int(w>>5&15), up: w&31*8 + 8}
	case c < 0xd8:
		op = armOp{kind: armLoad, from: 19 + 2*int(w>>6&7), pair: true, second: arm64LR, n: z}
	case c < 0xda, c == 0xdc || c == 0xdd: // d registers without room
	case c < 0xdc:
		op = armOp{kind: armAdd, n: z + 8}
	case c == 0xde:
		op = armOp{kind: armAdd, n: w&31*8 + 8}
	case c == 0xe0:
		op = armOp{kind: armAdd, n: (uint64(b[1])<<16 | uint64(b[2])<<8 | uint64(b[3])) * 16}
	case c == 0xe1:
		op.kind = armSetFP
	case c == 0xe2:
		op = armOp{kind: armSetFP, n: w & 255 * 8}
	case c == 0xe4, c == 0xe5:
		op.kind = armEnd
	case c == 0xe6:
		op.kind = armHome
	case c == 0xe7:
		op = arm64SaveAny(b)
	case c == 0xe9:
		op.kind = armMachineFrame
	case c == 0xea:
		op.kind = armContext
	case c == 0xe3, c == 0xfc, c == 0xec: // nop, pac_sign_lr, clear_unwound_to_call
	default:
		return op, 0, message.Errorf("%w: code %#x", errUnwindInfo, c)
	}
	return op, n, nil
}

// arm64CodeSize returns the length of a code that begins with a byte, 0 for unknown ones.
func arm64CodeSize(c byte) int {
	switch {
	case c < 0xc0:
		return 1
	case c < 0xdf, c == 0xe2:
		return 2
	case c == 0xe0:
		return 4
	case c == 0xe7:
		return 3
	case c == 0xdf:
		return 0 // room for SVE registers, whose length is not known
	}
	return 1
}

// arm64SaveAny decodes save_any_reg: 0pxrrrrr ffoooooo behind the code.
func arm64SaveAny(b []byte) armOp {
	isPair, writeback, r := b[1]>>6&1 == 1, b[1]>>5&1 == 1, int(b[1]&31)
	file, offset := b[2]>>6, uint64(b[2]&63)
	unit := uint64(8)
	if isPair || writeback || file == 2 {
		unit = 16
	}
	op := armOp{kind: armLoad, from: r, pair: isPair, second: r + 1, n: offset * unit}
	if file != 0 {
		op.from, op.pair = -1, false
	}
	if writeback {
		op.n, op.up = 0, (offset+1)*unit
	}
	return op
}
